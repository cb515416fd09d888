/* checkpoint_entries.c - the metadata of a checkpoint: the writer and the reader of each entry, side by side,
 * and the table of them. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "config/bindings.h"
#include "text/phonemes/tokens.h"
#include "voice/base_file.h"
#include "voice/checkpoint_fields.h"
#include "voice/known_clips.h"
#include "voice/symbols_seen.h"

#define EXACT JSON_REAL_PRECISION(17) /* digits: a double reads back to the same bits */

int checkpoint_foreign(const Checkpoint *v, const char *what, Err *err)
{
    err_set(err, ERR_FORMAT, "%s is not a checkpoint of myxtts: it has %s", v->path, what);
    return err_hint(err, "checkpoints are written by `myxtts train` into its --checkpoint-dir");
}

/* The text of a JSON value, malloc'd; the value is given up. NULL when it, or a part of it, found no memory:
 * a checkpoint that lacks a setting or a symbol would look whole and could not be used. */
static char *dump(json_t *o, int failed, size_t flags)
{
    char *text = o && !failed ? json_dumps(o, flags) : NULL;
    json_decref(o);
    return text;
}

/* 1: YAML takes the character as it is, and JSON does not escape it. Control characters of ASCII are escaped.
 */
static int is_plain(uint32_t c)
{
    return c < 0x7F || c == 0x85 || (c >= 0xA0 && c < 0xFEFF) || (c > 0xFEFF && c < 0xFFFE) || c >= 0x10000;
}

/* A text. Paths are bytes of any kind: characters that are not valid in UTF-8 or YAML become question marks,
 * because an inexact folder name is better than a voice that cannot be opened. NULL without memory. */
static json_t *text_value(const char *p, size_t n)
{
    char *copy = malloc(n + 1);
    size_t used = 0;
    for (size_t i = 0; copy && i < n;) {
        size_t rest = n - i, size = 1;
        while (size < rest && size < 4 && utf8_continues(p[i + size]))
            size++;
        int valid = utf8_valid(p + i, size) == size;
        uint32_t c = (unsigned char)p[i] & (size > 1 ? 0x7Fu >> size : 0x7F);
        for (size_t k = 1; k < size; k++)
            c = c << 6 | ((unsigned char)p[i + k] & 0x3F);
        if (!valid)
            size = 1;
        if (valid && is_plain(c)) {
            memcpy(copy + used, p + i, size);
            used += size;
        } else {
            copy[used++] = '?';
        }
        i += size;
    }
    json_t *o = copy ? json_stringn(copy, used) : NULL;
    free(copy);
    return o;
}

static void hash_text(char out[33], Hash128 h)
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
}

/* The JSON value of a text that may be missing. */
static json_t *load(const char *text) { return text ? json_loads(text, 0, NULL) : NULL; }

/* --- format --- */

static char *write_format(const CheckpointSource *s) { return strdup(CHECKPOINT_FORMAT); }

/* Files of the first format are told from files of others: their owner deserves to know why. */
static int read_format(Checkpoint *v, const char *text, Err *err)
{
    if (text && strcmp(text, CHECKPOINT_FORMAT) == 0)
        return 0;
    if (!text || strcmp(text, CHECKPOINT_FORMAT_1) != 0)
        return checkpoint_foreign(v, text ? "another format" : "no format field", err);
    err_set(err, ERR_FORMAT,
            "%s contains the autoregressive network of an earlier version, which this program cannot run",
            v->path);
    return err_hint(err, "train again with another --checkpoint-dir; a voice now takes minutes");
}

/* --- config --- */

