/* preflight_devices.c - the GPUs that are there against those that are asked for, their generation, their
 * memory and the caps on it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/topology.h"
#include "diag/preflight/preflight_private.h"

#define MOST_GPUS 16

typedef struct Gpus { /* as the driver shows them to this process */
    int count;
    char names[MOST_GPUS][96];
    int major[MOST_GPUS], minor[MOST_GPUS];
    char why[200]; /* count 0: why */
} Gpus;

/* Functions of the driver's public interface (cuda.h), which is not needed to build. */
typedef struct Driver {
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*get)(int *device, int ordinal);
    int (*name)(char *out, int cap, int device);
    int (*attribute)(int *out, int which, int device);
} Driver;
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

/* A function pointer through memcpy: C has no conversion from void *. */
static int load(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* The driver is asked, not the CUDA part: GPUs that are too old for it are seen as well. */
static void list_gpus(Gpus *g)
{
    Driver d = {0};
    *g = (Gpus){0};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say(g->why, sizeof g->why, SAY_CHECK_NO_DRIVER);
        return;
    }
    int rc, found = load(library, "cuInit", &d.init) && load(library, "cuDeviceGetCount", &d.count) &&
                    load(library, "cuDeviceGet", &d.get) && load(library, "cuDeviceGetName", &d.name) &&
                    load(library, "cuDeviceGetAttribute", &d.attribute);
    if (!found)
        say(g->why, sizeof g->why, SAY_CHECK_ODD_DRIVER);
    else if ((rc = d.init(0)) || (rc = d.count(&g->count))) {
        g->count = 0;
        say(g->why, sizeof g->why, SAY_CHECK_DEAD_DRIVER, rc);
    } else if (g->count == 0)
        say(g->why, sizeof g->why, SAY_CHECK_BLIND_DRIVER);
    g->count = g->count > MOST_GPUS ? MOST_GPUS : g->count;
    for (int i = 0, device; i < g->count; i++)
        if (d.get(&device, i) || d.name(g->names[i], sizeof g->names[i], device) ||
            d.attribute(&g->major[i], CAPABILITY_MAJOR, device) ||
            d.attribute(&g->minor[i], CAPABILITY_MINOR, device))
            say(g->names[i], sizeof g->names[i], SAY_CHECK_DUMB_GPU);
    /* The library stays loaded: the CUDA part may be using it. */
}

/* One of the two settings; device: NULL where it could not be opened. */
static void check_device(Survey *s, const char *key, const char *name, Device *device, const Gpus *g)
{
    Preflight *p = s->p;
    Err err = {0};
    Finding f = {.severity = FINDING_ERROR, .area = AREA_DEVICES, .key = key};
    int is_number = name[0] >= '0' && name[0] <= '9', number = atoi(name);
    /* A number that does not exist is told before anything is opened. */
    if (is_number && number >= g->count) {
        f.what = g->count ? preflight_say_count(p, SAY_CHECK_GPU_OF_FEWER, g->count, key, name, g->count)
                          : preflight_say(p, SAY_CHECK_GPU_OF_NONE, key, name, g->why);
        f.why = word(SAY_CHECK_GPU_MISSING_WHY);
        f.set_value = "auto";
        preflight_finding(s, f);
        return;
    }
    /* Neither device is open: which of them is it? */
    if (!device) {
        Device *d = NULL;
        Sim sim = {0};
        DeviceOptions o = {.log = NULL};
        if (strncmp(name, "sim", 3) == 0 && sim_parse(&sim, s->cfg->sim, &err) == 0)
            o.sim = &sim;
        if (!err.code)
            device_open(&d, name, &o, &err);
        device_close(d);
        sim_close(&sim);
        if (err.code) {
            f.what = preflight_say(p, SAY_CHECK_CLOSED, name, err.msg);
            f.why = word(SAY_CHECK_CLOSED_WHY);
            f.fix = is_number ? NULL : preflight_keep(p, err.hint);
            f.set_value = is_number ? "auto" : NULL;
            preflight_finding(s, f);
        }
        return;
    }
    DeviceMemory m = {0};
    device->ops->memory_info(device, &m);
    preflight_row(s, AREA_DEVICES, key, preflight_format(p, "%s (%s)", device->name, device->model),
                  STATUS_INFO,
                  m.total ? preflight_say(p, SAY_CHECK_OF_MEMORY, preflight_bytes(p, m.total)) : "");
    /* auto took the CPU although there is a GPU: why? */
    if (strcmp(name, "auto") == 0 && device->traits.host_memory && g->count > 0) {
        Device *d = NULL;
        device_open(&d, "0", &(DeviceOptions){0}, &err);
        device_close(d);
        f.severity = FINDING_WARNING;
        f.what = preflight_say_count(p, SAY_CHECK_FALLS_BACK, g->count, key, g->count);
        f.why = preflight_keep(p, err.code ? err.msg : word(SAY_CHECK_DID_NOT_OPEN));
        f.fix = preflight_keep(p, err.hint);
        preflight_finding(s, f);
    }
}

