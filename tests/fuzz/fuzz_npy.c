/* fuzz_npy.c - any bytes as a .npy file. The first byte chooses: the rest is the file itself, or the text of
 * a header that is put before the numbers behind its first NUL. What can be read has as many numbers as its
 * shape says, and written again it is the same. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *path_of(void)
{
    static char path[320];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/fuzz-%ld.npy", tmp ? tmp : "/tmp", (long)getpid());
    return path;
}

static void put(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ASSERT(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

static void build(Buf *b, const uint8_t *data, size_t size)
{
    if (!(data[0] & 1)) {
        buf_add(b, data + 1, size - 1);
        return;
    }
    size_t header = strnlen((const char *)data + 1, size - 1);
    uint8_t length[4];
    put_u32(length, (uint32_t)header);
    const int later = data[0] & 2;
    buf_add(b, later ? "\x93NUMPY\x02\0" : "\x93NUMPY\x01\0", 8);
    buf_add(b, length, later ? 4 : 2);
    buf_add(b, data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Buf b = {0};
    float *numbers, *again;
    int64_t rows, cols, r, c;
    if (size < 1)
        return 0;
    build(&b, data, size);
    put(path_of(), b.data ? b.data : "", b.size);
    buf_free(&b);
    if (npy_read(path_of(), &numbers, &rows, &cols, NULL) == 0) {
        ASSERT(rows >= 0 && cols >= 0 && (uint64_t)(rows * cols) <= size);
        ASSERT(npy_write(path_of(), numbers, rows, cols, NULL) == 0);
        ASSERT(npy_read(path_of(), &again, &r, &c, NULL) == 0);
        ASSERT(r == rows && c == cols && memcmp(again, numbers, (size_t)(r * c) * sizeof *again) == 0);
        free(again);
    }
    free(numbers);
    unlink(path_of());
    return 0;
}
