/* voice.c - how many words of a voice are heard wrong, beside those of the recordings it learned from.
 *
 *   voice --out DIR [--text FILE] [--voices A,B] [--config FILE] [--most POINTS] [--curve [--minutes M]]
 * [--heard]
 *         [--iterations N] [--keep-copies] [--language L] [--threads N] [--json-file FILE]
 *   voice --check                   is there a recogniser? Names it, or says what is missing (exit 3)
 *
 * DIR is what tools/voice.sh leaves: sentences.txt (or --text; one sentence a line, spelled out, line N is
 * clip NN.wav), and for each speaker reference/SPEAKER/NN.wav, the sentences by the one it learned from, and
 * spoken/SPEAKER/NN.wav, by the voice. --voices: all speakers of spoken/ when it is not given. Three sets of
 * the same sentences are heard by a recogniser that nobody here trained (src/judge): recordings    reference/
 * as it is; Griffin-Lim   the same through what the voice goes through: trimmed and set to its loudness as
 * `prepare` does it, mel, Griffin-Lim as in `synth`. It is written to DIR/griffin-lim/SPEAKER, to be listened
 * to (--keep-copies: it is there and stays). No voice with this vocoder can be expected to do better; voice
 * spoken/. Words wrong:
 * substituted, left out and added, in percent of the words said. The difference voice - Griffin-Lim has a 95
 * % interval (bootstrap over sentences, the two of a sentence always drawn together). Length: of the voice's
 * clips, silence at both ends cut, in parts of that of the Griffin-Lim ones. Without reference/ only the
 * voice is judged. What was heard is kept in DIR/heard.tsv: a second run listens only to what is new. Remove
 * it when src/judge changes.
 * --curve: also spoken/minutes-M/SPEAKER/NN.wav, as many sentences as there are: words wrong over minutes of
 * training; --minutes says how long the voice itself was trained. --heard: what was heard, sentence by
 * sentence, and how many words of each are wrong in the JSON. The last line is one JSON object. Exit 0: well;
 * 1: a speaker is more than --most points over Griffin-Lim; 2: wrong use; 3: something is missing or
 * unreadable. */
#include <dirent.h>
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/thread.h"
#include "cmd/line/output.h"
#include "support/bench_options.h"
#include "support/voice_clips.h"

#define MAX_SPEAKERS 64
#define MAX_POINTS 64
#define NAME_SIZE 64
#define LONG_WORDS 15 /* a sentence with more words is a long one */

typedef struct Options {
    const char *out, *text, *voices, *config, *language, *json_file;
    double most, minutes; /* most < 0: not given; minutes < 0: not given */
    int iterations, threads, curve, heard, keep_copies, check;
} Options;

typedef enum { SET_RECORDINGS, SET_COPIES, SET_VOICE, SET_COUNT } SetKind;
static const char *const set_folders[SET_COUNT] = {"reference", "griffin-lim", "spoken"};
static const char *const set_names[SET_COUNT] = {"recordings", "Griffin-Lim", "voice"};

typedef struct Point { /* of the curve */
    char folder[NAME_SIZE];
    double minutes;
    Heard heard[MAX_SPEAKERS];
} Point;

typedef struct Judgement {
    const Options *o;
    Config cfg;
    Text text;
    char speakers[MAX_SPEAKERS][NAME_SIZE];
    int speaker_count, has_reference;
    Heard heard[MAX_SPEAKERS][SET_COUNT];
    Point points[MAX_POINTS]; /* sorted by minutes */
    int point_count;
    char recogniser[128], memory_path[PATH_SIZE];
    Memory memory;
    JudgeClip *mine, *theirs; /* [speakers * sentences] scratch of a comparison */
} Judgement;

static void judgement_free(Judgement *j)
{
    for (int s = 0; s < MAX_SPEAKERS; s++) {
        for (int k = 0; k < SET_COUNT; k++)
            heard_free(&j->heard[s][k]);
        for (int p = 0; p < j->point_count; p++)
            heard_free(&j->points[p].heard[s]);
    }
    memory_free(&j->memory);
    text_free(&j->text);
    config_close(&j->cfg);
    free(j->mine);
    free(j->theirs);
    free(j);
}

/* ---- which speakers, which points of the curve ---- */

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static int compare_points(const void *a, const void *b)
{
    const Point *p = a, *q = b;
    return (p->minutes > q->minutes) - (p->minutes < q->minutes);
}

