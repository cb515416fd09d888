/* layout_tables.c - the rows of layouts.h whose texts are all in one file: metadata.csv, Kaldi, JSON lines,
 * Common Voice. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/kaldi.h"
#include "dataset/layouts.h"
#include "dataset/manifest.h"
#include "dataset/metadata.h"
#include "dataset/whats_there.h"

#define DEFAULT_FILE "metadata.csv"
#define MAX_METADATA ((size_t)4 << 30) /* bytes; slices count in 32 bits */
#define TRAIN_OPTION "--metadata-train-file"

static const char *or_empty(const char *s) { return s ? s : ""; }

static const char *train_file(const Config *cfg)
{
    const char *name = or_empty(cfg->metadata_train_file);
    return name[0] ? name : DEFAULT_FILE;
}

static int ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && strcasecmp(name + n - k, ending) == 0;
}

static int no_memory(const char *name, Err *err)
{
    return err_set(err, ERR_NOMEM, "no memory to open %s", name);
}

/* 1 if the root holds a file of that name, which becomes p->file. */
static int has_file(LayoutPlace *p, const char *name)
{
    const char *path = layout_path(p->d, p->d->root, name);
    if (!path || !layout_is_file(path))
        return 0;
    p->file = name;
    return 1;
}

/* ---- metadata.csv ---- */

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
        return err_set(err, ERR_CONFIG, "metadata_delimiter is '%s', but must be auto, |, tab or comma", s);
    return 0;
}

/* The rule is in dataset.h. */
static char *find_audio_dir(Dataset *d, const Config *cfg, int file)
{
    const char *set = or_empty(file ? cfg->wavs_eval_dir : cfg->wavs_train_dir);
    if (set[0])
        return layout_path(d, d->root, set);
    const char *metadata = d->metadata_path[file], *slash = strrchr(metadata, '/');
    char *beside = slash ? block_strndup(&d->block, metadata, (size_t)(slash - metadata))
                         : block_strndup(&d->block, ".", 1);
    char *wavs = beside ? layout_path(d, beside, "wavs") : NULL;
    if (!wavs)
        return NULL;
    if ((!file || strcmp(beside, d->root)) && layout_is_folder(wavs))
        return wavs;
    if (file)
        return d->audio_dir[0];
    wavs = layout_path(d, d->root, "wavs");
    return !wavs || layout_is_folder(wavs) ? wavs : layout_path(d, d->root, "");
}

/* An id may start with the audio folder's name, as it is set or `wavs`; finds these prefixes. A name that is
 * also a folder inside the audio folder is not a prefix, because the id then means that folder. */
static int find_prefixes(Dataset *d, const char *prefixes[2], const Config *cfg, int file)
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
        char *inside = layout_path(d, d->audio_dir[file], prefix);
        if (!inside)
            return ERR_NOMEM;
        prefix[n] = '/';
        prefixes[i] = layout_is_folder(inside) ? NULL : prefix;
    }
    return 0;
}

/* Reads the file; its bytes live as long as the dataset. */
static int load(Dataset *d, int file, const char *name, Err *err)
{
    struct stat st;
    const char *option = file ? "--metadata-eval-file" : TRAIN_OPTION;
    const char *path = d->metadata_path[file] = layout_path(d, d->root, name);
    if (!path)
        return no_memory(name, err);
    /* If it does not exist, the message says what does. */
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
    return file_read(&d->metadata[file], path, MAX_METADATA, err);
}

/* ---- where it all comes from ---- */

#define PIECE ((size_t)1 << 20) /* bytes of a file that are hashed at once */

static Hash128 hash_of_bytes(const Buf *b)
{
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    for (size_t at = 0; at < b->size; at += PIECE)
        hasher_bytes(&h, b->data + at, b->size - at < PIECE ? b->size - at : PIECE);
    return hasher_close(&h);
}

/* The same of a file that is not kept in memory; zeros if it cannot be read to its end. */
static Hash128 hash_of_file(const char *path)
{
    const Hash128 none = {0};
    struct stat st;
    Hasher h = {0};
    char *piece = malloc(PIECE);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = piece && fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) ? hasher_open(&h) : -1;
    for (uint64_t at = 0, size = rc ? 0 : (uint64_t)st.st_size; at < size && !rc; at += PIECE) {
        const size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        rc = file_pread_all(fd, piece, n, at, path, NULL);
        if (!rc)
            hasher_bytes(&h, piece, n);
    }
    if (fd >= 0)
        close(fd);
    free(piece);
    const Hash128 out = hasher_close(&h);
    return rc ? none : out;
}

/* A dataset is the same by whatever path it is reached. */
static const char *below_root(const Dataset *d, const char *path)
{
    const size_t n = strlen(d->root);
    return strncmp(path, d->root, n) == 0 ? path + n : path;
}

/* Adds a metadata file to d->origin, which stays zeros once it is not known: all that its lines are made of,
 * and the folders that were there, which decide what its paths mean. */
