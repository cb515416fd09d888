/* base64.h - bytes in the letters of RFC 4648, section 4. Threads: any. */
#ifndef MYXTTS_BASE64_H
#define MYXTTS_BASE64_H

#include <stddef.h>

#include "base/mem.h"

void base64_encode(Buf *out, const void *p, size_t n); /* appends */
/* Appends the bytes. Blanks and line ends are passed over; the filling at the end may be missing. 0, or -1
 * for text that is not base64. */
int base64_decode(Buf *out, const char *text, size_t n);

#endif
