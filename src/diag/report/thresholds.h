/* thresholds.h - the one table of what is good, acceptable and bad, used by all diagnostic tools. Threads:
 * any. */
#ifndef MYXTTS_DIAG_THRESHOLDS_H
#define MYXTTS_DIAG_THRESHOLDS_H

#include "base/words/words.h"

typedef enum {
    LIMIT_GPU_BUSY,       /* share of time */
    LIMIT_GPU_SWING,      /* utilisation of the busiest tenth of samples minus that of the quietest, share */
    LIMIT_WAIT,           /* time that the trainer waits for data, share of step time */
    LIMIT_LOAD,           /* time of the load stages that is not hidden, share of step time */
    LIMIT_TRANSFER,       /* time of the transfer stages that is not hidden, share of step time */
    LIMIT_VARIATION,      /* standard deviation / mean of step times */
    LIMIT_JITTER,         /* the same of the step itself, where neither lengths nor a stall explain it */
    LIMIT_CYCLE,          /* highest autocorrelation at lags 2-20 */
    LIMIT_STORAGE,        /* seconds per 1 MiB read without the page cache */
    LIMIT_PADDING,        /* share of frames */
    LIMIT_STALL_COST,     /* throughput that a stall or outliers must cost to be reported, share */
    LIMIT_STEP_DOMINATES, /* step time / time per batch of the next slowest stage */
    LIMIT_FORECAST,       /* difference between the forecast of the current settings and measurement, share */
    LIMIT_GAIN,           /* predicted gain that is worth a recommendation, share */
    LIMIT_EXPOSED,        /* communication between ranks that is not hidden, share of step time */
    LIMIT_LATE,           /* throughput that a slow rank or host must cost to be reported, share */
    /* Of a voice and its recordings: voice_doctor.h. */
    LIMIT_VOICE_OWN_TEXT,  /* what a clip's own text explains of it and another text does not, share */
    LIMIT_VOICE_COST,      /* mean squared distance between mel and alignment; 1: nothing was learned */
    LIMIT_VOICE_ONES,      /* symbols with one frame, share */
    LIMIT_VOICE_HELD,      /* frames of the longest tenth of the symbols, share */
    LIMIT_VOICE_DURATIONS, /* variation of durations that is predicted, share */
    LIMIT_VOICE_PITCH,     /* variation of pitch that is predicted, share */
    LIMIT_VOICE_SUSPECT,   /* how much worse a text fits than the others, in robust deviations */
    LIMIT_VOICE_WORDS,     /* words recognised wrong, share above that of the recordings */
    LIMIT_VOICE_DEAF,      /* words of the recordings themselves that are recognised wrong, share */
    LIMIT_VOICE_RISE,      /* rise of the validation loss above its minimum, share */
    LIMIT_VOICE_SILENT,    /* clips that are mostly silence, share */
    LIMIT_VOICE_CLIPPED,   /* clips that are clipped, share */
    LIMIT_VOICE_FAST,      /* phonemes per second */
    LIMIT_VOICE_SLOW,      /* phonemes per second */
    LIMIT_VOICE_HIGH,      /* fundamental frequency, Hz */
    LIMIT_VOICE_LOW,       /* fundamental frequency, Hz */
    LIMIT_VOICE_CLIPS,     /* number of clips for training */
    LIMIT_VOICE_MINUTES,   /* of speech */
    LIMIT_COUNT
} LimitId;

typedef enum { STATUS_GOOD, STATUS_ACCEPTABLE, STATUS_BAD, STATUS_INFO, STATUS_UNKNOWN } Status;
const char *status_name(Status s); /* "good", ... */

typedef enum {
    LIMIT_NUMBER,
    LIMIT_PERCENT,
    LIMIT_POINTS,
    LIMIT_MS,
    LIMIT_TIMES,
    LIMIT_HZ,
    LIMIT_MINUTES
} LimitUnit;

#define NO_NOTE WORD_COUNT

typedef struct Limit {
    const char *name; /* key */
    Word measure;     /* what is measured */
    double good, bad; /* good up to `good`, bad beyond `bad`, acceptable between; if equal, bad from there */
    int more_is_better; /* 1: good from `good` on, bad below `bad` */
    LimitUnit unit;     /* in which people read it */
    Word note;          /* NO_NOTE: none */
} Limit;

const Limit *threshold(LimitId id);
const char *limit_unit(const Limit *l); /* "%", "ms", "": in JSON */
double limit_in_unit(const Limit *l, double value);
/* "5 %", in the chosen language. */
void limit_say(char *out, size_t cap, const Limit *l, double value);
Status threshold_judge(LimitId id, double value); /* NaN: unknown */

#endif
