/* test_record.c - recordings through the server: what is heard in a take, which bytes are no take, the lists
 * of sentences, a folder that is gone on with, and requests that mean no good. The page is in test_record.sh.
 */
#include <math.h>

#include "support/command_testing.h"
#include "support/folder_testing.h"
#include "support/http_testing.h"
#include "support/wav_testing.h"

#include "base/rng.h"
#include "serve/record/recorder.h"
#include "serve/record/sentences.h"

#define RATE 16000
#define SENTENCE "The kitchen window was open all night."

/* ---- takes ---- */

typedef struct Made {
    double seconds, begin, end; /* silence before and behind the voice */
    double gain, noise;         /* of full scale */
    double from, to;            /* another silence */
} Made;

/* Syllables of a fifth of a second, in a room. */
static Buf make_take(Made m)
{
    const int64_t n = (int64_t)(m.seconds * RATE);
    uint8_t head[44];
    Buf out = {0};
    Rng rng;
    rng_seed(&rng, 7);
    put_wav_header(head, 1, 1, RATE, 16, (uint32_t)(2 * n));
    buf_add(&out, head, sizeof head);
    for (int64_t i = 0; i < n; i++) {
        const double t = (double)i / RATE, noise = m.noise * (2.0 * rng_uniform(&rng) - 1);
        const int on =
            t >= m.begin && t < m.seconds - m.end && fmod(t, 0.25) < 0.2 && !(t >= m.from && t < m.to);
        const double x = (on ? m.gain * sin(2 * M_PI * 190 * t) : 0) + noise;
        const int16_t s = (int16_t)fmax(-32768, fmin(32767, 32767 * x));
        buf_add(&out, &s, sizeof s);
    }
    assert_false(out.failed);
    return out;
}

#define GOOD \
    { \
        .seconds = 3, .begin = 0.4, .end = 0.4, .gain = 0.3, .noise = 0.001 \
    }

