/* voice.c - a checkpoint that speaks. */
#include "voice/voice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "text/phonemes/tokens.h"
#include "text/text.h"
#include "text/unicode.h"
#include "voice/symbols_seen.h"
#include "voice/vocoder_file.h"
#include "voice/voice_language.h"
#include "voice/voice_manner.h"

/* A few words: for a single sentence, more would cost more time than they save. */
#define WARM_UP_SYMBOLS 40
#define WARM_UP_FRAMES 160
#define MOST_WARNINGS 10 /* about symbols of a lexicon */

struct Voice {
    VoiceOptions o;
    Checkpoint file, vocoder; /* the latter is closed if there is none */
    int has_vocoder;
    VoiceNetwork *network;
    Sound *sound;
    TextEngine *text;
    float *vector; /* [S] */
    int has_vector;
    float *other;     /* [S] of another speaker, whom a marked-up text has named last */
    char *other_name; /* NULL: none yet */
};

/* --- opening --- */

static int open_network(Voice *v, Err *err)
{
    const VoiceOptions *o = &v->o;
    v->vector = mem_calloc((size_t)v->file.cfg.speaker_embedding_dim, sizeof *v->vector);
    v->other = mem_calloc((size_t)v->file.cfg.speaker_embedding_dim, sizeof *v->other);
    if (!v->vector || !v->other)
        return err_set(err, ERR_NOMEM, "no memory for a voice");
    return voice_network_open(&v->network, &v->file, NULL, o->device, o->rows > 0 ? o->rows : 1,
                              o->threads > 0 ? o->threads : thread_cores(), err);
}

/* Before the weights are loaded: a vocoder that does not go with the voice is known at once. */
static int open_vocoder(Voice *v, Err *err)
{
    int rc = vocoder_file_of(&v->vocoder, &v->file, v->o.vocoder, 0, v->o.log, err);
    if (rc < 0)
        return rc;
    v->has_vocoder = rc;
    return 0;
}

/* A symbol that was in no text the voice learned from sounds like anything. */
static int check_lexicon(const Voice *v, Err *err)
{
    const Lexicon *l = text_engine_lexicon(v->text);
    const char *word, *ipa;
    int line, told = 0;
    if (!l)
        return 0;
    uint8_t *seen = mem_calloc((size_t)tokens_count(), 1);
    if (!seen)
        return err_set(err, ERR_NOMEM, "no memory for the symbols of a voice");
    const int knows = symbols_seen(seen, &v->file);
    for (int i = 0; knows && (ipa = lexicon_entry(l, i, &word, &line)); i++)
        for (size_t at = 0, n = strlen(ipa); line > 0 && at < n && told < MOST_WARNINGS;) {
            uint32_t cp = unicode_next(ipa, n, &at);
            const int id = tokens_find(cp);
            char name[8];
            if (id < 0 || seen[id])
                continue;
            seen[id] = 1;
            told++;
            log_warn(v->o.log, "%s:%d: the voice was never trained on %s (U+%04X), which is in '%s'",
                     v->file.cfg.lexicon, line, tokens_name(id, name), cp, word);
        }
    free(seen);
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
        rc = open_network(v, err);
    if (!rc)
        rc = voice_sound_open(v, &v->sound, o->threads, err);
    if (!rc)
        rc = voice_network_warm_up(v->network, 1, WARM_UP_SYMBOLS, err);
    if (!rc)
        rc = sound_warm_up(v->sound, WARM_UP_FRAMES, err);
    if (!rc)
        rc = text_engine_open(&v->text, &v->file.cfg, TEXT_TO_SPEAK, err);
    if (!rc)
        rc = check_lexicon(v, err);
    if (!rc)
        rc = checkpoint_settle(&v->file, err);
    if (!rc && v->has_vocoder)
        rc = checkpoint_settle(&v->vocoder, err);
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
    voice_network_close(v->network);
    checkpoint_close(&v->vocoder);
    checkpoint_close(&v->file);
    free(v->vector);
    free(v->other);
    free(v->other_name);
    free(v);
}

