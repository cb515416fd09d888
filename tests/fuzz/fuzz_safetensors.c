/* fuzz_safetensors.c - any bytes as a checkpoint. The first byte chooses: the rest is the file itself; or it
 * is a list of edits (place, place, byte) to a sound file; or it is the text of a header, followed by as many
 * bytes of data as the second byte says. The length of the header and the checksum are left as they come or
 * made right, so that what lies behind them is reached. Whatever opens is read through, written again and
 * must be the same then. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "voice/safetensors_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

/* A path in $TMPDIR, which the script points at memory; one per process. */
static const char *path_of(const char *name)
{
    static char paths[2][320];
    static int next;
    char *p = paths[next++ % 2];
    const char *tmp = getenv("TMPDIR");
    snprintf(p, sizeof paths[0], "%s/fuzz-%ld-%s", tmp ? tmp : "/tmp", (long)getpid(), name);
    return p;
}

static void put(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ASSERT(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

/* A sound file, to be edited. */
static const Buf *sound(void)
{
    static Buf b;
    if (!b.size) {
        static const float numbers[6] = {1, -2, 3};
        const TensorView t[] = {{"a", "F32", 2, {2, 3}, numbers, 24},
                                {"b", "U8", 1, {3}, numbers, 3},
                                {"c", "I64", 0, {0}, numbers, 8},
                                {"d", "BF16", 4, {1, 1, 0, 1}, NULL, 0}};
        const MetaEntry meta[] = {{"step", "7"}, {"config", "a: \"b\"\n"}};
        const char *path = path_of("seed");
        ASSERT(safetensors_write(path, meta, 2, t, 4, NULL) == 0 && file_read(&b, path, 1 << 20, NULL) == 0);
        unlink(path);
    }
    return &b;
}

static void build(Buf *b, const uint8_t *data, size_t size)
{
    uint8_t how = data[0];
    if ((how & 3) == 0)
        buf_add(b, data + 2, size - 2);
    else if (how & 1) {
        buf_add(b, sound()->data, sound()->size);
        for (size_t i = 2; i + 3 <= size && i < 3 * 64; i += 3)
            b->data[(data[i] | data[i + 1] << 8) % b->size] = (char)data[i + 2];
    } else {
        uint8_t length[LENGTH_SIZE] = {0};
        buf_add(b, length, sizeof length);
        buf_add(b, data + 2, size - 2);
        put_u64((uint8_t *)b->data, size - 2);
        buf_zero(b, data[1]);
    }
    if (how & 4 && b->size >= LENGTH_SIZE) { /* up to the last bracket */
        size_t end = b->size;
        while (end > LENGTH_SIZE && b->data[end - 1] != '}')
            end--;
        put_u64((uint8_t *)b->data, end - LENGTH_SIZE);
    }
    if (how & 8 && b->size >= DIGITS_AT + DIGITS) {
        memcpy(b->data + DIGITS_AT, ZEROS, DIGITS);
        XXH128_canonical_t sum;
        XXH128_canonicalFromHash(&sum, XXH3_128bits(b->data, b->size));
        for (int i = 0; i < DIGITS / 2; i++) {
            char hex[3];
            snprintf(hex, sizeof hex, "%02x", sum.digest[i]);
            memcpy(b->data + DIGITS_AT + 2 * i, hex, 2);
        }
    }
}

static void read_through(const SafeTensors *f)
{
    for (int i = 0; i < f->count; i++) {
        const TensorView *t = &f->tensors[i];
        for (uint64_t k = 0; k < t->bytes; k++)
            sink ^= ((const uint8_t *)t->data)[k];
        ASSERT(t->dims >= 0 && t->dims <= 4);
        ASSERT((uintptr_t)t->data % dtypes[dtype_find(t->dtype)].size == 0 || t->bytes == 0);
        ASSERT(safetensors_find(f, t->name) == t);
    }
    for (int i = 0; i < f->n_meta; i++)
        ASSERT(safetensors_meta(f, f->meta[i].key) == f->meta[i].value);
}

/* The two own entries are the writer's to add. */
static void write_again(const SafeTensors *f)
{
    MetaEntry *meta = calloc((size_t)f->n_meta + 1, sizeof *meta);
    ASSERT(meta);
    int n = 0;
    for (int i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, "xxh128") != 0 && strcmp(f->meta[i].key, "written_by") != 0)
            meta[n++] = f->meta[i];
    const char *path = path_of("again");
    SafeTensors g;
    Err err = {0};
    int rc = safetensors_write(path, meta, n, f->tensors, f->count, &err);
    if (rc) /* an empty name can be read, and is not written */
        ASSERT(rc == ERR_DATA && safetensors_find(f, ""));
    else {
        rc = safetensors_open(&g, path, &err);
        if (rc) {
            fprintf(stderr, "what was written does not open: %s\n", err.msg);
            abort();
        }
        ASSERT(g.has_checksum && g.count == f->count && g.n_meta == n + 2);
        for (int i = 0; i < g.count; i++)
            ASSERT(strcmp(g.tensors[i].name, f->tensors[i].name) == 0 &&
                   g.tensors[i].bytes == f->tensors[i].bytes && g.tensors[i].dims == f->tensors[i].dims &&
                   strcmp(g.tensors[i].dtype, f->tensors[i].dtype) == 0 &&
                   memcmp(g.tensors[i].data, f->tensors[i].data, g.tensors[i].bytes) == 0);
        for (int i = 0; i < n; i++)
            ASSERT(strcmp(safetensors_meta(&g, meta[i].key), meta[i].value) == 0);
        safetensors_close(&g);
    }
    unlink(path);
    free(meta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    Buf b = {0};
    build(&b, data, size);
    const char *path = path_of("file");
    put(path, b.data ? b.data : "", b.size);
    SafeTensors f;
    Err err = {0};
    int rc = safetensors_open(&f, path, &err);
    ASSERT(rc == 0 || ((rc == ERR_DAMAGED || rc == ERR_FORMAT) && strstr(err.msg, path) && err.hint[0]));
    if (!rc) {
        read_through(&f);
        write_again(&f);
    }
    safetensors_close(&f);
    unlink(path);
    buf_free(&b);
    return 0;
}
