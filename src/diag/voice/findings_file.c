/* findings_file.c - see findings_file.h. A head, the text, the JSON. */
#include "diag/voice/findings_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/words/words.h"
#include "config/bindings.h"
#include "diag/voice/facts_file.h"

#define FINDINGS_FILE "prepared.findings"
#define MOST_BYTES ((size_t)1 << 30)

typedef struct FindingsHead {
    char magic[8];
    Hash128 key;
    uint64_t text_size, json_size;
    int64_t findings;
    uint64_t checksum; /* of the head before it, then of text and JSON */
} FindingsHead;
static const char findings_magic[8] = "MYXTTSW\n";

int findings_take(Findings *f, const CorpusCheck *check, const char *more, Err *err)
{
    *f = (Findings){.findings = check->doubts.findings};
    json_t *o = json_object();
    char *json = o && corpus_check_json(o, check) == 0 ? json_dumps(o, JSON_COMPACT) : NULL;
    buf_str(&f->json, json ? json : "{}");
    f->json.failed |= !json;
    corpus_check_print(&f->text, check, more);
    free(json);
    json_decref(o);
    if (!f->text.failed && !f->json.failed)
        return 0;
    findings_free(f);
    return err_set(err, ERR_NOMEM, "no memory for the findings of %zu clips", check->facts.count);
}

void findings_free(Findings *f)
{
    buf_free(&f->text);
    buf_free(&f->json);
    *f = (Findings){0};
}

/* Another program may say it in other words. Zeros if something is not there: it is made again then. */
static Hash128 key_of(const char *dir, const Config *cfg, Hash128 state)
{
    FileStamp program, list, facts;
    Hasher h;
    char *path = file_join(dir, "findings.tsv");
    const Hash128 none = {0}, settings = config_hash_all(cfg);
    const int known = path && !hash_equal(state, none) && !hash_equal(settings, none) &&
                      file_own_stamp(&program) == 0 && file_stamp(&list, path, NULL) == 0 &&
                      facts_file_stamp(&facts, dir) == 0 && hasher_open(&h) == 0;
    free(path);
    if (!known)
        return (Hash128){0};
    hasher_bytes(&h, &state, sizeof state);
    hasher_bytes(&h, &settings, sizeof settings);
    hasher_bytes(&h, &program, sizeof program);
    hasher_bytes(&h, &list, sizeof list);
    hasher_bytes(&h, &facts, sizeof facts);
    hasher_u64(&h, words_chosen());
    return hasher_close(&h);
}

static uint64_t checksum_of(const FindingsHead *h, const char *text, const char *json)
{
    const uint64_t parts[] = {hash64(h, offsetof(FindingsHead, checksum)), hash64(text, h->text_size),
                              hash64(json, h->json_size)};
    return hash64(parts, sizeof parts);
}

int findings_file_read(Findings *f, const char *dir, const Config *cfg, Hash128 state)
{
    FindingsHead h;
    Buf file = {0};
    const Hash128 key = key_of(dir, cfg, state);
    char *path = file_join(dir, FINDINGS_FILE);
    *f = (Findings){0};
    int holds = path && !hash_equal(key, (Hash128){0}) && file_read(&file, path, MOST_BYTES, NULL) == 0 &&
                file.size >= sizeof h;
    if (holds) {
        memcpy(&h, file.data, sizeof h);
        const char *text = file.data + sizeof h;
        holds = memcmp(h.magic, findings_magic, sizeof h.magic) == 0 && hash_equal(h.key, key) &&
                h.text_size < MOST_BYTES && h.json_size < MOST_BYTES &&
                file.size == sizeof h + h.text_size + h.json_size &&
                h.checksum == checksum_of(&h, text, text + h.text_size);
        if (holds) {
            buf_add(&f->text, text, h.text_size);
            buf_add(&f->json, text + h.text_size, h.json_size);
            f->findings = (int)h.findings;
            holds = !f->text.failed && !f->json.failed;
        }
    }
    if (!holds)
        findings_free(f);
    buf_free(&file);
    free(path);
    return holds;
}

void findings_file_write(const Findings *f, const char *dir, const Config *cfg, Hash128 state)
{
    FindingsHead h = {.key = key_of(dir, cfg, state),
                      .text_size = f->text.size,
                      .json_size = f->json.size,
                      .findings = f->findings};
    FileWriter w = {0};
    char *path = file_join(dir, FINDINGS_FILE);
    memcpy(h.magic, findings_magic, sizeof h.magic);
    h.checksum = checksum_of(&h, f->text.data, f->json.data);
    if (path && !hash_equal(h.key, (Hash128){0}) && !file_writer_open(&w, path, NULL) &&
        !file_writer_write(&w, &h, sizeof h, NULL) &&
        !file_writer_write(&w, f->text.data, f->text.size, NULL) &&
        !file_writer_write(&w, f->json.data, f->json.size, NULL))
        file_writer_commit(&w, NULL);
    file_writer_abort(&w);
    free(path);
}
