/* device.c - opening devices by name, and the cap on their memory. See device.h. */
#include "device/device.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/file.h"

#define LIBRARY "libmyxtts_cuda.so"
#define MOST_GPUS 16 /* that `auto` looks at */

static double in_mb(uint64_t bytes) { return (double)bytes / (double)(1 << 20); }

/* ---- the CUDA part ---- */

typedef struct Cuda {
    int (*open)(Device **d, int index, const DeviceOptions *options, Err *err);
} Cuda;

/* Never unloaded: the CUDA runtime inside keeps threads and handlers that must not lose their code. */
static void *open_library(char *found, size_t cap, Err *err)
{
    char folder[PATH_MAX];
    int has_folder = file_own_folder(folder, sizeof folder, 0) == 0;
    static const char *const places[] = {"/" LIBRARY, "/../lib/" LIBRARY};
    for (size_t i = 0; has_folder && i < sizeof places / sizeof *places; i++) {
        snprintf(found, cap, "%s%s", folder, places[i]);
        if (access(found, F_OK) != 0)
            continue;
        void *library = dlopen(found, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        /* There, but not loadable: that is the one the user means, so no other is looked for. */
        if (!library)
            err_set(err, ERR_DEVICE, "the CUDA part cannot be loaded: %s", dlerror());
        return library;
    }
    snprintf(found, cap, "%s", LIBRARY);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        err_set(
            err, ERR_DEVICE,
            "no GPU can be used: %s is neither beside the program, nor in ../lib, nor in the library path",
            LIBRARY);
        err_hint(err, "build it with `make` where nvcc is installed, or use the device cpu");
    }
    return library;
}

/* The library of the CUDA part, its interface version, and the driver, in that order: the first that is
 * missing is named. */
static int load_cuda(Cuda *cuda, Err *err)
{
    char path[PATH_MAX + 64];
    void *library = open_library(path, sizeof path, err);
    if (!library)
        return ERR_DEVICE;
    int (*abi)(void);
    *(void **)&abi = dlsym(library, "myxtts_cuda_abi"); /* the way POSIX has it for functions */
    *(void **)&cuda->open = dlsym(library, "myxtts_cuda_device_open");
    if (!abi || !cuda->open || abi() != DEVICE_CUDA_ABI) {
        err_set(err, ERR_DEVICE, "%s is another version: it has interface %d, but this program needs %d",
                path, abi ? abi() : 0, DEVICE_CUDA_ABI);
        return err_hint(err, "use the library that was built together with this program");
    }
    /* Without a driver the CUDA runtime would only say "insufficient driver". */
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!driver) {
        err_set(err, ERR_DEVICE,
                "no GPU can be used: there is no NVIDIA driver on this machine (libcuda.so.1 is not found)");
        return err_hint(err, "install the driver, or use the device cpu");
    }
    return 0;
}

/* ---- threads of others ---- */

/* A function of the driver, which is there when a GPU is. */
static void *driver_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *function = driver ? dlsym(driver, name) : NULL;
    if (driver)
        dlclose(driver);
    return function;
}

void *device_visit_begin(void)
{
    int (*get)(void **context);
    void *context = NULL;
    *(void **)&get = driver_function("cuCtxGetCurrent");
    return get && get(&context) == 0 ? context : NULL;
}

/* To what it was, also where it was nothing. */
void device_visit_end(void *before)
{
    int (*set)(void *context);
    *(void **)&set = driver_function("cuCtxSetCurrent");
    if (set)
        set(before);
}

/* A GPU by number. */
static int open_cuda(Device **d, int index, const DeviceOptions *options, Err *err)
{
    Cuda cuda;
    int rc = load_cuda(&cuda, err);
    return rc ? rc : cuda.open(d, index, options, err);
}

/* 1: the machine has a GPU of NVIDIA's that programs may open, whether or not we can use it. */
static int has_gpu(void)
{
    static const char *const files[] = {"/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg"}; /* dxg: Windows */
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (access(files[i], F_OK) == 0)
            return 1;
    return 0;
}

/* The first GPU that opens. Why one that is there is not used is a warning, with the device instead. */
static int open_auto(Device **d, const DeviceOptions *options, Err *err)
{
    Err why = {0};
    Cuda cuda;
    if (load_cuda(&cuda, &why) == 0)
        for (int i = options->first ? -1 : 0; i < MOST_GPUS; i++) {
            Err e = {0};
            if (cuda.open(d, i < 0 ? options->first : i, options, &e) == 0) {
                log_info(options->log, "device: %s (%s)", (*d)->name, (*d)->model);
                return 0;
            }
            if (i == 0)
                why = e; /* of the first: later ones may simply not exist */
        }
    int rc = device_host_open(d, options, err);
    if (rc == 0 && has_gpu())
        log_warn(options->log, "device: cpu (%s), because %s", (*d)->model, why.msg);
    else if (rc == 0)
        log_info(options->log, "device: cpu (%s), no GPU here", (*d)->model);
    return rc;
}

