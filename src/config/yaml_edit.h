/* yaml_edit.h - edits a two-level YAML file (sections, then keys) in place. Only the bytes of the edited pair
 * change, and of one alias if it carries an anchor (see below): comments, order, indentation, quotes, line
 * ends, byte order mark and anchors stay as they are.
 *
 * Every edit but yaml_edit_expand_tabs is verified: the new text is parsed and each of its values compared
 * with the expected one. If any differs, the edit fails with ERR_CONFIG and the text stays as it was.
 *
 * An old value may carry an anchor (&x) that aliases (*x) elsewhere refer to. The first of these aliases is
 * then replaced by the anchor and the old value (`&x old`), so that all of them keep their value.
 *
 * Threads: any, each with its own text. */
#ifndef MYXTTS_YAML_EDIT_H
#define MYXTTS_YAML_EDIT_H

#include "base/err.h"
#include "base/mem.h"

/* Which pair (key: value) of the file to edit. */
typedef struct YamlPlace {
    const char *section; /* NULL: the key is at the top level */
    const char *key;     /* as spelled in the file */
    /* 0: the first key of that name. Otherwise the 1-based line of the key; if the line has several keys of
     * that name, the last of them. */
    int line;
} YamlPlace;

/* Sets the value of the pair. `value` is one line of YAML, quoted by the caller where necessary: "8",
 * "[a, b]", "\"two words\"".
 *   - If the old value was quoted and the new one is a plain word or number, it gets the same quotes.
 *   - A JSON file (a flow mapping with keys in double quotes) stays JSON: words get quotes.
 *   - If the old value was a block list, its lines are kept as comments below the new value.
 *   - If at->line is 0, a missing pair is added at the end of its section, and a missing section at the end
 *     of the file. */
int yaml_edit_set(Buf *text, const YamlPlace *at, const char *value, Err *err);
/* Renames the key at `at` to new_key. */
int yaml_edit_rename(Buf *text, const YamlPlace *at, const char *new_key, Err *err);
/* Comments out all lines of the pair. Inside a flow mapping ({a: 1, b: 2}), where that is impossible, removes
 * the pair. */
int yaml_edit_comment_out(Buf *text, const YamlPlace *at, Err *err);
/* Replaces each tab in the indentation of a line, where YAML forbids tabs, by two spaces. Returns the number
 * of lines changed, or ERR_NOMEM. Does not check that the result is valid YAML. */
int yaml_edit_expand_tabs(Buf *text);

#endif
