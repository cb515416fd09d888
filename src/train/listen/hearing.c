/* hearing.c - a thread that makes sound of mels, listens to it, and compares it with the recordings. */
#include "train/listen/hearing.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/normaliser.h"
#include "audio/pitch.h"
#include "audio/process.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/ordered.h"
#include "base/thread.h"
#include "cache/features.h"
#include "dataset/audio_file.h"
#include "judge/choice.h"
#include "judge/distance.h"

#define LARGEST_FILE ((size_t)1 << 30) /* bytes of a recording */

/* A sound and what is known of it. */
typedef struct Take {
    float *samples, *mel, *pitch; /* [count], [frames, n_mels] log mel, [frames] log F0 */
    uint8_t *voiced;              /* [frames] */
    int64_t count, frames;
    int words, wrong;
} Take;

typedef struct Clip {
    uint32_t item;
    char *said;
    Take recording, voice;
    int has_recording; /* 1: there, -1: cannot be read */
    SoundDistance distance;
    int has_distance;
} Clip;

/* What a thread needs to make and judge sound. */
typedef struct Ear {
    Recogniser *recogniser;
    Sound *sound;
    MelScratch *mel;
    PitchScratch *pitch;
    AudioProcessor *processor;
    AudioBuffer audio;
    Buf bytes, heard;
    Err err;
} Ear;

struct Hearing {
    const Config *cfg;
    const Corpus *corpus;
    Log *log;
    SoundOptions sound;
    Clip *clips;
    int count, threads;
    Ear *ears;
    MelPlan *mel;
    PitchPlan *pitch;
    char judge[96], why_not[256];
    Thread thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    int stop, busy, done; /* busy: clips are under way; done: their result waits */
    int64_t step;
    Heard result;
    Err err;
};

static void take_free(Take *s)
{
    free(s->samples);
    free(s->mel);
    free(s->pitch);
    free(s->voiced);
    memset(s, 0, sizeof *s);
}

/* --- one clip --- */

/* Pitch and voicing of every frame; how many frames there are is decided by the mel. */
static int fill_pitch(const Hearing *h, Ear *e, Take *s)
{
    s->pitch = mem_calloc((size_t)s->frames + 1, sizeof *s->pitch);
    s->voiced = mem_calloc((size_t)s->frames + 1, 1);
    if (!s->pitch || !s->voiced || pitch_frames(h->pitch, s->count) > s->frames + 1)
        return ERR_NOMEM;
    return pitch_compute(h->pitch, e->pitch, s->pitch, s->voiced, s->samples, s->count);
}

/* What a recogniser understands of it, if there is one. */
static int judge_sound(const Hearing *h, Ear *e, Take *s, const char *said, Err *err)
{
    JudgeClip c = {.samples = s->samples, .count = s->count, .rate = h->cfg->sample_rate, .said = said};
    if (!e->recogniser)
        return 0;
    int rc = judge_clip(&c, e->recogniser, &e->heard, err);
    s->words = c.words;
    s->wrong = c.wrong;
    judge_clips_clear(&c, 1);
    return rc;
}

/* The recording as the network learned from it: resampled, trimmed. 1: there. */
static int read_recording(const Hearing *h, Ear *e, Clip *c)
{
    const Config *cfg = h->cfg;
    const Utterance *u = &h->corpus->dataset.utterances[h->corpus->items[c->item].utterance];
    Err err = {0};
    char detail[256], path[4096];
    const float *samples;
    Take *s = &c->recording;
    int there = 0;
    e->bytes.size = 0;
    if (dataset_audio_path(&h->corpus->dataset, u, path, sizeof path, &err) ||
        file_read(&e->bytes, path, LARGEST_FILE, &err))
        goto done;
    if (audio_decode(&e->audio, e->bytes.data, e->bytes.size, path, cfg->max_audio_length, detail,
                     sizeof detail) ||
        audio_process(e->processor, &samples, &s->count, &e->audio, cfg->trim_silence,
                      cfg->enable_loudness_normalization, detail, sizeof detail))
        goto done;
    s->frames = mel_frames(h->mel, s->count);
    s->samples = mem_calloc((size_t)s->count, sizeof *s->samples);
    s->mel = mem_calloc((size_t)s->frames * (size_t)cfg->n_mels, sizeof *s->mel);
    if (!s->samples || !s->mel)
        goto done;
    memcpy(s->samples, samples, (size_t)s->count * sizeof *samples);
    mel_compute(h->mel, e->mel, s->mel, s->samples, s->count);
    there = fill_pitch(h, e, s) == 0 && judge_sound(h, e, s, c->said, &err) == 0;
    /* The sound itself is not needed any more. */
    if (there) {
        free(s->samples);
        s->samples = NULL;
    }
done:
    if (!there)
        take_free(s);
    return there;
}

