/* corpus_thin.c - some clips for all: those that a validation hears, or that say how a speaker speaks. A row
 * of a batch takes its voice from another row of its speaker, so clips are kept in pairs of one speaker, as
 * the sampler makes them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pipeline/corpus.h"

#define NOBODY UINT32_MAX

/* Puts the clips into pairs [2 * returned], each with the last one before it of its speaker that has none
 * yet. waiting [speaker_count]. */
static uint32_t find_pairs(uint32_t *pairs, uint32_t *waiting, const Corpus *c)
{
    uint32_t paired = 0;
    for (int32_t k = 0; k < c->speaker_count; k++)
        waiting[k] = NOBODY;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t *other = &waiting[c->items[i].speaker];
        if (*other == NOBODY) {
            *other = i;
            continue;
        }
        pairs[paired++] = *other;
        pairs[paired++] = i;
        *other = NOBODY;
    }
    return paired / 2;
}

/* Marks `wanted` of the clips without a partner, evenly spread. */
static void keep_singles(uint8_t *keeps, const uint8_t *is_paired, const Corpus *c, uint32_t wanted,
                         uint32_t singles)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < c->count && singles; i++) {
        if (is_paired[i])
            continue;
        keeps[i] = seen * wanted / singles != (seen + 1) * wanted / singles;
        seen++;
    }
}

/* Marks `most` clips, or one more where that is odd: pairs first, evenly spread, then clips without a
 * partner. */
static void choose(uint8_t *keeps, uint8_t *is_paired, const uint32_t *pairs, uint32_t count, const Corpus *c,
                   uint32_t most)
{
    const uint32_t half = most / 2 + most % 2, wanted = count < half ? count : half;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        const int keep = (uint64_t)k * wanted / count != ((uint64_t)k + 1) * wanted / count;
        for (uint32_t i = 2 * k; i < 2 * k + 2; i++) {
            is_paired[pairs[i]] = 1;
            keeps[pairs[i]] = (uint8_t)keep;
        }
        kept += keep ? 2 : 0;
    }
    const uint32_t singles = c->count - 2 * count, left = most > kept ? most - kept : 0;
    keep_singles(keeps, is_paired, c, left < singles ? left : singles, singles);
}

/* Takes `most` of more clips than that into `to`, which has room for them or is the same corpus. */
static int take_some(Corpus *to, const Corpus *c, uint32_t most, Err *err)
{
    uint32_t *pairs = mem_calloc(c->count, sizeof *pairs);
    uint32_t *waiting = mem_calloc((size_t)c->speaker_count, sizeof *waiting);
    uint8_t *keeps = mem_calloc(c->count, 1), *is_paired = mem_calloc(c->count, 1);
    int rc = pairs && waiting && keeps && is_paired
                 ? 0
                 : err_set(err, ERR_NOMEM, "no memory to choose among %u clips", c->count);
    if (!rc) {
        uint32_t kept = 0;
        choose(keeps, is_paired, pairs, find_pairs(pairs, waiting, c), c, most);
        for (uint32_t i = 0; i < c->count && kept < most; i++)
            if (keeps[i]) {
                to->items[kept] = c->items[i];
                to->lengths[kept++] = c->lengths[i];
            }
        to->count = kept;
    }
    free(pairs);
    free(waiting);
    free(keeps);
    free(is_paired);
    return rc;
}

int corpus_some(Corpus *some, const Corpus *c, uint32_t most, Err *err)
{
    const uint32_t count = c->count < most ? c->count : most, room = count ? count : 1;
    *some = *c;
    some->items = mem_calloc(room, sizeof *some->items);
    some->lengths = mem_calloc(room, sizeof *some->lengths);
    int rc = some->items && some->lengths ? 0 : err_set(err, ERR_NOMEM, "no memory for %u clips", count);
    if (!rc && c->count > most) {
        rc = take_some(some, c, most, err);
    } else if (!rc) {
        memcpy(some->items, c->items, count * sizeof *c->items);
        memcpy(some->lengths, c->lengths, count * sizeof *c->lengths);
    }
    if (rc)
        corpus_some_close(some);
    return rc;
}

void corpus_some_close(Corpus *some)
{
    free(some->items);
    free(some->lengths);
    *some = (Corpus){0};
}

int corpus_open_validation(Corpus *c, const CorpusSource *source, const Config *cfg, Log *log, Err *err)
{
    int rc = corpus_open_split(c, source, cfg, SPLIT_VAL, log, err);
    const uint32_t held_out = c->count, most = (uint32_t)cfg->validation_clips;
    if (rc || !most || held_out <= most)
        return rc;
    rc = take_some(c, c, most, err);
    if (rc)
        corpus_close(c);
    else
        log_info(log, "validation hears %u of the %u %s held out (validation_clips)", c->count, held_out,
                 c->segment_frames ? "segments" : "clips");
    return rc;
}
