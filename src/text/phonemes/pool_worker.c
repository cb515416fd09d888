/* pool_worker.c - see pool_worker.h. */
#include "text/phonemes/pool_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16, SEND_AT = 1 << 14 };

/* File descriptors of the parent must not stay open in the worker. */
static void close_range_of(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    for (unsigned fd = first; fd <= last && fd < 65536; fd++) /* kernels before 5.9 */
        close((int)fd);
}

/* The child keeps stderr and its socket; it leaves Ctrl-C to the parent, which may want to
 * finish in order. */
static void become_worker(pid_t parent, int fd)
{
    /* Dies with its parent, also when the parent died before this line. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* libespeak-ng does with a file less than it would like */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    close_range_of(3, (unsigned)fd - 1);
    close_range_of((unsigned)fd + 1, ~0U);
}

/* Blocks until the parent has taken everything; -1 when it is gone. */
static int send_all(int fd, Buf *out)
{
    for (size_t done = 0; done < out->size;) {
        ssize_t n = send(fd, out->data + done, out->size - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    buf_clear(out);
    return 0;
}

/* Laid out as phoneme_pool.c takes it apart in deliver(). */
static void add_answer(Buf *out, RejectReason reason, const TextResult *r)
{
    PoolAnswer a = {.kind = POOL_RESULT,
                    .reason = reason,
                    .losses = (uint32_t)r->losses.size,
                    .spans = (uint32_t)r->spans.size,
                    .unknown = (uint32_t)r->unknown.size,
                    .tokens = (uint32_t)r->tokens.size,
                    .cleaned = (uint32_t)r->cleaned.size,
                    .phonemes = (uint32_t)r->phonemes.size};
    memcpy(a.language, r->language, sizeof a.language);
    memcpy(a.detail, r->detail, sizeof a.detail);
    buf_add(out, &a, sizeof a);
    buf_add(out, r->losses.data, r->losses.size);
    buf_add(out, r->spans.data, r->spans.size);
    buf_add(out, r->unknown.data, r->unknown.size);
    buf_add(out, r->tokens.data, r->tokens.size);
    buf_add(out, r->cleaned.data, r->cleaned.size);
    buf_add(out, r->phonemes.data, r->phonemes.size);
    buf_add(out, "", 1);
}

/* An answer that is nothing but its kind. */
static int send_word(int fd, Buf *out, uint32_t kind)
{
    PoolAnswer a = {.kind = kind};
    buf_add(out, &a, sizeof a);
    buf_add(out, "", 1);
    return out->failed ? -1 : send_all(fd, out);
}

/* The reason travels in the fields of an answer: message, then hint. */
static void report_no_engine(int fd, const Err *err)
{
    Buf out = {0};
    PoolAnswer a = {.kind = POOL_NO_ENGINE,
                    .cleaned = (uint32_t)strlen(err->msg),
                    .phonemes = (uint32_t)strlen(err->hint)};
    buf_add(&out, &a, sizeof a);
    buf_add(&out, err->msg, a.cleaned);
    buf_add(&out, err->hint, a.phonemes + 1);
    send_all(fd, &out);
}

/* Answers every whole request in `in`; returns the bytes used, or -1 when the parent is gone. */
static ssize_t answer_requests(TextEngine *engine, TextResult *result, int fd, PoolMark *mark, const Buf *in,
                               Buf *out)
{
    size_t at = 0;
    while (in->size - at >= sizeof(PoolRequest)) {
        PoolRequest q;
        memcpy(&q, in->data + at, sizeof q);
        size_t need = sizeof q + (size_t)q.text + q.language + q.id;
        if (in->size - at < need)
            break;
        const char *p = in->data + at + sizeof q;
        Str text = {p, q.text}, language = {p + q.text, q.language}, id = {p + q.text + q.language, q.id};
        atomic_fetch_add(&mark->started, 1);
        RejectReason reason = text_process(engine, result, text, language, id);
        atomic_fetch_add(&mark->finished, 1);
        add_answer(out, reason, result);
        at += need;
        if (out->failed || (out->size >= SEND_AT && send_all(fd, out) < 0))
            return -1;
    }
    return out->size && send_all(fd, out) < 0 ? -1 : (ssize_t)at;
}

/* The life of a worker: open the engine, answer until the parent goes or the process is worn out. */
static void serve(int fd, PoolMark *mark, const Config *cfg, TextAim aim)
{
    Err err = {0};
    TextEngine *engine = NULL;
    TextResult result = {0};
    Buf in = {0}, out = {0};
    char piece[READ_SIZE];
    if (text_engine_open(&engine, cfg, aim, &err) < 0) {
        report_no_engine(fd, &err);
        return;
    }
    if (send_word(fd, &out, POOL_READY) < 0)
        return;
    for (;;) {
        if (text_engine_is_worn(engine)) {
            send_word(fd, &out, POOL_WORN);
            return;
        }
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        buf_add(&in, piece, (size_t)n);
        ssize_t used = in.failed ? -1 : answer_requests(engine, &result, fd, mark, &in, &out);
        if (used < 0)
            return;
        memmove(in.data, in.data + used, in.size - (size_t)used);
        in.size -= (size_t)used;
    }
}

/* fork without exec: the worker shares the parsed configuration. */
int pool_worker_start(pid_t *pid, int *fd, PoolMark *mark, const Config *cfg, TextAim aim, Err *err)
{
    int ends[2];
    *pid = 0;
    *fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set_errno(err, ERR_WORKER, "cannot open a socket to a phonemiser process");
    atomic_store(&mark->started, 0);
    atomic_store(&mark->finished, 0);
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        err_set_errno(err, ERR_WORKER, "cannot start a phonemiser process");
        close(ends[0]);
        close(ends[1]);
        return ERR_WORKER;
    }
    if (child == 0) {
        become_worker(parent, ends[1]);
        serve(ends[1], mark, cfg, aim);
        _exit(0); /* the kernel takes the memory back; nothing of the parent's may be flushed twice */
    }
    close(ends[1]);
    *pid = child;
    *fd = ends[0];
    return 0;
}
