/* audio_endings.h - the file extensions that are taken for sound: ".wav". Threads: any. */
#ifndef MYXTTS_AUDIO_ENDINGS_H
#define MYXTTS_AUDIO_ENDINGS_H

#include <stddef.h>

/* The bytes of such an ending that the name ends with, in any case; 0: none, or nothing stands before it.
 * *rank (may be NULL) becomes its place in the list: of several files of one clip the first is taken. */
size_t audio_ending(const char *name, size_t n, int *rank);
/* The endings in lower case, the most usual first; NULL behind the last. */
const char *audio_ending_at(int rank);
#define AUDIO_ENDINGS ".wav, .flac, .mp3, .ogg or .opus" /* the first of them, for messages */

#endif
