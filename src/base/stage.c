/* stage.c - see stage.h. */
#include "base/stage.h"

#include <string.h>

#include "base/check.h"

static const char *const names[STAGE_COUNT] = {"read", "decode", "h2d", "preprocess", "peer", "step"};

const char *stage_name(StageId s)
{
    ASSERT(s >= 0 && s < STAGE_COUNT);
    return names[s];
}

StageId stage_find(const char *name, int n)
{
    for (int i = 0; i < STAGE_COUNT; i++)
        if ((int)strlen(names[i]) == n && memcmp(names[i], name, (size_t)n) == 0)
            return (StageId)i;
    return STAGE_NONE;
}
