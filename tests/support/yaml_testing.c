/* yaml_testing.c - see yaml_testing.h. */
#include "yaml_testing.h"

/* Key node of the pair, as yaml_edit.c finds it; -1: none. */
static int yaml_key_at(const YamlTree *t, const YamlPlace *at)
{
    int root = yaml_tree_resolve(t, t->root), key = -1;
    if (root < 0 || t->nodes[root].kind != NODE_MAP)
        return -1;
    if (!at->section)
        return yaml_tree_find(t, root, at->key, at->line);
    for (int k = t->nodes[root].first; k >= 0 && key < 0; k = t->nodes[t->nodes[k].next].next) {
        int v = t->nodes[k].next;
        if (yaml_tree_is(t, k, at->section) && t->nodes[v].kind == NODE_MAP)
            key = yaml_tree_find(t, v, at->key, at->line);
    }
    return key;
}

int yaml_value(Buf *out, const Buf *text, const YamlPlace *at, Err *err)
{
    YamlTree t;
    int rc = yaml_tree_parse(&t, text->data, text->size, err);
    if (rc)
        return rc;
    int key = yaml_key_at(&t, at);
    const YamlNode *v = key >= 0 ? &t.nodes[yaml_tree_resolve(&t, t.nodes[key].next)] : NULL;
    size_t n = v ? v->end - v->content : 0;
    if (!v || (v->kind == NODE_SCALAR ? v->quote == '|' : !v->flow) || memchr(t.text + v->content, '\n', n))
        rc = ERR_CONFIG;
    else
        buf_add(out, t.text + v->content, n);
    if (!rc)
        buf_str(out, "");
    yaml_tree_close(&t);
    return rc;
}
