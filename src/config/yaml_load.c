/* yaml_load.c - sets options from a YAML text, with the line of every value. libyaml composes the document
 * (including anchors and aliases); the code below expects exactly two levels: sections, then keys. */
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"
#include "config/option_table.h"
#include "config/yaml_tree.h"

/* ---- values ---- */

typedef struct Walk {
    Config *cfg;
    yaml_document_t *document;
    const char *file;
    Err *err;
} Walk;

static int line_of(const yaml_node_t *node) { return (int)node->start_mark.line + 1; }

/* What a message calls a node. */
static const char *kind_of(const yaml_node_t *node)
{
    return node->type == YAML_MAPPING_NODE    ? "a mapping"
           : node->type == YAML_SEQUENCE_NODE ? "a list"
                                              : "a single value";
}

/* A plain nothing, ~ or null; in quotes they are texts. */
static int is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return 0;
    const char *s = (const char *)node->data.scalar.value;
    return !*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0 || strcmp(s, "Null") == 0 ||
           strcmp(s, "NULL") == 0;
}

/* The text of a scalar, or NULL with the error set: other node, tag that is not one of YAML's own, NUL
 * inside. */
static const char *scalar_text(Walk *w, const yaml_node_t *node, const char *what, int line)
{
    char quoted[100];
    if (node->type != YAML_SCALAR_NODE) {
        err_set(w->err, ERR_CONFIG, "%s:%d: %s is %s, but must be a single value", w->file, line, what,
                kind_of(node));
        return NULL;
    }
    const char *tag = (const char *)node->tag, *text = (const char *)node->data.scalar.value;
    if (tag && strncmp(tag, "tag:yaml.org,2002:", 18) != 0) {
        option_quote(quoted, sizeof quoted, tag);
        err_set(w->err, ERR_CONFIG, "%s:%d: %s has the tag %s, which is not supported", w->file, line, what,
                quoted);
        return NULL;
    }
    if (strlen(text) != node->data.scalar.length) {
        err_set(w->err, ERR_CONFIG, "%s:%d: the text of %s contains a NUL byte", w->file, line, what);
        return NULL;
    }
    return text;
}

/* The value of a key as texts: one, or the items of a list. */
static int read_value(Walk *w, RawValue *raw, const Option *o, const yaml_node_t *node, int line)
{
    char what[100];
    *raw = (RawValue){0};
    if (is_null(node)) {
        err_set(w->err, ERR_CONFIG, "%s:%d: %s has no value", w->file, line, o->key);
        return err_hint(w->err, o->type == OPT_STRING
                                    ? "write \"\" for an empty text, or remove the key to get its default"
                                    : "write a value after the colon, or remove the key to get its default");
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        raw->count = 1;
        raw->items[0] = scalar_text(w, node, o->key, line);
        return raw->items[0] ? 0 : ERR_CONFIG;
    }
    raw->is_list = 1;
    /* Items are named by their position, so that a long list can be mended. */
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(w->document, *i);
        ASSERT(item);
        if (raw->count == CONFIG_MAX_LIST)
            return err_set(w->err, ERR_CONFIG, "%s:%d: %s has more than %d items", w->file, line_of(item),
                           o->key, CONFIG_MAX_LIST);
        snprintf(what, sizeof what, "item %d of %s", raw->count + 1, o->key);
        if (is_null(item))
            return err_set(w->err, ERR_CONFIG, "%s:%d: %s has no value", w->file, line_of(item), what);
        raw->items[raw->count] = scalar_text(w, item, what, line_of(item));
        if (!raw->items[raw->count++])
            return ERR_CONFIG;
    }
    return 0;
}

/* Suggests the nearest key, with its section where that is another one. */
static int unknown_key(Walk *w, const char *key, const char *section, int line)
{
    char quoted[100];
    option_quote(quoted, sizeof quoted, key);
    err_set(w->err, ERR_CONFIG, "%s:%d: unknown key %s in section %s", w->file, line, quoted, section);
    const char *nearest = config_nearest_key(key, NULL);
    if (!nearest)
        return err_hint(w->err, "`myxtts config` lists every key");
    const Option *o = &option_table[option_find(nearest, strlen(nearest))];
    if (option_in_section(o, section))
        return err_hint(w->err, "did you mean '%s'?", nearest);
    return err_hint(w->err, "did you mean '%s' of section %s?", nearest, o->section);
}

/* A key given before under another name or in another section must say the same. */
static int check_repeated(Walk *w, const Option *o, const RawValue *raw, int line, int line_before)
{
    Config other = {0};
    Block strings = {0};
    Buf before = {0}, after = {0};
    int rc = option_set(o, &other, &strings, raw, w->err);
    if (rc) {
        err_prefix(w->err, "%s:%d", w->file, line);
    } else {
        /* Compared as they would be written: 1e-3 and 0.001 are the same. */
        option_format(&before, o, w->cfg);
        option_format(&after, o, &other);
        if (before.failed || after.failed) {
            rc = err_set(w->err, ERR_NOMEM, "out of memory reading %s", w->file);
        } else if (strcmp(before.data, after.data) != 0) {
            char old_text[100], new_text[100];
            option_quote(old_text, sizeof old_text, before.data);
            option_quote(new_text, sizeof new_text, after.data);
            rc = err_set(w->err, ERR_CONFIG, "%s:%d: %s is %s, but line %d already set it to %s", w->file,
                         line, o->key, new_text, line_before, old_text);
            err_hint(w->err, "a key that is set twice, in two places or under two names, must have the same "
                             "value both times");
        }
    }
    buf_free(&before);
    buf_free(&after);
    block_free(&strings);
    return rc;
}

