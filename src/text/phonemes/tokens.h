/* tokens.h - the symbol table: fixed, versioned, stored in caches and checkpoints.
 * 0 pad, 1 BOS, 2 EOS, 3 blank, then space, punctuation, letters, IPA. Never reordered; new symbols are
 * appended with a new version. Threads: any; the table is constant. */
#ifndef MYXTTS_TOKENS_H
#define MYXTTS_TOKENS_H

#include <stdint.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

enum { TOKEN_PAD = 0, TOKEN_BOS = 1, TOKEN_EOS = 2, TOKEN_BLANK = 3, TOKEN_FIRST_SYMBOL = 4 };
#define TOKENS_VERSION 1

int tokens_count(void);               /* ids are 0 .. count - 1 */
uint32_t tokens_code_point(int id);   /* 0 for the four special ids */
int tokens_find(uint32_t code_point); /* id, or -1 */
/* "<pad>", "<bos>", "<eos>", "<blank>", or the symbol in UTF-8. Returns out. */
const char *tokens_name(int id, char out[8]);
int tokens_is_letter(int id); /* 1 for what words consist of: letters, digits, phonemes and their marks */
Hash128 tokens_hash(void);    /* of version and all symbols */

/* Appends the ids (uint16_t) of valid UTF-8 text to out. Code points that are not in the table are appended
 * to unknown (uint32_t), if that is not NULL. blanks: add a blank after every symbol. */
void tokens_encode(Buf *out, Buf *unknown, const char *text, size_t n, int blanks);

#endif
