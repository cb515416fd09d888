/* store_build.c - from one state of a store to the next.
 *
 * The new state is a list of entries in the caller's order. Each comes from a record of the old state (keep),
 * from a record that an interrupted build left behind (salvage), or from a new record in one of the parts,
 * the segments being written (enter).
 *
 *   - mel-0002.part: records are appended here (store_part.c), by one process for each part; complete ones
 *     survive a kill and are found again by their ids
 *   - mel-0002.seg: the same file after fsync and rename
 *   - mel.index: replaced last; this makes the new state the current one
 *   - old segments: removed when no entry needs them any more
 *
 * Because records are written in a fixed order and a part that was left behind is written on, a build that is
 * killed and run again by as many processes writes the same bytes as one that is not. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "cache/store/store_part.h"
#include "cache/store/store_private.h"

#define SMALL_STORE (64u << 20)  /* bytes; a store below this size is always kept tidy */
#define SMALL_SEGMENT (8u << 20) /* bytes; in such a store none is smaller, unless it is the only one */
#define MAX_SEGMENTS 8           /* unless they are large */
#define FORGET_AFTER (16u << 20) /* bytes read through a mapping */

typedef struct Row { /* a segment of the new state */
    uint32_t number;
    int is_part;   /* it is called .part, or is not there yet */
    uint64_t size; /* of whole records and the header; 0: not there yet */
    FileMap map;   /* of an old or found segment; a part is mapped when needed */
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
    uint32_t *part_rows; /* [part_count] rows of the segments being written */
    int part_count;
    StorePart own;       /* of store_build_add; zeroed until there is a record */
    IndexEntry *entries; /* id_offset into ids */
    size_t count, cap;
    Buf ids;
    Salvaged *salvaged;
    size_t salvaged_count, salvaged_cap;
    Map by_id; /* of salvaged */
    int changed;
    int untidy; /* what the commit would have tidied up had there been room */
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

static int number_in_rows(const StoreBuild *b, uint32_t number, int part)
{
    for (size_t i = 0; i < b->row_count; i++)
        if (b->rows[i].number == number && b->rows[i].is_part == part)
            return 1;
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    int by_number = (x->number > y->number) - (x->number < y->number);
    return by_number ? by_number : x->is_part - y->is_part;
}

/* ---- opening ---- */

static char *row_path(const StoreBuild *b, const Row *row)
{
    return store_segment_path(b->dir, b->name, row->number, row->is_part);
}

/* Files with numbers behind those of the old state, in ascending order: what was being written when a build
 * was interrupted or, without an index, everything there is. */
static int list_leftovers(StoreBuild *b, Err *err)
{
    size_t first = b->row_count;
    uint32_t highest = first ? b->rows[first - 1].number : 0;
    DIR *d = opendir(b->dir);
    if (!d)
        return err_set_errno(err, ERR_IO, "cannot read the folder %s", b->dir);
    int rc = 0, part;
    for (struct dirent *f; !rc && (f = readdir(d)) != NULL;) {
        uint32_t number = segment_number(f->d_name, b->name, &part);
        if (number > highest)
            rc = row_add(b, (Row){.number = number, .is_part = part}, err);
    }
    closedir(d);
    if (b->row_count > first) /* qsort wants no NULL */
        qsort(b->rows + first, b->row_count - first, sizeof *b->rows, compare_rows);
    return rc;
}

/* Cuts off a record that is torn. */
static int cut_part(const char *path, const Row *row, Err *err)
{
    if (row->map.size == row->size)
        return 0;
    return truncate(path, (off_t)row->size) ? err_set_errno(err, ERR_IO, "cannot cut %s", path) : 0;
}

/* Takes up a row that was left behind, up to its last whole record. 1: it is of no use. */
static int open_leftover(StoreBuild *b, uint32_t at, Err *err)
{
    Row *row = &b->rows[at];
    char *path = row_path(b, row), *part_path = store_segment_path(b->dir, b->name, row->number, 1);
    int rc = path && part_path ? 0 : no_memory(b, err);
    /* Killed between renaming the segment and replacing the index: it is a part again. Without an index it
     * may be an old one as well, and stays. */
    if (!rc && b->old && !row->is_part) {
        rc = rename(path, part_path) ? err_set_errno(err, ERR_IO, "cannot rename %s", path) : 0;
        row->is_part = 1;
    }
    if (!rc)
        rc = file_map(&row->map, row->is_part ? part_path : path, err);
    /* ERR_FORMAT: not a regular file; any other failure may pass, and must not cost the records. A part
     * without a header was killed before its first record. */
    if (rc == ERR_FORMAT || (!rc && !segment_header_valid(&row->map, b->name, row->number))) {
        file_unmap(&row->map);
        rc = 1;
    }
    if (!rc)
        rc = salvage_row(b, at, &row->size, err);
    if (!rc && row->is_part)
        rc = cut_part(part_path, row, err);
    else if (!rc)
        row->size = row->map.size;
    free(path);
    free(part_path);
    return rc;
}

static int take_leftovers(StoreBuild *b, Err *err)
{
    size_t kept = b->row_count;
    int rc = list_leftovers(b, err);
    for (size_t i = kept; i < b->row_count && !rc; i++) {
        b->rows[kept] = b->rows[i];
        /* No build leaves a segment and a part of the same number. */
        int twice = kept > 0 && b->rows[kept - 1].number == b->rows[kept].number;
        rc = twice ? 1 : open_leftover(b, (uint32_t)kept, err);
        if (rc >= 0) {
            kept += rc == 0;
            rc = 0;
        }
    }
    /* After a failure the rest is not open. */
    b->row_count = kept;
    return rc;
}

/* Files of this store that no row refers to, left by a kill between two steps, and drafts of the index. */
static void remove_strays(StoreBuild *b)
{
    DIR *d = opendir(b->dir);
    if (!d)
        return;
    size_t n = strlen(b->name);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        int part;
        uint32_t number = segment_number(f->d_name, b->name, &part);
        int stray = number && !number_in_rows(b, number, part);
        stray =
            stray || (strncmp(f->d_name, b->name, n) == 0 && strncmp(f->d_name + n, ".index.tmp", 10) == 0);
        if (stray)
            unlinkat(dirfd(d), f->d_name, 0);
    }
    closedir(d);
}

