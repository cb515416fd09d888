/* store_read.c - opening a store: read the index, map the segments, check both once, then trust them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "cache/store/store_private.h"

/* The file names of a store. */
char *store_index_path(const char *dir, const char *name)
{
    char file[64];
    snprintf(file, sizeof file, "%s.index", name);
    return file_join(dir, file);
}

char *store_segment_path(const char *dir, const char *name, uint32_t number, int part)
{
    char file[64];
    snprintf(file, sizeof file, SEGMENT_FILE, name, number, part ? "part" : "seg");
    return file_join(dir, file);
}

/* The bytes of [p, p + size) with the eight bytes at `at` read as zero. */
static uint64_t checksum_without(const uint8_t *p, uint64_t size, size_t at)
{
    static const uint8_t zeros[8] = {0};
    struct iovec parts[3] = {{(void *)(uintptr_t)p, at},
                             {(void *)(uintptr_t)zeros, 8},
                             {(void *)(uintptr_t)(p + at + 8), size - at - 8}};
    return hash64_parts(parts, 3);
}

/* Index and record hold their checksum inside; a segment's header has it at its end. */
uint64_t index_checksum(const uint8_t *file, uint64_t size)
{
    return checksum_without(file, size, offsetof(IndexHeader, checksum));
}
uint64_t record_checksum(const uint8_t *record, uint64_t size)
{
    return checksum_without(record, size, offsetof(RecordHeader, checksum));
}
uint64_t segment_header_checksum(const SegmentHeader *h)
{
    return hash64(h, offsetof(SegmentHeader, checksum));
}

/* On disk a stamp is four words, whatever the struct looks like. */
void stamp_to_words(uint64_t out[4], const FileStamp *s)
{
    out[0] = s->size;
    out[1] = s->mtime_ns;
    out[2] = s->ctime_ns;
    out[3] = s->inode;
}

void stamp_from_words(FileStamp *s, const uint64_t in[4])
{
    *s = (FileStamp){.size = in[0], .mtime_ns = in[1], .ctime_ns = in[2], .inode = in[3]};
}

/* A segment of this store, with this number, by this version of the format. */
int segment_header_valid(const FileMap *m, const char *name, uint32_t number)
{
    SegmentHeader h;
    if (m->size < sizeof h)
        return 0;
    memcpy(&h, m->data, sizeof h);
    return memcmp(h.magic, SEGMENT_MAGIC, 8) == 0 && h.version == STORE_VERSION && h.number == number &&
           strncmp(h.store, name, sizeof h.store) == 0 && h.checksum == segment_header_checksum(&h);
}

/* The record at an offset when it is whole, else NULL. Sizes first: the checksum must not read past the
 * file. */
const RecordHeader *segment_record(const FileMap *m, uint64_t offset)
{
    if (offset % STORE_ALIGN || offset > m->size || m->size - offset < sizeof(RecordHeader))
        return NULL;
    const RecordHeader *r = (const RecordHeader *)(const void *)(m->data + offset);
    if (r->magic != RECORD_MAGIC || r->size < sizeof *r || r->size % STORE_ALIGN ||
        r->size > m->size - offset)
        return NULL;
    if (r->id_size > r->size - sizeof *r || r->payload_offset > r->size ||
        r->payload_size > r->size - r->payload_offset || r->payload_offset % STORE_ALIGN ||
        r->payload_offset < sizeof *r + r->id_size)
        return NULL;
    return record_checksum(m->data + offset, r->size) == r->checksum ? r : NULL;
}

/* [offset, offset + n * size) lies inside a file of `total` bytes. */
static int inside(uint64_t offset, uint64_t n, uint64_t size, uint64_t total)
{
    uint64_t bytes;
    return offset <= total && !__builtin_mul_overflow(n, size, &bytes) && bytes <= total - offset;
}

