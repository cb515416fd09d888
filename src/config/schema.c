/* schema.c - see schema.h. Works in rounds: find all problems in one walk, repair them from the last line up
 * (so that the line numbers of the others stay valid), add the keys that must move, and check again. Then
 * come the rules between keys, one at a time (schema_rules.c). */
#include "config/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "config/option_table.h"
#include "config/schema_private.h"
#include "config/yaml_edit.h"
#include "config/yaml_tree.h"

#define MOST_ROUNDS 8
#define MOST_PROBLEMS 500

typedef enum { DO_NOTHING, DO_SET, DO_RENAME, DO_COMMENT_OUT } Deed;

typedef struct Action { /* at a pair; what it is about is the problem's */
    Deed deed;
    size_t problem;
    int top_level; /* the pair is a section, or a key outside of one */
    int line;
    char key[128], value[600]; /* name of the pair; new value or name */
} Action;

typedef struct Addition { /* a pair for another section */
    size_t problem;
    const char *section;
    char key[128], value[600];
} Addition;

typedef struct Walk {
    SchemaReport *report;
    YamlTree tree;
    const Buf *text;
    Config defaults;
    Config choices; /* of the file, for what follows them; the rest is that of the defaults */
    Action *actions;
    size_t action_count, action_cap;
    Addition *additions;
    size_t addition_count, addition_cap;
    int *first_line; /* [option_count()] where a key was read first; 0: not yet */
    Buf *first_value;
    int show_lines; /* lines are those of the text as it was given */
    int failed;
} Walk;

static const YamlNode *node(const Walk *w, int i) { return &w->tree.nodes[i]; }

/* ---- problems and what to do about them ---- */

SchemaProblem *schema_problem(SchemaReport *r, int line, const char *section, const char *key)
{
    if (mem_grow(&r->items, &r->cap, r->count + 1, sizeof *r->items))
        return NULL;
    SchemaProblem *p = &r->items[r->count++];
    *p = (SchemaProblem){.line = line};
    snprintf(p->section, sizeof p->section, "%s", section ? section : "");
    snprintf(p->key, sizeof p->key, "%s", key ? key : "");
    return p;
}

/* A problem at a node. NULL when there are too many, or no memory; the callers then continue without it. */
static SchemaProblem *problem(Walk *w, int key_node, const char *section, const char *key)
{
    if (w->report->count >= MOST_PROBLEMS)
        return NULL;
    SchemaProblem *p =
        schema_problem(w->report, w->show_lines && key_node >= 0 ? node(w, key_node)->line : 0, section, key);
    w->failed |= !p;
    return p;
}

/* Plans what is to be done at a pair. A name or value that does not fit leaves the problem without a fix. */
static void act(Walk *w, const SchemaProblem *p, Deed deed, int key_node, int top_level, const char *value)
{
    if (strlen(node(w, key_node)->value) >= sizeof w->actions->key ||
        strlen(value) >= sizeof w->actions->value)
        return;
    if (mem_grow(&w->actions, &w->action_cap, w->action_count + 1, sizeof *w->actions)) {
        w->failed = 1;
        return;
    }
    Action *a = &w->actions[w->action_count++];
    *a = (Action){.deed = deed,
                  .problem = (size_t)(p - w->report->items),
                  .top_level = top_level,
                  .line = node(w, key_node)->line};
    snprintf(a->key, sizeof a->key, "%s", node(w, key_node)->value);
    snprintf(a->value, sizeof a->value, "%s", value);
}

/* The value as written in the text, on one line. Returns 0, or -1 if it does not fit on one. */
static int source_of(const Walk *w, int value_node, char *out, size_t cap)
{
    const YamlNode *v = node(w, yaml_tree_resolve(&w->tree, value_node));
    size_t n = v->end - v->content;
    if ((v->kind == NODE_SCALAR ? v->quote == '|' : !v->flow) || n >= cap ||
        memchr(w->tree.text + v->content, '\n', n))
        return -1;
    /* An anchor inside would be lost with the move. */
    for (size_t i = 0; i < w->tree.count; i++)
        if (node(w, (int)i)->anchor && node(w, (int)i)->start >= v->content &&
            node(w, (int)i)->start < v->end)
            return -1;
    memcpy(out, w->tree.text + v->content, n);
    out[n] = 0;
    return 0;
}

