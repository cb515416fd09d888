/* after_training.c - see after_training.h. */
#include "cmd/work/after_training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "base/progress.h"
#include "base/words/words.h"
#include "voice/vocoder_file.h"

#define WAITS 0.01  /* share of the time, from which on waiting for data is told */
#define BESIDE 0.10 /* the same for what is not steps */

/* What it takes until a vocoder is better than Griffin-Lim. On CPUs a small one comes to rest far above it
 * (docs/SPEED.md); GPUs train a large one. */
static void more_training(char *out, size_t cap, const TrainSummary *s)
{
    const double minutes = ceil(s->vocoder_seconds / 60);
    if (minutes <= 100)
        snprintf(out, cap, "it would be better after about %.0f minute%s more", minutes,
                 plural((uint64_t)minutes));
    else if (isfinite(minutes))
        snprintf(out, cap, "it would be better after about %.0f hours more", minutes / 60);
    else if (isinf(minutes))
        snprintf(out, cap, "at this pace it will not become better%s",
                 s->on_cpu ? " on this machine, but a GPU trains a larger one in minutes" : "");
    else
        snprintf(out, cap, "it has to be trained longer%s", s->on_cpu ? ", best on a GPU" : "");
}

static void vocoder_sounds(const TrainSummary *s, char *out, size_t cap)
{
    const double *copies = s->state.copies;
    char more[140];
    const int used = snprintf(
        out, cap, "The vocoder's copies are %.2f from the recordings, Griffin-Lim's %.2f: `synth` uses ",
        copies[0], copies[1]);
    out += used;
    cap -= (size_t)used;
    if (!vocoder_file_is_worse(&s->state)) {
        snprintf(out, cap, "the vocoder.");
        return;
    }
    more_training(more, sizeof more, s);
    snprintf(out, cap,
             "Griffin-Lim, which is built in, needs no training and sounds better here. The vocoder is only "
             "needed for ONNX and Piper files; %s.",
             more);
}

void after_sounds(const TrainSummary *s, const Config *cfg, char *out, size_t cap)
{
    *out = 0;
    if (cfg->network == NETWORK_VOICE && s->best.step)
        judged_sounds(&s->best, out, cap);
    else if (cfg->network == NETWORK_VOCODER && s->state.copies[1] > 0)
        vocoder_sounds(s, out, cap);
}

/* The folder of the voice that a vocoder in RUN/vocoder belongs to; 0: it lies elsewhere. */
static int voice_folder(const char *folder)
{
    const size_t n = strlen(folder), m = strlen("/" VOCODER_FOLDER);
    return n > m && strcmp(folder + n - m, "/" VOCODER_FOLDER) == 0 ? (int)(n - m) : 0;
}

/* As the shell wants it. */
static void quoted(char *out, size_t cap, const char *path, int n)
{
    const int plain =
        (int)strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") >= n;
    snprintf(out, cap, plain ? "%.*s" : "'%.*s'", n, path);
}

/* The folder to speak from, as the shell wants it; 0: what is there is a vocoder without a voice. */
static int speaks_from(char *out, size_t cap, const Config *cfg)
{
    const char *dir = cfg->checkpoint_dir;
    const int inner = cfg->network == NETWORK_VOCODER ? voice_folder(dir) : 0;
    quoted(out, cap, dir, inner ? inner : (int)strlen(dir));
    return cfg->network == NETWORK_VOICE || inner;
}

/* A voice that was tried and does not speak yet. */
static int is_mute(const TrainSummary *s, const Config *cfg)
{
    return cfg->network == NETWORK_VOICE && s->best.step && !judged_speaks(&s->best);
}