/* One line `key: value` of a section. */
static int walk_pair(Walk *w, const char *section, const yaml_node_t *key_node, const yaml_node_t *value_node)
{
    int line = line_of(key_node);
    RawValue raw;
    const char *key = scalar_text(w, key_node, "a key", line);
    if (!key)
        return ERR_CONFIG;
    if (strcmp(key, "<<") == 0)
        return err_set(w->err, ERR_CONFIG,
                       "%s:%d: merge keys (<<) are not supported; write the keys directly into section %s",
                       w->file, line, section);
    int row = option_find(key, strlen(key));
    if (row < 0)
        return unknown_key(w, key, section, line);
    const Option *o = &option_table[row];
    if (!option_in_section(o, section)) {
        err_set(w->err, ERR_CONFIG, "%s:%d: key '%s' is in section %s, but belongs in section %s", w->file,
                line, key, section, o->section);
        return err_hint(w->err, "move the line under `%s:`", o->section);
    }
    int rc = read_value(w, &raw, o, value_node, line);
    if (rc)
        return rc;
    /* A key from the file before this line was given under another name, or in another section. */
    Origin *origin = &w->cfg->state->origins[row];
    if (origin->kind == ORIGIN_FILE)
        return check_repeated(w, o, &raw, line, origin->line);
    rc = option_set(o, w->cfg, &w->cfg->state->strings, &raw, w->err);
    if (rc) {
        err_prefix(w->err, "%s:%d", w->file, line);
        return rc;
    }
    *origin = (Origin){.kind = ORIGIN_FILE, .line = line};
    return 0;
}

/* The same key twice in one mapping, which YAML forbids and many readers let pass with the
 * last one winning. */
static int check_duplicates(Walk *w, const yaml_node_t *mapping)
{
    yaml_node_pair_t *first = mapping->data.mapping.pairs.start, *end = mapping->data.mapping.pairs.top;
    /* Every pair is compared with every other; nobody has that many keys. */
    const long most = 1000;
    if (end - first > most)
        return err_set(w->err, ERR_CONFIG, "%s:%d: this mapping has more than %ld keys", w->file,
                       line_of(mapping), most);
    for (yaml_node_pair_t *b = first; b < end; b++) {
        const yaml_node_t *nb = yaml_document_get_node(w->document, b->key);
        for (yaml_node_pair_t *a = first; a < b; a++) {
            const yaml_node_t *na = yaml_document_get_node(w->document, a->key);
            if (na->type != YAML_SCALAR_NODE || nb->type != YAML_SCALAR_NODE ||
                na->data.scalar.length != nb->data.scalar.length ||
                memcmp(na->data.scalar.value, nb->data.scalar.value, na->data.scalar.length) != 0)
                continue;
            char quoted[100];
            option_quote(quoted, sizeof quoted, (const char *)nb->data.scalar.value);
            err_set(w->err, ERR_CONFIG, "%s:%d: key %s is given twice, first in line %d", w->file,
                    line_of(nb), quoted, line_of(na));
            return err_hint(w->err, "remove one of the two lines");
        }
    }
    return 0;
}

/* Perhaps a key outside of a section, a misspelled section, or a misspelled key. */
static int unknown_section(Walk *w, const char *name, int line)
{
    char quoted[100];
    option_quote(quoted, sizeof quoted, name);
    int row = option_find(name, strlen(name));
    if (row >= 0) {
        err_set(w->err, ERR_CONFIG, "%s:%d: key %s is not in any section", w->file, line, quoted);
        return err_hint(w->err, "put it, indented, under `%s:`", option_table[row].section);
    }
    err_set(w->err, ERR_CONFIG, "%s:%d: unknown section %s; there are model, data and training", w->file,
            line, quoted);
    for (int i = 0; i < 3; i++)
        if (config_name_distance(name, option_sections[i]) <= (strlen(name) < 6 ? 1 : 3))
            return err_hint(w->err, "did you mean '%s'?", option_sections[i]);
    const char *nearest = config_nearest_key(name, NULL);
    if (!nearest)
        return ERR_CONFIG;
    return err_hint(w->err, "did you mean the key '%s' of section %s?", nearest,
                    option_table[option_find(nearest, strlen(nearest))].section);
}

