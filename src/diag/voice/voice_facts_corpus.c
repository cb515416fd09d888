/* voice_facts_corpus.c - what the caches tell about the recordings, and a look at some of them. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "audio/normaliser.h"
#include "audio/process.h"
#include "base/stats.h"
#include "cache/features.h"
#include "dataset/audio_file.h"
#include "diag/voice/voice_facts.h"
#include "text/phonemes/tokens.h"

#define MOST_PITCH 2000   /* clips whose pitch is read */
#define QUIET_CLIP 3.2e-3 /* -50 dB of full scale: a recording whose loudest 20 ms are below it is silent */
#define QUIET_FRAME 0.01  /* -40 dB of the loudest frame */
#define QUIET_SHARE 0.5   /* of the frames of a clip that is mostly silence */
#define FRAMES_PER_S 50   /* of this look */

/* Only the first few are named. */
static void name_clip(VoiceFacts *f, VoiceNames *names, const Utterance *u)
{
    const char *id = names->count < VOICE_MOST_NAMES ? block_strndup(&f->strings, u->id.p, u->id.n) : NULL;
    if (id)
        names->id[names->count++] = id;
}

/* --- the samples --- */

/* Root of the mean square. */
static double frame_level(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)(n > 0 ? n : 1));
}

/* Mostly silence: the quiet frames between the first and the last that prepare keeps. */
static int is_quiet(const Config *cfg, const AudioBuffer *a)
{
    const int64_t size = a->rate / FRAMES_PER_S > 0 ? a->rate / FRAMES_PER_S : 1,
                  n = (a->frames + size - 1) / size;
    /* Two passes: the threshold follows from the loudest frame. */
    double loudest = 0;
    for (int64_t i = 0; i < n; i++)
        loudest = fmax(loudest, frame_level(a->samples + i * size, i < n - 1 ? size : a->frames - i * size));
    if (loudest < QUIET_CLIP)
        return 1;
    const double kept = cfg->trim_silence ? loudest * pow(10, -cfg->trim_top_db / 20) : 0;
    int64_t first = -1, last = -1, quiet = 0, quiet_inside = 0;
    for (int64_t i = 0; i < n; i++) {
        double level = frame_level(a->samples + i * size, i < n - 1 ? size : a->frames - i * size);
        if (first >= 0)
            quiet += level < loudest * QUIET_FRAME;
        if (level >= kept) {
            first = first < 0 ? i : first;
            last = i;
            quiet_inside = quiet;
        }
    }
    return (double)quiet_inside > QUIET_SHARE * (double)(last - first + 1);
}

/* Decodes one recording and judges its samples. */
static void look_at(VoiceFacts *f, const Config *cfg, const Corpus *c, uint32_t item, AudioBuffer *a,
                    int64_t sums[2])
{
    const Utterance *u = &c->dataset.utterances[c->items[item].utterance];
    char path[PATH_MAX], detail[256];
    FileMap map = {0};
    if (dataset_audio_path(&c->dataset, u, path, sizeof path, NULL) || file_load(&map, path, NULL))
        return;
    if (audio_decode(a, map.data, map.size, path, cfg->max_audio_length, detail, sizeof detail) ==
            REJECT_NONE &&
        a->frames > 0 && a->rate > 0) {
        const int64_t clipped = audio_clipped(a->samples, a->frames);
        f->looked++;
        sums[0] += clipped;
        sums[1] += a->frames;
        if (is_quiet(cfg, a)) {
            f->looked_quiet++;
            name_clip(f, &f->silent, u);
        }
        if ((double)clipped > AUDIO_CLIPPED_SHARE * (double)a->frames) {
            f->looked_clipped++;
            name_clip(f, &f->clipped, u);
        }
    }
    file_unmap(&map);
}

/* --- the caches --- */

static int mel_of(MelView *v, const Corpus *c, uint32_t item)
{
    StoreEntry e;
    store_entry(&c->mel, c->items[item].mel_entry, &e);
    return mel_view(v, &e);
}

static int text_of(TextView *v, const Corpus *c, uint32_t item)
{
    StoreEntry e;
    store_entry(&c->text, c->items[item].text_entry, &e);
    return text_view(v, &e);
}

/* A token that is a sound: no pause, no mark of stress or length. */
static int is_sound(int token)
{
    const int8_t type = u_charType((UChar32)tokens_code_point(token));
    return token >= TOKEN_FIRST_SYMBOL &&
           (type == U_LOWERCASE_LETTER || type == U_UPPERCASE_LETTER || type == U_OTHER_LETTER);
}

/* Which sounds the corpus has, and how fast they come. */
typedef struct Sounds {
    uint8_t *is_sound; /* [tokens_count()] */
    int64_t *seen;     /* the same */
    double *rate;      /* [clips] sounds a second */
    size_t rates;
} Sounds;

/* Of every clip, from the text cache. */
static void count_sounds(Sounds *s, const Corpus *c, double seconds_per_frame)
{
    for (uint32_t i = 0; i < c->count; i++) {
        TextView v;
        int n = 0;
        if (text_of(&v, c, i))
            continue;
        for (uint32_t k = 0; k < v.token_count; k++)
            if (v.tokens[k] < tokens_count() && s->is_sound[v.tokens[k]]) {
                n++;
                s->seen[v.tokens[k]]++;
            }
        s->rate[s->rates++] = n / (c->lengths[i].frames * seconds_per_frame);
    }
}

