/* dataset.c - see dataset.h: opens a dataset, gives each utterance its speaker and its side
 * of the split. */
#include "dataset/dataset.h"

#include <ctype.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "dataset/audio_endings.h"
#include "dataset/layouts.h"
#include "dataset/name_forms.h"
#include "dataset/whats_there.h"

static const struct {
    const char *code, *text;
} reasons[] = {{"none", "nothing is wrong"},
#define X(name, code, text) {code, text},
               REJECT_REASONS(X)
#undef X
};

const char *reject_code(RejectReason r) { return r < REJECT_COUNT ? reasons[r].code : "unknown"; }
const char *reject_text(RejectReason r) { return r < REJECT_COUNT ? reasons[r].text : "unknown reason"; }

RejectReason reject_because(RejectReason r, char *detail, size_t cap, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (cap)
        vsnprintf(detail, cap, fmt, args);
    va_end(args);
    return r;
}

static const char *or_empty(const char *s) { return s ? s : ""; }

/* ---- rejections ---- */

/* The detail is copied: callers build it on their stack. */
int dataset_reject(Dataset *d, Str id, uint32_t line, int file, RejectReason reason, const char *detail)
{
    const char *copy = "";
    if (detail && detail[0] && !(copy = block_strndup(&d->block, detail, strlen(detail))))
        return ERR_NOMEM;
    if (mem_grow(&d->rejected, &d->rejected_cap, d->rejected_count + 1, sizeof *d->rejected))
        return ERR_NOMEM;
    d->rejected[d->rejected_count++] =
        (Rejection){.id = id, .line = line, .file = (uint8_t)file, .reason = reason, .detail = copy};
    return 0;
}

const char *dataset_place(const Dataset *d, int file, uint32_t line, uint32_t *line_of_file)
{
    int own = !file && line > 0 && line <= d->source_count;
    *line_of_file = own ? 1 : line;
    return own ? d->sources[line - 1] : or_empty(d->metadata_path[file]);
}

/* One value of a line of tab-separated values: what would break the line becomes a space. */
static void add_value(Buf *out, const char *p, size_t n, char end)
{
    size_t at = out->size;
    buf_add(out, p, n);
    buf_add(out, &end, 1);
    if (out->failed)
        return;
    int ascii = utf8_valid(p, n) < n; /* the name of a file may be any bytes */
    for (char *c = out->data + at; n--; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' ';
        else if (ascii && (unsigned char)*c > 0x7F)
            *c = '?';
    }
}

