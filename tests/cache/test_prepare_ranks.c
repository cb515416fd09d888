/* test_prepare_ranks.c - `prepare` by several processes: what comes out is what one process makes, whoever is
 * killed on the way. The ranks find each other over TCP, as under torchrun, and by MPI where mpirun is there.
 * MYXTTS_LONG=1: more kills. */

#include "cache/store/store.h"
#include "support/prepare_testing.h"
#include "support/rank_worker.h"

#define MOST 4

static const char *const all_stages[] = {"--stages", "text,mel,audio", NULL};

typedef struct Crew {
    Run runs[MOST];
    int count;
    char port[32];
} Crew;

/* extra: more variables, NULL at the end; may be NULL. */
static void crew_rank(Crew *w, int rank, const Corpus *c, const char *cache, const char *const *more,
                      const char *const *extra)
{
    const char *args[MAX_ARGS] = {"prepare", "--data-path", c->data, "--cache-dir", cache, "--json"},
               *env[16];
    char own[4][32];
    int n = 6, e = 0;
    for (int i = 0; more[i]; i++)
        args[n++] = more[i];
    snprintf(own[0], sizeof own[0], "RANK=%d", rank);
    snprintf(own[1], sizeof own[1], "WORLD_SIZE=%d", w->count);
    snprintf(own[2], sizeof own[2], "LOCAL_RANK=%d", rank);
    while (e < 3) {
        env[e] = own[e];
        e++;
    }
    env[e++] = "MYXTTS_ADDRESS=127.0.0.1";
    env[e++] = w->port;
    env[e++] = "MYXTTS_JOIN_SECONDS=5"; /* one that is killed before it has joined is waited for so long */
    for (int i = 0; extra && extra[i]; i++)
        env[e++] = extra[i];
    env[e] = NULL;
    run_start(&w->runs[rank], args, env);
}

static void crew_begin(Crew *w, int count)
{
    *w = (Crew){.count = count};
    snprintf(w->port, sizeof w->port, "MYXTTS_PORT=%d", free_port());
}

static void crew_start(Crew *w, int count, const Corpus *c, const char *cache, const char *const *more)
{
    crew_begin(w, count);
    for (int k = 0; k < count; k++)
        crew_rank(w, k, c, cache, more, NULL);
}

static void crew_free(Crew *w)
{
    for (int k = 0; k < w->count; k++)
        run_free(&w->runs[k]);
}

/* Everybody ends with the same code (0: or 1, if the report calls for it); rank 0 alone has said anything. */
static json_t *crew_wait(Crew *w, int code)
{
    for (int k = 0; k < w->count; k++)
        run_wait(&w->runs[k], 60);
    if (code == 0)
        code = prepare_code(w->runs[0].stdout_text.data);
    for (int k = 0; k < w->count; k++) {
        Run *r = &w->runs[k];
        if (r->code != code)
            fail_msg("rank %d ended with %d, not %d: %s", k, r->code, code, w->runs[0].stderr_text.data);
        if (k && (r->stdout_text.size || r->stderr_text.size))
            fail_msg("rank %d said: %s%s", k, r->stdout_text.data, r->stderr_text.data);
    }
    json_t *o = code <= 1 ? json_loads(w->runs[0].stdout_text.data, 0, NULL) : NULL;
    if (code <= 1 && !json_is_object(o))
        fail_msg("stdout is no JSON object: %s", w->runs[0].stdout_text.data);
    crew_free(w);
    return o;
}

static json_t *prepare_crew(int count, const Corpus *c, const char *cache, const char *const *more)
{
    Crew w;
    crew_start(&w, count, c, cache, more);
    return crew_wait(&w, 0);
}

/* The three stores, entry by entry, and rejected.tsv. */
static void assert_same(const char *a, const char *b)
{
    assert_same_caches(a, b);
    if (file_exists(path_of(b, "audio.index")))
        assert_same_stores(a, b, AUDIO_STORE);
}

/* No file but those of the stores, the list of rejected lines and the lock. */
static void assert_clean(const char *cache)
{
    DIR *d = opendir(cache);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        if (strstr(f->d_name, ".part") || strstr(f->d_name, ".tmp") || strncmp(f->d_name, "ranks-", 6) == 0)
            fail_msg("%s was left behind in %s", f->d_name, cache);
    closedir(d);
}

