/* voice_network.c - see voice_network.h. */
#include "voice/voice_network.h"

#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/normaliser.h"
#include "audio/process.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"
#include "voice/network_room.h"
#include "voice/speak.h"
#include "voice/voice_language.h"
#include "voice/voice_manner.h"

#define LONGEST_TEXT 400       /* tokens spoken at once: the length that memory is reserved for */
#define SHORT_TEXT 64          /* as much is always spoken at once */
#define ROOM_FRAMES 1024       /* at first; it grows */
#define LONGEST_REFERENCE 1024 /* frames of a recording that are listened to */
#define REFERENCE_SECONDS 60   /* of a recording that are decoded */
#define SPEAKERS_SHOWN 300     /* bytes of names in a message */

struct VoiceNetwork {
    const Checkpoint *file;
    NetworkRoom room;
    Synthesiser *synthesiser;
    SynthesisText *texts;  /* [rows] of a call */
    Speech *speeches;      /* [rows] */
    Buf *manners, *pauses; /* [rows] what texts refer to */
    int rows;
};

void voice_part_free(VoicePart *p)
{
    free(p->mel);
    free(p->tokens);
    free(p->said);
    free(p->gain);
    voice_wishes_free(&p->wishes);
    speech_free(&p->speech);
    memset(p, 0, sizeof *p);
}

int voice_most_symbols(void) { return LONGEST_TEXT; }

int voice_usual_symbols(const Checkpoint *file)
{
    const Config *cfg = &file->cfg;
    int most = LONGEST_TEXT, asked = text_likely_tokens(cfg, cfg->max_text_length);
    /* Files of old do not say; their limit was counted in tokens. */
    int learned = file->longest_text > 0 ? file->longest_text : cfg->max_text_length;
    if (learned < most)
        most = learned > SHORT_TEXT ? learned : SHORT_TEXT;
    return asked < most ? asked : most;
}

int voice_network_open(VoiceNetwork **out, const Checkpoint *file, const VoiceNetwork *lender, Device *device,
                       int rows, int threads, Err *err)
{
    *out = NULL;
    VoiceNetwork *n = mem_calloc(1, sizeof *n);
    if (!n)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    n->file = file;
    n->rows = rows;
    n->texts = mem_calloc((size_t)rows, sizeof *n->texts);
    n->speeches = mem_calloc((size_t)rows, sizeof *n->speeches);
    n->manners = mem_calloc((size_t)rows, sizeof *n->manners);
    n->pauses = mem_calloc((size_t)rows, sizeof *n->pauses);
    SynthesisLimits limits = {.rows = rows,
                              .text = voice_most_symbols(),
                              .frames = ROOM_FRAMES,
                              .reference = LONGEST_REFERENCE,
                              .grow = 1};
    int rc = n->texts && n->speeches && n->manners && n->pauses
                 ? 0
                 : err_set(err, ERR_NOMEM, "no memory for a voice");
    if (!rc)
        rc = network_room_open(&n->room, file, lender ? &lender->room : NULL, device, threads, err);
    if (!rc)
        rc = synthesiser_open(&n->synthesiser, &n->room.m, &limits, err);
    if (!rc)
        rc = synthesiser_set_manner(n->synthesiser, &file->content.state.manner, err);
    if (rc) {
        voice_network_close(n);
        return rc;
    }
    *out = n;
    return 0;
}

void voice_network_close(VoiceNetwork *n)
{
    if (!n)
        return;
    synthesiser_close(n->synthesiser);
    network_room_close(&n->room);
    for (int i = 0; i < n->rows; i++) {
        buf_free(n->manners ? &n->manners[i] : &(Buf){0});
        buf_free(n->pauses ? &n->pauses[i] : &(Buf){0});
    }
    free(n->manners);
    free(n->pauses);
    free(n->texts);
    free(n->speeches);
    free(n);
}

/* --- whose voice --- */

