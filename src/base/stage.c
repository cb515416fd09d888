/* stage.c - see stage.h. */
#include "base/stage.h"

#include <string.h>

#include "base/check.h"

/* Without places in brackets: a row that is missing changes the size, one in the wrong place is found by
 * stage_info. */
static const StageInfo stages[] = {
    {
        .id = STAGE_READ,
        .name = "read",
        .keys = {{"read_ms", SIM_MS}},
        .cause = CAUSE_STORAGE,
    },
    {
        .id = STAGE_DECODE,
        .name = "decode",
        .keys = {{"decode_ms", SIM_MS}},
        .workers = 1,
        .cause = CAUSE_COMPUTE,
    },
    {
        .id = STAGE_H2D,
        .name = "h2d",
        .keys = {{"h2d_gbps", SIM_GBPS}, {"h2d_us", SIM_US}},
        .stream = STREAM_COPY,
        .cause = CAUSE_BANDWIDTH,
    },
    {
        .id = STAGE_PREPROCESS,
        .name = "preprocess",
        .keys = {{"preprocess_ms", SIM_MS}},
        .stream = STREAM_WORK,
        .workers = 1,
        .cause = CAUSE_COMPUTE,
    },
    {
        .id = STAGE_PEER,
        .name = "peer",
        .keys = {{"peer_gbps", SIM_GBPS}, {"peer_us", SIM_US}},
        .stream = STREAM_PEER,
        .cause = CAUSE_BANDWIDTH,
    },
    {
        .id = STAGE_STEP,
        .name = "step",
        .keys = {{"step_ms", SIM_MS}, {"step_gbps", SIM_GBPS}},
        .cause = CAUSE_COMPUTE,
    },
    {
        .id = STAGE_SUM,
        .name = "sum",
        .cause = CAUSE_BANDWIDTH,
    },
};
_Static_assert(sizeof stages / sizeof *stages == STAGE_COUNT, "one row for each stage");

const StageInfo *stage_info(StageId s)
{
    ASSERT(s >= 0 && s < STAGE_COUNT);
    ASSERT_CMP(stages[s].id, ==, s);
    return &stages[s];
}

const char *stage_name(StageId s) { return stage_info(s)->name; }

StageId stage_find(const char *name, int n)
{
    for (int i = 0; i < STAGE_COUNT; i++)
        if ((int)strlen(stages[i].name) == n && memcmp(stages[i].name, name, (size_t)n) == 0)
            return (StageId)i;
    return STAGE_NONE;
}
