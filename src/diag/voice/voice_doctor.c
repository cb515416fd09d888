/* voice_doctor.c - one function for each cause: what speaks for it, in numbers, and what to do. */
#include "diag/voice/voice_doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/stats.h"
#include "base/words/words.h"
#include "diag/report/thresholds.h"

#define YOUNG_STEPS 1000   /* a run that is still going on is not told before this what it has not learned */
#define LATER 3            /* validations after the lowest, all above it, before it is called overfitting */
#define NOTHING 1.4        /* loss of an untrained network for each unit of the weights of its terms */
#define ASTRAY 3           /* times that loss: the weights are ruined */
#define RISEN 5            /* times the lowest loss, and above the first: the same */
#define LEARNING_STEPS 100 /* from the first line of the log to one that must be lower */
#define LEARNED 0.95       /* of the first loss: a loss above it has not fallen */
#define PREDICTED_CLIPS 8  /* held-out clips that predictions are judged by, at the least */
/* From a usual fit to that of a text that is not said: suspects are further along. */
#define SUSPECT_WAY 0.4
#define SUSPECT_CLIPS 30  /* clips that an outlier can be told among, at the least */
#define BEGINNING 0.25    /* of the steps */
#define JUDGED_WORDS 50   /* of the recordings, from which the judge itself is judged */
#define SURE 2.0          /* standard errors between two shares of words */
#define SPEECH_FRAMES 3.0 /* frames per symbol from which a symbol of one frame is remarkable */

/* As in JSON. */
const char *voice_cause_name(VoiceCause c)
{
    static const char *const names[VOICE_CAUSE_COUNT] = {"sample_rate", "silence", "loss",     "alignment",
                                                         "durations",   "words",   "texts",    "clipping",
                                                         "overfitting", "pitch",   "few_clips"};
    ASSERT(c >= 0 && c < VOICE_CAUSE_COUNT);
    return names[c];
}

const char *voice_cause_shown(VoiceCause c)
{
    static const Word shown[VOICE_CAUSE_COUNT] = {[VOICE_SAMPLE_RATE] = SAY_VOICE_CAUSE_SAMPLE_RATE,
                                                  [VOICE_SILENCE] = SAY_VOICE_CAUSE_SILENCE,
                                                  [VOICE_LOSS] = SAY_VOICE_CAUSE_LOSS,
                                                  [VOICE_ALIGNMENT] = SAY_VOICE_CAUSE_ALIGNMENT,
                                                  [VOICE_DURATIONS] = SAY_VOICE_CAUSE_DURATIONS,
                                                  [VOICE_WORDS] = SAY_VOICE_CAUSE_WORDS,
                                                  [VOICE_TEXTS] = SAY_VOICE_CAUSE_TEXTS,
                                                  [VOICE_CLIPPING] = SAY_VOICE_CAUSE_CLIPPING,
                                                  [VOICE_OVERFITTING] = SAY_VOICE_CAUSE_OVERFITTING,
                                                  [VOICE_PITCH] = SAY_VOICE_CAUSE_PITCH,
                                                  [VOICE_FEW_CLIPS] = SAY_VOICE_CAUSE_FEW_CLIPS};
    return word(shown[c]);
}

/* What nobody has measured is NaN, and no threshold judges it. */
void voice_facts_clear(VoiceFacts *f)
{
    *f = (VoiceFacts){
        .seconds = NAN, .f0 = NAN, .sounds_per_s = NAN, .clipped_samples = NAN, .pitch_variance = NAN};
    f->cost = f->own_text = f->ones = f->held = f->frames_per_symbol = NAN;
    f->pitch_explained = f->duration_explained = f->diverged_from = NAN;
    f->diverged.step = -1;
    for (int i = 0; i < TERM_COUNT; i++)
        f->weight[i] = NAN;
}

void voice_facts_free(VoiceFacts *f)
{
    free(f->train);
    free(f->validation);
    free(f->heard);
    free(f->clip);
    block_free(&f->strings);
    voice_facts_clear(f);
}

