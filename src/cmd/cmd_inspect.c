/* cmd_inspect.c - myxtts inspect: what is in a cache or a checkpoint. PATH is a cache folder, an index, or a
 * segment; a checkpoint, or a folder that holds some. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/json.h"
#include "cache/features.h"
#include "cache/half.h"
#include "cmd/cmd.h"
#include "cmd/line/format.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/show_checkpoint.h"
#include "text/phonemes/tokens.h"

static const char *const store_names[] = {TEXT_STORE, MEL_STORE, AUDIO_STORE, PREDICTED_STORE};
enum { STORES = sizeof store_names / sizeof *store_names };

typedef struct Target {
    char *dir, *names[STORES]; /* stores to look at */
    int count;
} Target;

/* "dir", "dir/mel.index", "dir/mel-0001.seg" -> the folder and the stores meant. */
static int find_target(Target *t, const char *path, Err *err)
{
    struct stat st;
    if (stat(path, &st))
        return err_set_errno(err, ERR_MISSING, "cannot look at %s", path);
    /* A folder: the stores that are there. */
    if (S_ISDIR(st.st_mode)) {
        t->dir = strdup(path);
        for (int i = 0; t->dir && i < STORES; i++) {
            char *index = store_index_path(path, store_names[i]);
            if (index && file_exists(index))
                t->names[t->count++] = strdup(store_names[i]);
            free(index);
        }
        if (t->dir && t->count == 0) {
            err_set(err, ERR_MISSING, "%s holds neither a cache nor a checkpoint", path);
            return err_hint(
                err,
                "the cache of a dataset is in its folder myxtts-cache, or in the --cache-dir that was given");
        }
    } else {
        const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
        size_t n = strcspn(file, ".-");
        t->dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
        t->names[0] = strndup(file, n);
        t->count = 1;
        const char *ext = strrchr(file, '.');
        if (t->names[0] && (!ext || (strcmp(ext, ".index") != 0 && strcmp(ext, ".seg") != 0)))
            return err_set(
                err, ERR_FORMAT,
                "%s is neither part of a cache (an .index or a .seg file) nor a checkpoint (.safetensors)",
                path);
    }
    if (!t->dir || !t->names[0])
        return err_set(err, ERR_NOMEM, "no memory for a path");
    return 0;
}

/* 32 hexadecimal digits, as in file names of other tools. */
static void hash_text(char out[40], Hash128 h)
{
    snprintf(out, 40, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
}

/* What the mel store knows about all its clips. */
static json_t *statistics_json(const Store *s)
{
    MelStatistics head;
    const double *mean, *deviation;
    if (mel_statistics(&head, &mean, &deviation, s))
        return json_null();
    json_t *means = json_array(), *deviations = json_array();
    for (uint32_t b = 0; b < head.bands; b++) {
        json_array_append_new(means, json_from_double(mean[b]));
        json_array_append_new(deviations, json_from_double(deviation[b]));
    }
    return json_pack("{s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "clips",
                     (json_int_t)head.clips, "frames", (json_int_t)head.frames, "bands", (int)head.bands,
                     "sample_rate", (int)head.sample_rate, "n_fft", (int)head.n_fft, "win_length",
                     (int)head.win_length, "hop_length", (int)head.hop_length, "mel_fmin",
                     json_from_double(head.fmin), "mel_fmax", json_from_double(head.fmax), "pitch_mean",
                     json_from_double(head.pitch_mean), "pitch_deviation",
                     json_from_double(head.pitch_deviation), "mean", means, "deviation", deviations);
}

/* The symbol table of a text store, and what was not in it. */
static json_t *symbols_json(const Store *s)
{
    TextSymbols head;
    const uint32_t *points, *pairs;
    if (text_symbols(&head, &points, &pairs, s))
        return json_null();
    json_t *unknown = json_array();
    for (uint32_t i = 0; i < head.unknown_count; i++) {
        char point[16];
        snprintf(point, sizeof point, "U+%04X", pairs[2 * i]);
        json_array_append_new(
            unknown, json_pack("{s:s, s:I}", "code_point", point, "count", (json_int_t)pairs[2 * i + 1]));
    }
    return json_pack("{s:i, s:i, s:o}", "version", (int)head.version, "count", (int)head.count, "unknown",
                     unknown);
}

/* What holds for every clip of an audio store. */
static json_t *audio_json(const Store *s)
{
    AudioInformation head;
    if (s->blob_size != sizeof head)
        return json_null();
    memcpy(&head, s->blob, sizeof head);
    return json_pack("{s:i}", "sample_rate", (int)head.sample_rate);
}

/* How each kind of store is shown: its unit, the name of what is in its blob, the functions for that and for
 * one record. */
static json_t *text_entry_json(const StoreEntry *e);
static json_t *mel_entry_json(const StoreEntry *e);
static json_t *audio_entry_json(const StoreEntry *e);
typedef struct StoreKind {
    const char *items, *about;
    json_t *(*about_json)(const Store *s);
    json_t *(*entry_json)(const StoreEntry *e);
} StoreKind;

/* Whose mels they are: the checkpoint that made them. */
static json_t *voice_json(const Store *s) { return json_from_bytes((const char *)s->blob, s->blob_size); }

static const StoreKind *kind_of(const Store *s)
{
    static const StoreKind kinds[STORES] = {{"tokens", "symbols", symbols_json, text_entry_json},
                                            {"frames", "statistics", statistics_json, mel_entry_json},
                                            {"samples", "information", audio_json, audio_entry_json},
                                            {"frames", "voice", voice_json, mel_entry_json}};
    for (int i = 1; i < STORES; i++)
        if (strcmp(s->name, store_names[i]) == 0)
            return &kinds[i];
    return &kinds[0];
}

/* One store: counts, size, settings. */
static json_t *store_json(const Store *s)
{
    uint64_t items = 0, rejected = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        StoreEntry e;
        store_entry(s, i, &e);
        items += e.status == 0 ? e.items : 0;
        rejected += e.status != 0;
    }
    const StoreKind *kind = kind_of(s);
    char settings[40];
    hash_text(settings, s->settings);
    json_t *o =
        json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:i, s:s}", "store", json_from_text(s->name), "folder",
                  json_from_text(s->dir), "utterances", (json_int_t)(s->count - rejected), "rejected",
                  (json_int_t)rejected, kind->items, (json_int_t)items, "bytes", (json_int_t)store_bytes(s),
                  "segments", (int)s->segment_count, "settings", settings);
    json_object_set_new(o, kind->about, kind->about_json(s));
    return o;
}

