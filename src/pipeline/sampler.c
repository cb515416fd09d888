/* sampler.c - see sampler.h. */
#include "pipeline/sampler.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/rng.h"
#include "pipeline/policy.h"

#define MAX_BINS 512 /* bins in the histogram of lengths from which bucket borders are chosen */
#define NOBODY UINT32_MAX

/* The batches of one epoch. Two plans are kept, because workers may still fill the last batches of an epoch
 * when the next one begins. */
typedef struct Plan {
    int64_t epoch;   /* -1: none */
    uint32_t *items; /* [count] utterances, batch after batch */
    uint32_t *start; /* [all_batches + 1] where each batch begins in items */
    uint8_t *bucket; /* [all_batches] */
    uint32_t *order; /* [all_batches] shuffled batch numbers */
    uint8_t *skip;   /* [count] 1: left out of this epoch; NULL without drop_last */
} Plan;

struct Sampler {
    SamplerOptions o;
    uint32_t count;
    SamplerBucket buckets[SAMPLER_MAX_BUCKETS];
    int bucket_count;
    uint32_t *members;                       /* [count] utterances by bucket, in dataset order within it */
    uint32_t first[SAMPLER_MAX_BUCKETS + 1]; /* where each bucket begins in members */
    int64_t all_batches;                     /* of an epoch */
    uint64_t padded_frames, real_frames;     /* of an epoch */
    int32_t *speaker;                        /* [count] of each utterance; NULL: they do not matter */
    uint32_t *waiting;                       /* [speaker_count] scratch of pair_speakers, like the next two */
    uint32_t *paired, *single;               /* [count] */
    uint32_t *frames;                        /* [count] of each utterance */
    uint64_t *keys;                          /* [batch_size] scratch of order_rows, like the next one */
    uint32_t *rows;                          /* [batch_size] */
    Plan plans[2];
};

/* Divides a histogram of lengths into at most k buckets with the least padding. weight [bins] is the number
 * of utterances in a bin, edge [bins] the frames that they are padded to. Writes the last bin of each bucket
 * to cut [k] and returns the number of buckets. A dynamic programme over (buckets used, bins covered). */
static int best_borders(int *cut, const double *weight, const int *edge, int bins, int k, Err *err,
                        int *out_of_memory)
{
    *out_of_memory = 0;
    if (k > bins)
        k = bins;
    /* cost[b][j] is the minimum of padded frames when b buckets cover the first j bins; from[b][j] is the bin
     * where the last of these buckets begins. */
    size_t cells = (size_t)(k + 1) * (size_t)(bins + 1);
    double *cost = mem_calloc(cells, sizeof *cost), *sum = mem_calloc((size_t)bins + 1, sizeof *sum);
    int *from = mem_calloc(cells, sizeof *from);
    if (!cost || !sum || !from) {
        *out_of_memory = err_set(err, ERR_NOMEM, "no memory to choose length buckets");
        goto done;
    }
    for (int i = 0; i < bins; i++)
        sum[i + 1] = sum[i] + weight[i];
    for (int j = 0; j <= bins; j++)
        cost[j] = j ? DBL_MAX : 0;
    for (int b = 1; b <= k; b++) {
        double *now = cost + (size_t)b * (size_t)(bins + 1), *before = now - (bins + 1);
        int *back = from + (size_t)b * (size_t)(bins + 1);
        now[0] = DBL_MAX;
        /* Bins i .. j-1 form the last bucket, all padded to edge[j-1]. */
        for (int j = 1; j <= bins; j++) {
            now[j] = DBL_MAX;
            for (int i = b - 1; i < j; i++) {
                if (before[i] == DBL_MAX)
                    continue;
                double c = before[i] + (sum[j] - sum[i]) * edge[j - 1];
                if (c < now[j]) {
                    now[j] = c;
                    back[j] = i;
                }
            }
        }
    }
    /* Walk back along the choices that led to the minimum. */
    for (int b = k, j = bins; b > 0; b--) {
        cut[b - 1] = j - 1;
        j = from[(size_t)b * (size_t)(bins + 1) + (size_t)j];
    }
done:
    free(cost);
    free(sum);
    free(from);
    return k;
}

