/* test_serve_hostile.c - 2,000 hostile requests of 61 kinds, chosen and filled in by a seeded generator
 * (MYXTTS_SEED): each gets the right status, and a good request after each is spoken as ever. Connections
 * that trickle, stand still or never say anything linger all the while and are told 408 or cut. In the end
 * nothing is left: no talk, no connection, no descriptor, no memory.
 *
 * The kinds are the table below; support/hostile_bodies.c, hostile_lines.c, hostile_connections.c and
 * hostile_typed.c have them. */
#include "support/command_testing.h"
#include "support/hostile_testing.h"

#define REQUESTS 2000
#define TIMEOUT "4" /* seconds of the server for a request */

static const struct Kind {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"json_cut_off", json_cut_off},
    {"json_of_another_kind", json_of_another_kind},
    {"json_very_deep", json_very_deep},
    {"json_of_a_million_values", json_of_a_million_values},
    {"json_not_utf8", json_not_utf8},
    {"json_bad_escapes", json_bad_escapes},
    {"body_of_noise", body_of_noise},
    {"body_empty", body_empty},
    {"members_of_wrong_types", members_of_wrong_types},
    {"numbers_that_are_none", numbers_that_are_none},
    {"numbers_out_of_range", numbers_out_of_range},
    {"names_of_nobody", names_of_nobody},
    {"name_very_long", name_very_long},
    {"formats_of_nobody", formats_of_nobody},
    {"text_too_long", text_too_long},
    {"text_without_anything_to_say", text_without_anything_to_say},
    {"reference_not_base64", reference_not_base64},
    {"reference_of_noise", reference_of_noise},
    {"reference_damaged", reference_damaged},
    {"reference_too_large", reference_too_large},
    {"body_too_large", body_too_large},
    {"chunks_too_large", chunks_too_large},
    {"body_without_a_length", body_without_a_length},
    {"body_of_another_type", body_of_another_type},
    {"lengths_that_disagree", lengths_that_disagree},
    {"lengths_that_are_none", lengths_that_are_none},
    {"chunks_that_are_none", chunks_that_are_none},
    {"length_longer_than_the_body", length_longer_than_the_body},
    {"methods_of_another_path", methods_of_another_path},
    {"head_of_speech", head_of_speech},
    {"paths_out_of_the_house", paths_out_of_the_house},
    {"paths_that_are_no_text", paths_that_are_no_text},
    {"queries_of_nonsense", queries_of_nonsense},
    {"header_huge", header_huge},
    {"headers_many", headers_many},
    {"address_very_long", address_very_long},
    {"lines_of_no_http", lines_of_no_http},
    {"noise_for_a_request", noise_for_a_request},
    {"no_host", no_host},
    {"foreign_hosts", foreign_hosts},
    {"headers_that_are_none", headers_that_are_none},
    {"half_a_header_and_gone", half_a_header_and_gone},
    {"half_a_body_and_gone", half_a_body_and_gone},
    {"half_a_header_and_silence", half_a_header_and_silence},
    {"half_a_body_and_silence", half_a_body_and_silence},
    {"byte_by_byte", byte_by_byte},
    {"left_while_spoken_to", left_while_spoken_to},
    {"listens_no_further", listens_no_further},
    {"pipelined", pipelined},
    {"smuggled", smuggled},
    {"many_connections", many_connections},
    {"more_than_can_be_spoken", more_than_can_be_spoken},
    {"typed_errors", typed_errors},
    {"typed_endless", typed_endless},
    {"typed_byte_by_byte", typed_byte_by_byte},
    {"typed_chunks_that_are_none", typed_chunks_that_are_none},
    {"typed_and_gone", typed_and_gone},
    {"typed_and_silence", typed_and_silence},
    {"typed_and_deaf", typed_and_deaf},
    {"typed_and_more_behind", typed_and_more_behind},
    {"typed_by_many", typed_by_many},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- the run ---- */

static void good_request(void)
{
    Reply r;
    /* Those who listen no further may have all the room, for a while. */
    for (int tries = 0;; tries++) {
        post_json(&r, port(), "{\"input\":\"old hill\",\"response_format\":\"pcm\",\"voice\":\"boris\"}");
        if (r.status != 429 || tries == 100)
            break;
        reply_free(&r);
        clock_sleep(0.1);
    }
    if (r.status != 200 || !r.whole)
        fail_msg("a good request after %s: %d %.300s", hostile.name, r.status,
                 r.body.data ? r.body.data : "");
    if (!hostile.good.data)
        buf_add(&hostile.good, r.body.data, r.body.size);
    if (r.body.size != hostile.good.size || memcmp(r.body.data, hostile.good.data, r.body.size) != 0)
        fail_msg("after %s it is spoken otherwise", hostile.name);
    reply_free(&r);
}