/* One utterance: language, cleaned text, phonemes, tokens. */
static json_t *text_entry_json(const StoreEntry *e)
{
    TextView v;
    if (text_view(&v, e))
        return json_pack("{s:s}", "error", "the record is damaged");
    json_t *tokens = json_array(), *unknown = json_array();
    for (uint32_t i = 0; i < v.token_count; i++)
        json_array_append_new(tokens, json_integer(v.tokens[i]));
    for (uint32_t i = 0; i < v.unknown_count; i++) {
        char point[16];
        snprintf(point, sizeof point, "U+%04X", v.unknown[i]);
        json_array_append_new(unknown, json_string(point));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "language", json_from_text(v.language), "cleaned",
                     json_from_bytes(v.cleaned, v.cleaned_size), "phonemes",
                     json_from_bytes(v.phonemes, v.phonemes_size), "tokens", tokens, "unknown", unknown);
}

/* One clip in numbers: the range says more than a thousand values. */
static json_t *mel_entry_json(const StoreEntry *e)
{
    MelView v;
    if (mel_view(&v, e))
        return json_pack("{s:s}", "error", "the record is damaged");
    double low = HUGE_VAL, high = -HUGE_VAL, sum = 0;
    for (uint64_t i = 0; i < (uint64_t)v.frames * v.bands; i++) {
        float x;
        if (v.storage == STORE_FLOAT16)
            half_to_float(&x, (const uint16_t *)v.data + i, 1);
        else
            x = ((const float *)v.data)[i];
        low = x < low ? x : low;
        high = x > high ? x : high;
        sum += x;
    }
    double n = (double)v.frames * v.bands, pitch = v.frames ? exp(v.pitch_sums[0] / v.frames) : 0;
    return json_pack("{s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "frames", (json_int_t)v.frames, "bands",
                     (json_int_t)v.bands, "storage", v.storage == STORE_FLOAT16 ? "float16" : "float32",
                     "source_seconds", json_from_double(v.source_seconds), "min",
                     json_from_double(n > 0 ? low : 0), "max", json_from_double(n > 0 ? high : 0), "mean",
                     json_from_double(n > 0 ? sum / n : 0), "pitch_hz", json_from_double(pitch));
}

static json_t *audio_entry_json(const StoreEntry *e)
{
    AudioView v;
    if (audio_view(&v, e))
        return json_pack("{s:s}", "error", "the record is damaged");
    double peak = 0, squares = 0;
    for (uint32_t i = 0; i < v.count; i++) {
        float x;
        audio_samples(&x, v.data + i, v.scale, 1);
        peak = fabsf(x) > peak ? fabsf(x) : peak;
        squares += (double)x * x;
    }
    return json_pack("{s:I, s:o, s:o, s:o}", "samples", (json_int_t)v.count, "source_seconds",
                     json_from_double(v.source_seconds), "peak", json_from_double(peak), "rms",
                     json_from_double(sqrt(squares / v.count)));
}