static void takes_are_heard(void **state)
{
    const struct {
        Made made;
        unsigned findings;
    } rows[] = {
        {GOOD, 0},
        {{.seconds = 0.3, .begin = 0.1, .end = 0.1, .gain = 0.3, .noise = 0.001}, TAKE_SHORT},
        {{.seconds = 61, .begin = 0.4, .end = 0.4, .gain = 0.3, .noise = 0.001}, TAKE_LONG},
        {{.seconds = 3, .begin = 3, .gain = 0.3, .noise = 0.001}, TAKE_SILENT},
        {{.seconds = 3, .begin = 3, .gain = 0.3, .noise = 0.3}, TAKE_SILENT}, /* a fan is no voice */
        {{.seconds = 3}, TAKE_SILENT},
        {{.seconds = 3, .begin = 0.4, .end = 0.4, .gain = 1.5, .noise = 0.001}, TAKE_CLIPPED},
        {{.seconds = 3, .begin = 0.4, .end = 0.4, .gain = 0.01, .noise = 0.0001}, TAKE_QUIET},
        {{.seconds = 3, .begin = 0.4, .end = 0.4, .gain = 0.3, .noise = 0.1}, TAKE_NOISY},
        {{.seconds = 3, .begin = 0.04, .end = 0.4, .gain = 0.3, .noise = 0.001}, TAKE_CUT_BEGIN},
        {{.seconds = 3, .begin = 0.4, .end = 0.05, .gain = 0.3, .noise = 0.001}, TAKE_CUT_END},
        {{.seconds = 5, .begin = 0.4, .end = 0.4, .gain = 0.3, .noise = 0.001, .from = 1.5, .to = 3.3},
         TAKE_PAUSE},
        {{.seconds = 1.6, .begin = 0.4, .end = 0.4, .gain = 0.3, .noise = 0.001}, TAKE_HURRIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buf wav = make_take(rows[i].made), again = {0};
        Take t;
        Err err = {0};
        assert_int_equal(take_read(&t, wav.data, wav.size, &err), 0);
        assert_int_equal(take_measure(&t, strlen(SENTENCE), &err), 0);
        if ((t.findings & ~(rows[i].findings & TAKE_SHORT ? TAKE_SILENT : 0u)) != rows[i].findings)
            fail_msg(
                "row %zu: findings %u, not %u (level %.1f, noise %.1f, begin %.2f, end %.2f, pause %.2f)", i,
                t.findings, rows[i].findings, t.level_db, t.noise_db, t.begin, t.end, t.pause);
        take_wav(&t, &again);
        assert_int_equal(again.size, wav.size);
        assert_memory_equal(again.data, wav.data, wav.size);
        json_t *said = take_findings(t.findings);
        assert_int_equal(json_array_size(said), __builtin_popcount(t.findings));
        assert_true(!t.findings == !take_code(t.findings));
        json_decref(said);
        buf_free(&wav);
        buf_free(&again);
    }
}

/* A click of the key that began the take is not its beginning. */
static void a_click_is_no_voice(void **state)
{
    Buf wav = make_take((Made)GOOD);
    Take t;
    int16_t click[RATE / 50];
    for (size_t i = 0; i < sizeof click / sizeof *click; i++)
        click[i] = i % 2 ? 12000 : -12000;
    memcpy(wav.data + 44 + 2 * (RATE / 50), click, sizeof click);
    assert_int_equal(take_read(&t, wav.data, wav.size, NULL), 0);
    assert_int_equal(take_measure(&t, strlen(SENTENCE), NULL), 0);
    assert_int_equal(t.findings, 0);
    assert_true(fabs(t.begin - 0.5) < 0.12);
    buf_free(&wav);
}

static void other_bytes_are_no_take(void **state)
{
    const struct {
        int format, channels, rate, bits;
        const char *words;
    } rows[] = {{3, 1, RATE, 32, "format 3"},  {1, 2, RATE, 16, "2 channels"}, {1, 1, RATE, 24, "24 bits"},
                {1, 1, 8000, 16, "8000"},      {1, 1, 400000, 16, "400000"},   {0, 0, 0, 0, "format 0"},
                {65534, 1, RATE, 16, "65534"}, {1, 1, -1, 16, "4294967295"}};
    uint8_t bytes[44 + 2000] = {0};
    Take t;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Err err = {0};
        put_wav_header(bytes, rows[i].format, rows[i].channels, rows[i].rate, rows[i].bits, 2000);
        assert_int_equal(take_read(&t, bytes, sizeof bytes, &err), ERR_FORMAT);
        if (!strstr(err.msg, rows[i].words))
            fail_msg("%s is not in: %s", rows[i].words, err.msg);
    }
    put_wav_header(bytes, 1, 1, RATE, 16, 2000);
    assert_int_equal(take_read(&t, bytes, sizeof bytes, NULL), 0);
    for (size_t n = 0; n < sizeof bytes; n += n < 60 ? 1 : 97) /* cut off anywhere */
        assert_int_equal(take_read(&t, bytes, n, NULL), ERR_FORMAT);
    Rng rng;
    rng_seed(&rng, 3);
    for (int k = 0; k < 20000; k++) { /* lengths and formats that lie */
        put_wav_header(bytes, 1, 1, RATE, 16, 2000);
        for (int i = 0; i < 3; i++)
            bytes[rng_u64(&rng) % 44] = (uint8_t)rng_u64(&rng);
        if (take_read(&t, bytes, sizeof bytes, NULL) == 0)
            assert_int_equal(take_measure(&t, 10, NULL), 0);
    }
}

/* ---- sentences ---- */

