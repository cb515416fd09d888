/* dataset_folder.c - see dataset_folder.h. */
#include "dataset_folder.h"

void put_bytes(const Folder *f, const char *name, const void *p, size_t n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(p, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

void put(const Folder *f, const char *name, const char *text) { put_bytes(f, name, text, strlen(text)); }

void make_folder(const Folder *f, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    assert_int_equal(file_make_dirs(path, NULL), 0);
}

int dataset_setup(void **state)
{
    Folder *f = calloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/myxtts-dataset-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(f->path))
        return -1;
    f->cfg = (Config){.data_path = f->path,
                      .metadata_train_file = "metadata.csv",
                      .metadata_eval_file = "",
                      .wavs_train_dir = "",
                      .wavs_eval_dir = "",
                      .metadata_delimiter = "auto",
                      .val_split = 0.05,
                      .seed = 7,
                      .enable_multispeaker = 1,
                      .speaker_id_pattern = ""};
    *state = f;
    return 0;
}

int dataset_teardown(void **state)
{
    Folder *f = *state;
    char command[512];
    dataset_close(&f->d);
    dataset_close(&f->d); /* twice is harmless */
    snprintf(command, sizeof command, "rm -rf '%s'", f->path);
    int rc = system(command);
    free(f);
    return rc;
}

int open_code(Folder *f)
{
    dataset_close(&f->d);
    return dataset_open(&f->d, &f->cfg, &f->err);
}

void open_ok(Folder *f)
{
    if (open_code(f))
        fail_msg("dataset_open: %s (%s)", f->err.msg, f->err.hint);
}

void open_text(Folder *f, const char *text)
{
    put(f, "metadata.csv", text);
    open_ok(f);
}

void open_bytes(Folder *f, const void *p, size_t n)
{
    put_bytes(f, "metadata.csv", p, n);
    open_ok(f);
}

int same(Str s, const char *want) { return s.n == strlen(want) && !memcmp(s.p, want, s.n); }

void check(const Folder *f, size_t i, const char *id, const char *text, const char *speaker, uint32_t line)
{
    assert_true(i < f->d.count);
    const Utterance *u = &f->d.utterances[i];
    assert_str(u->id, id);
    assert_str(u->text, text);
    assert_str(u->speaker, speaker);
    assert_int_equal(u->line, line);
}

void check_reject(const Folder *f, size_t i, RejectReason reason, uint32_t line, const char *id,
                  const char *in_detail)
{
    assert_true(i < f->d.rejected_count);
    const Rejection *r = &f->d.rejected[i];
    assert_string_equal(reject_code(r->reason), reject_code(reason));
    assert_int_equal(r->line, line);
    assert_str(r->id, id);
    const char *detail = r->detail ? r->detail : "(null)";
    if (!strstr(detail, in_detail))
        fail_msg("'%s' does not hold '%s'", detail, in_detail);
}
