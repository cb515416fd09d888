/* test_chart.c - what charts, matrices and text look like in pixels; PNG and WAV files. */
#include <math.h>
#include <png.h>

#include "support/folder_testing.h"

#include "audio/wav.h"
#include "dataset/audio_file.h"
#include "picture/chart.h"
#include "picture/draw.h"
#include "picture/picture.h"
#include "text/phonemes/tokens.h"

static int same(Rgb a, Rgb b) { return a.r == b.r && a.g == b.g && a.b == b.b; }
static int near(Rgb a, Rgb b) { return abs(a.r - b.r) + abs(a.g - b.g) + abs(a.b - b.b) < 70; }

typedef struct Pixels {
    Rgb *p;
    int w, h;
} Pixels;

static Pixels chart(const char *title, const ChartSeries *s, int n, int log_y)
{
    Pixels x = {0};
    Err err = {0};
    if (chart_lines_pixels(&x.p, &x.w, &x.h, title, "step", "loss", s, n, log_y, &err))
        fail_msg("%s", err.msg);
    assert_true(x.w > 600 && x.h > 400);
    return x;
}

static int64_t count(const Pixels *x, Rgb colour)
{
    int64_t n = 0;
    for (int i = 0; i < x->w * x->h; i++)
        n += near(x->p[i], colour);
    return n;
}

/* The middle of the colour's pixels in column x; -1 when there are none. */
static double height_at(const Pixels *p, int x, Rgb colour)
{
    double sum = 0.0;
    int n = 0;
    for (int y = 0; y < p->h; y++)
        if (near(p->p[y * p->w + x], colour))
            sum += y, n++;
    return n ? sum / n : -1.0;
}

/* First and last column with the colour. */
static void columns(const Pixels *p, Rgb colour, int *first, int *last)
{
    *first = *last = -1;
    for (int x = 0; x < p->w; x++)
        if (height_at(p, x, colour) >= 0)
            *first = *first < 0 ? x : *first, *last = x;
}

static void test_lines(void **state)
{
    (void)state;
    const Rgb red = {230, 20, 20};
    const double y[] = {1, 10, 100, 1000, 10000};
    ChartSeries s = {NULL, NULL, y, 5, red};
    int first, last;
    /* powers of ten: a straight line on a logarithmic axis, a late rise on a linear one */
    Pixels x = chart("powers", &s, 1, 1);
    columns(&x, red, &first, &last);
    assert_true(first > 50 && last > x.w * 3 / 4);
    double h[5];
    for (int i = 0; i < 5; i++)
        h[i] = height_at(&x, first + 2 + (last - first - 4) * i / 4, red);
    assert_true(h[0] > h[4] + x.h / 2);
    for (int i = 1; i < 4; i++)
        assert_true(fabs(h[i] - (h[0] + (h[4] - h[0]) * i / 4)) < 3);
    free(x.p);
    x = chart("powers", &s, 1, 0);
    double middle = height_at(&x, (first + last) / 2, red), low = height_at(&x, first + 3, red),
           high = height_at(&x, last - 3, red);
    assert_true(low - middle < 10 && middle - high > x.h / 2);
    free(x.p);
    /* x to the right, also when it is given; a gap where there is no number, nothing at or below zero on a
     * logarithmic axis */
    const double xs[] = {0, 1, 2, 3, 4}, gap[] = {5, 5, NAN, 5, 5}, zero[] = {5, 5, 0, 5, 5};
    ChartSeries g = {NULL, xs, gap, 5, red}, z = {NULL, xs, zero, 5, red};
    x = chart(NULL, &g, 1, 0);
    columns(&x, red, &first, &last);
    assert_true(height_at(&x, (first + last) / 2, red) < 0);
    assert_true(height_at(&x, first + (last - first) / 8, red) > 0 &&
                height_at(&x, last - (last - first) / 8, red) > 0);
    free(x.p);
    x = chart(NULL, &z, 1, 1);
    assert_true(height_at(&x, (first + last) / 2, red) < 0);
    free(x.p);
    x = chart(NULL, &z, 1, 0);
    assert_true(height_at(&x, (first + last) / 2, red) > 0);
    free(x.p);
    /* x decides the place, not the order */
    const double late[] = {0, 10, 20, 100}, up[] = {0, 0, 1, 1};
    ChartSeries l = {NULL, late, up, 4, red};
    x = chart(NULL, &l, 1, 0);
    columns(&x, red, &first, &last);
    assert_true(fabs(height_at(&x, (first + last) / 2, red) - height_at(&x, last - 4, red)) < 2);
    assert_true(height_at(&x, first + 4, red) > height_at(&x, last - 4, red) + x.h / 2);
    free(x.p);
}

