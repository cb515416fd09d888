/* announce.c - see announce.h. The assembler reads the text, from the folder where the compiler runs; the
 * Makefile has it as a prerequisite of this unit. */
#include "serve/announce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define USUAL_PORT "<port>10200</port>" /* in the text */

__asm__(".pushsection .rodata\n"
        ".local avahi_service\n"
        "avahi_service:\n.incbin \"src/serve/avahi.service\"\n.byte 0\n.popsection\n");
extern const char avahi_service[] __attribute__((visibility("hidden")));

int announce_open(Announcement *a, const char *folder, int port, Err *err)
{
    const char *at = strstr(avahi_service, USUAL_PORT);
    struct stat st;
    char name[64];
    Buf text = {0};
    *a = (Announcement){0};
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) {
        err_set(err, ERR_MISSING, "the Wyoming port is not announced: there is no folder %s", folder);
        return err_hint(err, "apt-get install avahi-daemon; or enter the address in Home Assistant by hand");
    }
    snprintf(name, sizeof name, "myxtts-%d.service", port);
    buf_add(&text, avahi_service, (size_t)(at - avahi_service));
    buf_printf(&text, "<port>%d</port>%s", port, at + sizeof USUAL_PORT - 1);
    a->path = file_join(folder, name);
    int rc = a->path && !text.failed ? file_replace(a->path, text.data, text.size, err)
                                     : err_set(err, ERR_NOMEM, "no memory to announce the Wyoming port");
    /* The daemon runs as a user of its own. */
    if (!rc && chmod(a->path, 0644) != 0)
        rc = err_set_errno(err, ERR_IO, "cannot let others read %s", a->path);
    buf_free(&text);
    if (rc) {
        err_hint(err, "only root may write there: start the server with sudo, or enter the address in "
                      "Home Assistant by hand");
        announce_close(a);
    }
    return rc;
}

void announce_close(Announcement *a)
{
    if (a->path)
        unlink(a->path);
    free(a->path);
    *a = (Announcement){0};
}