/* --- suspects --- */

/* The most suspect first; the order is the same in every run. */
static int compare_scores(const void *a, const void *b)
{
    const VoiceClip *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->utterance > y->utterance) - (x->utterance < y->utterance);
}

/* Median, and the deviation that the median distance from it stands for where the values are normal. */
static void spread(double *x, size_t n, double *median, double *deviation)
{
    *median = stats_percentile(x, n, 0.5);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - *median);
    *deviation = 1.4826 * stats_percentile(x, n, 0.5);
}

/* The cost from which on a text fits badly, by itself: on the way from what texts usually cost to what other
 * clips' texts do. Where the other text is nearly the same sentence it fits nearly as well, which says
 * nothing against either. */
static double bad_cost(const VoiceFacts *f, double *x)
{
    double median[2];
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        for (size_t i = 0; i < f->clip_count; i++)
            if (f->clip[i].other > 0)
                x[n++] = k ? f->clip[i].other : f->clip[i].cost;
        median[k] = stats_percentile(x, n, 0.5);
    }
    return median[0] + SUSPECT_WAY * (median[1] - median[0]);
}

/* A text that is not said fits its clip as badly as another clip's text does. */
int voice_suspects(VoiceFacts *f, Err *err)
{
    size_t n = 0;
    double *x = mem_calloc(f->clip_count ? f->clip_count : 1, sizeof *x), median, deviation;
    if (!x)
        return err_set(err, ERR_NOMEM, "no memory to compare %zu clips", f->clip_count);
    f->suspects = 0;
    for (size_t i = 0; i < f->clip_count; i++) {
        VoiceClip *c = &f->clip[i];
        c->score = 0;
        c->suspect = 0;
        if (c->other > 0)
            x[n++] = c->cost / c->other;
    }
    /* Without a learned alignment every text fits badly. */
    if (n < SUSPECT_CLIPS || threshold_judge(LIMIT_VOICE_OWN_TEXT, f->own_text) == STATUS_BAD) {
        free(x);
        return 0;
    }
    spread(x, n, &median, &deviation);
    const double bad = bad_cost(f, x);
    free(x);
    for (size_t i = 0; i < f->clip_count && deviation > 0; i++) {
        VoiceClip *c = &f->clip[i];
        if (!(c->other > 0))
            continue;
        const double fit = c->cost / c->other;
        c->score = (fit - median) / deviation;
        c->suspect = threshold_judge(LIMIT_VOICE_SUSPECT, c->score) == STATUS_BAD &&
                     fit > median + SUSPECT_WAY * (1 - median) && c->cost > bad;
        f->suspects += c->suspect;
    }
    qsort(f->clip, f->clip_count, sizeof *f->clip, compare_scores);
    return 0;
}

/* --- sentences --- */

#define EVIDENCE(v, ...) say_more((v)->evidence, sizeof(v)->evidence, __VA_ARGS__)
#define ADVICE(v, ...) say_more((v)->advice, sizeof(v)->advice, __VA_ARGS__)

/* Behind what is in out: marks between parts. */
static void join(char *out, size_t cap, const char *mark)
{
    const size_t n = strlen(out);
    snprintf(out + n, cap - n, "%s", mark);
}
#define MARK(v, mark) join((v)->evidence, sizeof(v)->evidence, mark)

static int is_bad(LimitId id, double value) { return threshold_judge(id, value) == STATUS_BAD; }

/* Known, and not good. */
static int is_odd(LimitId id, double value)
{
    return is_bad(id, value) || threshold_judge(id, value) == STATUS_ACCEPTABLE;
}

/* Of either curve. */
static int64_t newest_step(const VoiceFacts *f)
{
    int64_t step = -1;
    if (f->train_count)
        step = f->train[f->train_count - 1].step;
    if (f->validation_count && f->validation[f->validation_count - 1].step > step)
        step = f->validation[f->validation_count - 1].step;
    return step;
}

