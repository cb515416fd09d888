/* yaml_edit.c - see yaml_edit.h. An edit is a list of splices: bytes to cut out and bytes to put in their
 * place. They are applied to a copy, which replaces the text only if its values are the expected ones.
 *
 * To compare values, describe() turns a tree into one canonical string: once for the new text, and once for
 * the old tree with the change applied. The two strings must be equal. */
#include "config/yaml_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "config/yaml_json.h"
#include "config/yaml_tree.h"

typedef struct Splice {
    size_t start, end; /* bytes of the old text to cut out */
    size_t from, n;    /* bytes of Edit.in to put there */
} Splice;

/* How the one pair changes; all others must keep their values. */
typedef enum { CHANGE_VALUE, CHANGE_KEY, CHANGE_ADD, CHANGE_ADD_SECTION, CHANGE_REMOVE } ChangeKind;

typedef struct Edit {
    YamlTree tree;   /* of the old text */
    Splice *splices; /* [count], of cap */
    size_t count, cap;
    Buf in; /* the new bytes of all splices */
    ChangeKind change;
    int map;                            /* node of the map that changes; -1: an empty document */
    int key;                            /* node of the key whose pair changes; -1: none */
    const char *section, *name, *value; /* of the pair after the change */
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

/* Plans a change. Out of memory is remembered in e->in.failed, which `apply` checks. */
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

/* Orders splices by start; those with the same start, by the order in which they were planned. */
static int compare_splices(const void *a, const void *b)
{
    const Splice *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Writes the old text with all splices applied to out. Splices must not overlap. */
static int apply(Edit *e, Buf *out)
{
    size_t at = 0;
    if (e->count)
        qsort(e->splices, e->count, sizeof *e->splices, compare_splices);
    for (size_t i = 0; i < e->count; i++) {
        const Splice *s = &e->splices[i];
        if (s->start < at)
            return refuse(e, "two changes affect the same place");
        buf_add(out, e->tree.text + at, s->start - at);
        buf_add(out, e->in.data + s->from, s->n);
        at = s->end;
    }
    buf_add(out, e->tree.text + at, e->tree.size - at);
    return out->failed || e->in.failed ? err_set(e->err, ERR_NOMEM, "out of memory for a YAML text") : 0;
}

/* ---- a tree as one canonical string ---- */

/* 8 MiB, since aliases of aliases can expand to more than memory holds. */
#define MAX_DESCRIPTION ((size_t)1 << 23)

static void describe(Buf *out, const YamlTree *t, int i, const Edit *e);

/* Appends the description of a value that is given as YAML. */
static void describe_value(Buf *out, const char *value)
{
    YamlTree t;
    Err err = {0};
    if (yaml_tree_parse(&t, value, strlen(value), &err)) {
        out->failed |= err.code == ERR_NOMEM;
        buf_str(out, "?"); /* differs from every description of a tree */
        return;
    }
    describe(out, &t, t.root, NULL);
    yaml_tree_close(&t);
}

/* Appends the scalar with its length, so that different scalars have different descriptions. */
static void describe_text(Buf *out, const char *s, size_t n, const char *tag)
{
    buf_printf(out, "s%zu:", n);
    buf_add(out, s, n);
    if (tag)
        buf_printf(out, "!%zu:%s", strlen(tag), tag);
}

/* Appends the pairs in order, with the change of the edit if this is the map that it changes. */
static void describe_map(Buf *out, const YamlTree *t, int i, const Edit *e)
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
            describe_text(out, e->name, strlen(e->name), NULL);
        else
            describe(out, t, k, e);
        if (own && e->change == CHANGE_VALUE)
            describe_value(out, e->value);
        else
            describe(out, t, v, e);
    }
    if (changes && (e->change == CHANGE_ADD || e->change == CHANGE_ADD_SECTION)) {
        pairs++;
        if (e->change == CHANGE_ADD_SECTION) {
            describe_text(out, e->section, strlen(e->section), NULL);
            buf_str(out, "{");
        }
        describe_text(out, e->name, strlen(e->name), NULL);
        describe_value(out, e->value);
        if (e->change == CHANGE_ADD_SECTION)
            buf_str(out, "}");
    }
    buf_str(out, "}");
    if (pairs == 0 && !out->failed) { /* an empty map counts as no value */
        out->size = at;
        buf_str(out, "n");
    }
}

/* Appends the description of node i. With an edit `e`, of the node as the edit should leave it; the values
 * that aliases refer to keep their old form. */
