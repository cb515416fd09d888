/* test_data.c - what opens the data of a training (pipeline/data.h). */
#include "support/pipeline_testing.h"

#include "cache/features.h"
#include "cache/places.h"
#include "cache/state_file.h"
#include "pipeline/data.h"

/* As prepare would have noted it: a disk that loses bits changes no stamp. */
static void hide_damage(const Config *cfg)
{
    StateFile s;
    assert_true(state_file_open(&s, corpora.cache, &(PrepareOptions){.text = 1, .mel = 1}));
    StateHead head = s.head;
    FILE *f = fopen(s.path, "r+b");
    assert_non_null(f);
    head.keys.stores[1] = cache_stamp(corpora.cache, MEL_STORE, mel_settings_hash(cfg));
    head.checksum = hash64(&head, offsetof(StateHead, checksum));
    assert_int_equal(fwrite(&head, sizeof head, 1, f), 1);
    fclose(f);
    state_file_close(&s);
}

static int open_data(const Config *cfg)
{
    Log log;
    Err err = {0};
    CorpusSource *source;
    log_init(&log, LOG_ERROR);
    const int rc = data_open(&source, cfg, &(DataOptions){0}, &log, &err);
    if (rc)
        print_message("%s\n", err.msg);
    corpus_source_close(source);
    return rc;
}

/* Wherever the byte is that was lost. */
static void damage_that_no_stamp_shows_is_mended(void **state)
{
    Config cfg;
    pipeline_config(&cfg, "");
    const char *index = folder_file(&corpora.folder, "cache/mel.index");
    for (int k = 0; k < 8; k++) {
        assert_int_equal(open_data(&cfg), 0);
        Buf bytes = file_bytes(index);
        const size_t at = (size_t)k * (bytes.size - 1) / 7;
        file_put_byte(index, at, (uint8_t)(bytes.data[at] ^ 0x41));
        buf_free(&bytes);
        hide_damage(&cfg);
        assert_int_equal(open_data(&cfg), 0);
    }
    config_close(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damage_that_no_stamp_shows_is_mended)};
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
