/* front_end.h - how the words of a language become symbols, language by language:
 *
 *     espeak      phonemes of espeak-ng's voice
 *     characters  the characters themselves
 *     lexicon     phonemes by a list of words and rules for letters: for languages that espeak-ng has no
 * voice of
 *
 * use_phonemes chooses between the first two for every language. A section of the lexicon (lexicon.h) chooses
 * for one, and what is in it holds for that language alone:
 *
 *     %language tok lexicon
 *     toki<TAB>ˈtoki           as in any lexicon
 *     %letters
 *     k<TAB>k                  letters in a row, TAB, IPA; nothing between two TABs: they are silent
 *
 * It ends with the next section; "%language any" goes on with entries for every language. At one place of a
 * word the rule with the most letters is used; case does not count. Threads: several may look up. */
#ifndef MYXTTS_FRONT_END_H
#define MYXTTS_FRONT_END_H

#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "text/phonemes/lexicon.h"
#include "text/phonemes/phonemes.h"

typedef enum { FRONT_ESPEAK, FRONT_CHARACTERS, FRONT_LEXICON, FRONT_KINDS } FrontKind;

typedef struct FrontEnd {
    char code[16]; /* of the language; "": of all that have none of their own */
    FrontKind kind;
    Lexicon *words;         /* entries for this language alone; NULL: none */
    struct Letter *letters; /* [count] */
    size_t count, room;
    Block block;
} FrontEnd;

typedef struct FrontEnds {
    FrontEnd *all; /* [count]; the first is that of all other languages */
    size_t count, room;
} FrontEnds;

/* Reads the sections of a lexicon. others: of languages without one. name, skipped: see lexicon_open.
 * ERR_DATA: a line that is wrong. Closing is needed after a failure, too. */
int front_ends_open(FrontEnds *f, FrontKind others, const char *text, size_t n, const char *name, int skipped,
                    Err *err);
void front_ends_close(FrontEnds *f);
/* That of the code, of its primary code, or of all others. */
const FrontEnd *front_ends_find(const FrontEnds *f, const char *code);
int front_ends_need_espeak(const FrontEnds *f);

/* The rule for the letters at `at`: their bytes and the IPA; 0: there is none. */
size_t front_letters(const FrontEnd *f, const char *text, size_t n, size_t at, const char **ipa);

/* As phonemes_speak_marked, by these rules. 0 or ERR_NOMEM. */
int front_speak(const FrontEnd *f, Buf *out, size_t *spoken, const char *text, size_t n,
                const PhonemeMarks *marks);

#endif
