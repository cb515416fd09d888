/* test_train_moments.c - `myxtts train` killed, stopped and left by its readers at random moments, and on a
 * disk that is full from any write on: the newest complete checkpoint is always there, and what is trained in
 * the end is, bit by bit, what an undisturbed run gives. 15 moments and some writes; MYXTTS_LONG=1: 1,000
 * moments and every write. MYXTTS_MOMENTS=N: this many moments. */
#include "support/train_process.h"

#define STEPS 600
#define SAMPLED 25 /* one moment of this many is followed to the end on its own */

/* ---- moments ---- */

/* What happens to a run. Readers go as `tee` does on Ctrl-C: first they, then we. */
typedef enum {
    KILLED,
    INTERRUPTED,
    TERMINATED,
    HUNG_UP,
    INTERRUPTED_TWICE,
    TEE_INTERRUPTED, /* both readers gone, then Ctrl-C */
    READERS_GONE,    /* and nothing else, for as long again; then a kill */
    STDOUT_GONE,     /* then SIGTERM */
    EVENTS
} Event;
static const char *const event_names[EVENTS] = {"kill",         "Ctrl-C", "SIGTERM",      "hang-up",
                                                "Ctrl-C twice", "tee",    "readers gone", "stdout gone"};

static void close_reader(int *fd)
{
    close(*fd);
    *fd = -1;
}

/* Does it to the run and waits for its end: the exit code, or -signal. */
static int happen(Run *r, Event e, double more)
{
    if (e == TEE_INTERRUPTED || e == READERS_GONE || e == STDOUT_GONE)
        close_reader(&r->out);
    if (e == TEE_INTERRUPTED || e == READERS_GONE)
        close_reader(&r->err);
    if (e == READERS_GONE)
        clock_sleep(more);
    static const int signals[EVENTS] = {SIGKILL, SIGINT, SIGTERM, SIGHUP, SIGINT, SIGINT, SIGKILL, SIGTERM};
    kill(r->pid, signals[e]);
    if (e == INTERRUPTED_TWICE) {
        clock_sleep(more / 10);
        kill(r->pid, SIGINT);
    }
    run_wait(r, 120);
    return r->code;
}

/* A stop that the run obeyed: 0. Before it catches signals, and on a second Ctrl-C, it ends at once. */
static int is_well(Event e, int code)
{
    if (e == KILLED || e == READERS_GONE)
        return code == -SIGKILL || code == 0;
    int before = e == TERMINATED || e == STDOUT_GONE ? -SIGTERM : e == HUNG_UP ? -SIGHUP : -SIGINT;
    return code == 0 || code == before || (e == INTERRUPTED_TWICE && code == 130);
}

/* The run in `folder` is followed to its end in a copy. */
static void follow(const Corpus *c, const char *folder, const char *whole)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s/copy", c->root);
    remove_folder(copy);
    copy_folder(folder, copy);
    train_to_end(c, copy, STEPS, 50, NULL, 0);
    compare_checkpoints(step_file(whole, STEPS), step_file(copy, STEPS), NULL);
    remove_folder(copy);
}

static int wanted_moments(void)
{
    const char *n = getenv("MYXTTS_MOMENTS");
    return n ? atoi(n) : is_long() ? 1000 : 15;
}

