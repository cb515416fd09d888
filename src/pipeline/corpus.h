/* corpus.h - the prepared dataset as the loader needs it: tokens, mel and speaker of every usable utterance
 * of one split; for a vocoder (network of the settings) its samples, and no text. Segments of a vocoder may
 * bring the mels that a voice made of the clips (corpus_source_follow). Opens the metadata and the
 * caches, not the audio files. Utterances that cache/accept.h does not accept are left out. With
 * cache_verification `full` every record is verified here, and damaged ones are left out; with `fast` the
 * loader verifies each record when it is first used; with `off` nothing does. Threads: read-only after
 * corpus_open. */
#ifndef MYXTTS_CORPUS_H
#define MYXTTS_CORPUS_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/features.h"
#include "config/config.h"
#include "dataset/dataset.h"
#include "pipeline/sampler.h"
#include "text/scripts.h"

/* Metadata and caches, opened once and shared by the corpora of both splits. */
typedef struct CorpusSource CorpusSource;
/* dataset: an open one (from prepare_run), so that the metadata need not be read again; the source takes it
 * over and leaves it closed, also on failure. NULL: the metadata is read here. ERR_MISSING, with a hint to
 * run prepare, if a cache is missing or was made with other settings. ERR_DATA if most clips are shorter than
 * a vocoder's segments. *s is NULL after a failure. */
int corpus_source_open(CorpusSource **s, const Config *cfg, Dataset *dataset, Err *err);
/* Before a split is opened, of a vocoder: its segments bring the mels of the store PREDICTED_STORE that was
 * made with these settings (train/predicted.h). Clips without a mel are skipped. ERR_MISSING: there is no
 * such store. */
int corpus_source_follow(CorpusSource *s, const Config *cfg, Hash128 settings, Err *err);
void corpus_source_close(CorpusSource *s); /* its corpora must have been closed; NULL is allowed */

typedef struct CorpusItem {
    uint32_t utterance;             /* index in dataset.utterances */
    uint32_t text_entry, mel_entry; /* 0 in a corpus of segments; mel_entry unless they bring mels */
    uint32_t audio_entry;           /* 0 in any other */
    int32_t speaker;                /* 0 .. speaker_count - 1 */
    int32_t language;               /* of its text, among found_languages; 0 in a corpus of segments */
    uint32_t part, parts;           /* of a clip that gives several segments an epoch; 0 of 1 otherwise */
} CorpusItem;

typedef struct Corpus {
    Dataset dataset; /* a view of the source's */
    Store text,
        mel;     /* views of the source's; closed in a corpus of segments, but mel where they bring mels */
    Store audio; /* the same; closed in any other */
    /* > 0: rows of its batches are segments of this many frames, cut from the clips by the loader. 0: they
     * are whole utterances. */
    int segment_frames;
    CorpusItem *items;     /* [count] utterances of the split, in the order of the dataset */
    SampleLength *lengths; /* [count] of a row: no tokens and segment_frames frames if it is a segment */
    uint32_t count;
    /* [speaker_count] names of all speakers of the dataset, sorted, so that they have the same number in both
     * splits. */
    const Str *speakers;
    int32_t speaker_count;
    const LanguageList *found_languages; /* of all texts of the dataset, sorted; of segments none */
    const ScriptSet *scripts;            /* that its texts are written in */
    /* Of the voice that learns from it: those found, unless corpus_take_languages was called. */
    LanguageList languages;
    int32_t language_number[LANGUAGES_MOST]; /* of each that was found, among `languages` */
    MelStatistics statistics;
    const double *mean, *deviation; /* [bands]; NULL, and no statistics, in a corpus of segments */
    int prefers_audio; /* 1: preprocessing_mode auto takes the audio files, see policy_prefers_audio */
    uint64_t left_out; /* utterances of this split that are rejected, missing in a cache, or over a limit */
    CorpusSource *own; /* a source opened by corpus_open, closed with the corpus; NULL: it is the caller's */
} Corpus;

/* Opens one split of a source, which must outlive the corpus. c is closed after a failure. */
int corpus_open_split(Corpus *c, const CorpusSource *source, const Config *cfg, Split split, Log *log,
                      Err *err);
/* What a training hears at its validations: of the clips held out validation_clips at most, evenly spread and
 * always the same ones; in pairs of one speaker where there are any. */
int corpus_open_validation(Corpus *c, const CorpusSource *source, const Config *cfg, Log *log, Err *err);
/* `most` clips of a corpus, or all of fewer, chosen in the same way: of all lengths, which the first batches
 * of a pass are not. Items and lengths are its own, the rest is that of `c`, which must outlive it.
 * ERR_NOMEM: nothing is open. */
int corpus_some(Corpus *some, const Corpus *c, uint32_t most, Err *err);
void corpus_some_close(Corpus *some); /* a zeroed one is allowed */
/* Like corpus_open_split, but opens its own source. */
int corpus_open(Corpus *c, const Config *cfg, Split split, Log *log, Err *err);
/* Batches number the languages as in this list, that of a voice with its own order. What it does not have
 * becomes the next best: the same language elsewhere, or the first. */
void corpus_take_languages(Corpus *c, const LanguageList *languages);
/* Which clips these are: ids, texts, recordings, speakers. Another order is another corpus. Zeros without
 * memory. */
Hash128 corpus_hash(const Corpus *c);
/* The store that rows are read from, mel or audio. */
const Store *corpus_store(const Corpus *c);
int corpus_brings_mel(const Corpus *c); /* 1: its segments bring their mels, which are in c->mel */
/* 1 if the loader reads samples from the audio files: preprocessing_mode on_the_fly, or auto where
 * augment_speed is set (only samples can change their speed) or the corpus prefers it. */
int corpus_on_the_fly(const Corpus *c, const Config *cfg);
void corpus_close(Corpus *c); /* a zeroed or closed corpus is allowed */

#endif
