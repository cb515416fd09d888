/* nvml.c - see nvml.h. */
#include "device/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every function that is used, and where its pointer goes. One that is missing means a driver too old, unless
 * it is optional. */
static const struct {
    const char *name;
    size_t offset; /* in Nvml */
    int optional;
} functions[] = {
    {"nvmlInit_v2", offsetof(Nvml, init), 0},
    {"nvmlShutdown", offsetof(Nvml, shutdown), 0},
    {"nvmlErrorString", offsetof(Nvml, error_string), 0},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(Nvml, device_by_index), 0},
    {"nvmlDeviceGetHandleByUUID", offsetof(Nvml, device_by_uuid), 0},
    {"nvmlDeviceGetUtilizationRates", offsetof(Nvml, utilization), 0},
    {"nvmlDeviceGetMemoryInfo", offsetof(Nvml, memory), 0},
    {"nvmlDeviceGetPowerUsage", offsetof(Nvml, power), 0},
    {"nvmlDeviceGetClockInfo", offsetof(Nvml, clock), 0},
    {"nvmlDeviceGetPcieThroughput", offsetof(Nvml, pcie), 0},
    {"nvmlDeviceGetTemperature", offsetof(Nvml, temperature), 0},
    {"nvmlDeviceGetCurrPcieLinkGeneration", offsetof(Nvml, pcie_gen), 1},
    {"nvmlDeviceGetCurrPcieLinkWidth", offsetof(Nvml, pcie_lanes), 1},
    {"nvmlDeviceGetMaxPcieLinkGeneration", offsetof(Nvml, pcie_most_gen), 1},
    {"nvmlDeviceGetMaxPcieLinkWidth", offsetof(Nvml, pcie_most_lanes), 1},
    {"nvmlDeviceGetNvLinkState", offsetof(Nvml, nvlink_state), 1},
    {"nvmlDeviceGetP2PStatus", offsetof(Nvml, p2p_status), 1},
    {"nvmlDeviceGetTopologyCommonAncestor", offsetof(Nvml, common_ancestor), 1},
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
        if (!f && !functions[i].optional) {
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

/* The word that CUDA_VISIBLE_DEVICES has for GPU `index`: a number or a UUID. 0: it is set and has none.
 * Unset: the number itself. */
static int visible_word(char *out, size_t cap, int index)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list) {
        snprintf(out, cap, "%d", index);
        return 1;
    }
    /* The index-th word of the list. */
    for (int i = 0; i < index && list; i++) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (!list)
        return 0;
    list += strspn(list, " ");
    size_t n = strcspn(list, ", ");
    snprintf(out, cap, "%.*s", (int)n, list);
    return n > 0;
}

int nvml_find_gpu(const Nvml *nvml, int index, void **handle, Err *err)
{
    char word[96];
    *handle = NULL;
    if (!visible_word(word, sizeof word, index))
        return err_set(err, ERR_MISSING, "GPU %d is not in CUDA_VISIBLE_DEVICES", index);
    int is_number = strspn(word, "0123456789") == strlen(word);
    int rc =
        is_number ? nvml->device_by_index((unsigned)atoi(word), handle) : nvml->device_by_uuid(word, handle);
    if (rc)
        return err_set(err, ERR_MISSING, "NVML does not know GPU %d (%s)", index, nvml->error_string(rc));
    return 0;
}
