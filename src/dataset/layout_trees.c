/* layout_trees.c - the rows of layouts.h where every text is a separate file: pairs, LibriTTS, VCTK. They
 * know files by their names; only texts are opened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "dataset/layouts.h"
#include "dataset/lines.h"
#include "dataset/records.h"

#define TEXT_MAX_BYTES RECORD_MAX_BYTES

/* ---- texts ---- */

typedef struct Text {
    Str text;
    RejectReason reason; /* why it cannot be used, or REJECT_NONE */
    char detail[200];
} Text;

/* "0 3400000 sil": labels of sounds with their times, which also end with .lab. */
static int is_timed_labels(Str s)
{
    uint32_t i = 0;
    for (int number = 0; number < 2; number++) {
        uint32_t from = i;
        while (i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '.'))
            i++;
        if (i == from || i == s.n || (s.p[i] != ' ' && s.p[i] != '\t'))
            return 0;
        i++;
    }
    return i < s.n;
}

/* A copy in the block, in which white space with a line end is one blank. p is NULL if out of memory. */
static Str join_lines(Block *b, Str s)
{
    char *out = block_alloc(b, s.n + 1, 1);
    uint32_t n = 0;
    for (uint32_t i = 0; out && i < s.n;) {
        uint32_t k = i, ends = 0;
        for (; k < s.n && (s.p[k] == ' ' || (s.p[k] >= '\t' && s.p[k] <= '\r')); k++)
            ends |= s.p[k] == '\n' || s.p[k] == '\r';
        if (ends) {
            out[n++] = ' ';
            i = k;
        } else {
            out[n++] = s.p[i++];
        }
    }
    return (Str){out, n};
}

/* What is in the file, or why it cannot be used. 0 or ERR_NOMEM. */
static int read_text(Text *t, Dataset *d, const TreeFile *file, const char *path, Buf *buf)
{
    Err err = {0};
    *t = (Text){.text = {"", 0}};
    buf_clear(buf);
    int rc = file_read(buf, path, TEXT_MAX_BYTES, &err);
    if (rc == ERR_NOMEM)
        return rc;
    Str s = {buf->size ? buf->data : "", (uint32_t)buf->size};
    if (s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0)
        s = (Str){s.p + 3, s.n - 3};
    s = str_trim(s);
    if (rc == ERR_FORMAT) {
        t->reason = REJECT_LINE_TOO_LONG;
    } else if (rc) {
        t->reason = REJECT_TEXT_MISSING;
        snprintf(t->detail, sizeof t->detail, "%.199s", err.msg);
    } else if (s.n >= 2 && (memcmp(s.p, "\xFF\xFE", 2) == 0 || memcmp(s.p, "\xFE\xFF", 2) == 0)) {
        t->reason = REJECT_UTF8;
        snprintf(t->detail, sizeof t->detail, "UTF-16; iconv -f UTF-16 -t UTF-8 converts it");
    } else if (file->rank == TREE_LAB && is_timed_labels(s)) {
        t->reason = REJECT_MALFORMED;
        snprintf(t->detail, sizeof t->detail, "sounds with their times instead of a text");
    } else if (s.n) {
        t->text = join_lines(&d->block, s);
        return t->text.p ? 0 : ERR_NOMEM;
    }
    return 0;
}

/* ---- lines ---- */

/* Notes the file as the place of a line; the line's number, or 0 if out of memory. Names are bytes, messages
 * are UTF-8. */
static uint32_t add_source(Dataset *d, const char *path)
{
    size_t n = strlen(d->root), k = strlen(path);
    char *out = block_alloc(&d->block, n + k + 2, 1);
    if (!out || mem_grow(&d->sources, &d->source_cap, d->source_count + 1, sizeof *d->sources))
        return 0;
    memcpy(out, d->root, n);
    out[n] = '/';
    memcpy(out + n + (n == 0 || d->root[n - 1] != '/'), path, k);
    d->sources[d->source_count++] = out;
    return (uint32_t)d->source_count;
}

