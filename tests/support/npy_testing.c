/* npy_testing.c - see npy_testing.h. */
#include "npy_testing.h"

#define MAGIC "\x93NUMPY\x01\x00"

#define MAGIC_SIZE 8

#define LEAD 10 /* magic and the length of the header */

static int parse_header(const FileMap *m, const char *path, size_t *start, int64_t *rows, int64_t *cols,
                        Err *err)
{
    char head[1024];
    long long r, c;
    if (m->size < LEAD || memcmp(m->data, MAGIC, MAGIC_SIZE) != 0)
        return err_set(err, ERR_FORMAT, "%s: not a .npy file of version 1.0", path);
    size_t length = get_u16(m->data + MAGIC_SIZE);
    if (LEAD + length > m->size || length >= sizeof head)
        return err_set(err, ERR_FORMAT, "%s: header of %zu bytes in a file of %zu", path, length, m->size);
    memcpy(head, m->data + LEAD, length);
    head[length] = 0;
    const char *shape = strstr(head, "'shape': (");
    if (!strstr(head, "'descr': '<f4'") || !strstr(head, "'fortran_order': False") || !shape ||
        sscanf(shape, "'shape': (%lld, %lld)", &r, &c) != 2)
        return err_set(err, ERR_FORMAT, "%s: not a float32 C-order array of two dimensions: %.200s", path,
                       head);
    size_t elements = (m->size - LEAD - length) / sizeof(float);
    if (r < 0 || c < 0 || (c > 0 && (unsigned long long)r > elements / (unsigned long long)c) ||
        (size_t)r * (size_t)c * sizeof(float) != m->size - LEAD - length)
        return err_set(err, ERR_FORMAT, "%s: header says %lld x %lld, file holds %zu numbers", path, r, c,
                       elements);
    *start = LEAD + length;
    *rows = r;
    *cols = c;
    return 0;
}

int npy_read(const char *path, float **data, int64_t *rows, int64_t *cols, Err *err)
{
    FileMap m = {0};
    size_t start;
    *data = NULL;
    int rc = file_map(&m, path, err);
    if (!rc)
        rc = parse_header(&m, path, &start, rows, cols, err);
    if (!rc) {
        *data = malloc(m.size - start + 1);
        if (*data)
            memcpy(*data, m.data + start, m.size - start);
        else
            rc = err_set(err, ERR_NOMEM, "%s: no memory for %zu bytes", path, m.size - start);
    }
    file_unmap(&m);
    return rc;
}
