/* voice_doctor.c - one function for each cause: what speaks for it, in numbers, and what to do. */
#include "diag/voice/voice_doctor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/plural.h"
#include "base/stats.h"
#include "diag/report/thresholds.h"

#define YOUNG_STEPS 1000   /* a run that is still going on is not told before this what it has not learned */
#define LATER 3            /* validations after the lowest, all above it, before it is called overfitting */
#define ASTRAY 10          /* times the distance of knowing nothing: the weights are ruined */
#define LEARNING_STEPS 100 /* from the first line of the log to one that must be lower */
#define LEARNED 0.95       /* of the first loss: a loss above it has not fallen */
#define PREDICTED_CLIPS 8  /* held-out clips that predictions are judged by, at the least */
/* From a usual fit to that of a text that is not said: suspects are further along. */
#define SUSPECT_WAY 0.4
#define SUSPECT_CLIPS 30  /* clips that an outlier can be told among, at the least */
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

/* What nobody has measured is NaN, and no threshold judges it. */
void voice_facts_clear(VoiceFacts *f)
{
    *f = (VoiceFacts){
        .seconds = NAN, .f0 = NAN, .sounds_per_s = NAN, .clipped_samples = NAN, .pitch_variance = NAN};
    f->cost = f->own_text = f->ones = f->held = f->frames_per_symbol = NAN;
    f->pitch_explained = f->duration_explained = NAN;
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

__attribute__((format(printf, 3, 4))) static void add(char *out, size_t cap, const char *fmt, ...)
{
    size_t n = strlen(out);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out + n, cap - n, fmt, ap);
    va_end(ap);
}

#define EVIDENCE(v, ...) add((v)->evidence, sizeof(v)->evidence, __VA_ARGS__)
#define ADVICE(v, ...) add((v)->advice, sizeof(v)->advice, __VA_ARGS__)

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
    EVIDENCE(v, "The recordings seem to play too %s:", fast ? "fast" : "slow");
    if (isfinite(rate))
        EVIDENCE(v, " %.1f phonemes a second (readers have 8 to 14)", rate);
    if (isfinite(f0))
        EVIDENCE(v, "%s a voice of %.0f Hz (most are between 85 and 250)", isfinite(rate) ? "," : "", f0);
    EVIDENCE(v, ".");
    ADVICE(v,
           "Listen to one of them. If it sounds %s, the headers name a sample rate that is not the "
           "recordings' (22050 for sound of 16000 plays 1.38 times as fast): write the true rate into the "
           "files and prepare again. If the speaker talks like that, nothing is wrong.",
           fast ? "hurried and high" : "dragging and deep");
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
    EVIDENCE(v, "%.0f %% of the recordings hold hardly any speech", 100 * share);
    if (f->silent_lines)
        EVIDENCE(v, ": %lld of %lld were left out because nothing but silence is in them",
                 (long long)f->silent_lines, (long long)all);
    if (f->looked_quiet)
        EVIDENCE(v, "%s %lld of %lld that were looked at are silent for more than half of their time",
                 f->silent_lines ? ", and" : ":", (long long)f->looked_quiet, (long long)f->looked);
    EVIDENCE(v, ".");
    ADVICE(v, "Listen to those named. Record them again, or take their lines out; where speech has long "
              "pauses before or after, trim_silence: true and a smaller trim_top_db cut them off.");
    return 1;
}

/* Samples at the limit, several in a row. */
static int find_clipping(VoiceFinding *v, const VoiceFacts *f)
{
    double share = f->looked ? (double)f->looked_clipped / (double)f->looked : (double)NAN;
    if (!is_bad(LIMIT_VOICE_CLIPPED, share))
        return 0;
    EVIDENCE(v,
             "%.0f %% of the recordings are clipped (%lld of %lld that were looked at; %.2f %% of all "
             "samples are cut off).",
             100 * share, (long long)f->looked_clipped, (long long)f->looked, 100 * f->clipped_samples);
    ADVICE(
        v,
        "The voice will learn the rattle. Take the recordings from a source before the level was raised, or "
        "record with less gain; turning the volume down afterwards does not bring back what was cut off.");
    return 1;
}

