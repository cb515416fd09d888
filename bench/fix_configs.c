/* fix_configs.c - broken configuration files, made at random from a seed, each put right by `myxtts validate
 * --fix` and then looked at by a program that shares nothing with it: does the file validate and load; is it
 * the old file but for the lines of the difference that was shown, byte for byte; is every line in which
 * nothing was broken still there, in order; are all comments; does a second --fix change nothing?
 *
 * usage: build/bench/fix_configs [--count 200] [--seed 1] [--program build/myxtts] [--keep DIR]
 * Prints what was broken, how many of the files passed, and the failures; then one line of JSON. Exit 1 when
 * a file failed. --keep: the files stay in DIR. */
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- what the files are made of ---- */

typedef struct Key {
    const char *section, *name, *good[3],
        *bad[4]; /* bad: each an error by itself, or a warning with a fix where it begins with ~ */
} Key;

static const Key keys[] = {
    {"model", "model_size", {"nano", "tiny", "small"}, {"tinny", "gigantic", "7", "[nano, tiny]"}},
    {"model", "sample_rate", {"22050", "24000", "16_000"}, {"-1", "fast", "1e9", "022050"}},
    {"model", "n_fft", {"1024", "2048", "1024"}, {"1", "1023", "0x400", "yes"}},
    {"model", "win_length", {"1024", "1000", "800"}, {"8192", "0", "wide", "1.5"}},
    {"model", "hop_length", {"256", "200", "128"}, {"9000", "0", "hop", "{a: 1}"}},
    {"model", "n_mels", {"80", "64", "100"}, {"4", "9999", "eighty", "80.5"}},
    {"model", "mel_fmax", {"8000", "7600", "7000.0"}, {"60000", "-5", "high", "[8000, 9000]"}},
    {"model", "use_gst", {"true", "no", "ON"}, {"ture", "maybe", "flase", "3"}},
    {"model", "dropout", {"0.1", "0", "5e-2"}, {"1.5", "-0.1", "a lot", ".nan"}},
    {"data", "batch_size", {"8", "16", "4"}, {"0", "-4", "many", "08"}},
    {"data", "num_workers", {"auto", "1", "2"}, {"-1", "9999", "all", "~200"}},
    {"data", "prefetch_buffer_size", {"auto", "4", "8"}, {"0", "2000", "some", "~1"}},
    {"data", "native_loading", {"true", "yes", "1"}, {"treu", "2", "definitely", "~false"}},
    {"data", "cache_verification", {"fast", "full", "true"}, {"fats", "slow", "9", "~off"}},
    {"data", "val_split", {"0.05", "0.1", "0"}, {"5", "half", "-1", "1.0"}},
    {"data", "language", {"en", "fa", "en-us"}, {"", "", "", ""}},
    {"data", "max_mel_frames", {"512", "256", "384"}, {"1", "100000", "long", "12.7"}},
    {"data", "data_gpu", {"cpu", "auto", "sim0"}, {"gpu", "cuda:0", "99", "~61"}},
    {"data", "length_buckets", {"8", "4", "16"}, {"0", "65", "few", "8 buckets"}},
    {"data",
     "supported_languages",
     {"[en, fa]", "[en, de, fr, fa]", "[en, \"fa\"]"},
     {"[en, xx]", "[]", "[en, en]", "[en, ~]"}},
    {"data", "mel_storage", {"float32", "float16", "float32"}, {"float8", "flaot32", "16", "[a, b]"}},
    {"training", "epochs", {"10", "100", "1000"}, {"0", "1e99", "ten", "5.5"}},
    {"training", "learning_rate", {"1e-3", "0.0003", "2.0e-4"}, {"5", "-1", "slow", "0"}},
    {"training", "scheduler", {"cosine", "noam", "constant"}, {"cosin", "linear", "1", "[noam, cosine]"}},
    {"training", "enable_eager_debug", {"false", "off", "0"}, {"flase", "nope", "-1", "~true"}},
    {"training", "warmup_steps", {"100", "500", "0"}, {"-1", "soon", "1e10", "0100"}},
    {"training", "save_step", {"500", "1000", "250"}, {"0", "never", "-7", "2.5"}},
    {"training", "keep_checkpoints", {"3", "2", "1"}, {"0", "all", "99999", "3,5"}},
    {"training", "checkpoint_dir", {"runs/a", "\"runs/b c\"", "'r'"}, {"", "", "", ""}},
    {"training", "beta2", {"0.98", "0.999", "0.95"}, {"1", "2", "beta", "-0.5"}},
};

