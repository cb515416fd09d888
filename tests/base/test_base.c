/* test_base.c - errors, memory, text, JSON, hash table, random numbers, statistics, half precision. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/utf8.h"
#include "cache/half.h"

/* The sanitizers' allocators abort on huge sizes unless told to return NULL, as the system's does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static void test_err_codes(void **state)
{
    static const struct {
        int code, exit_code;
    } rows[] = {{ERR_IO, 3},      {ERR_NOMEM, 3},   {ERR_USAGE, 2},   {ERR_CONFIG, 2},  {ERR_FORMAT, 3},
                {ERR_DATA, 3},    {ERR_DAMAGED, 3}, {ERR_NOSPACE, 3}, {ERR_STOPPED, 3}, {ERR_WORKER, 3},
                {ERR_MISSING, 3}, {ERR_DEVICE, 3},  {ERR_RANKS, 3},   {ERR_BUSY, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(rows[i].code < 0);
        assert_int_equal(err_exit_code(rows[i].code), rows[i].exit_code);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(rows[i].code, rows[k].code);
    }
    assert_int_equal(err_exit_code(0), 0);
}

static void test_err_messages(void **state)
{
    Err err = {0};
    assert_int_equal(err_set(&err, ERR_DATA, "line %d", 7), ERR_DATA);
    assert_string_equal(err.msg, "line 7");
    assert_int_equal(err_hint(&err, "try %s", "less"), ERR_DATA);
    assert_string_equal(err.hint, "try less");
    assert_int_equal(err_prefix(&err, "m.csv:%d", 3), ERR_DATA);
    assert_string_equal(err.msg, "m.csv:3: line 7");
    assert_string_equal(err.hint, "try less");
    assert_int_equal(err_about(&err, ERR_ABOUT_DEVICE, "sim0"), ERR_DATA);
    err_prefix(&err, "rank 1");
    assert_true(err_is_about(&err, ERR_ABOUT_DEVICE, "sim0"));
    assert_false(err_is_about(&err, ERR_ABOUT_DEVICE, "sim") ||
                 err_is_about(&err, ERR_ABOUT_REFERENCE, "sim0"));
    err_set(&err, ERR_IO, "again");
    assert_string_equal(err.hint, "");
    assert_int_equal(err.subject, ERR_ABOUT_NOTHING);
    err_clear(&err);
    assert_true(err.code == 0 && !err.msg[0] && !err.hint[0]);
    /* Nobody listens: the code still comes back, and a hint never turns an error into success. */
    assert_int_equal(err_set(NULL, ERR_DATA, "x"), ERR_DATA);
    assert_true(err_hint(NULL, "x") < 0);
    assert_true(err_prefix(NULL, "x") < 0);
    err_clear(NULL);
}

