/* sim.h - a simulated machine: how long each stage takes, how the times vary, when a stage stalls or fails.
 * `--sim` describes it by a comma-separated list of key=value:
 *   - read_ms, decode_ms, preprocess_ms, step_ms: time per batch
 *   - h2d_gbps, peer_gbps, step_gbps: 1e9 bytes/s; h2d_us, peer_us: latency. What the step takes for the
 *     bytes of its batch comes on top of step_ms, so that long clips take longer
 *   - jitter: standard deviation / mean of each time; jitter=STAGE:NUMBER for one stage
 *   - stall=STAGE:EVERY:MS (repeatable), fail=STAGE:AT (once per stage); batches count from 0
 *   - seed; memory_gb: GiB of each simulated GPU
 *   - pcie_gen, pcie_lanes, nvlinks: how the GPUs are connected (topology.h); they change no time
 *
 * A cluster of ranks, each of them such a machine, is described by more keys:
 *   - ranks, hosts: how many; the ranks are spread evenly, the first ones on host 0
 *   - link_gbps, link_us: between hosts, shared by the ranks of a host; nvlink_gbps, nvlink_us: between ranks
 *     of a host. With one host link_* describe the links in it, unless nvlink_* are given
 *   - slow_rank=R:FACTOR: the step of rank R takes this many times as long (once per rank)
 *   - rank=R:KEY=VALUE, host=H:KEY=VALUE (repeatable): a stage of that rank, or of all ranks of that host;
 *     KEY is a stage's time, jitter, stall or fail. A rank's own value overrides its host's
 *   - shared_disk=1: all hosts read from one disk. Otherwise every host has one, shared by its ranks; a rank
 *     with its own read_ms has its own disk
 *
 * Stages that are not named take no extra time. Random times depend on (seed, stage, batch) only, so a run
 * can be repeated, however its threads are scheduled. There is one disk, which reads batches one after the
 * other; decoding is work of one worker, and several workers decode at the same time.
 *
 * Threads: read-only after sim_parse; sim_disk_read locks. */
#ifndef MYXTTS_SIM_H
#define MYXTTS_SIM_H

#include <stdint.h>

#include "base/err.h"
#include "base/stage.h"
#include "device/links.h"

#define SIM_MAX_STALLS 16
#define SIM_MAX_RANKS 64
#define SIM_MAX_OWN 32

typedef struct SimStall {
    StageId stage;
    int64_t every; /* batches; the last of every such group stalls */
    double seconds;
} SimStall;

/* What one rank, or one host, has differently: KEY=VALUE. */
typedef struct SimOwn {
    int host;  /* 1: of a host */
    int index; /* of the rank or host */
    char word[64];
} SimOwn;

typedef struct Sim {
    double seconds[STAGE_COUNT];  /* fixed time per batch: latency for h2d and peer */
    double per_byte[STAGE_COUNT]; /* seconds per byte: h2d, peer and step */
    double jitter[STAGE_COUNT];   /* std / mean */
    uint64_t seed;
    SimStall stalls[SIM_MAX_STALLS];
    int stall_count;
    int64_t fail_at[STAGE_COUNT];      /* batch number, or -1 */
    uint64_t memory;                   /* bytes of each simulated GPU */
    int pcie_gen, pcie_lanes, nvlinks; /* 0: not said */
    struct SimDisk *disk;
    /* Of a cluster. */
    Links links;                /* ranks: 1 if there is none */
    Links said;                 /* the same before links_complete */
    double slow[SIM_MAX_RANKS]; /* times as long a step; 0: not said */
    SimOwn own[SIM_MAX_OWN];
    int own_count;
    int shared_disk;
    int rank;          /* of sim_ranks_open */
    uint64_t sum_seed; /* the same on all ranks: a sum takes one time */
} Sim;

/* "" or NULL: a machine that takes no time. ERR_CONFIG names the word, the nearest key and the range; sim is
 * then closed. */
int sim_parse(Sim *sim, const char *spec, Err *err);
void sim_close(Sim *sim); /* a zeroed one is allowed */
/* The machines of all ranks of a cluster, sim->links.ranks of them; *all is malloc'd. The cluster may be
 * closed before. */
int sim_ranks_open(Sim **all, const Sim *cluster, Err *err);
void sim_ranks_close(Sim *all, int count); /* NULL is allowed */
int sim_host_of(const Sim *sim, int rank);
/* The time that the gradients' sum takes on this machine's links, as that of STAGE_SUM: `bytes` bytes in so
 * many buckets, one after the other. */
void sim_set_sum(Sim *sim, int buckets);
/* Time of a stage for a batch of `bytes` bytes: mean, jitter (log-normal, so never negative), and stalls.
 * With batch < 0 (work that belongs to no batch, such as copying a table) only the mean. */
double sim_seconds(const Sim *sim, StageId stage, int64_t batch, uint64_t bytes);
int sim_fails(const Sim *sim, StageId stage, int64_t batch);
/* Uses the disk for `seconds`, after everyone who came before, and returns when that time has passed. stop
 * (may be NULL): an int, read atomically, that ends the wait within 10 ms when it is not 0. */
void sim_disk_read(Sim *sim, double seconds, const int *stop);

#endif
