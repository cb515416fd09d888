/* show_checkpoint.c - see show_checkpoint.h. One JSON object is made and, without --json, printed as lines.
 */
#include "cmd/work/show_checkpoint.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cmd/line/format.h"
#include "cmd/line/output.h"
#include "voice/best_note.h"
#include "voice/checkpoint_fields.h"
#include "voice/export.h"

#define ENDING ".safetensors"
enum { MOST_TENSORS = 400 }; /* lines in the terminal; --json has all */

static int has_ending(const char *name)
{
    size_t n = strlen(name), ending = strlen(ENDING);
    return n > ending && strcmp(name + n - ending, ENDING) == 0;
}

int show_checkpoint_is(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return has_ending(path); /* opening it says what is wrong */
    if (!S_ISDIR(st.st_mode))
        return has_ending(path);
    DIR *dir = opendir(path);
    int found = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !found; e = readdir(dir))
        found = has_ending(e->d_name);
    if (dir)
        closedir(dir);
    return found;
}

/* Each speaker with the clips that stand for the voice; one without a clip cannot be asked for. */
static json_t *speakers_json(const Checkpoint *c)
{
    json_t *all = json_array();
    const VoiceClips *clips = &c->content.clips;
    for (int i = 0; i < c->speaker_count; i++) {
        int n = 0;
        for (int k = 0; k < clips->count; k++)
            n += clips->speaker[k] == i;
        json_array_append_new(
            all, json_pack("{s:o, s:i}", "name", json_from_text(c->speakers[i]), "voice_clips", n));
    }
    return all;
}

/* Settings that differ from the defaults, as texts. */
static json_t *settings_json(const Config *cfg, Err *err)
{
    Config defaults;
    json_t *all = json_object();
    if (config_defaults(&defaults, err)) {
        json_decref(all);
        return NULL;
    }
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row, usual;
        if (config_row(cfg, i, &row) || config_row(&defaults, i, &usual))
            break;
        if (strcmp(row.value, usual.value) != 0)
            json_object_set_new(all, row.key, json_from_text(row.value));
    }
    config_close(&defaults);
    return all;
}

static json_t *tensors_json(const SafeTensors *f)
{
    json_t *all = json_array();
    for (int i = 0; i < f->count; i++) {
        const TensorView *t = &f->tensors[i];
        json_t *shape = json_array();
        for (int d = 0; d < t->dims; d++)
            json_array_append_new(shape, json_integer((json_int_t)t->shape[d]));
        json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:I}", "name", json_from_text(t->name), "type",
                                             json_from_text(t->dtype), "shape", shape, "bytes",
                                             (json_int_t)t->bytes));
    }
    return all;
}

/* A tensor of the table of fields, or a moment of the optimiser. */
static int is_beside_weights(const char *name)
{
    for (int g = 0; g < CHECKPOINT_GROUPS; g++) {
        const char *prefix = checkpoint_group((CheckpointGroup)g)->prefix;
        if (*prefix && strncmp(name, prefix, strlen(prefix)) == 0)
            return 1;
    }
    for (int i = 0; i < checkpoint_field_count(); i++)
        if (strcmp(name, checkpoint_field(i)->tensor) == 0)
            return 1;
    return 0;
}

/* Parameters of the vocoder inside an exported voice, or of the file's own network. *rounded: they have two
 * bytes each. */
static int64_t count_parameters(const Checkpoint *c, int of_inside, int *rounded)
{
    const size_t prefix = strlen(CHECKPOINT_VOCODER);
    const int is_voice = c->cfg.network == NETWORK_VOICE;
    int64_t count = 0;
    *rounded = 0;
    for (int i = 0; i < c->file.count; i++) {
        const TensorView *t = &c->file.tensors[i];
        const int inside = is_voice && strncmp(t->name, CHECKPOINT_VOCODER, prefix) == 0;
        if (inside != of_inside || is_beside_weights(t->name + (inside ? prefix : 0)) ||
            strncmp(t->name, "critic.", 7) == 0)
            continue; /* critics are a part of the training */
        int64_t numbers = 1;
        for (int d = 0; d < t->dims; d++)
            numbers *= t->shape[d];
        count += numbers;
        *rounded |= strcmp(t->dtype, "BF16") == 0;
    }
    return count;
}

