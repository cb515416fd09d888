/* text.c - see text.h. */
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/utf8.h"
#include "text/aloud/persian.h"
#include "text/aloud/speakable.h"
#include "text/clean.h"
#include "text/front_end.h"
#include "text/language.h"
#include "text/markup/controls.h"
#include "text/phonemes/phonemes.h"
#include "text/phonemes/tokens.h"
#include "text/places.h"
#include "text/unicode.h"

#define SHOWN_BYTES 60 /* of a text in a message */

struct TextEngine {
    const Config *cfg;
    TextAim aim;
    Phonemes *phonemes; /* NULL: no language needs espeak-ng */
    Cleaner cleaner;
    FrontEnds fronts;
    const FrontEnd *front; /* of the language that is read or spoken */
    Speakable *speakable;  /* NULL: what is learned from is taken as it is */
    UnicodeScratch scratch;
    Buf words, cleaned, respelled;
};

/* Characters need no espeak-ng, and have no use for IPA. */
int text_engine_open(TextEngine **out, const Config *cfg, TextAim aim, Err *err)
{
    *out = NULL;
    TextEngine *t = mem_calloc(1, sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "no memory for the text engine");
    t->cfg = cfg;
    t->aim = aim;
    int rc = clean_open(&t->cleaner, cfg->text_cleaners, !cfg->use_phonemes, &t->scratch);
    t->speakable = aim == TEXT_TO_SPEAK ? speakable_open() : NULL;
    if (rc < 0 || (aim == TEXT_TO_SPEAK && !t->speakable))
        rc = err_set(err, ERR_NOMEM, "no memory for the text cleaner");
    const char *lexicon = cfg->lexicon_text ? cfg->lexicon_text : "";
    if (!rc)
        rc = front_ends_open(
            &t->fronts, cfg->use_phonemes ? FRONT_ESPEAK : FRONT_CHARACTERS, lexicon, strlen(lexicon),
            cfg->lexicon && *cfg->lexicon ? cfg->lexicon : "the lexicon of the voice", cfg->lexicon_own, err);
    if (!rc && front_ends_need_espeak(&t->fronts))
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
    front_ends_close(&t->fronts);
    speakable_close(t->speakable);
    unicode_scratch_free(&t->scratch);
    buf_free(&t->words);
    buf_free(&t->cleaned);
    buf_free(&t->respelled);
    free(t);
}

const Lexicon *text_engine_lexicon(const TextEngine *t) { return t->fronts.all[0].words; }

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
    buf_free(&r->spans);
    buf_free(&r->controls);
    buf_free(&r->losses);
    text_block_free(&r->block);
}

/* What makes symbols of the language's words, from here on. Characters may be in small letters. */
static void choose_front(TextEngine *t, const char *language)
{
    t->front = front_ends_find(&t->fronts, language);
    t->cleaner.lower = t->front->kind == FRONT_CHARACTERS && t->cleaner.kind != CLEANER_NONE;
}

/* The voice that speaks, or NULL: espeak-ng does not. */
static Phonemes *voice_of(const TextEngine *t) { return t->front->kind == FRONT_ESPEAK ? t->phonemes : NULL; }

static int uses_ipa(const TextEngine *t) { return t->front->kind != FRONT_CHARACTERS; }

/* The voice that speaks the language: asked for, the code's own, or that of the language
 * without its region. */
static int choose_voice(TextEngine *t, TextResult *r, const char *language)
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
    const char *voice = language_voice(language);
    if (!phonemes_has_voice(t->phonemes, voice)) {
        language_primary(primary, language);
        voice = language_voice(primary);
    }
    if (phonemes_set_voice(t->phonemes, voice, &err) == 0)
        return 0;
    snprintf(r->detail, sizeof r->detail, "espeak-ng has no voice '%s' for the language '%s'", voice,
             language);
    return -1;
}

/* The first character that the voice cannot read; 0 when it can read everything. */
static uint32_t find_unreadable(const char *voice, const char *text, size_t n)
{
    enum { FIRST_LEAD = 0xE3 }; /* of the UTF-8 of these scripts */
    for (size_t i = 0; i < n;) {
        if ((uint8_t)text[i] < FIRST_LEAD) {
            i++;
            continue;
        }
        uint32_t cp = unicode_next(text, n, &i);
        if (!speakable_is_read(voice, cp))
            return cp;
    }
    return 0;
}

