/* Speech as bytes while it is made: WAV as in a pipe, PCM and FLAC with the same samples, the lossy ones with
 * about the same sound; all of it in pieces that come early, at any rate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audio/audio_writer.h"
#include "audio/sound_encoder.h"
#include "audio/wav.h"
#include "base/file.h"
#include "dataset/audio_endings.h"
#include "dataset/audio_file.h"

enum { AAC_HELD = 4 * 1024 }; /* samples: frames have as many at any rate */
enum { RATE = 22050, COUNT = 2 * RATE + 17 };

static float tone(int i) { return 0.5f * sinf((float)i * 0.05f) + 0.01f * sinf((float)i * 0.3f); }

/* The tone in pieces; first: how much had gone in when bytes came after those of the first piece. */
static void encode(Buf *out, SoundFormat f, int rate, int count, int piece, int *first)
{
    float samples[4096];
    SoundEncoder *e;
    Err err = {0};
    size_t head = 0;
    *first = -1;
    assert_int_equal(sound_encoder_open(&e, f, rate, 0, &err), 0);
    for (int at = 0; at < count; at += piece) {
        int n = at + piece < count ? piece : count - at;
        for (int i = 0; i < n; i++)
            samples[i] = tone(at + i);
        assert_int_equal(sound_encoder_add(e, out, samples, n, &err), 0);
        if (!head)
            head = out->size;
        else if (*first < 0 && out->size > head)
            *first = at + n;
    }
    assert_int_equal(sound_encoder_finish(e, out, &err), 0);
    sound_encoder_close(e);
}

static void decode(AudioBuffer *a, const Buf *bytes)
{
    char detail[256] = "";
    if (audio_decode(a, bytes->data, bytes->size, "tone", 100, detail, sizeof detail) != REJECT_NONE)
        fail_msg("%s", detail);
}

/* What audio_writer writes into a pipe. The sound fits into the pipe's buffer. */
static void as_in_a_pipe(void **state)
{
    enum { N = 20000 };
    int ends[2], first;
    static float samples[N];
    static char piped[WAV_HEADER_BYTES + 2 * N + 1];
    Buf wav = {0}, pcm = {0};
    AudioWriter w;
    Err err = {0};
    for (int i = 0; i < N; i++)
        samples[i] = tone(i);
    assert_int_equal(pipe(ends), 0);
    audio_writer_open_pipe(&w, ends[1]);
    assert_int_equal(audio_writer_begin(&w, RATE, &err), 0);
    assert_int_equal(audio_writer_add(&w, samples, N, &err), 0);
    assert_int_equal(audio_writer_commit(&w, &err), 0);
    audio_writer_abort(&w);
    assert_int_equal(read(ends[0], piped, sizeof piped), WAV_HEADER_BYTES + 2 * N);
    close(ends[0]);
    close(ends[1]);
    encode(&wav, SOUND_WAV, RATE, N, 777, &first);
    assert_int_equal(wav.size, WAV_HEADER_BYTES + 2 * N);
    assert_memory_equal(wav.data, piped, wav.size);
    encode(&pcm, SOUND_PCM, RATE, N, 3001, &first);
    assert_int_equal(pcm.size, 2 * N);
    assert_memory_equal(pcm.data, piped + WAV_HEADER_BYTES, pcm.size);
    buf_free(&wav);
    buf_free(&pcm);
}

static void the_same_samples_in_flac(void **state)
{
    const int pieces[] = {1, 160, 1152, 4096};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        Buf flac = {0}, wav = {0};
        AudioBuffer a = {0}, b = {0};
        int first, none;
        encode(&flac, SOUND_FLAC, RATE, COUNT, pieces[p], &first);
        encode(&wav, SOUND_WAV, RATE, COUNT, pieces[p], &none);
        decode(&a, &flac);
        decode(&b, &wav);
        assert_int_equal(a.rate, RATE);
        assert_int_equal(a.frames, COUNT);
        assert_int_equal(b.frames, COUNT);
        assert_memory_equal(a.samples, b.samples, sizeof(float) * COUNT);
        buf_free(&flac);
        buf_free(&wav);
        audio_buffer_free(&a);
        audio_buffer_free(&b);
    }
}

/* Energy of the tone's own pitch within the sound, as a share of all: about one where it was kept. */
static double share_of_tone(const AudioBuffer *a, double radians)
{
    double re = 0, im = 0, all = 0;
    for (int64_t i = 0; i < a->frames; i++) {
        re += a->samples[i] * cos((double)i * radians);
        im += a->samples[i] * sin((double)i * radians);
        all += (double)a->samples[i] * a->samples[i];
    }
    return 2 * (re * re + im * im) / ((double)a->frames * all);
}

