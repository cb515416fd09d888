/* yaml_tree.h - parses a YAML text into a tree that knows which bytes each node comes from, for edits in
 * place. Private to src/config. Aliases are nodes of their own, so that each use can be edited alone. Depth
 * is limited, so that code may recurse. Threads: read-only after yaml_tree_parse. */
#ifndef MYXTTS_YAML_TREE_H
#define MYXTTS_YAML_TREE_H

#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

#define YAML_TREE_DEPTH 64
#define YAML_MAX_NAMES 1000 /* anchors, and aliases; libyaml takes the square of their number */

typedef enum { NODE_SCALAR, NODE_LIST, NODE_MAP, NODE_ALIAS } NodeKind;

typedef struct YamlNode {
    NodeKind kind;
    int flow;              /* list, map: written with brackets */
    char quote;            /* scalar: 0 plain, ' or ", | for both block styles */
    int is_null;           /* scalar: plain and empty, ~ or null */
    size_t start, content; /* offset of the first byte, with and without anchor and tag */
    size_t end;            /* offset past the last byte; for a block list or map, of its last scalar */
    int line, column;      /* of start; lines from 1, columns from 0, in characters */
    const char *value;     /* scalar: its text [size] and a NUL */
    size_t size;
    const char *anchor, *tag; /* NULL: none; of an alias: the anchor that it refers to */
    int parent, first, next;  /* nodes; -1: none. The children of a map are key, value, key, value, ... */
    int target;               /* alias: the node that it refers to */
} YamlNode;

typedef struct YamlTree {
    const char *text; /* the caller's */
    size_t size;
    YamlNode *nodes;
    size_t count, cap;
    int root;        /* -1: an empty document */
    int second_line; /* where the second document begins; 0: there is one */
    int documents;   /* number of documents that are not empty; only the first is in the tree */
    Block strings;
} YamlTree;

/* Time and memory of libyaml grow with the square of the depth and of the number of anchors: hostile files of
 * a megabyte would take minutes. 0 unless the text is beyond the limits above (ERR_CONFIG, or ERR_NOMEM);
 * other faults are left to the parser. name: of the file, for the message; may be NULL. */
int yaml_check_limits(const char *name, const char *text, size_t size, Err *err);

/* text must outlive the tree. ERR_CONFIG if it is not YAML, not UTF-8, or nested too deeply; ERR_NOMEM. After
 * an error the tree is closed. */
int yaml_tree_parse(YamlTree *t, const char *text, size_t size, Err *err);
void yaml_tree_close(YamlTree *t); /* a zeroed or closed tree is allowed */

int yaml_tree_resolve(const YamlTree *t, int node); /* the node itself, or the one that an alias refers to */
int yaml_tree_is(const YamlTree *t, int node, const char *text); /* 1 for a scalar with this text */
/* The key node of the first pair named `key` in a map or, with line > 0, of the last such pair whose key is
 * in that line. -1: none. */
int yaml_tree_find(const YamlTree *t, int map, const char *key, int line);
/* The first alias in the text that refers to the node and is outside of the bytes [from, to). -1: none. */
int yaml_tree_alias_of(const YamlTree *t, int node, size_t from, size_t to);

#endif
