/* wire_private.h - what wire.c and wire_join.c share. */
#ifndef MYXTTS_WIRE_PRIVATE_H
#define MYXTTS_WIRE_PRIVATE_H

#include <stdint.h>
#include <sys/socket.h>

/* What every message on a control connection begins with. */
typedef struct WireHead {
    uint32_t kind, bytes; /* WireKind; bytes that follow */
} WireHead;

void wire_tune(int fd); /* small messages leave at once */
/* Begins to connect; the socket becomes writable when it has been decided. -1 and errno. */
int wire_connect(const struct sockaddr *to, socklen_t size);

#endif
