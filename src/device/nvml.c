/* nvml.c - see nvml.h. */
#include "device/nvml.h"

#include <dlfcn.h>
#include <stddef.h>

/* Every function that is needed, and where its pointer goes. One that is missing means a driver too old. */
static const struct {
    const char *name;
    size_t offset; /* in Nvml */
} functions[] = {
    {"nvmlInit_v2", offsetof(Nvml, init)},
    {"nvmlShutdown", offsetof(Nvml, shutdown)},
    {"nvmlErrorString", offsetof(Nvml, error_string)},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(Nvml, device_by_index)},
    {"nvmlDeviceGetHandleByUUID", offsetof(Nvml, device_by_uuid)},
    {"nvmlDeviceGetUtilizationRates", offsetof(Nvml, utilization)},
    {"nvmlDeviceGetMemoryInfo", offsetof(Nvml, memory)},
    {"nvmlDeviceGetPowerUsage", offsetof(Nvml, power)},
    {"nvmlDeviceGetClockInfo", offsetof(Nvml, clock)},
    {"nvmlDeviceGetPcieThroughput", offsetof(Nvml, pcie)},
    {"nvmlDeviceGetTemperature", offsetof(Nvml, temperature)},
};

/* Loaded when it is wanted: the program runs on machines without a driver. */
int nvml_load(Nvml *nvml, Err *err)
{
    *nvml = (Nvml){0};
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return err_set(err, ERR_MISSING, "libnvidia-ml.so.1 is not found");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(nvml->library, functions[i].name);
        if (!f) {
            nvml_unload(nvml);
            return err_set(err, ERR_MISSING, "libnvidia-ml.so.1 is too old: it has no %s", functions[i].name);
        }
        *(void **)((char *)nvml + functions[i].offset) = f;
    }
    return 0;
}

void nvml_unload(Nvml *nvml)
{
    if (nvml->library)
        dlclose(nvml->library);
    *nvml = (Nvml){0};
}