/* ---- by name ---- */

/* The number that ends `s`; -1 when s is not all digits, or too long to be one. */
static int parse_index(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || n > 4 || strspn(s, "0123456789") != n)
        return -1;
    return atoi(s);
}

/* THE table of the kinds of devices and their traits. */
static const DeviceTraits traits_of[] = {
    [DEVICE_HOST] = {.host_memory = 1, .inline_streams = 1},
    [DEVICE_SIM] = {.simulated = 1},
    [DEVICE_CUDA] = {.library_kernels = 1, .graphs = 1, .bf16 = 1, .tunes_shapes = 1, .nvml = 1},
};

/* Names are those that the user writes: see device.h. */
static int open_by_name(Device **d, const char *name, const DeviceOptions *options, Err *err)
{
    if (!strcmp(name, "cpu"))
        return device_host_open(d, options, err);
    if (!strcmp(name, "auto"))
        return open_auto(d, options, err);
    if (!strncmp(name, "sim", 3) && parse_index(name + 3) >= 0)
        return device_sim_open(d, parse_index(name + 3), options, err);
    if (parse_index(name) >= 0)
        return open_cuda(d, parse_index(name), options, err);
    err_set(err, ERR_DEVICE, "unknown device '%s'", name);
    return err_hint(
        err, "devices are cpu, auto, the number of a GPU (0, 1, ...) and simulated GPUs (sim0, sim1, ...)");
}

int device_open(Device **d, const char *name, const DeviceOptions *options, Err *err)
{
    static const DeviceOptions none = {0};
    *d = NULL;
    int rc = open_by_name(d, name, options ? options : &none, err);
    if (!rc)
        (*d)->traits = traits_of[(*d)->ops->kind];
    return rc;
}

void device_close(Device *d)
{
    if (d)
        d->ops->close(d);
}

int device_same(const Device *a, const Device *b)
{
    return a->ops->kind == b->ops->kind && a->index == b->index;
}

/* A kind of device knows only its own events. */
int device_stream_wait(Stream *s, Event *e, Err *err)
{
    if (s->device->ops->kind == e->device->ops->kind)
        return s->device->ops->stream_wait_event(s, e, err);
    return e->device->ops->event_wait(e, err);
}

/* Between kinds one side is the host: a copy in, or a copy out. */
int device_copy(Stream *s, void *dst, Device *to, const void *src, Device *from, size_t bytes, Err *err)
{
    const DeviceOps *ops = s->device->ops;
    if (from->ops->kind == to->ops->kind)
        return ops->copy_peer(s, dst, to, src, bytes, err);
    if (from->traits.host_memory)
        return ops->copy_in(s, dst, src, bytes, err);
    return ops->copy_out(s, dst, src, bytes, err);
}

/* ---- memory ---- */

/* The bytes are taken from the account before there is memory, so that two threads cannot both get the last
 * ones. */
int device_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    *p = NULL;
    /* Compare and exchange until no other thread has changed the account in between. */
    uint64_t used = __atomic_load_n(&d->used, __ATOMIC_RELAXED);
    do {
        if (d->cap && (bytes > d->cap || used > d->cap - bytes)) {
            err_set(err, ERR_DEVICE,
                    "device %s: %.1f MB requested, but %.1f MB are in use and its memory limit is %.1f MB",
                    d->name, in_mb(bytes), in_mb(used), in_mb(d->cap));
            err_about(err, ERR_ABOUT_DEVICE, d->name);
            return err_hint(err, "raise the memory limit of the device to %.0f MB, or use smaller batches",
                            in_mb(used + bytes) + 0.5);
        }
    } while (
        !__atomic_compare_exchange_n(&d->used, &used, used + bytes, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    /* The cap left room; the device itself may still be full. */
    int rc = d->ops->memory_alloc(d, p, bytes, err);
    if (rc)
        __atomic_fetch_sub(&d->used, bytes, __ATOMIC_RELAXED);
    return rc;
}

/* The account must match: the caller that frees knows how much was taken. */
void device_free(Device *d, void *p, size_t bytes)
{
    if (!p)
        return;
    d->ops->memory_free(d, p);
    uint64_t before = __atomic_fetch_sub(&d->used, bytes, __ATOMIC_RELAXED);
    ASSERT_CMP(before, >=, bytes);
}
