/* store_build.c - from one state of a store to the next.
 *
 * The new state is a list of entries in the caller's order. Each comes from a record of the old state (keep),
 * from a record that an interrupted build left behind (salvage), or from a new record appended to the segment
 * being written (add).
 *
 *   - mel-0002.part: records are appended here; complete ones survive a kill and are found again by their ids
 *   - mel-0002.seg: the same file after fsync and rename
 *   - mel.index: replaced last; this makes the new state the current one
 *   - old segments: removed when no entry needs them any more
 *
 * Because the caller adds in a fixed order, a build that is killed and run again writes the same bytes as one
 * that is not. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "cache/store_private.h"

#define SMALL_STORE (64u << 20) /* below this size a store is always kept in one tidy segment */
#define MAX_SEGMENTS 8
#define FLUSH_AFTER (8u << 20)   /* bytes */
#define FORGET_AFTER (16u << 20) /* bytes read through a mapping */

typedef struct Row { /* a segment of the new state */
    uint32_t number;
    uint64_t size;
    FileMap map;   /* of an old or found segment; the part is mapped when needed */
    int borrowed;  /* the map belongs to the old Store */
    uint64_t live; /* bytes of records that entries use */
} Row;

/* A whole record that an interrupted build left behind. */
typedef struct Salvaged {
    uint32_t row;
    uint64_t offset;
} Salvaged;

struct StoreBuild {
    char *dir, *name;
    const Store *old;
    Hash128 settings;
    Row *rows;
    size_t row_count, row_cap;
    uint32_t part_row; /* row of the segment being written */
    int part_fd_plus1;
    char *part_path;
    uint64_t flushed;    /* bytes of the part that the disk has been told to write */
    IndexEntry *entries; /* id_offset into ids */
    size_t count, cap;
    Buf ids;
    Salvaged *salvaged;
    size_t salvaged_count, salvaged_cap;
    Map by_id; /* of salvaged */
    int changed;
};

static int no_memory(const StoreBuild *b, Err *err)
{
    return err_set(err, ERR_NOMEM, "no memory to build the %s cache", b->name);
}

/* The row's number is its position; entries refer to it. */
static int row_add(StoreBuild *b, Row row, Err *err)
{
    if (mem_grow(&b->rows, &b->row_cap, b->row_count + 1, sizeof *b->rows))
        return no_memory(b, err);
    b->rows[b->row_count++] = row;
    return 0;
}

/* Salvaged records lie in mapped rows. */
static const RecordHeader *salvaged_record(const StoreBuild *b, size_t k)
{
    const Salvaged *s = &b->salvaged[k];
    return (const RecordHeader *)(const void *)(b->rows[s->row].map.data + s->offset);
}

/* Collects the whole records of a row from the front; returns the offset after the last one. */
static int salvage_row(StoreBuild *b, uint32_t row, uint64_t *end, Err *err)
{
    const FileMap *m = &b->rows[row].map;
    uint64_t at = sizeof(SegmentHeader);
    for (const RecordHeader *r; (r = segment_record(m, at)) != NULL; at += r->size) {
        if (mem_grow(&b->salvaged, &b->salvaged_cap, b->salvaged_count + 1, sizeof *b->salvaged))
            return no_memory(b, err);
        b->salvaged[b->salvaged_count++] = (Salvaged){row, at};
    }
    *end = at;
    return 0;
}

/* A hash table of the ids, at most half full. */
static int salvage_index(StoreBuild *b, Err *err)
{
    if (map_reserve(&b->by_id, b->salvaged_count))
        return no_memory(b, err);
    for (size_t k = 0; k < b->salvaged_count; k++) {
        const RecordHeader *r = salvaged_record(b, k);
        /* The id stands right behind the header. */
        map_add(&b->by_id, hash64(r + 1, r->id_size), (uint32_t)k);
    }
    return 0;
}

/* Number in "mel-0012.seg" or "mel-0012.part"; 0 when the name is another's, or not written as ours are
 * ("mel-12.seg"). */