/* Every way in which a line can be bad. */
static void fill_with_faults(Corpus *c, int count)
{
    corpus_fill(c, count, 0.15);
    uint8_t *silence = calloc(1, 20000);
    size_t size;
    uint8_t *wav = make_wav(&size, 3, 0.3, 22050, 1);
    for (int i = 3; i + 6 < count; i += 11) {
        unlink(clip_path(c, i));
        file_put(clip_path(c, i + 1), "no sound", 8);
        memset(wav + 44, 0, size - 44);
        file_put(clip_path(c, i + 2), wav, size); /* silent: a record that says so */
        write_wav(clip_path(c, i + 3), i, 0.01, 22050, 1);
        snprintf(c->clips[i + 4].text, sizeof c->clips[i + 4].text, "...");
        write_wav(clip_path(c, i + 5), i, 0.5, 16000, 2);
    }
    free(silence);
    free(wav);
    corpus_write_metadata(c);
}

static void check_same_numbers(const json_t *a, const json_t *b)
{
    static const char *const of_all[] = {"lines", "accepted", "rejected", "tokens", "mel_frames"};
    static const char *const of_stores[] = {"built", "reused", "damaged"};
    for (int i = 0; i < 5; i++)
        check_number(a, number_at(b, of_all[i], NULL), of_all[i], NULL);
    for (int i = 0; i < 3; i++) {
        check_number(a, number_at(b, "text", of_stores[i]), "text", of_stores[i]);
        check_number(a, number_at(b, "mel", of_stores[i]), "mel", of_stores[i]);
        check_number(a, number_at(b, "audio", of_stores[i]), "audio", of_stores[i]);
    }
    assert_true(json_equal(json_object_get(a, "reasons"), json_object_get(b, "reasons")));
    assert_true(json_equal(json_object_get(a, "limits"), json_object_get(b, "limits")));
}

static void many_make_what_one_makes(void **state)
{
    Corpus *c = *state;
    char one[256];
    fill_with_faults(c, 60);
    snprintf(one, sizeof one, "%s/one", c->root);
    json_t *want = prepare_with(c, one, 0, all_stages);
    assert_true(number_at(want, "rejected", NULL) > 15);
    for (int n = 2; n <= MOST; n++) {
        remove_folder(c->cache);
        json_t *got = prepare_crew(n, c, c->cache, all_stages);
        check_same_numbers(got, want);
        json_decref(got);
        assert_same(c->cache, one);
        assert_clean(c->cache);
        /* The work is done, for whomever comes. */
        Buf before = file_bytes(path_of(c->cache, "mel.index"));
        for (int again = 1; again <= 3; again += 2) {
            json_t *o = again == 1 ? prepare_with(c, c->cache, 0, all_stages)
                                   : prepare_crew(again, c, c->cache, all_stages);
            check_number(o, 0, "mel", "built");
            check_number(o, 0, "audio", "built");
            check_number(o, number_at(want, "mel", "built"), "mel", "reused");
            json_decref(o);
        }
        Buf after = file_bytes(path_of(c->cache, "mel.index"));
        assert_true(before.size == after.size && memcmp(before.data, after.data, before.size) == 0);
        buf_free(&before);
        buf_free(&after);
        assert_same(c->cache, one);
    }
    json_decref(want);
}

/* Lines edited, taken away, added; files touched, and changed. */
static void an_old_state_is_brought_up_to_date(void **state)
{
    Corpus *c = *state;
    char one[256];
    snprintf(one, sizeof one, "%s/one", c->root);
    corpus_fill(c, 50, 0.15);
    json_decref(prepare_with(c, one, 0, all_stages));
    copy_folder(one, c->cache);
    for (int i = 0; i < 50; i += 3)
        snprintf(c->clips[i].text, sizeof c->clips[i].text, "Line %d is another one now.", i);
    for (int i = 1; i < 50; i += 10)
        c->clips[i].removed = 1;
    for (int i = 2; i < 50; i += 7)
        write_wav(clip_path(c, i), i + 3, 0.2, 22050, 1);
    for (int i = 4; i < 50; i += 7)
        write_wav(clip_path(c, i), i, 0.15 + 0.01 * (i % 7), 22050, 1); /* the same bytes again */
    for (int i = 0; i < 6; i++)
        corpus_add(c, 0.15);
    corpus_write_metadata(c);
    json_t *want = prepare_with(c, one, 0, all_stages), *got = prepare_crew(3, c, c->cache, all_stages);
    check_same_numbers(got, want);
    json_decref(want);
    json_decref(got);
    assert_same(c->cache, one);
    assert_clean(c->cache);
}

