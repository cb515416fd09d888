/* test_metadata.c - metadata in every form, and every reason to reject a line. */
#include "support/dataset_folder.h"

/* ---- forms ---- */

static void test_three_columns_are_ljspeech(void **state)
{
    Folder *f = *state;
    open_text(f, "a|It is 5.|It is five.\nb|Raw only.|\n\n   \nc|x|y");
    assert_int_equal(f->d.count, 3);
    assert_int_equal(f->d.lines, 3);
    assert_int_equal(f->d.columns, 3);
    assert_int_equal(f->d.delimiter, '|');
    assert_int_equal(f->d.has_header, 0);
    assert_int_equal(f->d.speaker_guessed, 0);
    check(f, 0, "a", "It is five.", "", 1);
    check(f, 1, "b", "Raw only.", "", 2);
    check(f, 2, "c", "y", "", 5);
}

static void test_two_and_four_columns(void **state)
{
    Folder *f = *state;
    open_text(f, "a|one two\nb|\"three\"\n");
    assert_int_equal(f->d.columns, 2);
    check(f, 1, "b", "\"three\"", "", 2);
    open_text(f, "a|1|one|ann\nb|2||bob\n");
    check(f, 0, "a", "one", "ann", 1);
    check(f, 1, "b", "2", "bob", 2);
    f->cfg.enable_multispeaker = 0;
    open_text(f, "a|1|one|ann\nb|2||bob\n");
    check(f, 1, "b", "2", "", 2);
}

static void test_third_column_of_speakers(void **state)
{
    Folder *f = *state;
    Buf b = {0};
    for (int i = 0; i < 12; i++)
        buf_printf(&b, "u%02d|This is sentence %d.|%s\n", i, i, i % 2 ? "ann" : "bob");
    open_text(f, b.data);
    assert_int_equal(f->d.speaker_guessed, 1);
    check(f, 1, "u01", "This is sentence 1.", "ann", 2);
    /* One word in both columns is not clear: LJSpeech it is. */
    buf_clear(&b);
    for (int i = 0; i < 12; i++)
        buf_printf(&b, "u%02d|%s|%s\n", i, i % 2 ? "5" : "4", i % 2 ? "five" : "four");
    open_text(f, b.data);
    assert_int_equal(f->d.speaker_guessed, 0);
    check(f, 1, "u01", "five", "", 2);
    /* A header settles it for any number of lines. */
    open_text(f, "id|text|speaker\na|Hello there.|ann\n");
    check(f, 0, "a", "Hello there.", "ann", 2);
    buf_free(&b);
}

static void test_headers(void **state)
{
    Folder *f = *state;
    open_text(f, "Speaker Name|Audio-File|Transcription|normalized_text|LANG|junk\nann|w/1.wav|It is 1.|It "
                 "is one.|de|z\nbob|2|two||fr|\n");
    assert_int_equal(f->d.has_header, 1);
    assert_int_equal(f->d.columns, 6);
    assert_int_equal(f->d.lines, 2);
    check(f, 0, "w/1.wav", "It is one.", "ann", 2);
    check(f, 1, "2", "two", "bob", 3);
    assert_str(f->d.utterances[0].language, "de");
    assert_str(f->d.utterances[1].language, "fr");
    /* Both an id and a path: the path leads to the audio. */
    open_text(f, "id\tpath\tsentence\n7\tclip7.mp3\tHello, you | all.\n");
    assert_int_equal(f->d.delimiter, '\t');
    check(f, 0, "clip7.mp3", "Hello, you | all.", "", 2);
    open_text(f, "wav,normalised\nx,Yes\n");
    assert_int_equal(f->d.delimiter, ',');
    check(f, 0, "x", "Yes", "", 2);
    open_text(f, "id|text\n");
    assert_int_equal(f->d.has_header, 1);
    assert_int_equal(f->d.count + f->d.rejected_count + f->d.lines, 0);
}

static void test_line_ends_and_marks(void **state)
{
    Folder *f = *state;
    open_text(f, "\xEF\xBB\xBF"
                 "a|x|one\r\n\r\nb|y|two\r\n");
    check(f, 0, "a", "one", "", 1);
    check(f, 1, "b", "two", "", 3);
    open_text(f, "a|x|one\rb|y|two\r\rc|z|three");
    check(f, 1, "b", "two", "", 2);
    check(f, 2, "c", "three", "", 4);
    open_text(f, "\xEF\xBB\xBF"
                 "id|text\r\nb|two\r\n");
    assert_int_equal(f->d.has_header, 1);
    check(f, 0, "b", "two", "", 2);
    open_text(f, "");
    assert_int_equal(f->d.count + f->d.rejected_count + f->d.lines, 0);
    open_text(f, "\xEF\xBB\xBF");
    assert_int_equal(f->d.lines, 0);
    open_text(f, "\n\n  \n\t\n");
    assert_int_equal(f->d.lines, 0);
}