static uint32_t segment_number(const char *file, const char *name, int *part)
{
    size_t n = strlen(name);
    unsigned number = 0;
    if (strncmp(file, name, n) != 0 || sscanf(file + n, "-%9u.", &number) != 1)
        return 0;
    for (*part = 0; *part < 2; ++*part) {
        char own[64];
        snprintf(own, sizeof own, SEGMENT_FILE, name, number, *part ? "part" : "seg");
        if (strcmp(file, own) == 0)
            return number;
    }
    return 0;
}

static int number_in_rows(const StoreBuild *b, uint32_t number)
{
    for (size_t i = 0; i < b->row_count; i++)
        if (b->rows[i].number == number)
            return 1;
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    uint32_t x = ((const Row *)a)->number, y = ((const Row *)b)->number;
    return (x > y) - (x < y);
}

/* Without an index, whatever whole segments are there are taken as rows to salvage from. */
static int adopt_segments(StoreBuild *b, Err *err)
{
    DIR *d = opendir(b->dir);
    if (!d)
        return err_set_errno(err, ERR_IO, "cannot read the folder %s", b->dir);
    int rc = 0, part;
    for (struct dirent *f; !rc && (f = readdir(d)) != NULL;) {
        uint32_t number = segment_number(f->d_name, b->name, &part);
        if (!number || part)
            continue;
        /* Whole segments only: a part is taken up by salvage_part. */
        Row row = {.number = number};
        char *path = store_segment_path(b->dir, b->name, number, 0);
        rc = path ? file_map(&row.map, path, err) : no_memory(b, err);
        free(path);
        /* Not a regular file; any other failure may pass, and must not cost the records. */
        if (rc == ERR_FORMAT) {
            rc = 0;
            continue;
        }
        row.size = row.map.size;
        int whole = !rc && segment_header_valid(&row.map, b->name, number);
        if (whole)
            rc = row_add(b, row, err);
        if (!whole || rc)
            file_unmap(&row.map);
    }
    closedir(d);
    if (b->row_count) /* qsort wants no NULL */
        qsort(b->rows, b->row_count, sizeof *b->rows, compare_rows);
    for (uint32_t row = 0; !rc && row < b->row_count; row++) {
        uint64_t end;
        rc = salvage_row(b, row, &end, err);
    }
    return rc;
}

/* Files of this store that nothing refers to, left by a kill between two steps; those numbered keep_part may
 * still be of use. */
static void remove_strays(StoreBuild *b, uint32_t keep_part)
{
    DIR *d = opendir(b->dir);
    if (!d)
        return;
    size_t n = strlen(b->name);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        /* A part, or a segment that no row refers to; then a draft of the index. */
        int part;
        uint32_t number = segment_number(f->d_name, b->name, &part);
        int stray = number && number != keep_part && (part || !number_in_rows(b, number));
        stray =
            stray || (strncmp(f->d_name, b->name, n) == 0 && strncmp(f->d_name + n, ".index.tmp", 10) == 0);
        if (stray)
            unlinkat(dirfd(d), f->d_name, 0);
    }
    closedir(d);
}

/* The names of the segment to be written; nothing is created before there is something to write. */
static int name_part(StoreBuild *b, uint32_t number, Err *err)
{
    free(b->part_path);
    b->part_path = store_segment_path(b->dir, b->name, number, 1);
    if (!b->part_path)
        return no_memory(b, err);
    b->part_row = (uint32_t)b->row_count;
    return row_add(b, (Row){.number = number}, err);
}

/* Takes up the part that an interrupted build left behind, if there is one, up to its last whole record. */
static int salvage_part(StoreBuild *b, Err *err)
{
    Row *row = &b->rows[b->part_row];
    char *seg_path = store_segment_path(b->dir, b->name, row->number, 0);
    if (!seg_path)
        return no_memory(b, err);
    /* First make it a part again, then look what is in it, then cut off what is torn. */
    int rc = 0, fd = -1;
    /* Killed between renaming the segment and replacing the index: it is a part again. */
    if (file_exists(seg_path) && rename(seg_path, b->part_path))
        rc = err_set_errno(err, ERR_IO, "cannot rename %s", seg_path);
    free(seg_path);
    if (!rc)
        rc = file_map(&row->map, b->part_path, err);
    if (rc == ERR_MISSING)
        return 0;
    if (rc && rc != ERR_FORMAT) /* ERR_FORMAT: not a regular file */
        return rc;
    if (!segment_header_valid(&row->map, b->name, row->number)) {
        file_unmap(&row->map);
        /* Killed before its first record; part_open starts it anew if there is need. */
        unlink(b->part_path);
        return 0;
    }
    rc = salvage_row(b, b->part_row, &row->size, err);
    if (!rc && (fd = open(b->part_path, O_RDWR | O_CLOEXEC)) < 0)
        rc = err_set_errno(err, ERR_IO, "cannot open %s", b->part_path);
    if (!rc && (ftruncate(fd, (off_t)row->size) || lseek(fd, 0, SEEK_END) < 0))
        rc = err_set_errno(err, ERR_IO, "cannot cut %s", b->part_path);
    if (rc && fd >= 0)
        close(fd);
    else if (!rc)
        b->part_fd_plus1 = fd + 1;
    return rc;
}