/* Nothing half written is left over. */
static void assert_tidy(const char *folder)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (strstr(list[i]->d_name, ".tmp"))
            fail_msg("%s was left behind", list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

typedef struct Tally {
    int moments, events[EVENTS], obeyed, early, later, runs, followed;
} Tally;

/* One run from its beginning to its end, disturbed on the way. */
static void disturbed_run(const Corpus *c, const char *folder, const char *whole, double seconds, int wanted,
                          Rng *rng, uint64_t seed, Tally *t)
{
    int64_t at = 0;
    while (at < STEPS && t->moments < wanted) {
        Run r;
        Event e = (Event)rng_below(rng, EVENTS);
        int saves = 1 + (int)rng_below(rng, 12);
        train_start(&r, c, folder, STEPS, saves, NULL, NULL);
        clock_sleep(seconds * (0.02 + 0.33 * rng_uniform(rng)));
        int code = happen(&r, e, 0.2 * seconds * rng_uniform(rng));
        if (!is_well(e, code))
            fail_msg("seed %llu, moment %d, %s: exit code %d: %s", (unsigned long long)seed, t->moments,
                     event_names[e], code, (const char *)r.stderr_text.data);
        int64_t now = check_folder(folder);
        if (now < at)
            fail_msg("seed %llu, moment %d, %s: step %lld was there, now %lld is the newest",
                     (unsigned long long)seed, t->moments, event_names[e], (long long)at, (long long)now);
        /* A stop that was obeyed saves where it says it stopped. */
        const char *said = strstr((const char *)r.stdout_text.data, "stopped at step ");
        if (code == 0 && said && atoll(said + 16) != now)
            fail_msg("seed %llu, moment %d: %.40s, but the newest checkpoint is step %lld",
                     (unsigned long long)seed, t->moments, said, (long long)now);
        run_free(&r);
        t->obeyed += said != NULL;
        t->early += now >= STEPS;
        t->later += now > at;
        t->events[e]++;
        at = now;
        if (++t->moments % SAMPLED == 0 && at > 0 && at < STEPS) {
            follow(c, folder, whole);
            t->followed++;
        }
    }
}

static void random_moments(void **state)
{
    Corpus *c = *state;
    Rng rng;
    Tally t = {0};
    char whole[256], folder[256];
    int wanted = wanted_moments();
    uint64_t seed = (uint64_t)clock_now() * 1000003u + (uint64_t)getpid();
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    make_voice_corpus(c);
    rng_seed(&rng, seed);
    train_to_end(c, path_of(c->root, "first"), 1, 1, NULL, 0); /* prepares */
    double begin = clock_now();
    train_to_end(c, whole, STEPS, 50, NULL, 0);
    double seconds = clock_now() - begin;
    while (t.moments < wanted) {
        disturbed_run(c, folder, whole, seconds, wanted, &rng, seed, &t);
        mkdir(folder, 0777); /* a kill may have come before the run made it */
        file_put(path_of(folder, "loss.png.tmp3999999"), "torn", 4); /* as if a picture had been on its way */
        train_to_end(c, folder, STEPS, 50, NULL, 0);
        compare_checkpoints(step_file(whole, STEPS), step_file(folder, STEPS), NULL);
        assert_tidy(folder);
        remove_folder(folder);
        t.runs++;
    }
    print_message("%d moments (seed %llu), runs of %.2f s:", t.moments, (unsigned long long)seed, seconds);
    for (int e = 0; e < EVENTS; e++)
        print_message(" %s %d%s", event_names[e], t.events[e], e < EVENTS - 1 ? "," : ";");
    print_message(
        " %d after new checkpoints, %d stops obeyed, %d after the end; %d runs and %d copies ended with "
        "the bits of the undisturbed one\n",
        t.later, t.obeyed, t.early, t.runs, t.followed);
    assert_true(t.later > wanted / 10); /* they hit training, not only the start */
}

/* ---- a full disk ---- */

#define FULL_STEPS 6

/* The k-th write fails, or that and all behind it; then there is room again. 1: the last checkpoint was lost.
 */
static int fail_write(const Corpus *c, const char *whole, const char *preload, long k, int for_good)
{
    char folder[256], fault[64];
    Run r;
    snprintf(folder, sizeof folder, "%s/full", c->root);
    snprintf(fault, sizeof fault, "MYXTTS_FAIL_WRITE=%ld", k);
    remove_folder(folder);
    train_start(&r, c, folder, FULL_STEPS, 2, (const char *const[]){"--val-step", "2", "--json", NULL},
                (const char *const[]){preload, fault, for_good ? "MYXTTS_FAIL_STICKY=1" : "A=1", NULL});
    run_wait(&r, 120);
    const char *err = (const char *)r.stderr_text.data;
    int64_t at = check_folder(folder);
    if (r.code != 0 && r.code != 3)
        fail_msg("write %ld: exit code %d: %s", k, r.code, err);
    if ((r.code == 0) != (at == FULL_STEPS))
        fail_msg("write %ld%s: exit code %d, but the newest step is %lld: %s", k, for_good ? " and on" : "",
                 r.code, (long long)at, err);
    /* A best that is told of has a file. */
    json_t *o = r.code == 0 ? json_loads((const char *)r.stdout_text.data, 0, NULL) : NULL;
    if (json_integer_value(json_object_get(o, "best_step")) > 0)
        assert_int_equal(access(path_of(folder, "best.safetensors"), F_OK), 0);
    json_decref(o);
    int lost = r.code != 0;
    run_free(&r);
    train_to_end(c, folder, FULL_STEPS, 2, (const char *const[]){"--val-step", "2", NULL}, 0);
    /* Which validation was the best depends on the checkpoints that could be written. */
    compare_checkpoints(step_file(whole, FULL_STEPS), step_file(folder, FULL_STEPS), "train.");
    return lost;
}

static void full_disk_at_every_write(void **state)
{
    Corpus *c = *state;
    const char *library = fault_library();
    char whole[256], preload[4200], count_path[256], counts[300];
    if (!library)
        skip();
    snprintf(whole, sizeof whole, "%s/whole", c->root);
    snprintf(count_path, sizeof count_path, "%s/counts", c->root);
    snprintf(counts, sizeof counts, "MYXTTS_FAIL_COUNT=%s", count_path);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    make_voice_corpus(c);
    train_to_end(c, path_of(c->root, "first"), 1, 1, NULL, 0); /* prepares */
    Run r;
    train_start(&r, c, whole, FULL_STEPS, 2, (const char *const[]){"--val-step", "2", NULL},
                (const char *const[]){preload, counts, NULL});
    run_wait(&r, 120);
    if (r.code != 0 || access(count_path, F_OK)) {
        print_message("SKIPPED: the fault library cannot be loaded into this build of the program\n");
        skip();
    }
    run_free(&r);
    Buf text = file_bytes(count_path);
    const char *line = strstr((const char *)text.data, "WRITE ");
    assert_non_null(line);
    const long writes = atol(line + 6), every = is_long() ? 1 : writes / 6;
    const char *from = getenv("MYXTTS_FIRST_WRITE"), *to = getenv("MYXTTS_LAST_WRITE"); /* a part of them */
    buf_free(&text);
    int tried = 0, lost[2] = {0};
    for (long k = from ? atol(from) : 1; k <= (to ? atol(to) : writes); k += every)
        for (int for_good = 0; for_good < 2; for_good++, tried++)
            lost[for_good] += fail_write(c, whole, preload, k, for_good);
    print_message(
        "%ld writes, %d tried: the last checkpoint was lost by %d that failed once and by %d that failed "
        "for good; resumed to the same bits\n",
        writes, tried / 2, lost[0], lost[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(random_moments),
        T(full_disk_at_every_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
