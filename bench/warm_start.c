/* warm_start.c - what a trainer does first on a prepared dataset: all tokens and mel offsets in hand, checked
 * against the metadata. Looks at the metadata and the caches, not at the audio files. usage: warm_start
 * DATA_PATH CACHE_DIR prints {"utterances": N, "tokens": N, "mels": N, "sum": S, "inside_ms": T}; time the
 * whole process from outside. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cache/features.h"
#include "text/text.h"

int main(int argc, char **argv)
{
    double start = clock_now();
    Config cfg;
    Err err = {0};
    Dataset d = {0};
    Store text = {0}, mel = {0};
    if (argc != 3 || config_defaults(&cfg, &err)) {
        fprintf(stderr, "usage: warm_start DATA_PATH CACHE_DIR\n");
        return 2;
    }
    cfg.data_path = argv[1];
    if (dataset_open(&d, &cfg, &err) || store_open(&text, argv[2], TEXT_STORE, &err)) {
        fprintf(stderr, "warm_start: %s\n", err.msg);
        return 3;
    }
    int has_mel = store_open(&mel, argv[2], MEL_STORE, &err) == 0;
    Hash128 settings = text_settings_hash(&cfg);
    unsigned long long tokens = 0, sum = 0, valid = 0, mels = 0;
    for (size_t i = 0; i < d.count; i++) {
        const Utterance *u = &d.utterances[i];
        int64_t at = store_find(&text, u->id.p, u->id.n);
        StoreEntry e;
        TextView v;
        if (at < 0)
            continue;
        store_entry(&text, (uint64_t)at, &e);
        if (e.status || !hash_equal(e.key, text_key(settings, u)) || text_view(&v, &e))
            continue;
        valid++;
        tokens += v.token_count;
        for (uint32_t k = 0; k < v.token_count; k++)
            sum += v.tokens[k];
        if (has_mel && (at = store_find(&mel, u->id.p, u->id.n)) >= 0) {
            store_entry(&mel, (uint64_t)at, &e);
            sum += e.offset;
            mels += e.status == 0;
        }
    }
    printf("{\"utterances\": %llu, \"tokens\": %llu, \"mels\": %llu, \"sum\": %llu, \"inside_ms\": %.2f}\n",
           valid, tokens, mels, sum, 1e3 * (clock_now() - start));
    store_close(&text);
    store_close(&mel);
    dataset_close(&d);
    config_close(&cfg);
    return 0;
}
