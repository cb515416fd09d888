/* stage.h - the stages of the pipeline, in the order in which a batch passes them, and all that is particular
 * to one of them: names, words, where it runs. Counters, feeder, simulated machines and every report loop
 * over this list. A new stage is a line here, a row in stage.c, and the file that does its work (on a stream
 * of the feeder: feeder_buffer.c). Threads: any. */
#ifndef MYXTTS_STAGE_H
#define MYXTTS_STAGE_H

typedef enum {
    STAGE_NONE = -1,
    STAGE_READ,       /* from the disk */
    STAGE_DECODE,     /* audio to samples, or a record to a row */
    STAGE_H2D,        /* host to data device */
    STAGE_PREPROCESS, /* on the data device, or in the workers where that is the CPU */
    STAGE_PEER,       /* data device to model device */
    STAGE_STEP,       /* the consumer's work on the model device; always the last */
    STAGE_COUNT
} StageId;

/* The feeder's streams, in the order in which a batch passes them. Those of the data device have nothing to
 * do where that is the CPU, the peer stream where data and model share a device. */
typedef enum {
    STREAM_NONE, /* threads of the host, or the consumer */
    STREAM_COPY, /* to the data device */
    STREAM_WORK, /* on the data device */
    STREAM_PEER  /* to the model device */
} StageStream;

/* Why training is held up. Of a stage that is too slow: storage, bandwidth or compute. */
typedef enum {
    CAUSE_NONE,
    CAUSE_STORAGE,
    CAUSE_WORKERS,
    CAUSE_BUFFERS,
    CAUSE_BANDWIDTH,
    CAUSE_COMPUTE,
    CAUSE_STALL,
    CAUSE_OUTLIERS
} Cause;

/* Of a number that describes a stage of a simulated machine. */
typedef enum {
    SIM_MS,  /* a batch */
    SIM_US,  /* a batch */
    SIM_GBPS /* 1e9 bytes/s */
} SimUnit;

typedef struct StageKey {
    const char *name; /* NULL: no more of them */
    SimUnit unit;
} StageKey;

#define STAGE_MOST_KEYS 2

typedef struct StageInfo {
    StageId id;                     /* the row's place in the list */
    const char *name;               /* in JSON, in reports, in --sim */
    StageKey keys[STAGE_MOST_KEYS]; /* of --sim */
    StageStream stream;             /* of the feeder, on which it runs */
    int workers;         /* 1: the loader's workers compute it; with a stream: where the data device
                            is the CPU */
    Cause cause;         /* when it is too slow, whatever else could be changed */
    const char *subject; /* "... is too slow"; NULL: reports have a sentence of its own */
    const char *part;    /* "... twice as fast" */
    const char *advice;  /* what to do about the cause, besides settings that the forecast knows */
} StageInfo;

const StageInfo *stage_info(StageId s);
const char *stage_name(StageId s);
StageId stage_find(const char *name, int n); /* of n bytes; STAGE_NONE when there is no such stage */

#endif
