/* ranks_nccl.c - see ranks_nccl.h. The NCCL functions declared here have not changed since version 2.10. */
#include "ranks/ranks_nccl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "device/cuda_library.h"
#include "ranks/ranks_cuda.h"

typedef struct NcclId {
    char bytes[128];
} NcclId;

enum { NCCL_BYTES = 1, NCCL_FLOAT = 7, NCCL_BF16 = 9 }; /* ncclUint8, ncclFloat32, ncclBfloat16 */

typedef struct NcclCalls {
    int (*get_id)(NcclId *id);
    int (*open)(void **comm, int count, NcclId id, int rank);
    int (*close)(void *comm);
    const char *(*error)(int code);
    int (*group_begin)(void);
    int (*group_end)(void);
    int (*send)(const void *p, size_t n, int type, int peer, void *comm, void *stream);
    int (*receive)(void *p, size_t n, int type, int peer, void *comm, void *stream);
    int (*all_gather)(const void *mine, void *all, size_t n, int type, void *comm, void *stream);
    int (*broadcast)(const void *from, void *to, size_t n, int type, int root, void *comm, void *stream);
} NcclCalls;

static const struct {
    const char *name;
    size_t offset; /* in NcclCalls */
} calls[] = {
    {"ncclGetUniqueId", offsetof(NcclCalls, get_id)},
    {"ncclCommInitRank", offsetof(NcclCalls, open)},
    {"ncclCommDestroy", offsetof(NcclCalls, close)},
    {"ncclGetErrorString", offsetof(NcclCalls, error)},
    {"ncclGroupStart", offsetof(NcclCalls, group_begin)},
    {"ncclGroupEnd", offsetof(NcclCalls, group_end)},
    {"ncclSend", offsetof(NcclCalls, send)},
    {"ncclRecv", offsetof(NcclCalls, receive)},
    {"ncclAllGather", offsetof(NcclCalls, all_gather)},
    {"ncclBroadcast", offsetof(NcclCalls, broadcast)},
};

struct RanksNccl {
    Ranks *r;
    Device *device;
    const RanksCudaOps *kernels;
    NcclCalls f;
    void *comm;
};

/* ---- opening ---- */

static int load(RanksNccl *c, Err *err)
{
    const char *chosen = getenv("MYXTTS_NCCL"), *name = chosen ? chosen : "libnccl.so.2";
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* never closed: its threads may outlive a
                                                          * communicator */
    if (!library) {
        const char *why = dlerror();
        err_set(err, ERR_MISSING, "%d rank%s on GPUs, but %s cannot be loaded: %s", ranks_count(c->r),
                ranks_count(c->r) == 1 ? "" : "s", name, why ? why : "not found");
        return err_hint(
            err,
            "install libnccl2 (NVIDIA's repository, or pip install nvidia-nccl-cu12) on %s, or name "
            "the library in MYXTTS_NCCL",
            ranks_host(c->r, ranks_rank(c->r)));
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *f = dlsym(library, calls[i].name);
        if (!f)
            return err_set(err, ERR_MISSING, "%s has no %s: it is too old", name, calls[i].name);
        memcpy((char *)&c->f + calls[i].offset, &f, sizeof f);
    }
    return 0;
}

static int failure(const RanksNccl *c, int code, const char *what, Err *err)
{
    err_set(err, ERR_DEVICE, "NCCL on GPU %s: %s: %s", c->device->name, what, c->f.error(code));
    return err_hint(err, "set NCCL_DEBUG=WARN in the environment for more from NCCL");
}

