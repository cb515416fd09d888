/* plain_locale.h - numbers and letters in the C locale, whatever locale the calling program has set: in a
 * German locale strtod would stop at the point in 0.5, in a Turkish one "I" would not become "i". The
 * locale is that of the calling thread alone; threads of thread.h have the plain one from their start.
 * Threads: any. */
#ifndef MYXTTS_PLAIN_LOCALE_H
#define MYXTTS_PLAIN_LOCALE_H

#include <locale.h>

locale_t plain_locale_enter(void); /* returns the one before */
void plain_locale_leave(const locale_t *before);

/* First in every function of myxtts.h that can fail: until it returns, the thread's locale is the plain one.
 */
#define PLAIN_LOCALE \
    const locale_t locale_before __attribute__((cleanup(plain_locale_leave))) = plain_locale_enter(); \
    (void)locale_before

#endif