/* Plans the pair for another section; -1: its value cannot be moved. */
static int add(Walk *w, const SchemaProblem *p, const char *section, const char *key, int value_node)
{
    char value[sizeof w->additions->value];
    if (strlen(key) >= sizeof w->additions->key || source_of(w, value_node, value, sizeof value))
        return -1;
    if (mem_grow(&w->additions, &w->addition_cap, w->addition_count + 1, sizeof *w->additions)) {
        w->failed = 1;
        return -1;
    }
    Addition *a = &w->additions[w->addition_count++];
    *a = (Addition){.problem = (size_t)(p - w->report->items), .section = section};
    snprintf(a->key, sizeof a->key, "%s", key);
    snprintf(a->value, sizeof a->value, "%s", value[0] ? value : "~");
    return 0;
}

/* Nothing is deleted: the line stays as a comment. */
static void comment_out(Walk *w, SchemaProblem *p, int key_node, int top_level, const char *fix)
{
    snprintf(p->fix, sizeof p->fix, "%s", fix);
    act(w, p, DO_COMMENT_OUT, key_node, top_level, "");
}

/* ---- values ---- */

/* Tags of YAML itself (!!str, !!int), and `!`, which names none, change nothing here. */
static int core_tag(const char *tag)
{
    return !tag || strcmp(tag, "!") == 0 || strncmp(tag, "tag:yaml.org,2002:", 18) == 0;
}

/* The value as the table wants it. 0; 1: it has no value; 2: a kind of node or a tag that cannot be read. */
static int read_value(const Walk *w, RawValue *raw, int value_node)
{
    const YamlNode *v = node(w, yaml_tree_resolve(&w->tree, value_node));
    *raw = (RawValue){0};
    if (v->kind == NODE_MAP)
        return 2;
    if (v->kind == NODE_SCALAR) {
        raw->items[0] = v->value;
        raw->count = 1;
        return v->is_null ? 1 : core_tag(v->tag) && strlen(v->value) == v->size ? 0 : 2;
    }
    raw->is_list = 1;
    for (int i = v->first; i >= 0; i = node(w, i)->next) {
        const YamlNode *item = node(w, yaml_tree_resolve(&w->tree, i));
        if (raw->count == CONFIG_MAX_LIST || item->kind != NODE_SCALAR || item->is_null ||
            !core_tag(item->tag) || strlen(item->value) != item->size)
            return 2;
        raw->items[raw->count++] = item->value;
    }
    return 0;
}

/* Plans the value that suggest() finds. */
static void set_value(Walk *w, SchemaProblem *p, const Option *o, const RawValue *raw, int key_node)
{
    char value[600];
    schema_suggest(value, sizeof value, &w->defaults, &w->choices, o, raw);
    snprintf(p->fix, sizeof p->fix, "%s: %.150s", o->key, value);
    act(w, p, DO_SET, key_node, 0, value);
}

/* A key that was read before, under another name or in another section, has to say the same. */
static void check_repeated(Walk *w, const char *section, const Option *o, int row, int key_node,
                           const Config *scratch)
{
    Buf now = {0};
    option_format(&now, o, scratch);
    w->failed |= now.failed;
    if (!w->first_line[row]) {
        w->first_line[row] = node(w, key_node)->line;
        w->first_value[row] = now;
        return;
    }
    if (!now.failed && strcmp(now.data, w->first_value[row].data) != 0) {
        SchemaProblem *p = problem(w, key_node, section, o->key);
        if (p) {
            /* Two names, or two sections: nobody but the user knows which was meant. */
            snprintf(p->what, sizeof p->what, "%s is %.100s, but line %d already set it to %.100s", o->key,
                     now.data, w->first_line[row], w->first_value[row].data);
            snprintf(p->hint, sizeof p->hint, "remove one of the two lines");
        }
    }
    buf_free(&now);
}