/* Other settings have a place of their own, which the leader makes. */
static void other_settings_have_their_own_place(void **state)
{
    Corpus *c = *state;
    static const char *const other[] = {"--n-mels", "64", NULL};
    char one[256];
    snprintf(one, sizeof one, "%s/one", c->root);
    corpus_fill(c, 12, 0.15);
    json_decref(prepare_with(c, one, 0, all_stages));
    copy_folder(one, c->cache);
    json_decref(prepare_with(c, one, 0, other));
    json_t *got = prepare_crew(2, c, c->cache, other);
    check_number(got, 12, "mel", "built");
    check_number(got, 12, "text", "reused");
    json_decref(got);
    DIR *d = opendir(one);
    int found = 0;
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        if (strncmp(f->d_name, "mel-", 4) == 0 && strlen(f->d_name) == 20) {
            assert_same_stores(path_of(c->cache, f->d_name), path_of(one, f->d_name), MEL_STORE);
            found++;
        }
    closedir(d);
    assert_int_equal(found, 1);
}

/* Ranks on disks of their own: each folder is complete, whoever shares it. */
static void folders_of_their_own(void **state)
{
    Corpus *c = *state;
    char one[256], mine[256], other[256];
    snprintf(one, sizeof one, "%s/one", c->root);
    snprintf(mine, sizeof mine, "%s/mine", c->root);
    snprintf(other, sizeof other, "%s/other", c->root);
    fill_with_faults(c, 30);
    json_t *want = prepare_with(c, one, 0, all_stages);
    /* One of the folders needs no work at all. */
    for (int done = 0; done < 2; done++) {
        Crew w;
        crew_begin(&w, 3);
        remove_folder(mine);
        if (!done)
            remove_folder(other);
        crew_rank(&w, 0, c, mine, all_stages, NULL);
        crew_rank(&w, 1, c, other, all_stages, NULL);
        crew_rank(&w, 2, c, mine, all_stages, NULL);
        json_t *got = crew_wait(&w, 0);
        check_same_numbers(got, want);
        json_decref(got);
        assert_same(mine, one);
        assert_same(other, one);
        assert_clean(mine);
        assert_clean(other);
    }
    json_decref(want);
}

/* ---- kills ---- */

/* Kills one of the ranks, or all of them, and sees the others end by themselves. 0: all had ended before. */
static int kill_some(Crew *w, int victim, double after)
{
    clock_sleep(after);
    int killed = 0;
    for (int k = 0; k < w->count; k++)
        if ((victim == k || victim == w->count) && kill(w->runs[k].pid, SIGKILL) == 0)
            killed++;
    for (int k = 0; k < w->count; k++) {
        Run *r = &w->runs[k];
        run_wait(r, 15);
        if (r->code != 0 && r->code != 3 && r->code != -SIGKILL)
            fail_msg("rank %d ended with %d: %s", k, r->code, r->stderr_text.data);
    }
    int hit = 0, said = 0;
    for (int k = 0; k < w->count; k++) {
        hit += w->runs[k].code == -SIGKILL;
        said += strstr(w->runs[k].stderr_text.data, "ended without a message") != NULL;
    }
    if (said > 1)
        fail_msg("%d ranks said the same", said);
    crew_free(w);
    return killed && hit;
}

