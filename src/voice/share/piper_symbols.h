/* piper_symbols.h - which symbol of a voice each phoneme of a Piper program becomes. These programs bring an
 * espeak-ng of their own, often a later one, and take its IPA apart into code points (NFD): some of what they
 * send is new to the voice, and some of what it knows arrives in two pieces. Threads: any. */
#ifndef MYXTTS_PIPER_SYMBOLS_H
#define MYXTTS_PIPER_SYMBOLS_H

#include <stdint.h>

#define PIPER_PAD "_"
#define PIPER_BEGIN "^"
#define PIPER_END "$"

/* A code point and the symbol (tokens.h) that stands for it; TOKEN_PAD: it is passed over in silence. */
typedef struct PiperSymbol {
    uint32_t code_point;
    int id;
} PiperSymbol;

/* symbols [tokens_count()]: pad, begin and end under the names that Piper has for them, then a row for each
 * symbol that is written as a character. seen [tokens_count()]: what the voice has learned; NULL: everything.
 * Returns how many. */
int piper_symbols(PiperSymbol *symbols, const uint8_t *seen);

#endif