static RejectReason no_memory(TextResult *r)
{
    snprintf(r->detail, sizeof r->detail, "out of memory");
    return REJECT_PHONEMES_FAILED;
}

/* --- written -> said --- */

/* Between what stays on both sides of something that goes. */
static void add_blank(Buf *out)
{
    if (out->size && out->data[out->size - 1] != ' ')
        buf_str(out, " ");
}

static void add_loss(TextBlock *b, size_t at, size_t size, const char *why)
{
    TextLoss loss = {.source = (uint32_t)at, .source_size = (uint32_t)size};
    snprintf(loss.why, sizeof loss.why, "%s", why);
    buf_add(&b->losses, &loss, sizeof loss);
}

/* "[[IPA]]" at `at`: its bytes, or 0. */
static size_t inline_size(const char *text, size_t n, size_t at)
{
    if (n - at < 5 || text[at] != '[' || text[at + 1] != '[')
        return 0;
    for (size_t i = at + 2; i + 1 < n && text[i] != '['; i++)
        if (text[i] == ']' && text[i + 1] == ']')
            return i > at + 2 ? i + 2 - at : 0;
    return 0;
}

/* Characters that are not symbols are left out, the rest is spoken. */
static void mark_inline(TextEngine *t, TextBlock *b, const char *text, size_t at, size_t size)
{
    char why[80];
    buf_clear(&t->words);
    uint32_t unknown = lexicon_ipa(&t->scratch, &t->words, text + at + 2, size - 4);
    if (unknown) {
        snprintf(why, sizeof why, "U+%04X is not a symbol that voices have", unknown);
        add_loss(b, at, size, why);
    } else if (!t->words.size) {
        add_loss(b, at, size, "there is nothing between the brackets");
    }
    const TextMark m = {.source = (uint32_t)at, .source_size = (uint32_t)size, .origin = SPAN_INLINE};
    if (t->words.size)
        text_mark(b, &b->marked, &m, t->words.data, NULL, 0);
}

/* The sound of "'s" behind a word: of, horses, cat's, dog's. */
static const char *possessive(const char *ipa, size_t n)
{
    static const char *const hissing[] = {"s", "z", "ʃ", "ʒ"}, *const voiceless[] = {"p", "t", "k", "f", "θ"};
    for (size_t i = 0; i < sizeof hissing / sizeof *hissing; i++)
        if (n >= strlen(hissing[i]) && !memcmp(ipa + n - strlen(hissing[i]), hissing[i], strlen(hissing[i])))
            return "ᵻz";
    for (size_t i = 0; i < sizeof voiceless / sizeof *voiceless; i++)
        if (n >= strlen(voiceless[i]) &&
            !memcmp(ipa + n - strlen(voiceless[i]), voiceless[i], strlen(voiceless[i])))
            return "s";
    return "z";
}

/* Entries of the language win over those of all. */
static int find_entry(const TextEngine *t, LexiconMatch *m, const char *text, size_t n, size_t at,
                      int english)
{
    const Lexicon *own = t->front->words, *all = t->fronts.all[0].words;
    return uses_ipa(t) && ((own && lexicon_find(own, m, text, n, at, english)) ||
                           (all && all != own && lexicon_find(all, m, text, n, at, english)));
}

/* An entry of the lexicon at `at`: its bytes, or 0. found: in `said`, where its source is not known. */
static size_t mark_entry(TextEngine *t, TextBlock *b, Buf *out, const char *text, size_t n, size_t at,
                         const char *language, int found)
{
    LexiconMatch match;
    const int english = !strcmp(language, "en");
    if (!find_entry(t, &match, text, n, at, english) ||
        (!found && clean_is_abbreviation(text, n, at, language)))
        return 0;
    size_t size = match.size, behind = at + size;
    buf_clear(&t->words);
    buf_add(&t->words, match.ipa, match.ipa_size);
    /* "'s", or with a curved apostrophe */
    const size_t mark = behind < n && text[behind] == '\''                            ? 1
                        : n - behind > 3 && !memcmp(text + behind, "\xE2\x80\x99", 3) ? 3
                                                                                      : 0;
    if (english && mark && behind + mark < n && (text[behind + mark] | 32) == 's') {
        size += mark + 1;
        buf_str(&t->words, possessive(match.ipa, match.ipa_size));
    }
    size_t first = at;
    const TextMark m = {.source = (uint32_t)at,
                        .source_size = (uint32_t)size,
                        .origin = SPAN_LEXICON,
                        .is_found = (uint32_t)found};
    return !t->words.failed &&
                   text_mark(b, out, &m, t->words.data, NULL, unicode_is_upper(unicode_next(text, n, &first)))
               ? size
               : 0;
}