/* A setting in its own type, so that a file reads back to the same bits. */
static json_t *setting(const ConfigRow *row)
{
    switch (row->kind) {
    case KIND_BOOL:
        return json_boolean(row->integer);
    case KIND_INT:
        return json_integer(row->integer);
    case KIND_FLOAT:
        return json_real(row->number);
    case KIND_STRING:
        return text_value(row->string, strlen(row->string));
    case KIND_LIST:
        break;
    }
    json_t *items = json_array();
    int failed = 0;
    for (int k = 0; k < row->list->count; k++)
        failed |= json_array_append_new(items, text_value(row->list->items[k], strlen(row->list->items[k])));
    if (!failed)
        return items;
    json_decref(items);
    return NULL;
}

/* The run may go on from another folder than the one that it was begun in. */
static int is_place(const char *key)
{
    return strcmp(key, "data_path") == 0 || strcmp(key, "cache_dir") == 0;
}

/* All settings as JSON, which is YAML too: {"model": {...}, "data": {...}, "training": {...}}. */
static char *write_config(const CheckpointSource *s)
{
    json_t *all = json_object();
    int failed = 0;
    for (int i = 0; i < config_row_count() && !failed; i++) {
        ConfigRow row;
        failed |= config_row(s->cfg, i, &row);
        if (failed)
            break;
        if (!json_object_get(all, row.section))
            failed |= json_object_set_new(all, row.section, json_object());
        /* What is in that file goes along itself. */
        if (strcmp(row.key, "lexicon") == 0)
            row.string = "";
        char here[PATH_MAX], whole[2 * PATH_MAX];
        if (is_place(row.key) && row.string[0] && row.string[0] != '/' && getcwd(here, sizeof here)) {
            snprintf(whole, sizeof whole, "%s/%s", here, row.string);
            row.string = whole;
        }
        failed |= json_object_set_new(json_object_get(all, row.section), row.key, setting(&row));
    }
    return dump(all, failed, EXACT);
}

/* The settings in the file with those of the command line on top. A rule that came later does not make an old
 * voice mute: what its network was, it is. */
static int read_config(Checkpoint *v, const char *text, Err *err)
{
    if (!text)
        return checkpoint_foreign(v, "another format", err);
    int rc = config_read(&v->cfg, v->path, text, strlen(text), v->argc, v->argv, err);
    if (rc)
        return rc;
    v->has_cfg = 1;
    snprintf(v->language, sizeof v->language, "%s", v->cfg.language);
    if (!v->argc)
        return 0;
    Config was;
    rc = config_read(&was, v->path, text, strlen(text), 0, NULL, err);
    if (rc)
        return rc;
    snprintf(v->language, sizeof v->language, "%s", was.language);
    rc = checkpoint_same(v->path, &was, &v->cfg, err);
    config_close(&was);
    return rc;
}

/* --- network --- */

static char *write_network(const CheckpointSource *s)
{
    return strdup(s->cfg->network == NETWORK_VOCODER ? "vocoder" : "voice");
}

/* --- mel --- */

static char *write_mel(const CheckpointSource *s)
{
    char hash[33];
    hash_text(hash, config_mel_hash(s->cfg));
    return strdup(hash);
}

/* Older files have none, but all settings that it is made from. */
static int read_mel(Checkpoint *v, const char *text, Err *err)
{
    hash_text(v->mel, config_mel_hash(&v->cfg));
    if (text)
        snprintf(v->mel, sizeof v->mel, "%s", text);
    return 0;
}

/* --- symbols --- */

/* By code point, so that any change of the table is seen. */
static char *write_symbols(const CheckpointSource *s)
{
    json_t *all = json_array();
    int failed = 0;
    for (int i = 0; i < tokens_count(); i++)
        failed |= json_array_append_new(all, json_integer(tokens_code_point(i)));
    return dump(json_pack("{s:i, s:o}", "version", TOKENS_VERSION, "code_points", all), failed, 0);
}

