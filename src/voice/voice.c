/* voice.c - a checkpoint that speaks. */
#include "voice/voice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/normaliser.h"
#include "audio/process.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "text/text.h"
#include "text/tokens.h"
#include "voice/network_room.h"
#include "voice/speak.h"
#include "voice/vocoder_file.h"

#define PAUSE_SECONDS 0.2  /* between sentences */
#define PIECE_SECONDS 0.05 /* between pieces of a sentence */
/* Tokens spoken at once; fewer where max_text_length is less, or where none so long was learned from. */
#define LONGEST_TEXT 400
#define SHORT_TEXT 64          /* as much is always spoken at once */
#define ROOM_FRAMES 1024       /* at first; it grows */
#define LONGEST_REFERENCE 1024 /* frames of a recording that are listened to */
#define REFERENCE_SECONDS 60   /* of a recording that are decoded */
#define SHOWN_BYTES 60         /* of a text in a message */
#define SPEAKERS_SHOWN 300     /* bytes of names in a message */
#define WARM_UP_SYMBOLS 40

struct Voice {
    VoiceOptions o;
    Checkpoint file, vocoder; /* the latter is closed where there is none */
    int has_vocoder;
    NetworkRoom network;
    Synthesiser *synthesiser;
    SynthesisLimits limits;
    Sound *sound;
    TextEngine *text;
    float *vector; /* [S] */
    int has_vector;
};

/* --- opening --- */

/* Room for one text at a time: no longer than those the network learned from, unless they were very short. */
static int open_synthesiser(Voice *v, Err *err)
{
    const Config *cfg = &v->file.cfg;
    int most = LONGEST_TEXT, asked = text_likely_tokens(cfg, cfg->max_text_length);
    /* Files of old do not say; their limit was counted in tokens. */
    int learned = v->file.longest_text > 0 ? v->file.longest_text : cfg->max_text_length;
    if (learned < most)
        most = learned > SHORT_TEXT ? learned : SHORT_TEXT;
    v->limits = (SynthesisLimits){.rows = 1,
                                  .text = asked < most ? asked : most,
                                  .frames = ROOM_FRAMES,
                                  .reference = LONGEST_REFERENCE,
                                  .grow = 1};
    v->vector = mem_calloc((size_t)cfg->speaker_embedding_dim, sizeof *v->vector);
    if (!v->vector)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    return synthesiser_open(&v->synthesiser, &v->network.m, &v->limits, err);
}

/* Before the weights are loaded: a vocoder that does not go with the voice is known at once. */
static int open_vocoder(Voice *v, Err *err)
{
    int rc = vocoder_file_of(&v->vocoder, &v->file, v->o.vocoder, v->o.log, err);
    if (rc < 0)
        return rc;
    v->has_vocoder = rc;
    return 0;
}

static int hear_nothing(void *arg, const float *samples, int64_t count, Err *err) { return 0; }

/* A GPU loads each kernel when it is first used, which takes longer than a sentence: a word that nobody hears
 * does so now. What an untrained network cannot say is no error here. */
static int warm_up(Voice *v, Err *err)
{
    if (!v->o.device->traits.library_kernels)
        return 0;
    Err ignored = {0};
    Speech speech = {0};
    int32_t tokens[WARM_UP_SYMBOLS];
    float *voice = mem_calloc((size_t)v->file.cfg.speaker_embedding_dim, sizeof *voice);
    if (!voice)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    for (int i = 0; i < WARM_UP_SYMBOLS; i++)
        tokens[i] = 1 + i % (tokens_count() - 1);
    SynthesisText text = {tokens, WARM_UP_SYMBOLS, v->file.cfg.use_voice_conditioning ? voice : NULL};
    int rc = synthesiser_speak(v->synthesiser, &speech, &text, 1, &(SynthesisStyle){.speed = 1}, &ignored);
    if (!rc && v->has_vocoder) /* Griffin-Lim has no kernels */
        sound_stream(v->sound, speech.mel, speech.frames, 0, hear_nothing, NULL, &ignored);
    speech_free(&speech);
    free(voice);
    return 0;
}

