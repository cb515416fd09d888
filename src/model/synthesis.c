/* synthesis.c - text and voice -> traits -> durations on the host -> mel. */
#include "model/synthesis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "model/sharpen.h"
#include "model/voice_pass.h"

/* Lengths are rounded up to multiples of these: a few shapes, whose matrix products are planned once. */
#define TEXT_STEP 8
#define FRAME_STEP 32

/* A block of device memory for a shape. */
typedef struct Room {
    void *memory;
    uint64_t bytes;
} Room;

struct Synthesiser {
    Model *m;
    SynthesisLimits limits;
    Manner manner;
    float *sharpen; /* [n + 1, n]: the matrix of its sharpness, and scratch; NULL: none */
    Room text_room, frame_room;
    /* text */
    StackScratch text_scratch;
    StackPass text;
    VoicePass voice;
    PredictorPass predictor;
    int32_t *tokens, *length;   /* [rows, text], [rows] */
    float *reference;           /* [reference, n] */
    float *given;               /* [rows, S] acc */
    void *vector, *vector_text; /* [rows, S], [rows, Ct] */
    int32_t *language;          /* [rows] */
    void *language_text;        /* [rows, Ct] */
    void *memory;               /* [rows, text, Ct] */
    float *traits;              /* [rows, text, TRAIT_COUNT] acc */
    /* frames */
    StackScratch frame_scratch;
    DecoderPass decoder;
    int32_t *frame_length; /* [rows] */
    float *mel;            /* [rows, frames, n] acc */
};

/* Memory of the first pass: text and voice to traits. Like all cuts it only counts without memory. */
static void cut_text(Synthesiser *s, const Ops *ops, Cut *c, int rows, int T)
{
    const Model *m = s->m;
    const uint64_t e = ops->real_bytes, b = (uint64_t)rows, symbols = b * (uint64_t)T;
    const uint64_t Ct = (uint64_t)m->cfg.text_encoder_dim, S = (uint64_t)m->cfg.speaker_embedding_dim;
    /* Text and voice run one after the other here: they share one scratch. */
    const StackPass *stacks[2] = {&s->text, &s->voice.stack};
    stack_cut(&s->text, &m->at.text, ops, c, rows, T, 0);
    if (m->use_voice)
        voice_encoder_of(m)->cut(&s->voice, m, ops, c, 1, s->limits.reference, 0);
    stack_scratch_cut(&s->text_scratch, stacks, m->use_voice ? 2 : 1, ops, c, 0);
    predictor_cut(&s->predictor, m, ops, c, rows, T, 0);
    s->tokens = cut_take(c, symbols * sizeof *s->tokens);
    s->length = cut_take(c, b * sizeof *s->length);
    s->text.len = s->length;
    s->reference = cut_take(c, (uint64_t)s->limits.reference * (uint64_t)m->cfg.n_mels * sizeof(float));
    s->given = cut_take(c, b * S * sizeof(float));
    s->vector = cut_take(c, b * S * e);
    s->vector_text = cut_take(c, b * Ct * e);
    if (m->languages) {
        s->language = cut_take(c, b * sizeof *s->language);
        s->language_text = cut_take(c, b * Ct * e);
    }
    s->memory = cut_take(c, symbols * Ct * e);
    s->traits = cut_take(c, symbols * TRAIT_COUNT * sizeof(float));
}

/* Memory of the second pass: symbols to mel. */
static void cut_frames(Synthesiser *s, const Ops *ops, Cut *c, int rows, int T, int M)
{
    const StackPass *stack = &s->decoder.stack;
    decoder_cut(&s->decoder, s->m, ops, c, rows, T, M, 0);
    stack_scratch_cut(&s->frame_scratch, &stack, 1, ops, c, 0);
    s->frame_length = cut_take(c, (uint64_t)rows * sizeof *s->frame_length);
    s->decoder.len = s->frame_length;
    s->mel = cut_take(c, (uint64_t)rows * (uint64_t)M * (uint64_t)s->m->cfg.n_mels * sizeof(float));
}

