/* aac_encoder.h - samples to AAC (LC, one channel) in ADTS frames, which can be joined and cut anywhere, by
 * the libavcodec that is loaded when it is asked for: neither it nor its headers are needed to build. A frame
 * is 1,024 samples; the sound begins one frame late, and a second one is held back. Threads: one per encoder.
 */
#ifndef MYXTTS_AAC_ENCODER_H
#define MYXTTS_AAC_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

typedef struct AacEncoder AacEncoder;

int aac_encoder_is_here(void);
/* The rate to resample to: this one, or the next that AAC has. */
int aac_encoder_rate(int rate);
/* ERR_MISSING: there is no libavcodec, or it has no such encoder. */
int aac_encoder_open(AacEncoder **e, int rate, Err *err);
/* Appends the frames that are ready. */
int aac_encoder_add(AacEncoder *e, Buf *out, const int16_t *samples, size_t n, Err *err);
/* The rest; afterwards only close is allowed. */
int aac_encoder_finish(AacEncoder *e, Buf *out, Err *err);
void aac_encoder_close(AacEncoder *e); /* at any moment; NULL is fine */

#endif
