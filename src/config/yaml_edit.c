/* yaml_edit.c - see yaml_edit.h. An edit is a list of splices (bytes out, bytes in) that is applied only when
 * the result says what it should. */
#include "config/yaml_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "config/yaml_tree.h"

typedef struct Splice {
    size_t start, end;
    size_t from, n; /* what comes in, in Edit.in */
} Splice;

/* What the text should say afterwards: the old one but for one pair. */
typedef enum { CHANGE_VALUE, CHANGE_KEY, CHANGE_ADD, CHANGE_ADD_SECTION, CHANGE_REMOVE } ChangeKind;

typedef struct Edit {
    YamlTree tree;
    Splice *splices;
    size_t count, cap;
    Buf in;
    ChangeKind change;
    int map, key; /* nodes: the map that changes (-1: the empty document), the pair that does */
    const char *section, *name, *value; /* of the new pair, key or value */
    Err *err;
} Edit;

static int refuse(Edit *e, const char *why)
{
    return err_set(e->err, ERR_CONFIG, "%s%s%s cannot be edited: %s", e->section ? e->section : "",
                   e->section ? "." : "", e->name ? e->name : "the text", why);
}

static const YamlNode *node(const Edit *e, int i) { return &e->tree.nodes[i]; }
static const YamlNode *value_of(const Edit *e, int key) { return node(e, node(e, key)->next); }

/* ---- splices ---- */

/* Plans a change; a lack of memory shows in e->in.failed and is asked for once, in apply. */
static void splice(Edit *e, size_t start, size_t end, const char *in, size_t n)
{
    if (mem_grow(&e->splices, &e->cap, e->count + 1, sizeof *e->splices)) {
        e->in.failed = 1;
        return;
    }
    e->splices[e->count++] = (Splice){start, end, e->in.size, n};
    buf_add(&e->in, in, n);
}

static void insert(Edit *e, size_t at, const char *in) { splice(e, at, at, in, strlen(in)); }

