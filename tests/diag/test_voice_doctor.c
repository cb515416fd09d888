/* test_voice_doctor.c - the voice doctor on facts made here: a healthy voice has no finding, each cause is
 * found, alone and with its numbers; the facts themselves from logs, recordings and texts. */
#include "support/train_testing.h"
#include "support/wav_testing.h"

#include "diag/voice/voice_report.h"
#include "train/listen/other_texts.h"

enum { ALIGNED = 400 };

/* ---- facts ---- */

static void add_point(VoicePoint **points, size_t *count, size_t *cap, int64_t step, double loss)
{
    assert_int_equal(mem_grow(points, cap, *count + 1, sizeof **points), 0);
    VoicePoint *p = &(*points)[(*count)++];
    *p = (VoicePoint){.step = step, .loss = loss, .lr = NAN, .own_text = NAN, .score = NAN};
    for (int i = 0; i < TERM_COUNT; i++)
        p->terms[i] = loss * (i == TERM_MEL ? 0.5 : i == TERM_DURATION ? 0.3 : 0.2 / 3);
}

/* Losses that fall to `floor`; validation rises again by `rise` for each 1,000 steps behind `from`. */
static void add_curves(VoiceFacts *f, int64_t steps, double floor, int64_t from, double rise)
{
    for (int64_t s = 100; s <= steps; s += 100) {
        double loss = floor + exp(-(double)s / 1000);
        add_point(&f->train, &f->train_count, &f->train_cap, s, loss);
        if (s % 500 == 0)
            add_point(&f->validation, &f->validation_count, &f->validation_cap, s,
                      loss + 0.02 + rise * fmax(0, (double)(s - from) / 1000));
    }
}

static void add_heard(VoiceFacts *f, int64_t step, int wrong, int recordings_wrong)
{
    assert_int_equal(mem_grow(&f->heard, &f->heard_cap, f->heard_count + 1, sizeof *f->heard), 0);
    f->heard[f->heard_count++] = (VoiceHeard){.step = step,
                                              .words = 400,
                                              .words_wrong = wrong,
                                              .recordings_words = 400,
                                              .recordings_words_wrong = recordings_wrong,
                                              .mcd_db = 6,
                                              .f0_rmse_semitones = 3,
                                              .length_ratio = 1.02};
}

/* An hour of a usual reader, well learned. */
static VoiceFacts healthy(void)
{
    VoiceFacts f;
    voice_facts_clear(&f);
    add_curves(&f, 6000, 0.5, 6000, 0);
    f.ended = 1, f.total_steps = 6000;
    for (int i = 0; i < TERM_COUNT; i++)
        f.weight[i] = i < TERM_PITCH ? 1 : 0.5;
    f.clips = ALIGNED, f.lines = ALIGNED, f.seconds = 3600;
    f.f0 = 190, f.sounds_per_s = 11.5, f.sounds = 42, f.rare_sounds = 1;
    f.looked = 200, f.looked_quiet = 1, f.looked_clipped = 2, f.clipped_samples = 1e-6,
    f.pitch_variance = 0.2;
    f.clip = mem_calloc(ALIGNED, sizeof *f.clip);
    assert_non_null(f.clip);
    f.clip_count = ALIGNED;
    for (int i = 0; i < ALIGNED; i++) { /* about the same for all, a little to either side */
        double other = 0.7 + 0.0005 * (i % 101);
        f.clip[i] = (VoiceClip){.utterance = (uint32_t)i, .text = 60, .frames = 260, .other = other};
        f.clip[i].cost = other * (0.66 + 0.03 * sin(12.9898 * i));
        f.clip[i].id = "clip", f.clip[i].words = "some words";
    }
    f.cost = 0.48, f.own_text = 0.34, f.ones = 0.28, f.held = 0.33, f.frames_per_symbol = 4.3;
    f.predicted_clips = 40, f.pitch_explained = 0.45, f.duration_explained = 0.6;
    add_heard(&f, 6000, 30, 24);
    assert_int_equal(voice_suspects(&f, NULL), 0);
    return f;
}

