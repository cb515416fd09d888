/* voice_testing.c - see voice_testing.h. */
#include "voice_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "voice/safetensors.h"

void write_languages(const char *to, const char *from, const char *entry, int vectors)
{
    SafeTensors f;
    Err err = {0};
    Rng r;
    int n = 0;
    if (safetensors_open(&f, from, &err))
        fail_msg("%s", err.msg);
    MetaEntry *meta = calloc((size_t)f.n_meta + 1, sizeof *meta);
    TensorView *tensors = calloc((size_t)f.count + 1, sizeof *tensors);
    const int64_t width = safetensors_find(&f, "text.symbols")->shape[1];
    float *numbers = calloc((size_t)vectors * (size_t)width + 1, sizeof *numbers);
    assert_true(meta && tensors && numbers);
    /* What the writer adds by itself is left to it. */
    for (int i = 0; i < f.n_meta; i++) {
        const char *key = f.meta[i].key;
        if (strcmp(key, "languages") != 0 && strcmp(key, "xxh128") != 0 && strcmp(key, "written_by") != 0)
            meta[n++] = f.meta[i];
    }
    if (entry)
        meta[n++] = (MetaEntry){"languages", entry};
    memcpy(tensors, f.tensors, (size_t)f.count * sizeof *tensors);
    rng_seed(&r, 11);
    for (int64_t i = 0; i < vectors * width; i++)
        numbers[i] = (float)rng_normal(&r);
    tensors[f.count] = (TensorView){.name = "text.languages",
                                    .dtype = "F32",
                                    .dims = 2,
                                    .shape = {vectors, width, 1, 1},
                                    .data = numbers,
                                    .bytes = (uint64_t)(vectors * width) * sizeof *numbers};
    if (safetensors_write(to, meta, n, tensors, f.count + (vectors > 0), &err))
        fail_msg("%s", err.msg);
    free(meta);
    free(tensors);
    free(numbers);
    safetensors_close(&f);
}

void write_phoneme_voice(const char *to, const char *from)
{
    static const char was[] = "\"use_phonemes\": false", is[] = "\"use_phonemes\": true ";
    SafeTensors f;
    Err err = {0};
    int n = 0;
    if (safetensors_open(&f, from, &err))
        fail_msg("%s", err.msg);
    MetaEntry *meta = calloc((size_t)f.n_meta, sizeof *meta);
    char *config = NULL;
    assert_non_null(meta);
    for (int i = 0; i < f.n_meta; i++) {
        const char *key = f.meta[i].key;
        if (strcmp(key, "xxh128") == 0 || strcmp(key, "written_by") == 0)
            continue;
        meta[n] = f.meta[i];
        if (strcmp(key, "config") == 0) {
            config = strdup(f.meta[i].value);
            assert_non_null(config);
            char *at = strstr(config, was);
            assert_non_null(at);
            memcpy(at, is, sizeof is - 1);
            meta[n].value = config;
        }
        n++;
    }
    if (safetensors_write(to, meta, n, f.tensors, f.count, &err))
        fail_msg("%s", err.msg);
    free(config);
    free(meta);
    safetensors_close(&f);
}
