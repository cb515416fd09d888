/* speech_request.c - see speech_request.h. */
#include "serve/speech_request.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

#define MOST_VALUES 1000 /* of a body */
#define SHOWN 80         /* bytes of a client's text in a message */
#define PCM_RATE 24000   /* what OpenAI's clients take samples without a header for */
enum { LOWEST_RATE = 8000, HIGHEST_RATE = 48000 };

static int fault_set(SpeechFault *f, int status, const char *param, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
static int fault_set(SpeechFault *f, int status, const char *param, const char *code, const char *fmt, ...)
{
    va_list ap;
    *f = (SpeechFault){.status = status, .param = param, .code = code};
    va_start(ap, fmt);
    vsnprintf(f->message, sizeof f->message, fmt, ap);
    va_end(ap);
    return -1;
}

static int no_memory(SpeechFault *f)
{
    return fault_set(f, 503, NULL, "server_error", "there is no memory for the request");
}

/* --- members --- */

/* A string of the object, copied; NULL where there is none or it is null. */
static int take_text(SpeechRequest *q, const char **out, const json_t *o, const char *key, SpeechFault *f)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return fault_set(f, 400, key, "invalid_type", "%s must be a string", key);
    *out = block_strndup(&q->memory, json_string_value(v), json_string_length(v));
    return *out ? 0 : no_memory(f);
}

static int take_number(double *out, const json_t *o, const char *key, double low, double high, SpeechFault *f)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_number(v))
        return fault_set(f, 400, key, "invalid_type", "%s must be a number", key);
    *out = json_number_value(v);
    if (isfinite(*out) && *out >= low && *out <= high)
        return 0;
    return fault_set(f, 400, key, "invalid_value", "%s is %g, but must be from %g to %g", key, *out, low,
                     high);
}

static int take_flag(int *out, const json_t *o, const char *key, SpeechFault *f)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_boolean(v))
        return fault_set(f, 400, key, "invalid_type", "%s must be true or false", key);
    *out = json_is_true(v);
    return 0;
}

static int is_blank(const char *p, size_t n) { return strspn(p, " \t\r\n") >= n; }

static int take_input(SpeechRequest *q, const json_t *o, const SpeechLimits *limits, SpeechFault *f)
{
    int rc = take_text(q, &q->input, o, "input", f);
    if (rc)
        return rc;
    if (!q->input)
        return fault_set(f, 400, "input", "missing_required_parameter",
                         "input is missing: the text to speak");
    q->input_size = strlen(q->input);
    if (is_blank(q->input, q->input_size))
        return fault_set(f, 400, "input", "empty_string", "input is empty: there is nothing to speak");
    size_t characters = utf8_count(q->input, q->input_size);
    if (characters > (size_t)limits->text)
        return fault_set(f, 400, "input", "string_above_max_length",
                         "input has %zu characters; the maximum is %d", characters, limits->text);
    return 0;
}

/* A name, or an object with an id. */
static int take_voice(SpeechRequest *q, const json_t *o, SpeechFault *f)
{
    const json_t *v = json_object_get(o, "voice");
    if (!json_is_object(v))
        return take_text(q, &q->voice, o, "voice", f);
    if (take_text(q, &q->voice, v, "id", f) || !q->voice)
        return fault_set(f, 400, "voice", "invalid_type", "voice must be a name, or an object with an id");
    return 0;
}

static int take_format(SpeechRequest *q, const json_t *o, SpeechFault *f)
{
    const char *name = NULL, *stream = NULL;
    char shown[SHOWN];
    int rc = take_text(q, &name, o, "response_format", f);
    if (!rc)
        rc = take_text(q, &stream, o, "stream_format", f);
    if (rc)
        return rc;
    if (sound_format_find(&q->format, name ? name : "mp3")) {
        utf8_show(shown, sizeof shown, name ? name : "mp3");
        if (name && strcmp(name, "aac") == 0)
            return fault_set(f, 400, "response_format", "invalid_value",
                             "response_format 'aac' is made by libavcodec, which is not installed on the "
                             "server (apt-get install ffmpeg): use mp3, wav, flac, opus or pcm");
        return fault_set(f, 400, "response_format", "invalid_value",
                         "response_format '%s' cannot be made here: use mp3, wav, flac, opus, aac or pcm",
                         shown);
    }
    q->events = stream && strcmp(stream, "sse") == 0;
    if (stream && !q->events && strcmp(stream, "audio") != 0) {
        utf8_show(shown, sizeof shown, stream);
        return fault_set(f, 400, "stream_format", "invalid_value",
                         "unknown stream_format '%s': use audio or sse", shown);
    }
    return 0;
}

