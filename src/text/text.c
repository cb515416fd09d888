/* text.c - see text.h. */
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uversion.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "config/bindings.h"
#include "config/languages.h"
#include "text/clean.h"
#include "text/language.h"
#include "text/persian.h"
#include "text/phonemes.h"
#include "text/tokens.h"
#include "text/unicode.h"

#define TEXT_VERSION 1 /* of the path as a whole */
#define SHOWN_BYTES 60 /* of a text in a message */

struct TextEngine {
    const Config *cfg;
    Phonemes *phonemes; /* NULL in character mode */
    Cleaner cleaner;
    UnicodeScratch scratch;
    Buf normal, respelled;
};

/* Character mode needs no espeak-ng. */
int text_engine_open(TextEngine **out, const Config *cfg, Err *err)
{
    *out = NULL;
    TextEngine *t = mem_calloc(1, sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "no memory for the text engine");
    t->cfg = cfg;
    int rc = clean_open(&t->cleaner, cfg->text_cleaners, !cfg->use_phonemes, &t->scratch);
    if (rc < 0)
        err_set(err, rc, "no memory for the text cleaner");
    else if (cfg->use_phonemes)
        rc = phonemes_open(&t->phonemes, err);
    if (rc < 0) {
        text_engine_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

void text_engine_close(TextEngine *t)
{
    if (!t)
        return;
    phonemes_close(t->phonemes);
    clean_close(&t->cleaner);
    unicode_scratch_free(&t->scratch);
    buf_free(&t->normal);
    buf_free(&t->respelled);
    free(t);
}

int text_engine_is_worn(const TextEngine *t)
{
    enum { MOST_VOICE_CHANGES = 20000 }; /* 27 MB */
    return t->phonemes && phonemes_voice_changes() >= MOST_VOICE_CHANGES;
}

void text_result_free(TextResult *r)
{
    buf_free(&r->cleaned);
    buf_free(&r->phonemes);
    buf_free(&r->tokens);
    buf_free(&r->unknown);
}

/* The voice that speaks the language: asked for, the code's own, or that of the language
 * without its region. */
static int choose_voice(TextEngine *t, TextResult *r)
{
    Err err = {0};
    const char *forced = t->cfg->phoneme_language;
    if (forced && *forced) {
        char code[LANGUAGE_MAX];
        if (language_normalise(code, forced, strlen(forced)) < 0 || phonemes_has_voice(t->phonemes, forced))
            snprintf(code, sizeof code, "%s", forced);
        const char *voice = phonemes_has_voice(t->phonemes, code) ? code : language_voice(code);
        if (phonemes_set_voice(t->phonemes, voice, &err) == 0)
            return 0;
        snprintf(r->detail, sizeof r->detail, "espeak-ng has no voice '%s' (phoneme_language)", forced);
        return -1;
    }
    char primary[LANGUAGE_MAX];
    const char *voice = language_voice(r->language);
    if (!phonemes_has_voice(t->phonemes, voice)) {
        language_primary(primary, r->language);
        voice = language_voice(primary);
    }
    if (phonemes_set_voice(t->phonemes, voice, &err) == 0)
        return 0;
    snprintf(r->detail, sizeof r->detail, "espeak-ng has no voice '%s' for the language '%s'", voice,
             r->language);
    return -1;
}

/* 1 when the voice is one of those that can read the script. */
static int reads(const char *voice, Script script)
{
    int row = 0;
    for (const Language *l; (l = language_row(row)); row++) {
        if (l->script != script || !l->readers)
            continue;
        for (const char *p = l->readers; *p; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            if (!strncmp(voice, p, n))
                return 1;
            p += n;
        }
    }
    return 0;
}

/* The first character that the voice would only call "Chinese letter" or the like: Han for all but the
 * Chinese voices (no kanji for the Japanese one), kana for all but Japanese, Hangul for all but Korean. 0
 * when it can read everything. */
static uint32_t find_unreadable(const char *voice, const char *text, size_t n)
{
    enum { FIRST_LEAD = 0xE3 }; /* of the UTF-8 of these scripts */
    for (size_t i = 0; i < n;) {
        if ((uint8_t)text[i] < FIRST_LEAD) {
            i++;
            continue;
        }
        uint32_t cp = unicode_next(text, n, &i);
        int han = (cp >= 0x3400 && cp < 0xA000) || (cp >= 0x20000 && cp < 0x32000);
        int kana = cp >= 0x3041 && cp <= 0x30FF && cp != 0x30FB;
        int hangul = cp >= 0xAC00 && cp < 0xD7B0;
        if ((han && !reads(voice, SCRIPT_HAN)) || (kana && !reads(voice, SCRIPT_KANA)) ||
            (hangul && !reads(voice, SCRIPT_HANGUL)))
            return cp;
    }
    return 0;
}

/* What to do about text that the voice cannot read, or NULL. */
static const char *unreadable_hint(const char *voice)
{
    int row = 0;
    for (const Language *l; (l = language_row(row)); row++)
        if (l->unreadable_hint && !strncmp(voice, l->code, strlen(l->code)))
            return l->unreadable_hint;
    return NULL;
}

static RejectReason no_memory(TextResult *r)
{
    snprintf(r->detail, sizeof r->detail, "out of memory");
    return REJECT_PHONEMES_FAILED;
}

/* Persian goes to espeak-ng with the vowels that its spelling leaves out. */
static int speak(TextEngine *t, TextResult *r, const char *voice, size_t *spoken)
{
    if (strcmp(voice, "fa") != 0)
        return phonemes_speak(t->phonemes, &r->phonemes, spoken, r->cleaned.data, r->cleaned.size);
    buf_clear(&t->respelled);
    persian_respell(&t->respelled, r->cleaned.data, r->cleaned.size);
    if (t->respelled.failed)
        return ERR_NOMEM;
    size_t from = r->phonemes.size;
    int rc = phonemes_speak(t->phonemes, &r->phonemes, spoken, t->respelled.data, t->respelled.size);
    persian_mend(&r->phonemes, from);
    return rc;
}

/* Phonemes (or the characters themselves), then tokens between BOS and EOS. */
static RejectReason make_symbols(TextEngine *t, TextResult *r)
{
    size_t spoken = 0;
    if (!t->phonemes) {
        buf_add(&r->phonemes, r->cleaned.data, r->cleaned.size);
        spoken = r->cleaned.size;
    } else {
        if (choose_voice(t, r) < 0)
            return REJECT_LANGUAGE;
        const char *voice = phonemes_voice(t->phonemes);
        uint32_t cp = find_unreadable(voice, r->cleaned.data, r->cleaned.size);
        if (cp) {
            const char *hint = unreadable_hint(voice);
            snprintf(r->detail, sizeof r->detail, "the espeak-ng voice '%s' cannot read U+%04X%s%s", voice,
                     cp, hint ? "; " : "", hint ? hint : "");
            return REJECT_NO_PHONEMES;
        }
        if (speak(t, r, voice, &spoken) < 0)
            return no_memory(r);
    }
    if (spoken == 0) {
        snprintf(r->detail, sizeof r->detail, "only punctuation is left of \"%.*s\"",
                 (int)utf8_cut(r->cleaned.data, r->cleaned.size, SHOWN_BYTES), r->cleaned.data);
        return REJECT_NO_PHONEMES;
    }
    uint16_t bos = TOKEN_BOS, eos = TOKEN_EOS;
    buf_add(&r->tokens, &bos, sizeof bos);
    tokens_encode(&r->tokens, &r->unknown, r->phonemes.data, r->phonemes.size, t->cfg->add_blank);
    buf_add(&r->tokens, &eos, sizeof eos);
    buf_add(&r->phonemes, "", 1);
    if (r->phonemes.failed || r->tokens.failed || r->unknown.failed)
        return no_memory(r);
    r->phonemes.size--; /* NUL-terminated, the NUL not counted */
    size_t count = r->tokens.size / sizeof(uint16_t);
    if (count == 2) {
        snprintf(r->detail, sizeof r->detail, "no symbol of the text is in the symbol table");
        return REJECT_NO_PHONEMES;
    }
    return REJECT_NONE;
}

/* The order is part of the cache key: TEXT_VERSION changes with it. */
RejectReason text_process(TextEngine *t, TextResult *r, Str text, Str language_column, Str id)
{
    r->language[0] = r->detail[0] = 0;
    buf_clear(&r->cleaned);
    buf_clear(&r->phonemes);
    buf_clear(&r->tokens);
    buf_clear(&r->unknown);
    /* The rest of the path relies on valid UTF-8. */
    size_t valid = utf8_valid(text.p, text.n);
    if (valid != text.n) {
        snprintf(r->detail, sizeof r->detail, "byte 0x%02X at position %zu of the text",
                 (unsigned char)text.p[valid], valid);
        return REJECT_UTF8;
    }
    buf_clear(&t->normal);
    if (unicode_normalise(&t->scratch, &t->normal, text.p, text.n) < 0)
        return no_memory(r);
    if (t->normal.size == 0)
        return REJECT_EMPTY_TEXT;
    char primary[LANGUAGE_MAX];
    language_choose(r->language, t->cfg, language_column, id, t->normal.data, t->normal.size);
    language_primary(primary, r->language);
    if (clean_text(&t->cleaner, &r->cleaned, t->normal.data, t->normal.size, primary) < 0)
        return no_memory(r);
    return make_symbols(t, r);
}

/* The 13,100 lines of LJSpeech have 1.06 symbols a character in the mean, 99 % of them at most 1.22. */
int text_likely_tokens(const Config *cfg, int characters)
{
    double symbols = (cfg->use_phonemes ? 1.25 : 1.1) * characters;
    return (int)(symbols * (cfg->add_blank ? 2 : 1)) + 2;
}

/* Anything that could change one token of one line must be in here; the settings among it are marked in the
 * option table. */
Hash128 text_settings_hash(const Config *cfg)
{
    Hasher h = {0};
    Hash128 none = {0, 0};
    if (hasher_open(&h) < 0)
        return none;
    char code[LANGUAGE_MAX] = "", dictionary[LANGUAGE_MAX];
    UVersionInfo icu;
    char icu_text[U_MAX_VERSION_STRING_LENGTH];
    u_getVersion(icu);
    u_versionToString(icu, icu_text);
    /* The dictionary of the language that most lines will be in is hashed byte by byte. */
    const char *spoken =
        cfg->phoneme_language && *cfg->phoneme_language ? cfg->phoneme_language : cfg->language;
    language_normalise(code, spoken, strlen(spoken));
    language_primary(dictionary, language_voice(code));
    const Language *l = language_find(dictionary);
    hasher_u64(&h, TEXT_VERSION);
    hasher_u64(&h, CLEAN_VERSION);
    hasher_str(&h, icu_text);
    Hash128 symbols = tokens_hash();
    hasher_bytes(&h, &symbols, sizeof symbols);
    config_hash_bound(&h, cfg, BOUND_TEXT_CACHE);
    int failed =
        cfg->use_phonemes && phonemes_hash_version(&h, l && l->dictionary ? l->dictionary : dictionary);
    Hash128 hash = hasher_close(&h);
    return failed ? none : hash;
}