/* Chooses the padded shapes: one for all, or a few by length. */
static int choose_buckets(Sampler *s, const SampleLength *lengths, Err *err)
{
    const SamplerOptions *o = &s->o;
    uint32_t max_tokens = 0, max_frames = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        max_tokens = lengths[i].tokens > max_tokens ? lengths[i].tokens : max_tokens;
        max_frames = lengths[i].frames > max_frames ? lengths[i].frames : max_frames;
    }
    /* pad_to_fixed_length: one shape, and every utterance must fit. */
    if (o->fixed_frames > 0) {
        if (max_frames > (uint32_t)o->fixed_frames)
            return err_set(err, ERR_DATA, "an utterance has %u frames, but the fixed shape has only %d",
                           max_frames, o->fixed_frames);
        s->buckets[0] = (SamplerBucket){.tokens = round_to_multiple((int)max_tokens, SAMPLER_TEXT_MULTIPLE),
                                        .frames = round_to_multiple(o->fixed_frames, o->frame_multiple),
                                        .utterances = s->count};
        s->bucket_count = 1;
        return 0;
    }
    /* A histogram with few bins, because the dynamic programme is quadratic in their number. The edge of a
     * bin is the length of its longest utterance, rounded up. */
    int width = round_to_multiple((int)(max_frames / MAX_BINS) + 1, o->frame_multiple), bins = 0;
    double weight[MAX_BINS + 1] = {0};
    int edge[MAX_BINS + 1] = {0}, cut[SAMPLER_MAX_BUCKETS], failed;
    for (uint32_t i = 0; i < s->count; i++) {
        int frames = lengths[i].frames ? (int)lengths[i].frames : 1, bin = (frames - 1) / width;
        int rounded = round_to_multiple(frames, o->frame_multiple);
        weight[bin]++;
        edge[bin] = rounded > edge[bin] ? rounded : edge[bin];
    }
    /* Empty bins are removed, so that no bucket is empty. */
    for (int i = 0; i <= MAX_BINS; i++)
        if (weight[i] > 0) {
            weight[bins] = weight[i];
            edge[bins++] = edge[i];
        }
    s->bucket_count = best_borders(cut, weight, edge, bins, o->buckets, err, &failed);
    if (failed)
        return failed;
    for (int b = 0; b < s->bucket_count; b++)
        s->buckets[b] = (SamplerBucket){.frames = edge[cut[b]]};
    return 0;
}

/* The shortest bucket that the clip fits into. */
static int bucket_of(const Sampler *s, uint32_t frames)
{
    int b = 0;
    while (b + 1 < s->bucket_count && frames > (uint32_t)s->buckets[b].frames)
        b++;
    return b;
}

/* Fills s->members and the padded text length of every bucket. A bucket's texts may be longer than its own
 * utterances need, because utterances left over in shorter buckets move to it. */
static void fill_members(Sampler *s, const SampleLength *lengths)
{
    if (s->o.fixed_frames == 0)
        for (uint32_t i = 0; i < s->count; i++) {
            SamplerBucket *b = &s->buckets[bucket_of(s, lengths[i].frames)];
            int tokens = round_to_multiple((int)lengths[i].tokens, SAMPLER_TEXT_MULTIPLE);
            b->tokens = tokens > b->tokens ? tokens : b->tokens;
            b->utterances++;
        }
    for (int b = 1; b < s->bucket_count; b++)
        if (s->buckets[b].tokens < s->buckets[b - 1].tokens)
            s->buckets[b].tokens = s->buckets[b - 1].tokens;
    /* A counting sort keeps the order of the dataset within a bucket. */
    uint32_t at[SAMPLER_MAX_BUCKETS + 1] = {0};
    for (int b = 0; b < s->bucket_count; b++)
        s->first[b + 1] = at[b + 1] = s->first[b] + s->buckets[b].utterances;
    for (uint32_t i = 0; i < s->count; i++) {
        s->members[at[bucket_of(s, lengths[i].frames)]++] = i;
        s->real_frames += lengths[i].frames;
    }
}