int ranks_nccl_open(RanksNccl **out, Ranks *r, Device *d, Err *err)
{
    NcclId id = {0};
    RanksCudaGet get;
    *out = NULL;
    ASSERT(d->traits.library_kernels);
    RanksNccl *c = mem_calloc(1, sizeof *c);
    if (!c)
        return err_set(err, ERR_NOMEM, "no memory for NCCL");
    c->r = r;
    c->device = d;
    void *symbol = cuda_library_symbol(d, RANKS_CUDA_SYMBOL, err);
    int rc = symbol ? load(c, err) : ERR_DEVICE;
    if (!rc) {
        memcpy(&get, &symbol, sizeof get);
        c->kernels = get();
        rc = c->kernels->select(d, err);
    }
    int code = !rc && ranks_rank(r) == 0 ? c->f.get_id(&id) : 0;
    if (code)
        rc = failure(c, code, "cannot start", err);
    if (!rc)
        rc = ranks_broadcast(r, &id, sizeof id, 0, err);
    if (!rc) {
        code = c->f.open(&c->comm, ranks_count(r), id, ranks_rank(r));
        rc = code ? failure(c, code, "cannot join the other ranks", err) : 0;
    }
    if (rc) {
        free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void ranks_nccl_close(RanksNccl *c)
{
    if (!c)
        return;
    /* Closing waits for the other ranks; after a fault the process ends without it. */
    if (!ranks_failed(c->r))
        c->f.close(c->comm);
    free(c);
}

/* ---- sums ---- */

/* The scratch memory: this rank's slice from every rank, as received; for bf16 also all numbers, rounded. */
typedef struct Layout {
    int64_t each;  /* numbers in a slice; the slices of the last ranks may be shorter */
    void *parts;   /* [count][each] */
    uint16_t *all; /* [count][each], bf16 only */
} Layout;

static size_t width_of(SumType type) { return type == SUM_BF16 ? sizeof(uint16_t) : sizeof(float); }

/* The second area starts at a multiple of 256 bytes, as device memory does. */
static size_t parts_bytes(const Ranks *r, int64_t n, SumType type)
{
    int64_t count = ranks_count(r), each = (n + count - 1) / count;
    return (size_t)round_up((uint64_t)(count * each) * width_of(type), 256);
}

static Layout layout_of(const RanksNccl *c, int64_t n, SumType type, void *scratch)
{
    int64_t count = ranks_count(c->r);
    Layout l = {.each = (n + count - 1) / count, .parts = scratch};
    if (type == SUM_BF16)
        l.all = (uint16_t *)(void *)((char *)scratch + parts_bytes(c->r, n, type));
    return l;
}

size_t ranks_nccl_scratch(const Ranks *r, int64_t n, SumType type)
{
    return parts_bytes(r, n, type) * (type == SUM_BF16 ? 2 : 1);
}

/* Makes the GPU of the stream current in the calling thread. */
static int enter(RanksNccl *c, Stream *s, void **native, Err *err)
{
    ASSERT(s->device == c->device);
    *native = s->device->ops->stream_native(s);
    return c->kernels->select(c->device, err);
}

/* Between group_begin and group_end: the first error counts, and the group is ended in any case. */
static int first_of(int code, int next) { return code ? code : next; }

static int reduce(RanksNccl *c, Stream *s, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    Layout l = layout_of(c, n, type, scratch);
    int me = ranks_rank(c->r), count = ranks_count(c->r), narrow = type == SUM_BF16, code = 0;
    int kind = narrow ? NCCL_BF16 : NCCL_FLOAT;
    int64_t from, to, mine_from, mine_to;
    void *native;
    int rc = enter(c, s, &native, err);
    if (!rc && narrow)
        rc = c->kernels->round(s, l.all, p, n, err);
    if (rc)
        return rc;
    const char *numbers = narrow ? (const void *)l.all : (const void *)p;
    ranks_slice(c->r, n, me, &mine_from, &mine_to);
    size_t mine = (size_t)(mine_to - mine_from);
    code = c->f.group_begin();
    for (int k = 0; k < count && !code; k++) {
        ranks_slice(c->r, n, k, &from, &to);
        char *part = (char *)l.parts + (size_t)(k * l.each) * width_of(type);
        if (to > from)
            code = c->f.send(numbers + (size_t)from * width_of(type), (size_t)(to - from), kind, k, c->comm,
                             native);
        if (mine && !code)
            code = c->f.receive(part, mine, kind, k, c->comm, native);
    }
    code = first_of(code, c->f.group_end());
    if (code)
        return failure(c, code, "cannot sum", err);
    return c->kernels->add(s, p + mine_from, l.parts, count, l.each, (int64_t)mine, narrow, err);
}

/* The slices have different lengths, so every rank sends its own to every other. */
static int exchange_slices(RanksNccl *c, float *p, int64_t n, void *native)
{
    int64_t from, to, mine_from, mine_to;
    int me = ranks_rank(c->r), code = c->f.group_begin();
    ranks_slice(c->r, n, me, &mine_from, &mine_to);
    for (int k = 0; k < ranks_count(c->r) && !code; k++) {
        ranks_slice(c->r, n, k, &from, &to);
        if (k == me)
            continue;
        if (mine_to > mine_from)
            code = c->f.send(p + mine_from, (size_t)(mine_to - mine_from), NCCL_FLOAT, k, c->comm, native);
        if (to > from && !code)
            code = c->f.receive(p + from, (size_t)(to - from), NCCL_FLOAT, k, c->comm, native);
    }
    return first_of(code, c->f.group_end());
}

static int collect(RanksNccl *c, Stream *s, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    Layout l = layout_of(c, n, type, scratch);
    int me = ranks_rank(c->r), code;
    int64_t from, to;
    void *native;
    int rc = enter(c, s, &native, err);
    if (rc || !n)
        return rc;
    ranks_slice(c->r, n, me, &from, &to);
    if (type == SUM_BF16) {
        uint16_t *mine = l.all + me * l.each; /* where the slice begins, if it is not empty */
        rc = c->kernels->round(s, mine, p + from, to - from, err);
        if (rc)
            return rc;
        code = c->f.all_gather(mine, l.all, (size_t)l.each, NCCL_BF16, c->comm, native);
        return code ? failure(c, code, "cannot gather", err) : c->kernels->widen(s, p, l.all, n, err);
    }
    if (l.each * ranks_count(c->r) == n)
        code = c->f.all_gather(p + from, p, (size_t)l.each, NCCL_FLOAT, c->comm, native);
    else
        code = exchange_slices(c, p, n, native);
    return code ? failure(c, code, "cannot gather", err) : 0;
}

int ranks_nccl_sum(RanksNccl *c, Stream *s, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    /* With a single rank the sum is its own value. */
    if (ranks_count(c->r) == 1 && type == SUM_FP32)
        return 0;
    int rc = reduce(c, s, p, n, type, scratch, err);
    return rc ? rc : collect(c, s, p, n, type, scratch, err);
}
