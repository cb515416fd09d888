/* run_voice.c - see run_voice.h. */
#include "diag/report/run_voice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "voice/vocoder_file.h"

/* Seconds. A run writes what it does at least twice a minute, but nothing while it prepares, validates or
 * listens. */
#define OLD_LOG 30.0
#define STEPPING 100.0
#define BETWEEN_STEPS 900.0
#define PREPARING 7200.0

void run_voice_clear(RunVoice *v) { *v = (RunVoice){.seconds_left = NAN, .words_wrong = NAN}; }

static void take_text(char *out, size_t cap, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (text)
        snprintf(out, cap, "%s", text);
}

static double share(const json_t *o, const char *key)
{
    const double x = json_get_double(o, key);
    return x > 0 ? x : 0;
}

static void add_start(RunVoice *v, const json_t *o)
{
    run_voice_clear(v);
    take_text(v->network, sizeof v->network, o, "network");
    take_text(v->size, sizeof v->size, o, "model_size");
    if (strcmp(v->network, "vocoder") == 0)
        take_text(v->size, sizeof v->size, json_object_get(o, "settings"), "vocoder_size");
}

/* Words of earlier weights stay until those of these are heard. */
static void add_validation(RunVoice *v, const json_t *o)
{
    if (json_object_get(o, "movement")) /* of a voice; null where it does not speak */
        v->newest.step = json_get_count(o, "step", 0);
    v->newest.ear = (EarFigures){.movement = share(o, "movement"),
                                 .detail = share(o, "detail"),
                                 .pitch_range = share(o, "pitch_range"),
                                 .length_ratio = share(o, "length_ratio")};
    v->copies[0] = share(o, "copies");
    v->copies[1] = share(o, "griffin_lim_copies");
}

static void add_heard(RunVoice *v, const json_t *o)
{
    v->words_wrong = json_get_double(o, "words_wrong_share");
    v->newest.words = json_get_count(o, "words", 0);
    v->newest.wrong = json_get_count(o, "words_wrong", 0);
    v->recordings = (WordScore){.words = (int)json_get_count(o, "recordings_words", 0),
                                .wrong = (int)json_get_count(o, "recordings_words_wrong", 0)};
    v->recordings.share = json_get_double(o, "recordings_words_wrong_share");
}

void run_voice_add(RunVoice *v, const json_t *o)
{
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!event)
        return;
    if (strcmp(event, "start") == 0) {
        add_start(v, o);
    } else if (strcmp(event, "phase") == 0) {
        take_text(v->phase, sizeof v->phase, o, "text");
        v->seconds_left = json_get_double(o, "seconds_left");
    } else if (strcmp(event, "step") == 0 && v->phase[0]) {
        v->seconds_left = json_get_double(o, "seconds_left");
    } else if (strcmp(event, "validation") == 0) {
        add_validation(v, o);
    } else if (strcmp(event, "heard") == 0) {
        add_heard(v, o);
    }
}

void run_voice_sentence(const RunVoice *v, char *out, size_t cap)
{
    const TrainState s = {.copies = {v->copies[0], v->copies[1]}};
    *out = 0;
    if (strcmp(v->network, "vocoder") == 0 && v->copies[1] > 0)
        snprintf(out, cap, "The vocoder: its copies are %.3f from the recordings, Griffin-Lim's %.3f%s.",
                 v->copies[0], v->copies[1], vocoder_file_is_worse(&s) ? ", which is better" : "");
    else if (strcmp(v->network, "vocoder") != 0 && v->newest.step) {
        const int n = snprintf(out, cap, "The voice: ");
        Judged newest = v->newest;
        newest.their_words = v->recordings.words;
        newest.their_wrong = v->recordings.wrong;
        judged_sounds(&newest, out + n, cap - (size_t)n);
    }
}

int run_voice_is_silent(const RunVoice *v, double age, double line_seconds)
{
    double most = !v->phase[0]                                                            ? OLD_LOG
                  : strcmp(v->phase, "preparing") == 0                                    ? PREPARING
                  : strcmp(v->phase, "training") == 0 || strcmp(v->phase, "warm-up") == 0 ? STEPPING
                                                                                          : BETWEEN_STEPS;
    return age > fmax(most, isfinite(line_seconds) ? 3 * line_seconds : 0);
}

void run_voice_network(const RunVoice *v, char *out, size_t cap)
{
    snprintf(out, cap, "%s%s%s", v->network, v->network[0] && v->size[0] ? ", " : "", v->size);
}
