/* yaml_tree.c - see yaml_tree.h. libyaml reports the position of each event in characters; the tree needs
 * bytes. */
#include "config/yaml_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"
#include "base/utf8.h"

typedef struct Reader {
    YamlTree *t;
    uint32_t *bytes; /* [characters + 1] byte offset of each character */
    size_t characters;
    int open[YAML_TREE_DEPTH], last[YAML_TREE_DEPTH]; /* collections being read, and the last child of each */
    int depth;
    Err *err;
} Reader;

static int no_memory(Err *err) { return err_set(err, ERR_NOMEM, "out of memory for a YAML text"); }

/* libyaml skips a mark at the very beginning without counting it. */
static int map_characters(Reader *r)
{
    const unsigned char *s = (const unsigned char *)r->t->text;
    size_t n = r->t->size, i = n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    r->bytes = mem_calloc(n + 2, sizeof *r->bytes);
    if (!r->bytes)
        return no_memory(r->err);
    for (; i < n; i++)
        if (!utf8_continues((char)s[i]))
            r->bytes[r->characters++] = (uint32_t)i;
    r->bytes[r->characters] = (uint32_t)n;
    return 0;
}

static size_t byte_of(const Reader *r, const yaml_mark_t *m)
{
    return r->bytes[m->index < r->characters ? m->index : r->characters];
}

/* Behind anchor and tag, and the blanks, breaks and comments that follow them. */
static size_t skip_properties(const YamlTree *t, size_t at, size_t limit)
{
    while (at < limit && (t->text[at] == '&' || t->text[at] == '!')) {
        while (at < limit && !strchr(" \t\r\n", t->text[at]))
            at++;
        while (at < limit && strchr(" \t\r\n#", t->text[at]))
            if (t->text[at] == '#')
                while (at < limit && t->text[at] != '\n' && t->text[at] != '\r')
                    at++;
            else
                at++;
    }
    return at;
}

/* What YAML calls null. */
static int is_null_text(const char *s)
{
    return !*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0 || strcmp(s, "Null") == 0 ||
           strcmp(s, "NULL") == 0;
}

static const char *copy(Reader *r, const void *s, size_t n) { return block_strndup(&r->t->strings, s, n); }

/* Appends a node under the collection being read; its number, or a negative code. */
static int add_node(Reader *r, NodeKind kind, const yaml_event_t *e, const yaml_char_t *anchor,
                    const yaml_char_t *tag)
{
    YamlTree *t = r->t;
    if (mem_grow(&t->nodes, &t->cap, t->count + 1, sizeof *t->nodes))
        return no_memory(r->err);
    int id = (int)t->count;
    YamlNode *n = &t->nodes[t->count++];
    *n = (YamlNode){.kind = kind, .parent = -1, .first = -1, .next = -1, .target = -1};
    n->start = n->content = byte_of(r, &e->start_mark);
    n->end = byte_of(r, &e->end_mark);
    n->line = (int)e->start_mark.line + 1;
    n->column = (int)e->start_mark.column;
    if (anchor && !(n->anchor = copy(r, anchor, strlen((const char *)anchor))))
        return no_memory(r->err);
    if (tag && !(n->tag = copy(r, tag, strlen((const char *)tag))))
        return no_memory(r->err);
    /* Outside of everything: the root. Otherwise the node becomes the last child of the collection that is
     * open. */
    if (r->depth == 0) {
        t->root = id;
        return id;
    }
    int parent = r->open[r->depth - 1], *last = &r->last[r->depth - 1];
    n->parent = parent;
    if (*last < 0)
        t->nodes[parent].first = id;
    else
        t->nodes[*last].next = id;
    *last = id;
    return id;
}

/* The text as YAML reads it, and where and how it is written. */
static int add_scalar(Reader *r, const yaml_event_t *e)
{
    int id = add_node(r, NODE_SCALAR, e, e->data.scalar.anchor, e->data.scalar.tag);
    if (id < 0)
        return id;
    YamlNode *n = &r->t->nodes[id];
    n->size = e->data.scalar.length;
    n->value = copy(r, e->data.scalar.value, n->size);
    if (!n->value)
        return no_memory(r->err);
    /* The quote tells an editor how to write a new value; '|' stands for both kinds of block text. */
    yaml_scalar_style_t style = e->data.scalar.style;
    n->quote = style == YAML_SINGLE_QUOTED_SCALAR_STYLE                                  ? '\''
               : style == YAML_DOUBLE_QUOTED_SCALAR_STYLE                                ? '"'
               : style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE ? '|'
                                                                                         : 0;
    n->is_null = n->quote == 0 && strlen(n->value) == n->size && is_null_text(n->value);
    if (n->anchor || n->tag)
        n->content = skip_properties(r->t, n->start, n->end);
    if (n->quote == '|') /* the mark is at the beginning of a later line */
        while (n->end > n->content + 1 && strchr(" \t\r\n", r->t->text[n->end - 1]))
            n->end--;
    return 0;
}

