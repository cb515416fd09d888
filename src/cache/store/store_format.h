/* store_format.h - the bytes of a store on disk, which docs/FORMATS.md describes in prose.
 * The store `mel` is the file mel.index and the segments listed in it, mel-0001.seg, mel-0002.seg, ...
 * Segments are immutable. A segment that is being written is called mel-0002.part; it is not part of the
 * store until the index lists it. All numbers are little-endian. Private to src/cache. */
#ifndef MYXTTS_STORE_FORMAT_H
#define MYXTTS_STORE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define STORE_VERSION 1
#define STORE_ALIGN 64 /* records and payloads start at multiples of this */
#define INDEX_MAGIC "MYXTTSI\n"
#define SEGMENT_MAGIC "MYXTTSS\n"
#define RECORD_MAGIC 0x4345524Du /* "MREC" */

typedef struct SegmentHeader { /* first 64 bytes of a segment */
    char magic[8];
    uint32_t version, number;
    char store[16]; /* "mel", zero-filled */
    uint8_t zero[24];
    uint64_t checksum; /* XXH3-64 of the 56 bytes before it */
} SegmentHeader;
static_assert(sizeof(SegmentHeader) == 64, "segment header");

/* Followed by the id, zeros to a multiple of STORE_ALIGN, the payload, and zeros to a multiple of
 * STORE_ALIGN. */
typedef struct RecordHeader {
    uint32_t magic, id_size;
    uint64_t size; /* of the whole record, including header and zeros */
    uint64_t payload_size;
    uint32_t payload_offset; /* from the start of the record */
    uint32_t items;          /* tokens, frames or samples */
    uint32_t status;         /* 0, or the RejectReason, whose detail is then the payload */
    uint32_t format;         /* of the payload; defined by the user of the store */
    uint64_t key[2];         /* hash of everything the payload depends on */
    uint64_t settings[2];    /* hash of the settings alone */
    uint64_t stamp[4];       /* FileStamp of the source file; zeros if there is none */
    uint64_t extra;          /* defined by the user of the store */
    uint8_t zero[8];
    uint64_t checksum; /* XXH3-64 of the whole record with this field as zero */
} RecordHeader;
static_assert(sizeof(RecordHeader) == 128, "record header");

typedef struct IndexHeader { /* followed by the segment table, the entries, the ids, the blob */
    char magic[8];
    uint32_t version, segment_count;
    uint64_t count; /* of entries */
    uint64_t segments_offset, entries_offset, ids_offset, ids_size, blob_offset, blob_size;
    uint64_t settings[2];
    uint64_t file_size;
    uint8_t zero[16];
    uint64_t checksum; /* XXH3-64 of the whole file with this field as zero */
} IndexHeader;
static_assert(sizeof(IndexHeader) == 120, "index header");

typedef struct IndexSegment {
    uint32_t number, zero;
    uint64_t size;
} IndexSegment;
static_assert(sizeof(IndexSegment) == 16, "segment row");

typedef struct IndexEntry {
    uint64_t key[2];
    uint64_t stamp[4];
    uint64_t offset, size; /* of the record in its segment */
    uint64_t payload_size;
    uint32_t payload_offset, segment; /* segment: row of the segment table */
    uint32_t items, status, format;
    uint32_t id_size;
    uint64_t id_offset; /* from ids_offset */
    uint64_t extra;
} IndexEntry;
static_assert(sizeof(IndexEntry) == 112, "index entry");

#endif