static int add_speaker(Judgement *j, const char *name, size_t n, Err *err)
{
    if (!n || n >= NAME_SIZE || j->speaker_count == MAX_SPEAKERS)
        return err_set(err, ERR_USAGE, "'%.*s' is no name of a speaker, or there are more than %d", (int)n,
                       name, MAX_SPEAKERS);
    snprintf(j->speakers[j->speaker_count++], NAME_SIZE, "%.*s", (int)n, name);
    return 0;
}

static int find_folders(Judgement *j, Err *err)
{
    char path[PATH_SIZE];
    int rc = 0;
    snprintf(path, sizeof path, "%s/spoken", j->o->out);
    DIR *d = opendir(path);
    if (!d)
        return err_set_errno(err, ERR_MISSING, "cannot open %s", path);
    for (struct dirent *e; !rc && (e = readdir(d));) {
        double minutes;
        int end = 0;
        if (sscanf(e->d_name, "minutes-%lf%n", &minutes, &end) == 1 && !e->d_name[end]) {
            if (j->o->curve && j->point_count < MAX_POINTS && strlen(e->d_name) < NAME_SIZE) {
                Point *p = &j->points[j->point_count++];
                p->minutes = minutes;
                snprintf(p->folder, sizeof p->folder, "%s", e->d_name);
            }
        } else if (!j->o->voices && e->d_name[0] != '.')
            rc = add_speaker(j, e->d_name, strlen(e->d_name), err);
    }
    closedir(d);
    for (const char *p = j->o->voices; p && !rc;) {
        size_t n = strcspn(p, ",");
        rc = add_speaker(j, p, n, err);
        p = p[n] ? p + n + 1 : NULL;
    }
    if (!rc && !j->speaker_count)
        rc = err_set(err, ERR_MISSING, "there is no folder of a speaker in %s", path);
    if (!j->o->voices)
        qsort(j->speakers, (size_t)j->speaker_count, sizeof j->speakers[0], compare_names);
    qsort(j->points, (size_t)j->point_count, sizeof j->points[0], compare_points);
    snprintf(path, sizeof path, "%s/reference", j->o->out);
    j->has_reference = file_exists(path);
    if (!rc && !j->has_reference && j->o->most >= 0)
        rc = err_set(err, ERR_MISSING, "there is no %s, so --most has nothing to compare with", path);
    return rc;
}

/* ---- listening ---- */

static int hear(Heard *h, Judgement *j, const char *folder, const char *speaker, const char *what, int some,
                Err *err)
{
    char path[PATH_SIZE];
    const Options *o = j->o;
    double start = clock_now();
    snprintf(path, sizeof path, "%s/%s/%s", o->out, folder, speaker);
    int rc = heard_make(h, &j->text, path, some, &j->cfg, &j->memory, o->language, o->threads, err);
    if (!rc)
        fprintf(stderr, "heard %s, %s: %.0f s\n", speaker, what, clock_now() - start);
    return rc;
}

static int hear_all(Judgement *j, Err *err)
{
    const Options *o = j->o;
    int rc = 0;
    for (int s = 0; s < j->speaker_count && !rc; s++) {
        char from[PATH_SIZE], to[PATH_SIZE];
        snprintf(from, sizeof from, "%s/%s/%s", o->out, set_folders[SET_RECORDINGS], j->speakers[s]);
        snprintf(to, sizeof to, "%s/%s/%s", o->out, set_folders[SET_COPIES], j->speakers[s]);
        if (j->has_reference && !o->keep_copies)
            rc = copies_make(&j->text, from, to, &j->cfg, o->iterations, o->threads, err);
        for (int k = j->has_reference ? 0 : SET_VOICE; k < SET_COUNT && !rc; k++)
            rc = hear(&j->heard[s][k], j, set_folders[k], j->speakers[s], set_names[k], 0, err);
        for (int p = 0; p < j->point_count && !rc; p++) {
            char folder[PATH_SIZE];
            snprintf(folder, sizeof folder, "%s/%s", set_folders[SET_VOICE], j->points[p].folder);
            rc = hear(&j->points[p].heard[s], j, folder, j->speakers[s], j->points[p].folder, 1, err);
        }
    }
    return rc;
}

/* ---- comparing ---- */

typedef enum { LENGTH_ANY, LENGTH_SHORT, LENGTH_LONG } LengthKind;

typedef struct Row {
    int sentences;
    WordScore score[SET_COUNT];
    WordDifference difference; /* voice - Griffin-Lim */
    double length;
} Row;

