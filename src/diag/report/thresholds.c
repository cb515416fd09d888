/* thresholds.c - see thresholds.h. */
#include "diag/report/thresholds.h"

#include <math.h>

#include "base/check.h"

/* name, what is measured, good, bad, whether more is better, unit, note */
static const Limit limits[LIMIT_COUNT] = {
    [LIMIT_GPU_BUSY] = {"gpu_busy", SAY_GPU_BUSY_LIMIT, 0.80, 0.50, 1, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_GPU_SWING] = {"gpu_swing", SAY_GPU_SWING_LIMIT, 0.30, 0.30, 0, LIMIT_POINTS, NO_NOTE},
    [LIMIT_WAIT] = {"data_wait", SAY_WAIT_LIMIT, 0.05, 0.30, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_LOAD] = {"load_share", SAY_LOAD_LIMIT, 0.20, 0.20, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_TRANSFER] = {"transfer_share", SAY_TRANSFER_LIMIT, 0.15, 0.15, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_VARIATION] = {"step_variation", SAY_VARIATION_LIMIT, 0.20, 0.50, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_JITTER] = {"step_jitter", SAY_JITTER_LIMIT, 0.20, 0.30, 0, LIMIT_PERCENT, SAY_JITTER_NOTE},
    [LIMIT_CYCLE] = {"cycle", SAY_CYCLE_LIMIT, 0.30, 0.30, 0, LIMIT_NUMBER, SAY_CYCLE_NOTE},
    [LIMIT_STORAGE] = {"storage_read", SAY_STORAGE_LIMIT, 0.020, 0.050, 0, LIMIT_MS, NO_NOTE},
    [LIMIT_PADDING] = {"padding", SAY_PADDING_LIMIT, 0.05, 0.20, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_STALL_COST] = {"stall_cost", SAY_STALL_LIMIT, 0.04, 0.04, 0, LIMIT_PERCENT, SAY_UNNAMED_NOTE},
    [LIMIT_STEP_DOMINATES] = {"step_dominates", SAY_STEP_LIMIT, 3, 3, 0, LIMIT_TIMES, SAY_STEP_NOTE},
    [LIMIT_FORECAST] = {"forecast_check", SAY_FORECAST_LIMIT, 0.05, 0.10, 0, LIMIT_PERCENT,
                        SAY_FORECAST_NOTE},
    [LIMIT_GAIN] = {"gain", SAY_GAIN_LIMIT, 0.03, 0.03, 1, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_EXPOSED] = {"exposed", SAY_EXPOSED_LIMIT, 0.05, 0.10, 0, LIMIT_PERCENT, SAY_EXPOSED_NOTE},
    [LIMIT_LATE] = {"late_rank", SAY_LATE_LIMIT, 0.05, 0.05, 0, LIMIT_PERCENT, SAY_UNNAMED_NOTE},
    [LIMIT_VOICE_OWN_TEXT] = {"voice_own_text", SAY_OWN_TEXT_LIMIT, 0.10, 0.04, 1, LIMIT_PERCENT,
                              SAY_OWN_TEXT_NOTE},
    [LIMIT_VOICE_COST] = {"voice_cost", SAY_COST_LIMIT, 0.75, 0.85, 0, LIMIT_NUMBER, SAY_COST_NOTE},
    [LIMIT_VOICE_ONES] = {"voice_ones", SAY_ONES_LIMIT, 0.50, 0.60, 0, LIMIT_PERCENT, SAY_ONES_NOTE},
    [LIMIT_VOICE_HELD] = {"voice_held", SAY_HELD_LIMIT, 0.50, 0.65, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_VOICE_DURATIONS] = {"voice_durations", SAY_DURATIONS_LIMIT, 0.15, 0.05, 1, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_VOICE_PITCH] = {"voice_pitch", SAY_PITCH_LIMIT, 0.10, 0.03, 1, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_VOICE_SUSPECT] = {"voice_suspect", SAY_SUSPECT_LIMIT, 3, 4, 0, LIMIT_NUMBER, NO_NOTE},
    [LIMIT_VOICE_WORDS] = {"voice_words", SAY_WORDS_LIMIT, 0.02, 0.05, 0, LIMIT_POINTS, NO_NOTE},
    [LIMIT_VOICE_DEAF] = {"voice_deaf", SAY_DEAF_LIMIT, 0.50, 0.70, 0, LIMIT_PERCENT, SAY_DEAF_NOTE},
    [LIMIT_VOICE_RISE] = {"voice_rise", SAY_RISE_LIMIT, 0.01, 0.02, 0, LIMIT_PERCENT, SAY_RISE_NOTE},
    [LIMIT_VOICE_SILENT] = {"voice_silent", SAY_SILENT_LIMIT, 0.01, 0.05, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_VOICE_CLIPPED] = {"voice_clipped", SAY_CLIPPED_LIMIT, 0.02, 0.10, 0, LIMIT_PERCENT, NO_NOTE},
    [LIMIT_VOICE_FAST] = {"voice_fast", SAY_FAST_LIMIT, 14.5, 16.5, 0, LIMIT_NUMBER, SAY_FAST_NOTE},
    [LIMIT_VOICE_SLOW] = {"voice_slow", SAY_SLOW_LIMIT, 8, 5, 1, LIMIT_NUMBER, SAY_SLOW_NOTE},
    [LIMIT_VOICE_HIGH] = {"voice_high", SAY_HIGH_LIMIT, 250, 400, 0, LIMIT_HZ, NO_NOTE},
    [LIMIT_VOICE_LOW] = {"voice_low", SAY_LOW_LIMIT, 85, 62, 1, LIMIT_HZ, NO_NOTE},
    [LIMIT_VOICE_CLIPS] = {"voice_clips", SAY_CLIPS_LIMIT, 500, 100, 1, LIMIT_NUMBER, NO_NOTE},
    [LIMIT_VOICE_MINUTES] = {"voice_minutes", SAY_MINUTES_LIMIT, 60, 10, 1, LIMIT_MINUTES, NO_NOTE},
};