static const char *const words[] = {
    "as in the paper",
    "do not touch",
    "\xD8\xA8\xD8\xB1\xD8\xA7\xDB\x8C \xD9\x81\xD8\xA7\xD8\xB1\xD8\xB3\xDB\x8C",
    "was 16: too small",
    "tab\there\tand",
    ("\xC3\xBC"
     "ber \xE2\x86\x92 \xE2\x80\x9Cquoted\xE2\x80\x9D"),
    "[not, a, list]",
    "{nor: a map}",
    "- nor an item",
    "key: value in words",
    "\"quotes\" 'too'",
    "&a *b !c",
    "100% # twice",
    "\xF0\x9F\x8E\xA4",
    ""};
static const char *const strange[] = {"quux", "use_tf_xyz_loading_v9", "zzzz", "experimental_thing_x"};

typedef struct Line {
    Buf text;  /* without its break */
    int sound; /* nothing in it is broken */
} Line;

typedef struct File {
    Rng rng;
    Line *lines;
    size_t count, cap;
    Buf comments; /* each ends with a NUL */
    int comment_count;
    const char *eol;
    int bom, no_final_break, quotes;
    Buf broken;           /* what was broken, in words */
    size_t flow_training; /* 1 + last line of section training between brackets; 0: it is not */
    int moves;            /* a key has to move to that section */
    int defects;
    Buf bytes;
} File;

static int chance(File *f, int percent) { return (int)rng_below(&f->rng, 100) < percent; }

static Line *line(File *f)
{
    if (mem_grow(&f->lines, &f->cap, f->count + 1, sizeof *f->lines))
        abort();
    f->lines[f->count] = (Line){.sound = 1};
    return &f->lines[f->count++];
}

static void comment(File *f, Buf *out)
{
    size_t from = out->size;
    buf_printf(out, "# c%d %s", f->comment_count++, words[rng_below(&f->rng, COUNT(words))]);
    while (out->size > from && out->data[out->size - 1] == ' ')
        out->data[--out->size] = 0;
    buf_add(&f->comments, out->data + from, out->size - from + 1);
}

static void blanks(Buf *out, int n) { buf_printf(out, "%*s", n, ""); }

static void decorate(File *f, int indent)
{
    if (chance(f, 12))
        line(f);
    if (chance(f, 25)) {
        Line *l = line(f);
        blanks(&l->text, chance(f, 70) ? indent : (int)rng_below(&f->rng, 7));
        comment(f, &l->text);
    }
}

static void defect(File *f, Line *l, const char *what, const char *key)
{
    buf_printf(&f->broken, "%s%s %s", f->defects++ ? "; " : "", what, key);
    if (l)
        l->sound = 0;
}

static void tail(File *f, Line *l)
{
    if (chance(f, 35)) {
        blanks(&l->text, 1 + (int)rng_below(&f->rng, 4));
        comment(f, &l->text);
    } else if (chance(f, 10)) {
        blanks(&l->text, 2);
    }
}

static void misspell(File *f, char *out, size_t cap, const char *name)
{
    snprintf(out, cap, "%s", name);
    size_t n = strlen(out), at = 1 + rng_below(&f->rng, n - 2);
    switch (rng_below(&f->rng, 3)) {
    case 0: /* a letter is missing */
        memmove(out + at, out + at + 1, n - at);
        break;
    case 1: { /* two are swapped; the same letter twice would be no slip */
        char c = out[at];
        if (c == out[at + 1])
            out[at] = 'q';
        else {
            out[at] = out[at + 1];
            out[at + 1] = c;
        }
        break;
    }
    default:
        out[at] = 'q';
    }
}