/* speaker < 0: all. point: NULL, or what stands in for the voice, with the sentences it has. */
static Row compare(Judgement *j, int speaker, LengthKind kind, const Point *point)
{
    Row r = {0};
    double seconds[SET_COUNT] = {0};
    int n = 0;
    for (int k = 0; k < SET_COUNT; k++) {
        n = 0;
        for (int s = 0; s < j->speaker_count; s++)
            for (int i = 0; i < j->text.count; i++) {
                const Heard *own = k == SET_VOICE && point ? &point->heard[s] : &j->heard[s][k];
                int is_long = j->text.items[i].words > LONG_WORDS;
                if ((speaker >= 0 && s != speaker) ||
                    (kind != LENGTH_ANY && is_long != (kind == LENGTH_LONG)) || !own->clips ||
                    (point && !point->heard[s].there[i]))
                    continue;
                (k == SET_COPIES ? j->theirs : j->mine)[n++] = own->clips[i];
                seconds[k] += own->seconds[i];
            }
        r.score[k] = judge_score(k == SET_COPIES ? j->theirs : j->mine, n);
    }
    r.sentences = n;
    if (j->has_reference) {
        r.difference = judge_difference(j->mine, j->theirs, n);
        r.length = seconds[SET_COPIES] > 0 ? seconds[SET_VOICE] / seconds[SET_COPIES] : 0;
    }
    return r;
}

static void print_row(const Judgement *j, const char *name, const Row *r)
{
    printf("  %-22s %9d %9d", name, r->sentences, r->score[SET_VOICE].words);
    if (j->has_reference)
        printf(" %10.1f %% %9.1f %%", 100 * r->score[SET_RECORDINGS].share, 100 * r->score[SET_COPIES].share);
    printf(" %8.1f %%", 100 * r->score[SET_VOICE].share);
    char difference[64];
    snprintf(difference, sizeof difference, "%+.1f (%+.1f .. %+.1f)", r->difference.points, r->difference.low,
             r->difference.high);
    if (j->has_reference)
        printf("   %-30s %6.2f", difference, r->length);
    printf("\n");
}

static json_t *json_row(const Judgement *j, const char *key, json_t *name, const Row *r)
{
    json_t *o = json_object();
    if (name)
        json_object_set_new(o, key, name);
    json_object_set_new(o, "sentences", json_integer(r->sentences));
    json_object_set_new(o, "words", json_integer(r->score[SET_VOICE].words));
    json_object_set_new(o, "voice", json_real(100 * r->score[SET_VOICE].share));
    if (j->has_reference) {
        json_object_set_new(o, "recordings", json_real(100 * r->score[SET_RECORDINGS].share));
        json_object_set_new(o, "griffin_lim", json_real(100 * r->score[SET_COPIES].share));
        json_object_set_new(o, "difference_points", json_real(r->difference.points));
        json_object_set_new(o, "low", json_real(r->difference.low));
        json_object_set_new(o, "high", json_real(r->difference.high));
        json_object_set_new(o, "length_ratio", json_real(r->length));
    }
    return o;
}

/* What was wrong in each sentence of a speaker. */
static json_t *json_clips(const Judgement *j, int speaker)
{
    static const char *const keys[SET_COUNT] = {"recordings", "griffin_lim", "voice"};
    json_t *all = json_array();
    for (int i = 0; i < j->text.count; i++) {
        json_t *o = json_pack("{s:i, s:i}", "line", j->text.items[i].line, "words",
                              j->heard[speaker][SET_VOICE].clips[i].words);
        for (int k = 0; k < SET_COUNT; k++)
            if (j->heard[speaker][k].clips)
                json_object_set_new(o, keys[k], json_integer(j->heard[speaker][k].clips[i].wrong));
        json_array_append_new(all, o);
    }
    return all;
}

/* ---- the report ---- */

static void print_heard(const Judgement *j)
{
    for (int s = 0; s < j->speaker_count; s++)
        for (int i = 0; i < j->text.count; i++) {
            printf("%s %02d  %-12s %s\n", j->speakers[s], j->text.items[i].line, "said",
                   j->text.items[i].text);
            for (int k = 0; k < SET_COUNT; k++) {
                const JudgeClip *c = j->heard[s][k].clips ? &j->heard[s][k].clips[i] : NULL;
                if (c)
                    printf("%*s  %-12s %s  (%d of %d wrong)\n", (int)strlen(j->speakers[s]) + 3, "",
                           set_names[k], *c->heard ? c->heard : "-", c->wrong, c->words);
            }
        }
    printf("\n");
}