/* The text engine comes last: it starts espeak-ng, which a damaged checkpoint need not wait for. */
int voice_open(Voice **out, const VoiceOptions *o, Err *err)
{
    *out = NULL;
    Voice *v = mem_calloc(1, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    v->o = *o;
    int rc = checkpoint_open(&v->file, o->checkpoint, o->checkpoint, o->argc, o->argv, o->log, err);
    if (!rc)
        rc = checkpoint_check_voice(&v->file, err);
    if (!rc)
        rc = open_vocoder(v, err);
    if (!rc)
        rc = network_room_open(&v->network, &v->file, o->device, thread_cores(), err);
    if (!rc)
        rc = open_synthesiser(v, err);
    if (!rc)
        rc = voice_sound_open(v, &v->sound, 0, err);
    if (!rc)
        rc = warm_up(v, err);
    if (!rc)
        rc = text_engine_open(&v->text, &v->file.cfg, err);
    if (rc) {
        voice_close(v);
        return rc;
    }
    *out = v;
    return 0;
}

/* In the reverse order. */
void voice_close(Voice *v)
{
    if (!v)
        return;
    text_engine_close(v->text);
    sound_close(v->sound);
    synthesiser_close(v->synthesiser);
    network_room_close(&v->network);
    checkpoint_close(&v->vocoder);
    checkpoint_close(&v->file);
    free(v->vector);
    free(v);
}

const Checkpoint *voice_checkpoint(const Voice *v) { return &v->file; }
const Checkpoint *voice_vocoder(const Voice *v) { return v->has_vocoder ? &v->vocoder : NULL; }

/* --- whose voice --- */

/* The names that there are go into the hint. */
static int no_such_speaker(const Voice *v, const char *name, Err *err)
{
    Buf names = {0};
    for (int i = 0; i < v->file.speaker_count && names.size < SPEAKERS_SHOWN; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", v->file.speakers[i]);
    err_set(err, ERR_MISSING, "%s has no speaker '%s'", v->file.path, name);
    if (v->file.speaker_count == 1 && !*v->file.speakers[0])
        err_hint(err, "its only speaker has no name: leave --speaker out");
    else
        err_hint(err, "it has %d: %s", v->file.speaker_count, names.data ? names.data : "");
    buf_free(&names);
    return err->code;
}

/* The number of a speaker, or -1. Without a name the first of whom there is a clip, else the first. */
static int find_speaker(const Voice *v, const char *name)
{
    const Checkpoint *f = &v->file;
    if (!name && f->content.clips.count)
        return f->content.clips.speaker[0];
    for (int i = 0; i < f->speaker_count; i++)
        if (!name || strcmp(f->speakers[i], name) == 0)
            return i;
    return -1;
}

/* A network without voice conditioning has one voice; any name that it knows will do. */
int voice_of_speaker(Voice *v, const char *name, Err *err)
{
    int found = find_speaker(v, name);
    if (found < 0)
        return no_such_speaker(v, name ? name : "", err);
    if (!v->network.m.use_voice)
        return 0;
    int rc = speaker_voice(v->synthesiser, v->vector, &v->file.content.clips, found,
                           v->file.cfg.speaker_embedding_dim, err);
    v->has_vector = !rc;
    if (rc == ERR_MISSING)
        err_hint(err,
                 "the checkpoint keeps clips of its first speakers only; give a recording with --reference");
    return rc;
}

/* A recording decoded, resampled, trimmed and levelled as those the network learned from: *samples [*n],
 * inside the processor. */
static int read_reference(const Voice *v, AudioProcessor *processor, AudioBuffer *audio,
                          const float **samples, int64_t *n, const char *path, Err *err)
{
    const Config *cfg = &v->file.cfg;
    FileMap map = {0};
    char detail[256] = "";
    int rc = file_load(&map, path, err);
    if (rc)
        return rc;
    RejectReason why =
        audio_decode(audio, map.data, map.size, path, REFERENCE_SECONDS, detail, sizeof detail);
    if (!why)
        why = audio_process(processor, samples, n, audio, cfg->trim_silence,
                            cfg->enable_loudness_normalization, detail, sizeof detail);
    file_unmap(&map);
    if (why == REJECT_AUDIO_TOO_LONG) {
        err_set(err, ERR_DATA, "%s is too long for a reference, which may have %g s", path,
                (double)REFERENCE_SECONDS);
        return err_hint(err, "ten seconds of clean speech are enough: ffmpeg -i %.200s -t 10 reference.wav",
                        path);
    }
    if (why)
        return err_set(err, ERR_DATA, "%s cannot be used as a reference: %s%s%s", path, reject_text(why),
                       *detail ? ": " : "", detail);
    return 0;
}

/* The mel of samples, normalised as the network sees it: *mel [*frames, n_mels], malloc'd. */
static int reference_mel(const Voice *v, float **mel, int64_t *frames, const float *samples, int64_t n,
                         const char *path, Err *err)
{
    const Config *cfg = &v->file.cfg;
    const CheckpointContent *c = &v->file.content;
    MelPlan *plan = NULL;
    MelScratch *scratch = NULL;
    int rc = mel_plan_open(&plan, cfg, err);
    if (!rc)
        rc = mel_scratch_open(&scratch, plan, err);
    if (rc)
        goto done;
    *frames = mel_frames(plan, n);
    if (n < (int64_t)(cfg->min_audio_length * cfg->sample_rate) || *frames <= VOICE_FRAMES) {
        rc = err_set(err, ERR_DATA,
                     "%s cannot be used as a reference: %.3f s of it are no silence; some seconds of speech "
                     "are needed",
                     path, (double)n / cfg->sample_rate);
        goto done;
    }
    *mel = mem_calloc((size_t)*frames * (size_t)cfg->n_mels, sizeof **mel);
    if (!*mel) {
        rc = err_set(err, ERR_NOMEM, "no memory for the reference %s", path);
        goto done;
    }
    mel_compute(plan, scratch, *mel, samples, n);
    normaliser_mel(*mel, *mel, c->mean, c->deviation, *frames, cfg->n_mels);
done:
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    return rc;
}

/* The same path as that of the clips in training: a voice that is heard otherwise is another voice. */
int voice_of_recording(Voice *v, const char *path, Err *err)
{
    AudioBuffer audio = {0};
    AudioProcessor *processor = NULL;
    float *mel = NULL;
    const float *samples;
    int64_t n, frames;
    int rc = audio_processor_open(&processor, &v->file.cfg, err);
    if (!rc)
        rc = read_reference(v, processor, &audio, &samples, &n, path, err);
    if (!rc)
        rc = reference_mel(v, &mel, &frames, samples, n, path, err);
    if (!rc) {
        int heard = (int)(frames < LONGEST_REFERENCE ? frames : LONGEST_REFERENCE);
        rc = synthesiser_listen(v->synthesiser, v->vector, mel, heard, err);
        v->has_vector = !rc;
    }
    free(mel);
    audio_processor_close(processor);
    audio_buffer_free(&audio);
    return rc;
}

/* --- speaking --- */

/* Bytes of the first part of text that ends a sentence (or all of it); a mark counts when a blank or the end
 * follows. */
static size_t sentence_end(const char *p, size_t n)
{
    /* Full stop and marks of Chinese and Japanese; question mark and full stop of Arabic and Urdu: no blank
     * need follow these. */
    static const char *const wide[] = {"。", "！", "？", "؟", "۔"};
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n')
            return i + 1;
        if (strchr(".!?;", p[i]) && p[i] && (i + 1 == n || p[i + 1] == ' ' || p[i + 1] == '\n'))
            return i + 1;
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
            if (n - i >= strlen(wide[k]) && memcmp(p + i, wide[k], strlen(wide[k])) == 0)
                return i + strlen(wide[k]);
    }
    return n;
}

/* --- cutting --- */

/* Where to cut a part that is too long: after the comma nearest to the middle, else at the blank nearest to
 * it; 0: nowhere. */
static size_t middle_cut(const char *p, size_t n)
{
    for (int pass = 0; pass < 2; pass++) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            int here = pass ? p[i] == ' ' : (p[i] == ',' || p[i] == ':') && p[i + 1] == ' ';
            size_t far = i > n / 2 ? i - n / 2 : n / 2 - i,
                   best_far = best > n / 2 ? best - n / 2 : n / 2 - best;
            if (here && (!best || far < best_far))
                best = i + 1;
        }
        if (best)
            return best;
    }
    return 0;
}