static void lossy_at_any_rate(void **state)
{
    const char *const names[] = {"opus", "mp3", "aac"};
    const int rates[] = {8000, 16000, 20000, 22050, 24000, 44100, 48000, 96000};
    for (size_t k = 0; k < 3; k++)
        for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
            Buf bytes = {0};
            AudioBuffer a = {0};
            SoundFormat f;
            int first, count = 2 * rates[r];
            if (sound_format_find(&f, names[k]) == ERR_MISSING) { /* an old libsndfile, no libavcodec */
                print_message("SKIPPED: %s\n", names[k]);
                continue;
            }
            encode(&bytes, f, rates[r], count, rates[r] / 100, &first);
            decode(&a, &bytes);
            assert_true(fabs((double)a.frames / a.rate - 2) < 0.2);
            assert_true(share_of_tone(&a, 0.05 * rates[r] / a.rate) > 0.9);
            const int held = f == SOUND_AAC ? AAC_HELD : rates[r] / 5; /* not all until the end */
            assert_true(first > 0 && first < held);
            buf_free(&bytes);
            audio_buffer_free(&a);
        }
}

static void names_and_types(void **state)
{
    SoundFormat f;
    assert_int_equal(sound_format_find(&f, "wav"), 0);
    assert_int_equal(f, SOUND_WAV);
    assert_string_equal(sound_format_type(f), "audio/wav");
    assert_int_equal(sound_format_find(&f, "pcm"), 0);
    assert_int_equal(f, SOUND_PCM);
    assert_int_equal(sound_format_find(&f, "flac"), 0);
    assert_string_equal(sound_format_type(f), "audio/flac");
    const char *const wrong[] = {"", "aacp", "WAV", "wav ", "ogg"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(sound_format_find(&f, wrong[i]), ERR_MISSING);
}

/* What messages and the page offer is what the tables have. */
static void lists_are_the_tables(void **state)
{
    Buf list = {0}, page = {0};
    for (int f = 0; f < SOUND_FORMATS; f++)
        if (sound_formats[f].ending)
            buf_printf(&list, "%s%s", list.size ? ", " : "", sound_formats[f].ending);
    assert_string_equal(list.data, SOUND_ENDINGS);
    buf_clear(&list);
    for (int i = 0; i < 5; i++)
        buf_printf(&list, "%s%s", i == 4 ? " or " : i ? ", " : "", audio_ending_at(i));
    assert_string_equal(list.data, AUDIO_ENDINGS);
    assert_int_equal(file_read(&page, "src/page/index.html", 1 << 20, NULL), 0);
    buf_str(&page, "");
    const char *at = strstr(page.data, "<select id=\"format\""), *end = at ? strstr(at, "</select>") : NULL;
    int options = 0;
    assert_non_null(end);
    for (; (at = strstr(at, "value=\"")) && at < end; options++) {
        int f = 0;
        at += strlen("value=\"");
        while (f < SOUND_FORMATS &&
               (!sound_formats[f].type || strlen(sound_formats[f].name) != strcspn(at, "\"") ||
                strncmp(sound_formats[f].name, at, strcspn(at, "\"")) != 0))
            f++;
        assert_true(f < SOUND_FORMATS);
    }
    assert_true(options > 1);
    buf_free(&list);
    buf_free(&page);
}

/* Nothing at all, samples out of range, and listeners who leave. */
static void edges(void **state)
{
    for (int f = 0; f < SOUND_FORMATS; f++) {
        Buf out = {0};
        SoundEncoder *e;
        Err err = {0};
        const float odd[] = {NAN, INFINITY, -INFINITY, 3, -3};
        if (!sound_formats[f].type || !sound_format_rate((SoundFormat)f, RATE))
            continue;
        assert_int_equal(sound_encoder_open(&e, (SoundFormat)f, RATE, 0, &err), 0);
        assert_int_equal(sound_encoder_finish(e, &out, &err), 0);
        sound_encoder_close(e);
        if (f == SOUND_WAV || f == SOUND_PCM)
            assert_int_equal(out.size, f == SOUND_WAV ? WAV_HEADER_BYTES : 0);
        buf_clear(&out);
        assert_int_equal(sound_encoder_open(&e, (SoundFormat)f, RATE, 0, &err), 0);
        for (int i = 0; i < 5000; i++)
            assert_int_equal(sound_encoder_add(e, &out, odd, 5, &err), 0);
        sound_encoder_close(e); /* in the middle */
        assert_int_equal(sound_encoder_open(&e, (SoundFormat)f, RATE, 0, &err), 0);
        sound_encoder_close(e);
        buf_free(&out);
    }
    sound_encoder_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_in_a_pipe),         cmocka_unit_test(the_same_samples_in_flac),
        cmocka_unit_test(lossy_at_any_rate),    cmocka_unit_test(names_and_types),
        cmocka_unit_test(lists_are_the_tables), cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
