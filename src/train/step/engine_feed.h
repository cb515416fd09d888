/* engine_feed.h - the next batch of a pipeline into the engine. Threads: the engine's. */
#ifndef MYXTTS_ENGINE_FEED_H
#define MYXTTS_ENGINE_FEED_H

#include "pipeline/pipeline.h"
#include "pipeline/step_meter.h"
#include "train/step/engine.h"

/* Takes the batch, enqueues its copy into the engine's own memory and hands the buffer back: what every user
 * of an engine does before engine_step or engine_evaluate. meter: begins a step when not NULL, and simulated
 * times are then those of the batch. info may be NULL. ERR_STOPPED at the end, as pipeline_take. */
int engine_feed(Engine *e, Pipeline *p, StepMeter *meter, BatchInfo *info, Err *err);

#endif
