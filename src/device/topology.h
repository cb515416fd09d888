/* topology.h - how two devices are connected: PCIe generation and lanes of each, NVLinks, and what lies
 * between them; and what that means for copies from one to the other. Read from NVML for GPUs, from the words
 * pcie_gen, pcie_lanes and nvlinks of --sim for simulated ones. Threads: one. */
#ifndef MYXTTS_TOPOLOGY_H
#define MYXTTS_TOPOLOGY_H

#include <stddef.h>

#include "base/err.h"
#include "device/device.h"
#include "device/nvml.h"
#include "device/sim.h"

typedef struct Topology {
    int pcie_gen[2], pcie_lanes[2];           /* now, of data and model device; 0: unknown */
    int pcie_most_gen[2], pcie_most_lanes[2]; /* that the device and its slot can do; 0: unknown */
    int nvlinks;  /* active links of the device that has fewer, if the two are connected by NVLink; else 0 */
    int ancestor; /* NvmlTopology between the two; -1: unknown, or one device */
    int direct;   /* 1: the driver lets them read each other's memory; 0: it does not; -1: unknown */
} Topology;

/* Of two devices, which may be the same. sim: of simulated devices. ERR_MISSING, with the reason, if nothing
 * is known: a CPU, no NVML, or a machine that --sim does not describe so far. */
int topology_read(Topology *t, const Device *data, const Device *model, const Sim *sim, Err *err);
/* As topology_read for GPUs, through this NVML, which has been initialised. */
int topology_read_nvml(Topology *t, const Nvml *nvml, int data_index, int model_index, Err *err);

/* "PCIe 4.0 x16", "PCIe 4.0 x16 (could be 5.0 x16)"; which: 0 data, 1 model. "" if unknown. */
const char *topology_link(const Topology *t, int which, char *out, size_t cap);
/* A sentence about copies between the two: "NVLink, 4 links: ..." Returns out. */
const char *topology_peer(const Topology *t, char *out, size_t cap);
/* 1 if the link of a device is slower than device and slot allow. */
int topology_is_slow(const Topology *t, int which);

#endif