/* Creates the part on the first need. */
static int part_open(StoreBuild *b, Err *err)
{
    Row *row = &b->rows[b->part_row];
    if (b->part_fd_plus1)
        return 0;
    int fd = open(b->part_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, "cannot create %s", b->part_path);
    b->part_fd_plus1 = fd + 1;
    /* The header names the store and the number, so that a file that was copied elsewhere is not taken for
     * ours. */
    SegmentHeader h = {.version = STORE_VERSION, .number = row->number};
    memcpy(h.magic, SEGMENT_MAGIC, 8);
    snprintf(h.store, sizeof h.store, "%s", b->name);
    h.checksum = segment_header_checksum(&h);
    row->size = sizeof h;
    return file_write_all(fd, &h, sizeof h, b->part_path, err);
}

/* Rows are the old segments in their order, or what is found without an index; the part comes last. */
int store_build_open(StoreBuild **out, const char *dir, const char *name, const Store *old, Hash128 settings,
                     Err *err)
{
    ASSERT_CMP(strlen(name), <, 16);
    StoreBuild *b = mem_calloc(1, sizeof *b);
    *out = NULL;
    if (!b)
        return err_set(err, ERR_NOMEM, "no memory to build the %s cache", name);
    b->dir = strdup(dir);
    b->name = strdup(name);
    b->old = old;
    b->settings = settings;
    b->changed = !old || !hash_equal(old->settings, settings);
    int rc = b->dir && b->name ? 0 : err_set(err, ERR_NOMEM, "no memory to build the %s cache", name);
    for (uint32_t row = 0; !rc && old && row < old->segment_count; row++)
        rc = row_add(b,
                     (Row){.number = index_segment(old, row)->number,
                           .size = old->segments[row].size,
                           .map = old->segments[row],
                           .borrowed = 1},
                     err);
    if (!rc && !old)
        rc = adopt_segments(b, err);
    /* Numbers only grow: a name is never used for other bytes while an index may still refer to it. */
    uint32_t next = 1;
    for (size_t i = 0; i < b->row_count; i++)
        next = b->rows[i].number >= next ? b->rows[i].number + 1 : next;
    if (!rc) {
        remove_strays(b, next);
        rc = name_part(b, next, err);
    }
    if (!rc)
        rc = salvage_part(b, err);
    if (!rc)
        rc = salvage_index(b, err);
    if (rc) {
        store_build_close(b);
        return rc;
    }
    *out = b;
    return 0;
}

/* By key, or by stamp when key is NULL; always with the same settings. */
static int64_t find_salvaged(const StoreBuild *b, const char *id, uint32_t id_size, const Hash128 *key,
                             const FileStamp *stamp)
{
    uint64_t words[4];
    if (stamp)
        stamp_to_words(words, stamp);
    uint32_t i;
    for (MapWalk w = map_walk(&b->by_id, hash64(id, id_size)); map_next(&w, &i);) {
        const RecordHeader *r = salvaged_record(b, i);
        if (r->id_size != id_size || memcmp(r + 1, id, id_size) != 0 || r->settings[0] != b->settings.lo ||
            r->settings[1] != b->settings.hi)
            continue;
        if (key ? r->key[0] == key->lo && r->key[1] == key->hi : memcmp(r->stamp, words, sizeof words) == 0)
            return i;
    }
    return -1;
}

int64_t store_build_find_by_key(const StoreBuild *b, const char *id, uint32_t id_size, Hash128 key)
{
    return find_salvaged(b, id, id_size, &key, NULL);
}

