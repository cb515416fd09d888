/* base_file.c - see base_file.h. */
#include "voice/base_file.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "voice/export.h"

int base_file_find(char path[CHECKPOINT_PATH_SIZE])
{
    static const struct {
        int up; /* folders from that of the program */
        const char *folder;
    } places[] = {{1, "share/myxtts/bases"}, {1, "bases"}, {2, "bases"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char own[CHECKPOINT_PATH_SIZE];
        if (file_own_folder(own, sizeof own, places[i].up))
            continue;
        const int n = snprintf(path, CHECKPOINT_PATH_SIZE, "%s/%s/" BASE_FILE_NAME, own, places[i].folder);
        if (n < CHECKPOINT_PATH_SIZE && file_exists(path))
            return 1;
    }
    return 0;
}

/* The file's own name; of a run's checkpoint that of the run. */
static json_t *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t n = strcspn(file, ".");
    const int is_of_run = strncmp(file, "step-", 5) == 0 || strncmp(file, "best.", 5) == 0;
    if (is_of_run && slash) {
        const char *folder = slash;
        while (folder > path && folder[-1] != '/')
            folder--;
        if (folder < slash) {
            n = (size_t)(slash - folder);
            file = folder;
        }
    }
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)n, file);
    return json_from_text(name);
}

char *base_file_entry(const Checkpoint *v)
{
    static const char *const notes[] = {EXPORT_LICENCE, EXPORT_SOURCE, EXPORT_NOTE};
    const char *earlier = checkpoint_text(v, "base");
    json_t *before = earlier ? json_loads(earlier, 0, NULL) : NULL;
    json_t *o = json_pack("{s:o, s:I}", "name", name_of(v->path), "step", (json_int_t)v->content.state.step);
    for (size_t i = 0; o && i < sizeof notes / sizeof *notes; i++) {
        const char *text = safetensors_meta(&v->file, notes[i]);
        if (!text)
            text = json_string_value(json_object_get(before, notes[i]));
        if (text)
            json_object_set_new(o, notes[i], json_from_text(text));
    }
    char *out = o ? json_dumps(o, 0) : NULL;
    json_decref(o);
    json_decref(before);
    return out;
}