/* Bytes of the beginning of a text, for a message: whole characters. */
static int shown(const char *p, size_t n)
{
    size_t end = utf8_cut(p, n, SHOWN_BYTES);
    while (end && (p[end - 1] == '\n' || p[end - 1] == '\r'))
        end--;
    return (int)end;
}

void voice_part_free(VoicePart *p)
{
    free(p->mel);
    free(p->tokens);
    free(p->said);
    speech_free(&p->speech);
    memset(p, 0, sizeof *p);
}

/* The network's turn: tokens -> log mel. */
static int speak_tokens(Voice *v, VoicePart *part, const uint16_t *tokens, int count, Err *err)
{
    const Config *cfg = &v->file.cfg;
    const int bands = cfg->n_mels;
    SynthesisStyle style = {.speed = v->o.speed > 0 ? v->o.speed : 1,
                            .pitch = normaliser_pitch_shift(v->o.pitch, v->file.pitch_deviation)};
    part->tokens = mem_calloc((size_t)count, sizeof *part->tokens);
    if (!part->tokens)
        return err_set(err, ERR_NOMEM, "no memory for %d tokens", count);
    for (int i = 0; i < count; i++)
        part->tokens[i] = tokens[i];
    double from = clock_now();
    SynthesisText text = {part->tokens, count, v->vector};
    int rc = synthesiser_speak(v->synthesiser, &part->speech, &text, 1, &style, err);
    if (rc)
        return rc;
    part->mel = part->speech.mel;
    part->speech.mel = NULL;
    part->frames = part->speech.frames;
    normaliser_restore_mel(part->mel, part->mel, v->file.content.mean, v->file.content.deviation,
                           part->frames, bands);
    part->mel_seconds = clock_now() - from;
    return 0;
}

