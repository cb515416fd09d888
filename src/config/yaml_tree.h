/* yaml_tree.h - a YAML text as a tree that knows the bytes of every node, for edits at the very place.
 * Private to src/config. Aliases stay nodes of their own, so that each use can be changed alone. Depth is
 * limited, so that walks may recurse. Threads: read-only after yaml_tree_parse. */
#ifndef MYXTTS_YAML_TREE_H
#define MYXTTS_YAML_TREE_H

#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

#define YAML_TREE_DEPTH 64

typedef enum { NODE_SCALAR, NODE_LIST, NODE_MAP, NODE_ALIAS } NodeKind;

typedef struct YamlNode {
    NodeKind kind;
    int flow;              /* list, map: written with brackets */
    char quote;            /* scalar: 0 plain, ' or ", | for both block styles */
    int is_null;           /* scalar: plain and empty, ~ or null */
    size_t start, content; /* first byte with and without anchor and tag */
    size_t end;            /* behind the last byte; of a block list or map: of its last leaf */
    int line, column;      /* of start: from 1, from 0 in characters */
    const char *value;     /* scalar: its text; NUL-terminated too */
    size_t size;
    const char *anchor, *tag; /* NULL: none; of an alias: the anchor that it names */
    int parent, first, next;  /* nodes, -1: none; children of a map are key, value, key, value, ... */
    int target;               /* alias: the node it stands for */
} YamlNode;

typedef struct YamlTree {
    const char *text; /* the caller's */
    size_t size;
    YamlNode *nodes;
    size_t count, cap;
    int root;      /* -1: an empty document */
    int documents; /* that are not empty; only the first is in the tree */
    Block strings;
} YamlTree;

/* text must outlive the tree. ERR_CONFIG: not YAML, not UTF-8, or nested too deeply; ERR_NOMEM. Closed after
 * an error. */
int yaml_tree_parse(YamlTree *t, const char *text, size_t size, Err *err);
void yaml_tree_close(YamlTree *t); /* always safe */

int yaml_tree_resolve(const YamlTree *t, int node); /* the node itself, or what an alias stands for */
int yaml_tree_is(const YamlTree *t, int node, const char *text); /* a scalar with this text */
/* Key node of the first pair named `key` in a map; line > 0: of the last one whose key stands in that line.
 * -1: none. */
int yaml_tree_find(const YamlTree *t, int map, const char *key, int line);
/* First alias that stands for the node, in the order of the text, and outside of the bytes [from, to); -1:
 * none. */
int yaml_tree_alias_of(const YamlTree *t, int node, size_t from, size_t to);

#endif