static void poke_lingerers(void)
{
    for (int i = 0; i < hostile.lingering; i++)
        if (hostile.lingerers[i].trickles)
            send_text(hostile.lingerers[i].fd, "x");
}

/* All of them have been told, or cut off. */
static void bury_lingerers(void)
{
    int told = 0;
    for (int i = 0; i < hostile.lingering; i++) {
        Lingerer *l = &hostile.lingerers[i];
        Reply r;
        hostile.kind = l->kind;
        hostile.name = kinds[l->kind].name;
        read_reply(l->fd, &r);
        told += r.status == 408;
        if (l->silent_end)
            reply_free(&r); /* the rest of the sound, as far as it was sent */
        else
            EXPECT(&r, 408, 0);
        close(l->fd);
    }
    print_message("%d connections lingered; %d were told 408\n", hostile.lingering, told);
    assert_true(hostile.lingering == 0 || told > 0);
}

static int count_descriptors(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)hostile.server.run.pid);
    return entries_of(path);
}

static double metric(const char *name) { return serve_metric(port(), name); }

static void everybody_is_answered(void **state)
{
    const char *seed = getenv("MYXTTS_SEED");
    /* A sanitizer makes each several times as slow. */
    const int requests = SANITIZED && !is_long() ? REQUESTS / 4 : REQUESTS;
    rng_seed(&hostile.rng, seed ? strtoull(seed, NULL, 10) : 14);
    hostile.name = hostile.sent = "the beginning";
    good_request();
    const int descriptors = count_descriptors();
    double memory = 0;
    for (int i = 0; i < requests; i++) {
        const struct Kind *k = &kinds[(size_t)i % KINDS];
        hostile.kind = (int)((size_t)i % KINDS);
        hostile.name = k->name;
        k->run();
        poke_lingerers();
        good_request();
        serve_drain(&hostile.server);
        if (i == requests / 2)
            memory = metric("process_resident_memory_bytes");
    }
    bury_lingerers();
    for (double end = clock_now() + 60; metric("myxtts_talks_open") > 0 && clock_now() < end;)
        clock_sleep(0.05);
    assert_true(metric("myxtts_talks_open") == 0);
    for (double end = clock_now() + 60; count_descriptors() > descriptors && clock_now() < end;)
        clock_sleep(0.05);
    const int left = count_descriptors();
    double grown = metric("process_resident_memory_bytes") - memory;
    print_message(
        "%d requests of %zu kinds; descriptors %d, then %d; memory grew by %.1f MB in the second half\n",
        requests, KINDS, descriptors, left, grown / 1e6);
    for (size_t k = 0; k < KINDS; k++) {
        print_message("  %-30s", kinds[k].name);
        for (int i = 0; i < MOST_STATUS; i++)
            if (hostile.statuses[k][i])
                print_message(i ? "  %d: %d" : "  %.0dended: %d", i, hostile.statuses[k][i]);
        print_message("\n");
    }
    assert_true(left <= descriptors);
    assert_true(SANITIZED || grown < 40e6);
}

static int setup_lab(void **state)
{
    void *made = NULL;
    struct rlimit l;
    char run[256];
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max < 4000 ? l.rlim_max : 4000;
    setrlimit(RLIMIT_NOFILE, &l);
    if (corpus_setup(&made))
        return -1;
    hostile.c = made;
    snprintf(run, sizeof run, "%s/run", hostile.c->root);
    make_served_voice(hostile.c, run);
    serve_start(&hostile.server,
                ARGS("--checkpoint", run, "--max-text", "2000", "--max-upload", MAX_UPLOAD, "--max-body", "1",
                     "--max-requests", "30", "--max-wait", "3600", "--request-timeout", TIMEOUT));
    return 0;
}

static int teardown_lab(void **state)
{
    void *made = hostile.c;
    serve_stop(&hostile.server);
    buf_free(&hostile.good);
    return corpus_teardown(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everybody_is_answered)};
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