/* The alias names the last anchor of that name before it. */
static int add_alias(Reader *r, const yaml_event_t *e)
{
    int id = add_node(r, NODE_ALIAS, e, e->data.alias.anchor, NULL);
    if (id < 0)
        return id;
    YamlTree *t = r->t;
    for (int i = id - 1; i >= 0 && t->nodes[id].target < 0; i--)
        if (t->nodes[i].kind != NODE_ALIAS && t->nodes[i].anchor &&
            strcmp(t->nodes[i].anchor, t->nodes[id].anchor) == 0)
            t->nodes[id].target = i;
    /* An alias inside the value it refers to would be infinite. */
    int target = t->nodes[id].target;
    for (int up = t->nodes[id].parent; up >= 0; up = t->nodes[up].parent)
        if (up == target)
            return err_set(r->err, ERR_CONFIG, "line %d: the alias *%s is inside the value it refers to",
                           t->nodes[id].line, t->nodes[id].anchor);
    return target >= 0 ? 0
                       : err_set(r->err, ERR_CONFIG, "line %d: there is no anchor &%s before this line",
                                 t->nodes[id].line, t->nodes[id].anchor);
}

/* Children that follow belong to it until close_collection. */
static int open_collection(Reader *r, NodeKind kind, const yaml_event_t *e)
{
    int map = kind == NODE_MAP;
    int id = add_node(r, kind, e, map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor,
                      map ? e->data.mapping_start.tag : e->data.sequence_start.tag);
    if (id < 0)
        return id;
    YamlNode *n = &r->t->nodes[id];
    n->flow = map ? e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                  : e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    if (n->anchor || n->tag)
        n->content = skip_properties(r->t, n->start, r->t->size);
    if (r->depth == YAML_TREE_DEPTH)
        return err_set(r->err, ERR_CONFIG, "line %d: nested more than %d levels deep", n->line,
                       YAML_TREE_DEPTH);
    r->open[r->depth] = id;
    r->last[r->depth++] = -1;
    return 0;
}

/* A block collection ends with its last child; libyaml's end is after the comments that follow. */
static void close_collection(Reader *r, const yaml_event_t *e)
{
    ASSERT(r->depth > 0);
    YamlNode *n = &r->t->nodes[r->open[--r->depth]];
    int last = r->last[r->depth];
    if (n->flow)
        n->end = byte_of(r, &e->end_mark);
    else
        n->end = last >= 0 ? r->t->nodes[last].end : n->content;
}

