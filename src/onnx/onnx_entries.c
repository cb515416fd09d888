/* onnx_entries.c - see onnx_entries.h. Of the messages (onnx.proto3) only the names of these fields are
 * known; all else is stepped over. */
#include "onnx/onnx_entries.h"

#include <string.h>

#include "base/json.h"

enum { MODEL_GRAPH = 7, MODEL_METADATA = 14, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { VARINT = 0, EIGHT_BYTES = 1, COUNTED = 2, FOUR_BYTES = 5, KIND_BITS = 3, VARINT_MOST = 10 };

typedef struct Bytes {
    const uint8_t *at, *end;
} Bytes;

typedef struct Field {
    uint64_t number;
    Bytes content; /* of one that is counted; empty in others */
} Field;

static int take_varint(Bytes *b, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < VARINT_MOST && b->at < b->end; i++) {
        const uint8_t byte = *b->at++;
        *value |= (uint64_t)(byte & 0x7F) << 7 * i;
        if (!(byte & 0x80))
            return 0;
    }
    return -1;
}

/* 1: there is one; 0: the message ends here; -1: it is damaged. */
static int take_field(Bytes *b, Field *f)
{
    uint64_t tag, n = 0;
    *f = (Field){0};
    if (b->at == b->end)
        return 0;
    if (take_varint(b, &tag))
        return -1;
    f->number = tag >> KIND_BITS;
    switch (tag & ((1 << KIND_BITS) - 1)) {
    case VARINT:
        return take_varint(b, &n) ? -1 : 1;
    case EIGHT_BYTES:
        n = 8;
        break;
    case FOUR_BYTES:
        n = 4;
        break;
    case COUNTED:
        if (take_varint(b, &n))
            return -1;
        break;
    default:
        return -1;
    }
    if (n > (uint64_t)(b->end - b->at))
        return -1;
    f->content = (Bytes){b->at, b->at + n};
    b->at += n;
    return 1;
}

static json_t *text_of(const Bytes *b)
{
    return json_from_bytes(b->at ? (const char *)b->at : "", (size_t)(b->end - b->at));
}

static int add_entry(json_t *entries, Bytes message)
{
    Field f;
    Bytes key = {0}, value = {0};
    int rc;
    while ((rc = take_field(&message, &f)) > 0) {
        if (f.number == ENTRY_KEY)
            key = f.content;
        if (f.number == ENTRY_VALUE)
            value = f.content;
    }
    json_t *name = text_of(&key);
    if (!rc && name)
        json_object_set_new(entries, json_string_value(name), text_of(&value));
    json_decref(name);
    return rc;
}

int onnx_entries(json_t *entries, const void *data, size_t size, const char *path, Err *err)
{
    Bytes model = {data, (const uint8_t *)data + size};
    Field f;
    int rc, has_graph = 0;
    while ((rc = take_field(&model, &f)) > 0) {
        has_graph |= f.number == MODEL_GRAPH && f.content.at;
        if (f.number == MODEL_METADATA && add_entry(entries, f.content) < 0)
            rc = -1;
        if (rc < 0)
            break;
    }
    if (!rc && has_graph)
        return 0;
    err_set(err, ERR_FORMAT, "%s is not an ONNX file, or is damaged", path);
    return err_hint(err, "`myxtts export --format onnx` writes a new one");
}