static void test_utf16(void **state)
{
    Folder *f = *state;
    const char *kinds[] = {("\xFF\xFE"
                            "a\0|\0x\0\n\0"),
                           "\xFE\xFF\0a\0|\0x\0\n", "a\0|\0x\0y\0\n\0", "\0a\0|\0x\0y"};
    size_t sizes[] = {10, 10, 10, 8};
    for (int i = 0; i < 4; i++) {
        put_bytes(f, "metadata.csv", kinds[i], sizes[i]);
        assert_int_equal(open_code(f), ERR_FORMAT);
        assert_non_null(strstr(f->err.msg, "metadata.csv"));
        assert_non_null(strstr(f->err.hint, "iconv"));
    }
}

static void test_tabs(void **state)
{
    Folder *f = *state;
    open_text(f, "a\tHello, you\tHello, you\nb\tyes, \"no\"\tyes\n");
    assert_int_equal(f->d.delimiter, '\t');
    check(f, 0, "a", "Hello, you", "", 1);
    open_text(f, "a\tHello\nb\tyes, no\n");
    assert_int_equal(f->d.columns, 2);
}

static void test_commas_and_quotes(void **state)
{
    Folder *f = *state;
    open_text(f, "a,\"Hello, you\"\n"
                 "\"b\", \"She said \"\"no\"\", twice\" \r\n"
                 "c,\"two\nlines, here\"\n"
                 "d,plain\n"
                 "e,say \"hi\"\n"
                 "f,\"\"\"\"\n");
    assert_int_equal(f->d.delimiter, ',');
    assert_int_equal(f->d.count, 6);
    check(f, 0, "a", "Hello, you", "", 1);
    check(f, 1, "b", "She said \"no\", twice", "", 2);
    check(f, 2, "c", "two\nlines, here", "", 3);
    check(f, 3, "d", "plain", "", 5);
    check(f, 4, "e", "say \"hi\"", "", 6);
    check(f, 5, "f", "\"", "", 7);
}

static void test_stray_quotes_cost_one_line(void **state)
{
    Folder *f = *state;
    open_text(f, "a,\"never closed\nb,\"fine\"\nc,\"closed\" and more\nd,fine\ne,\"open at the end");
    assert_int_equal(f->d.count, 2);
    assert_int_equal(f->d.rejected_count, 3);
    check_reject(f, 0, REJECT_COLUMNS, 1, "a", "not closed");
    check(f, 0, "b", "fine", "", 2);
    check_reject(f, 1, REJECT_COLUMNS, 3, "c", "after its closing quote");
    check(f, 1, "d", "fine", "", 4);
    check_reject(f, 2, REJECT_COLUMNS, 5, "e", "not closed");
    /* A quote open for more lines than any sentence has. */
    Buf b = {0};
    buf_str(&b, "z,\"open\n");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "n%d,fine\n", i);
    buf_str(&b, "y,closed\"\n");
    open_text(f, b.data);
    assert_int_equal(f->d.count, 301);
    assert_int_equal(f->d.rejected_count, 1);
    buf_free(&b);
}

static void test_forced_delimiter(void **state)
{
    Folder *f = *state;
    f->cfg.metadata_delimiter = "comma";
    open_text(f, "a,x|y\nb,z|w\n");
    check(f, 0, "a", "x|y", "", 1);
    f->cfg.metadata_delimiter = "tab";
    open_text(f, "a,q|x\ty|z\n");
    check(f, 0, "a,q|x", "y|z", "", 1);
    f->cfg.metadata_delimiter = "|";
    open_text(f, "id\ttext\na|b\n");
    assert_int_equal(f->d.has_header, 0);
    check(f, 0, "a", "b", "", 2);
    f->cfg.metadata_delimiter = ";";
    assert_int_equal(open_code(f), ERR_CONFIG);
}

/* ---- rejections ---- */

