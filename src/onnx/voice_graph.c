/* voice_graph.c - see voice_graph.h. It follows synthesis.c, whose host part is nodes here. */
#include "onnx/voice_graph.h"

#include <math.h>

#include "audio/normaliser.h"
#include "model/sharpen.h"
#include "model/synthesis.h"

/* --- text --- */

/* What the rest sees of the text: [T, Ct]. */
static Value memory_of(const NetworkGraph *n, const VoiceGraphInput *in, const float *vectors, int speakers)
{
    Graph *g = n->g;
    const ModelAt *at = &n->m->at;
    const int width = n->m->cfg.text_encoder_dim;
    graph_scope(g, "text.");
    Value x = graph_gather(g, network_matrix(n, at->symbols), in->symbols, 0);
    x = network_positions(n, at->text_position, width, x);
    if (in->language)
        x = graph_add(g, "Add", x, graph_gather(g, network_matrix(n, at->languages), in->language, 0));
    x = network_stack(n, &at->text, x);
    graph_scope(g, "voice.");
    const Value vector =
        graph_gather(g, graph_table(g, "voice.vectors", vectors, speakers, width), in->speaker, 0);
    return graph_add(g, "Add", x, vector);
}

/* Log duration, pitch and energy: [T, TRAIT_COUNT]. Durations are what suffers first from weights of one
 * byte, and these are few: they have two. */
static Value traits_of(const NetworkGraph *whole, Value memory)
{
    NetworkGraph own = *whole;
    own.precision = whole->precision == ONNX_INT8 ? ONNX_FLOAT16 : whole->precision;
    const NetworkGraph *n = &own;
    Graph *g = n->g;
    const ModelAt *at = &n->m->at;
    const int width = n->m->cfg.predictor_dim;
    graph_scope(g, "predictor.");
    Value x = graph_add(g, "Relu", network_convolution(n, &at->conv1, FEED_KERNEL, memory));
    x = network_norm(n, &at->norm1, width, x);
    x = graph_add(g, "Relu", network_convolution(n, &at->conv2, FEED_KERNEL, x));
    x = network_norm(n, &at->norm2, width, x);
    return network_linear(n, &at->traits, x);
}

/* One of them, [T]. */
static Value trait(Graph *g, Value traits, Trait which)
{
    return graph_gather(g, traits, graph_int(g, which), 1);
}

/* --- durations --- */

/* Where each symbol ends, in frames: [T] int64. durations_round gives symbol t the end
 * max(end[t - 1] + 1, round(sum)). In double precision, as there: a frame more or less is another sound. The
 * running maximum of round(sum) - (t + 1) is that of a triangle's rows. */
static Value ends_of(Graph *g, Value log_duration, Value speed, double pace)
{
    const Value wanted = graph_add(g, "Exp", graph_cast(g, log_duration, ELEMENT_DOUBLE));
    const Value slowed = graph_add(g, "Div", wanted, graph_add(g, "Div", speed, graph_double(g, pace)));
    const Value each = graph_add(g, "Min", slowed, graph_double(g, SYNTHESIS_LONGEST_SYMBOL));
    const Value sum = graph_add(g, "CumSum", each, graph_int(g, 0));
    const Value whole = graph_add(g, "Floor", graph_add(g, "Add", sum, graph_double(g, 0.5)));
    const Value step = graph_range(g, graph_size(g, log_duration, 0));
    const Value least = graph_add(g, "Add", step, graph_int(g, 1));
    Value more = graph_add(g, "Sub", graph_cast(g, whole, ELEMENT_INT64), least);
    more = graph_add(g, "Max", more, graph_int(g, 0));
    const Value column = graph_unsqueeze(g, step, 1);
    const Value later = graph_add(g, "Greater", step, column);
    const Value triangle = graph_add(g, "Where", later, graph_int(g, 0), more);
    graph_attribute_list(g, "axes", (const int64_t[]){1}, 1);
    graph_attribute(g, "keepdims", 0);
    return graph_add(g, "Add", graph_add(g, "ReduceMax", triangle), least);
}

static Value frames_of(Graph *g, Value ends)
{
    const Value before[] = {graph_ints(g, 0), graph_slice(g, ends, 0, 0, -1)};
    return graph_add(g, "Sub", ends, graph_concat(g, before, 2, 0));
}

