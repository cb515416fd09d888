/* test_onnx.c - ONNX files: their bytes, what is said in them, and a sentence for everything that goes wrong.
 * Whether they sound as the program does is for test_onnx_sound.sh. */
#include "support/command_testing.h"
#include "support/prepare_testing.h"
#include "support/vocoder_testing.h"

#include <sys/stat.h>

#include "onnx/graph.h"
#include "onnx/proto.h"
#include "onnx/quantise.h"

#define BASE "bases/english-nano.safetensors"

static char folder[256];

static int setup(void **state)
{
    snprintf(folder, sizeof folder, "%s/onnx-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *at(const char *name) { return path_of(folder, name); }

/* ---- protocol buffers ---- */

static void expect_bytes(Buf *b, const char *bytes, size_t n)
{
    assert_false(b->failed);
    assert_int_equal(b->size, n);
    assert_memory_equal(b->data, bytes, n);
    buf_free(b);
}

/* The bytes are those of `protoc --encode`. */
static void numbers_are_varints(void **state)
{
    Buf b = {0};
    proto_int(&b, 1, 0);
    proto_int(&b, 1, 127);
    proto_int(&b, 1, 128);
    proto_int(&b, 20, 300);
    expect_bytes(&b, "\x08\x00\x08\x7f\x08\x80\x01\xa0\x01\xac\x02", 11);
    proto_int(&b, 3, -1);
    expect_bytes(&b, "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    proto_int(&b, 3, INT64_MAX);
    expect_bytes(&b, "\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
}

static void texts_and_messages_have_a_length(void **state)
{
    Buf b = {0}, inside = {0};
    proto_text(&inside, 1, "axis");
    proto_int(&inside, 3, 1);
    proto_message(&b, 5, &inside);
    expect_bytes(&b,
                 "\x2a\x08\x0a\x04"
                 "axis\x18\x01",
                 10);
    buf_free(&inside);
    proto_text(&b, 2, "");
    proto_message(&b, 5, &(Buf){0});
    expect_bytes(&b, "\x12\x00\x2a\x00", 4);
    proto_begin(&b, 9, 200);
    expect_bytes(&b, "\x4a\xc8\x01", 3);
}

static void a_message_without_memory_is_not_forgotten(void **state)
{
    Buf b = {0};
    proto_message(&b, 5, &(Buf){.failed = 1});
    assert_true(b.failed);
    buf_free(&b);
}

/* ---- graphs ---- */

static void equal_numbers_are_one_constant(void **state)
{
    Graph g = {0};
    assert_ptr_equal(graph_int(&g, 3), graph_int(&g, 3));
    assert_ptr_equal(graph_ints(&g, 3, -1), graph_ints(&g, 3, -1));
    assert_ptr_not_equal(graph_int(&g, 3), graph_ints(&g, 3));
    assert_ptr_not_equal(graph_float(&g, 0.1f), graph_double(&g, (double)0.1f));
    assert_int_equal(g.tensor_count, 5);
    graph_close(&g);
}

/* The file of a graph that doubles its input, byte for byte. */
static void a_graph_is_these_bytes(void **state)
{
    static const char head[] = "\x08\x07\x12\x06myxtts\x42\x02\x10\x0d\x72\x06\x0a\x01k\x12\x01v\x3a";
    Graph g = {0};
    Err err = {0};
    const Value x = graph_input(&g, "x", ELEMENT_FLOAT, "1,n");
    graph_entry(&g, "k", "v");
    graph_output(&g, "y", ELEMENT_FLOAT, "1,n", graph_add(&g, "Add", x, x));
    assert_int_equal(graph_write(&g, at("a.onnx"), &err), 0);
    graph_close(&g);
    Buf b = file_bytes(at("a.onnx"));
    assert_true(b.size > sizeof head);
    assert_memory_equal(b.data, head, sizeof head - 1);
    /* The graph is the rest of the file. */
    assert_int_equal((unsigned char)b.data[sizeof head - 1], b.size - sizeof head);
    assert_non_null(memmem(b.data, b.size,
                           "\x0a\x01x\x0a\x01x\x12\x05"
                           "Add_0",
                           13));
    buf_free(&b);
}

static void a_graph_without_memory_is_not_written(void **state)
{
    Graph g = {.failed = 1};
    Err err = {0};
    assert_int_equal(graph_write(&g, at("none.onnx"), &err), ERR_NOMEM);
    assert_int_not_equal(access(at("none.onnx"), F_OK), 0);
    graph_close(&g);
}

/* Each row has its own scale; no number is off by more than half of it, none is -128. */
static void rows_are_rounded_by_their_largest(void **state)
{
    static const float numbers[3][4] = {{1, -0.5f, 0.004f, 0.0041f}, {-1000, 1000, 3, 0}, {0, 0, 0, 0}};
    Graph g = {0};
    quantise_int8(&g, "w", &numbers[0][0], 3, 4);
    const int8_t *whole = g.tensors[0].data;
    const float *scale = g.tensors[1].data;
    assert_int_equal(g.tensors[0].type, ELEMENT_INT8);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            assert_true(whole[4 * r + c] >= -127);
            assert_true(fabsf((float)whole[4 * r + c] * scale[r] - numbers[r][c]) <= scale[r] * 0.5001f);
        }
    assert_int_equal(whole[0], 127);
    assert_int_equal(whole[4], -127);
    graph_close(&g);
}

/* ---- files ---- */

static int64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void the_same_voice_gives_the_same_bytes(void **state)
{
    static const char *const precisions[] = {"float32", "float16", "int8"};
    int64_t before = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        const char *const files[] = {at("a.onnx"), at("b.onnx")};
        for (int k = 0; k < 2; k++) {
            json_t *o = run_json(ARGS("export", "--checkpoint", BASE, "--format", "onnx", "--output",
                                      files[k], "--precision", precisions[i], "--json"),
                                 NULL);
            assert_string_equal(text_at(o, "format"), "onnx");
            assert_string_equal(text_at(o, "precision"), precisions[i]);
            assert_int_equal(json_integer_value(json_object_get(o, "bytes")), size_of(files[k]));
            json_decref(o);
        }
        Buf a = file_bytes(files[0]), b = file_bytes(files[1]);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        buf_free(&a);
        buf_free(&b);
        assert_true(size_of(files[0]) < before);
        before = size_of(files[0]);
    }
}

static void expect_inside(const Buf *b, const char *key, const char *value)
{
    Buf entry = {0};
    proto_text(&entry, 1, key);
    proto_text(&entry, 2, value);
    if (!memmem(b->data, b->size, entry.data, entry.size))
        fail_msg("there is no entry %s: %s", key, value);
    buf_free(&entry);
}

static void what_others_have_to_know_is_inside(void **state)
{
    const char *file = at("said.onnx");
    json_decref(run_json(ARGS("export", "--checkpoint", BASE, "--output", file, "--licence", "CC0-1.0",
                              "--note", "of a test", "--json"),
                         NULL));
    Buf b = file_bytes(file);
    expect_inside(&b, "format", "myxtts-onnx-1");
    expect_inside(&b, "licence", "CC0-1.0");
    expect_inside(&b, "note", "of a test");
    expect_inside(&b, "source", "unknown");
    expect_inside(&b, "sample_rate", "22050");
    expect_inside(&b, "hop_length", "256");
    expect_inside(&b, "speakers", "[\"awb\",\"kal16\",\"rms\",\"slt\"]");
    expect_inside(&b, "languages", "[\"en\"]");
    assert_non_null(memmem(b.data, b.size, "[\"<pad>\",\"<bos>\",\"<eos>\",\"<blank>\",\" \",\"!\"", 42));
    buf_free(&b);
    /* Without an own one it has that of the voice. */
    json_decref(run_json(ARGS("export", "--checkpoint", BASE, "--output", file, "--json"), NULL));
    b = file_bytes(file);
    assert_non_null(memmem(b.data, b.size, "Carnegie Mellon University", 26));
    buf_free(&b);
}

/* ---- what goes wrong ---- */

static void wrong_use_gets_a_sentence(void **state)
{
    const char *file = at("never.onnx");
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--format", "onnx"), WORDS("--output F.onnx"),
                   NULL);
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--format", "ggml", "--output", file),
                   WORDS("ggml", "safetensors, onnx or piper"), file);
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--format", "safetensors", "--output", file),
                   WORDS("--output F.safetensors"), file);
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--output", file, "--precision", "bf16"),
                   WORDS("bf16", "float32, float16 or int8"), file);
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--output", file, "--voice-clips", "1"),
                   WORDS("--voice-clips"), file);
    expect_failure(3, ARGS("export", "--checkpoint", BASE, "--output", at("no/where.onnx")),
                   WORDS("no/where.onnx"), NULL);
}