static void test_columns(void **state)
{
    Folder *f = *state;
    open_text(f, "a|x|one\nb|y\nc|z|th|ree\njunk\nd|w|four\n");
    assert_int_equal(f->d.count, 2);
    assert_int_equal(f->d.rejected_count, 3);
    assert_int_equal(f->d.lines, 5);
    check_reject(f, 0, REJECT_COLUMNS, 2, "b", "2 columns, but the file has 3");
    check_reject(f, 1, REJECT_COLUMNS, 3, "c", "4 columns");
    check_reject(f, 2, REJECT_COLUMNS, 4, "junk", "1 column, ");
    open_text(f, "nothing\nto see\n");
    assert_int_equal(f->d.count, 0);
    assert_int_equal(f->d.columns, 0);
    check_reject(f, 1, REJECT_COLUMNS, 2, "to see", "it can be");
    open_text(f, "a|b|c|d|e|f\n");
    check_reject(f, 0, REJECT_COLUMNS, 1, "a", "6 columns; it can be");
}

static void test_empty_id_and_text(void **state)
{
    Folder *f = *state;
    open_text(f, "|x|one\n  |x|one\na||\nb| | \t\nc|x|y\n||\n");
    assert_int_equal(f->d.count, 1);
    check_reject(f, 0, REJECT_EMPTY_LINE_ID, 1, "", "");
    check_reject(f, 1, REJECT_EMPTY_LINE_ID, 2, "", "");
    check_reject(f, 2, REJECT_EMPTY_TEXT, 3, "a", "");
    check_reject(f, 3, REJECT_EMPTY_TEXT, 4, "b", "");
    check_reject(f, 4, REJECT_EMPTY_LINE_ID, 6, "", "");
}

static void test_utf8(void **state)
{
    Folder *f = *state;
    open_text(f, "ok|caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF\n"
                 "latin|caf\xE9 noir\n"
                 "overlong|\xC0\xAF\n"
                 "surrogate|\xED\xA0\x80\n"
                 "beyond|\xF4\x90\x80\x80\n"
                 "cut|abc\xE2\x82\n"
                 "lone|\x80\n"
                 "over3|\xE0\x80\xAF\n"
                 "b\xFF|x\n");
    assert_int_equal(f->d.count, 1);
    assert_int_equal(f->d.rejected_count, 8);
    check_reject(f, 0, REJECT_UTF8, 2, "latin", "0xE9 at offset 9");
    check_reject(f, 4, REJECT_UTF8, 6, "cut", "offset 7");
    check_reject(f, 7, REJECT_UTF8, 9, "", "0xFF at offset 1");
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(f->d.rejected[i].reason, REJECT_UTF8);
}

static void test_nul_bytes(void **state)
{
    Folder *f = *state;
    static const char text[] = "a|x\0y\nb\0c|text\nd|text\n";
    open_bytes(f, text, sizeof text - 1);
    assert_int_equal(f->d.count, 1);
    check_reject(f, 0, REJECT_UTF8, 1, "a", "NUL byte at offset 3");
    assert_int_equal(f->d.rejected[1].reason, REJECT_UNSAFE_ID);
    assert_int_equal(f->d.rejected[1].id.n, 3);
}

static void test_unsafe_ids(void **state)
{
    Folder *f = *state;
    make_folder(f, "wavs");
    static const char *const bad[] = {"../x",
                                      "a/../../x",
                                      "..",
                                      "a/..",
                                      "/etc/passwd",
                                      "\\x",
                                      "..\\x",
                                      "a\\..\\b",
                                      "C:x",
                                      "c:\\x",
                                      "C:/x",
                                      "./../x",
                                      "wavs//etc/x",
                                      ".//etc/x",
                                      "wavs/../../x",
                                      ("a\x01"
                                       "b"),
                                      "wavs/C:/x",
                                      "wavs/\\x"};
    static const char *const good[] = {"..a", "a..b", "a..",      "...", "a/b.c/d",
                                       "C",   "-x",   "\xC3\xA9", "a b", "a\\b"};
    size_t bads = sizeof bad / sizeof *bad, goods = sizeof good / sizeof *good;
    Buf b = {0};
    for (size_t i = 0; i < bads; i++)
        buf_printf(&b, "%s|text\n", bad[i]);
    for (size_t i = 0; i < goods; i++)
        buf_printf(&b, "%s|text\n", good[i]);
    open_text(f, b.data);
    for (size_t i = 0; i < bads; i++)
        check_reject(f, i, REJECT_UNSAFE_ID, (uint32_t)i + 1, bad[i], "");
    assert_int_equal(f->d.rejected_count, bads);
    assert_int_equal(f->d.count, goods);
    for (size_t i = 0; i < goods; i++)
        assert_str(f->d.utterances[i].id, good[i]);
    buf_free(&b);
    open_text(f, "\"a\nb\",text\nc,text\n"); /* a line end inside a quoted id */
    check_reject(f, 0, REJECT_UNSAFE_ID, 1, "a\nb", "control");
}

