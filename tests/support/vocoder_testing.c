/* vocoder_testing.c - see vocoder_testing.h. */
#include "vocoder_testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "model/model.h"
#include "text/phonemes/tokens.h"
#include "voice/checkpoint.h"

/* The table of symbols as checkpoints have it. */
static void symbols_text(Buf *out)
{
    buf_printf(out, "{\"version\": %d, \"code_points\": [", TOKENS_VERSION);
    for (int i = 0; i < tokens_count(); i++)
        buf_printf(out, "%s%u", i ? ", " : "", tokens_code_point(i));
    buf_str(out, "]}");
    buf_add(out, "", 1);
}

/* Large enough that every frame within reach of a filter is heard. */
static void fill(float *flat, const ParamList *l, const char *nan)
{
    Rng r;
    rng_seed(&r, 5);
    for (int i = 0; i < l->count; i++) {
        const Param *p = &l->items[i];
        const double size = p->dims > 1 ? 1.2 / sqrt((double)(p->count / p->shape[0])) : 0.3,
                     base = p->init == INIT_VALUE ? p->value : 0;
        for (int64_t k = 0; k < p->count; k++)
            flat[p->offset + k] = (float)(base + size * (2 * rng_uniform(&r) - 1));
        if (nan && strcmp(p->name, nan) == 0)
            flat[p->offset] = NAN;
    }
}

void write_vocoder(const char *path, const char *model, const char *nan)
{
    Config cfg;
    Model m;
    Err err = {0};
    Buf settings = {0}, symbols = {0};
    buf_printf(&settings,
               "{\"model\": {\"network\": \"vocoder\", %s}, \"data\": {\"enable_loudness_normalization\": "
               "false}}",
               model);
    if (config_read(&cfg, path, settings.data, settings.size, 0, NULL, &err) ||
        model_open(&m, &cfg, tokens_count(), 0, &err))
        fail_msg("%s", err.msg);
    buf_add(&settings, "", 1);
    symbols_text(&symbols);
    const ParamList *l = &m.params;
    float *flat = calloc((size_t)l->size, sizeof *flat),
          *statistics = calloc((size_t)cfg.n_mels, sizeof *statistics);
    TensorView *t = calloc((size_t)l->count + 2, sizeof *t);
    fill(flat, l, nan);
    for (int i = 0; i < cfg.n_mels; i++)
        statistics[i] = 1;
    for (int i = 0; i < l->count; i++) {
        const Param *p = &l->items[i];
        t[i] = (TensorView){.name = p->name,
                            .dtype = "F32",
                            .dims = p->dims,
                            .shape = {p->shape[0], p->shape[1], p->shape[2], 1},
                            .data = flat + p->offset,
                            .bytes = (uint64_t)p->count * sizeof *flat};
    }
    t[l->count] = (TensorView){.name = "mel.mean",
                               .dtype = "F32",
                               .dims = 1,
                               .shape = {cfg.n_mels, 1, 1, 1},
                               .data = statistics,
                               .bytes = (uint64_t)cfg.n_mels * sizeof *statistics};
    t[l->count + 1] = t[l->count];
    t[l->count + 1].name = "mel.deviation";
    const MetaEntry meta[] = {{"format", CHECKPOINT_FORMAT}, {"config", settings.data},
                              {"network", "vocoder"},        {"symbols", symbols.data},
                              {"speakers", "[\"\"]"},        {"step", "7"}};
    if (safetensors_write(path, meta, sizeof meta / sizeof *meta, t, l->count + 2, &err))
        fail_msg("%s", err.msg);
    free(t);
    free(flat);
    free(statistics);
    buf_free(&settings);
    buf_free(&symbols);
    model_close(&m);
    config_close(&cfg);
}
