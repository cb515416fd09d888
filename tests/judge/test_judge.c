/* test_judge.c - words and their errors, the recogniser, clips on many threads, the job beside a training.
 * Speech comes from flite; where it or PocketSphinx is missing, the tests that listen are skipped. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "audio/process.h"
#include "base/mem.h"
#include "base/rng.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "support/folder_testing.h"
#include "support/long_tests.h"
#include "support/spoken.h"
#include "train/listen/hearing.h"

#define LIBRARY "MYXTTS_POCKETSPHINX_LIBRARY"
#define MODEL "MYXTTS_POCKETSPHINX_MODEL"
#define SPOKEN 4 /* sentences that these tests listen to */

/* ---- words ---- */

static void check_words(const char *said, const char *heard, int wrong, int words)
{
    int n = -1, got = words_wrong(said, heard, &n);
    if (got != wrong || n != words)
        fail_msg("'%s' heard as '%s': %d wrong of %d, not %d of %d", said, heard, got, n, wrong, words);
}

static void test_words(void **state)
{
    check_words("", "", 0, 0);
    check_words("the cat sat", "the cat sat", 0, 3);
    check_words("the cat sat", "the mat sat", 1, 3);
    check_words("the cat sat", "the sat", 1, 3);
    check_words("the cat sat", "the fat cat sat", 1, 3);
    check_words("the cat sat", "", 3, 3);
    check_words("", "the cat sat", 3, 0);
    check_words("a b c d", "b c d e", 2, 4);
    check_words("a b c d e f", "f e d c b a", 6, 6);
    check_words("one two three four", "one three four four", 2, 4);
    check_words("The CAT, sat.", "the cat sat", 0, 3);
    check_words("  well-known\tthings\n", "well known things", 0, 3);
    check_words("it's", "its", 1, 1);
    check_words("it\xe2\x80\x99s", "it's", 0, 1);
    check_words("he said 'no' to the dogs'", "he said no to the dogs", 0, 6);
    check_words("' '' -- ' 42", "", 0, 0);
    check_words("caf\xc3\xa9 na\xc3\xafve \xc3\x89t\xc3\xa9", "cafe naive ete", 0, 3);
    check_words("stra\xc3\x9f"
                "e \xd0\x9c\xd0\xb8\xd1\x80",
                "stra\xc3\x9f"
                "e \xd0\xbc\xd0\xb8\xd1\x80",
                0, 2);
    check_words("the \xff\xc3 cat\xe2\x80", "the cat", 0, 2);
    check_words("ab a b", "a b ab", 2, 3);
    check_words(NULL, "word", 1, 0);
    check_words("word", NULL, 1, 1);
    assert_int_equal(words_wrong("a b", "a c", NULL), 1);
}

/* The table in full, as a reference. */
static int plain_distance(const int *a, int n_a, const int *b, int n_b)
{
    int table[16][16];
    for (int i = 0; i <= n_a; i++)
        for (int j = 0; j <= n_b; j++) {
            int best = i + j;
            if (i && j && table[i - 1][j - 1] + (a[i - 1] != b[j - 1]) < best)
                best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (i && table[i - 1][j] + 1 < best)
                best = table[i - 1][j] + 1;
            if (j && table[i][j - 1] + 1 < best)
                best = table[i][j - 1] + 1;
            table[i][j] = best;
        }
    return table[n_a][n_b];
}

static void test_words_at_random(void **state)
{
    static const char *const list[] = {"a", "an", "and", "ant"};
    Rng rng;
    rng_seed(&rng, 7);
    for (int round = 0; round < 2000; round++) {
        int ids[2][12], n[2];
        char text[2][100];
        for (int k = 0; k < 2; k++) {
            n[k] = (int)rng_below(&rng, 12);
            text[k][0] = 0;
            for (int i = 0; i < n[k]; i++) {
                ids[k][i] = (int)rng_below(&rng, 4);
                strcat(strcat(text[k], i ? " " : ""), list[ids[k][i]]);
            }
        }
        check_words(text[0], text[1], plain_distance(ids[0], n[0], ids[1], n[1]), n[0]);
    }
}

