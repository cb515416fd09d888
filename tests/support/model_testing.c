/* model_testing.c - see model_testing.h. */
#include "model_testing.h"

/* Widths that are small and not alike, so that one taken for another is seen. */
static const char *const small_network[] = {"--text-encoder-dim",
                                            "16",
                                            "--text-encoder-layers",
                                            "2",
                                            "--text-encoder-heads",
                                            "2",
                                            "--audio-encoder-dim",
                                            "32",
                                            "--audio-encoder-layers",
                                            "1",
                                            "--audio-encoder-heads",
                                            "2",
                                            "--decoder-dim",
                                            "24",
                                            "--decoder-layers",
                                            "2",
                                            "--decoder-heads",
                                            "3",
                                            "--speaker-embedding-dim",
                                            "8",
                                            "--gst-num-style-tokens",
                                            "3",
                                            "--gst-num-heads",
                                            "2",
                                            "--predictor-dim",
                                            "12",
                                            "--critic-dim",
                                            "16",
                                            "--feed-forward-ratio",
                                            "2",
                                            "--n-mels",
                                            "8",
                                            "--mixed-precision",
                                            "false"};

void test_model_open(TestModel *t, const Ops *ops, int threads, int argc, const char *const *more)
{
    const char *argv[96];
    int n = 0;
    Err err = {0};
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < sizeof small_network / sizeof *small_network; i += 2) {
        int given = 0;
        for (int k = 0; k < argc; k += 2)
            given |= strcmp(more[k], small_network[i]) == 0;
        if (!given)
            argv[n++] = small_network[i], argv[n++] = small_network[i + 1];
    }
    if (argc)
        memcpy(argv + n, more, (size_t)argc * sizeof *more);
    if (config_load(&t->cfg, NULL, n + argc, (char **)(uintptr_t)argv, &err))
        fail_msg("%s", err.msg);
    test_model_open_loaded(t, ops, threads, 13, 3);
}

void test_model_open_loaded(TestModel *t, const Ops *ops, int threads, int symbols, int languages)
{
    Err err = {0};
    assert_int_equal(device_open(&t->device, "cpu", &(DeviceOptions){0}, &err), 0);
    assert_int_equal(t->device->ops->stream_open(t->device, &t->stream, "test", &err), 0);
    t->c.threads = threads;
    assert_int_equal(ops->open(&t->c, t->device, t->stream, &err), 0);
    if (model_open(&t->m, &t->cfg, symbols, languages, &err))
        fail_msg("%s", err.msg);
    t->memory = aligned_alloc(256, model_bytes(&t->m, ops, 1));
    memset(t->memory, 0, model_bytes(&t->m, ops, 1));
    t->sums = calloc(SUM_COUNT, ops->acc_bytes);
    assert_int_equal(model_attach(&t->m, &t->c, t->memory, 1, &err), 0);
    params_decay(&t->m.params, t->m.decay);
}