static void kills_at_random_moments(void **state)
{
    Corpus *c = *state;
    char one[256], old[256];
    snprintf(one, sizeof one, "%s/one", c->root);
    snprintf(old, sizeof old, "%s/old", c->root);
    corpus_fill(c, SANITIZED ? 150 : 400, 0.12);
    json_decref(prepare_with(c, old, 0, all_stages));
    for (int i = 0; i < c->count; i += 2) {
        snprintf(c->clips[i].text, sizeof c->clips[i].text, "Line %d is another one now.", i);
        write_wav(clip_path(c, i), i + 3, 0.13, 22050, 1);
    }
    corpus_write_metadata(c);
    copy_folder(old, one);
    json_decref(prepare_with(c, one, 0, all_stages));
    Rng rng;
    uint64_t seed = (uint64_t)clock_now() * 1000003u + (uint64_t)getpid();
    rng_seed(&rng, seed);
    double begin = clock_now();
    copy_folder(old, c->cache);
    json_decref(prepare_crew(2, c, c->cache, all_stages));
    double seconds = clock_now() - begin;
    int most = is_long() ? 100 : 10, kills = 0;
    print_message("seed %llu, %d kills in %.3f s\n", (unsigned long long)seed, most, seconds);
    for (int from_old = 0; kills < most; from_old = !from_old) {
        remove_folder(c->cache);
        if (from_old)
            copy_folder(old, c->cache);
        /* Two disturbed runs by different numbers of ranks, then one that nobody disturbs. */
        for (int k = 0; k < 2; k++) {
            Crew w;
            int n = 2 + (int)rng_below(&rng, MOST - 1);
            crew_start(&w, n, c, c->cache, all_stages);
            kills += kill_some(&w, (int)rng_below(&rng, (uint64_t)n + 1), seconds * 1.2 * rng_uniform(&rng));
        }
        int n = 1 + (int)rng_below(&rng, MOST);
        json_decref(n == 1 ? prepare_with(c, c->cache, 0, all_stages)
                           : prepare_crew(n, c, c->cache, all_stages));
        assert_same(c->cache, one);
        assert_clean(c->cache);
    }
    json_decref(prepare_with(c, c->cache, 0, (const char *const[]){"--verify", NULL}));
}

/* ---- faults ---- */

/* The disk of one rank is full. */
static void a_full_disk_names_its_rank(void **state)
{
    Corpus *c = *state;
    const char *library = fault_library();
    if (!library)
        skip();
    char preload[4200], one[256];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    snprintf(one, sizeof one, "%s/one", c->root);
    corpus_fill(c, 20, 0.15);
    json_decref(prepare_with(c, one, 0, all_stages));
    for (int nth = 2; nth <= 14; nth += 4) {
        Crew w;
        char fail_write[32];
        snprintf(fail_write, sizeof fail_write, "MYXTTS_FAIL_WRITE=%d", nth);
        const char *const extra[] = {preload, fail_write, "MYXTTS_FAIL_STICKY=1", NULL};
        crew_begin(&w, 3);
        for (int k = 0; k < 3; k++)
            crew_rank(&w, k, c, c->cache, all_stages, k == 1 ? extra : NULL);
        for (int k = 0; k < 3; k++)
            run_wait(&w.runs[k], 30);
        for (int k = 0; k < 3; k++)
            if (w.runs[k].code != 3)
                fail_msg("rank %d ended with %d: %s", k, w.runs[k].code, w.runs[0].stderr_text.data);
        const char *said = w.runs[0].stderr_text.data;
        if (!strstr(said, "error: rank 1 on ") || !strstr(said, "No space left"))
            fail_msg("rank 0 said: %s", said);
        const char *again = strstr(strstr(said, "error: ") + 1, "error: ");
        if (again || w.runs[1].stderr_text.size || w.runs[2].stderr_text.size)
            fail_msg("more than one sentence: %s%s%s", said, w.runs[1].stderr_text.data,
                     w.runs[2].stderr_text.data);
        crew_free(&w);
        json_decref(prepare_crew(2, c, c->cache, all_stages));
        assert_same(c->cache, one);
        assert_clean(c->cache);
        remove_folder(c->cache);
    }
}

/* Ranks that do not have the same lines are told so, before anything is built. */
static void other_metadata_is_found(void **state)
{
    Corpus *c = *state;
    Crew w;
    Corpus other = *c;
    corpus_fill(c, 5, 0.15);
    snprintf(other.data, sizeof other.data, "%s/changed", c->root);
    copy_folder(c->data, other.data);
    file_put(path_of(other.data, "metadata.csv"), "clip00001|Something else.\n", 26);
    crew_begin(&w, 2);
    crew_rank(&w, 0, c, c->cache, all_stages, NULL);
    crew_rank(&w, 1, &other, c->cache, all_stages, NULL);
    for (int k = 0; k < 2; k++)
        run_wait(&w.runs[k], 30);
    if (w.runs[0].code != 3 && w.runs[0].code != 2)
        fail_msg("rank 0 ended with %d", w.runs[0].code);
    assert_int_equal(w.runs[1].code, w.runs[0].code);
    if (!strstr(w.runs[0].stderr_text.data, "the metadata differs between ranks"))
        fail_msg("rank 0 said: %s", w.runs[0].stderr_text.data);
    assert_int_equal(w.runs[1].stderr_text.size, 0);
    crew_free(&w);
}

