/* proto.h - writes protocol buffers: fields appended to a Buf, which remembers that memory ran out. A message
 * inside another one is written to a Buf of its own first. Threads: any. */
#ifndef MYXTTS_PROTO_H
#define MYXTTS_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

void proto_int(Buf *b, int field, int64_t value);
void proto_text(Buf *b, int field, const char *text);
void proto_message(Buf *b, int field, const Buf *message);
/* The beginning of a field of this many bytes, which the caller writes behind it. */
void proto_begin(Buf *b, int field, uint64_t bytes);

#endif
