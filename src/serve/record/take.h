/* take.h - one recording of a sentence as a microphone gave it: is it a WAV that can be kept, and what there
 * is to say about it: level, noise, clipping, silence, whether it is all there. Times are seconds, levels dB
 * below full scale (0 is the loudest). Threads: any. */
#ifndef MYXTTS_TAKE_H
#define MYXTTS_TAKE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define TAKE_MIN_SECONDS 0.4
#define TAKE_MAX_SECONDS 60.0
#define TAKE_MIN_RATE 16000
#define TAKE_MAX_RATE 192000

typedef enum TakeFinding {
    TAKE_SILENT = 1, /* this and the next two: it cannot be kept */
    TAKE_SHORT = 2,
    TAKE_LONG = 4,
    TAKE_CLIPPED = 8,
    TAKE_QUIET = 16,
    TAKE_NOISY = 32,
    TAKE_CUT_BEGIN = 64,
    TAKE_CUT_END = 128,
    TAKE_PAUSE = 256,
    TAKE_HURRIED = 512
} TakeFinding;
#define TAKE_UNUSABLE (TAKE_SILENT | TAKE_SHORT | TAKE_LONG)

typedef struct Take {
    int rate;
    int64_t count;          /* samples */
    const uint8_t *samples; /* 16-bit, little-endian, in the memory that take_read was given */
    double seconds;
    double level_db; /* of the voice: 19 of 20 moments of 20 ms are below it */
    double noise_db; /* of the room: one of ten is below it */
    double peak_db;
    double begin, end; /* silence before the voice and after it */
    double pause;      /* the longest silence within */
    int clipped;       /* samples at full scale, in runs of three or more */
    unsigned findings; /* TakeFinding; 0: nothing to complain about */
} Take;

/* Reads a WAV of 16-bit samples, mono. ERR_FORMAT: it is something else; the sentence says what. */
int take_read(Take *t, const void *wav, size_t size, Err *err);
/* Fills in the rest. characters: of the sentence. ERR_NOMEM. */
int take_measure(Take *t, size_t characters, Err *err);
/* [{code, message}], the gravest first. NULL: memory is short. */
json_t *take_findings(unsigned findings);
/* The code and the sentence of the gravest one; NULL: there is none. */
const char *take_code(unsigned findings);
const char *take_message(unsigned findings);
/* The WAV to keep, with nothing in it but the samples, appended to out; out->failed says whether memory was
 * short. */
void take_wav(const Take *t, Buf *out);

#endif