static void test_legend_and_title(void **state)
{
    (void)state;
    const Rgb red = {230, 20, 20}, blue = {20, 20, 230};
    const double y[] = {1, 2, 3};
    ChartSeries plain[] = {{NULL, NULL, y, 3, red}, {NULL, NULL, y, 0, blue}},
                named[] = {{"red", NULL, y, 3, red}, {"empty", NULL, y, 0, blue}};
    Pixels a = chart(NULL, plain, 2, 0), b = chart(NULL, named, 2, 0), c = chart("A title", named, 2, 0);
    assert_int_equal(count(&a, blue), 0);
    assert_true(count(&b, blue) > 20); /* in the legend, though it has no line */
    int ink = 0;
    for (int i = 0; i < c.w * 40; i++)
        ink += c.p[i].r < 100;
    assert_true(ink > 50);
    free(a.p);
    free(b.p);
    free(c.p);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++)
            assert_false(near(chart_colour(i), chart_colour(j)));
    assert_true(same(chart_colour(8), chart_colour(0)));
}

static void test_odd_charts(void **state)
{
    (void)state;
    static double many[100000];
    for (int i = 0; i < 100000; i++)
        many[i] = sin(i * 0.01) * exp(-i * 1e-5);
    const double nothing[] = {NAN, HUGE_VAL, -HUGE_VAL}, minus[] = {-1, -2, -3},
                 wide[] = {1e-300, 1e300, -1e300, 1e-5}, close[] = {1.0, 1.0 + 1e-12, 1.0}, one[] = {42},
                 zero[] = {0, 0}, thin[] = {1e-30, 2e-30}, steps[] = {123456, 123457};
    char name[400];
    memset(name, 'W', sizeof name - 1);
    name[sizeof name - 1] = 0;
    const ChartSeries cases[] = {
        {"nothing", NULL, nothing, 3, {0}},
        {"minus", NULL, minus, 3, {0}},
        {"wide", NULL, wide, 4, {0}},
        {"close", NULL, close, 3, {0}},
        {"one", NULL, one, 1, {0}},
        {"many", NULL, many, 100000, {0}},
        {name, NULL, zero, 2, {0}},
        {"thin", NULL, thin, 2, {0}},
        {"\xd8\xb3\xd9\x84", NULL, one, 1, {0}},
        {"steps", steps, steps, 2, {0}},
        {"none", NULL, one, 0, {0}},
    };
    const int n = (int)(sizeof cases / sizeof cases[0]);
    for (int log_y = 0; log_y < 2; log_y++) {
        for (int i = 0; i < n; i++) {
            Pixels x = chart(name, &cases[i], 1, log_y), again = chart(name, &cases[i], 1, log_y);
            assert_memory_equal(x.p, again.p, sizeof(Rgb) * (size_t)x.w * (size_t)x.h);
            free(x.p);
            free(again.p);
        }
        Pixels x = chart("", cases, n, log_y);
        free(x.p);
        x = chart(NULL, NULL, 0, log_y);
        free(x.p);
    }
}