/* A character that the voice has trouble with: its bytes, or 0 where it stays. */
static size_t mark_speakable(TextEngine *t, TextBlock *b, Buf *out, const char *text, size_t n, size_t at,
                             int found)
{
    size_t size;
    const SayHow how =
        speakable_judge(t->speakable, &t->words, &size, text, n, at, b->language, voice_of(t), found);
    const TextMark m = {.source = (uint32_t)at,
                        .source_size = (uint32_t)size,
                        .origin = SPAN_RULE,
                        .is_found = (uint32_t)found};
    switch (how) {
    case SAY_IT:
        return 0;
    case SAY_TEXT:
        buf_add(out, t->words.data, t->words.size);
        return size;
    case SAY_WORDS:
        add_blank(out);
        if (voice_of(t) && !t->words.failed && text_mark(b, out, &m, NULL, t->words.data, 0))
            break;
        buf_add(out, t->words.data, t->words.size); /* characters are the symbols */
        break;
    case SAY_NOTHING:
        break;
    case SAY_LOST:
        if (!found)
            add_loss(b, at, size, t->words.data);
        break;
    }
    add_blank(out);
    return size;
}

/* A control stays among the phonemes until controls_take. Returns its bytes, or 0: there is none. */
static size_t mark_control(TextBlock *b, const char *text, size_t n, size_t at, uint32_t *controls)
{
    char own[5] = "";
    size_t end = at;
    if (!b->markup || (uint8_t)text[at] != 0xEF || unicode_next(text, n, &end) != MARKUP_CONTROL)
        return 0;
    const TextMark m = {.source = (uint32_t)at,
                        .source_size = (uint32_t)(end - at),
                        .is_control = 1,
                        .control = b->control + *controls};
    utf8_put(own, UNICODE_STAND_IN + (uint32_t)(b->marks.size / sizeof m));
    text_mark(b, &b->marked, &m, own, NULL, 0);
    (*controls)++;
    return end - at;
}

/* Whether something in the text may have to be marked. */
static int needs_marks(const TextEngine *t, const char *text, size_t n)
{
    if (t->fronts.all[0].words || t->front->words || t->front->kind == FRONT_LEXICON || t->speakable)
        return 1;
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)text[i] >= 0xF3 || (text[i] == '[' && i + 1 < n && text[i + 1] == '['))
            return 1;
    return 0;
}

/* A letter, digit or sign for which the language has no rule: it is left out, and its bytes are returned. */
static size_t lose_letter(const TextEngine *t, TextBlock *b, const char *text, size_t n, size_t at)
{
    char why[80];
    size_t end = at;
    const uint32_t cp = unicode_next(text, n, &end);
    if (!unicode_is_letter(cp) && !(U_GET_GC_MASK((UChar32)cp) & (U_GC_N_MASK | U_GC_S_MASK)))
        return 0;
    snprintf(why, sizeof why, "the letters of '%s' in the lexicon have no rule for U+%04X", t->front->code,
             cp);
    add_loss(b, at, end - at, why);
    return end - at;
}

/* b->normal -> b->marked. */
static void mark_written(TextEngine *t, TextBlock *b, const char *language)
{
    const char *text = b->normal.data;
    const size_t n = b->normal.size;
    uint32_t controls = 0;
    for (size_t i = 0; i < n;) {
        size_t size = mark_control(b, text, n, i, &controls);
        if (size) {
            i += size;
            continue;
        }
        size = uses_ipa(t) ? inline_size(text, n, i) : 0;
        if (size) {
            mark_inline(t, b, text, i, size);
            i += size;
            continue;
        }
        const char *ipa;
        const size_t letters = front_letters(t->front, text, n, i, &ipa);
        if ((size = mark_entry(t, b, &b->marked, text, n, i, language, 0)) ||
            (size = t->front->kind == FRONT_LEXICON && !letters ? lose_letter(t, b, text, n, i) : 0) ||
            (size = t->speakable && (uint8_t)text[i] >= 0x80 && !letters
                        ? mark_speakable(t, b, &b->marked, text, n, i, 0)
                        : 0)) {
            i += size;
            continue;
        }
        if (letters) {
            buf_add(&b->marked, text + i, letters);
            i += letters;
            continue;
        }
        size_t end = i;
        if (text[i] == ' ')
            add_blank(&b->marked);
        else if (unicode_next(text, n, &end) < UNICODE_STAND_IN) /* those are for marks alone */
            buf_add(&b->marked, text + i, end - i);
        end = end > i ? end : i + 1;
        i = end;
    }
}