/* The value in one of the ways YAML has for it. */
static void value(File *f, Buf *out, const char *v)
{
    int quotable = *v && !strpbrk(v, "[]{}\"'\\:#~");
    if (quotable && chance(f, f->quotes))
        buf_printf(out, chance(f, 50) ? "\"%s\"" : "'%s'", v);
    else
        buf_str(out, v);
}

static void pair(File *f, Buf *out, const char *key, const char *v)
{
    if (chance(f, 6))
        buf_printf(out, "\"%s\"%s:", key, chance(f, 30) ? " " : "");
    else
        buf_printf(out, "%s%s:", key, chance(f, 8) ? "  " : "");
    blanks(out, chance(f, 85) ? 1 : 1 + (int)rng_below(&f->rng, 5));
    value(f, out, v);
}

/* One key of a block section, sound or not. */
static void block_key(File *f, const Key *k, int indent, int broken)
{
    char name[64];
    const char *good = k->good[rng_below(&f->rng, 3)], *bad = k->bad[rng_below(&f->rng, 4)];
    int kind = broken ? (int)rng_below(&f->rng, 10) : -1;
    if (kind >= 0 && kind < 6 && !*bad)
        kind = 6;
    decorate(f, indent);
    Line *l = line(f);
    blanks(&l->text, indent);
    snprintf(name, sizeof name, "%s", k->name);
    if (kind >= 0 && kind < 6) {
        defect(f, l, "value", k->name);
        pair(f, &l->text, name, bad + (*bad == '~' && bad[1] != 0));
        tail(f, l);
    } else if (kind == 6) {
        misspell(f, name, sizeof name, k->name);
        defect(f, l, "name", k->name);
        pair(f, &l->text, name, good);
        tail(f, l);
    } else if (kind == 7) {
        defect(f, l, "no value", k->name);
        buf_printf(&l->text, "%s:", name);
        tail(f, l);
    } else if (kind == 8) { /* the same key again, a line later: that one is kept */
        defect(f, l, "twice", k->name);
        pair(f, &l->text, name, good);
        tail(f, l);
        decorate(f, indent);
        l = line(f);
        blanks(&l->text, indent);
        pair(f, &l->text, name, k->good[rng_below(&f->rng, 3)]);
        tail(f, l);
    } else if (kind == 9 && good[0] != '[') { /* a list where a value belongs */
        defect(f, l, "list", k->name);
        buf_printf(&l->text, "%s:", name);
        tail(f, l);
        for (int i = 0; i < 2; i++) {
            l = line(f);
            l->sound = 0;
            blanks(&l->text, indent + 2);
            buf_printf(&l->text, "- %s", k->good[i]);
            tail(f, l);
        }
    } else {
        if (kind == 9) {
            defect(f, l, "name", k->name);
            misspell(f, name, sizeof name, k->name);
        }
        pair(f, &l->text, name, good);
        tail(f, l);
    }
}

/* Two keys with one value: an anchor and an alias of it. */
static void anchored(File *f, const char *first, const char *second, const char *v, const char *bad,
                     int indent)
{
    int broken = chance(f, 40), at_alias = chance(f, 50);
    Line *l = line(f);
    blanks(&l->text, indent);
    buf_printf(&l->text, "%s: &n%d %s", first, f->comment_count, broken ? bad : v);
    int number = f->comment_count;
    tail(f, l);
    if (broken)
        defect(f, l, "anchor", first);
    decorate(f, indent);
    l = line(f);
    blanks(&l->text, indent);
    if (!broken && at_alias && chance(f, 50)) {
        defect(f, l, "name of an alias", second);
        buf_printf(&l->text, "%cq%s: *n%d", second[0], second + 2, number);
    } else {
        buf_printf(&l->text, "%s: *n%d", second, number);
        l->sound = !broken; /* the alias takes over the anchor */
    }
    tail(f, l);
}