static void without_a_vocoder_there_is_none(void **state)
{
    const char *file = at("never.onnx"), *vocoder = at("vocoder.safetensors");
    expect_failure(3, ARGS("export", "--checkpoint", BASE, "--output", file, "--vocoder", "griffin_lim"),
                   WORDS("has no vocoder", "train DIR --network vocoder", "--vocoder PATH"), file);
    write_vocoder(vocoder, "\"vocoder_dim\": 16, \"vocoder_layers\": 2, " SMALL_MEL, NULL);
    expect_failure(2, ARGS("export", "--checkpoint", vocoder, "--output", file), WORDS("holds a vocoder"),
                   file);
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--output", file, "--vocoder", vocoder),
                   WORDS("8000", "22050"), file);
}

static void the_file_of_somebody_else_stays(void **state)
{
    const char *file = at("theirs.onnx");
    file_put(file, "\x08\x07\x12\x07pytorch", 11);
    expect_failure(2, ARGS("export", "--checkpoint", BASE, "--output", file),
                   WORDS("theirs.onnx", "is not an exported voice", "--overwrite"), NULL);
    assert_int_equal(size_of(file), 11);
    json_decref(
        run_json(ARGS("export", "--checkpoint", BASE, "--output", file, "--overwrite", "--json"), NULL));
    const int64_t made = size_of(file);
    assert_true(made > 11);
    json_decref(run_json(ARGS("export", "--checkpoint", BASE, "--output", file, "--json"), NULL));
    assert_int_equal(size_of(file), made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_varints),
        cmocka_unit_test(texts_and_messages_have_a_length),
        cmocka_unit_test(a_message_without_memory_is_not_forgotten),
        cmocka_unit_test(equal_numbers_are_one_constant),
        cmocka_unit_test(a_graph_is_these_bytes),
        cmocka_unit_test(a_graph_without_memory_is_not_written),
        cmocka_unit_test(rows_are_rounded_by_their_largest),
        cmocka_unit_test(the_same_voice_gives_the_same_bytes),
        cmocka_unit_test(what_others_have_to_know_is_inside),
        cmocka_unit_test(wrong_use_gets_a_sentence),
        cmocka_unit_test(without_a_vocoder_there_is_none),
        cmocka_unit_test(the_file_of_somebody_else_stays),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
