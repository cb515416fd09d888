/* metadata.h - the bytes of a metadata file -> utterances and rejections of a Dataset. Touches no file, so it
 * can be fuzzed. First the form is determined (delimiter, header, meaning of the columns), then every line is
 * checked, in this order: length, UTF-8, columns, id, text, duplicate. The first fault is the reason of the
 * rejection. Ids and texts are slices of the bytes (of the dataset's block if a quoted field had to be
 * unescaped), so the bytes must outlive the dataset. */
#ifndef MYXTTS_METADATA_H
#define MYXTTS_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "dataset/dataset.h"

typedef struct MetadataOptions {
    char delimiter;        /* '|', '\t', ','; 0: decided from the bytes */
    const char *prefix[2]; /* folders to remove from the start of ids, with a slash ("wavs/"); NULL: none */
    int bare_ids; /* 1: the extension of a sound file is not part of the id ("x.mp3": id x, audio x.mp3) */
} MetadataOptions;

typedef struct MetadataForm {
    char delimiter;
    int has_header;
    int columns;         /* number of columns of every line; 0: no known form, every line is rejected */
    int speaker_guessed; /* see dataset.h */
    int id, text, normalised, speaker, language; /* indices of columns; -1: there is none */
} MetadataForm;

/* What a column holds, by its name in a header: "Audio File" is ROLE_FILE. */
typedef enum {
    ROLE_NONE,
    ROLE_FILE,
    ROLE_ID,
    ROLE_TEXT,
    ROLE_NORMALISED,
    ROLE_SPEAKER,
    ROLE_LANGUAGE,
    ROLE_COUNT
} Role;
Role metadata_role(Str name);

/* Adds the lines to d->utterances (speaker from its column, split SPLIT_TRAIN), d->rejected and d->lines. ids
 * maps the ids seen so far to indices of utterances; the files of a dataset share it. file is 0 or 1, as in
 * Utterance. 0, ERR_FORMAT (UTF-16) or ERR_NOMEM. */
int metadata_parse(Dataset *d, Map *ids, MetadataForm *form, const uint8_t *bytes, size_t size, int file,
                   const MetadataOptions *opt, Err *err);

#endif