static void test_words_limit(void **state)
{
    Buf many = {0};
    for (int i = 0; i < WORDS_MOST; i++)
        buf_str(&many, i % 3 ? "yes " : "no ");
    check_words(many.data, many.data + 3, 1, WORDS_MOST);
    buf_str(&many, "more");
    int words = 5;
    assert_int_equal(words_wrong(many.data, "", &words), ERR_DATA);
    assert_int_equal(words, 0);
    assert_int_equal(words_wrong("", many.data, &words), ERR_DATA);
    buf_free(&many);
}

/* ---- figures ---- */

static void test_score(void **state)
{
    JudgeClip clips[] = {{.words = 8, .wrong = 2}, {.words = 12, .wrong = 3}, {.words = 0, .wrong = 1}};
    WordScore s = judge_score(clips, 3);
    assert_true(s.words == 20 && s.wrong == 6 && fabs(s.share - 0.3) < 1e-12);
    s = judge_score(clips, 0);
    assert_true(s.words == 0 && s.wrong == 0 && s.share == 0);
    assert_true(judge_score(clips + 2, 1).share == 1);
}

static void test_difference(void **state)
{
    enum { N = 200 };
    JudgeClip a[N] = {{0}}, b[N] = {{0}};
    Rng rng;
    rng_seed(&rng, 11);
    for (int i = 0; i < N; i++) {
        a[i].words = b[i].words = 10;
        a[i].wrong = (int)rng_below(&rng, 6);
        b[i].wrong = a[i].wrong;
    }
    WordDifference d = judge_difference(a, b, N);
    assert_true(d.points == 0 && d.low == 0 && d.high == 0); /* sentence by sentence nothing differs */
    for (int i = 0; i < N; i++)
        a[i].wrong = b[i].wrong + 1;
    d = judge_difference(a, b, N);
    assert_true(fabs(d.points - 10) < 1e-9 && fabs(d.low - 10) < 1e-9 && fabs(d.high - 10) < 1e-9);
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        int more = (int)rng_below(&rng, 5) - 1; /* -1 .. 3 */
        a[i].wrong = b[i].wrong + more;
        sum += more;
        squares += more * more;
    }
    double mean = sum / N, error = sqrt((squares / N - mean * mean) / N);
    d = judge_difference(a, b, N);
    assert_true(fabs(d.points - 10 * mean) < 1e-9);
    assert_true(fabs(d.low - 10 * (mean - 1.96 * error)) < 0.3);
    assert_true(fabs(d.high - 10 * (mean + 1.96 * error)) < 0.3);
    WordDifference again = judge_difference(a, b, N), other = judge_difference(b, a, N);
    assert_true(again.low == d.low && again.high == d.high);
    assert_true(fabs(other.points + d.points) < 1e-9 && fabs(other.low + d.high) < 1e-9);
    d = judge_difference(a, b, 0);
    assert_true(d.points == 0 && d.low == 0 && d.high == 0);
}

/* ---- the recogniser ---- */

static AudioBuffer spoken[SPOKEN];
static int can_listen;     /* flite and PocketSphinx are both there */
static Recogniser *shared; /* open if so: loading a model takes long */

static const char *library, *model; /* as the tests were started */

static void set_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static int reset_variables(void **state)
{
    set_variable(LIBRARY, library);
    set_variable(MODEL, model);
    return 0;
}

static int set_up(void **state)
{
    Err err = {0};
    library = getenv(LIBRARY) ? strdup(getenv(LIBRARY)) : NULL;
    model = getenv(MODEL) ? strdup(getenv(MODEL)) : NULL;
    can_listen = 1;
    for (int i = 0; i < SPOKEN && can_listen; i++)
        can_listen = spoken_by_flite(&spoken[i], spoken_sentences[i]);
    if (!can_listen)
        print_message("SKIPPED: no test listens: flite is not installed\n");
    else if (recogniser_open(&shared, "en", &err)) {
        print_message("SKIPPED: no test listens: %s\n", err.msg);
        can_listen = 0;
    }
    return 0;
}

