/* sim.h - a simulated machine: how long each stage takes, how it varies, when it stalls or fails.
 * Described by a comma-separated list (`--sim`): read_ms, decode_ms, h2d_gbps, h2d_us, preprocess_ms,
 * peer_gbps, peer_us, step_ms, jitter (std/mean of each), stall=STAGE:EVERY:MS (repeatable), fail=STAGE:AT
 * (once a stage), seed, memory_gb (GiB of each simulated GPU). Times are per batch; gbps are 1e9 bytes/s,
 * batches count from 0. What is not named takes no extra time. Drawn times are a function of (seed, stage,
 * batch), so a run repeats whatever the threads do. read is one disk: batches are read one after the other.
 * decode is work of one worker: several workers decode at once. Threads: read-only after sim_parse; sim_disk
 * is locked inside. */
#ifndef MYXTTS_SIM_H
#define MYXTTS_SIM_H

#include <stdint.h>

#include "base/err.h"
#include "base/stage.h"

#define SIM_MAX_STALLS 16

typedef struct SimStall {
    StageId stage;
    int64_t every; /* batches; the last of each group stalls */
    double seconds;
} SimStall;

typedef struct Sim {
    double seconds[STAGE_COUNT];  /* fixed time per batch: latency for h2d and peer */
    double per_byte[STAGE_COUNT]; /* seconds per byte: h2d and peer */
    double jitter;                /* std / mean */
    uint64_t seed;
    SimStall stalls[SIM_MAX_STALLS];
    int stall_count;
    int64_t fail_at[STAGE_COUNT]; /* batch number, or -1 */
    uint64_t memory;              /* bytes of each simulated GPU */
    struct SimDisk *disk;
} Sim;

/* "" or NULL: a machine that takes no time. ERR_CONFIG names the word, the nearest key and the range, and
 * leaves sim closed. */
int sim_parse(Sim *sim, const char *spec, Err *err);
void sim_close(Sim *sim); /* safe on a zeroed one */
/* Time of a stage for a batch of `bytes` bytes: mean, jitter (log-normal, so never negative), and stalls.
 * batch < 0 (work of no batch, as the copy of a table): the mean alone. */
double sim_seconds(const Sim *sim, StageId stage, int64_t batch, uint64_t bytes);
int sim_fails(const Sim *sim, StageId stage, int64_t batch);
/* Takes the disk for `seconds`: returns when they have passed after everyone who came before. stop: an int
 * that ends the wait within 10 ms when it is not 0 (read atomically); may be NULL. */
void sim_disk_read(Sim *sim, double seconds, const int *stop);

#endif
