/* state_file.c - see state_file.h. */
#include "cache/state_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

#define STATE_VERSION 1          /* of the file; another program makes its own in any case */
#define PIECE_CLIPS 128          /* clips of a piece */
#define MOST_PIECE (64u << 20)   /* bytes of one */
#define MOST_TABLES (1ull << 30) /* bytes of all tables */

static const char state_magic[8] = "MYXTTSP\n";

/* One clip on disk, followed by its id and the path of its recording. */
typedef struct ClipHead {
    uint64_t stamp;
    uint32_t id_size, audio_size;
    uint16_t file, header;
    uint32_t zero;
} ClipHead;

typedef struct PieceRow {
    uint64_t offset, size, checksum;
} PieceRow;

/* ---- hashes ---- */

uint64_t state_dataset(const Dataset *d)
{
    uint64_t h = d->count;
    for (size_t i = 0; i < d->count; i++) {
        const Utterance *u = &d->utterances[i];
        const uint64_t parts[] = {h,
                                  hash64(u->id.p, u->id.n),
                                  hash64(u->text.p, u->text.n),
                                  hash64(u->audio.p, u->audio.n),
                                  hash64(u->language.p, u->language.n),
                                  (uint64_t)u->line << 8 | u->file};
        h = hash64(parts, sizeof parts);
    }
    for (size_t i = 0; i < d->rejected_count; i++) {
        const Rejection *r = &d->rejected[i];
        const uint64_t parts[] = {h, hash64(r->id.p, r->id.n), hash64(r->detail, strlen(r->detail)),
                                  (uint64_t)r->line << 16 | (uint64_t)r->file << 8 | r->reason};
        h = hash64(parts, sizeof parts);
    }
    const uint64_t parts[] = {h, d->lines};
    return hash64(parts, sizeof parts);
}

/* ---- reading ---- */

static char *path_of(const char *dir, const PrepareOptions *o)
{
    char name[64];
    snprintf(name, sizeof name, "prepared%s%s%s.state", o->text ? "-text" : "", o->mel ? "-mel" : "",
             o->audio ? "-audio" : "");
    return file_join(dir, name);
}

static uint64_t pieces_size(const StateHead *h) { return h->pieces * sizeof(PieceRow); }

static int head_is_valid(const StateHead *h)
{
    const uint64_t most = MOST_TABLES / 4;
    return memcmp(h->magic, state_magic, sizeof h->magic) == 0 && h->version == STATE_VERSION &&
           h->report_size == sizeof h->report && h->checksum == hash64(h, offsetof(StateHead, checksum)) &&
           h->pieces < most / sizeof(PieceRow) && h->found_size < most && h->told_size < most &&
           h->unknown_size < most;
}

/* The tables are read as one. */
static int read_tables(StateFile *s)
{
    const StateHead *h = &s->head;
    const uint64_t size = pieces_size(h) + h->found_size + h->told_size + h->unknown_size;
    buf_zero(&s->tables, (size_t)size);
    return !s->tables.failed &&
           file_pread_all(s->fd_plus1 - 1, s->tables.data, (size_t)size, sizeof *h, s->path, NULL) == 0 &&
           hash64(s->tables.data, (size_t)size) == h->tables_checksum;
}

int state_file_open(StateFile *s, const char *dir, const PrepareOptions *stages)
{
    *s = (StateFile){.path = path_of(dir, stages)};
    s->fd_plus1 = s->path ? open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) + 1 : 0;
    if (s->fd_plus1 && file_pread_all(s->fd_plus1 - 1, &s->head, sizeof s->head, 0, s->path, NULL) == 0 &&
        head_is_valid(&s->head) && read_tables(s))
        return 1;
    state_file_close(s);
    return 0;
}

void state_file_close(StateFile *s)
{
    if (s->fd_plus1)
        close(s->fd_plus1 - 1);
    buf_free(&s->tables);
    free(s->path);
    *s = (StateFile){0};
}

Hash128 state_file_hash(const StateFile *s) { return hash_bytes(&s->head, sizeof s->head); }

/* Ends with a NUL, as it was written. */
const char *state_found(const StateFile *s)
{
    return s->head.found_size ? s->tables.data + pieces_size(&s->head) : "";
}

SharePiece state_told(const StateFile *s)
{
    return (SharePiece){s->tables.data + pieces_size(&s->head) + s->head.found_size, s->head.told_size};
}

const uint32_t *state_unknown(const StateFile *s, size_t *pairs)
{
    *pairs = s->head.unknown_size / 8;
    return (const uint32_t *)(const void *)(s->tables.data + pieces_size(&s->head) + s->head.found_size +
                                            s->head.told_size);
}

int state_piece(const StateFile *s, uint64_t piece, Buf *bytes)
{
    PieceRow row;
    memcpy(&row, s->tables.data + piece * sizeof row, sizeof row);
    buf_clear(bytes);
    if (row.size > MOST_PIECE)
        return 0;
    buf_zero(bytes, row.size);
    return !bytes->failed &&
           file_pread_all(s->fd_plus1 - 1, bytes->data, row.size, row.offset, s->path, NULL) == 0 &&
           hash64(bytes->data, row.size) == row.checksum;
}

