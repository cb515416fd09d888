/* safetensors.c - the reader of safetensors files. The format: github.com/huggingface/safetensors, checked
 * against its Python package 0.8.0. Nothing is trusted: every size and place is checked before it is used. */
#include "voice/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_guard.h"
#include "voice/safetensors_format.h"

#define DEPTH 3                 /* of brackets: file, tensor, shape */
#define PIECE ((size_t)1 << 20) /* bytes that are hashed at a time */
#define COPY_ALIGN 16           /* of tensors that do not lie even */

/* What people hand over by mistake. */
static const struct {
    const char *start;
    size_t size;
    const char *what;
} others[] = {
    {"PK\3\4", 4, "a zip archive, as PyTorch saves (.pt, .pth)"},
    {"\x80\2", 2, "a Python pickle, as old PyTorch saves"},
    {"\x89HDF", 4, "HDF5, as Keras saves (.h5)"},
    {"\x89PNG", 4, "a PNG picture"},
    {"RIFF", 4, "a WAV file"},
    {"fLaC", 4, "a FLAC file"},
    {"OggS", 4, "an Ogg file"},
    {"GGUF", 4, "GGUF"},
    {"\x93NUMPY", 6, "a NumPy array"},
    {"{", 1, "JSON"},
    {"#", 1, "a text"},
};

typedef struct Reader {
    SafeTensors *f;
    const char *path;
    int fd;
    uint64_t size, data_at; /* of the file; of its data section */
    char *start;            /* the file up to data_at */
    const TensorView **by_place;
    Err *err;
} Reader;

/* Another kind of file. */
static int refuse(Reader *r, const char *text)
{
    err_set(r->err, ERR_FORMAT, "%s is not a safetensors file: %s", r->path, text);
    err_hint(
        r->err,
        "name a checkpoint that `train` wrote, for instance best.safetensors or step-00001000.safetensors");
    return ERR_FORMAT;
}

/* Control characters other than white space, and bytes that UTF-8 never has, are in no text. */
static int is_text(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < 9 || (p[i] > 13 && p[i] < 32) || p[i] == 127 || p[i] >= 0xF8)
            return 0;
    return 1;
}

/* The first 8 bytes are no sensible length. */
static int refuse_start(Reader *r, const uint8_t *p, size_t n, uint64_t length)
{
    static const uint8_t onnx[] = {0x08, 0, 0x12}; /* its version, then who wrote it */
    char text[200];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (n >= others[i].size && memcmp(p, others[i].start, others[i].size) == 0) {
            snprintf(text, sizeof text, "it looks like %s", others[i].what);
            return refuse(r, text);
        }
    if (is_text(p, n))
        return refuse(r, "it looks like text");
    if (n >= sizeof onnx && p[0] == onnx[0] && p[2] == onnx[2]) {
        err_set(r->err, ERR_FORMAT, "%s is an ONNX file, for other programs", r->path);
        return err_hint(r->err, "myxtts speaks from the folder of the training, or from a .safetensors file");
    }
    snprintf(text, sizeof text, "its first bytes announce a header of %llu bytes, but the file has only %llu",
             (unsigned long long)length, (unsigned long long)r->size);
    return refuse(r, text);
}