static void flow_section(File *f, const char *section, const Key **chosen, int n, int broken_at)
{
    int many = chance(f, 40), unsound = 0;
    Line *l = line(f);
    buf_printf(&l->text, "%s: {", section);
    for (int i = 0; i < n; i++) {
        const Key *k = chosen[i];
        const char *bad = k->bad[rng_below(&f->rng, 4)];
        char name[64];
        if (many) {
            if (i)
                buf_str(&l->text, ",");
            tail(f, l);
            l->sound = !unsound;
            l = line(f);
            blanks(&l->text, 3);
            unsound = 0;
        } else if (i) {
            buf_str(&l->text, chance(f, 80) ? ", " : ",");
        }
        snprintf(name, sizeof name, "%s", k->name);
        if (i == broken_at && *bad && chance(f, 60)) {
            defect(f, l, "flow value", k->name);
            buf_printf(&l->text, "%s: %s", name, bad + (*bad == '~' && bad[1] != 0));
            unsound = 1;
        } else if (i == broken_at) {
            misspell(f, name, sizeof name, k->name);
            defect(f, l, "flow name", k->name);
            buf_printf(&l->text, "%s: %s", name, k->good[0]);
            unsound = 1;
        } else {
            buf_printf(&l->text, "%s: %s", name, k->good[rng_below(&f->rng, 3)]);
        }
    }
    l->sound = !unsound && !many;
    if (strcmp(section, "training") == 0)
        f->flow_training = f->count;
    buf_str(&l->text, "}");
    tail(f, l);
}

static void section(File *f, const char *name, int defects)
{
    const Key *chosen[COUNT(keys)];
    int n = 0, want = 2 + (int)rng_below(&f->rng, 6), indent = 1 + (int)rng_below(&f->rng, 6);
    for (size_t i = 0; i < COUNT(keys); i++)
        if (strcmp(keys[i].section, name) == 0)
            chosen[n++] = &keys[i];
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(&f->rng, (uint64_t)i + 1);
        const Key *k = chosen[i];
        chosen[i] = chosen[j];
        chosen[j] = k;
    }
    n = want < n ? want : n;
    decorate(f, 0);
    if (chance(f, 18)) {
        flow_section(f, name, chosen, n, defects ? (int)rng_below(&f->rng, (uint64_t)n) : -1);
        return;
    }
    char wrong[32];
    Line *l = line(f);
    snprintf(wrong, sizeof wrong, "%s", name);
    if (defects && chance(f, 8)) {
        misspell(f, wrong, sizeof wrong, name);
        defect(f, l, "section", name);
        defects--;
    }
    buf_printf(&l->text, "%s:", wrong);
    tail(f, l);
    for (int i = 0; i < n; i++) {
        int broken = defects > 0 && (chance(f, 50) || i >= n - defects);
        block_key(f, chosen[i], indent, broken);
        defects -= broken;
    }
    if (strcmp(name, "training") == 0 && chance(f, 30))
        anchored(f, "log_step", "val_step", "50", "-50", indent);
    if (chance(f, 12)) {
        const char *key = strange[rng_below(&f->rng, COUNT(strange))];
        decorate(f, indent);
        l = line(f);
        blanks(&l->text, indent);
        defect(f, l, "unknown", key);
        buf_printf(&l->text, "%s: 1", key);
        tail(f, l);
    }
    if (strcmp(name, "data") == 0 && chance(f, 12)) {
        l = line(f);
        blanks(&l->text, indent);
        defect(f, l, "wrong section", "early_stopping_patience");
        f->moves = 1;
        buf_str(&l->text, "early_stopping_patience: 3");
        tail(f, l);
    }
    if (chance(f, 6)) { /* a tab before a comment stops libyaml too */
        l = line(f);
        buf_str(&l->text, "\t");
        defect(f, l, "tab", name);
        comment(f, &l->text);
    }
}

