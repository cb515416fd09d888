/* digits.c - which digit is it? Spoken digits, recognised by the nearest real recordings. It judges the
 * voices that training made, and was fixed before there were any.
 *
 *   digits --data DIR --synth DIR [--require 0.9] [--cap-seconds X] [--json] [--threads N]
 *   digits --data DIR --baseline [--json]      the recordings alone
 *   digits --data DIR --compare                the settings below, one changed at a time
 *   digits --self-check                        on sounds it makes itself
 *
 * --data: a dataset folder whose texts are the words zero ... nine and whose metadata names the speaker (the
 * Free Spoken Digit Dataset: 6 speakers, 25 takes of each digit). --synth: <digit>_<speaker>.wav for each
 * digit and each of those speakers. Three figures, always over the same features and distance:
 *   - made:      every made clip against ALL real recordings of ALL speakers (also those the voice was
 * trained on: the question is whether the clip is the right word, not whether it is new);
 *   - one speaker's recordings against the recordings of the others (none of the own voice among the
 * neighbours): the baseline;
 *   - every recording against all other recordings, itself left out: what real speech gets under the rule of
 * the made clips. A silent clip counts as wrong. Exit 0: at least --require of the made clips are right; 1:
 * fewer, or the self-check failed; 2: wrong use; 3: something is missing or unreadable. A clip within 50 ms
 * of --cap-seconds is named as one that did not stop by itself.
 *
 * The judge. Audio at 8 kHz, silence cut at 30 dB below the loudest frame, loudness as `prepare` sets it
 * (src/audio/process.h). The program's own log mel (src/audio/mel.h): FFT 512, window 400, hop 100, 40 bands
 * to 4 kHz; values more than 60 dB below the clip's highest are raised to that floor. Cosine transform, 13
 * coefficients with the 0th; over the clip each has its mean taken away (the channel) and is divided by its
 * deviation (what is left of it, and of the speaker). Beside them their slopes over 5 frames (regression, as
 * usual for cepstra) with weight 2: 26 numbers a frame. Distance of two frames: sum of absolute differences.
 * Dynamic time warping in the symmetric form of Sakoe and Chiba (1978): a diagonal step counts twice, the sum
 * is divided by the sum of both lengths; band of 0.3 of the longer clip around the diagonal. The three
 * nearest vote; with three different digits the nearest wins.
 *
 * How it was chosen: by the two figures over the 1,500 real recordings alone, in percent (others' = one
 * speaker against the others', all = against all others; one clip is 0.07). From cepstra as in any textbook,
 * each thing below was tried in turn and the better kept; the five nearest do as well as three. `--compare`
 * prints the table again, the judge with one thing changed in each row: others'      all the judge
 * 89.07    99.47 the nearest alone decides               87.67    99.33 the five nearest vote 89.13    99.40
 *   no slopes                               85.60    99.33
 *   slopes with weight 1                    88.00    99.40
 *   not divided by the deviation            82.00    99.40
 *   10 coefficients                         85.20    99.33
 *   20 coefficients                         85.87    99.40
 *   the 40 bands, no cosine transform       61.80    94.40
 *   24 bands                                88.07    99.40
 *   FFT 256, window 200, hop 80             87.53    99.13
 *   silence at 40 dB                        88.53    99.27
 *   no floor                                88.40    99.53
 *   Euclidean distance of frames            88.13    99.47
 *   squared distance of frames              86.93    99.13
 *   band of 0.1                             87.00    99.07
 *   diagonal counts once                    84.40    99.27
 * Frozen: figures of made voices can be compared only while nothing here changes. */
#include <getopt.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/stats.h"
#include "cmd/output.h"
#include "dataset/dataset.h"
#include "support/digits_check.h"
#include "support/digits_score.h"

typedef struct Options {
    const char *data, *synth;
    double require, cap_seconds; /* cap_seconds 0: not given */
    int threads, json, baseline, compare, self_check;
} Options;