static void add_origin(Dataset *d, int file, Hash128 bytes, const MetadataOptions *opt)
{
    Hasher h;
    if ((file && hash_equal(d->origin, (Hash128){0})) || hash_equal(bytes, (Hash128){0}) || hasher_open(&h)) {
        d->origin = (Hash128){0};
        return;
    }
    hasher_bytes(&h, &d->origin, sizeof d->origin);
    hasher_bytes(&h, &bytes, sizeof bytes);
    hasher_str(&h, below_root(d, d->metadata_path[file]));
    hasher_str(&h, below_root(d, d->audio_dir[file]));
    hasher_u64(&h, (uint8_t)opt->delimiter);
    for (int i = 0; i < 2; i++)
        hasher_str(&h, opt->prefix[i]);
    d->origin = hasher_close(&h);
}

/* The folders of a file whose path is set. 0 or ERR_NOMEM. */
static int find_folders(Dataset *d, MetadataOptions *opt, const Config *cfg, int file)
{
    d->audio_dir[file] = find_audio_dir(d, cfg, file);
    return !d->audio_dir[file] || find_prefixes(d, opt->prefix, cfg, file) ? ERR_NOMEM : 0;
}

Hash128 layout_look(LayoutPlace *p)
{
    Dataset *d = p->d;
    if (layout_has_metadata(p, NULL) != 1)
        return (Hash128){0};
    const char *const names[2] = {p->file, or_empty(p->cfg->metadata_eval_file)};
    for (int file = 0; file < 2 && names[file][0]; file++) {
        MetadataOptions opt = {0};
        d->metadata_path[file] = layout_path(d, d->root, names[file]);
        if (read_delimiter(&opt.delimiter, p->cfg->metadata_delimiter, NULL) || !d->metadata_path[file] ||
            find_folders(d, &opt, p->cfg, file))
            return (Hash128){0};
        add_origin(d, file, hash_of_file(d->metadata_path[file]), &opt);
    }
    return d->origin;
}