uint64_t synthesiser_bytes(const Model *m, const Ops *ops, const SynthesisLimits *limits)
{
    Model copy = *m;
    Synthesiser *s = mem_calloc(1, sizeof *s);
    Cut text = {0}, frames = {0};
    if (!s)
        return UINT64_MAX;
    s->m = &copy;
    s->limits = *limits;
    cut_text(s, ops, &text, limits->rows, round_to_multiple(limits->text, TEXT_STEP));
    cut_frames(s, ops, &frames, limits->rows, round_to_multiple(limits->text, TEXT_STEP),
               round_to_multiple(limits->frames, FRAME_STEP));
    free(s);
    return text.used + frames.used;
}

/* At least that many bytes; what was in the room is lost when it has to grow. */
static int room_take(Synthesiser *s, Room *r, uint64_t bytes, Err *err)
{
    Device *d = s->m->c->device;
    if (bytes <= r->bytes)
        return 0;
    if (r->memory)
        device_free(d, r->memory, r->bytes);
    *r = (Room){0};
    int rc = device_alloc(d, &r->memory, bytes, err);
    r->bytes = rc ? 0 : bytes;
    return rc;
}

/* Cuts the rooms for a shape, and takes more memory where it is larger than any before. */
static int fit_text(Synthesiser *s, int rows, int T, Err *err)
{
    /* Counted first, then cut from what is there. */
    Cut count = {0};
    cut_text(s, s->m->c->ops, &count, rows, T);
    int rc = room_take(s, &s->text_room, count.used, err);
    Cut c = {.base = s->text_room.memory};
    if (!rc)
        cut_text(s, s->m->c->ops, &c, rows, T);
    return rc;
}

static int fit_frames(Synthesiser *s, int rows, int T, int M, Err *err)
{
    Cut count = {0};
    cut_frames(s, s->m->c->ops, &count, rows, T, M);
    int rc = room_take(s, &s->frame_room, count.used, err);
    Cut c = {.base = s->frame_room.memory};
    if (!rc)
        cut_frames(s, s->m->c->ops, &c, rows, T, M);
    return rc;
}

int synthesiser_open(Synthesiser **out, Model *m, const SynthesisLimits *limits, Err *err)
{
    Synthesiser *s = *out = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory to speak");
    s->m = m;
    s->limits = *limits;
    s->manner = (Manner){.pace = 1, .spread = 1};
    const int T = round_to_multiple(limits->text, TEXT_STEP),
              M = round_to_multiple(limits->frames, FRAME_STEP);
    int rc = fit_text(s, limits->rows, T, err);
    return rc ? rc : fit_frames(s, limits->rows, T, M, err);
}

void synthesiser_close(Synthesiser *s)
{
    if (!s)
        return;
    if (s->text_room.memory)
        device_free(s->m->c->device, s->text_room.memory, s->text_room.bytes);
    if (s->frame_room.memory)
        device_free(s->m->c->device, s->frame_room.memory, s->frame_room.bytes);
    free(s->sharpen);
    free(s);
}

/* To the device, on its stream. */
static int put(const Synthesiser *s, void *to, const void *from, size_t bytes, Err *err)
{
    return s->m->c->device->ops->copy_in(s->m->c->stream, to, from, bytes, err);
}

/* From the device; waits for it. */
static int fetch(const Synthesiser *s, void *to, const void *from, size_t bytes, Err *err)
{
    const DeviceOps *d = s->m->c->device->ops;
    int rc = d->copy_out(s->m->c->stream, to, from, bytes, err);
    return rc ? rc : d->stream_wait_idle(s->m->c->stream, err);
}

static int wait_idle(const Synthesiser *s, Err *err)
{
    return s->m->c->device->ops->stream_wait_idle(s->m->c->stream, err);
}