static void test_err_errno(void **state)
{
    static const struct {
        int number, code;
    } rows[] = {{ENOSPC, ERR_NOSPACE}, {EDQUOT, ERR_NOSPACE}, {ENOMEM, ERR_NOMEM},
                {EIO, ERR_IO},         {EACCES, ERR_IO},      {EFBIG, ERR_NOSPACE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Err err = {0};
        char want[200];
        errno = rows[i].number;
        assert_int_equal(err_set_errno(&err, ERR_IO, "cannot write %s", "f"), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
        snprintf(want, sizeof want, "cannot write f: %s", strerror(rows[i].number));
        assert_string_equal(err.msg, want);
        errno = rows[i].number;
        assert_int_equal(err_set_errno(NULL, ERR_IO, "x"), rows[i].code);
    }
}

static size_t valid_utf8_prefix(const char *s)
{
    size_t i = 0;
    while (s[i]) {
        unsigned char c = (unsigned char)s[i];
        size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        for (size_t k = 1; k < n; k++)
            if (((unsigned char)s[i + k] & 0xC0) != 0x80)
                return i;
        i += n;
    }
    return i;
}

static void test_err_cut_at_a_character(void **state)
{
    static const char *const characters[] = {"x", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"};
    for (size_t c = 0; c < 4; c++) {
        for (size_t shift = 0; shift < 4; shift++) {
            char text[2000] = "abcd";
            text[shift] = 0;
            while (strlen(text) < 1500)
                strcat(text, characters[c]);
            Err err = {0};
            err_set(&err, ERR_DATA, "%s", text);
            assert_int_equal(valid_utf8_prefix(err.msg), strlen(err.msg));
            assert_true(strlen(err.msg) + strlen(characters[c]) >= sizeof err.msg);
            err_hint(&err, "%s", text);
            assert_int_equal(valid_utf8_prefix(err.hint), strlen(err.hint));
            assert_true(strlen(err.hint) + strlen(characters[c]) >= sizeof err.hint);
            err_prefix(&err, "%.*s", 40, "a place");
            assert_int_equal(valid_utf8_prefix(err.msg), strlen(err.msg));
            errno = EIO;
            err_set_errno(&err, ERR_IO, "%s", text);
            assert_int_equal(valid_utf8_prefix(err.msg), strlen(err.msg));
        }
    }
}

static void test_mem_overflow(void **state)
{
    assert_null(mem_calloc(SIZE_MAX / 2, 3));
    void *p = mem_calloc(4, 4);
    assert_null(mem_realloc(p, SIZE_MAX / 2, 3));
    memset(p, 1, 16); /* still ours */
    p = mem_realloc(p, 0, 8);
    assert_non_null(p);
    free(p);
    assert_null(mem_aligned(64, SIZE_MAX / 2, 3));
    assert_null(mem_aligned(64, SIZE_MAX - 10, 1));
    for (size_t align = 8; align <= 4096; align *= 2) {
        void *q = mem_aligned(align, 3, 5);
        assert_int_equal((uintptr_t)q % align, 0);
        free(q);
    }
    p = mem_calloc(0, 0);
    assert_non_null(p);
    free(p);
}

static void test_mem_grow(void **state)
{
    uint64_t *items = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(mem_grow(&items, &cap, i + 1, sizeof *items), 0);
        assert_true(cap > i);
        items[i] = i;
    }
    assert_true(cap < 2048);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    size_t before = cap;
    uint64_t *same = items;
    assert_int_equal(mem_grow(&items, &cap, SIZE_MAX, sizeof *items), ERR_NOMEM);
    assert_int_equal(mem_grow(&items, &cap, SIZE_MAX / 16, sizeof *items), ERR_NOMEM);
    assert_true(cap == before && items == same);
    free(items);
}

static void test_block(void **state)
{
    Block b = {0};
    Rng r;
    rng_seed(&r, 1);
    enum { N = 3000 };
    static uint8_t *at[N];
    static size_t size[N];
    size_t total = 0;
    for (size_t i = 0; i < N; i++) {
        size_t align = (size_t)1 << rng_below(&r, 5);
        size[i] = rng_below(&r, i % 100 ? 200 : 200000);
        at[i] = block_alloc(&b, size[i], align);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % align, 0);
        for (size_t k = 0; k < size[i]; k++)
            assert_int_equal(at[i][k], 0);
        memset(at[i], (int)(i % 251 + 1), size[i]);
        total += size[i];
    }
    for (size_t i = 0; i < N; i++) /* none lies over another */
        for (size_t k = 0; k < size[i]; k++)
            assert_int_equal(at[i][k], i % 251 + 1);
    assert_int_equal(b.used, total);
    assert_null(block_alloc(&b, SIZE_MAX - 8, 1));
    assert_null(block_strndup(&b, "x", SIZE_MAX));
    assert_string_equal(block_strndup(&b, "hello", 3), "hel");
    assert_string_equal(block_strndup(&b, NULL, 0), "");
    block_free(&b);
    block_free(&b);
}

static void test_buf(void **state)
{
    Buf b = {0};
    buf_add(&b, NULL, 0);
    assert_int_equal(b.size, 0);
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%d,", i);
    assert_int_equal(b.size, 3890);
    assert_int_equal(strlen(b.data), b.size);
    assert_non_null(strstr(b.data, ",998,999,"));
    buf_clear(&b);
    assert_string_equal(b.data, "");
    buf_str(&b, "ab");
    buf_zero(&b, 3);
    buf_add(&b, "c", 1);
    assert_memory_equal(b.data, "ab\0\0\0c", 7);
    /* No memory: it stays failed, and keeps what it had. */
    buf_zero(&b, SIZE_MAX - 20);
    assert_true(b.failed && b.size == 6);
    buf_str(&b, "more");
    buf_printf(&b, "more");
    assert_true(b.failed && b.size == 6);
    buf_clear(&b);
    buf_str(&b, "fresh");
    assert_true(!b.failed && b.size == 5);
    buf_free(&b);
    buf_free(&b);
}

static void test_bytes(void **state)
{
    uint8_t p[8];
    put_u32(p, 0x01020304);
    assert_memory_equal(p, "\x04\x03\x02\x01", 4);
    put_u64(p, 0x0102030405060708);
    assert_true(p[0] == 8 && p[7] == 1 && get_u64(p) == 0x0102030405060708 && get_u32(p) == 0x05060708 &&
                get_u16(p) == 0x0708);
    put_u16(p, 0xABCD);
    assert_true(p[0] == 0xCD && p[1] == 0xAB);
    assert_true(round_up(0, 64) == 0 && round_up(1, 64) == 64 && round_up(64, 64) == 64 &&
                round_up(65, 64) == 128);
}

/* xoshiro256** as a linear map, written another way: bits in arrays, multiplication by shifts and sums. */
typedef struct Slow {
    uint8_t bit[4][64];
} Slow;

static uint64_t slow_number(const uint8_t *bit)
{
    uint64_t x = 0;
    for (int i = 0; i < 64; i++)
        x += (uint64_t)bit[i] * ((uint64_t)1 << i);
    return x;
}

static void slow_load(uint8_t *bit, uint64_t x)
{
    for (int i = 0; i < 64; i++, x /= 2)
        bit[i] = x % 2;
}

static uint64_t slow_next(Slow *s)
{
    uint8_t rolled[64], t[64], times5[64];
    slow_load(times5, slow_number(s->bit[1]) + 4 * slow_number(s->bit[1]));
    for (int i = 0; i < 64; i++)
        rolled[(i + 7) % 64] = times5[i];
    uint64_t out = slow_number(rolled) + 8 * slow_number(rolled);
    for (int i = 0; i < 64; i++)
        t[i] = i >= 17 ? s->bit[1][i - 17] : 0;
    for (int i = 0; i < 64; i++) {
        s->bit[2][i] = (s->bit[2][i] + s->bit[0][i]) % 2;
        s->bit[3][i] = (s->bit[3][i] + s->bit[1][i]) % 2;
        s->bit[1][i] = (s->bit[1][i] + s->bit[2][i]) % 2;
        s->bit[0][i] = (s->bit[0][i] + s->bit[3][i]) % 2;
        s->bit[2][i] = (s->bit[2][i] + t[i]) % 2;
    }
    for (int i = 0; i < 64; i++)
        rolled[(i + 45) % 64] = s->bit[3][i];
    memcpy(s->bit[3], rolled, 64);
    return out;
}

static void test_utf8_tame(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {{"plain, \u00e4\u06cc\U0001F600\n\tx", "plain, \u00e4\u06cc\U0001F600\n\tx"},
                {"\033]0;title\a\033[2J", "?]0;title??[2J"},
                {"over\rwritten\b\x7f", "over?written??"},
                {"\xc2\x9b"
                 "31m \xc2\x85\u00a0",
                 "?31m ?\u00a0"},
                {"\x9b stray \xff\xc2", "? stray ??"},
                {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", rows[i].text);
        text[utf8_tame(text, strlen(text))] = 0;
        assert_string_equal(text, rows[i].want);
    }
}

static void test_utf8(void **state)
{
    char out[64], bytes[4];
    static const char text[] = "a\u00e4\u20ac\U0001F600"; /* 1, 2, 3 and 4 bytes */
    static const size_t cut[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (size_t most = 0; most <= 10; most++)
        assert_int_equal(utf8_cut(text, 10, most), cut[most]);
    assert_int_equal(utf8_cut(text, 10, 99), 10);
    assert_int_equal(utf8_count(text, 10), 4);
    assert_int_equal(utf8_prefix(text, 10, 2), 3);
    assert_int_equal(utf8_prefix(text, 10, 4), 10);
    static const uint32_t points[] = {'a', 0xE4, 0x20AC, 0x1F600};
    for (size_t i = 0, at = 0; i < 4; i++) {
        size_t n = utf8_put(bytes, points[i]);
        assert_memory_equal(bytes, text + at, n);
        at += n;
    }
    /* every single byte and every pair: valid only where the standard says so */
    for (unsigned a = 0; a < 256; a++) {
        char pair[2] = {(char)a, 0};
        assert_int_equal(utf8_valid(pair, 1), a < 0x80);
        for (unsigned b = 0; b < 256; b++) {
            pair[1] = (char)b;
            size_t want = a < 0x80                                       ? (b < 0x80 ? 2 : 1)
                          : a >= 0xC2 && a <= 0xDF && (b & 0xC0) == 0x80 ? 2
                                                                         : 0;
            assert_int_equal(utf8_valid(pair, 2), want);
        }
    }
    utf8_show(out, 12, "\u00e4\u00e4\u00e4\u00e4\tb");
    assert_string_equal(out, "\u00e4\u00e4\u00e4\u00e4...");
    utf8_show(out, sizeof out, "a\tb");
    assert_string_equal(out, "a?b");
}

static void test_json(void **state)
{
    json_t *o = json_pack("{s:o, s:o, s:o, s:o}", "nan", json_from_double(NAN), "half", json_from_double(0.5),
                          "bytes", json_from_text("a\xFF"), "empty", json_from_bytes(NULL, 0));
    assert_true(json_is_null(json_object_get(o, "nan")));
    assert_true(json_get_double(o, "half") == 0.5);
    assert_true(isnan(json_get_double(o, "nan")) && isnan(json_get_double(o, "none")));
    assert_int_equal(json_get_count(o, "half", 7), 0);
    assert_int_equal(json_get_count(o, "nan", 7), 7);
    assert_string_equal(json_string_value(json_object_get(o, "bytes")), "a?");
    assert_string_equal(json_string_value(json_object_get(o, "empty")), "");
    json_decref(o);
}

static void test_map(void **state)
{
    Map m = {0};
    uint32_t found;
    MapWalk w = map_walk(&m, 5);
    assert_int_equal(map_next(&w, &found), 0);
    for (uint32_t i = 0; i < 1000; i++) /* many keys share the low bits, so runs are long and wrap around */
        assert_int_equal(map_add(&m, i % 100 == 99 ? 0xFFFFFFFFu : i * 64, i), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        int times = 0;
        for (w = map_walk(&m, i % 100 == 99 ? 0xFFFFFFFFu : i * 64); map_next(&w, &found);)
            times += found == i;
        assert_int_equal(times, 1);
    }
    w = map_walk(&m, 3);
    assert_int_equal(map_next(&w, &found), 0);
    map_free(&m);
    map_free(&m);
    assert_int_equal(map_reserve(&m, 10), 0);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(map_add(&m, 31, i), 0);
    uint32_t next = 0;
    for (w = map_walk(&m, 31); map_next(&w, &found);)
        assert_int_equal(found, next++); /* equal keys in the order they came */
    assert_int_equal(next, 10);
    map_free(&m);
}

static void test_rng_values(void **state)
{
    static const uint64_t seeds[] = {0, 1, 42, UINT64_MAX, 0x123456789ABCDEF0};
    for (size_t k = 0; k < 5; k++) {
        Rng r;
        Slow s;
        unsigned __int128 m = seeds[k];
        rng_seed(&r, seeds[k]);
        for (int i = 0; i < 4; i++) { /* splitmix64 in arithmetic modulo 2^64 */
            m = (m + 11400714819323198485u) & UINT64_MAX;
            unsigned __int128 z = m;
            z = ((z ^ z / (1u << 30)) * 13787848793156543929u) & UINT64_MAX;
            z = ((z ^ z / (1u << 27)) * 10723151780598845931u) & UINT64_MAX;
            slow_load(s.bit[i], (uint64_t)(z ^ z / (1u << 31)));
            assert_true(slow_number(s.bit[i]) == r.s[i]);
        }
        for (int i = 0; i < 200; i++)
            assert_true(rng_u64(&r) == slow_next(&s));
    }
    /* The first value of splitmix64 from seed 0, as published with the generator. */
    Rng zero;
    rng_seed(&zero, 0);
    assert_true(zero.s[0] == 0xE220A8397B1DCDAF);
}

static void test_rng_spread(void **state)
{
    Rng r;
    rng_seed(&r, 5);
    enum { CELLS = 7, N = 70000 };
    int count[CELLS] = {0};
    Stats u = {0}, g = {0};
    for (int i = 0; i < N; i++) {
        count[rng_below(&r, CELLS)]++;
        double x = rng_uniform(&r);
        assert_true(x >= 0 && x < 1);
        stats_add(&u, x);
        stats_add(&g, rng_normal(&r));
    }
    double chi = 0;
    for (int i = 0; i < CELLS; i++)
        chi += pow(count[i] - N / (double)CELLS, 2) / (N / (double)CELLS);
    assert_true(chi < 30); /* 6 degrees of freedom */
    assert_true(fabs(u.mean - 0.5) < 0.01 && fabs(stats_std(&u) - sqrt(1 / 12.0)) < 0.01);
    assert_true(fabs(g.mean) < 0.02 && fabs(stats_std(&g) - 1) < 0.02 && g.max > 3 && g.min < -3);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_below(&r, 1), 0);
    assert_true(rng_mix(1, 2) != rng_mix(2, 1) && rng_mix(1, 2) != rng_mix(1, 3) &&
                rng_mix(1, 2) == rng_mix(1, 2));
}

static void test_rng_shuffle(void **state)
{
    Rng r;
    rng_seed(&r, 6);
    int first[5][5] = {{0}};
    for (int round = 0; round < 5000; round++) {
        uint32_t items[5] = {0, 1, 2, 3, 4}, seen = 0;
        rng_shuffle_u32(&r, items, 5);
        for (int i = 0; i < 5; i++) {
            seen |= 1u << items[i];
            first[i][items[i]]++;
        }
        assert_int_equal(seen, 31);
    }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++)
            assert_in_range(first[i][k], 850, 1150);
    rng_shuffle_u32(&r, NULL, 0);
}

static void test_stats(void **state)
{
    Stats s = {0};
    assert_true(stats_std(&s) == 0);
    static const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    for (int i = 0; i < 8; i++)
        stats_add(&s, 1e9 + x[i]); /* the sum of squares would lose all digits here */
    assert_true(s.n == 8 && fabs(s.mean - 1e9 - 5) < 1e-6 && fabs(stats_std(&s) - 2) < 1e-6);
    assert_true(s.min == 1e9 + 2 && s.max == 1e9 + 9);
    double y[] = {40, 10, 30, 20};
    assert_true(stats_percentile(y, 4, 0) == 10 && stats_percentile(y, 4, 1) == 40);
    assert_true(fabs(stats_percentile(y, 4, 0.5) - 25) < 1e-12 &&
                fabs(stats_percentile(y, 4, 0.25) - 17.5) < 1e-12);
    assert_true(stats_percentile(y, 1, 0.9) == 10 && stats_percentile(y, 0, 0.5) == 0);
}

static void test_histogram(void **state)
{
    Buf out = {0};
    double x[100];
    for (int i = 0; i < 100; i++)
        x[i] = i / 10.0;
    stats_draw_histogram(&out, x, 100, 10, 20, " s");
    size_t rows = 0, sum = 0;
    for (char *save, *line = strtok_r(out.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        rows++;
        sum += strtoul(strrchr(line, ' ') + 1, NULL, 10);
        assert_non_null(strstr(line, " s "));
    }
    assert_in_range(rows, 8, 12);
    assert_int_equal(sum, 100);
    buf_clear(&out);
    double same[3] = {5, 5, 5};
    stats_draw_histogram(&out, same, 3, 10, 8, "");
    assert_non_null(strstr(out.data, "████████ 3\n"));
    buf_clear(&out);
    stats_draw_histogram(&out, same, 0, 10, 8, "");
    assert_int_equal(out.size, 0);
    double odd[4] = {1e300, -1e300, INFINITY, NAN}; /* not sensible, but no reason to fall over */
    stats_draw_histogram(&out, odd, 2, 10, 8, "");
    stats_draw_histogram(&out, odd, 4, 10, 8, "");
    double far[2] = {1e300, 1e300};
    stats_draw_histogram(&out, far, 2, 10, 8, "");
    assert_false(out.failed);
    buf_free(&out);
}

static double half_value(uint16_t h) /* by the definition */
{
    int e = h >> 10 & 31, f = h & 1023;
    double v = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
    return h & 0x8000 ? -v : v;
}

static void test_half_to_float(void **state)
{
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i, back;
        float f;
        half_to_float(&f, &h, 1);
        double want = half_value(h);
        if (isnan(want)) {
            assert_true(isnan(f));
            half_from_float(&back, &f, 1);
            assert_true((back & 0x7C00) == 0x7C00 && (back & 0x3FF));
            continue;
        }
        assert_true((double)f == want && !signbit(f) == !signbit(want));
        half_from_float(&back, &f, 1);
        assert_int_equal(back, h);
    }
}

/* The nearest half, by looking at both neighbours; at equal distance the one with the even last bit. */
static uint16_t slow_half(float f)
{
    double a = fabs((double)f);
    uint32_t lo = 0, hi = 0x7C00;
    while (hi - lo > 1) { /* lo: the largest half not above a */
        uint32_t mid = (lo + hi) / 2;
        double v = mid == 0x7C00 ? 65536 : half_value((uint16_t)mid);
        *(v <= a ? &lo : &hi) = mid;
    }
    double below = half_value((uint16_t)lo), above = hi == 0x7C00 ? 65536 : half_value((uint16_t)hi);
    uint32_t best = a - below < above - a ? lo : a - below > above - a ? hi : lo % 2 ? hi : lo;
    return (uint16_t)(best | (signbit(f) ? 0x8000u : 0));
}

static void test_half_rounding(void **state)
{
    Rng r;
    rng_seed(&r, 8);
    for (uint32_t i = 0; i < 0x7C00; i++) { /* the middle between neighbours, and a hair to each side */
        double a = half_value((uint16_t)i), b = i == 0x7BFF ? 65536 : half_value((uint16_t)(i + 1));
        float mid = (float)((a + b) / 2), f[6] = {mid, nextafterf(mid, 0), nextafterf(mid, INFINITY)};
        for (int k = 0; k < 3; k++)
            f[k + 3] = -f[k];
        uint16_t h[6];
        half_from_float(h, f, 6);
        for (int k = 0; k < 6; k++)
            assert_int_equal(h[k], slow_half(f[k]));
    }
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)rng_u64(&r);
        if (i % 2) /* exponents near those of halves */
            bits = (bits & 0x807FFFFF) | (uint32_t)(rng_below(&r, 45) + 100) << 23;
        float f;
        uint16_t h;
        memcpy(&f, &bits, 4);
        if (isnan(f))
            continue;
        half_from_float(&h, &f, 1);
        assert_int_equal(h, slow_half(f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_tame),
        cmocka_unit_test(test_err_codes),
        cmocka_unit_test(test_err_messages),
        cmocka_unit_test(test_err_errno),
        cmocka_unit_test(test_err_cut_at_a_character),
        cmocka_unit_test(test_mem_overflow),
        cmocka_unit_test(test_mem_grow),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_rng_values),
        cmocka_unit_test(test_rng_spread),
        cmocka_unit_test(test_rng_shuffle),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_half_to_float),
        cmocka_unit_test(test_half_rounding),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
