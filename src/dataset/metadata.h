/* metadata.h - the bytes of a metadata file -> utterances and rejections of a Dataset. Touches no file, so it
 * can be fuzzed. First the form is decided (delimiter, header, which column is what), then every line is
 * judged: too long, UTF-8, columns, id, text, duplicate; the first fault found is the reason. Ids and texts
 * are slices of the bytes, or of the dataset's block where a quoted field had to be unescaped: the bytes must
 * outlive the dataset. */
#ifndef MYXTTS_METADATA_H
#define MYXTTS_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "dataset/dataset.h"

typedef struct MetadataOptions {
    char delimiter;        /* '|', '\t', ','; 0: decided from the bytes */
    const char *prefix[2]; /* folders ids may begin with, with the slash at the end ("wavs/"); NULL: none */
} MetadataOptions;

/* What each column is; -1: the file has no such column. */
typedef struct MetadataForm {
    char delimiter;
    int has_header;
    int columns;         /* that every line must have; 0: no known form was found, every line is rejected */
    int speaker_guessed; /* see dataset.h */
    int id, text, normalised, speaker, language;
} MetadataForm;

/* ids: those seen so far, shared by the files of one dataset; numbers of utterances.
 * Adds the lines to d->utterances (speaker as the column says, split SPLIT_TRAIN), d->rejected and d->lines.
 * file is 0 or 1, as in Utterance. 0, ERR_FORMAT (UTF-16), ERR_NOMEM. */
int metadata_parse(Dataset *d, Map *ids, MetadataForm *form, const uint8_t *bytes, size_t size, int file,
                   const MetadataOptions *opt, Err *err);

#endif