/* Exactly this finding. */
static VoiceFinding only(const VoiceFacts *f, VoiceCause cause)
{
    VoiceFinding found[VOICE_CAUSE_COUNT];
    int n = voice_doctor(found, VOICE_CAUSE_COUNT, f);
    for (int i = 0; i < n; i++)
        if (found[i].cause != cause)
            fail_msg("%s, not only %s: %s", voice_cause_name(found[i].cause), voice_cause_name(cause),
                     found[i].evidence);
    if (n != 1)
        fail_msg("%s was not found", voice_cause_name(cause));
    assert_true(strlen(found[0].evidence) > 20 && strlen(found[0].advice) > 20);
    assert_true(strlen(found[0].evidence) + 1 < sizeof found[0].evidence); /* nothing was cut off */
    assert_true(strlen(found[0].advice) + 1 < sizeof found[0].advice);
    return found[0];
}

static void nothing(const VoiceFacts *f)
{
    VoiceFinding found[VOICE_CAUSE_COUNT];
    int n = voice_doctor(found, VOICE_CAUSE_COUNT, f);
    if (n)
        fail_msg("%s: %s", voice_cause_name(found[0].cause), found[0].evidence);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void test_healthy(void **state)
{
    VoiceFacts f = healthy();
    nothing(&f);
    assert_int_equal(f.suspects, 0);
    voice_facts_free(&f);
    nothing(&f); /* nothing is known: nothing is said */
}

static void test_overfitting(void **state)
{
    VoiceFacts f = healthy();
    f.train_count = f.validation_count = 0;
    add_curves(&f, 9000, 0.5, 4000, 0.02);
    VoiceFinding v = only(&f, VOICE_OVERFITTING);
    assert_true(v.step >= 4000 &&
                v.step <= 5500); /* where the fall still outweighs the rise a little longer */
    has(v.advice, "best.safetensors");
    /* To the ear the voice still gets better, and then no longer. */
    for (size_t i = 0; i < f.validation_count; i++)
        f.validation[i].score = f.validation[i].step > 4500 ? 0.9 : 0.7;
    nothing(&f);
    for (size_t i = 0; i < f.validation_count; i++)
        f.validation[i].score = f.validation[i].step > 4500 ? 0.7 : 0.9;
    only(&f, VOICE_OVERFITTING);
    /* The training loss does not fall: the run got worse, not its memory. */
    for (size_t i = 0; i < f.train_count; i++)
        f.train[i].loss = f.train[i].step > 5000 ? 2 : 1;
    nothing(&f);
    /* Two validations are not enough to say so. */
    f.train_count = f.validation_count = 0;
    add_curves(&f, 5000, 0.5, 4000, 0.3);
    nothing(&f);
    voice_facts_free(&f);
}

/* Not learned, as `losses` tell, without a validation; at a learning rate of 0.2. */
static void set_losses(VoiceFacts *f, const double *losses, size_t count)
{
    f->own_text = NAN;
    f->validation_count = f->train_count = 0;
    for (size_t i = 0; i < count; i++) {
        add_point(&f->train, &f->train_count, &f->train_cap, 50 * (int64_t)(i + 1), losses[i]);
        f->train[i].lr = 0.2;
    }
}

/* A learning rate that ruins the weights. The distance of the alignment is low in all of these: the loss
 * itself says it. */
static void test_divergence(void **state)
{
    static const struct {
        double losses[4];
        const char *evidence; /* NULL: it has not diverged */
    } cases[] = {
        {{3.1, 2.2, 28.1, 27.6}, "the loss is 27.6 at step 200, far above that of a network that knows"},
        {{5e12, 5e12, 5e12, 5e12}, "the loss is 5e+12 at step 200, far above"},
        {{1e6, 300, 25, 9}, "the loss is 9 at step 200, having been 1e+06 at step 50; the highest learning"},
        {{0.9, 0.4, 0.6, 4}, "the loss is 4 at step 200, having been 0.4 at step 100; the highest learning"},
        {{1e6, 300, 9, 3}, NULL}, /* it learns again */
        {{5, 0.5, 0.4, 2.5}, NULL} /* a single bad interval */,
    };
    VoiceFacts f = healthy();
    f.ended = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_losses(&f, cases[i].losses, 4);
        for (size_t k = 0; k < f.train_count; k++)
            f.train[k].terms[TERM_ALIGN] = 0.05;
        if (!cases[i].evidence) {
            nothing(&f);
            continue;
        }
        const VoiceFinding v = only(&f, VOICE_LOSS);
        has(v.evidence, cases[i].evidence);
        has(v.evidence, "learning rate was 0.2.");
    }
    /* Nothing but validations, of which the newest has a high distance as well: not the alignment's fault. */
    f.train_count = 0;
    add_point(&f.validation, &f.validation_count, &f.validation_cap, 120, 28);
    f.validation[0].terms[TERM_ALIGN] = 4;
    f.ended = 1;
    has(only(&f, VOICE_LOSS).evidence, "at step 120");
    voice_facts_free(&f);
}

