/* schema_rules.c - the rules between keys (config_rules.c), one violation after the other.
 * A violation is read from the loader's own sentence: "win_length is 2048 (FILE:3) and n_fft is 1024
 * (default): the window must fit ...". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/option_table.h"
#include "config/schema_private.h"
#include "config/yaml_tree.h"

#define MOST_RULES 40

typedef struct Named { /* a key of the sentence */
    char key[64], value[120], origin[300];
    double number;
} Named;

/* "KEY is VALUE (ORIGIN)" at s; behind it, or NULL. */
static const char *read_named(Named *n, const char *s)
{
    size_t length = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *value = s + length + 4, *open, *close;
    *n = (Named){0};
    if (!length || length >= sizeof n->key || strncmp(s + length, " is ", 4) != 0 ||
        option_find(s, length) < 0)
        return NULL;
    open = strstr(value, " (");
    close = open ? strchr(open, ')') : NULL;
    if (!close)
        return NULL;
    snprintf(n->key, sizeof n->key, "%.*s", (int)length, s);
    snprintf(n->value, sizeof n->value, "%.*s", (int)(open - value), value);
    snprintf(n->origin, sizeof n->origin, "%.*s", (int)(close - open - 2), open + 2);
    n->number = strtod(n->value, NULL);
    return close + 1;
}

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static int known_language(const char *code)
{
    return strlen(code) == 2 && strstr(" en es fr de it pt pl tr ru nl cs ar fa zh ja hu ko ", code) != NULL;
}

/* The list of the file without what detection does not know and what is there twice, and with `more` where it
 * is not NULL. */
static int sound_languages(char *out, size_t cap, const Buf *text, const char *more)
{
    YamlTree t;
    char seen[CONFIG_MAX_LIST][3];
    int count = 0;
    size_t used = 1;
    if (yaml_tree_parse(&t, text->data, text->size, NULL))
        return 0;
    int section = yaml_tree_find(&t, t.root, "data", 0);
    int key = section >= 0 ? yaml_tree_find(&t, t.nodes[section].next, "supported_languages", 0) : -1;
    int list = key >= 0 ? yaml_tree_resolve(&t, t.nodes[key].next) : -1;
    for (int i = list >= 0 && t.nodes[list].kind == NODE_LIST ? t.nodes[list].first : -1; i >= 0 || more;) {
        const char *code = i >= 0 ? t.nodes[yaml_tree_resolve(&t, i)].value : more;
        if (i < 0)
            more = NULL;
        else
            i = t.nodes[i].next;
        int known = code && known_language(code) && count < CONFIG_MAX_LIST;
        for (int k = 0; k < count && known; k++)
            known = strcmp(seen[k], code) != 0;
        if (known)
            snprintf(seen[count++], sizeof seen[0], "%s", code);
    }
    yaml_tree_close(&t);
    snprintf(out, cap, "[");
    for (int k = 0; k < count && used + 8 < cap; k++)
        used += (size_t)snprintf(out + used, cap - used, "%s%s", k ? ", " : "",
                                 strcmp(seen[k], "no") == 0 ? "\"no\""
                                                            : seen[k]); /* `no` is false to some readers */
    snprintf(out + used, cap - used, "]");
    return count > 0;
}

