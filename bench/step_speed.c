/* step_speed.c - the training step alone: the real network, a batch that is already on the device, no files. Prints one JSON line.
 * usage: step_speed [--device cpu|0] [--size nano|tiny|...] [--batch 32] [--text 200] [--mel 800] [--r 1] [--steps 30] [--precision bf16|fp32]
 *                   [--threads N] [--deterministic] */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "text/tokens.h"
#include "train/engine.h"

typedef struct Options {
    const char *device, *size, *precision;
    int batch, text, mel, r, steps, deterministic, graph;
} Options;

static int fail(const Err *err)
{
    fprintf(stderr, "step_speed: %s\n", err->msg);
    return 3;
}

/* A full batch of noise in host memory, laid out as the pipeline does. */
static uint8_t *make_batch(BatchLayout *l, const Config *cfg, const Options *o)
{
    BatchShape shape = {.rows = o->batch, .text = o->text, .frames = o->mel, .bands = cfg->n_mels};
    Rng r;
    rng_seed(&r, 1);
    batch_layout_device(l, &shape, o->text, o->mel);
    uint8_t *b = calloc(1, l->bytes);
    for (int i = 0; b && i < o->batch; i++) {
        ((int32_t *)(void *)(b + l->text_length))[i] = o->text;
        ((int32_t *)(void *)(b + l->mel_length))[i] = o->mel;
        ((int32_t *)(void *)(b + l->reference))[i] = (i + 1) % o->batch;
        for (int k = 0; k < o->text; k++)
            ((int32_t *)(void *)(b + l->tokens))[i * o->text + k] = 1 + (int)rng_below(&r, (uint64_t)tokens_count() - 1);
        for (int64_t k = 0; k < (int64_t)o->mel * cfg->n_mels; k++)
            ((float *)(void *)(b + l->mel))[(int64_t)i * o->mel * cfg->n_mels + k] = (float)rng_normal(&r);
        for (int k = 0; k < o->mel; k++)
            ((float *)(void *)(b + l->pitch))[i * o->mel + k] = (float)rng_normal(&r);
    }
    return b;
}