void after_next(const TrainSummary *s, const Config *cfg, char *out, size_t cap)
{
    char folder[CHECKPOINT_PATH_SIZE + 2];
    *out = 0;
    if (!*s->last_checkpoint)
        return;
    if (!speaks_from(folder, sizeof folder, cfg))
        snprintf(out, cap, "myxtts vocode RECORDING.wav --checkpoint %s --output copy.wav", folder);
    else if (is_mute(s, cfg))
        snprintf(out, cap, "myxtts train --checkpoint-dir %s --minutes 60", folder);
    else
        snprintf(out, cap, "myxtts synth \"This is how I sound.\" --checkpoint %s --output me.wav", folder);
}

static double beside_seconds(const TrainSummary *s)
{
    double sum = 0;
    for (int i = 0; i < BESIDE_COUNT; i++)
        sum += s->beside[i];
    return sum;
}

static void beside_sentence(const TrainSummary *s, char *out, size_t cap)
{
    const double all = beside_seconds(s);
    size_t used = (size_t)snprintf(out, cap, "%.1f s outside the steps, %.1f %% of the time", all,
                                   100 * all / s->seconds);
    /* Each of them that can be seen in the sum. */
    for (int i = 0, n = 0; i < BESIDE_COUNT && used < cap; i++)
        if (s->beside[i] >= 0.05)
            used += (size_t)snprintf(out + used, cap - used, "%s%s %.1f", n++ ? ", " : ": ",
                                     beside_name((BesideKind)i), s->beside[i]);
}

json_t *after_beside_json(const TrainSummary *s)
{
    const double all = beside_seconds(s);
    json_t *o = json_object();
    json_object_set_new(o, "seconds", json_from_double(all));
    json_object_set_new(o, "share", json_from_double(s->seconds > 0 ? all / s->seconds : 0));
    for (int i = 0; i < BESIDE_COUNT; i++)
        json_object_set_new(o, beside_name((BesideKind)i), json_from_double(s->beside[i]));
    return o;
}

int after_within_warmup(const TrainSummary *s) { return s->step > s->first_step && s->step < s->warmup; }

/* ---- for people ---- */

/* A line, under a name in the language of findings. */
static void print(const char *name, const char *sentence, const char *advice)
{
    Buf line = {0};
    words_column(&line, name, 13);
    printf("  %s%s%s%s\n", line.data ? line.data : "", sentence, *advice ? " " : "", advice);
    buf_free(&line);
}

static void print_end(const TrainSummary *s)
{
    char time[64];
    progress_format_seconds(time, sizeof time, s->seconds);
    printf("%s at step %lld of %lld after %s",
           s->checkpoint_failed ? "ended, but not saved,"
           : s->stopped         ? "stopped"
           : s->early           ? "ended early"
                                : "done",
           (long long)s->step, (long long)s->total, time);
    if (isfinite(s->loss))
        printf(": loss %.4f", s->loss);
    if (isfinite(s->validation))
        printf(", validation %.4f", s->validation);
    printf("\n");
}

/* What was measured, and what the voice doctor has found. */
static void print_sounds(const After *a)
{
    char text[800];
    after_sounds(a->summary, a->cfg, text, sizeof text);
    if (*text)
        print("sounds", text, "");
    for (int i = 0; i < a->voice->count; i++)
        print(i ? "" : word(SAY_END_VOICE), a->voice->findings[i].evidence, a->voice->findings[i].advice);
}

/* What to type. Between the two trainings of --network both nobody is there to type. */
static void print_next(const After *a)
{
    const TrainSummary *s = a->summary;
    char text[CHECKPOINT_PATH_SIZE + 100], folder[CHECKPOINT_PATH_SIZE + 2];
    after_next(s, a->cfg, text, sizeof text);
    if (s->stopped)
        print(
            "next",
            a->vocoder == VOCODER_TO_COME
                ? "the vocoder is not trained yet: the same command continues with the voice, then trains it"
            : a->vocoder == VOCODER_TO_CONTINUE
                ? "the same command continues with the voice, then with the vocoder"
                : "the same command continues",
            "");
    else if (a->vocoder != VOCODER_ASIDE)
        return;
    if (!*text)
        return;
    print(s->stopped ? "" : "next", text, "");
    if (s->stopped || is_mute(s, a->cfg) || !speaks_from(folder, sizeof folder, a->cfg))
        return;
    printf("  %-12s myxtts serve %s\n", "", folder);
    printf("  %-12s myxtts export --checkpoint %s --output voice.safetensors\n", "", folder);
}