static int is_young(const VoiceFacts *f) { return !f->ended && newest_step(f) < YOUNG_STEPS; }

/* --- the recordings --- */

/* Speech too fast and a voice too high at once, or one of them beyond all doubt. */
static int find_sample_rate(VoiceFinding *v, const VoiceFacts *f)
{
    const double rate = f->sounds_per_s, f0 = f->f0;
    int fast = is_bad(LIMIT_VOICE_FAST, rate) || is_bad(LIMIT_VOICE_HIGH, f0) ||
               (is_odd(LIMIT_VOICE_FAST, rate) && is_odd(LIMIT_VOICE_HIGH, f0));
    int slow = is_bad(LIMIT_VOICE_SLOW, rate) || is_bad(LIMIT_VOICE_LOW, f0) ||
               (is_odd(LIMIT_VOICE_SLOW, rate) && is_odd(LIMIT_VOICE_LOW, f0));
    if (fast == slow) /* neither, or a voice that contradicts itself */
        return 0;
    if (fast)
        EVIDENCE(v, SAY_VOICE_FAST);
    else
        EVIDENCE(v, SAY_VOICE_SLOW);
    if (isfinite(rate))
        EVIDENCE(v, SAY_VOICE_RATE, rate);
    if (isfinite(rate) && isfinite(f0))
        MARK(v, word(SAY_COMMA));
    if (isfinite(f0))
        EVIDENCE(v, SAY_VOICE_F0, f0);
    MARK(v, ".");
    if (fast)
        ADVICE(v, SAY_VOICE_FAST_ADVICE);
    else
        ADVICE(v, SAY_VOICE_SLOW_ADVICE);
    return 1;
}

/* Lines that were left out as silent, and clips that are silent for most of their time. */
static int find_silence(VoiceFinding *v, const VoiceFacts *f)
{
    if (!f->looked && !f->silent_lines)
        return 0;
    double quiet = f->looked ? (double)f->looked_quiet / (double)f->looked : 0;
    double all = (double)(f->clips + f->silent_lines),
           share = ((double)f->silent_lines + quiet * (double)f->clips) / all;
    if (!is_bad(LIMIT_VOICE_SILENT, share))
        return 0;
    EVIDENCE(v, SAY_VOICE_SILENCE, 100 * share);
    MARK(v, ": ");
    if (f->silent_lines)
        EVIDENCE(v, SAY_VOICE_SILENCE_LINES, (long long)f->silent_lines, (long long)all);
    if (f->silent_lines && f->looked_quiet)
        MARK(v, word(SAY_VOICE_AND));
    if (f->looked_quiet)
        EVIDENCE(v, SAY_VOICE_SILENCE_HALF, (long long)f->looked_quiet, (long long)f->looked);
    MARK(v, ".");
    ADVICE(v, SAY_VOICE_SILENCE_ADVICE);
    return 1;
}

/* Samples at the limit, several in a row. */
static int find_clipping(VoiceFinding *v, const VoiceFacts *f)
{
    double share = f->looked ? (double)f->looked_clipped / (double)f->looked : (double)NAN;
    if (!is_bad(LIMIT_VOICE_CLIPPED, share))
        return 0;
    EVIDENCE(v, SAY_VOICE_CLIPPING, 100 * share, (long long)f->looked_clipped, (long long)f->looked,
             100 * f->clipped_samples);
    ADVICE(v, SAY_VOICE_CLIPPING_ADVICE);
    return 1;
}

/* Little data is no mistake, but its consequences should be known. */
static int find_few_clips(VoiceFinding *v, const VoiceFacts *f)
{
    const double minutes = f->seconds / 60;
    if (!f->clips || (!is_bad(LIMIT_VOICE_CLIPS, (double)f->clips) && !is_bad(LIMIT_VOICE_MINUTES, minutes)))
        return 0;
    say_count(v->evidence, sizeof v->evidence, SAY_VOICE_FEW, f->clips, (long long)f->clips, minutes);
    if (f->rare_sounds)
        EVIDENCE(v, SAY_VOICE_RARE, f->rare_sounds, f->sounds, VOICE_RARE);
    MARK(v, ".");
    ADVICE(v, SAY_VOICE_FEW_ADVICE);
    return 1;
}

