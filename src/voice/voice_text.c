/* voice_text.c - see voice_text.h. A text is read block by block (text_read) and spoken piece by piece. */
#include "voice/voice_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/language.h"
#include "text/phonemes/tokens.h"
#include "text/unicode.h"
#include "voice/voice_manner.h"

#define PAUSE_SECONDS 0.2  /* between sentences */
#define PIECE_SECONDS 0.05 /* between pieces of a sentence */
#define HEAD_FRAMES 4      /* of a part behind a break, before its first sound: part of the break */
#define SHOWN_BYTES 60     /* of a text in a message */
#define BLOCK_BYTES 2000   /* that are written out before the first sentence is heard */

typedef struct Reader {
    TextEngine *engine;
    TextResult result;
    const char *column;         /* the language, or "" */
    char section[LANGUAGE_MAX]; /* that of a section */
    VoiceLimits limits;
    VoiceLosses *losses;
    Log *log;
} Reader;

/* --- what is left out --- */

/* Bytes of the beginning of a text, for a message: whole characters. */
static int shown(const char *p, size_t n)
{
    size_t end = utf8_cut(p, n, SHOWN_BYTES);
    while (end && (p[end - 1] == '\n' || p[end - 1] == '\r'))
        end--;
    return (int)end;
}

static int lose(Reader *d, const VoiceText *t, size_t at, size_t size, const char *why, Err *err)
{
    VoiceLoss loss = {.at = at, .size = size};
    snprintf(loss.why, sizeof loss.why, "%s", why);
    size_t line, column;
    const char *source = voice_text_source(t);
    if (t->markup)
        markup_source(t->markup, at, size, &loss.at, &loss.size);
    voice_loss_place(&loss, source, &line, &column);
    log_warn(d->log, "line %zu, column %zu: \"%.*s\" is skipped: %s", line, column,
             shown(source + loss.at, loss.size), source + loss.at, why);
    return voice_losses_add(d->losses, &loss, 1) ? err_set(err, ERR_NOMEM, "no memory for a list") : 0;
}

/* --- blocks --- */

size_t voice_text_sentence(const char *p, size_t n)
{
    /* Full stop and marks of Chinese and Japanese; question mark and full stop of Arabic and Urdu: no blank
     * need follow these. */
    static const char *const wide[] = {"。", "！", "？", "؟", "۔"};
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n')
            return i + 1;
        if (strchr(".!?;", p[i]) && p[i] && (i + 1 == n || p[i + 1] == ' ' || p[i + 1] == '\n'))
            return i + 1;
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
            if (n - i >= strlen(wide[k]) && memcmp(p + i, wide[k], strlen(wide[k])) == 0)
                return i + strlen(wide[k]);
    }
    return n;
}

static int is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Where a paragraph that is too long is cut: behind a sentence, else between words, else anywhere. */
static size_t cut_paragraph(const char *p, size_t n)
{
    size_t end = 0, blank = 0;
    if (n <= BLOCK_BYTES)
        return n;
    for (size_t next = 0; (next += voice_text_sentence(p + next, n - next)) <= BLOCK_BYTES;)
        end = next;
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        blank = p[i] == ' ' ? i + 1 : blank;
    end = end ? end : blank;
    return end ? end : utf8_cut(p, n, BLOCK_BYTES);
}

/* Sentences in one language are read together, so that what comes before a full stop is read with what
 * stands behind it. Where the language is that of the text itself, each sentence may have another. */
static size_t block_words(const Reader *d, const VoiceText *t)
{
    const char *p = t->p + t->taken;
    const size_t n = t->n - t->taken;
    const char *newline = memchr(p, '\n', n);
    size_t size = cut_paragraph(p, newline ? (size_t)(newline - p) : n), end = voice_text_sentence(p, size);
    char first[16], next[16];
    const Str column = {d->column, (uint32_t)strlen(d->column)};
    if (column.n || end == size || (t->markup && markup_section(t->markup, t->taken)->language))
        return size;
    text_language(d->engine, first, (Str){p, (uint32_t)end}, column);
    while (end < size) {
        size_t more = voice_text_sentence(p + end, size - end);
        text_language(d->engine, next, (Str){p + end, (uint32_t)more}, column);
        if (strcmp(first, next))
            break;
        end += more;
    }
    return end;
}