/* A run that has nothing to do with them holds the folder: all wait, and then find it done. */
static void they_wait_for_another_run(void **state)
{
    Corpus *c = *state;
    Crew w;
    FileLock lock;
    corpus_fill(c, 6, 0.15);
    json_decref(prepare(c, 0, "--stages", "text,mel,audio"));
    assert_int_equal(file_lock(&lock, path_of(c->cache, "lock"), 1, NULL, NULL), 0);
    crew_start(&w, 2, c, c->cache, all_stages);
    Run *r = &w.runs[0];
    for (double end = clock_now() + 30;
         !r->stderr_text.data || !strstr(r->stderr_text.data, "waiting for it");) {
        char piece[1024];
        ssize_t n = read(r->err, piece, sizeof piece);
        assert_true(n > 0 && clock_now() < end);
        buf_add(&r->stderr_text, piece, (size_t)n);
    }
    assert_int_equal(waitpid(w.runs[1].pid, NULL, WNOHANG), 0);
    file_unlock(&lock);
    json_t *o = crew_wait(&w, 0);
    check_number(o, 6, "mel", "reused");
    json_decref(o);
}

/* A wrong command line is one sentence, not one for each rank. */
static void one_sentence_about_a_wrong_option(void **state)
{
    Crew w;
    crew_start(&w, 3, *state, "nowhere", (const char *const[]){"--stages", "nothing", NULL});
    for (int k = 0; k < 3; k++)
        run_wait(&w.runs[k], 30);
    for (int k = 0; k < 3; k++)
        assert_int_equal(w.runs[k].code, 2);
    assert_non_null(strstr(w.runs[0].stderr_text.data, "--stages is 'nothing'"));
    assert_true(w.runs[1].stderr_text.size == 0 && w.runs[2].stderr_text.size == 0);
    crew_free(&w);
}

/* ---- MPI ---- */

static void the_same_under_mpirun(void **state)
{
    Corpus *c = *state;
    if (system("command -v mpirun >/dev/null && mpirun --version >/dev/null 2>&1") != 0) {
        print_message("SKIPPED: there is no mpirun here (openmpi-bin)\n");
        skip();
    }
    char one[256];
    snprintf(one, sizeof one, "%s/one", c->root);
    fill_with_faults(c, 40);
    json_t *want = prepare_with(c, one, 0, all_stages);
    for (int n = 2; n <= MOST; n++) {
        Run r;
        char ranks[8];
        snprintf(ranks, sizeof ranks, "%d", n);
        const char *args[] = {
            "--oversubscribe", "-n",     ranks,    program(),  "prepare",        "--data-path", c->data,
            "--cache-dir",     c->cache, "--json", "--stages", "text,mel,audio", NULL};
        /* MPI's own memory is not ours to free. */
        const char *env[] = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                             "ASAN_OPTIONS=detect_leaks=0", NULL};
        char binary[] = "/usr/bin/mpirun";
        remove_folder(c->cache);
        run_start_as(&r, 0, binary, args, env);
        run_wait(&r, 60);
        if (r.code != prepare_code(r.stdout_text.data))
            fail_msg("mpirun -n %d ended with %d: %s", n, r.code, r.stderr_text.data);
        json_t *got = json_loads(r.stdout_text.data, 0, NULL);
        if (!json_is_object(got))
            fail_msg("not one JSON object: %s", r.stdout_text.data);
        check_same_numbers(got, want);
        json_decref(got);
        run_free(&r);
        assert_same(c->cache, one);
        assert_clean(c->cache);
    }
    json_decref(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_make_what_one_makes),
        T(an_old_state_is_brought_up_to_date),
        T(other_settings_have_their_own_place),
        T(folders_of_their_own),
        T(kills_at_random_moments),
        T(a_full_disk_names_its_rank),
        T(other_metadata_is_found),
        T(they_wait_for_another_run),
        T(one_sentence_about_a_wrong_option),
        T(the_same_under_mpirun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