/* One event of libyaml becomes a node, or opens or closes a collection. */
static int take_event(Reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(r, e);
    case YAML_ALIAS_EVENT:
        return add_alias(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(r, NODE_LIST, e);
    case YAML_MAPPING_START_EVENT:
        return open_collection(r, NODE_MAP, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(r, e);
        return 0;
    default:
        return 0;
    }
}

/* Only the first document makes the tree; the others are counted. */
static int read_events(Reader *r, yaml_parser_t *parser)
{
    for (int rc = 0, done = 0; !done;) {
        yaml_event_t e;
        if (!yaml_parser_parse(parser, &e)) {
            if (parser->error == YAML_MEMORY_ERROR || !parser->problem)
                return no_memory(r->err);
            return err_set(r->err, ERR_CONFIG, "line %d: not valid YAML: %s",
                           (int)parser->problem_mark.line + 1, parser->problem);
        }
        done = e.type == YAML_STREAM_END_EVENT;
        r->t->documents += e.type == YAML_DOCUMENT_START_EVENT;
        if (e.type == YAML_DOCUMENT_START_EVENT && r->t->documents == 2)
            r->t->second_line = (int)e.start_mark.line + 1;
        if (r->t->documents <= 1)
            rc = take_event(r, &e);
        yaml_event_delete(&e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- limits ---- */

typedef struct Load {
    int depth, anchors, aliases;
} Load;

static int has_anchor(const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return e->data.scalar.anchor != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return e->data.sequence_start.anchor != NULL;
    case YAML_MAPPING_START_EVENT:
        return e->data.mapping_start.anchor != NULL;
    default:
        return 0;
    }
}

/* Events come a thousand characters behind the text at most, so that the depth is seen before it hurts. */
static int count_event(Load *load, const yaml_event_t *e, const char *name, Err *err)
{
    char place[32];
    snprintf(place, sizeof place, "%s%d", name ? "" : "line ", (int)e->start_mark.line + 1);
    load->depth += e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT;
    load->depth -= e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT;
    load->anchors += has_anchor(e);
    load->aliases += e->type == YAML_ALIAS_EVENT;
    if (load->depth > YAML_TREE_DEPTH)
        return err_set(err, ERR_CONFIG, "%s%s%s: nested more than %d levels deep", name ? name : "",
                       name ? ":" : "", place, YAML_TREE_DEPTH);
    if (load->anchors > YAML_MAX_NAMES || load->aliases > YAML_MAX_NAMES)
        return err_set(err, ERR_CONFIG, "%s%s%s: more than %d anchors or aliases", name ? name : "",
                       name ? ":" : "", place, YAML_MAX_NAMES);
    return 0;
}

int yaml_check_limits(const char *name, const char *text, size_t size, Err *err)
{
    yaml_parser_t parser;
    Load load = {0};
    int rc = 0, done = 0;
    if (!yaml_parser_initialize(&parser))
        return no_memory(err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    while (!done && !rc) {
        yaml_event_t e;
        if (!yaml_parser_parse(&parser, &e))
            break;
        done = e.type == YAML_STREAM_END_EVENT;
        rc = count_event(&load, &e, name, err);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&parser);
    return rc;
}

/* ---- the tree ---- */

/* libyaml gives places in characters; map_characters turns them into bytes. */
int yaml_tree_parse(YamlTree *t, const char *text, size_t size, Err *err)
{
    Reader r = {.t = t, .err = err};
    yaml_parser_t parser;
    *t = (YamlTree){.text = size ? text : "", .size = size, .root = -1};
    /* Offsets are bytes of UTF-8; what loads in another encoding can still not be edited. */
    if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return err_set(err, ERR_CONFIG, "the text is UTF-16, but only UTF-8 can be edited");
    if (size > UINT32_MAX / 2)
        return err_set(err, ERR_CONFIG, "a YAML text of %zu bytes is too long", size);
    int rc = yaml_check_limits(NULL, t->text, size, err);
    if (!rc)
        rc = map_characters(&r);
    if (!rc && !yaml_parser_initialize(&parser))
        rc = no_memory(err);
    else if (!rc) {
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        size_t bom =
            size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* a set encoding is not looked for */
        yaml_parser_set_input_string(&parser, (const unsigned char *)t->text + bom, size - bom);
        rc = read_events(&r, &parser);
        yaml_parser_delete(&parser);
    }
    free(r.bytes);
    if (rc)
        yaml_tree_close(t);
    return rc;
}

void yaml_tree_close(YamlTree *t)
{
    free(t->nodes);
    block_free(&t->strings);
    *t = (YamlTree){.root = -1};
}

int yaml_tree_resolve(const YamlTree *t, int node)
{
    return node >= 0 && t->nodes[node].kind == NODE_ALIAS ? t->nodes[node].target : node;
}

int yaml_tree_is(const YamlTree *t, int node, const char *text)
{
    const YamlNode *n = node >= 0 ? &t->nodes[yaml_tree_resolve(t, node)] : NULL;
    return n && n->kind == NODE_SCALAR && n->size == strlen(text) && memcmp(n->value, text, n->size) == 0;
}

int yaml_tree_find(const YamlTree *t, int map, const char *key, int line)
{
    map = yaml_tree_resolve(t, map);
    if (map < 0 || t->nodes[map].kind != NODE_MAP)
        return -1;
    int found = -1;
    /* Without a line the first one counts, with a line the last one in it. */
    for (int k = t->nodes[map].first; k >= 0 && (found < 0 || line > 0); k = t->nodes[t->nodes[k].next].next)
        if (yaml_tree_is(t, k, key) && (line <= 0 || t->nodes[k].line == line))
            found = k;
    return found;
}

int yaml_tree_alias_of(const YamlTree *t, int node, size_t from, size_t to)
{
    for (size_t i = 0; i < t->count; i++) {
        const YamlNode *n = &t->nodes[i];
        if (n->kind == NODE_ALIAS && n->target == node && (n->start < from || n->start >= to))
            return (int)i;
    }
    return -1;
}
