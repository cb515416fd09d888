/* cmd_eval.c - myxtts eval: a checkpoint on the held-out clips of a dataset. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/data.h"
#include "cmd/devices.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "text/tokens.h"
#include "train/evaluate.h"

static const char *usage_text = "myxtts eval --checkpoint D --data-path DIR [--clips N] [--json]\n\n"
                                "The loss of a checkpoint on the clips of DIR that are held out (all clips where none is), and how "
                                "it speaks N of them from their text alone.";

#define SPOKEN_CLIPS 8

typedef struct Eval {
    const Config *own; /* of the command line: devices and folders are this machine's, not the checkpoint's */
    VoiceFile file;
    Devices devices;
    Corpus corpus;
    double *statistics; /* [2 n_mels] of the checkpoint: a network sees mels as it was trained on them */
    Engine *engine;
    Speaker *speaker;
    double terms[TERM_COUNT], loss;
    SpeechScore speech;
    int all;
} Eval;

static int open_data(Eval *e, Log *log, Err *err)
{
    Config *cfg = &e->file.cfg;
    cfg->cache_dir = e->own->cache_dir;
    int rc = data_prepare(cfg, 1, log, err);
    if (rc || (rc = devices_open(&e->devices, e->own, log, err)) || (rc = corpus_open(&e->corpus, cfg, SPLIT_VAL, log, err)))
        return rc;
    if (!e->corpus.count) {
        corpus_close(&e->corpus);
        e->all = 1;
        if ((rc = corpus_open(&e->corpus, cfg, SPLIT_TRAIN, log, err)))
            return rc;
    }
    if (!e->corpus.count)
        return err_set(err, ERR_DATA, "%s has no clip that can be used", cfg->data_path);
    if (!(e->statistics = calloc((size_t)cfg->n_mels * 2, sizeof *e->statistics)))
        return err_set(err, ERR_NOMEM, "no memory for statistics");
    for (int i = 0; i < cfg->n_mels; i++)
        e->statistics[i] = (double)e->file.mean[i], e->statistics[cfg->n_mels + i] = (double)e->file.deviation[i];
    if (e->file.pitch_deviation > 0)
        e->corpus.statistics.pitch_mean = e->file.pitch_mean, e->corpus.statistics.pitch_deviation = e->file.pitch_deviation;
    e->corpus.mean = e->statistics, e->corpus.deviation = e->statistics + cfg->n_mels;
    return 0;
}

/* Speakers of the dataset may have other numbers than in the checkpoint: they are matched by name; unknown ones get the first voice. */
static void match_speakers(Eval *e)
{
    for (uint32_t i = 0; i < e->corpus.count; i++) {
        Str name = e->corpus.speakers[e->corpus.items[i].speaker];
        int found = 0;
        for (int k = 0; k < e->file.speaker_count; k++)
            if (strlen(e->file.speakers[k]) == name.n && memcmp(e->file.speakers[k], name.p, name.n) == 0)
                found = k;
        e->corpus.items[i].speaker = found;
    }
}

static int evaluate(Eval *e, int clips, Log *log, Err *err)
{
    const Config *cfg = &e->file.cfg;
    EngineShape largest = corpus_shape(cfg, &e->corpus, NULL);
    EngineOptions o = {.cfg = cfg, .device = e->devices.model, .largest = largest, .symbols = tokens_count(), .log = log};
    EvaluateOptions eo = {cfg, &e->corpus, e->devices.data, e->devices.model, log, NULL, NULL};
    SpeakLimits limits = speak_limits(cfg, &largest);
    int rc = engine_open(&e->engine, &o, err);
    if (rc)
        return rc;
    Model *m = engine_model(e->engine);
    float *flat = calloc((size_t)m->params.size, sizeof *flat);
    rc = flat ? voice_file_params(&e->file, m, "", flat, err) : err_set(err, ERR_NOMEM, "no memory for the parameters");
    if (!rc)
        rc = engine_load(e->engine, flat, NULL, NULL, NULL, err);
    free(flat);
    if (rc || (rc = evaluate_loss(e->terms, NULL, e->engine, &eo, err)))
        return rc;
    for (int i = 0; i < TERM_COUNT; i++)
        e->loss += e->terms[i];
    match_speakers(e);
    if (clips && (rc = speaker_open(&e->speaker, m, &limits, err)) == 0)
        rc = evaluate_speech(&e->speech, e->speaker, &limits, cfg, &e->corpus, &e->file.clips, clips, err);
    return rc;
}

