/* symbols_seen.c - see symbols_seen.h. */
#include "voice/symbols_seen.h"

#include <jansson.h>
#include <string.h>

#include "base/utf8.h"
#include "text/phonemes/tokens.h"

/* Sounds beside those that a listener takes for them, vowels from front to back: the nearest in a line is the
 * nearest to the ear. Marks and punctuation likewise. */
static const char *const lines[] = {
    "yiʏɪᵻɨ", "ʉuɯʊᵿ", "øeɘɛœɞεɜɝ", "ɵəɚɐᵊɤʌ", "ɶaæɑɒɔo", "ɻɹrɾɽɺʀʁ", "çxχɣhɦħʕ", "ʂɕʃsʧ",     "ʐʑʒzʤ",
    "ʈtθ",    "ɖdɗð",  "qkc",       "ɢɡgɟɠ",   "ɸfp",     "ʋvβbɓ",    "mɱ",       "ɲnɳŋɴ",     "ʎlɫɭʟɬɮλ",
    "ʝjɥ",    "ɰwʍ",   "ˈˌ",        "ˑː",      "ʱʰ",      "؟?!.…",    "–—-,;:،؛", "„“”\"«»‘’'"};

/* The code points of a line. */
enum { LONGEST_LINE = 16 };
static int read_line(uint32_t out[LONGEST_LINE], const char *line)
{
    int n = 0;
    for (const char *p = line; *p && n < LONGEST_LINE;) {
        uint32_t c = (unsigned char)*p;
        const int size = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        if (size > 1)
            c &= 0x7Fu >> size;
        for (int k = 1; k < size; k++)
            c = c << 6 | ((unsigned char)p[k] & 0x3F);
        out[n++] = c;
        p += size;
    }
    return n;
}

/* ---- which ---- */

void symbols_mark(uint8_t *seen, const Corpus *c)
{
    if (c->segment_frames) /* no texts */
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        StoreEntry e;
        TextView v;
        store_entry(&c->text, c->items[i].text_entry, &e);
        if (text_view(&v, &e))
            continue;
        for (uint32_t k = 0; k < v.token_count; k++)
            if (v.tokens[k] < tokens_count())
                seen[v.tokens[k]] = 1;
    }
}

/* A symbol without a moment never had a gradient. */
static int from_moments(uint8_t *seen, const Checkpoint *v)
{
    const TensorView *t = safetensors_find(&v->file, "adam.v.text.symbols");
    if (!t || strcmp(t->dtype, "F32") != 0 || t->dims != 2 || t->shape[0] != tokens_count())
        return 0;
    for (int i = 0; i < tokens_count(); i++) {
        const float *row = (const float *)t->data + i * t->shape[1];
        for (int64_t k = 0; k < t->shape[1] && !seen[i]; k++)
            seen[i] = row[k] != 0;
    }
    return 1;
}

int symbols_seen(uint8_t *seen, const Checkpoint *v)
{
    const char *text = checkpoint_text(v, "seen");
    json_t *all = text ? json_loads(text, 0, NULL) : NULL, *id;
    const size_t count = json_array_size(all);
    size_t i;
    json_array_foreach(all, i, id)
    {
        const json_int_t n = json_integer_value(id);
        if (n > 0 && n < tokens_count())
            seen[n] = 1;
    }
    json_decref(all);
    return count ? 1 : from_moments(seen, v);
}

/* ---- what the others begin with ---- */

int symbols_nearest(const uint8_t *seen, int id)
{
    const uint32_t c = tokens_code_point(id);
    for (size_t i = 0; c && i < sizeof lines / sizeof *lines; i++) {
        uint32_t line[LONGEST_LINE];
        const int n = read_line(line, lines[i]);
        int at = 0;
        while (at < n && line[at] != c)
            at++;
        for (int far = 1; at < n && far < n; far++)
            for (int side = 1; side >= -1; side -= 2) {
                const int k = at + side * far, other = k >= 0 && k < n ? tokens_find(line[k]) : -1;
                if (other >= 0 && seen[other])
                    return other;
            }
    }
    return -1;
}

void symbols_fill(float *vectors, const uint8_t *seen, int dim)
{
    const int count = tokens_count();
    int known = 0;
    for (int i = TOKEN_FIRST_SYMBOL; i < count; i++)
        known += seen[i];
    if (!known)
        return;
    for (int i = TOKEN_FIRST_SYMBOL; i < count; i++) {
        if (seen[i])
            continue;
        float *to = vectors + (size_t)i * (size_t)dim;
        const int near = symbols_nearest(seen, i);
        if (near >= 0) {
            memcpy(to, vectors + (size_t)near * (size_t)dim, (size_t)dim * sizeof *to);
            continue;
        }
        for (int k = 0; k < dim; k++) {
            double sum = 0;
            for (int s = TOKEN_FIRST_SYMBOL; s < count; s++)
                sum += seen[s] ? (double)vectors[(size_t)s * (size_t)dim + (size_t)k] : 0;
            to[k] = (float)(sum / known);
        }
    }
}