/* A text with its recording, one of which may be NULL. 0 or ERR_NOMEM. */
static int add_pair(LayoutPlace *p, Line line, const TreeFile *text, const TreeFile *audio, Buf *buf)
{
    Lines lines = {.d = p->d, .ids = p->ids, .prefix = {"wavs/"}};
    line.line = add_source(p->d, text ? text->path : audio ? audio->path : "");
    if (!line.line)
        return ERR_NOMEM;
    if (!text)
        return lines_reject(&lines, line.id, line.line, REJECT_TEXT_MISSING, "");
    if (!audio)
        return lines_reject(&lines, line.id, line.line, REJECT_AUDIO_MISSING, "");
    Text t;
    if (read_text(&t, p->d, text, p->d->sources[line.line - 1], buf))
        return ERR_NOMEM;
    if (t.reason)
        return lines_reject(&lines, line.id, line.line, t.reason, t.detail);
    line.text = t.text;
    line.audio = (Str){audio->path, (uint32_t)strlen(audio->path)};
    return lines_add(&lines, &line);
}

static int begin(LayoutPlace *p, Err *err)
{
    Dataset *d = p->d;
    d->metadata_path[0] = d->root;
    d->audio_dir[0] = layout_path(d, d->root, "");
    return d->audio_dir[0] ? 0 : err_set(err, ERR_NOMEM, "no memory to open the dataset");
}

/* ---- texts beside their recordings ---- */

typedef struct Clip { /* all files of one stem */
    const TreeFile *text, *audio;
} Clip;

/* The clip whose files begin at *i, which moves behind them. */
static Clip next_clip(const Tree *t, size_t *i)
{
    const TreeFile *first = &t->files[*i];
    Clip clip = {0};
    for (; *i < t->count; ++*i) {
        const TreeFile *f = &t->files[*i];
        if (f->stem != first->stem || memcmp(f->path, first->path, f->stem) != 0)
            break;
        const TreeFile **place = f->rank < 0 ? &clip.text : &clip.audio;
        *place = *place ? *place : f;
    }
    return clip;
}

static int has_clip(LayoutPlace *p, int normalised, Err *err)
{
    int rc = layout_tree(p, err);
    for (size_t i = 0; i < p->tree.count && !rc;) {
        Clip c = next_clip(&p->tree, &i);
        rc = c.text && c.audio && (!normalised || c.text->rank == TREE_NORMALISED);
    }
    return rc;
}

int layout_has_libritts(LayoutPlace *p, Err *err) { return has_clip(p, 1, err); }
int layout_has_pairs(LayoutPlace *p, Err *err) { return has_clip(p, 0, err); }

typedef struct Folders {
    Map with_clips;      /* hashes of the folders that hold a text with its recording */
    Str common;          /* what all of them begin with, up to a slash */
    size_t speakers;     /* names of folders that follow it */
    size_t clips, alone; /* alone: files in folders without clips */
} Folders;

static uint64_t folder_hash(const TreeFile *f) { return hash64(f->path, f->folder); }

static int holds_clips(const Folders *f, const TreeFile *file)
{
    uint32_t i;
    MapWalk w = map_walk(&f->with_clips, folder_hash(file));
    return map_next(&w, &i);
}

/* The part of the folder that follows the common one: "alice" of "data/alice/day1/". */
static Str speaker_of(const Folders *f, const TreeFile *file)
{
    Str s = {file->path + f->common.n, 0};
    while (f->common.n + s.n < file->folder && s.p[s.n] != '/')
        s.n++;
    return s;
}

/* 0 or ERR_NOMEM. */
static int look_at_folders(Folders *f, const Tree *t)
{
    for (size_t i = 0; i < t->count;) {
        Clip c = next_clip(t, &i);
        if (!c.text || !c.audio)
            continue;
        if (!f->clips++)
            f->common = (Str){c.audio->path, c.audio->folder};
        uint32_t n = 0, same = 0;
        for (; n < f->common.n && n < c.audio->folder && f->common.p[n] == c.audio->path[n]; n++)
            same = f->common.p[n] == '/' ? n + 1 : same;
        f->common.n = same;
        if (!holds_clips(f, c.audio) && map_add(&f->with_clips, folder_hash(c.audio), 0))
            return ERR_NOMEM;
    }
    /* Sorted by name, those of one speaker follow each other. */
    Str last = {"", 0};
    for (size_t i = 0; i < t->count;) {
        Clip c = next_clip(t, &i);
        if (!c.text || !c.audio)
            continue;
        Str speaker = speaker_of(f, c.audio);
        f->speakers += speaker.n && !str_equal(speaker, last);
        last = speaker.n ? speaker : last;
    }
    return 0;
}