/* --- the training --- */

/* Distance per value, without the weight: 1 is knowing nothing. */
double voice_align_cost(const VoiceFacts *f, int64_t *step)
{
    const VoicePoint *p = f->validation_count ? &f->validation[f->validation_count - 1]
                          : f->train_count    ? &f->train[f->train_count - 1]
                                              : NULL;
    *step = p ? p->step : -1;
    return p ? 2 * p->terms[TERM_ALIGN] / f->weight[TERM_ALIGN] : (double)NAN;
}

/* Of the alignment itself, or of the newest validation. */
static double own_text(const VoiceFacts *f)
{
    if (isfinite(f->own_text) || !f->validation_count)
        return f->own_text;
    return f->validation[f->validation_count - 1].own_text;
}

static int is_aligned(const VoiceFacts *f) { return !is_bad(LIMIT_VOICE_OWN_TEXT, own_text(f)); }

/* The curve that the loss is judged by: of the training, or, where only that is known, of validations. */
static const VoicePoint *loss_curve(const VoiceFacts *f, size_t *count)
{
    *count = f->train_count ? f->train_count : f->validation_count;
    return f->train_count ? f->train : f->validation;
}

/* What an untrained network costs, about; NaN: the weights of the terms are not known. */
static double untrained_loss(const VoiceFacts *f, const VoicePoint *p)
{
    double weights = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        if (loss_term_counts((LossTerm)i) && isfinite(p->terms[i]))
            weights += f->weight[i];
    return weights > 0 ? NOTHING * weights : (double)NAN;
}

/* How a loss shows that the weights are ruined. */
typedef enum { SOUND, STOPPED, FAR_ABOVE, NOT_BACK, ROSE } Divergence;

/* *now: the loss that shows it. *then: the one that it is compared with; not of FAR_ABOVE. */
static Divergence divergence(const VoiceFacts *f, VoicePoint *now, VoicePoint *then)
{
    size_t count;
    const VoicePoint *curve = loss_curve(f, &count);
    if (f->diverged.step >= 0) {
        *now = f->diverged;
        *then = (VoicePoint){.step = -1, .loss = f->diverged_from};
        return STOPPED;
    }
    if (!count)
        return SOUND;
    const VoicePoint *last = &curve[count - 1], *lowest = curve, *highest = curve;
    for (size_t i = 1; i < count; i++) {
        lowest = curve[i].loss < lowest->loss ? &curve[i] : lowest;
        highest = curve[i].loss > highest->loss ? &curve[i] : highest;
    }
    const double untrained = untrained_loss(f, last);
    *now = *last;
    if (last->loss > ASTRAY * untrained)
        return FAR_ABOVE;
    *then = *highest;
    if (highest->loss > ASTRAY * untrained && last->loss > untrained)
        return NOT_BACK;
    *then = *lowest;
    return last->loss > RISEN * lowest->loss && last->loss > curve[0].loss ? ROSE : SOUND;
}

static int is_diverged(const VoiceFacts *f)
{
    VoicePoint now, then;
    return divergence(f, &now, &then) != SOUND;
}

/* As far from the recordings as at the beginning. */
static int is_stuck(const VoiceFacts *f)
{
    int64_t step;
    if (f->train_count < 2 || !is_bad(LIMIT_VOICE_COST, voice_align_cost(f, &step)))
        return 0;
    const VoicePoint *first = &f->train[0], *last = &f->train[f->train_count - 1];
    return last->step - first->step >= LEARNING_STEPS && last->loss > LEARNED * first->loss;
}