int synthesiser_listen(Synthesiser *s, float *voice, const float *mel, int frames, Err *err)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const int S = m->cfg.speaker_embedding_dim, most = s->limits.reference;
    if (!m->use_voice)
        return err_set(err, ERR_CONFIG,
                       "this network was trained without voice conditioning: it has a single voice and "
                       "cannot use a reference");
    /* A longer reference is cut off. */
    int32_t length = frames < most ? frames : most;
    size_t bytes = (size_t)length * (size_t)m->cfg.n_mels * sizeof(float);
    int rc = fit_text(s, 1, TEXT_STEP, err);
    if (!rc)
        rc = put(s, s->length, &length, sizeof length, err);
    if (!rc)
        rc = put(s, s->reference, mel, bytes, err);
    if (!rc)
        rc = wait_idle(s, err);
    if (rc)
        return rc;
    /* A batch of one: the encoder looks at the mel and its length alone. */
    ModelInput in = {.B = 1, .M = most, .mel_length = s->length, .mel = s->reference};
    voice_encoder_of(m)->forward(m, &s->voice, &s->text_scratch, &in, 0);
    ops->unconvert(m->c, s->given, s->voice.speaker, S);
    rc = ops_check(m->c, err);
    if (rc)
        return rc;
    return fetch(s, voice, s->given, (size_t)S * sizeof *voice, err);
}

int synthesiser_set_manner(Synthesiser *s, const Manner *manner, Err *err)
{
    const int n = s->m->cfg.n_mels;
    s->manner = (Manner){.pace = manner->pace > 0 ? manner->pace : 1,
                         .spread = manner->spread > 0 ? manner->spread : 1,
                         .sharpness = manner->sharpness};
    if (!(manner->sharpness > 0))
        return 0;
    if (!s->sharpen)
        s->sharpen = mem_calloc((size_t)(n + 1) * (size_t)n, sizeof *s->sharpen);
    if (!s->sharpen)
        return err_set(err, ERR_NOMEM, "no memory to sharpen mels of %d bands", n);
    sharpen_matrix(s->sharpen, n, manner->sharpness);
    return 0;
}

int64_t durations_round(int32_t *out, const float *log_duration, int n, double speed)
{
    /* The sum is rounded, not each symbol: rounding errors do not add up over a sentence. */
    double wanted = 0;
    int64_t given = 0;
    for (int t = 0; t < n; t++) {
        double d = exp((double)log_duration[t]) / speed;
        wanted += d < SYNTHESIS_LONGEST_SYMBOL ? d : SYNTHESIS_LONGEST_SYMBOL;
        int64_t frames = llround(wanted) - given;
        out[t] = frames < 1 ? 1 : (int32_t)frames;
        given += out[t];
    }
    return given;
}

/* Host copies of one call. */
typedef struct Sheet {
    int32_t *tokens, *durations;    /* [rows, T] */
    int32_t *length, *frame_length; /* [rows] */
    int32_t *language;              /* [rows] */
    float *voices;                  /* [rows, S] */
    float *traits, *pitch, *energy; /* [rows, T, TRAIT_COUNT], [rows, T], [rows, T] */
    float *mel;                     /* [rows, M, n] */
} Sheet;

static int sheet_open(Sheet *h, const Synthesiser *s, int rows, int T, Err *err)
{
    const size_t symbols = (size_t)rows * (size_t)T;
    memset(h, 0, sizeof *h);
    h->tokens = mem_calloc(symbols, sizeof *h->tokens);
    h->durations = mem_calloc(symbols, sizeof *h->durations);
    h->length = mem_calloc((size_t)rows, sizeof *h->length);
    h->frame_length = mem_calloc((size_t)rows, sizeof *h->frame_length);
    h->language = mem_calloc((size_t)rows, sizeof *h->language);
    h->voices = mem_calloc((size_t)rows * (size_t)s->m->cfg.speaker_embedding_dim, sizeof *h->voices);
    h->traits = mem_calloc(symbols * TRAIT_COUNT, sizeof *h->traits);
    h->pitch = mem_calloc(symbols, sizeof *h->pitch);
    h->energy = mem_calloc(symbols, sizeof *h->energy);
    if (h->tokens && h->durations && h->length && h->frame_length && h->language && h->voices && h->traits &&
        h->pitch && h->energy)
        return 0;
    return err_set(err, ERR_NOMEM, "no memory to speak %d utterances of %d symbols", rows, T);
}

