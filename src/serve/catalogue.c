/* catalogue.c - see catalogue.h. */
#include "serve/catalogue.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/utf8.h"
#include "voice/vocoder_file.h"

/* OpenAI's clients ask for these names, and mean any voice. */
static const char *const usual_models[] = {"tts-1", "tts-1-hd", "gpt-4o-mini-tts", NULL};
static const char *const usual_voices[] = {"alloy", "ash",  "ballad", "cedar", "coral",   "echo",  "fable",
                                           "marin", "nova", "onyx",   "sage",  "shimmer", "verse", NULL};

#define UNNAMED "default" /* what a speaker without a name is called */

static int is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return 1;
    return 0;
}

/* --- names --- */

static int is_taken(const Catalogue *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0)
            return 1;
    return 0;
}

/* The last part of the path without .safetensors; a number behind it where it is taken. */
static char *name_of(const Catalogue *c, const char *path)
{
    static const char ending[] = ".safetensors";
    char whole[PATH_MAX], name[PATH_MAX + 16];
    snprintf(whole, sizeof whole, "%s", path);
    if (!realpath(path, whole))
        snprintf(whole, sizeof whole, "%s", path);
    const char *slash = strrchr(whole, '/'), *last = slash && slash[1] ? slash + 1 : whole;
    size_t n = strlen(last), k = sizeof ending - 1;
    if (n > k && strcmp(last + n - k, ending) == 0)
        n -= k;
    snprintf(name, sizeof name, "%.*s", (int)n, last);
    size_t valid = utf8_valid(name, strlen(name));
    name[valid] = 0;
    const size_t base = strlen(name);
    for (int again = 2; is_taken(c, name) || !*name; again++)
        snprintf(name + base, sizeof name - base, "%s%d", base ? "-" : "voice-", again);
    return strdup(name);
}

int catalogue_open(Catalogue *c, Studio *s, const StudioVoice *voices, Err *err)
{
    const int count = studio_voice_count(s);
    *c = (Catalogue){.studio = s, .opened = (long long)time(NULL)};
    c->names = calloc((size_t)count + 1, sizeof *c->names);
    for (int i = 0; i < count && c->names; i++) {
        c->names[i] = name_of(c, voices[i].checkpoint);
        if (!c->names[i])
            break;
        c->count++;
    }
    if (c->count == count && c->names)
        return 0;
    catalogue_close(c);
    return err_set(err, ERR_NOMEM, "no memory for the names of %d voices", count);
}

void catalogue_close(Catalogue *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->names[i]);
    free(c->names);
    *c = (Catalogue){0};
}

int catalogue_find(const Catalogue *c, const char *model)
{
    for (int i = 0; i < c->count && model; i++)
        if (strcmp(c->names[i], model) == 0)
            return i;
    return c->count && (!model || is_one_of(model, usual_models)) ? 0 : -1;
}

/* Between studio_look and studio_looked. */
static const Checkpoint *file_of(const Catalogue *c, int voice)
{
    return voice_checkpoint(studio_voice(c->studio, voice));
}

static int has_speaker(const Catalogue *c, int voice, const char *name)
{
    int found = 0;
    studio_look(c->studio);
    const Checkpoint *f = file_of(c, voice);
    for (int i = 0; i < f->speaker_count && !found; i++)
        found = strcmp(f->speakers[i], name) == 0;
    studio_looked(c->studio);
    return found;
}

/* The voice before the slash of a name, or that has all of it; -1: none. */
static int find_named(const Catalogue *c, const char *name, size_t n)
{
    for (int i = 0; i < c->count; i++)
        if (strlen(c->names[i]) == n && memcmp(c->names[i], name, n) == 0)
            return i;
    return -1;
}