/* Little data is no mistake, but its consequences should be known. */
static int find_few_clips(VoiceFinding *v, const VoiceFacts *f)
{
    const double minutes = f->seconds / 60;
    if (!f->clips || (!is_bad(LIMIT_VOICE_CLIPS, (double)f->clips) && !is_bad(LIMIT_VOICE_MINUTES, minutes)))
        return 0;
    EVIDENCE(v, "There %s %lld clip%s, %.1f minutes of speech", f->clips == 1 ? "is" : "are",
             (long long)f->clips, plural((uint64_t)f->clips), minutes);
    if (f->rare_sounds)
        EVIDENCE(v, "; %d of %d phonemes occur fewer than %d times", f->rare_sounds, f->sounds, VOICE_RARE);
    EVIDENCE(v, ".");
    ADVICE(v, "Expect a voice that resembles the speaker and stumbles over words it has not seen, and judge "
              "it by what is understood, not by its loss. A voice for any text wants an hour or more, with "
              "every sound many times.");
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

/* Further away than a network that knows nothing, or no nearer than at the beginning. */
static int is_astray(const VoiceFacts *f)
{
    int64_t step;
    return voice_align_cost(f, &step) > ASTRAY;
}

static int is_stuck(const VoiceFacts *f)
{
    int64_t step;
    if (f->train_count < 2 || !is_bad(LIMIT_VOICE_COST, voice_align_cost(f, &step)))
        return 0;
    const VoicePoint *first = &f->train[0], *last = &f->train[f->train_count - 1];
    return last->step - first->step >= LEARNING_STEPS && last->loss > LEARNED * first->loss;
}

/* A learning rate that does not fit: the loss says so before anything else does. */
static int find_loss(VoiceFinding *v, const VoiceFacts *f)
{
    const int astray = is_astray(f);
    if (!f->train_count || (!astray && !is_stuck(f)))
        return 0;
    const VoicePoint *first = &f->train[0], *last = &f->train[f->train_count - 1];
    double highest = NAN;
    for (size_t i = 0; i < f->train_count; i++)
        highest = fmax(highest, f->train[i].lr);
    v->step = last->step;
    if (astray)
        EVIDENCE(
            v,
            "The training has gone astray: the loss is %.4g at step %lld, far over that of a network that "
            "knows nothing",
            last->loss, (long long)last->step);
    else
        EVIDENCE(v, "The loss does not fall: it was %.4g at step %lld and is %.4g at step %lld", first->loss,
                 (long long)first->step, last->loss, (long long)last->step);
    if (isfinite(highest))
        EVIDENCE(v, "; the highest learning rate was %.3g", highest);
    EVIDENCE(v, ".");
    if (astray)
        ADVICE(v, "The learning rate is too high. Begin anew in another --checkpoint-dir with the preset's "
                  "learning_rate, or a third of yours; a longer warmup_steps helps too.");
    else
        ADVICE(v, "Begin anew in another --checkpoint-dir with the preset's learning_rate (leave the setting "
                  "out). If that does not help, the texts may belong to other recordings.");
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
    if (is_astray(f) || is_stuck(f)) /* its consequence */
        return 0;
    EVIDENCE(v, "The network does not know which sound belongs to which symbol: ");
    if (isfinite(share))
        EVIDENCE(v, "a recording fits its own text hardly better than another clip's (by %.1f %%)",
                 100 * share);
    else
        EVIDENCE(v,
                 "the distance of recordings from what it expects of their symbols is %.2f, 1 is that of "
                 "knowing nothing",
                 cost);
    if (is_bad(LIMIT_VOICE_ONES, f->ones))
        EVIDENCE(v, ", and %.0f %% of the symbols have one frame", 100 * f->ones);
    EVIDENCE(v, v->step >= 0 ? ", at step %lld." : ".", (long long)v->step);
    ADVICE(v,
           "%sMake sure that the texts belong to the recordings (a list that is shifted by one line is "
           "enough) and that `language` is theirs. Then train longer, with batches of 16 clips or more.",
           is_young(f) ? "The run is young: train on. If this stays: " : "");
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
        EVIDENCE(v,
                 "The durations have collapsed: %.0f %% of the symbols have one frame, and a tenth of the "
                 "symbols has %.0f %% of all frames (%.1f frames a symbol on the average).",
                 100 * f->ones, 100 * f->held, f->frames_per_symbol);
        ADVICE(v,
               "Look at the alignment of some clips with `myxtts align`. Long pauses inside of recordings, "
               "texts with words that are not spoken and music do this: cut them out, then train anew.");
        return 1;
    }
    if (f->predicted_clips < PREDICTED_CLIPS || !is_bad(LIMIT_VOICE_DURATIONS, f->duration_explained))
        return 0;
    EVIDENCE(v,
             "The predicted durations are nearly the same for all symbols: they explain %.0f %% of how the "
             "real ones differ (%lld clips).",
             100 * fmax(0, f->duration_explained), (long long)f->predicted_clips);
    ADVICE(v,
           "The voice would speak like a metronome. Train longer; if it stays, raise duration_loss_weight.");
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
        EVIDENCE(v,
                 "The melody is not learned: the predicted pitch explains %.0f %% of how the real one moves "
                 "(%lld clips).",
                 100 * fmax(0, f->pitch_explained), (long long)f->predicted_clips);
    } else {
        const VoicePoint *p = f->validation_count ? &f->validation[f->validation_count - 1] : NULL;
        double error = p ? p->terms[TERM_PITCH] / f->weight[TERM_PITCH] : (double)NAN;
        if (is_young(f) || !(error >= f->pitch_variance))
            return 0;
        EVIDENCE(v,
                 "The melody is not learned: at step %lld the error of the predicted pitch is %.3f a frame, "
                 "and %.3f if the speaker's mean were said for every symbol.",
                 (long long)p->step, error, f->pitch_variance);
    }
    ADVICE(
        v,
        "The voice would sound flat. Train longer; if it stays, raise pitch_loss_weight, and listen whether "
        "the recordings hold a single voice without music or noise: their pitch must be found first.");
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