/* `shared: &s` at the top, taken in by a section through a merge key. */
static void merged(File *f)
{
    Line *l = line(f);
    buf_str(&l->text, "shared: &s");
    defect(f, l, "merge", "shared");
    tail(f, l);
    l = line(f);
    l->sound = 0;
    buf_str(&l->text, "  augment_gain_db: 3");
    tail(f, l);
    l = line(f);
    l->sound = 0;
    buf_str(&l->text, "  trim_top_db: 35");
    tail(f, l);
    l = line(f);
    buf_str(&l->text, "data:");
    tail(f, l);
    l = line(f);
    l->sound = 0;
    buf_str(&l->text, "  <<: *s");
    tail(f, l);
    l = line(f);
    buf_str(&l->text, "  batch_size: 4");
}

static void make(File *f, uint64_t seed)
{
    static const char *const names[] = {"model", "data", "training"};
    *f = (File){0};
    rng_seed(&f->rng, seed);
    f->eol = chance(f, 25) ? "\r\n" : "\n";
    f->bom = chance(f, 10);
    f->no_final_break = chance(f, 20);
    f->quotes = chance(f, 40) ? 40 : 5;
    int merge = chance(f, 8), first = (int)rng_below(&f->rng, 3), marks = chance(f, 10);
    if (chance(f, 40))
        comment(f, &line(f)->text);
    if (marks)
        buf_str(&line(f)->text, "---");
    if (merge)
        merged(f);
    for (int i = 0; i < 3; i++) {
        const char *name = names[(first + i) % 3];
        if ((merge && strcmp(name, "data") == 0) || (f->defects > 0 && chance(f, 20)))
            continue;
        section(f, name, (int)rng_below(&f->rng, 3) + (f->defects == 0));
    }
    if (chance(f, 10)) {
        Line *l = line(f);
        defect(f, l, "not in any section", "adam_eps");
        f->moves = 1;
        buf_str(&l->text, "adam_eps: 1e-7");
        tail(f, l);
    }
    if (chance(f, 30))
        comment(f, &line(f)->text);
    if (marks && chance(f, 50))
        buf_str(&line(f)->text, "...");
    if (f->moves && f->flow_training) /* it gets a pair more */
        f->lines[f->flow_training - 1].sound = 0;
    buf_str(&f->bytes, f->bom ? "\xEF\xBB\xBF" : "");
    for (size_t i = 0; i < f->count; i++) {
        buf_add(&f->bytes, f->lines[i].text.data, f->lines[i].text.size);
        buf_str(&f->bytes, i + 1 < f->count || !f->no_final_break ? f->eol : "");
    }
}

static void unmake(File *f)
{
    for (size_t i = 0; i < f->count; i++)
        buf_free(&f->lines[i].text);
    free(f->lines);
    buf_free(&f->comments);
    buf_free(&f->broken);
    buf_free(&f->bytes);
}

/* ---- running the program ---- */

static int run(Buf *out, const char *program, const char *command, const char *path, const char *more)
{
    char line_of_shell[3000], bytes[4096];
    snprintf(line_of_shell, sizeof line_of_shell, "'%s' %s --config '%s' %s 2>&1", program, command, path,
             more);
    FILE *p = popen(line_of_shell, "r");
    if (!p)
        return -1;
    buf_clear(out);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, p)) > 0;)
        buf_add(out, bytes, n);
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- looking at the result ---- */

static const char *next_line(const char *s, const char *end)
{
    const char *nl = memchr(s, '\n', (size_t)(end - s));
    return nl ? nl + 1 : end;
}

static int same_line(const char *a, const char *a_end, const char *b, const char *b_end)
{
    return a_end - a == b_end - b && memcmp(a, b, (size_t)(a_end - a)) == 0;
}