/* Counts the batches of an epoch and their padded frames. They depend on the bucket sizes only, so they are
 * the same in every epoch. */
static void count_batches(Sampler *s)
{
    uint32_t carry = 0, size = (uint32_t)s->o.batch_size;
    uint64_t left_out = 0;
    for (int b = 0; b < s->bucket_count; b++) {
        uint32_t pool = carry + s->buckets[b].utterances, full = pool / size;
        s->all_batches += full;
        s->padded_frames += (uint64_t)full * size * (uint64_t)s->buckets[b].frames;
        carry = pool % size;
    }
    if (carry > 0 && s->o.drop_last)
        left_out = carry;
    else if (carry > 0) { /* empty rows are padding too: the device computes them */
        s->all_batches++;
        s->padded_frames += (uint64_t)size * (uint64_t)s->buckets[s->bucket_count - 1].frames;
    }
    if (left_out && s->count)
        s->real_frames -= s->real_frames * left_out / s->count;
}

/* Allocates all memory of a plan. */
static int plan_open(Plan *p, const Sampler *s, Err *err)
{
    size_t batches = (size_t)s->all_batches;
    p->epoch = -1;
    p->items = mem_calloc(s->count, sizeof *p->items);
    p->start = mem_calloc(batches + 1, sizeof *p->start);
    p->bucket = mem_calloc(batches, 1);
    p->order = mem_calloc(batches, sizeof *p->order);
    p->skip = s->o.drop_last ? mem_calloc(s->count, 1) : NULL;
    return p->items && p->start && p->bucket && p->order && (p->skip || !s->o.drop_last)
               ? 0
               : err_set(err, ERR_NOMEM, "no memory for the order of %u utterances", s->count);
}

static int copy_speakers(Sampler *s, const SamplerOptions *o, Err *err)
{
    s->o.speakers = NULL;
    if (!o->speakers || o->speaker_count < 2)
        return 0;
    s->speaker = mem_calloc(s->count, sizeof *s->speaker);
    s->waiting = mem_calloc((size_t)o->speaker_count, sizeof *s->waiting);
    s->paired = mem_calloc(s->count, sizeof *s->paired);
    s->single = mem_calloc(s->count, sizeof *s->single);
    if (!s->speaker || !s->waiting || !s->paired || !s->single)
        return err_set(err, ERR_NOMEM, "no memory for the speakers of %u utterances", s->count);
    memcpy(s->speaker, o->speakers, s->count * sizeof *s->speaker);
    return 0;
}

/* Allocates what ordering rows needs: lengths, and room for one batch. */
static int copy_lengths(Sampler *s, const SampleLength *lengths, Err *err)
{
    const uint32_t rows = s->count < (uint32_t)s->o.batch_size ? s->count : (uint32_t)s->o.batch_size;
    s->frames = mem_calloc(s->count, sizeof *s->frames);
    s->keys = mem_calloc(rows, sizeof *s->keys);
    s->rows = mem_calloc(rows, sizeof *s->rows);
    if (!s->frames || !s->keys || !s->rows)
        return err_set(err, ERR_NOMEM, "no memory for the lengths of %u utterances", s->count);
    for (uint32_t i = 0; i < s->count; i++)
        s->frames[i] = lengths[i].frames;
    return 0;
}