/* The symbols the network was trained with have to be those of this program. */
static int read_symbols(Checkpoint *v, const char *text, Err *err)
{
    json_t *o = load(text), *points = json_object_get(o, "code_points");
    int same = (int)json_array_size(points) == tokens_count();
    for (int i = 0; same && i < tokens_count(); i++)
        same = json_integer_value(json_array_get(points, (size_t)i)) == (json_int_t)tokens_code_point(i);
    int version = (int)json_integer_value(json_object_get(o, "version"));
    json_decref(o);
    if (same)
        return 0;
    err_set(err, ERR_FORMAT,
            "%s was trained with version %d of the symbol table, but this program has version %d", v->path,
            version, TOKENS_VERSION);
    return err_hint(err, "use the program that wrote it, or train again");
}

/* --- seen --- */

/* A vector that no training has touched is noise: who begins with these weights must know which are. */
static char *write_seen(const CheckpointSource *s)
{
    uint8_t *seen = mem_calloc((size_t)tokens_count(), 1);
    json_t *all = json_array();
    int failed = !seen;
    if (seen && s->begun && s->cfg->network == NETWORK_VOICE)
        symbols_seen(seen, s->begun);
    if (seen)
        symbols_mark(seen, s->corpus);
    for (int i = 0; i < tokens_count() && !failed; i++)
        if (seen[i])
            failed |= json_array_append_new(all, json_integer(i));
    free(seen);
    return dump(all, failed, JSON_COMPACT);
}

/* --- lexicon --- */

/* The pronunciations that its texts were read with. */
static char *write_lexicon(const CheckpointSource *s)
{
    return strdup(s->cfg->lexicon_text ? s->cfg->lexicon_text : "");
}

static int read_lexicon(Checkpoint *v, const char *text, Err *err)
{
    return text ? config_add_lexicon(&v->cfg, text, strlen(text), err) : 0;
}

/* --- base --- */

static char *write_base(const CheckpointSource *s)
{
    if (!s->begun)
        return strdup("");
    const char *own = checkpoint_text(s->begun, "base");
    return s->resumed ? strdup(own ? own : "") : base_file_entry(s->begun);
}

/* --- speakers --- */

static char *write_speakers(const CheckpointSource *s)
{
    json_t *all = json_array();
    int failed = 0;
    for (int i = 0; i < s->corpus->speaker_count; i++)
        failed |= json_array_append_new(all, text_value(s->corpus->speakers[i].p, s->corpus->speakers[i].n));
    return dump(all, failed, 0);
}

/* Their order gives them their numbers, which the clips refer to. */
static int read_speakers(Checkpoint *v, const char *text, Err *err)
{
    json_t *all = load(text);
    size_t n = json_array_size(all);
    int rc = json_is_array(all) ? 0 : checkpoint_foreign(v, "no list of speakers", err);
    if (!rc)
        v->speakers = mem_calloc(n + 1, sizeof *v->speakers);
    for (size_t i = 0; i < n && v->speakers; i++) {
        const char *name = json_string_value(json_array_get(all, i));
        v->speakers[i] = strdup(name ? name : "");
        if (!v->speakers[i])
            break;
        v->speaker_count++;
    }
    if (!rc && (size_t)v->speaker_count < n)
        rc = err_set(err, ERR_NOMEM, "no memory for the names of %zu speakers", n);
    json_decref(all);
    return rc;
}

/* --- languages --- */

static char *write_languages(const CheckpointSource *s)
{
    const Corpus *c = s->corpus;
    json_t *codes = json_array(), *scripts = json_array();
    int failed = 0;
    for (int i = 0; i < c->languages.count; i++)
        failed |= json_array_append_new(codes, json_string(c->languages.codes[i]));
    for (int i = 0; i < c->scripts->count; i++)
        failed |= json_array_append_new(scripts, json_string(script_short_name(c->scripts->scripts[i])));
    return dump(json_pack("{s:o, s:o}", "codes", codes, "scripts", scripts), failed, 0);
}