/* In a worker: a spoken clip becomes sound, is listened to and compared with its recording. */
static void hear_clip(void *user, int thread, int slot, uint64_t item)
{
    Hearing *h = user;
    Ear *e = &h->ears[thread];
    Clip *c = &h->clips[item];
    Take *s = &c->voice;
    pthread_mutex_lock(&h->mutex);
    int stop = h->stop;
    pthread_mutex_unlock(&h->mutex);
    if (e->err.code || stop)
        return;
    if (!c->has_recording)
        c->has_recording = read_recording(h, e, c) ? 1 : -1;
    if (sound_make(e->sound, &s->samples, &s->count, s->mel, s->frames, 0, &e->err))
        return;
    if (fill_pitch(h, e, s) || judge_sound(h, e, s, c->said, &e->err))
        return;
    /* Clips that are too long for a comparison are left out of it. */
    Err ignored = {0};
    c->has_distance =
        c->has_recording > 0 && sound_distance(&c->distance, c->recording.mel, c->recording.pitch,
                                               c->recording.voiced, c->recording.frames, s->mel, s->pitch,
                                               s->voiced, s->frames, h->cfg->n_mels, &ignored) == 0;
}

/* Nothing is to be done in order. */
static int next_clip(void *user, int slot, uint64_t item, Err *err) { return 0; }

/* --- the thread --- */

/* What one thread needs; none of it can be shared. */
static int open_ear(const Hearing *h, Ear *e, Err *err)
{
    int rc = sound_open(&e->sound, &h->sound, err);
    if (!rc)
        rc = mel_scratch_open(&e->mel, h->mel, err);
    if (!rc)
        rc = pitch_scratch_open(&e->pitch, h->pitch, err);
    if (!rc)
        rc = audio_processor_open(&e->processor, h->cfg, err);
    return rc;
}

/* In the thread, before its first clips: recognisers take seconds to open, and the training does not wait for
 * them. */
static int open_ears(Hearing *h, Err *err)
{
    for (int i = 0; i < h->threads; i++) {
        Ear *e = &h->ears[i];
        if (e->sound)
            continue;
        int rc = open_ear(h, e, err);
        if (rc)
            return rc;
        /* Without a recogniser there are still lengths and distances. */
        Err missing = {0};
        if (!h->why_not[0] && recogniser_open(&e->recogniser, h->cfg->language, &missing))
            snprintf(h->why_not, sizeof h->why_not, "%s", missing.msg);
        if (e->recogniser && !h->judge[0])
            snprintf(h->judge, sizeof h->judge, "%s", recogniser_name(e->recogniser));
    }
    return 0;
}

/* Sums and means over the clips. */
static void sum_up(Hearing *h, Heard *out)
{
    int64_t spoken = 0, recorded = 0;
    int compared = 0, pitched = 0;
    *out = (Heard){.step = h->step};
    memcpy(out->judge, h->judge, sizeof out->judge);
    memcpy(out->why_not, h->why_not, sizeof out->why_not);
    for (int i = 0; i < h->count; i++) {
        const Clip *c = &h->clips[i];
        out->clips++;
        out->voice.words += c->voice.words;
        out->voice.wrong += c->voice.wrong;
        out->recordings.words += c->recording.words;
        out->recordings.wrong += c->recording.wrong;
        if (!c->has_distance)
            continue;
        spoken += c->voice.frames;
        recorded += c->recording.frames;
        out->mcd_db += c->distance.mcd_db;
        compared++;
        /* A clip without voiced frames has no distance in pitch. */
        if (isfinite(c->distance.f0_rmse_semitones)) {
            out->f0_rmse_semitones += c->distance.f0_rmse_semitones;
            pitched++;
        }
    }
    out->voice.share = out->voice.words ? (double)out->voice.wrong / out->voice.words : NAN;
    out->recordings.share =
        out->recordings.words ? (double)out->recordings.wrong / out->recordings.words : NAN;
    out->length_ratio = recorded ? (double)spoken / (double)recorded : NAN;
    out->mcd_db = compared ? out->mcd_db / compared : NAN;
    out->f0_rmse_semitones = pitched ? out->f0_rmse_semitones / pitched : NAN;
}