/* *out is NULL after a failure. */
int sampler_open(Sampler **out, const SamplerOptions *o, const SampleLength *lengths, uint32_t count,
                 Err *err)
{
    *out = NULL;
    ASSERT(o->batch_size > 0 && o->frame_multiple > 0);
    ASSERT(o->fixed_frames > 0 || (o->buckets > 0 && o->buckets <= SAMPLER_MAX_BUCKETS));
    if (count == 0)
        return err_set(err, ERR_DATA, "there are no utterances to make batches from");
    Sampler *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for the sampler");
    s->o = *o;
    s->count = count;
    s->members = mem_calloc(count, sizeof *s->members);
    int rc = s->members ? choose_buckets(s, lengths, err)
                        : err_set(err, ERR_NOMEM, "no memory for %u utterances", count);
    if (!rc) {
        fill_members(s, lengths);
        count_batches(s);
        if (sampler_batches(s) == 0)
            rc = err_set(err, ERR_DATA, "%u utterances do not fill a single batch of %d", count,
                         o->batch_size);
    }
    if (!rc)
        rc = copy_speakers(s, o, err);
    if (!rc)
        rc = copy_lengths(s, lengths, err);
    for (int i = 0; i < 2 && !rc; i++)
        rc = plan_open(&s->plans[i], s, err);
    if (rc) {
        sampler_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sampler_close(Sampler *s)
{
    if (!s)
        return;
    for (int i = 0; i < 2; i++) {
        free(s->plans[i].items);
        free(s->plans[i].start);
        free(s->plans[i].bucket);
        free(s->plans[i].order);
        free(s->plans[i].skip);
    }
    free(s->members);
    free(s->speaker);
    free(s->waiting);
    free(s->paired);
    free(s->single);
    free(s->frames);
    free(s->keys);
    free(s->rows);
    free(s);
}

int sampler_bucket_count(const Sampler *s) { return s->bucket_count; }
const SamplerBucket *sampler_bucket(const Sampler *s, int i) { return &s->buckets[i]; }
int64_t sampler_batches(const Sampler *s) { return s->all_batches; }
double sampler_padding(const Sampler *s)
{
    return s->padded_frames ? 1 - (double)s->real_frames / (double)s->padded_frames : 0;
}

/* Draws the utterances to leave out at random from all. Leaving out the remainder of the last bucket would
 * drop the longest ones in every epoch. */
static void draw_skipped(const Sampler *s, Plan *p, Rng *rng)
{
    memset(p->skip, 0, s->count);
    for (uint32_t left = s->count % (uint32_t)s->o.batch_size; left > 0;) {
        uint32_t i = (uint32_t)rng_below(rng, s->count);
        left -= !p->skip[i];
        p->skip[i] = 1;
    }
}

/* Orders pool [n], which begins with a batch: first pairs of utterances of one speaker, in the order in which
 * they are found, then those that found no partner. A pair is not split by the end of a batch if a single
 * utterance can fill the place. */
static void pair_speakers(Sampler *s, uint32_t *pool, uint32_t n)
{
    const uint32_t size = (uint32_t)s->o.batch_size;
    uint32_t paired = 0, singles = 0, pair = 0, single = 0;
    for (int32_t k = 0; k < s->o.speaker_count; k++)
        s->waiting[k] = NOBODY;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *other = &s->waiting[s->speaker[pool[i]]];
        if (*other == NOBODY) {
            *other = pool[i];
            continue;
        }
        s->paired[paired++] = *other;
        s->paired[paired++] = pool[i];
        *other = NOBODY;
    }
    for (uint32_t i = 0; i < n; i++)
        if (s->waiting[s->speaker[pool[i]]] == pool[i])
            s->single[singles++] = pool[i];
    for (uint32_t at = 0; at < n;) {
        int is_last = at % size == size - 1;
        if (pair == paired || (is_last && single < singles)) {
            pool[at++] = s->single[single++];
            continue;
        }
        pool[at++] = s->paired[pair++];
        pool[at++] = s->paired[pair++];
    }
}

/* A heap sort: the sort of the C library may allocate. */
static void sort_keys(uint64_t *keys, uint32_t n)
{
    for (uint32_t i = n / 2, end = n; end > 1;) {
        uint64_t key;
        if (i > 0) { /* the heap is built */
            key = keys[--i];
        } else { /* its largest goes behind it */
            key = keys[--end];
            keys[end] = keys[0];
        }
        uint32_t at = i;
        for (uint32_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
            child += child + 1 < end && keys[child + 1] > keys[child];
            if (keys[child] <= key)
                break;
            keys[at] = keys[child];
            at = child;
        }
        keys[at] = key;
    }
}

/* Copies the utterances of a batch to s->rows, pairs first: two that follow each other, and with several
 * speakers two of the same one; those without a partner at the end. */
static void collect_pairs(Sampler *s, const uint32_t *items, uint32_t n)
{
    uint32_t placed = 0, alone = 0;
    for (uint32_t i = 0; i < n;) {
        if (i + 1 < n && (!s->speaker || s->speaker[items[i]] == s->speaker[items[i + 1]])) {
            s->rows[placed++] = items[i++];
            s->rows[placed++] = items[i++];
        } else {
            s->rows[n - ++alone] = items[i++];
        }
    }
}

/* Orders the rows of a batch so that shares of it have about the same number of frames. Pairs stay together;
 * a row that is left over at an odd number stays the last. */
static void order_rows(Sampler *s, uint32_t *items, uint32_t n)
{
    const uint32_t pairs = n / 2;
    int bits = 0;
    collect_pairs(s, items, n);
    for (uint32_t i = 0; i < pairs; i++)
        s->keys[i] = ((uint64_t)s->frames[s->rows[2 * i]] + s->frames[s->rows[2 * i + 1]]) << 32 | i;
    sort_keys(s->keys, pairs);
    while (1u << bits < pairs)
        bits++;
    uint32_t *to = items;
    for (uint32_t i = 0; i < 1u << bits; i++) {
        uint32_t place = policy_spread(i, bits);
        if (place >= pairs)
            continue;
        const uint32_t *pair = s->rows + 2 * (uint32_t)s->keys[place];
        *to++ = pair[0];
        *to++ = pair[1];
    }
    if (n % 2)
        *to = s->rows[n - 1];
}

/* The loader calls this under the ring's lock. */
void sampler_epoch(Sampler *s, int64_t epoch)
{
    Plan *p = &s->plans[epoch & 1];
    if (p->epoch == epoch)
        return;
    /* The plan depends on seed and epoch only. */
    Rng rng;
    rng_seed(&rng, rng_mix(s->o.seed, (uint64_t)epoch));
    uint32_t size = (uint32_t)s->o.batch_size, placed = 0, batch = 0;
    if (p->skip)
        draw_skipped(s, p, &rng);
    for (int b = 0; b < s->bucket_count; b++) {
        /* items[start[batch] .. placed) are left over from shorter buckets. */
        uint32_t n = 0;
        for (uint32_t i = s->first[b]; i < s->first[b + 1]; i++)
            if (!p->skip || !p->skip[s->members[i]])
                p->items[placed + n++] = s->members[i];
        rng_shuffle_u32(&rng, p->items + placed, n);
        placed += n;
        if (s->speaker)
            pair_speakers(s, p->items + p->start[batch], placed - p->start[batch]);
        while (placed - p->start[batch] >= size) {
            p->bucket[batch] = (uint8_t)b;
            p->start[batch + 1] = p->start[batch] + size;
            batch++;
        }
    }
    /* What is left at the end forms a batch that is not full, in the longest shape. */
    if (placed > p->start[batch]) {
        p->bucket[batch] = (uint8_t)(s->bucket_count - 1);
        p->start[++batch] = placed;
    }
    ASSERT_CMP(batch, ==, s->all_batches);
    for (uint32_t i = 0; i < batch; i++)
        order_rows(s, p->items + p->start[i], p->start[i + 1] - p->start[i]);
    /* Shuffle the batches, or every epoch would go from short to long. */
    for (uint32_t i = 0; i < batch; i++)
        p->order[i] = i;
    rng_shuffle_u32(&rng, p->order, batch);
    p->epoch = epoch;
}

/* Read-only: any number of threads. */
const uint32_t *sampler_batch(const Sampler *s, int64_t epoch, int64_t index, int *count, int *bucket)
{
    const Plan *p = &s->plans[epoch & 1];
    ASSERT_CMP(p->epoch, ==, epoch);
    ASSERT_CMP(index, <, sampler_batches(s));
    uint32_t b = p->order[index];
    *count = (int)(p->start[b + 1] - p->start[b]);
    *bucket = p->bucket[b];
    return p->items + p->start[b];
}
