/* audio_endings.c - see audio_endings.h. */
#include "dataset/audio_endings.h"

#include <string.h>
#include <strings.h>

/* Behind .opus: those that libav reads (audio_libav.h). */
static const char *const endings[] = {".wav",  ".flac", ".mp3", ".ogg", ".opus", ".m4a",
                                      ".webm", ".aac",  ".wma", ".amr", ".mp4"};
enum { ENDINGS = sizeof endings / sizeof *endings };

size_t audio_ending(const char *name, size_t n, int *rank)
{
    for (int i = 0; i < ENDINGS; i++) {
        size_t k = strlen(endings[i]);
        if (n <= k || strncasecmp(name + n - k, endings[i], k) || name[n - k - 1] == '/')
            continue;
        if (rank)
            *rank = i;
        return k;
    }
    return 0;
}

const char *audio_ending_at(int rank) { return rank >= 0 && rank < ENDINGS ? endings[rank] : NULL; }