int64_t store_build_find_by_stamp(const StoreBuild *b, const char *id, uint32_t id_size,
                                  const FileStamp *stamp)
{
    return find_salvaged(b, id, id_size, NULL, stamp);
}

/* Every way into the new state ends here. */
static int entry_add(StoreBuild *b, IndexEntry e, const char *id, Err *err)
{
    if (mem_grow(&b->entries, &b->cap, b->count + 1, sizeof *b->entries))
        return no_memory(b, err);
    e.id_offset = b->ids.size;
    buf_add(&b->ids, id, e.id_size);
    if (b->ids.failed)
        return no_memory(b, err);
    b->rows[e.segment].live += e.size;
    b->entries[b->count++] = e;
    return 0;
}

/* A record of the old state, as it is. */
int store_build_keep(StoreBuild *b, uint64_t old_entry, const FileStamp *stamp, Err *err)
{
    IndexEntry e = *index_entry(b->old, old_entry);
    uint64_t words[4];
    const char *id = (const char *)b->old->index.data + index_header(b->old)->ids_offset + e.id_offset;
    /* A new stamp alone is a change of the index; no record is written. */
    if (stamp) {
        stamp_to_words(words, stamp);
        b->changed |= memcmp(e.stamp, words, sizeof words) != 0;
        memcpy(e.stamp, words, sizeof words);
    }
    b->changed |= old_entry != b->count;
    /* The rows begin with the old segments in the same order, so e.segment holds. */
    return entry_add(b, e, id, err);
}

/* The index repeats what the record's header says, so that opening a store touches no segment. */
static IndexEntry entry_of_record(const RecordHeader *r, uint32_t row, uint64_t offset)
{
    IndexEntry e = {.key = {r->key[0], r->key[1]},
                    .offset = offset,
                    .size = r->size,
                    .payload_size = r->payload_size,
                    .payload_offset = r->payload_offset,
                    .segment = row,
                    .items = r->items,
                    .status = r->status,
                    .format = r->format,
                    .extra = r->extra,
                    .id_size = r->id_size};
    memcpy(e.stamp, r->stamp, sizeof e.stamp);
    return e;
}

/* A whole record of a build that did not finish. */
int store_build_salvage(StoreBuild *b, int64_t token, const FileStamp *stamp, Err *err)
{
    const Salvaged *s = &b->salvaged[token];
    const RecordHeader *r = salvaged_record(b, (size_t)token);
    IndexEntry e = entry_of_record(r, s->row, s->offset);
    if (stamp)
        stamp_to_words(e.stamp, stamp);
    b->changed = 1;
    return entry_add(b, e, (const char *)(r + 1), err);
}