/* SPEAKER of "train/SPEAKER/CHAPTER/"; "" where the path has no such folder. */
static Str reader_of(const TreeFile *file)
{
    uint32_t slashes = 0, end = file->folder;
    while (end > 0 && slashes < 2)
        slashes += file->path[--end] == '/';
    uint32_t from = end;
    while (from > 0 && file->path[from - 1] != '/')
        from--;
    return slashes == 2 ? (Str){file->path + from, end - from} : (Str){"", 0};
}

/* In LibriTTS names are unique and say speaker and chapter; elsewhere the folders are part of the id. */
static int add_clips(LayoutPlace *p, Folders *f, int is_libritts, Buf *buf)
{
    const Tree *t = &p->tree;
    for (size_t i = 0; i < t->count;) {
        Clip c = next_clip(t, &i);
        const TreeFile *file = c.audio ? c.audio : c.text;
        if (!holds_clips(f, file)) {
            f->alone++;
            continue;
        }
        Line line = {.id = {file->path, file->stem}, .speaker = {"", 0}, .language = {"", 0}};
        if (is_libritts) {
            line.id = (Str){file->path + file->folder, file->stem - file->folder};
            line.speaker = reader_of(file);
        } else if (f->speakers > 1) {
            line.speaker = speaker_of(f, file);
        }
        if (add_pair(p, line, c.text, c.audio, buf))
            return ERR_NOMEM;
    }
    return 0;
}

static int read_clips(LayoutPlace *p, int is_libritts, Err *err)
{
    Folders f = {0};
    Buf buf = {0};
    int rc = begin(p, err);
    if (!rc && (look_at_folders(&f, &p->tree) || add_clips(p, &f, is_libritts, &buf)))
        rc = err_set(err, ERR_NOMEM, "no memory for %zu files", p->tree.count);
    map_free(&f.with_clips);
    buf_free(&buf);
    if (rc)
        return rc;
    char speakers[120] = "", alone[80] = "";
    if (!is_libritts && f.speakers > 1 && p->cfg->enable_multispeaker) {
        p->d->folder_speakers = f.speakers;
        snprintf(speakers, sizeof speakers,
                 "; %zu folders, taken as %zu speakers (--enable-multispeaker false: as one)", f.speakers,
                 f.speakers);
    }
    if (f.alone)
        snprintf(alone, sizeof alone, "; %zu file%s in folders without such pairs left out", f.alone,
                 plural(f.alone));
    return layout_found(p->d, err, "%zu text%s beside %s recording%s%s%s", f.clips, plural(f.clips),
                        f.clips == 1 ? "its" : "their", plural(f.clips), speakers, alone);
}

int layout_read_libritts(LayoutPlace *p, Err *err) { return read_clips(p, 1, err); }
int layout_read_pairs(LayoutPlace *p, Err *err) { return read_clips(p, 0, err); }

/* ---- texts and recordings in two folders ---- */

#define TEXTS "txt/"
static const char *const microphones[] = {"_mic1", "", "_mic2"};

/* The file with this stem, a text (1) or a recording, or NULL. */
static const TreeFile *find_stem(const Tree *t, const char *stem, size_t n, int is_text)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t at = low + (high - low) / 2;
        const TreeFile *f = &t->files[at];
        int order = memcmp(f->path, stem, f->stem < n ? f->stem : n);
        if (order ? order < 0 : f->stem < n)
            low = at + 1;
        else
            high = at;
    }
    for (; low < t->count; low++) {
        const TreeFile *f = &t->files[low];
        if (f->stem != n || memcmp(f->path, stem, n) != 0)
            return NULL;
        if ((f->rank < 0) == is_text)
            return f;
    }
    return NULL;
}

/* folder + key + one of the endings; key has no folder at its front. */
static const TreeFile *find_in(const Tree *t, const char *folder, Str key, const char *const *endings,
                               int count, int is_text)
{
    char stem[4096];
    for (int i = 0; i < count; i++) {
        int n = snprintf(stem, sizeof stem, "%s%.*s%s", folder, (int)key.n, key.p, endings[i]);
        const TreeFile *f = n < (int)sizeof stem ? find_stem(t, stem, (size_t)n, is_text) : NULL;
        if (f)
            return f;
    }
    return NULL;
}

