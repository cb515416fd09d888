/* sound_graph.c - see sound_graph.h. ONNX has no inverse STFT that runs everywhere: the transform is a
 * product with cosines and sines, and a transposed convolution adds its frames up. */
#include "onnx/sound_graph.h"

#include <math.h>

#include "audio/mel.h"
#include "model/vocoder.h"

/* --- mel to spectrum --- */

/* The guess of the spectrum, in logarithms: [M, bins]. */
static Value prior_of(const NetworkGraph *n, Value mel)
{
    Graph *g = n->g;
    const int bands = n->m->cfg.n_mels, bins = n->m->cfg.n_fft / 2 + 1;
    float *spread = graph_memory(g, (size_t)bins * (size_t)bands, sizeof *spread);
    if (spread)
        vocoder_spread_matrix(n->m, spread);
    graph_scope(g, "vocoder.prior.");
    const Value weights = graph_table(g, "vocoder.spread", spread, bins, bands);
    const Value power = graph_add(g, "Exp", mel);
    graph_attribute(g, "transB", 1);
    const Value sum = graph_add(g, "Max", graph_add(g, "Gemm", power, weights), graph_float(g, MEL_FLOOR));
    return graph_add(g, "Add", graph_add(g, "Log", sum), graph_float(g, VOCODER_PRIOR_SHIFT));
}

/* What the network says of every frame: [M, columns of its head]. */
static Value spectrum_of(const NetworkGraph *n, Value mel)
{
    Graph *g = n->g;
    const VocoderAt *at = &n->m->vocoder;
    const int width = n->m->cfg.vocoder_dim;
    graph_scope(g, "vocoder.");
    Value x = graph_add(g, "Sub", mel, graph_float(g, VOCODER_MEL_MEAN));
    x = graph_add(g, "Mul", x, graph_float(g, 1.0f / VOCODER_MEL_DEVIATION));
    x = network_norm(n, &at->norm_in, width, network_convolution(n, &at->input, VOCODER_KERNEL, x));
    for (int i = 0; i < n->m->cfg.vocoder_layers; i++) {
        const BlockAt *block = &at->block[i];
        graph_scope(g, "vocoder.blocks.%d.", i);
        Value y = network_depthwise(n, &block->depthwise, VOCODER_KERNEL, x);
        y = network_linear(n, &block->up, network_norm(n, &block->norm, width, y));
        x = graph_add(g, "Add", x, network_linear(n, &block->down, graph_add(g, "Relu", y)));
    }
    graph_scope(g, "vocoder.");
    return network_linear(n, &at->head, network_norm(n, &at->norm_out, width, x));
}

/* --- spectrum to sound --- */

/* The window of Hann of n points, [1, n]. */
static Value window_of(Graph *g, int n)
{
    float *window = graph_memory(g, (size_t)n, sizeof *window);
    for (int k = 0; window && k < n; k++)
        window[k] = (float)(0.5 - 0.5 * cos(2 * M_PI * k / n));
    return graph_table(g, "sound.window", window, 1, n);
}

/* What a bin has in a sample: all but the first and the last stand for two. [bins, 1] */
static Value shares_of(Graph *g, int n)
{
    const int bins = n / 2 + 1;
    float *share = graph_memory(g, (size_t)bins, sizeof *share);
    for (int f = 0; share && f < bins; f++)
        share[f] = (f == 0 || f == bins - 1 ? 1.0f : 2.0f) / (float)n;
    return graph_table(g, "sound.shares", share, bins, 1);
}

/* What real and imaginary parts of the bins become in a frame of n samples under the window: [2 bins, 1, n].
 * Its nodes need no input: runtimes compute it once, and the file is some megabytes smaller. Whole turns are
 * taken off before there is anything to round. */
static Value waves_of(Graph *g, int n, Value window)
{
    const Value bin = graph_unsqueeze(g, graph_range(g, graph_int(g, n / 2 + 1)), 1);
    const Value place = graph_add(g, "Mul", bin, graph_range(g, graph_int(g, n)));
    const Value turn = graph_cast(g, graph_add(g, "Mod", place, graph_int(g, n)), ELEMENT_FLOAT);
    const Value angle = graph_add(g, "Mul", turn, graph_float(g, (float)(2 * M_PI / n)));
    const Value height = graph_add(g, "Mul", shares_of(g, n), window);
    const Value real = graph_add(g, "Mul", graph_add(g, "Cos", angle), height);
    const Value imaginary = graph_add(g, "Neg", graph_add(g, "Mul", graph_add(g, "Sin", angle), height));
    const Value both[] = {real, imaginary};
    return graph_unsqueeze(g, graph_concat(g, both, 2, 0), 1);
}

/* Frames [1, c, M], each turned by waves [c, 1, n] into n samples, are added up every hop samples; what lies
 * in front of the middle of the first frame and behind that of the last goes: [(M - 1) * hop]. */
static Value added_up(Graph *g, Value frames, Value waves, int n, int hop)
{
    graph_attribute_list(g, "strides", (const int64_t[]){hop}, 1);
    graph_attribute_list(g, "kernel_shape", (const int64_t[]){n}, 1);
    const Value sum = graph_add(g, "ConvTranspose", frames, waves);
    return graph_slice(g, graph_reshape(g, sum, -1), 0, n / 2, -n / 2);
}

Value sound_graph(const NetworkGraph *n, Value mel)
{
    Graph *g = n->g;
    const int points = n->m->cfg.n_fft, hop = n->m->cfg.hop_length, bins = points / 2 + 1;
    const Value prior = prior_of(n, mel), spectrum = spectrum_of(n, mel);
    graph_scope(g, "sound.");
    const Value log_magnitude = graph_add(g, "Add", graph_slice(g, spectrum, 1, 0, bins), prior);
    const Value magnitude =
        graph_add(g, "Min", graph_add(g, "Exp", log_magnitude), graph_float(g, SOUND_LOUDEST));
    const Value phase = graph_slice(g, spectrum, 1, bins, 2 * (int64_t)bins);
    const Value both[] = {graph_add(g, "Mul", magnitude, graph_add(g, "Cos", phase)),
                          graph_add(g, "Mul", magnitude, graph_add(g, "Sin", phase))};
    const Value frames = graph_unsqueeze(g, graph_transpose(g, graph_concat(g, both, 2, 1), 1, 0), 0);
    const Value window = window_of(g, points);
    const Value sum = added_up(g, frames, waves_of(g, points, window), points, hop);
    /* The windows' squares add up to this. */
    const Value square = graph_unsqueeze(g, graph_add(g, "Mul", window, window), 0);
    const Value shape[] = {graph_ints(g, 1, 1), graph_slice(g, graph_add(g, "Shape", mel), 0, 0, 1)};
    const Value ones = graph_add(g, "Expand", graph_float(g, 1), graph_concat(g, shape, 2, 0));
    const Value samples = graph_add(g, "Div", sum, added_up(g, ones, square, points, hop));
    return graph_add(g, "Clip", samples, graph_float(g, -1), graph_float(g, 1));
}