static void sheet_close(Sheet *h)
{
    free(h->tokens);
    free(h->durations);
    free(h->length);
    free(h->frame_length);
    free(h->language);
    free(h->voices);
    free(h->traits);
    free(h->pitch);
    free(h->energy);
    free(h->mel);
}

/* Text and voice to the traits of every symbol. */
static int predict(Synthesiser *s, Sheet *h, const SynthesisText *in, int rows, int T, Err *err)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const ModelAt *w = &m->at;
    const int Ct = m->cfg.text_encoder_dim, S = m->cfg.speaker_embedding_dim;
    const size_t symbols = (size_t)rows * (size_t)T;
    /* Rows side by side, padded with zeros. */
    for (int b = 0; b < rows; b++) {
        h->length[b] = in[b].count;
        h->language[b] = in[b].language;
        memcpy(h->tokens + (size_t)b * (size_t)T, in[b].tokens, (size_t)in[b].count * sizeof *h->tokens);
        if (m->use_voice)
            memcpy(h->voices + (size_t)b * (size_t)S, in[b].voice, (size_t)S * sizeof *h->voices);
    }
    int rc = fit_text(s, rows, T, err);
    if (!rc)
        rc = put(s, s->tokens, h->tokens, symbols * sizeof *h->tokens, err);
    if (!rc)
        rc = put(s, s->length, h->length, (size_t)rows * sizeof *h->length, err);
    if (!rc && m->use_voice)
        rc = put(s, s->given, h->voices, (size_t)rows * (size_t)S * sizeof(float), err);
    if (!rc && m->languages)
        rc = put(s, s->language, h->language, (size_t)rows * sizeof *h->language, err);
    /* A simulated device copies in a separate thread. */
    if (!rc)
        rc = wait_idle(s, err);
    if (rc)
        return rc;
    /* As in training (voice_pass.c), without dropout. */
    ops->embed_forward(m->c, s->text.x, s->tokens, weight_at(m, w->symbols), NULL,
                       weight_at(m, w->text_position), rows, T, Ct, (Dropout){0});
    language_forward(m, s->text.x, s->language_text, s->language, rows, T);
    stack_forward(m, &s->text, &s->text_scratch, 0);
    if (m->use_voice) {
        ops->convert(m->c, s->vector, s->given, (int64_t)rows * S);
        /* One by one: products of few rows depend on how many there are, to the last bit. */
        for (int b = 0; b < rows; b++)
            linear_forward(m, &w->to_text,
                           (uint8_t *)s->vector_text + (size_t)b * (size_t)Ct * ops->real_bytes,
                           (uint8_t *)s->vector + (size_t)b * (size_t)S * ops->real_bytes, 1, ACT_NONE);
        ops->add_vector_forward(m->c, s->memory, s->text.last.out, s->vector_text, rows, T, Ct);
    }
    predictor_forward(m, &s->predictor, m->use_voice ? s->memory : s->text.last.out, s->length, rows, T, 0);
    ops->unconvert(m->c, s->traits, s->predictor.traits, (int64_t)symbols * TRAIT_COUNT);
    rc = ops_check(m->c, err);
    if (rc)
        return rc;
    return fetch(s, h->traits, s->traits, symbols * TRAIT_COUNT * sizeof(float), err);
}

/* A prediction is an average, and an average of melodies is flat. pitch [n], weighted by how long each symbol
 * lasts. */
static void spread_pitch(float *pitch, const float *log_duration, int n, double spread)
{
    double sum = 0, weight = 0;
    for (int t = 0; t < n; t++) {
        const double frames = exp(fmin((double)log_duration[t], log(SYNTHESIS_LONGEST_SYMBOL)));
        sum += frames * (double)pitch[t];
        weight += frames;
    }
    const double mean = weight > 0 ? sum / weight : 0;
    for (int t = 0; t < n && spread != 1; t++)
        pitch[t] = (float)(mean + spread * ((double)pitch[t] - mean));
}

