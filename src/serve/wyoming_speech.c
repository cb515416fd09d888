/* wyoming_speech.c - what a connection says: which voice, its text, its sound as events. */
#include <stdlib.h>
#include <string.h>

#include "audio/wav.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/wyoming_private.h"
#include "voice/voice.h"

enum { CHUNK = 8192 }; /* samples of an audio-chunk at most */

/* Between studio_look and studio_looked. */
static const Checkpoint *checkpoint_of(const Studio *s, int voice)
{
    return voice_checkpoint(studio_voice(s, voice));
}

/* --- the voices --- */

/* Home Assistant wants each of these, and an attribution. */
static json_t *artifact(const char *name, const char *description, const char *version)
{
    return json_pack("{s:o*, s:{s:s, s:s}, s:b, s:o*, s:o*}", "name", json_from_text(name), "attribution",
                     "name", "myxtts", "url", "", "installed", 1, "description", json_from_text(description),
                     "version", json_from_text(version));
}

/* A voice with one speaker who has no name has no list of speakers. */
static json_t *voice_info(const Checkpoint *f, const char *name, const char *version)
{
    json_t *o = artifact(name, name, version), *speakers = json_array();
    for (int i = 0; i < f->speaker_count; i++)
        json_array_append_new(speakers, json_pack("{s:o*}", "name", json_from_text(f->speakers[i])));
    json_t *languages = json_array();
    for (int i = 0; i < f->languages.count; i++)
        json_array_append_new(languages, json_from_text(f->languages.codes[i]));
    json_object_set_new(o, "languages", languages);
    if (f->speaker_count > 1 || (f->speaker_count == 1 && *f->speakers[0]))
        json_object_set(o, "speakers", speakers);
    json_decref(speakers);
    return o;
}

json_t *wyoming_info(Studio *s, const WyomingOptions *o)
{
    json_t *program = artifact("myxtts", "Voices trained with myxtts", o->version), *voices = json_array();
    studio_look(s);
    for (int i = 0; i < studio_voice_count(s); i++)
        json_array_append_new(voices, voice_info(checkpoint_of(s, i), o->names[i], o->version));
    studio_looked(s);
    json_object_set_new(program, "voices", voices);
    json_object_set_new(program, "supports_synthesize_streaming", json_true());
    return json_pack("{s:[o], s:[], s:[], s:[], s:[], s:[], s:[]}", "tts", program, "asr", "handle", "intent",
                     "wake", "mic", "snd");
}

/* The language of a voice that is meant: "en_US" is "en-us", and a voice that speaks "en" speaks it too.
 * NULL: it has none. */
static const char *language_of(const Checkpoint *f, const char *language)
{
    char code[LANGUAGE_MAX];
    if (language_normalise(code, language, strlen(language)))
        return NULL;
    int near = language_list_near(&f->languages, code);
    return near < 0 ? NULL : f->languages.codes[near];
}

/* As checkpoint_of. */
static int find_voice(const WyomingSpeech *s, const char *name, const char *language, Err *err)
{
    const int count = studio_voice_count(s->studio);
    char shown[80];
    Buf there = {0};
    for (int i = 0; i < count; i++) {
        if (name ? strcmp(s->o->names[i], name) == 0
                 : !language || language_of(checkpoint_of(s->studio, i), language))
            return i;
    }
    for (int i = 0; i < count; i++) {
        char languages[200];
        language_list_show(&checkpoint_of(s->studio, i)->languages, languages, sizeof languages);
        buf_printf(&there, "%s%s", i ? ", " : "", name ? s->o->names[i] : languages);
    }
    utf8_show(shown, sizeof shown, name ? name : language);
    err_set(err, ERR_MISSING, name ? "there is no voice '%s'" : "no voice speaks '%s'", shown);
    err_hint(err, "there is %.300s", there.data ? there.data : "none");
    buf_free(&there);
    return ERR_MISSING;
}

