/* dataset.c - see dataset.h: opens the metadata of a dataset, gives each utterance its speaker and its side
 * of the split. */
#include "dataset/dataset.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "dataset/metadata.h"
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

/* Follows links. */
static int is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static const char *or_empty(const char *s) { return s ? s : ""; }

/* "dir/name", or name itself when it is absolute, without slashes at the end, in the dataset's block; NULL on
 * no memory. */
static char *path_in(Dataset *d, const char *dir, const char *name)
{
    size_t a = name[0] == '/' ? 0 : strlen(dir), b = strlen(name);
    char *out = block_alloc(&d->block, a + b + 2, 1);
    if (!out)
        return NULL;
    memcpy(out, dir, a);
    if (a && out[a - 1] != '/')
        out[a++] = '/';
    memcpy(out + a, name, b);
    /* Paths are compared and shown without a slash at the end. */
    for (size_t n = a + b; n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = 0;
    return out;
}

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

/* One value of a line of tab-separated values: what would break the line becomes a space. */
static void add_value(Buf *out, const char *p, size_t n, char end)
{
    size_t at = out->size;
    buf_add(out, p, n);
    buf_add(out, &end, 1);
    if (out->failed)
        return;
    for (char *c = out->data + at; n--; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' ';
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
        const char *file = or_empty(d->metadata_path[r->file]);
        if (root && !strncmp(file, d->root, root) && file[root] == '/')
            file += root + 1;
        char line[16];
        int n = snprintf(line, sizeof line, "%u", r->line);
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

/* POSIX knows no \d, which people write all the same: it becomes [0-9], inside brackets 0-9. Malloc'd. */
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
        return err_hint(err, "POSIX extended syntax; for ids like p225_001 it is ^(p[0-9]+)_");
    }
    if (!re->re_nsub) {
        regfree(re);
        err_set(err, ERR_CONFIG, "speaker_id_pattern '%s' has no group ( ) that would be the speaker",
                pattern);
        return err_hint(err, "put parentheses around the speaker's part, as in ^(p[0-9]+)_");
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

/* A metadata file of its own for validation decides; without one, the texts. */
static void set_splits(Dataset *d, const Config *cfg)
{
    if (!d->metadata_path[1])
        dataset_split_all(d, cfg->seed, cfg->val_split);
    for (size_t i = 0; d->metadata_path[1] && i < d->count; i++)
        d->utterances[i].split = d->utterances[i].file ? SPLIT_VAL : SPLIT_TRAIN;
}

/* ---- opening ---- */

static int read_delimiter(char *out, const char *s, Err *err)
{
    if (!s || !s[0] || !strcmp(s, "auto"))
        *out = 0;
    else if (!strcmp(s, "|"))
        *out = '|';
    else if (!strcmp(s, "tab") || !strcmp(s, "\t") || !strcmp(s, "\\t"))
        *out = '\t';
    else if (!strcmp(s, "comma") || !strcmp(s, ","))
        *out = ',';
    else
        return err_set(err, ERR_CONFIG, "metadata_delimiter is '%s'; it can be auto, |, tab or comma", s);
    return 0;
}

/* The rule is in dataset.h. */
static char *find_audio_dir(Dataset *d, const Config *cfg, int file)
{
    const char *set = or_empty(file ? cfg->wavs_eval_dir : cfg->wavs_train_dir);
    if (set[0])
        return path_in(d, d->root, set);
    const char *metadata = d->metadata_path[file], *slash = strrchr(metadata, '/');
    char *beside = slash ? block_strndup(&d->block, metadata, (size_t)(slash - metadata))
                         : block_strndup(&d->block, ".", 1);
    char *wavs = beside ? path_in(d, beside, "wavs") : NULL;
    if (!wavs)
        return NULL;
    if ((!file || strcmp(beside, d->root)) && is_folder(wavs))
        return wavs;
    if (file)
        return d->audio_dir[0];
    wavs = path_in(d, d->root, "wavs");
    return !wavs || is_folder(wavs) ? wavs : path_in(d, d->root, "");
}

/* What an id may repeat of the audio folder's name: the setting as written, or `wavs`; unless a folder of
 * that name stands inside the audio folder, where the id then means that one. */
static int find_prefixes(Dataset *d, MetadataOptions *opt, const Config *cfg, int file)
{
    const char *set = or_empty(file ? cfg->wavs_eval_dir : cfg->wavs_train_dir);
    const char *names[2] = {set, "wavs"};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(names[i]);
        while (n && names[i][n - 1] == '/')
            n--;
        if (!n)
            continue;
        char *prefix = block_alloc(&d->block, n + 2, 1);
        if (!prefix)
            return ERR_NOMEM;
        memcpy(prefix, names[i], n);
        char *inside = path_in(d, d->audio_dir[file], prefix);
        if (!inside)
            return ERR_NOMEM;
        prefix[n] = '/';
        opt->prefix[i] = is_folder(inside) ? NULL : prefix;
    }
    return 0;
}

#define MAX_METADATA ((size_t)4 << 30) /* bytes; slices count in 32 bits */

/* Path, bytes, audio folder, lines of one of the two metadata files. */
static int open_file(Dataset *d, Map *ids, const Config *cfg, int file, const char *name, Err *err)
{
    MetadataOptions opt = {0};
    MetadataForm form;
    struct stat st;
    const char *option = file ? "--metadata-eval-file" : "--metadata-train-file";
    int rc = read_delimiter(&opt.delimiter, cfg->metadata_delimiter, err);
    if (rc)
        return rc;
    if (!(d->metadata_path[file] = path_in(d, d->root, name)))
        return err_set(err, ERR_NOMEM, "no memory for the path of %s", name);
    const char *path = d->metadata_path[file];
    /* Not there: the message says what is there instead. */
    if (stat(path, &st)) {
        if (errno != ENOENT && errno != ENOTDIR)
            return err_set_errno(err, ERR_IO, "cannot open %s", path);
        return whats_there_instead(d->root, name, option, err);
    }
    if (!S_ISREG(st.st_mode)) { /* said before opening, which would wait for a writer at the end of a pipe */
        err_set(err, ERR_MISSING, "%s is %s, not a file", path,
                S_ISDIR(st.st_mode) ? "a folder" : "a pipe or a device");
        return err_hint(err, "name a text file with %s", option);
    }
    /* Read, not mapped: someone may save the file in an editor while we run, and a mapping of a file cut
     * short is a crash. */
    if ((rc = file_read(&d->metadata[file], path, MAX_METADATA, err)))
        return rc;
    const uint8_t *bytes = (const uint8_t *)d->metadata[file].data;
    if (!(d->audio_dir[file] = find_audio_dir(d, cfg, file)) || find_prefixes(d, &opt, cfg, file))
        return err_set(err, ERR_NOMEM, "no memory to open %s", path);
    if ((rc = metadata_parse(d, ids, &form, bytes, d->metadata[file].size, file, &opt, err))) {
        err_prefix(err, "%s", path);
        return rc;
    }
    d->speaker_guessed |= form.speaker_guessed;
    if (!file) {
        d->has_header = form.has_header;
        d->columns = form.columns;
        d->delimiter = form.delimiter;
    }
    return 0;
}

/* The root, then one or two metadata files with a common set of ids, then speakers and split. */
int dataset_open(Dataset *d, const Config *cfg, Err *err)
{
    Map ids = {0};
    *d = (Dataset){0};
    const char *train = or_empty(cfg->metadata_train_file), *eval = or_empty(cfg->metadata_eval_file);
    const char *root = or_empty(cfg->data_path);
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/')
        n--;
    int rc = ERR_NOMEM;
    if (!(d->root = block_strndup(&d->block, root, n))) {
        err_set(err, ERR_NOMEM, "no memory to open the dataset");
        goto fail;
    }
    if (!is_folder(d->root)) {
        rc = whats_there_no_root(d->root, err);
        goto fail;
    }
    if ((rc = open_file(d, &ids, cfg, 0, train[0] ? train : "metadata.csv", err)))
        goto fail;
    if (eval[0] && (rc = open_file(d, &ids, cfg, 1, eval, err)))
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
    for (int i = 0; i < 2; i++)
        buf_free(&d->metadata[i]);
    block_free(&d->block);
    *d = (Dataset){0};
}

/* ---- audio files of ids ---- */

static const char *const extensions[] = {".wav", ".flac", ".mp3", ".ogg", ".opus",
                                         ".WAV", ".FLAC", ".MP3", ".OGG", ".OPUS"};
#define EXTENSIONS (sizeof extensions / sizeof *extensions)

/* 1 when the id ends in one of them, in any case. */
static int names_extension(Str id)
{
    for (size_t i = 0; i < EXTENSIONS; i++) {
        size_t n = strlen(extensions[i]);
        if (id.n > n && !strncasecmp(id.p + id.n - n, extensions[i], n))
            return 1;
    }
    return 0;
}

/* 1 when out = dir/id+extension is there; windows: backslashes of the id are read as slashes. */
static int try_path(char *out, size_t cap, const char *dir, Str id, const char *extension, int windows)
{
    struct stat st;
    int n = snprintf(out, cap, "%s/%.*s%s", dir, (int)id.n, id.p, extension);
    if (n < 0 || (size_t)n >= cap)
        return 0;
    if (windows)
        for (char *p = out + strlen(dir); *p; p++)
            if (*p == '\\')
                *p = '/';
    return !stat(out, &st) && S_ISREG(st.st_mode);
}

#define SHOWN_BYTES 200 /* of an id in a message */

/* So much of an id as a message shows: whole characters. */
static int shown_bytes(Str id) { return (int)utf8_cut(id.p, id.n, SHOWN_BYTES); }

int dataset_audio_path(const Dataset *d, const Utterance *u, char *out, size_t cap, Err *err)
{
    const char *dir = d->audio_dir[u->file];
    /* As written first, then with each extension; backslashes are tried as slashes last. */
    int given = names_extension(u->id);
    int ways = u->id.n && memchr(u->id.p, '\\', u->id.n) ? 2 : 1;
    for (int windows = 0; windows < ways; windows++) {
        if (given && try_path(out, cap, dir, u->id, "", windows))
            return 0;
        for (size_t i = 0; i < EXTENSIONS; i++)
            if (try_path(out, cap, dir, u->id, extensions[i], windows))
                return 0;
        if (!given && try_path(out, cap, dir, u->id, "", windows))
            return 0;
    }
    if (cap)
        out[0] = 0;
    if (!is_folder(dir)) {
        err_set(err, ERR_MISSING, "the audio folder %s does not exist", dir);
        return err_hint(err, "name the folder with %s", u->file ? "--wavs-eval-dir" : "--wavs-train-dir");
    }
    if (given)
        return err_set(err, ERR_MISSING, "no file %s/%.*s", dir, shown_bytes(u->id), u->id.p);
    return err_set(err, ERR_MISSING, "no file %s/%.*s with .wav, .flac, .mp3, .ogg or .opus", dir,
                   shown_bytes(u->id), u->id.p);
}
