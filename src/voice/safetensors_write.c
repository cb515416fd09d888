/* safetensors_write.c - the writer of safetensors files: header, checksum, data, all or nothing. */
#include <jansson.h>
#include <stdlib.h>

#include "voice/safetensors_format.h"

/* An entry of the metadata. jansson refuses invalid UTF-8. */
static int add_text(json_t *to, const char *key, const char *value, const char *what, Err *err)
{
    json_t *text = json_string(value);
    if (!text)
        return err_set(err, ERR_DATA, "the %s '%s' has a text that is not UTF-8", what, show(key).text);
    if (json_object_get(to, key)) {
        json_decref(text);
        return err_set(err, ERR_DATA, "the %s '%s' is given twice", what, show(key).text);
    }
    if (json_object_set_new(to, key, text))
        return err_set(err, ERR_DATA, "the %s '%s' is not UTF-8", what, show(key).text);
    return 0;
}

/* The description of a tensor whose data begins at *at; *at moves behind it. */
static int add_tensor(json_t *to, const TensorView *t, uint64_t *at, Err *err)
{
    int type = dtype_find(t->dtype);
    if (type < 0)
        return err_set(err, ERR_DATA, "the tensor '%s' has the unknown type '%s'", show(t->name).text,
                       t->dtype ? t->dtype : "");
    int64_t want = t->dims < 0 || t->dims > 4 ? -1 : bytes_of(t->shape, t->dims, dtypes[type].size);
    if (want < 0 || (uint64_t)want != t->bytes || (t->bytes && !t->data))
        return err_set(err, ERR_DATA,
                       "the tensor '%s' (%s, %d dimensions) does not have the %llu bytes of its shape",
                       show(t->name).text, t->dtype, t->dims, (unsigned long long)t->bytes);
    if (!t->name[0] || json_object_get(to, t->name))
        return err_set(err, ERR_DATA, "the tensor '%s' is given twice, or has a reserved name",
                       show(t->name).text);
    json_t *shape = json_array();
    for (int i = 0; i < t->dims; i++)
        json_array_append_new(shape, json_integer(t->shape[i]));
    json_t *o = json_pack("{s:s, s:o, s:[I,I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
                          (json_int_t)*at, (json_int_t)(*at + t->bytes));
    *at += t->bytes;
    if (!o || json_array_size(shape) != (size_t)t->dims) {
        json_decref(o);
        return err_set(err, ERR_NOMEM, "no memory for the header of a checkpoint");
    }
    if (json_object_set_new(to, t->name, o))
        return err_set(err, ERR_DATA, "the name of the tensor '%s' is not UTF-8", show(t->name).text);
    return 0;
}

/* Length, JSON and blanks, with zeros for the checksum. */
static int build_header(Buf *out, const MetaEntry *meta, int n_meta, const TensorView *const *t, int n,
                        Err *err)
{
    json_t *root = json_object(), *own = json_object();
    char *text = NULL;
    uint64_t at = 0;
    int rc = 0;
    if (json_object_set_new(root, "__metadata__", own))
        rc = err_set(err, ERR_NOMEM, "no memory for the header of a checkpoint");
    if (!rc)
        rc = add_text(own, "xxh128", ZEROS, "entry", err);
    if (!rc)
        rc = add_text(own, "written_by", OWN_NAME, "entry", err);
    for (int i = 0; !rc && i < n_meta; i++)
        rc = add_text(own, meta[i].key, meta[i].value, "entry", err);
    for (int i = 0; !rc && i < n; i++)
        rc = add_tensor(root, t[i], &at, err);
    if (!rc) {
        text = json_dumps(root, JSON_COMPACT);
        size_t length = text ? strlen(text) : 0, whole = round_up(LENGTH_SIZE + length, DATA_ALIGN);
        uint8_t start[LENGTH_SIZE];
        put_u64(start, whole - LENGTH_SIZE);
        buf_add(out, start, sizeof start);
        buf_add(out, text ? text : "", length);
        while (!out->failed && out->size < whole)
            buf_add(out, " ", 1);
        if (!text || out->failed)
            rc = err_set(err, ERR_NOMEM, "no memory for the header of a checkpoint");
        else if (whole > HEADER_LIMIT)
            rc = err_set(err, ERR_DATA,
                         "the header of the checkpoint would have %zu bytes, over the limit of %d", whole,
                         HEADER_LIMIT);
    }
    free(text);
    json_decref(root);
    return rc;
}

/* Largest elements first, otherwise as given. */
static void order_tensors(const TensorView **out, const TensorView *t, int n)
{
    int at = 0;
    for (uint64_t size = 8; size > 0; size /= 2)
        for (int i = 0; i < n; i++) {
            int type = dtype_find(t[i].dtype);
            if ((type < 0 ? 1 : dtypes[type].size) == size)
                out[at++] = &t[i];
        }
}

/* Over the header with zeros in its place, then all data; the digits then replace the zeros. */
static int put_checksum(Buf *header, const TensorView *const *t, int n)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return ERR_NOMEM;
    char text[DIGITS + 1];
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, header->data, header->size);
    for (int i = 0; i < n; i++)
        if (t[i]->bytes)
            XXH3_128bits_update(state, t[i]->data, t[i]->bytes);
    digest_text(text, state);
    XXH3_freeState(state);
    memcpy(header->data + DIGITS_AT, text, DIGITS);
    return 0;
}

/* The checksum goes into the header, which comes first: the data is passed over twice, once for the checksum
 * and once for the file. */
int safetensors_write(const char *path, const MetaEntry *meta, int n_meta, const TensorView *t, int n,
                      Err *err)
{
    FileWriter w = {0};
    Buf header = {0};
    int rc;
    const TensorView **order = mem_calloc((size_t)n + 1, sizeof *order);
    if (!order)
        return err_set(err, ERR_NOMEM, "no memory to write %s", path);
    order_tensors(order, t, n);
    rc = build_header(&header, meta, n_meta, order, n, err);
    if (rc) {
        err_prefix(err, "cannot write %s", path);
        goto done;
    }
    rc = put_checksum(&header, order, n);
    if (rc) {
        err_set(err, rc, "no memory to write %s", path);
        goto done;
    }
    rc = file_writer_open(&w, path, err);
    if (!rc)
        rc = file_writer_write(&w, header.data, header.size, err);
    for (int i = 0; !rc && i < n; i++)
        rc = file_writer_write(&w, order[i]->data, order[i]->bytes, err);
    if (!rc)
        rc = file_writer_commit(&w, err);
    if (rc == ERR_NOSPACE)
        err_hint(err, "free some space, or put the checkpoints on another disk");
done:
    file_writer_abort(&w);
    buf_free(&header);
    free(order);
    return rc;
}
