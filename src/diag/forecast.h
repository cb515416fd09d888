/* forecast.h - a model of the pipeline, driven by the times of an observation: how fast would it be with
 * other settings? One disk (where reads were seen to queue), `workers` that read and decode, host slots, the
 * feeder with its copy, preprocessing, peer copy, device buffers that grow, a consumer that is up to
 * METER_LAG steps ahead: the rules of loader.c, ring.c, feeder.c and step_meter.c, batch by batch. Every
 * batch is traced through in order, so one pass over the batches is enough; there is no queue of events.
 * Threads: any; read-only but for the result. */
#ifndef MYXTTS_DIAG_FORECAST_H
#define MYXTTS_DIAG_FORECAST_H

#include "diag/observation.h"

typedef struct ForecastSettings {
    int workers, slots, start_buffers, most_buffers;
    int synchronous, two_devices, host_data, host_model, on_the_fly, prefetch, overlap, own_copy, held,
        serial_disk;
    double rows_factor;                /* batch size against the observed one; work times grow with it */
    double scale[STAGE_COUNT];         /* time of a stage against the observed one; 0.5 = twice as fast */
    const float *instead[TRACE_COUNT]; /* [n] other times of a trace; NULL: as observed */
} ForecastSettings;

typedef struct Forecast {
    double period;            /* s per batch, over the window */
    double wait_share;        /* of the model device */
    double used[STAGE_COUNT]; /* share of time that the stage's server works; decode: workers in reads and
                                 decoding */
    double gain; /* throughput in utterances against the forecast of the settings as they are; set by
                    forecast_gain */
    int buffers; /* at the end */
} Forecast;

/* Settings as observed. */
void forecast_settings(ForecastSettings *s, const Observation *o);
int forecast_run(Forecast *f, const Observation *o, const ForecastSettings *s, Err *err);
/* As forecast_run, with gain against `base` (a forecast of the settings as they are). */
int forecast_gain(Forecast *f, const Observation *o, const ForecastSettings *s, const Forecast *base,
                  Err *err);

#endif