/* In JSON, as people read it, how much of it is 1. */
static const struct {
    const char *name;
    Word shown;
    double factor;
} units[] = {
    [LIMIT_NUMBER] = {"", SAY_LIMIT_NUMBER, 1},         [LIMIT_PERCENT] = {"%", SAY_LIMIT_PERCENT, 100},
    [LIMIT_POINTS] = {"points", SAY_LIMIT_POINTS, 100}, [LIMIT_MS] = {"ms", SAY_LIMIT_MS, 1000},
    [LIMIT_TIMES] = {"times", SAY_LIMIT_TIMES, 1},      [LIMIT_HZ] = {"Hz", SAY_LIMIT_HZ, 1},
    [LIMIT_MINUTES] = {"min", SAY_LIMIT_MINUTES, 1},
};

/* As in JSON and CSS. */
const char *status_name(Status s)
{
    static const char *const names[] = {"good", "acceptable", "bad", "info", "unknown"};
    ASSERT(s >= STATUS_GOOD && s <= STATUS_UNKNOWN);
    return names[s];
}

const Limit *threshold(LimitId id)
{
    ASSERT(id >= 0 && id < LIMIT_COUNT);
    return &limits[id];
}

const char *limit_unit(const Limit *l) { return units[l->unit].name; }

double limit_in_unit(const Limit *l, double value) { return value * units[l->unit].factor; }

void limit_say(char *out, size_t cap, const Limit *l, double value)
{
    words_write(out, cap, units[l->unit].shown, limit_in_unit(l, value));
}

/* Where good and bad are one number there is nothing between them. */
Status threshold_judge(LimitId id, double value)
{
    const Limit *l = threshold(id);
    if (isnan(value))
        return STATUS_UNKNOWN;
    if (l->more_is_better)
        return value >= l->good ? STATUS_GOOD : value < l->bad ? STATUS_BAD : STATUS_ACCEPTABLE;
    return value < l->good || (l->good != l->bad && value == l->good) ? STATUS_GOOD
           : value > l->bad || l->good == l->bad                      ? STATUS_BAD
                                                                      : STATUS_ACCEPTABLE;
}