/* The guard ended the run before there was a line. */
static void test_stopped_by_the_guard(void **state)
{
    VoiceFacts f = healthy();
    set_losses(&f, NULL, 0);
    f.diverged = (VoicePoint){.step = 48, .loss = 5e12};
    f.diverged_from = 5.3;
    const VoiceFinding v = only(&f, VOICE_LOSS);
    assert_int_equal(v.step, 48);
    has(v.evidence, "5e+12 at step 48, having been 5.3 at its lowest; the run was stopped there");
    f.diverged_from = NAN;
    has(only(&f, VOICE_LOSS).evidence, "5e+12 at step 48; the run was stopped there");
    voice_facts_free(&f);
}

/* One that changes nothing: it stays where it began, as far from the recordings as knowing nothing. */
static void test_stuck(void **state)
{
    VoiceFacts f = healthy();
    f.own_text = 0;
    for (size_t i = 0; i < f.validation_count; i++)
        f.validation[i].own_text = 0;
    f.validation[f.validation_count - 1].terms[TERM_ALIGN] = 0.5 * f.weight[TERM_ALIGN];
    for (size_t i = 0; i < f.train_count; i++)
        f.train[i].loss = 5.2, f.train[i].lr = 1e-7;
    has(only(&f, VOICE_LOSS).evidence, "does not fall");
    voice_facts_free(&f);
}

static void test_alignment(void **state)
{
    VoiceFacts f = healthy();
    f.own_text = 0.001, f.ones = 0.7, f.held = 0.7, f.pitch_explained = 0, f.duration_explained = 0;
    VoiceFinding v = only(&f, VOICE_ALIGNMENT); /* durations and pitch are its consequence */
    has(v.evidence, "0.1 %");
    has(v.evidence, "70 %");
    f.own_text = NAN, f.ones = f.held = f.pitch_explained = f.duration_explained = NAN;
    /* As validations of a run tell it. */
    f.validation[f.validation_count - 1].own_text = 0.01;
    v = only(&f, VOICE_ALIGNMENT);
    assert_int_equal(v.step, 6000);
    f.validation[f.validation_count - 1].own_text = 0.3;
    nothing(&f);
    /* And an older log, from the loss alone. */
    f.validation[f.validation_count - 1].own_text = NAN;
    f.validation[f.validation_count - 1].terms[TERM_ALIGN] = 0.47;
    has(only(&f, VOICE_ALIGNMENT).evidence, "0.94");
    f.ended = 0, f.validation_count = 1, f.train_count = 5; /* 500 steps of a run that goes on */
    f.validation[0].own_text = 0.001, f.validation[0].terms[TERM_ALIGN] = 0.47;
    nothing(&f);
    voice_facts_free(&f);
}

static void test_durations(void **state)
{
    VoiceFacts f = healthy();
    f.ones = 0.75, f.held = 0.72;
    has(only(&f, VOICE_DURATIONS).evidence, "75 %");
    f.ones = 0.62, f.held = 0.4, f.frames_per_symbol = 1.8; /* fast speech, or wide hops */
    nothing(&f);
    f.ones = 0.3, f.duration_explained = 0.01;
    has(only(&f, VOICE_DURATIONS).evidence, "nearly the same");
    f.predicted_clips = 2;
    nothing(&f);
    voice_facts_free(&f);
}

static void test_pitch(void **state)
{
    VoiceFacts f = healthy();
    f.pitch_explained = -0.05;
    has(only(&f, VOICE_PITCH).evidence, "explains 0 %");
    f.predicted_clips = 0; /* from the log: the weight is 0.5 */
    f.validation[f.validation_count - 1].terms[TERM_PITCH] = 0.09;
    nothing(&f);
    f.validation[f.validation_count - 1].terms[TERM_PITCH] = 0.11;
    has(only(&f, VOICE_PITCH).evidence, "0.220");
    voice_facts_free(&f);
}