static void describe(Buf *out, const YamlTree *t, int i, const Edit *e)
{
    if (out->size > MAX_DESCRIPTION)
        out->failed = 1;
    if (out->failed)
        return;
    int add_to_nothing = e && e->map == i && (e->change == CHANGE_ADD || e->change == CHANGE_ADD_SECTION);
    if (i < 0 || (t->nodes[i].kind == NODE_SCALAR && t->nodes[i].is_null)) {
        if (!add_to_nothing) {
            buf_str(out, "n");
            return;
        }
        /* A pair is added where there was no value: describe it as added to an empty map. */
        YamlTree nothing = {.nodes = &(YamlNode){.kind = NODE_MAP, .first = -1, .next = -1}, .count = 1};
        Edit same = *e;
        same.map = 0;
        same.key = -1;
        describe_map(out, &nothing, 0, &same);
        return;
    }
    const YamlNode *n = &t->nodes[i];
    if (n->kind == NODE_ALIAS) {
        describe(out, t, n->target, NULL);
    } else if (n->kind == NODE_SCALAR) {
        describe_text(out, n->value, n->size, n->tag);
    } else if (n->kind == NODE_MAP) {
        describe_map(out, t, i, e);
    } else {
        buf_str(out, "[");
        for (int c = n->first; c >= 0; c = t->nodes[c].next)
            describe(out, t, c, e);
        buf_str(out, "]");
    }
}

/* Applies the splices. The text is replaced only if the result has exactly the expected values. */
static int finish(Edit *e, Buf *text)
{
    Buf result = {0}, wanted = {0}, got = {0};
    YamlTree after;
    Err why = {0};
    int rc = apply(e, &result);
    if (rc)
        goto done;
    if (yaml_tree_parse(&after, result.data, result.size, &why)) {
        rc = why.code == ERR_NOMEM ? err_set(e->err, ERR_NOMEM, "%s", why.msg) : refuse(e, why.msg);
        goto done;
    }
    describe(&wanted, &e->tree, e->tree.root, e);
    describe(&got, &after, after.root, NULL);
    if (after.documents > 1 || e->tree.documents > 1)
        rc = refuse(e, "there is more than one document");
    else if (wanted.failed || got.failed)
        rc = refuse(e, "the new text holds more than one value");
    else if (wanted.size != got.size || memcmp(wanted.data, got.data, got.size) != 0)
        rc = refuse(e, "the edit would change something else too");
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

/* Parses the text. Only if it succeeds, close_edit must be called. */
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

/* Start of the line after the line break at `at`. */
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

/* Columns by which the keys of a section are indented: as in the first section that has keys, otherwise 2. */
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

/* Sets e->map and e->key to the pair at `at`. If there is no such key, e->key stays -1; if its section is
 * missing too, so does e->map. */
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
    /* A section may occur twice; the first that has the key is taken. */
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

/* ---- comments inside a range that is cut out ---- */

/* 1 if the byte is inside a scalar, where '#' does not begin a comment. */
static int in_scalar(const Edit *e, size_t at)
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
        if (s[i] == '#' && (i == 0 || strchr(" \t\r\n", s[i - 1])) && !in_scalar(e, i))
            return i;
    return to;
}

/* Moves the comments of [from, to) to separate lines, below the line of `to`. */
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

/* Called when the anchor of node i is about to be cut out with the bytes [from, to). Replaces the first alias
 * outside of that range by the anchor and its value. */
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
        return refuse(e, "an alias refers to it, and the new value does not fit there");
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

/* hand_over_anchor for every anchor in [from, to). */
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

/* Comments out every line from the one of `from` to the one of `to`, with the '#' in `column`. */
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

/* Replaces [start, end) by the value, in the quotes of the old one if it is a plain word or number. */
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

/* The byte after the colon of a pair; 0 if there is no colon. */
static size_t after_colon(const Edit *e, int key)
{
    size_t at = node(e, key)->end, limit = value_of(e, key)->start;
    while (at < limit && e->tree.text[at] != ':')
        at++;
    return at < limit && e->tree.text[at] == ':' ? at + 1 : 0;
}

/* Gives a `key:` without a value a value. In a flow mapping even the colon may be missing. */
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

/* Puts the value after the colon and comments out the old list below it. */
static int replace_block_list(Edit *e, int key, const YamlNode *v)
{
    size_t at = after_colon(e, key);
    if (v->anchor || v->tag || !at || v->line <= node(e, key)->line || v->flow)
        return refuse(e, "its value is written in a way that cannot be replaced by one line");
    Buf in = {0};
    buf_printf(&in, " %s", e->value);
    splice(e, at, at, in.data, in.size);
    e->in.failed |= in.failed;
    buf_free(&in);
    comment_lines(e, v->content, v->end, node(e, key)->column);
    return 0;
}

