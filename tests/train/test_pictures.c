/* test_pictures.c - what the pictures of a clip show, in pixels; the files of a run. */
#include <math.h>

#include "support/folder_testing.h"

#include "config/config.h"
#include "picture/chart.h"
#include "picture/plot.h"
#include "text/phonemes/tokens.h"
#include "train/log/pictures.h"

enum { TEXT = 6, FRAMES = 60, BANDS = 16 };

/* A clip of six symbols, each with a band of its own that is loud while it lasts. */
typedef struct Example {
    EngineLook look;
    Config cfg;
    PictureScale scale;
} Example;

static void example_open(Example *e, int text, int frames, int bands)
{
    Err err = {0};
    char number[16];
    snprintf(number, sizeof number, "%d", bands);
    char *argv[] = {"--sample-rate", "8000", "--n-fft",  "256",  "--win-length", "200",
                    "--hop-length",  "100",  "--n-mels", number, "--mel-fmax",   "4000"};
    memset(e, 0, sizeof *e);
    if (config_load(&e->cfg, NULL, 12, argv, &err))
        fail_msg("%s", err.msg);
    EngineLook *l = &e->look;
    *l = (EngineLook){.text = text, .frames = frames, .bands = bands};
    l->predicted = calloc((size_t)frames * (size_t)bands, sizeof(float));
    l->target = calloc((size_t)frames * (size_t)bands, sizeof(float));
    l->mu = calloc((size_t)text * (size_t)bands, sizeof(float));
    l->traits = calloc((size_t)text * TRAIT_COUNT, sizeof(float));
    l->tokens = calloc((size_t)text, sizeof(int32_t));
    l->durations = calloc((size_t)text, sizeof(int32_t));
    l->pitch = calloc((size_t)text, sizeof(float));
    assert_true(l->predicted && l->target && l->mu && l->traits && l->tokens && l->durations && l->pitch);
    for (int t = 0, m = 0; t < text; t++) {
        l->tokens[t] = t == 0 ? TOKEN_BOS : t == text - 1 ? TOKEN_EOS : tokens_find('a' + (uint32_t)t % 26);
        l->durations[t] = frames / text + (t < frames % text);
        l->mu[t * bands + t % bands] = 4;
        for (int end = m + l->durations[t]; m < end; m++)
            l->target[m * bands + t % bands] = l->predicted[m * bands + t % bands] = 4;
        l->pitch[t] = (float)t / (float)text;
        l->traits[t * TRAIT_COUNT + TRAIT_PITCH] = 0.9f - l->pitch[t];
    }
    e->scale = (PictureScale){.cfg = &e->cfg, .title = "a title"};
}

static void example_close(Example *e)
{
    engine_look_free(&e->look);
    config_close(&e->cfg);
}

typedef int (*Draw)(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err);
static const Draw all[] = {picture_alignment_pixels, picture_mels_pixels, picture_pitch_pixels,
                           picture_spoken_pixels};
enum { ALL = sizeof all / sizeof *all };

typedef struct Pixels {
    Rgb *p;
    int w, h;
} Pixels;

static Pixels draw(Draw d, const Example *e)
{
    Pixels x = {0};
    Err err = {0};
    if (d(&x.p, &x.w, &x.h, &e->look, &e->scale, &err))
        fail_msg("%s", err.msg);
    return x;
}

static int near(Rgb a, Rgb b) { return abs(a.r - b.r) + abs(a.g - b.g) + abs(a.b - b.b) < 40; }

/* The middle of the colour's pixels in column x; -1 when there are none. */
static double height_at(const Pixels *p, int x, Rgb colour)
{
    double sum = 0;
    int n = 0;
    for (int y = 48; y < p->h; y++) /* below title and legend */
        if (near(p->p[y * p->w + x], colour))
            sum += y, n++;
    return n ? sum / n : -1;
}

static void columns(const Pixels *p, Rgb colour, int *first, int *last)
{
    *first = *last = -1;
    for (int x = 0; x < p->w; x++)
        if (height_at(p, x, colour) >= 0)
            *first = *first < 0 ? x : *first, *last = x;
}

