/* place.h - where a command may write. A person's files are not replaced by the program's: a file that the
 * command reads never, one of another kind only with --overwrite. Threads: any. */
#ifndef MYXTTS_CMD_PLACE_H
#define MYXTTS_CMD_PLACE_H

#include "base/err.h"

/* What a command writes. */
typedef enum {
    WRITES_NOTHING,
    WRITES_SOUND,
    WRITES_PNG,
    WRITES_NPY,
    WRITES_HTML,
    WRITES_REPORT, /* text of diagnose and profile */
    WRITES_VOICE   /* of export */
} PlaceKind;

#define PLACE_OVERWRITE "also replace an existing file of another kind"

/* ERR_USAGE where `path` is one of inputs [count] (NULLs are passed over), or holds something of another kind
 * and overwrite is 0. option: its name without dashes. A path that is NULL, "-", or not there is fine. */
int place_check(const char *option, const char *path, PlaceKind kind, const char *const *inputs, int count,
                int overwrite, Err *err);

#endif