static void lists_and_files(void **state)
{
    Folder f = folder_make();
    Sentences s;
    Err err = {0};
    const char *const known[] = {"en", "en-us", "de", "fa"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sentences_open(&s, NULL, known[i], &err), 0);
        assert_true(s.count >= 80 && s.texts[0][0] != '#');
        sentences_close(&s);
    }
    assert_int_equal(sentences_open(&s, NULL, "ko", &err), ERR_USAGE);
    assert_non_null(strstr(err.hint, "--sentences FILE"));
    const char *path = folder_file(&f, "list.txt");
    const char text[] = "\xEF\xBB\xBF# a note\r\n  One. \r\n\r\nTwo\xE2\x80\xA6\nOne.\n\nlast";
    file_put(path, text, sizeof text - 1);
    assert_int_equal(sentences_open(&s, path, "ko", &err), 0);
    assert_int_equal(s.count, 3);
    assert_string_equal(s.texts[0], "One.");
    assert_string_equal(s.texts[2], "last");
    sentences_close(&s);
    const struct {
        const char *bytes, *words;
    } bad[] = {
        {"", "no sentence"}, {"# only\n", "no sentence"}, {"a\nb\tc\n", "line 2"}, {"a\xFF\n", "byte 1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_put(path, bad[i].bytes, strlen(bad[i].bytes));
        assert_int_equal(sentences_open(&s, path, "en", &err), ERR_FORMAT);
        assert_non_null(strstr(err.msg, bad[i].words));
        assert_null(s.texts);
    }
    char longest[SENTENCES_LONGEST + 2];
    memset(longest, 'x', sizeof longest);
    file_put(path, longest, sizeof longest - 1);
    assert_int_equal(sentences_open(&s, path, "en", &err), ERR_FORMAT);
    sentences_close(&s);
    folder_remove(&f);
}

/* ---- the folder ---- */

static Recorder *open_recorder(const Folder *f, const char *list)
{
    Recorder *r;
    Err err = {0};
    Log quiet;
    static Log log;
    log_init(&quiet, LOG_ERROR);
    log = quiet;
    file_put(folder_file(f, "list"), list, strlen(list));
    if (recorder_open(&r, folder_file(f, "takes"), folder_file(f, "list"), "en", &log, &err))
        fail_msg("%s", err.msg);
    return r;
}

static int save(Recorder *r, const char *id, Made m, Err *err)
{
    Buf wav = make_take(m);
    Take t;
    int rc = recorder_save(r, &t, id, NULL, wav.data, wav.size, err);
    buf_free(&wav);
    return rc;
}

static int64_t count_of(Recorder *r, const char *key)
{
    json_t *o = recorder_progress(r);
    int64_t n = json_integer_value(json_object_get(o, key));
    json_decref(o);
    return n;
}

static void assert_next(Recorder *r, const char *expected)
{
    json_t *o = recorder_progress(r);
    const char *next = json_string_value(json_object_get(o, "next"));
    if (!next != !expected || (next && strcmp(next, expected) != 0))
        fail_msg("next is %s, not %s", next ? next : "nothing", expected ? expected : "nothing");
    json_decref(o);
}

static void put_in(const Folder *f, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "takes/%s", name);
    file_put(folder_file(f, path), text, strlen(text));
}

static void assert_text(const Folder *f, const char *name, const char *expected)
{
    char path[300];
    snprintf(path, sizeof path, "takes/%s", name);
    Buf b = file_bytes(folder_file(f, path));
    assert_int_equal(b.size, strlen(expected));
    assert_memory_equal(b.data, expected, b.size);
    buf_free(&b);
}

#define LIST "One two three four five.\nSix seven eight nine.\nTen eleven twelve.\n"

