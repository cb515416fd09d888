/* test_checkpoint_fields.c - the tables of what is in a checkpoint: they cover the state of a run, files of
 * before still load, sizes are checked, and docs/FORMATS.md says what they say.
 * `test_checkpoint_fields --print` prints the part of docs/FORMATS.md that follows from them. */
#include "support/folder_testing.h"

#include <math.h>

#include "config/bindings.h"
#include "voice/checkpoint_fields.h"

/* Written by the program before the tables existed. */
#define OLD_FILE "tests/golden/checkpoint.safetensors"

/* ---- the documentation ---- */

#define DOCUMENT "docs/FORMATS.md"
#define BEGIN "<!-- from the tables in src/voice: build/tests/test_checkpoint_fields --print -->\n"
#define END "<!-- end of what follows from the tables -->\n"

static const char *const extent_names[EXTENT_COUNT] = {"", "n_mels", "clips", "256"};
static const char *const need_names[] = {"no", "to resume", "yes"};

/* "[clips, 256, n_mels]", or the count of a packed tensor's numbers. */
static void shape_text(char *out, size_t cap, int row)
{
    const CheckpointField *f = checkpoint_field(row);
    int rows = checkpoint_field_rows(row);
    size_t n = (size_t)snprintf(out, cap, "[");
    for (int k = 0; k < 3 && f->shape[k]; k++)
        n += (size_t)snprintf(out + n, cap - n, "%s%s", k ? ", " : "", extent_names[f->shape[k]]);
    if (!f->shape[0])
        n += (size_t)snprintf(out + n, cap - n, "%d",
                              strcmp(f->dtype, "U8") ? rows : (int)checkpoint_field_bytes(f, rows));
    snprintf(out + n, cap - n, "]");
}

static void print_tables(Buf *out)
{
    buf_str(out, BEGIN "\n| in the metadata | |\n|---|---|\n");
    for (int i = 0; i < checkpoint_entry_count(); i++)
        buf_printf(out, "| `%s` | %s |\n", checkpoint_entry(i)->key, checkpoint_entry(i)->words);
    buf_str(out, "\n| tensor | type and shape | needed | |\n|---|---|---|---|\n");
    for (int g = 0; g < CHECKPOINT_GROUPS; g++) {
        const CheckpointGroupRow *r = checkpoint_group((CheckpointGroup)g);
        buf_printf(out, "| `%sNAME` | F32 | %s | %s |\n", r->prefix, need_names[r->need], r->words);
    }
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        char shape[80];
        shape_text(shape, sizeof shape, i);
        buf_printf(out, "| `%s` | %s %s | %s | ", f->tensor, f->dtype, shape, need_names[f->need]);
        for (int k = 0; k < checkpoint_field_rows(i); k++) {
            const CheckpointField *part = checkpoint_field(i + k);
            buf_printf(out, "%s%s", k ? "; " : "", part->words);
            if (strcmp(part->type, part->dtype) != 0)
                buf_printf(out, " (%s)", part->type);
            if (part->added)
                buf_str(out, " (0 in older files)");
        }
        buf_str(out, " |\n");
    }
    buf_str(out, "\n" END);
}

static void formats_says_what_the_tables_say(void **state)
{
    Buf want = {0}, file = {0};
    Err err = {0};
    print_tables(&want);
    if (file_read(&file, DOCUMENT, 1 << 20, &err))
        fail_msg("%s", err.msg);
    buf_add(&file, "", 1);
    const char *begin = strstr(file.data, BEGIN), *end = strstr(file.data, END);
    if (!begin || !end || (size_t)(end - begin) + strlen(END) != want.size ||
        memcmp(begin, want.data, want.size) != 0)
        fail_msg(DOCUMENT " is not what the tables say: put the output of test_checkpoint_fields --print "
                          "between its two marks");
    buf_free(&want);
    buf_free(&file);
}

/* ---- packing ---- */

/* A member of TrainState without a row would not come back. */
static void every_byte_of_the_state_has_a_row(void **state)
{
    CheckpointContent from = {0}, back = {0};
    memset(&from.state, 0x5A, sizeof from.state);
    int packed = 0;
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        uint8_t bytes[512];
        if (f->shape[0])
            continue;
        int rows = checkpoint_field_rows(i);
        assert_true(checkpoint_field_bytes(f, rows) <= sizeof bytes);
        checkpoint_field_pack(f, rows, bytes, &from);
        checkpoint_field_unpack(f, rows, bytes, &back);
        packed++;
    }
    assert_int_equal(packed, 5);
    assert_memory_equal(&back.state, &from.state, sizeof from.state);
}

