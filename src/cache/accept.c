/* accept.c - see accept.h. */
#include "cache/accept.h"
#include "base/hash.h"
#include "base/utf8.h"

#include <stdio.h>

/* A clip of exactly the limit is within it. */
RejectReason accept_seconds(const Config *cfg, double seconds, char *detail, size_t cap)
{
    int shorter = seconds < cfg->min_audio_length;
    if (!shorter && !(seconds > cfg->max_audio_length))
        return REJECT_NONE;
    if (detail)
        snprintf(detail, cap, "%.2f s, %s is %g s", seconds,
                 shorter ? "min_audio_length" : "max_audio_length",
                 shorter ? cfg->min_audio_length : cfg->max_audio_length);
    return shorter ? REJECT_AUDIO_TOO_SHORT : REJECT_AUDIO_TOO_LONG;
}

/* Longer texts and clips are left out, never cut. Characters are what people count who set the limit; how
 * many tokens become of them depends on phonemes and blanks. */
RejectReason accept_text(const Config *cfg, Str text, char *detail, size_t cap)
{
    size_t characters = utf8_count(text.p, text.n);
    if (characters <= (size_t)cfg->max_text_length)
        return REJECT_NONE;
    if (detail)
        snprintf(detail, cap, "%zu characters, but max_text_length is %d", characters, cfg->max_text_length);
    return REJECT_TEXT_TOO_LONG;
}

RejectReason accept_frames(const Config *cfg, uint32_t frames, char *detail, size_t cap)
{
    if (frames <= (uint32_t)cfg->max_mel_frames)
        return REJECT_NONE;
    if (detail)
        snprintf(detail, cap, "%u frames, but max_mel_frames is %d", frames, cfg->max_mel_frames);
    return REJECT_MEL_TOO_LONG;
}

int accept_fits(uint32_t tokens, uint32_t frames) { return tokens <= frames; }

int accept_is_lasting(RejectReason reason)
{
    return reason == REJECT_AUDIO_NOT_FINITE || reason == REJECT_AUDIO_SILENT;
}

/* Of this very text: a line that was changed after prepare has another key. */
static int usable_text(TextView *v, const StoreEntry *e, Hash128 settings, const Utterance *u)
{
    return e->status == 0 && hash_equal(e->key, text_key(settings, u)) && text_view(v, e) == 0;
}

/* In the form that the batch layout counts on. */
static int usable_mel(MelView *v, const StoreEntry *e, const Config *cfg)
{
    return e->status == 0 && mel_view(v, e) == 0 && v->bands == (uint32_t)cfg->n_mels &&
           v->storage == cfg->mel_storage && v->frames > 0;
}

int accept_records(AcceptedRecords *r, const Config *cfg, const Store *text, const Store *mel,
                   Hash128 text_settings, const Utterance *u)
{
    int64_t t = store_find(text, u->id.p, u->id.n);
    int64_t m = store_find(mel, u->id.p, u->id.n);
    StoreEntry text_entry, mel_entry;
    if (t < 0 || m < 0)
        return 0;
    r->text_entry = (uint64_t)t;
    r->mel_entry = (uint64_t)m;
    store_entry(text, r->text_entry, &text_entry);
    store_entry(mel, r->mel_entry, &mel_entry);
    return usable_text(&r->text, &text_entry, text_settings, u) && usable_mel(&r->mel, &mel_entry, cfg);
}
