/* audio_writer.h - speech into a file while it is made; the file's extension chooses the kind: .wav, .flac,
 * .ogg, .mp3. One channel; WAV and FLAC hold the same 16-bit samples (wav.h), the others are lossy. WAV may
 * also go to a pipe. Threads: one per writer. */
#ifndef MYXTTS_AUDIO_WRITER_H
#define MYXTTS_AUDIO_WRITER_H

#include <stdint.h>

#include "audio/sound_encoder.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

/* Zero-initialise; abort is always safe. */
typedef struct AudioWriter {
    FileWriter file;
    int pipe_plus1; /* an open descriptor instead of the file; 0: none */
    int kind;       /* a SoundFormat */
    int rate;
    SoundEncoder *wav; /* NULL: another kind */
    void *encoder;     /* of libsndfile; NULL for WAV */
    Buf bytes;         /* of the last add */
    int64_t count;
    int64_t start; /* of the pipe: where the header lies, -1 where it cannot be written again */
} AudioWriter;

/* Creates a temporary file beside path, so that a place where nothing can be written is known before there is
 * any sound. ERR_USAGE for an unknown ending, with those that can be written here; ERR_IO. */
int audio_writer_open(AudioWriter *w, const char *path, Err *err);
/* WAV to a descriptor, which stays open. The sizes in the header are the largest, as readers of pipes expect;
 * where the descriptor can seek they are set at the end. */
void audio_writer_open_pipe(AudioWriter *w, int fd);

/* Once, before the first add. ERR_CONFIG if the kind cannot hold the rate. */
int audio_writer_begin(AudioWriter *w, int rate, Err *err);
int audio_writer_add(AudioWriter *w, const float *samples, int64_t n, Err *err);
/* The file appears under its name, whole. */
int audio_writer_commit(AudioWriter *w, Err *err);
void audio_writer_abort(AudioWriter *w);

#endif