/* Samples without a header do not say their rate, so clients of OpenAI's assume the one it sends. */
static int take_rate(SpeechRequest *q, const json_t *o, SpeechFault *f)
{
    const json_t *v = json_object_get(o, "sample_rate");
    if (!v || json_is_null(v)) {
        q->sample_rate = q->format == SOUND_PCM ? PCM_RATE : 0;
        return 0;
    }
    const json_int_t rate = json_integer_value(v);
    if (!json_is_integer(v) || (rate && (rate < LOWEST_RATE || rate > HIGHEST_RATE)))
        return fault_set(f, 400, "sample_rate", "invalid_value",
                         "sample_rate must be a whole number from %d to %d, or 0 for the voice's own",
                         LOWEST_RATE, HIGHEST_RATE);
    q->sample_rate = (int)rate;
    return 0;
}

/* A name, or "ssml": true. */
static int take_text_format(SpeechRequest *q, const json_t *o, SpeechFault *f)
{
    const char *name = NULL;
    char shown[SHOWN];
    int ssml = 0, rc = take_text(q, &name, o, "text_format", f);
    if (!rc)
        rc = take_flag(&ssml, o, "ssml", f);
    if (rc)
        return rc;
    if (name && text_format_find(&q->text_format, name)) {
        utf8_show(shown, sizeof shown, name);
        return fault_set(f, 400, "text_format", "invalid_value",
                         "unknown text_format '%s': use " TEXT_FORMAT_NAMES, shown);
    }
    if (ssml)
        q->text_format = TEXT_FORMAT_SSML;
    return 0;
}

/* A data URL is taken too: what is before its comma is its type. */
static int take_recording(SpeechRequest *q, const json_t *o, const SpeechLimits *limits, SpeechFault *f)
{
    const json_t *v = json_object_get(o, "reference");
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return fault_set(f, 400, "reference", "invalid_type",
                         "reference must be a string: a sound file in base64");
    const char *text = json_string_value(v);
    size_t n = json_string_length(v);
    if (n >= 5 && strncmp(text, "data:", 5) == 0) {
        const char *comma = memchr(text, ',', n);
        size_t skip = comma ? (size_t)(comma - text) + 1 : 0;
        text += skip;
        n -= skip;
    }
    if (n / 4 * 3 > limits->upload + 3)
        return fault_set(f, 413, "reference", "upload_too_large",
                         "reference has %zu bytes; the maximum is %zu", n / 4 * 3, limits->upload);
    if (base64_decode(&q->recording, text, n))
        return fault_set(f, 400, "reference", "invalid_value", "reference is not base64");
    if (q->recording.failed)
        return no_memory(f);
    if (q->recording.size == 0)
        return fault_set(f, 400, "reference", "invalid_value", "reference is empty: it must be a sound file");
    q->has_recording = 1;
    return 0;
}

static int take_members(SpeechRequest *q, const json_t *o, const SpeechLimits *limits, SpeechFault *f)
{
    int rc = take_text(q, &q->model, o, "model", f);
    if (!rc)
        rc = take_voice(q, o, f);
    if (!rc)
        rc = take_text(q, &q->language, o, "language", f);
    if (!rc)
        rc = take_flag(&q->force_language, o, "force_language", f);
    if (!rc)
        rc = take_text_format(q, o, f);
    if (!rc)
        rc = take_format(q, o, f);
    if (!rc)
        rc = take_rate(q, o, f);
    if (!rc)
        rc = take_number(&q->speed, o, "speed", 0.25, 4, f);
    if (!rc)
        rc = take_number(&q->pitch, o, "pitch", -24, 24, f);
    if (!rc)
        rc = take_flag(&q->details, o, "details", f);
    if (!rc)
        rc = take_recording(q, o, limits, f);
    return rc;
}

/* --- the whole --- */

/* A value takes a hundred times the memory of the two bytes that make it: more than any request has are not
 * even parsed. */
