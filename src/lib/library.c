/* library.c - what every part of the C library needs: see library.h, and myxtts.h for those who use it. */
#include "lib/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *myxtts_version(void)
{
    return VERSION(MYXTTS_VERSION_MAJOR, MYXTTS_VERSION_MINOR, MYXTTS_VERSION_PATCH);
}

void myxtts_free(void *p) { free(p); }

/* ---- errors ---- */

/* Callers see the numbers of err.h as codes. */
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

int library_misuse(myxtts_error *to, const char *what)
{
    Err err = {0};
    err_set(&err, ERR_USAGE, "%s is NULL", what);
    return library_error(to, &err);
}

int library_check_process(pid_t owner, const char *whose, myxtts_error *to)
{
    Err err = {0};
    if (owner == getpid())
        return 0;
    err_set(&err, ERR_USAGE, "%s was opened by another process", whose);
    err_hint(&err, "open it again in this process");
    return library_error(to, &err);
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

/* ---- options and settings ---- */

int library_options(void *to, size_t size, const void *from, const char *whose, Err *err)
{
    size_t given = 0;
    if (from)
        memcpy(&given, from, sizeof given);
    if (!from || given < sizeof given)
        return err_set(err, ERR_USAGE, "%s needs options that start with their size", whose);
    if (given > size)
        return err_set(err, ERR_USAGE, "the program was built for a libmyxtts newer than %s",
                       myxtts_version());
    memcpy(to, from, given);
    return 0;
}

int library_arguments_read(LibraryArguments *a, const char *const *settings, Err *err)
{
    int rc = 0;
    for (int i = 0; !rc && settings && settings[i]; i += 2) {
        if (!settings[i + 1])
            rc = err_set(err, ERR_USAGE, "the setting '%s' has no value", settings[i]);
        else
            rc = library_arguments_add(a, settings[i], settings[i + 1], err);
    }
    return rc;
}

int library_arguments_add(LibraryArguments *a, const char *key, const char *value, Err *err)
{
    if (!config_is_key(key)) {
        const char *nearest = config_nearest_key(key, NULL);
        err_set(err, ERR_CONFIG, "unknown setting '%s'", key);
        return nearest ? err_hint(err, "did you mean '%s'?", nearest)
                       : err_hint(err, "`myxtts config` lists the settings");
    }
    char **more = realloc(a->of, ((size_t)a->count + 1) * sizeof *more);
    size_t cap = strlen(key) + strlen(value) + 4;
    char *text = more ? malloc(cap) : NULL;
    if (more)
        a->of = more;
    if (!text)
        return err_set(err, ERR_NOMEM, "no memory for the settings");
    snprintf(text, cap, "--%s=%s", key, value);
    a->of[a->count++] = text;
    a->names_device |= strcmp(key, "model_gpu") == 0 || strcmp(key, "data_gpu") == 0;
    return 0;
}

void library_arguments_free(LibraryArguments *a)
{
    for (int i = 0; i < a->count; i++)
        free(a->of[i]);
    free(a->of);
    *a = (LibraryArguments){0};
}

const char *library_device(const char *name)
{
    if (strcmp(name, "cuda") == 0)
        return "0";
    return strncmp(name, "cuda:", 5) == 0 ? name + 5 : name;
}
