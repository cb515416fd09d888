/* policy.c - see policy.h. */
#include "pipeline/policy.h"

#include "base/rng.h"

#define GROW_WINDOW 16      /* batches over which waiting is judged */
#define GROW_WAITS 2        /* waits within the window that ask for another buffer */
#define GROW_TRIAL 64       /* batches in which buffers that were added have to prove themselves */
#define GROW_AGAIN 1024     /* batches until they are tried again after they have not */
#define MOST_ROWS_AT_ONCE 8 /* claimed together: enough to make the lock cheap */
#define AUTO_ROWS 64        /* utterances that all slots together hold, where the setting is auto */
#define AUTO_MOST_SLOTS 8   /* at the start */
#define SLOTS_GROW_TIMES 8  /* as many slots as at the start, at most */
#define SLOTS_MEMORY 8      /* one part in this many of the free memory may become slots */
#define EBBS_APART 64       /* batches; what is further apart is not the same trouble */
#define EVEN_ROWS 4         /* rows of a share from which on one more makes little difference */
#define SEGMENT_SALT 0x7365676d656e7473u /* keeps its numbers apart from those of the augmentation */

static int between(int low, int value, int high) { return value < low ? low : value > high ? high : value; }

int policy_global_batch(const Config *cfg, int ranks)
{
    return cfg->global_batch_size > 0 ? cfg->global_batch_size : cfg->batch_size * ranks;
}

Shares policy_shares(int batch, int ranks, int most)
{
    Shares s = {.batch = batch, .ranks = ranks, .micro = 1};
    for (;; s.micro++) {
        const int shares = s.ranks * s.micro;
        s.rows = (batch + shares - 1) / shares;
        if (shares > 1 && batch / shares >= EVEN_ROWS)
            s.rows += s.rows % 2;
        if (s.rows <= most || s.rows <= 1)
            return s;
    }
}

int policy_share_rows(const Shares *s, int share, int count, int *first)
{
    *first = share * s->rows;
    return between(0, count - *first, s->rows);
}

int policy_partner(const Shares *s, int share, int row, int count)
{
    const int first = share * s->rows, other = ((first + row) ^ 1) - first;
    if (other >= 0 && other < count)
        return other;
    if (s->rows % 2 == 0 && s->batch % 2 == 0)
        return row;
    return row > 0 ? row - 1 : count > 1 ? 1 : 0;
}

/* The numbers of van der Corput, folded by the code of Gray: without the fold, the first of two neighbours
 * would be the shorter one at every scale, and so would be the first of two shares. */
uint32_t policy_spread(uint32_t i, int bits)
{
    uint32_t place = 0;
    for (int k = 0; k < bits; k++)
        place |= (i >> k & 1) << (bits - 1 - k);
    for (int k = 1; k < 32; k *= 2)
        place ^= place >> k;
    return place;
}

/* Many small batches ahead, or few large ones: about the same memory. */
int policy_slots(int prefetch_buffer_size, int batch_size)
{
    if (prefetch_buffer_size == CONFIG_AUTO)
        return between(POLICY_LEAST_SLOTS, AUTO_ROWS / (batch_size > 0 ? batch_size : 1), AUTO_MOST_SLOTS);
    return prefetch_buffer_size < POLICY_LEAST_SLOTS ? POLICY_LEAST_SLOTS : prefetch_buffer_size;
}

/* If free memory is unknown, none is taken. */
int policy_most_slots(int prefetch_buffer_size, int slots, uint64_t slot_bytes, uint64_t memory_bytes)
{
    if (prefetch_buffer_size != CONFIG_AUTO)
        return slots;
    uint64_t room = slot_bytes ? memory_bytes / SLOTS_MEMORY / slot_bytes : 0;
    int most = slots * SLOTS_GROW_TIMES;
    return room <= (uint64_t)slots ? slots : room < (uint64_t)most ? (int)room : most;
}

int policy_most_buffers(int pipeline_buffer_size)
{
    return pipeline_buffer_size > POLICY_START_BUFFERS ? pipeline_buffer_size : POLICY_START_BUFFERS;
}

int policy_rows_at_once(int count, int workers, int on_the_fly)
{
    /* Decoding a file takes far longer than claiming a row: one at a time spreads the work best. */
    if (on_the_fly)
        return 1;
    /* Two turns for each worker, so that those who finish first find rows left. */
    return between(1, count / (2 * (workers > 0 ? workers : 1)), MOST_ROWS_AT_ONCE);
}