/* A rejection has its reason as payload. */
static json_t *entry_json(const Store *s, uint64_t i)
{
    StoreEntry e;
    char key[40];
    store_entry(s, i, &e);
    hash_text(key, e.key);
    json_t *o = e.status != 0 ? json_pack("{s:s, s:o}", "rejected", reject_code((RejectReason)e.status),
                                          "detail", json_from_bytes((const char *)e.payload, e.payload_size))
                              : kind_of(s)->entry_json(&e);
    json_object_set_new(o, "id", json_from_bytes(e.id, e.id_size));
    json_object_set_new(o, "key", json_string(key));
    json_object_set_new(o, "segment", json_integer(e.segment));
    json_object_set_new(o, "offset", json_integer((json_int_t)e.offset));
    json_object_set_new(o, "bytes", json_integer((json_int_t)e.record_size));
    return o;
}

/* The JSON object as lines for people: scalars as they are, long lists by their length. */
static void print_object(const json_t *o, int indent)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        printf("%*s%-14s ", indent, "", key);
        if (json_is_object(v)) {
            putchar('\n');
            print_object(v, indent + 2);
        } else if (json_is_string(v))
            printf("%s\n", json_string_value(v));
        else if (json_is_integer(v) && strcmp(key, "bytes") == 0) {
            char text[32];
            format_bytes(text, sizeof text, (uint64_t)json_integer_value(v));
            printf("%s\n", text);
        } else if (json_is_integer(v))
            printf("%lld\n", (long long)json_integer_value(v));
        else if (json_is_real(v))
            printf("%.4g\n", json_real_value(v));
        else if (json_is_array(v)) {
            char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(4));
            printf("(%zu) %.100s%s\n", json_array_size(v), text ? text : "",
                   text && strlen(text) > 100 ? "..." : "");
            free(text);
        } else
            printf("-\n");
    }
}

/* Adds the store to `all` under its name. */
static int inspect_store(json_t *all, const char *dir, const char *name, const char *id, Err *err)
{
    Store s;
    int rc = store_open(&s, dir, name, err);
    if (rc)
        return rc;
    json_t *o = store_json(&s);
    if (id) {
        int64_t at = store_find(&s, id, (uint32_t)strlen(id));
        rc = json_object_set_new(o, "utterance", at >= 0 ? entry_json(&s, (uint64_t)at) : json_null());
    }
    rc = json_object_set_new(all, name, o) || rc
             ? err_set(err, ERR_NOMEM, "no memory to show the %s cache", name)
             : 0;
    store_close(&s);
    return rc;
}

/* As they were typed. */
typedef struct Given {
    const char *id;
} Given;

static const CmdOption options[] = {
    {"utterance", "ID", TEXT_AT(Given, id), 0,
     "one utterance: its phonemes and tokens, and figures about its mel and samples"}};
const CmdUsage inspect_usage = {"myxtts inspect PATH [--utterance ID] [--json]\n\nShows what is in a cache "
                                "or a checkpoint. PATH is the folder, or one of the files in it.",
                                options, OPTION_COUNT(options)};

/* Exit code 1: the utterance is not in the cache. */
int cmd_inspect(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    Target target = {0};
    json_t *all = json_object();
    int code = 0, found = 0;
    int rc = cmd_line_parse(&line, &inspect_usage, &given, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 1, 1, "the path of a cache or a checkpoint", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if (!given.id && show_checkpoint_is(line.positional[0])) {
        rc = show_checkpoint(line.positional[0], &line, 1, log, &err);
        goto done;
    }
    rc = find_target(&target, line.positional[0], &err);
    for (int i = 0; i < target.count && !rc; i++) {
        rc = inspect_store(all, target.dir, target.names[i], given.id, &err);
        found |= !rc && json_is_object(json_object_get(json_object_get(all, target.names[i]), "utterance"));
    }
    if (rc)
        goto done;
    if (line.json)
        rc = output_print(json_incref(all), 9, &err);
    else
        print_object(all, 0);
    if (given.id && !found) {
        log_error(log, "there is no utterance '%s' in %s", given.id, line.positional[0]);
        code = 1;
    }
done:
    if (rc)
        code = cmd_fail(log, &err);
    json_decref(all);
    free(target.dir);
    for (int i = 0; i < STORES; i++)
        free(target.names[i]);
    cmd_line_close(&line);
    return code;
}