/* The median over the clips: a few odd ones do not move it. */
static int speech_rate(VoiceFacts *f, const Corpus *const both[2], size_t clips, double seconds_per_frame,
                       Err *err)
{
    const size_t kinds = (size_t)tokens_count();
    Sounds s = {.is_sound = mem_calloc(kinds, 1), .seen = mem_calloc(kinds, sizeof *s.seen)};
    s.rate = mem_calloc(clips, sizeof *s.rate);
    int rc = s.is_sound && s.seen && s.rate
                 ? 0
                 : err_set(err, ERR_NOMEM, "no memory for the sounds of %zu clips", clips);
    for (size_t i = 0; i < kinds && !rc; i++)
        s.is_sound[i] = (uint8_t)is_sound((int)i);
    for (int k = 0; k < 2 && !rc; k++)
        if (both[k])
            count_sounds(&s, both[k], seconds_per_frame);
    if (!rc && s.rates)
        f->sounds_per_s = stats_percentile(s.rate, s.rates, 0.5);
    for (size_t i = 0; i < kinds && !rc; i++) {
        f->sounds += s.seen[i] > 0;
        f->rare_sounds += s.seen[i] > 0 && s.seen[i] < VOICE_RARE;
    }
    free(s.is_sound);
    free(s.seen);
    free(s.rate);
    return rc;
}

/* Sums for the variance of one speaker's pitch. */
typedef struct SpeakerPitch {
    double sum, squares, symbols;
} SpeakerPitch;

/* The pitch of symbols that share a clip evenly. */
static void add_pitch(SpeakerPitch *s, const MelView *v, uint32_t symbols, const MelStatistics *norm)
{
    for (uint32_t t = 0; t < symbols; t++) {
        const uint32_t from = (uint32_t)((uint64_t)t * v->frames / symbols),
                       to = (uint32_t)((uint64_t)(t + 1) * v->frames / symbols);
        double sum = 0;
        for (uint32_t m = from; m < to; m++)
            sum += (double)v->pitch[m];
        if (to <= from)
            continue;
        const double p = normaliser_pitch_value(sum / (to - from), norm->pitch_mean, norm->pitch_deviation);
        s->sum += p;
        s->squares += p * p;
        s->symbols++;
    }
}

/* Of some clips, evenly spread: the median voice, and how much its pitch moves. */
static int pitch_facts(VoiceFacts *f, const Corpus *c, Err *err)
{
    const uint32_t every = c->count / MOST_PITCH + 1;
    const size_t speakers = c->speaker_count > 0 ? (size_t)c->speaker_count : 1;
    SpeakerPitch *of = mem_calloc(speakers, sizeof *of);
    double *hz = mem_calloc(c->count / every + 1, sizeof *hz), frames = 0, squares = 0;
    size_t n = 0;
    int rc = of && hz ? 0 : err_set(err, ERR_NOMEM, "no memory for the pitch of %u clips", c->count);
    for (uint32_t i = 0; i < c->count && !rc; i += every) {
        MelView v;
        if (mel_of(&v, c, i) || !v.frames)
            continue;
        hz[n++] = exp(v.pitch_sums[0] / v.frames);
        frames += v.frames;
        if (c->statistics.pitch_deviation > 0)
            add_pitch(&of[c->items[i].speaker], &v, c->lengths[i].tokens, &c->statistics);
    }
    for (size_t s = 0; s < speakers && !rc; s++)
        if (of[s].symbols > 0)
            squares += of[s].squares - of[s].sum * of[s].sum / of[s].symbols;
    if (!rc && n)
        f->f0 = stats_percentile(hz, n, 0.5);
    if (!rc && frames > 0 && c->statistics.pitch_deviation > 0)
        f->pitch_variance = squares / frames;
    free(of);
    free(hz);
    return rc;
}

/* Their records say so: prepare has listened to them. */
static void count_silent(VoiceFacts *f, const Corpus *c)
{
    for (size_t i = 0; i < c->dataset.count; i++) {
        const Utterance *u = &c->dataset.utterances[i];
        const int64_t m = store_find(&c->mel, u->id.p, u->id.n);
        StoreEntry e;
        if (m < 0)
            continue;
        store_entry(&c->mel, (uint64_t)m, &e);
        if (e.status == REJECT_AUDIO_SILENT) {
            f->silent_lines++;
            name_clip(f, &f->silent, u);
        }
    }
    f->lines = (int64_t)c->dataset.count;
}

/* From the caches, and from a look at some recordings. */
int voice_facts_from_corpus(VoiceFacts *f, const Config *cfg, const Corpus *train, const Corpus *validation,
                            int look, Err *err)
{
    const Corpus *const both[2] = {train, validation};
    const double seconds_per_frame = (double)cfg->hop_length / cfg->sample_rate;
    const uint32_t clips = train->count + (validation ? validation->count : 0);
    AudioBuffer audio = {0};
    int64_t sums[2] = {0};
    f->clips = clips;
    f->seconds = 0;
    f->silent.count = f->clipped.count = 0;
    f->silent_lines = f->looked = f->looked_quiet = f->looked_clipped = 0;
    f->sounds = f->rare_sounds = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; both[k] && i < both[k]->count; i++)
            f->seconds += both[k]->lengths[i].frames * seconds_per_frame;
    count_silent(f, train); /* of the whole dataset, whatever the split */
    int rc = cfg->use_phonemes && clips ? speech_rate(f, both, clips, seconds_per_frame, err) : 0;
    if (!rc && train->count)
        rc = pitch_facts(f, train, err);
    for (uint32_t k = 0; k < (uint32_t)look && k < train->count && !rc; k++) {
        const uint32_t n = (uint32_t)look < train->count ? (uint32_t)look : train->count;
        look_at(f, cfg, train, (uint32_t)((uint64_t)k * train->count / n), &audio, sums);
    }
    if (sums[1] > 0)
        f->clipped_samples = (double)sums[0] / (double)sums[1];
    audio_buffer_free(&audio);
    return rc;
}
