/* augmentations.c - see augmentations.h. */
#include "config/augmentations.h"

#include <stddef.h>

#include "base/check.h"
#include "config/config.h"

static const Augmentation rows[AUGMENT_SEED] = {
#define ROW(name, key, most, of, neutral, drawn, salt, segments, help) \
    [AUGMENT_##name] = {#key, of, neutral, drawn, salt, segments},
    AUGMENTATIONS(ROW)
#undef ROW
};

const Augmentation *augmentation(int which)
{
    ASSERT(which >= 0 && which < AUGMENT_SEED);
    return &rows[which];
}

double augmentation_setting(const Config *cfg, int which)
{
    switch (which) {
#define VALUE(name, key, ...) \
    case AUGMENT_##name: \
        return cfg->key;
        AUGMENTATIONS(VALUE)
#undef VALUE
    default:
        ASSERT(0);
        return 0;
    }
}

void augmentations_on(int on[AUGMENT_SEED], const Config *cfg)
{
    for (int i = 0; i < AUGMENT_SEED; i++)
        on[i] = augmentation_setting(cfg, i) > 0;
}

const char *augmentation_of_recordings(const Config *cfg)
{
    for (int i = 0; i < AUGMENT_SEED; i++)
        if (rows[i].of == OF_RECORDING && augmentation_setting(cfg, i) > 0)
            return rows[i].key;
    return NULL;
}

void augmentations_turn_off(Config *cfg)
{
#define OFF(name, key, ...) cfg->key = 0;
    AUGMENTATIONS(OFF)
#undef OFF
}
