/* ops_open.c - see ops_open.h. */
#include "ops/ops_open.h"

#include "device/cuda_library.h"

const Ops *ops_cuda_table(Device *d, RealType real, Err *err)
{
    int (*abi)(void) = (int (*)(void))cuda_library_symbol(d, "myxtts_cuda_ops_abi", err);
    if (!abi)
        return NULL;
    /* A table of another shape would be called with the wrong arguments. */
    if (abi() != OPS_ABI) {
        err_set(err, ERR_DEVICE,
                "device %s: the CUDA part is from another build: its ops interface is %d of %d bytes, this "
                "program's is %d of %d",
                d->name, abi() >> 16, abi() & 0xffff, OPS_ABI >> 16, OPS_ABI & 0xffff);
        err_hint(err, "use the libmyxtts_cuda.so that was built together with this program");
        return NULL;
    }
    const Ops *(*tables)(RealType) = (const Ops *(*)(RealType))cuda_library_symbol(d, "myxtts_cuda_ops", err);
    const Ops *ops = tables ? tables(real) : NULL;
    if (tables && !ops)
        err_set(err, ERR_DEVICE, "device %s: the CUDA part has no ops of type %d", d->name, (int)real);
    return ops;
}

const Ops *ops_table(Device *d, int mixed_precision, Err *err)
{
    if (!d->traits.library_kernels)
        return &ops_host_f32;
    return ops_cuda_table(d, mixed_precision ? REAL_BF16 : REAL_F32, err);
}
