/* store_part.c - see store_part.h. */
#include "cache/store/store_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cache/store/store_private.h"

#define FLUSH_AFTER (8u << 20) /* bytes */

int store_part_open(StorePart *p, const char *dir, const char *name, uint32_t number, uint64_t size,
                    Hash128 settings, Err *err)
{
    *p = (StorePart){.number = number, .settings = settings, .size = size, .flushed = size};
    snprintf(p->name, sizeof p->name, "%s", name);
    p->path = store_segment_path(dir, name, number, 1);
    p->final_path = store_segment_path(dir, name, number, 0);
    if (p->path && p->final_path)
        return 0;
    store_part_close(p);
    return err_set(err, ERR_NOMEM, "no memory to build the %s cache", name);
}

/* Creates the part when it is first needed, or appends to its contents. */
static int open_file(StorePart *p, Err *err)
{
    if (p->fd_plus1)
        return 0;
    int fd = open(p->path, O_RDWR | O_CLOEXEC | (p->size ? 0 : O_CREAT | O_TRUNC), 0666);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, "cannot %s %s", p->size ? "open" : "create", p->path);
    p->fd_plus1 = fd + 1;
    if (p->size) {
        off_t at = lseek(fd, (off_t)p->size, SEEK_SET);
        return at < 0 ? err_set_errno(err, ERR_IO, "cannot continue to write %s", p->path) : 0;
    }
    /* The header names the store and the number, so that a file that was copied elsewhere is not taken for
     * ours. */
    SegmentHeader h = {.version = STORE_VERSION, .number = p->number};
    memcpy(h.magic, SEGMENT_MAGIC, 8);
    memcpy(h.store, p->name, sizeof h.store);
    h.checksum = segment_header_checksum(&h);
    p->size = sizeof h;
    return file_write_all(fd, &h, sizeof h, p->path, err);
}

IndexEntry entry_of_record(const RecordHeader *r, uint64_t offset)
{
    IndexEntry e = {.key = {r->key[0], r->key[1]},
                    .offset = offset,
                    .size = r->size,
                    .payload_size = r->payload_size,
                    .payload_offset = r->payload_offset,
                    .items = r->items,
                    .status = r->status,
                    .format = r->format,
                    .extra = r->extra,
                    .id_size = r->id_size};
    memcpy(e.stamp, r->stamp, sizeof e.stamp);
    return e;
}

/* One call for all pieces: a kill leaves at most one torn record, at the end. */
static int write_parts(StorePart *p, struct iovec *parts, int n, uint64_t size, Err *err)
{
    int fd = p->fd_plus1 - 1, rc = 0;
    ssize_t wrote = writev(fd, parts, n);
    if (wrote == (ssize_t)size)
        return 0;
    /* A short write is rare: the rest piece by piece. */
    uint64_t done = wrote < 0 ? 0 : (uint64_t)wrote;
    if (wrote < 0 && errno != EINTR)
        rc = err_set_errno(err, ERR_IO, "cannot write %s", p->path);
    for (int i = 0; i < n && !rc; i++) {
        if (done >= parts[i].iov_len) {
            done -= parts[i].iov_len;
            continue;
        }
        rc =
            file_write_all(fd, (const char *)parts[i].iov_base + done, parts[i].iov_len - done, p->path, err);
        done = 0;
    }
    return rc;
}

int store_part_add(StorePart *p, IndexEntry *added, const StoreRecord *rec, Err *err)
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
                      .settings = {p->settings.lo, p->settings.hi}};
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
    int rc = open_file(p, err);
    if (rc)
        return rc;
    int fd = p->fd_plus1 - 1;
    rc = write_parts(p, parts, 5, h.size, err);
    if (rc) {
        if (rc == ERR_NOSPACE)
            err_hint(err, "free some space, or put the cache on another disk with --cache-dir, and run the "
                          "same command again: it continues where it stopped");
        /* The torn record; the next build would cut it anyway. */
        if (ftruncate(fd, (off_t)p->size) == 0)
            lseek(fd, 0, SEEK_END);
        return rc;
    }
    *added = entry_of_record(&h, p->size);
    p->size += h.size;
    p->added++;
    /* The disk begins now, so that the fsync at the end has little left to wait for. */
    if (p->size - p->flushed > FLUSH_AFTER) {
        sync_file_range(fd, (off_t)p->flushed, (off_t)(p->size - p->flushed), SYNC_FILE_RANGE_WRITE);
        p->flushed = p->size;
    }
    return 0;
}

int store_part_copy(StorePart *p, uint64_t *offset, const void *record, uint64_t size, Err *err)
{
    int rc = open_file(p, err);
    if (!rc)
        rc = file_write_all(p->fd_plus1 - 1, record, size, p->path, err);
    if (rc)
        return rc;
    *offset = p->size;
    p->size += size;
    return 0;
}

static void close_file(StorePart *p)
{
    if (p->fd_plus1)
        close(p->fd_plus1 - 1);
    p->fd_plus1 = 0;
}

/* Bytes before name: after the rename the segment must be whole whatever happens. */
int store_part_finish(StorePart *p, Err *err)
{
    int rc = open_file(p, err);
    if (rc)
        return rc;
    if (fsync(p->fd_plus1 - 1))
        return err_set_errno(err, ERR_IO, "cannot sync %s", p->path);
    close_file(p);
    if (rename(p->path, p->final_path))
        return err_set_errno(err, ERR_IO, "cannot rename %s to %s", p->path, p->final_path);
    p->is_final = 1;
    return file_sync_dir_of(p->path, err);
}

void store_part_drop(StorePart *p)
{
    close_file(p);
    if (p->path && !p->is_final)
        unlink(p->path);
}

void store_part_close(StorePart *p)
{
    /* Only a header, so nothing to continue: leave no trace. */
    if (p->fd_plus1 && p->size <= sizeof(SegmentHeader))
        store_part_drop(p);
    close_file(p);
    free(p->path);
    free(p->final_path);
    *p = (StorePart){0};
}