/* The right kind of file, but damaged or described wrongly. */
static int wrong_header(Reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int wrong_header(Reader *r, const char *fmt, ...)
{
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(r->err, ERR_FORMAT, "cannot read %s: %s", r->path, text);
    err_hint(r->err, "the file is damaged, or was written by a program that does not follow the format; use "
                     "another checkpoint");
    return ERR_FORMAT;
}

static int no_memory(Reader *r) { return err_set(r->err, ERR_NOMEM, "no memory to read %s", r->path); }

/* Sets start and data_at. */
static int read_start(Reader *r)
{
    uint8_t first[LENGTH_SIZE];
    struct stat st;
    /* Not blocking: a named pipe is refused below, not waited for. */
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd < 0) {
        int missing = errno == ENOENT || errno == ENOTDIR;
        return err_set_errno(r->err, missing ? ERR_MISSING : ERR_IO, "cannot open %s", r->path);
    }
    if (fstat(r->fd, &st))
        return err_set_errno(r->err, ERR_IO, "cannot read %s", r->path);
    file_stamp_from(&r->f->stamp, &st);
    if (!S_ISREG(st.st_mode))
        return refuse(r, S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file");
    r->size = (uint64_t)st.st_size;
    if (r->size == 0)
        return refuse(r, "it is empty");
    size_t have = r->size < LENGTH_SIZE ? (size_t)r->size : LENGTH_SIZE;
    int rc = file_pread_all(r->fd, first, have, 0, r->path, r->err);
    if (rc)
        return rc;
    if (have < LENGTH_SIZE)
        return is_text(first, have) ? refuse(r, "it looks like text")
                                    : wrong_header(r, "it has only %zu bytes", have);
    uint64_t length = get_u64(first);
    if (length < 2 || length > HEADER_LIMIT)
        return refuse_start(r, first, sizeof first, length);
    if (length > r->size - LENGTH_SIZE)
        return wrong_header(r, "it ends at byte %llu, inside its header of %llu bytes",
                            (unsigned long long)r->size, (unsigned long long)length);
    r->data_at = LENGTH_SIZE + length;
    r->start = malloc(r->data_at);
    if (!r->start)
        return no_memory(r);
    rc = file_pread_all(r->fd, r->start, r->data_at, 0, r->path, r->err);
    if (!rc && r->start[LENGTH_SIZE] != '{')
        rc = refuse(r, "its header is not JSON");
    return rc;
}

/* Counted before parsing, because jansson recurses into a file of brackets. */
static int depth_of(const char *p, size_t n)
{
    int depth = 0, most = 0, in_text = 0;
    for (size_t i = 0; i < n; i++)
        if (in_text) {
            if (p[i] == '\\')
                i++;
            else if (p[i] == '"')
                in_text = 0;
        } else if (p[i] == '"')
            in_text = 1;
        else if (p[i] == '{' || p[i] == '[') {
            depth++;
            most = depth > most ? depth : most;
        } else if (p[i] == '}' || p[i] == ']')
            depth--;
    return most;
}

static int compare_meta(const void *a, const void *b)
{
    return strcmp(((const MetaEntry *)a)->key, ((const MetaEntry *)b)->key);
}
static int compare_name(const void *a, const void *b)
{
    return strcmp(((const TensorView *)a)->name, ((const TensorView *)b)->name);
}

/* While the header is read, the data pointer of a view holds its place in the data section. */
static uint64_t place_of(const TensorView *t) { return (uint64_t)(uintptr_t)t->data; }

static int compare_place(const void *a, const void *b)
{
    const TensorView *x = *(const TensorView *const *)a, *y = *(const TensorView *const *)b;
    if (place_of(x) != place_of(y))
        return place_of(x) < place_of(y) ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int take_meta(Reader *r, json_t *o)
{
    SafeTensors *f = r->f;
    const char *key;
    json_t *value;
    if (!json_is_object(o))
        return wrong_header(r, "its __metadata__ is not an object of strings");
    f->meta = block_alloc(&f->block, (json_object_size(o) + 1) * sizeof *f->meta, sizeof(void *));
    if (!f->meta)
        return no_memory(r);
    json_object_foreach(o, key, value)
    {
        if (!json_is_string(value))
            return wrong_header(r, "the entry '%s' of its __metadata__ is not a string", show(key).text);
        MetaEntry *e = &f->meta[f->n_meta++];
        e->key = block_strndup(&f->block, key, strlen(key));
        e->value = block_strndup(&f->block, json_string_value(value), json_string_length(value));
        if (!e->key || !e->value)
            return no_memory(r);
    }
    qsort(f->meta, (size_t)f->n_meta, sizeof *f->meta, compare_meta);
    return 0;
}

/* Everything about one tensor is checked here, but for its neighbours. */
static int take_tensor(Reader *r, TensorView *t, const char *name, json_t *o)
{
    json_t *shape = json_object_get(o, "shape"), *place = json_object_get(o, "data_offsets");
    const char *dtype = json_string_value(json_object_get(o, "dtype"));
    json_t *from = json_array_get(place, 0), *to = json_array_get(place, 1);
    if (!json_is_object(o) || !dtype || !json_is_array(shape) || !json_is_integer(from) ||
        !json_is_integer(to) || json_array_size(place) != 2)
        return wrong_header(
            r, "the entry '%s' of its header does not describe a tensor (dtype, shape, data_offsets)",
            show(name).text);
    int type = dtype_find(dtype);
    if (type < 0)
        return wrong_header(r, "its tensor '%s' has the unknown type '%s'", show(name).text,
                            show(dtype).text);
    if (json_array_size(shape) > 4)
        return wrong_header(r, "its tensor '%s' has %zu dimensions, but at most 4 are supported",
                            show(name).text, json_array_size(shape));
    t->dtype = dtypes[type].name;
    t->dims = (int)json_array_size(shape);
    for (int i = 0; i < t->dims; i++) {
        json_t *side = json_array_get(shape, (size_t)i);
        if (!json_is_integer(side) || json_integer_value(side) < 0)
            return wrong_header(r, "the shape of its tensor '%s' is not made of numbers", show(name).text);
        t->shape[i] = json_integer_value(side);
    }
    json_int_t begin = json_integer_value(from), end = json_integer_value(to);
    if (begin < 0 || end < begin)
        return wrong_header(r, "its tensor '%s' has the offsets %lld to %lld, which are not a range",
                            show(name).text, (long long)begin, (long long)end);
    t->bytes = (uint64_t)(end - begin);
    /* Bytes against shape, and both against the file. */
    if (bytes_of(t->shape, t->dims, dtypes[type].size) != (int64_t)t->bytes)
        return wrong_header(r, "its tensor '%s' has %llu bytes, which does not match its type %s and shape",
                            show(name).text, (unsigned long long)t->bytes, t->dtype);
    if ((uint64_t)end > r->size - r->data_at)
        return wrong_header(r, "it is cut off: its tensor '%s' ends at byte %llu, the file at %llu",
                            show(name).text, (unsigned long long)r->data_at + (unsigned long long)end,
                            (unsigned long long)r->size);
    t->name = block_strndup(&r->f->block, name, strlen(name));
    t->data = (const void *)(uintptr_t)begin;
    return t->name ? 0 : no_memory(r);
}

/* Every byte of the data section belongs to exactly one tensor. */
static int check_places(Reader *r)
{
    SafeTensors *f = r->f;
    r->by_place = mem_calloc((size_t)f->count + 1, sizeof *r->by_place);
    if (!r->by_place)
        return no_memory(r);
    for (int i = 0; i < f->count; i++)
        r->by_place[i] = &f->tensors[i];
    qsort(r->by_place, (size_t)f->count, sizeof *r->by_place, compare_place);
    uint64_t at = 0;
    for (int i = 0; i < f->count; i++) {
        const TensorView *t = r->by_place[i];
        if (place_of(t) < at)
            return wrong_header(r, "its tensors '%s' and '%s' overlap", show(r->by_place[i - 1]->name).text,
                                show(t->name).text);
        if (place_of(t) > at)
            return wrong_header(r, "%llu bytes before its tensor '%s' belong to no tensor",
                                (unsigned long long)(place_of(t) - at), show(t->name).text);
        at += t->bytes;
    }
    if (at != r->size - r->data_at)
        return wrong_header(r, "it has %llu bytes after its last tensor",
                            (unsigned long long)(r->size - r->data_at - at));
    return 0;
}

/* Tensors are sorted by name, so that finding one is a binary search. */
static int read_header(Reader *r)
{
    SafeTensors *f = r->f;
    const char *text = r->start + LENGTH_SIZE;
    size_t n = r->data_at - LENGTH_SIZE;
    int depth = depth_of(text, n);
    if (depth > DEPTH)
        return wrong_header(r, "its header is nested %d levels deep; tensors need %d", depth, DEPTH);
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return no_memory(r);
    if (!root)
        return wrong_header(r, "its header is not JSON: %.200s at byte %d", error.text,
                            LENGTH_SIZE + error.position);
    int rc = 0;
    const char *key;
    json_t *value;
    f->tensors = block_alloc(&f->block, (json_object_size(root) + 1) * sizeof *f->tensors, sizeof(void *));
    if (!f->tensors)
        rc = no_memory(r);
    json_object_foreach(root, key, value)
    {
        if (rc)
            break;
        if (strcmp(key, "__metadata__") == 0)
            rc = take_meta(r, value);
        else
            rc = take_tensor(r, &f->tensors[f->count++], key, value);
    }
    json_decref(root);
    if (rc)
        return rc;
    qsort(f->tensors, (size_t)f->count, sizeof *f->tensors, compare_name);
    return check_places(r);
}

/* Through read and not through the mapping: a part of the disk that cannot be read is an error then, and no
 * SIGBUS. */
static int hash_file(Reader *r, char text[DIGITS + 1])
{
    char *piece = malloc(PIECE);
    XXH3_state_t *state = XXH3_createState();
    int rc = !piece || !state ? no_memory(r) : 0;
    if (!rc) {
        memcpy(r->start + DIGITS_AT, ZEROS, DIGITS);
        XXH3_128bits_reset(state);
        XXH3_128bits_update(state, r->start, r->data_at);
    }
    for (uint64_t at = r->data_at; !rc && at < r->size;) {
        size_t n = r->size - at < PIECE ? (size_t)(r->size - at) : PIECE;
        rc = file_pread_all(r->fd, piece, n, at, r->path, r->err);
        if (!rc)
            XXH3_128bits_update(state, piece, n);
        at += n;
    }
    if (!rc)
        digest_text(text, state);
    XXH3_freeState(state);
    free(piece);
    return rc;
}

/* A file of ours must have a checksum, and it must be right; others may go without. */
static int check_sum(Reader *r)
{
    static const char hint[] = "use another checkpoint; a tool that changes such a file on purpose must "
                               "remove xxh128 and written_by";
    const char *want = safetensors_meta(r->f, "xxh128"), *by = safetensors_meta(r->f, "written_by");
    if (!want) {
        if (!by || strcmp(by, OWN_NAME) != 0)
            return 0;
        err_set(r->err, ERR_DAMAGED, "%s says it was written by %s, but its checksum is gone", r->path,
                OWN_NAME);
        err_hint(r->err, "%s", hint);
        return ERR_DAMAGED;
    }
    char have[DIGITS + 1] = "";
    int in_place = strlen(want) == DIGITS && r->data_at >= DIGITS_AT + DIGITS &&
                   memcmp(r->start + LENGTH_SIZE, HEADER_START, sizeof HEADER_START - 1) == 0 &&
                   memcmp(r->start + DIGITS_AT, want, DIGITS) == 0;
    int rc = in_place ? hash_file(r, have) : 0;
    if (rc)
        return rc;
    if (!in_place || memcmp(have, want, DIGITS) != 0) {
        err_set(r->err, ERR_DAMAGED,
                "%s was changed after it was written: its checksum is %s, the file says %.40s", r->path,
                in_place ? have : "not in its place", show(want).text);
        err_hint(r->err, "%s", hint);
        return ERR_DAMAGED;
    }
    r->f->has_checksum = 1;
    return 0;
}

/* From places in the data section to pointers. A foreign file may have a tensor at an odd place: it is copied
 * to an even one. */
static int map_data(Reader *r)
{
    SafeTensors *f = r->f;
    void *p = mmap(NULL, r->size, PROT_READ, MAP_SHARED, r->fd, 0);
    if (p == MAP_FAILED)
        return err_set_errno(r->err, ERR_IO, "cannot map %s (%llu bytes)", r->path,
                             (unsigned long long)r->size);
    f->map = (FileMap){p, r->size, file_guard_add(p, r->size)};
    for (int i = 0; i < f->count; i++) {
        TensorView *t = &f->tensors[i];
        uint64_t at = r->data_at + place_of(t);
        t->data = f->map.data + at;
        if (at % dtypes[dtype_find(t->dtype)].size == 0 || t->bytes == 0)
            continue;
        void *copy = block_alloc(&f->block, t->bytes, COPY_ALIGN);
        if (!copy)
            return no_memory(r);
        memcpy(copy, t->data, t->bytes);
        t->data = copy;
    }
    return 0;
}

/* The checksum is tested before anything is mapped: what was mapped can be trusted. */
int safetensors_open(SafeTensors *f, const char *path, Err *err)
{
    *f = (SafeTensors){0};
    Reader r = {.f = f, .path = path, .fd = -1, .err = err};
    int rc = read_start(&r);
    if (!rc)
        rc = read_header(&r);
    if (!rc)
        rc = check_sum(&r);
    if (!rc)
        rc = map_data(&r);
    f->fd_plus1 = r.fd + 1;
    free(r.start);
    free(r.by_place);
    if (rc)
        safetensors_close(f);
    return rc;
}

/* Closes the file and forgets its contents. */
static void drop_file(SafeTensors *f)
{
    file_unmap(&f->map);
    if (f->fd_plus1)
        close(f->fd_plus1 - 1);
    f->fd_plus1 = 0;
    f->count = 0;
}

/* The status of a file may change without its content, as when another name of it is removed. */
int safetensors_let_go(SafeTensors *f, const char *path, Err *err)
{
    struct stat st;
    FileStamp now = {0};
    if (f->fd_plus1 && fstat(f->fd_plus1 - 1, &st) == 0)
        file_stamp_from(&now, &st);
    const int same = !f->fd_plus1 || (now.size == f->stamp.size && now.mtime_ns == f->stamp.mtime_ns);
    drop_file(f);
    if (same)
        return 0;
    err_set(err, ERR_DAMAGED, "%s was changed while it was read", path);
    return err_hint(
        err,
        "try again when it is complete; to replace a file safely, write a new one beside it and rename that");
}

void safetensors_close(SafeTensors *f)
{
    drop_file(f);
    block_free(&f->block);
    *f = (SafeTensors){0};
}

const TensorView *safetensors_find(const SafeTensors *f, const char *name)
{
    TensorView key = {.name = name};
    return f->count ? bsearch(&key, f->tensors, (size_t)f->count, sizeof *f->tensors, compare_name) : NULL;
}

const char *safetensors_meta(const SafeTensors *f, const char *key)
{
    MetaEntry want = {.key = key};
    const MetaEntry *e =
        f->n_meta ? bsearch(&want, f->meta, (size_t)f->n_meta, sizeof *f->meta, compare_meta) : NULL;
    return e ? e->value : NULL;
}
