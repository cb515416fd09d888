/* network_graph.c - see network_graph.h. */
#include "onnx/network_graph.h"

#include <math.h>
#include <string.h>

#include "base/check.h"
#include "onnx/quantise.h"

#define NORM_EPSILON 1e-5f
#define LONGEST_WAVE 10000.0 /* of the positions, in steps, over 2 pi */

/* --- weights --- */

static const Param *param_at(const NetworkGraph *n, int64_t offset)
{
    const ParamList *l = &n->m->params;
    int i = 0;
    while (i + 1 < l->count && l->items[i].offset != offset)
        i++;
    ASSERT(l->items[i].offset == offset);
    return &l->items[i];
}

const float *network_numbers(const NetworkGraph *n, int64_t offset) { return n->numbers + offset; }

Value network_vector(const NetworkGraph *n, int64_t offset)
{
    const Param *p = param_at(n, offset);
    const GraphTensor t = {.type = ELEMENT_FLOAT,
                           .dims = p->dims,
                           .shape = {p->shape[0], p->shape[1], p->shape[2]},
                           .data = network_numbers(n, offset),
                           .bytes = (uint64_t)p->count * sizeof(float)};
    return graph_constant(n->g, p->name, &t);
}

Value network_matrix(const NetworkGraph *n, int64_t offset)
{
    const Param *p = param_at(n, offset);
    const float *numbers = network_numbers(n, offset);
    const int64_t rows = p->shape[0], columns = p->count / rows;
    switch (n->precision) {
    case ONNX_FLOAT16:
        return quantise_half(n->g, p->name, numbers, rows, columns);
    case ONNX_INT8:
        return quantise_int8(n->g, p->name, numbers, rows, columns);
    case ONNX_FLOAT32:
        break;
    }
    return graph_table(n->g, p->name, numbers, rows, columns);
}

/* --- products --- */

Value network_linear(const NetworkGraph *n, const LinearAt *at, Value x)
{
    const Value w = network_matrix(n, at->w);
    const Value b = network_vector(n, at->b);
    graph_attribute(n->g, "transB", 1);
    return graph_add(n->g, "Gemm", x, w, b);
}

/* Zeros in front of the first row and behind the last, as many as half a kernel reaches over. */
static Value padded(Graph *g, Value x, int kernel)
{
    const int64_t half = kernel / 2;
    return graph_add(g, "Pad", x, graph_ints(g, half, 0, half, 0));
}

/* The rows that tap i of a kernel sees, of padded rows. */
static Value tap(Graph *g, Value x, int kernel, int i)
{
    return graph_slice(g, x, 0, i, i + 1 < kernel ? i + 1 - kernel : GRAPH_END);
}

/* Rows side by side are one product with the weights as they lie: [out, kernel, in]. */
Value network_convolution(const NetworkGraph *n, const LinearAt *at, int kernel, Value x)
{
    Value taps[VOCODER_KERNEL];
    const Value rows = padded(n->g, x, kernel);
    ASSERT_CMP(kernel, <=, VOCODER_KERNEL);
    for (int i = 0; i < kernel; i++)
        taps[i] = tap(n->g, rows, kernel, i);
    return network_linear(n, at, graph_concat(n->g, taps, kernel, 1));
}

/* The weights [kernel, channels] as a convolution has them: [channels, 1, kernel]. */
static Value filters(const NetworkGraph *n, const LinearAt *at, int kernel)
{
    const float *from = network_numbers(n, at->w);
    const size_t count = (size_t)at->out * (size_t)kernel;
    float *to = graph_memory(n->g, count, sizeof *to);
    for (int c = 0; to && c < at->out; c++)
        for (int k = 0; k < kernel; k++)
            to[c * kernel + k] = from[k * at->out + c];
    const GraphTensor t = {.type = ELEMENT_FLOAT,
                           .dims = 3,
                           .shape = {at->out, 1, kernel},
                           .data = to,
                           .bytes = count * sizeof *to};
    return graph_constant(n->g, param_at(n, at->w)->name, &t);
}

Value network_depthwise(const NetworkGraph *n, const LinearAt *at, int kernel, Value x)
{
    Graph *g = n->g;
    const Value w = filters(n, at, kernel), b = network_vector(n, at->b);
    x = graph_unsqueeze(g, graph_transpose(g, x, 1, 0), 0);
    graph_attribute(g, "group", at->out);
    graph_attribute_list(g, "pads", (const int64_t[]){kernel / 2, kernel / 2}, 2);
    x = graph_add(g, "Conv", x, w, b);
    return graph_transpose(g, graph_squeeze(g, x, 0), 1, 0);
}

