/* manifest.h - the bytes of a file of JSON lines -> lines of a dataset. Touches no file. Each line is an
 * object with audio_filepath (or any other name of a path that a header of metadata.csv may have), text, and
 * optionally normalized_text, speaker, language and id. Without an id, the path becomes one: line_id_of_path.
 * duration is not needed: the recording has it. A bad line costs only itself. */
#ifndef MYXTTS_MANIFEST_H
#define MYXTTS_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/lines.h"

/* Values are copied into the dataset's block. 0 or ERR_NOMEM. */
int manifest_parse(Lines *l, const uint8_t *bytes, size_t size, Err *err);

#endif
