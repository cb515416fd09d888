/* piper_voice.c - see piper_voice.h. */
#include "voice/share/piper_voice.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uloc.h>
#include <unicode/ustring.h>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "config/languages.h"
#include "text/front_end.h"
#include "text/language.h"
#include "text/phonemes/tokens.h"
#include "voice/share/piper_symbols.h"
#include "voice/symbols_seen.h"

/* The version whose files these are like. */
#define PIPER_VERSION "1.0.0"
enum { MEDIUM_RATE = 22050 }; /* what Piper calls medium */

/* --- names --- */

/* The file's name without folder and ending. */
static void take_name(PiperVoice *p, const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *dot = strrchr(file, '.');
    utf8_show(p->name, sizeof p->name, file);
    const size_t n = dot ? (size_t)(dot - file) : strlen(file);
    if (n < sizeof p->name)
        p->name[n] = 0;
}

static int is_quality(const char *text)
{
    static const char *const all[] = {"x_low", "low", "medium", "high"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(text, all[i]) == 0)
            return 1;
    return 0;
}

/* "en_US-anna-medium": two parts of it. */
static int read_name(PiperVoice *p)
{
    const char *dash = strchr(p->name, '-'), *last = strrchr(p->name, '-');
    const size_t n = strcspn(p->name, "-");
    int fits = dash && last > dash + 1 && n < sizeof p->code && is_quality(last + 1);
    const size_t language = strcspn(p->name, "_");
    fits = fits && language >= 2 && language <= 3 && n == language + 3;
    for (size_t i = 0; i < n && fits; i++)
        fits = i == language ||
               (i < language ? islower((unsigned char)p->name[i]) : isupper((unsigned char)p->name[i]));
    if (!fits)
        return 0;
    snprintf(p->code, sizeof p->code, "%.*s", (int)n, p->name);
    snprintf(p->quality, sizeof p->quality, "%s", last + 1);
    /* The rule of NVDA's add-on for what is between them. */
    p->is_usual = strspn(dash + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") ==
                  (size_t)(last - dash) - 1;
    return 1;
}

int piper_voice_named(const char *path)
{
    PiperVoice p = {0};
    take_name(&p, path);
    return read_name(&p);
}

/* By the language alone, where the name does not say it: the region in which most of its speakers live. */
static void find_code(PiperVoice *p)
{
    char likely[ULOC_FULLNAME_CAPACITY], code[ULOC_LANG_CAPACITY], country[ULOC_COUNTRY_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    uloc_addLikelySubtags(p->voice->language, likely, sizeof likely, &status);
    uloc_getLanguage(likely, code, sizeof code, &status);
    uloc_getCountry(likely, country, sizeof country, &status);
    if (U_FAILURE(status) || !*country)
        snprintf(p->code, sizeof p->code, "%s", p->voice->language);
    else
        snprintf(p->code, sizeof p->code, "%s_%s", code, country);
}

/* What ICU calls a language or a country; "" where it does not know. */
typedef int32_t NameOf(const char *locale, const char *in, UChar *out, int32_t room, UErrorCode *status);
static void show_name(char out[PIPER_TEXT_SIZE], NameOf *name_of, const char *locale, const char *in)
{
    UChar name[PIPER_TEXT_SIZE];
    UErrorCode status = U_ZERO_ERROR;
    const int32_t n = name_of(locale, in, name, PIPER_TEXT_SIZE, &status);
    out[0] = 0;
    if (U_SUCCESS(status))
        u_strToUTF8(out, PIPER_TEXT_SIZE, NULL, name, n, &status);
    if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING)
        out[0] = 0;
}

/* The voice of espeak-ng that such programs are to speak with. */
static const char *espeak_voice(const char *code)
{
    char primary[LANGUAGE_MAX];
    language_primary(primary, code);
    const Language *l = language_find(primary);
    const char *voice = language_voice(code);
    const int is_usual = l && strcmp(voice, l->voice ? l->voice : l->code) == 0;
    return is_usual && l->piper_voice ? l->piper_voice : voice;
}

/* --- what can be spoken to --- */

static int refuse(const Checkpoint *v, const char *what, Err *err)
{
    err_set(err, ERR_USAGE, "%s %s, but Piper's programs send the phonemes of espeak-ng", v->path, what);
    return err_hint(err, "--format onnx makes a file for any program that supplies the symbols itself");
}

static int check(const PiperVoice *p, Err *err)
{
    const Checkpoint *v = p->voice;
    if (!v->cfg.use_phonemes)
        return refuse(v, "reads letters", err);
    FrontEnds fronts = {0};
    const char *lexicon = v->cfg.lexicon_text ? v->cfg.lexicon_text : "";
    int rc = front_ends_open(&fronts, FRONT_ESPEAK, lexicon, strlen(lexicon), v->path, 0, err);
    if (!rc && front_ends_find(&fronts, v->language)->kind != FRONT_ESPEAK)
        rc = refuse(v, "reads its language with its own list of words", err);
    front_ends_close(&fronts);
    char own[LANGUAGE_MAX], named[LANGUAGE_MAX];
    language_primary(own, v->language);
    language_primary(named, p->code);
    if (!rc && strcmp(own, named) != 0) {
        err_set(err, ERR_USAGE, "the file is named %s, but its voice speaks %s", p->name, own);
        rc = err_hint(err, "name it after its language, or choose another of the voice's with --language");
    }
    return rc;
}

/* For sherpa-onnx, which reads no JSON. */
static void fill_entries(PiperVoice *p)
{
    snprintf(p->numbers[0], sizeof p->numbers[0], "%d", p->speaker_count > 1 ? p->speaker_count : 1);
    snprintf(p->numbers[1], sizeof p->numbers[1], "%d", p->voice->cfg.sample_rate);
    const MetaEntry entries[PIPER_ENTRIES] = {{"model_type", "vits"},        {"comment", "piper"},
                                              {"language", p->language},     {"voice", p->espeak},
                                              {"has_espeak", "1"},           {"n_speakers", p->numbers[0]},
                                              {"sample_rate", p->numbers[1]}};
    memcpy(p->entries, entries, sizeof entries);
}

int piper_voice_open(PiperVoice *p, const char *path, const Checkpoint *voice, const Credits *credits,
                     const int *speakers, int speaker_count, Err *err)
{
    *p = (PiperVoice){.voice = voice,
                      .credits = credits,
                      .speakers = speakers,
                      .speaker_count = speaker_count,
                      .espeak = espeak_voice(voice->language)};
    take_name(p, path);
    if (!read_name(p)) {
        find_code(p);
        snprintf(p->quality, sizeof p->quality, "%s",
                 voice->cfg.sample_rate < MEDIUM_RATE ? "low" : "medium");
    }
    show_name(p->language, uloc_getDisplayLanguage, p->code, "en");
    fill_entries(p);
    return check(p, err);
}

/* --- NAME.onnx.json --- */

static json_t *language_json(const PiperVoice *p)
{
    char family[LANGUAGE_MAX], native[PIPER_TEXT_SIZE], country[PIPER_TEXT_SIZE];
    language_primary(family, p->code);
    show_name(native, uloc_getDisplayLanguage, p->code, p->code);
    show_name(country, uloc_getDisplayCountry, p->code, "en");
    const char *region = strchr(p->code, '_');
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o}", "code", p->code, "family", family, "region",
                     region ? region + 1 : "", "name_native", json_from_text(native), "name_english",
                     p->language, "country_english", json_from_text(country));
}

