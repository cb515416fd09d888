/* stage.h - the stages of the pipeline, in the order in which a batch passes through them, and everything
 * that distinguishes them: names, the stream they run on. Counters, feeder, simulated machines and all
 * reports loop over this list. A new stage needs a line here, a row in stage.c, and its work (in
 * feeder_buffer.c if it runs on a stream of the feeder). Threads: any. */
#ifndef MYXTTS_STAGE_H
#define MYXTTS_STAGE_H

typedef enum {
    STAGE_NONE = -1,
    STAGE_READ,       /* from the disk */
    STAGE_DECODE,     /* audio to samples, or a record to a row */
    STAGE_H2D,        /* host to data device */
    STAGE_PREPROCESS, /* on the data device, or in the workers where that is the CPU */
    STAGE_PEER,       /* data device to model device */
    STAGE_STEP,       /* the consumer's work on the model device; the last of a rank by itself */
    STAGE_SUM,        /* gradients summed over ranks, as far as the step waits for it; only with ranks */
    STAGE_COUNT
} StageId;

/* The feeder's streams, in the order in which a batch passes through them. Those of the data device have no
 * work if that is the CPU; the peer stream has none if data and model share a device. */
typedef enum {
    STREAM_NONE, /* runs in threads of the host or in the consumer */
    STREAM_COPY, /* to the data device */
    STREAM_WORK, /* on the data device */
    STREAM_PEER  /* to the model device */
} StageStream;

/* Why training is held up. A stage that is too slow has storage, bandwidth or compute. */
typedef enum {
    CAUSE_NONE,
    CAUSE_STORAGE,
    CAUSE_WORKERS,
    CAUSE_BUFFERS,
    CAUSE_BANDWIDTH,
    CAUSE_COMPUTE,
    CAUSE_STALL,
    CAUSE_OUTLIERS,
    CAUSE_SETTING /* a switch of the pipeline is off */
} Cause;

/* The unit of a number of --sim. */
typedef enum {
    SIM_MS,  /* per batch */
    SIM_US,  /* per batch */
    SIM_GBPS /* 1e9 bytes/s */
} SimUnit;

typedef struct StageKey {
    const char *name; /* NULL if the stage has no more keys */
    SimUnit unit;
} StageKey;

#define STAGE_MOST_KEYS 2

typedef struct StageInfo {
    StageId id;       /* equals the row's index */
    const char *name; /* in JSON, in reports and in --sim */
    StageKey keys[STAGE_MOST_KEYS];
    StageStream stream;
    int workers; /* 1 if the loader's workers compute it: always, or, if it has a stream, on the CPU */
    Cause cause; /* why it is too slow if more workers or buffers would not help */
} StageInfo;

const StageInfo *stage_info(StageId s);
const char *stage_name(StageId s);
StageId stage_find(const char *name, int n); /* name has n bytes; STAGE_NONE if there is no such stage */

#endif