const Checkpoint *voice_checkpoint(const Voice *v) { return &v->file; }
const Checkpoint *voice_vocoder(const Voice *v) { return v->has_vocoder ? &v->vocoder : NULL; }
VoiceNetwork *voice_network(Voice *v) { return v->network; }
Sound *voice_stage(Voice *v) { return v->sound; }

/* --- whose voice --- */

int voice_of_speaker(Voice *v, const char *name, Err *err)
{
    int rc = voice_network_speaker(v->network, v->vector, name, err);
    v->has_vector = !rc;
    return rc;
}

int voice_of_recording(Voice *v, const char *path, Err *err)
{
    FileMap map = {0};
    int rc = file_load(&map, path, err);
    if (!rc)
        rc = voice_network_recording(v->network, v->vector, map.data, map.size, path, err);
    file_unmap(&map);
    v->has_vector = !rc;
    return rc;
}

/* --- speaking --- */

int voice_read(Voice *v, VoiceText *text, VoicePart *part, VoiceLosses *losses, Err *err)
{
    char column[LANGUAGE_MAX];
    const VoiceLimits limits = {voice_usual_symbols(&v->file), voice_most_symbols()};
    voice_language_column(column, &v->file, text->language);
    return voice_text_next(text, part, v->text, column, &limits, losses, v->o.log, err);
}

int voice_losses(Voice *v, VoiceLosses *losses, const VoiceText *text, Err *err)
{
    char column[LANGUAGE_MAX];
    voice_language_column(column, &v->file, text->language);
    return voice_text_losses(losses, text, v->text, column, err);
}

/* Whose voice a part is in: the one that its text names, or that of the whole. */
static int part_vector(Voice *v, const float **vector, const VoicePart *part, Err *err)
{
    const char *name = part->wishes.speaker;
    *vector = v->vector;
    if (!name)
        return 0;
    *vector = v->other;
    if (v->other_name && !strcmp(v->other_name, name))
        return 0;
    free(v->other_name);
    v->other_name = NULL;
    int rc = voice_network_speaker(v->network, v->other, name, err);
    if (!rc)
        v->other_name = strdup(name);
    return rc;
}

/* Not more than one part is computed, so that the first can be heard while the next is made. */
int voice_next(Voice *v, VoiceText *text, VoicePart *part, VoiceLosses *losses, Err *err)
{
    memset(part, 0, sizeof *part);
    int rc = v->has_vector ? 0 : voice_of_speaker(v, NULL, err);
    if (!rc)
        rc = voice_read(v, text, part, losses, err);
    if (rc != 1)
        return rc;
    VoiceManner manner = {.speed = v->o.speed, .pitch = v->o.pitch};
    rc = part_vector(v, &manner.vector, part, err);
    if (!rc)
        rc = voice_network_speak(v->network, (VoicePart *[]){part}, &manner, 1, err);
    if (rc)
        voice_part_free(part);
    return rc ? rc : 1;
}

/* --- sound --- */

int voice_sound_open(const Voice *v, Sound **s, int threads, Err *err)
{
    const Checkpoint *vocoder = voice_vocoder(v);
    /* Rounds of Griffin-Lim pull a vocoder's sound towards the mel. That helps where the mel is a
     * recording's; a voice's is not quite one, and the rounds bring out what is wrong with it
     * (docs/MODEL.md). */
    const int iterations = vocoder && !v->o.iterations ? SOUND_NONE : v->o.iterations;
    return sound_open(s,
                      &(SoundOptions){.cfg = &v->file.cfg,
                                      .iterations = iterations,
                                      .vocoder = vocoder,
                                      .device = v->o.device,
                                      .threads = threads,
                                      .lender = v->sound},
                      err);
}

