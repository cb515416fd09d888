/* test_alignment.c - align_clips over a corpus of tones; words and phones of texts; TextGrids and tables read
 * back; the command. */
#include "support/train_testing.h"

#include <jansson.h>

#include "cmd/cmd.h"
#include "text/phonemes/tokens.h"
#include "train/listen/alignment.h"
#include "train/listen/alignment_files.h"
#include "train/listen/evaluate.h"
#include "train/listen/textgrid.h"

/* ---- a network on a corpus ---- */

typedef struct Aligner {
    Config cfg;
    Devices devices;
    Corpus corpus;
    Engine *engine;
    EvaluateOptions options;
    Log log;
} Aligner;

static void aligner_open(Aligner *a, const char *more, Split split)
{
    Err err = {0};
    memset(a, 0, sizeof *a);
    log_init(&a->log, LOG_ERROR);
    lab_config(&a->cfg, NULL, more);
    if (devices_open(&a->devices, &a->cfg, &a->log, &err) ||
        corpus_open(&a->corpus, &a->cfg, split, &a->log, &err))
        fail_msg("%s", err.msg);
    EngineOptions o = {.cfg = &a->cfg,
                       .device = a->devices.model,
                       .largest = corpus_shape(&a->cfg, 1, &a->corpus, NULL),
                       .symbols = tokens_count(),
                       .log = &a->log};
    if (engine_open(&a->engine, &o, &err) || engine_initialise(a->engine, &err))
        fail_msg("%s", err.msg);
    a->options = (EvaluateOptions){.cfg = &a->cfg,
                                   .corpus = &a->corpus,
                                   .data = a->devices.data,
                                   .model = a->devices.model,
                                   .log = &a->log};
}

static void aligner_close(Aligner *a)
{
    engine_close(a->engine);
    assert_int_equal(a->devices.model->used, 0);
    corpus_close(&a->corpus);
    devices_close(&a->devices);
    config_close(&a->cfg);
}

typedef struct Found {
    Aligner *a;
    int seen[CLIPS], looked;
    AlignedClip clips[CLIPS];
    int32_t durations[CLIPS][200];
    int stop_after;
} Found;

static int take(void *arg, const ClipAlignment *c, Err *err)
{
    Found *f = arg;
    const Corpus *corpus = &f->a->corpus;
    StoreEntry e;
    TextView text;
    int sum = 0;
    assert_true(c->item < corpus->count);
    f->seen[c->item]++;
    store_entry(&corpus->text, corpus->items[c->item].text_entry, &e);
    assert_int_equal(text_view(&text, &e), 0);
    assert_int_equal(c->text, text.token_count);
    assert_int_equal(c->frames, corpus->lengths[c->item].frames);
    for (int i = 0; i < c->text; i++) {
        assert_int_equal(c->tokens[i], text.tokens[i]);
        assert_true(c->durations[i] >= 1);
        sum += c->durations[i];
        f->durations[c->item][i] = c->durations[i];
    }
    assert_int_equal(sum, c->frames);
    assert_true(isfinite(c->cost) && c->cost > 0);
    f->clips[c->item] = (AlignedClip){.corpus = corpus,
                                      .item = &corpus->items[c->item],
                                      .durations = f->durations[c->item],
                                      .text = c->text,
                                      .frames = c->frames,
                                      .cost = c->cost};
    EngineLook look;
    assert_int_equal(engine_look(f->a->engine, c->row, &look, err), 0);
    assert_int_equal(look.text, c->text);
    assert_int_equal(look.frames, c->frames);
    assert_memory_equal(look.durations, c->durations, (size_t)c->text * sizeof *c->durations);
    assert_memory_equal(look.tokens, c->tokens, (size_t)c->text * sizeof *c->tokens);
    double cost = 0; /* of the path through mel and mu of this row, and of no other */
    for (int t = 0, m = 0; t < c->text; t++)
        for (int end = m + c->durations[t]; m < end; m++)
            for (int k = 0; k < look.bands; k++)
                cost += pow((double)look.target[m * look.bands + k] - (double)look.mu[t * look.bands + k], 2);
    cost /= (double)c->frames * look.bands;
    assert_true(fabs(cost - (double)c->cost) < 1e-4 * cost);
    engine_look_free(&look);
    f->looked++;
    return f->stop_after && f->looked == f->stop_after ? err_set(err, ERR_STOPPED, "enough") : 0;
}