/* t->cleaned -> b->said: words that came with cleaning, and signs that it has left. */
static void mark_said(TextEngine *t, TextBlock *b, const char *language)
{
    const char *text = t->cleaned.data;
    const size_t n = t->cleaned.size;
    for (size_t i = 0; i < n;) {
        size_t size = mark_entry(t, b, &b->said, text, n, i, language, 1);
        if (!size && t->speakable)
            size = mark_speakable(t, b, &b->said, text, n, i, 1);
        if (size) {
            i += size;
            continue;
        }
        size_t end = i;
        if (unicode_next(text, n, &end) == ' ')
            add_blank(&b->said);
        else
            buf_add(&b->said, text + i, end - i);
        i = end;
    }
}

static int block_failed(const TextBlock *b)
{
    return b->said.failed || b->marks.failed || b->losses.failed || b->strings.failed || b->marked.failed ||
           b->places.failed || b->anchors.failed || b->normal.failed;
}

/* Losses are found in the normalised text, but reported by byte offsets in the given text. */
static void place_losses(TextBlock *b)
{
    const uint32_t *places = (const uint32_t *)(const void *)b->places.data;
    TextLoss *losses = (TextLoss *)(void *)b->losses.data;
    for (size_t i = 0; i < b->losses.size / sizeof *losses; i++) {
        TextLoss *l = &losses[i];
        const uint32_t end = places[l->source + l->source_size];
        l->source = places[l->source];
        l->source_size = end - l->source;
    }
}

static void clear_block(TextBlock *b)
{
    Buf *const all[] = {&b->said,   &b->marks,  &b->losses,  &b->strings,
                        &b->normal, &b->places, &b->anchors, &b->marked};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_clear(all[i]);
    b->language[0] = 0;
}

void text_language(const TextEngine *t, char out[16], Str text, Str column)
{
    language_choose(out, t->cfg, column, (Str){"", 0}, text.p, text.n);
}

/* The order is part of the cache key: TEXT_VERSION (text_settings.c) changes with it. */
RejectReason text_read(TextEngine *t, TextBlock *b, TextResult *r, Str text, Str column, Str id)
{
    char primary[LANGUAGE_MAX];
    r->detail[0] = 0;
    clear_block(b);
    /* The rest of the path relies on valid UTF-8. */
    size_t valid = utf8_valid(text.p, text.n);
    if (valid != text.n) {
        snprintf(r->detail, sizeof r->detail, "byte 0x%02X at position %zu of the text",
                 (unsigned char)text.p[valid], valid);
        return REJECT_UTF8;
    }
    if (unicode_normalise(&t->scratch, &b->normal, text.p, text.n) < 0)
        return no_memory(r);
    if (b->normal.size == 0)
        return REJECT_EMPTY_TEXT;
    language_choose(b->language, t->cfg, column, id, b->normal.data, b->normal.size);
    language_primary(primary, b->language);
    memcpy(r->language, b->language, sizeof r->language);
    choose_front(t, b->language);
    if (voice_of(t) && t->speakable && choose_voice(t, r, b->language) < 0)
        return REJECT_LANGUAGE;
    const int marks = needs_marks(t, b->normal.data, b->normal.size);
    const Buf *written = &b->normal;
    if (marks) {
        mark_written(t, b, primary);
        written = &b->marked;
    }
    buf_clear(&t->cleaned);
    Buf *said = marks ? &t->cleaned : &b->said;
    if (clean_text(&t->cleaner, said, written->data ? written->data : "", written->size, primary) < 0)
        return no_memory(r);
    if (marks)
        mark_said(t, b, primary);
    if (t->aim == TEXT_TO_SPEAK) {
        places_of_normal(&b->places, text.p, text.n, b->normal.data, b->normal.size);
        if (!b->places.failed)
            place_losses(b);
        places_anchor(b);
    }
    if (block_failed(b))
        return no_memory(r);
    /* A line to learn from is not learned from without a part of it. */
    if (t->aim == TEXT_TO_LEARN && b->losses.size) {
        snprintf(r->detail, sizeof r->detail, "%s", ((TextLoss *)(void *)b->losses.data)->why);
        return REJECT_NO_PHONEMES;
    }
    return REJECT_NONE;
}