static Pixels read_png(const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_int_equal(png_image_begin_read_from_file(&image, path), 1);
    image.format = PNG_FORMAT_RGB;
    Pixels x = {malloc(PNG_IMAGE_SIZE(image)), (int)image.width, (int)image.height};
    assert_int_equal(png_image_finish_read(&image, NULL, x.p, 0, NULL), 1);
    return x;
}

static void assert_file_shows(const char *path, Pixels x)
{
    Pixels file = read_png(path);
    assert_int_equal(file.w, x.w);
    assert_int_equal(file.h, x.h);
    assert_memory_equal(file.p, x.p, sizeof(Rgb) * (size_t)x.w * (size_t)x.h);
    free(file.p);
    free(x.p);
}

static void test_files(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    const double y[] = {3, 1, 2};
    const float m[] = {0, 1, 2, 3, 4, 5};
    ChartSeries s = {"y", NULL, y, 3, {9, 9, 9}};
    Pixels x = chart("t", &s, 1, 0);
    assert_int_equal(chart_lines(folder_file(&f, "c.png"), "t", "step", "loss", &s, 1, 0, &err), 0);
    assert_file_shows(folder_file(&f, "c.png"), x);
    assert_int_equal(picture_mel_pixels(&x.p, &x.w, &x.h, m, 2, 3, NULL, &err), 0);
    assert_int_equal(picture_mel(folder_file(&f, "mel.png"), m, 2, 3, NULL, &err), 0);
    assert_file_shows(folder_file(&f, "mel.png"), x);
    assert_string_equal(folder_names(&f), "c.png mel.png ");
    assert_int_not_equal(chart_lines(folder_file(&f, "no/c.png"), "t", "x", "y", &s, 1, 0, &err), 0);
    assert_non_null(strstr(err.msg, "no/c.png"));
    assert_int_not_equal(picture_mel(folder_file(&f, "no/mel.png"), m, 2, 3, NULL, &err), 0);
    assert_int_equal(picture_mel(folder_file(&f, "mel.png"), m, 0, 3, NULL, &err), ERR_DATA);
    assert_int_equal(picture_mel_pixels(&x.p, &x.w, &x.h, m, 3, 0, NULL, &err), ERR_DATA);
    assert_null(x.p);
    folder_remove(&f);
}

static void test_text(void **state)
{
    (void)state;
    const Rgb white = {255, 255, 255}, black = {0, 0, 0};
    static Rgb shown['~' + 1][40 * 40];
    for (char letter = ' '; letter <= '~'; letter++) {
        Canvas c;
        assert_int_equal(canvas_open(&c, 40, 40, white, NULL), 0);
        char s[2] = {letter, 0};
        draw_text(&c, 10, 20, s, 2, DRAW_LEFT, black);
        double width = draw_text_width(s, 2);
        int ink = 0;
        for (int i = 0; i < 40 * 40; i++)
            if (c.pixels[i].r < 250) {
                int px = i % 40, py = i / 40;
                ink++;
                assert_true(px >= 8 && px <= 10 + width + 2 && py >= 11 && py <= 32);
            }
        assert_true(letter == ' ' ? ink == 0 : ink >= 4);
        memcpy(shown[(int)letter], c.pixels, sizeof shown[0]);
        for (char other = ' '; other < letter; other++)
            if (memcmp(shown[(int)other], shown[(int)letter], sizeof shown[0]) == 0 &&
                !(other == '0' && letter == 'O'))
                fail_msg("'%c' looks like '%c'", other, letter);
        canvas_close(&c);
    }
    assert_true(draw_text_width("", 2) == 0);
    assert_true(draw_text_width("mm", 2) > 2 * draw_text_width("m", 2));
    assert_true(draw_text_width("\xd8\xb3\xd9\x84", 2) ==
                draw_text_width("\xe3\x81\x82\xe3\x81\x82", 2)); /* two boxes each */
    assert_true(draw_text_width("o\xcc\x83", 2) ==
                draw_text_width("o", 2)); /* a mark stands above its letter */
    /* upwards: the same dots, turned */
    Canvas a, b;
    canvas_open(&a, 61, 61, white, NULL);
    canvas_open(&b, 61, 61, white, NULL);
    draw_text(&a, 30, 30, "F7", 2, DRAW_CENTRE, black);
    draw_text_up(&b, 30, 30, "F7", 2, black);
    int equal = 0, inked = 0;
    for (int y = 0; y < 61; y++)
        for (int x = 0; x < 61; x++)
            if (a.pixels[y * 61 + x].r < 128) {
                inked++;
                equal += b.pixels[(60 - x) * 61 + y].r < 128;
            }
    assert_true(inked > 20 && equal > inked * 3 / 5);
    canvas_close(&a);
    canvas_close(&b);
    /* outside of the canvas nothing happens */
    canvas_open(&a, 8, 8, white, NULL);
    draw_text(&a, -100, 4, "left", 2, DRAW_LEFT, black);
    draw_text(&a, 4, 1000, "below", 2, DRAW_CENTRE, black);
    draw_stroke(&a, -1e30, NAN, 4, 4, 2);
    draw_stroke(&a, -1e9, 4, 1e9, 4, 2); /* right through */
    draw_paint(&a, black, 1.0);
    draw_fill(&a, -5, -5, 7, 7, (Rgb){1, 2, 3});
    assert_true(a.pixels[4 * 8 + 4].r == 0 && a.pixels[0].b == 3 && a.pixels[2 * 8 + 2].r == 255);
    canvas_close(&a);
    canvas_close(&a);
}