static int tear_down(void **state)
{
    recogniser_close(shared);
    for (int i = 0; i < SPOKEN; i++)
        audio_buffer_free(&spoken[i]);
    free((void *)(uintptr_t)library);
    free((void *)(uintptr_t)model);
    return 0;
}

static void need_listening(void)
{
    if (!can_listen)
        skip();
}

static Recogniser *recogniser(void)
{
    Recogniser *r;
    Err err = {0};
    if (recogniser_open(&r, "en", &err))
        fail_msg("%s", err.msg);
    return r;
}

/* Malloc'd. */
static char *heard_in(Recogniser *r, const float *x, int64_t n, int rate)
{
    Buf heard = {0};
    Err err = {0};
    buf_str(&heard, "of the clip before");
    if (recogniser_listen(r, &heard, x, n, rate, &err))
        fail_msg("%s", err.msg);
    return heard.data;
}

static char *heard_in_sentence(Recogniser *r, int i)
{
    const AudioBuffer *s = &spoken[i];
    return heard_in(r, s->samples, s->frames, s->rate);
}

static void check_refused(const char *language, int code, const char *sentence, const char *hint)
{
    Recogniser *r = (Recogniser *)&code;
    Err err = {0};
    JudgeClip clip = {.said = "word"};
    assert_int_equal(recogniser_open(&r, language, &err), code);
    assert_null(r);
    if (!strstr(err.msg, sentence) || !strstr(err.hint, hint))
        fail_msg("the sentence is: %s (%s)", err.msg, err.hint);
    assert_int_equal(recogniser_open(&r, language, NULL), code);
    assert_int_equal(judge_clips(&clip, 1, language, 2, &err), code);
    assert_true(strstr(err.msg, sentence) && !strstr(err.msg, "clip 1"));
}

static void test_other_languages(void **state)
{
    check_refused("de", ERR_MISSING, "no recogniser for the language 'de'", "English (en)");
    check_refused("eng", ERR_MISSING, "the language 'eng'", "");
    check_refused("e", ERR_MISSING, "the language 'e'", "");
    check_refused("", ERR_MISSING, "the language ''", "");
    check_refused(NULL, ERR_MISSING, "the language ''", "");
    need_listening();
    static const char *const english[] = {"en", "en-gb", "en_US", "EN"};
    for (size_t i = 0; i < sizeof english / sizeof *english; i++) {
        Recogniser *r;
        assert_int_equal(recogniser_open(&r, english[i], NULL), 0);
        recogniser_close(r);
    }
    recogniser_close(NULL);
}

static void test_nothing_installed(void **state)
{
    setenv(LIBRARY, "/nowhere/libpocket.so", 1);
    check_refused("en", ERR_MISSING, "not installed (/nowhere/libpocket.so: ", "install libpocketsphinx3");
    setenv(LIBRARY, "libm.so.6", 1);
    check_refused("en", ERR_MISSING, "has no ps_init", "versions");
    reset_variables(NULL);
    need_listening();
    setenv(MODEL, "/nowhere", 1);
    check_refused("en", ERR_MISSING, "/nowhere (MYXTTS_POCKETSPHINX_MODEL) is not a folder with", "unset");
}

/* A model that is the installed one but for `name`, which has its first `keep` bytes. */
static void damage_model(const Folder *f, const char *installed, const char *name, size_t keep)
{
    static const char *const files[] = {"cmudict-en-us.dict", "en-us.lm.bin",    "en-us/mdef",
                                        "en-us/means",        "en-us/variances", "en-us/transition_matrices",
                                        "en-us/sendump",      "en-us/noisedict", "en-us/feat.params"};
    mkdir(folder_file(f, "en-us"), 0777);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", installed, files[i]);
        unlink(folder_file(f, files[i]));
        if (strcmp(files[i], name) == 0) {
            Buf bytes = file_bytes(path);
            file_put(folder_file(f, name), bytes.data, keep < bytes.size ? keep : bytes.size);
            buf_free(&bytes);
        } else if (symlink(path, folder_file(f, files[i]))) {
            fail_msg("no link to %s", path);
        }
    }
}