/* --- said -> symbols --- */

/* Words that are said instead of others get their sound. */
static int speak_words(TextEngine *t, TextBlock *b, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        TextMark *m = text_mark_of(b, unicode_next(text, n, &i));
        if (!m || m->ipa_size || !m->words_size)
            continue;
        buf_clear(&t->words);
        if (phonemes_speak(t->phonemes, &t->words, NULL, b->strings.data + m->words, m->words_size) < 0)
            return ERR_NOMEM;
        m->ipa = (uint32_t)b->strings.size;
        m->ipa_size = (uint32_t)t->words.size;
        buf_add(&b->strings, t->words.data, t->words.size);
    }
    return b->strings.failed ? ERR_NOMEM : 0;
}

static const char *mark_ipa(void *arg, uint32_t cp, size_t *size)
{
    const TextBlock *b = arg;
    const TextMark *m = text_mark_of(b, cp);
    *size = m ? m->ipa_size : 0;
    return m && m->ipa_size ? b->strings.data + m->ipa : NULL;
}

/* What a mark stands for, as it was written or is said. */
static void add_written(Buf *out, const TextBlock *b, const TextMark *m)
{
    if (m->words_size)
        buf_add(out, b->strings.data + m->words, m->words_size);
    else if (!m->is_found)
        buf_add(out, b->normal.data + m->source, m->source_size);
    else
        buf_add(out, b->strings.data + m->ipa, m->ipa_size);
}

/* The piece with words for marks. at [n + 1]: where each of its bytes has gone; NULL: nobody asks. controls:
 * they stay where they are. */
static void add_cleaned(Buf *out, const TextBlock *b, const char *text, size_t n, int controls, Buf *at)
{
    for (size_t i = 0; i < n;) {
        size_t from = i;
        const uint32_t place = (uint32_t)out->size;
        const TextMark *m = text_mark_of(b, unicode_next(text, n, &i));
        if (m && m->is_control && !controls) {
            /* One blank where it stood between words, none before a mark or at the end. */
            const int blank = !out->size || out->data[out->size - 1] == ' ';
            if (blank && i < n && text[i] == ' ')
                i++;
            else if (blank && out->size && (i == n || strchr(".,;:!?)", text[i])))
                out->size--;
        } else if (m && m->is_control)
            buf_add(out, text + from, i - from);
        else if (m)
            add_written(out, b, m);
        else
            buf_add(out, text + from, i - from);
        for (; at && from < i; from++)
            buf_add(at, &place, sizeof place);
    }
    const uint32_t end = (uint32_t)out->size;
    if (at)
        buf_add(at, &end, sizeof end);
}

static void trim(uint32_t *from, uint32_t *size, const char *text)
{
    while (*size && text[*from] == ' ') {
        (*from)++;
        (*size)--;
    }
    while (*size && text[*from + *size - 1] == ' ')
        (*size)--;
}

/* Places of phonemes -> spans. */
static void add_spans(TextResult *r, const TextBlock *b, const Buf *places, const Buf *at, size_t from,
                      SpanOrigin origin)
{
    const PhonemePlace *all = (const PhonemePlace *)(const void *)places->data;
    const uint32_t *said = (const uint32_t *)(const void *)at->data;
    for (size_t i = 0; i < places->size / sizeof *all; i++) {
        const PhonemePlace *p = &all[i];
        const TextMark *m = text_mark_of(b, p->mark);
        uint32_t source, end, text = p->text, size = p->text_size;
        trim(&text, &size, b->said.data + from);
        text_source(b, from + text, size, &source, &end);
        if (m && !m->is_found) {
            const uint32_t *where = (const uint32_t *)(const void *)b->places.data;
            source = where[m->source];
            end = where[m->source + m->source_size];
        }
        TextSpan span = {.source = source,
                         .source_size = end - source,
                         .said = said[p->text],
                         .said_size = said[p->text + p->text_size] - said[p->text],
                         .phonemes = p->phonemes,
                         .phonemes_size = p->phonemes_size,
                         .origin = m ? m->origin : origin};
        trim(&span.said, &span.said_size, r->cleaned.data);
        trim(&span.phonemes, &span.phonemes_size, r->phonemes.data);
        if (span.phonemes_size && !(m && m->is_control))
            buf_add(&r->spans, &span, sizeof span);
    }
}