/* With the controls behind its words: a break belongs to the sentence before it. */
static size_t block_size(const Reader *d, const VoiceText *t)
{
    const char *p = t->p + t->taken;
    const size_t n = t->n - t->taken, size = block_words(d, t);
    size_t end = size;
    for (size_t i = size; t->markup && i < n && p[i] != '\n';) {
        if (unicode_next(p, n, &i) == MARKUP_CONTROL)
            end = i;
        else if (p[i - 1] != ' ')
            break;
    }
    return end;
}

/* Bytes that are no UTF-8 cost themselves: blanks stand for them. copy is used if there are any. */
static int mend_utf8(Reader *d, const VoiceText *t, size_t from, size_t n, Buf *copy, Err *err)
{
    int rc = 0;
    buf_add(copy, t->p + from, n);
    for (size_t i = 0; !copy->failed && !rc && (i += utf8_valid(copy->data + i, n - i)) < n;) {
        size_t end = i;
        while (end < n && utf8_valid(copy->data + end, n - end) == 0)
            copy->data[end++] = ' ';
        rc = lose(d, t, from + i, end - i, "it is not valid UTF-8", err);
        i = end;
    }
    return copy->failed ? err_set(err, ERR_NOMEM, "no memory for a text") : rc;
}

/* Where the markup names a language, it is that of the block. */
static Str block_language(Reader *d, const VoiceText *t)
{
    const char *own =
        t->markup ? markup_string(t->markup, markup_section(t->markup, t->taken)->language) : NULL;
    if (own && !language_normalise(d->section, own, strlen(own)))
        return (Str){d->section, (uint32_t)strlen(d->section)};
    return (Str){d->column, (uint32_t)strlen(d->column)};
}

static uint32_t count_controls(const char *p, size_t n)
{
    uint32_t count = 0;
    for (size_t i = 0; i + 2 < n; i++)
        count += !memcmp(p + i, "\xEF\xBF\xBF", 3); /* MARKUP_CONTROL */
    return count;
}

/* The next block in words. 0 or an error. */
static int read_block(Reader *d, VoiceText *t, Err *err)
{
    Buf copy = {0};
    const char *p = t->p + t->taken;
    size_t size = block_size(d, t);
    t->from = t->taken;
    t->said = 0;
    int rc =
        utf8_valid(p, size) < size || memchr(p, 0, size) ? mend_utf8(d, t, t->from, size, &copy, err) : 0;
    if (copy.size)
        p = copy.data;
    TextResult *r = &d->result;
    const Str column = block_language(d, t);
    t->block.markup = t->markup;
    t->block.control = t->control;
    t->control += t->markup ? count_controls(p, size) : 0;
    RejectReason why =
        rc ? REJECT_NONE : text_read(d->engine, &t->block, r, (Str){p, (uint32_t)size}, column, (Str){"", 0});
    if (!rc && why && why != REJECT_EMPTY_TEXT)
        rc = err_set(err, ERR_DATA, "\"%.*s\" cannot be spoken: %s%s%s", shown(p, size), p, reject_text(why),
                     *r->detail ? ": " : "", r->detail);
    const TextLoss *losses = (const TextLoss *)(const void *)t->block.losses.data;
    for (size_t i = 0; !rc && i < t->block.losses.size / sizeof *losses; i++)
        rc = lose(d, t, t->from + losses[i].source, losses[i].source_size, losses[i].why, err);
    t->taken += size;
    buf_free(&copy);
    return rc;
}

/* --- cutting --- */

/* Bytes of a mark behind which people pause, with a blank behind it; else 0. */
static size_t pause_at(const char *p, size_t n, size_t i)
{
    static const char *const marks[] = {",", ":", ";", ")", "—", "…", "–", "-"};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        size_t size = strlen(marks[k]);
        if (n - i > size && !memcmp(p + i, marks[k], size) && p[i + size] == ' ')
            return size + 1;
    }
    return 0;
}

/* Where the first piece of a sentence ends that has `symbols` and should have no more than `most`: behind a
 * mark or a blank, near the end of an even share; 0: nowhere. */
static size_t cut_sentence(const char *p, size_t n, int symbols, int most)
{
    const size_t pieces = (size_t)(symbols + most - 1) / (size_t)most, share = n / pieces + 1,
                 farthest = n * (size_t)most / (size_t)symbols;
    for (int pass = 0; pass < 2; pass++) {
        size_t best = 0, best_far = n;
        for (size_t i = 1; i + 1 < n; i++) {
            size_t end = pass ? (p[i] == ' ' ? i + 1 : 0) : pause_at(p, n, i);
            end = end && !pass ? i + end : end;
            size_t far = end > share ? end - share : share - end;
            /* A mark in the first third makes a piece too short to be worth it. */
            if (!end || end > farthest || (!pass && end < share / 3) || far >= best_far)
                continue;
            best = end;
            best_far = far;
        }
        if (best && best < n)
            return best;
    }
    for (size_t i = 1; i + 1 < n; i++) /* a long word at the beginning: behind it */
        if (p[i] == ' ')
            return i + 1;
    return 0;
}

