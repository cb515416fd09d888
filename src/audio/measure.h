/* measure.h - what a recording is like before anything is done to it: noise, speech, bandwidth, channels.
 * Cheap: prepare measures every clip that it decodes. Threads: one AudioMeter per thread. */
#ifndef MYXTTS_MEASURE_H
#define MYXTTS_MEASURE_H

#include "base/err.h"
#include "dataset/audio_file.h"

/* Levels are dB of full scale (RMS), no lower than AUDIO_NOTHING_DB. */
#define AUDIO_NOTHING_DB (-100.0f)
#define AUDIO_CANCELLED_DB (-20.0f) /* mix_db of channels that cancel each other out */
typedef struct AudioMeasure {
    float noise_db;        /* of the quietest twentieth of the frames that are not digital silence */
    float speech_db;       /* of the frames that are speech */
    float speech_seconds;  /* of these frames: pauses and silence do not count */
    float bandwidth_hz;    /* where the spectrum ends as if cut off; half the sample rate if it does not */
    float soft_channel_db; /* softest channel against the loudest; 0 with one channel */
    float mix_db;          /* mean of the channels against the loudest one; 0 with one channel */
} AudioMeasure;

typedef struct AudioMeter AudioMeter;
int audio_meter_open(AudioMeter **m, Err *err); /* ERR_NOMEM */
void audio_meter_close(AudioMeter *m);          /* NULL is fine */
/* a: as decoded, at least one frame. 0 or ERR_NOMEM. */
int audio_measure(AudioMeasure *out, AudioMeter *m, const AudioBuffer *a);

#endif
