/* test_choosing.c - the best checkpoint of a run in its folder: words that come when another one is the best
 * already, files that are gone, a best one that could not be written; and what loss.png marks. */
#include "support/folder_testing.h"

#include <math.h>
#include <png.h>

#include "picture/chart.h"
#include "train/run_parts.h"
#include "voice/best_note.h"

/* Of a run only what choosing.c looks at. */
typedef struct State {
    Folder f;
    Config cfg;
    Log log;
    Buf log_text;
    Trainer t;
} State;

static int setup(void **state)
{
    State *s = calloc(1, sizeof *s);
    Err err = {0};
    static const char mark; /* somebody listens, but nobody is asked here */
    s->f = folder_make();
    s->log = (Log){.out = buf_stream(&s->log_text), .level = LOG_INFO};
    char *argv[] = {"--checkpoint-dir", s->f.path};
    assert_int_equal(config_load(&s->cfg, NULL, 2, argv, &err), 0);
    s->t = (Trainer){.cfg = &s->cfg, .log = &s->log, .leads = 1};
    s->t.hearing = (Hearing *)(uintptr_t)&mark;
    choice_begin(&s->t.state.choice);
    assert_int_equal(checkpoint_writer_open(&s->t.writer, s->f.path, 2, &s->log, &err), 0);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    State *s = *state;
    checkpoint_writer_close(s->t.writer);
    fclose(s->log.out);
    buf_free(&s->log_text);
    config_close(&s->cfg);
    folder_remove(&s->f);
    free(s);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A validation of a voice that speaks, its clips handed to the listeners, and its checkpoint. */
static int validate(State *s, int64_t step, double movement)
{
    Trainer *t = &s->t;
    static float weights[16];
    static char text[24];
    Err err = {0};
    snprintf(text, sizeof text, "%lld", (long long)step);
    const TensorView tensor = {"weights", "F32", 1, {16}, weights, sizeof weights};
    const MetaEntry meta = {"step", text};
    const Validation v = {.loss = 1, .own_text = 0.3, .ear = {movement, 0.7, 0.9, 0.95}, .sentences = 8};
    t->state.step = step;
    t->submitted = (Judged){.step = step};
    int better = choosing_validate(t, &v);
    assert_int_equal(checkpoint_writer_submit(t->writer, step, better, &meta, 1, &tensor, 1, &err), 0);
    assert_int_equal(checkpoint_writer_wait(t->writer), 0);
    return better;
}

/* Of 100 words this many were wrong. */
static void hear(State *s, Judged mark, int wrong)
{
    Trainer *t = &s->t;
    t->heard = (Heard){.step = mark.step,
                       .clips = 8,
                       .voice = {100, wrong, wrong / 100.0},
                       .recordings = {100, 20, 0.2},
                       .judge = "a judge"};
    t->heard_mark = mark;
    t->has_heard = 1;
    choosing_hear(t);
    assert_int_equal(t->has_heard, 0);
}

static int64_t best_on_disk(State *s)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, folder_file(&s->f, "best.safetensors"), &err))
        fail_msg("%s", err.msg);
    int64_t step = atoll(safetensors_meta(&f, "step"));
    safetensors_close(&f);
    return step;
}

static int has_previous(State *s)
{
    return access(folder_file(&s->f, "previous-best.safetensors"), F_OK) == 0;
}

/* File, note and state agree. */
static void assert_best(State *s, int64_t step, int64_t words)
{
    Judged note;
    assert_int_equal(s->t.state.choice.best.step, step);
    assert_int_equal(best_on_disk(s), step);
    assert_true(best_note_read(&note, s->f.path));
    assert_int_equal(note.step, step);
    assert_int_equal(note.words, words);
}

