/* long_tests.h - how much a test should do: whether the long tests were asked for (`make test-long`), and
 * whether a sanitizer makes everything slow. What a sanitizer cannot see better may then be done once less.
 */
#ifndef TESTS_LONG_TESTS_H
#define TESTS_LONG_TESTS_H

/* The sanitizers have costs in memory and time of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

int is_long(void); /* MYXTTS_LONG is set, and not to 0 */

#endif