/* By place; at the same place in the order they were planned. */
static int compare_splices(const void *a, const void *b)
{
    const Splice *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* The text with all splices, which must not overlap. */
static int apply(Edit *e, Buf *out)
{
    size_t at = 0;
    if (e->count)
        qsort(e->splices, e->count, sizeof *e->splices, compare_splices);
    for (size_t i = 0; i < e->count; i++) {
        const Splice *s = &e->splices[i];
        if (s->start < at)
            return refuse(e, "two changes meet at one place");
        buf_add(out, e->tree.text + at, s->start - at);
        buf_add(out, e->in.data + s->from, s->n);
        at = s->end;
    }
    buf_add(out, e->tree.text + at, e->tree.size - at);
    return out->failed || e->in.failed ? err_set(e->err, ERR_NOMEM, "out of memory for a YAML text") : 0;
}

/* ---- what a text says, as one string ---- */

#define MOST_SAID ((size_t)1 << 23) /* aliases of aliases can say more than memory holds */

static void say(Buf *out, const YamlTree *t, int i, const Edit *e);

/* A new value, as it reads on its own. */
static void say_value(Buf *out, const char *value)
{
    YamlTree t;
    Err err = {0};
    if (yaml_tree_parse(&t, value, strlen(value), &err)) {
        out->failed |= err.code == ERR_NOMEM;
        buf_str(out, "?"); /* no tree says this */
        return;
    }
    say(out, &t, t.root, NULL);
    yaml_tree_close(&t);
}

/* With its length, so that no two different texts say the same. */
static void say_text(Buf *out, const char *s, size_t n, const char *tag)
{
    buf_printf(out, "s%zu:", n);
    buf_add(out, s, n);
    if (tag)
        buf_printf(out, "!%zu:%s", strlen(tag), tag);
}

/* The pairs in order, with the one change of the edit. */
static void say_map(Buf *out, const YamlTree *t, int i, const Edit *e)
{
    const YamlNode *n = &t->nodes[i];
    int changes = e && e->map == i, pairs = 0;
    size_t at = out->size;
    buf_str(out, "{");
    for (int k = n->first; k >= 0; k = t->nodes[t->nodes[k].next].next) {
        int own = changes && k == e->key, v = t->nodes[k].next;
        if (own && e->change == CHANGE_REMOVE)
            continue;
        pairs++;
        if (own && e->change == CHANGE_KEY)
            say_text(out, e->name, strlen(e->name), NULL);
        else
            say(out, t, k, e);
        if (own && e->change == CHANGE_VALUE)
            say_value(out, e->value);
        else
            say(out, t, v, e);
    }
    if (changes && (e->change == CHANGE_ADD || e->change == CHANGE_ADD_SECTION)) {
        pairs++;
        if (e->change == CHANGE_ADD_SECTION) {
            say_text(out, e->section, strlen(e->section), NULL);
            buf_str(out, "{");
        }
        say_text(out, e->name, strlen(e->name), NULL);
        say_value(out, e->value);
        if (e->change == CHANGE_ADD_SECTION)
            buf_str(out, "}");
    }
    buf_str(out, "}");
    if (pairs == 0 && !out->failed) { /* an empty map and no value are the same here */
        out->size = at;
        buf_str(out, "n");
    }
}

/* e: the edit that changes what is said, NULL: none. Through an alias nothing changes. */
static void say(Buf *out, const YamlTree *t, int i, const Edit *e)
{
    if (out->size > MOST_SAID)
        out->failed = 1;
    if (out->failed)
        return;
    int add_to_nothing = e && e->map == i && (e->change == CHANGE_ADD || e->change == CHANGE_ADD_SECTION);
    if (i < 0 || (t->nodes[i].kind == NODE_SCALAR && t->nodes[i].is_null)) {
        if (!add_to_nothing) {
            buf_str(out, "n");
            return;
        }
        /* Something is added where nothing was: as if there were an empty map. */
        YamlTree nothing = {.nodes = &(YamlNode){.kind = NODE_MAP, .first = -1, .next = -1}, .count = 1};
        Edit same = *e;
        same.map = 0;
        same.key = -1;
        say_map(out, &nothing, 0, &same);
        return;
    }
    const YamlNode *n = &t->nodes[i];
    if (n->kind == NODE_ALIAS) {
        say(out, t, n->target, NULL);
    } else if (n->kind == NODE_SCALAR) {
        say_text(out, n->value, n->size, n->tag);
    } else if (n->kind == NODE_MAP) {
        say_map(out, t, i, e);
    } else {
        buf_str(out, "[");
        for (int c = n->first; c >= 0; c = t->nodes[c].next)
            say(out, t, c, e);
        buf_str(out, "]");
    }
}

/* Applies the splices; the text changes only when the result says exactly what it should. */
static int finish(Edit *e, Buf *text)
{
    Buf result = {0}, wanted = {0}, got = {0};
    YamlTree after;
    Err why = {0};
    /* What the old text would say with the change, and what the new text says, must be the same string. */
    int rc = apply(e, &result);
    if (rc)
        goto done;
    if (yaml_tree_parse(&after, result.data, result.size, &why)) {
        rc = why.code == ERR_NOMEM ? err_set(e->err, ERR_NOMEM, "%s", why.msg) : refuse(e, why.msg);
        goto done;
    }
    say(&wanted, &e->tree, e->tree.root, e);
    say(&got, &after, after.root, NULL);
    if (after.documents > 1 || e->tree.documents > 1)
        rc = refuse(e, "there is more than one document");
    else if (wanted.failed || got.failed)
        rc = refuse(e, "the text says too much");
    else if (wanted.size != got.size || memcmp(wanted.data, got.data, got.size) != 0)
        rc = refuse(e, "something else would change with it");
    yaml_tree_close(&after);
    if (!rc) {
        Buf old = *text;
        *text = result;
        result = old;
    }
done:
    buf_free(&result);
    buf_free(&wanted);
    buf_free(&got);
    return rc;
}

/* Parses the text; close_edit is due only when this succeeds. */
static int begin(Edit *e, const Buf *text, const YamlPlace *at, Err *err)
{
    *e = (Edit){.map = -1, .key = -1, .section = at->section, .name = at->key, .err = err};
    return yaml_tree_parse(&e->tree, text->data, text->size, err);
}

static void close_edit(Edit *e)
{
    yaml_tree_close(&e->tree);
    free(e->splices);
    buf_free(&e->in);
}

/* ---- places ---- */

static size_t line_start(const Edit *e, size_t at)
{
    const char *s = e->tree.text;
    size_t bom = e->tree.size >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at > bom && s[at - 1] != '\n' && s[at - 1] != '\r')
        at--;
    return at;
}

