/* schema_suggest.c - suggests a value for a key whose value is not allowed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema_private.h"

/* What the key would be without this line: the preset's value or the default. */
static void default_text(char *out, size_t cap, const Config *defaults, const Config *choices,
                         const Option *o)
{
    Buf text = {0};
    const char *preset = option_preset(o, choices, NULL);
    if (!preset)
        option_format(&text, o, defaults);
    snprintf(out, cap, "%s", preset ? preset : text.data ? text.data : "");
    buf_free(&text);
}

/* 1 when the key takes the text as its value. */
static int takes(const Option *o, const char *text)
{
    Config scratch = {0};
    Block strings = {0};
    Err err = {0};
    RawValue raw = {.items = {text}, .count = 1};
    int rc = option_set(o, &scratch, &strings, &raw, &err);
    block_free(&strings);
    return rc == 0;
}

/* The word of a switch or choice that was probably meant. */
static int nearest_word(const Option *o, const char *text, char *out, size_t cap)
{
    static const OptionName switches[] = {{"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0},
                                          {"on", 1},   {"off", 0},   {NULL, 0}};
    int best = strlen(text) < 4 ? 2 : 3, is_switch = o->type == OPT_BOOL;
    const OptionName *found = NULL;
    for (const OptionName *n = is_switch ? switches : o->names; n && n->word; n++) {
        int distance = config_name_distance(n->word, text);
        if (distance < best) {
            best = distance;
            found = n;
        }
    }
    if (!found)
        return 0;
    snprintf(out, cap, "%s", is_switch ? (found->value ? "true" : "false") : found->word);
    return 1;
}

void schema_suggest(char *out, size_t cap, const Config *defaults, const Config *choices, const Option *o,
                    const RawValue *raw)
{
    const char *s = raw->count == 1 ? raw->items[0] : "";
    char *end;
    if ((o->type == OPT_BOOL || o->type == OPT_ENUM || o->type == OPT_CHOICE) && s[0] &&
        nearest_word(o, s, out, cap))
        return;
    if (o->type == OPT_INT || o->type == OPT_INT_AUTO || o->type == OPT_INT64 || o->type == OPT_FLOAT) {
        double x = strtod(s, &end);
        if (*s && !*end && x > -1e15 && x < 1e15) { /* 010, 32.5 */
            if (o->type == OPT_FLOAT)
                option_format_double(out, cap, x);
            else
                snprintf(out, cap, "%lld", (long long)(x < 0 ? x - 0.5 : x + 0.5));
            if (takes(o, out))
                return;
        }
    }
    if (o->type == OPT_DEVICE) { /* cuda:0, gpu1 */
        const char *digits = s + strcspn(s, "0123456789");
        snprintf(out, cap, "%.3s", digits);
        if (*s && *digits && strncmp(s, "sim", 3) != 0 && takes(o, out))
            return;
    }
    if (raw->is_list && raw->count == 1 && o->type != OPT_LIST && takes(o, s)) {
        snprintf(out, cap, "%s", s);
        return;
    }
    default_text(out, cap, defaults, choices, o);
}
