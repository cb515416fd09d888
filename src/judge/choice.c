/* choice.c - see choice.h. */
#include "judge/choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define OWN_TEXT 0.04 /* share of the alignment's loss; with less the text is not learned */
#define DIVERGED 2.0  /* times the lowest loss of validation: such weights are not looked at */
#define SHORTEST 0.5  /* of the recordings' length; what is shorter, or longer than LONGEST, is babble */
#define LONGEST 2.0
#define STILL 0.1    /* movement beside the recordings'; with less no sound follows another */
#define LEARNING 0.8 /* of the lowest loss until then: a best that is so far behind was still learning */
#define FAR 1.1      /* of the lowest loss of a vocoder that critics teach; within it the newest is best */
#define WORSE_WORDS 0.05 /* share of the words; less is not clearly worse */
#define CHANCE 2.0       /* standard errors */
/* In words: as well as the recordings, most, few; shares that are wrong, the first two beside theirs. */
#define AS_WELL 0.05
#define MOST_WORDS 0.2
#define FEW_WORDS 0.7
#define DEAF 0.6    /* of the recordings' words wrong: the recogniser tells nothing */
#define COUNTED 100 /* words; of fewer, one is more than a point of a percentage */

void choice_begin(Choice *c) { *c = (Choice){.best.loss = INFINITY, .lowest_loss = INFINITY}; }

int judged_speaks(const Judged *j) { return j->ear.movement > 0; }

int choice_speaks(const Choice *c, const EarFigures *f, double own_text, double loss)
{
    return f->movement >= STILL && f->length_ratio >= SHORTEST && f->length_ratio <= LONGEST &&
           !(own_text < OWN_TEXT) && loss <= DIVERGED * fmin(c->lowest_loss, loss);
}

/* --- a validation --- */

/* By the ear. The peak stays where it was when one that sounds the same comes later: many small steps down
 * are no way to a worse voice. While the loss still falls by much, what was lively before was noise or, after
 * --init-from, somebody else. */
static int validate_speech(Choice *c, const Judged *j, double tie, double min_delta)
{
    const double score = ear_score(&j->ear);
    const int first = !judged_speaks(&c->best) || j->loss < LEARNING * c->floor;
    const int better = first || score >= c->peak - tie;
    const int much = first || score > c->level + fmax(tie, min_delta);
    c->peak = first ? score : fmax(c->peak, better ? score : 0);
    c->stale = much ? 0 : c->stale + 1;
    if (much)
        c->level = score;
    return better;
}

/* By the loss, where nothing can be heard. */
static int validate_loss(Choice *c, const Judged *j, double min_delta)
{
    const int first = !c->best.step || j->taught > c->best.taught;
    const int better =
        first || (j->taught ? j->loss <= FAR * c->level : !judged_speaks(&c->best) && j->loss < c->best.loss);
    if (j->taught)
        c->level = first ? j->loss : fmin(c->level, j->loss);
    const int much = better && (first || j->loss < c->best.loss - min_delta);
    c->stale = much ? 0 : c->stale + 1;
    return better;
}

int choice_validate(Choice *c, const Judged *j, int sentences, double min_delta)
{
    if (!isfinite(j->loss)) {
        c->stale++;
        return 0;
    }
    const int better = judged_speaks(j) ? validate_speech(c, j, ear_tie(sentences), min_delta)
                                        : validate_loss(c, j, min_delta);
    if (j->loss < c->lowest_loss) {
        c->lowest_loss = j->loss;
        c->lowest_step = j->step;
    }
    if (better) {
        c->best = *j;
        c->floor = c->lowest_loss;
    }
    return better;
}

/* --- words --- */

static double share_of(const Judged *j) { return (double)j->wrong / (double)j->words; }

/* Variance of a share. More words may be wrong than were said. */
static double doubt(const Judged *j)
{
    const double p = fmin(share_of(j), 1);
    return p * (1 - p) / (double)j->words;
}

static int clearly_worse(const Judged *a, const Judged *b, const WordScore *recordings)
{
    if (!a->words || !b->words || (recordings->words && share_of(a) <= recordings->share))
        return 0;
    const double more = share_of(a) - share_of(b);
    return more > WORSE_WORDS && more > CHANCE * sqrt(doubt(a) + doubt(b));
}

static void take_words(Judged *to, const Judged *heard)
{
    if (to->step != heard->step)
        return;
    to->words = heard->words;
    to->wrong = heard->wrong;
    to->their_words = heard->their_words;
    to->their_wrong = heard->their_wrong;
}

WordsVerdict choice_hear(Choice *c, Judged *before, const Judged *heard, const WordScore *recordings)
{
    if (!heard->words || !c->best.step)
        return WORDS_CHANGE_NOTHING;
    take_words(&c->best, heard);
    take_words(before, heard);
    if (before->step && clearly_worse(&c->best, before, recordings)) {
        c->best = *before; /* the floor stays: that of now is not higher */
        c->peak = ear_score(&before->ear);
        return WORDS_RETURN;
    }
    if (heard->step != c->best.step && judged_speaks(heard) && clearly_worse(&c->best, heard, recordings)) {
        c->peak = 0;
        return WORDS_PREFER;
    }
    return WORDS_CHANGE_NOTHING;
}

