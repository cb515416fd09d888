/* thresholds.h - one table of what is good, acceptable and bad, for every tool that judges. */
#ifndef MYXTTS_DIAG_THRESHOLDS_H
#define MYXTTS_DIAG_THRESHOLDS_H

typedef enum {
    LIMIT_GPU_BUSY,       /* share of time */
    LIMIT_GPU_SWING,      /* points between the quiet and the busy tenth of samples, as a share */
    LIMIT_WAIT,           /* trainer waits on data, share of step time */
    LIMIT_LOAD,           /* load stages, share of step time when not hidden */
    LIMIT_TRANSFER,       /* transfer stages, the same */
    LIMIT_VARIATION,      /* std / mean of step times */
    LIMIT_CYCLE,          /* highest autocorrelation, lags 2-20 */
    LIMIT_STORAGE,        /* s per 1 MiB read past the page cache */
    LIMIT_PADDING,        /* share of frames */
    LIMIT_STALL_COST,     /* throughput that a stall or outliers must cost before they are named, share */
    LIMIT_STEP_DOMINATES, /* step time / time per batch of the next slowest stage */
    LIMIT_FORECAST,       /* forecast of the present settings against what was measured, share */
    LIMIT_GAIN,           /* predicted gain that is worth a recommendation, share */
    /* of a voice and its recordings: voice_doctor.h */
    LIMIT_VOICE_OWN_TEXT,  /* what a clip's own text explains of it that another text does not, share */
    LIMIT_VOICE_COST,      /* mean squared distance of the mel from the alignment's; 1: it knows nothing */
    LIMIT_VOICE_ONES,      /* symbols with one frame, share */
    LIMIT_VOICE_HELD,      /* frames that the longest tenth of the symbols has, share */
    LIMIT_VOICE_DURATIONS, /* variation of durations that is predicted, share */
    LIMIT_VOICE_PITCH,     /* variation of pitch that is predicted, share */
    LIMIT_VOICE_SUSPECT,   /* robust deviations by which a text fits worse than the rest's */
    LIMIT_VOICE_WORDS,     /* words heard wrong, share over that of the recordings */
    LIMIT_VOICE_DEAF,      /* words of the recordings themselves that are heard wrong, share */
    LIMIT_VOICE_RISE,      /* validation loss over its lowest, share */
    LIMIT_VOICE_SILENT,    /* clips that are mostly silence, share */
    LIMIT_VOICE_CLIPPED,   /* clips that are clipped, share */
    LIMIT_VOICE_FAST,      /* phonemes a second */
    LIMIT_VOICE_SLOW,      /* the same */
    LIMIT_VOICE_HIGH,      /* Hz, fundamental frequency */
    LIMIT_VOICE_LOW,       /* the same */
    LIMIT_VOICE_CLIPS,     /* clips to learn from */
    LIMIT_VOICE_MINUTES,   /* of speech */
    LIMIT_COUNT
} LimitId;

typedef enum { STATUS_GOOD, STATUS_ACCEPTABLE, STATUS_BAD, STATUS_INFO, STATUS_UNKNOWN } Status;
const char *status_name(Status s); /* "good", ... */

typedef struct Limit {
    const char *name, *measure; /* key, words */
    double good, bad;           /* up to good; beyond bad; between: acceptable. Equal: nothing between */
    int more_is_better;
    const char *unit; /* of the numbers as printed: "%", "ms", "" */
    double factor;    /* printed = value * factor */
    const char *note; /* may be "" */
} Limit;

const Limit *threshold(LimitId id);
Status threshold_judge(LimitId id, double value); /* NaN: unknown */

#endif
