/* sound.h - the sound stage: log mel -> samples, behind one interface.
 * A kind of stage is a table of functions in its own file and one line in sound.c. Units: log_mel is [frames,
 * n_mels], natural log, as mel_compute gives it; samples are float [-1, 1] at cfg->sample_rate.
 * Threads: one Sound per thread. */
#ifndef MYXTTS_SOUND_H
#define MYXTTS_SOUND_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "device/device.h"
#include "voice/checkpoint.h"

#define SOUND_NONE (-1)

typedef struct SoundOptions {
    const Config *cfg;          /* settings of the mel; not needed once the stage is open */
    const char *kind;           /* name of a kind; NULL: a vocoder where one is given, else Griffin-Lim */
    int iterations;             /* of kinds that iterate; 0: their own default, SOUND_NONE: none */
    const Checkpoint *vocoder;  /* not needed once the stage is open */
    Device *device;             /* of a vocoder; must outlive the stage */
    int threads;                /* of a vocoder on the CPU; 0: all cores */
    const struct Sound *lender; /* another of the same vocoder and device, whose weights it uses and which
                                   outlives it; NULL: none */
} SoundOptions;

/* What a kind of stage can do; `stage` is what its open gave. */
typedef struct SoundKind {
    const char *name;
    int (*open)(void **stage, const SoundOptions *o, Err *err);
    /* Samples that this many frames become. */
    int64_t (*samples)(const void *stage, int64_t frames);
    int (*run)(void *stage, float *samples, const float *log_mel, int64_t frames, Err *err);
    /* Frames on either side that the sound around a frame depends on: pieces of a mel that are that much
     * longer give the sound of the whole. NULL: it depends on all of them. */
    int (*context)(const void *stage);
    /* Makes the samples of a mel, as run gave them, better. Both NULL: nothing can. */
    int (*refine)(void *stage, float *samples, const float *log_mel, int64_t frames, Err *err);
    int (*refine_context)(const void *stage); /* likewise; 0: there is nothing to do */
    void (*close)(void *stage);
} SoundKind;

extern const SoundKind sound_griffin_lim, sound_vocoder;

typedef struct Sound Sound;
/* What the kind's open gave for this one; NULL: it is of another kind. For the kinds. */
const void *sound_stage(const Sound *s, const SoundKind *kind);
/* ERR_CONFIG for a kind that is not there, or settings of the mel that it cannot turn into sound. */
int sound_open(Sound **s, const SoundOptions *o, Err *err);
void sound_close(Sound *s); /* NULL is fine */
/* As voice_network_warm_up (voice_network.h), with a mel of this many frames. */
int sound_warm_up(Sound *s, int frames, Err *err);

/* The sound of a mel, with this many samples of silence after it: *samples [*count], malloc'd; NULL after an
 * error. ERR_DATA for a mel too short to have a sound, or numbers that are not finite. */
int sound_make(Sound *s, float **samples, int64_t *count, const float *log_mel, int64_t frames,
               int64_t silence, Err *err);

/* A mel on its way to sound, piece by piece; the first is short, so that it can be heard soon. Together they
 * are what sound_make gives. It holds no stage: the pieces of a run may be made by different Sounds of the
 * same voice. */
typedef struct SoundRun {
    const float *log_mel; /* [frames, n_mels]; the caller's */
    int64_t frames, silence;
    int64_t from, to;                  /* frames of the last piece; 0, 0 before the first */
    float *rough;                      /* [rough_count] the sound before it is refined */
    int64_t rough_count, rough_frames; /* there so far */
} SoundRun;
void sound_run_begin(SoundRun *r, const float *log_mel, int64_t frames, int64_t silence);
void sound_run_end(SoundRun *r);       /* at any moment; always safe on a zeroed or ended one */
int sound_run_done(const SoundRun *r); /* 1: all pieces were made */
/* The next piece: *samples [*count], malloc'd. Not when it is done. */
int sound_run_next(SoundRun *r, Sound *s, float **samples, int64_t *count, Err *err);

/* All pieces of a mel, each handed over as soon as it is there. Not 0 from the sink: stop, and return it. */
typedef int (*SoundSink)(void *arg, float *samples, int64_t count, Err *err);
int sound_stream(Sound *s, const float *log_mel, int64_t frames, int64_t silence, SoundSink sink, void *arg,
                 Err *err);

#endif