/* `model:`, `data:` or `training:` with its pairs. */
static int walk_section(Walk *w, const yaml_node_t *name_node, const yaml_node_t *body)
{
    int line = line_of(name_node), rc;
    const char *name = scalar_text(w, name_node, "the name of a section", line), *section = NULL;
    if (!name)
        return ERR_CONFIG;
    for (int i = 0; i < 3; i++)
        section = strcmp(name, option_sections[i]) == 0 ? option_sections[i] : section;
    if (!section)
        return unknown_section(w, name, line);
    if (is_null(body)) /* a section whose keys are all commented out */
        return 0;
    if (body->type != YAML_MAPPING_NODE) {
        err_set(w->err, ERR_CONFIG, "%s:%d: section %s is %s, but must contain keys and values", w->file,
                line, section, kind_of(body));
        return err_hint(w->err, "write one indented `key: value` per line");
    }
    if ((rc = check_duplicates(w, body)))
        return rc;
    for (yaml_node_pair_t *p = body->data.mapping.pairs.start; p < body->data.mapping.pairs.top; p++) {
        rc = walk_pair(w, section, yaml_document_get_node(w->document, p->key),
                       yaml_document_get_node(w->document, p->value));
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- the document ---- */

/* The whole document: nothing, or a mapping of sections. */
static int walk_root(Walk *w, const yaml_node_t *root)
{
    int rc;
    if (is_null(root))
        return 0;
    if (root->type != YAML_MAPPING_NODE) {
        err_set(w->err, ERR_CONFIG,
                "%s:%d: the file is %s, but must contain the sections model, data and training", w->file,
                line_of(root), kind_of(root));
        return err_hint(w->err, "`myxtts config --default-yaml` prints an example");
    }
    if ((rc = check_duplicates(w, root)))
        return rc;
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
        rc = walk_section(w, yaml_document_get_node(w->document, p->key),
                          yaml_document_get_node(w->document, p->value));
        if (rc)
            return rc;
    }
    return 0;
}

/* 1 when the indentation of the 1-based line holds a tab. */
static int tab_indents(const char *text, size_t n, int line)
{
    const char *p = text, *end = text + n;
    for (int i = 1; i < line && p < end; i++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        p = nl ? nl + 1 : end;
    }
    while (p < end && *p == ' ')
        p++;
    return p < end && *p == '\t';
}

/* libyaml's complaint as one sentence with file and line. */
static int parser_error(const yaml_parser_t *parser, const char *name, const char *text, size_t n, Err *err)
{
    const char *problem = parser->problem;
    if (parser->error == YAML_MEMORY_ERROR ||
        !problem) /* libyaml 0.2.5 does not always set the code when it has no memory */
        return err_set(err, ERR_NOMEM, "out of memory reading %s", name);
    if (parser->error == YAML_READER_ERROR) { /* knows the byte, not the line */
        int line = 1;
        for (size_t i = 0; i < parser->problem_offset && i < n; i++)
            line += text[i] == '\n';
        err_set(err, ERR_CONFIG, "%s:%d: not valid YAML: %s (byte %zu of the file)", name, line, problem,
                (size_t)parser->problem_offset + 1);
        return err_hint(err, "the file must be UTF-8 text without control characters");
    }
    int line = (int)parser->problem_mark.line + 1;
    if (tab_indents(text, n, line)) {
        err_set(err, ERR_CONFIG, "%s:%d: the indentation contains a tab, where YAML allows only spaces", name,
                line);
        return err_hint(err, "replace the tab with spaces");
    }
    return err_set(err, ERR_CONFIG, "%s:%d: not valid YAML: %s (column %d)%s%s", name, line, problem,
                   (int)parser->problem_mark.column + 1, parser->context ? ", " : "",
                   parser->context ? parser->context : "");
}

/* Origins are recorded while walking, so that every later message can name a line. */
int yaml_load(Config *cfg, const char *name, const void *bytes, size_t n, Err *err)
{
    yaml_parser_t parser;
    yaml_document_t document, second;
    Walk w = {.cfg = cfg, .document = &document, .file = name, .err = err};
    int rc = 0;

    const char *text = bytes ? bytes : "";
    cfg->state->file = block_strndup(&cfg->state->strings, name, strlen(name));
    if (cfg->state->file && (rc = yaml_check_limits(name, text, n, err)))
        return rc;
    if (!cfg->state->file || !yaml_parser_initialize(&parser))
        return err_set(err, ERR_NOMEM, "out of memory reading %s", name);
    /* libyaml composes one document at a time; a second one in the file is refused below. */
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml_parser_load(&parser, &document)) {
        rc = parser_error(&parser, name, text, n, err);
        yaml_parser_delete(&parser);
        return rc;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root) { /* no root: an empty file, which leaves every default */
        rc = walk_root(&w, root);
        if (rc == 0 && !yaml_parser_load(&parser, &second)) {
            rc = parser_error(&parser, name, text, n, err);
        } else if (rc == 0) {
            const yaml_node_t *other = yaml_document_get_root_node(&second);
            if (other)
                rc = err_set(
                    err, ERR_CONFIG,
                    "%s:%d: a second YAML document starts here, but a configuration is a single document",
                    name, (int)second.start_mark.line + 1);
            yaml_document_delete(&second);
        }
    }
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return rc;
}