enum { NOTHING_TO_SAY, SPOKEN, TOO_LONG };

/* The piece p [n] of a text becomes a part. One of the above, or a negative code. */
static int speak_piece(Voice *v, VoicePart *part, const char *p, size_t n, TextResult *r, int *left_out,
                       Err *err)
{
    double from = clock_now();
    RejectReason why = text_process(v->text, r, (Str){p, n}, (Str){"", 0}, (Str){"", 0});
    part->text_seconds += clock_now() - from;
    int count = (int)(r->tokens.size / sizeof(uint16_t));
    /* A line of dashes, a lone mark: the rest is spoken. */
    if (why == REJECT_EMPTY_TEXT || why == REJECT_NO_PHONEMES) {
        log_warn(v->o.log, "\"%.*s\" is left out: %s", shown(p, n), p,
                 *r->detail ? r->detail : reject_text(why));
        (*left_out)++;
        return NOTHING_TO_SAY;
    }
    if (why == REJECT_TEXT_TOO_LONG || (!why && count > v->limits.text))
        return TOO_LONG;
    if (why)
        return err_set(err, ERR_DATA, "\"%.*s\" cannot be spoken: %s%s%s", shown(p, n), p, reject_text(why),
                       *r->detail ? ": " : "", r->detail);
    part->said = strndup(r->cleaned.data ? r->cleaned.data : "", r->cleaned.size);
    if (!part->said)
        return err_set(err, ERR_NOMEM, "no memory for %d tokens", count);
    int rc = speak_tokens(v, part, (const uint16_t *)(const void *)r->tokens.data, count, err);
    return rc ? rc : SPOKEN;
}

static void skip_blanks(VoiceText *text)
{
    while (text->n && *text->p && strchr(" \n\r\t", *text->p)) {
        text->p++;
        text->n--;
    }
}

/* Speaks the beginning of a sentence [*n], shortened until the network can speak it at once. */
static int speak_sentence(Voice *v, VoicePart *part, const char *p, size_t *n, TextResult *r, int *left_out,
                          Err *err)
{
    for (;;) {
        int rc = speak_piece(v, part, p, *n, r, left_out, err);
        if (rc != TOO_LONG)
            return rc;
        size_t cut = middle_cut(p, *n);
        if (!cut)
            return err_set(err, ERR_DATA,
                           "\"%.*s...\" has no place to cut it; at most %d symbols are spoken at once",
                           shown(p, *n), p, v->limits.text);
        *n = cut;
    }
}

/* Not more than one part is computed, so that the first can be heard while the next is made. */
int voice_next(Voice *v, VoiceText *text, VoicePart *part, int *left_out, Err *err)
{
    TextResult r = {0};
    int rc = 0;
    memset(part, 0, sizeof *part);
    if (v->network.m.use_voice && !v->has_vector)
        rc = voice_of_speaker(v, NULL, err);
    skip_blanks(text);
    /* Until something was spoken: pieces with nothing to say are passed over. */
    while (rc == NOTHING_TO_SAY && text->n) {
        size_t sentence = sentence_end(text->p, text->n), n = sentence;
        rc = speak_sentence(v, part, text->p, &n, &r, left_out, err);
        part->pause = n == sentence ? PAUSE_SECONDS : PIECE_SECONDS;
        text->p += n;
        text->n -= n;
        skip_blanks(text);
    }
    text_result_free(&r);
    if (rc < 0)
        voice_part_free(part);
    return rc;
}

