/* layouts.h - the ways in which people lay out recordings and texts in a folder, one row of a table each: how
 * it is recognised, how it is read. All give the same utterances, so that nothing after dataset_open knows
 * which it was. If a folder matches several, the first row counts.
 *
 *   - ljspeech: metadata.csv (or the files of metadata_train_file, metadata_eval_file) and wavs/
 *   - kaldi: wav.scp, text, and optionally utt2spk and utt2lang
 *   - jsonl: manifest.jsonl, metadata.jsonl, train.jsonl, or the only *.jsonl: an object on each line
 *   - commonvoice: validated.tsv, train.tsv, or the only *.tsv with the columns path and sentence, and clips/
 *   - vctk: txt/SPEAKER/ID.txt and wav48.../SPEAKER/ID_mic1.flac; also txt/ID.txt and wav/ID.wav
 *   - libritts: SPEAKER/CHAPTER/ID.normalized.txt beside ID.wav, at any depth
 *   - pairs: ID.txt or ID.lab beside ID.wav, at any depth; folders are speakers where several hold pairs
 *
 * Private to src/dataset. */
#ifndef MYXTTS_LAYOUTS_H
#define MYXTTS_LAYOUTS_H

#include "base/map.h"
#include "dataset/dataset.h"
#include "dataset/tree.h"

#define LOG_OF_A_RUN "log.jsonl" /* what training writes into its folder; no manifest */

typedef struct LayoutPlace {
    Dataset *d;
    Map *ids;
    const Config *cfg;
    const char *file; /* that the layout was recognised by, in the dataset's block; NULL: none */
    Tree tree;        /* every recording and text below the root; read when a layout asks for it */
    int has_tree;
} LayoutPlace;

typedef struct Layout {
    const char *name;
    int (*is_here)(LayoutPlace *p, Err *err); /* 1, 0, or an error */
    int (*read)(LayoutPlace *p,
                Err *err); /* fills utterances, rejected, lines, metadata_path, audio_dir, found */
} Layout;

/* Finds the layout of d->root and reads it. d has nothing but its root and its block. ERR_MISSING, with a
 * hint that lists what is there, if it is none; else the errors of dataset_open. */
int layouts_read(Dataset *d, Map *ids, const Config *cfg, Err *err);

/* dataset_look in a dataset that has nothing but its root and its block. */
Hash128 layout_look(LayoutPlace *p);

/* The rows, in two files. */
int layout_has_metadata(LayoutPlace *p, Err *err);
int layout_has_kaldi(LayoutPlace *p, Err *err);
int layout_has_jsonl(LayoutPlace *p, Err *err);
int layout_has_common_voice(LayoutPlace *p, Err *err);
int layout_has_vctk(LayoutPlace *p, Err *err);
int layout_has_libritts(LayoutPlace *p, Err *err);
int layout_has_pairs(LayoutPlace *p, Err *err);
int layout_read_metadata(LayoutPlace *p, Err *err);
int layout_read_kaldi(LayoutPlace *p, Err *err);
int layout_read_jsonl(LayoutPlace *p, Err *err);
int layout_read_common_voice(LayoutPlace *p, Err *err);
int layout_read_vctk(LayoutPlace *p, Err *err);
int layout_read_libritts(LayoutPlace *p, Err *err);
int layout_read_pairs(LayoutPlace *p, Err *err);

/* What they share. "dir/name", or name itself when it is absolute, without slashes at the end, in the
 * dataset's block; NULL if out of memory. */
char *layout_path(Dataset *d, const char *dir, const char *name);
int layout_is_folder(const char *path); /* follows links */
int layout_is_file(const char *path);
int layout_tree(LayoutPlace *p, Err *err); /* reads p->tree if that has not been done */
/* Sets d->found. 0 or ERR_NOMEM. */
int layout_found(Dataset *d, Err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
