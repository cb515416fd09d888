/* Speech into files: WAV and FLAC hold the same samples, the others about the same length; pipes get a header
 * that readers take; errors leave nothing behind. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

#include "audio/audio_writer.h"
#include "audio/wav.h"
#include "dataset/audio_file.h"
#include "support/folder_testing.h"

enum { RATE = 22050, COUNT = 9000, PIECE = 1700 };

static float tone(int i) { return 0.5f * sinf((float)i * 0.05f); }

static void add_tone(AudioWriter *w)
{
    float samples[PIECE];
    Err err = {0};
    for (int at = 0; at < COUNT; at += PIECE) {
        int n = at + PIECE < COUNT ? PIECE : COUNT - at;
        for (int i = 0; i < n; i++)
            samples[i] = tone(at + i);
        assert_int_equal(audio_writer_add(w, samples, n, &err), 0);
    }
}

static void read_back(AudioBuffer *a, const char *path)
{
    Buf bytes = {0};
    char detail[256];
    Err err = {0};
    assert_int_equal(file_read(&bytes, path, 1 << 24, &err), 0);
    assert_int_equal(audio_decode(a, bytes.data, bytes.size, path, 100, detail, sizeof detail), REJECT_NONE);
    buf_free(&bytes);
}

static void endings_choose_the_kind(void **state)
{
    const char *const endings[] = {"wav", "flac", "ogg", "mp3", "FLAC"};
    Folder dir = folder_make();
    char path[512];
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        AudioWriter w = {0};
        Err err = {0};
        AudioBuffer a = {0};
        snprintf(path, sizeof path, "%s/tone.%s", dir.path, endings[k]);
        if (audio_writer_open(&w, path, &err) == ERR_USAGE) { /* an old libsndfile */
            assert_non_null(strstr(err.hint, ".wav"));
            continue;
        }
        assert_int_equal(audio_writer_begin(&w, RATE, &err), 0);
        add_tone(&w);
        assert_false(file_exists(path)); /* not before it is whole */
        assert_int_equal(audio_writer_commit(&w, &err), 0);
        audio_writer_abort(&w); /* nothing more to do */
        read_back(&a, path);
        assert_int_equal(a.rate, RATE);
        int exact = strcasecmp(endings[k], "wav") == 0 || strcasecmp(endings[k], "flac") == 0;
        if (exact)
            assert_int_equal(a.frames, COUNT);
        else
            assert_true(llabs((long long)a.frames - COUNT) < 3000);
        for (int i = 0; exact && i < COUNT; i++)
            assert_true(fabsf(a.samples[i] - tone(i)) <= 0.51f / 32768);
        audio_buffer_free(&a);
    }
    folder_remove(&dir);
}

static void errors_leave_nothing(void **state)
{
    Folder dir = folder_make();
    char path[512];
    const char *const wrong[] = {"tone.aiff", "tone", "wav", ".wav.txt"};
    AudioWriter w = {0};
    Err err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, wrong[i]);
        assert_int_equal(audio_writer_open(&w, path, &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, wrong[i]));
        assert_non_null(strstr(err.hint, ".flac"));
    }
    snprintf(path, sizeof path, "%s/nowhere/tone.wav", dir.path);
    assert_int_equal(audio_writer_open(&w, path, &err), ERR_IO);
    snprintf(path, sizeof path, "%s/tone.flac", dir.path);
    assert_int_equal(audio_writer_open(&w, path, &err), 0);
    assert_int_equal(audio_writer_begin(&w, RATE, &err), 0);
    add_tone(&w);
    audio_writer_abort(&w);
    assert_string_equal(folder_names(&dir), "");
    folder_remove(&dir);
}

/* Into a real pipe the sizes stay open; in a file they are set, wherever the speech begins. */
static void pipes_and_files(void **state)
{
    int ends[2];
    uint8_t head[WAV_HEADER_BYTES];
    Err err = {0};
    AudioWriter w;
    assert_int_equal(pipe(ends), 0);
    audio_writer_open_pipe(&w, ends[1]);
    assert_int_equal(audio_writer_begin(&w, RATE, &err), 0);
    float one = 0.25f;
    assert_int_equal(audio_writer_add(&w, &one, 1, &err), 0);
    assert_int_equal(audio_writer_commit(&w, &err), 0);
    audio_writer_abort(&w);
    assert_int_equal(read(ends[0], head, sizeof head), sizeof head);
    assert_memory_equal(head, "RIFF\xFF\xFF\xFF\xFFWAVE", 12);
    assert_memory_equal(head + 36, "data\xFF\xFF\xFF\xFF", 8);
    close(ends[0]);
    close(ends[1]);

    Folder dir = folder_make();
    char path[512];
    snprintf(path, sizeof path, "%s/out", dir.path);
    for (int append = 0; append < 2; append++) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | (append ? O_APPEND : 0), 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "before", 6), 6);
        audio_writer_open_pipe(&w, fd);
        assert_int_equal(audio_writer_begin(&w, RATE, &err), 0);
        add_tone(&w);
        assert_int_equal(audio_writer_commit(&w, &err), 0);
        audio_writer_abort(&w);
        assert_int_equal(lseek(fd, 0, SEEK_END), 6 + WAV_HEADER_BYTES + 2 * COUNT);
        assert_int_equal(pread(fd, head, sizeof head, 6), sizeof head);
        assert_int_equal(head[40] | head[41] << 8 | head[42] << 16, append ? 0xFFFFFF : 2 * COUNT);
        close(fd);
    }
    folder_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_choose_the_kind),
        cmocka_unit_test(errors_leave_nothing),
        cmocka_unit_test(pipes_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
