/* spoken.h - sentences and somebody who speaks them: flite, a small synthesiser of the 1990s (Debian package
 * flite). The sentences are lists 1 and 2 of the Harvard sentences (IEEE Recommended Practice for Speech
 * Quality Measurements, 1969). Voice slt, 16 kHz; the same bytes each time. */
#ifndef MYXTTS_SPOKEN_H
#define MYXTTS_SPOKEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/audio_file.h"

#define SPOKEN_COUNT 20

static const char *const spoken_sentences[SPOKEN_COUNT] = {
    "The birch canoe slid on the smooth planks.",
    "Glue the sheet to the dark blue background.",
    "It's easy to tell the depth of a well.",
    "These days a chicken leg is a rare dish.",
    "Rice is often served in round bowls.",
    "The juice of lemons makes fine punch.",
    "The box was thrown beside the parked truck.",
    "The hogs were fed chopped corn and garbage.",
    "Four hours of steady work faced us.",
    "A large size in stockings is hard to sell.",
    "The boy was there when the sun rose.",
    "A rod is used to catch pink salmon.",
    "The source of the huge river is the clear spring.",
    "Kick the ball straight and follow through.",
    "Help the woman get back to her feet.",
    "A pot of tea helps to pass the evening.",
    "Smoky fires lack flame and heat.",
    "The soft cushion broke the man's fall.",
    "The salt breeze came across from the sea.",
    "The girl at the booth sold fifty bonds.",
};

/* 1: the text, spoken, in out (freed by the caller with audio_buffer_free). 0: flite is not there. */
static inline int spoken_by_flite(AudioBuffer *out, const char *text)
{
    char path[300], detail[200];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/myxtts-flite-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    int fd = mkstemp(path), status = -1;
    if (fd < 0)
        return 0;
    close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("flite", "flite", "-voice", "slt", "-t", text, "-o", path, (char *)NULL);
        _exit(127);
    }
    Buf bytes = {0};
    int ok = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    ok = ok && !file_read(&bytes, path, 1 << 28, NULL);
    ok = ok && !audio_decode(out, bytes.data, bytes.size, path, 0, detail, sizeof detail);
    buf_free(&bytes);
    unlink(path);
    return ok;
}

#endif