/* The file has had these bytes since before there was a table; the batch was added at the end. */
static void the_layout_is_that_of_before(void **state)
{
    CheckpointContent c = {.state = {.step = 1,
                                     .data = {.epoch = 2, .index = 3, .seed = 4},
                                     .choice = {.best = {.step = 5,
                                                         .loss = 0.5,
                                                         .ear = {0.9, 0.7, 0.95, 0.99},
                                                         .words = 11,
                                                         .wrong = 12,
                                                         .their_words = 15,
                                                         .their_wrong = 16,
                                                         .taught = 17},
                                                .stale = 6,
                                                .peak = 0.85,
                                                .level = 0.8,
                                                .lowest_step = 13,
                                                .lowest_loss = 0.25,
                                                .floor = 0.375},
                                     .total = 7,
                                     .schedule_from = 8,
                                     .batch = 9,
                                     .critic_step = 10,
                                     .warmup = 14,
                                     .copies = {0.3, 0.2},
                                     .manner = {.pace = 1.02, .spread = 1.1, .sharpness = 0.2},
                                     .guard = {1.5f, 2.5f, 3, 2, 5, 6}}};
    /* The last ten were added. */
    const int64_t numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    const double best[] = {0.5, 0.9, 0.7, 0.95, 0.99, 0.85, 0.8, 0.25, 0.375}; /* all but the first were */
    for (int i = 0; i < checkpoint_field_count(); i += checkpoint_field_rows(i)) {
        const CheckpointField *f = checkpoint_field(i);
        uint8_t bytes[512];
        if (f->shape[0])
            continue;
        checkpoint_field_pack(f, checkpoint_field_rows(i), bytes, &c);
        size_t n = checkpoint_field_bytes(f, checkpoint_field_rows(i));
        if (strcmp(f->tensor, "train.state") == 0) {
            assert_int_equal(n, sizeof numbers);
            assert_memory_equal(bytes, numbers, sizeof numbers);
        } else if (strcmp(f->tensor, "train.best") == 0) {
            assert_int_equal(n, sizeof best);
            assert_memory_equal(bytes, best, n);
        } else if (strcmp(f->tensor, "voice.manner") == 0) {
            assert_int_equal(n, sizeof c.state.manner);
            assert_memory_equal(bytes, &c.state.manner, n);
        } else if (strcmp(f->tensor, "copies.distance") == 0) {
            assert_int_equal(n, sizeof c.state.copies);
            assert_memory_equal(bytes, c.state.copies, n);
        } else {
            assert_string_equal(f->tensor, "train.guard");
            assert_int_equal(n, sizeof c.state.guard);
            assert_memory_equal(bytes, &c.state.guard, n);
        }
    }
}

/* Rows that were added later may be missing at the end, others may not. */
static void a_number_added_later_may_be_missing(void **state)
{
    CheckpointField rows[3] = {{.tensor = "t", .dtype = "I64", .type = "I64"},
                               {.tensor = "t", .dtype = "I64", .type = "I64", .added = 1},
                               {.tensor = "t", .dtype = "I64", .type = "I64", .added = 1}};
    static const struct {
        uint64_t bytes;
        int fit;
    } cases[] = {{24, 3}, {16, 2}, {8, 1}, {0, 0}, {4, 0}, {12, 0}, {23, 0}, {25, 0}, {32, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(checkpoint_field_fit(rows, 3, cases[i].bytes), cases[i].fit);
}

/* ---- files ---- */

static int open_file(Checkpoint *v, const char *path, Err *err)
{
    *err = (Err){0};
    return checkpoint_open(v, path, path, 0, NULL, NULL, err);
}

static void a_file_of_before_loads(void **state)
{
    Checkpoint v;
    TrainState s;
    Err err;
    if (open_file(&v, OLD_FILE, &err) || checkpoint_state(&v, &s, &err))
        fail_msg("%s", err.msg);
    assert_true(s.step == 6 && s.data.seed == 7 && s.choice.best.step == 2 && s.choice.stale == 2 &&
                s.total == 0 && s.batch == 0);
    assert_true(s.data.epoch == 1 && s.data.index == 2);
    assert_true(s.guard.seen == 6 && s.guard.total == 0 && s.guard.norm > 0 && s.guard.mean > 0);
    assert_true(isfinite(s.choice.best.loss) && s.choice.best.loss > 0);
    /* What it does not know: it was chosen by its loss, the lowest. */
    assert_true(s.choice.best.ear.movement == 0 && s.choice.best.words == 0 && s.choice.peak == 0);
    assert_true(s.choice.lowest_step == 2 && s.choice.lowest_loss == s.choice.best.loss);
    assert_int_equal(v.speaker_count, 1);
    assert_string_equal(v.speakers[0], "anna");
    assert_true(v.content.clips.count == 4 && v.content.clips.frames == 256 && v.content.clips.bands == 8);
    assert_true(v.longest_text > 0 && v.pitch_deviation > 0);
    /* It is a voice, and its mel is known by its settings. */
    Hash128 mel = config_mel_hash(&v.cfg);
    char hash[33];
    snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)mel.hi, (unsigned long long)mel.lo);
    assert_true(v.cfg.network == NETWORK_VOICE);
    assert_string_equal(v.mel, hash);
    /* All its parameters and moments are those of a network with its settings. */
    Model m;
    assert_int_equal(model_open(&m, &v.cfg, (int)safetensors_find(&v.file, "text.symbols")->shape[0],
                                v.language_input, &err),
                     0);
    float *flat = calloc((size_t)m.params.size, sizeof *flat);
    for (int g = 0; g < CHECKPOINT_GROUPS; g++)
        assert_int_equal(checkpoint_params(&v, &m, (CheckpointGroup)g, flat, &err), 0);
    free(flat);
    model_close(&m);
    checkpoint_close(&v);
}