static size_t line_end(const Edit *e, size_t at)
{
    while (at < e->tree.size && e->tree.text[at] != '\n' && e->tree.text[at] != '\r')
        at++;
    return at;
}

/* Behind the break that ends the line at `at` (an end of line). */
static size_t next_line(const Edit *e, size_t at)
{
    const char *s = e->tree.text;
    if (at + 1 < e->tree.size && s[at] == '\r' && s[at + 1] == '\n')
        return at + 2;
    return at < e->tree.size ? at + 1 : at;
}

/* The line end that the file uses. */
static const char *break_of(const Edit *e)
{
    size_t at = line_end(e, 0);
    if (at < e->tree.size && e->tree.text[at] == '\r')
        return at + 1 < e->tree.size && e->tree.text[at + 1] == '\n' ? "\r\n" : "\r";
    return "\n";
}

static int one_line(const Edit *e, size_t from, size_t to) { return line_end(e, from) >= to; }

/* Columns that a section's keys stand behind it: as in the first section that has any; else 2. */
static int indent_of(const Edit *e)
{
    const YamlTree *t = &e->tree;
    int root = t->root;
    if (root < 0 || t->nodes[root].kind != NODE_MAP)
        return 2;
    for (int k = t->nodes[root].first; k >= 0; k = t->nodes[t->nodes[k].next].next) {
        const YamlNode *v = value_of(e, k);
        if (v->kind == NODE_MAP && !v->flow && v->first >= 0 &&
            node(e, v->first)->column > node(e, k)->column)
            return node(e, v->first)->column - node(e, k)->column;
    }
    return 2;
}

/* Sets e->map and e->key of a place; the key stays -1 when it is not there, the map too when its section is
 * not. */
static void find(Edit *e, const YamlPlace *at)
{
    const YamlTree *t = &e->tree;
    int root = yaml_tree_resolve(t, t->root);
    if (root < 0 || t->nodes[root].kind != NODE_MAP)
        return;
    if (!at->section) {
        e->map = root;
        e->key = yaml_tree_find(t, root, at->key, at->line);
        return;
    }
    /* A section may be given twice; the first that has the key counts. */
    for (int k = t->nodes[root].first; k >= 0 && e->key < 0; k = t->nodes[t->nodes[k].next].next) {
        if (!yaml_tree_is(t, k, at->section))
            continue;
        int v = t->nodes[k].next;
        if (e->map < 0)
            e->map = v;
        int key = t->nodes[v].kind == NODE_MAP ? yaml_tree_find(t, v, at->key, at->line) : -1;
        if (key >= 0) {
            e->map = v;
            e->key = key;
        }
    }
}

/* ---- comments inside of a range that goes ---- */

/* 1 inside of a scalar, where '#' is no comment. */
static int in_leaf(const Edit *e, size_t at)
{
    for (size_t i = 0; i < e->tree.count; i++) {
        const YamlNode *n = node(e, (int)i);
        if (n->kind == NODE_SCALAR && at >= n->content && at < n->end)
            return 1;
    }
    return 0;
}

/* The next comment in [from, to), or `to`. */
static size_t find_comment(const Edit *e, size_t from, size_t to)
{
    const char *s = e->tree.text;
    for (size_t i = from; i < to; i++)
        if (s[i] == '#' && (i == 0 || strchr(" \t\r\n", s[i - 1])) && !in_leaf(e, i))
            return i;
    return to;
}

