/* preprocess_testing.c - see preprocess_testing.h. */
#include "preprocess_testing.h"

Config mel_settings(int n_fft, int win, int hop, int bands)
{
    return (Config){.sample_rate = 22050,
                    .n_fft = n_fft,
                    .win_length = win,
                    .hop_length = hop,
                    .n_mels = bands,
                    .mel_fmax = 8000,
                    .max_mel_frames = 1024,
                    .batch_size = 64};
}

int32_t *ints(uint8_t *memory, size_t array) { return (int32_t *)(void *)(memory + array); }

float *floats(uint8_t *memory, size_t array) { return (float *)(void *)(memory + array); }

void batch_free(TestBatch *b)
{
    free(b->raw);
    free(b->out);
    free(b->mean);
    free(b->deviation);
    *b = (TestBatch){0};
}

void make_samples(float *x, int64_t n, Rng *rng)
{
    double hz = 80 + 400 * rng_uniform(rng), loud = pow(10, -3 * rng_uniform(rng));
    for (int64_t i = 0; i < n; i++) {
        double envelope = 0.5 + 0.5 * sin(2 * M_PI * (double)i / 5000);
        double tone =
            sin(2 * M_PI * hz * (double)i / 22050) + 0.3 * sin(2 * M_PI * 7 * hz * (double)i / 22050);
        x[i] = (float)(loud * (0.5 * envelope * tone + 0.02 * (2 * rng_uniform(rng) - 1)));
    }
}

/* The mel of row r, as a loader brings it: so many frames of it. */
static void mel_at_random(TestBatch *b, int r, int length, Rng *rng)
{
    const PreprocessArgs *a = &b->args;
    const size_t first = (size_t)r * (size_t)a->frames * (size_t)a->bands;
    for (size_t i = 0; i < (size_t)length * (size_t)a->bands; i++) {
        float v = (float)(-11.5 + 13 * rng_uniform(rng));
        if (a->mel_bytes == 2)
            half_from_float((uint16_t *)(void *)(b->raw + a->in_layout.mel) + first + i, &v, 1);
        else
            floats(b->raw, a->in_layout.mel)[first + i] = v;
    }
}

/* Row r: the first is as long as the batch, the last has nothing. hop: frames to samples. */
static void row_at_random(TestBatch *b, int r, int hop, Rng *rng)
{
    const PreprocessArgs *a = &b->args;
    const BatchLayout *in = &a->in_layout;
    int rows = a->rows, frames = a->frames, empty = rows > 1 && r == rows - 1, full = r == 0;
    int tokens = empty ? 0 : full ? a->text : (int)rng_below(rng, (uint64_t)a->text + 1);
    int length = empty ? 0 : full ? frames : 1 + (int)rng_below(rng, (uint64_t)frames);
    int64_t fits = (int64_t)frames * hop - 1, most = fits < a->samples ? fits : a->samples;
    int64_t n = a->samples == 0 || empty ? 0 : full ? most : 1 + (int64_t)rng_below(rng, (uint64_t)most);
    ints(b->raw, in->text_length)[r] = tokens;
    ints(b->raw, in->mel_length)[r] = length;
    ints(b->raw, in->speaker)[r] = (int)rng_below(rng, 10);
    ints(b->raw, in->language)[r] = 100 + r;
    ints(b->raw, in->utterance)[r] = empty ? -1 : 1000 + r;
    ints(b->raw, in->sample_length)[r] = (int32_t)n;
    ints(b->raw, in->reference)[r] = (int)rng_below(rng, (uint64_t)rows);
    for (int i = 0; i < frames; i++) /* behind the clip too: that must not come through */
        floats(b->raw, in->pitch)[r * frames + i] = (float)(4 * rng_uniform(rng) - 2);
    for (int i = 0; i < tokens; i++)
        ints(b->raw, in->tokens)[r * a->text + i] = 1 + (int)rng_below(rng, 100);
    float *augment = floats(b->raw, in->augment) + 4 * r;
    uint32_t bits = (uint32_t)rng_u64(rng);
    augment[0] = r % 2 ? (float)(24 * rng_uniform(rng) - 12) : 0.0f;
    augment[1] = r % 4 < 2 ? (float)(10 + 40 * rng_uniform(rng)) : 0.0f;
    augment[2] = r % 2 ? (float)(0.6 + rng_uniform(rng)) : 1.0f;
    memcpy(&augment[3], &bits, 4);
    if (a->samples)
        make_samples(floats(b->raw, in->samples) + (int64_t)r * a->samples, n, rng);
    else
        mel_at_random(b, r, length, rng);
}

void batch_make(TestBatch *b, const Config *cfg, int rows, int text, int frames, int mel_bytes,
                int64_t samples, uint64_t seed)
{
    Rng rng;
    rng_seed(&rng, seed);
    int bands = cfg->n_mels;
    BatchShape shape = {.rows = rows,
                        .text = text,
                        .frames = frames,
                        .bands = bands,
                        .samples = samples,
                        .mel_bytes = mel_bytes,
                        .hop = batch_hop(cfg)};
    *b = (TestBatch){.args = {.rows = rows,
                              .text = text,
                              .frames = frames,
                              .bands = bands,
                              .mel_bytes = mel_bytes,
                              .keeps_samples = shape.hop > 0,
                              .samples = samples}};
    BatchLayout *in = &b->args.in_layout, *out = &b->args.out_layout;
    batch_layout_host(in, &shape, text, frames, samples);
    batch_layout_device(out, &shape, text, frames);
    b->raw = malloc(in->bytes);
    b->out = malloc(out->bytes);
    b->mean = malloc((size_t)bands * sizeof *b->mean);
    b->deviation = malloc((size_t)bands * sizeof *b->deviation);
    if (!b->raw || !b->out || !b->mean || !b->deviation)
        abort();
    memset(b->raw, POISON, in->bytes);
    memset(b->out, POISON, out->bytes);
    b->args.raw = b->raw;
    b->args.out = b->out;
    for (int i = 0; i < bands; i++) {
        b->mean[i] = -6 + 4 * rng_uniform(&rng);
        b->deviation[i] = i == bands / 2 ? 0 : 1 + rng_uniform(&rng);
    }
    for (int r = 0; r < rows; r++)
        row_at_random(b, r, cfg->hop_length, &rng);
}

int64_t batch_differences(const PreprocessArgs *a, const uint8_t *x, const uint8_t *y)
{
    const BatchLayout *l = &a->out_layout;
    const size_t rows = (size_t)a->rows;
    const size_t arrays[][2] = {{l->tokens, rows * (size_t)a->text},
                                {l->text_length, rows},
                                {l->mel_length, rows},
                                {l->speaker, rows},
                                {l->language, rows},
                                {l->utterance, rows},
                                {l->augment, rows * 4},
                                {l->sample_length, rows},
                                {l->reference, rows},
                                {l->pitch, rows * (size_t)a->frames},
                                {l->mel, rows * (size_t)a->frames * (size_t)a->bands},
                                {l->samples, a->keeps_samples ? rows * (size_t)a->samples : 0}};
    int64_t count = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        for (size_t k = 0; k < arrays[i][1]; k++)
            count += memcmp(x + arrays[i][0] + 4 * k, y + arrays[i][0] + 4 * k, 4) != 0;
    return count;
}