static int measure(const Options *o, const Config *cfg, Device *d, Err *err)
{
    Engine *e = NULL;
    BatchLayout l;
    uint8_t *host = make_batch(&l, cfg, o);
    void *device = NULL;
    double *times = calloc((size_t)o->steps, sizeof *times);
    EngineOptions eo = {.cfg = cfg, .device = d, .largest = {o->batch, o->text, o->mel}, .symbols = tokens_count(), .training = 1};
    BatchInfo info = {.count = o->batch, .text = o->text, .frames = o->mel, .real_frames = (int64_t)o->batch * o->mel};
    int rc = host && times ? engine_open(&e, &eo, err) : err_set(err, ERR_NOMEM, "no memory for a batch");
    if (rc || (rc = engine_initialise(e, err)) || (rc = device_alloc(d, &device, l.bytes, err)))
        goto done;
    Stream *s = engine_stream(e);
    if ((rc = d->ops->copy_in(s, device, host, l.bytes, err)) || (rc = d->ops->stream_wait_idle(s, err)))
        goto done;
    Stats phases[PHASE_COUNT] = {0};
    StepResult r = {0};
    int warm = d->ops->kind == DEVICE_HOST ? 2 : 8, n = 0;
    Event *ends[2] = {0};
    for (int i = 0; i < 2; i++)
        if ((rc = d->ops->event_open(d, &ends[i], 1, err)))
            goto done;
    double from = 0;
    for (int i = 0; i < warm + o->steps; i++) {
        if (i == warm) {
            while ((rc = engine_result(e, &r, 1, err)) == 1)
                ;
            if (rc || (rc = d->ops->event_record(ends[0], s, err)))
                goto done;
            from = clock_now();
        }
        info.number = i;
        if ((rc = engine_take(e, device, &l, &info, err)) || (rc = engine_step(e, i + 1, 1, 1, 3e-4, err)))
            goto done;
        while ((rc = engine_result(e, &r, 0, err)) == 1)
            if (r.step > warm) {
                times[n] = 0;
                for (int p = 0; p < PHASE_COUNT; p++)
                    stats_add(&phases[p], r.seconds[p]), times[n] += r.seconds[p];
                n++;
            }
        if (rc)
            goto done;
    }
    if ((rc = d->ops->event_record(ends[1], s, err)))
        goto done;
    while ((rc = engine_result(e, &r, 1, err)) == 1)
        if (r.step > warm && n < o->steps) {
            times[n] = 0;
            for (int p = 0; p < PHASE_COUNT; p++)
                stats_add(&phases[p], r.seconds[p]), times[n] += r.seconds[p];
            n++;
        }
    if (rc)
        goto done;
    if ((rc = d->ops->event_wait(ends[1], err)))
        goto done;
    double mean = d->ops->event_seconds(ends[0], ends[1]) / o->steps, wall = (clock_now() - from) / o->steps;
    Stats all = {0};
    for (int i = 0; i < n; i++)
        stats_add(&all, times[i]);
    json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "device", d->model, "size",
                          o->size, "precision", o->precision, "batch", o->batch, "text", o->text, "mel", o->mel, "steps", o->steps,
                          "step_ms", mean * 1e3, "wall_ms", wall * 1e3, "median_ms", stats_percentile(times, (size_t)n, 0.5) * 1e3,
                          "best_ms", all.min * 1e3, "variation", all.mean > 0 ? stats_std(&all) / all.mean : 0, "parameters",
                          (json_int_t)engine_model(e)->params.numbers, "loss", r.loss);
    for (int p = 0; p < PHASE_COUNT; p++) {
        char key[32];
        snprintf(key, sizeof key, "%s_ms", phase_name(p));
        json_object_set_new(j, key, json_real(phases[p].mean * 1e3));
    }
    json_object_set_new(j, "model_bytes", json_integer((json_int_t)engine_bytes(e)));
    json_dumpf(j, stdout, JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(j);
    for (int i = 0; i < 2; i++)
        d->ops->event_close(ends[i]);
done:
    if (device)
        device_free(d, device, l.bytes);
    engine_close(e);
    free(host), free(times);
    return rc;
}

int main(int argc, char **argv)
{
    Options o = {"cpu", "tiny", "bf16", 32, 200, 800, 1, 30, 0, 1};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(a, "--deterministic") == 0) {
            o.deterministic = 1;
            continue;
        }
        if (strcmp(a, "--no-graph") == 0) {
            o.graph = 0;
            continue;
        }
        i++;
        if (strcmp(a, "--device") == 0)
            o.device = v;
        else if (strcmp(a, "--size") == 0)
            o.size = v;
        else if (strcmp(a, "--precision") == 0)
            o.precision = v;
        else if (strcmp(a, "--batch") == 0)
            o.batch = atoi(v);
        else if (strcmp(a, "--text") == 0)
            o.text = atoi(v);
        else if (strcmp(a, "--mel") == 0)
            o.mel = atoi(v);
        else if (strcmp(a, "--r") == 0)
            o.r = atoi(v);
        else if (strcmp(a, "--steps") == 0)
            o.steps = atoi(v);
        else {
            fprintf(stderr, "step_speed: what is %s?\n", a);
            return 2;
        }
    }
    char r[16], *settings[] = {"--model-size",        (char *)(uintptr_t)o.size,
                               "--reduction-factor",  r,
                               "--mixed-precision",   strcmp(o.precision, "bf16") == 0 ? "true" : "false",
                               "--deterministic",     o.deterministic ? "true" : "false",
                               "--enable-graph-mode", o.graph ? "true" : "false"};
    snprintf(r, sizeof r, "%d", o.r);
    Config cfg;
    Err err = {0};
    Device *d = NULL;
    if (config_load(&cfg, NULL, (int)(sizeof settings / sizeof *settings), settings, &err))
        return fail(&err);
    int rc = device_open(&d, o.device, &(DeviceOptions){0}, &err);
    if (!rc)
        rc = measure(&o, &cfg, d, &err);
    device_close(d);
    config_close(&cfg);
    return rc ? fail(&err) : 0;
}