static int compare_rejections(const void *a, const void *b)
{
    const Rejection *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

void dataset_sort_rejected(Dataset *d)
{
    if (d->rejected_count)
        qsort(d->rejected, d->rejected_count, sizeof *d->rejected, compare_rejections);
}

/* Written whole or not at all; also when nothing was rejected, so that an old list does not mislead. */
int dataset_write_rejected(const Dataset *d, const char *path, Err *err)
{
    Buf out = {0};
    size_t root = d->root ? strlen(d->root) : 0;
    buf_str(&out, "file\tline\tid\treason\tdetail\n");
    for (size_t i = 0; i < d->rejected_count; i++) {
        const Rejection *r = &d->rejected[i];
        /* Relative to the dataset, so that the list stays true when the folder moves. */
        uint32_t at;
        const char *file = dataset_place(d, r->file, r->line, &at);
        if (root && !strncmp(file, d->root, root) && file[root] == '/')
            file += root + 1;
        char line[16];
        int n = snprintf(line, sizeof line, "%u", at);
        add_value(&out, file, strlen(file), '\t');
        add_value(&out, line, (size_t)n, '\t');
        add_value(&out, r->id.p, r->id.n, '\t');
        add_value(&out, reject_code(r->reason), strlen(reject_code(r->reason)), '\t');
        add_value(&out, r->detail, strlen(r->detail), '\n');
    }
    int rc = out.failed ? err_set(err, ERR_NOMEM, "no memory to list %zu rejected lines", d->rejected_count)
                        : file_replace(path, out.data, out.size, err);
    buf_free(&out);
    return rc;
}

/* ---- speakers and split ---- */

/* POSIX has no \d, but people write it anyway: it becomes [0-9], inside brackets 0-9. Malloc'd. */
static char *pattern_to_posix(const char *pattern)
{
    Buf out = {0};
    int in_brackets = 0;
    const char *bracket = NULL;
    for (const char *p = pattern; *p; p++) {
        if (p[0] == '\\' && p[1] == 'd') {
            buf_str(&out, in_brackets ? "0-9" : "[0-9]");
            p++;
        } else if (p[0] == '\\' && p[1] && !in_brackets) {
            buf_add(&out, p++, 2);
        } else {
            /* Inside of brackets a backslash is a letter, and ] as the first one too. */
            if (*p == '[' && !in_brackets) {
                in_brackets = 1;
                bracket = p;
            } else if (*p == ']' && in_brackets && p > bracket + 1 + (bracket[1] == '^')) {
                in_brackets = 0;
            }
            buf_add(&out, p, 1);
        }
    }
    if (out.failed) {
        buf_free(&out);
        return NULL;
    }
    return out.data;
}

/* The rule of the configuration has compiled the pattern as it is; here \d has been replaced. */
static int compile_pattern(regex_t *re, const char *pattern, Err *err)
{
    char *posix = pattern_to_posix(pattern);
    if (!posix)
        return err_set(err, ERR_NOMEM, "no memory for speaker_id_pattern");
    int rc = regcomp(re, posix, REG_EXTENDED);
    free(posix);
    if (rc) {
        char why[128];
        regerror(rc, re, why, sizeof why);
        err_set(err, ERR_CONFIG, "speaker_id_pattern '%s' is not a regular expression: %s", pattern, why);
        return err_hint(err, "use POSIX extended syntax; for ids like p225_001 it is ^(p[0-9]+)_");
    }
    if (!re->re_nsub) {
        regfree(re);
        err_set(err, ERR_CONFIG, "speaker_id_pattern '%s' has no group ( ) for the speaker", pattern);
        return err_hint(err, "put parentheses around the part that is the speaker, as in ^(p[0-9]+)_");
    }
    return 0;
}

/* Group 1 of the pattern; "" when it does not match. */
static Str speaker_of_id(const regex_t *re, Str id)
{
    char name[4096]; /* regexec wants a NUL at the end; an id longer than any path names no file anyway */
    regmatch_t m[2];
    if (id.n >= sizeof name)
        return (Str){"", 0};
    memcpy(name, id.p, id.n);
    name[id.n] = 0;
    if (regexec(re, name, 2, m, 0) || m[1].rm_so < 0)
        return (Str){"", 0};
    return (Str){id.p + m[1].rm_so, (uint32_t)(m[1].rm_eo - m[1].rm_so)};
}

/* The column wins; the pattern fills what it leaves empty. */
static int set_speakers(Dataset *d, const Config *cfg, Err *err)
{
    const char *pattern = or_empty(cfg->speaker_id_pattern);
    regex_t re;
    int by_pattern = cfg->enable_multispeaker && pattern[0];
    if (by_pattern) {
        int rc = compile_pattern(&re, pattern, err);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < d->count; i++) {
        Utterance *u = &d->utterances[i];
        if (!cfg->enable_multispeaker)
            u->speaker = (Str){"", 0};
        else if (by_pattern && !u->speaker.n)
            u->speaker = speaker_of_id(&re, u->id);
    }
    if (by_pattern)
        regfree(&re);
    return 0;
}

/* A separate metadata file for validation decides; without one, the texts. */
static void set_splits(Dataset *d, const Config *cfg)
{
    if (!d->metadata_path[1])
        dataset_split_all(d, cfg->seed, cfg->val_split);
    for (size_t i = 0; d->metadata_path[1] && i < d->count; i++)
        d->utterances[i].split = d->utterances[i].file ? SPLIT_VAL : SPLIT_TRAIN;
}

/* ---- opening ---- */

/* A dataset that has nothing but its root. */
static int set_root(Dataset *d, const Config *cfg, Err *err)
{
    *d = (Dataset){0};
    const char *root = or_empty(cfg->data_path);
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/')
        n--;
    d->root = block_strndup(&d->block, root, n);
    return d->root ? 0 : err_set(err, ERR_NOMEM, "no memory to open the dataset");
}

Hash128 dataset_look(Dataset *d, const Config *cfg)
{
    LayoutPlace p = {.d = d, .cfg = cfg};
    const Hash128 none = {0};
    return set_root(d, cfg, NULL) ? none : layout_look(&p);
}

/* The root, then what its layout says, then speakers and split. */
int dataset_open(Dataset *d, const Config *cfg, Err *err)
{
    Map ids = {0};
    int rc = set_root(d, cfg, err);
    if (rc)
        goto fail;
    rc = layout_is_folder(d->root) ? layouts_read(d, &ids, cfg, err) : whats_there_no_root(d->root, err);
    if (rc)
        goto fail;
    if ((rc = set_speakers(d, cfg, err)))
        goto fail;
    set_splits(d, cfg);
    map_free(&ids);
    return 0;
fail:
    map_free(&ids);
    dataset_close(d);
    return rc;
}

void dataset_close(Dataset *d)
{
    free(d->utterances);
    free(d->rejected);
    free(d->sources);
    for (int i = 0; i < 2; i++)
        buf_free(&d->metadata[i]);
    block_free(&d->block);
    *d = (Dataset){0};
}

/* ---- audio files of ids ---- */

/* Where a file is looked for, and what was found. */
typedef struct Search {
    char *out; /* [cap] */
    size_t cap;
    struct stat st;
} Search;

/* 1 when out = dir/id+extension is there (upper: the extension in capitals); backslashes are slashes where
 * windows is 1. */
static int try_path(Search *s, const char *dir, Str id, const char *extension, int upper, int windows)
{
    char *out = s->out;
    int n = snprintf(out, s->cap, "%s%s%.*s%s", dir, dir[0] ? "/" : "", (int)id.n, id.p, extension);
    if (n < 0 || (size_t)n >= s->cap)
        return 0;
    for (char *p = out + strlen(dir); windows && *p; p++)
        *p = *p == '\\' ? '/' : *p;
    for (char *p = out + n - strlen(extension); upper && *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return !stat(out, &s->st) && S_ISREG(s->st.st_mode);
}

#define SHOWN_BYTES 200 /* of an id in a message */

/* So much of an id as a message shows: whole characters. */
static int shown_bytes(Str id) { return (int)utf8_cut(id.p, id.n, SHOWN_BYTES); }

/* As written first, then with each extension; backslashes are tried as slashes last. */
static int find_by_id(Search *s, const char *dir, Str id)
{
    int given = audio_ending(id.p, id.n, NULL) > 0;
    int ways = id.n && memchr(id.p, '\\', id.n) ? 2 : 1;
    for (int windows = 0; windows < ways; windows++) {
        if (given && try_path(s, dir, id, "", 0, windows))
            return 1;
        for (int upper = 0; upper < 2; upper++)
            for (int i = 0; audio_ending_at(i); i++)
                if (try_path(s, dir, id, audio_ending_at(i), upper, windows))
                    return 1;
        if (!given && try_path(s, dir, id, "", 0, windows))
            return 1;
    }
    return 0;
}

/* A path that a list names, perhaps on another machine or from another folder: as it is, then with one folder
 * after the other left off at its front. */
static int find_by_path(Search *s, const char *dir, Str path)
{
    int ways = memchr(path.p, '\\', path.n) ? 2 : 1;
    for (int windows = 0; windows < ways; windows++) {
        if (path.p[0] != '/' && try_path(s, dir, path, "", 0, windows))
            return 1;
        if (try_path(s, "", path, "", 0, windows))
            return 1;
        for (uint32_t i = 0; i + 1 < path.n; i++)
            if ((path.p[i] == '/' || path.p[i] == '\\') &&
                try_path(s, dir, (Str){path.p + i + 1, path.n - i - 1}, "", 0, windows))
                return 1;
    }
    return 0;
}

/* audio: a path, or of size 0: the file is named after the id. */
static int find_audio(Search *s, const char *dir, Str id, Str audio)
{
    static const char *const below[] = {"wav", "clips", "audio"}; /* where people keep them besides wavs */
    char folder[4096];
    if (audio.n ? find_by_path(s, dir, audio) : find_by_id(s, dir, id))
        return 1;
    for (size_t i = 0; i < sizeof below / sizeof *below && !audio.n; i++) {
        int n = snprintf(folder, sizeof folder, "%s/%s", dir, below[i]);
        if (n < (int)sizeof folder && layout_is_folder(folder) && find_by_id(s, folder, id))
            return 1;
    }
    return 0;
}

/* As it is named; then in the other normal form of Unicode. */
static int find_in_forms(Search *s, const char *dir, const Utterance *u)
{
    if (find_audio(s, dir, u->id, u->audio))
        return 1;
    for (int composed = 0; composed < 2; composed++) {
        char form[4096];
        if (!name_form(form, sizeof form, u->audio.n ? u->audio : u->id, composed))
            continue;
        const Str name = {form, (uint32_t)strlen(form)}, none = {0};
        if (find_audio(s, dir, name, u->audio.n ? name : none))
            return 1;
    }
    return 0;
}

static int no_audio(const char *dir, const Utterance *u, Err *err)
{
    if (!layout_is_folder(dir)) {
        err_set(err, ERR_MISSING, "the audio folder %s does not exist", dir);
        return err_hint(err, "name the folder with %s", u->file ? "--wavs-eval-dir" : "--wavs-train-dir");
    }
    if (u->audio.n)
        return err_set(err, ERR_MISSING, "no file %.*s, neither in %s nor in the current folder",
                       shown_bytes(u->audio), u->audio.p, dir);
    if (audio_ending(u->id.p, u->id.n, NULL))
        return err_set(err, ERR_MISSING, "no file %s/%.*s", dir, shown_bytes(u->id), u->id.p);
    return err_set(err, ERR_MISSING, "no file %s/%.*s with " AUDIO_ENDINGS, dir, shown_bytes(u->id), u->id.p);
}

int dataset_audio_stamp(const Dataset *d, const Utterance *u, char *out, size_t cap, FileStamp *stamp,
                        Err *err)
{
    const char *dir = d->audio_dir[u->file];
    Search s = {.out = out, .cap = cap};
    if (find_in_forms(&s, dir, u)) {
        file_stamp_from(stamp, &s.st);
        return 0;
    }
    if (cap)
        out[0] = 0;
    return no_audio(dir, u, err);
}

int dataset_audio_path(const Dataset *d, const Utterance *u, char *out, size_t cap, Err *err)
{
    FileStamp stamp;
    return dataset_audio_stamp(d, u, out, cap, &stamp, err);
}
