/* plain_locale.c - see plain_locale.h. */
#include "base/plain_locale.h"

/* "C" is built in: making it takes no memory, and there is nothing to free. */
locale_t plain_locale_enter(void)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? uselocale(plain) : (locale_t)0;
}

void plain_locale_leave(const locale_t *before)
{
    if (*before)
        uselocale(*before);
}
