/* speak.h - a network that speaks: the voice of a speaker from clips that were kept, and clips of a corpus
 * spoken from their texts. Threads: one for each Synthesiser. */
#ifndef MYXTTS_SPEAK_H
#define MYXTTS_SPEAK_H

#include "model/synthesis.h"
#include "pipeline/corpus.h"
#include "voice/checkpoint.h"

/* Mean voice vector [size] of the clips of a speaker. ERR_MISSING when there is none. */
int speaker_voice(Synthesiser *s, float *voice, const VoiceClips *clips, int32_t speaker, int size, Err *err);
/* The same; a speaker of whom no clip is kept (all are held out, or there are very many) gets the first voice
 * that is there. */
int speaker_voice_or_first(Synthesiser *s, float *voice, const VoiceClips *clips, int32_t speaker, int size,
                           Err *err);
/* An item of a corpus spoken from its text alone, in its speaker's voice (or the first voice there is a clip
 * of). */
int speak_item(Synthesiser *s, Speech *out, const Config *cfg, const Corpus *c, uint32_t item,
               const VoiceClips *clips, Err *err);

#endif