/* The longest of them gives way first. Returns the frames that are saved. */
static int shorten(int32_t *durations, const SymbolPause *p)
{
    int64_t sum = 0;
    int saved = 0;
    for (int t = p->from; t < p->to; t++)
        sum += durations[t];
    for (; sum > p->frames && sum > p->to - p->from; sum--, saved++) {
        int longest = p->from;
        for (int t = p->from; t < p->to; t++)
            longest = durations[t] > durations[longest] ? t : longest;
        durations[longest]--;
    }
    return saved;
}

/* Durations, pitch and energy as they will be spoken. Returns the frames of the longest row, or an error. */
static int choose(Synthesiser *s, Sheet *h, const SynthesisText *in, int rows, int T, Err *err)
{
    int64_t longest = 0;
    float *durations = mem_calloc((size_t)T, sizeof *durations);
    if (!durations)
        return err_set(err, ERR_NOMEM, "no memory for %d durations", T);
    for (int b = 0; b < rows; b++) {
        const size_t row = (size_t)b * (size_t)T;
        for (int t = 0; t < h->length[b]; t++) {
            const float *x = h->traits + (row + (size_t)t) * TRAIT_COUNT;
            if (!isfinite(x[TRAIT_DURATION]) || !isfinite(x[TRAIT_PITCH]) || !isfinite(x[TRAIT_ENERGY])) {
                free(durations);
                err_set(err, ERR_DATA, "the network's output is not finite: its weights are damaged");
                return err_hint(err, "use an earlier checkpoint");
            }
            durations[t] = x[TRAIT_DURATION];
            h->pitch[row + (size_t)t] = x[TRAIT_PITCH] + (float)in[b].pitch;
            h->energy[row + (size_t)t] = x[TRAIT_ENERGY];
        }
        /* Frames that the row takes at this speed. */
        const double speed = in[b].speed > 0 ? in[b].speed : 1;
        spread_pitch(h->pitch + row, durations, h->length[b], s->manner.spread);
        for (int t = 0; in[b].manner && t < h->length[b]; t++) {
            durations[t] += logf(in[b].manner[t].stretch);
            h->pitch[row + (size_t)t] += in[b].manner[t].pitch;
            h->energy[row + (size_t)t] += in[b].manner[t].energy;
        }
        int64_t frames = durations_round(h->durations + row, durations, h->length[b], speed / s->manner.pace);
        for (int i = 0; i < in[b].pause_count; i++)
            frames -= shorten(h->durations + row, &in[b].pauses[i]);
        longest = frames > longest ? frames : longest;
        h->frame_length[b] = (int32_t)(frames < INT32_MAX ? frames : INT32_MAX);
    }
    free(durations);
    /* Beyond the limit only where the caller allows memory to grow. */
    if (longest <= s->limits.frames || (s->limits.grow && longest < INT32_MAX / 4096))
        return (int)longest;
    return err_set(err, ERR_DATA, "an utterance takes %lld frames, but there is room for %d",
                   (long long)longest, s->limits.frames);
}

/* Durations, pitch and energy to the mel of all rows, [rows, M, n]. */
static int decode(Synthesiser *s, Sheet *h, int rows, int T, int M, Err *err)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const int n = m->cfg.n_mels;
    const size_t symbols = (size_t)rows * (size_t)T, values = (size_t)rows * (size_t)M * (size_t)n;
    int rc = fit_frames(s, rows, T, M, err);
    DecoderPass *d = &s->decoder;
    if (rc)
        return rc;
    h->mel = mem_calloc(values, sizeof *h->mel);
    if (!h->mel)
        return err_set(err, ERR_NOMEM, "no memory for %d frames of speech", M);
    rc = put(s, d->d.frames, h->durations, symbols * sizeof(int32_t), err);
    if (!rc)
        rc = put(s, d->pitch, h->pitch, symbols * sizeof(float), err);
    if (!rc)
        rc = put(s, d->energy, h->energy, symbols * sizeof(float), err);
    if (!rc)
        rc = wait_idle(s, err);
    if (rc)
        return rc;
    /* Lengths in frames are found on the device, as in training. */
    ops->durations_place(m->c, &d->d, s->frame_length, s->length, rows, T, M);
    decoder_forward(m, d, &s->frame_scratch, m->use_voice ? s->memory : s->text.last.out, 0);
    ops->unconvert(m->c, s->mel, d->mel, (int64_t)values);
    rc = ops_check(m->c, err);
    if (rc)
        return rc;
    return fetch(s, h->mel, s->mel, values * sizeof(float), err);
}