/* What an exported file has besides. */
static void add_export(json_t *o, const Checkpoint *c)
{
    const char *licence = checkpoint_text(c, EXPORT_LICENCE), *note = checkpoint_text(c, EXPORT_NOTE),
               *source = checkpoint_text(c, EXPORT_SOURCE),
               *step = safetensors_meta(&c->file, CHECKPOINT_VOCODER "step");
    int rounded;
    const json_int_t inside = (json_int_t)count_parameters(c, 1, &rounded);
    json_object_set_new(o, "licence", licence ? json_from_text(licence) : json_null());
    json_object_set_new(o, "source", source ? json_from_text(source) : json_null());
    json_object_set_new(o, "note", note ? json_from_text(note) : json_null());
    const char *base = checkpoint_text(c, "base");
    json_t *begun = base && *base ? json_loads(base, 0, NULL) : NULL;
    json_object_set_new(o, "base", begun ? begun : json_null());
    json_object_set_new(o, "vocoder",
                        inside ? json_pack("{s:I, s:I}", "parameters", inside, "step",
                                           (json_int_t)(step ? strtoll(step, NULL, 10) : 0))
                               : json_null());
}

/* Why this one, and which is the best of its run. */
static void add_choice(json_t *o, const Checkpoint *c)
{
    const int has_ear = c->cfg.network == NETWORK_VOICE;
    Judged best;
    char why[400];
    checkpoint_why(c, &best, why, sizeof why);
    json_object_set_new(o, "chosen", json_string(why));
    if (!best.step)
        return;
    judged_json(o, &best, has_ear);
    if (has_ear)
        ear_json(o, &best.ear);
}

static json_t *languages_json(const Checkpoint *c)
{
    json_t *codes = json_array();
    for (int i = 0; i < c->languages.count; i++)
        json_array_append_new(codes, json_from_text(c->languages.codes[i]));
    return codes;
}

static json_t *checkpoint_json(const Checkpoint *c, int everything, Err *err)
{
    const TrainState *s = &c->content.state;
    const Config *cfg = &c->cfg;
    int rounded;
    const json_int_t parameters = (json_int_t)count_parameters(c, 0, &rounded);
    json_t *o = json_pack(
        "{s:o, s:o, s:s, s:I, s:I, s:b, s:I, s:s, s:s, s:i, s:i, s:o, s:b, s:o}", "checkpoint",
        json_from_text(c->path), "format", json_from_text(safetensors_meta(&c->file, "format")), "network",
        cfg->network == NETWORK_VOCODER ? "vocoder" : "voice", "bytes", (json_int_t)c->file.map.size, "step",
        (json_int_t)s->step, "can_resume", c->can_resume, "parameters", parameters, "precision",
        rounded ? "bf16" : "float32", "mel", c->mel, "sample_rate", cfg->sample_rate, "n_mels", cfg->n_mels,
        "language", json_from_text(cfg->language), "multispeaker", cfg->enable_multispeaker, "speakers",
        speakers_json(c));
    if (o && cfg->network == NETWORK_VOICE)
        json_object_set_new(o, "languages", languages_json(c));
    if (o)
        add_export(o, c);
    if (o && c->can_resume)
        add_choice(o, c);
    if (o && everything) {
        json_object_set_new(o, "settings", settings_json(cfg, err));
        json_object_set_new(o, "tensors", tensors_json(&c->file));
    }
    return o;
}

static json_int_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}
static const char *text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static void print_languages(const json_t *languages)
{
    size_t i;
    const json_t *code;
    if (!json_array_size(languages))
        return;
    printf("  %-10s", "languages");
    json_array_foreach(languages, i, code) printf(" %s", json_string_value(code));
    printf("\n");
}

