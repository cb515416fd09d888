/* symbols_seen.h - which symbols a voice has learned, and which vectors the others start with when a new
 * speaker's texts have them. Threads: any. */
#ifndef MYXTTS_SYMBOLS_SEEN_H
#define MYXTTS_SYMBOLS_SEEN_H

#include <stdint.h>

#include "pipeline/corpus.h"
#include "voice/checkpoint.h"

/* Marks the symbols in the texts of a corpus. seen [tokens_count()] */
void symbols_mark(uint8_t *seen, const Corpus *corpus);

/* Marks what the voice in a file was trained on, and what the voices that it began with were: its list, or in
 * files without one the symbols that its optimiser has met. 1: known; 0: the file does not tell. */
int symbols_seen(uint8_t *seen, const Checkpoint *v);

/* vectors [tokens_count(), dim]: a symbol that was not seen gets the vector of the nearest one that was, as
 * phonetics has it, else the mean of all that were. Where none was, nothing changes. */
void symbols_fill(float *vectors, const uint8_t *seen, int dim);
/* The id that symbols_fill takes for one that was not seen; -1: the mean. */
int symbols_nearest(const uint8_t *seen, int id);

#endif
