/* accept.h - whether an utterance may be used for training: every rule, once.
 * metadata.c judges lines and audio_probe headers; what is known after that is judged here, by `prepare` as
 * it builds the caches and by the corpus as it opens them. The limits on length choose among the features
 * and never change them: changing a limit rebuilds nothing. Threads: any; nothing here fails. */
#ifndef MYXTTS_ACCEPT_H
#define MYXTTS_ACCEPT_H

#include "base/hash.h"
#include "cache/features.h"

/* The limits on length. REJECT_NONE, or the reason with value and limit in detail (detail NULL: not wanted).
 * seconds: of the file, before trimming. */
RejectReason accept_seconds(const Config *cfg, double seconds, char *detail, size_t cap);
RejectReason accept_tokens(const Config *cfg, uint32_t tokens, char *detail, size_t cap);
RejectReason accept_frames(const Config *cfg, uint32_t frames, char *detail, size_t cap);

/* 1 when the recording is long enough for its text: the alignment gives every symbol a frame of its own. */
int accept_fits(uint32_t tokens, uint32_t frames);

/* 1 for a reason that lies in the bytes of the file and the settings alone: the cache keeps it as a record,
 * and the next run does not try again. Others may be bad luck (no memory, a file that was being written), or
 * come from a limit, which is no part of the key. */
int accept_is_lasting(RejectReason reason);

/* The records of one utterance in both stores. */
typedef struct AcceptedRecords {
    uint64_t text_entry, mel_entry;
    TextView text;
    MelView mel;
} AcceptedRecords;
/* 1 when both stores hold features of this very text, made with these settings: whether the audio file is
 * still the same is for `prepare` to find out. text_settings: text_settings_hash(cfg). */
int accept_records(AcceptedRecords *r, const Config *cfg, const Store *text, const Store *mel,
                   Hash128 text_settings, const Utterance *u);

#endif
