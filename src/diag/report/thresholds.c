/* thresholds.c - see thresholds.h. */
#include "diag/report/thresholds.h"

#include <math.h>

#include "base/check.h"

/* name, what is measured, good, bad, whether more is better, unit, factor to the unit, note */
static const Limit limits[LIMIT_COUNT] = {
    [LIMIT_GPU_BUSY] = {"gpu_busy", "model device busy", 0.80, 0.50, 1, "%", 100, ""},
    [LIMIT_GPU_SWING] = {"gpu_swing", "model GPU utilisation swings", 0.30, 0.30, 0, "points", 100, ""},
    [LIMIT_WAIT] = {"data_wait", "trainer waits on data, share of step time", 0.05, 0.30, 0, "%", 100, ""},
    [LIMIT_LOAD] = {"load_share", "load stage, share of step time when not hidden", 0.20, 0.20, 0, "%", 100,
                    ""},
    [LIMIT_TRANSFER] = {"transfer_share", "transfer stage, share of step time when not hidden", 0.15, 0.15, 0,
                        "%", 100, ""},
    [LIMIT_VARIATION] = {"step_variation", "step time variation (std / mean)", 0.20, 0.50, 0, "%", 100, ""},
    [LIMIT_JITTER] = {"step_jitter", "jitter of the step itself, without lengths and stalls", 0.20, 0.30, 0,
                      "%", 100, "beyond it jitter is named"},
    [LIMIT_CYCLE] = {"cycle", "cycle: highest autocorrelation of step times, lags 2-20", 0.30, 0.30, 0, "", 1,
                     "from here on a periodic stall, its period named"},
    [LIMIT_STORAGE] = {"storage_read", "storage, 1 MiB reads past the page cache", 0.020, 0.050, 0, "ms",
                       1000, ""},
    [LIMIT_PADDING] = {"padding", "padding share", 0.05, 0.20, 0, "%", 100, ""},
    [LIMIT_STALL_COST] = {"stall_cost", "throughput that a periodic stall or outliers cost", 0.04, 0.04, 0,
                          "%", 100, "less than this is not named"},
    [LIMIT_STEP_DOMINATES] =
        {"step_dominates", "step time over the time per batch of the next slowest stage", 3, 3, 0, "times", 1,
         "beyond it: the step is the limit, everything else has reserve (bottleneck step, cause compute)"},
    [LIMIT_FORECAST] = {"forecast_check", "forecast of the present settings against what was measured", 0.05,
                        0.10, 0, "%", 100, "beyond it the forecasts are not to be trusted"},
    [LIMIT_GAIN] = {"gain", "predicted gain of a change that is worth making", 0.03, 0.03, 1, "%", 100, ""},
    [LIMIT_EXPOSED] = {"exposed", "ranks: communication that is not hidden, share of step time", 0.05, 0.10,
                       0, "%", 100, "beyond it the link is named"},
    [LIMIT_LATE] = {"late_rank", "ranks: throughput that a slow rank or host costs", 0.05, 0.05, 0, "%", 100,
                    "less than this is not named"},
    [LIMIT_VOICE_OWN_TEXT] = {"voice_own_text",
                              "voice: what a clip's own text explains of it that another does not", 0.10,
                              0.04, 1, "%", 100, "less: the alignment is not learned"},
    [LIMIT_VOICE_COST] = {"voice_cost",
                          "voice: distance of the mel from the alignment's, where texts were not compared",
                          0.75, 0.85, 0, "", 1, "1: it knows nothing"},
    [LIMIT_VOICE_ONES] = {"voice_ones", "voice: symbols with one frame", 0.50, 0.60, 0, "%", 100,
                          "where a symbol has 3 frames or more on the average"},
    [LIMIT_VOICE_HELD] = {"voice_held", "voice: frames that the longest tenth of the symbols has", 0.50, 0.65,
                          0, "%", 100, ""},
    [LIMIT_VOICE_DURATIONS] = {"voice_durations", "voice: variation of durations that is predicted", 0.15,
                               0.05, 1, "%", 100, ""},
    [LIMIT_VOICE_PITCH] = {"voice_pitch", "voice: variation of pitch that is predicted", 0.10, 0.03, 1, "%",
                           100, ""},
    [LIMIT_VOICE_SUSPECT] = {"voice_suspect", "voice: a text fits worse than the rest's, robust deviations",
                             3, 4, 0, "", 1, ""},
    [LIMIT_VOICE_WORDS] = {"voice_words", "voice: words heard wrong, beyond those of the recordings", 0.02,
                           0.05, 0, "points", 100, ""},
    [LIMIT_VOICE_DEAF] = {"voice_deaf", "voice: words of the recordings themselves heard wrong", 0.50, 0.70,
                          0, "%", 100, "beyond it the judge tells nothing about the voice"},
    [LIMIT_VOICE_RISE] = {"voice_rise", "voice: validation loss over its lowest", 0.01, 0.02, 0, "%", 100,
                          "while the training loss falls"},
    [LIMIT_VOICE_SILENT] = {"voice_silent", "recordings: clips that are mostly silence", 0.01, 0.05, 0, "%",
                            100, ""},
    [LIMIT_VOICE_CLIPPED] = {"voice_clipped", "recordings: clips that are clipped", 0.02, 0.10, 0, "%", 100,
                             ""},
    [LIMIT_VOICE_FAST] = {"voice_fast", "recordings: phonemes a second, most", 14.5, 16.5, 0, "", 1,
                          "with a high voice from 14.5 on"},
    [LIMIT_VOICE_SLOW] = {"voice_slow", "recordings: phonemes a second, least", 8, 5, 1, "", 1,
                          "with a deep voice from 8 on"},
    [LIMIT_VOICE_HIGH] = {"voice_high", "recordings: fundamental frequency, most", 250, 400, 0, "Hz", 1, ""},
    [LIMIT_VOICE_LOW] = {"voice_low", "recordings: fundamental frequency, least", 85, 62, 1, "Hz", 1, ""},
    [LIMIT_VOICE_CLIPS] = {"voice_clips", "recordings: clips", 500, 100, 1, "", 1, ""},
    [LIMIT_VOICE_MINUTES] = {"voice_minutes", "recordings: minutes of speech", 60, 10, 1, "min", 1, ""},
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
