/* cuda_library.c - see cuda_library.h. The library is found by the function table of the device, which lies
 * inside it, so that where it was loaded from is decided in one place (device.c) and kept nowhere. */
#include "device/cuda_library.h"

#include <dlfcn.h>

#include "base/check.h"

void *cuda_library_symbol(const Device *d, const char *name, Err *err)
{
    ASSERT(d->ops->kind == DEVICE_CUDA);
    Dl_info info;
    void *symbol = NULL;
    if (dladdr(d->ops, &info) && info.dli_fname) {
        void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        if (library) {
            symbol = dlsym(library, name);
            dlclose(library); /* what device.c opened stays open */
        }
    }
    if (!symbol) {
        err_set(err, ERR_DEVICE, "device %s: the CUDA part has no %s", d->name, name);
        err_hint(err, "use the CUDA part that was built together with this program");
    }
    return symbol;
}