/* A word that is too long for the network: before the last consonant that a vowel follows, or anywhere. */
static size_t cut_word(const char *p, size_t n, int symbols, int most)
{
    size_t farthest = n * (size_t)most / (size_t)symbols, any = 0, syllable = 0;
    for (size_t i = 0; i < n && i <= farthest;) {
        size_t at = i;
        uint32_t cp = unicode_next(p, n, &i);
        if (at && !(U_GET_GC_MASK((UChar32)cp) & U_GC_M_MASK))
            any = at;
        if (at && i < n && cp < 0x80 && unicode_is_letter(cp) && !strchr("aeiouyAEIOUY", (int)cp) &&
            strchr("aeiouyAEIOUY", p[i]) && strchr("aeiouyAEIOUY", p[at - 1]))
            syllable = at;
    }
    return syllable > farthest / 2 ? syllable : any;
}

/* --- speaking --- */

enum { NOTHING_TO_SAY, READ, TOO_LONG };

static const MarkupControl *control_of(const VoiceText *t, const TextControl *c)
{
    return (const MarkupControl *)(const void *)t->markup->controls.data + c->number;
}

/* Symbols without a sound around this one: [*from, *to). */
static void find_gap(const VoicePart *p, int symbol, int *from, int *to)
{
    for (*from = symbol; *from > 0 && !tokens_is_letter(p->tokens[*from - 1]);)
        (*from)--;
    for (*to = symbol; *to < p->symbols && !tokens_is_letter(p->tokens[*to]);)
        (*to)++;
}

/* Breaks before the first word, and behind one. */
static int keep_beginning(VoiceText *t, VoicePart *part)
{
    VoiceWishes *w = &part->wishes;
    int from, to, rc = 0;
    find_gap(part, 0, &from, &to);
    if (t->after_break)
        rc = voice_wishes_pause(w, 0, to, t->break_seconds, HEAD_FRAMES);
    else if (t->break_seconds > 0)
        rc = voice_wishes_pause(w, 0, to, t->break_seconds, 0);
    if (!rc)
        rc = voice_wishes_turn(w, 0, &t->manner);
    for (size_t i = 0; i < t->waiting.mark_count && !rc; i++)
        rc = voice_wishes_mark(w, t->waiting.marks[i].name, to);
    voice_wishes_free(&t->waiting);
    t->break_seconds = 0;
    t->after_break = 0;
    return rc;
}

/* A break comes behind control i, and before the symbol `to`. */
static int break_follows(const VoiceText *t, const TextResult *r, size_t i, int to)
{
    const TextControl *all = (const TextControl *)(const void *)r->controls.data;
    for (size_t k = i + 1; k < r->controls.size / sizeof *all && (int)all[k].token <= to; k++)
        if (control_of(t, &all[k])->kind == MARKUP_BREAK)
            return 1;
    return 0;
}

/* What the controls of a piece mean for its symbols, and for what comes behind it. last: no words follow. */
static int keep_wishes(VoiceText *t, VoicePart *part, const TextResult *r, int last, Err *err)
{
    const TextControl *all = (const TextControl *)(const void *)r->controls.data;
    VoiceWishes *w = &part->wishes;
    int rc = keep_beginning(t, part);
    w->speaker = markup_string(t->markup, markup_section(t->markup, t->from)->speaker);
    for (size_t i = 0; i < r->controls.size / sizeof *all && !rc; i++) {
        const MarkupControl *c = control_of(t, &all[i]);
        int symbol = (int)all[i].token, from, to;
        t->manner = c->manner;
        find_gap(part, symbol, &from, &to);
        if (c->kind == MARKUP_MANNER) /* silence at the ends is said as the words beside it */
            rc = to < part->symbols ? voice_wishes_turn(w, from ? symbol : 0, &c->manner) : 0;
        else if (c->kind == MARKUP_MARK)
            rc = voice_wishes_mark(w, markup_string(t->markup, c->name),
                                   break_follows(t, r, i, to) ? from : to);
        else if (to == part->symbols && !last) {
            rc = voice_wishes_pause(w, from, to, c->seconds, t->after_break ? 0 : -HEAD_FRAMES);
            t->after_break = 1;
        } else
            rc = voice_wishes_pause(w, from, to, c->seconds, 0);
    }
    return rc ? err_set(err, ERR_NOMEM, "no memory for a text") : READ;
}

