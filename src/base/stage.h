/* stage.h - the stages of the pipeline, in the order in which a batch passes through them, and their names.
 * Counters, simulated machines and all reports use these. Threads: any. */
#ifndef MYXTTS_STAGE_H
#define MYXTTS_STAGE_H

typedef enum {
    STAGE_NONE = -1,
    STAGE_READ,       /* from the disk */
    STAGE_DECODE,     /* audio to samples, or a record to a row */
    STAGE_H2D,        /* host to data device */
    STAGE_PREPROCESS, /* on the data device, or in the workers where that is the CPU */
    STAGE_PEER,       /* data device to model device */
    STAGE_STEP,       /* the consumer's work on the model device */
    STAGE_COUNT
} StageId;

const char *stage_name(StageId s);           /* "read", "decode", "h2d", "preprocess", "peer", "step" */
StageId stage_find(const char *name, int n); /* name has n bytes; STAGE_NONE if there is no such stage */

#endif
