/* dataset.h - what is on disk: a folder in one of the layouts of layouts.h -> utterances.
 * dataset_open reads the texts and puts each line into `utterances` or `rejected`; it does not touch audio.
 * audio_probe (audio_file.h) is the pre-flight check of one audio file.
 *
 * metadata.csv, or what metadata_train_file names: columns may be separated by '|', tabs or commas. Accepted
 * forms:
 *   - id|text
 *   - id|raw|normalised; an empty normalised text falls back to the raw one
 *   - id|raw|normalised|speaker
 *   - id|text|speaker without a header, if the file has at least 8 lines, the second column holds sentences,
 *     and the third a few short names that recur (speaker_guessed is then 1)
 *   - any order, with a header line that names the columns: id (or file, wav, audio, ...), text, normalized,
 *     speaker, language
 *
 * Threads: read-only after dataset_open. All pointers are valid until dataset_close, which is allowed on a
 * zeroed or closed dataset. */
#ifndef MYXTTS_DATASET_H
#define MYXTTS_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/config.h"

typedef struct Str { /* a slice; not NUL-terminated */
    const char *p;
    uint32_t n;
} Str;

typedef enum { SPLIT_TRAIN, SPLIT_VAL } Split;

typedef struct Utterance {
    /* Unique; a relative path without `..`. A leading "./" or name of the audio folder has been removed. */
    Str id;
    Str text;     /* valid UTF-8 without NUL, not empty; from the normalised column if there is one */
    Str speaker;  /* "" if the dataset has one speaker */
    Str language; /* from a language column, or "" */
    /* Path of the recording, absolute or in the audio folder, where its layout says it; "": looked for by id.
     */
    Str audio;
    uint32_t line; /* 1-based line of the metadata file, or number of the source (see dataset_place) */
    uint8_t split; /* Split */
    uint8_t file;  /* 0: metadata_train_file, 1: metadata_eval_file */
} Utterance;

/* The reasons: name, code for JSON and rejected.tsv, and a sentence for the user. */
#define REJECT_REASONS(X) \
    X(REJECT_EMPTY_LINE_ID, "empty_id", "the line has no id") \
    X(REJECT_COLUMNS, "wrong_columns", "the line has too few or too many columns") \
    X(REJECT_EMPTY_TEXT, "empty_text", "the text is empty") \
    X(REJECT_UTF8, "invalid_utf8", "the line is not valid UTF-8, or contains a NUL byte") \
    X(REJECT_LINE_TOO_LONG, "line_too_long", "the line is longer than 64 KiB") \
    X(REJECT_UNSAFE_ID, "unsafe_id", "the id is not a path inside the dataset's folder") \
    X(REJECT_DUPLICATE_ID, "duplicate_id", "the id is used by an earlier line") \
    X(REJECT_AUDIO_MISSING, "audio_missing", "there is no audio file for the id") \
    X(REJECT_AUDIO_UNREADABLE, "audio_unreadable", "the audio file cannot be decoded") \
    X(REJECT_AUDIO_EMPTY, "audio_empty", "the audio file has no samples") \
    X(REJECT_AUDIO_TOO_SHORT, "audio_too_short", "the audio is shorter than min_audio_length") \
    X(REJECT_AUDIO_TOO_LONG, "audio_too_long", "the audio is longer than max_audio_length") \
    X(REJECT_AUDIO_NOT_FINITE, "audio_not_finite", "the audio has NaN or infinite samples") \
    X(REJECT_AUDIO_SILENT, "audio_silent", "the audio is silent throughout") \
    X(REJECT_LANGUAGE, "unknown_language", "espeak-ng has no voice for the language") \
    X(REJECT_NO_PHONEMES, "no_phonemes", "espeak-ng finds nothing to speak in the text") \
    X(REJECT_PHONEMES_FAILED, "phonemizer_failed", \
      "the phonemiser crashed or exceeded its time limit on this text") \
    X(REJECT_TEXT_TOO_LONG, "text_too_long", "the text has more than max_text_length characters") \
    X(REJECT_MEL_TOO_LONG, "mel_too_long", "the clip has more than max_mel_frames frames") \
    X(REJECT_TEXT_MISSING, "text_missing", "there is no text for the recording") \
    X(REJECT_MALFORMED, "malformed_line", "the line does not have the form of its layout") \
    X(REJECT_NO_MEMORY, "no_memory", "there was no memory for the clip")

