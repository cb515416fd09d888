/* The GPU monitor: without NVML it says so and stays safe; with a library made here, its numbers come
 * through. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "device/monitor.h"
#include "device/nvml.h"
#include "device/topology.h"

typedef struct Lines {
    Log log;
    char *text;
    size_t size;
} Lines;

static void lines_open(Lines *l)
{
    log_init(&l->log, LOG_INFO);
    l->log.out = open_memstream(&l->text, &l->size);
}

static const char *lines_text(Lines *l)
{
    fflush(l->log.out);
    return l->text;
}

static void lines_close(Lines *l)
{
    fclose(l->log.out);
    free(l->text);
}

/* ---- a library made here ---- */

static int good(void) { return 0; }
static int bad(void) { return 9; }
static const char *error_string(int result) { return result == 9 ? "driver not loaded" : "not found"; }
static int numbers[4] = {100, 200, 300, 400}; /* GPU k reports numbers[k] + something */
static int device_by_index(unsigned index, void **device)
{
    if (index >= 4)
        return 2;
    *device = &numbers[index];
    return 0;
}
static int device_by_uuid(const char *uuid, void **device)
{
    return strcmp(uuid, "GPU-c0ffee") ? 6 : (*device = &numbers[3], 0);
}
static int utilization(void *device, NvmlUtilization *u)
{
    *u = (NvmlUtilization){(unsigned)*(int *)device / 10, 77};
    return 0;
}
static int memory(void *device, NvmlMemory *m)
{
    *m = (NvmlMemory){1000, 1, (unsigned long long)*(int *)device};
    return 0;
}
static int power(void *device, unsigned *mw)
{
    *mw = (unsigned)*(int *)device * 1000;
    return 0;
}
static int sm_clock(void *device, int which, unsigned *mhz)
{
    *mhz = which == NVML_CLOCK_SM ? 1980 : 5;
    return 0;
}
static int pcie(void *device, int direction, unsigned *kb)
{
    if (device == &numbers[2])
        return 3; /* not supported */
    *kb = direction == NVML_PCIE_RX ? 7 : 3;
    return 0;
}
static int temperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = 55;
    return 0;
}

static const Nvml made = {.init = good,
                          .shutdown = good,
                          .error_string = error_string,
                          .device_by_index = device_by_index,
                          .device_by_uuid = device_by_uuid,
                          .utilization = utilization,
                          .memory = memory,
                          .power = power,
                          .clock = sm_clock,
                          .pcie = pcie,
                          .temperature = temperature};

static void wait_for_samples(Monitor *m, int gpu, uint64_t n)
{
    MonitorSummary s;
    do {
        clock_sleep(1e-3);
        monitor_summary(m, gpu, &s);
    } while (s.samples < n);
}

/* ---- tests ---- */

static void test_without_nvml(void **state)
{
    Lines lines;
    lines_open(&lines);
    Monitor *m;
    Err err = {0};
    assert_int_equal(monitor_open(&m, (int[]){0, 1}, 2, 0.1, &lines.log, &err), 0);
    if (monitor_measures(m)) {
        monitor_close(m);
        lines_close(&lines);
        print_message("SKIPPED: NVML is here, so the line for its absence is not tested\n");
        skip();
    }
    assert_non_null(strstr(lines_text(&lines), "cannot measure GPU utilisation"));
    MonitorSummary s;
    MonitorSample history[4];
    memset(&s, 1, sizeof s);
    monitor_summary(m, 1, &s);
    assert_int_equal(s.samples, 0);
    for (int v = 0; v < MONITOR_COUNT; v++)
        assert_int_equal(s.values[v].n, 0);
    assert_int_equal(monitor_history(m, 0, history, 4), 0);
    monitor_restart(m);
    monitor_close(m);
    lines_close(&lines);
}

static void test_no_gpus_no_line(void **state)
{
    Lines lines;
    lines_open(&lines);
    Monitor *m;
    assert_int_equal(monitor_open(&m, NULL, 0, 0.1, &lines.log, NULL), 0);
    assert_false(monitor_measures(m));
    monitor_close(m);
    assert_string_equal(lines_text(&lines), "");
    lines_close(&lines);
    monitor_close(NULL);
}