/* The highest learning rate so far ends the evidence. */
static void end_with_rate(VoiceFinding *v, const VoiceFacts *f)
{
    double highest = NAN;
    for (size_t i = 0; i < f->train_count; i++)
        highest = fmax(highest, f->train[i].lr);
    if (isfinite(highest))
        EVIDENCE(v, SAY_VOICE_HIGHEST_RATE, highest);
    MARK(v, ".");
}

/* A learning rate that does not fit: the loss says so before anything else does. */
static int find_loss(VoiceFinding *v, const VoiceFacts *f)
{
    VoicePoint now, then;
    const Divergence d = divergence(f, &now, &then);
    if (d != SOUND) {
        v->step = now.step;
        EVIDENCE(v, SAY_VOICE_DIVERGED, now.loss, (long long)now.step);
        if (d == FAR_ABOVE)
            EVIDENCE(v, SAY_VOICE_DIVERGED_ABOVE);
        else if (d != STOPPED)
            EVIDENCE(v, SAY_VOICE_DIVERGED_FROM, then.loss, (long long)then.step);
        else if (isfinite(then.loss))
            EVIDENCE(v, SAY_VOICE_DIVERGED_FROM_LOWEST, then.loss);
        if (d == STOPPED)
            EVIDENCE(v, SAY_VOICE_DIVERGED_STOPPED);
        end_with_rate(v, f);
        ADVICE(v, SAY_VOICE_DIVERGED_ADVICE);
        return 1;
    }
    if (!is_stuck(f))
        return 0;
    const VoicePoint *first = &f->train[0], *last = &f->train[f->train_count - 1];
    v->step = last->step;
    EVIDENCE(v, SAY_VOICE_STUCK, first->loss, (long long)first->step, last->loss, (long long)last->step);
    end_with_rate(v, f);
    ADVICE(v, SAY_VOICE_STUCK_ADVICE);
    return 1;
}

/* The fit to the own text decides where it was measured; the cost only where it was not. */
static int find_alignment(VoiceFinding *v, const VoiceFacts *f)
{
    const double share = own_text(f), cost = voice_align_cost(f, &v->step);
    if (isfinite(share) ? is_aligned(f) : !is_bad(LIMIT_VOICE_COST, cost))
        return 0;
    if (is_young(f) && !isfinite(f->own_text)) /* nobody has asked */
        return 0;
    if (is_diverged(f) || is_stuck(f)) /* its consequence */
        return 0;
    EVIDENCE(v, SAY_VOICE_UNALIGNED);
    if (isfinite(share))
        EVIDENCE(v, SAY_VOICE_OWN_TEXT, 100 * share);
    else
        EVIDENCE(v, SAY_VOICE_DISTANCE, cost);
    if (is_bad(LIMIT_VOICE_ONES, f->ones))
        EVIDENCE(v, SAY_VOICE_ONES, 100 * f->ones);
    if (v->step >= 0)
        EVIDENCE(v, SAY_VOICE_AT_STEP, (long long)v->step);
    MARK(v, ".");
    if (is_young(f))
        ADVICE(v, SAY_VOICE_YOUNG);
    ADVICE(v, SAY_VOICE_UNALIGNED_ADVICE);
    return 1;
}

/* Durations found by the alignment, then those that are predicted. */
static int find_durations(VoiceFinding *v, const VoiceFacts *f)
{
    int collapsed = f->frames_per_symbol >= SPEECH_FRAMES && is_bad(LIMIT_VOICE_ONES, f->ones);
    v->step = newest_step(f);
    /* Without a learned alignment odd durations are its consequence. */
    if (!isfinite(f->own_text) || is_bad(LIMIT_VOICE_OWN_TEXT, f->own_text))
        return 0;
    if (collapsed || is_bad(LIMIT_VOICE_HELD, f->held)) {
        EVIDENCE(v, SAY_VOICE_COLLAPSED, 100 * f->ones, 100 * f->held, f->frames_per_symbol);
        ADVICE(v, SAY_VOICE_COLLAPSED_ADVICE);
        return 1;
    }
    if (f->predicted_clips < PREDICTED_CLIPS || !is_bad(LIMIT_VOICE_DURATIONS, f->duration_explained))
        return 0;
    EVIDENCE(v, SAY_VOICE_METRONOME, 100 * fmax(0, f->duration_explained), (long long)f->predicted_clips);
    ADVICE(v, SAY_VOICE_METRONOME_ADVICE);
    return 1;
}

