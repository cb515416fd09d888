/* The symbol table: ids are fixed, every symbol is found again, unknown ones are reported with their code
 * point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "text/phonemes/tokens.h"
#include "text/unicode.h"

/* Ids that caches and checkpoints rely on: a change here is a new version of the table. */
static void test_ids_are_fixed(void **state)
{
    assert_int_equal(TOKENS_VERSION, 1);
    assert_int_equal(tokens_count(), 500);
    assert_int_equal(tokens_find(' '), 4);
    assert_int_equal(tokens_find('!'), 5);
    assert_int_equal(tokens_find('a'), 70);
    assert_int_equal(tokens_find(0x2C8), 438); /* primary stress */
    assert_int_equal(tokens_find(0x259), 331); /* schwa */
    Hash128 h = tokens_hash();
    assert_true(h.lo == UINT64_C(0xdaeec85e0f388193) && h.hi == UINT64_C(0x95b3abf63fbb2fcd));
}

static void test_every_symbol_is_found(void **state)
{
    for (int id = 0; id < TOKEN_FIRST_SYMBOL; id++)
        assert_int_equal(tokens_code_point(id), 0);
    for (int id = TOKEN_FIRST_SYMBOL; id < tokens_count(); id++) {
        char name[8];
        uint32_t cp = tokens_code_point(id);
        size_t at = 0;
        assert_true(cp > 0);
        assert_int_equal(tokens_find(cp), id);
        tokens_name(id, name);
        assert_int_equal(unicode_next(name, strlen(name), &at), cp);
        assert_int_equal(at, strlen(name));
    }
    assert_int_equal(tokens_find(0), -1);
    assert_int_equal(tokens_find(0x4E00), -1);
    assert_int_equal(tokens_find(0x10FFFF), -1);
    assert_int_equal(tokens_code_point(tokens_count()), 0);
    assert_int_equal(tokens_code_point(-1), 0);
    char name[8];
    assert_string_equal(tokens_name(TOKEN_PAD, name), "<pad>");
    assert_string_equal(tokens_name(TOKEN_BLANK, name), "<blank>");
    assert_string_equal(tokens_name(tokens_count(), name), "<?>");
}

static void test_encode(void **state)
{
    Buf out = {0}, unknown = {0};
    const char *text = "a \xE4\xB8\xAD\xCB\x88"
                       "a"; /* a, space, a Chinese character, stress, a */
    tokens_encode(&out, &unknown, text, strlen(text), 0);
    const uint16_t plain[] = {70, 4, 438, 70};
    assert_int_equal(out.size, sizeof plain);
    assert_memory_equal(out.data, plain, sizeof plain);
    assert_int_equal(unknown.size, 4);
    uint32_t cp;
    memcpy(&cp, unknown.data, 4);
    assert_int_equal(cp, 0x4E2D);

    buf_clear(&out);
    tokens_encode(&out, NULL, "ab", 2, 1);
    const uint16_t blanks[] = {70, TOKEN_BLANK, 71, TOKEN_BLANK};
    assert_int_equal(out.size, sizeof blanks);
    assert_memory_equal(out.data, blanks, sizeof blanks);

    /* longer than any buffer inside, with blanks and without */
    char many[1001];
    memset(many, 'b', 1000);
    for (int with = 0; with < 2; with++) {
        buf_clear(&out);
        tokens_encode(&out, &unknown, many, 1000, with);
        assert_int_equal(out.size, 2000u << with);
        for (size_t i = 0; i < out.size / 2; i++) {
            uint16_t id;
            memcpy(&id, out.data + 2 * i, 2);
            assert_int_equal(id, with && i % 2 ? TOKEN_BLANK : 71);
        }
    }
    buf_free(&out);
    buf_free(&unknown);
}

/* Character mode: the lower-case alphabets of the languages that are not written with thousands of
 * characters. */
static void test_alphabets(void **state)
{
    static const char *const alphabets[] = {
        "abcdefghijklmnopqrstuvwxyzáéíóúüñ",
        "àâæçéèêëîïôœùûüÿ",
        "äöüß",
        "àèéìíîòóùú",
        "ãâáàçéêíóôõú",
        "ąćęłńóśźż",
        "çğıöşü",
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        "áčďéěíňóřšťúůýž",
        "áéíóöőúüű",
        "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأؤإئىة",
        "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی\xE2\x80\x8C",
    };
    for (size_t i = 0; i < sizeof alphabets / sizeof alphabets[0]; i++) {
        Buf out = {0}, unknown = {0};
        tokens_encode(&out, &unknown, alphabets[i], strlen(alphabets[i]), 0);
        if (unknown.size)
            print_error("unknown letter in %s\n", alphabets[i]);
        assert_int_equal(unknown.size, 0);
        buf_free(&out);
        buf_free(&unknown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_fixed),
        cmocka_unit_test(test_every_symbol_is_found),
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_alphabets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