static void test_recordings(void **state)
{
    VoiceFacts f = healthy();
    f.looked_quiet = 30;
    has(only(&f, VOICE_SILENCE).evidence, "15 %");
    f.looked_quiet = 0, f.silent_lines = 200; /* of 600 */
    has(only(&f, VOICE_SILENCE).evidence, "33 %");
    f.silent_lines = 2;
    nothing(&f);
    f.looked_clipped = 50, f.clipped_samples = 0.004;
    has(only(&f, VOICE_CLIPPING).evidence, "0.40 %");
    f.looked_clipped = 0;
    f.clips = 80, f.seconds = 900, f.rare_sounds = 12;
    has(only(&f, VOICE_FEW_CLIPS).evidence, "12 of 42");
    f.clips = 200, f.seconds = 400;
    only(&f, VOICE_FEW_CLIPS);
    f.clips = 200, f.seconds = 700;
    nothing(&f);
    voice_facts_free(&f);
}

static void test_sample_rate(void **state)
{
    static const struct {
        double rate, f0;
        int found; /* 1 too fast, -1 too slow */
    } cases[] = {
        {11.5, 110, 0}, {11.5, 210, 0}, {14.4, 240, 0}, {14.9, 120, 0}, {9, 90, 0},     {NAN, 200, 0},
        {16.9, 150, 1}, {15.8, 290, 1}, {23, 400, 1},   {12, 420, 1},   {NAN, 430, 1},  {17.9, NAN, 1},
        {4.5, 120, -1}, {7.5, 80, -1},  {8.5, 80, 0},   {7.5, 150, 0},  {5.75, 55, -1}, {4, 430, 0},
    };
    VoiceFacts f = healthy();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.sounds_per_s = cases[i].rate, f.f0 = cases[i].f0;
        if (cases[i].found)
            has(only(&f, VOICE_SAMPLE_RATE).evidence, cases[i].found > 0 ? "too fast" : "too slow");
        else
            nothing(&f);
    }
    voice_facts_free(&f);
}

static void test_words(void **state)
{
    VoiceFacts f = healthy();
    f.heard[0].words_wrong = 120, f.heard[0].length_ratio = 0.7;
    VoiceFinding v = only(&f, VOICE_WORDS);
    has(v.evidence, "30.0 %");
    has(v.evidence, "6.0 %");
    has(v.evidence, "0.70 times");
    /* What was heard at the beginning of a longer training, before its end is there. */
    f.total_steps = 30000, f.ended = 0;
    nothing(&f);
    f.total_steps = 20000;
    only(&f, VOICE_WORDS);
    f.total_steps = 30000, f.ended = 1;
    only(&f, VOICE_WORDS);
    add_heard(&f, 8000, 60, 24);
    has(only(&f, VOICE_WORDS).advice, "30 % at step 6000");
    f.heard_count = 1;
    f.heard[0] = (VoiceHeard){
        .step = 1, .words = 20, .words_wrong = 3, .recordings_words = 20, .recordings_words_wrong = 1};
    nothing(&f); /* too few words to be sure */
    f.heard[0] = (VoiceHeard){.step = 1, .words = 400, .words_wrong = 500, .recordings_words = 400};
    only(&f, VOICE_WORDS); /* more words than were said */
    /* As bad as the recordings is no praise where those are not understood. */
    f.heard[0] = (VoiceHeard){
        .step = 1, .words = 97, .words_wrong = 97, .recordings_words = 97, .recordings_words_wrong = 95};
    has(only(&f, VOICE_WORDS).evidence, "hardly understands the recordings");
    f.heard[0].recordings_words_wrong = 60, f.heard[0].words_wrong = 60;
    nothing(&f);
    f.heard[0] = (VoiceHeard){.step = 1, .length_ratio = 2};
    nothing(&f); /* nobody listened */
    voice_facts_free(&f);
}

