/* whats_there.h - errors about a path that does not exist, with a hint that lists what is there instead.
 * Reads folders, changes nothing. Private to src/dataset. */
#ifndef MYXTTS_WHATS_THERE_H
#define MYXTTS_WHATS_THERE_H

#include "base/err.h"

/* For a data_path that is not a folder: sets and returns ERR_MISSING. The hint lists the nearest folder above
 * it that exists. */
int whats_there_no_root(const char *root, Err *err);
/* For a metadata file `name` that is not in root: sets and returns ERR_MISSING. The hint lists the text files
 * there, or names the subfolder that has the file. */
int whats_there_instead(const char *root, const char *name, const char *option, Err *err);

#endif