static int begins_with(const TreeFile *f, const char *folder)
{
    return strncmp(f->path, folder, strlen(folder)) == 0;
}

static const TreeFile *recording_of(const LayoutPlace *p, const TreeFile *text)
{
    Str key = {text->path + strlen(TEXTS), text->stem - (uint32_t)strlen(TEXTS)};
    return find_in(&p->tree, p->file, key, microphones, 3, 0);
}

/* wav48_silence_trimmed where there are several: VCTK 0.92 has them in FLAC. */
static const char *audio_folder(LayoutPlace *p)
{
    const TreeFile *best = NULL;
    for (size_t i = 0; i < p->tree.count; i++) {
        const TreeFile *f = &p->tree.files[i];
        if (f->rank >= 0 && begins_with(f, "wav") && strchr(f->path, '/') &&
            (!best ||
             (begins_with(f, "wav48_silence_trimmed/") && !begins_with(best, "wav48_silence_trimmed/"))))
            best = f;
    }
    return best ? block_strndup(&p->d->block, best->path, (size_t)(strchr(best->path, '/') + 1 - best->path))
                : NULL;
}

int layout_has_vctk(LayoutPlace *p, Err *err)
{
    int rc = layout_tree(p, err);
    if (rc)
        return rc;
    p->file = audio_folder(p);
    for (size_t i = 0; p->file && i < p->tree.count; i++) {
        const TreeFile *f = &p->tree.files[i];
        if (f->rank < 0 && begins_with(f, TEXTS) && recording_of(p, f))
            return 1;
    }
    return 0;
}

/* "p225/p225_001": the name says the speaker already. */
static Line vctk_line(Str key)
{
    const char *slash = memrchr(key.p, '/', key.n);
    Line line = {.id = key, .speaker = {"", 0}, .language = {"", 0}};
    if (!slash)
        return line;
    uint32_t n = (uint32_t)(slash - key.p), rest = key.n - n - 1;
    line.speaker = (Str){key.p, n};
    if (rest > n && memcmp(slash + 1, key.p, n) == 0 && slash[1 + n] == '_')
        line.id = (Str){slash + 1, rest};
    return line;
}

/* The recordings that no text names; the two of one clip are one line. */
static int add_unwritten(LayoutPlace *p, Buf *buf)
{
    static const char *const plain[] = {""};
    Str last = {"", 0};
    for (size_t i = 0; i < p->tree.count; i++) {
        const TreeFile *f = &p->tree.files[i];
        if (f->rank < 0 || !begins_with(f, p->file))
            continue;
        Str key = {f->path + strlen(p->file), f->stem - (uint32_t)strlen(p->file)};
        if (key.n > 5 && (!memcmp(key.p + key.n - 5, "_mic1", 5) || !memcmp(key.p + key.n - 5, "_mic2", 5)))
            key.n -= 5;
        if (str_equal(key, last) || find_in(&p->tree, TEXTS, key, plain, 1, 1))
            continue;
        last = key;
        if (add_pair(p, vctk_line(key), NULL, f, buf))
            return ERR_NOMEM;
    }
    return 0;
}

int layout_read_vctk(LayoutPlace *p, Err *err)
{
    Buf buf = {0};
    int rc = begin(p, err), short_of_memory = 0;
    for (size_t i = 0; i < p->tree.count && !rc && !short_of_memory; i++) {
        const TreeFile *f = &p->tree.files[i];
        if (f->rank >= 0 || !begins_with(f, TEXTS))
            continue;
        Line line = vctk_line((Str){f->path + strlen(TEXTS), f->stem - (uint32_t)strlen(TEXTS)});
        short_of_memory = add_pair(p, line, f, recording_of(p, f), &buf);
    }
    if (!rc && (short_of_memory || add_unwritten(p, &buf)))
        rc = err_set(err, ERR_NOMEM, "no memory for %zu files", p->tree.count);
    buf_free(&buf);
    return rc ? rc : layout_found(p->d, err, "texts from %s, recordings from %s", TEXTS, p->file);
}