/* Every symbol that espeak-ng speaks with has a letter of its own. */
static void test_symbols(void **state)
{
    (void)state;
    enum { SIZE = 64 };
    const Rgb white = {255, 255, 255}, black = {0, 0, 0};
    const int count = tokens_count();
    Rgb(*shown)[SIZE * SIZE] = calloc((size_t)count, sizeof *shown);
    assert_non_null(shown);
    for (int id = TOKEN_FIRST_SYMBOL; id < count; id++) {
        uint32_t code = tokens_code_point(id);
        char name[8];
        int phonetic = (code >= 0x250 && code < 0x370) || (code >= 0x3B2 && code <= 0x3C7) ||
                       (code >= 0x1D00 && code < 0x1E00);
        if (!phonetic)
            continue;
        if (!draw_has(code))
            fail_msg("%s has no letter", tokens_name(id, name));
        Canvas c;
        assert_int_equal(canvas_open(&c, SIZE, SIZE, white, NULL), 0);
        draw_text(&c, 20, 32, tokens_name(id, name), 2, DRAW_LEFT, black);
        memcpy(shown[id], c.pixels, sizeof *shown);
        canvas_close(&c);
        for (int other = TOKEN_FIRST_SYMBOL; other < id; other++)
            if (shown[other][0].r && memcmp(shown[other], shown[id], sizeof *shown) == 0 &&
                code != 0x3B5) { /* another epsilon */
                char with[8];
                fail_msg("%s looks like %s", name, tokens_name(other, with));
            }
    }
    free(shown);
    assert_false(draw_has(0x628));
    /* marks stand above and below their letter, not in it: n with a tilde, and with a line below */
    static const char *const marked[] = {"n", "n\xCC\x83", "n\xCC\xA9", "\xC3\xB1"};
    int ink[4][3] = {{0}}; /* above the letter, in its rows, below the line */
    for (int k = 0; k < 4; k++) {
        Canvas c;
        assert_int_equal(canvas_open(&c, SIZE, SIZE, white, NULL), 0);
        draw_text(&c, 20, 32, marked[k], 2, DRAW_LEFT, black);
        for (int i = 0; i < SIZE * SIZE; i++)
            ink[k][i / SIZE < 28 ? 0 : i / SIZE < 40 ? 1 : 2] += c.pixels[i].r < 128;
        canvas_close(&c);
        assert_int_equal(ink[k][1], ink[0][1]);
        assert_int_equal(ink[k][0] > 5, k & 1);
        assert_int_equal(ink[k][2] > 2, k == 2);
    }
}

