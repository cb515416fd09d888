/* facts_file.h - clip.facts, beside the caches: what was gathered from their records, so that the next start
 * reads one file instead of a record of each clip. A key says what it was gathered from. Threads: any. */
#ifndef MYXTTS_DIAG_FACTS_FILE_H
#define MYXTTS_DIAG_FACTS_FILE_H

#include "diag/voice/clip_facts.h"

/* Of everything that the facts of a prepared dataset depend on: the state of the caches in dir, the texts,
 * the limits. Zeros if there is no memory for it. */
Hash128 facts_file_key(const char *dir, const Config *cfg, const Dataset *d);
/* Points f->clip into the file and sets count, speakers and minutes. 1, or 0 if there is no such file, it is
 * damaged, or has another key. */
int facts_file_read(CorpusFacts *f, const char *dir, Hash128 key);
int facts_file_stamp(FileStamp *s, const char *dir); /* 0, or an error where there is no file */
/* Failing is allowed: the next start gathers again. */
void facts_file_write(const CorpusFacts *f, const char *dir, Hash128 key);

#endif