/* Missing, unreadable, out of range, or in conflict with an earlier line. */
static void check_value(Walk *w, const char *section, int row, int key_node)
{
    const Option *o = &option_table[row];
    int value_node = node(w, key_node)->next;
    RawValue raw;
    Config scratch = {0};
    Block strings = {0};
    Err err = {0};
    SchemaProblem *p;
    int kind = read_value(w, &raw, value_node);
    if (kind == 1) {
        if ((p = problem(w, key_node, section, o->key))) {
            snprintf(p->what, sizeof p->what, "%s has no value", o->key);
            comment_out(w, p, key_node, 0, "comment out the line, so that the default is used");
        }
        return;
    }
    if (kind == 0 && option_set(o, &scratch, &strings, &raw, &err) == 0)
        check_repeated(w, section, o, row, key_node, &scratch);
    else if ((p = problem(w, key_node, section, o->key))) {
        if (kind == 0) {
            snprintf(p->what, sizeof p->what, "%s", err.msg);
            snprintf(p->hint, sizeof p->hint, "%s", err.hint);
        } else {
            char range[200];
            option_range(range, sizeof range, o);
            snprintf(p->what, sizeof p->what, "%s has a value of the wrong kind; it takes %s", o->key, range);
        }
        set_value(w, p, o, &raw, key_node);
    }
    block_free(&strings);
}

/* ---- keys ---- */

/* 1 when any section of the text gives the key a value, under any of its names. */
static int is_given(const Walk *w, int row)
{
    const YamlTree *t = &w->tree;
    for (int s = node(w, t->root)->first; s >= 0; s = node(w, node(w, s)->next)->next) {
        int body = yaml_tree_resolve(t, node(w, s)->next);
        if (node(w, body)->kind != NODE_MAP)
            continue;
        for (int k = node(w, body)->first; k >= 0; k = node(w, node(w, k)->next)->next) {
            const YamlNode *key = node(w, k);
            int found = key->kind == NODE_SCALAR ? option_find(key->value, key->size) : -1;
            for (int i = 0; i < 3 && found == row; i++)
                if (yaml_tree_is(t, s, option_sections[i]) &&
                    option_in_section(&option_table[row], option_sections[i]))
                    return 1;
        }
    }
    return 0;
}

/* The pair belongs under `key` in another section: a comment here, a pair there unless there is one. */
static void move(Walk *w, SchemaProblem *p, const Option *o, int key_node, int top_level)
{
    int row = (int)(o - option_table);
    if (is_given(w, row)) {
        comment_out(w, p, key_node, top_level, "comment out the line: the key is set elsewhere");
    } else if (add(w, p, o->section, o->key, node(w, key_node)->next) == 0) {
        char fix[200];
        snprintf(fix, sizeof fix, "move it to section %s as '%s'", o->section, o->key);
        comment_out(w, p, key_node, top_level, fix);
    } else {
        comment_out(w, p, key_node, top_level, "comment out the line");
    }
}

/* A slip becomes the nearest key, in its section; anything else a comment. */
static void unknown_key(Walk *w, const char *section, int key_node)
{
    const char *key = node(w, key_node)->value, *nearest = config_nearest_key(key, NULL);
    char quoted[100];
    SchemaProblem *p = problem(w, key_node, section, key);
    if (!p)
        return;
    option_quote(quoted, sizeof quoted, key);
    snprintf(p->what, sizeof p->what, "unknown key %s in section %s", quoted, section);
    if (!nearest) {
        snprintf(p->hint, sizeof p->hint, "`myxtts config` lists every key");
        comment_out(w, p, key_node, 0, "comment out the line");
        return;
    }
    const Option *o = &option_table[option_find(nearest, strlen(nearest))];
    snprintf(p->hint, sizeof p->hint, "nearest is '%s'", nearest);
    if (!option_in_section(o, section) || is_given(w, (int)(o - option_table))) {
        move(w, p, o, key_node, 0);
    } else {
        snprintf(p->fix, sizeof p->fix, "rename it to '%s'", nearest);
        act(w, p, DO_RENAME, key_node, 0, nearest);
    }
}

