/* phoneme_pool.c - see phoneme_pool.h.
 * Items get slots of a ring (the window) in order and are sent to workers that have few queued; a worker
 * answers in the order of its requests. Answers wait in their slots until all earlier ones have been
 * delivered. Invariant: delivered <= taken <= delivered + window; every taken, unanswered item is in the
 * queue of exactly one worker. */
#include "text/phonemes/phoneme_pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "text/phonemes/pool_worker.h"

enum {
    IN_FLIGHT = 32, /* items a worker holds: it never waits for the pool */
    REFILL_AT = 16,
    WINDOW_PER_WORKER = 128,
    MAX_WORKERS = 256,
    MAX_BARREN = 5, /* ends of workers in a row that no item explains */
    READ_SIZE = 1 << 16,
    WINDOW_BYTES = 64 << 20,
};
static const double tick_max =
    0.25; /* s: time in which this process itself stood still counts only this much */
static const double start_limit = 10.0; /* s for a worker to load its voice data */
static const double reap_limit = 5.0;   /* s to wait for a killed process to vanish */

typedef struct Slot {
    Buf request, answer;
    int answered;
} Slot;

typedef struct Worker {
    pid_t pid; /* 0: not running */
    int fd;
    PoolMark *mark;
    uint64_t queue[IN_FLIGHT]; /* items sent and not answered, oldest first */
    int count;
    uint32_t answered; /* since its start */
    uint32_t seen_started, seen_finished;
    double silent; /* s since its mark moved while it had work */
    int ready, worn;
    Buf out, in;
    size_t out_at; /* bytes of out already sent */
} Worker;

typedef struct Pool {
    const Config *cfg;
    TextAim aim;
    const PhonemeCallbacks *cb;
    PhonemePoolReport *report;
    Log *log;
    Err *err;
    Worker *workers;
    int worker_count;
    PoolMark *marks;
    Slot *slots;
    uint64_t window, taken, delivered;
    size_t bytes; /* in the window */
    int at_end, barren;
} Pool;

static Slot *slot_of(Pool *p, uint64_t item) { return &p->slots[item % p->window]; }

/* A fresh process, which gets what its predecessor left unanswered. */
static int start_worker(Pool *p, Worker *w)
{
    buf_clear(&w->out);
    buf_clear(&w->in);
    w->out_at = 0;
    w->answered = w->seen_started = w->seen_finished = 0;
    w->silent = 0;
    w->ready = w->worn = 0;
    if (pool_worker_start(&w->pid, &w->fd, w->mark, p->cfg, p->aim, p->err) < 0)
        return ERR_WORKER;
    for (int i = 0; i < w->count; i++) /* what its predecessor left */
        buf_add(&w->out, slot_of(p, w->queue[i])->request.data, slot_of(p, w->queue[i])->request.size);
    return w->out.failed ? err_set(p->err, ERR_NOMEM, "no memory for the phonemiser's queue") : 0;
}

