/* voice.c - the voices of the C library, over src/studio: a studio with one voice, in which any thread may
 * speak. See myxtts.h. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audio/audio_writer.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/plain_locale.h"
#include "device/devices.h"
#include "lib/library.h"
#include "studio/studio.h"

#define MOST_REFERENCE (256u << 20) /* bytes of a recording to speak like */
#define SLOWEST 0.25
#define FASTEST 4.0
#define MOST_SEMITONES 24.0
#define OURS "the voice"

struct myxtts_voice {
    pid_t process; /* that opened it */
    LibraryLog log;
    Devices devices;
    Studio *studio;
};

struct myxtts_speech {
    pid_t process; /* of the voice */
    Talk *talk;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* by the monotonic clock */
    int ready;              /* asking again is worth it; under the mutex */
    Spoken told;            /* its marks: those of the pieces that were given out */
    const Config *cfg;
};

/* ---- opening ---- */

static int open_studio(myxtts_voice *v, const myxtts_voice_options *o, const LibraryArguments *a, Err *err)
{
    const StudioVoice voice = {.checkpoint = o->checkpoint,
                               .vocoder = o->vocoder,
                               .iterations = o->rounds < 0 ? SOUND_NONE : o->rounds};
    const StudioOptions studio = {.voices = &voice,
                                  .count = 1,
                                  .argc = a->count,
                                  .argv = a->of,
                                  .device = v->devices.model,
                                  .threads = o->threads,
                                  .log = &v->log.log};
    return studio_open(&v->studio, &studio, err);
}

static int open_voice(myxtts_voice *v, const myxtts_voice_options *o, Err *err)
{
    LibraryArguments a = {0};
    Config cfg = {0};
    if (!o->checkpoint || !*o->checkpoint)
        return err_set(err, ERR_USAGE,
                       "a voice needs a checkpoint: a run, one of its files, or an exported voice");
    if (o->threads < 0)
        return err_set(err, ERR_USAGE, "%d is not a possible number of threads", o->threads);
    int rc = library_arguments_read(&a, o->settings, err);
    /* The last one is used. */
    if (!rc && o->device && !(rc = library_arguments_add(&a, "model_gpu", library_device(o->device), err)))
        rc = library_arguments_add(&a, "data_gpu", library_device(o->device), err);
    if (!rc)
        rc = config_load(&cfg, NULL, a.count, a.of, err);
    if (!rc)
        rc = devices_open(&v->devices, &cfg, &v->log.log, err);
    if (!rc)
        rc = open_studio(v, o, &a, err);
    config_close(&cfg);
    library_arguments_free(&a);
    return rc;
}

int myxtts_voice_open(myxtts_voice **out, const myxtts_voice_options *options, myxtts_error *e)
{
    PLAIN_LOCALE;
    Err err = {0};
    myxtts_voice_options o = MYXTTS_VOICE_OPTIONS;
    if (!out)
        return library_misuse(e, "a place for the voice");
    *out = NULL;
    if (library_options(&o, sizeof o, options, "a voice", &err))
        return library_error(e, &err);
    myxtts_voice *v = mem_calloc(1, sizeof *v);
    if (!v) {
        err_set(&err, ERR_NOMEM, "no memory for a voice");
        return library_error(e, &err);
    }
    v->process = getpid();
    library_log_open(&v->log, o.log, o.log_arg);
    if (open_voice(v, &o, &err)) {
        myxtts_voice_close(v);
        return library_error(e, &err);
    }
    *out = v;
    return 0;
}

void myxtts_voice_close(myxtts_voice *v)
{
    if (!v || library_check_process(v->process, OURS, NULL))
        return;
    studio_close(v->studio);
    devices_close(&v->devices);
    library_log_close(&v->log);
    free(v);
}

static const Checkpoint *checkpoint_of(const myxtts_voice *v)
{
    return voice_checkpoint(studio_voice(v->studio, 0));
}

int myxtts_voice_sample_rate(const myxtts_voice *v) { return v ? checkpoint_of(v)->cfg.sample_rate : 0; }

int myxtts_voice_speaker_count(const myxtts_voice *v) { return v ? checkpoint_of(v)->speaker_count : 0; }

const char *myxtts_voice_speaker(const myxtts_voice *v, int i)
{
    return i >= 0 && i < myxtts_voice_speaker_count(v) ? checkpoint_of(v)->speakers[i] : NULL;
}

int myxtts_voice_language_count(const myxtts_voice *v) { return v ? checkpoint_of(v)->languages.count : 0; }

const char *myxtts_voice_language(const myxtts_voice *v, int i)
{
    return i >= 0 && i < myxtts_voice_language_count(v) ? checkpoint_of(v)->languages.codes[i] : NULL;
}

/* ---- speaking ---- */