int state_clip(SharePiece *at, StateClip *c)
{
    ClipHead h;
    if (at->size < sizeof h)
        return 0;
    memcpy(&h, at->data, sizeof h);
    const uint64_t size = sizeof h + (uint64_t)h.id_size + h.audio_size;
    if (size > at->size || h.file > 1 || h.header >= REJECT_COUNT)
        return 0;
    *c = (StateClip){.id = {at->data + sizeof h, h.id_size},
                     .audio = {at->data + sizeof h + h.id_size, h.audio_size},
                     .file = h.file,
                     .header = (RejectReason)h.header,
                     .stamp = h.stamp};
    at->data += size;
    at->size -= size;
    return 1;
}

/* ---- writing ---- */

static int is_of_header(RejectReason r)
{
    return r == REJECT_AUDIO_UNREADABLE || r == REJECT_AUDIO_EMPTY || r == REJECT_AUDIO_TOO_SHORT ||
           r == REJECT_AUDIO_TOO_LONG;
}

/* Clips from PIECE_CLIPS * piece on, as they are on disk. */
static void make_piece(Buf *out, const Preparation *p, uint64_t piece)
{
    const Dataset *d = p->dataset;
    const size_t first = piece * PIECE_CLIPS;
    buf_clear(out);
    for (size_t i = first; i < d->count && i < first + PIECE_CLIPS; i++) {
        const Utterance *u = &d->utterances[i];
        const RejectReason reason = (RejectReason)p->rejected[i];
        const ClipHead h = {.stamp = p->stamps[i],
                            .id_size = u->id.n,
                            .audio_size = u->audio.n,
                            .file = u->file,
                            .header = is_of_header(reason) ? (uint16_t)reason : REJECT_NONE};
        buf_add(out, &h, sizeof h);
        buf_add(out, u->id.p, u->id.n);
        buf_add(out, u->audio.p, u->audio.n);
    }
}

/* What of a report is the same next time. */
static PrepareReport next_report(const PrepareReport *r)
{
    PrepareReport next = *r;
    CacheReport *const caches[] = {&next.text, &next.mel, &next.audio};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        *caches[i] = (CacheReport){.reused = caches[i]->built + caches[i]->reused};
    for (int i = 0; i < LIMITS_COUNT; i++)
        next.limits.limit[i].key = NULL;
    next.cache_dir = next.rejected_path = NULL;
    next.unknown = NULL;
    next.caches = (CacheList){0};
    next.seconds = 0;
    return next;
}

/* The rows of the pieces, which lie behind the tables; then what state_found, told and unknown return. */
static void make_tables(Buf *tables, StateHead *h, const Preparation *p, const PrepareReport *report)
{
    const Dataset *d = p->dataset;
    Buf piece = {0}, found = {0};
    buf_printf(&found, "%s: %s", d->layout, d->found);
    h->found_size = (found.size + 8) & ~(uint64_t)7; /* at least one NUL */
    h->told_size = (p->told.size + 7) & ~(uint64_t)7;
    h->unknown_size = report->unknown_count * 8;
    uint64_t offset = sizeof *h + pieces_size(h) + h->found_size + h->told_size + h->unknown_size;
    for (uint64_t k = 0; k < h->pieces; k++) {
        make_piece(&piece, p, k);
        const PieceRow row = {offset, piece.size, hash64(piece.data, piece.size)};
        buf_add(tables, &row, sizeof row);
        offset += piece.size;
        tables->failed |= piece.failed;
    }
    buf_add(tables, found.data, found.size);
    buf_zero(tables, h->found_size - found.size);
    buf_add(tables, p->told.data, p->told.size);
    buf_zero(tables, h->told_size - p->told.size);
    buf_add(tables, report->unknown, h->unknown_size);
    tables->failed |= found.failed | p->told.failed;
    buf_free(&piece);
    buf_free(&found);
}

static int write_pieces(FileWriter *w, const StateHead *h, const Preparation *p)
{
    Buf piece = {0};
    int rc = 0;
    for (uint64_t k = 0; k < h->pieces && !rc; k++) {
        make_piece(&piece, p, k);
        rc = piece.failed ? ERR_NOMEM : file_writer_write(w, piece.data, piece.size, NULL);
    }
    buf_free(&piece);
    return rc;
}

Hash128 state_file_write(const Preparation *p, const PrepareOptions *stages, const PrepareReport *report,
                         const StateKeys *keys)
{
    StateHead h = {.version = STATE_VERSION, .report_size = sizeof h.report, .keys = *keys};
    const Hash128 none = {0};
    FileWriter w = {0};
    Buf tables = {0};
    char *path = path_of(p->dir, stages);
    memcpy(h.magic, state_magic, sizeof h.magic);
    h.report = next_report(report);
    h.clips = p->stamps ? p->dataset->count : 0;
    h.pieces = (h.clips + PIECE_CLIPS - 1) / PIECE_CLIPS;
    make_tables(&tables, &h, p, report);
    h.tables_checksum = hash64(tables.data, tables.size);
    h.checksum = hash64(&h, offsetof(StateHead, checksum));
    const int written = path && !tables.failed && !file_writer_open(&w, path, NULL) &&
                        !file_writer_write(&w, &h, sizeof h, NULL) &&
                        !file_writer_write(&w, tables.data, tables.size, NULL) && !write_pieces(&w, &h, p) &&
                        !file_writer_commit(&w, NULL);
    file_writer_abort(&w);
    buf_free(&tables);
    free(path);
    return written ? hash_bytes(&h, sizeof h) : none;
}
