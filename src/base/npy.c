/* npy.c - see npy.h. As in numpy.lib.format, version 1.0, a file is magic, header length, a Python dictionary
 * padded to a multiple of 64 bytes, and the data. */
#include "base/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

#define MAGIC "\x93NUMPY\x01\x00"
#define MAGIC_SIZE 8
#define LEAD 10 /* bytes of magic and header length */

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