/* A new record, at the end of the part. */
int store_build_add(StoreBuild *b, const StoreRecord *rec, Err *err)
{
    static const uint8_t zeros[STORE_ALIGN] = {0};
    RecordHeader h = {.magic = RECORD_MAGIC,
                      .id_size = rec->id_size,
                      .payload_size = rec->payload_size,
                      .items = rec->items,
                      .status = rec->status,
                      .format = rec->format,
                      .extra = rec->extra,
                      .key = {rec->key.lo, rec->key.hi},
                      .settings = {b->settings.lo, b->settings.hi}};
    stamp_to_words(h.stamp, &rec->stamp);
    /* header, id, zeros, payload, zeros: payload and record begin at multiples of STORE_ALIGN. */
    uint64_t head = sizeof h + rec->id_size, aligned_head = round_up(head, STORE_ALIGN);
    h.payload_offset = (uint32_t)aligned_head;
    h.size = aligned_head + round_up(rec->payload_size, STORE_ALIGN);
    size_t pad1 = (size_t)(aligned_head - head), pad2 = (size_t)(h.size - aligned_head - rec->payload_size);
    struct iovec parts[5] = {{&h, sizeof h},
                             {(void *)(uintptr_t)rec->id, rec->id_size},
                             {(void *)(uintptr_t)zeros, pad1},
                             {(void *)(uintptr_t)rec->payload, (size_t)rec->payload_size},
                             {(void *)(uintptr_t)zeros, pad2}};
    h.checksum = hash64_parts(parts, 5); /* h.checksum is still zero here */
    int rc = part_open(b, err);
    if (rc)
        return rc;
    /* One call for all pieces: a kill leaves at most one torn record, at the end. */
    Row *part = &b->rows[b->part_row];
    int fd = b->part_fd_plus1 - 1;
    ssize_t n = writev(fd, parts, 5);
    if (n != (ssize_t)h.size) { /* a short write is rare: the rest piece by piece */
        uint64_t done = n < 0 ? 0 : (uint64_t)n;
        if (n < 0 && errno != EINTR)
            rc = err_set_errno(err, ERR_IO, "cannot write %s", b->part_path);
        for (int i = 0; i < 5 && !rc; i++) {
            if (done >= parts[i].iov_len) {
                done -= parts[i].iov_len;
                continue;
            }
            rc = file_write_all(fd, (const char *)parts[i].iov_base + done, parts[i].iov_len - done,
                                b->part_path, err);
            done = 0;
        }
    }
    if (rc) {
        if (rc == ERR_NOSPACE)
            err_hint(err, "free some space, or put the cache on another disk with --cache-dir, and run the "
                          "same command again: it goes on where it stopped");
        /* The torn record; the next build would cut it anyway. */
        if (ftruncate(fd, (off_t)part->size) == 0)
            lseek(fd, 0, SEEK_END);
        return rc;
    }
    IndexEntry e = entry_of_record(&h, b->part_row, part->size);
    part->size += h.size;
    /* The disk begins now, so that the fsync at the end has little left to wait for. */
    if (part->size - b->flushed > FLUSH_AFTER) {
        sync_file_range(fd, (off_t)b->flushed, (off_t)(part->size - b->flushed), SYNC_FILE_RANGE_WRITE);
        b->flushed = part->size;
    }
    b->changed = 1;
    return entry_add(b, e, rec->id, err);
}

uint64_t store_build_count(const StoreBuild *b) { return b->count; }

/* Entries of the part are written but not mapped yet: the mapping is made when one is asked for. */
int store_build_entry(StoreBuild *b, uint64_t i, StoreEntry *out, Err *err)
{
    ASSERT_CMP(i, <, b->count);
    const IndexEntry *e = &b->entries[i];
    Row *row = &b->rows[e->segment];
    /* The part has grown since it was mapped. */
    if (row->map.size < e->offset + e->size) {
        ASSERT_CMP(e->segment, ==, b->part_row);
        FileMap grown;
        int rc = file_map(&grown, b->part_path, err);
        if (rc)
            return rc;
        file_unmap(&row->map);
        row->map = grown;
        if (row->map.size < row->size)
            return err_set(err, ERR_IO, "%s became shorter while it was being written", b->part_path);
    }
    entry_view(out, e, b->ids.data, &row->map, row->number);
    return 0;
}

/* The pages stay in the page cache; only this process lets go of them. */
void store_build_forget(StoreBuild *b)
{
    for (size_t i = 0; i < b->row_count; i++)
        file_forget(&b->rows[i].map);
}

/* Same entries in the same order with the same stamps, and the same blob: nothing has to be written. */
int store_build_changed(const StoreBuild *b, const void *blob, uint64_t blob_size)
{
    if (b->changed || b->count != b->old->count)
        return 1;
    return b->old->blob_size != blob_size || (blob_size && memcmp(b->old->blob, blob, blob_size) != 0);
}