/* Their order is that of the network's vectors. Older files say only what lines without a language are in. */
static int read_languages(Checkpoint *v, const char *text, Err *err)
{
    json_t *o = load(text), *item;
    size_t i;
    const TensorView *vectors = checkpoint_tensor(v, "text.languages");
    json_array_foreach(json_object_get(o, "codes"), i, item)
    {
        const char *code = json_string_value(item);
        if (code && i < LANGUAGES_MOST)
            snprintf(v->languages.codes[v->languages.count++], LANGUAGE_MAX, "%s", code);
    }
    json_array_foreach(json_object_get(o, "scripts"), i, item)
    {
        if (json_is_string(item))
            script_add(&v->scripts, script_by_name(json_string_value(item)));
    }
    json_decref(o);
    v->knows_languages = v->languages.count > 0;
    if (!v->knows_languages)
        language_list_add(&v->languages, v->language);
    if (vectors)
        v->language_input = v->languages.count;
    return vectors && !v->knows_languages ? checkpoint_foreign(v, "no list of its languages", err) : 0;
}

/* --- pitch --- */

static char *write_pitch(const CheckpointSource *s)
{
    const MelStatistics *statistics = &s->corpus->statistics;
    return dump(
        json_pack("{s:f, s:f}", "mean", statistics->pitch_mean, "deviation", statistics->pitch_deviation), 0,
        EXACT);
}

/* Older files have none: it stays 0, which means that it is not known. */
static int read_pitch(Checkpoint *v, const char *text, Err *err)
{
    json_t *o = load(text);
    v->pitch_mean = json_number_value(json_object_get(o, "mean"));
    v->pitch_deviation = json_number_value(json_object_get(o, "deviation"));
    json_decref(o);
    return 0;
}

/* --- longest --- */

/* What is longer than anything learned from is spoken in pieces. */
static char *write_longest(const CheckpointSource *s)
{
    uint32_t text = 0, frames = 0;
    for (uint32_t i = 0; i < s->corpus->count; i++) {
        text = s->corpus->lengths[i].tokens > text ? s->corpus->lengths[i].tokens : text;
        frames = s->corpus->lengths[i].frames > frames ? s->corpus->lengths[i].frames : frames;
    }
    return dump(json_pack("{s:i, s:i}", "text", (int)text, "frames", (int)frames), 0, 0);
}

/* 0 in older files: then max_text_length limits a piece. */
static int read_longest(Checkpoint *v, const char *text, Err *err)
{
    json_t *o = load(text);
    v->longest_text = (int)json_integer_value(json_object_get(o, "text"));
    json_decref(o);
    return 0;
}

/* --- data --- */

static int64_t seconds_of(const Corpus *c, const Config *cfg)
{
    uint64_t frames = 0;
    for (uint32_t i = 0; i < c->count; i++)
        frames += c->lengths[i].frames;
    return (int64_t)(frames * (uint64_t)cfg->hop_length / (uint64_t)cfg->sample_rate);
}

void checkpoint_data(CheckpointData *d, const Corpus *train, const Corpus *validation)
{
    *d = (CheckpointData){.clips = train->count, .speakers = train->speaker_count};
    hash_text(d->hash, corpus_hash(train));
    if (!validation)
        return;
    d->validation_clips = validation->count;
    hash_text(d->validation_hash, corpus_hash(validation));
}

static char *write_data(const CheckpointSource *s)
{
    CheckpointData d;
    checkpoint_data(&d, s->corpus, s->validation);
    const json_int_t seconds = (json_int_t)seconds_of(s->corpus, s->cfg);
    return dump(json_pack("{s:I, s:I, s:i, s:s, s:I, s:s}", "clips", (json_int_t)d.clips, "seconds", seconds,
                          "speakers", d.speakers, "hash", d.hash, "validation_clips",
                          (json_int_t)d.validation_clips, "validation_hash", d.validation_hash),
                0, 0);
}