/* data.voice: {name, language, speaker}, all of which may be missing. */
static int choose_voice(WyomingSpeech *s, TalkOrder *order, const WyomingEvent *e, Err *err)
{
    const json_t *voice = json_object_get(e->data, "voice");
    if (voice && !json_is_null(voice) && !json_is_object(voice))
        return err_set(err, ERR_DATA, "voice is not a JSON object");
    const char *name = json_string_value(json_object_get(voice, "name"));
    const char *language = json_string_value(json_object_get(voice, "language"));
    const char *speaker = json_string_value(json_object_get(voice, "speaker"));
    const char *format = wyoming_event_text(e, "text_format");
    if (format && strcmp(format, "text") != 0 && text_format_find(&order->format, format))
        return err_set(err, ERR_DATA, "text_format is '%.20s'; it must be text, " TEXT_FORMAT_NAMES, format);
    studio_look(s->studio);
    int rc = find_voice(s, name, language, err);
    order->voice = rc < 0 ? 0 : rc;
    /* The pipelines of Home Assistant are in "en_US" when the voice is "en-gb". What it does not speak at all
     * is refused when it begins to. */
    const Checkpoint *f = checkpoint_of(s->studio, order->voice);
    const char *own = language ? language_of(f, language) : "";
    utf8_show(s->language, sizeof s->language, own ? own : language);
    studio_looked(s->studio);
    if (rc < 0)
        return rc;
    free(s->speaker);
    s->speaker = speaker ? strdup(speaker) : NULL;
    order->speaker = s->speaker;
    order->wish.language = s->language;
    return speaker && !s->speaker ? err_set(err, ERR_NOMEM, "no memory for a speech") : 0;
}

/* --- the text --- */

int wyoming_speech_add(WyomingSpeech *s, const WyomingEvent *e, Err *err)
{
    const char *text = wyoming_event_text(e, "text");
    if (!text)
        return err_set(err, ERR_DATA, "the event %.40s has no text", e->type);
    return typed_add(&s->typed, text, strlen(text), err);
}

void wyoming_speech_complete(WyomingSpeech *s) { typed_end(&s->typed); }

int wyoming_speech_begin(WyomingSpeech *s, const WyomingEvent *e, int streams, Err *err)
{
    TalkOrder order = {.format = TEXT_FORMAT_AUTO, .ready = s->ready, .arg = s->arg};
    s->begun = 0;
    s->count = 0;
    int rc = choose_voice(s, &order, e, err);
    s->typed = (Typed){.studio = s->studio, .order = order, .max_text = s->o->max_text, .streams = streams};
    if (!rc && !streams)
        rc = wyoming_speech_add(s, e, err);
    if (!streams)
        typed_end(&s->typed);
    s->active = !rc;
    return rc;
}

/* --- the sound --- */

static json_t *sound_data(const WyomingSpeech *s)
{
    return json_pack("{s:i, s:i, s:i, s:I}", "rate", s->typed.rate, "width", 2, "channels", 1, "timestamp",
                     (json_int_t)(s->count * 1000 / s->typed.rate));
}

static int send_samples(WyomingSpeech *s, Buf *out, Err *err)
{
    const int64_t n = (int64_t)(s->samples.size / 2);
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t some = n - at < CHUNK ? n - at : CHUNK;
        int rc = wyoming_event_write(out, "audio-chunk", sound_data(s), s->samples.data + 2 * at,
                                     (size_t)(2 * some), err);
        if (rc)
            return rc;
        s->count += some;
    }
    return 0;
}

static int send_piece(WyomingSpeech *s, Buf *out, const TypedPiece *piece, Err *err)
{
    int rc = 0;
    if (!s->begun)
        rc = wyoming_event_write(out, "audio-start", sound_data(s), NULL, 0, err);
    s->begun = 1;
    buf_clear(&s->samples);
    buf_zero(&s->samples, 2 * (size_t)piece->silence);
    if (!rc)
        rc = wav_samples(&s->samples, piece->sound.samples, piece->sound.count, err);
    return rc ? rc : send_samples(s, out, err);
}

static int send_end(WyomingSpeech *s, Buf *out, Err *err)
{
    const json_int_t at = (json_int_t)(s->count * 1000 / s->typed.rate);
    int rc = wyoming_event_write(out, "audio-stop", json_pack("{s:I}", "timestamp", at), NULL, 0, err);
    if (!rc && s->typed.streams)
        rc = wyoming_event_write(out, "synthesize-stopped", NULL, NULL, 0, err);
    wyoming_speech_end(s);
    return rc;
}

int wyoming_speech_more(WyomingSpeech *s, Buf *out, Err *err)
{
    while (s->active && out->size < WYOMING_OUT) {
        TypedPiece piece;
        int rc = typed_next(&s->typed, &piece, err);
        if (rc == TALK_LATER || rc == TYPED_MORE)
            return 0;
        if (rc == TALK_PIECE)
            rc = send_piece(s, out, &piece, err);
        else if (rc == TALK_END)
            rc = send_end(s, out, err);
        if (rc)
            return rc;
    }
    return 0;
}

void wyoming_speech_end(WyomingSpeech *s)
{
    typed_close(&s->typed);
    s->active = 0;
}

void wyoming_speech_close(WyomingSpeech *s)
{
    wyoming_speech_end(s);
    free(s->speaker);
    s->speaker = NULL;
    buf_free(&s->samples);
}
