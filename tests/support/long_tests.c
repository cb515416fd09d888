/* long_tests.c - see long_tests.h. */
#include "long_tests.h"

#include <stdlib.h>
#include <string.h>

int is_long(void)
{
    const char *p = getenv("MYXTTS_LONG");
    return p && p[0] && strcmp(p, "0") != 0;
}