static void print_best(const After *a)
{
    const TrainSummary *s = a->summary;
    char text[400];
    printf("  %-12s %s%s\n", "checkpoint", *s->last_checkpoint ? s->last_checkpoint : "none",
           s->checkpoint_failed ? " (what was learned after it is lost: the last one could not be written)"
                                : "");
    if (s->best.step) {
        judged_why(&s->best, a->cfg->network == NETWORK_VOICE, text, sizeof text);
        print("best", text, "");
    }
    if (s->heard.clips && a->all) {
        heard_sentence(&s->heard, text, sizeof text);
        print("heard", text, "");
    }
    if (after_within_warmup(s))
        printf("  %-12s the run ended during its warm-up, which lasts until step %lld: the learning rate "
               "never reached %g\n",
               "warm-up", (long long)s->warmup, a->cfg->learning_rate);
    if (s->skipped)
        printf("  %-12s %lld step%s skipped by the guard\n", "guard", (long long)s->skipped,
               plural((uint64_t)s->skipped));
}

static void print_steps(const After *a)
{
    const TrainSummary *s = a->summary;
    if (!isfinite(s->step_mean)) {
        printf("  %-12s not measured: the first steps, and those after a checkpoint or a validation, do not "
               "count\n",
               "speed");
        return;
    }
    printf("  %-12s %.1f ms", "step", s->step_mean * 1e3);
    if (isfinite(s->step_std))
        printf(" +-%.1f %%", 100 * s->step_std / s->step_mean);
    /* Of few steps the phases are not known. */
    for (int i = 0; i < PHASE_COUNT && isfinite(s->phase[i]); i++)
        printf("%s%s %.1f", i ? ", " : ": ", phase_name(i), s->phase[i] * 1e3);
    printf("\n  %-12s %.0f clips/s, %.0f mel frames/s, padding %.1f %%\n", "throughput", s->utterances_per_s,
           s->frames_per_s, 100 * s->padding);
    if (a->all || s->wait_share >= WAITS) {
        printf("  %-12s waited %.2f %% for data, busy %.2f %%", "device", 100 * s->wait_share,
               100 * s->busy_share);
        if (isfinite(s->gpu_utilisation))
            printf(", NVML utilisation %.0f %%", 100 * s->gpu_utilisation);
        printf("\n");
    }
    if (isfinite(s->exposed_share))
        printf("  %-12s %d by %s; waited %.2f %% of each step for the sum of gradients\n", "ranks", s->ranks,
               s->transport, 100 * s->exposed_share);
}

/* What made it slow, and what would make it faster. */
static void print_verdict(const After *a)
{
    const Verdict *v = a->verdict;
    char gain[400];
    if (!v)
        return;
    if (a->all || verdict_has_fault(v))
        print(word(SAY_END_VERDICT), v->sentence, "");
    if (v->swing.sentence[0] && (a->all || swing_is_fault(&v->swing)))
        print(word(SAY_END_SWINGS), v->swing.sentence, v->swing.advice);
    if (v->best < 0 || !(a->all || verdict_has_fault(v)))
        return;
    say(gain, sizeof gain, SAY_END_GAIN, v->gains[v->best].change, v->gains[v->best].predicted);
    print("", gain, "");
}

void after_training(const After *a)
{
    const TrainSummary *s = a->summary;
    char text[400];
    print_end(s);
    print_sounds(a);
    print_next(a);
    print_best(a);
    print_steps(a);
    if (s->seconds > 0 && (a->all || beside_seconds(s) >= BESIDE * s->seconds)) {
        beside_sentence(s, text, sizeof text);
        print("beside", text, "");
    }
    print_verdict(a);
}
