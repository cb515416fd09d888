/* vocoder_params.c - the vocoder: the list of its parameters (docs/MODEL.md), and its table of functions. */
#include <stdio.h>

#include "base/bytes.h"
#include "model/vocoder_pass.h"
#include "model/vocoder_tables.h"

#define FIRST_DEVIATION \
    0.02                /* of the weights: small, so that the first sounds are those of the mel's envelope */
#define SPECTRUM_UNIT 8 /* columns of the head are a multiple of this: what products want */

/* A product with bias. b, c: as params_add has its sizes. */
static LinearAt linear(ParamList *l, const char *prefix, const char *name, int out, int in, int64_t a,
                       int64_t b, int64_t c)
{
    char full[56];
    LinearAt at = {.out = out, .in = in};
    snprintf(full, sizeof full, "%s.weight", name);
    at.w = params_add(l, prefix, full, INIT_NORMAL, FIRST_DEVIATION, 1, a, b, c);
    snprintf(full, sizeof full, "%s.bias", name);
    at.b = params_add(l, prefix, full, INIT_VALUE, 0, 0, out, -1, -1);
    return at;
}

/* Names are those in checkpoints; they never change. */
static int list(Model *m, Err *err)
{
    ParamList *l = &m->params;
    const Config *cfg = &m->cfg;
    VocoderAt *at = &m->vocoder;
    VocoderTables *tables;
    const int C = cfg->vocoder_dim, n = cfg->n_mels, wide = VOCODER_WIDEN * C,
              bins = round_to_multiple(cfg->n_fft + 2, SPECTRUM_UNIT);
    int rc = vocoder_tables_make(&tables, cfg, err);
    if (rc)
        return rc;
    m->constants = tables;
    at->input = linear(l, "vocoder.", "input", C, n, C, VOCODER_KERNEL, n);
    at->norm_in = norm_list(l, "vocoder.", "norm_in", C);
    for (int i = 0; i < cfg->vocoder_layers; i++) {
        char prefix[40];
        BlockAt *b = &at->block[i];
        snprintf(prefix, sizeof prefix, "vocoder.blocks.%d.", i);
        b->depthwise = linear(l, prefix, "depthwise", C, C, VOCODER_KERNEL, C, -1);
        b->norm = norm_list(l, prefix, "norm", C);
        b->up = linear(l, prefix, "up", wide, C, wide, C, -1);
        b->down = linear(l, prefix, "down", C, wide, C, wide, -1);
    }
    at->norm_out = norm_list(l, "vocoder.", "norm_out", C);
    at->head = linear(l, "vocoder.", "head", bins, C, bins, C, -1);
    int bands[VOCODER_LOSSES];
    for (int i = 0; i < VOCODER_LOSSES; i++)
        bands[i] = vocoder_band_count(m, i);
    critics_list(m, bands, VOCODER_LOSSES, cfg->vocoder_critic_dim);
    return 0;
}

const Network network_vocoder = {.list = list,
                                 .table_bytes = vocoder_tables_bytes,
                                 .attach = vocoder_tables_attach,
                                 .pass_bytes = sizeof(VocoderPass),
                                 .cut = vocoder_pass_cut,
                                 .forward = vocoder_pass_forward,
                                 .losses = vocoder_pass_losses,
                                 .backward = vocoder_pass_backward,
                                 .output = vocoder_pass_output};