typedef enum {
    REJECT_NONE,
#define X(name, code, text) name,
    REJECT_REASONS(X)
#undef X
        REJECT_COUNT
} RejectReason;
const char *reject_code(RejectReason r); /* "audio_missing" */
const char *reject_text(RejectReason r);
/* Writes the detail and returns the reason, so that `return reject_because(...)` reads well. */
RejectReason reject_because(RejectReason r, char *detail, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

typedef struct Rejection {
    Str id; /* valid UTF-8; may be empty */
    uint32_t line;
    uint8_t file;
    RejectReason reason;
    const char *detail; /* value and place, e.g. "0 Hz in the header"; never NULL, may be "" */
} Rejection;

typedef struct Dataset {
    Utterance *utterances; /* [count] in file order, train file first */
    size_t count, cap;
    Rejection *rejected; /* [rejected_count] in the order found */
    size_t rejected_count, rejected_cap;
    size_t lines; /* number of lines that are neither blank nor the header; of texts in files of their own */
    int has_header, columns; /* of the train file */
    char delimiter;          /* of the train file */
    size_t folder_speakers;  /* speakers that were taken from the names of folders, where nothing else names
                                them */
    int speaker_guessed;     /* 1: in one of the files the third of three columns was taken for the speaker */
    const char *root;        /* data_path */
    const char *layout;      /* its name, for --json: "pairs" */
    const char *found;       /* what was found, in a few words: "pairs: 1620 texts beside their recordings" */
    const char *metadata_path[2]; /* [1] is NULL if the split is by text */
    Buf metadata[2];              /* contents of the files */
    Hash128 origin;               /* see dataset_look */
    const char **sources; /* [source_count] where every text has a file of its own: their paths; else NULL */
    size_t source_count, source_cap;
    char *audio_dir[2]; /* folders in which ids are looked up, absolute or relative */
    Block block;
} Dataset;

/* d is overwritten and must not be open. Writes nothing to disk. metadata.csv wins over every other layout;
 * with metadata_eval_file, or another metadata_train_file, only those files count. A file without a usable
 * line is not an error. Errors: ERR_MISSING (the hint lists what is there), ERR_IO, ERR_FORMAT (UTF-16),
 * ERR_CONFIG (speaker_id_pattern, metadata_delimiter), ERR_NOMEM; the dataset is then closed.
 *
 * Audio folder of the train file: wavs_train_dir; if that is "", `wavs` next to the metadata file, else
 * `wavs` in data_path, else data_path itself. Of the eval file: wavs_eval_dir; if that is "", `wavs` next to
 * the file unless it is in data_path, else as for training. */
int dataset_open(Dataset *d, const Config *cfg, Err *err);
void dataset_close(Dataset *d);
/* What dataset_open would read, without reading its lines: a hash of the bytes of the metadata files, and of
 * the settings and folders that decide what they mean. The same hash means the same ids, texts, recordings
 * and rejected lines; speakers and sides of the split depend on more settings. Zeros for a layout whose texts
 * are not in such files, or where the files cannot be read. d is overwritten; afterwards it has a root and
 * its audio folders, for dataset_audio_stamp, and is to be closed. */
Hash128 dataset_look(Dataset *d, const Config *cfg);
/* Adds a rejection found later (audio, phonemes). detail is copied, id is not. 0 or ERR_NOMEM. */
int dataset_reject(Dataset *d, Str id, uint32_t line, int file, RejectReason reason, const char *detail);
void dataset_sort_rejected(Dataset *d); /* by file, then line */
/* The file that an utterance or a rejection comes from, and its line there; never NULL. */
const char *dataset_place(const Dataset *d, int file, uint32_t line, uint32_t *line_of_file);
/* Writes the path of the utterance's audio file to out. An id that ends with a known extension is tried
 * first; then the id with each of the endings of audio_endings.h, the same in upper case, and the bare id; at
 * last in the folders wav, clips and audio of the audio folder. A path that the layout names is tried as it
 * is, in the audio folder and here, then with folders left off at its front, as the dataset may have moved.
 * Links are followed. 0, or ERR_MISSING with the places tried. Threads: any. */
int dataset_audio_path(const Dataset *d, const Utterance *u, char *out, size_t cap, Err *err);
/* The same with the stamp of the file, which costs no second look at it. */
int dataset_audio_stamp(const Dataset *d, const Utterance *u, char *out, size_t cap, FileStamp *stamp,
                        Err *err);
/* Of the words of a text: case, punctuation and white space do not count. The hash of all takes of one
 * sentence is the same. */
uint64_t dataset_text_hash(Str text);
/* The side of a text. Depends on its words, the seed and the share only. */
Split dataset_split(Str text, int64_t seed, double val_share);
/* Sets the side of every utterance. If all were held out, those of one text are not. */
void dataset_split_all(Dataset *d, int64_t seed, double val_share);
/* Writes rejected.tsv atomically: a header, then file, line, id, reason code and detail of each rejection.
 * Tabs and newlines in values become spaces. */
int dataset_write_rejected(const Dataset *d, const char *path, Err *err);

#endif
