/* engine_private.h - the inside of an Engine: what engine_open.c sets up and engine.c runs. Included by those
 * two files alone. */
#ifndef MYXTTS_ENGINE_PRIVATE_H
#define MYXTTS_ENGINE_PRIVATE_H

#include "device/cuda_graph.h"
#include "train/step/engine.h"
#include "train/step/gradient_sum.h"

/* Of training and validation together: two for each length bucket are 128 at most. */
#define MAX_SHAPES 160
/* Steps that are done phase by phase, to be timed: the first of a shape, which open and capture, and one
 * behind them; then one of this many. */
#define PHASES_FIRST 2
#define PHASES_EVERY 64

/* What a step leaves on the device, copied to the host as one piece. */
typedef struct Outcome {
    float sums[SUM_COUNT];
    OpsGuard guard;
    SumTimes times; /* with ranks */
} Outcome;

/* Device memory of the engine besides parameters and activations. */
typedef struct Control {
    OpsStep step;
    Outcome outcome;
    float scale, norm2;
    int32_t finite;
} Control;

/* One batch that the host has enqueued: pinned memory and events. */
typedef struct Slot {
    OpsStep *step;              /* pinned */
    Outcome *outcome;           /* pinned */
    Event *at[PHASE_COUNT + 1]; /* before each phase, and behind the last */
    int64_t number;             /* step */
    int first, last;            /* it began the step; the optimiser ran */
    int opens;                  /* as engine_opens */
    int whole;                  /* as one graph: only the first and the last event happened */
} Slot;

/* A size of batches, with its pass through the network and the graphs captured of it. */
typedef struct Shape {
    EngineShape size;
    Pass *pass;
    int uses, evaluations;
    void *graph[PHASE_COUNT]; /* of forward, loss, backward */
    void *first_forward;      /* of the forward pass that begins a step */
    void *whole;              /* of a step that is one batch */
    void *summing;            /* of the backward pass that ends a step with ranks */
    void *evaluate;
} Shape;

struct Engine {
    EngineOptions o;
    const Ops *ops;
    OpsContext c;
    Model m;
    Stream *stream;
    void *weights, *activations, *workspace, *batch; /* device */
    uint64_t weight_bytes, activation_bytes, workspace_bytes, batch_bytes, bytes;
    Control *control; /* device */
    float *sums;      /* device: inside control */
    Slot slots[ENGINE_LAG];
    int64_t enqueued, harvested;  /* batches */
    double seconds[PHASE_COUNT];  /* of the harvested batches of the step */
    double measured[PHASE_COUNT]; /* of the newest batch that ran phase by phase */
    void *pinned;
    Shape shapes[MAX_SHAPES];
    int shape_count;
    Shape *now; /* of the batch that was taken */
    BatchInfo info;
    BatchLayout layout;
    const CudaGraphOps *graphs; /* NULL: none */
    void *update_graph;
    int updates;
    int opens; /* the newest step was one of the first of its shape: kernels were chosen, graphs captured */
    int64_t poison_from, poison_count;
    float *nan;        /* pinned */
    GradientSum *over; /* ranks; NULL: alone */
    int wishes_stop;
};

/* The largest shape, with the frames that the sampler rounds up to. */
EngineShape engine_largest(const EngineOptions *o);

#endif
