/* network_graph.h - the parts that the networks of docs/MODEL.md consist of, as nodes of a graph. There is
 * one item and no padding, so a value has the shape [rows, width]. Private to src/onnx. */
#ifndef MYXTTS_NETWORK_GRAPH_H
#define MYXTTS_NETWORK_GRAPH_H

#include "model/model.h"
#include "onnx/graph.h"
#include "onnx/onnx_export.h"

/* A network on its way into a graph. */
typedef struct NetworkGraph {
    Graph *g;
    const Model *m;
    const float *numbers;    /* flat [m->params.size]; live until the graph is written */
    OnnxPrecision precision; /* of its matrices; all else is float32 */
} NetworkGraph;

/* The number of a parameter in flat memory. */
const float *network_numbers(const NetworkGraph *n, int64_t offset);
/* A parameter as it is: a bias, a factor. */
Value network_vector(const NetworkGraph *n, int64_t offset);
/* A parameter as [its first dimension, all others], in the type that matrices have in the file. */
Value network_matrix(const NetworkGraph *n, int64_t offset);

Value network_linear(const NetworkGraph *n, const LinearAt *at, Value x);
/* Convolution over time, zeros outside. */
Value network_convolution(const NetworkGraph *n, const LinearAt *at, int kernel, Value x);
/* The same with one filter for each channel. */
Value network_depthwise(const NetworkGraph *n, const LinearAt *at, int kernel, Value x);
Value network_norm(const NetworkGraph *n, const NormAt *at, int width, Value x);
/* x + a PE; a: the offset of the factor. */
Value network_positions(const NetworkGraph *n, int64_t a, int width, Value x);
Value network_stack(const NetworkGraph *n, const StackAt *at, Value x);

#endif
