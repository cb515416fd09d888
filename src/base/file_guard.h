/* file_guard.h - keeps a mapped file that becomes shorter, or whose disk fails, from ending the program. The
 * system answers a touch of a page that is no longer there with SIGBUS; the guard puts a page of zeros in its
 * place and counts it. Readers of a mapping ask afterwards whether pages were lost. file.h
 * does all this for what it maps. Threads: any.
 *
 * A signal has one handler for the whole process, so this is the one place with global state. */
#ifndef MYXTTS_FILE_GUARD_H
#define MYXTTS_FILE_GUARD_H

#include <stddef.h>
#include <stdint.h>

/* From now on the pages of [data, data + size) are guarded. Returns a number for the two below, 0 if there
 * are too many mappings: then this one is not guarded. */
int file_guard_add(const void *data, size_t size);
void file_guard_remove(int guard);   /* before it is unmapped; 0 is allowed */
uint64_t file_guard_lost(int guard); /* pages so far; 0 is allowed */

/* Pages that were lost in any mapping since the program began. */
uint64_t file_guard_any(void);

#endif
