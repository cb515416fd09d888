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
#include "serve/typed.h"
#include "voice/voice_manner.h"

#define NAMES 600       /* bytes of names in a message */
#define LEAST_RETRY 1.0 /* seconds that are asked for in Retry-After */
#define MOST_RETRY 60.0

/* One request that is being spoken; it belongs to the HttpRequest. */
typedef struct SpeechJob {
    HttpRequest *http;
    Server *server;
    SpeechRequest q;
    Typed typed;
    SoundEncoder *encoder; /* from the first sound on */
    double came;           /* when there was something to speak; 0: not yet */
    Buf bytes;             /* of a text that still comes: the beginning of a character */
    Buf encoded;           /* of the last piece */
    Buf first;             /* what the stream begins with */
    int parts;             /* so far */
    int64_t symbols, frames;
    int over; /* to its end, or with an error that was told */
} SpeechJob;

static void job_free(void *kept)
{
    SpeechJob *j = kept;
    const int was_spoken = j->typed.talks || j->typed.begun;
    /* Afterwards the request is not woken any more. */
    typed_close(&j->typed);
    if (was_spoken && !j->over)
        metrics_cancelled(&j->server->metrics);
    sound_encoder_close(j->encoder);
    speech_request_free(&j->q);
    buf_free(&j->bytes);
    buf_free(&j->encoded);
    buf_free(&j->first);
    free(j);
}

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

static void wake_request(void *arg) { http_wake(arg); }

/* 0; or the request was answered, and *answered is its result. */
static int choose_voice(SpeechJob *j, TalkOrder *order, int *answered)
{
    const Catalogue *c = &j->server->catalogue;
    char shown[100], names[NAMES];
    int found = catalogue_choose(c, j->q.model, j->q.has_recording ? NULL : j->q.voice, &order->voice,
                                 &order->speaker);
    if (found == CATALOGUE_NO_MODEL) {
        utf8_show(shown, sizeof shown, j->q.model ? j->q.model : "");
        catalogue_voices_text(c, names, sizeof names);
        *answered = http_answer_error(j->http, 404, "model", "model_not_found",
                                      c->count ? "there is no model '%s'; the models are: %s"
                                               : "there is no model '%s': this server has no voice%s",
                                      shown, names);
        return -1;
    }
    if (found == CATALOGUE_NO_SPEAKER) {
        utf8_show(shown, sizeof shown, j->q.voice);
        catalogue_speakers_text(c, order->voice, names, sizeof names);
        *answered =
            http_answer_error(j->http, 400, "voice", "invalid_value", "%s has no voice '%s'; it has: %s",
                              c->names[order->voice], shown, names);
        return -1;
    }
    return 0;
}

/* The body is JSON, or the text; a GET has all of it in its query. */
static int read_request(SpeechJob *j, SpeechFault *fault)
{
    HttpRequest *r = j->http;
    const SpeechLimits limits = {j->server->o.max_text, j->server->o.max_upload};
    size_t size;
    const char *body = http_body(r, &size);
    if (!http_has_body(r))
        return speech_request_query(&j->q, get_query, r, &limits, fault);
    if (http_is_live(r))
        return speech_request_text(&j->q, NULL, 0, get_query, r, &limits, fault);
    int rc = http_has_type(r, SPEECH_TEXT_TYPE)
                 ? speech_request_text(&j->q, body, size, get_query, r, &limits, fault)
                 : speech_request_parse(&j->q, body, size, &limits, fault);
    http_drop_body(r);
    return rc;
}