/* Older files have none. */
static int read_data(Checkpoint *v, const char *text, Err *err)
{
    json_t *o = load(text);
    const char *hash = json_string_value(json_object_get(o, "hash"));
    const char *validation = json_string_value(json_object_get(o, "validation_hash"));
    v->data = (CheckpointData){.clips = -1, .validation_clips = -1};
    if (hash && validation) {
        v->data.clips = json_integer_value(json_object_get(o, "clips"));
        v->data.seconds = json_get_count(o, "seconds", 0);
        v->data.validation_clips = json_integer_value(json_object_get(o, "validation_clips"));
        v->data.speakers = (int)json_integer_value(json_object_get(o, "speakers"));
        snprintf(v->data.hash, sizeof v->data.hash, "%s", hash);
        snprintf(v->data.validation_hash, sizeof v->data.validation_hash, "%s", validation);
    }
    json_decref(o);
    return 0;
}

/* --- known --- */

static char *write_known(const CheckpointSource *s) { return known_clips_write(s->corpus); }

/* --- step --- */

/* An exported voice has no state of a run, whose own number of steps would come after this one. */
static int read_step(Checkpoint *v, const char *text, Err *err)
{
    v->content.state.step = text ? strtoll(text, NULL, 10) : 0;
    return 0;
}

/* --- the table --- */

/* Read from top to bottom: the tensors' sizes are checked against the configuration. */
static const CheckpointEntry entries[] = {
    {"format", write_format, read_format,
     "`" CHECKPOINT_FORMAT "`. `" CHECKPOINT_FORMAT_1
     "` held the autoregressive network of earlier versions and is refused with a message"},
    {"config", write_config, read_config, "every setting of the run, as JSON (which the YAML loader reads)"},
    {"network", write_network, NULL, "`voice` or `vocoder`; files without it contain a voice"},
    {"mel", write_mel, read_mel,
     "hash of the settings of the mel (sample rate, transform, bands): a voice and a vocoder work together "
     "if it is the same"},
    {"symbols", write_symbols, read_symbols,
     "version and code points of the symbol table, in the order of the ids"},
    {"seen", write_seen, NULL,
     "ids of the symbols in the texts that it, or the voice that it started from, was trained on; all other "
     "symbols have the vectors of similar symbols, or random ones"},
    {"lexicon", write_lexicon, read_lexicon,
     "the lines of the lexicon that its texts were read with (`word<TAB>IPA`); empty if there was none"},
    {"base", write_base, NULL,
     "what the run started from (`--init-from`): `name`, `step`, and the `licence`, `source` and `note` of "
     "that file; empty if it started from scratch"},
    {"speakers", write_speakers, read_speakers, "names, in the order of their numbers"},
    {"languages", write_languages, read_languages,
     "`{\"codes\": [...], \"scripts\": [...]}`: languages of the texts, in the order of the rows of "
     "`text.languages`, and the scripts (ISO 15924) that they are written in; in files without it the voice "
     "speaks the `language` of its settings"},
    {"pitch", write_pitch, read_pitch, "mean and deviation of log F0"},
    {"longest", write_longest, read_longest,
     "`{\"text\": N, \"frames\": N}`: symbols of the longest text and frames of the longest clip it learns "
     "from; longer sentences are spoken in pieces, unless they have 64 symbols or fewer"},
    {"data", write_data, read_data,
     "which clips it learns from: `clips`, `seconds` of speech, `speakers` and `hash` (of ids, texts, "
     "recordings, speakers), and "
     "`validation_clips` and `validation_hash` of those held out"},
    {"known", write_known, NULL,
     "`{\"texts\": ..., \"recordings\": ...}`: the 2,048 smallest 32-bit hashes of each, in base64, by which "
     "a resumed run recognises another dataset; not in exported files"},
    {"step", NULL, read_step, "steps made"},
};

int checkpoint_entry_count(void) { return (int)(sizeof entries / sizeof *entries); }
const CheckpointEntry *checkpoint_entry(int i) { return &entries[i]; }
