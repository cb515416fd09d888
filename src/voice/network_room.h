/* network_room.h - a trained network on a device, ready to compute: what a voice and a vocoder have in
 * common. Weights alone, no gradients. Threads: one at a time. */
#ifndef MYXTTS_NETWORK_ROOM_H
#define MYXTTS_NETWORK_ROOM_H

#include <stdint.h>

#include "base/err.h"
#include "model/model.h"
#include "voice/checkpoint.h"

typedef struct NetworkRoom {
    Device *device;
    const Ops *ops;
    OpsContext c;
    Stream *stream;
    Model m;
    void *weights, *workspace; /* weights NULL: they are lent */
    uint64_t weight_bytes, workspace_bytes;
} NetworkRoom;

/* threads: of a CPU. lender: an open one of the same checkpoint and device whose weights are used, and which
 * outlives this one; NULL: it has its own. The checkpoint is not needed any more afterwards. ERR_CONFIG,
 * ERR_DATA: weights that are not there, of another shape or not finite. It must not move; a failed one is
 * closed. */
int network_room_open(NetworkRoom *r, const Checkpoint *file, const NetworkRoom *lender, Device *device,
                      int threads, Err *err);
void network_room_close(NetworkRoom *r); /* always safe on a zeroed or closed one */

#endif