static void test_texts(void **state)
{
    VoiceFacts f = healthy();
    for (int i = 0; i < ALIGNED; i++)
        if (f.clip[i].utterance % 40 == 7)
            f.clip[i].cost = f.clip[i].other * (0.97 + 0.0001 * f.clip[i].utterance);
    assert_int_equal(voice_suspects(&f, NULL), 0);
    assert_int_equal(f.suspects, 10);
    for (int i = 0; i < 10; i++) /* worst first */
        assert_true(f.clip[i].suspect && f.clip[i].utterance == (uint32_t)(367 - 40 * i));
    has(only(&f, VOICE_TEXTS).evidence, "10 of 400");

    Folder folder = folder_make();
    VoiceReport r = {.facts = f, .step = -1, .has_alignment = 1};
    r.count = voice_doctor(r.findings, VOICE_CAUSE_COUNT, &f);
    r.facts.clip[1].words = "a\ttab";
    const char *path = folder_file(&folder, "suspects.tsv");
    assert_int_equal(voice_report_suspects(&r, path, NULL), 0);
    Buf b = file_bytes(path);
    buf_add(&b, "", 1);
    has(b.data, "id\tscore\tcost\tother_cost\ttext\nclip\t");
    has(b.data, "\ta tab\nclip\t");
    buf_free(&b);
    json_t *o = voice_report_json(&r), *finding = json_array_get(json_object_get(o, "findings"), 0);
    assert_string_equal(json_string_value(json_object_get(finding, "cause")), "texts");
    assert_int_equal(json_array_size(json_object_get(finding, "clips")), 10);
    json_decref(o);
    folder_remove(&folder);

    /* Far out of line among clips that are all alike, but still far from a text that is not said. */
    for (size_t i = 0; i < f.clip_count; i++)
        f.clip[i].cost = f.clip[i].other * (i ? 0.66 + 0.0001 * (double)(i % 7) : 0.7);
    assert_int_equal(voice_suspects(&f, NULL), 0);
    assert_true(f.clip[0].score > 20 && f.suspects == 0);

    /* Three sentences that differ from another one in a word: that one fits nearly as well, and so does their
     * own, as always. */
    for (size_t i = 0; i < f.clip_count; i++) {
        f.clip[i].cost = 0.12 + 0.0001 * (double)(i % 7);
        f.clip[i].other = i < 3 ? 0.225 : 0.8 + 0.001 * (double)(i % 11);
    }
    assert_int_equal(voice_suspects(&f, NULL), 0);
    assert_true(f.clip[0].score > 20 && f.suspects == 0);
    for (size_t i = 0; i < f.clip_count; i++) /* and three whose texts are not said */
        if (f.clip[i].other < 0.3)
            f.clip[i].cost = f.clip[i].other = 0.78;
    assert_int_equal(voice_suspects(&f, NULL), 0);
    assert_int_equal(f.suspects, 3);

    f.own_text = 0.01; /* an alignment that knows nothing accuses nobody */
    assert_int_equal(voice_suspects(&f, NULL), 0);
    assert_int_equal(f.suspects, 0);
    only(&f, VOICE_ALIGNMENT);
    voice_facts_free(&f);
}

static void test_order(void **state)
{
    VoiceFacts f = healthy();
    VoiceFinding found[VOICE_CAUSE_COUNT];
    f.clips = 50, f.looked_clipped = 150, f.f0 = 450, f.pitch_explained = 0, f.heard[0].words_wrong = 300;
    int n = voice_doctor(found, VOICE_CAUSE_COUNT, &f);
    assert_int_equal(n, 5);
    for (int i = 1; i < n; i++)
        assert_true(found[i].cause > found[i - 1].cause);
    assert_int_equal(voice_doctor(found, 2, &f), 2);
    voice_facts_free(&f);
}

/* Whatever is said, nobody is told that a voice is good when nobody has listened. */
static void test_no_praise(void **state)
{
    VoiceReport r = {.facts = healthy(), .step = 6000, .has_log = 1, .has_corpus = 1, .has_alignment = 1};
    Buf b = {0};
    r.facts.heard_count = 0;
    voice_report_text(&b, &r);
    has(b.data, "not measured");
    has(b.data, "nobody listened");
    static const char *const praise[] = {"good", "well", "healthy", "fine", "perfect"};
    for (size_t i = 0; i < sizeof praise / sizeof *praise; i++)
        if (strstr(b.data, praise[i]))
            fail_msg("\"%s\" in: %s", praise[i], b.data);
    buf_free(&b);
    voice_report_close(&r);
}

/* ---- where facts come from ---- */

