/* voice_text.c - see voice_text.h. A text is read block by block (text_read) and spoken piece by piece. */
#include "voice/voice_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

#define PAUSE_SECONDS 0.2  /* between sentences */
#define PIECE_SECONDS 0.05 /* between pieces of a sentence */
#define SHOWN_BYTES 60     /* of a text in a message */
#define BLOCK_BYTES 2000   /* that are written out before the first sentence is heard */

typedef struct Reader {
    TextEngine *engine;
    TextResult result;
    const char *column; /* the language, or "" */
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
    voice_loss_place(&loss, t->p, &line, &column);
    log_warn(d->log, "line %zu, column %zu: \"%.*s\" is left out: %s", line, column, shown(t->p + at, size),
             t->p + at, why);
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

/* Sentences in one language are read together, so that what stands before a full stop is read with what
 * stands behind it. Where the language is that of the text itself, each sentence may have another. */
static size_t block_size(const Reader *d, const char *p, size_t n)
{
    const char *newline = memchr(p, '\n', n);
    size_t size = cut_paragraph(p, newline ? (size_t)(newline - p) : n), end = voice_text_sentence(p, size);
    char first[16], next[16];
    const Str column = {d->column, (uint32_t)strlen(d->column)};
    if (column.n || end == size)
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

/* Bytes that are no UTF-8 cost themselves: blanks stand for them. copy is used where there are any. */
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

/* The next block in words. 0 or an error. */
static int read_block(Reader *d, VoiceText *t, Err *err)
{
    Buf copy = {0};
    const char *p = t->p + t->taken;
    size_t size = block_size(d, p, t->n - t->taken);
    t->from = t->taken;
    t->said = 0;
    int rc =
        utf8_valid(p, size) < size || memchr(p, 0, size) ? mend_utf8(d, t, t->from, size, &copy, err) : 0;
    if (copy.size)
        p = copy.data;
    TextResult *r = &d->result;
    RejectReason why = rc ? REJECT_NONE
                          : text_read(d->engine, &t->block, r, (Str){p, (uint32_t)size},
                                      (Str){d->column, (uint32_t)strlen(d->column)}, (Str){"", 0});
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
static int has_sound(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(p, n, &i);
        if (unicode_is_letter(cp) || u_isdigit((UChar32)cp))
            return 1;
    }
    return 0;
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
        if (!has_sound(p, n))
            return NOTHING_TO_SAY; /* a line of dashes, a lone mark */
        text_source(&t->block, t->said, n, &source, &end);
        return lose(d, t, t->from + source, end - source, r->detail, err);
    }
    if (why)
        return err_set(err, ERR_DATA, "\"%.*s\" cannot be spoken: %s%s%s", shown(p, n), p, reject_text(why),
                       *r->detail ? ": " : "", r->detail);
    return *count > most ? TOO_LONG : keep(part, r, *count, err);
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
        if (!cut && most < d->limits.most) { /* a long word is spoken whole where there is room for it */
            most = d->limits.most;
            continue;
        }
        if (!cut)
            cut = cut_word(p, *n, count, most);
        if (!cut) /* one character, or a word of the lexicon, that is longer than all there is room for */
            return lose(d, t, t->from, 0, "its pronunciation is longer than the voice can speak", err);
        *n = cut;
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

void voice_text_close(VoiceText *t)
{
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
            size_t sentence = voice_text_sentence(p, t->block.said.size - t->said), n = sentence;
            rc = read_sentence(&d, t, part, &n, err);
            part->pause = n == sentence ? PAUSE_SECONDS : PIECE_SECONDS;
            t->said += n;
        }
        skip_blanks(t);
    }
    text_result_free(&d.result);
    if (rc < 0)
        voice_part_free(part);
    return rc;
}

int voice_text_losses(VoiceLosses *losses, const char *p, size_t n, TextEngine *engine, const char *column,
                      Err *err)
{
    Reader d = {.engine = engine, .column = column, .losses = losses};
    VoiceText t = {.p = p, .n = n};
    int rc = 0;
    for (skip_blanks(&t); !rc && t.taken < n; skip_blanks(&t)) {
        rc = read_block(&d, &t, err);
        t.said = t.block.said.size;
    }
    text_result_free(&d.result);
    voice_text_close(&t);
    return rc;
}