/* Against the speaker's mean: a predictor that is no better has learned nothing. */
static int find_pitch(VoiceFinding *v, const VoiceFacts *f)
{
    v->step = newest_step(f);
    if (!is_aligned(f))
        return 0;
    if (f->predicted_clips >= PREDICTED_CLIPS && isfinite(f->pitch_explained)) {
        if (!is_bad(LIMIT_VOICE_PITCH, f->pitch_explained))
            return 0;
        EVIDENCE(v, SAY_VOICE_FLAT, 100 * fmax(0, f->pitch_explained), (long long)f->predicted_clips);
    } else {
        const VoicePoint *p = f->validation_count ? &f->validation[f->validation_count - 1] : NULL;
        double error = p ? p->terms[TERM_PITCH] / f->weight[TERM_PITCH] : (double)NAN;
        if (is_young(f) || !(error >= f->pitch_variance))
            return 0;
        EVIDENCE(v, SAY_VOICE_FLAT_STEP, (long long)p->step, error, f->pitch_variance);
    }
    ADVICE(v, SAY_VOICE_FLAT_ADVICE);
    return 1;
}

/* Mean training loss of the lines in (from, to]. */
static double train_loss(const VoiceFacts *f, int64_t from, int64_t to)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < f->train_count; i++)
        if (f->train[i].step > from && f->train[i].step <= to && isfinite(f->train[i].loss)) {
            sum += f->train[i].loss;
            n++;
        }
    return n ? sum / n : (double)NAN;
}

/* 1: the last validations sound better than this one, whatever their loss is. */
static int sounds_better_since(const VoiceFacts *f, size_t then)
{
    double last = 0;
    for (size_t i = f->validation_count - LATER; i < f->validation_count; i++)
        last += f->validation[i].score / LATER;
    return last > f->validation[then].score;
}

/* The validation loss rises while the training loss falls. With an hour of a person that is so from the first
 * seconds on, and the voice gets better for minutes: nothing is wrong until the ear agrees. */
static int find_overfitting(VoiceFinding *v, const VoiceFacts *f)
{
    const VoicePoint *p = f->validation;
    const size_t n = f->validation_count;
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (p[i].loss < p[best].loss || !isfinite(p[best].loss))
            best = i;
    if (n < LATER + 1 || n - 1 - best < LATER || sounds_better_since(f, best))
        return 0;
    double last = 0, rise[TERM_COUNT] = {0};
    for (size_t i = n - LATER; i < n; i++) {
        last += p[i].loss / LATER;
        for (int k = 0; k < TERM_COUNT; k++)
            rise[k] += (p[i].terms[k] - p[best].terms[k]) / LATER;
    }
    /* The training loss around the best validation and now. */
    const int64_t to = newest_step(f);
    const double before = train_loss(f, best ? p[best - 1].step : -1, p[best].step),
                 now = train_loss(f, p[n - 2].step, to);
    if (!is_bad(LIMIT_VOICE_RISE, last / p[best].loss - 1) || !(now < before))
        return 0;
    /* Which term rises most says what is learned by heart. */
    int most = 0;
    for (int k = 1; k < TERM_COUNT; k++)
        if (rise[k] > rise[most])
            most = k;
    v->step = p[best].step;
    EVIDENCE(v, SAY_VOICE_BY_HEART, (long long)p[best].step, p[best].loss, last, LATER,
             100 * (last / p[best].loss - 1), before, now);
    if (rise[most] > 0)
        EVIDENCE(v, SAY_VOICE_RISES_MOST, loss_term_name((LossTerm)most));
    MARK(v, ".");
    ADVICE(v, SAY_VOICE_BY_HEART_ADVICE);
    return 1;
}

