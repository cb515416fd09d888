/* err.h - errors a user can meet: a file, a line, a setting, a full disk.
 * A function that can fail returns 0 or one of the negative codes below and fills the Err it was given:
 * a sentence with the value and the place, and a hint where there is something to do about it.
 * Programming mistakes do not come through here; they stop at ASSERT (check.h).
 * Threads: an Err belongs to one thread at a time. Every function accepts err == NULL. */
#ifndef MYXTTS_ERR_H
#define MYXTTS_ERR_H

enum {
    ERR_IO = -1,       /* reading or writing a file failed */
    ERR_NOMEM = -2,    /* out of memory */
    ERR_USAGE = -3,    /* wrong use of the program */
    ERR_CONFIG = -4,   /* wrong setting */
    ERR_FORMAT = -5,   /* a file is not what it should be */
    ERR_DATA = -6,     /* the data cannot be used */
    ERR_DAMAGED = -7,  /* a checksum does not match */
    ERR_NOSPACE = -8,  /* the disk is full */
    ERR_STOPPED = -9,  /* stopped on request */
    ERR_WORKER = -10,  /* a worker failed */
    ERR_MISSING = -11, /* something needed is not there */
    ERR_DEVICE = -12,  /* a device failed */
    ERR_RANKS = -13,   /* another process of this run failed, or this one did and has said so */
    ERR_BUSY = -14,    /* too much is waiting already */
    ERR_LANGUAGE = -15 /* a voice was never trained on the language */
};

/* What an error is about, where a caller acts on that. Words are for people: no code looks at them. */
typedef enum { ERR_ABOUT_NOTHING, ERR_ABOUT_DEVICE, ERR_ABOUT_REFERENCE } ErrSubject;

typedef struct Err {
    int code;           /* 0: no error */
    char msg[800];      /* one sentence, no newline at the end */
    char hint[400];     /* what to do about it; may be empty */
    ErrSubject subject; /* most errors have none */
    char about[32];     /* which one: the name of the device */
} Err;

/* Replaces whatever err held; returns code, so that `return err_set(err, ERR_IO, ...)` reads well. */
int err_set(Err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As err_set, and appends ": " and the text of errno. The code becomes ERR_NOSPACE if the disk is full and
 * ERR_NOMEM if memory is. */
int err_set_errno(Err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds the hint to an error that is already set; returns its code (ERR_DATA when err is NULL: never 0). */
int err_hint(Err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds the subject to an error that is already set. name may be NULL. Returns a code as err_hint does. */
int err_about(Err *err, ErrSubject subject, const char *name);
int err_is_about(const Err *err, ErrSubject subject, const char *name);
/* Puts "prefix: " (where it happened) before the message. Returns a code as err_hint does. */
int err_prefix(Err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_clear(Err *err);

int err_exit_code(
    int code); /* 0 all well, 2 wrong use (ERR_USAGE, ERR_CONFIG, ERR_LANGUAGE), 3 the machine or the data */

#endif