/* Reads one of the two metadata files: sets its path, bytes and audio folder, and parses its lines. */
static int read_lines(LayoutPlace *p, int file, const char *name, Err *err)
{
    Dataset *d = p->d;
    MetadataOptions opt = {0};
    MetadataForm form = {0};
    int rc = read_delimiter(&opt.delimiter, p->cfg->metadata_delimiter, err);
    if (!rc)
        rc = load(d, file, name, err);
    if (rc)
        return rc;
    const uint8_t *bytes = (const uint8_t *)d->metadata[file].data;
    size_t size = d->metadata[file].size;
    if (find_folders(d, &opt, p->cfg, file))
        return no_memory(d->metadata_path[file], err);
    add_origin(d, file, hash_of_bytes(&d->metadata[file]), &opt);
    if (ends_with(name, ".jsonl") || ends_with(name, ".json")) {
        Lines lines = {d, p->ids, file, {opt.prefix[0], opt.prefix[1]}};
        rc = manifest_parse(&lines, bytes, size, err);
    } else {
        rc = metadata_parse(d, p->ids, &form, bytes, size, file, &opt, err);
    }
    if (rc) {
        err_prefix(err, "%s", d->metadata_path[file]);
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

/* A file that was named by an option counts even if it does not exist. */
int layout_has_metadata(LayoutPlace *p, Err *err)
{
    (void)err;
    const char *name = train_file(p->cfg);
    p->file = name;
    if (strcmp(name, DEFAULT_FILE) != 0 || or_empty(p->cfg->metadata_eval_file)[0])
        return 1;
    const char *path = layout_path(p->d, p->d->root, name);
    struct stat st;
    return !path || stat(path, &st) == 0; /* a folder of that name is an error, which reading it will
                                           * report */
}

int layout_read_metadata(LayoutPlace *p, Err *err)
{
    const char *eval = or_empty(p->cfg->metadata_eval_file);
    int rc = read_lines(p, 0, p->file, err);
    if (!rc && eval[0])
        rc = read_lines(p, 1, eval, err);
    if (rc)
        return rc;
    const char *speaker = p->d->speaker_guessed ? ", of which the third is taken as the speaker" : "";
    if (p->d->columns)
        return layout_found(p->d, err, "%s with %d columns%s", p->file, p->d->columns, speaker);
    return layout_found(p->d, err, "%s", p->file);
}

/* ---- JSON lines ---- */

/* The only file in the root with this ending, in the dataset's block. NULL if there is none, or if there are
 * several; then *several is 1. A run's log is none. */
static const char *only_file(Dataset *d, const char *ending, int *several)
{
    const char *found = NULL;
    DIR *dir = opendir(d->root);
    *several = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (e->d_name[0] == '.' || !ends_with(e->d_name, ending) || strcmp(e->d_name, LOG_OF_A_RUN) == 0)
            continue;
        *several = found != NULL;
        if (*several)
            break;
        found = block_strndup(&d->block, e->d_name, strlen(e->d_name));
    }
    if (dir)
        closedir(dir);
    return *several ? NULL : found;
}

int layout_has_jsonl(LayoutPlace *p, Err *err)
{
    int several;
    if (has_file(p, "manifest.jsonl") || has_file(p, "metadata.jsonl") || has_file(p, "train.jsonl"))
        return 1;
    p->file = only_file(p->d, ".jsonl", &several);
    if (!several)
        return p->file && has_file(p, p->file);
    err_set(err, ERR_MISSING, "%.500s has several .jsonl files, but none named manifest.jsonl", p->d->root);
    return err_hint(err, "name one with " TRAIN_OPTION);
}

int layout_read_jsonl(LayoutPlace *p, Err *err)
{
    int rc = read_lines(p, 0, p->file, err);
    return rc ? rc : layout_found(p->d, err, "%s, JSON lines", p->file);
}

/* ---- Common Voice ---- */

/* 1 if its first line names the columns path and sentence. */
static int is_common_voice(LayoutPlace *p, const char *name)
{
    char line[4096], *rest = line;
    const char *path = name ? layout_path(p->d, p->d->root, name) : NULL;
    FILE *f = path && layout_is_file(path) ? fopen(path, "re") : NULL;
    int found = 0, got = f && fgets(line, sizeof line, f);
    for (const char *word = got ? strsep(&rest, "\t\r\n") : NULL; word; word = strsep(&rest, "\t\r\n"))
        found |= (strcmp(word, "path") == 0) | (strcmp(word, "sentence") == 0) << 1;
    if (f)
        fclose(f);
    return found == 3;
}

int layout_has_common_voice(LayoutPlace *p, Err *err)
{
    (void)err;
    int several;
    const char *const names[] = {"validated.tsv", "train.tsv", only_file(p->d, ".tsv", &several)};
    for (int i = 0; i < 3; i++)
        if (is_common_voice(p, names[i])) {
            p->file = names[i];
            return 1;
        }
    return 0;
}

/* The header line tells metadata_parse the columns. */
int layout_read_common_voice(LayoutPlace *p, Err *err)
{
    Dataset *d = p->d;
    MetadataOptions opt = {.delimiter = '\t', .bare_ids = 1};
    MetadataForm form;
    int rc = load(d, 0, p->file, err);
    if (rc)
        return rc;
    const char *set = or_empty(p->cfg->wavs_train_dir);
    d->audio_dir[0] = layout_path(d, d->root, set[0] ? set : "clips");
    if (!d->audio_dir[0])
        return no_memory(p->file, err);
    if (!layout_is_folder(d->audio_dir[0]) && !set[0])
        d->audio_dir[0] = layout_path(d, d->root, "");
    rc = metadata_parse(d, p->ids, &form, (const uint8_t *)d->metadata[0].data, d->metadata[0].size, 0, &opt,
                        err);
    if (rc)
        return err_prefix(err, "%s", d->metadata_path[0]);
    d->has_header = 1;
    d->columns = form.columns;
    d->delimiter = form.delimiter;
    return layout_found(d, err, "Common Voice's %s", p->file);
}

/* ---- Kaldi ---- */

int layout_has_kaldi(LayoutPlace *p, Err *err)
{
    if (!has_file(p, "wav.scp") || !has_file(p, "text"))
        return 0;
    if (!has_file(p, "segments"))
        return 1;
    err_set(err, ERR_FORMAT,
            "%.500s/segments cuts utterances out of longer recordings, which is not supported", p->d->root);
    return err_hint(err, "Kaldi's extract-segments writes each utterance to a separate file");
}

int layout_read_kaldi(LayoutPlace *p, Err *err)
{
    static const char *const names[KALDI_FILES] = {"text", "wav.scp", "utt2spk", "utt2lang"};
    Dataset *d = p->d;
    KaldiBytes bytes[KALDI_FILES] = {0};
    size_t without_text = 0;
    int rc = load(d, 0, names[0], err);
    d->audio_dir[0] = layout_path(d, d->root, "");
    bytes[0] = (KaldiBytes){d->metadata[0].data, d->metadata[0].size};
    /* Ids and paths are slices of the files: they go into the dataset's block. */
    for (int i = 1; i < KALDI_FILES && !rc; i++) {
        Buf b = {0};
        const char *path = layout_path(d, d->root, names[i]);
        if (path && !layout_is_file(path))
            continue;
        rc = path ? file_read(&b, path, MAX_METADATA, err) : no_memory(names[i], err);
        if (!rc && b.size) {
            bytes[i] = (KaldiBytes){block_strndup(&d->block, b.data, b.size), b.size};
            rc = bytes[i].p ? 0 : no_memory(names[i], err);
        }
        buf_free(&b);
    }
    Lines lines = {.d = d, .ids = p->ids};
    if (!rc)
        rc = kaldi_parse(&lines, bytes, &without_text, err);
    if (rc)
        return rc;
    char more[80] = "";
    if (without_text)
        snprintf(more, sizeof more, "; %zu entries of wav.scp without a text are left out", without_text);
    return layout_found(d, err, "Kaldi's wav.scp and text%s%s%s", bytes[2].p ? ", utt2spk" : "",
                        bytes[3].p ? ", utt2lang" : "", more);
}
