/* safetensors.h - tensors in a file that the Python package `safetensors` reads too.
 *
 * Layout: 8 bytes with the length of the header (little-endian), the header in JSON, padded with blanks so
 * that the data starts at a multiple of 64 bytes, the data. The header maps each name to its type, shape and
 * place; "__metadata__" maps strings to strings. Tensors lie in the order of their element size, largest
 * first, so that each is aligned for its type; nothing lies between them.
 *
 * The writer adds two entries to the metadata:
 *   xxh128      XXH3-128 (32 hexadecimal digits) of the whole file with these digits read as zeros, so that
 *               any changed byte is found
 *   written_by  "myxtts": such a file must have the checksum, so that damage to the entry itself is found too
 * Foreign files have neither and are read anyway.
 *
 * Types: F64 I64 U64 F32 I32 U32 F16 BF16 I16 U16 I8 U8 BOOL. At most 4 dimensions; a shape without
 * dimensions is one number. */
#ifndef MYXTTS_SAFETENSORS_H
#define MYXTTS_SAFETENSORS_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

typedef struct TensorView {
    const char *name;
    const char *dtype; /* "F32" */
    int dims;          /* 0..4 */
    int64_t shape[4];  /* outermost first */
    const void *data;  /* may be NULL when bytes is 0 */
    uint64_t bytes;    /* product of the shape times the size of an element */
} TensorView;

typedef struct MetaEntry {
    const char *key, *value; /* UTF-8 */
} MetaEntry;

/* Writes path atomically: a temporary file beside it, fsync, rename, fsync of the folder. On failure the old
 * file, if any, stays and the temporary is removed. ERR_NOSPACE on a full disk; ERR_DATA for a name that
 * comes twice, a text that is not UTF-8, bytes that do not go with the shape. The same arguments give the
 * same bytes. Threads: any. */
int safetensors_write(const char *path, const MetaEntry *meta, int n_meta, const TensorView *t, int n,
                      Err *err);

/* An open file. The pointers of its tensors and entries live until safetensors_close. Read-only: any number
 * of threads. */
typedef struct SafeTensors {
    TensorView *tensors; /* [count], sorted by name; data is aligned for its type */
    MetaEntry *meta;     /* [n_meta], sorted by key */
    int count, n_meta;
    int has_checksum; /* it was there, and it was right */
    FileMap map;
    Block block;
    FileStamp stamp; /* of the file when it was opened */
    int fd_plus1;    /* of the file; 0: closed */
} SafeTensors;

/* Maps and checks everything: sizes, places, overlaps, types, and the checksum when there is one (this reads
 * the whole file; a disk that cannot be read is an error here, not a crash later). ERR_MISSING: no such file;
 * ERR_FORMAT: another kind of file, cut off, or described wrongly; ERR_DAMAGED: the checksum. After a failure
 * f is closed. */
int safetensors_open(SafeTensors *f, const char *path, Err *err);
void safetensors_close(SafeTensors *f); /* always safe on a zeroed or closed one */

/* Lets go of the file; tensors cannot be found any more, the metadata stays. ERR_DAMAGED: the file has been
 * written to since it was opened, and what was read may be a mixture. path: for the message. */
int safetensors_let_go(SafeTensors *f, const char *path, Err *err);

const TensorView *safetensors_find(const SafeTensors *f, const char *name); /* NULL: not there */
const char *safetensors_meta(const SafeTensors *f, const char *key);        /* NULL: not there */

#endif