/* Persian goes to espeak-ng with the vowels that its spelling leaves out, so the piece is one part. */
static int speak_persian(TextEngine *t, TextBlock *b, TextResult *r, const char *text, size_t n,
                         size_t *spoken, Buf *places)
{
    const PhonemeMarks marks = {mark_ipa, b, NULL};
    const size_t begin = r->phonemes.size;
    buf_clear(&t->respelled);
    persian_respell(&t->respelled, text, n);
    if (t->respelled.failed)
        return ERR_NOMEM;
    int rc = phonemes_speak_marked(t->phonemes, &r->phonemes, spoken, t->respelled.data, t->respelled.size,
                                   b->marks.size ? &marks : NULL);
    persian_mend(&r->phonemes, begin);
    const PhonemePlace all = {.text_size = (uint32_t)n,
                              .phonemes = (uint32_t)begin,
                              .phonemes_size = (uint32_t)(r->phonemes.size - begin)};
    if (!rc && places)
        buf_add(places, &all, sizeof all);
    return rc;
}

/* --- the table of front ends --- */

/* Appends the symbols of a piece's words to r->phonemes. */
typedef int SpeakWords(TextEngine *t, TextBlock *b, TextResult *r, const char *text, size_t n, size_t *spoken,
                       const PhonemeMarks *marks);

static int speak_espeak(TextEngine *t, TextBlock *b, TextResult *r, const char *text, size_t n,
                        size_t *spoken, const PhonemeMarks *marks)
{
    int rc = speak_words(t, b, text, n);
    if (!rc && strcmp(phonemes_voice(t->phonemes), "fa") == 0)
        return speak_persian(t, b, r, text, n, spoken, marks->places);
    if (!rc)
        rc = phonemes_speak_marked(t->phonemes, &r->phonemes, spoken, text, n,
                                   marks->places || b->marks.size ? marks : NULL);
    return rc;
}

static int speak_characters(TextEngine *t, TextBlock *b, TextResult *r, const char *text, size_t n,
                            size_t *spoken, const PhonemeMarks *marks)
{
    (void)t;
    (void)marks;
    add_cleaned(&r->phonemes, b, text, n, 1, NULL);
    *spoken = r->cleaned.size;
    return 0;
}

static int speak_letters(TextEngine *t, TextBlock *b, TextResult *r, const char *text, size_t n,
                         size_t *spoken, const PhonemeMarks *marks)
{
    (void)b;
    return front_speak(t->front, &r->phonemes, spoken, text, n, marks);
}

static const struct {
    SpeakWords *speak;
    int has_spans;
    SpanOrigin origin; /* of words that are no marks */
} front_kinds[FRONT_KINDS] = {[FRONT_ESPEAK] = {speak_espeak, 1, SPAN_ESPEAK},
                              [FRONT_CHARACTERS] = {speak_characters, 0, SPAN_ESPEAK},
                              [FRONT_LEXICON] = {speak_letters, 1, SPAN_LETTERS}};

/* The voice for the language, and that it can read the text. */
static RejectReason check_voice(TextEngine *t, TextResult *r, const char *language, const char *text,
                                size_t n)
{
    if (choose_voice(t, r, language) < 0)
        return REJECT_LANGUAGE;
    const char *voice = phonemes_voice(t->phonemes);
    uint32_t cp = t->speakable ? 0 : find_unreadable(voice, text, n);
    if (!cp)
        return REJECT_NONE;
    const char *hint = speakable_hint(voice);
    snprintf(r->detail, sizeof r->detail, "the espeak-ng voice '%s' cannot read U+%04X%s%s", voice, cp,
             hint ? "; " : "", hint ? hint : "");
    return REJECT_NO_PHONEMES;
}

