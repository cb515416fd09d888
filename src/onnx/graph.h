/* graph.h - an ONNX model while it is built: nodes, constants, inputs and outputs, and the file in the end.
 * A value is the name of a tensor in the graph; operators are those of opset 13. Running out of memory is
 * remembered and reported by graph_write, so building needs no checks. Threads: one at a time. */
#ifndef MYXTTS_GRAPH_H
#define MYXTTS_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define GRAPH_OPSET 13

/* By the numbers that ONNX has for them. */
typedef enum {
    ELEMENT_FLOAT = 1,
    ELEMENT_INT8 = 3,
    ELEMENT_INT32 = 6,
    ELEMENT_INT64 = 7,
    ELEMENT_FLOAT16 = 10,
    ELEMENT_DOUBLE = 11
} ElementType;

typedef const char *Value;

typedef struct GraphTensor {
    Value name;
    ElementType type;
    int dims;
    int64_t shape[3];
    const void *data;
    uint64_t bytes;
} GraphTensor;

typedef struct Graph {
    Block memory;         /* names, and the data of constants */
    GraphTensor *tensors; /* [tensor_count] */
    size_t tensor_count, tensor_room;
    Buf nodes, inputs, outputs, entries; /* fields of the file */
    Buf attributes;                      /* of the next node */
    char scope[64];                      /* names of values begin with it */
    int count;                           /* nodes */
    int failed;                          /* memory ran out */
} Graph;

void graph_close(Graph *g); /* always safe on a zeroed or closed one */

/* Names of the values from here on begin with this: "text.layers.0." */
void graph_scope(Graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory that lives as long as the graph; NULL is remembered. */
void *graph_memory(Graph *g, size_t n, size_t size);

/* shape: sizes and names of sizes, "1,symbols". */
Value graph_input(Graph *g, const char *name, ElementType type, const char *shape);
void graph_output(Graph *g, const char *name, ElementType type, const char *shape, Value value);
/* An entry of the metadata. */
void graph_entry(Graph *g, const char *key, const char *value);

/* A node with one output. An attribute belongs to the node that is added next. */
void graph_attribute(Graph *g, const char *name, int64_t value);
void graph_attribute_list(Graph *g, const char *name, const int64_t *values, int count);
Value graph_node(Graph *g, const char *operator, const Value * inputs, int count);
#define graph_add(g, operator, ...) \
    graph_node(g, operator,(const Value[]){__VA_ARGS__}, \
               (int)(sizeof((const Value[]){__VA_ARGS__}) / sizeof(Value)))

/* A constant. data must live until the graph is written. */
Value graph_constant(Graph *g, const char *name, const GraphTensor *tensor);
/* The same of float numbers [rows, columns]. */
Value graph_table(Graph *g, const char *name, const float *numbers, int64_t rows, int64_t columns);
/* Numbers of the program's; equal ones are one constant. */
Value graph_float(Graph *g, float value);
Value graph_double(Graph *g, double value);
Value graph_int(Graph *g, int64_t value);
Value graph_int_list(Graph *g, const int64_t *values, int count);
#define graph_ints(g, ...) \
    graph_int_list(g, (const int64_t[]){__VA_ARGS__}, \
                   (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* Nodes that are needed everywhere. */
Value graph_cast(Graph *g, Value x, ElementType to);
Value graph_gather(Graph *g, Value x, Value index, int axis);
Value graph_unsqueeze(Graph *g, Value x, int axis);
Value graph_squeeze(Graph *g, Value x, int axis);
Value graph_concat(Graph *g, const Value *values, int count, int axis);
/* Elements from .. to - 1 of an axis; negative numbers count from its end, GRAPH_END is the end. */
#define GRAPH_END INT64_MAX
Value graph_slice(Graph *g, Value x, int axis, int64_t from, int64_t to);
/* The number of elements of an axis, without dimensions. */
Value graph_size(Graph *g, Value x, int axis);
/* 0 .. count - 1 as int64. */
Value graph_range(Graph *g, Value count);
#define graph_reshape(g, x, ...) graph_add(g, "Reshape", x, graph_ints(g, __VA_ARGS__))
Value graph_transpose_by(Graph *g, Value x, const int64_t *order, int count);
#define graph_transpose(g, x, ...) \
    graph_transpose_by(g, x, (const int64_t[]){__VA_ARGS__}, \
                       (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* Writes the file atomically; the same graph gives the same bytes. ERR_DATA for one that is too large for
 * its format, ERR_NOMEM, ERR_NOSPACE. */
int graph_write(const Graph *g, const char *path, Err *err);

#endif
