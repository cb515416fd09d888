/* plural.h - the ending of a counted noun: printf("%d clip%s", n, plural(n)). */
#ifndef MYXTTS_PLURAL_H
#define MYXTTS_PLURAL_H

#include <stdint.h>

static inline const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

#endif
