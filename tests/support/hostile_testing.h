/* hostile_testing.h - what the kinds of hostile requests share (test_serve_hostile.c), and the kinds. Each
 * call sends one, or a handful that belong together, and fails the test when the status is not a right one.
 */
#ifndef TESTS_HOSTILE_TESTING_H
#define TESTS_HOSTILE_TESTING_H

#include "http_testing.h"

#include "base/rng.h"

#define LINGERERS 400
#define JSON_HEAD "Content-Type: application/json\r\n"
#define SPEECH_HEAD "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\n" JSON_HEAD
#define MAX_BODY (1 << 20) /* of the server, and its other limits */
#define MAX_TEXT 2000
#define MAX_UPLOAD "0.1"
#define MOST_STATUS 600

typedef struct Lingerer {
    int fd;
    int trickles;   /* a byte more with every request */
    int silent_end; /* 1: no answer is due, only the end */
    int kind;
} Lingerer;

typedef struct HostileLab {
    Corpus *c;
    ServeRun server;
    Rng rng;
    int kind;         /* that is being sent */
    const char *name; /* of it */
    const char *sent; /* raw, for a message */
    Buf good;         /* what the good request is answered with */
    Lingerer lingerers[LINGERERS];
    int lingering;
    int statuses[100][MOST_STATUS]; /* of each kind */
} HostileLab;
extern HostileLab hostile;

int port(void);
uint64_t below(uint64_t n);
#define PICK(list) ((list)[below(sizeof(list) / sizeof *(list))])
#define ALL SIZE_MAX /* of a text: up to its end */

/* The status must be one of these, -1 at the end; errors of ours are objects as OpenAI's. Frees the reply. */
void expect_status(Reply *r, const int *allowed);
#define EXPECT(r, ...) expect_status(r, (const int[]){__VA_ARGS__, -1})
void send_json(const char *json, size_t size, const int *allowed);
#define JSON(text, ...) send_json(text, ALL, (const int[]){__VA_ARGS__, -1})
/* On a connection of its own, which says that nothing more follows. */
void send_raw(const void *p, size_t n, const int *allowed);
#define RAW(text, ...) send_raw(text, ALL, (const int[]){__VA_ARGS__, -1})
void fill_random(char *p, size_t n);
void linger(int fd, int trickles, int silent_end);

/* ---- the kinds ---- */

void json_cut_off(void);
void json_of_another_kind(void);
void json_very_deep(void);
void json_of_a_million_values(void);
void json_not_utf8(void);
void json_bad_escapes(void);
void body_of_noise(void);
void body_empty(void);
void members_of_wrong_types(void);
void numbers_that_are_none(void);
void numbers_out_of_range(void);
void names_of_nobody(void);
void name_very_long(void);
void formats_of_nobody(void);
void text_too_long(void);
void text_without_anything_to_say(void);
void reference_not_base64(void);
void reference_of_noise(void);
void reference_damaged(void);
void reference_too_large(void);
void body_too_large(void);
void chunks_too_large(void);
void body_without_a_length(void);
void body_of_another_type(void);
void lengths_that_disagree(void);
void lengths_that_are_none(void);
void chunks_that_are_none(void);
void length_longer_than_the_body(void);
void methods_of_another_path(void);
void head_of_speech(void);
void paths_out_of_the_house(void);
void paths_that_are_no_text(void);
void queries_of_nonsense(void);
void header_huge(void);
void headers_many(void);
void address_very_long(void);
void lines_of_no_http(void);
void noise_for_a_request(void);
void no_host(void);
void foreign_hosts(void);
void headers_that_are_none(void);
void half_a_header_and_gone(void);
void half_a_body_and_gone(void);
void half_a_header_and_silence(void);
void half_a_body_and_silence(void);
void byte_by_byte(void);
void left_while_spoken_to(void);
void listens_no_further(void);
void pipelined(void);
void smuggled(void);
void many_connections(void);
void more_than_can_be_spoken(void);
void typed_errors(void);
void typed_endless(void);
void typed_byte_by_byte(void);
void typed_chunks_that_are_none(void);
void typed_and_gone(void);
void typed_and_silence(void);
void typed_and_deaf(void);
void typed_and_more_behind(void);
void typed_by_many(void);

#endif
