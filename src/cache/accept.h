/* accept.h - the rules that decide whether an utterance is used for training.
 * metadata.c checks lines and audio_probe checks headers; all later checks are here. `prepare` applies them
 * when it builds the caches, the corpus when it opens them. The limits on length select among the features
 * and never change them, so changing a limit rebuilds nothing. Threads: any. */
#ifndef MYXTTS_ACCEPT_H
#define MYXTTS_ACCEPT_H

#include "base/hash.h"
#include "cache/features.h"

/* The limits on length. Return REJECT_NONE, or the reason with value and limit in detail (which may be NULL).
 * seconds is the length of the file before trimming; text is the line as it stands in the metadata. */
RejectReason accept_seconds(const Config *cfg, double seconds, char *detail, size_t cap);
RejectReason accept_text(const Config *cfg, Str text, char *detail, size_t cap);
RejectReason accept_frames(const Config *cfg, uint32_t frames, char *detail, size_t cap);

/* 1 if the recording is long enough for its text: the alignment gives every symbol at least one frame. */
int accept_fits(uint32_t tokens, uint32_t frames);

/* 1 for a reason that depends on the bytes of the file and the settings only: the cache stores it as a
 * record, and the next run does not try again. Other reasons may be transient (no memory, a file that was
 * being written), or come from a limit, which is not part of the key. */
int accept_is_lasting(RejectReason reason);

/* The records of one utterance in both stores. */
typedef struct AcceptedRecords {
    uint64_t text_entry, mel_entry;
    TextView text;
    MelView mel;
} AcceptedRecords;
/* Returns 1 and the records if both stores have features of exactly this text, made with these settings; else
 * 0. Whether the audio file is still the same is not checked; `prepare` does that. text_settings is
 * text_settings_hash(cfg). */
int accept_records(AcceptedRecords *r, const Config *cfg, const Store *text, const Store *mel,
                   Hash128 text_settings, const Utterance *u);

#endif
