/* reader.c - see reader.h. Child c of n reads units c, c + n, c + 2n, ... and writes its answers into a pipe,
 * as far ahead as that holds. The parent takes them in turn, so that it knows which unit an answer that does
 * not come is about. */
#include "corpus/reader.h"

#include <errno.h>
#include <espeak-ng/speak_lib.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"
#include "text/phonemes/phonemes.h"

enum { MOST_CHILDREN = 8, ANSWER_MS = 20000, MOST_SOUNDS = 1 << 16 };

/* Before the answers: what the child could open. */
typedef struct Greeting {
    int rate; /* 0: it could not start, and error says why */
    char error[400];
} Greeting;

typedef struct Answer {
    uint32_t sounds;
    uint64_t samples;
} Answer;

typedef struct Child {
    pid_t pid;
    int fd, rate;
} Child;

/* --- in the child --- */

typedef struct Saying {
    Buf sounds, speech;
    int word; /* the next sound begins a word */
    int want_speech;
} Saying;

static int heard_piece(short *samples, int n, espeak_EVENT *e)
{
    Saying *s = e->user_data;
    if (s && s->want_speech && samples && n > 0)
        buf_add(&s->speech, samples, (size_t)n * sizeof *samples);
    for (; s && e->type != espeakEVENT_LIST_TERMINATED; e++) {
        ReadSound *last = s->sounds.size ? (ReadSound *)(void *)(s->sounds.data + s->sounds.size) - 1 : NULL;
        const float at = (float)e->audio_position / 1000.0f;
        if (e->type == espeakEVENT_WORD || e->type == espeakEVENT_SENTENCE) {
            s->word = 1;
            continue;
        }
        if (e->type != espeakEVENT_PHONEME && e->type != espeakEVENT_END &&
            e->type != espeakEVENT_MSG_TERMINATED)
            continue;
        if (last && last->seconds < 0)
            last->seconds = at - last->begin;
        if (e->type != espeakEVENT_PHONEME || !e->id.string[0] || e->id.string[0] == '_')
            continue;
        ReadSound sound = {.begin = at, .seconds = -1, .first = (uint8_t)s->word};
        memcpy(sound.name, e->id.string, strnlen(e->id.string, sizeof sound.name));
        buf_add(&s->sounds, &sound, sizeof sound);
        s->word = 0;
    }
    return 0;
}

static void child_read(const Book *book, const char *voice, int spoken, int from, int step, int fd)
{
    char path[4096];
    Greeting hello = {0};
    Saying s = {0};
    Err err = {0};
    hello.rate = espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, phonemes_bundle(path, sizeof path),
                                   espeakINITIALIZE_DONT_EXIT | espeakINITIALIZE_PHONEME_EVENTS);
    if (hello.rate <= 0) {
        hello.rate = 0;
        snprintf(hello.error, sizeof hello.error, "espeak-ng found no voice data");
    } else if (espeak_SetVoiceByName(voice) != EE_OK) {
        hello.rate = 0;
        snprintf(hello.error, sizeof hello.error, "espeak-ng has no voice '%s'", voice);
    }
    if (file_write_all(fd, &hello, sizeof hello, "pipe", &err) || !hello.rate)
        return;
    espeak_SetSynthCallback(heard_piece);
    for (int i = from; i < book->count; i += step) {
        const char *text = book->units[i].text;
        buf_clear(&s.sounds);
        buf_clear(&s.speech);
        s.word = 1;
        s.want_speech = i < spoken;
        espeak_Synth(text, strlen(text) + 1, 0, POS_CHARACTER, 0, espeakCHARS_UTF8, NULL, &s);
        Answer a = {(uint32_t)(s.sounds.size / sizeof(ReadSound)), s.speech.size / sizeof(int16_t)};
        if (s.sounds.failed || s.speech.failed || file_write_all(fd, &a, sizeof a, "pipe", &err) ||
            file_write_all(fd, s.sounds.data, s.sounds.size, "pipe", &err) ||
            file_write_all(fd, s.speech.data, s.speech.size, "pipe", &err))
            return;
    }
}

/* --- in the parent --- */

