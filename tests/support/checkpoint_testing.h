/* checkpoint_testing.h - the checkpoints that a training left, compared tensor by tensor. */
#ifndef TESTS_CHECKPOINT_TESTING_H
#define TESTS_CHECKPOINT_TESTING_H

#include <stdint.h>

/* The checkpoint of a step in that folder; valid until the fourth call from now. */
const char *step_file(const char *folder, int64_t step);

/* Every tensor of both files, bit by bit, but those whose names begin with one of the words in `without`
 * (NULL: all). Returns how many were compared. */
int compare_checkpoints(const char *a, const char *b, const char *without);

#endif
