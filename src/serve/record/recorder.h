/* recorder.h - keeps recordings of sentences in a folder, as pairs: ID.wav and ID.txt.
 * A sentence is recognised by its text, so that recording continues where it stopped, even with another list.
 * The text is written before its sound, and is not changed as long as there is a recording; each file appears
 * whole or not at all, so text and sound always match. Files that are not ours are left alone, and their
 * names are not used. An ID that comes from outside is looked up among the sentences; it never becomes a
 * path. One process records into a folder at a time (a lock in it). Threads: any. Errors: ERR_MISSING (no
 * such ID, or nothing recorded), ERR_NOSPACE, ERR_IO, ERR_NOMEM. */
#ifndef MYXTTS_RECORDER_H
#define MYXTTS_RECORDER_H

#include <jansson.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "serve/record/take.h"

#define RECORDER_WANTED_SECONDS 300.0 /* with this many minutes training is worth trying */

typedef struct Recorder Recorder;

/* sentences: a file; NULL: the list of the language (sentences.h). The folder is made if it is not there.
 * ERR_BUSY: another process records there. */
int recorder_open(Recorder **r, const char *folder, const char *sentences, const char *language, Log *log,
                  Err *err);
void recorder_close(Recorder *r); /* NULL is fine */

/* What GET /v1/record answers (docs/SERVER.md); NULL: memory is short. */
json_t *recorder_list(Recorder *r);
/* The members done, count, seconds, next and command of it. */
json_t *recorder_progress(Recorder *r);

/* Saves a take and replaces the previous one. text: the sentence that the client showed; NULL: not given.
 * ERR_FORMAT: not a usable WAV; ERR_USAGE: the sentence with this ID is a different one; ERR_DATA: a finding
 * of TAKE_UNUSABLE, in take->findings. After an error the previous take is still there. */
int recorder_save(Recorder *r, Take *take, const char *id, const char *text, const void *wav, size_t size,
                  Err *err);
int recorder_read(Recorder *r, Buf *wav, const char *id, Err *err); /* appends the WAV of a sentence */
int recorder_remove(Recorder *r, const char *id, Err *err);

#endif
