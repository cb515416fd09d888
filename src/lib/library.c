/* library.c - what every part of the C library needs: see library.h, and myxtts.h for those who use it. */
#include "lib/library.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT(x) #x
#define VERSION(major, minor) TEXT(major) "." TEXT(minor)

const char *myxtts_version(void) { return VERSION(MYXTTS_VERSION_MAJOR, MYXTTS_VERSION_MINOR); }

void myxtts_free(void *p) { free(p); }

/* ---- errors ---- */

/* Who looks at a code sees the numbers of err.h. */
#define SAME(ours, theirs) ((int)(ours) == (int)(theirs))
_Static_assert(SAME(MYXTTS_ERROR_IO, ERR_IO) && SAME(MYXTTS_ERROR_MEMORY, ERR_NOMEM) &&
                   SAME(MYXTTS_ERROR_USAGE, ERR_USAGE) && SAME(MYXTTS_ERROR_CONFIG, ERR_CONFIG) &&
                   SAME(MYXTTS_ERROR_FORMAT, ERR_FORMAT) && SAME(MYXTTS_ERROR_DATA, ERR_DATA) &&
                   SAME(MYXTTS_ERROR_DAMAGED, ERR_DAMAGED) && SAME(MYXTTS_ERROR_NOSPACE, ERR_NOSPACE) &&
                   SAME(MYXTTS_ERROR_STOPPED, ERR_STOPPED) && SAME(MYXTTS_ERROR_WORKER, ERR_WORKER) &&
                   SAME(MYXTTS_ERROR_MISSING, ERR_MISSING) && SAME(MYXTTS_ERROR_DEVICE, ERR_DEVICE) &&
                   SAME(MYXTTS_ERROR_BUSY, ERR_BUSY),
               "the codes of myxtts.h are those of err.h");
_Static_assert(sizeof((myxtts_error){0}.message) == sizeof((Err){0}.msg) &&
                   sizeof((myxtts_error){0}.hint) == sizeof((Err){0}.hint),
               "a message fits");

int library_error(myxtts_error *to, const Err *from)
{
    if (to) {
        to->code = from->code;
        snprintf(to->message, sizeof to->message, "%s", from->msg);
        snprintf(to->hint, sizeof to->hint, "%s", from->hint);
    }
    return from->code;
}

/* ---- lines ---- */

static void hand_over(void *arg, LogLevel level, const char *line)
{
    LibraryLog *l = arg;
    pthread_mutex_lock(&l->mutex);
    if (l->to)
        l->to(l->to_arg, (int)level, line);
    pthread_mutex_unlock(&l->mutex);
}

/* Without a function, a library does not chat. */
void library_log_open(LibraryLog *l, myxtts_log to, void *arg)
{
    *l = (LibraryLog){.to = to, .to_arg = arg};
    log_init(&l->log, to ? LOG_INFO : LOG_WARN);
    pthread_mutex_init(&l->mutex, NULL);
    if (to) {
        l->log.sink = hand_over;
        l->log.sink_arg = l;
    }
}

void library_log_mute(LibraryLog *l)
{
    pthread_mutex_lock(&l->mutex);
    l->to = NULL;
    pthread_mutex_unlock(&l->mutex);
}

void library_log_close(LibraryLog *l) { pthread_mutex_destroy(&l->mutex); }