/* Waits for clips, judges them without the lock, leaves the result. */
static void *listen_on(void *arg)
{
    Hearing *h = arg;
    thread_step_back(); /* listening never takes time from training */
    pthread_mutex_lock(&h->mutex);
    for (;;) {
        while (!h->stop && !(h->busy && !h->done))
            pthread_cond_wait(&h->change, &h->mutex);
        if (h->stop)
            break;
        pthread_mutex_unlock(&h->mutex);
        Err err = {0};
        OrderedJob job = {"listen",  (uint64_t)h->count, h->threads > 1 ? h->threads : 0, 2 * h->threads, h,
                          hear_clip, next_clip};
        if (!open_ears(h, &err))
            ordered_run(&job, &err);
        for (int i = 0; i < h->threads && !err.code; i++)
            err = h->ears[i].err;
        pthread_mutex_lock(&h->mutex);
        h->err = err;
        sum_up(h, &h->result);
        h->done = 1;
        pthread_cond_broadcast(&h->change);
    }
    pthread_mutex_unlock(&h->mutex);
    return NULL;
}

/* --- for the owner --- */

/* The text of an item as it is spoken, malloc'd. */
static char *said_of(const Corpus *c, uint32_t item)
{
    StoreEntry e;
    TextView v;
    store_entry(&c->text, c->items[item].text_entry, &e);
    return text_view(&v, &e) ? strdup("") : strndup(v.cleaned, v.cleaned_size);
}

/* Clips at even distances in the corpus, with what is said in them. */
static int choose_clips(Hearing *h, Err *err)
{
    const Corpus *corpus = h->corpus;
    for (int i = 0; i < h->count; i++) {
        Clip *c = &h->clips[i];
        c->item = (uint32_t)((uint64_t)corpus->count * (uint64_t)i / (uint64_t)h->count);
        c->said = said_of(corpus, c->item);
        if (!c->said)
            return err_set(err, ERR_NOMEM, "no memory to listen to %d clips", h->count);
    }
    return 0;
}

int hearing_open(Hearing **out, const Config *cfg, const Corpus *corpus, int most, int threads, Log *log,
                 Err *err)
{
    *out = NULL;
    Hearing *h = mem_calloc(1, sizeof *h);
    if (!h)
        return err_set(err, ERR_NOMEM, "no memory to listen");
    h->cfg = cfg;
    h->corpus = corpus;
    h->log = log;
    h->sound.cfg = cfg;
    h->threads = threads > 1 ? threads : 1;
    h->count = corpus->count < (uint32_t)most ? (int)corpus->count : most;
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->change, NULL);
    h->clips = mem_calloc((size_t)h->count + 1, sizeof *h->clips);
    h->ears = mem_calloc((size_t)h->threads, sizeof *h->ears);
    int rc = 0;
    if (!h->clips || !h->ears)
        rc = err_set(err, ERR_NOMEM, "no memory to listen to %d clips", h->count);
    if (!rc)
        rc = choose_clips(h, err);
    if (!rc)
        rc = mel_plan_open(&h->mel, cfg, err);
    if (!rc)
        rc = pitch_plan_open(&h->pitch, cfg, err);
    if (!rc)
        rc = thread_start(&h->thread, "listener", listen_on, h, err);
    if (rc) {
        hearing_close(h);
        return rc;
    }
    *out = h;
    return 0;
}

/* Every thread has its own stage. */
void hearing_set_sound(Hearing *h, const SoundOptions *o)
{
    h->sound = *o;
    h->sound.cfg = h->cfg;
    h->sound.threads = 1;
}

/* Clips that have not been started are dropped; the one under way is waited for. */
void hearing_close(Hearing *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->mutex);
    h->stop = 1;
    pthread_cond_broadcast(&h->change);
    pthread_mutex_unlock(&h->mutex);
    thread_join(&h->thread);
    for (int i = 0; h->clips && i < h->count; i++) {
        free(h->clips[i].said);
        take_free(&h->clips[i].recording);
        take_free(&h->clips[i].voice);
    }
    for (int i = 0; h->ears && i < h->threads; i++) {
        Ear *e = &h->ears[i];
        recogniser_close(e->recogniser);
        sound_close(e->sound);
        mel_scratch_close(e->mel);
        pitch_scratch_close(e->pitch);
        audio_processor_close(e->processor);
        audio_buffer_free(&e->audio);
        buf_free(&e->heard);
        buf_free(&e->bytes);
    }
    mel_plan_close(h->mel);
    pitch_plan_close(h->pitch);
    pthread_mutex_destroy(&h->mutex);
    pthread_cond_destroy(&h->change);
    free(h->clips);
    free(h->ears);
    free(h);
}

int hearing_count(const Hearing *h) { return h->count; }
uint32_t hearing_item(const Hearing *h, int i) { return h->clips[i].item; }

/* The mels are copied and their normalisation undone here, in the owner's thread: speech and statistics are
 * the owner's and may change. A listener that is busy takes nothing, so that training never waits. */
