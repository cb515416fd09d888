/* test_safetensors.c - what is written is read again, by us and by the Python package, and nothing else
 * passes: every changed byte, every cut, every foreign file gets a sentence. */
#include "support/folder_testing.h"

#include "base/bytes.h"
#include "voice/safetensors.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static int setup(void **state)
{
    Folder *f = malloc(sizeof *f);
    *f = folder_make();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    folder_remove(*state);
    free(*state);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- one file with everything in it; tests/golden/compare_checkpoint.py knows these values too ---- */

static const float floats[6] = {0.0f, -1.5f, 3.25f, 1e-30f, -65504.0f, 16777216.0f};
static const int64_t longs[3] = {-1, 0, INT64_MAX};
static const int32_t ints[2] = {-2147483647 - 1, 7};
static const uint8_t bytes[5] = {0, 1, 127, 128, 255};
static const uint16_t halves[4] = {0x3F80, 0xC000, 0x0000, 0x7F80}; /* BF16: 1, -2, 0, infinity */
static const float scalar = 42.5f;

static const TensorView sample[] = {
    {"text/bytes", "U8", 1, {5}, bytes, 5},
    {"decoder.weight", "F32", 2, {2, 3}, floats, 24},
    {"halves", "BF16", 3, {1, 2, 2}, halves, 8},
    {"\xD9\x88\xD8\xB2\xD9\x86 \"quoted\"\\", "I32", 1, {2}, ints, 8},
    {"empty", "F32", 2, {0, 7}, NULL, 0},
    {"steps", "I64", 1, {3}, longs, 24},
    {"scalar", "F32", 0, {0}, &scalar, 4},
};
static const MetaEntry sample_meta[] = {
    {"config", "model:\n  size: \"nano\"\n"},
    {"symbols", "\xC9\x99\xCB\x88 \xE2\x80\x9Cq\xE2\x80\x9D \xF0\x9F\x98\x80 \t\x01"},
    {"", ""},
    {"step", "1000"}};

static void write_sample(const char *path)
{
    Err err = {0};
    if (safetensors_write(path, sample_meta, COUNT(sample_meta), sample, COUNT(sample), &err))
        fail_msg("%s", err.msg);
}

static void assert_same_tensor(const TensorView *have, const TensorView *want)
{
    assert_non_null(have);
    assert_string_equal(have->name, want->name);
    assert_string_equal(have->dtype, want->dtype);
    assert_int_equal(have->dims, want->dims);
    for (int i = 0; i < want->dims; i++)
        assert_int_equal(have->shape[i], want->shape[i]);
    assert_int_equal(have->bytes, want->bytes);
    if (want->bytes)
        assert_memory_equal(have->data, want->data, want->bytes);
}

static void assert_sample(const SafeTensors *f)
{
    assert_int_equal(f->count, COUNT(sample));
    for (int i = 0; i < COUNT(sample); i++)
        assert_same_tensor(safetensors_find(f, sample[i].name), &sample[i]);
    for (int i = 0; i < COUNT(sample_meta); i++)
        assert_string_equal(safetensors_meta(f, sample_meta[i].key), sample_meta[i].value);
}

/* A sentence that names the file and says what is wrong, and a hint. */
static void assert_sentence(const char *path, int rc, const Err *err)
{
    if (rc >= 0 || rc != err->code || !strstr(err->msg, path) || strlen(err->msg) < strlen(path) + 10 ||
        !err->hint[0])
        fail_msg("code %d (%d): '%s', hint '%s'", rc, err->code, err->msg, err->hint);
}

static void assert_refused(const char *path, int code, const char *part)
{
    SafeTensors f;
    Err err = {0};
    int rc = safetensors_open(&f, path, &err);
    safetensors_close(&f);
    assert_sentence(path, rc, &err);
    if ((code && rc != code) || !strstr(err.msg, part))
        fail_msg("error %d: %s ('%s' was expected in it)", rc, err.msg, part);
}

static void what_is_written_is_read(void **state)
{
    const char *path = folder_file(*state, "a.safetensors");
    write_sample(path);
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.msg);
    assert_sample(&f);
    assert_int_equal(f.has_checksum, 1);
    assert_string_equal(safetensors_meta(&f, "written_by"), "myxtts");
    assert_int_equal(strlen(safetensors_meta(&f, "xxh128")), 32);
    assert_null(safetensors_find(&f, "decoder"));
    assert_null(safetensors_find(&f, "__metadata__"));
    assert_null(safetensors_meta(&f, "nothing"));
    for (int i = 0; i < f.count; i++) { /* each can be used in place */
        size_t element = strcmp(f.tensors[i].dtype, "I64") == 0    ? 8
                         : f.tensors[i].dtype[1] == '3'            ? 4
                         : strcmp(f.tensors[i].dtype, "BF16") == 0 ? 2
                                                                   : 1;
        assert_int_equal((uintptr_t)f.tensors[i].data % element, 0);
    }
    assert_int_equal((get_u64(f.map.data) + 8) % 64, 0);
    safetensors_close(&f);
    safetensors_close(&f); /* twice is fine */
    assert_null(safetensors_find(&f, "steps"));
    assert_null(safetensors_meta(&f, "step"));
}