/* A difference counts when it is large and no chance. */
static int find_words(VoiceFinding *v, const VoiceFacts *f)
{
    const VoiceHeard *h = f->heard_count ? &f->heard[f->heard_count - 1] : NULL;
    if (!h || h->words <= 0 || h->recordings_words <= 0)
        return 0;
    const double n = (double)h->words, m = (double)h->recordings_words;
    const double a = (double)h->words_wrong / n, b = (double)h->recordings_words_wrong / m;
    /* Standard error of the difference; more words may be wrong than were said. */
    const double error = sqrt(fmin(a, 1) * fmax(0, 1 - a) / n + b * fmax(0, 1 - b) / m);
    if (is_bad(LIMIT_VOICE_DEAF, b) && h->recordings_words >= JUDGED_WORDS) {
        v->step = h->step;
        EVIDENCE(v, SAY_VOICE_DEAF, (long long)h->recordings_words, (long long)h->recordings_words_wrong,
                 100 * b, 100 * a);
        ADVICE(v, SAY_VOICE_DEAF_ADVICE);
        return 1;
    }
    if (!is_bad(LIMIT_VOICE_WORDS, a - b) || a - b < SURE * error)
        return 0;
    /* What it said at the beginning says nothing of a training that is still going on. */
    if (!f->ended && (double)h->step < BEGINNING * (double)f->total_steps)
        return 0;
    v->step = h->step;
    EVIDENCE(v, SAY_VOICE_WORDS, (long long)h->words, (long long)h->words_wrong, 100 * a,
             (long long)h->recordings_words, (long long)h->recordings_words_wrong, 100 * b);
    if (isfinite(h->length_ratio) && fabs(log(h->length_ratio)) > 0.2)
        EVIDENCE(v, SAY_VOICE_LENGTH, h->length_ratio);
    const VoiceHeard *first = &f->heard[0];
    const double then = first->words > 0 ? (double)first->words_wrong / (double)first->words : (double)NAN;
    if (f->heard_count > 1 && then - a > 0.05)
        ADVICE(v, SAY_VOICE_BETTER, 100 * then, (long long)first->step);
    ADVICE(v, SAY_VOICE_WORDS_ADVICE);
    return 1;
}

/* The list of suspects is in the report. */
static int find_texts(VoiceFinding *v, const VoiceFacts *f)
{
    if (!f->suspects)
        return 0;
    v->step = newest_step(f);
    EVIDENCE(v, SAY_VOICE_TEXTS, (long long)f->suspects, f->clip_count,
             f->clip[0].id ? f->clip[0].id : word(SAY_VOICE_NOT_NAMED));
    ADVICE(v, SAY_VOICE_TEXTS_ADVICE);
    return 1;
}

/* In the order of VoiceCause: what spoils everything else comes first. */
int voice_doctor(VoiceFinding *out, int most, const VoiceFacts *f)
{
    static int (*const find[VOICE_CAUSE_COUNT])(VoiceFinding *,
                                                const VoiceFacts *) = {[VOICE_SAMPLE_RATE] = find_sample_rate,
                                                                       [VOICE_SILENCE] = find_silence,
                                                                       [VOICE_LOSS] = find_loss,
                                                                       [VOICE_ALIGNMENT] = find_alignment,
                                                                       [VOICE_DURATIONS] = find_durations,
                                                                       [VOICE_WORDS] = find_words,
                                                                       [VOICE_TEXTS] = find_texts,
                                                                       [VOICE_CLIPPING] = find_clipping,
                                                                       [VOICE_OVERFITTING] = find_overfitting,
                                                                       [VOICE_PITCH] = find_pitch,
                                                                       [VOICE_FEW_CLIPS] = find_few_clips};
    int n = 0;
    for (int c = 0; c < VOICE_CAUSE_COUNT && n < most; c++) {
        VoiceFinding v = {.cause = (VoiceCause)c, .step = -1};
        if (find[c](&v, f))
            out[n++] = v;
    }
    return n;
}