/* The old text with the difference applied, as a person would with patch; 0 when it does not fit. */
static int apply(Buf *out, const Buf *old, const char *diff)
{
    const char *at = old->data, *end = old->data + old->size, *d = diff, *d_end = diff + strlen(diff);
    long number = 1;
    while (d < d_end) {
        long from, from_count, to, to_count;
        const char *d_next = next_line(d, d_end);
        if (strncmp(d, "--- ", 4) == 0 || strncmp(d, "+++ ", 4) == 0) {
            d = d_next;
            continue;
        }
        if (sscanf(d, "@@ -%ld,%ld +%ld,%ld @@", &from, &from_count, &to, &to_count) != 4)
            return 0;
        for (; number < from + (from_count == 0); number++) {
            const char *n = next_line(at, end);
            buf_add(out, at, (size_t)(n - at));
            at = n;
        }
        for (d = d_next; d < d_end && *d != '@' && strncmp(d, "--- ", 4) != 0; d = d_next) {
            d_next = next_line(d, d_end);
            const char *text_end = d_next;
            int no_break = d_next < d_end && *d_next == '\\';
            if (no_break)
                text_end--;
            if (*d == ' ' || *d == '-') {
                const char *n = next_line(at, end);
                if (!same_line(d + 1, text_end, at, n))
                    return 0;
                if (*d == ' ')
                    buf_add(out, at, (size_t)(n - at));
                at = n;
                number++;
            } else if (*d == '+') {
                buf_add(out, d + 1, (size_t)(text_end - d - 1));
            } else {
                return 0;
            }
            if (no_break)
                d_next = next_line(d_next, d_end);
        }
    }
    buf_add(out, at, (size_t)(end - at));
    return !out->failed;
}

static int same(const Buf *a, const Buf *b)
{
    return a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0);
}

/* Every line without a defect is in the result, in order. The one that is missing, or NULL. */
static const char *missing_line(const File *f, const Buf *result)
{
    const char *at = result->data, *end = at + result->size;
    if (f->bom)
        at += 3;
    for (size_t i = 0; i < f->count; i++) {
        const Line *l = &f->lines[i];
        if (!l->sound || !l->text.size)
            continue;
        for (;; at = next_line(at, end)) {
            if (at >= end)
                return l->text.data;
            const char *n = next_line(at, end), *stop = n;
            while (stop > at && (stop[-1] == '\n' || stop[-1] == '\r'))
                stop--;
            if (same_line(at, stop, l->text.data, l->text.data + l->text.size)) {
                at = n;
                break;
            }
        }
    }
    return NULL;
}

static const char *missing_comment(const File *f, const Buf *result)
{
    for (size_t at = 0; at < f->comments.size; at += strlen(f->comments.data + at) + 1)
        if (!memmem(result->data, result->size, f->comments.data + at, strlen(f->comments.data + at)))
            return f->comments.data + at;
    return NULL;
}

/* What validate --fix has made of a file, its backup, and the difference that it showed. `why` stays empty
 * where all is well. */
static void judge_result(File *f, const char *program, const char *path, const Buf *result, const Buf *backup,
                         const char *diff, char *why, size_t cap)
{
    Buf out = {0}, applied = {0}, again = {0};
    Err err = {0};
    char second[2100];
    const char *lost;
    int code = run(&out, program, "config", path, "--json");
    snprintf(second, sizeof second, "%s.bak.2", path);
    if (code)
        snprintf(why, cap, "myxtts config ends with %d: %.200s", code, out.data ? out.data : "");
    else if (!same(backup, &f->bytes))
        snprintf(why, cap, "the backup is not the old file");
    else if (!diff || !apply(&applied, &f->bytes, diff) || !same(&applied, result))
        snprintf(why, cap, "the difference that was shown does not lead from the old file to the new one");
    else if ((lost = missing_line(f, result)))
        snprintf(why, cap, "a line without a defect has changed: %.200s", lost);
    else if ((lost = missing_comment(f, result)))
        snprintf(why, cap, "a comment is lost: %.200s", lost);
    else if ((code = run(&out, program, "validate --fix", path, "")) != 0)
        snprintf(why, cap, "a second --fix ends with %d", code);
    else if (file_read(&again, path, 1 << 20, &err) || !same(&again, result))
        snprintf(why, cap, "a second --fix changes the file");
    else if (file_exists(second))
        snprintf(why, cap, "a second --fix makes a backup");
    buf_free(&out);
    buf_free(&applied);
    buf_free(&again);
}