double test_number(const TestModel *t, const void *p, int64_t i)
{
    return t->c.ops->acc_bytes == 8 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

void test_set(const TestModel *t, void *p, int64_t i, double value)
{
    if (t->c.ops->acc_bytes == 8)
        ((double *)p)[i] = value;
    else
        ((float *)p)[i] = (float)value;
}

void test_model_randomise(TestModel *t, uint64_t seed)
{
    Rng r;
    rng_seed(&r, seed);
    for (int i = 0; i < t->m.params.count; i++) {
        const Param *p = &t->m.params.items[i];
        double size = p->dims > 1 ? 1.2 / sqrt((double)(p->count / p->shape[0])) : 0.3,
               base = p->init == INIT_VALUE ? p->value : 0;
        for (int64_t k = 0; k < p->count; k++)
            test_set(t, t->m.masters, p->offset + k, base + size * rng_normal(&r));
    }
}

void test_model_batch(TestModel *t, int B, int T, int M, uint64_t seed)
{
    const int n = t->cfg.n_mels;
    Rng r;
    Err err = {0};
    rng_seed(&r, seed);
    t->ints = calloc((size_t)B * (size_t)(T + 4), sizeof *t->ints);
    t->floats = calloc((size_t)B * (size_t)M * (size_t)(n + 1), sizeof *t->floats);
    int32_t *tokens = t->ints, *text = tokens + B * T, *mel = text + B, *reference = mel + B,
            *language = reference + B;
    float *frames = t->floats, *pitch = frames + (size_t)B * (size_t)M * (size_t)n;
    for (int b = 0; b < B; b++) {
        text[b] = b == B - 1 ? 0 : b == 0 ? T : 1 + (int)rng_below(&r, (uint64_t)T);
        mel[b] = b == B - 1 ? 0 : b == 0 ? M : 1 + (int)rng_below(&r, (uint64_t)M);
        language[b] = t->m.languages ? b % t->m.languages : 0;
        reference[b] = B > 1 && b < B - 1 ? (b + 1) % (B - 1) : b;
        for (int i = 0; i < text[b]; i++)
            tokens[b * T + i] = 1 + (int)rng_below(&r, 12);
        for (int i = 0; i < mel[b] * n; i++)
            frames[(size_t)b * (size_t)M * (size_t)n + (size_t)i] = (float)rng_normal(&r);
        for (int i = 0; i < mel[b]; i++)
            pitch[b * M + i] = (float)rng_normal(&r);
    }
    t->in = (ModelInput){B, T, M, tokens, text, mel, reference, language, frames, pitch, NULL};
    uint64_t bytes = pass_bytes(&t->m, t->c.ops, B, T, M, 1);
    t->run_memory = aligned_alloc(256, bytes);
    memset(t->run_memory, 0xFF, bytes); /* NaN: what is read before it is written shows */
    assert_int_equal(pass_open(&t->run, &t->m, &t->in, t->run_memory, 1, &err), 0);
}

void test_vocoder_batch(TestModel *t, int B, int M, uint64_t seed)
{
    const size_t mels = (size_t)B * (size_t)M * (size_t)t->cfg.n_mels,
                 samples = (size_t)B * (size_t)((M - 1) * t->cfg.hop_length);
    Rng r;
    Err err = {0};
    rng_seed(&r, seed);
    t->ints = calloc((size_t)B, sizeof *t->ints);
    t->floats = calloc(mels + samples, sizeof *t->floats);
    for (int b = 0; b < B; b++)
        t->ints[b] = b == 1 ? 0 : M;
    for (size_t i = 0; i < mels; i++)
        t->floats[i] = (float)(-4 + 1.5 * rng_normal(&r));
    for (size_t i = 0; i < samples; i++)
        t->floats[mels + i] = (float)(0.1 * rng_normal(&r));
    t->in =
        (ModelInput){.B = B, .M = M, .mel_length = t->ints, .mel = t->floats, .samples = t->floats + mels};
    uint64_t bytes = pass_bytes(&t->m, t->c.ops, B, 0, M, 1);
    t->run_memory = aligned_alloc(256, bytes);
    memset(t->run_memory, 0xFF, bytes); /* NaN: what is read before it is written shows */
    assert_int_equal(pass_open(&t->run, &t->m, &t->in, t->run_memory, 1, &err), 0);
}

double test_model_loss(TestModel *t, int training, int backward)
{
    pass_clear(&t->m, t->sums);
    pass_forward(t->run, training);
    pass_losses(t->run, t->sums);
    if (backward)
        pass_backward(t->run);
    double loss = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        loss += loss_term_counts(i) ? test_number(t, t->sums, i) : 0;
    return loss / test_number(t, t->sums, SUM_FRAMES);
}

/* The gradients as they were when they were said to be final; NaN: not yet. */
typedef struct Finals {
    const TestModel *t;
    float *then;
    int ranges;
} Finals;

static void take_final(void *arg, int64_t from, int64_t to, int side)
{
    Finals *f = arg;
    const float *grads = f->t->m.grads;
    assert_true(from >= 0 && from < to && to <= f->t->m.params.size);
    for (int64_t i = from; i < to; i++) {
        assert_true(isnan(f->then[i]));
        f->then[i] = grads[i];
    }
    f->ranges++;
}

int test_finals(TestModel *t)
{
    const size_t n = (size_t)t->m.params.size;
    Finals f = {t, malloc(n * sizeof(float)), 0};
    assert_non_null(f.then);
    for (size_t i = 0; i < n; i++)
        f.then[i] = NAN;
    t->m.final = take_final;
    t->m.final_arg = &f;
    test_model_loss(t, 1, 1);
    t->m.final = NULL;
    const float *grads = t->m.grads;
    for (int i = 0; i < t->m.params.count; i++)
        for (int64_t k = 0; k < t->m.params.items[i].count; k++) {
            const int64_t at = t->m.params.items[i].offset + k;
            if (!(f.then[at] == grads[at])) /* NaN too */
                fail_msg("%s was said to be final at %g, and became %g", t->m.params.items[i].name,
                         (double)f.then[at], (double)grads[at]);
        }
    for (size_t i = 0; i < n; i++)
        assert_false(isnan(f.then[i])); /* the gaps too */
    free(f.then);
    return f.ranges;
}

void test_model_close(TestModel *t)
{
    pass_close(t->run);
    model_close(&t->m);
    if (t->c.ops)
        t->c.ops->close(&t->c);
    if (t->stream)
        t->device->ops->stream_close(t->stream);
    device_close(t->device);
    config_close(&t->cfg);
    free(t->memory), free(t->run_memory), free(t->sums), free(t->ints), free(t->floats);
}

double test_norm(const TestModel *t, const void *p, const Param *w)
{
    double sum = 0;
    for (int64_t i = 0; i < w->count; i++)
        sum += pow(test_number(t, p, w->offset + i), 2);
    return sqrt(sum);
}

void test_gradients(TestModel *t, int each, double h, TestLoss loss)
{
    double worst = 0;
    assert_true(isfinite(test_model_loss(t, 1, 1)));
    const double frames = test_number(t, t->sums, SUM_FRAMES);
    double *grads = malloc((size_t)t->m.params.size * sizeof *grads);
    memcpy(grads, t->m.grads, (size_t)t->m.params.size * sizeof *grads);
    Rng r;
    rng_seed(&r, 7);
    int checked = 0;
    for (int i = 0; i < t->m.params.count; i++) {
        const Param *p = &t->m.params.items[i];
        double scale = test_norm(t, grads, p) / sqrt((double)p->count) / frames;
        for (int k = 0; k < each; k++) {
            int64_t at = p->offset + (int64_t)rng_below(&r, (uint64_t)p->count);
            double was = test_number(t, t->m.masters, at), numeric;
            test_set(t, t->m.masters, at, was + h);
            numeric = loss(t, p);
            test_set(t, t->m.masters, at, was - h);
            numeric = (numeric - loss(t, p)) / (2 * h);
            test_set(t, t->m.masters, at, was);
            double difference = fabs(numeric - grads[at] / frames);
            worst = fmax(worst, difference / (fabs(numeric) + scale + 1e-6));
            /* A kink of L1 or ReLU within h would show as far more. */
            if (difference > 1e-4 * (fabs(numeric) + scale) + 1e-8)
                fail_msg("%s[%lld]: difference quotient %.9g, gradient %.9g", p->name,
                         (long long)(at - p->offset), numeric, grads[at] / frames);
            checked++;
        }
    }
    printf("%d gradients of the whole network in double: worst relative difference %.1e\n", checked, worst);
    free(grads);
}

double test_relative(const float *ours, const float *theirs, int64_t n)
{
    double d = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        d += pow((double)ours[i] - (double)theirs[i], 2);
        size += pow((double)theirs[i], 2);
    }
    return sqrt(d) / (sqrt(size) + 1e-12);
}
