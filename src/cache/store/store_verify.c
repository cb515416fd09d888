/* store_verify.c - checks every byte of a store against its checksums.
 * store_open has checked the index, which says where each live record is. What is between live records must
 * be complete records too (replaced ones), so that every byte of a segment is checked. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/progress.h"
#include "cache/store/store_private.h"

#define FORGET_AFTER (16u << 20) /* bytes read through the mapping */

/* Where a live record lies; sorted, the gaps between them are the rest of the segment. */
typedef struct Place {
    uint32_t segment;
    uint64_t offset, size;
    uint64_t entry;
} Place;

/* By segment, then by place in it. */
static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Whole records and nothing else between two offsets. */
static int gap_is_whole(const FileMap *m, uint64_t from, uint64_t to)
{
    while (from < to) {
        const RecordHeader *r = segment_record(m, from);
        if (!r || r->size > to - from)
            return 0;
        from += r->size;
    }
    return from == to;
}

/* The record that the entry points to is the one that was written for it. */
int store_entry_whole(const Store *s, uint64_t i)
{
    const IndexEntry *e = index_entry(s, i);
    const RecordHeader *r = segment_record(&s->segments[e->segment], e->offset);
    const char *id = (const char *)s->index.data + index_header(s)->ids_offset + e->id_offset;
    return r && r->size == e->size && r->payload_offset == e->payload_offset &&
           r->payload_size == e->payload_size && r->items == e->items && r->status == e->status &&
           r->format == e->format && r->extra == e->extra && memcmp(r->key, e->key, sizeof r->key) == 0 &&
           r->id_size == e->id_size && memcmp(r + 1, id, e->id_size) == 0;
}

int64_t store_verify(const Store *s, uint8_t *damaged, uint64_t *other, Log *log, Progress *progress,
                     Err *err)
{
    Place *places = mem_calloc(s->count, sizeof *places);
    if (!places)
        return err_set(err, ERR_NOMEM, "no memory to verify %llu records", (unsigned long long)s->count);
    for (uint64_t i = 0; i < s->count; i++) {
        const IndexEntry *e = index_entry(s, i);
        places[i] = (Place){e->segment, e->offset, e->size, i};
    }
    qsort(places, s->count, sizeof *places, compare_places);

    int64_t findings = 0;
    *other = 0;
    uint64_t k = 0, seen = 0;
    /* Through each segment from front to back: gap, record, gap, record, gap. */
    for (uint32_t row = 0; row < s->segment_count; row++) {
        uint64_t at = sizeof(SegmentHeader), end = s->segments[row].size, bad_gaps = 0;
        for (; k < s->count && places[k].segment == row; k++) {
            const Place *p = &places[k];
            bad_gaps += p->offset < at || !gap_is_whole(&s->segments[row], at, p->offset);
            if (!store_entry_whole(s, p->entry)) {
                StoreEntry e;
                store_entry(s, p->entry, &e);
                log_warn(log, "%s cache: the record of %.*s is damaged (segment %u, byte %llu)", s->name,
                         (int)e.id_size, e.id, e.segment, (unsigned long long)e.offset);
                damaged[p->entry] = 1;
                findings++;
            }
            at = p->offset + p->size;
            seen += p->size;
            /* Memory in use stays small, however large the store. */
            if (seen > FORGET_AFTER) {
                file_forget(&s->segments[row]);
                seen = 0;
            }
            if (progress)
                progress_add(progress, 1);
        }
        /* What follows the last live record. */
        bad_gaps += at > end || !gap_is_whole(&s->segments[row], at, end);
        if (bad_gaps)
            log_warn(log,
                     "%s cache: segment %u is damaged in %llu places, none of them in a record that is used",
                     s->name, index_segment(s, row)->number, (unsigned long long)bad_gaps);
        file_forget(&s->segments[row]);
        *other += bad_gaps;
        findings += (int64_t)bad_gaps;
    }
    free(places);
    return findings;
}
