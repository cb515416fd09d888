/* limits.c - see limits.h. */
#include "cache/limits.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "audio/mel.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/utf8.h"
#include "base/words/words.h"
#include "cache/accept.h"
#include "dataset/audio_file.h"

/* Lengths of the clips, by kind. */
typedef struct Lengths {
    double *seconds, *characters, *frames; /* [count of each] */
    size_t second_count, character_count, frame_count;
    uint64_t guessed; /* of seconds and frames */
} Lengths;

/* A clip that is rejected for another reason than a limit is none that a limit costs. */
static int counts(const LimitsInput *in, size_t i)
{
    RejectReason r = in->rejected ? (RejectReason)in->rejected[i] : REJECT_NONE;
    return r == REJECT_NONE || r == REJECT_AUDIO_TOO_SHORT || r == REJECT_AUDIO_TOO_LONG ||
           r == REJECT_TEXT_TOO_LONG || r == REJECT_MEL_TOO_LONG;
}

static int has_mels(const LimitsInput *in) { return in->mel && in->mel->count > 0; }

/* The store that knows the lengths; NULL: none does. */
static const Store *store_of(const LimitsInput *in)
{
    if (has_mels(in))
        return in->mel;
    return in->audio && in->audio->count > 0 ? in->audio : NULL;
}

/* 1 and the entry of the clip; 0 if the store has none. */
static int find(const LimitsInput *in, const Utterance *u, StoreEntry *e)
{
    const Store *s = store_of(in);
    int64_t at = s ? store_find(s, u->id.p, u->id.n) : -1;
    if (at >= 0)
        store_entry(s, (uint64_t)at, e);
    return at >= 0;
}

/* From the header: seconds as prepare judges them, frames before trimming. 0 if it cannot be read. */
static int probe(const LimitsInput *in, size_t i, double *seconds, double *frames)
{
    const Utterance *u = &in->dataset->utterances[i];
    char path[PATH_MAX], detail[256];
    AudioInfo info;
    if (in->seconds)
        *seconds = in->seconds[i];
    else if (dataset_audio_path(in->dataset, u, path, sizeof path, NULL) ||
             audio_probe(&info, path, 0, 0, detail, sizeof detail) != REJECT_NONE || info.rate <= 0)
        return 0;
    else
        *seconds = (double)info.frames / info.rate;
    *frames = floor(*seconds * in->cfg->sample_rate / in->cfg->hop_length) + 1;
    return *seconds > 0;
}

/* Clips that only a header can tell about. */
static size_t without_mel(const LimitsInput *in)
{
    size_t n = 0;
    StoreEntry e;
    for (size_t i = 0; i < in->dataset->count; i++)
        n += counts(in, i) && !find(in, &in->dataset->utterances[i], &e);
    return n;
}

static void gather(Lengths *l, const LimitsInput *in)
{
    size_t missing = in->most_headers && !in->seconds ? without_mel(in) : 0, seen = 0;
    size_t step = in->seconds ? 1 : in->most_headers ? missing / in->most_headers + 1 : 0;
    for (size_t i = 0; i < in->dataset->count; i++) {
        const Utterance *u = &in->dataset->utterances[i];
        StoreEntry e;
        double seconds = 0, frames = 0;
        if (!counts(in, i))
            continue;
        int made = find(in, u, &e);
        if (made && e.status != 0)
            continue;
        int looked = !made && step && seen++ % step == 0;
        int read = looked && probe(in, i, &seconds, &frames);
        if (made) {
            seconds = source_seconds(&e);
            frames = has_mels(in) ? e.items : (double)mel_frames_with(in->cfg, e.items);
        }
        l->guessed += (uint64_t)read;
        if (made || read) {
            l->seconds[l->second_count++] = seconds;
            l->frames[l->frame_count++] = frames;
        }
        if (!looked || read) /* without a recording there is no clip to lose */
            l->characters[l->character_count++] = (double)utf8_count(u->text.p, u->text.n);
    }
}

const char *limits_key(int i)
{
    static const char *const keys[LIMITS_COUNT] = {"min_audio_length", "max_audio_length", "max_text_length",
                                                   "max_mel_frames"};
    return keys[i];
}

/* values are sorted by this. */
static LimitCost judge(int number, double limit, int is_least, double unit, double *values, size_t n)
{
    LimitCost c = {.key = limits_key(number), .limit = limit, .clips = n, .keeps = limit};
    if (!n)
        return c;
    stats_percentile(values, n, 0);
    for (size_t i = 0; i < n; i++)
        c.lost += is_least ? values[i] < limit : values[i] > limit;
    size_t may_lose = n - (size_t)ceil(LIMITS_KEEP * (double)n);
    /* Rounded to the unit, away from the clips that are kept. */
    double bound = is_least ? values[may_lose] / unit : values[n - 1 - may_lose] / unit;
    c.keeps = is_least ? floor(bound + 1e-9) * unit : ceil(bound - 1e-9) * unit;
    return c;
}

int limits_measure(LimitCosts *out, const LimitsInput *in, Err *err)
{
    const Config *cfg = in->cfg;
    size_t n = in->dataset->count;
    double *room = mem_calloc(3 * n + 1, sizeof *room);
    *out = (LimitCosts){0};
    if (!room)
        return err_set(err, ERR_NOMEM, "no memory for the lengths of %zu clips", n);
    Lengths l = {.seconds = room, .characters = room + n, .frames = room + 2 * n};
    gather(&l, in);
    out->limit[0] = judge(0, cfg->min_audio_length, 1, 0.01, l.seconds, l.second_count);
    out->limit[1] = judge(1, cfg->max_audio_length, 0, 0.01, l.seconds, l.second_count);
    out->limit[2] = judge(2, cfg->max_text_length, 0, 1, l.characters, l.character_count);
    out->limit[3] = judge(3, cfg->max_mel_frames, 0, 1, l.frames, l.frame_count);
    out->limit[3].guessed = l.guessed;
    free(room);
    return 0;
}

int limit_costs_much(const LimitCost *c) { return (double)c->lost > (1 - LIMITS_KEEP) * (double)c->clips; }

const char *limit_sentence(const LimitCost *c, char *out, size_t cap)
{
    if (cap)
        out[0] = 0;
    if (!c->lost)
        return out;
    const unsigned long long lost = c->lost, clips = c->clips;
    const double share = 100 * (double)lost / (double)clips;
    if (c->guessed)
        say(out, cap, SAY_CHECK_LIMIT_ABOUT, c->key, c->limit, lost, clips, share);
    else
        say(out, cap, SAY_CHECK_LIMIT, c->key, c->limit, lost, clips, share);
    if (limit_costs_much(c))
        say_more(out, cap, SAY_CHECK_LIMIT_KEEPS, c->keeps, 100 * LIMITS_KEEP);
    return out;
}

json_t *limits_json(const LimitCosts *c)
{
    json_t *all = json_array();
    for (int i = 0; i < LIMITS_COUNT; i++) {
        const LimitCost *l = &c->limit[i];
        if (l->clips)
            json_array_append_new(all, json_pack("{s:s, s:f, s:I, s:I, s:f, s:f}", "key", l->key, "limit",
                                                 l->limit, "clips", (json_int_t)l->clips, "lost",
                                                 (json_int_t)l->lost, "share",
                                                 (double)l->lost / (double)l->clips, "keeps", l->keeps));
    }
    return all;
}
