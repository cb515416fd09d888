/* test_symbols_seen.c - what the vectors of symbols begin with that a voice has never met. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "text/phonemes/tokens.h"
#include "voice/symbols_seen.h"

static int id_of(uint32_t c)
{
    int id = tokens_find(c);
    assert_true(id > 0);
    return id;
}

static void new_symbols_begin_as_near_ones(void **state)
{
    enum { DIM = 3 };
    const int n = tokens_count(), i = id_of('i'), o = id_of('o'), y = id_of('y'), far = id_of('7');
    uint8_t *seen = calloc((size_t)n, 1);
    float *vectors = calloc((size_t)n, DIM * sizeof *vectors);
    vectors[y * DIM] = 99; /* noise */
    symbols_fill(vectors, seen, DIM);
    assert_true(vectors[y * DIM] == 99); /* nothing is known */
    seen[i] = seen[o] = 1;
    vectors[i * DIM] = 1;
    vectors[o * DIM] = 3;
    assert_int_equal(symbols_nearest(seen, y), i);
    assert_int_equal(symbols_nearest(seen, far), -1);
    symbols_fill(vectors, seen, DIM);
    assert_true(vectors[i * DIM] == 1 && vectors[o * DIM] == 3);
    assert_true(vectors[y * DIM] == 1);
    assert_true(vectors[far * DIM] == 2); /* the mean */
    assert_true(vectors[TOKEN_BLANK * DIM] == 0);
    free(seen);
    free(vectors);
}

/* Every sound of a line has a near one, whichever of the others is known. */
static void the_nearest_is_the_nearest(void **state)
{
    static const struct {
        uint32_t symbol, seen[2];
        int nearest;
    } cases[] = {{0x00F8, {'e', 0x025B}, 'e'},    /* o with a stroke: e, not the open one */
                 {'r', {0x0279, 0x027E}, 0x027E}, /* a tap rather than an approximant */
                 {0x00E7, {'x', 'h'}, 'x'},       /* the German ich */
                 {'!', {'.', ','}, '.'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t *seen = calloc((size_t)tokens_count(), 1);
        for (int k = 0; k < 2; k++)
            seen[id_of(cases[i].seen[k])] = 1;
        assert_int_equal(symbols_nearest(seen, id_of(cases[i].symbol)), id_of((uint32_t)cases[i].nearest));
        free(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(new_symbols_begin_as_near_ones),
                                       cmocka_unit_test(the_nearest_is_the_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