/* All pairs of a map for a section, then the lines of the map become a comment. */
static void merge_into(Walk *w, SchemaProblem *p, const char *section, int map, int section_map, int key_node,
                       int top_level, const char *fix)
{
    map = yaml_tree_resolve(&w->tree, map);
    if (node(w, map)->kind != NODE_MAP)
        return;
    /* All of its pairs move or none: a half-moved section would be worse than a broken one. */
    size_t planned = w->addition_count;
    for (int k = node(w, map)->first; k >= 0; k = node(w, node(w, k)->next)->next) {
        const YamlNode *key = node(w, k);
        if (key->kind != NODE_SCALAR || key->size != strlen(key->value)) {
            w->addition_count = planned;
            return;
        }
        if (section_map >= 0 && yaml_tree_find(&w->tree, section_map, key->value, 0) >= 0)
            continue;
        if (add(w, p, section, key->value, node(w, k)->next)) {
            w->addition_count = planned;
            return;
        }
    }
    comment_out(w, p, key_node, top_level, fix);
}

/* The last pair of the map that has the same key. */
static int last_of_name(const Walk *w, int key_node)
{
    int last = key_node;
    for (int k = key_node; k >= 0; k = node(w, node(w, k)->next)->next)
        if (node(w, k)->kind == NODE_SCALAR && node(w, k)->size == node(w, key_node)->size &&
            memcmp(node(w, k)->value, node(w, key_node)->value, node(w, k)->size) == 0)
            last = k;
    return last;
}

/* Readers of YAML that let this pass take the last one, so that is the one that has been in effect so far. In
 * one line the edits cannot tell the two apart: there the user has to choose. */
static void given_twice(Walk *w, SchemaProblem *p, int key_node, int last)
{
    char fix[100];
    int again = node(w, last)->line;
    snprintf(p->what, sizeof p->what, "key '%.100s' is given here and again in line %d",
             node(w, key_node)->value, again);
    snprintf(p->hint, sizeof p->hint, "remove one of the two");
    if (again == node(w, key_node)->line)
        return;
    snprintf(fix, sizeof fix, "comment out this line and keep line %d: other programs use the last one",
             again);
    comment_out(w, p, key_node, 0, fix);
}

/* One line of a section. */
static void check_pair(Walk *w, const char *section, int body, int key_node)
{
    const YamlNode *key = node(w, key_node);
    SchemaProblem *p;
    if (key->kind != NODE_SCALAR || strlen(key->value) != key->size || !core_tag(key->tag)) {
        if ((p = problem(w, key_node, section, "")))
            snprintf(p->what, sizeof p->what, "a key of section %s is not a plain word", section);
        return;
    }
    int last = last_of_name(w, key_node);
    if (last != key_node) {
        if ((p = problem(w, key_node, section, key->value)))
            given_twice(w, p, key_node, last);
        return;
    }
    if (strcmp(key->value, "<<") == 0) {
        if ((p = problem(w, key_node, section, "<<"))) {
            snprintf(p->what, sizeof p->what, "merge keys (<<) are not supported");
            merge_into(w, p, section, key->next, body, key_node, 0,
                       "write the keys directly into this section");
        }
        return;
    }
    int row = option_find(key->value, key->size);
    if (row < 0) {
        unknown_key(w, section, key_node);
    } else if (!option_in_section(&option_table[row], section)) {
        if ((p = problem(w, key_node, section, key->value))) {
            snprintf(p->what, sizeof p->what, "key '%s' is in section %s, but belongs in section %s",
                     key->value, section, option_table[row].section);
            move(w, p, &option_table[row], key_node, 0);
        }
    } else {
        check_value(w, section, row, key_node);
    }
}

/* ---- sections ---- */

