/* kaldi.h - the bytes of a Kaldi data folder -> lines of a dataset: `text` (id, text), `wav.scp` (id, path),
 * `utt2spk` (id, speaker), `utt2lang` (id, language). Touches no file. The bytes must outlive the dataset. */
#ifndef MYXTTS_KALDI_H
#define MYXTTS_KALDI_H

#include <stddef.h>

#include "dataset/lines.h"

#define KALDI_FILES 4

typedef struct KaldiBytes {
    const char *p; /* NULL: there is no such file */
    size_t n;
} KaldiBytes;

/* files: text, wav.scp, utt2spk, utt2lang. A wav.scp that names a command ("sph2pipe ... |") instead of a
 * file costs the utterance; nothing is ever run. *without_text: lines of wav.scp that text has no line for.
 * 0, ERR_NOMEM. */
int kaldi_parse(Lines *l, const KaldiBytes files[KALDI_FILES], size_t *without_text, Err *err);

#endif
