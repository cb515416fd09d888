/* myxtts.h - the C library of myxtts: trained voices that speak, and batches of a dataset for training.
 *
 * Errors are values: functions return a negative MYXTTS_ERROR_ code and fill the myxtts_error they were given
 * (NULL is fine); everything else they return is said below. A handle that could not be opened is NULL, and
 * every function that closes or releases accepts NULL.
 *
 * There is no state outside the handles. Which threads may use one is said beside it.
 *
 * Strings are UTF-8. What a function gives out belongs to its handle and lives until that is closed, unless
 * it says otherwise. */
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

#define MYXTTS_VERSION_MAJOR 1
#define MYXTTS_VERSION_MINOR 0

/* "1.0", of the library that is loaded. */
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
    MYXTTS_ERROR_BUSY = -14     /* too much is waiting already */
};

typedef struct myxtts_error {
    int code;          /* 0: none */
    char message[800]; /* one sentence */
    char hint[400];    /* what to do about it; may be empty */
} myxtts_error;

/* Lines that the program would write to stderr. level: 0 error, 1 warning, 2 information. Called by any
 * thread, one at a time. Without it errors and warnings go to stderr. */
typedef void (*myxtts_log)(void *arg, int level, const char *line);

/* Frees what a function has said to be freed with it. */
MYXTTS_API void myxtts_free(void *p);

#ifdef __cplusplus
}
#endif

#endif
