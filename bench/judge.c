/* judge.c - the recogniser by itself: how many words it gets wrong, and how fast it is.
 *   judge [--threads N] [--reverse] [--list]
 *       20 sentences spoken by flite
 *   judge [--threads N] [--reverse] [--list] DIR SENTENCES
 *       DIR/01.wav, 02.wav, ... and the lines of the file SENTENCES; numbers without a file are left out
 * --list prints what was heard in each, --reverse listens from the last to the first: the words are the same.
 * Exit 0: judged; 2: wrong use; 3: something is missing or unreadable. */
#include <getopt.h>
#include <time.h>

#include "../tests/support/spoken.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "judge/judge.h"

typedef struct Clips {
    JudgeClip *list;
    size_t count, cap;
} Clips;

/* Takes the samples of audio over. */
static int add_clip(Clips *c, AudioBuffer *audio, const char *said, size_t size, Err *err)
{
    char *text = strndup(said, size);
    if (!text || mem_grow(&c->list, &c->cap, c->count + 1, sizeof *c->list)) {
        free(text);
        return err_set(err, ERR_NOMEM, "no memory for %zu clips", c->count + 1);
    }
    c->list[c->count++] = (JudgeClip){audio->samples, audio->frames, audio->rate, text, NULL, 0, 0};
    audio->samples = NULL;
    audio->cap = 0;
    return 0;
}

static int speak_sentences(Clips *c, Err *err)
{
    for (int i = 0; i < SPOKEN_COUNT; i++) {
        AudioBuffer audio = {0};
        if (!spoken_by_flite(&audio, spoken_sentences[i])) {
            err_set(err, ERR_MISSING, "flite cannot be run");
            return err_hint(err, "Debian and Ubuntu: apt-get install flite");
        }
        int rc = add_clip(c, &audio, spoken_sentences[i], strlen(spoken_sentences[i]), err);
        audio_buffer_free(&audio);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_clips(Clips *c, const char *dir, const char *sentences, Err *err)
{
    Buf text = {0};
    int rc = file_read(&text, sentences, 1 << 26, err), line = 0;
    for (size_t at = 0; !rc && at < text.size; line++) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end ? (size_t)(end - text.data) - at : text.size - at;
        char path[4096], detail[200];
        snprintf(path, sizeof path, "%s/%02d.wav", dir, line + 1);
        if (file_exists(path)) {
            Buf bytes = {0};
            AudioBuffer audio = {0};
            rc = file_read(&bytes, path, 1 << 28, err);
            if (!rc && audio_decode(&audio, bytes.data, bytes.size, path, 0, detail, sizeof detail))
                rc = err_set(err, ERR_DATA, "%s: %s", path, detail);
            if (!rc)
                rc = add_clip(c, &audio, text.data + at, size, err);
            audio_buffer_free(&audio);
            buf_free(&bytes);
        }
        at += size + 1;
    }
    buf_free(&text);
    return rc;
}

static void reverse(Clips *c)
{
    for (size_t i = 0; i < c->count / 2; i++) {
        JudgeClip other = c->list[i];
        c->list[i] = c->list[c->count - 1 - i];
        c->list[c->count - 1 - i] = other;
    }
}

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* threads 0: with one recogniser, opening not counted. */
static int judge(Clips *c, int threads, Err *err)
{
    Recogniser *r;
    double start = clock_now(), seconds = 0;
    int rc = recogniser_open(&r, "en", err);
    if (rc)
        return rc;
    printf("%s, opened in %.2f s\n", recogniser_name(r), clock_now() - start);
    Buf heard = {0};
    double listened = clock_now(), worked = processor_time();
    if (threads < 1)
        for (size_t i = 0; i < c->count && !rc; i++)
            rc = judge_clip(&c->list[i], r, &heard, err);
    buf_free(&heard);
    recogniser_close(r);
    if (threads >= 1)
        rc = judge_clips(c->list, (int)c->count, "en", threads, err);
    if (rc)
        return rc;
    listened = clock_now() - listened;
    worked = processor_time() - worked;
    for (size_t i = 0; i < c->count; i++)
        seconds += (double)c->list[i].count / c->list[i].rate;
    WordScore s = judge_score(c->list, (int)c->count);
    printf("%zu clips, %.1f s: ", c->count, seconds);
    printf("%d of %d words wrong (%.1f %%)\n", s.wrong, s.words, 100 * s.share);
    printf("listened in %.2f s; %.2f s of one core, ", listened, worked);
    printf("%.1f times real time%s\n", seconds / worked, threads ? ", opening included" : "");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"reverse", no_argument, NULL, 'r'},
        {"list", no_argument, NULL, 'l'},
        {0},
    };
    int threads = 0, is_reversed = 0, is_listed = 0, o;
    while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (o == 't' && (threads = atoi(optarg)) >= 1)
            continue;
        if (o == 'r')
            is_reversed = 1;
        else if (o == 'l')
            is_listed = 1;
        else
            return 2;
    }
    if (argc - optind != 0 && argc - optind != 2) {
        fprintf(stderr, "usage: judge [--threads N] [--reverse] [--list] [DIR SENTENCES]\n");
        return 2;
    }
    Clips c = {0};
    Err err = {0};
    int rc = 0;
    if (argc == optind)
        rc = speak_sentences(&c, &err);
    else
        rc = read_clips(&c, argv[optind], argv[optind + 1], &err);
    if (!rc && is_reversed)
        reverse(&c);
    if (!rc)
        rc = judge(&c, threads, &err);
    if (rc)
        log_err(NULL, &err);
    if (is_reversed)
        reverse(&c);
    for (size_t i = 0; i < c.count && !rc && is_listed; i++)
        printf("%02zu %d/%d %s\n", i + 1, c.list[i].wrong, c.list[i].words, c.list[i].heard);
    judge_clips_free(c.list, (int)c.count);
    return rc ? 3 : 0;
}