/* The validation loss rises while the training loss falls. */
static int find_overfitting(VoiceFinding *v, const VoiceFacts *f)
{
    const VoicePoint *p = f->validation;
    const size_t n = f->validation_count;
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (p[i].loss < p[best].loss || !isfinite(p[best].loss))
            best = i;
    if (n < LATER + 1 || n - 1 - best < LATER)
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
    EVIDENCE(
        v,
        "The voice learns its clips by heart since step %lld: the loss of held-out clips was %.4f there and "
        "has been %.4f in the last %d validations (%+.1f %%), while the training loss went from %.4f to %.4f",
        (long long)p[best].step, p[best].loss, last, LATER, 100 * (last / p[best].loss - 1), before, now);
    if (rise[most] > 0)
        EVIDENCE(v, "; most of the rise is in %s", loss_term_name((LossTerm)most));
    EVIDENCE(v, ".");
    ADVICE(v, "More recordings help most, then a smaller model_size or more dropout. Speak with "
              "best.safetensors: it is chosen by how close it sounds to the recordings, not by this loss; "
              "early_stopping_patience ends a run by itself when it sounds no better.");
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
        EVIDENCE(v,
                 "The judge hardly understands the recordings themselves: of their %lld words it heard %lld "
                 "wrong (%.0f %%). What it hears of the voice (%.0f %% wrong) tells nothing then.",
                 (long long)h->recordings_words, (long long)h->recordings_words_wrong, 100 * b, 100 * a);
        ADVICE(v, "Listen to some recordings with their texts before you. Texts of other clips do this, as "
                  "do noise, a wrong sample rate, and a language that the judge does not know.");
        return 1;
    }
    if (!is_bad(LIMIT_VOICE_WORDS, a - b) || a - b < SURE * error)
        return 0;
    v->step = h->step;
    EVIDENCE(v,
             "Of %lld words the judge heard %lld wrong (%.1f %%); of the recordings' own %lld words %lld "
             "(%.1f %%).",
             (long long)h->words, (long long)h->words_wrong, 100 * a, (long long)h->recordings_words,
             (long long)h->recordings_words_wrong, 100 * b);
    if (isfinite(h->length_ratio) && fabs(log(h->length_ratio)) > 0.2)
        EVIDENCE(v, " It speaks for %.2f times as long as the recordings.", h->length_ratio);
    const VoiceHeard *first = &f->heard[0];
    const double then = first->words > 0 ? (double)first->words_wrong / (double)first->words : (double)NAN;
    if (f->heard_count > 1 && then - a > 0.05)
        ADVICE(v, "It was %.0f %% at step %lld and gets better: train on. ", 100 * then,
               (long long)first->step);
    ADVICE(v, "Listen to some sentences. See the other findings first, if there are any; then train longer, "
              "on more recordings, or with a larger model_size.");
    return 1;
}

/* The list of suspects is in the report. */
static int find_texts(VoiceFinding *v, const VoiceFacts *f)
{
    if (!f->suspects)
        return 0;
    v->step = newest_step(f);
    EVIDENCE(v,
             "%lld of %zu lines have a text that does not seem to be what is said: it fits the recording "
             "hardly better than another clip's does. The clearest is %s.",
             (long long)f->suspects, f->clip_count, f->clip[0].id ? f->clip[0].id : "not named");
    ADVICE(v, "Listen to the clips in the list (worst first) and put their text right or take their lines "
              "out: they teach wrong sounds.");
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
