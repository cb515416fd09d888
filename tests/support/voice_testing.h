/* voice_testing.h - voices of several languages, for tests. */
#ifndef MYXTTS_VOICE_TESTING_H
#define MYXTTS_VOICE_TESTING_H

/* A copy of a checkpoint whose entry `languages` is this text (NULL: it has none, as files of before), with
 * this many vectors for languages (0: it has those it had). */
void write_languages(const char *to, const char *from, const char *entry, int vectors);
/* A copy of a checkpoint whose symbols were characters: they are phonemes. */
void write_phoneme_voice(const char *to, const char *from);

#endif
