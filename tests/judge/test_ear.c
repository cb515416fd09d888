/* test_ear.c - what is heard without a judge, and which checkpoint it chooses: figures of made-up mels, the
 * score on voices that people's ears (NISQA-TTS) have ordered, words that come late. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "judge/choice.h"

enum { BANDS = 20, FRAMES = 300, SYMBOLS = 30 };

/* ---- measuring ---- */

/* A sentence between two pauses: formants and a pitch that wander. */
typedef struct Sentence {
    float mel[FRAMES * BANDS], pitch[FRAMES];
    float symbol_pitch[SYMBOLS];
    int32_t durations[SYMBOLS];
} Sentence;

/* smooth: frames on either side that a mean is taken over; 0: as it is. hiss: noise in the pauses. */
static Sentence *sentence(uint64_t seed, int smooth, double hiss, double noise)
{
    Sentence *s = mem_calloc(1, sizeof *s);
    float *raw = mem_calloc((size_t)FRAMES * BANDS, sizeof *raw);
    Rng rng;
    rng_seed(&rng, 5);
    double phase = 0.3 * (double)seed;
    for (int t = 0; t < FRAMES; t++)
        for (int b = 0; b < BANDS; b++) {
            const int quiet = t < 60 || t >= 240;
            const double at = (b + 0.5) / BANDS, first = 0.3 + 0.2 * sin(0.25 * t + phase);
            raw[t * BANDS + b] =
                (float)(quiet ? -11 + hiss * rng_normal(&rng)
                              : -6 + 4 * exp(-80 * (at - first) * (at - first)) + noise * rng_normal(&rng));
        }
    for (int t = 0; t < FRAMES; t++) {
        s->pitch[t] = (float)(5 + 0.15 * sin(0.05 * t + phase));
        for (int b = 0; b < BANDS; b++) {
            double sum = 0;
            int n = 0;
            /* Not across the border of a pause. */
            for (int k = t - smooth; k <= t + smooth; k++)
                if (k >= 0 && k < FRAMES && (k < 60 || k >= 240) == (t < 60 || t >= 240)) {
                    sum += (double)raw[k * BANDS + b];
                    n++;
                }
            s->mel[t * BANDS + b] = (float)(sum / n);
        }
    }
    for (int i = 0; i < SYMBOLS; i++) {
        double sum = 0;
        s->durations[i] = FRAMES / SYMBOLS;
        for (int t = 0; t < FRAMES / SYMBOLS; t++)
            sum += (double)s->pitch[i * (FRAMES / SYMBOLS) + t];
        /* Normalised with a mean of 5 and a deviation of 0.5. */
        s->symbol_pitch[i] = (float)((sum / (FRAMES / SYMBOLS) - 5) / 0.5);
    }
    free(raw);
    return s;
}

static EarFigures compare(const Sentence *spoken, int frames, const Sentence *recorded)
{
    EarTally e = {0};
    ear_add(&e,
            &(EarSpoken){.mel = spoken->mel,
                         .frames = frames,
                         .pitch = spoken->symbol_pitch,
                         .durations = spoken->durations,
                         .symbols = frames * SYMBOLS / FRAMES,
                         .pitch_deviation = 0.5},
            &(EarRecording){.mel = recorded->mel, .pitch = recorded->pitch, .frames = FRAMES}, BANDS);
    assert_int_equal(e.sentences, 1);
    return ear_figures(&e);
}

static void assert_near(double x, double want, double by)
{
    if (!(fabs(x - want) <= by))
        fail_msg("%g is not %g", x, want);
}

static void a_copy_is_like_its_recording(void **state)
{
    Sentence *a = sentence(1, 0, 0.1, 0);
    EarFigures f = compare(a, FRAMES, a);
    assert_near(f.movement, 1, 1e-9);
    assert_near(f.detail, 1, 1e-9);
    assert_near(f.pitch_range, 1, 1e-4); /* the same stretches, but in single precision */
    assert_near(f.length_ratio, 1, 1e-12);
    assert_near(ear_score(&f), 1, 1e-4);
    free(a);
}

static void a_smooth_voice_moves_less(void **state)
{
    Sentence *a = sentence(1, 0, 0.1, 0), *dull = sentence(1, 3, 0.1, 0), *noisy = sentence(1, 0, 0.1, 0.3);
    EarFigures f = compare(dull, FRAMES, a), loud = compare(noisy, FRAMES, a);
    printf("smoothed: movement %.2f, detail %.2f; noisy: %.2f, %.2f\n", f.movement, f.detail, loud.movement,
           loud.detail);
    assert_true(f.movement < 0.9 && f.detail < 1 && f.movement > 0.1);
    assert_true(loud.movement > 1.1 && loud.detail > 1);
    assert_true(ear_score(&f) < 1 && ear_score(&loud) < 1);
    free(a);
    free(dull);
    free(noisy);
}