static void the_same_content_gives_the_same_bytes(void **state)
{
    const char *a = folder_file(*state, "a.safetensors"), *b = folder_file(*state, "b.safetensors");
    write_sample(a);
    file_put(b, "something older", 15);
    write_sample(b);
    Buf x = file_bytes(a), y = file_bytes(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    buf_free(&x);
    buf_free(&y);
    assert_string_equal(folder_names(*state), "a.safetensors b.safetensors ");
}

static void nothing_in_it_is_a_file_too(void **state)
{
    const char *path = folder_file(*state, "a.safetensors");
    SafeTensors f;
    Err err = {0};
    assert_int_equal(safetensors_write(path, NULL, 0, NULL, 0, &err), 0);
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(f.count, 0);
    assert_int_equal(f.n_meta, 2);
    safetensors_close(&f);
}

static void every_changed_byte_is_found(void **state)
{
    const char *path = folder_file(*state, "a.safetensors");
    write_sample(path);
    Buf b = file_bytes(path);
    int damaged = 0, format = 0;
    for (size_t i = 0; i < b.size; i++)
        for (int k = 0; k < 10; k++) {
            uint8_t old = (uint8_t)b.data[i], byte = (uint8_t)(k < 8 ? old ^ 1 << k : k == 8 ? ~old : ' ');
            if (byte == old)
                continue;
            SafeTensors f;
            Err err = {0};
            file_put_byte(path, i, byte);
            int rc = safetensors_open(&f, path, &err);
            if (rc == 0)
                fail_msg("byte %zu changed from %02x to %02x: not seen", i, old, byte);
            assert_sentence(path, rc, &err);
            assert_true(rc == ERR_DAMAGED || rc == ERR_FORMAT);
            damaged += rc == ERR_DAMAGED;
            format += rc == ERR_FORMAT;
            file_put_byte(path, i, old);
        }
    print_message("%zu bytes: %d changes found by the checksum, %d by the format\n", b.size, damaged, format);
    buf_free(&b);
}

static void every_cut_is_found(void **state)
{
    const char *path = folder_file(*state, "a.safetensors");
    write_sample(path);
    Buf b = file_bytes(path);
    for (size_t n = 0; n < b.size; n++) {
        file_put(path, b.data, n);
        assert_refused(path, ERR_FORMAT, "");
    }
    buf_add(&b, "\0", 1);
    file_put(path, b.data, b.size);
    assert_refused(path, ERR_FORMAT, "1 bytes after its last tensor");
    buf_free(&b);
}

static void foreign_files_get_a_sentence(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *part;
    } cases[] = {
        {"", 0, "it is empty"},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, "a PNG picture"},
        {"PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0", 16, "PyTorch"},
        {"\x89HDF\r\n\x1a\n\0\0\0\0", 12, "HDF5"},
        {"RIFF\x24\x10\0\0WAVEfmt ", 16, "a WAV file"},
        {"{\"model\": \"nano\", \"step\": 3}", 28, "JSON"},
        {"Once upon a time there was a voice.\n", 36, "looks like"},
        {"# README\nhello\n", 15, "looks like"},
        {"hi\n", 3, "looks like"},
        {"\0\0\0", 3, "only 3 bytes"},
        {"\0\0\0\0\0\0\0\0{}      ", 16, "a header of 0 bytes"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff", 8, "a header of 18446744073709551615 bytes"},
        {"\x08\0\0\0\0\0\0\0abcdefgh", 16, "not JSON"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *path = folder_file(*state, "foreign");
        file_put(path, cases[i].text, cases[i].size);
        assert_refused(path, ERR_FORMAT, cases[i].part);
    }
    const Folder *f = *state;
    assert_refused(f->path, ERR_FORMAT, "a folder");
    const char *pipe_path = folder_file(f, "pipe");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_refused(pipe_path, ERR_FORMAT, "not a regular file");
    SafeTensors s;
    Err err = {0};
    assert_int_equal(safetensors_open(&s, folder_file(f, "nothing"), &err), ERR_MISSING);
    assert_non_null(strstr(err.msg, "nothing"));
}

/* ---- headers as others, or nobody, would write them ---- */

static void put_file(const char *path, const char *json, size_t json_size, size_t data_size)
{
    Buf b = {0};
    uint8_t length[8];
    put_u64(length, json_size);
    buf_add(&b, length, 8);
    buf_add(&b, json, json_size);
    for (size_t i = 0; i < data_size; i++)
        buf_add(&b, &(uint8_t){(uint8_t)(i * 7 + 1)}, 1);
    file_put(path, b.data, b.size);
    buf_free(&b);
}

#define X(type, shape, place) "{\"x\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" place "}"
#define Y(shape, place) ",\"y\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" place "}"

static void wrong_headers_get_a_sentence(void **state)
{
    static const struct {
        const char *json;
        size_t data;
        const char *part;
    } cases[] = {
        {X("F32", "[2]", "[0,8]") "}", 7, "cut off"},
        {X("F32", "[2]", "[0,8]") "}", 9, "1 bytes after"},
        {X("F32", "[2]", "[4,12]") "}", 12, "4 bytes before its tensor 'x'"},
        {X("F32", "[2]", "[0,8]") Y("[2]", "[4,12]") "}", 12, "overlap"},
        {X("F32", "[2]", "[0,8]") Y("[2]", "[0,8]") "}", 8, "overlap"},
        {X("F32", "[2]", "[0,8]") Y("[1]", "[12,16]") "}", 16, "4 bytes before its tensor 'y'"},
        {X("F32", "[3]", "[0,8]") "}", 8, "does not match its type F32"},
        {X("BF16", "[2]", "[0,8]") "}", 8, "does not match its type BF16"},
        {X("F32", "[-2]", "[0,8]") "}", 8, "not made of numbers"},
        {X("F32", "[2.0]", "[0,8]") "}", 8, "not made of numbers"},
        {X("F32", "[\"2\"]", "[0,8]") "}", 8, "not made of numbers"},
        {X("F32", "[1,1,2,1,1]", "[0,8]") "}", 8, "5 dimensions"},
        {X("F32", "[9223372036854775807,9223372036854775807]", "[0,8]") "}", 8, "does not match"},
        {X("F32", "[4611686018427387904,4]", "[0,0]") "}", 0, "does not match"},
        {X("F32", "[2]", "[8,0]") "}", 8, "not a range"},
        {X("F32", "[2]", "[-8,0]") "}", 8, "not a range"},
        {X("F32", "[2]", "[0,8,8]") "}", 8, "does not describe a tensor"},
        {X("F32", "[2]", "[0]") "}", 8, "does not describe a tensor"},
        {X("F32", "[2]", "8") "}", 8, "does not describe a tensor"},
        {X("F32", "2", "[0,8]") "}", 8, "does not describe a tensor"},
        {X("F32", "[2]", "[0,99999999999999999999]") "}", 8, "not JSON"},
        {X("F33", "[2]", "[0,8]") "}", 8, "the unknown type 'F33'"},
        {X("F32\\u001b[2J", "[2]", "[0,8]") "}", 8, "F32?[2J"},
        {X("F32", "[2]", "[0,8]") ",\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "not JSON: duplicate"},
        {"{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "does not describe a tensor"},
        {"{\"x\":3}", 0, "does not describe a tensor"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[[2]],\"data_offsets\":[0,8]}}", 8, "nested 4 levels deep"},
        {"{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}", 0, "nested 31 levels deep"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "'a' of its __metadata__ is not a string"},
        {"{\"__metadata__\":[]}", 0, "not an object"},
        {"{\"__metadata__\":{\"a\":\"\xff\"}}", 0, "not JSON"},
        {"{\"__metadata__\":{}", 0, "not JSON"},
        {"{\"__metadata__\":{}} x", 0, "not JSON"},
        {"{\"__metadata__\":{\"written_by\":\"myxtts\"}}", 0, "its checksum is gone"},
        {"{\"__metadata__\":{\"xxh128\":\"00000000000000000000000000000000\"}}", 0, "was changed"},
        {"{ \"__metadata__\":{\"xxh128\":\"00000000000000000000000000000000\"}}", 0, "was changed"},
        {"{\"__metadata__\":{\"xxh128\":\"\"}}", 0, "was changed"},
    };
    const char *path = folder_file(*state, "wrong");
    for (int i = 0; i < COUNT(cases); i++) {
        put_file(path, cases[i].json, strlen(cases[i].json), cases[i].data);
        assert_refused(path, 0, cases[i].part);
    }
    Buf deep = {0}; /* a parser that recurses would need a stack of its own for this */
    buf_str(&deep, "{\"x\":");
    for (int i = 0; i < 1000000; i++)
        buf_add(&deep, "[", 1);
    put_file(path, deep.data, deep.size, 0);
    assert_refused(path, ERR_FORMAT, "nested 1000001 levels deep");
    buf_free(&deep);
}

static void sound_foreign_files_are_read(void **state)
{
    static const struct {
        const char *json;
        size_t data;
        int count, n_meta;
    } cases[] = {
        {"{}", 0, 0, 0},
        {"{\"__metadata__\":{\"format\":\"pt\"}}", 0, 0, 1},
        {"{\"__metadata__\":{\"written_by\":\"somebody\"}}   \n", 0, 0, 1},
        {X("F32", "[2]", "[0,8]") "}", 8, 1, 0},
        {X("F32", "[2]", "[0,8]") Y("[]", "[8,12]") "}  ", 12, 2, 0},
        {X("F32", "[0]", "[0,0]") Y("[0,5]", "[0,0]") "}", 0, 2, 0},
        {X("BOOL", "[3]", "[0,3]") Y("[1,2]", "[3,11]") "}", 11, 2, 0}, /* y at an odd place */
        {X("F64", "[1]", "[4,12]") Y("[1]", "[0,4]") "}", 12, 2, 0},
    };
    const char *path = folder_file(*state, "sound");
    for (int i = 0; i < COUNT(cases); i++)
        for (size_t blanks = 0; blanks < 9; blanks++) { /* the data starts anywhere */
            char json[400];
            snprintf(json, sizeof json, "%s%*s", cases[i].json, (int)blanks, "");
            put_file(path, json, strlen(json), cases[i].data);
            SafeTensors f;
            Err err = {0};
            if (safetensors_open(&f, path, &err))
                fail_msg("%s: %s", json, err.msg);
            assert_int_equal(f.has_checksum, 0);
            assert_int_equal(f.count, cases[i].count);
            assert_int_equal(f.n_meta, cases[i].n_meta);
            const TensorView *y = safetensors_find(&f, "y");
            if (y && y->bytes) {
                assert_int_equal((uintptr_t)y->data % 4, 0);
                size_t at = i == 4 ? 8 : i == 6 ? 3 : 0;
                for (size_t k = 0; k < y->bytes; k++)
                    assert_int_equal(((const uint8_t *)y->data)[k], (uint8_t)((at + k) * 7 + 1));
            }
            safetensors_close(&f);
        }
}

/* ---- what the writer refuses ---- */

static void wrong_tensors_are_not_written(void **state)
{
    const TensorView good = {"x", "F32", 1, {2}, floats, 8};
    TensorView bad[] = {
        {"x", "F32", 1, {3}, floats, 8},
        {"x", "F33", 1, {2}, floats, 8},
        {"x", NULL, 1, {2}, floats, 8},
        {"x", "F32", 5, {1, 1, 1, 2}, floats, 8},
        {"x", "F32", -1, {2}, floats, 8},
        {"x", "F32", 1, {-2}, floats, 8},
        {"x", "F32", 1, {2}, NULL, 8},
        {"x", "F32", 2, {INT64_MAX, INT64_MAX}, floats, UINT64_MAX},
        {"\xff", "F32", 1, {2}, floats, 8},
        {"", "F32", 1, {2}, floats, 8},
        {"__metadata__", "F32", 1, {2}, floats, 8},
        {"good", "F32", 1, {2}, floats, 8},
    };
    const MetaEntry wrong_meta[] = {{"a", "\xff"}, {"\xff", "a"}, {"xxh128", "1"}, {"written_by", "me"}};
    const char *path = folder_file(*state, "a.safetensors");
    for (int i = 0; i < COUNT(bad) + COUNT(wrong_meta); i++) {
        Err err = {0};
        TensorView t[2] = {good, i < COUNT(bad) ? bad[i] : good};
        t[0].name = "good";
        int rc = i < COUNT(bad) ? safetensors_write(path, NULL, 0, t, 2, &err)
                                : safetensors_write(path, &wrong_meta[i - COUNT(bad)], 1, t, 1, &err);
        if (rc != ERR_DATA || !strstr(err.msg, path))
            fail_msg("case %d: %d %s", i, rc, err.msg);
        assert_int_equal(
            safetensors_write(path, NULL, 0, i < COUNT(bad) ? t : NULL, i < COUNT(bad) ? 1 : 0, NULL), 0);
        assert_int_equal(unlink(path), 0);
    }
    const MetaEntry twice[] = {{"a", "1"}, {"b", "1"}, {"a", "2"}};
    Err err = {0};
    assert_int_equal(safetensors_write(path, twice, 3, NULL, 0, &err), ERR_DATA);
    assert_int_equal(safetensors_write(folder_file(*state, "no/such/folder"), NULL, 0, &good, 1, &err),
                     ERR_IO);
    assert_string_equal(folder_names(*state), "");
}

/* ---- the Python package ---- */

static const char *python(void)
{
    static const char *const names[] = {NULL, "build/peers/bin/python", "python3"};
    for (int i = 0; i < COUNT(names); i++) {
        static char command[600];
        const char *p = i == 0 ? getenv("MYXTTS_PEERS_PYTHON") : names[i];
        if (!p)
            continue;
        snprintf(command, sizeof command, "'%s' -c 'import safetensors, numpy' 2>/dev/null", p);
        if (system(command) == 0)
            return p;
    }
    return NULL;
}

static int run_script(const char *interpreter, const char *verb, const char *path)
{
    char command[1200];
    snprintf(command, sizeof command, "'%s' tests/golden/compare_checkpoint.py %s '%s' >&2", interpreter,
             verb, path);
    return system(command);
}

static void python_reads_ours_and_we_read_pythons(void **state)
{
    const char *interpreter = python(), *path = folder_file(*state, "a.safetensors");
    if (!interpreter) {
        print_message("SKIPPED: no Python with the packages safetensors and numpy (MYXTTS_PEERS_PYTHON)\n");
        skip();
    }
    write_sample(path);
    assert_int_equal(run_script(interpreter, "check", path), 0);
    path = folder_file(*state, "python.safetensors");
    assert_int_equal(run_script(interpreter, "write", path), 0);
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.msg);
    assert_sample(&f);
    assert_int_equal(f.has_checksum, 0);
    safetensors_close(&f);
    /* Ours, loaded and saved again by Python with its metadata: the checksum no longer goes with the bytes,
     * and that is said. */
    write_sample(path);
    assert_int_equal(run_script(interpreter, "resave", path), 0);
    assert_refused(path, ERR_DAMAGED, "was changed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_written_is_read),
        T(the_same_content_gives_the_same_bytes),
        T(nothing_in_it_is_a_file_too),
        T(every_changed_byte_is_found),
        T(every_cut_is_found),
        T(foreign_files_get_a_sentence),
        T(wrong_headers_get_a_sentence),
        T(sound_foreign_files_are_read),
        T(wrong_tensors_are_not_written),
        T(python_reads_ours_and_we_read_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
