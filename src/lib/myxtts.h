/* myxtts.h - the C library of myxtts: trained voices that speak, and batches of a dataset for training.
 *
 * Functions report errors by returning a negative MYXTTS_ERROR_ code and filling the myxtts_error they were
 * given (NULL is fine); their other results are described below. A handle that could not be opened is NULL,
 * and every function that closes or releases accepts NULL. NULL for any other handle, or for a result, is
 * MYXTTS_ERROR_USAGE, or gives 0 or NULL from functions that return no code.
 *
 * There is no global state except that of libespeak-ng, which the library locks, and a SIGBUS handler, which
 * keeps a truncated file from ending the program and passes on signals that do not concern the library. Each
 * handle's description says which threads may use it.
 *
 * A handle belongs to the process that opened it: using it in a forked child is MYXTTS_ERROR_USAGE, and
 * closing it there has no effect.
 *
 * Strings are UTF-8. Pointers that a function returns belong to its handle and are valid until that is
 * closed, unless its description says otherwise. */
#ifndef MYXTTS_H
#define MYXTTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MYXTTS_API __attribute__((visibility("default")))
#else
#define MYXTTS_API
#endif

#define MYXTTS_VERSION_MAJOR 0
#define MYXTTS_VERSION_MINOR 4
#define MYXTTS_VERSION_PATCH 0

/* "0.4.0", the version of the loaded library. Programs linked with libmyxtts.so.1 run with any libmyxtts.so.1
 * of the same version or newer. */
MYXTTS_API const char *myxtts_version(void);

/* ---- errors ---- */

enum {
    MYXTTS_ERROR_IO = -1,       /* reading or writing failed */
    MYXTTS_ERROR_MEMORY = -2,   /* out of memory */
    MYXTTS_ERROR_USAGE = -3,    /* wrong use of a function */
    MYXTTS_ERROR_CONFIG = -4,   /* wrong setting */
    MYXTTS_ERROR_FORMAT = -5,   /* a file is not what it should be */
    MYXTTS_ERROR_DATA = -6,     /* the data cannot be used */
    MYXTTS_ERROR_DAMAGED = -7,  /* a checksum does not match */
    MYXTTS_ERROR_NOSPACE = -8,  /* the disk is full */
    MYXTTS_ERROR_STOPPED = -9,  /* stopped on request */
    MYXTTS_ERROR_WORKER = -10,  /* a worker failed */
    MYXTTS_ERROR_MISSING = -11, /* something needed is not there */
    MYXTTS_ERROR_DEVICE = -12,  /* a device failed */
    MYXTTS_ERROR_BUSY = -14,    /* too much is waiting already */
    MYXTTS_ERROR_LANGUAGE = -15 /* the voice was never trained on the language */
};

typedef struct myxtts_error {
    int code;          /* 0: none */
    char message[800]; /* one sentence */
    char hint[400];    /* what to do about it; may be empty */
} myxtts_error;

/* Receives the lines that the program would write to stderr. level: 0 error, 1 warning, 2 information. Called
 * from any thread, but never from two at once. Without it, errors and warnings go to stderr. */
typedef void (*myxtts_log)(void *arg, int level, const char *line);

/* Frees memory that a function's description says to free with it. */
MYXTTS_API void myxtts_free(void *p);

/* ---- voices ----
 *
 * Any number of threads may use a myxtts_voice at once, except to close it; texts that are spoken at the same
 * time are computed together. A myxtts_speech belongs to one thread at a time.
 *
 *     myxtts_voice_options o = MYXTTS_VOICE_OPTIONS;
 *     o.checkpoint = "run";
 *
 * Option structures start with their size, so that programs built with an older header keep working. */

typedef struct myxtts_voice myxtts_voice;