/* The symbol of each frame: how many have ended before it. [M] int32. */
static Value symbol_of_frames(Graph *g, Value ends)
{
    const Value all = graph_squeeze(g, graph_slice(g, ends, 0, -1, GRAPH_END), 0);
    const Value frame = graph_unsqueeze(g, graph_range(g, all), 1);
    const Value ended = graph_cast(g, graph_add(g, "LessOrEqual", ends, frame), ELEMENT_INT32);
    graph_attribute(g, "keepdims", 0);
    return graph_add(g, "ReduceSum", ended, graph_ints(g, 1));
}

/* --- pitch --- */

/* As spread_pitch has it: away from the mean, in which a symbol counts as long as it lasts. */
static Value spread_of(Graph *g, Value pitch, Value log_duration, double spread)
{
    const Value most = graph_float(g, logf(SYNTHESIS_LONGEST_SYMBOL));
    const Value weight = graph_add(g, "Exp", graph_add(g, "Min", log_duration, most));
    const Value weighted = graph_add(g, "Mul", weight, pitch);
    const Value sum = graph_add(g, "ReduceSum", weighted), all = graph_add(g, "ReduceSum", weight);
    const Value mean = graph_add(g, "Div", sum, all);
    const Value away = graph_add(g, "Mul", graph_add(g, "Sub", pitch, mean), graph_float(g, (float)spread));
    return graph_add(g, "Add", mean, away);
}

/* --- mel --- */

/* What a trait adds to each symbol: [T, Ct]. */
static Value added(const NetworkGraph *n, Value values, int64_t direction)
{
    return graph_add(n->g, "Mul", graph_unsqueeze(n->g, values, 1), network_vector(n, direction));
}

/* As sharpen_mel has it. */
static Value sharpened(const NetworkGraph *n, Value mel, double sharpness)
{
    const int bands = n->m->cfg.n_mels;
    const size_t size = (size_t)bands * (size_t)bands;
    float *rows = sharpness > 0 ? graph_memory(n->g, size, sizeof *rows) : NULL;
    float *columns = rows ? graph_memory(n->g, size, sizeof *columns) : NULL;
    if (!columns)
        return mel;
    sharpen_matrix(rows, bands, sharpness);
    for (int b = 0; b < bands; b++)
        for (int k = 0; k < bands; k++)
            columns[k * bands + b] = rows[b * bands + k];
    return graph_add(n->g, "MatMul", mel, graph_table(n->g, "mel.sharpen", columns, bands, bands));
}

static Value mel_of(const NetworkGraph *n, Value memory, Value pitch, Value energy, Value ends,
                    const CheckpointContent *content)
{
    Graph *g = n->g;
    const ModelAt *at = &n->m->at;
    const int bands = n->m->cfg.n_mels;
    graph_scope(g, "decoder.");
    Value x = graph_add(g, "Add", memory, added(n, pitch, at->pitch));
    x = graph_add(g, "Add", x, added(n, energy, at->energy));
    x = graph_gather(g, network_linear(n, &at->lift, x), symbol_of_frames(g, ends), 0);
    x = network_positions(n, at->decoder_position, n->m->cfg.decoder_dim, x);
    x = network_linear(n, &at->mel, network_stack(n, &at->decoder, x));
    x = sharpened(n, x, content->state.manner.sharpness);
    x = graph_add(g, "Mul", x, graph_table(g, "mel.deviation", content->deviation, 1, bands));
    return graph_add(g, "Add", x, graph_table(g, "mel.mean", content->mean, 1, bands));
}

VoiceGraphOutput voice_graph(const NetworkGraph *n, const VoiceGraphInput *in, const Checkpoint *file,
                             const float *vectors, int speakers)
{
    Graph *g = n->g;
    const TrainState *state = &file->content.state;
    const double pace = state->manner.pace > 0 ? state->manner.pace : 1,
                 spread = state->manner.spread > 0 ? state->manner.spread : 1;
    const Value memory = memory_of(n, in, vectors, speakers);
    const Value traits = traits_of(n, memory);
    const Value log_duration = trait(g, traits, TRAIT_DURATION);
    const float semitone = (float)normaliser_pitch_shift(1, file->pitch_deviation);
    const Value shift = graph_add(g, "Mul", in->pitch, graph_float(g, semitone));
    Value pitch = graph_add(g, "Add", trait(g, traits, TRAIT_PITCH), shift);
    if (spread != 1)
        pitch = spread_of(g, pitch, log_duration, spread);
    const Value ends = ends_of(g, log_duration, in->speed, pace);
    return (VoiceGraphOutput){
        .frames = frames_of(g, ends),
        .mel = mel_of(n, memory, pitch, trait(g, traits, TRAIT_ENERGY), ends, &file->content)};
}