static void test_log(void **state)
{
    static const char text[] =
        "{\"event\":\"start\",\"step\":0,\"total_steps\":900}\n"
        "{\"event\":\"step\",\"step\":100,\"loss\":1.5,\"align\":0.25}\n"
        "{\"event\":\"validation\",\"step\":100,\"loss\":1.6,\"align\":0.3,\"own_text\":0.02}\n"
        "{\"event\":\"heard\",\"step\":100,\"words\":10,\"words_wrong\":9,\"recordings_words\":10,"
        "\"recordings_words_wrong\":1,\"mcd_db\":null,\"length_ratio\":0.9}\n"
        "{\"event\":\"step\",\"step\":200,\"loss\":9}\n"
        "{\"event\":\"validation\",\"step\":200,\"loss\":9}\n"
        "{\"event\":\"end\",\"step\":200,\"text\":\"stopped\"}\n"
        "{\"event\":\"resume\",\"step\":100}\n"
        "{\"event\":\"start\",\"step\":100,\"total_steps\":800}\n"
        "{\"event\":\"step\",\"step\":150,\"loss\":1.2}\n{\"event\":\"st";
    Folder folder = folder_make();
    VoiceFacts f;
    Err err = {0};
    voice_facts_clear(&f);
    assert_int_equal(voice_facts_from_log(&f, folder.path, &err), ERR_MISSING);
    file_put(folder_file(&folder, "log.jsonl"), text, sizeof text - 1);
    for (int again = 0; again < 2; again++) /* a second look does not add to the first */
        assert_int_equal(voice_facts_from_log(&f, folder.path, &err), 0);
    assert_int_equal(f.train_count, 2);
    assert_int_equal(f.train[1].step, 150);
    assert_true(isnan(f.train[1].terms[TERM_ALIGN]) && isnan(f.train[1].own_text));
    assert_int_equal(f.validation_count, 1);
    assert_true(f.validation[0].own_text == 0.02 && f.validation[0].terms[TERM_ALIGN] == 0.3);
    assert_int_equal(f.heard_count, 1);
    assert_true(isnan(f.heard[0].mcd_db) && f.heard[0].length_ratio == 0.9 && f.heard[0].words_wrong == 9);
    assert_int_equal(f.ended, 0);
    assert_int_equal(f.total_steps, 800);
    voice_facts_free(&f);
    folder_remove(&folder);
}

/* What the guard says, and the weights that the run began with; both go when the run begins again. */
static void test_log_of_a_diverged_run(void **state)
{
    static const char diverged[] =
        "{\"event\":\"start\",\"step\":0,\"settings\":{\"mel_loss_weight\":\"2\",\"seed\":\"5\"}}\n"
        "{\"event\":\"step\",\"step\":20,\"loss\":3e9,\"mel\":1e9}\n"
        "{\"event\":\"diverged\",\"step\":48,\"loss\":5e12,\"lowest_loss\":5.3}\n"
        "{\"event\":\"end\",\"step\":48,\"text\":\"error\"}\n",
                      again[] =
                          "{\"event\":\"start\",\"step\":0,\"settings\":{\"mel_loss_weight\":\"0.5\"}}\n";
    Folder folder = folder_make();
    const char *path = folder_file(&folder, "log.jsonl");
    VoiceFacts f;
    voice_facts_clear(&f);
    file_put(path, diverged, sizeof diverged - 1);
    assert_int_equal(voice_facts_from_log(&f, path, NULL), 0);
    assert_int_equal(f.diverged.step, 48);
    assert_int_equal(f.ended, 0); /* an error is no end */
    assert_true(f.diverged.loss == 5e12 && f.diverged_from == 5.3);
    assert_true(f.weight[TERM_MEL] == 2 && isnan(f.weight[TERM_ALIGN]));
    only(&f, VOICE_LOSS);
    Buf both = {0};
    buf_str(&both, diverged);
    buf_str(&both, again);
    file_put(path, both.data, both.size);
    assert_int_equal(voice_facts_from_log(&f, path, NULL), 0);
    assert_int_equal(f.diverged.step, -1);
    assert_int_equal(f.train_count, 0);
    assert_true(f.weight[TERM_MEL] == 0.5);
    nothing(&f);
    buf_free(&both);
    voice_facts_free(&f);
    folder_remove(&folder);
}

static void open_corpus(Corpus *c, Config *cfg, Split split)
{
    Err err = {0};
    lab_config(cfg, NULL, "");
    if (corpus_open(c, cfg, split, NULL, &err))
        fail_msg("%s", err.msg);
}