typedef struct myxtts_voice_options {
    size_t size;
    const char *checkpoint;      /* a run, a checkpoint, or an exported voice */
    const char *device;          /* "auto", "cpu", "0", "cuda:0"; NULL: the one in the settings, or auto */
    const char *vocoder;         /* another vocoder, or "griffin_lim"; NULL: the voice's own */
    int rounds;                  /* of Griffin-Lim; 0: the default number, -1: none */
    int threads;                 /* on a CPU; 0: all cores */
    const char *const *settings; /* "key", "value", ..., NULL; or NULL. Any key of the configuration */
    myxtts_log log;
    void *log_arg;
} myxtts_voice_options;
#define MYXTTS_VOICE_OPTIONS \
    { \
        sizeof(myxtts_voice_options), NULL, NULL, NULL, 0, 0, NULL, NULL, NULL \
    }

MYXTTS_API int myxtts_voice_open(myxtts_voice **v, const myxtts_voice_options *o, myxtts_error *e);
MYXTTS_API void myxtts_voice_close(myxtts_voice *v); /* all its speeches must have been ended */

MYXTTS_API int myxtts_voice_sample_rate(const myxtts_voice *v); /* samples per second */
/* There is at least one speaker; its name may be "". */
MYXTTS_API int myxtts_voice_speaker_count(const myxtts_voice *v);
MYXTTS_API const char *myxtts_voice_speaker(const myxtts_voice *v, int i); /* NULL: there is none */

/* Codes of the languages that the voice was trained on: "de", "en-us". Since 1.1. */
MYXTTS_API int myxtts_voice_language_count(const myxtts_voice *v);
MYXTTS_API const char *myxtts_voice_language(const myxtts_voice *v, int i); /* NULL: there is none */

typedef struct myxtts_manner {
    size_t size;
    const char *speaker;   /* NULL: the first */
    const char *reference; /* path of a recording whose voice to imitate; NULL: none */
    double speed;          /* 1: as learned; 0.25 .. 4 */
    double pitch;          /* semitones up or down; -24 .. 24 */
    const char *language;  /* one of the voice's languages; NULL: its default, or that of the text. Since
                            * 1.1 */
    /* 0: a language that the voice was never trained on, or a text mostly in a script that it was never
     * trained on, is MYXTTS_ERROR_LANGUAGE. 1: it is spoken anyway. Since 1.1 */
    int force_language;
    const char *text_format; /* "plain", "markdown", "html", "ssml"; NULL or "auto": recognised. Since 0.3 */
} myxtts_manner;
#define MYXTTS_MANNER \
    { \
        sizeof(myxtts_manner), NULL, NULL, 1, 0, NULL, 0, NULL \
    }

/* A text being spoken. Work on it starts at once, in threads of the voice, and stays at most a few seconds of
 * sound ahead of the caller. manner NULL: MYXTTS_MANNER. */
typedef struct myxtts_speech myxtts_speech;
MYXTTS_API int myxtts_speech_begin(myxtts_speech **s, myxtts_voice *v, const char *text, size_t bytes,
                                   const myxtts_manner *manner, myxtts_error *e);
/* Waits for the next piece of sound. 1: samples [*count] in [-1, 1], valid until the next call; 0: the
 * end. */
MYXTTS_API int myxtts_speech_next(myxtts_speech *s, const float **samples, int64_t *count, myxtts_error *e);
/* The same, but returns 2 after this many seconds without a result. */
MYXTTS_API int myxtts_speech_poll(myxtts_speech *s, const float **samples, int64_t *count, double seconds,
                                  myxtts_error *e);
MYXTTS_API void myxtts_speech_end(myxtts_speech *s); /* at any moment */

/* A piece of the text that is left out because it cannot be spoken: a private character, a byte that is not
 * UTF-8. All are known when myxtts_speech_next has returned 0, nearly always before the first sound. They
 * also cause warnings. Since 1.2. */
