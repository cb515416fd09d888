/* voice_doctor.h - what is wrong with a voice, or with the recordings it is made from: findings from facts
 * alone. voice_facts.h gathers the facts; here nothing is read, measured or allocated. What is not known is
 * NaN (numbers) or 0 (counts), and a cause that cannot be judged without it is not named. No finding is not
 * praise: loss, length and alignment do not tell whether a voice can be understood, only `heard` does.
 * Threads: any; facts are read. */
#ifndef MYXTTS_DIAG_VOICE_DOCTOR_H
#define MYXTTS_DIAG_VOICE_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"

/* Worst first: what stands further down may be the consequence of what stands above. */
typedef enum {
    VOICE_SAMPLE_RATE, /* the recordings play too fast or too slow */
    VOICE_SILENCE,     /* clips without speech */
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
const char *voice_cause_name(VoiceCause c); /* "sample_rate", for JSON */

/* A line or a validation of log.jsonl: loss per frame, with its weights. */
typedef struct VoicePoint {
    int64_t step;
    double loss, terms[TERM_COUNT];
    double own_text; /* of a validation, as in VoiceFacts */
} VoicePoint;

/* What the judge understood of held-out sentences. */
typedef struct VoiceHeard {
    int64_t step, words, words_wrong, recordings_words, recordings_words_wrong;
    double mcd_db, f0_rmse_semitones, length_ratio; /* spoken / recorded */
} VoiceHeard;

/* A clip and its alignment. */
typedef struct VoiceClip {
    uint32_t utterance; /* of the dataset */
    int text, frames;   /* symbols, mel frames */
    double cost;        /* of its own text: mean squared distance of the normalised mel from mu */
    double other;       /* of another clip's text of about that length; NaN: none was tried */
    double score;       /* how far out of line, in robust deviations; set by voice_suspects */
    int suspect;
    const char *id, *words; /* of suspects; in VoiceFacts.strings */
} VoiceClip;

#define VOICE_MOST_NAMES 20

typedef struct VoiceNames { /* some clips of a kind */
    const char *id[VOICE_MOST_NAMES];
    int count;
} VoiceNames;

typedef struct VoiceFacts { /* begin with voice_facts_clear */
    /* log.jsonl, in order of steps */
    VoicePoint *train, *validation;
    size_t train_count, train_cap, validation_count, validation_cap;
    VoiceHeard *heard;
    size_t heard_count, heard_cap;
    int ended;                 /* the run came to its end */
    int64_t total_steps;       /* planned */
    double weight[TERM_COUNT]; /* of the loss; NaN: not known */

    /* the corpus */
    int64_t clips, lines;    /* usable ones, and all lines of the metadata that name a recording */
    double seconds;          /* of the usable clips, trimmed */
    double f0;               /* Hz, median over the clips of their mean */
    double sounds_per_s;     /* phonemes, without marks and pauses; median over the clips. NaN: no phonemes */
    int sounds, rare_sounds; /* kinds of phonemes, and those that occur fewer than VOICE_RARE times */
    int64_t silent_lines;    /* rejected by prepare because nothing but silence is in them */
    int64_t looked;          /* usable clips that were decoded and looked at */
    int64_t looked_quiet;    /* of these: mostly silence */
    int64_t looked_clipped;
    double clipped_samples; /* share of the samples looked at */
    VoiceNames silent, clipped;
    /* Sum over symbols of (normalised pitch - its speaker's mean)^2, per frame; each clip is shared out
     * evenly among its symbols. */
    double pitch_variance;

    /* the alignment */
    VoiceClip *clip; /* [clip_count] */
    size_t clip_count;
    double cost;     /* median over the clips */
    double own_text; /* 1 - median of cost / other: what a clip's own text explains that another does not */
    double ones;     /* share of symbols with one frame */
    double held;     /* share of frames that the longest tenth of symbols has */
    double frames_per_symbol;
    int64_t suspects;
    /* Of predictions for held-out clips, 1 - squared error / variance; of durations with deviances. */
    int64_t predicted_clips;
    double pitch_explained, duration_explained;

    Block strings;
} VoiceFacts;
void voice_facts_clear(VoiceFacts *f); /* everything unknown; holds no memory */
void voice_facts_free(VoiceFacts *f);  /* safe on a cleared one; clears it */

#define VOICE_RARE 20

/* Fills score and suspect of f->clip, and f->suspects: clips whose own text fits far worse than the rest's
 * do, given that the alignment has been learned; otherwise nobody is suspected. The worst clips stand first
 * afterwards. */
int voice_suspects(VoiceFacts *f, Err *err);

typedef struct VoiceFinding {
    VoiceCause cause;
    char evidence[400]; /* sentences with numbers */
    char advice[400];
    int64_t step; /* where it began or was seen; -1: no matter of steps */
} VoiceFinding;

/* Worst first; returns their number, at most `most`. VOICE_CAUSE_COUNT is always enough. */
int voice_doctor(VoiceFinding *out, int most, const VoiceFacts *f);

/* How far the alignment is, for those who ask before it can be judged by texts: 2 align / weight of the
 * newest validation, or training line; 1 when it knows nothing. NaN: not known. */
double voice_align_cost(const VoiceFacts *f, int64_t *step);

#endif
