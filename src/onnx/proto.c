/* proto.c - see proto.h. */
#include "onnx/proto.h"

#include <string.h>

/* How the bytes of a field are read, in the lowest three bits of its tag. */
enum { VARINT = 0, COUNTED = 2, KIND_BITS = 3 };

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static void put_varint(Buf *b, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
    buf_add(b, bytes, n);
}

static void put_tag(Buf *b, int field, int kind)
{
    put_varint(b, (uint64_t)field << KIND_BITS | (uint64_t)kind);
}

void proto_int(Buf *b, int field, int64_t value)
{
    put_tag(b, field, VARINT);
    put_varint(b, (uint64_t)value);
}

void proto_begin(Buf *b, int field, uint64_t bytes)
{
    put_tag(b, field, COUNTED);
    put_varint(b, bytes);
}

void proto_text(Buf *b, int field, const char *text)
{
    proto_begin(b, field, strlen(text));
    buf_str(b, text);
}

void proto_message(Buf *b, int field, const Buf *message)
{
    proto_begin(b, field, message->size);
    buf_add(b, message->data ? message->data : "", message->size);
    b->failed |= message->failed;
}