/* --- sound --- */

int voice_sound_open(const Voice *v, Sound **s, int threads, Err *err)
{
    return sound_open(s,
                      &(SoundOptions){.cfg = &v->file.cfg,
                                      .iterations = v->o.iterations,
                                      .vocoder = voice_vocoder(v),
                                      .device = v->o.device,
                                      .threads = threads},
                      err);
}

int voice_sound(const Voice *v, Sound *s, float **samples, int64_t *count, const VoicePart *part, int more,
                Err *err)
{
    int64_t pause = more ? (int64_t)(part->pause * v->file.cfg.sample_rate) : 0;
    return sound_make(s, samples, count, part->mel, part->frames, pause, err);
}

int spoken_add(Spoken *out, const VoicePart *part, int64_t count, Err *err)
{
    size_t have = out->said ? strlen(out->said) : 0, more = strlen(part->said);
    char *said = realloc(out->said, have + more + 2);
    if (!said)
        return err_set(err, ERR_NOMEM, "no memory for %zu characters", have + more);
    snprintf(said + have, more + 2, "%s%s", have ? " " : "", part->said);
    out->said = said;
    out->parts++;
    out->count += count;
    out->frames += part->frames;
    out->symbols += part->speech.text;
    out->text_seconds += part->text_seconds;
    out->mel_seconds += part->mel_seconds;
    return 0;
}

/* Without a sink the samples of all parts lie one behind the other. */
static int collect(Spoken *out, const float *samples, int64_t count, Err *err)
{
    float *grown = mem_realloc(out->samples, (size_t)(out->count + count), sizeof *grown);
    if (!grown)
        return err_set(err, ERR_NOMEM, "no memory for %lld more samples", (long long)count);
    out->samples = grown;
    memcpy(grown + out->count, samples, (size_t)count * sizeof *grown);
    return 0;
}

/* Where the pieces of a part go. */
typedef struct Saying {
    Spoken *out;
    const VoicePart *part;
    VoiceSink sink;
    void *arg;
    double begun; /* the text */
    double from;  /* the piece that is being made */
} Saying;

/* The first sound is what somebody waits for. */
static int say_piece(void *arg, const float *samples, int64_t count, Err *err)
{
    Saying *s = arg;
    Spoken *out = s->out;
    out->audio_seconds += clock_now() - s->from;
    int rc = s->sink ? s->sink(s->arg, s->part, samples, count, err) : collect(out, samples, count, err);
    if (rc)
        return rc;
    s->from = clock_now();
    if (!out->count)
        out->first_seconds = s->from - s->begun;
    out->count += count;
    return 0;
}

/* A part that was spoken becomes sound, piece by piece. */
static int say_part(Voice *v, Saying *s, int more, Err *err)
{
    const VoicePart *part = s->part;
    const int64_t pause = more ? (int64_t)(part->pause * v->file.cfg.sample_rate) : 0;
    s->from = clock_now();
    int rc = sound_stream(v->sound, part->mel, part->frames, pause, say_piece, s, err);
    return rc ? rc : spoken_add(s->out, part, 0, err);
}

/* Times are summed part by part. */
int voice_say(Voice *v, Spoken *out, const char *text, size_t size, VoiceSink sink, void *arg, Err *err)
{
    VoiceText rest = {text, size};
    Saying s = {.out = out, .sink = sink, .arg = arg, .begun = clock_now()};
    int rc;
    memset(out, 0, sizeof *out);
    for (;;) {
        VoicePart part;
        rc = voice_next(v, &rest, &part, &out->left_out, err);
        if (rc != SPOKEN)
            break;
        s.part = &part;
        rc = say_part(v, &s, rest.n > 0, err);
        voice_part_free(&part);
        if (rc)
            break;
    }
    if (!rc && !out->parts)
        rc = err_set(err, ERR_DATA, "there is nothing to speak in the text");
    if (rc)
        spoken_free(out);
    return rc;
}

void spoken_free(Spoken *s)
{
    free(s->samples);
    free(s->said);
    memset(s, 0, sizeof *s);
}