static json_t *report_curve(Judgement *j)
{
    const Options *o = j->o;
    json_t *curve = json_array();
    char name[40];
    if (j->point_count)
        printf("\nwords wrong over minutes of training, the sentences that were spoken then\n");
    for (int p = 0; p < j->point_count; p++) {
        Row r = compare(j, -1, LENGTH_ANY, &j->points[p]);
        snprintf(name, sizeof name, "%8.1f min", j->points[p].minutes);
        print_row(j, name, &r);
        json_array_append_new(curve, json_row(j, "minutes", json_real(j->points[p].minutes), &r));
    }
    if (j->point_count && o->minutes >= 0) {
        /* The voice itself on the sentences of the last point, so that the end of the curve can be compared.
         */
        Point last = j->points[j->point_count - 1];
        for (int s = 0; s < j->speaker_count; s++) {
            uint8_t *there = last.heard[s].there;
            last.heard[s] = j->heard[s][SET_VOICE];
            last.heard[s].there = there;
        }
        Row r = compare(j, -1, LENGTH_ANY, &last);
        snprintf(name, sizeof name, "%8.1f min, the end", o->minutes);
        print_row(j, name, &r);
        json_array_append_new(curve, json_row(j, "minutes", json_real(o->minutes), &r));
    }
    return curve;
}

/* All figures, printed and gathered into *result. Returns whether every speaker is within --most. */
static int report(json_t **result, Judgement *j)
{
    const Options *o = j->o;
    json_t *speakers = json_array();
    int passed = 1;
    if (o->heard)
        print_heard(j);
    printf("words wrong, heard by %s; Griffin-Lim with %d iterations\n\n", j->recogniser, o->iterations);
    printf("  %-22s %9s %9s", "", "sentences", "words");
    if (j->has_reference)
        printf(" %12s %11s", set_names[SET_RECORDINGS], set_names[SET_COPIES]);
    printf(" %10s%s\n", set_names[SET_VOICE],
           j->has_reference ? "   voice - Griffin-Lim, points    length" : "");
    for (int s = 0; s < j->speaker_count; s++) {
        Row r = compare(j, s, LENGTH_ANY, NULL);
        print_row(j, j->speakers[s], &r);
        json_t *row = json_row(j, "speaker", json_from_text(j->speakers[s]), &r);
        if (o->heard)
            json_object_set_new(row, "clips", json_clips(j, s));
        json_array_append_new(speakers, row);
        if (o->most >= 0 && r.difference.points > o->most)
            passed = 0;
    }
    Row all = compare(j, -1, LENGTH_ANY, NULL), brief = compare(j, -1, LENGTH_SHORT, NULL),
        lengthy = compare(j, -1, LENGTH_LONG, NULL);
    if (j->speaker_count > 1)
        print_row(j, "all", &all);
    char name[40];
    snprintf(name, sizeof name, "up to %d words", LONG_WORDS);
    if (brief.sentences && lengthy.sentences) {
        print_row(j, name, &brief);
        snprintf(name, sizeof name, "more than %d words", LONG_WORDS);
        print_row(j, name, &lengthy);
    }
    json_t *curve = report_curve(j);
    if (o->most >= 0)
        printf("\n%s: at most %g points more than Griffin-Lim are allowed\n", passed ? "well" : "TOO MANY",
               o->most);
    *result =
        json_pack("{s:s, s:i, s:i, s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "recogniser", j->recogniser,
                  "sentences", j->text.count, "words", j->text.words, "iterations", o->iterations, "most",
                  o->most >= 0 ? json_real(o->most) : json_null(), "passed", passed, "speakers", speakers,
                  "all", json_row(j, NULL, NULL, &all), "short", json_row(j, NULL, NULL, &brief), "long",
                  json_row(j, NULL, NULL, &lengthy), "curve", curve);
    return passed;
}

/* One line to stdout, and to the file where one was asked for. Takes o over. */
static int write_json(const char *path, json_t *o, Err *err)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    Buf line = {0};
    buf_printf(&line, "%s\n", text ? text : "");
    json_decref(o);
    int rc = !text || line.failed ? err_set(err, ERR_NOMEM, "no memory for the report") : 0;
    if (!rc)
        fputs(line.data, stdout);
    if (!rc && path)
        rc = file_replace(path, line.data, line.size, err);
    free(text);
    buf_free(&line);
    return rc;
}