/* The judge and its neighbours, each with one thing changed. */
static int compare_settings(const Options *o, Err *err)
{
    enum { VARIANTS = 17 };
    JudgeSettings v[VARIANTS];
    int n = 0, rc = 0;
#define VARIANT(text, ...) v[n] = judge, v[n].name = text, __VA_ARGS__, n++
    VARIANT("the judge", (void)0);
    VARIANT("the nearest alone decides", v[n].k = 1);
    VARIANT("the five nearest vote", v[n].k = 5);
    VARIANT("no slopes", v[n].slopes = 0);
    VARIANT("slopes with weight 1", v[n].slopes = 1);
    VARIANT("not divided by the deviation", v[n].variance = 0);
    VARIANT("10 coefficients", v[n].cepstra = 10);
    VARIANT("20 coefficients", v[n].cepstra = 20);
    VARIANT("the 40 bands, no cosine transform", v[n].cepstra = 0);
    VARIANT("24 bands", v[n].n_mels = 24);
    VARIANT("FFT 256, window 200, hop 80", v[n].n_fft = 256, v[n].win = 200, v[n].hop = 80);
    VARIANT("silence at 40 dB", v[n].trim_db = 40);
    VARIANT("no floor", v[n].range_db = 0);
    VARIANT("Euclidean distance of frames", v[n].local = LOCAL_EUCLID);
    VARIANT("squared distance of frames", v[n].local = LOCAL_SQUARES);
    VARIANT("band of 0.1", v[n].band = 0.1);
    VARIANT("diagonal counts once", v[n].diagonal = 1);
#undef VARIANT
    ASSERT(n == VARIANTS);
    printf("%-36s %8s %8s\n", "", "others'", "all");
    for (int i = 0; i < n && !rc; i++) {
        Set real;
        Baseline b;
        rc = set_open(&real, &v[i], o->data, err);
        if (rc)
            break;
        rc = baseline_make(&b, &v[i], &real, o->threads, err);
        if (!rc) {
            printf("%-36s %8.2f %8.2f\n", v[i].name, 100 * result_share(&b.speakers),
                   100 * result_share(&b.clips));
            fflush(stdout);
            baseline_free(&b);
        }
        set_free(&real);
    }
    return rc;
}

/* ---- the report ---- */

typedef struct Report {
    const Options *o;
    const Set *real, *made; /* made is NULL when only the recordings are judged */
    const Baseline *baseline;
    const Result *result;
    Stats length[10]; /* seconds of the recordings of each digit, silence cut */
    double seconds;   /* that the comparison took */
} Report;

static int clip_at_cap(const Options *o, const Clip *c)
{
    return o->cap_seconds > 0 && c->file_seconds >= o->cap_seconds - 0.05;
}

static int report_at_cap(const Report *r)
{
    int n = 0;
    for (size_t i = 0; r->made && i < r->made->count; i++)
        n += clip_at_cap(r->o, &r->made->clips[i]);
    return n;
}

static int report_passed(const Report *r) { return result_share(r->result) >= r->o->require - 1e-9; }

static void print_shares(const Set *real, const char *name, const Result *r)
{
    printf("%-34s", name);
    for (int s = 0; s < real->speaker_count; s++)
        printf(" %9.1f", r->asked[s] ? 100.0 * r->right[s] / r->asked[s] : 0.0);
    printf(" %9.1f   %d of %d\n", 100 * result_share(r), r->right_all, r->asked_all);
}

static void print_confusion(const Result *r)
{
    printf("spoken \\ heard");
    for (int d = 0; d < 10; d++)
        printf(" %4d", d);
    printf("  none\n");
    for (int d = 0; d < 10; d++) {
        printf("%9d %-5s", d, digit_words[d]);
        for (int h = 0; h < 11; h++)
            if (r->confusion[d][h])
                printf(" %4d", r->confusion[d][h]);
            else
                printf("    .");
        printf("\n");
    }
}

static void print_lengths(const Report *r)
{
    printf("\nseconds of voice        recordings        made clips (* outside the range of the digit's "
           "recordings)\n");
    printf("%-14s %6s %13s", "", "mean", "range");
    for (int s = 0; s < r->made->speaker_count; s++)
        printf(" %9s", r->made->speakers[s]);
    printf("\n");
    for (int d = 0; d < 10; d++) {
        const Stats *t = &r->length[d];
        printf("%8d %-5s %6.2f %6.2f - %4.2f", d, digit_words[d], t->mean, t->min, t->max);
        for (int s = 0; s < r->made->speaker_count; s++) {
            double x = r->made->clips[s * 10 + d].voice_seconds;
            printf(" %8.2f%c", x, x < t->min || x > t->max ? '*' : ' ');
        }
        printf("\n");
    }
}