typedef struct myxtts_loss {
    size_t at, bytes; /* of the text */
    char why[120];
} myxtts_loss;
MYXTTS_API int myxtts_speech_left_out_count(const myxtts_speech *s);
MYXTTS_API int myxtts_speech_left_out(const myxtts_speech *s, int i, myxtts_loss *l); /* 0, or -11: no such */

/* An SSML <mark> and its time. A mark is known as soon as the first piece of sound of its sentence is
 * returned. Since 0.3. */
typedef struct myxtts_mark {
    const char *name;
    double seconds; /* from the beginning of the sound */
} myxtts_mark;
MYXTTS_API int myxtts_speech_mark_count(const myxtts_speech *s);
MYXTTS_API int myxtts_speech_mark(const myxtts_speech *s, int i, myxtts_mark *m); /* 0, or -11: no such */

/* Speaks a whole text: *samples [*count], to be freed with myxtts_free. */
MYXTTS_API int myxtts_voice_say(myxtts_voice *v, float **samples, int64_t *count, const char *text,
                                size_t bytes, const myxtts_manner *manner, myxtts_error *e);

/* Writes samples to a file, which appears when it is complete. The extension chooses the format: .wav, .flac,
 * .ogg or .mp3. */
MYXTTS_API int myxtts_write_audio(const char *path, const float *samples, int64_t count, int sample_rate,
                                  myxtts_error *e);

/* ---- batches ----
 *
 * A loader reads a dataset and keeps batches of it ready on a device. A myxtts_loader belongs to one thread
 * at a time, but any thread may call myxtts_loader_stop. A myxtts_batch may be handed to another thread and
 * be released there. */

typedef struct myxtts_loader myxtts_loader;
typedef struct myxtts_batch myxtts_batch;

typedef struct myxtts_loader_options {
    size_t size;
    const char *data;            /* a folder with recordings and their texts */
    const char *config;          /* a YAML file; NULL: none */
    const char *device;          /* where the batches go: "cpu", "cuda:0"; NULL: cpu */
    const char *split;           /* "train" or "validation"; NULL: train */
    int64_t epochs;              /* 0: for ever */
    const char *const *settings; /* "batch_size", "32", ..., NULL; or NULL. Any key of the configuration */
    int prepare;                 /* 1: build missing caches; 0: missing caches are an error */
    int rank, ranks;             /* of the processes that share each batch; ranks 0: a single process */
    const int *cancel;           /* setting it to 1 makes opening fail with MYXTTS_ERROR_STOPPED; NULL:
                                  * never */
    myxtts_log log;
    void *log_arg;
} myxtts_loader_options;
#define MYXTTS_LOADER_OPTIONS \
    { \
        sizeof(myxtts_loader_options), NULL, NULL, NULL, NULL, 0, NULL, 1, 0, 0, NULL, NULL, NULL \
    }

/* Starts threads, but no processes. */
MYXTTS_API int myxtts_loader_open(myxtts_loader **l, const myxtts_loader_options *o, myxtts_error *e);
/* Ends its threads. Batches that are still held, and their tensors, remain valid until they are released. */
MYXTTS_API void myxtts_loader_close(myxtts_loader *l);
MYXTTS_API int64_t myxtts_loader_batches(const myxtts_loader *l);    /* of an epoch */
MYXTTS_API int64_t myxtts_loader_utterances(const myxtts_loader *l); /* of an epoch */
MYXTTS_API int myxtts_loader_speaker_count(const myxtts_loader *l);
MYXTTS_API const char *myxtts_loader_speaker(const myxtts_loader *l, int i);
/* The same for the languages of the texts. Since 1.1. */
MYXTTS_API int myxtts_loader_language_count(const myxtts_loader *l);
MYXTTS_API const char *myxtts_loader_language(const myxtts_loader *l, int i);
/* A thread that waits in myxtts_loader_next gets MYXTTS_ERROR_STOPPED, as does every later call, until
 * myxtts_loader_resume. */
MYXTTS_API void myxtts_loader_stop(myxtts_loader *l);

