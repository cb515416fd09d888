/* layouts.c - see layouts.h: the table, and what its rows share. */
#include "dataset/layouts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "dataset/audio_endings.h"
#include "dataset/whats_there.h"

static const Layout layouts[] = {
    {"ljspeech", layout_has_metadata, layout_read_metadata},
    {"kaldi", layout_has_kaldi, layout_read_kaldi},
    {"jsonl", layout_has_jsonl, layout_read_jsonl},
    {"commonvoice", layout_has_common_voice, layout_read_common_voice},
    {"vctk", layout_has_vctk, layout_read_vctk},
    {"libritts", layout_has_libritts, layout_read_libritts},
    {"pairs", layout_has_pairs, layout_read_pairs},
};

char *layout_path(Dataset *d, const char *dir, const char *name)
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

int layout_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int layout_is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

int layout_tree(LayoutPlace *p, Err *err)
{
    const Config *cfg = p->cfg;
    const char *const skip[] = {cfg->cache_dir, cfg->checkpoint_dir};
    if (p->has_tree)
        return 0;
    p->has_tree = 1;
    return tree_read(&p->tree, &p->d->block, p->d->root, skip, sizeof skip / sizeof *skip, err);
}

int layout_found(Dataset *d, Err *err, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    d->found = block_strndup(&d->block, text, strlen(text));
    return d->found ? 0 : err_set(err, ERR_NOMEM, "no memory to open the dataset");
}

#define FEW_TEXTS 10 /* this many may be lists of lines, not texts of recordings */

/* Nothing is laid out as any row asks: what is missing is said, or what is there. */
static int none_is_here(LayoutPlace *p, Err *err)
{
    const Tree *t = &p->tree;
    const char *root = p->d->root;
    const char *log = layout_path(p->d, root, LOG_OF_A_RUN);
    if (log && layout_is_file(log)) {
        err_set(err, ERR_MISSING, "%.400s is the folder of a training, not of recordings", root);
        return err_hint(err, "name the folder with the recordings and their texts");
    }
    if (t->audio && !t->texts && !t->tables) {
        err_set(err, ERR_MISSING, "%.400s has %zu recording%s, but no texts", root, t->audio,
                plural(t->audio));
        return err_hint(err, "write the words of X.wav into X.txt beside it, or a line X|text for each "
                             "recording into metadata.csv");
    }
    if (t->texts >= FEW_TEXTS && !t->tables) {
        err_set(err, ERR_MISSING, "%.400s has %zu texts (such as %.200s) and %s", root, t->texts,
                t->files[0].path, t->audio ? "recordings with other names" : "no recording");
        return err_hint(err, "the recording of X.txt lies beside it as X with " AUDIO_ENDINGS);
    }
    if (t->others && !t->audio && !t->texts && !t->tables) {
        err_set(err, ERR_MISSING,
                "%.400s has neither recordings nor texts, only %zu other file%s (such as %.200s)", root,
                t->others, plural(t->others), t->other);
        return err_hint(
            err, "name the folder of the recordings: X.wav with X.txt beside it, or metadata.csv and wavs/");
    }
    return whats_there_instead(root, "metadata.csv", "--metadata-train-file", err);
}

int layouts_read(Dataset *d, Map *ids, const Config *cfg, Err *err)
{
    LayoutPlace p = {.d = d, .ids = ids, .cfg = cfg};
    int rc = 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts && !d->layout && rc >= 0; i++) {
        rc = layouts[i].is_here(&p, err);
        if (rc <= 0)
            continue;
        d->layout = layouts[i].name;
        rc = layouts[i].read(&p, err);
    }
    if (!rc && !d->layout)
        rc = none_is_here(&p, err);
    tree_free(&p.tree);
    return rc;
}