static void test_duplicates(void **state)
{
    Folder *f = *state;
    make_folder(f, "wavs");
    f->cfg.metadata_eval_file = "eval.csv";
    put(f, "eval.csv", "c|three\na|again\n");
    open_text(f, "a|one\nb|two\na|other\n./b|two\nwavs/b|two\n./wavs/b|two\n");
    assert_int_equal(f->d.count, 3);
    check(f, 0, "a", "one", "", 1);
    check_reject(f, 0, REJECT_DUPLICATE_ID, 3, "a", "first on line 1");
    check_reject(f, 1, REJECT_DUPLICATE_ID, 4, "b", "first on line 2");
    check_reject(f, 2, REJECT_DUPLICATE_ID, 5, "b", "first on line 2");
    check_reject(f, 3, REJECT_DUPLICATE_ID, 6, "b", "first on line 2");
    check_reject(f, 4, REJECT_DUPLICATE_ID, 2, "a", "line 1 of metadata.csv");
    assert_int_equal(f->d.rejected[4].file, 1);
    assert_int_equal(f->d.utterances[0].split, SPLIT_TRAIN);
    assert_int_equal(f->d.utterances[2].split, SPLIT_VAL);
    assert_int_equal(f->d.utterances[2].file, 1);
}

static void test_long_lines(void **state)
{
    Folder *f = *state;
    size_t n = 1 << 20;
    Buf b = {0};
    buf_str(&b, "a|short\nlong|");
    size_t at = b.size;
    buf_zero(&b, n);
    memset(b.data + at, 'x', n);
    buf_str(&b, "\nedge|");
    at = b.size;
    buf_zero(&b, 65536 - 5);
    memset(b.data + at, 'y', 65536 - 5);
    buf_str(&b, "\nover|");
    at = b.size;
    buf_zero(&b, 65537 - 5);
    memset(b.data + at, 'y', 65537 - 5);
    buf_str(&b, "\nz|last\n");
    at = b.size;
    buf_zero(&b, n);
    memset(b.data + at, 'z', n); /* no id in sight, no line end */
    open_bytes(f, b.data, b.size);
    buf_free(&b);
    assert_int_equal(f->d.count, 3);
    check(f, 0, "a", "short", "", 1);
    assert_int_equal(f->d.utterances[1].text.n, 65536 - 5);
    check(f, 2, "z", "last", "", 5);
    check_reject(f, 0, REJECT_LINE_TOO_LONG, 2, "long", "1048581 bytes");
    check_reject(f, 1, REJECT_LINE_TOO_LONG, 4, "over", "65537 bytes");
    check_reject(f, 2, REJECT_LINE_TOO_LONG, 6, "", "1048576 bytes");
}

static void test_many_lines(void **state)
{
    Folder *f = *state;
    Buf b = {0};
    for (int i = 0; i < 200000; i++)
        buf_printf(&b, "clip-%06d|Line %d.|Line number %d.\n", i % 199000, i, i);
    assert_int_equal(b.failed, 0);
    open_bytes(f, b.data, b.size);
    buf_free(&b);
    assert_int_equal(f->d.lines, 200000);
    assert_int_equal(f->d.count, 199000);
    assert_int_equal(f->d.rejected_count, 1000);
    check(f, 198999, "clip-198999", "Line number 198999.", "", 199000);
    check_reject(f, 999, REJECT_DUPLICATE_ID, 200000, "clip-000999", "first on line 1000");
    size_t held_out = 0;
    for (size_t i = 0; i < f->d.count; i++)
        held_out += f->d.utterances[i].split == SPLIT_VAL;
    assert_in_range(held_out, 199000 * 0.045, 199000 * 0.055);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_three_columns_are_ljspeech),
        T(test_two_and_four_columns),
        T(test_third_column_of_speakers),
        T(test_headers),
        T(test_line_ends_and_marks),
        T(test_utf16),
        T(test_tabs),
        T(test_commas_and_quotes),
        T(test_stray_quotes_cost_one_line),
        T(test_forced_delimiter),
        T(test_columns),
        T(test_empty_id_and_text),
        T(test_utf8),
        T(test_nul_bytes),
        T(test_unsafe_ids),
        T(test_duplicates),
        T(test_long_lines),
        T(test_many_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
