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
#include "voice/export.h"

#define ENDING ".onnx"
enum { LONGEST = 200 }; /* characters of an entry in the terminal; --json has all */

int show_graph_is(const char *path)
{
    const size_t n = strlen(path), ending = strlen(ENDING);
    return n > ending && strcmp(path + n - ending, ENDING) == 0;
}

static void print_text(const char *path, uint64_t bytes, json_t *entries)
{
    char size[32], shown[LONGEST];
    const char *key;
    json_t *value;
    format_bytes(size, sizeof size, bytes);
    printf("%s: an ONNX graph, %s\n", path, size);
    json_object_foreach(entries, key, value)
    {
        utf8_show(shown, sizeof shown, json_string_value(value));
        printf("  %-12s %s\n", key, shown);
    }
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