/* Copies row b into memory of the caller's. */
static int hand_over(const Synthesiser *s, Speech *out, const Sheet *h, int b, int T, int M, Err *err)
{
    const int n = s->m->cfg.n_mels;
    const size_t row = (size_t)b * (size_t)T, text = (size_t)h->length[b],
                 values = (size_t)h->frame_length[b] * (size_t)n;
    out->text = h->length[b];
    out->frames = h->frame_length[b];
    out->mel = malloc(values * sizeof(float));
    out->durations = malloc(text * sizeof(int32_t));
    out->pitch = malloc(text * sizeof(float));
    out->energy = malloc(text * sizeof(float));
    if (!out->mel || !out->durations || !out->pitch || !out->energy)
        return err_set(err, ERR_NOMEM, "no memory for %d frames of speech", out->frames);
    memcpy(out->mel, h->mel + (size_t)b * (size_t)M * (size_t)n, values * sizeof(float));
    if (s->manner.sharpness > 0)
        sharpen_mel(out->mel, s->sharpen + (size_t)n * (size_t)n, out->frames, n, s->sharpen);
    memcpy(out->durations, h->durations + row, text * sizeof(int32_t));
    memcpy(out->pitch, h->pitch + row, text * sizeof(float));
    memcpy(out->energy, h->energy + row, text * sizeof(float));
    /* Damaged weights show in the result at the latest. */
    for (size_t i = 0; i < values; i++)
        if (!isfinite(out->mel[i])) {
            err_set(err, ERR_DATA, "the network's output is not finite: its weights are damaged");
            return err_hint(err, "use an earlier checkpoint");
        }
    return 0;
}

int synthesiser_speak(Synthesiser *s, Speech *out, const SynthesisText *in, int rows, Err *err)
{
    int T = 0, M = 0, rc = 0;
    Sheet h;
    memset(out, 0, (size_t)rows * sizeof *out);
    for (int b = 0; b < rows; b++) {
        /* Longer texts are cut into pieces by the caller. */
        if (in[b].count < 1 || in[b].count > s->limits.text)
            return err_set(err, ERR_DATA, "an utterance has %d symbols, but 1 to %d can be spoken at once",
                           in[b].count, s->limits.text);
        T = in[b].count > T ? in[b].count : T;
    }
    T = round_to_multiple(T, TEXT_STEP);
    /* The seeds of training's steps are not for here, nor is its timing of products: a sentence has a shape
     * of its own. */
    const OpsStep *kept = s->m->c->step;
    const int deterministic = s->m->c->deterministic;
    s->m->c->step = NULL;
    s->m->c->deterministic = 1;
    rc = sheet_open(&h, s, rows, T, err);
    if (!rc)
        rc = predict(s, &h, in, rows, T, err);
    if (!rc)
        rc = choose(s, &h, in, rows, T, err);
    if (rc > 0) { /* the frames of the longest row */
        M = round_to_multiple(rc, FRAME_STEP);
        rc = decode(s, &h, rows, T, M, err);
        for (int b = 0; b < rows && !rc; b++)
            rc = hand_over(s, &out[b], &h, b, T, M, err);
    }
    sheet_close(&h);
    s->m->c->step = kept;
    s->m->c->deterministic = deterministic;
    for (int b = 0; b < rows && rc; b++)
        speech_free(&out[b]);
    return rc;
}

void speech_free(Speech *s)
{
    free(s->mel);
    free(s->durations);
    free(s->pitch);
    free(s->energy);
    memset(s, 0, sizeof *s);
}