/* The noise of a room is no voice, however it moves in the log. */
static void pauses_do_not_count(void **state)
{
    Sentence *a = sentence(1, 0, 0, 0), *hiss = sentence(1, 0, 1.5, 0), *dull = sentence(1, 3, 0, 0);
    EarFigures f = compare(dull, FRAMES, a), beside_hiss = compare(dull, FRAMES, hiss);
    assert_near(beside_hiss.movement, f.movement, 0.02);
    assert_near(beside_hiss.detail, f.detail, 0.02);
    free(a);
    free(hiss);
    free(dull);
}

static void pitch_and_length(void **state)
{
    Sentence *a = sentence(1, 0, 0, 0), *flat = sentence(1, 0, 0, 0);
    for (int i = 0; i < SYMBOLS; i++)
        flat->symbol_pitch[i] *= 0.5f;
    EarFigures f = compare(flat, FRAMES, a);
    assert_near(f.pitch_range, 0.5, 1e-3);
    /* A monotone is known to be one: it must not have a better score than a voice that moves. */
    memset(flat->symbol_pitch, 0, sizeof flat->symbol_pitch);
    EarFigures none = compare(flat, FRAMES, a);
    assert_true(none.pitch_range > 0 && none.pitch_range < 1e-3 && ear_score(&none) < ear_score(&f));
    /* Without a pitch in the recordings nothing is known of it. */
    for (int t = 0; t < FRAMES; t++)
        a->pitch[t] = 5;
    none = compare(flat, FRAMES, a);
    assert_true(none.pitch_range == 0);
    assert_near(ear_score(&none), 1, 1e-9);
    assert_near(compare(a, FRAMES / 2, a).length_ratio, 0.5, 1e-12);
    /* Twice as fast with the same melody: the same range. */
    Sentence *fast = sentence(1, 0, 0, 0), *b = sentence(1, 0, 0, 0);
    EarTally e = {0};
    for (int i = 0; i < SYMBOLS; i++)
        fast->durations[i] /= 2;
    ear_add(&e,
            &(EarSpoken){.mel = fast->mel,
                         .frames = FRAMES / 2,
                         .pitch = fast->symbol_pitch,
                         .durations = fast->durations,
                         .symbols = SYMBOLS,
                         .pitch_deviation = 0.5},
            &(EarRecording){.mel = b->mel, .pitch = b->pitch, .frames = FRAMES}, BANDS);
    assert_near(ear_figures(&e).pitch_range, 1, 1e-3);
    free(fast);
    free(b);
    free(a);
    free(flat);
}

static void what_is_not_finite_is_not_known(void **state)
{
    Sentence *a = sentence(1, 0, 0, 0), *bad = sentence(1, 0, 0, 0);
    bad->mel[FRAMES / 2 * BANDS] = NAN;
    EarFigures f = compare(bad, FRAMES, a);
    assert_true(f.movement == 0 && ear_score(&f) == 0);
    free(a);
    free(bad);
    assert_true(ear_score(&(EarFigures){0}) == 0);
}

/* ---- the score ---- */

/* Kathleen: shares of the recordings', and what NISQA-TTS gave. Voices with the same vocoder. */
static void the_score_follows_the_ear(void **state)
{
    static const struct {
        const char *what;
        EarFigures f;
        double nisqa;
    } voices[] = {{"best by the loss, step 1,335", {0.63, 0.71, 0.88, 0.92}, 2.53},
                  {"2 min, step 8,145", {0.84, 0.69, 0.88, 0.92}, 2.88},
                  {"the last step", {0.88, 0.68, 0.88, 0.92}, 3.04},
                  {"copies", {0.98, 0.98, 1, 1}, 3.45}};
    static const struct {
        const char *what;
        EarFigures f;
        double nisqa;
    } few[] = {{"five minutes", {0.78, 0.54, 0.88, 0.92}, 2.51},
               {"five minutes from slt", {0.84, 0.61, 0.88, 0.92}, 2.97}};
    for (size_t i = 1; i < sizeof voices / sizeof *voices; i++)
        if (!(ear_score(&voices[i].f) > ear_score(&voices[i - 1].f) + ear_tie(8)))
            fail_msg("%s (%.2f) is not better than %s", voices[i].what, voices[i].nisqa, voices[i - 1].what);
    assert_true(ear_score(&few[1].f) > ear_score(&few[0].f) + ear_tie(8));
    /* Noisier than the recordings is worse than a little dull. */
    assert_true(ear_score(&(EarFigures){1.2, 1, 1, 1}) < ear_score(&(EarFigures){0.88, 1, 1, 1}));
    assert_true(ear_score(&(EarFigures){1.1, 1, 1, 1}) < ear_score(&(EarFigures){1, 1, 1, 1}));
    assert_true(ear_score(&(EarFigures){3, 3, 1, 1}) >= 0);
    /* Too long and too short, too flat and too lively are as bad as each other. */
    assert_near(ear_score(&(EarFigures){1, 1, 1, 1.25}), ear_score(&(EarFigures){1, 1, 1, 0.8}), 1e-12);
    assert_near(ear_score(&(EarFigures){1, 1, 1.25, 1}), ear_score(&(EarFigures){1, 1, 0.8, 1}), 1e-12);
    assert_true(ear_tie(8) >= 0.005 && ear_tie(2) > ear_tie(8) && ear_tie(30) < ear_tie(8));
    assert_true(ear_tie(0) >= ear_tie(1) && ear_tie(1) < 0.05);
}