/* Most likely a key that lost its section, or a misspelled section. */
static void unknown_section(Walk *w, int key_node)
{
    const char *name = node(w, key_node)->value, *near = NULL, *nearest;
    char quoted[100];
    int body = yaml_tree_resolve(&w->tree, node(w, key_node)->next), row = option_find(name, strlen(name));
    SchemaProblem *p = problem(w, key_node, "", name);
    if (!p)
        return;
    option_quote(quoted, sizeof quoted, name);
    if (row >= 0) {
        snprintf(p->what, sizeof p->what, "key %s is not in any section", quoted);
        move(w, p, &option_table[row], key_node, 1);
        return;
    }
    snprintf(p->what, sizeof p->what, "unknown section %s; there are model, data and training", quoted);
    /* A misspelled section is renamed, or merged into the existing one. */
    for (int i = 0; i < 3 && !near; i++)
        if (config_name_distance(name, option_sections[i]) <= (strlen(name) < 6 ? 1 : 3))
            near = option_sections[i];
    if (near && (node(w, body)->kind == NODE_MAP || node(w, body)->is_null)) {
        int there = yaml_tree_find(&w->tree, w->tree.root, near, 0);
        if (there < 0) {
            snprintf(p->fix, sizeof p->fix, "rename it to '%s'", near);
            act(w, p, DO_RENAME, key_node, 1, near);
        } else {
            char fix[200];
            snprintf(fix, sizeof fix, "move its keys to section %s", near);
            merge_into(w, p, near, body, node(w, there)->next, key_node, 1, fix);
        }
    } else if (node(w, body)->kind == NODE_SCALAR && (nearest = config_nearest_key(name, NULL))) {
        move(w, p, &option_table[option_find(nearest, strlen(nearest))], key_node, 1);
    } else {
        comment_out(w, p, key_node, 1, "comment out its lines");
    }
}

/* A key of the later of two sections that the first one gives another value; -1: there is none. */
static int conflicting_key(const Walk *w, int first_map, int later_map)
{
    int k = node(w, later_map)->kind == NODE_MAP ? node(w, later_map)->first : -1;
    for (; k >= 0; k = node(w, node(w, k)->next)->next) {
        char a[600], b[600];
        int there =
            node(w, k)->kind == NODE_SCALAR ? yaml_tree_find(&w->tree, first_map, node(w, k)->value, 0) : -1;
        if (there >= 0 && (source_of(w, node(w, there)->next, a, sizeof a) ||
                           source_of(w, node(w, k)->next, b, sizeof b) || strcmp(a, b) != 0))
            return k;
    }
    return -1;
}

/* A section given twice is merged, an unknown one renamed; the pairs of the others are looked at. */
static void check_section(Walk *w, int key_node)
{
    const YamlNode *key = node(w, key_node);
    const char *section = NULL;
    SchemaProblem *p;
    if (key->kind != NODE_SCALAR || strlen(key->value) != key->size || !core_tag(key->tag)) {
        if ((p = problem(w, key_node, "", "")))
            snprintf(p->what, sizeof p->what, "the name of a section is not a plain word");
        return;
    }
    int first = yaml_tree_find(&w->tree, w->tree.root, key->value, 0),
        body = yaml_tree_resolve(&w->tree, key->next);
    for (int i = 0; i < 3; i++)
        section = strcmp(key->value, option_sections[i]) == 0 ? option_sections[i] : section;
    if (first != key_node) {
        if (!(p = problem(w, key_node, "", key->value)))
            return;
        snprintf(p->what, sizeof p->what, "section '%.100s' is given twice, first in line %d", key->value,
                 node(w, first)->line);
        int both = conflicting_key(w, node(w, first)->next, body);
        if (both >= 0)
            snprintf(p->hint, sizeof p->hint, "both set '%.60s', to different values: remove one of them",
                     node(w, both)->value);
        else if (section && node(w, body)->kind == NODE_MAP)
            merge_into(w, p, section, body, node(w, first)->next, key_node, 1,
                       "move its keys to the first one");
        else
            comment_out(w, p, key_node, 1, "comment out the later one");
    } else if (!section) {
        unknown_section(w, key_node);
    } else if (node(w, body)->kind == NODE_MAP) {
        for (int k = node(w, body)->first; k >= 0; k = node(w, node(w, k)->next)->next)
            check_pair(w, section, body, k);
    } else if (!node(w, body)->is_null && (p = problem(w, key_node, "", section))) {
        snprintf(p->what, sizeof p->what, "section %s must contain keys and values", section);
        snprintf(p->hint, sizeof p->hint, "write one indented `key: value` per line");
        comment_out(w, p, key_node, 1, "comment out its lines");
    }
}