/* The names that there are go into the hint. */
static int no_such_speaker(const Checkpoint *f, const char *name, Err *err)
{
    Buf names = {0};
    for (int i = 0; i < f->speaker_count && names.size < SPEAKERS_SHOWN; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", f->speakers[i]);
    err_set(err, ERR_MISSING, "%s has no speaker '%s'", f->path, name);
    if (f->speaker_count == 1 && !*f->speakers[0])
        err_hint(err, "its only speaker has no name: omit --speaker");
    else
        err_hint(err, "it has %d: %s", f->speaker_count, names.data ? names.data : "");
    buf_free(&names);
    return err->code;
}

int voice_find_speaker(const Checkpoint *f, const char *name, Err *err)
{
    if (!name && f->content.clips.count)
        return f->content.clips.speaker[0];
    for (int i = 0; i < f->speaker_count; i++)
        if (!name || strcmp(f->speakers[i], name) == 0)
            return i;
    return no_such_speaker(f, name ? name : "", err);
}

/* A network without voice conditioning has one voice; any name that it knows will do. */
int voice_network_speaker(VoiceNetwork *n, float *vector, const char *name, Err *err)
{
    const int size = n->file->cfg.speaker_embedding_dim;
    memset(vector, 0, (size_t)size * sizeof *vector);
    if (!name && !n->room.m.use_voice)
        return 0;
    const int found = voice_find_speaker(n->file, name, err);
    if (found < 0)
        return found;
    if (!n->room.m.use_voice)
        return 0;
    int rc = speaker_voice(n->synthesiser, vector, &n->file->content.clips, found, size, err);
    if (rc == ERR_MISSING)
        err_hint(err, "the checkpoint has reference clips of its first speakers only; use a recording with "
                      "--reference");
    return rc;
}

/* A recording decoded, resampled, trimmed and levelled as those the network learned from: *samples [*n],
 * inside the processor. */
static int read_reference(const VoiceNetwork *v, AudioProcessor *processor, AudioBuffer *audio,
                          const float **samples, int64_t *n, const void *bytes, size_t size, const char *name,
                          Err *err)
{
    const Config *cfg = &v->file->cfg;
    char detail[256] = "";
    RejectReason why = audio_decode(audio, bytes, size, name, REFERENCE_SECONDS, detail, sizeof detail);
    if (!why)
        why = audio_process(processor, samples, n, audio, cfg->trim_silence,
                            cfg->enable_loudness_normalization, detail, sizeof detail);
    if (why == REJECT_AUDIO_TOO_LONG) {
        err_set(err, ERR_DATA, "%s is too long for a reference: the maximum is %g s", name,
                (double)REFERENCE_SECONDS);
        return err_hint(err, "ten seconds of clean speech are enough: ffmpeg -i %.200s -t 10 reference.wav",
                        name);
    }
    if (why)
        return err_set(err, ERR_DATA, "%s cannot be used as a reference: %s%s%s", name, reject_text(why),
                       *detail ? ": " : "", detail);
    return 0;
}

/* The mel of samples, normalised as the network sees it: *mel [*frames, n_mels], malloc'd. */
static int reference_mel(const VoiceNetwork *v, float **mel, int64_t *frames, const float *samples, int64_t n,
                         const char *name, Err *err)
{
    const Config *cfg = &v->file->cfg;
    const CheckpointContent *c = &v->file->content;
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
                     "%s cannot be used as a reference: only %.3f s of it are not silent; a few seconds of "
                     "speech are needed",
                     name, (double)n / cfg->sample_rate);
        goto done;
    }
    *mel = mem_calloc((size_t)*frames * (size_t)cfg->n_mels, sizeof **mel);
    if (!*mel) {
        rc = err_set(err, ERR_NOMEM, "no memory for the reference %s", name);
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
int voice_network_recording(VoiceNetwork *v, float *vector, const void *bytes, size_t size, const char *name,
                            Err *err)
{
    AudioBuffer audio = {0};
    AudioProcessor *processor = NULL;
    float *mel = NULL;
    const float *samples;
    int64_t n, frames;
    int rc = audio_processor_open(&processor, &v->file->cfg, err);
    if (!rc)
        rc = read_reference(v, processor, &audio, &samples, &n, bytes, size, name, err);
    if (!rc)
        rc = reference_mel(v, &mel, &frames, samples, n, name, err);
    if (!rc) {
        int heard = (int)(frames < LONGEST_REFERENCE ? frames : LONGEST_REFERENCE);
        rc = synthesiser_listen(v->synthesiser, vector, mel, heard, err);
    }
    free(mel);
    audio_processor_close(processor);
    audio_buffer_free(&audio);
    return rc ? err_about(err, ERR_ABOUT_REFERENCE, name) : 0;
}

/* --- speaking --- */

int voice_network_speak(VoiceNetwork *n, VoicePart *const *parts, const VoiceManner *manners, int rows,
                        Err *err)
{
    const Checkpoint *f = n->file;
    ASSERT(rows <= n->rows);
    double from = clock_now();
    for (int i = 0; i < rows; i++) {
        n->texts[i] = (SynthesisText){.tokens = parts[i]->tokens,
                                      .count = parts[i]->symbols,
                                      .voice = manners[i].vector,
                                      .language = voice_language_number(f, parts[i]->language),
                                      .speed = manners[i].speed,
                                      .pitch = normaliser_pitch_shift(manners[i].pitch, f->pitch_deviation)};
        if (voice_manner_prepare(&n->texts[i], &n->manners[i], &n->pauses[i], parts[i], f))
            return err_set(err, ERR_NOMEM, "no memory to speak %d symbols", parts[i]->symbols);
    }
    int rc = synthesiser_speak(n->synthesiser, n->speeches, n->texts, rows, err);
    if (rc)
        return rc;
    double took = (clock_now() - from) / rows;
    for (int i = 0; i < rows; i++) {
        VoicePart *p = parts[i];
        p->speech = n->speeches[i];
        p->mel = p->speech.mel;
        p->speech.mel = NULL;
        p->frames = p->speech.frames;
        normaliser_restore_mel(p->mel, p->mel, f->content.mean, f->content.deviation, p->frames,
                               f->cfg.n_mels);
        rc = rc ? rc : voice_manner_finish(p, &n->texts[i], f, err);
        p->mel_seconds = took;
    }
    for (int i = 0; i < rows && rc; i++) { /* none has a mel */
        free(parts[i]->mel);
        speech_free(&parts[i]->speech);
        parts[i]->mel = NULL;
    }
    return rc;
}

int voice_network_warm_up(VoiceNetwork *n, int rows, int symbols, Err *err)
{
    const int most = voice_most_symbols(), count = symbols < most ? symbols : most;
    if (!n->room.device->traits.library_kernels)
        return 0;
    int32_t *tokens = mem_calloc((size_t)count, sizeof *tokens);
    float *vector = mem_calloc((size_t)n->file->cfg.speaker_embedding_dim, sizeof *vector);
    int rc = tokens && vector ? 0 : err_set(err, ERR_NOMEM, "no memory to try a voice");
    for (int i = 0; i < count && !rc; i++)
        tokens[i] = 1 + i % (tokens_count() - 1);
    for (int i = 0; i < rows && !rc; i++)
        n->texts[i] = (SynthesisText){.tokens = tokens, .count = count, .voice = vector};
    if (!rc && !synthesiser_speak(n->synthesiser, n->speeches, n->texts, rows, &(Err){0}))
        for (int i = 0; i < rows; i++)
            speech_free(&n->speeches[i]);
    free(tokens);
    free(vector);
    return rc;
}