/* One more for the rounding. */
int64_t policy_stretched_frames(int64_t frames, double augment_speed, int on_the_fly)
{
    double stretch = on_the_fly ? 1 / (1 - augment_speed) : 1;
    return stretch > 1 ? (int64_t)((double)frames * stretch) + 1 : frames;
}

int64_t policy_most_samples(int64_t frames, int hop_length, int on_the_fly)
{
    return on_the_fly ? frames * hop_length : 0;
}

uint32_t policy_segments(int64_t samples, int64_t segment)
{
    return samples > segment ? (uint32_t)(samples / segment) : 1;
}

int64_t policy_segment_start(const SegmentDraw *d, int64_t samples, int64_t segment)
{
    Rng rng;
    if (samples <= segment)
        return 0;
    const int64_t starts = samples - segment + 1;
    const int64_t from = starts * d->part / d->parts, end = starts * (d->part + 1) / d->parts;
    const uint64_t which = (uint64_t)d->part << 32 | d->utterance;
    rng_seed(&rng, rng_mix(rng_mix(rng_mix(d->seed, SEGMENT_SALT), (uint64_t)d->epoch), which));
    /* Parts of a clip that is hardly longer than its segments may have the same start. */
    return end > from ? from + (int64_t)rng_below(&rng, (uint64_t)(end - from)) : from;
}

int policy_prefers_audio(uint64_t mel_bytes, uint64_t audio_bytes, uint64_t memory_bytes)
{
    return memory_bytes > 0 && mel_bytes > memory_bytes && audio_bytes > 0 && audio_bytes <= mel_bytes / 2;
}

void policy_buffer_late(GrowWindow *w, int64_t batch, int starved)
{
    w->waits++;
    w->since++;
    if (starved || !w->full)
        return;
    /* As policy_slots_wanted: two stalls, and few waits between them. */
    const int64_t apart = batch - w->last;
    w->stock = w->ebbed && apart <= EBBS_APART && 2 * w->since <= apart;
    w->full = w->since = 0;
    w->ebbed = 1;
    w->last = batch;
}

void policy_buffer_counted(GrowWindow *w, int queued)
{
    w->counted++;
    w->queued += queued;
}

void policy_buffer_short(GrowWindow *w, int full, int queued)
{
    w->shortage = 1;
    w->full |= full;
    w->useful |= full || !queued;
}

/* Half as many again: a stall is hidden after a few of them. */
static int more_buffers(const GrowWindow *w, int buffers)
{
    if (w->stock)
        return buffers + (buffers > 3 ? buffers / 2 : 1);
    const int on_their_way =
        w->waits >= GROW_WAITS && w->shortage && w->counted >= GROW_WAITS && 2 * w->queued < w->counted;
    return buffers + on_their_way;
}

int policy_buffers_wanted(GrowWindow *w, int64_t batch, int buffers, int most)
{
    if (w->before && batch - w->grown >= GROW_TRIAL) {
        const int before = w->before;
        w->before = 0;
        if (!w->useful) {
            *w = (GrowWindow){.limit = before, .again = batch + GROW_AGAIN};
            return before;
        }
    }
    most = w->again > batch && w->limit < most ? w->limit : most;
    most = most < POLICY_MOST_BUFFERS ? most : POLICY_MOST_BUFFERS;
    int wanted = more_buffers(w, buffers);
    wanted = wanted < most ? wanted : most;
    const int grows = wanted > buffers;
    w->stock = 0;
    if (grows || w->takes >= GROW_WINDOW)
        w->takes = w->waits = w->counted = w->queued = w->shortage = 0;
    if (grows) {
        w->before = buffers;
        w->grown = batch;
        w->useful = 0;
    }
    return grows ? wanted : buffers;
}

int policy_slots_wanted(SlotWindow *w, int64_t batch, int slots, int most)
{
    w->waits++;
    /* One stall may be felt in several batches: until the slots were full again it is the same one. */
    if (!w->full)
        return slots;
    int64_t apart = batch - w->last;
    int again = w->ebbed && apart <= EBBS_APART && 2 * w->waits <= apart;
    *w = (SlotWindow){.ebbed = 1, .last = batch};
    return !again || slots >= most ? slots : 2 * slots < most ? 2 * slots : most;
}

int policy_device_waits(int device_idle, int batch_is_there) { return device_idle && !batch_is_there; }