static void recording_goes_on(void **state)
{
    Folder f = folder_make();
    Recorder *r = open_recorder(&f, LIST), *second;
    Err err = {0};
    assert_next(r, "0001");
    assert_int_equal(save(r, "0001", (Made)GOOD, NULL), 0);
    assert_int_equal(save(r, "0003", (Made){.seconds = 3, .end = 0.4, .gain = 0.3, .noise = 0.001}, NULL), 0);
    assert_int_equal(save(r, "0001", (Made)GOOD, NULL), 0); /* another take */
    assert_int_equal(count_of(r, "done"), 2);
    assert_next(r, "0002");
    assert_int_equal(recorder_open(&second, folder_file(&f, "takes"), NULL, "en", NULL, &err), ERR_BUSY);
    assert_null(second);
    recorder_close(r);
    /* the same list, with what was said of the takes */
    r = open_recorder(&f, LIST);
    assert_int_equal(count_of(r, "done"), 2);
    json_t *o = recorder_list(r), *third = json_array_get(json_object_get(o, "sentences"), 2);
    assert_string_equal(text_at(third, "id"), "0003");
    assert_int_equal(json_array_size(json_object_get(third, "findings")), 1);
    assert_true(json_real_value(json_object_get(third, "seconds")) == 3);
    json_decref(o);
    recorder_close(r);
    /* another list in which one of them stands elsewhere: what was recorded keeps its name */
    r = open_recorder(&f, "New and first.\nTen eleven twelve.\nNew and last.\n");
    assert_int_equal(count_of(r, "done"), 1);
    o = recorder_list(r);
    assert_string_equal(text_at(json_array_get(json_object_get(o, "sentences"), 1), "id"), "0003");
    assert_int_equal(json_integer_value(json_object_get(o, "others")), 1);
    const char *id = text_at(json_array_get(json_object_get(o, "sentences"), 0), "id");
    assert_string_not_equal(id, "0001"); /* that name is taken by another text */
    assert_int_equal(save(r, id, (Made)GOOD, NULL), 0);
    json_decref(o);
    assert_text(&f, "0001.txt", "One two three four five.\n");
    assert_int_equal(recorder_remove(r, "0003", NULL), 0);
    assert_int_equal(recorder_remove(r, "0003", NULL), ERR_MISSING);
    assert_int_equal(recorder_remove(r, "0001", NULL), ERR_MISSING); /* not of this list */
    recorder_close(r);
    folder_remove(&f);
}

static void strangers_files_stay(void **state)
{
    Folder f = folder_make();
    Err err = {0};
    assert_int_equal(mkdir(folder_file(&f, "takes"), 0777), 0);
    put_in(&f, "0001.wav", "somebody's");                /* a sound without a text */
    put_in(&f, "0002.txt", "Another text.\n");           /* a text without a sound */
    put_in(&f, "mine.txt", "Ten eleven twelve.  \r\n");  /* begun: its sound was never written */
    put_in(&f, "0004.wav.tmp4711", "half of it");        /* left by a server that was killed */
    put_in(&f, "notes.wav.tmp", "a name of the user's"); /* not ours */
    Recorder *r = open_recorder(&f, LIST);
    json_t *o = recorder_list(r), *list = json_object_get(o, "sentences");
    assert_string_equal(text_at(json_array_get(list, 0), "id"), "0004");
    assert_string_equal(text_at(json_array_get(list, 1), "id"), "0005");
    assert_string_equal(text_at(json_array_get(list, 2), "id"), "mine");
    json_decref(o);
    assert_false(file_exists(folder_file(&f, "takes/0004.wav.tmp4711")));
    assert_int_equal(save(r, "0004", (Made)GOOD, NULL), 0);
    assert_int_equal(save(r, "mine", (Made)GOOD, NULL), 0);
    assert_text(&f, "mine.txt", "Ten eleven twelve.  \r\n");
    assert_text(&f, "0001.wav", "somebody's");
    assert_text(&f, "0002.txt", "Another text.\n");
    assert_text(&f, "notes.wav.tmp", "a name of the user's");
    /* A text that somebody corrects meanwhile belongs to the sound that is there. */
    put_in(&f, "0004.txt", "One two three four six.\n");
    assert_int_equal(save(r, "0004", (Made)GOOD, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "0004.txt has been changed"));
    recorder_close(r);
    folder_remove(&f);
}

/* ---- the server ---- */

static struct {
    Folder folder;
    ServeRun server;
} lab;

static const char *takes(void) { return folder_file(&lab.folder, "takes"); }

static int setup_lab(void **state)
{
    lab.folder = folder_make();
    file_put(folder_file(&lab.folder, "list.txt"), LIST, strlen(LIST));
    serve_start(&lab.server, ARGS("--record", takes(), "--sentences", folder_file(&lab.folder, "list.txt"),
                                  "--max-body", "1"));
    return 0;
}

static int teardown_lab(void **state)
{
    serve_stop(&lab.server);
    folder_remove(&lab.folder);
    return 0;
}

