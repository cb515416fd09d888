/* text_features.c - what a record of the text store holds: key, payload, symbol table. */
#include "cache/text_features.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cache/features.h"

typedef struct TextPayload { /* then tokens (u16), zeros to 4, unknown (u32), phonemes, cleaned text */
    uint32_t token_count, unknown_count, phonemes_size, cleaned_size;
    char language[16];
} TextPayload;

/* Head, tokens, zeros to 4, unknown symbols, phonemes, cleaned text: the sizes must add up. */
int text_view(TextView *v, const StoreEntry *e)
{
    TextPayload p;
    if (e->payload_size < sizeof p)
        return ERR_DAMAGED;
    memcpy(&p, e->payload, sizeof p);
    uint64_t tokens_bytes = ((uint64_t)p.token_count * 2 + 3) & ~(uint64_t)3;
    if (sizeof p + tokens_bytes + (uint64_t)p.unknown_count * 4 + p.phonemes_size + p.cleaned_size !=
            e->payload_size ||
        p.language[15] != 0 || p.token_count != e->items)
        return ERR_DAMAGED;
    const uint8_t *at = e->payload + sizeof p;
    v->tokens = (const uint16_t *)(const void *)at;
    at += tokens_bytes;
    v->unknown = (const uint32_t *)(const void *)at;
    at += (size_t)p.unknown_count * 4;
    v->phonemes = (const char *)at;
    v->cleaned = (const char *)at + p.phonemes_size;
    v->token_count = p.token_count;
    v->unknown_count = p.unknown_count;
    v->phonemes_size = p.phonemes_size;
    v->cleaned_size = p.cleaned_size;
    memcpy(v->language, p.language, sizeof v->language);
    return 0;
}

/* As text_view reads it. */
void text_encode_payload(Buf *out, const TextResult *r)
{
    TextPayload p = {.token_count = (uint32_t)(r->tokens.size / 2),
                     .unknown_count = (uint32_t)(r->unknown.size / 4),
                     .phonemes_size = (uint32_t)r->phonemes.size,
                     .cleaned_size = (uint32_t)r->cleaned.size};
    snprintf(p.language, sizeof p.language, "%s", r->language);
    buf_clear(out);
    buf_add(out, &p, sizeof p);
    buf_add(out, r->tokens.data, r->tokens.size);
    buf_zero(out, p.token_count % 2 * 2);
    buf_add(out, r->unknown.data, r->unknown.size);
    buf_add(out, r->phonemes.data, r->phonemes.size);
    buf_add(out, r->cleaned.data, r->cleaned.size);
}

/* Hashes of the parts, not the parts: no separator can be forged by a text. */
Hash128 text_key(Hash128 settings, const Utterance *u)
{
    struct {
        Hash128 settings, id, text, language;
    } parts = {settings, hash_bytes(u->id.p, u->id.n), hash_bytes(u->text.p, u->text.n),
               hash_bytes(u->language.p, u->language.n)};
    return hash_bytes(&parts, sizeof parts);
}

int text_symbols(TextSymbols *head, const uint32_t **code_points, const uint32_t **unknown_pairs,
                 const Store *s)
{
    if (s->blob_size < sizeof *head)
        return ERR_DAMAGED;
    memcpy(head, s->blob, sizeof *head);
    if (sizeof *head + (uint64_t)head->count * 4 + (uint64_t)head->unknown_count * 8 != s->blob_size)
        return ERR_DAMAGED;
    *code_points = (const uint32_t *)(const void *)(s->blob + sizeof *head);
    *unknown_pairs = *code_points + head->count;
    return 0;
}