static void test_values(void **state)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    Lines lines;
    lines_open(&lines);
    Monitor *m;
    assert_int_equal(monitor_open_with(&m, &made, (int[]){1, 2, 9}, 3, 1e-3, &lines.log, NULL), 0);
    assert_true(monitor_measures(m));
    assert_non_null(strstr(lines_text(&lines), "NVML does not know GPU 9 (not found)"));
    wait_for_samples(m, 1, 20);
    MonitorSummary s;
    monitor_summary(m, 0, &s);
    static const double expected[MONITOR_COUNT] = {20, 200, 200, 1980, 7000, 3000, 55};
    for (int v = 0; v < MONITOR_COUNT; v++) {
        assert_int_equal(s.values[v].n, s.samples);
        assert_float_equal(s.values[v].mean, expected[v], 1e-6);
        assert_float_equal(s.values[v].min, expected[v], 1e-6);
        assert_float_equal(s.values[v].max, expected[v], 1e-6);
    }
    assert_float_equal(s.memory_total, 1000, 0);
    monitor_summary(m, 1, &s); /* the one without PCIe numbers */
    assert_int_equal(s.values[MONITOR_PCIE_IN].n, 0);
    assert_int_equal(s.values[MONITOR_PCIE_OUT].n, 0);
    assert_int_equal(s.values[MONITOR_POWER].n, s.samples);
    monitor_summary(m, 2, &s); /* the one that is not there */
    assert_int_equal(s.samples, 0);
    MonitorSample history[10];
    assert_int_equal(monitor_history(m, 1, history, 10), 10);
    for (int i = 0; i < 10; i++) {
        assert_true(i == 0 || history[i].at > history[i - 1].at);
        assert_true(isnan(history[i].values[MONITOR_PCIE_IN]));
        assert_true(history[i].values[MONITOR_UTILISATION] == 30);
    }
    monitor_close(m);
    lines_close(&lines);
}

static void test_history_is_bounded(void **state)
{
    Monitor *m;
    assert_int_equal(monitor_open_with(&m, &made, (int[]){0}, 1, 1e-6, NULL, NULL), 0);
    wait_for_samples(m, 0, MONITOR_HISTORY + 300);
    MonitorSample *all = calloc(2 * MONITOR_HISTORY, sizeof *all);
    assert_int_equal(monitor_history(m, 0, all, 2 * MONITOR_HISTORY), MONITOR_HISTORY);
    for (int i = 1; i < MONITOR_HISTORY; i++)
        assert_true(all[i].at >= all[i - 1].at);
    MonitorSummary before, after;
    monitor_summary(m, 0, &before);
    monitor_restart(m);
    monitor_summary(m, 0, &after);
    assert_true(after.samples < before.samples);
    free(all);
    monitor_close(m);
}

static void test_visible_devices(void **state)
{
    Monitor *m;
    MonitorSummary s;
    Lines lines;
    lines_open(&lines);
    setenv("CUDA_VISIBLE_DEVICES", "2, GPU-c0ffee", 1);
    assert_int_equal(monitor_open_with(&m, &made, (int[]){0, 1, 2}, 3, 1e-3, &lines.log, NULL), 0);
    wait_for_samples(m, 1, 2);
    monitor_summary(m, 0, &s);
    assert_float_equal(s.values[MONITOR_MEMORY].mean, 300, 1e-6);
    monitor_summary(m, 1, &s);
    assert_float_equal(s.values[MONITOR_MEMORY].mean, 400, 1e-6);
    assert_non_null(strstr(lines_text(&lines), "GPU 2 is not in CUDA_VISIBLE_DEVICES"));
    monitor_close(m);
    unsetenv("CUDA_VISIBLE_DEVICES");
    lines_close(&lines);
}

static void test_library_that_does_not_start(void **state)
{
    Lines lines;
    lines_open(&lines);
    Nvml broken = made;
    broken.init = bad;
    Monitor *m;
    assert_int_equal(monitor_open_with(&m, &broken, (int[]){0}, 1, 0.1, &lines.log, NULL), 0);
    assert_false(monitor_measures(m));
    assert_non_null(strstr(lines_text(&lines), "NVML does not start (driver not loaded)"));
    monitor_close(m);
    lines_close(&lines);
}

/* An hour between two looks: closing does not wait for it. */
static void test_close_is_quick(void **state)
{
    for (int i = 0; i < 50; i++) {
        Monitor *m;
        assert_int_equal(monitor_open_with(&m, &made, (int[]){0, 1}, 2, 3600, NULL, NULL), 0);
        monitor_close(m);
    }
}

/* ---- topology ---- */

/* GPUs 0 and 1 have NVLink, 1 and 2 lie behind one switch, 3 is at the other processor, with half its lanes.
 */