static void expect(const char *method, const char *path, const char *more, const Buf *body, int status,
                   const char *words)
{
    Reply r;
    ask(&r, lab.server.port, method, path, more, body ? body->data : NULL, body ? body->size : 0);
    if (r.status != status || (words && !strstr(r.body.data ? r.body.data : "", words)))
        fail_msg("%s %s: %d %.300s, not %d with %s", method, path, r.status, r.body.data ? r.body.data : "",
                 status, words ? words : "anything");
    reply_free(&r);
}

#define WAV "Content-Type: audio/wav\r\n"

static void takes_go_through_the_server(void **state)
{
    Buf wav = make_take((Made)GOOD);
    Reply r;
    expect("GET", "/", NULL, NULL, 302, NULL);
    expect("GET", "/record", NULL, NULL, 200, "record.js");
    expect("GET", "/v1/record", NULL, NULL, 200, "\"next\":\"0001\"");
    expect("POST", "/v1/record/0001?text=One%20two%20three%20four%20five.", WAV, &wav, 200,
           "\"findings\":[]");
    expect("GET", "/v1/record", NULL, NULL, 200, "\"next\":\"0002\"");
    ask(&r, lab.server.port, "GET", "/v1/record/0001", NULL, NULL, 0);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.body.size, wav.size);
    assert_memory_equal(r.body.data, wav.data, wav.size);
    reply_free(&r);
    expect("DELETE", "/v1/record/0001", NULL, NULL, 200, "\"done\":0");
    expect("GET", "/v1/record/0001", NULL, NULL, 404, "not been recorded yet");
    buf_free(&wav);
}

static void requests_that_mean_no_good(void **state)
{
    static const char *const nobody[] = {"/v1/record/",
                                         "/v1/record/0004",
                                         "/v1/record/..%2F..%2Fetc%2Fpasswd",
                                         "/v1/record/../list",
                                         "/v1/record/0001.wav",
                                         "/v1/record/0001%2F",
                                         "/v1/record/%2e%2e/list.txt",
                                         "/v1/record/.recording.lock"};
    Buf wav = make_take((Made)GOOD), large = make_take((Made){.seconds = 40, .gain = 0.3}),
        silence = make_take((Made){.seconds = 2, .noise = 0.0001}), noise = {0};
    for (int i = 0; i < 3000; i++)
        buf_add(&noise, &(char){(char)(i * 37)}, 1);
    for (size_t i = 0; i < sizeof nobody / sizeof *nobody; i++) {
        expect("GET", nobody[i], NULL, NULL, 404, "error");
        expect("POST", nobody[i], WAV, &wav, 404, "error");
        expect("DELETE", nobody[i], NULL, NULL, 404, "error");
    }
    expect("POST", "/v1/record/0001%00", WAV, &wav, 400, "bad_path");
    expect("POST", "/v1/record/0001", "Content-Type: text/plain\r\n", &wav, 415, "audio/wav");
    expect("POST", "/v1/record/0001", WAV, &large, 413, "body_too_large");
    expect("POST", "/v1/record/0001", WAV, &noise, 400, "bad_wav");
    expect("POST", "/v1/record/0001", WAV, &silence, 422, "\"code\":\"silent\"");
    expect("POST", "/v1/record/0001?text=Six", WAV, &wav, 409, "other_text");
    expect("PUT", "/v1/record/0001", WAV, &wav, 405, "GET, HEAD, POST, DELETE");
    expect("DELETE", "/v1/record", NULL, NULL, 405, NULL);
    expect("POST", "/v1/record/0001", WAV "Sec-Fetch-Site: cross-site\r\n", &wav, 403, "origin_not_allowed");
    Folder f;
    snprintf(f.path, sizeof f.path, "%s", takes());
    assert_string_equal(folder_names(&f), ""); /* nothing was written */
    expect("POST", "/v1/record/0002", WAV, &wav, 200, "\"done\":1");
    assert_string_equal(folder_names(&f), "0002.txt 0002.wav ");
    expect("DELETE", "/v1/record/0002", NULL, NULL, 200, "\"done\":0");
    assert_string_equal(folder_names(&f), "");
    buf_free(&wav);
    buf_free(&large);
    buf_free(&silence);
    buf_free(&noise);
}