/* A row for each part: those that were left behind are written on, in order; then new ones. Numbers only
 * grow: a name is never used for other bytes while an index may still refer to it. */
static int name_parts(StoreBuild *b, int parts, Err *err)
{
    b->part_rows = mem_calloc((size_t)parts, sizeof *b->part_rows);
    if (!b->part_rows)
        return no_memory(b, err);
    for (size_t i = 0; i < b->row_count && b->part_count < parts; i++)
        if (b->rows[i].is_part)
            b->part_rows[b->part_count++] = (uint32_t)i;
    while (b->part_count < parts) {
        uint32_t number = b->row_count ? b->rows[b->row_count - 1].number + 1 : 1;
        b->part_rows[b->part_count++] = (uint32_t)b->row_count;
        int rc = row_add(b, (Row){.number = number, .is_part = 1}, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Rows are the old segments in their order, then what is found beside them, then new parts. */
int store_build_open(StoreBuild **out, const char *dir, const char *name, const Store *old, Hash128 settings,
                     int parts, Err *err)
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
    if (!rc)
        rc = take_leftovers(b, err);
    if (!rc) {
        remove_strays(b);
        rc = name_parts(b, parts, err);
    }
    if (!rc)
        rc = salvage_index(b, err);
    if (rc) {
        store_build_close(b);
        return rc;
    }
    *out = b;
    return 0;
}

void store_build_part(const StoreBuild *b, int part, uint32_t *number, uint64_t *size)
{
    const Row *row = &b->rows[b->part_rows[part]];
    *number = row->number;
    *size = row->size;
}

void store_build_finished(StoreBuild *b, int part, uint64_t size)
{
    Row *row = &b->rows[b->part_rows[part]];
    row->is_part = 0;
    row->size = size;
}

/* ---- entries of the new state ---- */

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

/* A whole record of a build that did not finish. */
int store_build_salvage(StoreBuild *b, int64_t token, const FileStamp *stamp, Err *err)
{
    const Salvaged *s = &b->salvaged[token];
    const RecordHeader *r = salvaged_record(b, (size_t)token);
    IndexEntry e = entry_of_record(r, s->offset);
    e.segment = s->row;
    if (stamp)
        stamp_to_words(e.stamp, stamp);
    b->changed = 1;
    return entry_add(b, e, (const char *)(r + 1), err);
}

/* A new record, which is in its part already. */
int store_build_enter(StoreBuild *b, int part, const IndexEntry *added, const char *id, Err *err)
{
    IndexEntry e = *added;
    e.segment = b->part_rows[part];
    b->changed = 1;
    return entry_add(b, e, id, err);
}

int store_build_add(StoreBuild *b, const StoreRecord *r, Err *err)
{
    IndexEntry added;
    const Row *row = &b->rows[b->part_rows[0]];
    int rc =
        b->own.path ? 0 : store_part_open(&b->own, b->dir, b->name, row->number, row->size, b->settings, err);
    if (!rc)
        rc = store_part_add(&b->own, &added, r, err);
    return rc ? rc : store_build_enter(b, 0, &added, r->id, err);
}

uint64_t store_build_count(const StoreBuild *b) { return b->count; }

/* The row as its file is now. */
static int map_row(StoreBuild *b, Row *row, uint64_t least, Err *err)
{
    FileMap grown;
    char *path = row_path(b, row);
    int rc = path ? file_map(&grown, path, err) : no_memory(b, err);
    if (!rc) {
        file_unmap(&row->map);
        row->map = grown;
        if (row->map.size < least)
            rc = err_set(err, ERR_IO, "%s was cut short while it was being written", path);
    }
    free(path);
    return rc;
}

/* Entries of a part are written but not mapped yet: the mapping is made when one is asked for. */
int store_build_entry(StoreBuild *b, uint64_t i, StoreEntry *out, Err *err)
{
    ASSERT_CMP(i, <, b->count);
    const IndexEntry *e = &b->entries[i];
    Row *row = &b->rows[e->segment];
    uint64_t end = e->offset + e->size;
    /* The part has grown since it was mapped. */
    if (row->map.size < end) {
        ASSERT(!row->borrowed);
        int rc = map_row(b, row, end, err);
        if (rc)
            return rc;
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

/* Parts that were not continued become segments, or are removed if nothing in them is needed. */
static int finish_parts(StoreBuild *b, Err *err)
{
    int rc = 0;
    for (size_t i = 0; i < b->row_count && !rc; i++) {
        Row *row = &b->rows[i];
        if (!row->is_part || row->size == 0)
            continue;
        StorePart part;
        rc = store_part_open(&part, b->dir, b->name, row->number, row->size, b->settings, err);
        if (!rc && row->live == 0)
            store_part_drop(&part);
        else if (!rc)
            rc = store_part_finish(&part, err);
        row->is_part = rc != 0;
        store_part_close(&part);
    }
    return rc;
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

/* Only after the new index holds: until then the old one needs them. Without memory of its own: the next
 * build may find nothing to do, and would leave them. */
static void remove_unused_segments(StoreBuild *b)
{
    for (size_t i = 0; i < b->row_count; i++) {
        char file[64], path[PATH_MAX];
        snprintf(file, sizeof file, SEGMENT_FILE, b->name, b->rows[i].number, "seg");
        if (!number_is_live(b, b->rows[i].number) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", b->dir, file) < sizeof path)
            unlink(path);
    }
}

/* Worth moving everything to one segment? */
static int is_untidy(const StoreBuild *b)
{
    /* Dead bytes are records that were replaced; they cost disk and page cache. */
    uint64_t total = 0, live = 0, smallest = UINT64_MAX;
    size_t rows = 0;
    for (size_t i = 0; i < b->row_count; i++) {
        const Row *row = &b->rows[i];
        if (row->live == 0)
            continue;
        rows++;
        live += row->live;
        total += row->size - sizeof(SegmentHeader);
        smallest = row->size < smallest ? row->size : smallest;
    }
    if ((rows > MAX_SEGMENTS && total / rows < SMALL_STORE) || total - live > live / 3)
        return 1;
    return total < SMALL_STORE && ((rows > 1 && smallest < SMALL_SEGMENT) || total != live);
}

/* Records that were read through a mapping may have been zeros: nothing made of them is kept. */
static int check_lost(const StoreBuild *b, Err *err)
{
    for (size_t i = 0; i < b->row_count; i++)
        if (file_lost(&b->rows[i].map)) {
            err_set(err, ERR_DAMAGED,
                    "segment %u of the %s cache in %s was cut short while it was read, or its disk failed",
                    b->rows[i].number, b->name, b->dir);
            return err_hint(err, "run the same command again: it rebuilds what is damaged");
        }
    return 0;
}

/* Copies every live record, in entry order, to a new segment, the last row. */
static int rewrite_all(StoreBuild *b, StorePart *part, Err *err)
{
    uint64_t seen = 0;
    /* The number after the highest that is in use. */
    uint32_t number = 0;
    for (size_t i = 0; i < b->row_count; i++)
        number = b->rows[i].live && b->rows[i].number > number ? b->rows[i].number : number;
    /* What was written has to be mapped to be copied from. */
    int rc = 0;
    for (size_t i = 0; i < b->row_count && !rc; i++)
        if (b->rows[i].live > 0 && b->rows[i].map.size < b->rows[i].size)
            rc = map_row(b, &b->rows[i], b->rows[i].size, err);
    uint32_t to = (uint32_t)b->row_count;
    if (!rc)
        rc = row_add(b, (Row){.number = number + 1, .is_part = 1}, err);
    if (!rc)
        rc = store_part_open(part, b->dir, b->name, number + 1, 0, b->settings, err);
    for (size_t i = 0; i < b->count && !rc; i++) {
        IndexEntry *e = &b->entries[i];
        Row *from = &b->rows[e->segment];
        /* write() alone would say "Bad address" of a page that is gone. */
        if (!segment_record(&from->map, e->offset) && (rc = check_lost(b, err)))
            break;
        /* Records are copied as they are; their checksums hold. */
        uint64_t at = 0;
        rc = store_part_copy(part, &at, from->map.data + e->offset, e->size, err);
        if (rc)
            break;
        from->live -= e->size;
        b->rows[to].live += e->size;
        seen += e->size;
        /* Memory in use stays small, however large the store. */
        if (seen > FORGET_AFTER) {
            store_build_forget(b);
            seen = 0;
        }
        e->segment = to;
        e->offset = at;
    }
    if (!rc)
        b->rows[to].size = part->size;
    return rc;
}

/* If it fails, its copies are of no use to anyone, the records are still where the index says. Once it is a
 * segment it is left alone: the index may name it already, and if not, the next build takes it away. */
static int tidy(StoreBuild *b, const void *blob, uint64_t blob_size, Err *err)
{
    StorePart part = {0};
    int rc = rewrite_all(b, &part, err);
    if (!rc)
        rc = store_part_finish(&part, err);
    if (!rc) {
        b->rows[b->row_count - 1].is_part = 0;
        rc = write_index(b, blob, blob_size, err);
    }
    if (!rc)
        remove_unused_segments(b);
    else
        store_part_drop(&part);
    store_part_close(&part);
    return rc;
}

/* Nothing is written when nothing has changed. */
int store_build_commit(StoreBuild *b, const void *blob, uint64_t blob_size, int rewrite, Err *err)
{
    int rc = check_lost(b, err);
    if (!rc && b->own.added) {
        rc = store_part_finish(&b->own, err);
        store_build_finished(b, 0, b->own.size);
    }
    if (!rc)
        rc = finish_parts(b, err);
    if (rc)
        return rc;
    /* First make the new state hold, then tidy up: a kill in between costs disk space, not data. */
    if (store_build_changed(b, blob, blob_size)) {
        rc = write_index(b, blob, blob_size, err);
        if (rc)
            return rc;
        remove_unused_segments(b);
    }
    if (b->count > 0 && (rewrite || is_untidy(b)))
        rc = tidy(b, blob, blob_size, err);
    /* The new state holds already; tidying it can wait for room. */
    if (rc == ERR_NOSPACE && !rewrite) {
        err_clear(err);
        b->untidy = 1;
        rc = 0;
    }
    return rc;
}

int store_build_untidy(const StoreBuild *b) { return b->untidy; }

void store_build_close(StoreBuild *b)
{
    if (!b)
        return;
    store_part_close(&b->own);
    for (size_t i = 0; i < b->row_count; i++)
        if (!b->rows[i].borrowed)
            file_unmap(&b->rows[i].map);
    free(b->rows);
    free(b->part_rows);
    free(b->entries);
    buf_free(&b->ids);
    free(b->salvaged);
    map_free(&b->by_id);
    free(b->dir);
    free(b->name);
    free(b);
}