static void test_wav(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    const float x[] = {0.0f, 0.5f, -0.5f, 1.0f, -1.0f, 7.0f, -7.0f, NAN, 1.4f / 32768, -1.6f / 32768};
    const int16_t pcm[] = {0, 16384, -16384, 32767, -32768, 32767, -32768, 0, 1, -2};
    assert_int_equal(wav_write(folder_file(&f, "a.wav"), x, 10, 22050, &err), 0);
    Buf b = file_bytes(folder_file(&f, "a.wav"));
    assert_int_equal(b.size, 64);
    assert_memory_equal(b.data,
                        "RIFF\x38\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x22\x56\0\0\x44\xac\0\0\2\0\x10\0"
                        "data\x14\0\0\0",
                        44);
    assert_memory_equal(b.data + 44, pcm, sizeof pcm);
    AudioBuffer audio = {0};
    char detail[256];
    assert_int_equal(audio_decode(&audio, b.data, b.size, "a.wav", 0, detail, sizeof detail), REJECT_NONE);
    assert_int_equal(audio.frames, 10);
    assert_int_equal(audio.rate, 22050);
    for (int i = 0; i < 10; i++)
        assert_true(audio.samples[i] == (float)pcm[i] / 32768.0f);
    audio_buffer_free(&audio);
    Buf again = {0};
    buf_str(&again, "before");
    assert_int_equal(wav_bytes(&again, x, 10, 22050, &err), 0);
    assert_int_equal(again.size, 6 + 64);
    assert_memory_equal(again.data + 6, b.data, 64);
    buf_free(&again);
    buf_free(&b);
    assert_int_equal(wav_bytes(&again, x, 0, 8000, &err), 0);
    assert_int_equal(again.size, 44);
    buf_free(&again);
    assert_int_equal(wav_bytes(&again, x, WAV_MAX_SAMPLES + 1, 8000, &err), ERR_DATA);
    assert_int_equal(wav_write(folder_file(&f, "b.wav"), x, -1, 8000, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "b.wav"));
    assert_int_not_equal(wav_write(folder_file(&f, "no/b.wav"), x, 1, 8000, &err), 0);
    assert_string_equal(folder_names(&f), "a.wav ");
    folder_remove(&f);
}

/* An upright line over the whole height, named beside it; it changes neither the axes nor the legend. */
static void test_marks(void **state)
{
    (void)state;
    const Rgb red = {230, 20, 20}, green = {20, 140, 100};
    const double x[] = {0, 100}, y[] = {1, 2}, at[] = {25}, outside[] = {1000};
    ChartSeries s[] = {{NULL, x, y, 2, red}, {"best", at, NULL, 1, green}};
    Pixels plain = chart("marked", s, 1, 0), marked = chart("marked", s, 2, 0);
    int first, last, mark, text;
    columns(&plain, red, &first, &last);
    assert_int_equal(count(&plain, green), 0);
    columns(&marked, green, &mark, &text);
    assert_true(abs(mark - (first + (last - first) / 4)) < 4);
    assert_true(text > mark + 20); /* its name, to the right of it */
    int tall = 0;
    for (int i = 0; i < marked.h; i++)
        tall += near(marked.p[i * marked.w + mark], green);
    assert_true(tall > marked.h / 2);
    columns(&marked, red, &mark, &text);
    assert_true(mark == first && text == last);
    free(marked.p);
    s[1].x = outside;
    marked = chart("marked", s, 2, 0);
    assert_memory_equal(marked.p, plain.p, (size_t)plain.w * (size_t)plain.h * sizeof *plain.p);
    free(marked.p);
    free(plain.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_legend_and_title),
        cmocka_unit_test(test_odd_charts), cmocka_unit_test(test_files),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_wav),        cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