/* The presets decide which defaults are suggested, so they are read before everything else. */
static void find_choice(Walk *w, const char *name)
{
    int section = yaml_tree_find(&w->tree, w->tree.root, "model", 0);
    int key = section >= 0 ? yaml_tree_find(&w->tree, node(w, section)->next, name, 0) : -1;
    const YamlNode *v = key >= 0 ? node(w, yaml_tree_resolve(&w->tree, node(w, key)->next)) : NULL;
    if (!v || v->kind != NODE_SCALAR)
        return;
    Block strings = {0};
    RawValue raw = {.items = {v->value}, .count = 1};
    option_set(&option_table[option_find(name, strlen(name))], &w->choices, &strings, &raw, NULL);
    block_free(&strings);
}

/* ---- one round ---- */

/* The whole text, once. */
static void walk(Walk *w)
{
    int root = w->tree.root;
    SchemaProblem *p;
    if (root < 0 || node(w, root)->is_null)
        return;
    if (node(w, root)->kind != NODE_MAP) {
        if ((p = problem(w, root, "", ""))) {
            snprintf(p->what, sizeof p->what, "the file must contain the sections model, data and training");
            snprintf(p->hint, sizeof p->hint, "`myxtts config --default-yaml` prints an example");
        }
        return;
    }
    w->choices = w->defaults;
    find_choice(w, "model_size");
    find_choice(w, "vocoder_size");
    find_choice(w, "network");
    for (int k = node(w, root)->first; k >= 0; k = node(w, node(w, k)->next)->next)
        check_section(w, k);
}

/* From the last line up, so that the lines of what is still to do stay where they are. */
static int later_first(const void *a, const void *b)
{
    const Action *x = a, *y = b;
    if (x->line != y->line)
        return x->line > y->line ? -1 : 1;
    return x->problem > y->problem ? -1 : x->problem < y->problem;
}

/* Does what was planned; 1 when something changed, 0, or ERR_NOMEM. */
static int put_right(Walk *w, Buf *text, size_t first_problem, Err *err)
{
    SchemaProblem *problems = w->report->items;
    int changed = 0;
    if (w->action_count)
        qsort(w->actions, w->action_count, sizeof *w->actions, later_first);
    for (size_t i = 0; i < w->action_count; i++) {
        const Action *a = &w->actions[i];
        SchemaProblem *p = &problems[a->problem];
        YamlPlace at = {a->top_level ? NULL : p->section, a->key, a->line};
        Err why = {0};
        int rc = a->deed == DO_SET      ? yaml_edit_set(text, &at, a->value, &why)
                 : a->deed == DO_RENAME ? yaml_edit_rename(text, &at, a->value, &why)
                                        : yaml_edit_comment_out(text, &at, &why);
        if (rc == ERR_NOMEM)
            return err_set(err, rc, "%s", why.msg);
        p->fixed = rc == 0;
        changed |= rc == 0;
        if (rc) {
            p->fix[0] = 0;
            snprintf(p->hint, sizeof p->hint, "%s", why.msg);
        }
    }
    /* A pair appears in its new section only when its old line has become a comment. */
    for (size_t i = 0; i < w->addition_count; i++) {
        const Addition *a = &w->additions[i];
        SchemaProblem *p = &problems[a->problem];
        Err why = {0};
        int rc = p->fixed ? yaml_edit_set(text, &(YamlPlace){a->section, a->key, 0}, a->value, &why) : 0;
        if (rc == ERR_NOMEM)
            return err_set(err, rc, "%s", why.msg);
        w->show_lines &= rc != 0 || !p->fixed;
    }
    for (size_t i = first_problem; i < w->report->count; i++)
        if (!problems[i].fixed)
            problems[i].fix[0] = 0;
    return changed;
}

