/* announce.h - announces the Wyoming port on the network, so that Home Assistant finds it by itself: a file
 * in the folder that the Avahi daemon watches, as long as the server runs. avahi.service is the file's text.
 * Threads: one. */
#ifndef MYXTTS_ANNOUNCE_H
#define MYXTTS_ANNOUNCE_H

#include "base/err.h"

#define ANNOUNCE_FOLDER "/etc/avahi/services"

typedef struct Announcement { /* zero-initialise */
    char *path;               /* of the file; NULL: there is none */
} Announcement;

/* Writes FOLDER/myxtts-PORT.service. ERR_MISSING: there is no such folder; ERR_IO: it cannot be written to.
 * The hints say what to do. */
int announce_open(Announcement *a, const char *folder, int port, Err *err);
void announce_close(Announcement *a); /* takes the file away; a zeroed or closed one is allowed */

#endif
