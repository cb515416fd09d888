/* digits_check.c - see digits_check.h. */
#include "digits_check.h"

#define CHECK_SPEAKERS 3

#define CHECK_TAKES 2

/* Ten words of noise shaped by two gliding resonances; the speaker shifts them, colours the whole and adds a
 * hum; the take changes the length and the loudness. */
static int make_sound(AudioBuffer *a, int digit, int speaker, int take, Rng *rng)
{
    static const double first[10][2] = {{300, 800}, {800, 300}, {300, 300}, {800, 800}, {550, 550},
                                        {300, 800}, {800, 300}, {550, 300}, {300, 550}, {800, 800}};
    static const double second[10][2] = {{1200, 1200}, {2800, 1200}, {2800, 2800}, {1200, 2800},
                                         {2800, 1200}, {2800, 2000}, {1200, 2400}, {2000, 1200},
                                         {1600, 2800}, {2800, 1800}};
    double shift = 1 + 0.04 * (speaker - 1),
           seconds = (0.4 + 0.05 * digit) * (1 + 0.12 * take - 0.1 * speaker);
    int n = (int)(seconds * JUDGE_RATE), quiet = JUDGE_RATE / 10;
    float *x = mem_realloc(a->samples, (size_t)(n + 2 * quiet), sizeof *x);
    if (!x)
        return ERR_NOMEM;
    a->samples = x;
    a->frames = a->cap = n + 2 * quiet;
    a->rate = JUDGE_RATE;
    double y[2][2] = {{0}}, colour = 0;
    for (int i = 0; i < n + 2 * quiet; i++) {
        double t = (double)(i - quiet) / n, sum = 0, noise = rng_normal(rng);
        for (int f = 0; f < 2; f++) {
            const double *edges = f ? second[digit] : first[digit];
            double hz = (edges[0] + (edges[1] - edges[0]) * fmin(fmax(t, 0), 1)) * shift, radius = 0.97;
            double next =
                noise + 2 * radius * cos(2 * M_PI * hz / JUDGE_RATE) * y[f][0] - radius * radius * y[f][1];
            y[f][1] = y[f][0];
            y[f][0] = next;
            sum += next;
        }
        double voiced = t < 0 || t > 1 ? 0 : sum * sin(M_PI * t) * 0.01 * (1 + take);
        colour = 0.3 * speaker * colour + voiced;
        x[i] = (float)(colour + 1e-4 * speaker * sin(2 * M_PI * 50 * i / JUDGE_RATE));
    }
    return 0;
}

static int make_set(Set *s, uint64_t seed, Err *err)
{
    Ear e;
    AudioBuffer a = {0};
    Rng rng;
    rng_seed(&rng, seed);
    memset(s, 0, sizeof *s);
    int rc = ear_open(&e, &judge, err);
    if (rc)
        return rc;
    s->speaker_count = CHECK_SPEAKERS;
    s->clips = mem_calloc(CHECK_SPEAKERS * CHECK_TAKES * 10, sizeof *s->clips);
    if (!s->clips)
        rc = err_set(err, ERR_NOMEM, "no memory for the self-check");
    for (int i = 0; i < CHECK_SPEAKERS * CHECK_TAKES * 10 && !rc; i++) {
        Clip *c = &s->clips[s->count++];
        c->digit = i % 10;
        c->speaker = i / 10 % CHECK_SPEAKERS;
        snprintf(c->name, sizeof c->name, "%d_made%d_%d", c->digit, c->speaker, i / 10 / CHECK_SPEAKERS);
        if (make_sound(&a, c->digit, c->speaker, i / 10 / CHECK_SPEAKERS, &rng))
            rc = err_set(err, ERR_NOMEM, "no memory for the self-check");
        else
            rc = ear_listen(&e, c, &a, err);
    }
    audio_buffer_free(&a);
    ear_close(&e);
    if (rc)
        set_free(s);
    return rc;
}

/* Time warping again, from its definition: the whole table, in double. */
static double plain_distance(const JudgeSettings *s, const Clip *a, const Clip *b, double *table)
{
    int64_t n = a->frames - 1, m = b->frames - 1, reach = warp_reach(s, a, b);
    for (int i = 0; i < a->frames; i++)
        for (int j = 0; j < b->frames; j++) {
            double c = 0, *at = &table[i * b->frames + j];
            for (int d = 0; d < a->dim; d++)
                c += fabs((double)a->rows[i * a->dim + d] - b->rows[j * b->dim + d]);
            double up = i ? at[-b->frames] : INFINITY, left = j ? at[-1] : INFINITY;
            double across = i && j ? at[-b->frames - 1] : i || j ? INFINITY : 0;
            *at =
                llabs(i * m - j * n) > reach ? INFINITY : fmin(fmin(up, left) + c, across + s->diagonal * c);
        }
    return table[a->frames * b->frames - 1] / (a->frames + b->frames);
}

