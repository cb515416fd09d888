/* spoken.c - see spoken.h. */
#include "spoken.h"

const char *const spoken_sentences[SPOKEN_COUNT] = {
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

int spoken_by_flite(AudioBuffer *out, const char *text)
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