/* Controls with no words among them are for what comes next. */
static int pass_on(VoiceText *t, const TextResult *r, Err *err)
{
    const TextControl *all = (const TextControl *)(const void *)r->controls.data;
    int rc = 0;
    for (size_t i = 0; i < r->controls.size / sizeof *all && !rc; i++) {
        const MarkupControl *c = control_of(t, &all[i]);
        t->manner = c->manner;
        if (c->kind == MARKUP_BREAK)
            t->break_seconds += c->seconds;
        else if (c->kind == MARKUP_MARK)
            rc = voice_wishes_mark(&t->waiting, markup_string(t->markup, c->name), 0);
    }
    return rc ? err_set(err, ERR_NOMEM, "no memory for a text") : NOTHING_TO_SAY;
}

static int keep(VoicePart *part, const TextResult *r, int count, Err *err)
{
    const uint16_t *tokens = (const uint16_t *)(const void *)r->tokens.data;
    part->said = strndup(r->cleaned.data ? r->cleaned.data : "", r->cleaned.size);
    part->tokens = mem_calloc((size_t)count, sizeof *part->tokens);
    if (!part->said || !part->tokens)
        return err_set(err, ERR_NOMEM, "no memory for %d tokens", count);
    for (int i = 0; i < count; i++)
        part->tokens[i] = tokens[i];
    memcpy(part->language, r->language, sizeof part->language);
    part->symbols = count;
    return READ;
}

/* Something that has a sound: a letter, a digit, a word that was marked. */
static int has_sound(const TextBlock *b, const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(p, n, &i);
        const TextMark *m = text_mark_of(b, cp);
        if (m && m->is_control)
            continue;
        if (unicode_is_letter(cp) || u_isdigit((UChar32)cp))
            return 1;
    }
    return 0;
}

/* Nothing but controls comes behind this byte of the block, nor behind the block. */
static int is_last(const VoiceText *t, size_t at)
{
    const Buf *said = &t->block.said;
    return t->taken >= t->n && !has_sound(&t->block, said->data + at, said->size - at);
}

/* A piece of the block's words becomes a part. *count: its symbols. One of the above, or a negative code. */
static int read_piece(Reader *d, VoiceText *t, VoicePart *part, size_t n, int most, int *count, Err *err)
{
    TextResult *r = &d->result;
    const char *p = t->block.said.data + t->said;
    double from = clock_now();
    RejectReason why = text_speak(d->engine, &t->block, r, t->said, n);
    part->text_seconds += clock_now() - from;
    *count = (int)(r->tokens.size / sizeof(uint16_t));
    if (why == REJECT_NO_PHONEMES) {
        uint32_t source, end;
        int rc = t->markup ? pass_on(t, r, err) : NOTHING_TO_SAY;
        if (rc || !has_sound(&t->block, p, n))
            return rc; /* a line of dashes, a lone mark */
        text_source(&t->block, t->said, n, &source, &end);
        return lose(d, t, t->from + source, end - source, r->detail, err);
    }
    if (why)
        return err_set(err, ERR_DATA, "\"%.*s\" cannot be spoken: %s%s%s", shown(p, n), p, reject_text(why),
                       *r->detail ? ": " : "", r->detail);
    if (*count > most)
        return TOO_LONG;
    int rc = keep(part, r, *count, err);
    return rc == READ && t->markup ? keep_wishes(t, part, r, is_last(t, t->said + n), err) : rc;
}

/* Behind the end of a piece [n]: breaks that follow it, and everything where no words do. */
static size_t with_breaks(const VoiceText *t, size_t n)
{
    const Buf *said = &t->block.said;
    size_t end = n, i = t->said + n;
    if (!t->markup)
        return n;
    while (i < said->size) {
        const TextMark *m = text_mark_of(&t->block, unicode_next(said->data, said->size, &i));
        if (m && m->is_control) {
            const MarkupControl *c =
                (const MarkupControl *)(const void *)t->markup->controls.data + m->control;
            end = c->kind == MARKUP_BREAK ? i - t->said : end;
        } else if (said->data[i - 1] != ' ')
            break;
    }
    return is_last(t, t->said + n) ? said->size - t->said : end;
}

