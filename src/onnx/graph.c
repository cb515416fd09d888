/* graph.c - see graph.h. The numbers of fields are those of onnx.proto. */
#include "onnx/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "onnx/proto.h"

#define IR_VERSION 7 /* the one that came with opset 13 */
#define MOST_BYTES INT32_MAX
#define WRITER "myxtts"

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_ENTRY = 14 };
enum { OPSET_VERSION = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INT = 3, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_INT = 2, TYPE_INTS = 7 };
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_DATA = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_SIZE = 1, DIM_NAME = 2 };

void graph_close(Graph *g)
{
    block_free(&g->memory);
    buf_free(&g->nodes);
    buf_free(&g->inputs);
    buf_free(&g->outputs);
    buf_free(&g->entries);
    buf_free(&g->attributes);
    free(g->tensors);
    *g = (Graph){0};
}

/* --- names --- */

void graph_scope(Graph *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(g->scope, sizeof g->scope, format, args);
    va_end(args);
}

void *graph_memory(Graph *g, size_t n, size_t size)
{
    void *p = size && n > SIZE_MAX / size ? NULL : block_alloc(&g->memory, n * size + 1, sizeof(double));
    g->failed |= !p;
    return p;
}

static Value name_kept(Graph *g, const char *name)
{
    Value kept = block_strndup(&g->memory, name, strlen(name));
    g->failed |= !kept;
    return kept ? kept : "";
}

/* --- nodes --- */

void graph_attribute(Graph *g, const char *name, int64_t value)
{
    Buf b = {0};
    proto_text(&b, ATTRIBUTE_NAME, name);
    proto_int(&b, ATTRIBUTE_INT, value);
    proto_int(&b, ATTRIBUTE_TYPE, TYPE_INT);
    proto_message(&g->attributes, NODE_ATTRIBUTE, &b);
    buf_free(&b);
}

void graph_attribute_list(Graph *g, const char *name, const int64_t *values, int count)
{
    Buf b = {0};
    proto_text(&b, ATTRIBUTE_NAME, name);
    for (int i = 0; i < count; i++)
        proto_int(&b, ATTRIBUTE_INTS, values[i]);
    proto_int(&b, ATTRIBUTE_TYPE, TYPE_INTS);
    proto_message(&g->attributes, NODE_ATTRIBUTE, &b);
    buf_free(&b);
}

/* The attributes that wait are its own from now on. */
static void put_node(Graph *g, const char *operator, const Value * inputs, int count, Value output)
{
    Buf b = {0};
    for (int i = 0; i < count; i++)
        proto_text(&b, NODE_INPUT, inputs[i]);
    proto_text(&b, NODE_OUTPUT, output);
    proto_text(&b, NODE_NAME, output);
    proto_text(&b, NODE_OPERATOR, operator);
    buf_add(&b, g->attributes.data ? g->attributes.data : "", g->attributes.size);
    b.failed |= g->attributes.failed;
    buf_clear(&g->attributes);
    proto_message(&g->nodes, GRAPH_NODE, &b);
    buf_free(&b);
}

Value graph_node(Graph *g, const char *operator, const Value * inputs, int count)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s_%d", g->scope, operator, g->count++);
    Value output = name_kept(g, name);
    put_node(g, operator, inputs, count, output);
    return output;
}

/* --- what goes in and comes out --- */

static void put_value_info(Buf *to, int field, const char *name, ElementType type, const char *shape)
{
    Buf dims = {0}, tensor = {0}, kind = {0}, info = {0};
    for (const char *at = shape; *at;) {
        char size[32];
        Buf dim = {0};
        const size_t n = strcspn(at, ",");
        snprintf(size, sizeof size, "%.*s", (int)n, at);
        if (*size >= '0' && *size <= '9')
            proto_int(&dim, DIM_SIZE, strtol(size, NULL, 10));
        else
            proto_text(&dim, DIM_NAME, size);
        proto_message(&dims, SHAPE_DIM, &dim);
        buf_free(&dim);
        at += n + (at[n] == ',');
    }
    proto_int(&tensor, TENSOR_ELEMENT, type);
    proto_message(&tensor, TENSOR_SHAPE, &dims);
    proto_message(&kind, TYPE_TENSOR, &tensor);
    proto_text(&info, VALUE_NAME, name);
    proto_message(&info, VALUE_TYPE, &kind);
    proto_message(to, field, &info);
    buf_free(&dims);
    buf_free(&tensor);
    buf_free(&kind);
    buf_free(&info);
}

