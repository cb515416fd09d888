/* library.c - what every part of the C library needs: see myxtts.h. */
#include "lib/myxtts.h"

#include <stdlib.h>

#define TEXT(x) #x
#define VERSION(major, minor) TEXT(major) "." TEXT(minor)

const char *myxtts_version(void) { return VERSION(MYXTTS_VERSION_MAJOR, MYXTTS_VERSION_MINOR); }

void myxtts_free(void *p) { free(p); }
