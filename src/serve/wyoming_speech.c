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
static int choose_voice(WyomingSpeech *s, const WyomingEvent *e, Err *err)
{
    const json_t *voice = json_object_get(e->data, "voice");
    if (voice && !json_is_null(voice) && !json_is_object(voice))
        return err_set(err, ERR_DATA, "voice is not a JSON object");
    const char *name = json_string_value(json_object_get(voice, "name"));
    const char *language = json_string_value(json_object_get(voice, "language"));
    const char *speaker = json_string_value(json_object_get(voice, "speaker"));
    const char *format = wyoming_event_text(e, "text_format");
    s->format = TEXT_FORMAT_AUTO;
    if (format && strcmp(format, "text") != 0 && text_format_find(&s->format, format))
        return err_set(err, ERR_DATA, "text_format is '%.20s'; it must be text, " TEXT_FORMAT_NAMES, format);
    studio_look(s->studio);
    int rc = find_voice(s, name, language, err);
    s->voice = rc < 0 ? 0 : rc;
    /* The pipelines of Home Assistant are in "en_US" when the voice is "en-gb". What it does not speak at all
     * is refused when it begins to. */
    const Checkpoint *f = checkpoint_of(s->studio, s->voice);
    const char *own = language ? language_of(f, language) : "";
    utf8_show(s->language, sizeof s->language, own ? own : language);
    s->rate = f->cfg.sample_rate;
    studio_looked(s->studio);
    if (rc < 0)
        return rc;
    free(s->speaker);
    s->speaker = speaker ? strdup(speaker) : NULL;
    return speaker && !s->speaker ? err_set(err, ERR_NOMEM, "no memory for a speech") : 0;
}

/* --- the text --- */

int wyoming_speech_add(WyomingSpeech *s, const WyomingEvent *e, Err *err)
{
    const char *text = wyoming_event_text(e, "text");
    if (!text)
        return err_set(err, ERR_DATA, "the event %.40s has no text", e->type);
    s->characters += utf8_count(text, strlen(text));
    if (s->characters > s->o->max_text)
        return err_set(err, ERR_DATA, "the text has more than %zu characters", s->o->max_text);
    buf_str(&s->text, text);
    return s->text.failed ? err_set(err, ERR_NOMEM, "no memory for a text") : 0;
}

void wyoming_speech_complete(WyomingSpeech *s) { s->complete = 1; }

int wyoming_speech_begin(WyomingSpeech *s, const WyomingEvent *e, int streams, Err *err)
{
    s->streams = streams;
    s->complete = !streams;
    s->characters = 0;
    s->begun = 0;
    s->heard = 0;
    s->pause = 0;
    s->count = 0;
    s->scanned = 0;
    buf_clear(&s->text);
    int rc = choose_voice(s, e, err);
    if (!rc && !streams)
        rc = wyoming_speech_add(s, e, err);
    s->active = !rc;
    return rc;
}

static void drop(WyomingSpeech *s, size_t n)
{
    memmove(s->text.data, s->text.data + n, s->text.size - n);
    s->text.size -= n;
    s->scanned = s->scanned > n ? s->scanned - n : 0;
}

/* Once they have come: who sends nothing else, one at a time, must not have all of them counted each time. */
static void drop_blanks(WyomingSpeech *s)
{
    size_t n = 0;
    while (n < s->text.size && strchr(" \n\r\t", s->text.data[n]))
        n++;
    if (n)
        drop(s, n);
}

/* Bytes of whole sentences: of the last one it is not known that it ends before more has come. */
static size_t whole_sentences(WyomingSpeech *s)
{
    const size_t mark = 4; /* bytes of the longest voice name, and of the rest */
    size_t from = s->scanned, end = 0;
    if (s->complete)
        return s->text.size;
    /* Markup is read as a whole. */
    if (s->format != TEXT_FORMAT_PLAIN && (s->format != TEXT_FORMAT_AUTO || s->text.data[0] == '<'))
        return 0;
    for (;;) {
        from += voice_text_sentence(s->text.data + from, s->text.size - from);
        if (from >= s->text.size)
            break;
        end = from;
    }
    s->scanned = s->text.size > end + mark ? s->text.size - mark : end;
    return end;
}

