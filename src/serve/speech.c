/* speech.c - see speech.h. */
#include "serve/speech.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/sound_encoder.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "serve/server.h"
#include "serve/speech_events.h"
#include "serve/speech_request.h"
#include "studio/studio.h"
#include "voice/voice_manner.h"

#define NAMES 600       /* bytes of names in a message */
#define LEAST_RETRY 1.0 /* seconds that are asked for in Retry-After */
#define MOST_RETRY 60.0

/* One request that is being spoken; it belongs to the HttpRequest. */
typedef struct SpeechJob {
    HttpRequest *http;
    Server *server;
    SpeechRequest q;
    int voice;
    Talk *talk;
    SoundEncoder *encoder;
    double came;
    Buf encoded; /* of the last piece */
    Buf first;   /* what the stream begins with */
    int parts;   /* so far */
    int64_t symbols, frames;
    int over; /* to its end, or with an error that was told */
} SpeechJob;

static void job_free(void *kept)
{
    SpeechJob *j = kept;
    /* Afterwards the request is not woken any more. */
    talk_close(j->talk);
    if (j->talk && !j->over)
        metrics_cancelled(&j->server->metrics);
    sound_encoder_close(j->encoder);
    speech_request_free(&j->q);
    buf_free(&j->encoded);
    buf_free(&j->first);
    free(j);
}

static const Checkpoint *checkpoint_of(const SpeechJob *j) { return voice_checkpoint(talk_voice(j->talk)); }

/* --- beginning --- */

static const char *get_query(void *arg, const char *name) { return http_query(arg, name); }

static int refuse(HttpRequest *r, const SpeechFault *f)
{
    return http_answer_error(r, f->status, f->param, f->code, "%s", f->message);
}

/* When the queue will be short enough again, by what is in it and how fast it goes. */
static int refuse_busy(HttpRequest *r, const Server *s)
{
    const StudioWait wait = studio_wait(s->studio);
    const double seconds = ceil(fmin(fmax(wait.retry, LEAST_RETRY), MOST_RETRY));
    char text[24];
    snprintf(text, sizeof text, "%.0f", seconds);
    http_add_header(r, "Retry-After", text);
    return http_answer_error(r, 429, NULL, "rate_limit_exceeded",
                             "too many texts are being spoken: this one would wait %.1f s for the others; "
                             "try again in %.0f s",
                             wait.seconds, seconds);
}

static int refuse_language(const SpeechJob *j, const Err *err)
{
    return http_answer_error(j->http, 400, j->q.language ? "language" : "input", "language_not_learned",
                             "%s; force_language speaks it anyway", err->msg);
}

static void wake_request(void *arg) { http_wake(arg); }

/* 0; or the request was answered, and *answered is its result. */
static int choose_voice(SpeechJob *j, const char **speaker, int *answered)
{
    const Catalogue *c = &j->server->catalogue;
    char shown[100], names[NAMES];
    int found = catalogue_choose(c, j->q.model, j->q.has_recording ? NULL : j->q.voice, &j->voice, speaker);
    if (found == CATALOGUE_NO_MODEL) {
        utf8_show(shown, sizeof shown, j->q.model ? j->q.model : "");
        catalogue_voices_text(c, names, sizeof names);
        *answered = http_answer_error(j->http, 404, "model", "model_not_found",
                                      c->count ? "there is no model '%s'; there is: %s"
                                               : "there is no model '%s': this server has no voice%s",
                                      shown, names);
        return -1;
    }
    if (found == CATALOGUE_NO_SPEAKER) {
        utf8_show(shown, sizeof shown, j->q.voice);
        catalogue_speakers_text(c, j->voice, names, sizeof names);
        *answered = http_answer_error(j->http, 400, "voice", "invalid_value",
                                      "%s has no voice '%s'; it has: %s", c->names[j->voice], shown, names);
        return -1;
    }
    return 0;
}

/* A job with an open talk, kept by the request. Otherwise the request was answered. */
static SpeechJob *begin(HttpRequest *r, Server *s, int *answered, Err *err)
{
    SpeechJob *j = calloc(1, sizeof *j);
    const SpeechLimits limits = {s->o.max_text, s->o.max_upload};
    const char *speaker = NULL;
    SpeechFault fault;
    StudioReport now;
    size_t size;
    if (!j) {
        *answered = err_set(err, ERR_NOMEM, "no memory for a request");
        return NULL;
    }
    *j = (SpeechJob){.http = r, .server = s, .came = clock_now()};
    http_keep(r, j, job_free);
    const char *body = http_body(r, &size);
    int rc = http_has_body(r) ? speech_request_parse(&j->q, body, size, &limits, &fault)
                              : speech_request_query(&j->q, get_query, r, &limits, &fault);
    http_drop_body(r);
    if (rc) {
        *answered = refuse(r, &fault);
        return NULL;
    }
    if (choose_voice(j, &speaker, answered))
        return NULL;
    studio_report(s->studio, &now);
    if (now.waiting >= s->o.max_queue) {
        *answered = refuse_busy(r, s);
        return NULL;
    }
    TalkOrder order = {.voice = j->voice,
                       .text = j->q.input,
                       .size = j->q.input_size,
                       .speaker = speaker,
                       .recording = j->q.has_recording ? j->q.recording.data : NULL,
                       .recording_size = j->q.recording.size,
                       .speed = j->q.speed,
                       .pitch = j->q.pitch,
                       .wish = {.language = j->q.language, .force = j->q.force_language},
                       .format = j->q.text_format,
                       .ready = wake_request,
                       .arg = r};
    rc = talk_begin(&j->talk, s->studio, &order, err);
    buf_free(&j->q.recording);
    if (!rc)
        rc = sound_encoder_open(&j->encoder, j->q.format, checkpoint_of(j)->cfg.sample_rate, j->q.sample_rate,
                                err);
    if (!rc)
        return j;
    *answered = rc == ERR_BUSY       ? refuse_busy(r, s)
                : rc == ERR_MISSING  ? http_answer_error(r, 400, "voice", NULL, "%s", err->msg)
                : rc == ERR_LANGUAGE ? refuse_language(j, err)
                : rc == ERR_DATA     ? http_answer_error(r, 400, "input", "invalid_value", "%s", err->msg)
                                     : rc;
    return NULL;
}

