/* corpus_files.h - writes what was cut: DIR/wavs/ID.wav at the recording's own rate, metadata.csv (id|text),
 * sentences.tsv (every unit that was found, with its times), rejected.tsv and report.html.
 * metadata.csv comes last and appears whole: a folder without it was left unfinished, and the next run starts
 * it again. */
#ifndef MYXTTS_CORPUS_FILES_H
#define MYXTTS_CORPUS_FILES_H

#include "base/err.h"
#include "base/log.h"
#include "corpus/cut.h"

/* Makes the folder, or empties what an earlier run of this command left there. ERR_USAGE: it holds a
 * metadata.csv or wavs that this command did not write; they are not touched. */
int corpus_folder_begin(const char *dir, Err *err);

typedef struct CorpusFiles {
    const char *dir;
    const Listening *listening;
    const Cuts *cuts;
    const TextTrack *track; /* NULL: without text */
    const Book *book;
    const char *command, *verdict, *status; /* of the page */
} CorpusFiles;

/* rejected.tsv and sentences.tsv. */
int corpus_write_lists(const CorpusFiles *f, Err *err);
/* The sound of all clips: reads each recording once more. */
int corpus_write_clips(const CorpusFiles *f, Log *log, Err *err);
int corpus_write_page(const CorpusFiles *f, Err *err);
/* The last file. */
int corpus_write_metadata(const CorpusFiles *f, Err *err);

#endif