static void print_speakers(const json_t *speakers)
{
    size_t i;
    const json_t *s;
    json_array_foreach(speakers, i, s)
    {
        const char *name = text(s, "name");
        json_int_t clips = integer(s, "voice_clips");
        printf("  %-10s %-24s", i ? "" : "speakers", name && *name ? name : "(one, without a name)");
        if (clips)
            printf(" %lld %s of the voice\n", (long long)clips, clips == 1 ? "clip" : "clips");
        else
            printf(" no reference clip: --speaker cannot choose this speaker\n");
    }
}

static void print_tensors(const json_t *tensors)
{
    size_t i;
    const json_t *t;
    printf("\ntensors\n");
    json_array_foreach(tensors, i, t)
    {
        char shape[80] = "";
        size_t d, used = 0;
        const json_t *n;
        if (i == MOST_TENSORS)
            break;
        json_array_foreach(json_object_get(t, "shape"), d, n) used += (size_t)snprintf(
            shape + used, sizeof shape - used, "%s%lld", d ? " x " : "", (long long)json_integer_value(n));
        printf("  %-44s %-4s %s\n", text(t, "name"), text(t, "type"), used ? shape : "1");
    }
    if (i < json_array_size(tensors))
        printf("  ... and %zu more (--json lists all)\n", json_array_size(tensors) - i);
}

static void print_text(const json_t *o)
{
    char bytes[32];
    const char *key;
    json_t *v;
    format_bytes(bytes, sizeof bytes, (uint64_t)integer(o, "bytes"));
    printf("%s: a %s after %lld %s, %.2f million parameters, %s\n", text(o, "checkpoint"), text(o, "network"),
           (long long)integer(o, "step"), integer(o, "step") == 1 ? "step" : "steps",
           (double)integer(o, "parameters") / 1e6, bytes);
    if (text(o, "chosen"))
        printf("  %-10s %s\n", "chosen", text(o, "chosen"));
    if (text(o, "best_why") && strcmp(text(o, "best_why"), text(o, "chosen")) != 0)
        printf("  %-10s %s\n", "best", text(o, "best_why"));
    printf("  %-10s %s\n", "training",
           json_is_true(json_object_get(o, "can_resume")) ? "training can resume from it"
                                                          : "weights only: training cannot resume from it");
    const json_t *vocoder = json_object_get(o, "vocoder");
    if (json_is_object(vocoder))
        printf("  %-10s inside, after %lld steps, %.2f million parameters\n", "vocoder",
               (long long)integer(vocoder, "step"), (double)integer(vocoder, "parameters") / 1e6);
    if (text(o, "licence"))
        printf("  %-10s %s\n", "licence", text(o, "licence"));
    if (text(o, "source"))
        printf("  %-10s %s\n", "source", text(o, "source"));
    if (text(o, "note"))
        printf("  %-10s %s\n", "note", text(o, "note"));
    const json_t *base = json_object_get(o, "base");
    if (json_is_object(base))
        printf("  %-10s %s%s%s\n", "base", text(base, "name"), text(base, "licence") ? ": " : "",
               text(base, "licence") ? text(base, "licence") : "");
    printf("  %-10s %lld Hz, %lld bands\n", "sound", (long long)integer(o, "sample_rate"),
           (long long)integer(o, "n_mels"));
    print_languages(json_object_get(o, "languages"));
    if (strcmp(text(o, "network"), "voice") == 0)
        print_speakers(json_object_get(o, "speakers"));
    if (!json_object_get(o, "settings"))
        return;
    printf("\nsettings that differ from the defaults\n");
    json_object_foreach(json_object_get(o, "settings"), key, v)
        printf("  %-28s %s\n", key, json_string_value(v));
    print_tensors(json_object_get(o, "tensors"));
}

int show_checkpoint(const char *path, const CmdLine *line, int everything, Log *log, Err *err)
{
    Checkpoint c = {0};
    int rc = checkpoint_open(&c, path, path, 0, NULL, log, err);
    if (rc)
        return rc;
    json_t *o = checkpoint_json(&c, everything, err);
    checkpoint_close(&c);
    if (line->json)
        return output_print(o, 9, err);
    if (!o)
        return err_set(err, ERR_NOMEM, "no memory to show %s", path);
    print_text(o);
    json_decref(o);
    return 0;
}