Value graph_input(Graph *g, const char *name, ElementType type, const char *shape)
{
    put_value_info(&g->inputs, GRAPH_INPUT, name, type, shape);
    return name_kept(g, name);
}

void graph_output(Graph *g, const char *name, ElementType type, const char *shape, Value value)
{
    put_node(g, "Identity", &value, 1, name);
    put_value_info(&g->outputs, GRAPH_OUTPUT, name, type, shape);
}

void graph_entry(Graph *g, const char *key, const char *value)
{
    Buf b = {0};
    proto_text(&b, ENTRY_KEY, key);
    proto_text(&b, ENTRY_VALUE, value);
    proto_message(&g->entries, MODEL_ENTRY, &b);
    buf_free(&b);
}

/* --- constants --- */

Value graph_constant(Graph *g, const char *name, const GraphTensor *tensor)
{
    if (mem_grow(&g->tensors, &g->tensor_room, g->tensor_count + 1, sizeof *g->tensors)) {
        g->failed = 1;
        return "";
    }
    GraphTensor *t = &g->tensors[g->tensor_count++];
    *t = *tensor;
    t->name = name_kept(g, name);
    return t->name;
}

Value graph_table(Graph *g, const char *name, const float *numbers, int64_t rows, int64_t columns)
{
    return graph_constant(g, name,
                          &(GraphTensor){.type = ELEMENT_FLOAT,
                                         .dims = 2,
                                         .shape = {rows, columns},
                                         .data = numbers,
                                         .bytes = (uint64_t)(rows * columns) * sizeof *numbers});
}

/* The constant of this name, or a new one with a copy of the data. */
static Value shared(Graph *g, const char *name, ElementType type, int dims, int64_t count, const void *data,
                    size_t bytes)
{
    for (size_t i = 0; i < g->tensor_count; i++)
        if (strcmp(g->tensors[i].name, name) == 0)
            return g->tensors[i].name;
    void *copy = graph_memory(g, bytes, 1);
    if (!copy)
        return "";
    memcpy(copy, data, bytes);
    return graph_constant(
        g, name, &(GraphTensor){.type = type, .dims = dims, .shape = {count}, .data = copy, .bytes = bytes});
}

Value graph_float(Graph *g, float value)
{
    char name[48];
    snprintf(name, sizeof name, "float(%.9g)", (double)value);
    return shared(g, name, ELEMENT_FLOAT, 0, 0, &value, sizeof value);
}

Value graph_double(Graph *g, double value)
{
    char name[48];
    snprintf(name, sizeof name, "double(%.17g)", value);
    return shared(g, name, ELEMENT_DOUBLE, 0, 0, &value, sizeof value);
}

Value graph_int(Graph *g, int64_t value)
{
    char name[48];
    snprintf(name, sizeof name, "int(%lld)", (long long)value);
    return shared(g, name, ELEMENT_INT64, 0, 0, &value, sizeof value);
}

Value graph_int_list(Graph *g, const int64_t *values, int count)
{
    char name[128] = "ints(";
    for (int i = 0; i < count; i++) {
        const size_t n = strlen(name);
        snprintf(name + n, sizeof name - n, "%lld%s", (long long)values[i], i + 1 < count ? "," : ")");
    }
    return shared(g, name, ELEMENT_INT64, 1, count, values, (size_t)count * sizeof *values);
}

/* --- common nodes --- */

Value graph_cast(Graph *g, Value x, ElementType to)
{
    graph_attribute(g, "to", to);
    return graph_add(g, "Cast", x);
}

Value graph_gather(Graph *g, Value x, Value index, int axis)
{
    graph_attribute(g, "axis", axis);
    return graph_add(g, "Gather", x, index);
}

Value graph_unsqueeze(Graph *g, Value x, int axis)
{
    return graph_add(g, "Unsqueeze", x, graph_ints(g, axis));
}

Value graph_squeeze(Graph *g, Value x, int axis) { return graph_add(g, "Squeeze", x, graph_ints(g, axis)); }

Value graph_concat(Graph *g, const Value *values, int count, int axis)
{
    graph_attribute(g, "axis", axis);
    return graph_node(g, "Concat", values, count);
}

Value graph_slice(Graph *g, Value x, int axis, int64_t from, int64_t to)
{
    return graph_add(g, "Slice", x, graph_ints(g, from), graph_ints(g, to), graph_ints(g, axis));
}

Value graph_size(Graph *g, Value x, int axis)
{
    return graph_gather(g, graph_add(g, "Shape", x), graph_int(g, axis), 0);
}

