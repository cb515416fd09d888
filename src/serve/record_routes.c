/* record_routes.c - see record_routes.h. */
#include "serve/record_routes.h"

#include "base/json.h"
#include "serve/record/recorder.h"
#include "serve/server.h"

static Recorder *recorder_of(void *arg) { return ((Server *)arg)->recorder; }

static int no_recorder(HttpRequest *r)
{
    return http_answer_error(r, 404, NULL, "no_recording", "this server was started without --record DIR");
}

/* What the client can do something about is answered; anything else is the server's own error. */
static int refuse(HttpRequest *r, void *arg, int rc, const Take *take, const Err *err)
{
    Server *s = arg;
    switch (rc) {
    case ERR_MISSING:
        return http_answer_error(r, 404, "id", NULL, "%s", err->msg);
    case ERR_FORMAT:
        return http_answer_error(r, 400, NULL, "bad_wav", "%s", err->msg);
    case ERR_USAGE:
        return http_answer_error(r, 409, "text", "other_text", "%s", err->msg);
    case ERR_DATA:
        return http_answer_error(r, 422, NULL, take_code(take->findings & TAKE_UNUSABLE), "%s", err->msg);
    case ERR_NOSPACE:
        log_error(s->o.log, "%s", err->msg);
        return http_answer_error(
            r, 507, NULL, "disk_full",
            "the disk is full: this take was not kept; what was recorded before is there");
    default:
        return rc;
    }
}

int record_answer_list(HttpRequest *r, void *arg, Err *err)
{
    if (!recorder_of(arg))
        return no_recorder(r);
    return http_answer_json(r, 200, recorder_list(recorder_of(arg)));
}

int record_answer_take(HttpRequest *r, void *arg, Err *err)
{
    Buf wav = {0};
    if (!recorder_of(arg))
        return no_recorder(r);
    int rc = recorder_read(recorder_of(arg), &wav, http_rest(r), err);
    if (!rc) {
        http_add_header(r, "Cache-Control", "no-store");
        rc = http_answer(r, 200, "audio/wav", wav.data, wav.size);
    } else {
        rc = refuse(r, arg, rc, NULL, err);
    }
    buf_free(&wav);
    return rc;
}

/* The take, and how far all is. */
static json_t *saved(Recorder *recorder, const char *id, const Take *t)
{
    json_t *o = json_pack("{s:o, s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "id", json_from_text(id),
                          "seconds", t->seconds, "sample_rate", t->rate, "level_db", t->level_db, "noise_db",
                          t->noise_db, "peak_db", t->peak_db, "begin_seconds", t->begin, "end_seconds",
                          t->end, "pause_seconds", t->pause, "findings", take_findings(t->findings),
                          "progress", recorder_progress(recorder));
    return o;
}

int record_answer_save(HttpRequest *r, void *arg, Err *err)
{
    Recorder *recorder = recorder_of(arg);
    Take take = {0};
    size_t size;
    if (!recorder)
        return no_recorder(r);
    const char *wav = http_body(r, &size);
    int rc = recorder_save(recorder, &take, http_rest(r), http_query(r, "text"), wav, size, err);
    if (rc)
        return refuse(r, arg, rc, &take, err);
    return http_answer_json(r, 200, saved(recorder, http_rest(r), &take));
}

int record_answer_remove(HttpRequest *r, void *arg, Err *err)
{
    Recorder *recorder = recorder_of(arg);
    if (!recorder)
        return no_recorder(r);
    int rc = recorder_remove(recorder, http_rest(r), err);
    if (rc)
        return refuse(r, arg, rc, NULL, err);
    return http_answer_json(r, 200, json_pack("{s:o}", "progress", recorder_progress(recorder)));
}