/* Symbols of a piece, by the front end of its language and by its marks. */
static RejectReason make_symbols(TextEngine *t, TextBlock *b, TextResult *r, size_t from, size_t n,
                                 size_t *spoken)
{
    const char *text = b->said.data + from;
    Buf places = {0}, at = {0};
    choose_front(t, b->language);
    const FrontKind kind = t->front->kind;
    const int spans = t->aim == TEXT_TO_SPEAK && front_kinds[kind].has_spans;
    const RejectReason why = voice_of(t) ? check_voice(t, r, b->language, text, n) : REJECT_NONE;
    if (why)
        return why;
    const PhonemeMarks marks = {mark_ipa, b, spans ? &places : NULL};
    add_cleaned(&r->cleaned, b, text, n, 0, spans ? &at : NULL);
    int rc = front_kinds[kind].speak(t, b, r, text, n, spoken, &marks);
    if (!rc && !places.failed && !at.failed && spans)
        add_spans(r, b, &places, &at, from, front_kinds[kind].origin);
    rc = rc < 0 || places.failed || at.failed ? ERR_NOMEM : 0;
    buf_free(&places);
    buf_free(&at);
    return rc ? no_memory(r) : REJECT_NONE;
}

static void clear_result(TextResult *r)
{
    Buf *const all[] = {&r->cleaned, &r->phonemes, &r->tokens,  &r->unknown,
                        &r->spans,   &r->losses,   &r->controls};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_clear(all[i]);
    r->language[0] = r->detail[0] = 0;
}

/* Phonemes (or the characters themselves), then tokens between BOS and EOS. */
RejectReason text_speak(TextEngine *t, TextBlock *b, TextResult *r, size_t from, size_t n)
{
    size_t spoken = 0;
    clear_result(r);
    memcpy(r->language, b->language, sizeof r->language);
    RejectReason why = make_symbols(t, b, r, from, n, &spoken);
    if (why)
        return why;
    if (b->markup && controls_take(r, b))
        return no_memory(r);
    if (b->markup)
        spoken = controls_has_letter(r->phonemes.data, r->phonemes.size);
    if (spoken == 0) {
        snprintf(r->detail, sizeof r->detail, "only punctuation is left of \"%.*s\"",
                 (int)utf8_cut(r->cleaned.data, r->cleaned.size, SHOWN_BYTES), r->cleaned.data);
        return REJECT_NO_PHONEMES;
    }
    uint16_t bos = TOKEN_BOS, eos = TOKEN_EOS;
    buf_add(&r->tokens, &bos, sizeof bos);
    TextControl *controls = (TextControl *)(void *)r->controls.data;
    size_t done = 0;
    for (size_t i = 0; i < r->controls.size / sizeof *controls; i++) {
        const size_t to = controls[i].phonemes > done ? controls[i].phonemes : done;
        tokens_encode(&r->tokens, &r->unknown, r->phonemes.data + done, to - done, t->cfg->add_blank);
        controls[i].token = (uint32_t)(r->tokens.size / sizeof(uint16_t));
        done = to;
    }
    tokens_encode(&r->tokens, &r->unknown, r->phonemes.data + done, r->phonemes.size - done,
                  t->cfg->add_blank);
    buf_add(&r->tokens, &eos, sizeof eos);
    buf_add(&r->phonemes, "", 1);
    if (r->phonemes.failed || r->tokens.failed || r->unknown.failed || r->cleaned.failed || r->spans.failed)
        return no_memory(r);
    r->phonemes.size--; /* NUL-terminated, the NUL not counted */
    size_t count = r->tokens.size / sizeof(uint16_t);
    if (count == 2) {
        snprintf(r->detail, sizeof r->detail, "no symbol of the text is in the symbol table");
        return REJECT_NO_PHONEMES;
    }
    return REJECT_NONE;
}

RejectReason text_process(TextEngine *t, TextResult *r, Str text, Str column, Str id)
{
    TextBlock *b = &r->block;
    clear_result(r);
    RejectReason why = text_read(t, b, r, text, column, id);
    if (!why)
        why = text_speak(t, b, r, 0, b->said.size);
    buf_add(&r->losses, b->losses.data, why == REJECT_UTF8 ? 0 : b->losses.size);
    return r->losses.failed ? no_memory(r) : why;
}

int text_is_guess(TextEngine *t, Buf *ipa, const char *language, Str word)
{
    TextResult ignored = {0};
    choose_front(t, language);
    if (!voice_of(t) || choose_voice(t, &ignored, language) < 0)
        return 0;
    int known = phonemes_knows(t->phonemes, word.p, word.n);
    if (known)
        return known < 0 ? known : 0;
    return phonemes_speak(t->phonemes, ipa, NULL, word.p, word.n) < 0 ? ERR_NOMEM : 1;
}