/* The beginning of a sentence [*n], shortened until the network can speak it at once. */
static int read_sentence(Reader *d, VoiceText *t, VoicePart *part, size_t *n, Err *err)
{
    const char *p = t->block.said.data + t->said;
    for (int most = d->limits.usual;;) {
        int count, rc = read_piece(d, t, part, *n, most, &count, err);
        if (rc != TOO_LONG)
            return rc;
        size_t cut = cut_sentence(p, *n, count, most);
        if (!cut && most < d->limits.most) { /* a long word is spoken whole if there is room for it */
            most = d->limits.most;
            continue;
        }
        if (!cut)
            cut = cut_word(p, *n, count, most);
        if (!cut) /* one character, or a word of the lexicon, that is longer than all there is room for */
            return lose(d, t, t->from, 0, "its pronunciation is longer than the voice can speak", err);
        const size_t more = with_breaks(t, cut);
        *n = more < *n ? more : cut; /* shorter each time */
    }
}

static void skip_blanks(VoiceText *t)
{
    while (t->said < t->block.said.size && is_blank(t->block.said.data[t->said]))
        t->said++;
    if (t->said < t->block.said.size)
        return;
    while (t->taken < t->n && is_blank(t->p[t->taken]))
        t->taken++;
}

int voice_text_is_over(const VoiceText *t) { return t->said >= t->block.said.size && t->taken >= t->n; }

const char *voice_text_source(const VoiceText *t) { return t->source ? t->source : t->p; }

int voice_text_mark_up(VoiceText *t, TextFormat format, const TextFormatUse *use, Log *log, Err *err)
{
    int rc = text_format_read(&t->own, format, t->p, t->n, use, err);
    if (rc != 1)
        return rc;
    t->source = t->p;
    t->p = t->own.text.data ? t->own.text.data : "";
    t->n = t->own.text.size;
    t->markup = &t->own;
    t->manner = MARKUP_MANNER_USUAL;
    const MarkupNote *notes = (const MarkupNote *)(const void *)t->own.notes.data;
    for (size_t i = 0; i < t->own.notes.size / sizeof *notes; i++) {
        size_t line, column;
        voice_loss_place(&(VoiceLoss){.at = notes[i].at}, t->source, &line, &column);
        if (notes[i].count > 1)
            log_warn(log, "line %zu, column %zu, and %u more: %s", line, column, notes[i].count - 1,
                     notes[i].what);
        else
            log_warn(log, "line %zu, column %zu: %s", line, column, notes[i].what);
    }
    return 0;
}

void voice_text_close(VoiceText *t)
{
    markup_free(&t->own);
    voice_wishes_free(&t->waiting);
    text_block_free(&t->block);
    *t = (VoiceText){0};
}

int voice_text_next(VoiceText *t, VoicePart *part, TextEngine *engine, const char *column,
                    const VoiceLimits *limits, VoiceLosses *losses, Log *log, Err *err)
{
    Reader d = {.engine = engine, .column = column, .limits = *limits, .losses = losses, .log = log};
    int rc = NOTHING_TO_SAY;
    memset(part, 0, sizeof *part);
    skip_blanks(t);
    /* Until there is something to speak: pieces with nothing to say are passed over. */
    while (rc == NOTHING_TO_SAY && !voice_text_is_over(t)) {
        if (t->said >= t->block.said.size) {
            double from = clock_now();
            rc = read_block(&d, t, err);
            part->text_seconds += clock_now() - from;
        } else {
            const char *p = t->block.said.data + t->said;
            size_t sentence = with_breaks(t, voice_text_sentence(p, t->block.said.size - t->said)),
                   n = sentence;
            rc = read_sentence(&d, t, part, &n, err);
            part->pause = t->after_break ? 0 : n == sentence ? PAUSE_SECONDS : PIECE_SECONDS;
            t->said += n;
        }
        skip_blanks(t);
    }
    text_result_free(&d.result);
    if (rc < 0)
        voice_part_free(part);
    return rc;
}

int voice_text_losses(VoiceLosses *losses, const VoiceText *text, TextEngine *engine, const char *column,
                      Err *err)
{
    Reader d = {.engine = engine, .column = column, .losses = losses};
    VoiceText t = {.p = text->p, .n = text->n, .source = text->source, .markup = text->markup};
    int rc = 0;
    for (skip_blanks(&t); !rc && t.taken < t.n; skip_blanks(&t)) {
        rc = read_block(&d, &t, err);
        t.said = t.block.said.size;
    }
    text_result_free(&d.result);
    voice_text_close(&t);
    return rc;
}