/* Caps that are not enforced, or larger than the device. */
static void check_cap(Survey *s, const char *key, int megabytes, Device *device)
{
    DeviceMemory m = {0};
    if (megabytes == 0)
        return;
    Finding f = {.severity = FINDING_WARNING, .area = AREA_DEVICES, .key = key};
    if (!s->cfg->enable_memory_isolation) {
        f.key = "enable_memory_isolation";
        f.what = preflight_say(s->p, SAY_CHECK_CAP_OFF, key, megabytes);
        f.why = word(SAY_CHECK_CAP_OFF_WHY);
        f.set_value = "true";
        preflight_finding(s, f);
    }
    if (!device)
        return;
    device->ops->memory_info(device, &m);
    if (m.total && (uint64_t)megabytes << 20 > m.total) {
        f = (Finding){.severity = FINDING_WARNING, .area = AREA_DEVICES, .key = key};
        f.what =
            preflight_say(s->p, SAY_CHECK_CAP_HIGH, megabytes, device->name, preflight_bytes(s->p, m.total));
        f.why = word(SAY_CHECK_CAP_HIGH_WHY);
        f.set_value = "0";
        preflight_finding(s, f);
    }
}

static const char *capability(Preflight *p, const Gpus *g, int i)
{
    return preflight_format(p, "%d.%d", g->major[i], g->minor[i]);
}

/* bf16 that the GPU could have and is not used. */
static void check_precision(Survey *s, const Gpus *g)
{
    Preflight *p = s->p;
    const Device *d = s->o->model;
    int on = s->cfg->mixed_precision;
    if (!s->on_gpu) {
        preflight_row(s, AREA_GRAPH, word(SAY_CHECK_PRECISION), on ? "true" : "false", STATUS_UNKNOWN,
                      d ? preflight_say(p, SAY_CHECK_FLOAT_ANYWAY, d->name)
                        : word(SAY_CHECK_NO_MODEL_DEVICE));
        return;
    }
    /* The generation decides whether bf16 is fast. */
    int known = d->index < g->count && g->major[d->index] > 0;
    const char *generation = known ? preflight_say(p, SAY_CHECK_CAPABILITY, capability(p, g, d->index))
                                   : word(SAY_CHECK_NO_CAPABILITY);
    preflight_row(s, AREA_GRAPH, word(SAY_CHECK_PRECISION), on ? "bf16" : "float",
                  on ? STATUS_GOOD : STATUS_ACCEPTABLE, generation);
    if (!on && known && g->major[d->index] >= 8)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_GRAPH,
                                       .key = "mixed_precision",
                                       .what = preflight_say(p, SAY_CHECK_NO_BF16, d->model, generation),
                                       .why = word(SAY_CHECK_NO_BF16_WHY),
                                       .set_value = "true"});
}

