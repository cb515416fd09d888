/* phonemes.h - text -> IPA by espeak-ng, with stress marks and the punctuation of the text.
 * The result equals that of the Python package phonemizer 3.4 (EspeakBackend, preserve_punctuation,
 * with_stress, language_switch='remove-flags', default separator, strip) on the same libespeak-ng; phonemes.c
 * says how. libespeak-ng has one state for the whole process, which all Phonemes share, one at a time.
 * Threads: one per Phonemes. */
#ifndef MYXTTS_PHONEMES_H
#define MYXTTS_PHONEMES_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

typedef struct Phonemes Phonemes;

/* Voice data is looked for in $ESPEAK_DATA_PATH, then in share/espeak-ng-data next to the folder of the
 * program (a bundle), then where the library was installed. ERR_MISSING if there is none. */
int phonemes_open(Phonemes **p, Err *err);
void phonemes_close(Phonemes *p);
/* Writes the folder that holds espeak-ng-data beside the program; NULL: there is none, or ESPEAK_DATA_PATH
 * says where it is. For code that starts libespeak-ng itself, in a separate process. */
const char *phonemes_bundle(char *out, size_t cap);

/* `voice` is a language code as `espeak-ng --voices` prints it: "en-us", "fr-fr", "cmn". */
int phonemes_has_voice(const Phonemes *p, const char *voice);
/* Selects the voice; costs nothing if it spoke last. ERR_MISSING if espeak-ng has no such voice. */
int phonemes_set_voice(Phonemes *p, const char *voice, Err *err);

/* How often the process has changed the voice: libespeak-ng 1.51 leaks about 1.3 KB of memory each time. */
uint64_t phonemes_voice_changes(void);
const char *phonemes_voice(const Phonemes *p); /* the current one; "" if none was set */

/* Appends the IPA of valid UTF-8 without NUL bytes. *spoken (may be NULL) is the number of bytes that came
 * from espeak-ng; 0 means that the result is only punctuation. Returns 0 or ERR_NOMEM. A voice must have been
 * set. */
int phonemes_speak(Phonemes *p, Buf *out, size_t *spoken, const char *text, size_t n);

/* A part of the text and its phonemes, in bytes of both. */
typedef struct PhonemePlace {
    uint32_t text, text_size, phonemes, phonemes_size;
    uint32_t mark; /* the private character whose IPA it is; 0: espeak-ng's */
} PhonemePlace;
/* The same for a text with private characters (UNICODE_STAND_IN) whose IPA is given. espeak-ng speaks the
 * words around them as if a word stood there. */
typedef struct PhonemeMarks {
    const char *(*ipa)(void *arg, uint32_t code_point, size_t *size); /* NULL: it has none */
    void *arg;
    Buf *places; /* PhonemePlace of all parts, appended; NULL: not wanted */
} PhonemeMarks;
int phonemes_speak_marked(Phonemes *p, Buf *out, size_t *spoken, const char *text, size_t n,
                          const PhonemeMarks *marks);

/* 1: the word, or what is left of it without its ending, is in espeak-ng's dictionary; 0: its sound is
 * guessed from its letters. ERR_NOMEM. */
int phonemes_knows(Phonemes *p, const char *word, size_t n);

/* Hashes what the phonemes depend on besides the text: library version, voice data, version of this file. The
 * named dictionary ("en") is hashed with its bytes, the others with name and size. Needs no Phonemes. -1: a
 * file that is there cannot be read, so the hash would be another one. */
int phonemes_hash_version(Hasher *h, const char *dictionary);

#endif