int hearing_submit(Hearing *h, int64_t step, const Speech *speech, const float *mean, const float *deviation,
                   Err *err)
{
    const int bands = h->cfg->n_mels;
    pthread_mutex_lock(&h->mutex);
    int taken = h->busy;
    pthread_mutex_unlock(&h->mutex);
    if (taken)
        return 1;
    for (int i = 0; i < h->count; i++) {
        Take *s = &h->clips[i].voice;
        const int64_t values = (int64_t)speech[i].frames * bands;
        take_free(s);
        s->frames = speech[i].frames;
        s->mel = mem_calloc((size_t)values, sizeof *s->mel);
        if (!s->mel)
            return err_set(err, ERR_NOMEM, "no memory to listen to %d clips", h->count);
        normaliser_restore_mel(s->mel, speech[i].mel, mean, deviation, s->frames, bands);
    }
    pthread_mutex_lock(&h->mutex);
    h->busy = 1;
    h->done = 0;
    h->step = step;
    pthread_cond_broadcast(&h->change);
    pthread_mutex_unlock(&h->mutex);
    return 0;
}

/* Taking the result makes room for the next clips. */
int hearing_result(Hearing *h, Heard *out, int wait, Err *err)
{
    pthread_mutex_lock(&h->mutex);
    while (wait && h->busy && !h->done)
        pthread_cond_wait(&h->change, &h->mutex);
    int there = h->busy && h->done;
    if (there) {
        *out = h->result;
        h->busy = h->done = 0;
        if (h->err.code) {
            *err = h->err;
            there = h->err.code;
        }
    }
    pthread_mutex_unlock(&h->mutex);
    return there;
}

void heard_words(const Heard *h, char *out, size_t cap)
{
    const WordScore *ours = &h->voice, *theirs = &h->recordings;
    char wrong[60];
    const int counted = judged_words(wrong, sizeof wrong, ours->wrong, ours->words);
    if (!ours->words)
        heard_sentence(h, out, cap);
    else if (!theirs->words)
        snprintf(out, cap, "%s", wrong);
    else if (!counted)
        snprintf(out, cap, "%s (%.0f %% in the recordings)", wrong, 100 * theirs->share);
    else if (theirs->words == ours->words)
        snprintf(out, cap, "%s (%d in the recordings)", wrong, theirs->wrong);
    else
        snprintf(out, cap, "%s (%d of %d in the recordings)", wrong, theirs->wrong, theirs->words);
}

/* One sentence for the log. Without a recogniser it reports what is known anyway. */
void heard_sentence(const Heard *h, char *out, size_t cap)
{
    char rest[160] = "", pitch[60] = "";
    if (isfinite(h->f0_rmse_semitones)) /* a whisper has none */
        snprintf(pitch, sizeof pitch, ", pitch off by %.1f semitones", h->f0_rmse_semitones);
    if (isfinite(h->mcd_db))
        snprintf(rest, sizeof rest, "; %.1f dB from the recordings%s, %.2f times their length", h->mcd_db,
                 pitch, h->length_ratio);
    if (h->voice.words && h->recordings.words)
        snprintf(out, cap, "%.0f %% of the words wrong; in the recordings %.0f %%%s", 100 * h->voice.share,
                 100 * h->recordings.share, rest);
    else if (h->voice.words)
        snprintf(out, cap, "%.0f %% of the words wrong%s", 100 * h->voice.share, rest);
    else
        snprintf(out, cap, "the words were not judged (%.120s)%s", h->why_not, rest);
}

/* Counts, or null if there was no judge. */
static void words_json(json_t *o, const char *words, const char *wrong, const char *share, const WordScore *s)
{
    json_object_set_new(o, words, s->words ? json_integer(s->words) : json_null());
    json_object_set_new(o, wrong, s->words ? json_integer(s->wrong) : json_null());
    json_object_set_new(o, share, s->words ? json_real(s->share) : json_null());
}

void heard_json(json_t *o, const Heard *h)
{
    words_json(o, "words", "words_wrong", "words_wrong_share", &h->voice);
    words_json(o, "recordings_words", "recordings_words_wrong", "recordings_words_wrong_share",
               &h->recordings);
    json_object_set_new(o, "length_ratio", json_from_double(h->length_ratio));
    json_object_set_new(o, "mcd_db", json_from_double(h->mcd_db));
    json_object_set_new(o, "f0_rmse_semitones", json_from_double(h->f0_rmse_semitones));
    json_object_set_new(o, "judge", h->judge[0] ? json_string(h->judge) : json_null());
    json_object_set_new(o, "judge_missing", h->judge[0] ? json_null() : json_string(h->why_not));
}
