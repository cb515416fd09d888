/* topology.c - see topology.h. */
#include "device/topology.h"

#include <stdio.h>

#define NVLINK_GBPS 25.0 /* of a link in one direction, from the second generation on */

/* Bytes per second of one lane in one direction, after the line code. */
static double lane_gbps(int gen)
{
    static const double of[] = {0, 0.25, 0.5, 0.985, 1.97, 3.94, 7.56};
    return gen > 0 && gen < (int)(sizeof of / sizeof *of) ? of[gen] : 0;
}

static double pcie_gbps(const Topology *t, int which)
{
    return lane_gbps(t->pcie_gen[which]) * t->pcie_lanes[which];
}

/* Older drivers lack some of these functions: what they would say is then unknown. */
static int ask(int (*f)(void *, unsigned *), void *device)
{
    unsigned x = 0;
    return f && f(device, &x) == 0 ? (int)x : 0;
}

static int active_links(const Nvml *nvml, void *device)
{
    int n = 0;
    for (unsigned link = 0; nvml->nvlink_state && link < NVML_MOST_LINKS; link++) {
        int active = 0;
        n += nvml->nvlink_state(device, link, &active) == 0 && active;
    }
    return n;
}

int topology_read_nvml(Topology *t, const Nvml *nvml, int data_index, int model_index, Err *err)
{
    const int index[2] = {data_index, model_index};
    void *handle[2];
    *t = (Topology){.ancestor = -1, .direct = -1};
    for (int i = 0; i < 2; i++) {
        if (nvml_find_gpu(nvml, index[i], &handle[i], err))
            return err->code;
        t->pcie_gen[i] = ask(nvml->pcie_gen, handle[i]);
        t->pcie_lanes[i] = ask(nvml->pcie_lanes, handle[i]);
        t->pcie_most_gen[i] = ask(nvml->pcie_most_gen, handle[i]);
        t->pcie_most_lanes[i] = ask(nvml->pcie_most_lanes, handle[i]);
    }
    if (data_index == model_index)
        return 0;
    int status = -1, level = -1;
    if (nvml->p2p_status && nvml->p2p_status(handle[0], handle[1], NVML_P2P_READ, &status) == 0)
        t->direct = status == NVML_P2P_OK;
    if (nvml->p2p_status && nvml->p2p_status(handle[0], handle[1], NVML_P2P_NVLINK, &status) == 0 &&
        status == NVML_P2P_OK) {
        int a = active_links(nvml, handle[0]), b = active_links(nvml, handle[1]);
        t->nvlinks = a < b ? a : b;
    }
    if (nvml->common_ancestor && nvml->common_ancestor(handle[0], handle[1], &level) == 0)
        t->ancestor = level;
    return 0;
}

/* Of the machine that --sim describes: both devices have the same link. */
static int read_sim(Topology *t, const Sim *sim, int one, Err *err)
{
    *t = (Topology){.ancestor = -1, .direct = -1};
    if (!sim || (!sim->pcie_gen && !sim->nvlinks))
        return err_set(err, ERR_MISSING, "--sim says nothing about it (pcie_gen, pcie_lanes, nvlinks)");
    for (int i = 0; i < 2; i++) {
        t->pcie_gen[i] = t->pcie_most_gen[i] = sim->pcie_gen;
        t->pcie_lanes[i] = t->pcie_most_lanes[i] = sim->pcie_lanes;
    }
    if (!one) {
        t->nvlinks = sim->nvlinks;
        t->direct = 1;
    }
    return 0;
}

int topology_read(Topology *t, const Device *data, const Device *model, const Sim *sim, Err *err)
{
    *t = (Topology){.ancestor = -1, .direct = -1};
    if (data->traits.simulated && model->traits.simulated)
        return read_sim(t, sim, data == model, err);
    /* The data on the CPU: the way to the GPU is its PCIe link. */
    const Device *first = data->traits.nvml ? data : model;
    if (!model->traits.nvml)
        return err_set(err, ERR_MISSING, "the model device is not a GPU");
    Nvml nvml;
    int rc = nvml_load(&nvml, err);
    if (rc)
        return rc;
    int started = nvml.init();
    rc = started ? err_set(err, ERR_MISSING, "NVML does not start (%s)", nvml.error_string(started))
                 : topology_read_nvml(t, &nvml, first->index, model->index, err);
    if (!started)
        nvml.shutdown();
    nvml_unload(&nvml);
    return rc;
}

int topology_is_slow(const Topology *t, int which)
{
    /* The generation falls when a GPU has nothing to do; lanes do not come back. */
    return t->pcie_lanes[which] > 0 && t->pcie_lanes[which] < t->pcie_most_lanes[which];
}

const char *topology_link(const Topology *t, int which, char *out, size_t cap)
{
    int gen = t->pcie_most_gen[which] > t->pcie_gen[which] ? t->pcie_most_gen[which] : t->pcie_gen[which];
    if (cap)
        out[0] = 0;
    if (!t->pcie_gen[which] || !t->pcie_lanes[which])
        return out;
    int n = snprintf(out, cap, "PCIe %d.0 x%d, %.0f GB/s", gen, t->pcie_lanes[which],
                     lane_gbps(gen) * t->pcie_lanes[which]);
    if (topology_is_slow(t, which) && n > 0 && (size_t)n < cap)
        snprintf(out + n, cap - (size_t)n, " (the device could use x%d)", t->pcie_most_lanes[which]);
    return out;
}

/* What is between the two, from near to far. */
static const char *between(int ancestor)
{
    return ancestor <= NVML_TOPOLOGY_INTERNAL     ? "on one board"
           : ancestor <= NVML_TOPOLOGY_SINGLE     ? "behind one PCIe switch"
           : ancestor <= NVML_TOPOLOGY_MULTIPLE   ? "behind several PCIe switches"
           : ancestor <= NVML_TOPOLOGY_HOSTBRIDGE ? "at one host bridge"
           : ancestor <= NVML_TOPOLOGY_NODE       ? "at two host bridges of one processor"
                                                  : "at two processors";
}

const char *topology_peer(const Topology *t, char *out, size_t cap)
{
    double a = pcie_gbps(t, 0), b = pcie_gbps(t, 1), least = a < b ? a : b;
    if (t->nvlinks)
        snprintf(out, cap, "NVLink, %d link%s: up to %.0f GB/s, past PCIe and the host", t->nvlinks,
                 t->nvlinks == 1 ? "" : "s", NVLINK_GBPS * t->nvlinks);
    else if (t->direct == 0)
        snprintf(out, cap,
                 "the driver allows no direct copy%s%s: every batch goes through host memory, over both "
                 "links",
                 t->ancestor >= 0 ? ", the GPUs are " : "", t->ancestor >= 0 ? between(t->ancestor) : "");
    else if (t->direct < 0)
        snprintf(out, cap, "not known: the driver does not say");
    else
        snprintf(out, cap, "directly over PCIe%s%s%s", t->ancestor >= 0 ? ", the GPUs are " : "",
                 t->ancestor >= 0 ? between(t->ancestor) : "",
                 t->ancestor > NVML_TOPOLOGY_HOSTBRIDGE
                     ? ": slower than their links, and shared with the processors"
                     : "");
    size_t n = 0;
    while (n < cap && out[n])
        n++;
    if (!t->nvlinks && least > 0 && n < cap)
        snprintf(out + n, cap - n, " (at most %.0f GB/s)", least);
    return out;
}
