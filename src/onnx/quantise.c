/* quantise.c - see quantise.h. */
#include "onnx/quantise.h"

#include <math.h>
#include <stdio.h>

#include "cache/half.h"

#define LARGEST 127

Value quantise_half(Graph *g, const char *name, const float *numbers, int64_t rows, int64_t columns)
{
    const size_t count = (size_t)rows * (size_t)columns;
    uint16_t *half = graph_memory(g, count, sizeof *half);
    if (!half)
        return "";
    half_from_float(half, numbers, count);
    const GraphTensor t = {.type = ELEMENT_FLOAT16,
                           .dims = 2,
                           .shape = {rows, columns},
                           .data = half,
                           .bytes = count * sizeof *half};
    return graph_cast(g, graph_constant(g, name, &t), ELEMENT_FLOAT);
}

/* Returns the scale. */
static float round_row(int8_t *out, const float *in, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(in[i]));
    const float scale = most > 0 ? most / LARGEST : 1;
    for (int64_t i = 0; i < n; i++)
        out[i] = (int8_t)lrintf(in[i] / scale);
    return scale;
}

Value quantise_int8(Graph *g, const char *name, const float *numbers, int64_t rows, int64_t columns)
{
    const size_t count = (size_t)rows * (size_t)columns;
    int8_t *whole = graph_memory(g, count, sizeof *whole);
    float *scale = graph_memory(g, (size_t)rows, sizeof *scale);
    char scale_name[96];
    if (!whole || !scale)
        return "";
    for (int64_t r = 0; r < rows; r++)
        scale[r] = round_row(whole + r * columns, numbers + r * columns, columns);
    snprintf(scale_name, sizeof scale_name, "%s.scale", name);
    const Value small = graph_constant(
        g, name,
        &(GraphTensor){
            .type = ELEMENT_INT8, .dims = 2, .shape = {rows, columns}, .data = whole, .bytes = count});
    const Value scales = graph_constant(g, scale_name,
                                        &(GraphTensor){.type = ELEMENT_FLOAT,
                                                       .dims = 1,
                                                       .shape = {rows},
                                                       .data = scale,
                                                       .bytes = (uint64_t)rows * sizeof *scale});
    graph_attribute(g, "axis", 0);
    return graph_add(g, "DequantizeLinear", small, scales);
}