/* The index for the rows that are in use; rows without a live record are left out. */
static int write_index(StoreBuild *b, const void *blob, uint64_t blob_size, Err *err)
{
    Buf out = {0};
    uint32_t *new_row = mem_calloc(b->row_count, sizeof *new_row);
    char *path = store_index_path(b->dir, b->name);
    int rc = new_row && path ? 0 : no_memory(b, err);
    if (rc)
        goto done;
    /* Header, segments, entries, ids, blob; the header is written again when all offsets are known. */
    IndexHeader h = {.version = STORE_VERSION,
                     .count = b->count,
                     .ids_size = b->ids.size,
                     .blob_size = blob_size,
                     .settings = {b->settings.lo, b->settings.hi}};
    memcpy(h.magic, INDEX_MAGIC, 8);
    buf_add(&out, &h, sizeof h);
    for (size_t i = 0; i < b->row_count; i++) {
        if (b->rows[i].live == 0)
            continue;
        new_row[i] = h.segment_count++;
        IndexSegment s = {.number = b->rows[i].number, .size = b->rows[i].size};
        buf_add(&out, &s, sizeof s);
    }
    h.segments_offset = sizeof h;
    h.entries_offset = out.size;
    for (size_t i = 0; i < b->count; i++) {
        IndexEntry e = b->entries[i];
        e.segment = new_row[e.segment];
        buf_add(&out, &e, sizeof e);
    }
    h.ids_offset = out.size;
    buf_add(&out, b->ids.data, b->ids.size);
    buf_zero(&out, round_up(out.size, 8) - out.size);
    h.blob_offset = out.size;
    buf_add(&out, blob, blob_size);
    if (out.failed) {
        rc = no_memory(b, err);
        goto done;
    }
    /* The checksum covers the whole file with its own field as zero. */
    h.file_size = out.size;
    memcpy(out.data, &h, sizeof h);
    h.checksum = index_checksum((const uint8_t *)out.data, out.size);
    memcpy(out.data, &h, sizeof h);
    rc = file_replace(path, out.data, out.size, err);
done:
    free(path);
    free(new_row);
    buf_free(&out);
    return rc;
}

/* The part becomes a segment, or vanishes when nothing in it is of use. */
static int finish_part(StoreBuild *b, Err *err)
{
    int fd = b->part_fd_plus1 - 1;
    Row *part = &b->rows[b->part_row];
    if (fd < 0)
        return 0;
    if (part->live == 0) {
        unlink(b->part_path);
        close(fd);
        b->part_fd_plus1 = 0;
        return 0;
    }
    /* Bytes before name: after the rename the segment must be whole whatever happens. */
    if (fsync(fd))
        return err_set_errno(err, ERR_IO, "cannot sync %s", b->part_path);
    char *seg = store_segment_path(b->dir, b->name, part->number, 0);
    if (!seg)
        return no_memory(b, err);
    int rc = rename(b->part_path, seg)
                 ? err_set_errno(err, ERR_IO, "cannot rename %s to %s", b->part_path, seg)
                 : 0;
    free(seg);
    close(fd);
    b->part_fd_plus1 = 0;
    return rc ? rc : file_sync_dir_of(b->part_path, err);
}

/* A part that came to nothing leaves its number free for the next one: two rows may then share it, and only
 * one is a file. */
static int number_is_live(const StoreBuild *b, uint32_t number)
{
    for (size_t i = 0; i < b->row_count; i++)
        if (b->rows[i].number == number && b->rows[i].live > 0)
            return 1;
    return 0;
}

/* Only after the new index holds: until then the old one needs them. */
static void remove_unused_segments(StoreBuild *b)
{
    for (size_t i = 0; i < b->row_count; i++) {
        char *path = !number_is_live(b, b->rows[i].number)
                         ? store_segment_path(b->dir, b->name, b->rows[i].number, 0)
                         : NULL;
        if (path)
            unlink(path);
        free(path);
    }
}

/* Worth moving everything to one segment? */
static int is_untidy(const StoreBuild *b)
{
    /* Dead bytes are records that were replaced; they cost disk and page cache. */
    uint64_t total = 0, live = 0;
    size_t rows = 0;
    for (size_t i = 0; i < b->row_count; i++) {
        if (b->rows[i].live == 0)
            continue;
        rows++;
        live += b->rows[i].live;
        total += b->rows[i].size - sizeof(SegmentHeader);
    }
    if (rows > MAX_SEGMENTS || total - live > live / 3)
        return 1;
    return total < SMALL_STORE && (rows > 1 || total != live);
}

/* Records that were read through a mapping may have been zeros: nothing made of them is kept. */
static int check_lost(const StoreBuild *b, Err *err)
{
    for (size_t i = 0; i < b->row_count; i++)
        if (file_lost(&b->rows[i].map)) {
            err_set(err, ERR_DAMAGED,
                    "segment %u of the %s cache in %s became shorter while it was read, or its "
                    "disk failed",
                    b->rows[i].number, b->name, b->dir);
            return err_hint(err, "run the same command again: what is damaged is built anew");
        }
    return 0;
}