static json_t *speakers_json(const PiperVoice *p)
{
    json_t *map = json_object();
    for (int i = 0; i < p->speaker_count && p->speaker_count > 1; i++)
        json_object_set_new(map, p->voice->speakers[p->speakers[i]], json_integer(i));
    return map;
}

static json_t *symbols_json(const PiperSymbol *symbols, int count)
{
    json_t *map = json_object();
    for (int i = 0; i < count; i++) {
        char key[5];
        key[utf8_put(key, symbols[i].code_point)] = 0;
        json_object_set_new(map, key, json_pack("[i]", symbols[i].id));
    }
    return map;
}

/* The keys of Piper's own voices, in their order, and in the end what may be done with this one. There is no
 * `dataset`: Home Assistant would look for a voice of that name. NVDA's add-on needs phoneme_map. */
static json_t *voice_json(const PiperVoice *p, const PiperSymbol *symbols, int count)
{
    const Config *cfg = &p->voice->cfg;
    json_t *o = json_pack(
        "{s:{s:i, s:s}, s:{s:s}, s:o, s:{s:f, s:f, s:f}, s:s, s:{}, s:o, s:i, s:i, s:o, s:i, s:s, s:o, s:o}",
        "audio", "sample_rate", cfg->sample_rate, "quality", p->quality, "espeak", "voice", p->espeak,
        "language", language_json(p), "inference", "noise_scale", 0.0, "length_scale", 1.0, "noise_w", 0.0,
        "phoneme_type", "espeak", "phoneme_map", "phoneme_id_map", symbols_json(symbols, count),
        "num_symbols", tokens_count(), "num_speakers", p->speaker_count > 1 ? p->speaker_count : 1,
        "speaker_id_map", speakers_json(p), "hop_length", cfg->hop_length, "piper_version", PIPER_VERSION,
        "licence", json_from_text(p->credits->licence), "source", json_from_text(p->credits->source));
    if (o && p->credits->note)
        json_object_set_new(o, "note", json_from_text(p->credits->note));
    return o;
}