static void print_made(const Report *r)
{
    const Set *made = r->made;
    printf("\nmade clips, recognised against all %zu recordings of all speakers\n", r->real->count);
    print_confusion(r->result);
    printf("\nwrong:%s\n", r->result->right_all == r->result->asked_all ? " none" : "");
    for (size_t i = 0; i < made->count; i++) {
        int heard = r->result->answers[i];
        if (heard < 0)
            printf("  %-24s silent\n", made->clips[i].name);
        else if (heard != made->clips[i].digit)
            printf("  %-24s heard as %d, nearest is %s\n", made->clips[i].name, heard,
                   r->real->clips[r->result->nearest[i]].name);
    }
    print_lengths(r);
    if (r->o->cap_seconds > 0) {
        printf("\nclips at the cap of %.2f s: %d\n", r->o->cap_seconds, report_at_cap(r));
        for (size_t i = 0; i < made->count; i++)
            if (clip_at_cap(r->o, &made->clips[i]))
                printf("  %-24s %.2f s: it did not stop by itself\n", made->clips[i].name,
                       made->clips[i].file_seconds);
    }
    printf("\nnearest recording is of the clip's own speaker: made %d of %d, recordings %d of %d\n",
           r->result->same_voice, r->result->asked_all, r->baseline->clips.same_voice,
           r->baseline->clips.asked_all);
}

static void report_print(const Report *r)
{
    const Set *real = r->real;
    printf("%zu recordings, %d speakers; the %d nearest by time warping vote; %.1f s\n\n", real->count,
           real->speaker_count, judge.k, r->seconds);
    printf("%-34s", "right, in percent");
    for (int s = 0; s < real->speaker_count; s++)
        printf(" %9s", real->speakers[s]);
    printf(" %9s\n", "all");
    if (r->made)
        print_shares(real, "made clips, all recordings", r->result);
    print_shares(real, "recordings, the other speakers'", &r->baseline->speakers);
    print_shares(real, "recordings, all others", &r->baseline->clips);
    if (r->made) {
        print_made(r);
        printf("\n%s: %d of %d made clips are right, %.1f %%; asked for %.1f %%\n",
               report_passed(r) ? "ok" : "BELOW", r->result->right_all, r->result->asked_all,
               100 * result_share(r->result), 100 * r->o->require);
    } else {
        printf("\nrecordings against the other speakers'\n");
        print_confusion(&r->baseline->speakers);
        printf("\nnearest recording is of the same speaker: %d of %d\n", r->baseline->clips.same_voice,
               r->baseline->clips.asked_all);
    }
}

static json_t *json_result(const Set *real, const Result *r)
{
    json_t *speakers = json_object(), *confusion = json_array();
    for (int s = 0; s < real->speaker_count; s++)
        json_object_set_new(speakers, real->speakers[s],
                            json_pack("{s:i,s:i}", "right", r->right[s], "asked", r->asked[s]));
    for (int d = 0; d < 10; d++) {
        json_t *row = json_array();
        for (int h = 0; h < 11; h++)
            json_array_append_new(row, json_integer(r->confusion[d][h]));
        json_array_append_new(confusion, row);
    }
    return json_pack("{s:f,s:i,s:i,s:i,s:o,s:o}", "accuracy", result_share(r), "right", r->right_all, "asked",
                     r->asked_all, "nearest_is_same_speaker", r->same_voice, "speakers", speakers,
                     "confusion", confusion);
}

static json_t *json_made(const Report *r)
{
    json_t *o = json_result(r->real, r->result), *clips = json_array();
    for (size_t i = 0; i < r->made->count; i++) {
        const Clip *c = &r->made->clips[i];
        int heard = r->result->answers[i];
        json_array_append_new(
            clips,
            json_pack("{s:s,s:i,s:s,s:o,s:o,s:b,s:f,s:f,s:f,s:o}", "clip", c->name, "digit", c->digit,
                      "speaker", r->made->speakers[c->speaker], "heard",
                      heard < 0 ? json_null() : json_integer(heard), "nearest",
                      heard < 0 ? json_null() : json_string(r->real->clips[r->result->nearest[i]].name),
                      "right", heard == c->digit, "voice_seconds", c->voice_seconds, "file_seconds",
                      c->file_seconds, "recordings_mean_seconds", r->length[c->digit].mean, "at_cap",
                      r->o->cap_seconds > 0 ? json_boolean(clip_at_cap(r->o, c)) : json_null()));
    }
    json_object_set_new(o, "required", json_real(r->o->require));
    json_object_set_new(o, "passed", json_boolean(report_passed(r)));
    json_object_set_new(o, "at_cap", r->o->cap_seconds > 0 ? json_integer(report_at_cap(r)) : json_null());
    json_object_set_new(o, "clips", clips);
    return o;
}

static int report_json(const Report *r, Err *err)
{
    json_t *o =
        json_pack("{s:I,s:f,s:{s:o,s:o}}", "recordings", (json_int_t)r->real->count, "seconds", r->seconds,
                  "baseline", "other_speakers", json_result(r->real, &r->baseline->speakers), "all_others",
                  json_result(r->real, &r->baseline->clips));
    if (o && r->made)
        json_object_set_new(o, "made", json_made(r));
    return output_print(o, 6, err);
}