/* ---- the choice ---- */

static Judged voice(int64_t step, double loss, double movement)
{
    return (Judged){.step = step, .loss = loss, .ear = {movement, 0.7, 0.9, 0.95}};
}
static Judged babble(int64_t step, double loss) { return (Judged){.step = step, .loss = loss}; }

static int validate(Choice *c, Judged j) { return choice_validate(c, &j, 8, 0.0005); }

/* The lowest loss is at step 1,335, the best voice at the end. */
static void the_last_step_wins_over_the_lowest_loss(void **state)
{
    Choice c;
    choice_begin(&c);
    assert_int_equal(validate(&c, babble(400, 1.2)), 1);
    assert_int_equal(validate(&c, voice(1335, 0.74, 0.63)), 1);
    assert_int_equal(validate(&c, voice(8145, 0.85, 0.84)), 1);
    assert_int_equal(validate(&c, voice(15909, 0.95, 0.88)), 1);
    assert_true(c.best.step == 15909 && c.lowest_step == 1335 && c.lowest_loss == 0.74);
    char why[300];
    judged_why(&c.best, 1, why, sizeof why);
    assert_string_equal(why, "step 15909: closest to the recordings (movement 0.88, detail 0.70, pitch range "
                             "0.90, length 0.95)");
    c.best.words = 200;
    c.best.wrong = 36;
    judged_why(&c.best, 1, why, sizeof why);
    assert_non_null(strstr(why, "length 0.95), 18 % of the words wrong"));
    /* One that is duller again is not taken, whatever its loss. */
    assert_int_equal(validate(&c, voice(16000, 0.6, 0.80)), 0);
    assert_true(c.best.step == 15909 && c.stale == 1 && c.lowest_step == 16000);
}

static void of_two_that_sound_the_same_the_later_is_taken(void **state)
{
    Choice c;
    choice_begin(&c);
    validate(&c, voice(10, 1, 0.8));
    assert_int_equal(validate(&c, voice(20, 1, 0.8)), 1);
    assert_int_equal(validate(&c, voice(30, 1, 0.804)), 1);
    assert_int_equal(c.stale, 2); /* no improvement to go on for */
    /* Ever a little worse is no way to a worse voice. */
    double movement = 0.804;
    int taken = 0;
    for (int i = 0; i < 20; i++) {
        movement -= 0.01;
        taken += validate(&c, voice(40 + i, 1, movement));
    }
    assert_true(taken >= 1 && taken <= 3 && c.best.ear.movement > 0.77);
    assert_int_equal(c.stale, 22);
    assert_int_equal(validate(&c, voice(100, 1, 0.9)), 1);
    assert_int_equal(c.stale, 0);
}

/* --init-from begins with a lively voice that is somebody else's. */
static void what_was_lively_before_it_had_learned_is_not_the_best(void **state)
{
    Choice c;
    choice_begin(&c);
    validate(&c, voice(10, 1.3, 0.95));
    assert_int_equal(validate(&c, voice(20, 1.1, 0.7)), 0);
    assert_int_equal(validate(&c, voice(30, 1.0, 0.75)), 1);
    assert_true(c.best.step == 30 && c.stale == 0);
    assert_int_equal(validate(&c, voice(40, 0.85, 0.8)), 1); /* it has only to be better than that one */
}

static Judged taught(int64_t step, double loss) { return (Judged){.step = step, .loss = loss, .taught = 1}; }

/* Critics raise the loss of a vocoder: what came before them counts no more, and of theirs the newest is the
 * best, but for one that is far off. */