/* Form, version, checksum, bounds: after this the tables of the index can be read. */
static int check_index(const Store *s, const char *path, Err *err)
{
    const IndexHeader *h = index_header(s);
    uint64_t size = s->index.size;
    if (size < sizeof *h || memcmp(h->magic, INDEX_MAGIC, 8) != 0)
        return err_set(err, ERR_FORMAT, "%s is not a cache index", path);
    if (h->version != STORE_VERSION)
        return err_set(err, ERR_FORMAT, "%s has format version %u, but this program reads version %d", path,
                       h->version, STORE_VERSION);
    if (h->file_size != size || h->checksum != index_checksum(s->index.data, size))
        return err_set(err, ERR_DAMAGED, "%s is damaged: its checksum does not match", path);
    /* The checksum vouches for accidents, not for a hand that wrote a matching one: bounds are checked all
     * the same. */
    if (h->count > UINT32_MAX / 4 ||
        !inside(h->segments_offset, h->segment_count, sizeof(IndexSegment), size) ||
        !inside(h->entries_offset, h->count, sizeof(IndexEntry), size) ||
        !inside(h->ids_offset, 1, h->ids_size, size) || !inside(h->blob_offset, 1, h->blob_size, size) ||
        h->segments_offset % 8 || h->entries_offset % 8 || h->blob_offset % 8)
        return err_set(err, ERR_DAMAGED, "%s is damaged: its tables lie outside the file", path);
    return 0;
}

/* Every segment that the index names, whole and in ascending order of its number. */
static int map_segments(Store *s, Err *err)
{
    for (uint32_t row = 0; row < s->segment_count; row++) {
        const IndexSegment *seg = index_segment(s, row);
        if (seg->number == 0 || (row > 0 && seg->number <= index_segment(s, row - 1)->number))
            return err_set(err, ERR_DAMAGED,
                           "the index of the %s cache is damaged: its segments are not in order", s->name);
        char *path = store_segment_path(s->dir, s->name, seg->number, 0);
        if (!path)
            return err_set(err, ERR_NOMEM, "no memory for a path");
        /* A missing or changed segment makes the state as a whole unusable: entries would point nowhere. */
        int rc = file_map(&s->segments[row], path, err);
        if (rc == ERR_MISSING)
            rc = err_set(err, ERR_DAMAGED, "%s is missing, although the index lists it", path);
        else if (!rc && s->segments[row].size != seg->size)
            rc = err_set(err, ERR_DAMAGED, "%s has %zu bytes, but the index says %llu", path,
                         s->segments[row].size, (unsigned long long)seg->size);
        else if (!rc && !segment_header_valid(&s->segments[row], s->name, seg->number))
            rc = err_set(err, ERR_DAMAGED, "%s is damaged: its header is wrong", path);
        free(path);
        if (rc)
            return rc;
    }
    return 0;
}

/* Every entry lies inside its segment; on the way the hash table of the ids is filled. */
static int check_entries(Store *s, const char *path, Err *err)
{
    const IndexHeader *h = index_header(s);
    if (map_reserve(&s->by_id, h->count))
        return err_set(err, ERR_NOMEM, "no memory for the index %s", path);
    for (uint64_t i = 0; i < h->count; i++) {
        const IndexEntry *e = index_entry(s, i);
        if (e->segment >= s->segment_count || e->offset % STORE_ALIGN || e->size % STORE_ALIGN ||
            e->payload_offset % STORE_ALIGN || !inside(e->offset, 1, e->size, s->segments[e->segment].size) ||
            !inside(e->payload_offset, 1, e->payload_size, e->size) ||
            !inside(e->id_offset, 1, e->id_size, h->ids_size) || e->offset < sizeof(SegmentHeader) ||
            e->payload_offset < sizeof(RecordHeader))
            return err_set(err, ERR_DAMAGED, "%s is damaged: entry %llu lies outside its segment", path,
                           (unsigned long long)i);
        /* Open addressing, at most half full. */
        const char *id = (const char *)s->index.data + h->ids_offset + e->id_offset;
        map_add(&s->by_id, hash64(id, e->id_size), (uint32_t)i);
    }
    return 0;
}

