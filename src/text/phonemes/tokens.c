/* tokens.c - see tokens.h. */
#include "text/phonemes/tokens.h"

#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "text/phonemes/tokens_table.h"
#include "text/unicode.h"

enum {
    LAST_SPECIAL = TOKEN_FIRST_SYMBOL - 1,
#define X(cp) ID_##cp,
    TOKENS_SYMBOLS(X)
#undef X
        TOKENS_COUNT
};

/* Every symbol lies below this code point, so that a plain array finds it. */
enum { DIRECT_SIZE = 0x2200 };

/* id -> code point, code point -> id (0: not in the table). */
static const uint16_t code_points[TOKENS_COUNT] = {
#define X(cp) [ID_##cp] = cp,
    TOKENS_SYMBOLS(X)
#undef X
};
static const uint16_t ids[DIRECT_SIZE] = {
#define X(cp) [cp] = ID_##cp,
    TOKENS_SYMBOLS(X)
#undef X
};

int tokens_count(void) { return TOKENS_COUNT; }

uint32_t tokens_code_point(int id) { return id >= 0 && id < TOKENS_COUNT ? code_points[id] : 0; }

/* Space and punctuation stand before the digits. */
int tokens_is_letter(int id) { return id >= ID_0x0030 && id < TOKENS_COUNT && code_points[id] != 0x2016; }

int tokens_find(uint32_t cp) { return cp < DIRECT_SIZE && ids[cp] ? ids[cp] : -1; }

const char *tokens_name(int id, char out[8])
{
    static const char *const special[] = {"<pad>", "<bos>", "<eos>", "<blank>"};
    if (id >= 0 && id < TOKEN_FIRST_SYMBOL)
        return strcpy(out, special[id]);
    uint32_t cp = tokens_code_point(id);
    if (!cp)
        return strcpy(out, "<?>");
    out[utf8_put(out, cp)] = 0;
    return out;
}

/* Version and all code points, in the order of their ids. */
Hash128 tokens_hash(void)
{
    uint16_t all[TOKENS_COUNT + 1];
    all[0] = TOKENS_VERSION;
    memcpy(all + 1, code_points, sizeof code_points);
    return hash_bytes(all, sizeof all);
}

/* Unknown code points are collected, not replaced: a wrong symbol would be learned. */
void tokens_encode(Buf *out, Buf *unknown, const char *text, size_t n, int blanks)
{
    /* Collected in pieces: one append for many symbols. */
    enum { ROOM = 256 };
    uint16_t made[ROOM];
    size_t count = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp = (uint8_t)text[i] < 0x80 ? (uint8_t)text[i++] : unicode_next(text, n, &i);
        int id = tokens_find(cp);
        if (id < 0) {
            if (unknown)
                buf_add(unknown, &cp, sizeof cp);
            continue;
        }
        made[count++] = (uint16_t)id;
        if (blanks)
            made[count++] = TOKEN_BLANK;
        if (count + 2 > ROOM) {
            buf_add(out, made, count * sizeof made[0]);
            count = 0;
        }
    }
    buf_add(out, made, count * sizeof made[0]);
}
