/* nvml.h - the functions of NVIDIA's management library that the monitor calls, as a table, so that the
 * library is needed neither to build nor to run. Types and numbers are those of its public interface: results
 * are 0 or an error number, handles are opaque pointers. */
#ifndef MYXTTS_NVML_H
#define MYXTTS_NVML_H

#include "base/err.h"

enum { NVML_CLOCK_SM = 1, NVML_PCIE_TX = 0, NVML_PCIE_RX = 1, NVML_TEMPERATURE_GPU = 0 };
enum { NVML_P2P_READ = 0, NVML_P2P_NVLINK = 2, NVML_P2P_OK = 0, NVML_MOST_LINKS = 18 };
/* What lies between two GPUs, from near to far. */
typedef enum {
    NVML_TOPOLOGY_INTERNAL = 0,
    NVML_TOPOLOGY_SINGLE = 10,
    NVML_TOPOLOGY_MULTIPLE = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40,
    NVML_TOPOLOGY_SYSTEM = 50
} NvmlTopology;

/* Percent of the driver's last sampling period (up to a second). */
typedef struct NvmlUtilization {
    unsigned gpu;    /* in which a kernel ran */
    unsigned memory; /* in which memory was read or written */
} NvmlUtilization;

typedef struct NvmlMemory {
    unsigned long long total, free, used; /* bytes */
} NvmlMemory;

typedef struct Nvml {
    void *library; /* NULL: nothing to unload */
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*device_by_index)(unsigned index, void **device);
    int (*device_by_uuid)(const char *uuid, void **device);
    int (*utilization)(void *device, NvmlUtilization *u);
    int (*memory)(void *device, NvmlMemory *m);
    int (*power)(void *device, unsigned *milliwatts);
    int (*clock)(void *device, int which, unsigned *mhz);
    int (*pcie)(void *device, int direction, unsigned *kb_per_s); /* measures for 20 ms before it answers */
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    /* For topology.h; NULL where the driver does not have them. */
    int (*pcie_gen)(void *device, unsigned *gen);
    int (*pcie_lanes)(void *device, unsigned *lanes);
    int (*pcie_most_gen)(void *device, unsigned *gen);
    int (*pcie_most_lanes)(void *device, unsigned *lanes);
    int (*nvlink_state)(void *device, unsigned link, int *active);
    int (*p2p_status)(void *a, void *b, int what, int *status);
    int (*common_ancestor)(void *a, void *b, int *level);
} Nvml;

/* ERR_MISSING if the library is not on this machine, or too old to have these functions. */
int nvml_load(Nvml *nvml, Err *err);
void nvml_unload(Nvml *nvml);

/* The handle of the GPU that CUDA calls `index`, which CUDA_VISIBLE_DEVICES may have renumbered. nvml must
 * have been initialised. ERR_MISSING with the reason. */
int nvml_find_gpu(const Nvml *nvml, int index, void **handle, Err *err);

#endif