/* The library calls exit() for some of these. In a process of its own, because it leaves its memory behind.
 * */
static void test_damaged_model(void **state)
{
    need_listening();
    static const struct {
        const char *name;
        size_t keep;
    } damage[] = {
        {"en-us/mdef", 0},   {"en-us/mdef", 1000}, {"en-us/transition_matrices", 40},
        {"en-us/means", 80}, {"en-us/sendump", 0}, {"en-us.lm.bin", 0},
    };
    const char *installed = model ? model : "/usr/share/pocketsphinx/model/en-us";
    if (!file_exists(installed)) {
        print_message("SKIPPED: there is no model in %s\n", installed);
        skip();
    }
    Folder f = folder_make();
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        damage_model(&f, installed, damage[i].name, damage[i].keep);
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            Recogniser *r;
            Err err = {0};
            setenv(MODEL, f.path, 1);
            int rc = recogniser_open(&r, "en", &err);
            int said = strstr(err.msg, "cannot use its model in") && strstr(err.msg, f.path);
            _exit(rc == ERR_FORMAT && said ? 42 : 43);
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 42)
            fail_msg("%s of %zu bytes: status %#x", damage[i].name, damage[i].keep, (unsigned)status);
    }
    folder_remove(&f);
}

static void test_most_words_are_right(void **state)
{
    need_listening();
    Recogniser *r = shared;
    assert_true(strstr(recogniser_name(r), "PocketSphinx ") && strstr(recogniser_name(r), ", en-us"));
    int wrong = 0, words = 0;
    for (int i = 0; i < SPOKEN; i++) {
        int n;
        char *heard = heard_in_sentence(r, i);
        wrong += words_wrong(spoken_sentences[i], heard, &n);
        words += n;
        for (const char *p = heard; *p; p++) { /* lower case, single blanks */
            assert_false(*p >= 'A' && *p <= 'Z');
            assert_false(*p == ' ' && (p == heard || p[1] == ' ' || p[1] == 0));
        }
        free(heard);
    }
    print_message("%s: %d of %d words wrong\n", recogniser_name(r), wrong, words);
    assert_true(words == 34 && wrong < words / 2);
}

/* Whatever was heard before, also loud noise, which moves the means and the estimate of the noise. */
static void test_the_clip_before_does_not_matter(void **state)
{
    need_listening();
    enum { N = 16000, CLIPS = SANITIZED ? 2 : SPOKEN };
    float *noise = mem_calloc(N, sizeof *noise);
    Rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < N; i++)
        noise[i] = (float)(0.2 * rng_normal(&rng));
    Recogniser *r = shared;
    char *first[CLIPS];
    for (int i = 0; i < CLIPS; i++)
        first[i] = heard_in_sentence(r, i);
    for (int i = CLIPS - 1; i >= 0; i--) {
        if (i % 2)
            free(heard_in(r, noise, N, 16000));
        char *heard = heard_in_sentence(r, i);
        assert_string_equal(heard, first[i]);
        free(heard);
    }
    r = recogniser(); /* as the first clip of all */
    char *heard = heard_in_sentence(r, CLIPS - 1);
    assert_string_equal(heard, first[CLIPS - 1]);
    free(heard);
    recogniser_close(r);
    for (int i = 0; i < CLIPS; i++)
        free(first[i]);
    free(noise);
}

static void check_nothing_heard(Recogniser *r, const float *x, int64_t n, int rate)
{
    char *heard = heard_in(r, x, n, rate);
    assert_string_equal(heard, "");
    free(heard);
}