/* The disk is full at the text, then at the sound: it is said, the take before stays, and the next is kept.
 */
static void a_full_disk_loses_nothing(void **state)
{
    const char *library = fault_library();
    if (!library)
        skip();
    for (int nth = 1; nth <= 3; nth++) {
        Folder f = folder_make(), kept;
        ServeRun server, before = lab.server;
        char n[16];
        Buf wav = make_take((Made)GOOD),
            other = make_take((Made){.seconds = 4, .begin = 0.4, .end = 0.4, .gain = 0.2});
        snprintf(n, sizeof n, "%d", nth);
        file_put(folder_file(&f, "list"), LIST, strlen(LIST));
        setenv("LD_PRELOAD", library, 1);
        setenv("MYXTTS_FAIL_WRITE", n, 1);
        serve_start(&server,
                    ARGS("--record", folder_file(&f, "takes"), "--sentences", folder_file(&f, "list")));
        unsetenv("LD_PRELOAD");
        unsetenv("MYXTTS_FAIL_WRITE");
        lab.server = server;
        snprintf(kept.path, sizeof kept.path, "%s", folder_file(&f, "takes"));
        if (nth == 3) /* a take is there: text and sound are two writes */
            expect("POST", "/v1/record/0001", WAV, &wav, 200, "\"done\":1");
        expect("POST", "/v1/record/0001", WAV, nth == 3 ? &other : &wav, 507, "disk_full");
        expect("GET", "/v1/record", NULL, NULL, 200, nth == 3 ? "\"done\":1" : "\"done\":0");
        assert_string_equal(folder_names(&kept), nth == 1   ? ""
                                                 : nth == 2 ? "0001.txt "
                                                            : "0001.txt 0001.wav ");
        if (nth == 3) {
            Buf there = file_bytes(folder_file(&f, "takes/0001.wav"));
            assert_int_equal(there.size, wav.size);
            buf_free(&there);
        }
        expect("POST", "/v1/record/0001", WAV, &other, 200, "\"done\":1");
        assert_string_equal(folder_names(&kept), "0001.txt 0001.wav ");
        serve_drain(&lab.server);
        assert_non_null(strstr(lab.server.run.stderr_text.data, "No space left"));
        serve_stop(&lab.server);
        lab.server = before;
        buf_free(&wav);
        buf_free(&other);
        folder_remove(&f);
    }
}

static void a_token_guards_it(void **state)
{
    Folder f = folder_make();
    ServeRun before = lab.server;
    Buf wav = make_take((Made)GOOD);
    file_put(folder_file(&f, "token"), "0123456789abcdef\n", 17);
    serve_start(&lab.server, ARGS("--record", folder_file(&f, "takes"), "--language", "fa", "--token-file",
                                  folder_file(&f, "token")));
    expect("GET", "/record", NULL, NULL, 200, "record.js");
    expect("GET", "/v1/record", NULL, NULL, 401, NULL);
    expect("POST", "/v1/record/0001", WAV, &wav, 401, NULL);
    expect("DELETE", "/v1/record/0001", NULL, NULL, 401, NULL);
    expect("GET", "/v1/record", "Authorization: Bearer 0123456789abcdef\r\n", NULL, 200, "--language fa");
    serve_stop(&lab.server);
    /* without --record there is nothing to record into */
    serve_start(&lab.server, ARGS("--runs", f.path));
    expect("GET", "/v1/record", NULL, NULL, 404, "--record DIR");
    expect("POST", "/v1/record/0001", WAV, &wav, 404, "--record DIR");
    serve_stop(&lab.server);
    lab.server = before;
    buf_free(&wav);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_are_heard),
        cmocka_unit_test(a_click_is_no_voice),
        cmocka_unit_test(other_bytes_are_no_take),
        cmocka_unit_test(lists_and_files),
        cmocka_unit_test(recording_goes_on),
        cmocka_unit_test(strangers_files_stay),
        cmocka_unit_test(takes_go_through_the_server),
        cmocka_unit_test(requests_that_mean_no_good),
        cmocka_unit_test(a_full_disk_loses_nothing),
        cmocka_unit_test(a_token_guards_it),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