static void bad_words_bring_back_the_one_before(void **state)
{
    State *s = *state;
    assert_int_equal(validate(s, 100, 0.7), 1);
    assert_best(s, 100, 0);
    hear(s, s->t.submitted, 22);
    assert_best(s, 100, 100);
    assert_int_equal(validate(s, 200, 0.9), 1);
    assert_best(s, 200, 0);
    assert_true(has_previous(s));
    /* Newer ones push the files of both out of the folder; their second names stay. */
    assert_int_equal(validate(s, 300, 0.5), 0);
    s->t.submitted = (Judged){.step = 200, .loss = 1, .ear = {0.9, 0.7, 0.9, 0.95}};
    const Judged mark = s->t.submitted;
    assert_int_equal(validate(s, 400, 0.5), 0);
    hear(s, mark, 60);
    assert_best(s, 100, 100);
    assert_false(has_previous(s));
    assert_non_null(strstr(s->log_text.data, "step 200 gets clearly more words wrong: the best is step 100: "
                                             "closest to the recordings (movement 0.70"));
    assert_non_null(strstr(s->log_text.data, "22 % of the words wrong"));
}

static void good_words_confirm_it(void **state)
{
    State *s = *state;
    validate(s, 100, 0.7);
    hear(s, s->t.submitted, 22);
    validate(s, 200, 0.9);
    hear(s, s->t.submitted, 25);
    assert_best(s, 200, 100);
    assert_false(has_previous(s));
}

/* Listeners are slower than validations: nobody has heard step 200, and 100 is still what was heard last. */
static void the_one_that_was_heard_is_kept(void **state)
{
    State *s = *state;
    validate(s, 100, 0.7);
    hear(s, s->t.submitted, 22);
    validate(s, 200, 0.85);
    validate(s, 300, 0.9);
    assert_int_equal(s->t.before.step, 100);
    hear(s, s->t.submitted, 70);
    assert_best(s, 100, 100);
}

/* A best that babbles makes room for one that speaks, if its file is still there. */
static void one_that_is_understood_is_preferred(void **state)
{
    State *s = *state;
    validate(s, 100, 0.95);
    hear(s, s->t.submitted, 80);
    assert_int_equal(validate(s, 200, 0.7), 0);
    hear(s, s->t.submitted, 25);
    assert_best(s, 200, 100);

    assert_int_equal(validate(s, 300, 0.95), 1);
    s->t.before = (Judged){0};
    hear(s, s->t.submitted, 80);
    assert_best(s, 300, 100);
    const Judged gone = {.step = 250, .loss = 1, .ear = {0.7, 0.7, 0.9, 0.95}};
    hear(s, gone, 25);
    assert_best(s, 300, 100);
    assert_int_equal(validate(s, 400, 0.6), 1); /* the next one that speaks */
    assert_best(s, 400, 0);
}

static void without_a_recogniser_nothing_is_kept(void **state)
{
    State *s = *state;
    validate(s, 100, 0.7);
    hear(s, s->t.submitted, 0);
    s->t.heard.judge[0] = 0;
    validate(s, 200, 0.9);
    assert_best(s, 200, 0);
    assert_false(has_previous(s));
}

static void a_best_that_is_not_written_is_forgotten(void **state)
{
    State *s = *state;
    validate(s, 100, 0.7);
    const Validation v = {.loss = 1, .own_text = 0.3, .ear = {0.9, 0.7, 0.9, 0.95}, .sentences = 8};
    s->t.state.step = 200;
    assert_int_equal(choosing_validate(&s->t, &v), 1);
    choosing_forget(&s->t);
    assert_best(s, 100, 0);
    assert_int_equal(validate(s, 300, 0.72), 1); /* it need not be as good as what was lost */
}

/* What a killed run leaves is not the next one's. */
static void the_next_run_has_no_previous(void **state)
{
    State *s = *state;
    Err err = {0};
    validate(s, 100, 0.7);
    validate(s, 200, 0.9);
    assert_true(has_previous(s));
    checkpoint_writer_close(s->t.writer);
    assert_int_equal(checkpoint_writer_open(&s->t.writer, s->f.path, 2, &s->log, &err), 0);
    assert_false(has_previous(s));
    assert_best(s, 200, 0);
}