static void of_what_critics_taught_the_newest_is_the_best(void **state)
{
    Choice c;
    char why[300];
    choice_begin(&c);
    assert_int_equal(validate(&c, babble(1, 0.15)), 1);
    assert_int_equal(validate(&c, taught(2, 0.165)), 1);
    assert_int_equal(validate(&c, taught(3, 0.166)), 1);
    assert_int_equal(validate(&c, taught(4, 0.164)), 1);
    assert_int_equal(validate(&c, taught(5, 0.19)), 0);
    assert_int_equal(validate(&c, taught(6, 0.18)), 1);
    assert_int_equal(validate(&c, taught(7, 0.181)), 0); /* 0.164 is the lowest of them */
    assert_int_equal(c.best.step, 6);
    judged_why(&c.best, 0, why, sizeof why);
    assert_string_equal(why, "step 6: the newest that the critics have taught (validation loss 0.1800)");
}

static void without_speech_the_loss_decides(void **state)
{
    Choice c;
    char why[300];
    choice_begin(&c);
    assert_int_equal(validate(&c, babble(1, NAN)), 0);
    assert_true(c.best.step == 0 && c.stale == 1);
    judged_why(&c.best, 1, why, sizeof why);
    assert_string_equal(why, "");
    assert_int_equal(validate(&c, babble(2, 3.0)), 1);
    assert_int_equal(validate(&c, babble(3, 3.5)), 0);
    assert_int_equal(validate(&c, babble(4, 2.9999)), 1);
    assert_int_equal(c.stale, 2); /* lower, but not by much */
    assert_int_equal(validate(&c, babble(5, 2.0)), 1);
    assert_true(c.best.step == 5 && c.stale == 0);
    judged_why(&c.best, 0, why, sizeof why);
    assert_string_equal(why, "step 5: lowest validation loss (2.0000)");
    judged_why(&c.best, 1, why, sizeof why);
    assert_non_null(strstr(why, "before the voice could be judged by ear"));
    /* The first that speaks is better than any that does not, and not the other way round. */
    assert_int_equal(validate(&c, voice(6, 2.5, 0.5)), 1);
    assert_int_equal(validate(&c, babble(7, 1.0)), 0);
    assert_int_equal(c.best.step, 6);
}

static void babble_does_not_speak(void **state)
{
    Choice c;
    const EarFigures lively = {0.95, 0.9, 1, 1};
    choice_begin(&c);
    validate(&c, voice(1, 1.0, 0.5));
    assert_int_equal(choice_speaks(&c, &lively, 0.2, 1.1), 1);
    assert_int_equal(choice_speaks(&c, &lively, NAN, 1.1), 1); /* texts could not be compared */
    assert_int_equal(choice_speaks(&c, &lively, 0.01, 1.1), 0);
    assert_int_equal(choice_speaks(&c, &lively, 0.2, 2.1), 0); /* diverged */
    assert_int_equal(choice_speaks(&c, &lively, 0.2, NAN), 0);
    assert_int_equal(choice_speaks(&c, &(EarFigures){0.95, 0.9, 1, 2.5}, 0.2, 1), 0);
    assert_int_equal(choice_speaks(&c, &(EarFigures){0.95, 0.9, 1, 0.3}, 0.2, 1), 0);
    assert_int_equal(choice_speaks(&c, &(EarFigures){0.02, 0.9, 1, 1}, 0.2, 1), 0);
    assert_int_equal(choice_speaks(&c, &(EarFigures){0}, 0.2, 1), 0);
    choice_begin(&c);
    assert_int_equal(choice_speaks(&c, &lively, 0.2, 50), 1); /* the first loss is the lowest */
}

/* ---- words ---- */

static const WordScore recordings = {.words = 100, .wrong = 20, .share = 0.2};

static Judged heard(Judged j, int wrong)
{
    j.words = 100;
    j.wrong = wrong;
    return j;
}

static void words_are_a_veto(void **state)
{
    Choice c;
    choice_begin(&c);
    Judged a = voice(10, 1, 0.7), b = voice(20, 1, 0.9), before = {0}, h = heard(a, 22);
    validate(&c, a);
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_CHANGE_NOTHING);
    assert_true(c.best.words == 100 && c.best.wrong == 22);
    before = c.best;
    validate(&c, b);
    assert_true(c.best.step == 20 && c.best.words == 0);
    h = heard(b, 26); /* worse, but not clearly */
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_CHANGE_NOTHING);
    assert_int_equal(c.best.step, 20);
    h = heard(b, 60);
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_RETURN);
    assert_true(c.best.step == 10 && c.best.wrong == 22);
    /* What comes next has to be as close to the recordings as this one, not as the one that went. */
    assert_int_equal(validate(&c, voice(30, 1, 0.75)), 1);
}

