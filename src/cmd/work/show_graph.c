/* show_graph.c - see show_graph.h. */
#include "cmd/work/show_graph.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/line/format.h"
#include "cmd/line/output.h"
#include "onnx/onnx_entries.h"
#include "onnx/onnx_export.h"
#include "voice/export.h"

#define ENDING ".onnx"
enum { LONGEST = 200 }; /* characters of an entry in the terminal; --json has all */

int show_graph_is(const char *path)
{
    const size_t n = strlen(path), ending = strlen(ENDING);
    return n > ending && strcmp(path + n - ending, ENDING) == 0;
}

static const char *text_of(const json_t *entries, const char *key)
{
    const char *text = json_string_value(json_object_get(entries, key));
    return text && *text ? text : NULL;
}

static void print_entry(const char *title, const char *value)
{
    char shown[LONGEST];
    if (!value)
        return;
    utf8_show(shown, sizeof shown, value);
    printf("  %-10s %s\n", title, shown);
}

/* An entry that is a JSON array of names. */
static void print_names(const char *title, const char *value, const char *nameless)
{
    json_t *names = value ? json_loads(value, 0, NULL) : NULL, *name;
    char line[LONGEST] = "";
    size_t i, used = 0;
    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        if (used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i ? ", " : "",
                                     text && *text ? text : nameless);
    }
    print_entry(title, *line ? line : NULL);
    json_decref(names);
}

/* Whose voice this one began with; the entry is a JSON object. */
static void print_base(const char *value)
{
    json_t *base = value ? json_loads(value, 0, NULL) : NULL;
    const char *name = text_of(base, "name"), *licence = text_of(base, "licence");
    char line[LONGEST];
    snprintf(line, sizeof line, "%s%s%s", name ? name : "", licence ? ": " : "", licence ? licence : "");
    print_entry("base", name ? line : NULL);
    json_decref(base);
}

static void print_own(const char *path, const char *size, const json_t *entries)
{
    const char *symbols = text_of(entries, "symbols"), *step = text_of(entries, "step"),
               *rate = text_of(entries, "sample_rate"), *comment = text_of(entries, "comment"),
               *phonemes = text_of(entries, "phonemes");
    const int is_piper = comment && strcmp(comment, "piper") == 0;
    json_t *all = symbols ? json_loads(symbols, 0, NULL) : NULL;
    char line[LONGEST];
    printf("%s: a voice after %s steps as an ONNX graph, %s\n", path, step ? step : "?", size);
    print_entry("programs", is_piper ? "Piper, Home Assistant, NVDA and sherpa-onnx speak from it"
                                     : "speaks wherever ONNX Runtime runs; symbols go in, sound comes out");
    print_entry("licence", text_of(entries, EXPORT_LICENCE));
    print_entry("source", text_of(entries, EXPORT_SOURCE));
    print_entry("note", text_of(entries, EXPORT_NOTE));
    print_base(text_of(entries, "base"));
    snprintf(line, sizeof line, "%s Hz", rate ? rate : "?");
    print_entry("sound", line);
    print_names("languages", text_of(entries, "languages"), "-");
    print_names("speakers", text_of(entries, "speakers"), "(one, without a name)");
    snprintf(line, sizeof line, "%zu, %s (--json lists them)", json_array_size(all),
             phonemes && strcmp(phonemes, "1") == 0 ? "phonemes of espeak-ng" : "letters");
    print_entry("symbols", line);
    json_decref(all);
}

/* Of a graph that another program wrote: its entries as they are. */
static void print_foreign(const char *path, const char *size, json_t *entries)
{
    char shown[LONGEST];
    const char *key;
    json_t *value;
    printf("%s: an ONNX graph of another program, %s\n", path, size);
    json_object_foreach(entries, key, value)
    {
        utf8_show(shown, sizeof shown, json_string_value(value));
        printf("  %-12s %s\n", key, shown);
    }
}

static void print_text(const char *path, uint64_t bytes, json_t *entries)
{
    char size[32];
    const char *format = text_of(entries, "format");
    format_bytes(size, sizeof size, bytes);
    if (format && strcmp(format, ONNX_FORMAT) == 0)
        print_own(path, size, entries);
    else
        print_foreign(path, size, entries);
}

int show_graph(const char *path, const CmdLine *line, Err *err)
{
    FileMap file;
    int rc = file_map(&file, path, err);
    if (rc)
        return rc;
    json_t *entries = json_object();
    rc = entries ? onnx_entries(entries, file.data, file.size, path, err)
                 : err_set(err, ERR_NOMEM, "no memory to show %s", path);
    const uint64_t bytes = file.size;
    file_unmap(&file);
    if (!rc && line->json) {
        static const char *const credits[] = {EXPORT_LICENCE, EXPORT_SOURCE, EXPORT_NOTE};
        json_t *o = json_pack("{s:o, s:s, s:I}", "checkpoint", json_from_text(path), "format", "onnx",
                              "bytes", (json_int_t)bytes);
        for (size_t i = 0; i < sizeof credits / sizeof *credits; i++) {
            json_t *text = json_object_get(entries, credits[i]);
            json_object_set(o, credits[i], text ? text : json_null());
        }
        json_object_set(o, "entries", entries);
        rc = output_print(o, 6, err);
    } else if (!rc) {
        print_text(path, bytes, entries);
    }
    json_decref(entries);
    return rc;
}