/* A job, kept by the request. Otherwise the request was answered. */
static SpeechJob *begin(HttpRequest *r, Server *s, int *answered, Err *err)
{
    SpeechJob *j = calloc(1, sizeof *j);
    SpeechFault fault;
    if (!j) {
        *answered = err_set(err, ERR_NOMEM, "no memory for a request");
        return NULL;
    }
    *j = (SpeechJob){.http = r, .server = s};
    http_keep(r, j, job_free);
    if (read_request(j, &fault)) {
        *answered = refuse(r, &fault);
        return NULL;
    }
    TalkOrder order = {.recording = j->q.has_recording ? j->q.recording.data : NULL,
                       .recording_size = j->q.recording.size,
                       .speed = j->q.speed,
                       .pitch = j->q.pitch,
                       .wish = {.language = j->q.language, .force = j->q.force_language},
                       .format = j->q.text_format,
                       .ready = wake_request,
                       .arg = r};
    if (choose_voice(j, &order, answered))
        return NULL;
    j->typed = (Typed){.studio = s->studio,
                       .order = order,
                       .max_text = (size_t)s->o.max_text,
                       .max_waiting = s->o.max_queue,
                       .streams = http_is_live(r)};
    if (!j->q.input)
        return j;
    j->came = clock_now();
    typed_end(&j->typed);
    *answered = typed_add(&j->typed, j->q.input, j->q.input_size, err);
    return *answered ? NULL : j;
}

/* --- sound --- */

/* What has come of a text that still comes. A character may come in two pieces. */
static int take_text(SpeechJob *j, Err *err)
{
    Buf *b = &j->bytes;
    if (j->typed.whole)
        return 0;
    const int whole = http_take_body(j->http, b);
    if (b->failed)
        return err_set(err, ERR_NOMEM, "no memory for a text");
    const size_t n = b->size ? speech_request_valid(b->data, b->size) : 0, rest = b->size - n;
    if (rest > 3 || (rest && (whole || !b->data[n])))
        return err_set(err, ERR_DATA, SPEECH_NOT_TEXT);
    int rc = n ? typed_add(&j->typed, b->data, n, err) : 0;
    if (n)
        memmove(b->data, b->data + n, rest);
    b->size = rest;
    if (whole)
        typed_end(&j->typed);
    return rc;
}

/* What has been left out, and how much was spoken. */
static int end_events(SpeechJob *j, Buf *out, Err *err)
{
    VoiceLosses losses = {0};
    int rc = typed_left_out(&j->typed, &losses);
    event_done(out, j->symbols, j->frames, &losses, j->typed.text.data);
    voice_losses_free(&losses);
    return rc < 0 ? err_set(err, ERR_NOMEM, "no memory for a list") : 0;
}

static int begin_part(SpeechJob *j, Buf *out, const TalkPiece *piece, Err *err)
{
    const VoicePart *part = piece->part;
    const Checkpoint *voice = voice_checkpoint(talk_voice(j->typed.talk[0]));
    j->symbols += part->speech.text;
    j->frames += part->frames;
    if (j->q.events && j->q.details) {
        int failed = event_part(out, part, voice, j->parts, piece->at, err);
        if (failed)
            return failed;
    }
    for (size_t i = 0; j->q.events && i < part->wishes.mark_count; i++) {
        const VoiceMark *m = &part->wishes.marks[i];
        event_mark(out, m->name, piece->at + voice_mark_seconds(m, &voice->cfg));
    }
    j->parts++;
    return 0;
}

static int encode(SpeechJob *j, Buf *out, const TypedPiece *piece, Err *err)
{
    static const float silence[1024];
    int rc = 0;
    for (int64_t left = piece->silence; left > 0 && !rc; left -= 1024)
        rc = sound_encoder_add(j->encoder, out, silence, left < 1024 ? left : 1024, err);
    return rc ? rc : sound_encoder_add(j->encoder, out, piece->sound.samples, piece->sound.count, err);
}