static void a_damaged_note_is_none(void **state)
{
    State *s = *state;
    Judged note;
    assert_int_equal(best_note_read(&note, s->f.path), 0);
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"best_step\": -3}",
                                        "{\"best_step\": 5}",
                                        "{\"best_step\": \"5\", \"best_loss\": 1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        file_put(folder_file(&s->f, "best.json"), texts[i], strlen(texts[i]));
        assert_int_equal(best_note_read(&note, s->f.path), 0);
        assert_int_equal(truncate(folder_file(&s->f, "best.json"), 0), 0);
    }
    const Judged j = {.step = 5, .loss = 0.1 + 0.2, .ear = {1 / 3.0, 0.7, 0, 0.95}, .words = 7, .wrong = 9};
    Err err = {0};
    assert_int_equal(best_note_write(s->f.path, &j, 1, &err), 0);
    assert_true(best_note_read(&note, s->f.path) && memcmp(&note, &j, sizeof j) == 0);
}

/* ---- loss.png ---- */

/* Pixels of a colour in it. */
static int64_t pixels_of(State *s, Rgb colour)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_int_equal(png_image_begin_read_from_file(&image, folder_file(&s->f, "loss.png")), 1);
    image.format = PNG_FORMAT_RGB;
    uint8_t *p = malloc(PNG_IMAGE_SIZE(image));
    assert_int_equal(png_image_finish_read(&image, NULL, p, 0, NULL), 1);
    int64_t n = 0;
    for (size_t i = 0; i < PNG_IMAGE_SIZE(image); i += 3)
        n += abs(p[i] - colour.r) + abs(p[i + 1] - colour.g) + abs(p[i + 2] - colour.b) < 60;
    free(p);
    return n;
}

/* The log of a run of ten validations; validation turns at `turn` and rises, training falls or rises. */
static void write_log(State *s, int turn, double rise, double training)
{
    FILE *f = fopen(folder_file(&s->f, "log.jsonl"), "w");
    for (int i = 1; i <= 10; i++) {
        fprintf(f, "{\"event\": \"step\", \"step\": %d, \"loss\": %g}\n", 100 * i, 2 + training * i);
        fprintf(f, "{\"event\": \"validation\", \"step\": %d, \"loss\": %g}\n", 100 * i,
                2 + rise * abs(i - turn));
    }
    fclose(f);
}

static void learning_by_heart_is_marked(void **state)
{
    State *s = *state;
    const Rgb heart = chart_colour(6), best = chart_colour(2);
    static const struct {
        int turn;
        double rise, training;
        int marked;
    } cases[] = {{4, 0.05, -0.1, 1}, {10, 0.05, -0.1, 0}, {4, 0.05, 0.1, 0},
                 {9, 0.05, -0.1, 0}, {1, 0.05, -0.1, 1},  {4, 0.005, -0.1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_log(s, cases[i].turn, cases[i].rise, cases[i].training);
        report_curve(&s->t);
        int64_t n = pixels_of(s, heart);
        if ((n > 300) != cases[i].marked)
            fail_msg("case %zu: %lld pixels", i, (long long)n);
        assert_true(pixels_of(s, best) < 50);
    }
    s->t.state.choice.best = (Judged){.step = 800, .loss = 2};
    report_curve(&s->t);
    assert_true(pixels_of(s, best) > 300);
    assert_null(s->log_text.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(bad_words_bring_back_the_one_before),  T(good_words_confirm_it),
        T(the_one_that_was_heard_is_kept),       T(one_that_is_understood_is_preferred),
        T(without_a_recogniser_nothing_is_kept), T(a_best_that_is_not_written_is_forgotten),
        T(the_next_run_has_no_previous),         T(a_damaged_note_is_none),
        T(learning_by_heart_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