/* --- norms, positions --- */

/* In this form runtimes know it, and compute it as one. */
Value network_norm(const NetworkGraph *n, const NormAt *at, int width, Value x)
{
    Graph *g = n->g;
    const int64_t last = -1;
    graph_attribute_list(g, "axes", &last, 1);
    const Value centred = graph_add(g, "Sub", x, graph_add(g, "ReduceMean", x));
    const Value square = graph_add(g, "Pow", centred, graph_float(g, 2));
    graph_attribute_list(g, "axes", &last, 1);
    const Value variance =
        graph_add(g, "Add", graph_add(g, "ReduceMean", square), graph_float(g, NORM_EPSILON));
    const Value normed = graph_add(g, "Div", centred, graph_add(g, "Sqrt", variance));
    return graph_add(g, "Add", graph_add(g, "Mul", normed, network_vector(n, at->w)),
                     network_vector(n, at->b));
}

/* Radians per step of each pair of channels, [1, width / 2]. */
static Value rates(Graph *g, int width)
{
    char name[48];
    float *rate = graph_memory(g, (size_t)width / 2, sizeof *rate);
    for (int i = 0; rate && i < width / 2; i++)
        rate[i] = (float)pow(LONGEST_WAVE, -2.0 * i / width);
    snprintf(name, sizeof name, "%srates", g->scope);
    return graph_table(g, name, rate, 1, width / 2);
}

Value network_positions(const NetworkGraph *n, int64_t a, int width, Value x)
{
    Graph *g = n->g;
    const Value steps = graph_cast(g, graph_range(g, graph_size(g, x, 0)), ELEMENT_FLOAT);
    const Value angle = graph_add(g, "Mul", graph_unsqueeze(g, steps, 1), rates(g, width));
    /* Sines in even channels, cosines in odd ones. */
    const Value pairs[] = {graph_unsqueeze(g, graph_add(g, "Sin", angle), 2),
                           graph_unsqueeze(g, graph_add(g, "Cos", angle), 2)};
    const Value waves = graph_reshape(g, graph_concat(g, pairs, 2, 2), 0, width);
    return graph_add(g, "Add", x, graph_add(g, "Mul", waves, network_vector(n, a)));
}

/* --- a stack of layers --- */

/* Columns from .. from + width - 1 as [heads, rows, width / heads]; turned: as [heads, width / heads, rows].
 */
static Value heads_of(Graph *g, const StackAt *at, Value x, int64_t from, int turned)
{
    const Value part = graph_slice(g, x, 1, from, from + at->dim);
    const Value heads = graph_reshape(g, part, 0, at->heads, at->dim / at->heads);
    return turned ? graph_transpose(g, heads, 1, 2, 0) : graph_transpose(g, heads, 1, 0, 2);
}

static Value attention(const NetworkGraph *n, const StackAt *at, const LayerAt *w, Value x)
{
    Graph *g = n->g;
    const float scale = 1 / sqrtf((float)(at->dim / at->heads));
    const Value qkv = network_linear(n, &w->qkv, x);
    const Value q = graph_add(g, "Mul", heads_of(g, at, qkv, 0, 0), graph_float(g, scale));
    const Value scores = graph_add(g, "MatMul", q, heads_of(g, at, qkv, at->dim, 1));
    graph_attribute(g, "axis", -1);
    const Value shares = graph_add(g, "Softmax", scores);
    const Value mixed = graph_add(g, "MatMul", shares, heads_of(g, at, qkv, 2 * (int64_t)at->dim, 0));
    const Value rows = graph_reshape(g, graph_transpose(g, mixed, 1, 0, 2), 0, at->dim);
    return network_linear(n, &w->out, rows);
}

Value network_stack(const NetworkGraph *n, const StackAt *at, Value x)
{
    Graph *g = n->g;
    for (int i = 0; i < at->layers; i++) {
        const LayerAt *w = &at->layer[i];
        graph_scope(g, "%s.layers.%d.", at->name, i);
        x = graph_add(g, "Add", x, attention(n, at, w, network_norm(n, &w->norm_self, at->dim, x)));
        const Value wide =
            network_convolution(n, &w->up, FEED_KERNEL, network_norm(n, &w->norm_feed, at->dim, x));
        x = graph_add(g, "Add", x, network_linear(n, &w->down, graph_add(g, "Relu", wide)));
    }
    graph_scope(g, "%s.", at->name);
    return network_norm(n, &at->norm, at->dim, x);
}
