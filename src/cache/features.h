/* features.h - what the stores contain for an utterance:
 *   - text: tokens, phonemes, the cleaned text, the language
 *   - mel: log-mel frames, the pitch of each, and sums for the statistics of the corpus
 *   - audio: the samples that the mel was computed from
 * Threads: views are read-only. */
#ifndef MYXTTS_FEATURES_H
#define MYXTTS_FEATURES_H

#include <stdint.h>

#include "audio/measure.h"
#include "base/err.h"
#include "base/hash.h"
#include "cache/store/store.h"
#include "config/config.h"
#include "dataset/dataset.h"

#define TEXT_STORE "text"
#define MEL_STORE "mel"
#define AUDIO_STORE "audio"
#define PREDICTED_STORE \
    "predicted" /* mels that a voice made of the clips; records as in MEL_STORE, pitch 0 */

typedef struct TextView {           /* pointers into the mapping */
    const uint16_t *tokens;         /* [token_count] BOS ... EOS */
    const uint32_t *unknown;        /* [unknown_count] code points that are not in the symbol table */
    const char *phonemes, *cleaned; /* UTF-8, not terminated */
    uint32_t token_count, unknown_count, phonemes_size, cleaned_size;
    char language[16];
} TextView;
/* ERR_DAMAGED if the sizes do not add up. The status of the entry must be 0. */
int text_view(TextView *v, const StoreEntry *e);

typedef struct MelView {
    const void *data; /* [frames, bands], float or IEEE half */
    uint32_t frames, bands;
    MelStorage storage;
    const float *pitch;              /* [frames] log F0, see audio/pitch.h */
    const double *sum, *sum_squares; /* [bands] over the frames */
    const double *pitch_sums;        /* [2] sum and sum of squares of the pitch */
    double source_seconds;           /* length of the file before trimming */
    const void *measure;             /* for mel_measure; NULL: made by an earlier version, or by a voice */
} MelView;
int mel_view(MelView *v, const StoreEntry *e);
/* What was measured of the file. 1, or 0 if nothing was. */
int mel_measure(AudioMeasure *out, const MelView *v);

typedef struct AudioView {
    const int16_t *data; /* [count] at sample_rate; audio_samples makes floats of them */
    uint32_t count;      /* > 0 */
    float scale;         /* of the numbers in data; 1 / 32768 unless the clip is louder than full scale */
    double source_seconds;
} AudioView;
int audio_view(AudioView *v, const StoreEntry *e);
/* n samples of a view's data, or of a part of it. */
void audio_samples(float *out, const int16_t *data, float scale, int64_t n);

/* Of a mel or audio record: length in seconds of the file before trimming; also known for a rejection. */
double source_seconds(const StoreEntry *e);
/* The share of its samples that are clipped, see audio_clipped; 0 in caches of older versions. */
double source_clipped(const StoreEntry *e);

/* Head of the blob of the mel index; mean[bands] and deviation[bands] (double) follow. */
typedef struct MelStatistics {
    uint32_t bands, sample_rate, n_fft, win_length, hop_length, zero;
    double fmin, fmax;
    double pitch_mean, pitch_deviation; /* mean and standard deviation of log F0 over all frames */
    uint64_t clips, frames;
    uint64_t set; /* hash of the keys of the clips that were counted */
} MelStatistics;
/* Copies the head and points mean and deviation [bands] into the store's blob. ERR_DAMAGED if the blob is not
 * one of these. */
int mel_statistics(MelStatistics *head, const double **mean, const double **deviation, const Store *s);

/* The blob of the audio index. */
typedef struct AudioInformation {
    uint32_t sample_rate, zero;
} AudioInformation;

/* Head of the blob of the text index: the symbol table, then the unknown symbols of the corpus. */
typedef struct TextSymbols {
    uint32_t version, count; /* of the table; `count` code points (uint32_t) follow, ids 0 .. count - 1 */
    uint32_t unknown_count, zero; /* after them, pairs of uint32_t: code point, occurrences */
} TextSymbols;
int text_symbols(TextSymbols *head, const uint32_t **code_points, const uint32_t **unknown_pairs,
                 const Store *s);

Hash128 mel_settings_hash(const Config *cfg);
Hash128 audio_settings_hash(const Config *cfg);
Hash128 text_key(Hash128 settings, const Utterance *u);

#endif
