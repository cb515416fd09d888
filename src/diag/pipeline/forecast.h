/* forecast.h - a model of the pipeline that uses the times of an observation to predict its speed with other
 * settings. It has one disk (if reads were observed to queue), workers that read and decode, host slots
 * that are added, the feeder with copy, preprocessing and peer copy, device buffers that are added, and a
 * consumer that is up to METER_LAG steps ahead, with the rules of loader.c, ring.c, feeder.c and
 * step_meter.c. Batches are processed in order, so one pass over them is enough, without a queue of events.
 * Threads: any. */
#ifndef MYXTTS_DIAG_FORECAST_H
#define MYXTTS_DIAG_FORECAST_H

#include "diag/pipeline/observation.h"

typedef struct ForecastSettings {
    int workers, start_buffers, most_buffers;
    int slots, most_slots; /* at the start, and at most; most_slots < slots: none are added */
    int synchronous, two_devices, host_data, host_model, on_the_fly, prefetch, overlap, own_copy, held,
        serial_disk;
    double rows_factor;                /* batch size / observed batch size; work takes longer in proportion */
    double scale[STAGE_COUNT];         /* time of a stage / observed time; 0.5 = twice as fast */
    const float *instead[TRACE_COUNT]; /* [n] times to use in place of a trace; NULL: as observed */
    float *times;                      /* [n] gets the step times, end to end; NULL: not wanted */
} ForecastSettings;

typedef struct Forecast {
    double period;            /* seconds per batch, over the window */
    double wait_share;        /* of the time of the model device */
    double variation;         /* deviation / mean of step times, end to end */
    double used[STAGE_COUNT]; /* share of the time that the stage works; decode: workers, including reads */
    double gain;        /* throughput in utterances / that of the forecast of the current settings; set by
                           forecast_gain */
    int buffers, slots; /* at the end */
} Forecast;

/* Fills in the settings of the observation. */
void forecast_settings(ForecastSettings *s, const Observation *o);
int forecast_run(Forecast *f, const Observation *o, const ForecastSettings *s, Err *err);
/* As forecast_run, with the gain over `base` (the forecast of the current settings). */
int forecast_gain(Forecast *f, const Observation *o, const ForecastSettings *s, const Forecast *base,
                  Err *err);

#endif