static int judge_voice(int *passed, const Options *o, const char *recogniser, Err *err)
{
    Judgement *j = mem_calloc(1, sizeof *j);
    char path[PATH_SIZE];
    if (!j)
        return err_set(err, ERR_NOMEM, "no memory");
    j->o = o;
    snprintf(j->recogniser, sizeof j->recogniser, "%s", recogniser);
    snprintf(j->memory_path, sizeof j->memory_path, "%s/heard.tsv", o->out);
    snprintf(path, sizeof path, "%s/sentences.txt", o->out);
    int rc = config_load(&j->cfg, o->config, 0, NULL, err);
    if (!rc)
        rc = text_read(&j->text, o->text ? o->text : path, err);
    if (!rc)
        rc = find_folders(j, err);
    if (!rc)
        rc = memory_open(&j->memory, j->memory_path, j->recogniser, err);
    if (!rc) {
        size_t n = (size_t)j->speaker_count * (size_t)j->text.count;
        j->mine = mem_calloc(n, sizeof *j->mine);
        j->theirs = mem_calloc(n, sizeof *j->theirs);
        rc = j->mine && j->theirs ? hear_all(j, err) : err_set(err, ERR_NOMEM, "no memory");
    }
    if (!rc) {
        json_t *result;
        *passed = report(&result, j);
        rc = write_json(o->json_file, result, err);
    }
    judgement_free(j);
    return rc;
}

/* ---- the command line ---- */

static const char usage_text[] =
    "usage: voice --out DIR [--text FILE] [--voices A,B] [--config FILE] [--most POINTS] [--curve [--minutes "
    "M]] [--heard]\n"
    "             [--iterations N] [--keep-copies] [--language L] [--threads N] [--json-file FILE]\n"
    "       voice --check [--language L]\n";

static int parse_options(Options *o, int argc, char **argv, Err *err)
{
    *o = (Options){.config = "configs/voice.yaml",
                   .language = "en",
                   .most = -1,
                   .minutes = -1,
                   .iterations = GRIFFIN_LIM_ITERATIONS,
                   .threads = thread_cores()};
    const BenchOption rows[] = {{"--out", BENCH_TEXT, &o->out, 0, 0},
                                {"--text", BENCH_TEXT, &o->text, 0, 0},
                                {"--voices", BENCH_TEXT, &o->voices, 0, 0},
                                {"--config", BENCH_TEXT, &o->config, 0, 0},
                                {"--most", BENCH_REAL, &o->most, 0, 1000},
                                {"--curve", BENCH_SWITCH, &o->curve, 0, 0},
                                {"--minutes", BENCH_REAL, &o->minutes, 0, 1e6},
                                {"--heard", BENCH_SWITCH, &o->heard, 0, 0},
                                {"--iterations", BENCH_INT, &o->iterations, 1, 10000},
                                {"--keep-copies", BENCH_SWITCH, &o->keep_copies, 0, 0},
                                {"--language", BENCH_TEXT, &o->language, 0, 0},
                                {"--threads", BENCH_INT, &o->threads, 1, 256},
                                {"--json-file", BENCH_TEXT, &o->json_file, 0, 0},
                                {"--check", BENCH_SWITCH, &o->check, 0, 0}};
    const int rc = bench_options(rows, sizeof rows / sizeof *rows, argc, argv, err);
    if (!rc && !o->out && !o->check)
        return err_set(err, ERR_USAGE, "--out DIR is needed, what tools/voice.sh leaves");
    return rc;
}

int main(int argc, char **argv)
{
    Options o;
    Err err = {0};
    Log log;
    Recogniser *r = NULL;
    char name[128] = "";
    int passed = 1;
    log_init(&log, LOG_INFO);
    int rc = parse_options(&o, argc, argv, &err);
    if (rc) {
        log_err(&log, &err);
        fputs(usage_text, stderr);
        return err_exit_code(rc);
    }
    /* Before anything long begins: is there somebody to listen? */
    rc = recogniser_open(&r, o.language, &err);
    if (!rc)
        snprintf(name, sizeof name, "%s", recogniser_name(r));
    recogniser_close(r);
    if (!rc && o.check)
        fprintf(stderr, "recogniser: %s\n", name);
    else if (!rc)
        rc = judge_voice(&passed, &o, name, &err);
    if (rc) {
        log_err(&log, &err);
        return err_exit_code(rc);
    }
    return passed ? 0 : 1;
}