static void test_silence(void **state)
{
    need_listening();
    enum { N = 32000 };
    float *x = mem_calloc(N, sizeof *x);
    Recogniser *r = shared;
    check_nothing_heard(r, NULL, 0, 16000);
    check_nothing_heard(r, x, 0, 22050);
    check_nothing_heard(r, x, 1, 22050);
    check_nothing_heard(r, x, N, 16000);
    check_nothing_heard(r, x, N, 44100);
    for (int i = 0; i < N; i++)
        x[i] = i % 2 ? NAN : INFINITY;
    check_nothing_heard(r, x, N, 22050);
    for (int i = 0; i < N && i < spoken[1].frames; i++)
        x[i] = spoken[1].samples[i] * 1e-5f; /* speech, but below anything a file holds */
    check_nothing_heard(r, x, N, 16000);
    static const int64_t few[] = {1, 160, 410, 411, 1000};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) { /* hardly any sound: anything may be heard */
        for (int k = 0; k < 1000; k++)
            x[k] = (float)sin(k);
        free(heard_in(r, x, few[i], 16000));
        free(heard_in(r, x, few[i], 48000));
    }
    char *heard = heard_in_sentence(r, 1); /* it still hears */
    int n;
    assert_true(words_wrong(spoken_sentences[1], heard, &n) < n);
    free(heard);
    free(x);
}

/* Loudness does not count, nor does one sample that is no number. */
static void test_loudness(void **state)
{
    need_listening();
    int64_t n = spoken[2].frames;
    float *x = mem_calloc((size_t)n, sizeof *x);
    Recogniser *r = shared;
    char *plain = heard_in_sentence(r, 2);
    static const float gains[] = {0.0078125f, 1e20f};
    for (size_t g = 0; g < sizeof gains / sizeof *gains; g++) {
        for (int64_t i = 0; i < n; i++)
            x[i] = spoken[2].samples[i] * gains[g];
        char *heard = heard_in(r, x, n, spoken[2].rate);
        assert_string_equal(heard, plain);
        free(heard);
    }
    memcpy(x, spoken[2].samples, (size_t)n * sizeof *x);
    int words, before = words_wrong(plain, plain, &words);
    x[n / 2] = NAN;
    x[n / 3] = -INFINITY;
    x[n / 4] = 3e38f;
    char *heard = heard_in(r, x, n, spoken[2].rate);
    assert_true(before == 0 && words_wrong(plain, heard, NULL) <= words / 3);
    free(heard);
    free(plain);
    free(x);
}

static void test_rates(void **state)
{
    need_listening();
    static const int rates[] = {16001, 22050, 37123, 192000};
    const Config cfg = {.sample_rate = 16000};
    AudioProcessor *p;
    assert_int_equal(audio_processor_open(&p, &cfg, NULL), 0);
    Recogniser *r = shared;
    char *plain = heard_in_sentence(r, 1);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const float *x;
        int64_t n;
        const AudioBuffer *s = &spoken[1];
        assert_int_equal(audio_resample(p, &x, &n, s->samples, s->frames, s->rate, rates[i], NULL), 0);
        char *heard = heard_in(r, x, n, rates[i]);
        int words, differ = words_wrong(plain, heard, &words);
        if (differ > words / 3)
            fail_msg("at %d Hz: %s", rates[i], heard);
        free(heard);
    }
    free(plain);
    Buf heard = {0};
    Err err = {0};
    static const int bad[] = {0, -16000, AUDIO_MAX_RATE + 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(recogniser_listen(r, &heard, spoken[1].samples, 100, bad[i], &err), ERR_DATA);
    assert_true(strstr(err.msg, "Hz") && heard.size == 0 && heard.data[0] == 0);
    int64_t many = (int64_t)RECOGNISER_SECONDS * 8000 + 1;
    float *x = mem_calloc((size_t)many, sizeof *x);
    assert_int_equal(recogniser_listen(r, &heard, x, many, 8000, &err), ERR_DATA);
    assert_true(strstr(err.msg, "300 s is too long") && strstr(err.hint, "300 s"));
    x[0] = 1; /* a click, and as long as a clip may be: longer ones would make the library call exit() */
    if (!SANITIZED)
        assert_int_equal(recogniser_listen(r, &heard, x, many - 1, 8000, &err), 0);
    free(x);
    buf_free(&heard);
    audio_processor_close(p);
}