static void test_path_follows_the_durations(void **state)
{
    (void)state;
    const Rgb path = {120, 240, 255};
    Example e;
    example_open(&e, TEXT, FRAMES, BANDS);
    const int32_t durations[TEXT] = {1, 20, 9, 10, 15, 5};
    memcpy(e.look.durations, durations, sizeof durations);
    memset(e.look.target, 0, FRAMES * BANDS * sizeof(float));
    for (int t = 0, m = 0; t < TEXT; t++)
        for (int end = m + durations[t]; m < end; m++)
            e.look.target[m * BANDS + t] = 4;
    Pixels x = draw(picture_alignment_pixels, &e);
    int first, last;
    columns(&x, path, &first, &last);
    double frame = (last - first - 1) / (double)FRAMES, low = height_at(&x, first + 2, path),
           high = height_at(&x, last - 2, path);
    assert_true(low > high + 80); /* upwards */
    double row = (low - high) / (TEXT - 1);
    int64_t at = 0;
    for (int t = 0; t < TEXT; at += durations[t++]) {
        int column = first + (int)((at + durations[t] / 2.0) * frame);
        assert_true(fabs(height_at(&x, column, path) - (low - t * row)) < 2);
        /* beside the path the symbol's cell is bright, others are dark */
        if (durations[t] < 5)
            continue;
        for (int other = 0; other < TEXT; other++) {
            Rgb cell = x.p[(int)(low - other * row + row * 0.3) * x.w + column];
            assert_true(other == t ? cell.r > 240 && cell.g > 220 : cell.r + cell.g + cell.b < 200);
        }
    }
    free(x.p);
    example_close(&e);
}

static void test_mels_share_axes_and_colours(void **state)
{
    (void)state;
    Example e;
    example_open(&e, TEXT, FRAMES, BANDS);
    Pixels x = draw(picture_mels_pixels, &e);
    /* two panels of the same values, one below the other */
    const int top = PLOT_TOP + PLOT_TITLE, left = PLOT_LEFT + 16, panel = 6 * BANDS;
    int shift = panel + 1, equal = 0;
    for (; shift < x.h && !equal; shift += !equal) {
        equal = 1;
        for (int y = top; y < top + panel && equal; y++)
            equal = y + shift < x.h &&
                    memcmp(&x.p[y * x.w + left], &x.p[(y + shift) * x.w + left], 300 * sizeof(Rgb)) == 0;
    }
    assert_true(equal);
    assert_true(
        near(x.p[(top + panel - 3) * x.w + left + 2], picture_colour(1))); /* the first symbol's band */
    assert_true(near(x.p[(top + 2) * x.w + left + 2], picture_colour(0)));
    free(x.p);
    /* what is louder than the recording has its loudest colour, not one of its own */
    for (int i = 0; i < FRAMES * BANDS; i++)
        e.look.predicted[i] *= 3;
    Pixels louder = draw(picture_mels_pixels, &e);
    for (int y = top; y < top + panel; y++)
        assert_memory_equal(&louder.p[y * x.w + left], &louder.p[(y + shift) * x.w + left],
                            300 * sizeof(Rgb));
    free(louder.p);
    example_close(&e);
}

static void test_pitch_steps(void **state)
{
    (void)state;
    Example e;
    int first, last;
    example_open(&e, TEXT, FRAMES, BANDS);
    Pixels x = draw(picture_pitch_pixels, &e);
    columns(&x, chart_colour(0), &first, &last);
    double width = (last - first) / (double)TEXT, rising[TEXT], falling[TEXT];
    for (int t = 0; t < TEXT; t++) {
        int column = first + (int)((t + 0.5) * width);
        rising[t] = height_at(&x, column, chart_colour(0));
        falling[t] = height_at(&x, column, chart_colour(1));
        assert_true(rising[t] > 0 && falling[t] > 0);
        if (t)
            assert_true(rising[t] < rising[t - 1] - 20 && falling[t] > falling[t - 1] + 20);
    }
    assert_true(fabs((rising[0] - rising[5]) - (falling[5] - falling[0])) < 4);
    free(x.p);
    /* in Hz the same steps, bent by the exponential */
    e.scale.pitch_mean = log(150), e.scale.pitch_deviation = 0.5;
    x = draw(picture_pitch_pixels, &e);
    for (int t = 0; t < TEXT; t++)
        rising[t] = height_at(&x, first + (int)((t + 0.5) * width), chart_colour(0));
    assert_true((rising[4] - rising[5]) > 1.2 * (rising[0] - rising[1]));
    free(x.p);
    /* a value that is no number leaves a gap */
    e.look.pitch[3] = NAN;
    x = draw(picture_pitch_pixels, &e);
    assert_true(height_at(&x, first + (int)(3.5 * width), chart_colour(0)) < 0);
    assert_true(height_at(&x, first + (int)(4.5 * width), chart_colour(0)) > 0);
    free(x.p);
    example_close(&e);
}

