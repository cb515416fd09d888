/* text_settings.c - what a cache of texts depends on, and how long texts become; see text.h. */
#include <string.h>
#include <unicode/uversion.h>

#include "base/hash.h"
#include "config/bindings.h"
#include "config/languages.h"
#include "text/clean.h"
#include "text/language.h"
#include "text/phonemes/phonemes.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"

#define TEXT_VERSION 2 /* of the path as a whole */

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
    const char *lexicon = cfg->lexicon_text; /* its lines, not the file's name */
    if (lexicon && *lexicon && (cfg->use_phonemes || strstr(lexicon, "%language")))
        hasher_str(&h, lexicon);
    int failed =
        cfg->use_phonemes && phonemes_hash_version(&h, l && l->dictionary ? l->dictionary : dictionary);
    Hash128 hash = hasher_close(&h);
    return failed ? none : hash;
}