/* --- sound --- */

/* One step of the talk: its bytes, or events, at the end of out. TALK_PIECE, TALK_END, TALK_LATER or an
 * error. */
static int next_piece(SpeechJob *j, Buf *out, Err *err)
{
    TalkPiece piece;
    int rc = talk_next(j->talk, &piece, 0, err);
    if (rc < 0 || rc == TALK_LATER)
        return rc;
    Buf *sound = j->q.events ? &j->encoded : out;
    buf_clear(&j->encoded);
    if (rc == TALK_END) {
        int failed = sound_encoder_finish(j->encoder, sound, err);
        if (failed)
            return failed;
        if (j->q.events) {
            event_audio(out, sound->data, sound->size);
            VoiceLosses losses = {0};
            failed = talk_left_out(j->talk, &losses);
            event_done(out, j->symbols, j->frames, &losses, talk_text(j->talk));
            voice_losses_free(&losses);
            if (failed < 0)
                return err_set(err, ERR_NOMEM, "no memory for a list");
        }
        j->over = 1;
        return TALK_END;
    }
    if (piece.part) {
        j->symbols += piece.part->speech.text;
        j->frames += piece.part->frames;
        if (j->q.events && j->q.details) {
            int failed = event_part(out, piece.part, checkpoint_of(j), j->parts, piece.at, err);
            if (failed)
                return failed;
        }
        for (size_t i = 0; j->q.events && i < piece.part->wishes.mark_count; i++) {
            const VoiceMark *m = &piece.part->wishes.marks[i];
            event_mark(out, m->name, piece.at + voice_mark_seconds(m, &checkpoint_of(j)->cfg));
        }
        j->parts++;
    }
    int failed = sound_encoder_add(j->encoder, sound, piece.samples, piece.count, err);
    if (failed)
        return failed;
    if (j->q.events)
        event_audio(out, sound->data, sound->size);
    http_extend(j->http, (double)piece.count / checkpoint_of(j)->cfg.sample_rate);
    return sound->failed || out->failed ? err_set(err, ERR_NOMEM, "no memory for sound") : TALK_PIECE;
}

/* An error in the middle: who reads events is told. */
static int break_off(SpeechJob *j, Buf *out, int rc, const Err *err)
{
    j->over = 1;
    if (!j->q.events)
        return rc;
    char *text = http_error_text(500, NULL, "server_error", err->msg);
    if (!text)
        return rc;
    event_error(out, text);
    free(text);
    return HTTP_STREAM_END;
}

static int stream_more(void *arg, Buf *out, Err *err)
{
    SpeechJob *j = arg;
    if (j->first.size) {
        buf_add(out, j->first.data, j->first.size);
        buf_free(&j->first);
        return j->over ? HTTP_STREAM_END : HTTP_STREAM_MORE;
    }
    int rc = next_piece(j, out, err);
    if (rc < 0)
        return break_off(j, out, rc, err);
    return rc == TALK_LATER ? HTTP_STREAM_LATER : rc == TALK_END ? HTTP_STREAM_END : HTTP_STREAM_MORE;
}

/* Before any sound: what is wrong with the text or the recording is the client's. */
static int answer_failure(SpeechJob *j, int rc, const Err *err)
{
    const char *param = err->subject == ERR_ABOUT_REFERENCE ? "reference" : "input";
    j->over = 1;
    if (rc == ERR_DATA || rc == ERR_FORMAT || rc == ERR_MISSING)
        return http_answer_error(j->http, 400, param, "invalid_value", "%s", err->msg);
    return rc;
}

/* The status is known when the first sound is. */
int speech_answer(HttpRequest *r, void *arg, Err *err)
{
    Server *s = arg;
    SpeechJob *j = http_kept(r);
    int answered = 0, rc = TALK_PIECE;
    if (!j)
        j = begin(r, s, &answered, err);
    if (!j)
        return answered;
    while (rc == TALK_PIECE && j->first.size == 0)
        rc = next_piece(j, &j->first, err);
    if (rc == TALK_LATER)
        return HTTP_LATER;
    if (rc < 0)
        return answer_failure(j, rc, err);
    metrics_first_sound(&s->metrics, clock_now() - j->came);
    char rate[24]; /* a number */
    snprintf(rate, sizeof rate, "%d", sound_encoder_rate(j->encoder));
    http_add_header(r, "X-Sample-Rate", rate);
    /* Known for the whole text before its first sound. */
    snprintf(rate, sizeof rate, "%d", talk_left_out(j->talk, NULL));
    http_add_header(r, "X-Myxtts-Left-Out", rate);
    HttpStream stream = {.more = stream_more, .arg = j, .paced = 1};
    return http_answer_stream(r, j->q.events ? "text/event-stream" : sound_format_type(j->q.format), &stream);
}
