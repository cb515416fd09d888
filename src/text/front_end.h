/* front_end.h - how the words of a language become symbols, language by language:
 *
 *     espeak      phonemes of espeak-ng's voice
 *     characters  the characters themselves
 *     lexicon     phonemes from a list of words and letter rules, for languages without an espeak-ng voice
 *
 * use_phonemes chooses between the first two for every language. A section of the lexicon (lexicon.h) chooses
 * for a single language, and its entries hold only for that language:
 *
 *     %language tok lexicon
 *     toki<TAB>ˈtoki           as in any lexicon
 *     %letters
 *     k<TAB>k                  letters, TAB, IPA; with nothing between two TABs they are silent
 *
 * A section ends where the next one starts; "%language any" continues with entries for every language. Where
 * several rules match, the one with the most letters is used; case does not count.
 * Threads: several may look up. */
#ifndef MYXTTS_FRONT_END_H
#define MYXTTS_FRONT_END_H

#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "text/phonemes/lexicon.h"
#include "text/phonemes/phonemes.h"

typedef enum { FRONT_ESPEAK, FRONT_CHARACTERS, FRONT_LEXICON, FRONT_KINDS } FrontKind;

typedef struct FrontEnd {
    char code[16]; /* of the language; "" for all languages without their own */
    FrontKind kind;
    Lexicon *words;         /* entries for this language alone; NULL: none */
    struct Letter *letters; /* [count] */
    size_t count, room;
    Block block;
} FrontEnd;

typedef struct FrontEnds {
    FrontEnd *all; /* [count]; the first is for all other languages */
    size_t count, room;
} FrontEnds;

/* Reads the sections of a lexicon. others: the front end of languages without a section. name, skipped: see
 * lexicon_open. ERR_DATA: a line that is wrong. Closing is needed after a failure, too. */
int front_ends_open(FrontEnds *f, FrontKind others, const char *text, size_t n, const char *name, int skipped,
                    Err *err);
void front_ends_close(FrontEnds *f);
/* The front end of this language code, else of its primary code, else that of all other languages. */
const FrontEnd *front_ends_find(const FrontEnds *f, const char *code);
int front_ends_need_espeak(const FrontEnds *f);

/* Finds the rule for the letters at `at`. Returns how many bytes it covers and its IPA, or 0 if there is no
 * rule. */
size_t front_letters(const FrontEnd *f, const char *text, size_t n, size_t at, const char **ipa);

/* Does what phonemes_speak_marked does, with these rules. Returns 0 or ERR_NOMEM. */
int front_speak(const FrontEnd *f, Buf *out, size_t *spoken, const char *text, size_t n,
                const PhonemeMarks *marks);

#endif
