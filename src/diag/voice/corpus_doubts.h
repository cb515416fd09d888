/* corpus_doubts.h - what is wrong with a corpus that training would not stumble over, and that its owner has
 * to know before the first step. `info`, `prepare` and `validate` list it, `train` warns about it. A finding
 * names clips that somebody should listen to, fix or remove: the commands that list findings end with exit
 * code 1 for it. The rest are remarks. Threads: any. */
#ifndef MYXTTS_CORPUS_DOUBTS_H
#define MYXTTS_CORPUS_DOUBTS_H

#include "config/config.h"
#include "diag/voice/clip_facts.h"

#define NOISY_DB 20.0 /* speech above noise in the usual recording; less is a finding */

/* Kind, code for JSON and findings.tsv, and what the figure of a clip is. */
#define DOUBT_KINDS(X) \
    X(DOUBT_FOLDERS, "folder_speakers", "") \
    X(DOUBT_FEW, "few", "") \
    X(DOUBT_LITTLE, "little", "") \
    X(DOUBT_SAME_TEXT, "same_text", "") \
    X(DOUBT_REPEATED, "repeated", "takes") \
    X(DOUBT_NOTES, "notes", "") \
    X(DOUBT_LOUD, "loudness", "dB from the usual") \
    X(DOUBT_NARROW, "bandwidth", "Hz") \
    X(DOUBT_CLIPPED, "clipped", "% of the samples") \
    X(DOUBT_NOISE, "noise", "dB above the noise") \
    X(DOUBT_SILENCE, "silence", "s cut off") \
    X(DOUBT_CANCELLED, "channels_cancel", "dB in the mean") \
    X(DOUBT_EMPTY_CHANNEL, "empty_channel", "dB below the other") \
    X(DOUBT_RATE, "speech_rate", "times as fast as usual") \
    X(DOUBT_VOICE, "other_voice", "from the usual")

typedef enum {
#define X(name, code, unit) name,
    DOUBT_KINDS(X)
#undef X
        DOUBT_COUNT
} DoubtKind;
const char *doubt_code(DoubtKind kind);
const char *doubt_unit(DoubtKind kind);

typedef struct DoubtClip {
    uint32_t utterance;
    double value;
    double order; /* the worst first: ascending */
} DoubtClip;

typedef struct Doubt {
    DoubtKind kind;
    int is_finding;
    const char *key; /* of the setting that it is about; NULL: none */
    char what[500];  /* sentences without a full stop at the end */
    char why[500];
    char fix[500];
    DoubtClip *clip; /* [clips] the worst first; none for what is said of the corpus as a whole */
    size_t clips;
} Doubt;

typedef struct Doubts {
    Doubt item[DOUBT_COUNT + 1];
    int count;
    int findings; /* of them */
    /* The usual recording: medians of what was measured, NaN if nothing was. */
    double noise_db, speech_db, above_noise_db, bandwidth_hz, rate;
    double trimmed_share; /* of the recordings, NaN: not known */
} Doubts;

/* At most one doubt of each kind. Closed after a failure. ERR_NOMEM. */
int corpus_doubts(Doubts *d, const CorpusFacts *f, Err *err);
void corpus_doubts_close(Doubts *d); /* a zeroed one is allowed */

#endif