static int report(const Eval *e, int json, Err *err)
{
    const SpeechScore *s = &e->speech;
    if (json) {
        json_t *terms = json_object();
        for (int i = 0; i < TERM_COUNT; i++)
            json_object_set_new(terms, loss_term_name(i), output_number(e->terms[i]));
        return output_print(json_pack("{s:o, s:I, s:I, s:b, s:o, s:o, s:i, s:i, s:o, s:o}", "checkpoint",
                                      output_text(e->file.path, strlen(e->file.path)), "step", (json_int_t)e->file.step, "clips",
                                      (json_int_t)e->corpus.count, "held_out", !e->all, "loss", output_number(e->loss), "terms",
                                      terms, "spoken", s->clips, "ended", s->ended, "length_ratio", output_number(s->length),
                                      "attention_diagonal", output_number(s->diagonal)),
                            7, err);
    }
    printf("%s (step %lld) on %u %sclips: loss %.4f (", e->file.path, (long long)e->file.step, e->corpus.count,
           e->all ? "" : "held-out ", e->loss);
    for (int i = 0; i < TERM_COUNT; i++)
        printf("%s%s %.4f", i ? ", " : "", loss_term_name(i), e->terms[i]);
    printf(")\n");
    if (s->clips)
        printf("  spoken from the text alone: %d of %d ended by themselves, %.2f times as long as the real ones, attention on the "
               "diagonal "
               "%.0f %%\n",
               s->ended, s->clips, s->length, 100 * s->diagonal);
    return 0;
}

int cmd_eval(int argc, char **argv, Log *log)
{
    const char *checkpoint = NULL, *clips = NULL;
    const CmdOption own[] = {
        {"checkpoint", "D", &checkpoint, NULL, "a checkpoint, or a folder of them"},
        {"clips", "N", &clips, NULL, "clips to speak from their text alone (8); 0 for none"},
    };
    CmdLine line;
    Err err = {0};
    Eval e = {0};
    int code = 0, rc = cmd_line_parse(&line, usage_text, own, sizeof own / sizeof *own, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 0, "no arguments besides options", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if (!checkpoint)
        rc = err_set(&err, ERR_USAGE, "eval needs --checkpoint D, what `myxtts train` wrote");
    else if (!line.cfg.data_path[0])
        rc = err_set(&err, ERR_USAGE, "eval needs --data-path DIR, the folder with metadata.csv and wavs/");
    else if (clips && (atoi(clips) < 0 || (atoi(clips) == 0 && strcmp(clips, "0") != 0)))
        rc = err_set(&err, ERR_USAGE, "--clips is '%s', but must be 0 or more", clips);
    if (!rc)
        rc = voice_file_open(&e.file, checkpoint, checkpoint, line.setting_count, line.settings, log, &err);
    e.own = &line.cfg;
    if (!rc && !(rc = open_data(&e, log, &err)))
        rc = evaluate(&e, clips ? atoi(clips) : SPOKEN_CLIPS, log, &err);
    if (!rc)
        rc = report(&e, line.json, &err);
    if (!rc && e.speech.ended < e.speech.clips)
        code = 1;
done:
    if (rc)
        code = cmd_fail(log, &err);
    speaker_close(e.speaker);
    engine_close(e.engine);
    corpus_close(&e.corpus);
    free(e.statistics);
    devices_close(&e.devices);
    voice_file_close(&e.file);
    cmd_line_close(&line);
    return code;
}
