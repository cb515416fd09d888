/* judge.c - see judge.h. */
#include "judge/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "base/rng.h"
#include "base/stats.h"
#include "judge/words.h"

/* The bootstrap gives the same figures on every run: its draws have a fixed seed. */
#define DRAWS 10000
#define DRAW_SEED 20260

/* ---- clips ---- */

/* Nothing heard yet; does not free. */
static void clear_results(JudgeClip *clip)
{
    clip->heard = NULL;
    clip->words = clip->wrong = 0;
}

void judge_clips_clear(JudgeClip *clips, int n)
{
    for (int i = 0; i < n; i++) {
        free(clips[i].heard);
        clear_results(&clips[i]);
    }
}

void judge_clips_free(JudgeClip *clips, int n)
{
    for (int i = 0; clips && i < n; i++) {
        free((void *)(uintptr_t)clips[i].samples);
        free((void *)(uintptr_t)clips[i].said);
        free(clips[i].heard);
    }
    free(clips);
}

/* The words heard in one clip, and how many of those said are wrong. */
int judge_clip(JudgeClip *clip, Recogniser *r, Buf *heard, Err *err)
{
    clear_results(clip);
    int rc = recogniser_listen(r, heard, clip->samples, clip->count, clip->rate, err);
    if (rc)
        return rc;
    int words, wrong = words_wrong(clip->said, heard->data, &words);
    if (wrong == ERR_DATA)
        return err_set(err, ERR_DATA, "a text has more than %d words", WORDS_MOST);
    char *copy = wrong < 0 ? NULL : strdup(heard->data);
    if (!copy)
        return err_set(err, ERR_NOMEM, "no memory for the words of a clip");
    clip->heard = copy;
    clip->words = words;
    clip->wrong = wrong;
    return 0;
}

typedef struct Listener { /* of one thread */
    Recogniser *recogniser;
    Buf heard;
} Listener;

typedef struct Hearing {
    JudgeClip *clips;
    const char *language;
    Listener *listeners; /* [threads] */
    Err *errs;           /* [slots] */
} Hearing;

/* Recognisers are opened by the threads that use them, when they get their first clip. */
static void hear_clip(void *user, int thread, int slot, uint64_t item)
{
    Hearing *h = user;
    Listener *l = &h->listeners[thread];
    Err *err = &h->errs[slot];
    err_clear(err);
    if (!l->recogniser && recogniser_open(&l->recogniser, h->language, err))
        return;
    judge_clip(&h->clips[item], l->recogniser, &l->heard, err);
}

/* The first clip that failed ends it all, with its number. */
static int finish_clip(void *user, int slot, uint64_t item, Err *err)
{
    const Hearing *h = user;
    if (!h->errs[slot].code)
        return 0;
    if (err)
        *err = h->errs[slot];
    err_prefix(err, "clip %llu", (unsigned long long)item + 1);
    return h->errs[slot].code;
}

/* Results are all or nothing: after a failure no clip keeps its words. */
int judge_clips(JudgeClip *clips, int n, const char *language, int threads, Err *err)
{
    for (int i = 0; i < n; i++)
        clear_results(&clips[i]);
    if (threads > n)
        threads = n;
    if (threads < 1)
        threads = 1;
    /* Enough that a thread with a short clip need not wait for one with a long clip. */
    int slots = 2 * threads;
    Hearing h = {.clips = clips, .language = language};
    h.listeners = mem_calloc((size_t)threads, sizeof *h.listeners);
    h.errs = mem_calloc((size_t)slots, sizeof *h.errs);
    int rc = 0;
    if (!h.listeners || !h.errs)
        rc = err_set(err, ERR_NOMEM, "no memory to judge %d clips on %d threads", n, threads);
    if (!rc) /* the first one here, so that what is missing is said before any thread runs */
        rc = recogniser_open(&h.listeners[0].recogniser, language, err);
    if (!rc) {
        OrderedJob job = {.name = "judge",
                          .items = (uint64_t)(n > 0 ? n : 0),
                          .workers = threads > 1 ? threads : 0,
                          .slots = slots,
                          .user = &h,
                          .work = hear_clip,
                          .finish = finish_clip};
        rc = ordered_run(&job, err);
    }
    for (int i = 0; h.listeners && i < threads; i++) {
        recogniser_close(h.listeners[i].recogniser);
        buf_free(&h.listeners[i].heard);
    }
    if (rc)
        judge_clips_clear(clips, n);
    free(h.listeners);
    free(h.errs);
    return rc;
}

/* ---- figures ---- */

/* No words, no share: 0 rather than NaN. */
static double share_of(int64_t wrong, int64_t words)
{
    return (double)wrong / (double)(words > 0 ? words : 1);
}

/* Over all words, not the mean over clips: short clips must not weigh more. */
WordScore judge_score(const JudgeClip *clips, int n)
{
    WordScore s = {0};
    for (int i = 0; i < n; i++) {
        s.words += clips[i].words;
        s.wrong += clips[i].wrong;
    }
    s.share = share_of(s.wrong, s.words);
    return s;
}

/* How much of the difference is chance: the clips are resampled ten thousand times. */
WordDifference judge_difference(const JudgeClip *a, const JudgeClip *b, int n)
{
    WordDifference d = {0};
    if (n < 1)
        return d;
    d.points = 100.0 * (judge_score(a, n).share - judge_score(b, n).share);
    /* Pairs are drawn together: both voices spoke the same text, so their errors go together. */
    double drawn[DRAWS];
    Rng rng;
    rng_seed(&rng, DRAW_SEED);
    for (int i = 0; i < DRAWS; i++) {
        int64_t wrong_a = 0, wrong_b = 0, words_a = 0, words_b = 0;
        for (int k = 0; k < n; k++) {
            uint64_t at = rng_below(&rng, (uint64_t)n);
            wrong_a += a[at].wrong;
            words_a += a[at].words;
            wrong_b += b[at].wrong;
            words_b += b[at].words;
        }
        drawn[i] = 100.0 * (share_of(wrong_a, words_a) - share_of(wrong_b, words_b));
    }
    d.low = stats_percentile(drawn, DRAWS, 0.025);
    d.high = stats_percentile(drawn, DRAWS, 0.975);
    return d;
}