/* One file; 0, or 1 with the reason. */
static int judge(File *f, const char *program, const char *path, char *why, size_t cap)
{
    Buf out = {0}, result = {0}, backup = {0};
    Err err = {0};
    char other[2100];
    json_t *report = NULL;
    int code;
    why[0] = 0;
    if (file_replace(path, f->bytes.data, f->bytes.size, &err)) {
        snprintf(why, cap, "%s", err.msg);
        goto done;
    }
    code = run(&out, program, "validate", path, "--strict");
    if (code != 1) {
        snprintf(why, cap, "is broken, but validate --strict ends with %d", code);
        goto done;
    }
    code = run(&out, program, "validate --fix", path, "--strict --json");
    report = json_loadb(out.data ? out.data : "", out.size, 0, NULL);
    if (code != 0 || !report) {
        const char *issue = json_string_value(json_array_get(json_object_get(report, "issues"), 0));
        snprintf(why, cap, "validate --fix ends with %d: %.300s", code,
                 issue      ? issue
                 : out.data ? out.data
                            : "");
        goto done;
    }
    snprintf(other, sizeof other, "%s.bak.1", path);
    if (file_read(&result, path, 1 << 20, &err) || file_read(&backup, other, 1 << 20, &err)) {
        snprintf(why, cap, "%s", err.msg);
        goto done;
    }
    judge_result(f, program, path, &result, &backup, json_string_value(json_object_get(report, "diff")), why,
                 cap);
done:
    json_decref(report);
    buf_free(&out);
    buf_free(&result);
    buf_free(&backup);
    return why[0] != 0;
}

static void remove_files(const char *dir)
{
    DIR *d = opendir(dir);
    char path[2400];
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            unlink(path);
        }
    if (d)
        closedir(d);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    int count = 200, passed = 0, defects = 0;
    uint64_t seed = 1;
    const char *program = "build/myxtts", *keep = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            count = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--program") == 0)
            program = argv[i + 1];
        else if (strcmp(argv[i], "--keep") == 0)
            keep = argv[i + 1];
    }
    const char *tmp = getenv("TMPDIR");
    char dir[1000], path[2000], why[600];
    snprintf(dir, sizeof dir, "%s", keep ? keep : "");
    if (keep)
        mkdir(keep, 0777);
    else {
        snprintf(dir, sizeof dir, "%s/myxtts-fix-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(dir))
            return 3;
    }
    json_t *failures = json_array();
    for (int i = 0; i < count; i++) {
        File f;
        make(&f, rng_mix(seed, (uint64_t)i));
        defects += f.defects;
        snprintf(path, sizeof path, "%s/broken-%03d.yaml", dir, i);
        if (judge(&f, program, path, why, sizeof why)) {
            printf("file %d (%s): %s\n", i, f.broken.data ? f.broken.data : "", why);
            json_array_append_new(failures, json_pack("{s:i, s:s}", "file", i, "why", why));
        } else {
            passed++;
        }
        unmake(&f);
    }
    printf("%d of %d broken files (%d defects, seed %llu) validate after --fix, differ only in the lines "
           "shown, keep every sound "
           "line and "
           "comment, and are left alone by a second --fix\n",
           passed, count, defects, (unsigned long long)seed);
    json_t *o = json_pack("{s:s, s:i, s:i, s:i, s:I, s:o}", "bench", "fix_configs", "files", count, "passed",
                          passed, "defects", defects, "seed", (json_int_t)seed, "failures", failures);
    json_dumpf(o, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(o);
    if (!keep)
        remove_files(dir);
    return passed == count ? 0 : 1;
}