static void test_every_clip_once(void **state)
{
    (void)state;
    static const struct {
        Split split;
        const char *options;
    } cases[] = {{SPLIT_TRAIN, ""}, {SPLIT_VAL, ""}, {SPLIT_TRAIN, "--batch-size 7 --length-buckets 1"}};
    uint32_t count = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Aligner a;
        Err err = {0};
        Found *f = calloc(2, sizeof *f);
        assert_non_null(f);
        aligner_open(&a, cases[k].options, cases[k].split);
        for (int again = 0; again < 2; again++) {
            f[again].a = &a;
            if (align_clips(a.engine, &a.options, take, &f[again], &err))
                fail_msg("%s", err.msg);
            assert_int_equal(f[again].looked, a.corpus.count);
            for (uint32_t i = 0; i < a.corpus.count; i++)
                assert_int_equal(f[again].seen[i], 1);
        }
        assert_memory_equal(f[0].durations, f[1].durations, sizeof f->durations);
        count += k < 2 ? a.corpus.count : 0;
        aligner_close(&a);
        free(f);
    }
    assert_int_equal(count, CLIPS);
}

static void test_sink_stops(void **state)
{
    (void)state;
    Aligner a;
    Err err = {0};
    aligner_open(&a, "", SPLIT_TRAIN);
    Found *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->a = &a, f->stop_after = 3;
    assert_int_equal(align_clips(a.engine, &a.options, take, f, &err), ERR_STOPPED);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(f->looked, 3);
    aligner_close(&a);
    free(f);
}

/* ---- words and phones ---- */