static void test_odd_clips(void **state)
{
    (void)state;
    static const struct {
        int text, frames, bands;
    } sizes[] = {{1, 1, 8}, {2, 2, 16}, {40, 40, 80}, {300, 2600, 8}, {7, 3000, 128}, {500, 500, 8}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int odd = 0; odd < 4; odd++) {
            Example e;
            example_open(&e, sizes[k].text, sizes[k].frames, sizes[k].bands);
            for (int t = 1; t + 1 < sizes[k].text && odd;
                 t++) /* blanks; letters that are not drawn; marks and stress */
                e.look.tokens[t] = odd == 1   ? t % 2 ? e.look.tokens[t] : TOKEN_BLANK
                                   : odd == 2 ? tokens_find(0x628 + (uint32_t)t % 8)
                                              : tokens_find(t % 3 == 0   ? 0x2C8
                                                            : t % 3 == 1 ? 'a'
                                                                         : 0x303);
            if (odd == 3)
                e.look.target[0] = NAN, e.look.predicted[0] = HUGE_VALF, e.look.mu[0] = NAN,
                e.look.traits[1] = NAN;
            e.scale.title = odd ? "\xD8\xB3\xD9\x84" : NULL;
            for (int d = 0; d < ALL; d++) {
                Pixels x = draw(all[d], &e), again = draw(all[d], &e);
                assert_true(x.w > 400 && x.w < 3200 && x.h > 80 && x.h < 4600);
                assert_memory_equal(x.p, again.p, sizeof(Rgb) * (size_t)x.w * (size_t)x.h);
                free(x.p), free(again.p);
            }
            example_close(&e);
        }
}

static void test_nothing_to_draw(void **state)
{
    (void)state;
    Example e;
    Err err = {0};
    Pixels x = {(Rgb *)&err, 0, 0};
    example_open(&e, TEXT, FRAMES, BANDS);
    e.look.durations[2]++; /* more than there is */
    for (int d = 0; d < ALL; d++) {
        assert_int_equal(all[d](&x.p, &x.w, &x.h, &e.look, &e.scale, &err), ERR_DATA);
        assert_null(x.p);
        assert_non_null(strstr(err.msg, "6 symbols on 61 of 60 frames"));
    }
    e.look.durations[2]--;
    EngineLook whole = e.look, none = {0};
    e.look.mu = NULL;
    assert_int_equal(picture_alignment_pixels(&x.p, &x.w, &x.h, &e.look, &e.scale, &err), ERR_DATA);
    e.look.predicted = NULL;
    assert_int_equal(picture_mels_pixels(&x.p, &x.w, &x.h, &e.look, &e.scale, &err), ERR_DATA);
    assert_int_equal(picture_spoken_pixels(&x.p, &x.w, &x.h, &e.look, &e.scale, &err), ERR_DATA);
    e.look.traits = NULL;
    assert_int_equal(picture_pitch_pixels(&x.p, &x.w, &x.h, &e.look, &e.scale, &err), ERR_DATA);
    for (int d = 0; d < ALL; d++)
        assert_int_equal(all[d](&x.p, &x.w, &x.h, &none, &e.scale, &err), ERR_DATA);
    e.look = whole;
    example_close(&e);
}

static void test_files_of_a_run(void **state)
{
    (void)state;
    Example e;
    Log log;
    EventLog *events;
    Err err = {0};
    char *said = NULL;
    size_t size = 0;
    Folder f = folder_make();
    example_open(&e, TEXT, FRAMES, BANDS);
    log_init(&log, LOG_INFO);
    log.out = open_memstream(&said, &size);
    assert_non_null(log.out);
    assert_int_equal(event_log_open(&events, folder_file(&f, "events"), 1000, 0, &err), 0);
    char path[600];
    snprintf(path, sizeof path, "%s", event_log_path(events));
    pictures_of_look(f.path, events, 7, &e.look, &e.scale, &log);
    event_log_close(events);
    fflush(log.out);
    assert_int_equal(size, 0);
    assert_string_equal(folder_names(&f), "alignment.png events mel.png pitch.png ");
    static const char *const names[] = {"alignment", "mel", "pitch"};
    Buf b = file_bytes(path);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.png", names[i]);
        Buf png = file_bytes(folder_file(&f, name));
        assert_non_null(memmem(b.data, b.size, names[i], strlen(names[i])));
        assert_non_null(memmem(b.data, b.size, png.data, png.size));
        buf_free(&png);
    }
    buf_free(&b);
    /* a folder that is not there: three warnings, nothing else happens */
    pictures_of_look(folder_file(&f, "no"), NULL, 8, &e.look, &e.scale, &log);
    fflush(log.out);
    int warnings = 0;
    for (const char *at = said; (at = strstr(at, "no picture ")); at++)
        warnings++;
    assert_int_equal(warnings, 3);
    assert_string_equal(folder_names(&f), "alignment.png events mel.png pitch.png ");
    fclose(log.out);
    free(said);
    example_close(&e);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_follows_the_durations),
        cmocka_unit_test(test_mels_share_axes_and_colours),
        cmocka_unit_test(test_pitch_steps),
        cmocka_unit_test(test_odd_clips),
        cmocka_unit_test(test_nothing_to_draw),
        cmocka_unit_test(test_files_of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
