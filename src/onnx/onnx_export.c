/* onnx_export.c - see onnx_export.h. Weights are loaded once, into the memory of the networks that listen to
 * the speakers' clips, and go from there into the file. */
#include "onnx/onnx_export.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "onnx/front.h"
#include "onnx/sound_graph.h"
#include "text/phonemes/tokens.h"
#include "voice/network_room.h"
#include "voice/speak.h"
#include "voice/vocoder_file.h"

typedef struct Work {
    const OnnxOptions *o;
    Device *device;
    NetworkRoom voice, vocoder;
    int *speakers; /* [speaker_count] numbers; NULL: one voice without a name */
    int speaker_count;
    float *vectors; /* [speaker_count or 1, text_encoder_dim] */
    Graph g;
} Work;

/* --- speakers --- */

static int is_among(const int *numbers, int count, int number)
{
    for (int i = 0; i < count; i++)
        if (numbers[i] == number)
            return 1;
    return 0;
}

/* The first clip is of the speaker that is taken where none is named. */
int onnx_speakers(int *numbers, const Checkpoint *voice)
{
    const VoiceClips *clips = &voice->content.clips;
    int count = 0;
    for (int i = 0; i < clips->count && voice->cfg.use_voice_conditioning; i++) {
        const int number = clips->speaker[i];
        int is_new = number >= 0 && number < voice->speaker_count;
        if (numbers)
            is_new = is_new && !is_among(numbers, count, number);
        else
            for (int k = 0; k < i; k++)
                is_new = is_new && clips->speaker[k] != number;
        if (is_new && numbers)
            numbers[count] = number;
        count += is_new;
    }
    return count;
}

/* What the voice of a speaker adds to every symbol. */
static int speaker_vector(Work *w, Synthesiser *s, float *out, int number, float *voice, Err *err)
{
    const Model *m = &w->voice.m;
    const int size = m->cfg.speaker_embedding_dim, width = m->cfg.text_encoder_dim;
    const float *weights = (const float *)m->weights + m->at.to_text.w,
                *bias = (const float *)m->weights + m->at.to_text.b;
    int rc = speaker_voice(s, voice, &w->o->voice->content.clips, number, size, err);
    for (int i = 0; i < width && !rc; i++) {
        double sum = (double)bias[i];
        for (int k = 0; k < size; k++)
            sum += (double)weights[(size_t)i * (size_t)size + (size_t)k] * (double)voice[k];
        out[i] = (float)sum;
    }
    return rc;
}

static int hear_speakers(Work *w, Err *err)
{
    const Checkpoint *file = w->o->voice;
    const size_t width = (size_t)w->voice.m.cfg.text_encoder_dim;
    Synthesiser *s = NULL;
    w->speaker_count = onnx_speakers(NULL, file);
    const size_t rows = w->speaker_count ? (size_t)w->speaker_count : 1;
    w->speakers = mem_calloc(rows, sizeof *w->speakers);
    w->vectors = mem_calloc(rows * width, sizeof *w->vectors);
    float *voice = mem_calloc((size_t)w->voice.m.cfg.speaker_embedding_dim, sizeof *voice);
    int rc = w->speakers && w->vectors && voice ? 0 : err_set(err, ERR_NOMEM, "no memory for the speakers");
    if (!rc && w->voice.m.use_voice && !w->speaker_count)
        rc = err_set(err, ERR_MISSING, "%s has no reference clips: how its speaker sounds is not known",
                     file->path);
    const SynthesisLimits limits = {
        .rows = 1, .text = 1, .frames = 1, .reference = file->content.clips.frames};
    if (!rc && w->speaker_count) {
        onnx_speakers(w->speakers, file);
        rc = synthesiser_open(&s, &w->voice.m, &limits, err);
    }
    for (int i = 0; i < w->speaker_count && !rc; i++)
        rc = speaker_vector(w, s, w->vectors + (size_t)i * width, w->speakers[i], voice, err);
    synthesiser_close(s);
    free(voice);
    return rc;
}

/* --- metadata --- */

/* An entry, unless it is empty or the caller has one of this key. */
static void add_entry(Work *w, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    for (int i = 0; i < w->o->entry_count; i++)
        if (strcmp(w->o->entries[i].key, key) == 0)
            return;
    graph_entry(&w->g, key, value);
}

static void add_number(Work *w, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    add_entry(w, key, text);
}

/* A JSON array of texts, which is given up. */
static void add_list(Work *w, const char *key, json_t *list)
{
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    w->g.failed |= !text;
    add_entry(w, key, text);
    free(text);
    json_decref(list);
}

static json_t *symbol_names(void)
{
    json_t *list = json_array();
    char name[8];
    for (int i = 0; i < tokens_count(); i++)
        json_array_append_new(list, json_from_text(tokens_name(i, name)));
    return list;
}

static void add_names(Work *w)
{
    const Checkpoint *file = w->o->voice;
    json_t *speakers = json_array(), *languages = json_array();
    for (int i = 0; i < w->speaker_count; i++)
        json_array_append_new(speakers, json_from_text(file->speakers[w->speakers[i]]));
    for (int i = 0; i < file->languages.count; i++)
        json_array_append_new(languages, json_from_text(file->languages.codes[i]));
    add_list(w, "symbols", symbol_names());
    add_list(w, "speakers", speakers);
    add_list(w, "languages", languages);
}