/* One step: its bytes, or events, at the end of out. As typed_next. */
static int next_piece(SpeechJob *j, Buf *out, Err *err)
{
    TypedPiece piece;
    int rc = take_text(j, err);
    if (!rc)
        rc = typed_next(&j->typed, &piece, err);
    if (!j->came && j->typed.talks)
        j->came = clock_now();
    if (rc != TALK_PIECE && rc != TALK_END)
        return rc;
    Buf *sound = j->q.events ? &j->encoded : out;
    int failed = 0;
    buf_clear(&j->encoded);
    if (!j->encoder)
        failed = sound_encoder_open(&j->encoder, j->q.format, j->typed.rate, j->q.sample_rate, err);
    if (!failed && rc == TALK_PIECE && piece.sound.part)
        failed = begin_part(j, out, &piece.sound, err);
    if (!failed)
        failed =
            rc == TALK_END ? sound_encoder_finish(j->encoder, sound, err) : encode(j, sound, &piece, err);
    if (!failed && j->q.events)
        event_audio(out, sound->data, sound->size);
    if (!failed && j->q.events && rc == TALK_END)
        failed = end_events(j, out, err);
    if (failed)
        return failed;
    j->over = rc == TALK_END;
    http_extend(j->http, (double)(piece.silence + piece.sound.count) / j->typed.rate);
    return sound->failed || out->failed ? err_set(err, ERR_NOMEM, "no memory for sound") : rc;
}

/* What an error is for the client; status 0: it is the server's. */
static SpeechFault fault_of(const SpeechJob *j, int rc, const Err *err)
{
    const int is_reference = err->subject == ERR_ABOUT_REFERENCE;
    SpeechFault f = {.status = 400, .param = is_reference ? "reference" : "input", .code = "invalid_value"};
    const char *more = "";
    if (rc == ERR_BUSY) {
        f.status = 429;
        f.code = "rate_limit_exceeded";
        f.param = NULL;
    } else if (rc == ERR_LANGUAGE) {
        f.param = j->q.language ? "language" : "input";
        f.code = "language_not_learned";
        more = "; force_language speaks it anyway";
    } else if (rc == ERR_MISSING) {
        f.param = is_reference ? "reference" : "voice";
    } else if (rc != ERR_DATA && rc != ERR_FORMAT) {
        f.status = 0;
    }
    if (j->typed.too_long)
        f.code = "string_above_max_length";
    snprintf(f.message, sizeof f.message, "%s%s", err->msg, more);
    return f;
}

/* An error in the middle: who reads events is told. */
static int break_off(SpeechJob *j, Buf *out, int rc, const Err *err)
{
    j->over = 1;
    if (!j->q.events)
        return rc;
    const SpeechFault f = fault_of(j, rc, err);
    char *text = f.status ? http_error_text(f.status, f.param, f.code, f.message)
                          : http_error_text(500, NULL, "server_error", err->msg);
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
    return rc == TALK_LATER   ? HTTP_STREAM_LATER
           : rc == TYPED_MORE ? HTTP_STREAM_BODY
           : rc == TALK_END   ? HTTP_STREAM_END
                              : HTTP_STREAM_MORE;
}

/* Before any sound: what is wrong with the text or the recording is the client's. */
static int answer_failure(SpeechJob *j, int rc, const Err *err)
{
    const SpeechFault f = fault_of(j, rc, err);
    j->over = 1;
    return f.status == 429 ? refuse_busy(j->http, j->server) : f.status ? refuse(j->http, &f) : rc;
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
    /* The talk has a recording of its own. */
    buf_free(&j->q.recording);
    j->typed.order.recording = NULL;
    if (rc == TALK_LATER || rc == TYPED_MORE)
        return rc == TALK_LATER ? HTTP_LATER : HTTP_MORE_BODY;
    if (rc < 0)
        return answer_failure(j, rc, err);
    metrics_first_sound(&s->metrics, clock_now() - j->came);
    char rate[24]; /* a number */
    snprintf(rate, sizeof rate, "%d", sound_encoder_rate(j->encoder));
    http_add_header(r, "X-Sample-Rate", rate);
    /* Known for a whole text before its first sound. */
    if (!http_is_live(r)) {
        snprintf(rate, sizeof rate, "%d", typed_left_out(&j->typed, NULL));
        http_add_header(r, "X-Myxtts-Left-Out", rate);
    }
    HttpStream stream = {.more = stream_more, .arg = j, .paced = 1};
    return http_answer_stream(r, j->q.events ? "text/event-stream" : sound_format_type(j->q.format), &stream);
}