static int has_too_many_values(const char *p, size_t n)
{
    int quoted = 0, count = 0;
    for (size_t i = 0; i < n && count <= MOST_VALUES; i++) {
        if (quoted && p[i] == '\\')
            i++;
        else if (p[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            count += p[i] == ',' || p[i] == '[' || p[i] == '{';
    }
    return count > MOST_VALUES;
}

int speech_request_parse(SpeechRequest *q, const char *body, size_t size, const SpeechLimits *limits,
                         SpeechFault *fault)
{
    json_error_t e;
    *q = (SpeechRequest){.speed = 1};
    *fault = (SpeechFault){0};
    if (has_too_many_values(body, size))
        return fault_set(fault, 400, NULL, "invalid_json", "the body has more than %d values", MOST_VALUES);
    json_t *o = json_loadb(body, size, 0, &e);
    if (!o) {
        char shown[200];
        utf8_show(shown, sizeof shown, e.text);
        return fault_set(fault, 400, NULL, "invalid_json",
                         "the body is not valid JSON: line %d, column %d: %s", e.line, e.column, shown);
    }
    int rc = json_is_object(o)
                 ? take_input(q, o, limits, fault)
                 : fault_set(fault, 400, NULL, "invalid_json", "the body must be a JSON object");
    if (!rc)
        rc = take_members(q, o, limits, fault);
    json_decref(o);
    return rc;
}

/* Numbers and flags are text in a query. */
static json_t *query_value(const char *name, const char *text)
{
    if (strcmp(name, "speed") == 0 || strcmp(name, "pitch") == 0) {
        char *end;
        errno = 0;
        double x = strtod(text, &end);
        return !errno && *text && !*end && isfinite(x) ? json_real(x) : json_string("");
    }
    if (strcmp(name, "sample_rate") == 0) {
        char *end;
        errno = 0;
        long rate = strtol(text, &end, 10);
        return !errno && *text && !*end ? json_integer(rate) : json_string("");
    }
    const int is_flag =
        strcmp(name, "details") == 0 || strcmp(name, "force_language") == 0 || strcmp(name, "ssml") == 0;
    if (is_flag && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0))
        return json_true();
    if (is_flag && (strcmp(text, "false") == 0 || strcmp(text, "0") == 0))
        return json_false();
    return json_string(text);
}

/* What a query string has, as members of an object. */
static int gather_query(json_t *o, SpeechGet get, void *arg, SpeechFault *fault)
{
    static const char *const names[] = {
        "input", "model", "voice",   "language",    "force_language", "response_format", "stream_format",
        "speed", "pitch", "details", "text_format", "ssml",           "sample_rate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = get(arg, names[i]);
        if (!text)
            continue;
        if (utf8_valid(text, strlen(text)) != strlen(text))
            return fault_set(fault, 400, names[i], "invalid_value", "%s is not UTF-8", names[i]);
        if (json_object_set_new(o, names[i], query_value(names[i], text)))
            return no_memory(fault);
    }
    return 0;
}

int speech_request_query(SpeechRequest *q, SpeechGet get, void *arg, const SpeechLimits *limits,
                         SpeechFault *fault)
{
    *q = (SpeechRequest){.speed = 1};
    *fault = (SpeechFault){0};
    json_t *o = json_object();
    int rc = o ? gather_query(o, get, arg, fault) : no_memory(fault);
    if (!rc)
        rc = take_input(q, o, limits, fault);
    if (!rc)
        rc = take_members(q, o, limits, fault);
    json_decref(o);
    return rc;
}

size_t speech_request_valid(const char *text, size_t size)
{
    const size_t valid = utf8_valid(text, size);
    const char *nul = memchr(text, 0, valid);
    return nul ? (size_t)(nul - text) : valid;
}

int speech_request_text(SpeechRequest *q, const char *text, size_t size, SpeechGet get, void *arg,
                        const SpeechLimits *limits, SpeechFault *fault)
{
    *q = (SpeechRequest){.speed = 1};
    *fault = (SpeechFault){0};
    json_t *o = json_object();
    int rc = o ? gather_query(o, get, arg, fault) : no_memory(fault);
    if (!rc && json_object_get(o, "input"))
        rc = fault_set(fault, 400, "input", "invalid_value",
                       "input is the body of this request: leave it out of the address");
    if (!rc && text && speech_request_valid(text, size) != size)
        rc = fault_set(fault, 400, "input", "invalid_value", SPEECH_NOT_TEXT);
    if (!rc && text && json_object_set_new(o, "input", json_stringn(text, size)))
        rc = no_memory(fault);
    if (!rc && text)
        rc = take_input(q, o, limits, fault);
    if (!rc)
        rc = take_members(q, o, limits, fault);
    json_decref(o);
    return rc;
}

void speech_request_free(SpeechRequest *q)
{
    block_free(&q->memory);
    buf_free(&q->recording);
    *q = (SpeechRequest){0};
}
