/* manifest.c - see manifest.h. */
#include "dataset/manifest.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "dataset/metadata.h"
#include "dataset/records.h"

/* A copy of a value that is text or a whole number; "" of any other. p is NULL if out of memory. */
static Str value_of(Lines *l, const json_t *value)
{
    char number[32];
    Str s = {"", 0};
    if (json_is_string(value)) {
        s = str_trim((Str){json_string_value(value), (uint32_t)json_string_length(value)});
    } else if (json_is_integer(value)) {
        int n = snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        s = (Str){number, (uint32_t)n};
    }
    if (s.n)
        s.p = block_strndup(&l->d->block, s.p, s.n);
    return s;
}

/* What the object says; the first value of a kind counts. 0 or ERR_NOMEM. */
static int read_values(Lines *l, Str values[ROLE_COUNT], json_t *object)
{
    const char *key;
    json_t *value;
    for (int i = 0; i < ROLE_COUNT; i++)
        values[i] = (Str){"", 0};
    json_object_foreach(object, key, value)
    {
        Role role = metadata_role((Str){key, (uint32_t)strlen(key)});
        if (role == ROLE_NONE || values[role].n)
            continue;
        values[role] = value_of(l, value);
        if (!values[role].p)
            return ERR_NOMEM;
    }
    return 0;
}

static int reject(Lines *l, const Record *rec, Str id, const char *detail)
{
    return lines_reject(l, id, rec->line, REJECT_MALFORMED, detail);
}

static int add_object(Lines *l, const Record *rec, json_t *object)
{
    Str values[ROLE_COUNT];
    if (read_values(l, values, object))
        return ERR_NOMEM;
    Line line = {.id = values[ROLE_ID],
                 .text = values[values[ROLE_NORMALISED].n ? ROLE_NORMALISED : ROLE_TEXT],
                 .speaker = values[ROLE_SPEAKER],
                 .language = values[ROLE_LANGUAGE],
                 .audio = values[ROLE_FILE],
                 .line = rec->line};
    if (!line.id.n)
        line.id = line_id_of_path(l->d->root ? l->d->root : "", line.audio);
    if (json_number_value(json_object_get(object, "offset")) > 0)
        return reject(l, rec, line.id,
                      "offset means a part of a longer recording, but each clip needs its own file");
    if (!line.id.n)
        return reject(l, rec, line.id, "it has no audio_filepath");
    return lines_add(l, &line);
}

static int add_line(Lines *l, const Record *rec)
{
    char detail[JSON_ERROR_TEXT_LENGTH + 40];
    json_error_t why;
    if (rec->kind == RECORD_TOO_LONG) {
        snprintf(detail, sizeof detail, "%zu bytes", rec->bytes);
        return lines_reject(l, (Str){"", 0}, rec->line, REJECT_LINE_TOO_LONG, detail);
    }
    int bad = lines_check_utf8(l, (Str){"", 0}, rec->line, rec->all);
    if (bad)
        return bad < 0 ? bad : 0;
    json_t *object = json_loadb(rec->all.p, rec->all.n, 0, &why);
    int rc;
    if (!object) {
        /* Its message quotes the line, perhaps in the middle of a character. */
        size_t n = utf8_valid(why.text, strlen(why.text));
        snprintf(detail, sizeof detail, "not valid JSON at column %d: %.*s", why.column, (int)n, why.text);
        rc = reject(l, rec, (Str){"", 0}, detail);
    } else if (!json_is_object(object)) {
        rc = reject(l, rec, (Str){"", 0}, "it is not an object {...}");
    } else {
        rc = add_object(l, rec, object);
    }
    json_decref(object);
    return rc;
}

int manifest_parse(Lines *l, const uint8_t *bytes, size_t size, Err *err)
{
    Records r;
    Record rec;
    records_open(&r, bytes, size, '\t');
    while (records_next(&r, &rec))
        if (rec.kind != RECORD_BLANK && add_line(l, &rec))
            return err_set(err, ERR_NOMEM, "no memory for %zu lines", l->d->lines);
    return 0;
}