/* One look at the text and the changes that follow from it; 1 when it changed. */
static int round_of(Walk *w, Buf *text, Err *err)
{
    size_t before = w->report->count;
    int rc = yaml_tree_parse(&w->tree, text->data, text->size, err);
    if (rc)
        return rc;
    w->text = text;
    w->action_count = w->addition_count = 0;
    walk(w);
    rc = w->failed ? err_set(err, ERR_NOMEM, "out of memory for the findings")
                   : put_right(w, text, before, err);
    yaml_tree_close(&w->tree);
    for (int i = 0; i < option_count(); i++) {
        buf_free(&w->first_value[i]);
        w->first_value[i] = (Buf){0};
        w->first_line[i] = 0;
    }
    return rc;
}

/* What an earlier round left is either found again, then that one counts, or it went with something else. */
static void settle(SchemaReport *r, size_t before)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        SchemaProblem *p = &r->items[i];
        int again = 0;
        for (size_t k = before; i < before && !p->fixed && k < r->count && !again; k++)
            if (strcmp(r->items[k].what, p->what) == 0 && strcmp(r->items[k].key, p->key) == 0) {
                again = 1;
                r->items[k].line = p->line;
            }
        if (i < before && !p->fixed && !again) {
            p->fixed = 1;
            snprintf(p->fix, sizeof p->fix, "follows from another change");
        }
        if (!again)
            r->items[kept++] = *p;
    }
    r->count = kept;
}

/* A change may uncover the next problem, so the text is looked at until it stays the same. */
static int rounds(Walk *w, Buf *text, Err *err)
{
    int rc = 1;
    w->show_lines = 1;
    for (int i = 0; i < MOST_ROUNDS && rc > 0; i++) {
        size_t before = w->report->count;
        rc = round_of(w, text, err);
        if (rc >= 0)
            settle(w->report, before);
    }
    return rc < 0 ? rc : 0;
}

/* ---- the whole file ---- */

int schema_cut_place(const char **sentence, const char *name)
{
    size_t n = strlen(name);
    const char *s = *sentence;
    if (strncmp(s, name, n) != 0 || s[n] != ':')
        return 0;
    s += n + 1;
    int line = atoi(s);
    s += strspn(s, "0123456789");
    *sentence = s + strspn(s, ": ");
    return line;
}

/* 0: YAML that can be edited. 1: a problem that ends it all. 2: it loads, but cannot be edited. Tabs in the
 * indentation are repaired. */
static int check_syntax(SchemaReport *r, Buf *text, const char *name, Err *err)
{
    YamlTree tree;
    Err why = {0};
    int rc = yaml_tree_parse(&tree, text->data, text->size, &why), documents = tree.documents,
        second = tree.second_line;
    yaml_tree_close(&tree);
    if (rc == ERR_NOMEM)
        return err_set(err, rc, "%s", why.msg);
    if (!rc && documents <= 1)
        return 0;
    if (!rc) {
        SchemaProblem *two = schema_problem(r, second, "", "");
        if (!two)
            return err_set(err, ERR_NOMEM, "out of memory for the findings");
        snprintf(two->what, sizeof two->what,
                 "a second YAML document starts here, but a configuration is a single document");
        snprintf(two->hint, sizeof two->hint,
                 "move what you need from below line %d into the first document, and remove the rest",
                 second);
        return 1;
    }
    Config cfg;
    Err said = {0};
    int loads = config_load_text(&cfg, name, text->data, text->size, 0, NULL, &said) == 0;
    config_close(&cfg);
    if (loads) /* UTF-16, say: sound, but not to be edited */
        return 2;
    SchemaProblem *p = schema_problem(r, 0, "", "");
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for the findings");
    const char *sentence = said.msg;
    p->line = schema_cut_place(&sentence, name);
    snprintf(p->what, sizeof p->what, "%s", sentence);
    snprintf(p->hint, sizeof p->hint, "%s", said.hint);
    /* Broken YAML has one repair: tabs in the indentation. */
    Buf blanks = {0};
    buf_add(&blanks, text->data, text->size);
    int lines = blanks.failed ? ERR_NOMEM : yaml_edit_expand_tabs(&blanks);
    if (lines > 0 && yaml_tree_parse(&tree, blanks.data, blanks.size, &why) == 0) {
        yaml_tree_close(&tree);
        snprintf(p->fix, sizeof p->fix, "spaces instead of tabs in %d line%s", lines, lines == 1 ? "" : "s");
        p->fixed = 1;
        Buf old = *text;
        *text = blanks;
        blanks = old;
    }
    buf_free(&blanks);
    return p->fixed ? 0 : 1;
}