/* The key to change, mostly the first of the two, and its value; 0 when only a person can say. */
static int value_for(const char **changes, char *out, size_t cap, const Named *a, const Named *b,
                     const Buf *text)
{
    const char *key = a->key;
    double x = a->number, y = b->number;
    *changes = key;
    if (strcmp(key, "win_length") == 0 && (int)y % 2 && strcmp(b->origin, "command line") != 0) {
        *changes = b->key; /* an FFT of odd length is wrong whatever the window is */
        snprintf(out, cap, "%.0f", y + 1);
    } else if (strcmp(key, "win_length") == 0 && b->key[0])
        snprintf(out, cap, "%.0f", y);
    else if (strcmp(key, "n_fft") == 0)
        snprintf(out, cap, "%.0f", x + 1);
    else if (strcmp(key, "hop_length") == 0)
        snprintf(out, cap, "%d", y >= 64 ? (int)y / 4 : 16);
    else if (strcmp(key, "mel_fmax") == 0)
        option_format_double(out, cap, y / 2);
    else if (strcmp(key, "mel_fmin") == 0)
        snprintf(out, cap, "0");
    else if (strcmp(key, "n_mels") == 0)
        snprintf(out, cap, "%d", (int)y / 2);
    else if (ends_with(key, "_dim") && !b->key[0])
        snprintf(out, cap, "%d", ((int)x + 7) / 8 * 8);
    else if (ends_with(key, "_heads") && x >= 1) {
        int heads = (int)x;
        while ((int)y % heads)
            heads--;
        snprintf(out, cap, "%d", heads);
    } else if (strcmp(key, "min_audio_length") == 0)
        snprintf(out, cap, y > 0.1 ? "0.1" : "0");
    else if (strcmp(key, "min_learning_rate") == 0 && y <= 0 && strcmp(b->origin, "command line") != 0) {
        *changes = b->key; /* nothing is learned at a rate of 0 */
        snprintf(out, cap, "0.0003");
    } else if (strcmp(key, "min_learning_rate") == 0)
        option_format_double(out, cap, y / 100);
    else if (strcmp(key, "learning_rate") == 0)
        snprintf(out, cap, "0.0003");
    else if (strcmp(key, "supported_languages") == 0)
        return sound_languages(out, cap, text, NULL);
    else if (strcmp(key, "language") == 0 && b->key[0]) {
        char code[3];
        *changes = "supported_languages";
        snprintf(code, sizeof code, "%s", a->value);
        return known_language(code) && sound_languages(out, cap, text, code);
    } else
        return 0;
    return 1;
}

/* The place at the front of a message ("NAME:LINE: ") is not part of its sentence. */
static const char *sentence_of(const char *message, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(message, name, n) != 0 || message[n] != ':')
        return message;
    message += n + 1;
    message += strspn(message, "0123456789");
    return message + strspn(message, ": ");
}

/* One violation as a problem; 1 when it was put right, 0 when it is left, ERR_NOMEM. */
static int one_rule(SchemaReport *r, Buf *text, const char *name, int lines, const Err *said, Err *err)
{
    Named a, b = {0};
    char value[600] = "";
    const char *sentence = sentence_of(said->msg, name), *rest = read_named(&a, sentence);
    if (rest && strncmp(rest, " and ", 5) == 0)
        read_named(&b, rest + 5);
    int line = 0;
    size_t n = strlen(name);
    if (rest && lines && strncmp(a.origin, name, n) == 0 && a.origin[n] == ':')
        line = atoi(a.origin + n + 1);
    SchemaProblem *p = schema_problem(r, line, rest ? schema_section(a.key) : "", rest ? a.key : "");
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for the findings");
    snprintf(p->what, sizeof p->what, "%.499s", sentence);
    snprintf(p->hint, sizeof p->hint, "%s", said->hint);
    const char *key;
    if (!rest || strcmp(a.origin, "command line") == 0 || !value_for(&key, value, sizeof value, &a, &b, text))
        return 0;
    Err why = {0};
    int rc = schema_set(text, key, value, &why);
    if (rc == ERR_NOMEM)
        return err_set(err, rc, "%s", why.msg);
    if (rc)
        return 0;
    snprintf(p->fix, sizeof p->fix, "%s: %.150s", key, value);
    p->fixed = 1;
    return 1;
}

int schema_rules(SchemaReport *r, Buf *text, const char *name, int lines, int argc, char **argv, Err *err)
{
    for (int i = 0, rc = 1; i < MOST_RULES && rc > 0; i++) {
        Config cfg;
        Err said = {0};
        int loaded = config_load_text(&cfg, name, text->data, text->size, argc, argv, &said);
        config_close(&cfg);
        if (loaded == ERR_NOMEM)
            return err_set(err, loaded, "%s", said.msg);
        if (loaded == 0) {
            r->loads = 1;
            return 0;
        }
        rc = one_rule(r, text, name, lines, &said, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
