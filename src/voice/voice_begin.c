/* voice_begin.c - see voice_begin.h. */
#include "voice/voice_begin.h"

#include <string.h>

#include "base/utf8.h"
#include "text/language.h"
#include "voice/voice_network.h"

enum { ENOUGH = 4000 }; /* bytes to know a language by */

/* Languages by the names that the voice has for them; speakers that it does not have are left out. */
static int check_section(Markup *m, MarkupSection *s, const Checkpoint *file, const LanguageWish *wish,
                         Log *log, Err *err)
{
    const LanguageWish own = {.language = markup_string(m, s->language), .force = wish->force};
    const char *speaker = markup_string(m, s->speaker);
    Err missing = {0};
    if (speaker && voice_find_speaker(file, speaker, &missing) < 0) {
        log_warn(log, "%s; the words are spoken anyway%s%s", missing.msg, *missing.hint ? "; " : "",
                 missing.hint);
        s->speaker = 0;
    }
    if (!own.language)
        return 0;
    int rc = voice_language_check(file, &own, NULL, 0, log, err);
    if (rc)
        return rc;
    char column[LANGUAGE_MAX];
    voice_language_column(column, file, own.language);
    s->language = markup_keep(m, column, strlen(column));
    return s->language ? 0 : err_set(err, ERR_NOMEM, "no memory for a text");
}

/* 1: the markup says what the text, or a part of it, is in. */
static int names_languages(const Markup *m)
{
    const MarkupSection *all = (const MarkupSection *)(const void *)m->sections.data;
    for (size_t i = 0; i < m->sections.size / sizeof *all; i++)
        if (all[i].language)
            return 1;
    return 0;
}

int voice_begin(VoiceText *t, const Checkpoint *file, TextFormat format, const LanguageWish *wish, Log *log,
                Err *err)
{
    char column[LANGUAGE_MAX];
    voice_language_column(column, file, wish->language);
    if (!*column && utf8_valid(t->p, t->n) == t->n)
        language_choose(column, &file->cfg, (Str){"", 0}, (Str){"", 0}, t->p, utf8_cut(t->p, t->n, ENOUGH));
    const TextFormatUse use = {.phonemes = file->cfg.use_phonemes,
                               .language = *column ? column : file->cfg.language};
    int rc = voice_text_mark_up(t, format, &use, log, err);
    MarkupSection *all = (MarkupSection *)(void *)t->own.sections.data;
    for (size_t i = 0; !rc && i < t->own.sections.size / sizeof *all; i++)
        rc = check_section(&t->own, &all[i], file, wish, log, err);
    if (!rc)
        rc = voice_language_check(file, wish, t->p, t->n, log, err);
    if (rc || t->language || names_languages(&t->own))
        return rc;
    return voice_language_of_text(file, wish, t->p, utf8_cut(t->p, t->n, ENOUGH), log, err);
}