/* A thread of the studio calls it. */
static void tell(void *arg)
{
    myxtts_speech *s = arg;
    pthread_mutex_lock(&s->mutex);
    s->ready = 1;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static int check_manner(myxtts_manner *m, const myxtts_manner *given, const char *text, Err *err)
{
    *m = (myxtts_manner)MYXTTS_MANNER;
    if (!text)
        return err_set(err, ERR_USAGE, "there is no text to speak");
    int rc = given ? library_options(m, sizeof *m, given, "a manner", err) : 0;
    if (rc)
        return rc;
    if (m->speaker && m->reference)
        return err_set(err, ERR_USAGE, "both a speaker and a reference are given: give only one");
    if (!(m->speed >= SLOWEST && m->speed <= FASTEST))
        return err_set(err, ERR_USAGE, "the speed is %g, but must be from %g to %g", m->speed, SLOWEST,
                       FASTEST);
    if (!(fabs(m->pitch) <= MOST_SEMITONES))
        return err_set(err, ERR_USAGE, "the pitch is %g semitones, but must be from %g to %g", m->pitch,
                       -MOST_SEMITONES, MOST_SEMITONES);
    return 0;
}

static int begin(myxtts_speech *s, myxtts_voice *v, const char *text, size_t bytes,
                 const myxtts_manner *given, Err *err)
{
    Buf recording = {0};
    myxtts_manner m;
    TextFormat format = TEXT_FORMAT_AUTO;
    int rc = check_manner(&m, given, text, err);
    if (!rc && m.text_format && text_format_find(&format, m.text_format))
        rc = err_set(err, ERR_USAGE, "the text format is '%.40s', but must be " TEXT_FORMAT_NAMES,
                     m.text_format);
    if (!rc && m.reference)
        rc = file_read(&recording, m.reference, MOST_REFERENCE, err);
    const TalkOrder order = {.text = text,
                             .size = bytes,
                             .speaker = m.speaker,
                             .recording = m.reference ? (recording.data ? recording.data : "") : NULL,
                             .recording_size = recording.size,
                             .speed = m.speed,
                             .pitch = m.pitch,
                             .wish = {.language = m.language, .force = m.force_language},
                             .format = format,
                             .ready = tell,
                             .arg = s};
    if (!rc)
        rc = talk_begin(&s->talk, v->studio, &order, err);
    buf_free(&recording);
    return rc;
}

int myxtts_speech_begin(myxtts_speech **out, myxtts_voice *v, const char *text, size_t bytes,
                        const myxtts_manner *manner, myxtts_error *e)
{
    PLAIN_LOCALE;
    Err err = {0};
    pthread_condattr_t monotonic;
    if (!out)
        return library_misuse(e, "a place for the speech");
    *out = NULL;
    if (!v)
        return library_misuse(e, "a voice");
    int rc = library_check_process(v->process, OURS, e);
    if (rc)
        return rc;
    myxtts_speech *s = mem_calloc(1, sizeof *s);
    if (!s) {
        err_set(&err, ERR_NOMEM, "no memory to speak");
        return library_error(e, &err);
    }
    s->process = v->process;
    s->cfg = &checkpoint_of(v)->cfg;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (begin(s, v, text, bytes, manner, &err)) {
        myxtts_speech_end(s);
        return library_error(e, &err);
    }
    *out = s;
    return 0;
}

/* Translates what talk_next returned for the caller. */
static int hand_out(myxtts_speech *s, int rc, const TalkPiece *piece, const float **samples, int64_t *count,
                    Err *err, myxtts_error *e)
{
    if (rc == TALK_PIECE && piece->part) {
        const int64_t from = llround(piece->at * s->cfg->sample_rate);
        int failed = spoken_add_marks(&s->told, piece->part, from, INT64_MAX, s->cfg, err);
        rc = failed ? failed : rc;
    }
    *samples = rc == TALK_PIECE ? piece->samples : NULL;
    *count = rc == TALK_PIECE ? piece->count : 0;
    return rc < 0 ? library_error(e, err) : rc;
}

int myxtts_speech_next(myxtts_speech *s, const float **samples, int64_t *count, myxtts_error *e)
{
    PLAIN_LOCALE;
    TalkPiece piece;
    Err err = {0};
    if (!s || !samples || !count)
        return library_misuse(e, s ? "a place for the samples" : "a speech");
    int rc = library_check_process(s->process, OURS, e);
    if (rc)
        return rc;
    rc = talk_next(s->talk, &piece, 1, &err);
    return hand_out(s, rc, &piece, samples, count, &err, e);
}

/* 1: told in time. */
static int wait_until(myxtts_speech *s, const struct timespec *end)
{
    int rc = 0;
    pthread_mutex_lock(&s->mutex);
    while (!s->ready && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->changed, &s->mutex, end);
    int told = s->ready;
    s->ready = 0;
    pthread_mutex_unlock(&s->mutex);
    return told;
}

int myxtts_speech_poll(myxtts_speech *s, const float **samples, int64_t *count, double seconds,
                       myxtts_error *e)
{
    PLAIN_LOCALE;
    const double longest = 1e9;
    TalkPiece piece;
    Err err = {0};
    struct timespec end;
    if (!s || !samples || !count)
        return library_misuse(e, s ? "a place for the samples" : "a speech");
    int rc = library_check_process(s->process, OURS, e);
    if (rc)
        return rc;
    seconds = seconds > 0 ? fmin(seconds, longest) : 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double fraction = (double)end.tv_nsec * 1e-9 + (seconds - floor(seconds));
    end.tv_sec += (time_t)floor(seconds) + (time_t)floor(fraction);
    end.tv_nsec = (long)((fraction - floor(fraction)) * 1e9);
    do
        rc = talk_next(s->talk, &piece, 0, &err);
    while (rc == TALK_LATER && wait_until(s, &end));
    return hand_out(s, rc, &piece, samples, count, &err, e);
}

int myxtts_speech_left_out_count(const myxtts_speech *s)
{
    return s && !library_check_process(s->process, OURS, NULL) ? talk_left_out(s->talk, NULL) : 0;
}

int myxtts_speech_left_out(const myxtts_speech *s, int i, myxtts_loss *out)
{
    VoiceLosses losses = {0};
    if (!s || !out)
        return MYXTTS_ERROR_USAGE;
    int rc = library_check_process(s->process, OURS, NULL);
    if (!rc && talk_left_out(s->talk, &losses) < 0)
        rc = MYXTTS_ERROR_MEMORY;
    if (!rc && (i < 0 || (size_t)i >= losses.count))
        rc = MYXTTS_ERROR_MISSING;
    if (!rc) {
        *out = (myxtts_loss){.at = losses.all[i].at, .bytes = losses.all[i].size};
        snprintf(out->why, sizeof out->why, "%s", losses.all[i].why);
    }
    voice_losses_free(&losses);
    return rc;
}

int myxtts_speech_mark_count(const myxtts_speech *s)
{
    return s && !library_check_process(s->process, OURS, NULL) ? (int)s->told.mark_count : 0;
}

int myxtts_speech_mark(const myxtts_speech *s, int i, myxtts_mark *out)
{
    if (!s || !out)
        return MYXTTS_ERROR_USAGE;
    if (i < 0 || i >= myxtts_speech_mark_count(s))
        return MYXTTS_ERROR_MISSING;
    *out = (myxtts_mark){s->told.marks[i].name, s->told.marks[i].seconds};
    return 0;
}

void myxtts_speech_end(myxtts_speech *s)
{
    if (!s || library_check_process(s->process, OURS, NULL))
        return;
    talk_close(s->talk);
    spoken_free(&s->told);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

int myxtts_voice_say(myxtts_voice *v, float **samples, int64_t *count, const char *text, size_t bytes,
                     const myxtts_manner *manner, myxtts_error *e)
{
    PLAIN_LOCALE;
    myxtts_speech *s;
    const float *piece;
    int64_t n;
    Buf all = {0};
    if (!samples || !count)
        return library_misuse(e, "a place for the samples");
    *samples = NULL;
    *count = 0;
    int rc = myxtts_speech_begin(&s, v, text, bytes, manner, e);
    while (!rc && (rc = myxtts_speech_next(s, &piece, &n, e)) == TALK_PIECE) {
        buf_add(&all, piece, (size_t)n * sizeof *piece);
        rc = 0;
        if (all.failed) {
            Err err = {0};
            err_set(&err, ERR_NOMEM, "no memory for more than %zu bytes of sound", all.size);
            rc = library_error(e, &err);
        }
    }
    myxtts_speech_end(s);
    if (rc) {
        buf_free(&all);
        return rc;
    }
    *count = (int64_t)(all.size / sizeof *piece);
    *samples = (float *)(void *)all.data; /* malloc'd, as myxtts_free wants it */
    return 0;
}

int myxtts_write_audio(const char *path, const float *samples, int64_t count, int sample_rate,
                       myxtts_error *e)
{
    PLAIN_LOCALE;
    AudioWriter w = {0};
    Err err = {0};
    int rc = 0;
    if (!path || count < 0 || (count && !samples) || sample_rate < 1)
        rc = err_set(&err, ERR_USAGE, "sound needs a path, samples and a rate");
    if (!rc)
        rc = audio_writer_open(&w, path, &err);
    if (!rc)
        rc = audio_writer_begin(&w, sample_rate, &err);
    if (!rc)
        rc = audio_writer_add(&w, samples, count, &err);
    if (!rc)
        rc = audio_writer_commit(&w, &err);
    if (!rc)
        return 0;
    audio_writer_abort(&w);
    return library_error(e, &err);
}