/* How data and model device are connected, and what that means for the copy between them. */
static void check_topology(Survey *s)
{
    Preflight *p = s->p;
    const PreflightOptions *o = s->o;
    Topology t;
    Err err = {0};
    char text[300];
    if (!o->data || !o->model || (o->model->traits.host_memory && o->data->traits.host_memory))
        return;
    if (topology_read(&t, o->data, o->model, o->sim, &err)) {
        preflight_row(s, AREA_DEVICES, word(SAY_CHECK_CONNECTION), word(SAY_CHECK_NOT_KNOWN), STATUS_UNKNOWN,
                      preflight_keep(p, err.msg));
        return;
    }
    const Device *const both[2] = {o->data, o->model};
    for (int i = device_same(o->data, o->model) || o->data->traits.host_memory; i < 2; i++) {
        if (!*topology_link(&t, i, text, sizeof text))
            continue;
        int slow = topology_is_slow(&t, i);
        preflight_row(s, AREA_DEVICES, preflight_say(p, SAY_CHECK_LINK, both[i]->name),
                      preflight_keep(p, text), slow ? STATUS_BAD : STATUS_GOOD, word(SAY_CHECK_ONE_WAY));
        if (slow)
            preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                           .area = AREA_DEVICES,
                                           .what = preflight_say(p, SAY_CHECK_LANES, both[i]->name,
                                                                 t.pcie_lanes[i], t.pcie_most_lanes[i]),
                                           .why = word(SAY_CHECK_LANES_WHY),
                                           .value = preflight_keep(p, text),
                                           .fix = word(SAY_CHECK_LANES_FIX)});
    }
    if (!device_same(o->data, o->model) && !o->data->traits.host_memory)
        preflight_row(s, AREA_DEVICES, word(SAY_CHECK_PEER_COPY),
                      preflight_keep(p, topology_peer(&t, text, sizeof text)),
                      t.direct == 0 ? STATUS_ACCEPTABLE : STATUS_GOOD, "");
}

/* First what is there, then what was asked for. */
void preflight_devices(Survey *s)
{
    Preflight *p = s->p;
    const Config *c = s->cfg;
    const PreflightOptions *o = s->o;
    Gpus g;
    list_gpus(&g);
    for (int i = 0; i < g.count; i++)
        preflight_row(s, AREA_DEVICES, preflight_format(p, "GPU %d", i), preflight_keep(p, g.names[i]),
                      g.major[i] >= 8 ? STATUS_GOOD : STATUS_BAD,
                      g.major[i] >= 8 ? preflight_say(p, SAY_CHECK_CAPABILITY, capability(p, &g, i))
                                      : preflight_say(p, SAY_CHECK_OLD_CAPABILITY, capability(p, &g, i)));
    if (g.count == 0) {
        preflight_row(s, AREA_DEVICES, "GPUs", word(SAY_NONE), STATUS_UNKNOWN, preflight_keep(p, g.why));
        preflight_finding(s, (Finding){.severity = FINDING_NOTE,
                                       .area = AREA_DEVICES,
                                       .what = preflight_say(p, SAY_CHECK_NO_GPU, g.why),
                                       .why = word(SAY_CHECK_NO_GPU_WHY),
                                       .value = "0 GPUs"});
    }
    size_t before = p->count;
    Sim sim = {0};
    Err err = {0};
    if (sim_parse(&sim, c->sim, &err)) {
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_DEVICES,
                                       .key = "sim",
                                       .what = preflight_keep(p, err.msg),
                                       .why = word(SAY_CHECK_NO_SIM_WHY),
                                       .fix = preflight_keep(p, err.hint)});
        return;
    }
    sim_close(&sim);
    check_device(s, "data_gpu", c->data_gpu, o->data, &g);
    check_device(s, "model_gpu", c->model_gpu, o->model, &g);
    if (o->device_error && p->count == before) /* each opens by itself, but not both */
        preflight_finding(s, (Finding){.severity = FINDING_ERROR,
                                       .area = AREA_DEVICES,
                                       .key = "model_gpu",
                                       .what = preflight_keep(p, o->device_error->msg),
                                       .why = word(SAY_CHECK_BOTH_CLOSED_WHY),
                                       .fix = preflight_keep(p, o->device_error->hint)});
    check_cap(s, "data_gpu_memory", c->data_gpu_memory, o->data);
    check_cap(s, "model_gpu_memory", c->model_gpu_memory, o->model);
    check_precision(s, &g);
    check_topology(s);
    if (g.count >= 2 && o->data && o->data == o->model && s->on_gpu)
        preflight_finding(s, (Finding){.severity = FINDING_NOTE,
                                       .area = AREA_DEVICES,
                                       .key = "data_gpu",
                                       .what = preflight_say(p, SAY_CHECK_IDLE_GPU, g.count),
                                       .why = preflight_say(p, SAY_CHECK_IDLE_GPU_WHY),
                                       .fix = word(SAY_CHECK_IDLE_GPU_FIX)});
}
