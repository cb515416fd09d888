/* typed.c - see typed.h. */
#include "serve/typed.h"

#include <string.h>

#include "base/utf8.h"

/* --- the text --- */

int typed_add(Typed *t, const char *p, size_t n, Err *err)
{
    t->characters += utf8_count(p, n);
    t->too_long = t->characters > t->max_text;
    if (t->too_long)
        return err_set(err, ERR_DATA, "the text has more than %zu characters", t->max_text);
    buf_add(&t->text, p, n);
    return t->text.failed ? err_set(err, ERR_NOMEM, "no memory for a text") : 0;
}

void typed_end(Typed *t) { t->whole = 1; }

/* Blanks between sentences are passed over as they come, so that a client that sends nothing else does not
 * have all of them looked at each time. */
static void skip_blanks(Typed *t)
{
    while (t->at < t->text.size && strchr(" \n\r\t", t->text.data[t->at]))
        t->at++;
    t->scanned = t->scanned > t->at ? t->scanned : t->at;
}

/* Bytes of whole sentences: of the last one it is not known that it ends before more has come. */
static size_t whole_sentences(Typed *t)
{
    const size_t mark = 4; /* bytes of the longest mark at the end of a sentence, and of the rest */
    const char *text = t->text.data;
    size_t from = t->scanned, end = t->at;
    if (t->whole)
        return t->text.size - t->at;
    /* Markup is read as a whole. */
    if (t->order.format != TEXT_FORMAT_PLAIN && (t->order.format != TEXT_FORMAT_AUTO || text[t->at] == '<'))
        return 0;
    for (;;) {
        from += voice_text_sentence(text + from, t->text.size - from);
        if (from >= t->text.size)
            break;
        end = from;
    }
    t->scanned = t->text.size > end + mark ? t->text.size - mark : end;
    return end - t->at;
}

/* Only a text that is not heard yet is refused. */
static int is_full(const Typed *t)
{
    StudioReport now;
    if (!t->max_waiting || t->begun || t->talks)
        return 0;
    studio_report(t->studio, &now);
    return now.waiting >= t->max_waiting;
}

/* Starts to speak the text received so far, even while earlier parts of it are playing. */
static int begin_talk(Typed *t, Err *err)
{
    if (t->talks == 2)
        return 0;
    if (t->streams)
        skip_blanks(t);
    const size_t n = t->at < t->text.size ? whole_sentences(t) : 0;
    if (!n)
        return 0;
    if (is_full(t))
        return err_set(err, ERR_BUSY, "%d texts wait for their first sound, which is the limit",
                       t->max_waiting);
    TalkOrder order = t->order;
    order.text = t->text.data + t->at;
    order.size = n;
    order.goes_on = t->begun;
    int rc = talk_begin(&t->talk[t->talks], t->studio, &order, err);
    if (rc == ERR_BUSY && t->talks) /* after this one, then */
        return 0;
    if (rc)
        return rc;
    t->from[t->talks++] = t->at;
    t->at += n;
    t->scanned = t->scanned > t->at ? t->scanned : t->at;
    /* The voice was replaced since the text before. */
    const int rate = voice_checkpoint(talk_voice(t->talk[t->talks - 1]))->cfg.sample_rate;
    if (rate != t->rate && (t->begun || t->talks > 1))
        return err_set(err, ERR_DATA, "the voice was replaced by one with another sample rate");
    t->rate = rate;
    return 0;
}

/* --- the sound --- */

static int add_losses(const Typed *t, int talk, VoiceLosses *losses)
{
    VoiceLosses own = {0};
    int rc = talk_left_out(t->talk[talk], &own);
    for (size_t i = 0; i < own.count; i++)
        own.all[i].at += t->from[talk];
    if (rc >= 0)
        rc = voice_losses_add(losses, own.all, own.count);
    voice_losses_free(&own);
    return rc;
}

static void close_talk(Typed *t)
{
    talk_close(t->talk[0]);
    t->talk[0] = t->talk[1];
    t->talk[1] = NULL;
    t->from[0] = t->from[1];
    t->talks--;
    t->heard = 0;
}

/* As within one text, a pause lies between two talks. */
static void take_piece(Typed *t, TypedPiece *piece)
{
    piece->silence = t->heard ? 0 : (int64_t)(t->pause * t->rate);
    piece->sound.at = (double)(t->count + piece->silence) / t->rate;
    t->count += piece->silence + piece->sound.count;
    t->heard = 1;
    t->begun = 1;
    if (piece->sound.part)
        t->pause = piece->sound.part->pause;
}

int typed_next(Typed *t, TypedPiece *piece, Err *err)
{
    *piece = (TypedPiece){0};
    for (;;) {
        int rc = begin_talk(t, err);
        if (rc)
            return rc;
        if (!t->talks && t->whole && t->at == t->text.size)
            return t->begun ? TALK_END : err_set(err, ERR_DATA, "the text has nothing to speak");
        if (!t->talks)
            return TYPED_MORE;
        rc = talk_next(t->talk[0], &piece->sound, 0, err);
        if (rc == TALK_PIECE)
            take_piece(t, piece);
        /* A line of a stream may have nothing to say: a picture, a row of dashes. */
        const int silent = rc == ERR_DATA && t->streams && !t->heard && talk_is_silent(t->talk[0]);
        if (rc != TALK_END && !silent)
            return rc;
        if (add_losses(t, 0, &t->losses))
            return err_set(err, ERR_NOMEM, "no memory for a list");
        close_talk(t);
    }
}

int typed_left_out(const Typed *t, VoiceLosses *losses)
{
    VoiceLosses all = {0};
    int rc = voice_losses_add(&all, t->losses.all, t->losses.count);
    for (int i = 0; i < t->talks && !rc; i++)
        rc = add_losses(t, i, &all);
    if (!rc && losses)
        rc = voice_losses_add(losses, all.all, all.count);
    const int count = (int)all.count;
    voice_losses_free(&all);
    return rc ? rc : count;
}

void typed_close(Typed *t)
{
    while (t->talks)
        close_talk(t);
    voice_losses_free(&t->losses);
    buf_free(&t->text);
}