/* Writes the old file again with one tensor left out, cut short, or of another type. */
static void write_changed(const char *path, const char *tensor, const char *dtype, int64_t cut)
{
    SafeTensors f;
    Err err = {0};
    assert_int_equal(safetensors_open(&f, OLD_FILE, &err), 0);
    TensorView *t = calloc((size_t)f.count, sizeof *t);
    MetaEntry meta[16];
    int n = 0, n_meta = 0;
    for (int i = 0; i < f.n_meta; i++)
        if (strcmp(f.meta[i].key, "xxh128") != 0 && strcmp(f.meta[i].key, "written_by") != 0)
            meta[n_meta++] = f.meta[i];
    for (int i = 0; i < f.count; i++) {
        t[n] = f.tensors[i];
        if (strcmp(t[n].name, tensor) == 0) {
            if (!dtype && !cut)
                continue;
            if (dtype)
                t[n].dtype = dtype;
            t[n].bytes -= t[n].bytes / (uint64_t)t[n].shape[0] * (uint64_t)cut;
            t[n].shape[0] -= cut;
        }
        n++;
    }
    if (safetensors_write(path, meta, n_meta, t, n, &err))
        fail_msg("%s", err.msg);
    free(t);
    safetensors_close(&f);
}

typedef enum { REFUSED, SPEAKS_ONLY, NO_CLIPS } Fate;

static void sizes_and_types_are_checked(void **state)
{
    static const struct {
        const char *tensor, *dtype;
        int64_t cut;
        Fate fate;
    } cases[] = {
        {"mel.mean", NULL, 0, REFUSED},
        {"mel.mean", NULL, 1, REFUSED},
        {"mel.deviation", "I32", 0, REFUSED},
        {"train.state", NULL, 0, SPEAKS_ONLY},
        {"train.state", NULL, 1, SPEAKS_ONLY},
        {"train.state", "F64", 0, SPEAKS_ONLY},
        {"train.best", NULL, 0, SPEAKS_ONLY},
        {"train.guard", NULL, 4, SPEAKS_ONLY},
        {"train.guard", "I8", 0, SPEAKS_ONLY},
        {"voice_clips.mel", NULL, 0, NO_CLIPS},
        {"voice_clips.mel", NULL, 1, NO_CLIPS},
        {"voice_clips.length", NULL, 1, NO_CLIPS},
        {"voice_clips.speaker", "F32", 0, NO_CLIPS},
    };
    Folder folder = folder_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = folder_file(&folder, "changed.safetensors");
        Checkpoint v;
        TrainState s;
        Err err;
        write_changed(path, cases[i].tensor, cases[i].dtype, cases[i].cut);
        int rc = open_file(&v, path, &err);
        if (cases[i].fate == REFUSED) {
            assert_int_equal(rc, ERR_FORMAT);
            assert_non_null(strstr(err.msg, cases[i].tensor));
            /* A failed opener leaves nothing open. */
            assert_true(!v.file.tensors && !v.speakers && !v.has_cfg);
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(checkpoint_state(&v, &s, &err), cases[i].fate == SPEAKS_ONLY ? ERR_FORMAT : 0);
            assert_int_equal(v.content.clips.count, cases[i].fate == NO_CLIPS ? 0 : 4);
        }
        checkpoint_close(&v);
    }
    folder_remove(&folder);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        Buf out = {0};
        print_tables(&out);
        fwrite(out.data, 1, out.size, stdout);
        buf_free(&out);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_says_what_the_tables_say),
        cmocka_unit_test(every_byte_of_the_state_has_a_row),
        cmocka_unit_test(the_layout_is_that_of_before),
        cmocka_unit_test(a_number_added_later_may_be_missing),
        cmocka_unit_test(a_file_of_before_loads),
        cmocka_unit_test(sizes_and_types_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