static int number_of(const void *device) { return (int)((const int *)device - numbers); }
static int link_gen(void *device, unsigned *gen) { return (*gen = number_of(device) == 3 ? 3 : 4, 0); }
static int link_lanes(void *device, unsigned *lanes) { return (*lanes = number_of(device) == 3 ? 8 : 16, 0); }
static int most_gen(void *device, unsigned *gen) { return (*gen = 4, 0); }
static int most_lanes(void *device, unsigned *lanes) { return (*lanes = 16, 0); }
static int nvlink_state(void *device, unsigned link, int *active)
{
    if (link >= 6)
        return 3; /* not supported */
    *active = link < (number_of(device) ? 4 : 6);
    return 0;
}
static int p2p_status(void *a, void *b, int what, int *status)
{
    int sum = number_of(a) + number_of(b);
    *status = what == NVML_P2P_NVLINK ? sum != 1 : sum == 5;
    return 0;
}
static int common_ancestor(void *a, void *b, int *level)
{
    *level = number_of(a) == 3 || number_of(b) == 3 ? NVML_TOPOLOGY_SYSTEM : NVML_TOPOLOGY_SINGLE;
    return 0;
}

static void test_topology(void **state)
{
    Nvml nvml = made;
    nvml.pcie_gen = link_gen;
    nvml.pcie_lanes = link_lanes;
    nvml.pcie_most_gen = most_gen;
    nvml.pcie_most_lanes = most_lanes;
    nvml.nvlink_state = nvlink_state;
    nvml.p2p_status = p2p_status;
    nvml.common_ancestor = common_ancestor;
    const struct {
        int data, model;
        const char *link, *peer;
    } cases[] = {
        {0, 1, "PCIe 4.0 x16, 32 GB/s", "NVLink, 4 links: up to 100 GB/s, past PCIe and the host"},
        {1, 2, "PCIe 4.0 x16, 32 GB/s",
         "directly over PCIe, the GPUs are behind one PCIe switch (at most 32 GB/s)"},
        {3, 2, "PCIe 4.0 x8, 16 GB/s (the device could use x16)",
         "the driver allows no direct copy, the GPUs are at two processors: every batch goes through host "
         "memory, "
         "over both links (at most 8 GB/s)"},
    };
    Topology t;
    Err err = {0};
    char text[300];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(topology_read_nvml(&t, &nvml, cases[i].data, cases[i].model, &err), 0);
        assert_string_equal(topology_link(&t, 0, text, sizeof text), cases[i].link);
        assert_string_equal(topology_peer(&t, text, sizeof text), cases[i].peer);
        assert_int_equal(topology_is_slow(&t, 0), cases[i].data == 3);
    }
    assert_int_equal(topology_read_nvml(&t, &nvml, 0, 7, &err), ERR_MISSING);
    /* A driver that has none of these functions: nothing is claimed. */
    assert_int_equal(topology_read_nvml(&t, &made, 0, 1, &err), 0);
    assert_string_equal(topology_link(&t, 0, text, sizeof text), "");
    assert_string_equal(topology_peer(&t, text, sizeof text), "not known: the driver does not say");
    assert_true(t.direct == -1 && t.ancestor == -1 && t.nvlinks == 0);
}

/* Simulated GPUs have the links that --sim says. */
static void test_simulated_topology(void **state)
{
    Sim sim;
    Err err = {0};
    Device *data = NULL, *model = NULL;
    Topology t;
    char text[300];
    assert_int_equal(sim_parse(&sim, "pcie_gen=5,pcie_lanes=16,nvlinks=2", &err), 0);
    assert_int_equal(device_open(&data, "sim0", &(DeviceOptions){.sim = &sim}, &err), 0);
    assert_int_equal(device_open(&model, "sim1", &(DeviceOptions){.sim = &sim}, &err), 0);
    assert_int_equal(topology_read(&t, data, model, &sim, &err), 0);
    assert_string_equal(topology_link(&t, 1, text, sizeof text), "PCIe 5.0 x16, 63 GB/s");
    assert_string_equal(topology_peer(&t, text, sizeof text),
                        "NVLink, 2 links: up to 50 GB/s, past PCIe and the host");
    sim.pcie_gen = sim.nvlinks = 0;
    assert_int_equal(topology_read(&t, data, model, &sim, &err), ERR_MISSING);
    device_close(data);
    device_close(model);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_nvml),
        cmocka_unit_test(test_no_gpus_no_line),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_history_is_bounded),
        cmocka_unit_test(test_visible_devices),
        cmocka_unit_test(test_library_that_does_not_start),
        cmocka_unit_test(test_close_is_quick),
        cmocka_unit_test(test_topology),
        cmocka_unit_test(test_simulated_topology),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