static void test_other_texts(void **state)
{
    Config cfg;
    Corpus c;
    OtherTexts o;
    open_corpus(&c, &cfg, SPLIT_TRAIN);
    c.lengths[3].frames = 1; /* no text fits into it */
    assert_int_equal(other_texts_open(&o, &c, NULL), 0);
    assert_int_equal(o.changed[3], 0);
    assert_true(o.count < c.count);
    c.lengths[3].frames = 1000;
    assert_true(o.count > c.count / 2);
    for (uint32_t i = 0; i < c.count; i++) {
        StoreEntry a, b;
        TextView own, other;
        store_entry(&c.text, c.items[i].text_entry, &a);
        store_entry(&c.text, o.corpus.items[i].text_entry, &b);
        assert_int_equal(text_view(&own, &a) | text_view(&other, &b), 0);
        int same = own.token_count == other.token_count &&
                   memcmp(own.tokens, other.tokens, own.token_count * 2) == 0;
        assert_int_equal(same, !o.changed[i]);
        assert_int_equal(o.corpus.lengths[i].tokens, other.token_count);
        assert_true(other.token_count <= c.lengths[i].frames);
        assert_int_equal(o.corpus.items[i].mel_entry, c.items[i].mel_entry);
    }
    other_texts_close(&o);
    corpus_close(&c);
    config_close(&cfg);
}

/* A wave with its top cut off, or hardly any wave at all. */
static void write_spoiled(const char *path, double gain, double top)
{
    enum { RATE = 8000, SAMPLES = 4000 };
    uint8_t b[44 + 2 * SAMPLES] = {0};
    put_wav_header(b, 1, 1, RATE, 16, 2 * SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        double x = gain * sin(0.1 * i) * (1 + 0.3 * sin(0.0031 * i));
        put_u16(b + 44 + 2 * i, (uint16_t)(int16_t)(32767 * fmax(-top, fmin(top, x))));
    }
    file_put(path, b, sizeof b);
}

static void test_corpus(void **state)
{
    Config cfg;
    Corpus train, validation;
    VoiceFacts f;
    open_corpus(&train, &cfg, SPLIT_TRAIN);
    config_close(&cfg);
    open_corpus(&validation, &cfg, SPLIT_VAL);
    voice_facts_clear(&f);
    assert_int_equal(voice_facts_from_corpus(&f, &cfg, &train, &validation, 1000, NULL), 0);
    assert_int_equal(f.clips, CLIPS);
    assert_int_equal(f.looked, train.count);
    assert_int_equal(f.looked_quiet + f.looked_clipped, 0);
    assert_true(f.seconds > 0.2 * CLIPS && f.seconds < 0.8 * CLIPS);
    assert_true(f.f0 > 60 && f.f0 < 500 && f.pitch_variance > 0);
    assert_true(isnan(f.sounds_per_s)); /* letters, not phonemes */
    /* Other sound in the same files: what was prepared stays, what is looked at changes. */
    for (uint32_t i = 0; i < 4; i++) {
        char path[512];
        const Utterance *u = &train.dataset.utterances[train.items[i].utterance];
        assert_int_equal(dataset_audio_path(&train.dataset, u, path, sizeof path, NULL), 0);
        write_spoiled(path, i == 0 ? 0.001 : 0.6, i == 1 ? 0.4 : i == 2 ? 0.999 : 1);
    }
    assert_int_equal(voice_facts_from_corpus(&f, &cfg, &train, &validation, 1000, NULL), 0);
    assert_int_equal(f.looked_quiet, 1);
    assert_int_equal(f.looked_clipped, 1); /* cut off at 0.4; the others are whole */
    assert_int_equal(f.silent.count, 1);
    const Utterance *first = &train.dataset.utterances[train.items[0].utterance];
    assert_memory_equal(f.silent.id[0], first->id.p, first->id.n);
    assert_int_equal(voice_facts_from_corpus(&f, &cfg, &train, NULL, 3, NULL), 0);
    assert_int_equal(f.looked, 3);
    assert_int_equal(f.clips, train.count);
    voice_facts_free(&f);
    corpus_close(&train);
    corpus_close(&validation);
    config_close(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),     cmocka_unit_test(test_overfitting),
        cmocka_unit_test(test_divergence),  cmocka_unit_test(test_stopped_by_the_guard),
        cmocka_unit_test(test_stuck),       cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_durations),   cmocka_unit_test(test_pitch),
        cmocka_unit_test(test_recordings),  cmocka_unit_test(test_sample_rate),
        cmocka_unit_test(test_words),       cmocka_unit_test(test_texts),
        cmocka_unit_test(test_order),       cmocka_unit_test(test_no_praise),
        cmocka_unit_test(test_log),         cmocka_unit_test(test_log_of_a_diverged_run),
        cmocka_unit_test(test_other_texts), cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
