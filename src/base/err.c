/* err.c - see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Returned when there is no Err that holds the code: `return err_hint(...)` must not turn an error into
 * success. */
#define CODE_UNKNOWN ERR_DATA

/* Cuts a message that did not fit at a UTF-8 character border, so that what is printed stays valid. */
static void cut_cleanly(char *s, size_t cap)
{
    size_t n = strlen(s);
    if (n + 1 < cap)
        return;
    size_t last = utf8_cut(s, n, n - 1); /* where the last character starts */
    if (utf8_valid(s + last, n - last) != n - last)
        s[last] = 0;
}

/* Clears the hint and the subject: those of an earlier error would mislead. */
static void set_text(Err *err, int code, const char *fmt, va_list ap)
{
    err->code = code;
    err->hint[0] = 0;
    err->subject = ERR_ABOUT_NOTHING;
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
}

int err_set(Err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, fmt);
    set_text(err, code, fmt, ap);
    va_end(ap);
    cut_cleanly(err->msg, sizeof err->msg);
    return code;
}

/* errno is read first: everything below may change it. */
int err_set_errno(Err *err, int code, const char *fmt, ...)
{
    int e = errno;
    /* Callers treat a full disk (EFBIG: ulimit -f) and a lack of memory differently from other failures. */
    if (e == ENOSPC || e == EDQUOT || e == EFBIG)
        code = ERR_NOSPACE;
    else if (e == ENOMEM)
        code = ERR_NOMEM;
    if (!err)
        return code;
    va_list ap;
    va_start(ap, fmt);
    set_text(err, code, fmt, ap);
    va_end(ap);
    size_t n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, ": %s", strerror(e));
    cut_cleanly(err->msg, sizeof err->msg);
    return code;
}

/* Keeps the message and its code. */
int err_hint(Err *err, const char *fmt, ...)
{
    if (!err)
        return CODE_UNKNOWN;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, ap);
    va_end(ap);
    cut_cleanly(err->hint, sizeof err->hint);
    return err->code;
}

int err_about(Err *err, ErrSubject subject, const char *name)
{
    if (!err)
        return CODE_UNKNOWN;
    err->subject = subject;
    snprintf(err->about, sizeof err->about, "%s", name ? name : "");
    return err->code;
}

int err_is_about(const Err *err, ErrSubject subject, const char *name)
{
    return err->subject == subject && strncmp(err->about, name, sizeof err->about - 1) == 0;
}

/* Lower layers know what is wrong, higher ones where. */
int err_prefix(Err *err, const char *fmt, ...)
{
    if (!err)
        return CODE_UNKNOWN;
    /* The message moves after its prefix; what no longer fits is cut. */
    char old[sizeof err->msg];
    memcpy(old, err->msg, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    size_t n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, ": %s", old);
    cut_cleanly(err->msg, sizeof err->msg);
    return err->code;
}

void err_clear(Err *err)
{
    if (!err)
        return;
    err->code = 0;
    err->msg[0] = err->hint[0] = 0;
    err->subject = ERR_ABOUT_NOTHING;
}

int err_exit_code(int code)
{
    if (code == 0)
        return 0;
    /* 2: the user must change the command or the configuration; 3: the machine or the data failed. */
    return code == ERR_USAGE || code == ERR_CONFIG || code == ERR_LANGUAGE ? 2 : 3;
}
