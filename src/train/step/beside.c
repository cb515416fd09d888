/* beside.c - see beside.h. */
#include "train/step/beside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/mem.h"
#include "cache/features.h"
#include "cache/half.h"

/* The recording's mel as it was computed. 1: there; its memory is the caller's to free. */
static int read_recording(EarRecording *out, float **mel, const Corpus *c, uint32_t item, int bands, Err *err)
{
    StoreEntry e;
    MelView v;
    const uint32_t entry = c->items[item].mel_entry;
    *mel = NULL;
    store_entry(&c->mel, entry, &e);
    if (!store_entry_whole(&c->mel, entry) || mel_view(&v, &e) || (int)v.bands != bands)
        return 0;
    const size_t n = (size_t)v.frames * v.bands;
    *mel = mem_calloc(n, sizeof **mel);
    if (!*mel)
        return err_set(err, ERR_NOMEM, "no memory to compare a clip with its recording");
    if (v.storage == STORE_FLOAT16)
        half_to_float(*mel, v.data, n);
    else
        memcpy(*mel, v.data, n * sizeof **mel);
    *out = (EarRecording){.mel = *mel, .pitch = v.pitch, .frames = v.frames};
    return 1;
}

int beside_recordings(EarFigures *out, const SpokenClips *spoken, Err *err)
{
    const int bands = (int)spoken->corpus->statistics.bands;
    EarTally ear = {0};
    int rc = 0;
    for (int i = 0; i < spoken->count && rc >= 0; i++) {
        const Speech *s = &spoken->speech[i];
        EarRecording recording;
        float *recorded, *mel = mem_calloc((size_t)s->frames * (size_t)bands, sizeof *mel);
        rc = mel ? read_recording(&recording, &recorded, spoken->corpus, spoken->items[i], bands, err)
                 : err_set(err, ERR_NOMEM, "no memory to compare a clip with its recording");
        if (rc == 1) {
            normaliser_restore_mel(mel, s->mel, spoken->mean, spoken->deviation, s->frames, bands);
            ear_add(
                &ear,
                &(EarSpoken){.mel = mel,
                             .frames = s->frames,
                             .pitch = s->pitch,
                             .durations = s->durations,
                             .symbols = s->text,
                             .pitch_deviation = spoken->pitch_deviation > 0 ? spoken->pitch_deviation : NAN},
                &recording, bands);
        }
        if (mel)
            free(recorded);
        free(mel);
    }
    *out = ear_figures(&ear);
    return rc < 0 ? rc : ear.sentences;
}