/* Starts to speak the text received so far, even while earlier parts of it are playing. */
static int begin_talk(WyomingSpeech *s, Err *err)
{
    if (s->talks == 2 || !s->text.size)
        return 0;
    drop_blanks(s);
    const size_t n = s->text.size ? whole_sentences(s) : 0;
    if (!n)
        return 0;
    const TalkOrder order = {.voice = s->voice,
                             .text = s->text.data,
                             .size = n,
                             .speaker = s->speaker,
                             .wish = {.language = s->language},
                             .format = s->format,
                             .goes_on = s->begun,
                             .ready = s->ready,
                             .arg = s->arg};
    int rc = talk_begin(&s->talk[s->talks], s->studio, &order, err);
    if (rc == ERR_BUSY && s->talks) /* after this one, then */
        return 0;
    if (rc)
        return rc;
    s->talks++;
    /* The voice was replaced since the text before. */
    const int rate = voice_checkpoint(talk_voice(s->talk[s->talks - 1]))->cfg.sample_rate;
    if (rate != s->rate && (s->begun || s->talks > 1))
        return err_set(err, ERR_DATA, "the voice was replaced by one with another sample rate");
    s->rate = rate;
    drop(s, n);
    return 0;
}

/* --- the sound --- */

static json_t *sound_data(const WyomingSpeech *s)
{
    return json_pack("{s:i, s:i, s:i, s:I}", "rate", s->rate, "width", 2, "channels", 1, "timestamp",
                     (json_int_t)(s->count * 1000 / s->rate));
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

/* As within one text, a pause lies between two that were spoken apart. */
static int send_piece(WyomingSpeech *s, Buf *out, const TalkPiece *piece, Err *err)
{
    int rc = 0;
    if (!s->begun)
        rc = wyoming_event_write(out, "audio-start", sound_data(s), NULL, 0, err);
    s->begun = 1;
    buf_clear(&s->samples);
    if (!s->heard)
        buf_zero(&s->samples, 2 * (size_t)(s->pause * s->rate));
    s->heard = 1;
    if (piece->part)
        s->pause = piece->part->pause;
    if (!rc)
        rc = wav_samples(&s->samples, piece->samples, piece->count, err);
    return rc ? rc : send_samples(s, out, err);
}

static void close_talk(WyomingSpeech *s)
{
    talk_close(s->talk[0]);
    s->talk[0] = s->talk[1];
    s->talk[1] = NULL;
    s->talks--;
    s->heard = 0;
}

static int send_end(WyomingSpeech *s, Buf *out, Err *err)
{
    if (!s->begun)
        return err_set(err, ERR_DATA, "the text has nothing to speak");
    const json_int_t at = (json_int_t)(s->count * 1000 / s->rate);
    int rc = wyoming_event_write(out, "audio-stop", json_pack("{s:I}", "timestamp", at), NULL, 0, err);
    if (!rc && s->streams)
        rc = wyoming_event_write(out, "synthesize-stopped", NULL, NULL, 0, err);
    s->active = 0;
    return rc;
}

int wyoming_speech_more(WyomingSpeech *s, Buf *out, Err *err)
{
    while (s->active) {
        TalkPiece piece;
        int rc = begin_talk(s, err);
        if (rc)
            return rc;
        if (!s->talks && s->complete && !s->text.size)
            return send_end(s, out, err);
        if (!s->talks || out->size >= WYOMING_OUT)
            return 0;
        rc = talk_next(s->talk[0], &piece, 0, err);
        if (rc == TALK_LATER)
            return 0;
        /* A line of a stream may have nothing to say: a picture, a row of dashes. */
        const int silent = rc == ERR_DATA && s->streams && !s->heard && talk_is_silent(s->talk[0]);
        if (rc == TALK_PIECE)
            rc = send_piece(s, out, &piece, err);
        else if (rc == TALK_END || silent)
            close_talk(s);
        if (rc < 0 && !silent)
            return rc;
    }
    return 0;
}

void wyoming_speech_end(WyomingSpeech *s)
{
    while (s->talks)
        close_talk(s);
    s->active = 0;
}

void wyoming_speech_close(WyomingSpeech *s)
{
    wyoming_speech_end(s);
    free(s->speaker);
    s->speaker = NULL;
    buf_free(&s->text);
    buf_free(&s->samples);
}
