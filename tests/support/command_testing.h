/* command_testing.h - commands of the program, and what has to come of them. */
#ifndef TESTS_COMMAND_TESTING_H
#define TESTS_COMMAND_TESTING_H

#include <jansson.h>

#define ARGS(...) \
    (const char *const[]) { __VA_ARGS__, NULL }
#define WORDS ARGS

/* The program fails with this code, says all the words and leaves no such file (NULL: any). */
void expect_failure(int code, const char *const *args, const char *const *words, const char *file);
/* The object that a command prints; `said` (may be NULL) must be in what it logs. */
json_t *run_json(const char *const *args, const char *said);
const char *text_at(const json_t *o, const char *key); /* "" if there is none */

#endif
