/* test_yaml_edit.c - edits of a YAML text: the very bytes that change, and the texts that are not touched
 * because they cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "config/config.h"
#include "config/yaml_edit.h"
#include "support/yaml_testing.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static Buf text_of(const char *s)
{
    Buf b = {0};
    buf_str(&b, s);
    return b;
}

typedef struct Case {
    const char *name, *before, *section, *key, *value, *after; /* after NULL: refused */
} Case;

static void check_set(const Case *c)
{
    Err err = {0};
    Buf text = text_of(c->before);
    int rc = yaml_edit_set(&text, &(YamlPlace){c->section, c->key, 0}, c->value, &err);
    if (!c->after) {
        if (rc != ERR_CONFIG || !err.msg[0] || strcmp(text.data, c->before) != 0)
            fail_msg("%s: was not refused (%d): %s", c->name, rc, text.data);
    } else if (rc) {
        fail_msg("%s: %s", c->name, err.msg);
    } else if (strcmp(text.data, c->after) != 0) {
        fail_msg("%s: wanted\n%s\ngot\n%s", c->name, c->after, text.data);
    }
    buf_free(&text);
}

static void test_values(void **state)
{
    static const Case cases[] = {
        {"plain", "data:\n  batch_size: 0\n", "data", "batch_size", "8", "data:\n  batch_size: 8\n"},
        {"comment behind", "data:\n  batch_size: 0   # why\n  # next\n", "data", "batch_size", "8",
         "data:\n  batch_size: 8   # why\n  # next\n"},
        {"odd blanks", "data:\n   batch_size :    0  \n", "data", "batch_size", "8",
         "data:\n   batch_size :    8  \n"},
        {"double quotes stay", "data:\n  batch_size: \"0\"\n", "data", "batch_size", "8",
         "data:\n  batch_size: \"8\"\n"},
        {"single quotes stay", "data:\n  batch_size: '0' # x\n", "data", "batch_size", "8",
         "data:\n  batch_size: '8' # x\n"},
        {"quotes around a list go", "data:\n  a: 'x'\n", "data", "a", "[y, z]", "data:\n  a: [y, z]\n"},
        {"CRLF", "data:\r\n  a: 1\r\n  b: 2\r\n", "data", "a", "3", "data:\r\n  a: 3\r\n  b: 2\r\n"},
        {"byte order mark",
         "\xEF\xBB\xBF"
         "data:\n  a: 1\n",
         "data", "a", "3",
         "\xEF\xBB\xBF"
         "data:\n  a: 3\n"},
        {"unicode before",
         "# \xD8\xB3\xD9\x84\xD8\xA7\xD9\x85 \xF0\x9F\x8E\xA4\ndata:\n  t: \"\xC3\xA4\"\n  a: 1\n", "data",
         "a", "3", "# \xD8\xB3\xD9\x84\xD8\xA7\xD9\x85 \xF0\x9F\x8E\xA4\ndata:\n  t: \"\xC3\xA4\"\n  a: 3\n"},
        {"flow", "data: {a: 1, b: 2} # c\n", "data", "a", "3", "data: {a: 3, b: 2} # c\n"},
        {"flow without blanks", "data: {\"a\":1,\"b\":2}", "data", "b", "3", "data: {\"a\":1,\"b\":3}"},
        {"flow root", "{data: {a: 1}, model: {n: 2}}\n", "model", "n", "3",
         "{data: {a: 1}, model: {n: 3}}\n"},
        {"no value", "data:\n  a:\n  b: 1\n", "data", "a", "3", "data:\n  a: 3\n  b: 1\n"},
        {"no value, comment", "data:\n  a: # later\n  b: 1\n", "data", "a", "3",
         "data:\n  a: 3 # later\n  b: 1\n"},
        {"no value at the end", "data:\n  a:", "data", "a", "3", "data:\n  a: 3"},
        {"no value in flow", "data: {a: , b: 1}\n", "data", "a", "3", "data: {a: 3, b: 1}\n"},
        {"no colon in flow", "data: {a, b: 1}\n", "data", "a", "3", "data: {a: 3, b: 1}\n"},
        {"null", "data:\n  a: ~\n", "data", "a", "3", "data:\n  a: 3\n"},
        {"flow list", "data:\n  a: [x,\n      y] # end\n  b: 1\n", "data", "a", "z",
         "data:\n  a: z # end\n  b: 1\n"},
        {"comments in a flow list", "data:\n  a: [x, # one\n      y]\n  b: 1\n", "data", "a", "z",
         "data:\n  a: z\n  # one\n  b: 1\n"},
        {"block list", "data:\n  a: # list\n    - x # one\n    - y\n  b: 1\n", "data", "a", "z",
         "data:\n  a: z # list\n  #   - x # one\n  #   - y\n  b: 1\n"},
        {"block list without indentation", "data:\n  a:\n  - x\n  - y\n  b: 1\n", "data", "a", "z",
         "data:\n  a: z\n  # - x\n  # - y\n  b: 1\n"},
        {"block text", "data:\n  a: | # text\n    one\n    two\n\n  b: 1\n", "data", "a", "z",
         "data:\n  a: z # text\n\n  b: 1\n"},
        {"folded text at the end", "data:\n  a: >-\n    one", "data", "a", "z", "data:\n  a: z"},
        {"plain text of two lines", "data:\n  a: one\n    two # c\n  b: 1\n", "data", "a", "z",
         "data:\n  a: z # c\n  b: 1\n"},
        {"tag", "data:\n  a: !!str 5\n", "data", "a", "3", "data:\n  a: 3\n"},
        {"document marks", "%YAML 1.1\n---\ndata:\n  a: 1\n...\n", "data", "a", "3",
         "%YAML 1.1\n---\ndata:\n  a: 3\n...\n"},
        {"hash in a text", "data:\n  t: \"# no\"\n  a: 1 # yes\n", "data", "a", "3",
         "data:\n  t: \"# no\"\n  a: 3 # yes\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        check_set(&cases[i]);
}

static void test_anchors(void **state)
{
    static const Case cases[] = {
        {"alias", "data:\n  a: &x 1\n  b: *x\n", "data", "b", "3", "data:\n  a: &x 1\n  b: 3\n"},
        {"anchor nobody names", "data:\n  a: &x 1\n", "data", "a", "3", "data:\n  a: &x 3\n"},
        {"anchor in use", "data:\n  a: &x 1 # c\n  b: *x\n  c: *x\n", "data", "a", "3",
         "data:\n  a: 3 # c\n  b: &x 1\n  c: *x\n"},
        {"alias in flow", "data: {a: &x 1, b: *x }\n", "data", "b", "3", "data: {a: &x 1, b: 3 }\n"},
        {"anchor of a list", "data:\n  a: &x [1, 2]\n  b: *x\n", "data", "a", "3",
         "data:\n  a: 3\n  b: &x [1, 2]\n"},
        {"the same name twice", "data:\n  a: &x 1\n  b: *x\n  c: &x 2\n  d: *x\n", "data", "c", "3",
         "data:\n  a: &x 1\n  b: *x\n  c: 3\n  d: &x 2\n"},
        {"section with an anchor", "model: &m\n  a: 1\n", "model", "a", "3", "model: &m\n  a: 3\n"},
        {"section that another one names", "model: &m\n  a: 1\ndata: *m\n", "model", "a", "3", NULL},
        {"section that is an alias", "model: &m\n  a: 1\ndata: *m\n", "data", "b", "3", NULL},
        {"list of lines that is named", "data:\n  a: &x\n    - 1\n  b: *x\n", "data", "a", "3", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        check_set(&cases[i]);
}

static void test_new_pairs(void **state)
{
    static const Case cases[] = {
        {"at the end of the section", "data:\n    a: 1 # c\n\nmodel:\n    b: 2\n", "data", "k", "3",
         "data:\n    a: 1 # c\n    k: 3\n\nmodel:\n    b: 2\n"},
        {"last section, no final newline", "data:\n a: 1", "data", "k", "3", "data:\n a: 1\n k: 3"},
        {"CRLF", "data:\r\n  a: 1\r\n# end\r\n", "data", "k", "3", "data:\r\n  a: 1\r\n  k: 3\r\n# end\r\n"},
        {"behind a list", "data:\n  a:\n    - x\n    - y # c\n# end\n", "data", "k", "3",
         "data:\n  a:\n    - x\n    - y # c\n  k: 3\n# end\n"},
        {"behind a text", "data:\n  a: |\n    x\n    y\nmodel:\n", "data", "k", "3",
         "data:\n  a: |\n    x\n    y\n  k: 3\nmodel:\n"},
        {"flow", "data: {a: 1}\n", "data", "k", "3", "data: {a: 1, k: 3}\n"},
        {"flow, comma at the end", "data: {a: 1,\n}\n", "data", "k", "3", "data: {a: 1, k: 3,\n}\n"},
        {"empty flow", "data: {}\n", "data", "k", "3", "data: {k: 3}\n"},
        {"section without keys", "model:\n   x: 1\ndata:\n# end\n", "data", "k", "3",
         "model:\n   x: 1\ndata:\n   k: 3\n# end\n"},
        {"section of comments", "data: # mine\n  # a: 1\n", "data", "k", "3",
         "data: # mine\n  k: 3\n  # a: 1\n"},
        {"section that is null", "data: ~\n", "data", "k", "3", "data: \n  k: 3\n"},
        {"section that is null in flow", "{data: , model: {}}\n", "data", "k", "3",
         "{data: {k: 3}, model: {}}\n"},
        {"no section", "model:\n    x: 1\n# end\n", "data", "k", "3",
         "model:\n    x: 1\n# end\ndata:\n    k: 3\n"},
        {"no section, no newline", "model:\n  x: 1", "data", "k", "3", "model:\n  x: 1\ndata:\n  k: 3"},
        {"no section, CRLF", "model:\r\n  x: 1\r\n", "data", "k", "3",
         "model:\r\n  x: 1\r\ndata:\r\n  k: 3\r\n"},
        {"no section in flow", "{model: {x: 1}}\n", "data", "k", "3", "{model: {x: 1}, data: {k: 3}}\n"},
        {"no section before the end mark", "---\nmodel:\n  x: 1\n...\n", "data", "k", "3",
         "---\nmodel:\n  x: 1\ndata:\n  k: 3\n...\n"},
        {"indented file", "  model:\n    x: 1\n", "data", "k", "3",
         "  model:\n    x: 1\n  data:\n    k: 3\n"},
        {"empty file", "", "data", "k", "3", "data:\n  k: 3\n"},
        {"only a mark", "\xEF\xBB\xBF", "data", "k", "3",
         "\xEF\xBB\xBF"
         "data:\n  k: 3\n"},
        {"only comments", "# nothing\n# here", "data", "k", "3", "# nothing\n# here\ndata:\n  k: 3"},
        {"not sections", "- a\n- b\n", "data", "k", "3", NULL},
        {"a section that is a word", "data: 5\n", "data", "k", "3", NULL},
        {"two documents", "data:\n  a: 1\n---\nb: 2\n", "data", "a", "3", NULL},
        {"not YAML", "data: [1\n", "data", "k", "3", NULL},
        {"a value that is none", "data:\n  a: 1\n", "data", "a", "[1", NULL},
        {"a value that brings a key", "data:\n  a: 1\n", "data", "a", "1\n  b: 2", NULL},
        {"a value with a comment", "data: {a: 1, b: 2}\n", "data", "a", "3 # x", NULL},
        {"UTF-16",
         "\xFF\xFE"
         "a",
         "data", "a", "3", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        check_set(&cases[i]);
}

typedef struct OutCase {
    const char *before, *section, *key;
    int line;
    const char *after;
} OutCase;

static void test_comment_out(void **state)
{
    static const OutCase cases[] = {
        {"data:\n  a: 1 # one\n  b: 2\n", "data", "a", 0, "data:\n  # a: 1 # one\n  b: 2\n"},
        {"data:\n  a: 1\n  b: 2\n  a: 3 # c\n", "data", "a", 4, "data:\n  a: 1\n  b: 2\n  # a: 3 # c\n"},
        {"data:\n  a: 1\n", "data", "a", 0, "data:\n  # a: 1\n"},
        {"data:\n  a:\n    - x\n\n    # between\n    - y\n  b: 2\n", "data", "a", 0,
         "data:\n  # a:\n  #   - x\n\n  #   # between\n  #   - y\n  b: 2\n"},
        {"x:\n  a: 1\r\ndata:\n  b: 2\n", NULL, "x", 0, "# x:\n#   a: 1\r\ndata:\n  b: 2\n"},
        {"data: {a: 1, b: 2, c: 3}\n", "data", "b", 0, "data: {a: 1, c: 3}\n"},
        {"data: {a: 1, b: 2}\n", "data", "b", 0, "data: {a: 1}\n"},
        {"data: {a: 1}\n", "data", "a", 0, "data: {}\n"},
        {"data: {a: 1, # one\n  b: 2}\n", "data", "a", 0, "data: {# one\n  b: 2}\n"},
        {"data:\n  a: &x 1\n  b: *x\n", "data", "a", 0, "data:\n  # a: &x 1\n  b: &x 1\n"},
        {"c:\n  n: &x 1\ndata:\n  b: *x\n", NULL, "c", 0, "# c:\n#   n: &x 1\ndata:\n  b: &x 1\n"},
        {"c: &m\n  n: 1\ndata:\n  <<: *m\n", NULL, "c", 0, NULL},
        {"data:\n  a: 1\n", "data", "b", 0, NULL},
        {"data:\n  a: 1\n", "data", "a", 3, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const OutCase *c = &cases[i];
        Err err = {0};
        Buf text = text_of(c->before);
        int rc = yaml_edit_comment_out(&text, &(YamlPlace){c->section, c->key, c->line}, &err);
        if ((rc != 0) != !c->after || strcmp(text.data, c->after ? c->after : c->before) != 0)
            fail_msg("case %zu: %s\n%s", i, err.msg, text.data);
        buf_free(&text);
    }
}

static void test_rename_and_get(void **state)
{
    Err err = {0};
    Buf text = text_of(
            "data:\n  'bach_size' : 8 # c\n  t: &x \"two words\"\n  u: *x\n  v: [1, 2]\n  w:\n    - 1\n"),
        got = {0};
    assert_int_equal(yaml_edit_rename(&text, &(YamlPlace){"data", "bach_size", 2}, "batch_size", &err), 0);
    assert_string_equal(
        text.data,
        "data:\n  'batch_size' : 8 # c\n  t: &x \"two words\"\n  u: *x\n  v: [1, 2]\n  w:\n    - 1\n");
    assert_int_equal(yaml_edit_rename(&text, &(YamlPlace){"data", "nothing", 0}, "b", &err), ERR_CONFIG);
    const char *const keys[] = {"t", "u", "v"}, *const values[] = {"\"two words\"", "\"two words\"",
                                                                   "[1, 2]"};
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&got);
        assert_int_equal(yaml_value(&got, &text, &(YamlPlace){"data", keys[i], 0}, &err), 0);
        assert_string_equal(got.data, values[i]);
    }
    assert_int_equal(yaml_value(&got, &text, &(YamlPlace){"data", "w", 0}, &err), ERR_CONFIG);
    buf_free(&text);
    text = text_of("data:\n\ta: 1\n  \tb: \"\t\"\n");
    assert_int_equal(yaml_edit_expand_tabs(&text), 2);
    assert_string_equal(text.data, "data:\n  a: 1\n    b: \"\t\"\n");
    buf_free(&text);
    buf_free(&got);
}

/* Every key of the shipped file set to another value, one after the other: only its own line changes, and it
 * loads with that value. */
static void test_every_key_of_the_default_file(void **state)
{
    Err err = {0};
    Buf text = {0};
    Config cfg;
    assert_int_equal(config_write_default_yaml(&text), 0);
    assert_int_equal(config_defaults(&cfg, &err), 0);
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row, read;
        assert_int_equal(config_row(&cfg, i, &row), 0);
        char value[64];
        if (row.kind == KIND_BOOL)
            snprintf(value, sizeof value, "%s", row.integer ? "false" : "true");
        else if (row.kind == KIND_INT && row.integer > 16 && row.integer % 16 == 0)
            snprintf(value, sizeof value, "%lld", (long long)row.integer * 2);
        else
            continue;
        Buf one = {0};
        buf_add(&one, text.data, text.size);
        if (yaml_edit_set(&one, &(YamlPlace){row.section, row.key, 0}, value, &err))
            fail_msg("%s: %s", row.key, err.msg);
        size_t a = 0, b = 0, differing = 0;
        while (a < text.size && b < one.size) {
            size_t na = strcspn(text.data + a, "\n"), nb = strcspn(one.data + b, "\n");
            if (na != nb || memcmp(text.data + a, one.data + b, na) != 0) {
                differing++;
                if (text.size - a - na != one.size - b - nb) { /* a line that was not there before */
                    b += nb + 1;
                    continue;
                }
            }
            a += na + 1;
            b += nb + 1;
        }
        differing += b < one.size; /* a line behind the last */
        if (differing != 1)
            fail_msg("%s: %zu lines differ", row.key, differing);
        Config changed;
        if (config_load_text(&changed, "t", one.data, one.size, 0, NULL, &err) ==
            0) { /* else a rule between keys */
            assert_int_equal(config_row(&changed, i, &read), 0);
            assert_string_equal(read.value, value);
            config_close(&changed);
        }
        buf_free(&one);
    }
    config_close(&cfg);
    buf_free(&text);
}

/* Texts made of pieces at random: an edit is refused and changes nothing, or the result has the value and all
 * the comments. */
static void test_random_texts(void **state)
{
    static const char *const pieces[] = {
        "data:", "\n",     "  ",  "a",     ": ",       "1",  "# c\n",  "{",    "}",    "[",    "]",
        ", ",    "&x ",    "*x",  "\"",    "'",        "- ", "|\n",    "\r\n", "\t",   "b:",   "\n  a: 2",
        "? ",    "model:", "...", "---\n", "\xC3\xA4", "~",  "!!str ", "<<: ", "\n\n", ">-\n", "null"};
    int accepted = 0;
    Rng rng;
    rng_seed(&rng, 5);
    for (int n = 0; n < 30000; n++) {
        Buf text = {0}, before = {0}, got = {0};
        Err err = {0};
        if (n % 2)
            buf_str(&text, "data:\n  a: 1\n");
        for (int k = (int)(rng_u64(&rng) % 14); k >= 0; k--)
            buf_str(&text, pieces[rng_u64(&rng) % COUNT(pieces)]);
        buf_add(&before, text.data, text.size);
        int what = (int)(rng_u64(&rng) % 3), rc;
        YamlPlace at = {"data", what == 1 ? "a" : n % 3 ? "a" : "k", 0};
        rc = what == 1 ? yaml_edit_comment_out(&text, &at, &err) : yaml_edit_set(&text, &at, "[7, x]", &err);
        if (rc) {
            assert_string_equal(text.data, before.data);
            assert_true(err.msg[0] != 0);
        } else if (what != 1) {
            accepted++;
            assert_int_equal(yaml_value(&got, &text, &at, &err), 0);
            assert_string_equal(got.data, "[7, x]");
        }
        buf_free(&text);
        buf_free(&before);
        buf_free(&got);
    }
    assert_true(accepted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_new_pairs),      cmocka_unit_test(test_comment_out),
        cmocka_unit_test(test_rename_and_get), cmocka_unit_test(test_every_key_of_the_default_file),
        cmocka_unit_test(test_random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