static int write_json(const PiperVoice *p, const char *path, const PiperSymbol *symbols, int count, Err *err)
{
    json_t *o = voice_json(p, symbols, count);
    char *text = o ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
    Buf name = {0};
    buf_str(&name, path);
    buf_str(&name, ".json");
    buf_add(&name, "", 1);
    int rc = text && !name.failed ? file_replace(name.data, text, strlen(text), err)
                                  : err_set(err, ERR_NOMEM, "no memory for the settings of %s", path);
    buf_free(&name);
    free(text);
    json_decref(o);
    return rc;
}

/* --- tokens.txt --- */

/* A symbol, a blank, its number; the symbol that is a blank looks like one missing. */
static int write_tokens(const char *path, const PiperSymbol *symbols, int count, Err *err)
{
    const char *slash = strrchr(path, '/');
    Buf name = {0}, text = {0};
    buf_add(&name, path, slash ? (size_t)(slash - path) + 1 : 0);
    buf_str(&name, "tokens.txt");
    buf_add(&name, "", 1);
    for (int i = 0; i < count; i++) {
        char line[24];
        size_t n = utf8_put(line, symbols[i].code_point);
        n += (size_t)snprintf(line + n, sizeof line - n, " %d\n", symbols[i].id);
        buf_add(&text, line, n);
    }
    int rc = name.failed || text.failed ? err_set(err, ERR_NOMEM, "no memory for the symbols of %s", path)
                                        : file_replace(name.data, text.data, text.size, err);
    buf_free(&name);
    buf_free(&text);
    return rc;
}

int piper_voice_write(const PiperVoice *p, const char *path, Err *err)
{
    const size_t all = (size_t)tokens_count();
    uint8_t *seen = mem_calloc(all, sizeof *seen);
    PiperSymbol *symbols = mem_calloc(all, sizeof *symbols);
    int rc = seen && symbols ? 0 : err_set(err, ERR_NOMEM, "no memory for the symbols of %s", path);
    if (!rc) {
        const int count = piper_symbols(symbols, symbols_seen(seen, p->voice) ? seen : NULL);
        rc = write_json(p, path, symbols, count, err);
        if (!rc)
            rc = write_tokens(path, symbols, count, err);
    }
    free(seen);
    free(symbols);
    return rc;
}
