/* spans.h - where what is said comes from, and what is not said. This is what a reader of marked-up text
 * (SSML, Markdown) builds on.
 *
 * A text is read in two steps (text.h). text_read makes a TextBlock: `said`, the text in spoken words, in
 * which a special character (a mark) stands for every word whose sound is given. It can be cut anywhere
 * between characters. text_speak makes phonemes and tokens of a piece of it, with a list of spans: the piece
 * from left to right, each with the bytes of the given text it came from, the words that are said, and their
 * phonemes. A new kind of origin is one more mark: it is set with text_mark while the text is read, survives
 * cleaning and cutting at its place, and comes back as a span with that place. */
#ifndef MYXTTS_SPANS_H
#define MYXTTS_SPANS_H

#include <stdint.h>

#include "base/mem.h"
#include "text/markup/markup.h"

typedef enum {
    SPAN_ESPEAK,  /* espeak-ng's rules and dictionary */
    SPAN_LEXICON, /* an entry of the lexicon */
    SPAN_INLINE,  /* [[IPA]] in the text */
    SPAN_LETTERS, /* rules for the letters of a language (front_end.h) */
    SPAN_RULE,    /* speakable.h: the name of a sign, a word of another script in Latin letters */
    SPAN_ORIGINS
} SpanOrigin;
const char *span_origin_name(SpanOrigin o); /* "espeak", "lexicon", "inline", "letters", "rule" */

/* Offsets are bytes: source in the text that was given to text_read, said in TextResult.cleaned, phonemes in
 * TextResult.phonemes. Blanks and marks of punctuation between spans belong to none. */
typedef struct TextSpan {
    uint32_t source, source_size;
    uint32_t said, said_size;
    uint32_t phonemes, phonemes_size;
    uint32_t origin; /* SpanOrigin */
} TextSpan;

/* Text that is not spoken, although it is more than punctuation, white space, a control character or an
 * ornament: those have no sound. */
typedef struct TextLoss {
    uint32_t source, source_size; /* bytes of the text that was given to text_read */
    char why[120];                /* "U+E000 has no name" */
} TextLoss;

/* A word in `said` whose sound is known, or is that of other words. */
typedef struct TextMark {
    uint32_t source, source_size; /* bytes of TextBlock.normal */
    uint32_t ipa, ipa_size;       /* bytes of TextBlock.strings; size 0: not known yet */
    uint32_t words, words_size;   /* what to say instead, of TextBlock.strings; size 0: nothing */
    uint32_t origin;              /* SpanOrigin */
    uint32_t is_found;            /* in `said`: source is still to be found */
    uint32_t is_control;          /* no word, but a control of TextBlock.markup */
    uint32_t control;             /* its number */
} TextMark;

/* A text on its way from written to said. Zero-initialise once, reuse for every text, then text_block_free.
 * It belongs to its caller: an engine does not keep it. */
typedef struct TextBlock {
    const Markup *markup; /* set before text_read: what the controls in the text are; NULL: there are none */
    uint32_t control;     /* likewise: number of its first control */
    char language[16];    /* "en" */
    Buf said;             /* UTF-8, cleaned, marks as private characters (unicode.h) */
    Buf marks;            /* TextMark, in the order of their characters' numbers */
    Buf losses;           /* TextLoss, in the order of the text */
    Buf strings;          /* what the marks refer to */
    Buf normal;           /* the text as given, composed, one blank for white space */
    Buf places;           /* uint32_t [normal.size + 1]: where each byte of normal comes from */
    Buf anchors;          /* uint32_t pairs: words of said and the same words in normal */
    Buf marked;           /* scratch */
} TextBlock;
void text_block_free(TextBlock *b);

/* Sets a mark for bytes [size] at `source` of normal, and appends its character to out. ipa, words: NULL or
 * copied. capital: whether what stands there begins with a capital letter. Out of memory is remembered in the
 * buffers; a text of more than UNICODE_STAND_INS marks keeps its further words as they are, and 0 is returned
 * instead of 1. */
int text_mark(TextBlock *b, Buf *out, const TextMark *m, const char *ipa, const char *words, int capital);

/* A control and where it is: before the symbol of this number, and this byte of the phonemes. */
typedef struct TextControl {
    uint32_t number, phonemes, token;
} TextControl;

/* The character of a mark -> the mark; NULL for any other character. */
TextMark *text_mark_of(const TextBlock *b, uint32_t code_point);

/* Bytes of the given text that a piece of said came from: [*from, *to). */
void text_source(const TextBlock *b, size_t said, size_t size, uint32_t *from, uint32_t *to);

#endif
