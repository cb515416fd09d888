/* devices.c - see devices.h. */
#include "device/devices.h"

#include <string.h>

static int is_sim(const char *name) { return strncmp(name, "sim", 3) == 0; }

/* One device opened once, even when both names mean it. */
static int open_devices(Devices *d, const Config *cfg, int local, Log *log, Err *err)
{
    *d = (Devices){0};
    const char *data = cfg->data_gpu, *model = cfg->model_gpu;
    d->has_sim = cfg->sim[0] != 0;
    int rc = sim_parse(&d->sim, cfg->sim, err);
    if (rc) {
        devices_close(d);
        return rc;
    }
    if (d->sim.links.ranks > 1 && strcmp(data, "auto") == 0 && strcmp(model, "auto") == 0)
        model = "sim0";
    /* One named and the other left to choose: both are the one that is given. */
    if (strcmp(data, "auto") == 0 && strcmp(model, "auto") != 0)
        data = model;
    else if (strcmp(model, "auto") == 0 && strcmp(data, "auto") != 0)
        model = data;
    uint64_t data_cap = cfg->enable_memory_isolation ? (uint64_t)cfg->data_gpu_memory << 20 : 0;
    uint64_t model_cap = cfg->enable_memory_isolation ? (uint64_t)cfg->model_gpu_memory << 20 : 0;
    if (strcmp(data, model) == 0) /* one device for both: it may take what both may take */
        model_cap += data_cap;
    DeviceOptions o = {
        .memory_cap = model_cap, .sim = is_sim(model) ? &d->sim : NULL, .first = local, .log = log};
    rc = device_open(&d->model, model, &o, err);
    if (!rc && (strcmp(data, model) == 0 || strcmp(data, d->model->name) == 0))
        d->data = d->model;
    else if (!rc) {
        o = (DeviceOptions){
            .memory_cap = data_cap, .sim = is_sim(data) ? &d->sim : NULL, .first = local, .log = log};
        rc = device_open(&d->data, data, &o, err);
    }
    if (rc)
        devices_close(d);
    return rc;
}

int devices_open_ranks(Devices *d, const Config *cfg, Log *log, Err *err)
{
    return open_devices(d, cfg, 0, log, err);
}

int devices_open(Devices *d, const Config *cfg, Log *log, Err *err)
{
    return devices_open_local(d, cfg, 0, log, err);
}

int devices_open_local(Devices *d, const Config *cfg, int local, Log *log, Err *err)
{
    int rc = open_devices(d, cfg, local, log, err), ranks = rc ? 1 : d->sim.links.ranks;
    if (ranks == 1)
        return rc;
    devices_close(d);
    err_set(err, ERR_USAGE, "--sim describes %d ranks, but this command cannot simulate ranks", ranks);
    return err_hint(
        err, "diagnose, profile and scaling can, when they run alone; mpirun -n %d starts real ranks", ranks);
}

void devices_close(Devices *d)
{
    if (d->data != d->model)
        device_close(d->data);
    device_close(d->model);
    sim_close(&d->sim);
    *d = (Devices){0};
}