/* Chance: of ten words, two more wrong mean nothing. */
static void few_words_prove_little(void **state)
{
    Choice c;
    choice_begin(&c);
    Judged before = voice(10, 1, 0.7), h = voice(20, 1, 0.9);
    before.words = h.words = 10;
    before.wrong = 2;
    h.wrong = 5;
    validate(&c, voice(20, 1, 0.9));
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_CHANGE_NOTHING);
    h.wrong = 9;
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_RETURN);
}

/* A recogniser may understand a dull voice better than the person herself. */
static void as_right_as_the_recordings_is_right(void **state)
{
    const WordScore poor = {.words = 100, .wrong = 45, .share = 0.45}, none = {0};
    Choice c;
    choice_begin(&c);
    Judged before = heard(voice(10, 1, 0.7), 10), h = heard(voice(20, 1, 0.9), 40);
    validate(&c, voice(20, 1, 0.9));
    assert_int_equal(choice_hear(&c, &before, &h, &poor), WORDS_CHANGE_NOTHING);
    assert_int_equal(choice_hear(&c, &before, &h, &none), WORDS_RETURN); /* recordings that nobody judged */
}

/* The best babbles, and another one, which is less lively, speaks. */
static void a_best_that_is_not_understood_makes_room(void **state)
{
    Choice c;
    choice_begin(&c);
    Judged before = {0}, h = heard(voice(10, 1, 0.95), 80);
    validate(&c, voice(10, 1, 0.95));
    assert_int_equal(choice_hear(&c, &before, &h, &recordings),
                     WORDS_CHANGE_NOTHING); /* nothing to compare */
    assert_int_equal(validate(&c, voice(20, 1, 0.7)), 0);
    h = heard(voice(20, 1, 0.7), 25);
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_PREFER);
    assert_int_equal(c.best.step, 10); /* until there is another */
    assert_int_equal(validate(&c, voice(30, 1, 0.72)), 1);
    assert_int_equal(c.best.step, 30);
    h.words = 0;
    assert_int_equal(choice_hear(&c, &before, &h, &recordings), WORDS_CHANGE_NOTHING);
}

/* Of few words the count is said, and that it is too small where it is; the same voice has the same words. */
static void what_is_said_rests_on_the_words(void **state)
{
    const struct {
        int words, wrong, theirs;
        const char *said;
    } cases[] = {
        {32, 9, 8,
         "A recogniser got 9 of 32 words wrong, 8 of 32 in the recordings: too few words to tell them apart. "
         "It"},
        {32, 20, 8,
         "Some of its words are understood: a recogniser got 20 of 32 words wrong, 8 of 32 in the "
         "recordings."},
        {32, 9, -1, "A recogniser got 9 of 32 words wrong. It"},
        {12, 9, 13, "A recogniser does not understand the recordings themselves"},
        {400, 112, 100, "Its words are understood (28 % wrong, 25 % in the recordings). It"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Judged j = voice(10, 1, 0.9);
        char said[400];
        j.words = cases[i].words;
        j.wrong = cases[i].wrong;
        j.their_words = cases[i].theirs < 0 ? 0 : cases[i].words;
        j.their_wrong = cases[i].theirs < 0 ? 0 : cases[i].theirs;
        judged_sounds(&j, said, sizeof said);
        print_message("%s\n", said);
        assert_non_null(strstr(said, cases[i].said));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_rests_on_the_words),
        cmocka_unit_test(a_copy_is_like_its_recording),
        cmocka_unit_test(a_smooth_voice_moves_less),
        cmocka_unit_test(pauses_do_not_count),
        cmocka_unit_test(pitch_and_length),
        cmocka_unit_test(what_is_not_finite_is_not_known),
        cmocka_unit_test(the_score_follows_the_ear),
        cmocka_unit_test(the_last_step_wins_over_the_lowest_loss),
        cmocka_unit_test(of_two_that_sound_the_same_the_later_is_taken),
        cmocka_unit_test(what_was_lively_before_it_had_learned_is_not_the_best),
        cmocka_unit_test(of_what_critics_taught_the_newest_is_the_best),
        cmocka_unit_test(without_speech_the_loss_decides),
        cmocka_unit_test(babble_does_not_speak),
        cmocka_unit_test(words_are_a_veto),
        cmocka_unit_test(few_words_prove_little),
        cmocka_unit_test(as_right_as_the_recordings_is_right),
        cmocka_unit_test(a_best_that_is_not_understood_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
