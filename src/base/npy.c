/* npy.c - see npy.h. As in numpy.lib.format a file is magic, version, header length (two bytes in version 1,
 * four later), a Python dictionary padded to a multiple of 64 bytes, and the data. */
#include "base/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"

#define MAGIC "\x93NUMPY\x01\x00"
#define NAME_SIZE 6 /* of the magic without the version */
#define MAGIC_SIZE 8
#define LEAD 10          /* bytes of magic and header length */
#define LEAD_LATER 12    /* from version 2 on */
#define MOST_HEADER 4096 /* bytes; two dimensions need a tenth of it */

int npy_write(const char *path, const float *data, int64_t rows, int64_t cols, Err *err)
{
    char head[192];
    memset(head, ' ', sizeof head);
    memcpy(head, MAGIC, MAGIC_SIZE);
    int used = LEAD + snprintf(head + LEAD, sizeof head - LEAD,
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }",
                               (long long)rows, (long long)cols);
    size_t total = round_up((uint64_t)used + 1, 64);
    head[used] = ' ';
    head[total - 1] = '\n';
    put_u16((uint8_t *)head + MAGIC_SIZE, (uint16_t)(total - LEAD));
    FileWriter w = {0};
    int rc = file_writer_open(&w, path, err);
    if (!rc)
        rc = file_writer_write(&w, head, total, err);
    if (!rc)
        rc = file_writer_write(&w, data, (size_t)rows * (size_t)cols * sizeof *data, err);
    if (!rc)
        rc = file_writer_commit(&w, err);
    if (rc)
        file_writer_abort(&w);
    return rc;
}

/* What a header says of the numbers behind it. */
typedef struct Layout {
    long long rows, cols;
    int is_double, is_fortran;
    size_t start;
} Layout;

static int not_ours(const char *path, const char *why, Err *err)
{
    err_set(err, ERR_FORMAT, "cannot read %s: %s", path, why);
    return err_hint(err,
                    "it must be a .npy file with two dimensions: numpy.save(F, array.astype('float32'))");
}

static int parse(Layout *l, const FileMap *m, const char *path, Err *err)
{
    char head[MOST_HEADER];
    const uint8_t *p = m->data;
    if (m->size < LEAD_LATER || memcmp(p, MAGIC, NAME_SIZE) != 0)
        return not_ours(path, "it is not a .npy file", err);
    const int later = p[NAME_SIZE] > 1;
    const size_t lead = later ? LEAD_LATER : LEAD,
                 length = later ? get_u32(p + MAGIC_SIZE) : get_u16(p + MAGIC_SIZE);
    if (length >= sizeof head || lead + length > m->size)
        return not_ours(path, "it is cut off, or its header is too long", err);
    memcpy(head, p + lead, length);
    head[length] = 0;
    const char *shape = strstr(head, "'shape': (");
    l->start = lead + length;
    l->is_double = strstr(head, "'descr': '<f8'") != NULL;
    l->is_fortran = strstr(head, "'fortran_order': True") != NULL;
    if (!l->is_double && !strstr(head, "'descr': '<f4'"))
        return not_ours(path, "its numbers are neither float32 nor float64", err);
    int used = 0;
    if (!shape || sscanf(shape, "'shape': (%lld, %lld%n", &l->rows, &l->cols, &used) != 2 ||
        (shape[used] != ')' && strncmp(shape + used, ",)", 2) != 0))
        return not_ours(path, "it does not have two dimensions", err);
    if (l->rows == 0 || l->cols == 0)
        return not_ours(path, "it has no numbers in it", err);
    const size_t bytes = m->size - l->start, size = l->is_double ? sizeof(double) : sizeof(float);
    int64_t all;
    if (l->rows < 0 || l->cols < 0 || __builtin_mul_overflow((int64_t)l->rows, (int64_t)l->cols, &all) ||
        (uint64_t)all > bytes / size || (uint64_t)all * size != bytes)
        return not_ours(path, "its length does not match its shape: it is cut off, or damaged", err);
    return 0;
}

/* Number i of the data, in the order of the file. */
static float number(const uint8_t *data, int64_t i, int is_double)
{
    double wide;
    float narrow;
    if (!is_double) {
        memcpy(&narrow, data + (size_t)i * sizeof narrow, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, data + (size_t)i * sizeof wide, sizeof wide);
    return (float)wide;
}

/* Columns lie together in Fortran's order. */
int npy_read(const char *path, float **data, int64_t *rows, int64_t *cols, Err *err)
{
    FileMap m = {0};
    Layout l = {0};
    *data = NULL;
    int rc = file_map(&m, path, err);
    if (!rc)
        rc = parse(&l, &m, path, err);
    if (!rc) {
        *rows = l.rows;
        *cols = l.cols;
        *data = mem_calloc((size_t)(l.rows * l.cols) + 1, sizeof **data);
        if (!*data)
            rc = err_set(err, ERR_NOMEM, "no memory for the %lld x %lld numbers of %s", l.rows, l.cols, path);
    }
    for (int64_t i = 0; !rc && i < *rows; i++)
        for (int64_t k = 0; k < *cols; k++)
            (*data)[i * *cols + k] =
                number(m.data + l.start, l.is_fortran ? k * *rows + i : i * *cols + k, l.is_double);
    if (!rc && file_lost(&m)) {
        rc = err_set(err, ERR_IO, "%s was cut short while it was read, or its disk failed", path);
        free(*data);
        *data = NULL;
    }
    file_unmap(&m);
    return rc;
}
