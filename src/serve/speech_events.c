/* speech_events.c - see speech_events.h. */
#include "serve/speech_events.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/base64.h"
#include "base/json.h"
#include "text/phonemes/tokens.h"

void event_audio(Buf *out, const void *bytes, size_t n)
{
    if (n == 0)
        return;
    buf_str(out, "data: {\"type\":\"speech.audio.delta\",\"audio\":\"");
    base64_encode(out, bytes, n);
    buf_str(out, "\"}\n\n");
}

void event_done(Buf *out, int64_t symbols, int64_t frames, const VoiceLosses *losses, const char *text)
{
    json_t *all = voice_losses_json(losses, text);
    char *pieces = all ? json_dumps(all, JSON_COMPACT) : NULL;
    buf_printf(
        out,
        "data: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":%lld,\"output_tokens\":%lld,"
        "\"total_tokens\":%lld},\"left_out\":%zu,\"left_out_pieces\":%s}\n\n",
        (long long)symbols, (long long)frames, (long long)(symbols + frames), losses->count,
        pieces ? pieces : "[]");
    free(pieces);
    json_decref(all);
}

void event_mark(Buf *out, const char *name, double at)
{
    json_t *o =
        json_pack("{s:s, s:o, s:f}", "type", "speech.mark", "name", json_from_text(name), "start", at);
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    if (text)
        buf_printf(out, "data: %s\n\n", text);
    else
        out->failed = 1;
    free(text);
    json_decref(o);
}

void event_error(Buf *out, const char *error)
{
    /* {"error": ...} with a type in front. */
    buf_printf(out, "data: {\"type\":\"error\",%s\n\n", error + 1);
}

/* What is spoken: neither the marks of beginning and end, nor the blanks between symbols. */
static json_t *symbols(const VoicePart *p, const Checkpoint *voice, double at)
{
    const double frame = (double)voice->cfg.hop_length / voice->cfg.sample_rate;
    json_t *all = json_array();
    int64_t frames = 0;
    for (int i = 0; i < p->speech.text; i++) {
        char name[8];
        double from = at + (double)frames * frame;
        frames += p->speech.durations[i];
        if (p->tokens[i] < TOKEN_FIRST_SYMBOL)
            continue;
        double hz =
            voice->pitch_deviation > 0 && p->speech.pitch
                ? normaliser_pitch_hz((double)p->speech.pitch[i], voice->pitch_mean, voice->pitch_deviation)
                : (double)NAN;
        json_array_append_new(all, json_pack("{s:s, s:o, s:o, s:o}", "symbol",
                                             tokens_name(p->tokens[i], name), "start", json_from_double(from),
                                             "end", json_from_double(at + (double)frames * frame), "pitch",
                                             json_from_double(hz)));
    }
    return all;
}

/* A byte for each value, between the lowest and the highest. */
static json_t *mel_bytes(const VoicePart *p, int bands)
{
    const int64_t n = p->frames * bands;
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = p->mel[i] < low ? p->mel[i] : low;
        high = p->mel[i] > high ? p->mel[i] : high;
    }
    const float scale = high > low ? 255 / (high - low) : 0;
    uint8_t *bytes = malloc((size_t)n + 1);
    Buf text = {0};
    for (int64_t i = 0; i < n && bytes; i++)
        bytes[i] = (uint8_t)lrintf((p->mel[i] - low) * scale);
    if (bytes)
        base64_encode(&text, bytes, (size_t)n);
    json_t *o = bytes && !text.failed
                    ? json_pack("{s:I, s:i, s:o, s:o, s:s}", "frames", (json_int_t)p->frames, "bands", bands,
                                "low", json_from_double((double)low), "high", json_from_double((double)high),
                                "data", text.data ? text.data : "")
                    : NULL;
    free(bytes);
    buf_free(&text);
    return o;
}

int event_part(Buf *out, const VoicePart *p, const Checkpoint *voice, int number, double at, Err *err)
{
    const Config *cfg = &voice->cfg;
    json_t *mel = mel_bytes(p, cfg->n_mels), *spoken = symbols(p, voice, at);
    json_t *o = mel && spoken
                    ? json_pack("{s:s, s:i, s:o, s:o, s:o, s:i, s:O, s:O}", "type", "speech.part", "part",
                                number, "start", json_from_double(at), "end",
                                json_from_double(at + (double)p->frames * cfg->hop_length / cfg->sample_rate),
                                "said", json_from_text(p->said ? p->said : ""), "sample_rate",
                                cfg->sample_rate, "symbols", spoken, "mel", mel)
                    : NULL;
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    if (text)
        buf_printf(out, "data: %s\n\n", text);
    free(text);
    json_decref(o);
    json_decref(mel);
    json_decref(spoken);
    return text ? 0 : err_set(err, ERR_NOMEM, "no memory for an event");
}