/* First the syntax, then single keys, then the rules between them; each check needs the ones
 * before to pass. */
int schema_repair(SchemaReport *r, Buf *text, const char *name, int argc, char **argv, Err *err)
{
    Walk w = {.report = r};
    int rc = check_syntax(r, text, name, err);
    r->loads = 0;
    /* Only the rules are left to look at. */
    if (rc == 2)
        return schema_rules(r, text, name, 1, argc, argv, err);
    if (rc)
        return rc < 0 ? rc : 0;
    if ((rc = config_defaults(&w.defaults, err)))
        return rc;
    w.first_line = mem_calloc((size_t)option_count(), sizeof *w.first_line);
    w.first_value = mem_calloc((size_t)option_count(), sizeof *w.first_value);
    if (!w.first_line || !w.first_value)
        rc = err_set(err, ERR_NOMEM, "out of memory for the findings");
    if (!rc)
        rc = rounds(&w, text, err);
    /* The rules between keys say nothing useful while single keys are wrong. */
    int open = 0;
    for (size_t i = 0; i < r->count; i++)
        open |= !r->items[i].fixed;
    if (!rc && !open)
        rc = schema_rules(r, text, name, w.show_lines, argc, argv, err);
    free(w.first_line);
    free(w.first_value);
    free(w.actions);
    free(w.additions);
    config_close(&w.defaults);
    return rc;
}

void schema_report_free(SchemaReport *r)
{
    free(r->items);
    *r = (SchemaReport){0};
}

const char *schema_section(const char *key)
{
    int row = option_find(key, strlen(key));
    return row >= 0 ? option_table[row].section : NULL;
}

/* The key keeps the name and the section that the file gives it. */
int schema_set(Buf *text, const char *key, const char *value, Err *err)
{
    int row = option_find(key, strlen(key)), found = 0;
    ASSERT(row >= 0);
    const Option *o = &option_table[row];
    YamlTree t;
    int rc = yaml_tree_parse(&t, text->data, text->size, err);
    if (rc)
        return rc;
    /* Under every name and in every section in which the text has the key. */
    for (int s = t.root >= 0 ? t.nodes[t.root].first : -1; s >= 0 && !rc; s = t.nodes[t.nodes[s].next].next) {
        int body = yaml_tree_resolve(&t, t.nodes[s].next);
        if (t.nodes[s].kind != NODE_SCALAR || t.nodes[body].kind != NODE_MAP)
            continue;
        for (int k = t.nodes[body].first; k >= 0 && !rc; k = t.nodes[t.nodes[k].next].next) {
            const YamlNode *n = &t.nodes[k];
            if (n->kind != NODE_SCALAR || option_find(n->value, n->size) != row)
                continue;
            found = 1;
            rc = yaml_edit_set(text, &(YamlPlace){t.nodes[s].value, n->value, 0}, value, err);
        }
    }
    yaml_tree_close(&t);
    if (rc || found)
        return rc;
    return yaml_edit_set(text, &(YamlPlace){o->section, o->key, 0}, value, err);
}
