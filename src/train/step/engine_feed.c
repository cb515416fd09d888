/* engine_feed.c - the next batch of a pipeline into the engine. */
#include "train/step/engine_feed.h"

typedef struct Feed {
    Engine *engine;
    StepMeter *meter;
    BatchInfo *info;
} Feed;

/* While the batch is ours: its copy is enqueued, and then the buffer may go back. */
static int take(void *arg, const DeviceBatch *b, Stream *stream, Err *err)
{
    const Feed *f = arg;
    int rc = 0;
    if (f->info)
        *f->info = b->info;
    if (f->meter)
        rc = step_meter_begin_batch(f->meter, stream, b->info.number, b->layout.bytes, err);
    if (f->meter && b->was_there)
        step_meter_had_data(f->meter);
    return rc ? rc : engine_take(f->engine, b->memory, &b->layout, &b->info, err);
}

int engine_feed(Engine *e, Pipeline *p, StepMeter *meter, BatchInfo *info, Err *err)
{
    Feed feed = {e, meter, info};
    int rc = meter ? step_meter_ask(meter, engine_stream(e), err) : 0;
    return rc ? rc : pipeline_consume(p, engine_stream(e), take, &feed, err);
}
