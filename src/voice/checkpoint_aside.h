/* checkpoint_aside.h - a checkpoint makes room for the next one without being lost: it is copied to another
 * disk, and a symbolic link takes its place. If the program ends meanwhile, a resumed run finds it there.
 * Private to src/voice. Threads: one at a time. */
#ifndef MYXTTS_CHECKPOINT_ASIDE_H
#define MYXTTS_CHECKPOINT_ASIDE_H

#include "voice/checkpoint_folder.h"

typedef struct Aside {
    char path[CHECKPOINT_PATH_SIZE], copy[CHECKPOINT_PATH_SIZE];
} Aside;

/* From now on path is a link to a copy in $TMPDIR, /var/tmp, /tmp or /dev/shm, whichever is another disk and
 * has room. After a failure all is as it was; ERR_NOSPACE: there is no such place. */
int aside_put(Aside *a, const char *path, Err *err);
/* The file is in its place again, or after a failure still a link. */
int aside_bring_back(const Aside *a, Err *err);
/* It is not needed any more: link and copy go. */
void aside_drop(const Aside *a);

#endif