/* Closed (zeroed) after a failure. */
int store_open(Store *s, const char *dir, const char *name, Err *err)
{
    *s = (Store){0};
    s->dir = strdup(dir);
    s->name = strdup(name);
    char *path = store_index_path(dir, name);
    int rc = s->dir && s->name && path ? 0 : err_set(err, ERR_NOMEM, "no memory for a path");
    if (!rc)
        rc = file_load(&s->index, path, err);
    if (!rc)
        rc = check_index(s, path, err);
    if (rc)
        goto fail;
    const IndexHeader *h = index_header(s);
    s->segment_count = h->segment_count;
    s->count = h->count;
    s->settings = (Hash128){h->settings[0], h->settings[1]};
    s->blob = s->index.data + h->blob_offset;
    s->blob_size = h->blob_size;
    s->segments = mem_calloc(s->segment_count, sizeof *s->segments);
    if (!s->segments) {
        rc = err_set(err, ERR_NOMEM, "no memory for the segments of %s", path);
        goto fail;
    }
    rc = map_segments(s, err);
    if (!rc)
        rc = check_entries(s, path, err);
    if (rc)
        goto fail;
    free(path);
    return 0;
fail:
    free(path);
    store_close(s);
    return rc;
}

int store_index_stamp(uint64_t *stamp, const char *dir, const char *name, Err *err)
{
    IndexHeader h;
    *stamp = 0;
    char *path = store_index_path(dir, name);
    if (!path)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = fd < 0 ? err_set_errno(err, ERR_IO, "cannot open %s", path)
                    : file_pread_all(fd, &h, sizeof h, 0, path, err);
    if (fd >= 0)
        close(fd);
    free(path);
    if (!rc)
        *stamp = h.checksum;
    return rc;
}

/* Also after a failed open: what is not there is NULL. */
void store_close(Store *s)
{
    for (uint32_t i = 0; s->segments && i < s->segment_count; i++)
        file_unmap(&s->segments[i]);
    file_unmap(&s->index);
    free(s->segments);
    map_free(&s->by_id);
    free(s->dir);
    free(s->name);
    *s = (Store){0};
}

/* What an index entry means, with pointers into the mapping. */
void entry_view(StoreEntry *out, const IndexEntry *e, const char *ids, const FileMap *segment,
                uint32_t number)
{
    *out = (StoreEntry){
        .id = ids + e->id_offset,
        .id_size = e->id_size,
        .key = {e->key[0], e->key[1]},
        .items = e->items,
        .status = e->status,
        .format = e->format,
        .extra = e->extra,
        .payload = segment->data + e->offset + e->payload_offset,
        .payload_size = e->payload_size,
        .record_size = e->size,
        .segment = number,
        .offset = e->offset,
    };
    stamp_from_words(&out->stamp, e->stamp);
}

void store_entry(const Store *s, uint64_t i, StoreEntry *out)
{
    ASSERT_CMP(i, <, s->count);
    const IndexEntry *e = index_entry(s, i);
    entry_view(out, e, (const char *)s->index.data + index_header(s)->ids_offset, &s->segments[e->segment],
               index_segment(s, e->segment)->number);
}

/* Through the hash table; the ids themselves decide. */
int64_t store_find(const Store *s, const char *id, uint32_t id_size)
{
    if (s->count == 0)
        return -1;
    const char *ids = (const char *)s->index.data + index_header(s)->ids_offset;
    uint32_t i;
    for (MapWalk w = map_walk(&s->by_id, hash64(id, id_size)); map_next(&w, &i);) {
        const IndexEntry *e = index_entry(s, i);
        if (e->id_size == id_size && memcmp(ids + e->id_offset, id, id_size) == 0)
            return i;
    }
    return -1;
}

/* Size on disk, without the index. */
uint64_t store_bytes(const Store *s)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->segment_count; i++)
        total += s->segments[i].size;
    return total;
}

uint64_t store_entry_lost(const Store *s, uint64_t i)
{
    return file_lost(&s->segments[index_entry(s, i)->segment]);
}