/* *passed: 0 when fewer made clips are right than --require asks for. */
static int judge_run(int *passed, const Options *o, Err *err)
{
    double start = clock_now();
    Set real = {0}, made = {0};
    Baseline baseline = {0};
    Result result = {0};
    float *distances = NULL;
    Report report = {.o = o, .real = &real, .baseline = &baseline, .result = &result};
    int rc = set_open(&real, &judge, o->data, err);
    if (!rc && o->synth) {
        rc = set_open_synth(&made, &judge, &real, o->synth, err);
        if (!rc)
            rc = pairs_measure(&distances, &judge, made.clips, made.count, real.clips, real.count, o->threads,
                               err);
        if (!rc)
            rc = result_make(&result, &judge, distances, &made, &real, AGAINST_ALL, err);
        report.made = &made;
    }
    if (!rc)
        rc = baseline_make(&baseline, &judge, &real, o->threads, err);
    if (!rc) {
        for (size_t i = 0; i < real.count; i++)
            stats_add(&report.length[real.clips[i].digit], real.clips[i].voice_seconds);
        report.seconds = clock_now() - start;
        *passed = !report.made || report_passed(&report);
        if (o->json)
            rc = report_json(&report, err);
        else
            report_print(&report);
    }
    free(distances);
    result_free(&result);
    baseline_free(&baseline);
    set_free(&made);
    set_free(&real);
    return rc;
}

static const char usage_text[] =
    "usage: digits --data DIR --synth DIR [--require 0.9] [--cap-seconds X] [--json] [--threads N]\n"
    "       digits --data DIR --baseline [--json] [--threads N]\n"
    "       digits --data DIR --compare [--threads N]\n"
    "       digits --self-check\n";

static int parse_number(double *out, const char *name, const char *text, double min, double max, Err *err)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= min && *out <= max))
        return err_set(err, ERR_USAGE, "%s is '%s', but must be a number between %g and %g", name, text, min,
                       max);
    return 0;
}

static int parse_options(Options *o, int argc, char **argv, Err *err)
{
    enum { DATA = 1, SYNTH, REQUIRE, CAP, JSON, THREADS, BASELINE, COMPARE, CHECK };
    static const struct option table[] = {{"data", 1, NULL, DATA},        {"synth", 1, NULL, SYNTH},
                                          {"require", 1, NULL, REQUIRE},  {"cap-seconds", 1, NULL, CAP},
                                          {"json", 0, NULL, JSON},        {"threads", 1, NULL, THREADS},
                                          {"compare", 0, NULL, COMPARE},  {"baseline", 0, NULL, BASELINE},
                                          {"self-check", 0, NULL, CHECK}, {NULL, 0, NULL, 0}};
    double number;
    int rc = 0;
    *o = (Options){.require = 0.9, .threads = thread_cores()};
    for (int c; !rc && (c = getopt_long(argc, argv, "", table, NULL)) != -1;)
        switch (c) {
        case DATA:
            o->data = optarg;
            break;
        case SYNTH:
            o->synth = optarg;
            break;
        case REQUIRE:
            rc = parse_number(&o->require, "--require", optarg, 0, 1, err);
            break;
        case CAP:
            rc = parse_number(&o->cap_seconds, "--cap-seconds", optarg, 0.01, 3600, err);
            break;
        case JSON:
            o->json = 1;
            break;
        case BASELINE:
            o->baseline = 1;
            break;
        case COMPARE:
            o->compare = 1;
            break;
        case CHECK:
            o->self_check = 1;
            break;
        case THREADS:
            rc = parse_number(&number, "--threads", optarg, 1, JUDGE_MAX_THREADS, err);
            o->threads = rc ? 1 : (int)number;
            break;
        default:
            return err_set(err, ERR_USAGE, "an option that is not known, or without its value");
        }
    if (!rc && optind < argc)
        rc = err_set(err, ERR_USAGE, "'%s' is no option", argv[optind]);
    if (!rc && !o->self_check && (!o->data || !(o->synth || o->baseline || o->compare)))
        rc = err_set(err, ERR_USAGE, "--data is needed, and one of --synth, --baseline, --compare");
    return rc;
}

int main(int argc, char **argv)
{
    Options o;
    Err err = {0};
    int passed = 1, rc = parse_options(&o, argc, argv, &err);
    if (rc) {
        fprintf(stderr, "error: %s\n%s", err.msg, usage_text);
        return 2;
    }
    if (o.self_check)
        rc = self_check(&passed, &err);
    else if (o.compare)
        rc = compare_settings(&o, &err);
    else
        rc = judge_run(&passed, &o, &err);
    if (rc) {
        log_err(NULL, &err);
        return 3;
    }
    return passed ? 0 : 1;
}