int voice_sound(const Voice *v, Sound *s, float **samples, int64_t *count, const VoicePart *part, int more,
                Err *err)
{
    int64_t pause = more ? (int64_t)(part->pause * v->file.cfg.sample_rate) : 0;
    int rc = sound_make(s, samples, count, part->mel, part->frames, pause, err);
    if (!rc)
        voice_part_gain(part, *samples, 0, *count - pause, v->file.cfg.hop_length);
    return rc;
}

int spoken_add_marks(Spoken *out, const VoicePart *part, int64_t from, int64_t to, const Config *cfg,
                     Err *err)
{
    for (size_t i = 0; i < part->wishes.mark_count; i++) {
        const VoiceMark *m = &part->wishes.marks[i];
        char *name = mem_grow(&out->marks, &out->mark_room, out->mark_count + 1, sizeof *out->marks)
                         ? NULL
                         : strdup(m->name);
        if (!name)
            return err_set(err, ERR_NOMEM, "no memory for a mark");
        const double at = (double)from / cfg->sample_rate + voice_mark_seconds(m, cfg),
                     end = (double)to / cfg->sample_rate;
        out->marks[out->mark_count++] = (SpokenMark){name, at < end ? at : end};
    }
    return 0;
}

int spoken_add(Spoken *out, const VoicePart *part, int64_t from, int64_t to, const Config *cfg, Err *err)
{
    int rc = spoken_add_marks(out, part, from, to, cfg, err);
    if (rc)
        return rc;
    size_t have = out->said ? strlen(out->said) : 0, more = strlen(part->said);
    char *said = realloc(out->said, have + more + 2);
    if (!said)
        return err_set(err, ERR_NOMEM, "no memory for %zu characters", have + more);
    snprintf(said + have, more + 2, "%s%s", have ? " " : "", part->said);
    out->said = said;
    out->parts++;
    out->count = to;
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
    double begun;  /* the text */
    double from;   /* the piece that is being made */
    int64_t first; /* sample of the part */
    int hop;
} Saying;

/* The listener waits for the first sound. */
static int say_piece(void *arg, float *samples, int64_t count, Err *err)
{
    Saying *s = arg;
    Spoken *out = s->out;
    voice_part_gain(s->part, samples, out->count - s->first, count, s->hop);
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
    s->first = s->out->count;
    s->hop = v->file.cfg.hop_length;
    int rc = sound_stream(v->sound, part->mel, part->frames, pause, say_piece, s, err);
    return rc ? rc : spoken_add(s->out, part, s->first, s->out->count, &v->file.cfg, err);
}

/* Times are summed part by part. */
int voice_say(Voice *v, Spoken *out, const char *text, size_t size, VoiceSink sink, void *arg, Err *err)
{
    VoiceText rest = {.p = text, .n = size, .language = v->o.wish.language};
    Saying s = {.out = out, .sink = sink, .arg = arg, .begun = clock_now()};
    int rc = voice_begin(&rest, &v->file, v->o.format, &v->o.wish, v->o.log, err);
    memset(out, 0, sizeof *out);
    while (!rc) {
        VoicePart part;
        rc = voice_next(v, &rest, &part, &out->losses, err);
        if (rc != 1)
            break;
        s.part = &part;
        rc = say_part(v, &s, !voice_text_is_over(&rest), err);
        voice_part_free(&part);
        if (rc)
            break;
    }
    voice_text_close(&rest);
    if (!rc && !out->parts)
        rc = err_set(err, ERR_DATA, "the text has nothing to speak");
    if (rc)
        spoken_free(out);
    return rc;
}

void spoken_free(Spoken *s)
{
    free(s->samples);
    free(s->said);
    voice_losses_free(&s->losses);
    for (size_t i = 0; i < s->mark_count; i++)
        free(s->marks[i].name);
    free(s->marks);
    memset(s, 0, sizeof *s);
}