/* Replaces a block scalar: its lines are removed, a comment after the '|' stays. */
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

/* Each way of writing a value needs its own way of replacing it. */
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
            return refuse(e, "there is a comment inside its value");
    }
    splice_value(e, start, v->end, v->kind == NODE_SCALAR ? v->quote : 0, e->value);
    return 0;
}

/* ---- new pairs ---- */

/* A flow mapping with a key in double quotes is taken for JSON, and stays JSON. */
static int is_json(const Edit *e)
{
    const YamlNode *root = e->tree.root >= 0 ? node(e, e->tree.root) : NULL;
    return root && root->kind == NODE_MAP && root->flow && root->first >= 0 &&
           node(e, root->first)->quote == '"';
}

/* Formats the new pair: on one line in a flow mapping, otherwise indented by `column`. */
static void format_pair(Buf *out, const Edit *e, int column, int with_section, int flow)
{
    const char *b = break_of(e), *q = is_json(e) ? "\"" : "";
    if (flow && with_section)
        buf_printf(out, "%s%s%s: {%s%s%s: %s}", q, e->section, q, q, e->name, q, e->value);
    else if (with_section)
        buf_printf(out, "%*s%s:%s%*s%s: %s", column, "", e->section, b, column + indent_of(e), "", e->name,
                   e->value);
    else if (flow)
        buf_printf(out, "%s%s%s: %s", q, e->name, q, e->value);
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

/* Adds the pair to a map that is a flow mapping or has at least one pair. */
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

/* 1 if a line after `at` ends the document ("..." or "---"). */
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

/* Adds the section at the end of the file, whose last line may lack its line break. */
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

/* Adds the section after the last one, before a marker that ends the document. */
static int add_section(Edit *e)
{
    const YamlTree *t = &e->tree;
    int root = t->root;
    e->change = CHANGE_ADD_SECTION;
    e->map = root;
    if (root < 0 || node(e, root)->is_null) {
        if (root >= 0 && node(e, root)->content < node(e, root)->end)
            return refuse(e, "the file holds only the word null");
        append(e, 0);
        return 0;
    }
    const YamlNode *r = node(e, root);
    if (r->kind != NODE_MAP)
        return refuse(e, "the file has no sections");
    if (r->flow || document_ends(e, r->end))
        return add_to_map(e, root, 1);
    append(e, node(e, r->first)->column);
    return 0;
}

/* Adds the pair to its section, which exists. */
static int add_pair(Edit *e)
{
    const YamlNode *m = node(e, e->map);
    e->change = CHANGE_ADD;
    if (m->kind == NODE_MAP)
        return add_to_map(e, e->map, 0);
    if (!m->is_null)
        return refuse(e, "its section does not contain keys");
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

int yaml_edit_set(Buf *text, const YamlPlace *at, const char *value, Err *err)
{
    Edit e;
    int rc = begin(&e, text, at, err);
    if (rc)
        return rc;
    Buf json = {0};
    if (is_json(&e))
        yaml_put_json(&json, value);
    e.value = json.size ? json.data : value;
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
    buf_free(&json);
    return rc;
}

int yaml_edit_rename(Buf *text, const YamlPlace *at, const char *new_key, Err *err)
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
        splice_value(&e, k->content, k->end, k->quote, new_key);
        e.name = new_key;
        rc = finish(&e, text);
    }
    close_edit(&e);
    return rc;
}

/* Removes the pair and one comma from a flow mapping. */
static int remove_from_flow(Edit *e)
{
    int before = -1;
    for (int k = node(e, e->map)->first; k != e->key; k = node(e, node(e, k)->next)->next)
        before = k;
    size_t from = node(e, e->key)->start, to = pair_end(e, e->key), comma, limit;
    if (find_comment(e, from, to) < to)
        return refuse(e, "there is a comment inside it");
    /* The comma to remove is the one after the pair or, for the last pair, the one before it. */
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
    if (comma < limit && comma == to) /* "b: 2, " is removed in one piece */
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
        rc = remove_from_flow(&e);
    else {
        const YamlNode *k = node(&e, e.key);
        size_t from = line_start(&e, k->start), to = line_end(&e, pair_end(&e, e.key));
        /* A '#' would also hide what is before the key in its line, such as `- ` or `{`. */
        if (strspn(e.tree.text + from, " ") < k->start - from)
            rc = refuse(&e, "there is something else in its line");
        else if (!(rc = hand_over_all(&e, from, to)))
            comment_lines(&e, from, to, k->column);
    }
    if (!rc)
        rc = finish(&e, text);
    close_edit(&e);
    return rc;
}

int yaml_edit_expand_tabs(Buf *text)
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