int catalogue_choose(const Catalogue *c, const char *model, const char *name, int *voice,
                     const char **speaker)
{
    *speaker = NULL;
    *voice = catalogue_find(c, model);
    if (*voice < 0)
        return CATALOGUE_NO_MODEL;
    if (!name || !*name)
        return 0;
    if (has_speaker(c, *voice, name)) {
        *speaker = name;
        return 0;
    }
    const char *slash = strchr(name, '/'), *rest = slash ? slash + 1 : NULL;
    int named = find_named(c, name, slash ? (size_t)(slash - name) : strlen(name));
    if (named >= 0 && rest && strcmp(rest, UNNAMED) != 0) {
        *speaker = rest;
        if (!has_speaker(c, named, rest))
            named = -1;
    }
    if (named >= 0) {
        *voice = named;
        return 0;
    }
    *speaker = NULL;
    return is_one_of(name, usual_voices) || strcmp(name, UNNAMED) == 0 ? 0 : CATALOGUE_NO_SPEAKER;
}

/* --- lists --- */

static void list(char *out, size_t cap, char *const *names, int count)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < count; i++) {
        const char *name = *names[i] ? names[i] : UNNAMED;
        if (used + strlen(name) + 8 > cap) {
            snprintf(out + used, cap - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i ? ", " : "", name);
    }
}

void catalogue_voices_text(const Catalogue *c, char *out, size_t cap) { list(out, cap, c->names, c->count); }

void catalogue_speakers_text(const Catalogue *c, int voice, char *out, size_t cap)
{
    studio_look(c->studio);
    const Checkpoint *f = file_of(c, voice);
    list(out, cap, f->speakers, f->speaker_count);
    studio_looked(c->studio);
}

json_t *catalogue_models(const Catalogue *c)
{
    json_t *all = json_array();
    for (int i = 0; i < c->count; i++)
        json_array_append_new(all,
                              json_pack("{s:o, s:s, s:I, s:s}", "id", json_from_text(c->names[i]), "object",
                                        "model", "created", (json_int_t)c->opened, "owned_by", "myxtts"));
    return json_pack("{s:s, s:o}", "object", "list", "data", all);
}

static json_t *texts(char *const *items, int count)
{
    json_t *all = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(all, json_from_text(*items[i] ? items[i] : UNNAMED));
    return all;
}

/* Clients do not get paths of this machine. */
static json_t *describe(const Catalogue *c, int voice)
{
    const Checkpoint *f = file_of(c, voice), *vocoder = voice_vocoder(studio_voice(c->studio, voice));
    const Config *cfg = &f->cfg;
    json_t *languages = json_array();
    for (int i = 0; i < f->languages.count; i++)
        json_array_append_new(languages, json_from_text(f->languages.codes[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:i, s:s, s:o, s:I, s:b}", "id", json_from_text(c->names[voice]),
                     "object", "voice", "speakers", texts(f->speakers, f->speaker_count), "languages",
                     languages, "sample_rate", cfg->sample_rate, "vocoder",
                     vocoder ? "vocoder" : VOCODER_NONE, "vocoder_step",
                     vocoder ? json_integer(vocoder->content.state.step) : json_null(), "step",
                     (json_int_t)f->content.state.step, "takes_reference", cfg->use_voice_conditioning);
}

json_t *catalogue_voices(const Catalogue *c)
{
    json_t *all = json_array();
    for (int i = 0; i < c->count; i++) {
        studio_look(c->studio);
        json_array_append_new(all, describe(c, i));
        studio_looked(c->studio);
    }
    return json_pack("{s:s, s:o}", "object", "list", "data", all);
}

static json_t *choice(const char *voice, const char *speaker)
{
    char name[1024];
    snprintf(name, sizeof name, "%s%s%s", voice, speaker ? "/" : "", speaker ? speaker : "");
    return json_pack("{s:o, s:o}", "id", json_from_text(name), "name", json_from_text(name));
}

json_t *catalogue_choices(const Catalogue *c)
{
    json_t *all = json_array();
    for (int i = 0; i < c->count; i++) {
        studio_look(c->studio);
        const Checkpoint *f = file_of(c, i);
        json_array_append_new(all, choice(c->names[i], NULL));
        for (int k = 0; k < f->speaker_count && f->speaker_count > 1; k++)
            json_array_append_new(all, choice(c->names[i], *f->speakers[k] ? f->speakers[k] : UNNAMED));
        studio_looked(c->studio);
    }
    return json_pack("{s:o}", "voices", all);
}
