/* digits_check.h - the judge on sounds made here: does it tell what is different, accept what is the same,
 * and fail when it should? For digits.c. */
#ifndef MYXTTS_DIGITS_CHECK_H
#define MYXTTS_DIGITS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "digits_score.h"

/* Every check is printed; *passed is 0 after the first that failed. Fails when there is no memory. */
int self_check(int *passed, Err *err);

#endif