/* stdout and stderr belong to the program. */
static void test_the_library_says_nothing(void **state)
{
    need_listening();
    Folder f = folder_make();
    fflush(stdout);
    fflush(stderr);
    int out = dup(1), errors = dup(2), file = open(folder_file(&f, "said"), O_CREAT | O_RDWR, 0600);
    assert_true(out >= 0 && errors >= 0 && file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
    Recogniser *r = NULL;
    Buf heard = {0};
    int rc = recogniser_open(&r, "en", NULL);
    if (!rc)
        rc = recogniser_listen(r, &heard, spoken[0].samples, spoken[0].frames, spoken[0].rate, NULL);
    recogniser_close(r);
    buf_free(&heard);
    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(errors, 2);
    struct stat st = {0};
    fstat(file, &st);
    close(out);
    close(errors);
    close(file);
    assert_int_equal(rc, 0);
    assert_int_equal(st.st_size, 0);
    folder_remove(&f);
}

/* ---- clips ---- */

static void fill_clips(JudgeClip *clips)
{
    for (int i = 0; i < SPOKEN; i++) {
        const AudioBuffer *s = &spoken[i];
        clips[i] = (JudgeClip){s->samples, s->frames, s->rate, spoken_sentences[i], NULL, 0, 0};
    }
}

static void test_threads_agree(void **state)
{
    need_listening();
    JudgeClip one[SPOKEN], other[SPOKEN];
    Err err = {0};
    fill_clips(one);
    assert_int_equal(judge_clips(one, SPOKEN, "en", 1, &err), 0);
    WordScore score = judge_score(one, SPOKEN);
    assert_true(score.words == 34 && score.wrong > 0 && score.share < 0.5);
    static const int threads[] = {2};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        fill_clips(other);
        assert_int_equal(judge_clips(other, SPOKEN, "en", threads[t], &err), 0);
        for (int i = 0; i < SPOKEN; i++) {
            assert_string_equal(other[i].heard, one[i].heard);
            assert_true(other[i].words == one[i].words && other[i].wrong == one[i].wrong);
        }
        judge_clips_clear(other, SPOKEN);
        assert_true(!other[0].heard && !other[0].words && other[0].samples);
    }
    judge_clips_clear(one, SPOKEN);
    assert_int_equal(judge_clips(NULL, 0, "en", 2, &err), 0);
}

static void test_a_clip_that_fails(void **state)
{
    need_listening();
    JudgeClip clips[SPOKEN];
    for (int threads = SANITIZED ? 2 : 1; threads <= 2; threads++) {
        Err err = {0};
        fill_clips(clips);
        clips[1].rate = 0;
        assert_int_equal(judge_clips(clips, SPOKEN, "en", threads, &err), ERR_DATA);
        assert_true(strncmp(err.msg, "clip 2: ", 8) == 0);
        for (int i = 0; i < SPOKEN; i++)
            assert_true(!clips[i].heard && !clips[i].words && !clips[i].wrong);
    }
}

/* ---- the job ---- */

/* Clips that the judge could not compare, or that have no pitch, leave gaps, not "nan". */
static void test_sentence_without_pitch(void **state)
{
    char text[400];
    Heard h = {.clips = 1,
               .voice = {.words = 17, .share = 1},
               .recordings = {.words = 17},
               .mcd_db = 7.8,
               .f0_rmse_semitones = NAN,
               .length_ratio = 1.24};
    heard_sentence(&h, text, sizeof text);
    assert_string_equal(text,
                        "100 % of the words wrong; in the recordings 0 %; 7.8 dB from the recordings, 1.24 "
                        "times their length");
    h.f0_rmse_semitones = 0.5;
    heard_sentence(&h, text, sizeof text);
    assert_non_null(strstr(text, ", pitch off by 0.5 semitones, "));
    h.mcd_db = NAN;
    heard_sentence(&h, text, sizeof text);
    assert_null(strstr(text, "nan"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentence_without_pitch),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_words_at_random),
        cmocka_unit_test(test_words_limit),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_other_languages),
        cmocka_unit_test_teardown(test_nothing_installed, reset_variables),
        cmocka_unit_test(test_damaged_model),
        cmocka_unit_test(test_most_words_are_right),
        cmocka_unit_test(test_the_clip_before_does_not_matter),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_loudness),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_the_library_says_nothing),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_a_clip_that_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
