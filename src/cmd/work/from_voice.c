/* from_voice.c - see from_voice.h. */
#include "cmd/work/from_voice.h"

#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "cmd/work/voice_data.h"
#include "config/bindings.h"
#include "train/listen/evaluate.h"
#include "train/listen/predicted.h"

/* Frames of the voice have to mean what they mean to the vocoder, and lie where its samples are. */
static int check_mel(const Checkpoint *voice, const Config *cfg, Err *err)
{
    ConfigRow theirs, ours;
    int named = 1; /* the setting that differs is known */
    const Hash128 h = config_mel_hash(cfg);
    char mel[sizeof voice->mel];
    snprintf(mel, sizeof mel, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
    if (strcmp(voice->mel, mel) != 0) {
        named = config_mel_differs(&voice->cfg, cfg, &theirs, &ours);
        if (named)
            err_set(err, ERR_CONFIG,
                    "the voice %s makes mels with %s %s (mel %.8s), but this vocoder is to learn from mels "
                    "with %s %s (mel %.8s)",
                    voice->path, theirs.key, theirs.value, voice->mel, ours.key, ours.value, mel);
        else
            err_set(err, ERR_CONFIG,
                    "the voice %s makes mels of type %.8s, but this vocoder is to learn from type %.8s",
                    voice->path, voice->mel, mel);
    } else if (config_bound_differs(&voice->cfg, cfg, BOUND_AUDIO_CACHE, &theirs, &ours)) {
        err_set(err, ERR_CONFIG,
                "the voice %s was trained on recordings with %s %s, but this run has %s %s: the frames of "
                "its mels would not line up with these samples",
                voice->path, theirs.key, theirs.value, ours.key, ours.value);
    } else {
        return 0;
    }
    return named ? err_hint(err, "use the voice's setting: %s %s", theirs.key, theirs.value)
                 : err_hint(err, "train voice and vocoder with the same build and settings");
}

/* The voice runs where the vocoder will be trained, with memory for inference alone. */
static int make(VoiceData *v, const Config *cfg, Log *log, Err *err)
{
    Corpus corpora[2] = {0};
    Predicted *p = NULL;
    PredictedOptions o = {
        .voice = &v->file, .corpus = {&corpora[0], &corpora[1]}, .storage = cfg->mel_storage, .log = log};
    int rc = voice_data_corpus(v, &corpora[0], SPLIT_TRAIN, log, err);
    if (!rc)
        rc = voice_data_corpus(v, &corpora[1], SPLIT_VAL, log, err);
    if (!rc)
        rc = predicted_open(&p, &o, err);
    if (!rc && predicted_missing(p)) {
        EngineShape largest = corpus_shape(&v->file.cfg, 1, &corpora[0], &corpora[1]);
        rc = voice_data_engine(v, &largest, log, err);
    }
    if (!rc)
        rc = predicted_make(p, v->engine, v->devices.data, v->devices.model, err);
    if (!rc)
        log_info(log, "mels of the voice %s: %llu clip%s (%llu made now)", v->file.path,
                 (unsigned long long)predicted_clips(p), plural(predicted_clips(p)),
                 (unsigned long long)predicted_missing(p));
    /* A reader that is stuck may still look at the corpora. */
    if (rc == ERR_WORKER)
        return rc;
    predicted_close(p);
    corpus_close(&corpora[0]);
    corpus_close(&corpora[1]);
    return rc;
}

int from_voice_make(Hash128 *settings, const Config *cfg, Log *log, Err *err)
{
    VoiceData v;
    Checkpoint file;
    int rc = checkpoint_open(&file, cfg->from_voice, cfg->from_voice, 0, NULL, log, err);
    if (!rc) {
        rc = checkpoint_check_voice(&file, err);
        if (rc)
            err_hint(err, "--from-voice takes the run of a voice, not that of a vocoder");
    }
    if (!rc)
        rc = check_mel(&file, cfg, err);
    checkpoint_close(&file);
    if (rc)
        return err_prefix(err, "--from-voice");
    rc = voice_data_open_with(&v, cfg->from_voice, 0, NULL, cfg, log, err);
    if (rc)
        return rc;
    rc = make(&v, cfg, log, err);
    *settings = predicted_settings(&v.file, cfg->mel_storage);
    if (rc != ERR_WORKER)
        voice_data_close(&v);
    return rc;
}