static void check(int *passed, int ok, const char *what)
{
    printf("%s %s\n", ok ? "ok    " : "NOT OK", what);
    *passed &= ok;
}

static int check_distances(int *passed, const Set *s, const float *distances, Err *err)
{
    static const double bands[] = {0, 0.1, 0.3, 1};
    double worst = 0, worst_turned = 0, *table = mem_calloc(400 * 400, sizeof *table);
    WarpScratch w = {0};
    if (!table || warp_scratch_open(&w, 400)) {
        free(table);
        return err_set(err, ERR_NOMEM, "no memory for the self-check");
    }
    for (size_t i = 0; i < s->count; i += 3)
        for (size_t j = 0; j < s->count; j += 7)
            for (int v = 0; v < 4; v++) {
                JudgeSettings set = judge;
                set.band = bands[v];
                const Clip *a = &s->clips[i], *b = &s->clips[j];
                ASSERT(a->frames <= 400 && b->frames <= 400);
                double plain = plain_distance(&set, a, b, table), there = warp_distance(&w, &set, a, b);
                worst = fmax(worst, fabs(there - plain));
                worst_turned = fmax(worst_turned, fabs(there - warp_distance(&w, &set, b, a)));
            }
    check(passed, worst < 1e-4, "the fast distance is that of the definition, with every band");
    check(passed, worst_turned < 1e-4, "the distance is the same both ways");
    int zero = 1;
    for (size_t i = 0; i < s->count; i++)
        zero &=
            warp_distance(&w, &judge, &s->clips[i], &s->clips[i]) == 0 && distances[i * s->count + i] == 0;
    check(passed, zero, "a clip has distance 0 to itself");
    warp_scratch_free(&w);
    free(table);
    return 0;
}

/* Answers with the labels turned by one, with a silent clip, and with noise instead of words. */
static int check_failures(int *passed, Set *s, const float *distances, Err *err)
{
    Result r;
    for (size_t i = 0; i < s->count; i++)
        if (s->clips[i].speaker == 0)
            s->clips[i].digit = (s->clips[i].digit + 1) % 10;
    int rc = result_make(&r, &judge, distances, s, s, AGAINST_OTHER_SPEAKERS, err);
    if (rc)
        return rc;
    check(passed, r.right[0] == 0, "wrong labels are found to be wrong");
    result_free(&r);

    Ear e;
    rc = ear_open(&e, &judge, err);
    if (rc)
        return rc;
    float zeros[JUDGE_RATE / 2] = {0}, *row = NULL;
    Clip silent = {.name = "silence"};
    AudioBuffer a = {.samples = zeros, .frames = JUDGE_RATE / 2, .cap = JUDGE_RATE / 2, .rate = JUDGE_RATE};
    rc = ear_listen(&e, &silent, &a, err);
    if (!rc)
        rc = pairs_measure(&row, &judge, &silent, 1, s->clips, s->count, 1, err);
    if (!rc)
        check(passed, judge_digit(NULL, &judge, row, s->clips, s->count, s->count, -1) == -1,
              "silence is no digit");
    free(row);
    clip_free(&silent);
    ear_close(&e);
    return rc;
}

int self_check(int *passed, Err *err)
{
    Set s;
    float *one = NULL, *three = NULL;
    Baseline b = {0};
    *passed = 1;
    int rc = make_set(&s, 1, err);
    if (rc)
        return rc;
    rc = pairs_measure(&one, &judge, s.clips, s.count, NULL, 0, 1, err);
    if (!rc)
        rc = pairs_measure(&three, &judge, s.clips, s.count, NULL, 0, 3, err);
    if (!rc)
        check(passed, !memcmp(one, three, s.count * s.count * sizeof *one),
              "one thread and three give the same bits");
    if (!rc)
        rc = check_distances(passed, &s, one, err);
    if (!rc)
        rc = baseline_make(&b, &judge, &s, 2, err);
    if (!rc) {
        int alone = 1;
        for (size_t i = 0; i < s.count; i++)
            alone &= b.clips.nearest[i] != i && s.clips[b.speakers.nearest[i]].speaker != s.clips[i].speaker;
        check(passed, alone,
              "no clip is its own neighbour, and none of its speaker's where others are asked for");
        check(passed, b.clips.right_all == b.clips.asked_all, "made words are recognised among all others");
        check(passed, b.speakers.right_all >= b.speakers.asked_all * 0.95,
              "made words are recognised by other voices");
        rc = check_failures(passed, &s, one, err);
    }
    baseline_free(&b);
    free(one);
    free(three);
    set_free(&s);
    return rc;
}
