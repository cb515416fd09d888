/* voice_text.c - see voice_text.h. */
#include "voice/voice_text.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#define PAUSE_SECONDS 0.2  /* between sentences */
#define PIECE_SECONDS 0.05 /* between pieces of a sentence */
#define SHOWN_BYTES 60     /* of a text in a message */

typedef struct Reader {
    TextEngine *engine;
    TextResult result;
    const char *column; /* the language, or "" */
    int most;           /* symbols of a part */
    int *left_out;
    Log *log;
} Reader;

/* --- cutting --- */

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

/* Where to cut a part that is too long: after the comma nearest to the middle, else at the blank nearest to
 * it; 0: nowhere. */
static size_t middle_cut(const char *p, size_t n)
{
    for (int pass = 0; pass < 2; pass++) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            int here = pass ? p[i] == ' ' : (p[i] == ',' || p[i] == ':') && p[i + 1] == ' ';
            size_t far = i > n / 2 ? i - n / 2 : n / 2 - i,
                   best_far = best > n / 2 ? best - n / 2 : n / 2 - best;
            if (here && (!best || far < best_far))
                best = i + 1;
        }
        if (best)
            return best;
    }
    return 0;
}

/* Bytes of the beginning of a text, for a message: whole characters. */
static int shown(const char *p, size_t n)
{
    size_t end = utf8_cut(p, n, SHOWN_BYTES);
    while (end && (p[end - 1] == '\n' || p[end - 1] == '\r'))
        end--;
    return (int)end;
}

/* --- reading --- */

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

/* The piece p [n] of a text becomes a part. One of the above, or a negative code. */
static int read_piece(Reader *d, VoicePart *part, const char *p, size_t n, Err *err)
{
    TextResult *r = &d->result;
    double from = clock_now();
    RejectReason why =
        text_process(d->engine, r, (Str){p, n}, (Str){d->column, (uint32_t)strlen(d->column)}, (Str){"", 0});
    part->text_seconds += clock_now() - from;
    int count = (int)(r->tokens.size / sizeof(uint16_t));
    /* A line of dashes, a lone mark: the rest is spoken. */
    if (why == REJECT_EMPTY_TEXT || why == REJECT_NO_PHONEMES) {
        log_warn(d->log, "\"%.*s\" is left out: %s", shown(p, n), p,
                 *r->detail ? r->detail : reject_text(why));
        (*d->left_out)++;
        return NOTHING_TO_SAY;
    }
    if (why == REJECT_TEXT_TOO_LONG || (!why && count > d->most))
        return TOO_LONG;
    if (why)
        return err_set(err, ERR_DATA, "\"%.*s\" cannot be spoken: %s%s%s", shown(p, n), p, reject_text(why),
                       *r->detail ? ": " : "", r->detail);
    return keep(part, r, count, err);
}

static void skip_blanks(VoiceText *text)
{
    while (text->n && *text->p && strchr(" \n\r\t", *text->p)) {
        text->p++;
        text->n--;
    }
}

/* Reads the beginning of a sentence [*n], shortened until the network can speak it at once. A word that is
 * too long for that by itself is left out: the rest is spoken. */
static int read_sentence(Reader *d, VoicePart *part, const char *p, size_t *n, Err *err)
{
    for (;;) {
        int rc = read_piece(d, part, p, *n, err);
        if (rc != TOO_LONG)
            return rc;
        size_t cut = middle_cut(p, *n);
        if (!cut) {
            log_warn(
                d->log,
                "\"%.*s...\" is left out: it has no place to cut it, and at most %d symbols are spoken at "
                "once",
                shown(p, *n), p, d->most);
            (*d->left_out)++;
            return NOTHING_TO_SAY;
        }
        *n = cut;
    }
}

int voice_text_next(VoiceText *text, VoicePart *part, TextEngine *engine, const char *column, int most,
                    int *left_out, Log *log, Err *err)
{
    Reader d = {.engine = engine, .column = column, .most = most, .left_out = left_out, .log = log};
    int rc = NOTHING_TO_SAY;
    memset(part, 0, sizeof *part);
    skip_blanks(text);
    /* Until there is something to speak: pieces with nothing to say are passed over. */
    while (rc == NOTHING_TO_SAY && text->n) {
        size_t sentence = voice_text_sentence(text->p, text->n), n = sentence;
        rc = read_sentence(&d, part, text->p, &n, err);
        part->pause = n == sentence ? PAUSE_SECONDS : PIECE_SECONDS;
        text->p += n;
        text->n -= n;
        skip_blanks(text);
    }
    text_result_free(&d.result);
    if (rc < 0)
        voice_part_free(part);
    return rc;
}