/* "0-2 4-6 ": spans of a text, counted in symbols; BOS is symbol 0. */
static const char *spans_of(const char *text, int blanks, int (*cut)(SymbolSpan *, const int32_t *, int))
{
    static char out[400];
    Buf ids = {0};
    int32_t tokens[100] = {TOKEN_BOS};
    SymbolSpan spans[100];
    tokens_encode(&ids, NULL, text, strlen(text), blanks);
    int n = (int)(ids.size / 2);
    for (int i = 0; i < n; i++)
        tokens[i + 1] = ((const uint16_t *)(const void *)ids.data)[i];
    tokens[n + 1] = TOKEN_EOS;
    buf_free(&ids);
    int count = cut(spans, tokens, n + 2);
    out[0] = 0;
    for (int i = 0; i < count; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%d-%d ", spans[i].from, spans[i].to);
    return out;
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(spans_of("ab cd", 0, alignment_words), "1-3 4-6 ");
    assert_string_equal(spans_of("ab cd", 1, alignment_words),
                        "1-5 7-11 "); /* blanks belong to what is before them */
    assert_string_equal(spans_of("don't, 'he' said", 0, alignment_words), "1-6 9-11 13-17 ");
    assert_string_equal(spans_of("don't", 1, alignment_words), "1-11 ");
    assert_string_equal(spans_of("a\xE2\x80\x94"
                                 "b, ... c!",
                                 0, alignment_words),
                        "1-2 3-4 10-11 ");
    assert_string_equal(spans_of("ˈaɪ wˈɪð", 0, alignment_words), "1-4 5-9 ");
    assert_string_equal(spans_of("?!", 0, alignment_words), "");
    assert_string_equal(spans_of("", 0, alignment_words), "");
}

static void test_phones(void **state)
{
    (void)state;
    assert_string_equal(spans_of("ˈaɪ", 0, alignment_phones), "1-3 3-4 ");
    assert_string_equal(spans_of("uːt", 0, alignment_phones), "1-3 3-4 ");
    assert_string_equal(spans_of("t͡ʃˈɔ̃ː b", 0, alignment_phones), "1-4 4-8 9-10 ");
    assert_string_equal(spans_of("ˈaː", 1, alignment_phones), "1-7 "); /* with all its blanks */
    assert_string_equal(spans_of("a, ˌb", 0, alignment_phones), "1-2 4-6 ");
    assert_string_equal(spans_of("ma˥˩", 0, alignment_phones), "1-2 2-5 ");
}

/* ---- times ---- */

static void test_seconds(void **state)
{
    (void)state;
    const ClipTime t = {.offset = 0.5, .samples = 1030, .rate = 8000, .hop = 100}; /* 11 frames */
    assert_true(clip_seconds(&t, 0) == 0.5);
    assert_true(fabs(clip_seconds(&t, 1) - (0.5 + 50.0 / 8000)) < 1e-12);
    assert_true(fabs(clip_seconds(&t, 10) - (0.5 + 950.0 / 8000)) < 1e-12);
    assert_true(fabs(clip_seconds(&t, 11) - (0.5 + 1030.0 / 8000)) < 1e-12); /* not behind the end */
}

/* ---- TextGrids ---- */

typedef struct Interval {
    double from, to;
    char label[100];
} Interval;

typedef struct Tier {
    char name[20];
    int count;
    Interval intervals[400];
} Tier;

/* What stands in quotes behind `key`, with doubled quotes as one. Returns what follows it. */
static const char *quoted(const char *p, const char *key, char *out, size_t cap)
{
    assert_non_null(p = strstr(p, key));
    p += strlen(key);
    assert_int_equal(*p++, '"');
    size_t n = 0;
    for (; *p && (*p != '"' || p[1] == '"'); p++) {
        assert_true(n + 1 < cap);
        out[n++] = *p;
        p += *p == '"';
    }
    out[n] = 0;
    return p + 1;
}

static const char *number(const char *p, const char *key, double *out)
{
    char *end;
    assert_non_null(p = strstr(p, key));
    p += strlen(key);
    *out = strtod(p, &end);
    assert_true(end > p);
    return end;
}

/* Reads as a program would that knows the format: every interval follows the one before it, and the tiers
 * span all. */
static double read_textgrid(const char *p, Tier tiers[2])
{
    double low, high, x, size;
    assert_int_equal(strncmp(p, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n", 52), 0);
    p = number(p, "xmin = ", &low);
    p = number(p, "xmax = ", &high);
    assert_non_null(p = strstr(p, "tiers? <exists>"));
    p = number(p, "size = ", &size);
    assert_int_equal((int)size, 2);
    for (int k = 0; k < 2; k++) {
        Tier *t = &tiers[k];
        double count, at = 0;
        p = quoted(p, "class = ", t->name, sizeof t->name);
        assert_string_equal(t->name, "IntervalTier");
        p = quoted(p, "name = ", t->name, sizeof t->name);
        p = number(p, "xmin = ", &x);
        assert_true(x == low && low == 0);
        p = number(p, "xmax = ", &x);
        assert_true(x == high);
        p = number(p, "intervals: size = ", &count);
        t->count = (int)count;
        assert_true(t->count >= 1 && t->count <= 400);
        for (int i = 0; i < t->count; i++) {
            Interval *v = &t->intervals[i];
            p = number(p, "intervals [", &x);
            assert_int_equal((int)x, i + 1);
            p = number(p, "xmin = ", &v->from);
            p = number(p, "xmax = ", &v->to);
            p = quoted(p, "text = ", v->label, sizeof v->label);
            assert_true(v->from == at && v->to > v->from);
            at = v->to;
        }
        assert_true(at == high);
    }
    assert_null(strstr(p, "intervals"));
    return high;
}

static void test_textgrid(void **state)
{
    (void)state;
    static Tier tiers[2];
    const TextGridInterval words[] = {{0.25, 0.5, "say \"no\""}, {0.75, 1.0, "ɪt"}},
                           phones[] = {{0, 0.5, "a"}, {0.5, 0.75, "ˈb"}, {0.75, 1.5, "\""}};
    const TextGridTier in[] = {{"words", words, 2}, {"phones", phones, 3}};
    Buf text = {0};
    textgrid_text(&text, 1.5, in, 2);
    assert_false(text.failed);
    assert_true(read_textgrid(text.data, tiers) == 1.5);
    assert_string_equal(tiers[0].name, "words");
    assert_int_equal(tiers[0].count, 5); /* and the gaps */
    assert_string_equal(tiers[0].intervals[0].label, "");
    assert_string_equal(tiers[0].intervals[1].label, "say \"no\"");
    assert_true(tiers[0].intervals[1].from == 0.25 && tiers[0].intervals[4].from == 1.0);
    assert_string_equal(tiers[1].name, "phones");
    assert_int_equal(tiers[1].count, 3);
    assert_string_equal(tiers[1].intervals[2].label, "\"");
    buf_free(&text);
    textgrid_text(&text, 2, (TextGridTier[]){{"words", NULL, 0}, {"phones", NULL, 0}}, 2);
    assert_true(read_textgrid(text.data, tiers) == 2);
    assert_int_equal(tiers[0].count, 1);
    buf_free(&text);
}

/* ---- files ---- */

typedef struct Row {
    char id[64], symbol[16], word[16];
    int index;
    double start, end;
} Row;

/* All rows of durations.tsv; malloc'd. */
static Row *read_rows(const char *path, int *count)
{
    Buf b = file_bytes(path);
    buf_add(&b, "", 1);
    Row *rows = calloc(5000, sizeof *rows);
    assert_non_null(rows);
    *count = 0;
    char *save = NULL, *line = strtok_r(b.data, "\n", &save);
    assert_string_equal(line, "id\tindex\tsymbol\tstart_s\tend_s\tword");
    while ((line = strtok_r(NULL, "\n", &save))) {
        Row *r = &rows[(*count)++];
        char *field[6];
        for (int k = 0; k < 6; k++) {
            assert_non_null(field[k] = strsep(&line, "\t"));
            assert_true(k == 5 || line);
        }
        assert_null(line);
        snprintf(r->id, sizeof r->id, "%s", field[0]);
        snprintf(r->symbol, sizeof r->symbol, "%s", field[2]);
        snprintf(r->word, sizeof r->word, "%s", field[5]);
        r->index = atoi(field[1]), r->start = atof(field[3]), r->end = atof(field[4]);
    }
    buf_free(&b);
    return rows;
}

/* Times go on from symbol to symbol, words from 0 on; each TextGrid has the same borders. Returns the number
 * of clips. */
static int check_files(const char *dir)
{
    static Tier tiers[2];
    char path[600];
    int count, clips = 0;
    snprintf(path, sizeof path, "%s/durations.tsv", dir);
    Row *rows = read_rows(path, &count);
    for (int from = 0, to; from < count; from = to, clips++) {
        int last = -1, phones = 0;
        for (to = from; to < count && strcmp(rows[to].id, rows[from].id) == 0; to++) {
            const Row *r = &rows[to];
            assert_int_equal(r->index, to - from);
            assert_true((r->end > r->start || (r->end == r->start && strcmp(r->symbol, "<space>") == 0)) &&
                        (to == from || r->start == rows[to - 1].end));
            int plain = strlen(r->symbol) == 1 && r->symbol[0] >= 'a' && r->symbol[0] <= 'z';
            assert_int_equal(r->word[0] != 0, plain);
            if (plain) {
                int word = atoi(r->word);
                assert_true(word == last ||
                            (word == last + 1 && (last < 0 || strcmp(rows[to - 1].symbol, "<space>") == 0)));
                last = word;
            }
            phones += plain;
        }
        assert_string_equal(rows[from].symbol, "<bos>");
        assert_string_equal(rows[to - 1].symbol, "<eos>");
        snprintf(path, sizeof path, "%s/textgrid/%s.TextGrid", dir, rows[from].id);
        Buf grid = file_bytes(path);
        buf_add(&grid, "", 1);
        double end = read_textgrid(grid.data, tiers);
        buf_free(&grid);
        assert_true(rows[to - 1].end <= end + 1e-9);
        int words = 0, at = from;
        for (int i = 0; i < tiers[0].count; i++)
            words += tiers[0].intervals[i].label[0] != 0;
        assert_int_equal(words, last + 1);
        for (int i = 0; i < tiers[1].count; i++) {
            const Interval *v = &tiers[1].intervals[i];
            if (!v->label[0])
                continue;
            while (strcmp(rows[at].symbol, v->label) != 0 || !rows[at].word[0])
                assert_true(++at < to);
            assert_true(v->from == rows[at].start && v->to == rows[at].end);
            at++, phones--;
        }
        assert_int_equal(phones, 0);
    }
    free(rows);
    return clips;
}

static void test_files(void **state)
{
    (void)state;
    Aligner a;
    Err err = {0};
    char path[600];
    const char *dir = new_folder();
    const AlignedClip *worst;
    aligner_open(&a, "", SPLIT_TRAIN);
    Found *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->a = &a;
    assert_int_equal(file_make_dirs(dir, &err), 0);
    assert_int_equal(align_clips(a.engine, &a.options, take, f, &err), 0);
    f->clips[2].durations = NULL; /* as one that was lost */
    if (alignment_write_times(dir, f->clips, a.corpus.count, &a.cfg, &a.log, &err) ||
        alignment_write_costs(dir, f->clips, a.corpus.count, &worst, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(check_files(dir), a.corpus.count - 1);
    /* nothing was cut off: clips begin at 0 and end with the file */
    snprintf(path, sizeof path, "%s/durations.tsv", dir);
    int count;
    Row *rows = read_rows(path, &count);
    for (int i = 0; i < count; i++)
        assert_true(rows[i].index ? 1 : rows[i].start == 0);
    free(rows);
    snprintf(path, sizeof path, "%s/cost.tsv", dir);
    Buf b = file_bytes(path);
    buf_add(&b, "", 1);
    char *save = NULL, *line = strtok_r(b.data, "\n", &save);
    assert_string_equal(line, "id\tcost");
    double last = HUGE_VAL;
    uint32_t n = 0;
    for (; (line = strtok_r(NULL, "\n", &save)); n++) {
        double cost = atof(strchr(line, '\t') + 1);
        assert_true(cost <= last);
        last = cost;
        if (n == 0)
            assert_true(fabs(cost - (double)worst->cost) < 1e-5);
    }
    assert_int_equal(n, a.corpus.count - 1);
    buf_free(&b);
    /* a folder that cannot be made */
    snprintf(path, sizeof path, "%s/cost.tsv/x", dir);
    assert_int_not_equal(alignment_write_times(path, f->clips, a.corpus.count, &a.cfg, &a.log, &err), 0);
    aligner_close(&a);
    free(f);
}

/* ---- recordings with silence at both ends, ids with slashes ---- */

static void write_padded(const char *path, int kind, double before, double tone, double after)
{
    write_tone(path, kind, before + tone + after);
    Buf b = file_bytes(path);
    for (size_t i = 0, n = (b.size - 44) / 2; i < n; i++)
        if (i < (size_t)(before * 8000) || i >= (size_t)((before + tone) * 8000))
            put_u16((uint8_t *)b.data + 44 + 2 * i, 0);
    file_put(path, b.data, b.size);
    buf_free(&b);
}

static void test_trimmed(void **state)
{
    (void)state;
    char data[300], cache[300], path[600];
    Err err = {0};
    PrepareReport report = {0};
    Config cfg;
    Log log;
    Aligner a;
    const char *dir = new_folder();
    const double before[] = {0.5, 0.25, 0, 0.75}, after = 0.3;
    memcpy(data, lab.data, sizeof data), memcpy(cache, lab.cache, sizeof cache);
    snprintf(lab.data, sizeof lab.data, "%s", folder_file(&lab.folder, "padded"));
    snprintf(lab.cache, sizeof lab.cache, "%s", folder_file(&lab.folder, "padded-cache"));
    assert_int_equal(file_make_dirs(folder_file(&lab.folder, "padded/wavs/one"), &err), 0);
    FILE *m = fopen(folder_file(&lab.folder, "padded/metadata.csv"), "w");
    assert_non_null(m);
    for (int i = 0; i < 4; i++) {
        fprintf(m, "one/clip%d|a hill|a hill|anna\n", i);
        snprintf(path, sizeof path, "padded/wavs/one/clip%d.wav", i);
        write_padded(folder_file(&lab.folder, path), i, before[i], 0.5, after);
    }
    fclose(m);
    static const char options[] = "--trim-silence true --val-split 0";
    lab_config(&cfg, NULL, options);
    log_init(&log, LOG_ERROR);
    if (prepare_run(&cfg, &(PrepareOptions){.text = 1, .mel = 1}, &report, &log, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(report.accepted, 4);
    prepare_report_free(&report);
    config_close(&cfg);
    aligner_open(&a, options, SPLIT_TRAIN);
    Found *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->a = &a;
    assert_int_equal(file_make_dirs(dir, &err), 0);
    assert_int_equal(align_clips(a.engine, &a.options, take, f, &err), 0);
    if (alignment_write_times(dir, f->clips, 4, &a.cfg, &a.log, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(check_files(dir), 4);
    snprintf(path, sizeof path, "%s/durations.tsv", dir);
    int count, n = f->clips[0].text;
    Row *rows = read_rows(path, &count);
    assert_int_equal(count, 4 * n);
    for (int i = 0; i < 4; i++) { /* to the width of the window that looks for silence */
        assert_true(fabs(rows[i * n].start - before[i]) <= 0.03);
        assert_true(fabs(rows[i * n + n - 1].end - before[i] - 0.5) <= 0.03);
    }
    free(rows);
    /* a recording that is another one now */
    snprintf(path, sizeof path, "%s/wavs/one/clip1.wav", lab.data);
    write_padded(path, 1, 0.2, 0.9, 0.1);
    assert_int_equal(alignment_write_times(dir, f->clips, 4, &a.cfg, &a.log, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "one/clip1: "));
    aligner_close(&a);
    free(f);
    memcpy(lab.data, data, sizeof data), memcpy(lab.cache, cache, sizeof cache);
}

/* ---- the command ---- */

/* Runs it with its standard output in a file; the exit code. */
static int align_command(const char *more, char *out, size_t cap)
{
    char text[2000], *argv[40] = {"align"}, *save = NULL;
    int argc = 1;
    Log log;
    log_init(&log, LOG_ERROR);
    FILE *nowhere = fopen("/dev/null", "w"), *caught = tmpfile();
    assert_true(nowhere && caught);
    log.out = nowhere;
    snprintf(text, sizeof text, "%s", more);
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    dup2(fileno(caught), STDOUT_FILENO);
    int code = cmd_align(argc, argv, &log);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    rewind(caught);
    out[fread(out, 1, cap - 1, caught)] = 0;
    fclose(caught), fclose(nowhere);
    return code;
}

static void test_command(void **state)
{
    (void)state;
    char run[400], more[1500], out[2000];
    snprintf(run, sizeof run, "%s", new_folder());
    train(run, "--max-steps 6", (JobOptions){0});
    int n = snprintf(more, sizeof more,
                     "--checkpoint %s --data-path %s --cache-dir %s --data-gpu cpu --model-gpu cpu", run,
                     lab.data, lab.cache);
    snprintf(more + n, sizeof more - (size_t)n, " --json");
    assert_int_equal(align_command(more, out, sizeof out), 0);
    json_t *o = json_loads(out, 0, NULL);
    assert_non_null(o);
    assert_int_equal(json_integer_value(json_object_get(o, "clips")), CLIPS);
    assert_true(json_integer_value(json_object_get(o, "symbols")) > 3 * CLIPS);
    assert_true(json_number_value(json_object_get(o, "seconds")) > 0.25 * CLIPS);
    assert_true(json_number_value(json_object_get(o, "mean_cost")) > 0);
    char dir[500];
    snprintf(dir, sizeof dir, "%s/alignment", run);
    assert_string_equal(json_string_value(json_object_get(o, "output")), dir);
    json_decref(o);
    assert_int_equal(check_files(dir), CLIPS);
    char path[600];
    snprintf(path, sizeof path, "%s/alignment.png", dir);
    assert_true(is_there(path));
    snprintf(dir, sizeof dir, "%s/few", run);
    snprintf(more + n, sizeof more - (size_t)n, " --clips 2 --output %s", dir);
    assert_int_equal(align_command(more, out, sizeof out), 0);
    assert_non_null(strstr(out, "4 clips"));
    assert_int_equal(check_files(dir), 4);
    snprintf(more + n, sizeof more - (size_t)n, " --clips none");
    assert_int_equal(align_command(more, out, sizeof out), 2);
    assert_int_equal(align_command("--data-path x", out, sizeof out), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_clip_once), cmocka_unit_test(test_sink_stops),
        cmocka_unit_test(test_words),           cmocka_unit_test(test_phones),
        cmocka_unit_test(test_seconds),         cmocka_unit_test(test_textgrid),
        cmocka_unit_test(test_files),           cmocka_unit_test(test_trimmed),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
