/* store_private.h - what store_read.c, store_verify.c and store_build.c share. */
#ifndef MYXTTS_STORE_PRIVATE_H
#define MYXTTS_STORE_PRIVATE_H

#include "cache/store/store.h"
#include "cache/store/store_format.h"

#define SEGMENT_FILE "%s-%04u.%s" /* store, number, "seg" or "part" */

static inline const IndexHeader *index_header(const Store *s)
{
    return (const IndexHeader *)(const void *)s->index.data;
}
static inline const IndexEntry *index_entry(const Store *s, uint64_t i)
{
    return (const IndexEntry *)(const void *)(s->index.data + index_header(s)->entries_offset) + i;
}
static inline const IndexSegment *index_segment(const Store *s, uint32_t row)
{
    return (const IndexSegment *)(const void *)(s->index.data + index_header(s)->segments_offset) + row;
}

/* Checksums, computed with the checksum field as zero. */
uint64_t index_checksum(const uint8_t *file, uint64_t size);
uint64_t record_checksum(const uint8_t *record, uint64_t size);
uint64_t segment_header_checksum(const SegmentHeader *h);

/* 1 if the first 64 bytes are a segment header of this store with this number. */
int segment_header_valid(const FileMap *m, const char *name, uint32_t number);
/* The record at `offset` if it is complete and its checksum is right, else NULL. Never reads outside of the
 * map. */
const RecordHeader *segment_record(const FileMap *m, uint64_t offset);

/* Fills the view of an index entry, with pointers into its segment. number is that of the segment's file
 * name. */
void entry_view(StoreEntry *out, const IndexEntry *e, const char *ids, const FileMap *segment,
                uint32_t number);

/* The index repeats what the record's header says, so that opening a store touches no segment. */
IndexEntry entry_of_record(const RecordHeader *r, uint64_t offset);

void stamp_to_words(uint64_t out[4], const FileStamp *s);
void stamp_from_words(FileStamp *s, const uint64_t in[4]);

#endif
