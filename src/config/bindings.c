/* bindings.c - walks the settings that a cache or a checkpoint is bound to. */
#include "config/bindings.h"

#include <string.h>

#include "base/check.h"
#include "config/option_table.h"

static const void *field(const Option *o, const Config *cfg) { return (const char *)cfg + o->offset; }

/* A number that a switch makes idle must not make a cache stale. */
static int is_idle(const Option *o, const Config *cfg)
{
    if (!o->with)
        return 0;
    int row = option_find(o->with, strlen(o->with));
    ASSERT_CMP(row, >=, 0);
    ASSERT_CMP(option_table[row].type, ==, OPT_BOOL);
    return *(const int *)field(&option_table[row], cfg) == 0;
}

static void hash_list(Hasher *h, const StringList *l)
{
    hasher_u64(h, (uint64_t)l->count);
    for (int i = 0; i < l->count; i++)
        hasher_str(h, l->items[i]);
}

static void hash_setting(Hasher *h, const Option *o, const Config *cfg)
{
    const void *p = field(o, cfg);
    int idle = is_idle(o, cfg);
    switch (o->type) {
    case OPT_BOOL:
    case OPT_INT:
    case OPT_INT_AUTO:
    case OPT_ENUM:
        hasher_u64(h, idle ? 0 : (uint64_t) * (const int *)p);
        break;
    case OPT_INT64:
        hasher_u64(h, idle ? 0 : (uint64_t) * (const int64_t *)p);
        break;
    case OPT_FLOAT:
        hasher_f64(h, idle ? 0 : *(const double *)p);
        break;
    case OPT_STRING:
    case OPT_CHOICE:
    case OPT_DEVICE:
        hasher_str(h, idle ? "" : *(const char *const *)p);
        break;
    case OPT_LIST:
        hash_list(h, p);
        break;
    }
}

void config_hash_bound(Hasher *h, const Config *cfg, Binding b)
{
    for (int floats = 0; floats < 2; floats++)
        for (int i = 0; i < option_count(); i++) {
            const Option *o = &option_table[i];
            if ((o->binds & b) && (o->type == OPT_FLOAT) == floats)
                hash_setting(h, o, cfg);
        }
}

/* Those that bind voices, vocoders and the cache of the mels alike. */
static int is_of_mel(const Option *o)
{
    const unsigned mel = BOUND_MEL_CACHE | BOUND_CHECKPOINT | BOUND_VOCODER;
    return (o->binds & mel) == mel;
}

Hash128 config_hash_all(const Config *cfg)
{
    Buf values = {0};
    for (int i = 0; i < config_row_count(); i++) {
        config_value_text(&values, cfg, i);
        buf_add(&values, "", 1);
    }
    Hash128 hash = {0};
    if (!values.failed)
        hash = hash_bytes(values.data, values.size);
    buf_free(&values);
    return hash;
}

Hash128 config_mel_hash(const Config *cfg)
{
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        if (!is_of_mel(o))
            continue;
        hasher_str(&h, o->key);
        hash_setting(&h, o, cfg);
    }
    return hasher_close(&h);
}

/* 1: setting i differs, and no switch makes it idle in both. */
static int differs(int i, const Config *was, const Config *is, ConfigRow *row_was, ConfigRow *row_is)
{
    const Option *o = &option_table[i];
    if (is_idle(o, was) && is_idle(o, is))
        return 0;
    return !config_row(was, i, row_was) && !config_row(is, i, row_is) &&
           strcmp(row_was->value, row_is->value) != 0;
}

int config_mel_differs(const Config *was, const Config *is, ConfigRow *row_was, ConfigRow *row_is)
{
    for (int i = 0; i < option_count(); i++)
        if (is_of_mel(&option_table[i]) && differs(i, was, is, row_was, row_is))
            return 1;
    return 0;
}

int config_bound_differs(const Config *was, const Config *is, Binding b, ConfigRow *row_was,
                         ConfigRow *row_is)
{
    for (int i = 0; i < option_count(); i++)
        if ((option_table[i].binds & b) && differs(i, was, is, row_was, row_is))
            return 1;
    return 0;
}

int config_row_is_idle(const Config *cfg, int i)
{
    const unsigned both = BOUND_CHECKPOINT | BOUND_VOCODER, bound = option_table[i].binds & both;
    if (cfg->network == NETWORK_BOTH)
        return 0;
    return bound == (cfg->network == NETWORK_VOCODER ? BOUND_CHECKPOINT : BOUND_VOCODER);
}
