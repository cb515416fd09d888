/* phonemes.h - espeak-ng as IPA with stress marks and the punctuation of the text.
 * The result equals that of the Python package phonemizer 3.4 (EspeakBackend, preserve_punctuation,
 * with_stress, language_switch='remove-flags', default separator, strip) on the same libespeak-ng; phonemes.c
 * says how. libespeak-ng keeps its state in the process: one Phonemes per process, used by one thread. */
#ifndef MYXTTS_PHONEMES_H
#define MYXTTS_PHONEMES_H

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

typedef struct Phonemes Phonemes;

/* Voice data: $ESPEAK_DATA_PATH, or share/espeak-ng-data beside the folder of the program (a bundle), or
 * where the library was installed. ERR_MISSING when none of them holds any. */
int phonemes_open(Phonemes **p, Err *err);
void phonemes_close(Phonemes *p);

/* `voice` is a language code as `espeak-ng --voices` prints it: "en-us", "fr-fr", "cmn". */
int phonemes_has_voice(const Phonemes *p, const char *voice);
/* Speaks with this voice from now on; free when it is the present one. ERR_MISSING when espeak-ng has no such
 * voice. */
int phonemes_set_voice(Phonemes *p, const char *voice, Err *err);

/* Changes of voice so far: libespeak-ng 1.51 loses about 1.3 KB of memory on each. */
uint64_t phonemes_voice_changes(const Phonemes *p);
const char *phonemes_voice(const Phonemes *p); /* the present one; "" when none was set */

/* Appends the IPA of valid UTF-8 without NUL bytes. *spoken (may be NULL) is the number of bytes that came
 * from espeak-ng, so 0 says that only punctuation is left. 0, or ERR_NOMEM. A voice must have been set. */
int phonemes_speak(Phonemes *p, Buf *out, size_t *spoken, const char *text, size_t n);

/* Adds to h what decides the phonemes besides the text: library version, voice data, version of this file.
 * The named dictionary ("en") counts with its bytes, the others with name and size. Needs no Phonemes. */
void phonemes_hash_version(Hasher *h, const char *dictionary);

#endif
