/* after_training.c - see after_training.h. */
#include "cmd/work/after_training.h"

#include <stdio.h>
#include <string.h>

#include "base/words/words.h"
#include "voice/vocoder_file.h"

void after_sounds(const TrainSummary *s, const Config *cfg, char *out, size_t cap)
{
    const double *copies = s->state.copies;
    *out = 0;
    if (cfg->network == NETWORK_VOICE && s->best.step)
        judged_sounds(&s->best, &s->heard.recordings, out, cap);
    else if (cfg->network == NETWORK_VOCODER && copies[1] > 0)
        snprintf(out, cap,
                 "Its copies are %.3f from the recordings, Griffin-Lim's are %.3f: `synth` uses %s.",
                 copies[0], copies[1],
                 vocoder_file_is_worse(&s->state)
                     ? "Griffin-Lim until the vocoder is better; train the vocoder longer"
                     : "the vocoder");
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

void after_next(const TrainSummary *s, const Config *cfg, char *out, size_t cap)
{
    char folder[CHECKPOINT_PATH_SIZE + 2];
    const char *dir = cfg->checkpoint_dir;
    const int inner = cfg->network == NETWORK_VOCODER ? voice_folder(dir) : 0;
    *out = 0;
    if (!*s->last_checkpoint)
        return;
    quoted(folder, sizeof folder, dir, inner ? inner : (int)strlen(dir));
    if (cfg->network == NETWORK_VOICE || inner)
        snprintf(out, cap, "myxtts synth --checkpoint %s --text \"This is how I sound.\" --output out.wav",
                 folder);
    else
        snprintf(out, cap, "myxtts vocode RECORDING.wav --checkpoint %s --output copy.wav", folder);
}

static double beside_seconds(const TrainSummary *s)
{
    double sum = 0;
    for (int i = 0; i < BESIDE_COUNT; i++)
        sum += s->beside[i];
    return sum;
}

void after_beside(const TrainSummary *s, char *out, size_t cap)
{
    const double all = beside_seconds(s);
    size_t used = 0;
    *out = 0;
    if (!(s->seconds > 0))
        return;
    used += (size_t)snprintf(out, cap, "%.1f s outside the steps, %.1f %% of the time", all,
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

void after_print(const char *name, const char *sentence, const char *advice)
{
    Buf line = {0};
    words_column(&line, name, 13);
    printf("  %s%s%s%s\n", line.data ? line.data : "", sentence, *advice ? " " : "", advice);
    buf_free(&line);
}

void after_print_verdict(const Verdict *v)
{
    char gain[400];
    after_print(word(SAY_END_VERDICT), v->sentence, "");
    if (v->swing.sentence[0])
        after_print(word(SAY_END_SWINGS), v->swing.sentence, v->swing.advice);
    if (v->best < 0)
        return;
    say(gain, sizeof gain, SAY_END_GAIN, v->gains[v->best].change, v->gains[v->best].predicted);
    after_print("", gain, "");
}