/* Comments of [from, to) get lines of their own below the line that `to` is in. */
static void keep_comments(Edit *e, size_t from, size_t to, int column)
{
    Buf lines = {0};
    for (size_t at = find_comment(e, from, to); at < to;) {
        size_t end = line_end(e, at);
        buf_printf(&lines, "%s%*s", break_of(e), column, "");
        buf_add(&lines, e->tree.text + at, end - at);
        at = find_comment(e, end, to);
    }
    if (lines.size)
        splice(e, line_end(e, to), line_end(e, to), lines.data, lines.size);
    e->in.failed |= lines.failed;
    buf_free(&lines);
}

/* ---- anchors ---- */

/* An anchor of node i is about to go with the bytes [from, to): the first alias elsewhere takes it over, with
 * the value. */
static int hand_over_anchor(Edit *e, int i, size_t from, size_t to)
{
    const YamlNode *n = node(e, i);
    if (!n->anchor || n->kind == NODE_ALIAS)
        return 0;
    int alias = yaml_tree_alias_of(&e->tree, i, from, to);
    if (alias < 0)
        return 0;
    int simple = (n->kind == NODE_SCALAR && n->quote != '|') ||
                 (n->flow && find_comment(e, n->content, n->end) == n->end);
    if (!simple || n->tag || !one_line(e, n->content, n->end))
        return refuse(e, "an alias names it, and it does not fit there");
    const YamlNode *a = node(e, alias);
    Buf in = {0};
    buf_printf(&in, "&%s ", n->anchor);
    buf_add(&in, e->tree.text + n->content, n->end - n->content);
    splice(e, a->start, a->end, in.data, in.size);
    e->in.failed |= in.failed;
    buf_free(&in);
    return 0;
}

static int inside(const Edit *e, int i, size_t from, size_t to)
{
    return node(e, i)->start >= from && node(e, i)->start < to;
}