/* All n bytes; -1: the child ended, or was silent too long. */
static int receive(const Child *c, void *p, size_t n)
{
    for (size_t got = 0; got < n;) {
        struct pollfd wait = {.fd = c->fd, .events = POLLIN};
        int ready = poll(&wait, 1, ANSWER_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t k = ready > 0 ? read(c->fd, (char *)p + got, n - got) : 0;
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        got += (size_t)k;
    }
    return 0;
}

static void end_child(Child *c)
{
    if (c->pid <= 0)
        return;
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(c->fd);
    *c = (Child){0};
}

static int start_child(Child *c, const Book *book, const char *voice, int spoken, int from, int step,
                       Err *err)
{
    int ends[2];
    Greeting hello;
    const pid_t parent = getpid();
    if (from >= book->count)
        return 0;
    if (pipe2(ends, O_CLOEXEC))
        return err_set_errno(err, ERR_WORKER, "no pipe to a reader");
    c->pid = fork();
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        signal(SIGINT, SIG_IGN);
        close(ends[0]);
        child_read(book, voice, spoken, from, step, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    c->fd = ends[0];
    if (c->pid < 0) {
        close(ends[0]);
        *c = (Child){0};
        return err_set_errno(err, ERR_WORKER, "no process for a reader");
    }
    if (receive(c, &hello, sizeof hello))
        return err_set(err, ERR_WORKER, "espeak-ng ended before its first word");
    c->rate = hello.rate;
    if (hello.rate)
        return 0;
    err_set(err, ERR_MISSING, "%s", hello.error);
    return err_hint(err, "install the package espeak-ng-data, or name another language with --language");
}

typedef struct Reading {
    ReadSound *sounds;
    int16_t *speech;
    size_t sounds_cap, speech_cap;
} Reading;

/* 0: read is filled; 1: the child is gone or talks nonsense. */
static int take_answer(Reading *r, ReadUnit *read, const Child *c, Err *err)
{
    Answer a;
    if (c->pid <= 0 || receive(c, &a, sizeof a) || a.sounds > MOST_SOUNDS || a.samples > (UINT64_C(1) << 31))
        return 1;
    if (mem_grow(&r->sounds, &r->sounds_cap, a.sounds + 1, sizeof *r->sounds) ||
        mem_grow(&r->speech, &r->speech_cap, a.samples + 1, sizeof *r->speech))
        return err_set(err, ERR_NOMEM, "no memory for read speech");
    if (receive(c, r->sounds, a.sounds * sizeof *r->sounds) ||
        receive(c, r->speech, a.samples * sizeof *r->speech))
        return 1;
    *read = (ReadUnit){r->sounds, (int)a.sounds, a.samples ? r->speech : NULL, (int64_t)a.samples, c->rate};
    return 0;
}

int reader_run(const Book *book, const char *voice, int spoken,
               int (*take)(void *user, int unit, const ReadUnit *read, Err *err), void *user, Log *log,
               Err *err)
{
    Child children[MOST_CHILDREN] = {0};
    Reading reading = {0};
    Progress progress;
    int rc = 0, n = thread_cores();
    n = n > MOST_CHILDREN ? MOST_CHILDREN : n;
    progress_begin(&progress, log, "the text is read", "units", (uint64_t)book->count);
    for (int i = 0; i < n && !rc; i++)
        rc = start_child(&children[i], book, voice, spoken, i, n, err);
    for (int unit = 0; unit < book->count && !rc; unit++) {
        ReadUnit read = {0};
        Child *c = &children[unit % n];
        rc = take_answer(&reading, &read, c, err);
        if (rc == 1) {
            log_warn(log, "espeak-ng failed on line %d: %.60s", book->units[unit].line,
                     book->units[unit].text);
            end_child(c);
            read = (ReadUnit){0};
            rc = start_child(c, book, voice, spoken, unit + n, n, err);
        }
        if (!rc)
            rc = take(user, unit, &read, err);
        progress_add(&progress, 1);
    }
    progress_end(&progress);
    for (int i = 0; i < n; i++)
        end_child(&children[i]);
    free(reading.sounds);
    free(reading.speech);
    return rc;
}