static void add_entries(Work *w)
{
    const OnnxOptions *o = w->o;
    const Config *cfg = &o->voice->cfg;
    add_entry(w, "format", ONNX_FORMAT);
    add_entry(w, EXPORT_LICENCE, o->credits.licence);
    add_entry(w, EXPORT_SOURCE, o->credits.source);
    add_entry(w, EXPORT_NOTE, o->credits.note);
    add_entry(w, "base", checkpoint_text(o->voice, "base"));
    add_number(w, "step", o->voice->content.state.step);
    add_number(w, "sample_rate", cfg->sample_rate);
    add_number(w, "hop_length", cfg->hop_length);
    add_number(w, "blanks", cfg->add_blank);
    add_number(w, "phonemes", cfg->use_phonemes);
    add_entry(w, "language", o->voice->language);
    add_names(w);
    for (int i = 0; i < o->entry_count; i++)
        graph_entry(&w->g, o->entries[i].key, o->entries[i].value);
}

/* --- the file --- */

static int check_text(const char *what, const char *text, Err *err)
{
    const size_t n = text ? strlen(text) : 0;
    return utf8_valid(text ? text : "", n) == n ? 0 : err_set(err, ERR_DATA, "the %s is not UTF-8", what);
}

int onnx_check(const Checkpoint *voice, const Checkpoint *vocoder, Err *err)
{
    if (voice->cfg.network != NETWORK_VOICE) {
        err_set(err, ERR_USAGE, "%s holds a vocoder; an ONNX file is for a voice", voice->path);
        return err_hint(err, "export the voice: its vocoder goes with it");
    }
    if (!vocoder) {
        err_set(err, ERR_MISSING,
                "%s has no vocoder to go with it, and Griffin-Lim has no place in an ONNX file", voice->path);
        const char *slash = strrchr(voice->path, '/'), *data = voice->cfg.data_path;
        return err_hint(err,
                        "`myxtts train %s --network vocoder --minutes 10 --checkpoint-dir %.*s" VOCODER_FOLDER
                        "` trains one; --vocoder PATH names another",
                        data[0] ? data : "DIR", slash ? (int)(slash + 1 - voice->path) : 0, voice->path);
    }
    return vocoder_file_fits(vocoder, &voice->cfg, "the voice", err);
}

static int check(const OnnxOptions *o, Err *err)
{
    int rc = onnx_check(o->voice, o->vocoder, err);
    if (!rc)
        rc = check_text(EXPORT_LICENCE, o->credits.licence, err);
    if (!rc)
        rc = check_text(EXPORT_SOURCE, o->credits.source, err);
    if (!rc)
        rc = check_text(EXPORT_NOTE, o->credits.note, err);
    for (int i = 0; i < o->entry_count && !rc; i++)
        rc = check_text(o->entries[i].key, o->entries[i].value, err);
    return rc;
}

static int open_networks(Work *w, Err *err)
{
    const int threads = thread_cores();
    int rc = device_open(&w->device, "cpu", &(DeviceOptions){0}, err);
    if (!rc)
        rc = network_room_open(&w->voice, w->o->voice, NULL, w->device, threads, err);
    if (!rc)
        rc = network_room_open(&w->vocoder, w->o->vocoder, NULL, w->device, threads, err);
    return rc;
}

static void build(Work *w)
{
    Graph *g = &w->g;
    Front front;
    const NetworkGraph voice = {g, &w->voice.m, w->voice.m.weights, w->o->precision},
                       vocoder = {g, &w->vocoder.m, w->vocoder.m.weights, w->o->precision};
    front_open(&front, g, w->o->front, &w->voice.m, w->o->voice, w->speaker_count);
    const VoiceGraphOutput spoken =
        voice_graph(&voice, &front.in, w->o->voice, w->vectors, w->speaker_count ? w->speaker_count : 1);
    front_close(&front, g, sound_graph(&vocoder, spoken.mel), spoken.frames);
    add_entries(w);
}

static void work_close(Work *w)
{
    graph_close(&w->g);
    network_room_close(&w->vocoder);
    network_room_close(&w->voice);
    device_close(w->device);
    free(w->speakers);
    free(w->vectors);
}

int onnx_export(Exported *out, const OnnxOptions *o, Err *err)
{
    Work w = {.o = o};
    struct stat st = {0};
    *out = (Exported){0};
    int rc = check(o, err);
    if (!rc)
        rc = open_networks(&w, err);
    if (!rc)
        rc = hear_speakers(&w, err);
    if (!rc) {
        build(&w);
        rc = graph_write(&w.g, o->output, err);
    }
    if (!rc && stat(o->output, &st))
        rc = err_set_errno(err, ERR_IO, "cannot look at %s", o->output);
    *out = (Exported){w.voice.m.params.numbers, w.vocoder.m.params.numbers, (uint64_t)st.st_size};
    work_close(&w);
    return rc;
}