/* Ends the process and says how it ended. */
static void stop_worker(Worker *w, char *how, size_t cap)
{
    int status = 0;
    pid_t got = 0;
    if (w->pid <= 0)
        return;
    kill(w->pid, SIGKILL);
    for (double end = clock_now() + reap_limit;
         (got = waitpid(w->pid, &status, WNOHANG)) == 0 && clock_now() < end;)
        clock_sleep(0.0005);
    if (how) {
        if (got > 0 && WIFSIGNALED(status))
            snprintf(how, cap, "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            snprintf(how, cap, "exit code %d", got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    close(w->fd);
    w->pid = 0;
}

/* As much as the socket takes now; -1: the worker is gone. */
static int send_pending(Worker *w)
{
    while (w->out_at < w->out.size) {
        ssize_t n =
            send(w->fd, w->out.data + w->out_at, w->out.size - w->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
        w->out_at += (size_t)n;
    }
    buf_clear(&w->out);
    w->out_at = 0;
    return 0;
}

/* Asks the caller for the next item and queues it for this worker. */
static int take_item(Pool *p, Worker *w)
{
    PhonemeItem item = {0};
    if (p->cb->next(p->cb->user, &item) != 1) {
        p->at_end = 1;
        return 0;
    }
    Slot *s = slot_of(p, p->taken);
    PoolRequest q = {item.text.n, item.language.n, item.id.n};
    s->answered = 0;
    buf_clear(&s->request);
    buf_clear(&s->answer);
    buf_add(&s->request, &q, sizeof q);
    buf_add(&s->request, item.text.p, item.text.n);
    buf_add(&s->request, item.language.p, item.language.n);
    buf_add(&s->request, item.id.p, item.id.n);
    buf_add(&w->out, s->request.data, s->request.size);
    if (s->request.failed || w->out.failed)
        return err_set(p->err, ERR_NOMEM, "no memory for the phonemiser's queue");
    p->bytes += s->request.size;
    w->queue[w->count++] = p->taken++;
    return 0;
}

/* Workers that run low get more, up to the window and its bytes; one item is always allowed. */
static int refill(Pool *p)
{
    for (int i = 0; i < p->worker_count; i++) {
        Worker *w = &p->workers[i];
        if (w->count > REFILL_AT)
            continue;
        while (!p->at_end && w->count < IN_FLIGHT && p->taken < p->delivered + p->window &&
               (p->bytes < WINDOW_BYTES || p->taken == p->delivered)) {
            int rc = take_item(p, w);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static void drop_from_queue(Worker *w, int at)
{
    memmove(w->queue + at, w->queue + at + 1, (size_t)(w->count - at - 1) * sizeof w->queue[0]);
    w->count--;
}

/* One answer for the oldest item of the worker. */
static int take_answer(Pool *p, Worker *w, const PoolAnswer *a, const char *bytes)
{
    if (a->kind == POOL_NO_ENGINE) {
        const char *msg = bytes + sizeof *a;
        err_set(p->err, ERR_WORKER, "the phonemiser cannot start: %.*s", (int)a->cleaned, msg);
        if (a->phonemes)
            err_hint(p->err, "%.*s", (int)a->phonemes, msg + a->cleaned);
        return ERR_WORKER;
    }
    if (a->kind == POOL_READY || a->kind == POOL_WORN) {
        w->ready |= a->kind == POOL_READY;
        w->worn |= a->kind == POOL_WORN;
        return 0;
    }
    ASSERT_CMP(w->count, >, 0);
    Slot *s = slot_of(p, w->queue[0]);
    buf_add(&s->answer, bytes, pool_answer_size(a));
    if (s->answer.failed)
        return err_set(p->err, ERR_NOMEM, "no memory for the phonemiser's answers");
    s->answered = 1;
    p->bytes += s->answer.size;
    drop_from_queue(w, 0);
    w->answered++;
    p->barren = 0;
    return 0;
}

/* Reads what is there. 1: the worker is gone, 0: all well, or an error. */
static int receive(Pool *p, Worker *w)
{
    char piece[READ_SIZE];
    for (;;) {
        ssize_t n = recv(w->fd, piece, sizeof piece, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return 1;
        buf_add(&w->in, piece, (size_t)n);
        if (w->in.failed)
            return err_set(p->err, ERR_NOMEM, "no memory for the phonemiser's answers");
        size_t at = 0;
        while (w->in.size - at >= sizeof(PoolAnswer)) {
            PoolAnswer a;
            memcpy(&a, w->in.data + at, sizeof a);
            if (w->in.size - at < pool_answer_size(&a))
                break;
            int rc = take_answer(p, w, &a, w->in.data + at);
            if (rc < 0)
                return rc;
            at += pool_answer_size(&a);
        }
        memmove(w->in.data, w->in.data + at, w->in.size - at);
        w->in.size -= at;
    }
}

/* The item the worker was on gets its rejection; a fresh worker gets the rest. */
static int replace_worker(Pool *p, Worker *w, int timed_out)
{
    char how[128] = "";
    uint32_t started = atomic_load(&w->mark->started), finished = atomic_load(&w->mark->finished);
    stop_worker(w, how, sizeof how);
    if (w->worn)
        return start_worker(p, w); /* it was due, and had answered all it began */
    if (timed_out)
        p->report->timeouts++;
    else
        p->report->deaths++;
    /* The marks say that it was inside of an item: that one is to blame. */
    if (started > finished) {
        int at = (int)(started - 1 - w->answered);
        ASSERT(at >= 0 && at < w->count);
        Slot *s = slot_of(p, w->queue[at]);
        PoolAnswer a = {.kind = POOL_RESULT, .reason = REJECT_PHONEMES_FAILED};
        if (timed_out)
            snprintf(a.detail, sizeof a.detail, "no phonemes within %d ms (phoneme_timeout_ms)",
                     p->cfg->phoneme_timeout_ms);
        else
            snprintf(a.detail, sizeof a.detail, "the phonemiser process crashed on this text (%s)", how);
        const PoolRequest *q = (const PoolRequest *)(const void *)s->request.data;
        log_warn(p->log, "%.*s: %s", (int)q->id, s->request.data + sizeof *q + q->text + q->language,
                 a.detail);
        buf_add(&s->answer, &a, sizeof a);
        buf_add(&s->answer, "", 1);
        if (s->answer.failed)
            return err_set(p->err, ERR_NOMEM, "no memory for the phonemiser's answers");
        s->answered = 1;
        p->bytes += s->answer.size;
        drop_from_queue(w, at);
    } else if (++p->barren >= MAX_BARREN) {
        return err_set(p->err, ERR_WORKER, "phonemiser processes keep ending for an unknown reason: %s",
                       timed_out ? "no answer" : how);
    }
    p->report->restarts++;
    return start_worker(p, w);
}

/* Hands out what is answered, in order, up to the first that is not. */
static int deliver(Pool *p)
{
    while (p->delivered < p->taken && slot_of(p, p->delivered)->answered) {
        Slot *s = slot_of(p, p->delivered);
        PoolAnswer a;
        memcpy(&a, s->answer.data, sizeof a);
        char *at = s->answer.data + sizeof a;
        TextResult r = {0}; /* slices of the answer; nothing of it is freed */
        memcpy(r.language, a.language, sizeof r.language);
        memcpy(r.detail, a.detail, sizeof r.detail);
        r.losses = (Buf){.data = at, .size = a.losses};
        r.spans = (Buf){.data = at += a.losses, .size = a.spans};
        r.unknown = (Buf){.data = at += a.spans, .size = a.unknown};
        r.tokens = (Buf){.data = at += a.unknown, .size = a.tokens};
        r.cleaned = (Buf){.data = at += a.tokens, .size = a.cleaned};
        r.phonemes = (Buf){.data = at += a.cleaned, .size = a.phonemes};
        int rc = p->cb->done(p->cb->user, p->delivered, (RejectReason)a.reason, &r, p->err);
        p->bytes -= s->request.size + s->answer.size;
        p->delivered++;
        if (rc)
            return rc;
    }
    return 0;
}

/* Time limits: a worker is silent while it has work and its mark stands still. */
static int check_silence(Pool *p, Worker *w, double elapsed)
{
    uint32_t started = atomic_load(&w->mark->started), finished = atomic_load(&w->mark->finished);
    if (started != w->seen_started || finished != w->seen_finished || w->count == 0) {
        w->seen_started = started;
        w->seen_finished = finished;
        w->silent = 0;
        return 0;
    }
    w->silent += elapsed;
    double limit = p->cfg->phoneme_timeout_ms * 1e-3;
    if (w->silent < (w->ready || limit > start_limit ? limit : start_limit))
        return 0;
    int rc = receive(p, w); /* answers that came at the last moment count */
    return rc < 0 ? rc : replace_worker(p, w, rc == 0);
}

/* One round: send, wait a little, receive, look for workers that have died or fallen silent. */
static int pump(Pool *p, struct pollfd *fds, double *last)
{
    for (int i = 0; i < p->worker_count; i++) {
        Worker *w = &p->workers[i];
        int gone = send_pending(w) < 0;
        fds[i] = (struct pollfd){.fd = w->fd, .events = (short)(POLLIN | (w->out.size ? POLLOUT : 0))};
        if (gone)
            fds[i].events = POLLIN; /* its end of file tells */
    }
    /* Often enough to notice a time limit, seldom enough to cost nothing. */
    int wait_ms = p->cfg->phoneme_timeout_ms / 4;
    wait_ms = wait_ms < 10 ? 10 : wait_ms > 100 ? 100 : wait_ms;
    if (poll(fds, (nfds_t)p->worker_count, wait_ms) < 0 && errno != EINTR)
        return err_set_errno(p->err, ERR_WORKER, "waiting for phonemiser processes failed");
    double now = clock_now(), elapsed = now - *last;
    *last = now;
    /* This process was stopped or starved: that is not the workers' silence. */
    if (elapsed > tick_max)
        elapsed = tick_max;
    for (int i = 0; i < p->worker_count; i++) {
        Worker *w = &p->workers[i];
        int rc = fds[i].revents & (POLLIN | POLLHUP | POLLERR) ? receive(p, w) : 0;
        if (rc == 1)
            rc = replace_worker(p, w, 0);
        else if (rc == 0)
            rc = check_silence(p, w, elapsed);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Workers are killed, not asked: an engine inside a broken text would not answer. */
static void close_pool(Pool *p)
{
    for (int i = 0; p->workers && i < p->worker_count; i++) {
        stop_worker(&p->workers[i], NULL, 0);
        buf_free(&p->workers[i].out);
        buf_free(&p->workers[i].in);
    }
    for (uint64_t i = 0; p->slots && i < p->window; i++) {
        buf_free(&p->slots[i].request);
        buf_free(&p->slots[i].answer);
    }
    if (p->marks)
        munmap(p->marks, sizeof *p->marks * (size_t)p->worker_count);
    free(p->workers);
    free(p->slots);
}

/* The marks are in shared memory, so that they outlive a worker. */
static int run_workers(Pool *p)
{
    struct pollfd fds[MAX_WORKERS];
    int rc = 0, n = p->worker_count;
    p->window = (uint64_t)n * WINDOW_PER_WORKER;
    p->workers = mem_calloc((size_t)n, sizeof *p->workers);
    p->slots = mem_calloc(p->window, sizeof *p->slots);
    void *marks =
        mmap(NULL, sizeof *p->marks * (size_t)n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p->marks = marks == MAP_FAILED ? NULL : marks;
    if (!p->workers || !p->slots || !p->marks) {
        close_pool(p);
        return err_set(p->err, ERR_NOMEM, "no memory for %d phonemiser processes", n);
    }
    for (int i = 0; i < n && rc == 0; i++) {
        p->workers[i].mark = &p->marks[i];
        rc = start_worker(p, &p->workers[i]);
    }
    double last = clock_now();
    while (rc == 0) {
        rc = refill(p);
        if (rc || (p->at_end && p->delivered == p->taken))
            break;
        rc = pump(p, fds, &last);
        if (rc == 0)
            rc = deliver(p);
    }
    close_pool(p);
    return rc;
}

/* num_workers 0: the same path without processes, for debugging and single lines. */
static int run_inline(const Config *cfg, TextAim aim, const PhonemeCallbacks *cb, Err *err)
{
    TextEngine *engine = NULL;
    TextResult result = {0};
    PhonemeItem item = {0};
    int rc = text_engine_open(&engine, cfg, aim, err);
    for (uint64_t i = 0; rc == 0 && cb->next(cb->user, &item) == 1; i++) {
        RejectReason reason = text_process(engine, &result, item.text, item.language, item.id);
        rc = cb->done(cb->user, i, reason, &result, err);
        memset(&item, 0, sizeof item);
    }
    text_result_free(&result);
    text_engine_close(engine);
    return rc;
}

/* An Err of our own where the caller has none: workers report through it. */
int phoneme_pool_run(const Config *cfg, TextAim aim, int workers, const PhonemeCallbacks *cb,
                     PhonemePoolReport *report, Log *log, Err *err)
{
    PhonemePoolReport own = {0};
    Err own_err = {0};
    Pool p = {.cfg = cfg,
              .aim = aim,
              .cb = cb,
              .report = report ? report : &own,
              .log = log,
              .err = err ? err : &own_err};
    if (workers > MAX_WORKERS)
        workers = MAX_WORKERS;
    memset(p.report, 0, sizeof *p.report);
    p.report->workers = workers;
    p.worker_count = workers;
    return workers <= 0 ? run_inline(cfg, aim, cb, p.err) : run_workers(&p);
}
