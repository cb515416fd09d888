/* long_tests.h - whether the long tests were asked for (`make test-long`). */
#ifndef TESTS_LONG_TESTS_H
#define TESTS_LONG_TESTS_H

int is_long(void); /* MYXTTS_LONG is set, and not to 0 */

#endif
