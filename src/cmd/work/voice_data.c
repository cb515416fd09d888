/* voice_data.c - see voice_data.h. */
#include "cmd/work/voice_data.h"

#include <stdlib.h>

#include "base/mem.h"
#include "pipeline/data.h"
#include "text/phonemes/tokens.h"

/* Statistics of the network: means and deviations as it learned them, not those of this dataset. */
static int copy_statistics(VoiceData *v, Err *err)
{
    const size_t bands = (size_t)v->file.cfg.n_mels;
    v->statistics = mem_calloc(2 * bands, sizeof *v->statistics);
    if (!v->statistics)
        return err_set(err, ERR_NOMEM, "no memory for the statistics of %zu bands", bands);
    for (size_t i = 0; i < bands; i++) {
        v->statistics[i] = (double)v->file.content.mean[i];
        v->statistics[bands + i] = (double)v->file.content.deviation[i];
    }
    return 0;
}

/* The settings are the checkpoint's, but the data is where the command line says. */
int voice_data_open_with(VoiceData *v, const char *checkpoint, int argc, char **argv, const Config *where,
                         Log *log, Err *err)
{
    *v = (VoiceData){0};
    int rc = checkpoint_open(&v->file, checkpoint, checkpoint, argc, argv, log, err);
    if (!rc)
        rc = checkpoint_check_voice(&v->file, err);
    if (rc)
        goto fail;
    Config *cfg = &v->file.cfg;
    cfg->data_path = where->data_path;
    cfg->cache_dir = where->cache_dir;
    rc = data_open(&v->source, cfg, &(DataOptions){.quiet = 1}, log, err);
    if (!rc)
        rc = devices_open(&v->devices, where, log, err);
    if (!rc)
        rc = copy_statistics(v, err);
    if (rc)
        goto fail;
    return 0;
fail:
    voice_data_close(v);
    return rc;
}

int voice_data_open(VoiceData *v, const char *checkpoint, const CmdLine *line, Log *log, Err *err)
{
    return voice_data_open_with(v, checkpoint, line->setting_count, line->settings, &line->cfg, log, err);
}

/* Clips are normalised as the network has learned them. */
int voice_data_corpus(VoiceData *v, Corpus *c, Split split, Log *log, Err *err)
{
    int rc = corpus_open_split(c, v->source, &v->file.cfg, split, log, err);
    if (rc)
        return rc;
    /* Older checkpoints have no pitch; the dataset's own is the best guess then. */
    if (v->file.pitch_deviation > 0) {
        c->statistics.pitch_mean = v->file.pitch_mean;
        c->statistics.pitch_deviation = v->file.pitch_deviation;
    }
    if (v->file.language_input)
        corpus_take_languages(c, &v->file.languages);
    c->mean = v->statistics;
    c->deviation = v->statistics + v->file.cfg.n_mels;
    return 0;
}

/* Weights only: no optimiser state, since nothing is trained. */
int voice_data_engine(VoiceData *v, const EngineShape *largest, Log *log, Err *err)
{
    EngineOptions o = {.cfg = &v->file.cfg,
                       .device = v->devices.model,
                       .largest = *largest,
                       .symbols = tokens_count(),
                       .languages = v->file.language_input,
                       .log = log};
    int rc = engine_open(&v->engine, &o, err);
    if (rc)
        return rc;
    /* The parameters travel through host memory once. */
    const Model *m = engine_model(v->engine);
    float *flat = mem_calloc((size_t)m->params.size, sizeof *flat);
    rc = flat ? checkpoint_params(&v->file, m, CHECKPOINT_WEIGHTS, flat, err)
              : err_set(err, ERR_NOMEM, "no memory for %lld parameters", (long long)m->params.numbers);
    if (!rc)
        rc = engine_load(v->engine, flat, NULL, NULL, NULL, err);
    free(flat);
    return rc;
}

void voice_data_close(VoiceData *v)
{
    engine_close(v->engine);
    devices_close(&v->devices);
    corpus_source_close(v->source);
    free(v->statistics);
    checkpoint_close(&v->file);
    *v = (VoiceData){0};
}
