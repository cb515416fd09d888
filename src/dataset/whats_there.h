/* whats_there.h - the answer to a mistyped path: what stands in its place. Reads folders, changes nothing.
 * Private to dataset. */
#ifndef MYXTTS_WHATS_THERE_H
#define MYXTTS_WHATS_THERE_H

#include "base/err.h"

/* data_path is not a folder: sets and returns ERR_MISSING; the hint lists the nearest folder above that
 * exists. */
int whats_there_no_root(const char *root, Err *err);
/* The metadata file `name` is not in root: ERR_MISSING; the hint lists the text files there, or the folder
 * below that has it. */
int whats_there_instead(const char *root, const char *name, const char *option, Err *err);

#endif