/* Copies every live record, in entry order, to a new segment. */
static int rewrite_all(StoreBuild *b, Err *err)
{
    uint64_t seen = 0;
    /* The number after the highest that is in use. */
    uint32_t number = 0;
    for (size_t i = 0; i < b->row_count; i++)
        number = b->rows[i].live && b->rows[i].number > number ? b->rows[i].number : number;
    /* The finished part has to be mapped to be copied from. */
    for (size_t i = 0; i < b->row_count; i++) {
        Row *row = &b->rows[i];
        if (row->live == 0 || row->map.size >= row->size)
            continue;
        char *path = store_segment_path(b->dir, b->name, row->number, 0);
        file_unmap(&row->map);
        int rc = path ? file_map(&row->map, path, err) : no_memory(b, err);
        free(path);
        if (rc)
            return rc;
    }
    /* From here on records are copied as they are; their checksums hold. */
    int rc = name_part(b, number + 1, err);
    if (!rc)
        rc = part_open(b, err);
    Row *part = rc ? NULL : &b->rows[b->part_row];
    for (size_t i = 0; i < b->count && !rc; i++) {
        IndexEntry *e = &b->entries[i];
        /* write() alone would say "Bad address" of a page that is gone. */
        if (!segment_record(&b->rows[e->segment].map, e->offset) && (rc = check_lost(b, err)))
            break;
        rc = file_write_all(b->part_fd_plus1 - 1, b->rows[e->segment].map.data + e->offset, e->size,
                            b->part_path, err);
        if (rc)
            break;
        b->rows[e->segment].live -= e->size;
        part->live += e->size;
        seen += e->size;
        /* Memory in use stays small, however large the store. */
        if (seen > FORGET_AFTER) {
            store_build_forget(b);
            seen = 0;
        }
        e->segment = b->part_row;
        e->offset = part->size;
        part->size += e->size;
    }
    return rc;
}

/* A rewrite that failed: its copies are of no use to anyone, the records are still where the index says. Once
 * it is a segment it is left alone: the index may name it already, and if not, the next build
 * takes it away. */
static void drop_rewrite(StoreBuild *b)
{
    if (!b->part_fd_plus1)
        return;
    close(b->part_fd_plus1 - 1);
    b->part_fd_plus1 = 0;
    unlink(b->part_path);
}

/* Nothing is written when nothing has changed. */
int store_build_commit(StoreBuild *b, const void *blob, uint64_t blob_size, int rewrite, Err *err)
{
    int rc = check_lost(b, err);
    if (rc)
        return rc;
    /* First make the new state hold, then tidy up: a kill in between costs disk space, not data. */
    if (store_build_changed(b, blob, blob_size)) {
        rc = finish_part(b, err);
        if (!rc)
            rc = write_index(b, blob, blob_size, err);
        if (rc)
            return rc;
        remove_unused_segments(b);
    } else {
        b->rows[b->part_row].live = 0;
        rc = finish_part(b, err);
    }
    if (!rc && b->count > 0 && (rewrite || is_untidy(b))) {
        rc = rewrite_all(b, err);
        if (!rc)
            rc = finish_part(b, err);
        if (!rc)
            rc = write_index(b, blob, blob_size, err);
        if (!rc)
            remove_unused_segments(b);
        else
            drop_rewrite(b);
        /* The new state holds already; tidying it can wait for room. */
        if (rc == ERR_NOSPACE && !rewrite) {
            err_clear(err);
            rc = 0;
        }
    }
    return rc;
}

void store_build_close(StoreBuild *b)
{
    if (!b)
        return;
    if (b->part_fd_plus1) {
        /* Nothing but a header, and nothing to go on from: leave no trace. */
        int empty = b->rows[b->part_row].size <= sizeof(SegmentHeader);
        close(b->part_fd_plus1 - 1);
        if (empty)
            unlink(b->part_path);
    }
    for (size_t i = 0; i < b->row_count; i++)
        if (!b->rows[i].borrowed)
            file_unmap(&b->rows[i].map);
    free(b->rows);
    free(b->entries);
    buf_free(&b->ids);
    free(b->salvaged);
    map_free(&b->by_id);
    free(b->part_path);
    free(b->dir);
    free(b->name);
    free(b);
}