/* Every anchor in [from, to). */
static int hand_over_all(Edit *e, size_t from, size_t to)
{
    for (size_t i = 0; i < e->tree.count; i++) {
        int rc = inside(e, (int)i, from, to) ? hand_over_anchor(e, (int)i, from, to) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- values ---- */

/* Every line from the one of `from` to the one of `to` becomes a comment, its sign at `column`. */
static void comment_lines(Edit *e, size_t from, size_t to, int column)
{
    for (size_t at = line_start(e, from);;) {
        size_t end = line_end(e, at), sign = at;
        while (sign < end && e->tree.text[sign] == ' ' && (int)(sign - at) < column)
            sign++;
        if (sign < end)
            insert(e, sign, "# ");
        if (end >= to || end >= e->tree.size)
            return;
        at = next_line(e, end);
    }
}

/* The new value in the quotes of the old one, where it is a plain word or number. */
static void splice_value(Edit *e, size_t start, size_t end, char quote, const char *value)
{
    Buf in = {0};
    int plain = *value && strcspn(value, "\"'\\[]{}#:,&*!|>%@`\n") == strlen(value);
    if ((quote == '"' || quote == '\'') && plain)
        buf_printf(&in, "%c%s%c", quote, value, quote);
    else
        buf_str(&in, value);
    splice(e, start, end, in.data, in.size);
    e->in.failed |= in.failed;
    buf_free(&in);
}

/* Behind the colon of a pair; 0 where there is none. */
static size_t behind_colon(const Edit *e, int key)
{
    size_t at = node(e, key)->end, limit = value_of(e, key)->start;
    while (at < limit && e->tree.text[at] != ':')
        at++;
    return at < limit && e->tree.text[at] == ':' ? at + 1 : 0;
}

/* `key:` without a value; the colon itself may be missing between brackets. */
static int replace_empty(Edit *e, int key, const YamlNode *v)
{
    Buf in = {0};
    size_t from = node(e, key)->end;
    int colon = v->content > from && memchr(e->tree.text + from, ':', v->content - from) != NULL;
    int blank = colon && e->tree.text[v->content - 1] == ' ';
    buf_printf(&in, "%s%s%s", colon ? "" : ":", blank ? "" : " ", e->value);
    splice(e, v->content, v->content, in.data, in.size);
    e->in.failed |= in.failed;
    buf_free(&in);
    return 0;
}

/* The value goes behind the colon, the old list becomes comment lines below. */
static int replace_block_list(Edit *e, int key, const YamlNode *v)
{
    size_t at = behind_colon(e, key);
    if (v->anchor || v->tag || !at || v->line <= node(e, key)->line || v->flow)
        return refuse(e, "its value is written in a way that a line cannot replace");
    Buf in = {0};
    buf_printf(&in, " %s", e->value);
    splice(e, at, at, in.data, in.size);
    e->in.failed |= in.failed;
    buf_free(&in);
    comment_lines(e, v->content, v->end, node(e, key)->column);
    return 0;
}

/* The text below the '|' goes; a comment behind the sign stays. */
static int replace_block_text(Edit *e, const YamlNode *v)
{
    size_t head = line_end(e, v->content), comment = v->content + 1;
    while (comment < head && !(e->tree.text[comment] == '#' && e->tree.text[comment - 1] == ' '))
        comment++;
    size_t stop = comment;
    while (stop > v->content && strchr(" \t", e->tree.text[stop - 1]))
        stop--;
    splice(e, v->content, stop, e->value, strlen(e->value));
    if (head < v->end)
        splice(e, head, v->end, "", 0);
    return 0;
}

/* Every way a value can be written has its own way to be replaced. */
static int replace_value(Edit *e)
{
    int id = node(e, e->key)->next, rc;
    const YamlNode *v = node(e, id);
    if (v->kind == NODE_ALIAS) {
        splice(e, v->start, v->end, e->value, strlen(e->value));
        return 0;
    }
    if (v->kind != NODE_SCALAR && !v->flow)
        return replace_block_list(e, e->key, v);
    size_t start = v->tag ? v->start : v->content;
    if (v->anchor && yaml_tree_alias_of(&e->tree, id, v->start, v->end) >= 0) {
        if ((rc = hand_over_anchor(e, id, v->start, v->end)))
            return rc;
        start = v->start;
    }
    if (v->kind == NODE_SCALAR && v->content == v->end && start == v->content)
        return replace_empty(e, e->key, v);
    if (v->quote == '|' && start == v->content)
        return replace_block_text(e, v);
    if (v->kind != NODE_SCALAR) {
        if ((rc = hand_over_all(e, v->content, v->end)))
            return rc;
        if (!node(e, e->map)->flow)
            keep_comments(e, v->content, v->end, node(e, e->key)->column);
        else if (find_comment(e, v->content, v->end) < v->end)
            return refuse(e, "a comment stands inside of its value");
    }
    splice_value(e, start, v->end, v->kind == NODE_SCALAR ? v->quote : 0, e->value);
    return 0;
}

/* ---- new pairs ---- */

/* The new pair as its surroundings are written: between brackets in one line, else indented. */
static void format_pair(Buf *out, const Edit *e, int column, int with_section, int flow)
{
    const char *b = break_of(e);
    if (flow && with_section)
        buf_printf(out, "%s: {%s: %s}", e->section, e->name, e->value);
    else if (with_section)
        buf_printf(out, "%*s%s:%s%*s%s: %s", column, "", e->section, b, column + indent_of(e), "", e->name,
                   e->value);
    else if (flow)
        buf_printf(out, "%s: %s", e->name, e->value);
    else
        buf_printf(out, "%*s%s: %s", column, "", e->name, e->value);
}

static int last_pair(const Edit *e, int map)
{
    int last = -1;
    for (int k = node(e, map)->first; k >= 0; k = node(e, node(e, k)->next)->next)
        last = k;
    return last;
}

static size_t pair_end(const Edit *e, int key)
{
    const YamlNode *k = node(e, key), *v = value_of(e, key);
    return v->end > k->end ? v->end : k->end;
}

/* Into a map that has brackets, or pairs. */
static int add_to_map(Edit *e, int map, int with_section)
{
    const YamlNode *m = node(e, map);
    int last = last_pair(e, map);
    Buf in = {0};
    if (m->flow) {
        buf_str(&in, last >= 0 ? ", " : "");
        format_pair(&in, e, 0, with_section, 1);
        size_t at = last >= 0 ? pair_end(e, last) : m->content + 1;
        splice(e, at, at, in.data, in.size);
    } else {
        size_t at = line_end(e, pair_end(e, last));
        buf_str(&in, break_of(e));
        format_pair(&in, e, node(e, m->first)->column, with_section, 0);
        splice(e, at, at, in.data, in.size);
    }
    e->in.failed |= in.failed;
    buf_free(&in);
    return 0;
}

/* 1 when a line of the text behind `at` ends the document. */
static int document_ends(const Edit *e, size_t at)
{
    for (at = line_end(e, at); at < e->tree.size; at = line_end(e, next_line(e, at))) {
        size_t next = next_line(e, at);
        if (e->tree.size - next >= 3 &&
            (memcmp(e->tree.text + next, "...", 3) == 0 || memcmp(e->tree.text + next, "---", 3) == 0))
            return 1;
        if (next >= e->tree.size)
            break;
    }
    return 0;
}

/* A section at the end of the file, whose last line may lack its break. */
static void append(Edit *e, int column)
{
    Buf in = {0};
    const char *s = e->tree.text;
    size_t n = e->tree.size, bom = n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    int whole = n == bom || s[n - 1] == '\n' || s[n - 1] == '\r';
    buf_str(&in, whole ? "" : break_of(e));
    format_pair(&in, e, column, 1, 0);
    buf_str(&in, whole ? break_of(e) : "");
    splice(e, n, n, in.data, in.size);
    e->in.failed |= in.failed;
    buf_free(&in);
}

/* A file without sections gets the first one; otherwise it goes behind the last, or before the mark that
 * ends the document. */
static int add_section(Edit *e)
{
    const YamlTree *t = &e->tree;
    int root = t->root;
    e->change = CHANGE_ADD_SECTION;
    e->map = root;
    if (root < 0 || node(e, root)->is_null) {
        if (root >= 0 && node(e, root)->content < node(e, root)->end)
            return refuse(e, "the file is the word null");
        append(e, 0);
        return 0;
    }
    const YamlNode *r = node(e, root);
    if (r->kind != NODE_MAP)
        return refuse(e, "the file does not hold sections");
    if (r->flow || document_ends(e, r->end))
        return add_to_map(e, root, 1);
    append(e, node(e, r->first)->column);
    return 0;
}

/* The section is there, without the key. */
static int add_pair(Edit *e)
{
    const YamlNode *m = node(e, e->map);
    e->change = CHANGE_ADD;
    if (m->kind == NODE_MAP)
        return add_to_map(e, e->map, 0);
    if (!m->is_null)
        return refuse(e, "its section does not hold keys of its own");
    int key = -1;
    for (int k = node(e, m->parent)->first; k >= 0; k = node(e, node(e, k)->next)->next)
        key = node(e, k)->next == e->map ? k : key;
    ASSERT(key >= 0);
    Buf in = {0};
    if (node(e, m->parent)->flow) {
        int colon = m->content > node(e, key)->end;
        buf_str(&in, !colon ? ": {" : e->tree.text[m->content - 1] == ' ' ? "{" : " {");
        format_pair(&in, e, 0, 0, 1);
        buf_str(&in, "}");
        splice(e, m->content, m->end, in.data, in.size);
    } else {
        if (m->end > m->content)
            splice(e, m->content, m->end, "", 0);
        size_t at = line_end(e, m->end);
        buf_str(&in, break_of(e));
        format_pair(&in, e, node(e, key)->column + indent_of(e), 0, 0);
        splice(e, at, at, in.data, in.size);
    }
    e->in.failed |= in.failed;
    buf_free(&in);
    return 0;
}

/* ---- the functions of the header ---- */

/* The pair, else its section, else the file grows. */
int yaml_edit_set(Buf *text, const YamlPlace *at, const char *value, Err *err)
{
    Edit e;
    int rc = begin(&e, text, at, err);
    if (rc)
        return rc;
    e.value = value;
    find(&e, at);
    e.change = CHANGE_VALUE;
    if (e.key >= 0)
        rc = replace_value(&e);
    else if (!at->section || at->line > 0)
        rc = refuse(&e, "there is no such key");
    else if (e.map >= 0)
        rc = add_pair(&e);
    else
        rc = add_section(&e);
    if (!rc)
        rc = finish(&e, text);
    close_edit(&e);
    return rc;
}

int yaml_edit_rename(Buf *text, const YamlPlace *at, const char *key, Err *err)
{
    Edit e;
    int rc = begin(&e, text, at, err);
    if (rc)
        return rc;
    find(&e, at);
    e.change = CHANGE_KEY;
    if (e.key < 0)
        rc = refuse(&e, "there is no such key");
    else if (node(&e, e.key)->kind != NODE_SCALAR || node(&e, e.key)->quote == '|')
        rc = refuse(&e, "the key is not a plain word");
    else {
        const YamlNode *k = node(&e, e.key);
        splice_value(&e, k->content, k->end, k->quote, key);
        e.name = key;
        rc = finish(&e, text);
    }
    close_edit(&e);
    return rc;
}

/* Between brackets: the pair and one comma. */
static int take_out(Edit *e)
{
    int before = -1;
    for (int k = node(e, e->map)->first; k != e->key; k = node(e, node(e, k)->next)->next)
        before = k;
    size_t from = node(e, e->key)->start, to = pair_end(e, e->key), comma, limit;
    if (find_comment(e, from, to) < to)
        return refuse(e, "a comment stands inside of it");
    /* The comma behind the pair goes with it; the last pair takes the one before it. */
    int next = value_of(e, e->key)->next;
    if (next >= 0) {
        comma = to;
        limit = node(e, next)->start;
    } else if (before >= 0) {
        comma = pair_end(e, before);
        limit = from;
    } else {
        comma = to;
        limit = node(e, e->map)->end;
    }
    while (comma < limit && e->tree.text[comma] != ',')
        comma = e->tree.text[comma] == '#' ? line_end(e, comma) : comma + 1;
    if (comma < limit && comma == to) /* "b: 2, " goes as one piece */
        to += 1 + (to + 1 < limit && e->tree.text[to + 1] == ' ');
    else if (comma < limit)
        splice(e, comma, comma + 1 + (comma + 1 == from - 1), "", 0);
    splice(e, from, to, "", 0);
    return hand_over_all(e, from, to);
}

int yaml_edit_comment_out(Buf *text, const YamlPlace *at, Err *err)
{
    Edit e;
    int rc = begin(&e, text, at, err);
    if (rc)
        return rc;
    find(&e, at);
    e.change = CHANGE_REMOVE;
    if (e.key < 0)
        rc = refuse(&e, "there is no such key");
    else if (node(&e, e.map)->flow)
        rc = take_out(&e);
    else {
        const YamlNode *k = node(&e, e.key);
        size_t from = line_start(&e, k->start), to = line_end(&e, pair_end(&e, e.key));
        /* `- a: 1` or `{` before the key: a comment sign would hide that too. */
        if (strspn(e.tree.text + from, " ") < k->start - from)
            rc = refuse(&e, "something else stands in its line");
        else if (!(rc = hand_over_all(&e, from, to)))
            comment_lines(&e, from, to, k->column);
    }
    if (!rc)
        rc = finish(&e, text);
    close_edit(&e);
    return rc;
}

/* Two blanks for a tab; whether that is what was meant, the parser says. */
int yaml_edit_tabs(Buf *text)
{
    Buf out = {0};
    int lines = 0, counted = 0, leading = 1;
    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];
        if (leading && c == '\t') {
            buf_str(&out, "  ");
            lines += !counted;
            counted = 1;
            continue;
        }
        leading = c == '\n' || c == '\r' || (leading && c == ' ');
        counted = counted && leading && c == ' ';
        buf_add(&out, &c, 1);
    }
    if (out.failed) {
        buf_free(&out);
        return ERR_NOMEM;
    }
    Buf old = *text;
    *text = out;
    buf_free(&old);
    return lines;
}
