/* devices.h - opens the devices of a command from the settings: data_gpu, model_gpu, their memory caps, and
 * --sim. */
#ifndef MYXTTS_DEVICES_H
#define MYXTTS_DEVICES_H

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "device/sim.h"

typedef struct Devices {
    Sim sim;
    int has_sim;          /* --sim was given */
    Device *data, *model; /* may be the same */
} Devices;

int devices_open(Devices *d, const Config *cfg, Log *log, Err *err);
/* The same for a rank, the local-th of its host: where no device is named it takes the GPU of that number. */
int devices_open_local(Devices *d, const Config *cfg, int local, Log *log, Err *err);
/* The same for commands that simulate the ranks of --sim; the others refuse them. Where no device is named,
 * simulated ranks have simulated ones. */
int devices_open_ranks(Devices *d, const Config *cfg, Log *log, Err *err);
void devices_close(Devices *d); /* zeroed or closed ones are allowed */

#endif
