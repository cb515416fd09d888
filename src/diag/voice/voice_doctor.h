/* voice_doctor.h - findings about a voice, or about the recordings it is made from, derived from facts that
 * voice_facts.h gathers; nothing is read or measured here. An unknown fact is NaN (numbers) or 0 (counts),
 * and a cause that depends on it is not reported. No findings do not mean a good voice: loss, length and
 * alignment do not tell whether it can be understood, only `heard` does. Threads: any; facts
 * are only read. */
#ifndef MYXTTS_DIAG_VOICE_DOCTOR_H
#define MYXTTS_DIAG_VOICE_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"

/* Worst first: a cause may be the consequence of one above it. */
typedef enum {
    VOICE_SAMPLE_RATE, /* the recordings play too fast or too slow */
    VOICE_SILENCE,     /* clips without speech */
    VOICE_LOSS,        /* rises, or does not fall */
    VOICE_ALIGNMENT,   /* not learned */
    VOICE_DURATIONS,   /* collapsed, or predicted nearly constant */
    VOICE_WORDS,       /* far more words are misheard than in the recordings */
    VOICE_TEXTS,       /* lines whose text does not fit their recording */
    VOICE_CLIPPING,
    VOICE_OVERFITTING,
    VOICE_PITCH, /* not learned */
    VOICE_FEW_CLIPS,
    VOICE_CAUSE_COUNT
} VoiceCause;
const char *voice_cause_name(VoiceCause c);  /* "sample_rate", for JSON */
const char *voice_cause_shown(VoiceCause c); /* as people read it */

/* A line or a validation of log.jsonl: weighted loss per frame. */
typedef struct VoicePoint {
    int64_t step;
    double loss, terms[TERM_COUNT];
    double lr;       /* of a training line; NaN: unknown */
    double own_text; /* of a validation, as in VoiceFacts */
    double score;    /* of a validation, by ear (judge/ear.h); NaN: not known */
} VoicePoint;

/* What the judge recognised in held-out sentences. */
typedef struct VoiceHeard {
    int64_t step, words, words_wrong, recordings_words, recordings_words_wrong;
    double mcd_db, f0_rmse_semitones, length_ratio; /* spoken / recorded */
} VoiceHeard;

/* A clip and its alignment. */
typedef struct VoiceClip {
    uint32_t utterance; /* index in the dataset */
    int text, frames;   /* number of symbols, of mel frames */
    double cost;        /* with its own text: mean squared distance of the normalised mel from mu */
    double other;       /* the same with another clip's text of similar length; NaN: none was tried */
    double score;       /* how unusual the clip is, in robust deviations; set by voice_suspects */
    int suspect;
    const char *id, *words; /* of suspects only; in VoiceFacts.strings */
} VoiceClip;

#define VOICE_MOST_NAMES 20

typedef struct VoiceNames { /* examples: ids of some clips */
    const char *id[VOICE_MOST_NAMES];
    int count;
} VoiceNames;

typedef struct VoiceFacts { /* begin with voice_facts_clear */
    /* From log.jsonl, in the order of steps. */
    VoicePoint *train, *validation;
    size_t train_count, train_cap, validation_count, validation_cap;
    VoiceHeard *heard;
    size_t heard_count, heard_cap;
    VoicePoint diverged;       /* what the guard saw when it ended the run; step -1: it did not */
    double diverged_from;      /* the lowest loss before that */
    int ended;                 /* 1: the run was completed */
    int64_t total_steps;       /* planned */
    double weight[TERM_COUNT]; /* of the loss; NaN: unknown */

    /* From the corpus. */
    int64_t clips, lines;    /* number of usable clips, and of metadata lines that name a recording */
    double seconds;          /* of the usable clips, trimmed */
    double f0;               /* Hz, median over the clips of their mean */
    double sounds_per_s;     /* phonemes without marks and pauses, median over the clips; NaN: no phonemes */
    int sounds, rare_sounds; /* number of different phonemes, and of those that occur < VOICE_RARE times */
    int64_t silent_lines;    /* rejected by `prepare` because they contain only silence */
    int64_t looked;          /* number of usable clips that were decoded and examined */
    int64_t looked_quiet;    /* number of these that are mostly silence */
    int64_t looked_clipped;  /* number of these that are clipped */
    double clipped_samples;  /* share of the samples examined */
    VoiceNames silent, clipped;
    /* Sum over symbols of (normalised pitch - mean of the speaker)^2, per frame. The frames of a clip are
     * divided evenly among its symbols. */
    double pitch_variance;

    /* From the alignment. */
    VoiceClip *clip; /* [clip_count] */
    size_t clip_count;
    double cost;     /* median over the clips */
    double own_text; /* 1 - median of cost / other: what a clip's own text explains and another does not */
    double ones;     /* share of symbols with one frame */
    double held;     /* share of frames in the longest tenth of the symbols */
    double frames_per_symbol;
    int64_t suspects;
    /* Predictions for held-out clips: 1 - squared error / variance; for durations with deviances. */
    int64_t predicted_clips;
    double pitch_explained, duration_explained;

    Block strings;
} VoiceFacts;
void voice_facts_clear(VoiceFacts *f); /* makes everything unknown; frees nothing */
void voice_facts_free(VoiceFacts *f);  /* frees and clears; a cleared one is allowed */

#define VOICE_RARE 20 /* a phoneme that occurs less often is rare */

/* Fills score and suspect of f->clip, and f->suspects: clips whose own text fits much worse than those of the
 * other clips do. If the alignment has not been learned, no clip is suspected. Sorts f->clip, worst first. */
int voice_suspects(VoiceFacts *f, Err *err);

typedef struct VoiceFinding {
    VoiceCause cause;
    char evidence[900]; /* sentences with numbers */
    char advice[900];
    int64_t step; /* where it began or was seen; -1: it does not depend on the step */
} VoiceFinding;

/* Writes at most `most` findings to out, worst first; returns their number. VOICE_CAUSE_COUNT is always
 * enough. */
int voice_doctor(VoiceFinding *out, int most, const VoiceFacts *f);

/* The progress of the alignment before it can be judged by texts: 2 align / weight of the newest validation,
 * or training line, and its step. 1: nothing was learned; NaN: unknown. */
double voice_align_cost(const VoiceFacts *f, int64_t *step);

#endif
