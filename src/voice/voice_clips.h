/* voice_clips.h - clips of a corpus that stand for the voices of its speakers; they go into checkpoints.
 * Mels are normalised (audio/normaliser.h) and cut to a fixed number of frames. Threads: read-only once open.
 */
#ifndef MYXTTS_VOICE_CLIPS_H
#define MYXTTS_VOICE_CLIPS_H

#include <stdint.h>

#include "base/err.h"
#include "pipeline/corpus.h"

typedef struct VoiceClips {
    int count, frames, bands; /* frames: room for each clip */
    const float *mel;         /* [count, frames, bands] */
    const int32_t *length;    /* [count] frames that are used */
    const int32_t *speaker;   /* [count] */
    void *memory[3];          /* what belongs to it; NULL in a view into a file */
} VoiceClips;

/* Up to 4 clips of each speaker, or one of each where there are more than 16 speakers. Speakers beyond the
 * first 256 get none. */
int voice_clips_open(VoiceClips *v, const Corpus *corpus, Err *err);
void voice_clips_close(VoiceClips *v); /* always safe, views included */

/* The normalised mel [frames, bands] of an item of the corpus; returns its frames, at most `most`, or a
 * negative code. */
int corpus_mel(float *out, const Corpus *corpus, uint32_t item, int most, Err *err);

#endif
