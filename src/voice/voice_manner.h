/* voice_manner.h - puts into effect what a marked-up text asks of a part: rate, pitch and emphasis on the
 * symbols before the network speaks, pauses and loudness on the frames afterwards. Threads: any. */
#ifndef MYXTTS_VOICE_MANNER_H
#define MYXTTS_VOICE_MANNER_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "voice/voice_network.h"

/* The fields manner and pauses of text, kept in these buffers. 0 or ERR_NOMEM. */
int voice_manner_prepare(SynthesisText *text, Buf *manner, Buf *pauses, const VoicePart *part,
                         const Checkpoint *file);
/* A part that was spoken so, with its mel in natural logarithms: pauses get the frames they lack, so that
 * they last as long as they should to the frame; frames get their gain, marks their place. */
int voice_manner_finish(VoicePart *part, const SynthesisText *text, const Checkpoint *file, Err *err);

/* The gain of a part on samples [count], the first of which is number `at` of its sound. */
void voice_part_gain(const VoicePart *part, float *samples, int64_t at, int64_t count, int hop);
double voice_mark_seconds(const VoiceMark *m, const Config *cfg); /* from the beginning of its part */

/* Each appends one; 0 or ERR_NOMEM. name is copied. */
int voice_wishes_turn(VoiceWishes *w, int symbol, const MarkupManner *m);
int voice_wishes_pause(VoiceWishes *w, int from, int to, double seconds, int frames);
int voice_wishes_mark(VoiceWishes *w, const char *name, int symbol);
void voice_wishes_free(VoiceWishes *w); /* a zeroed one is fine */

#endif