Value graph_range(Graph *g, Value count)
{
    return graph_add(g, "Range", graph_int(g, 0), count, graph_int(g, 1));
}

Value graph_transpose_by(Graph *g, Value x, const int64_t *order, int count)
{
    graph_attribute_list(g, "perm", order, count);
    return graph_add(g, "Transpose", x);
}

/* --- the file --- */

/* A constant up to its data. */
static void put_tensor_head(Buf *b, const GraphTensor *t)
{
    for (int i = 0; i < t->dims; i++)
        proto_int(b, TENSOR_DIM, t->shape[i]);
    proto_int(b, TENSOR_TYPE, t->type);
    proto_text(b, TENSOR_NAME, t->name);
    proto_begin(b, TENSOR_DATA, t->bytes);
}

/* The field of a constant up to its data. */
static void put_tensor_field(Buf *b, const GraphTensor *t)
{
    Buf head = {0};
    put_tensor_head(&head, t);
    proto_begin(b, GRAPH_TENSOR, head.size + t->bytes);
    buf_add(b, head.data ? head.data : "", head.size);
    b->failed |= head.failed;
    buf_free(&head);
}

/* All in front of the constants: the model's own fields, and the graph's. The graph comes last in the file,
 * its length first. */
static int build_head(Buf *out, const Graph *g, Err *err)
{
    Buf opset = {0}, graph = {0}, field = {0};
    proto_int(out, MODEL_IR_VERSION, IR_VERSION);
    proto_text(out, MODEL_PRODUCER, WRITER);
    proto_int(&opset, OPSET_VERSION, GRAPH_OPSET);
    proto_message(out, MODEL_OPSET, &opset);
    buf_add(out, g->entries.data ? g->entries.data : "", g->entries.size);
    proto_text(&graph, GRAPH_NAME, WRITER);
    const Buf *const parts[] = {&g->inputs, &g->outputs, &g->nodes};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_add(&graph, parts[i]->data ? parts[i]->data : "", parts[i]->size);
        graph.failed |= parts[i]->failed;
    }
    uint64_t bytes = graph.size;
    for (size_t i = 0; i < g->tensor_count; i++) {
        buf_clear(&field);
        put_tensor_field(&field, &g->tensors[i]);
        bytes += field.size + g->tensors[i].bytes;
    }
    proto_begin(out, MODEL_GRAPH, bytes);
    buf_add(out, graph.data ? graph.data : "", graph.size);
    int rc = 0;
    if (g->failed || out->failed || opset.failed || graph.failed || field.failed || g->entries.failed ||
        g->attributes.failed)
        rc = err_set(err, ERR_NOMEM, "no memory for the graph of a network");
    else if (out->size + bytes > MOST_BYTES) {
        err_set(err, ERR_DATA, "the network takes %.1f GB, but an ONNX file holds only 2",
                (double)(out->size + bytes) / 1e9);
        rc = err_hint(err, "smaller weights would fit: --precision float16 or int8");
    }
    buf_free(&opset);
    buf_free(&graph);
    buf_free(&field);
    return rc;
}

/* Constants go from where they lie into the file. */
static int write_tensors(FileWriter *w, const Graph *g, Err *err)
{
    Buf field = {0};
    int rc = 0;
    for (size_t i = 0; i < g->tensor_count && !rc; i++) {
        buf_clear(&field);
        put_tensor_field(&field, &g->tensors[i]);
        rc = field.failed ? err_set(err, ERR_NOMEM, "no memory for the graph of a network")
                          : file_writer_write(w, field.data, field.size, err);
        if (!rc)
            rc = file_writer_write(w, g->tensors[i].data, g->tensors[i].bytes, err);
    }
    buf_free(&field);
    return rc;
}

int graph_write(const Graph *g, const char *path, Err *err)
{
    FileWriter w = {0};
    Buf head = {0};
    int rc = build_head(&head, g, err);
    if (rc)
        err_prefix(err, "cannot write %s", path);
    if (!rc)
        rc = file_writer_open(&w, path, err);
    if (!rc)
        rc = file_writer_write(&w, head.data, head.size, err);
    if (!rc)
        rc = write_tensors(&w, g, err);
    if (!rc)
        rc = file_writer_commit(&w, err);
    if (rc == ERR_NOSPACE)
        err_hint(err, "free some space, or put the file on another disk");
    file_writer_abort(&w);
    buf_free(&head);
    return rc;
}
