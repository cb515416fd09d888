/* voice_language.c - see voice_language.h. */
#include "voice/voice_language.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* A setting that was changed from outside is a wish too. */
static const char *wished_language(const Checkpoint *f, const char *language)
{
    if (language && *language)
        return language;
    return strcmp(f->cfg.language, f->language) != 0 ? f->cfg.language : NULL;
}

/* A word that is not a language code is kept: it is in no list, and the message shows it. */
static void normalise(char out[LANGUAGE_MAX], const char *language)
{
    if (language_normalise(out, language, strlen(language)))
        utf8_show(out, LANGUAGE_MAX, language);
}

/* An error, or a warning where it is not known what the voice has learned. */
static int refuse(const Checkpoint *f, const char *what, Log *log, Err *err)
{
    char languages[200];
    language_list_show(&f->languages, languages, sizeof languages);
    if (!f->knows_languages) {
        log_warn(log,
                 "%s does not say what it was trained on (its settings are for '%s'); %s may sound wrong",
                 f->path, languages, what);
        return 0;
    }
    err_set(err, ERR_LANGUAGE, "the voice was never trained on %s: it speaks %s", what, languages);
    err_hint(err, "force_language speaks it anyway");
    return ERR_LANGUAGE;
}

static int check_script(const Checkpoint *f, const char *text, size_t n, Log *log, Err *err)
{
    char name[64], what[100];
    ScriptSet known = f->scripts;
    ScriptCount count = {0};
    for (int i = 0; i < f->languages.count; i++)
        scripts_of_language(&known, f->languages.codes[i]);
    script_count(&count, text, n);
    int script = known.count ? script_foreign(&count, &known) : -1;
    if (script < 0)
        return 0;
    script_long_name(name, script);
    snprintf(what, sizeof what, "texts in %s script", name);
    return refuse(f, what, log, err);
}

int voice_language_check(const Checkpoint *f, const LanguageWish *wish, const char *text, size_t n, Log *log,
                         Err *err)
{
    const char *wished = wished_language(f, wish->language);
    int rc = 0;
    if (wish->force)
        return 0;
    if (wished) {
        char code[LANGUAGE_MAX], what[40];
        normalise(code, wished);
        snprintf(what, sizeof what, "the language '%s'", code);
        if (language_list_near(&f->languages, code) < 0)
            rc = refuse(f, what, log, err);
    }
    return rc || !text ? rc : check_script(f, text, n, log, err);
}

int voice_language_of_text(const Checkpoint *f, const LanguageWish *wish, const char *text, size_t n,
                           Log *log, Err *err)
{
    char code[LANGUAGE_MAX], what[60];
    if (wish->force || wish->goes_on || wished_language(f, wish->language) || !language_sure(code, text, n) ||
        language_list_near(&f->languages, code) >= 0)
        return 0;
    snprintf(what, sizeof what, "the language '%s', which this text is in", code);
    return refuse(f, what, log, err);
}

/* "en" is whatever English the voice has; "en-gb" stays what it is. Lines that named their languages may have
 * left the one of the settings unused. */
void voice_language_column(char out[LANGUAGE_MAX], const Checkpoint *f, const char *wished)
{
    const char *language = wished_language(f, wished);
    out[0] = 0;
    if (language) {
        normalise(out, language);
        int near = language_list_near(&f->languages, out);
        if (near >= 0 && !strchr(out, '-'))
            snprintf(out, LANGUAGE_MAX, "%s", f->languages.codes[near]);
    } else if (f->cfg.language_detection_method != LANGUAGE_AUTO &&
               language_list_near(&f->languages, f->cfg.language) < 0) {
        snprintf(out, LANGUAGE_MAX, "%s", f->languages.codes[0]);
    }
}

int voice_language_number(const Checkpoint *f, const char *code)
{
    int near = language_list_near(&f->languages, code);
    if (near < 0)
        near = language_list_near(&f->languages, f->language);
    return near < 0 ? 0 : near;
}
