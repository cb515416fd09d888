/* test_onnx_entries.c - the metadata of an ONNX file, read from bytes that may be anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/onnx_entries.h"
#include "onnx/proto.h"

/* A graph of nothing between two entries, as other programs order them, and a number of each kind. */
static Buf model(void)
{
    Buf b = {0}, entry = {0}, graph = {0};
    proto_int(&b, 1, 8);
    proto_text(&entry, 1, "licence");
    proto_text(&entry, 2, "CC0-1.0");
    proto_message(&b, 14, &entry);
    proto_text(&graph, 2, "name");
    proto_message(&b, 7, &graph);
    buf_add(&b,
            "\x29"
            "12345678"
            "\x35"
            "1234",
            14); /* fixed64 and fixed32 of fields that nobody knows */
    buf_clear(&entry);
    proto_text(&entry, 2, "\xff in front");
    proto_text(&entry, 1, "note");
    proto_message(&b, 14, &entry);
    buf_free(&entry);
    buf_free(&graph);
    return b;
}

/* The text of an entry, or NULL. rc: what reading returned. */
static const char *entry_of(json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static void entries_are_read_in_any_order(void **state)
{
    Buf b = model();
    Err err = {0};
    json_t *o = json_object();
    assert_int_equal(onnx_entries(o, b.data, b.size, "a.onnx", &err), 0);
    assert_int_equal(json_object_size(o), 2);
    assert_string_equal(entry_of(o, "licence"), "CC0-1.0");
    assert_string_equal(entry_of(o, "note"), "? in front");
    json_decref(o);
    buf_free(&b);
}

/* Wherever it is cut there is a sentence, or what was read by then is sound. */
static void a_file_that_was_cut_short(void **state)
{
    Buf b = model();
    int refused = 0;
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *part = malloc(n ? n : 1); /* of its exact size, so that sanitizers see a byte too far */
        memcpy(part, b.data, n);
        Err err = {0};
        json_t *o = json_object();
        const int rc = onnx_entries(o, part, n, "a.onnx", &err);
        assert_true(rc == 0 || (rc == ERR_FORMAT && strstr(err.msg, "a.onnx") && err.hint[0]));
        refused += rc != 0;
        json_decref(o);
        free(part);
    }
    assert_true(refused > (int)b.size / 2);
    buf_free(&b);
}

static void other_files_are_refused(void **state)
{
    static const char *const others[] = {"",
                                         "RIFF1234WAVE",
                                         "{\"a\": 1}",
                                         "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                         "\x3b"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        Err err = {0};
        json_t *o = json_object();
        assert_int_equal(onnx_entries(o, others[i], strlen(others[i]), "a.onnx", &err), ERR_FORMAT);
        json_decref(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read_in_any_order),
        cmocka_unit_test(a_file_that_was_cut_short),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