/* The next batch. 1: *b is set; 0: the end. stream: for a batch on a GPU, the cudaStream_t that will use it;
 * the stream, not the caller, waits until the batch is complete. The loader has a few buffers (setting
 * pipeline_buffer_size). A batch occupies one until it is released; when all are occupied the result is
 * MYXTTS_ERROR_BUSY. */
MYXTTS_API int myxtts_loader_next(myxtts_loader *l, myxtts_batch **b, void *stream, myxtts_error *e);

/* The same, but returns 2 after this many seconds without a result. */
MYXTTS_API int myxtts_loader_poll(myxtts_loader *l, myxtts_batch **b, void *stream, double seconds,
                                  myxtts_error *e);

typedef enum { MYXTTS_FLOAT32, MYXTTS_INT32 } myxtts_type;

/* Rows are utterances; the last batch of an epoch may have fewer of them. A row that could not be loaded is
 * empty: its lengths are 0. "speaker", "language", "utterance": numbers; "reference": the row whose voice
 * this one may learn from. The mel is normalised, the pitch is the normalised logarithm of the frequency. */
typedef struct myxtts_array {
    const char *name; /* "tokens", "token_length", "mel", "mel_length", "pitch", "speaker", "utterance",
                         "reference", "language"; with the setting network: vocoder "mel", "samples",
                         "speaker" and "utterance" */
    void *data;       /* on the loader's device */
    myxtts_type type;
    int dimensions;
    int64_t shape[4]; /* contiguous; the last index changes fastest */
} myxtts_array;
MYXTTS_API int myxtts_batch_arrays(const myxtts_batch *b);                        /* how many there are */
MYXTTS_API int myxtts_batch_array(const myxtts_batch *b, int i, myxtts_array *a); /* 0, or -11: no such one */
MYXTTS_API int64_t myxtts_batch_epoch(const myxtts_batch *b);
MYXTTS_API int64_t myxtts_batch_index(const myxtts_batch *b); /* in its epoch */
/* The utterance's id in the metadata; not NUL-terminated, *bytes is its length. NULL: no such row. */
MYXTTS_API const char *myxtts_batch_id(const myxtts_batch *b, int row, size_t *bytes);
/* Returns the buffer once the stream given to myxtts_loader_next has finished the work enqueued so far. */
MYXTTS_API void myxtts_batch_release(myxtts_batch *b);
/* A DLManagedTensor of the array; NULL: no such array, or no memory. The buffer is returned when the batch
 * has been released and all its tensors have been deleted, in any thread. */
MYXTTS_API void *myxtts_batch_dlpack(myxtts_batch *b, int i);

/* The loader's position: after the last batch that it returned. */
typedef struct myxtts_state {
    int64_t epoch, index;
    uint64_t seed;
    char data[33]; /* which clips, in which order; a state is only valid for the same clips */
} myxtts_state;
MYXTTS_API void myxtts_loader_state(const myxtts_loader *l, myxtts_state *s);
/* Continues from there; batches that are held remain valid. MYXTTS_ERROR_CONFIG if the state is from other
 * clips, or from settings that make different batches. */
MYXTTS_API int myxtts_loader_resume(myxtts_loader *l, const myxtts_state *s, myxtts_error *e);

/* For the report below: says that the step of the last batch is over, and that the time until the next batch
 * is requested (validation, a checkpoint) is not part of a step. */
MYXTTS_API void myxtts_loader_pause(myxtts_loader *l);

/* What slows training down, as `myxtts diagnose` reports it: JSON, to be freed with myxtts_free. A step lasts
 * from the return of one batch to the request for the next. NULL on error, which is MYXTTS_ERROR_DATA as long
 * as there are too few batches to judge. */
MYXTTS_API char *myxtts_loader_report(myxtts_loader *l, myxtts_error *e);

#ifdef __cplusplus
}
#endif

#endif