/* --- in words --- */

int judged_words(char *out, size_t cap, int64_t wrong, int64_t words)
{
    const int counted = words < COUNTED;
    if (counted)
        snprintf(out, cap, "%lld of %lld words wrong", (long long)wrong, (long long)words);
    else
        snprintf(out, cap, "%.0f %% of the words wrong", 100 * (double)wrong / (double)words);
    return counted;
}

void judged_why(const Judged *j, int has_ear, char *out, size_t cap)
{
    char figures[120], words[60] = "";
    if (cap)
        *out = 0;
    if (!j->step)
        return;
    ear_sentence(&j->ear, figures, sizeof figures);
    if (j->words) {
        memcpy(words, ", ", 2);
        judged_words(words + 2, sizeof words - 2, j->wrong, j->words);
    }
    if (judged_speaks(j))
        snprintf(out, cap, "step %lld: closest to the recordings (%s)%s", (long long)j->step, figures, words);
    else if (j->taught)
        snprintf(out, cap, "step %lld: the newest that the critics have taught (validation loss %.4f)",
                 (long long)j->step, j->loss);
    else
        snprintf(out, cap, "step %lld: lowest validation loss (%.4f)%s", (long long)j->step, j->loss,
                 has_ear ? ", before the voice could be judged by ear" : "");
}

/* 1: the voice and the recordings differ by more than chance. */
static int is_told_apart(const Judged *j, const Judged *theirs)
{
    return fabs(share_of(j) - share_of(theirs)) > CHANCE * sqrt(doubt(j) + doubt(theirs));
}

/* No more wrong than in the recordings, most right, some right; of few words it may not be known. */
static void add_words(Buf *out, const Judged *j)
{
    const Judged recordings = {.words = j->their_words, .wrong = j->their_wrong};
    char ours[60];
    if (!j->words) {
        buf_str(out, "Its words were not measured: listen to them.");
        return;
    }
    const double wrong = share_of(j), theirs = recordings.words ? share_of(&recordings) : 0;
    if (theirs > DEAF) {
        buf_str(
            out,
            "A recogniser does not understand the recordings themselves, so its words could not be judged: "
            "listen to them.");
        return;
    }
    const char *understood = wrong <= theirs + AS_WELL      ? "Its words are"
                             : wrong <= theirs + MOST_WORDS ? "Most of its words are"
                             : wrong < FEW_WORDS            ? "Some of its words are"
                                                            : "Its words are not yet";
    judged_words(ours, sizeof ours, j->wrong, j->words);
    if (!recordings.words)
        buf_printf(out, "A recogniser got %s.", ours);
    else if (j->words >= COUNTED)
        buf_printf(out, "%s understood (%.0f %% wrong, %.0f %% in the recordings).", understood, 100 * wrong,
                   100 * theirs);
    else if (is_told_apart(j, &recordings))
        buf_printf(out, "%s understood: a recogniser got %s, %lld of %lld in the recordings.", understood,
                   ours, (long long)j->their_wrong, (long long)j->their_words);
    else
        buf_printf(out,
                   "A recogniser got %s, %lld of %lld in the recordings: too few words to tell them apart.",
                   ours, (long long)j->their_wrong, (long long)j->their_words);
}

void judged_sounds(const Judged *j, char *out, size_t cap)
{
    const EarFigures *f = &j->ear;
    Buf s = {0};
    if (!judged_speaks(j)) {
        snprintf(out, cap, "It does not speak yet: train it longer.");
        return;
    }
    add_words(&s, j);
    buf_printf(&s, " It sounds %s",
               f->movement < 0.6    ? "dull"
               : f->movement < 0.85 ? "a little dull"
               : f->movement < 1.15 ? "as lively as the recordings"
                                    : "restless, with noise in it");
    const int flat = f->pitch_range > 0 && f->pitch_range<0.75, wide = f->pitch_range> 1.3;
    const int fast = f->length_ratio > 0 && f->length_ratio<0.9, slow = f->length_ratio> 1.1;
    if (flat || wide)
        buf_printf(&s, "%s its melody is %s", fast || slow ? "," : ", and", flat ? "flat" : "overdone");
    if (fast || slow)
        buf_printf(&s, ", and it speaks too %s", fast ? "fast" : "slowly");
    buf_str(&s, ".");
    snprintf(out, cap, "%s", s.failed ? "" : (const char *)s.data);
    buf_free(&s);
}

void judged_json(json_t *o, const Judged *j, int has_ear)
{
    char why[300];
    judged_why(j, has_ear, why, sizeof why);
    json_object_set_new(o, "best_step", json_integer((json_int_t)j->step));
    json_object_set_new(o, "best_loss", json_from_double(j->loss));
    json_object_set_new(o, "best_score",
                        judged_speaks(j) ? json_from_double(ear_score(&j->ear)) : json_null());
    json_object_set_new(o, "best_why", *why ? json_string(why) : json_null());
}
