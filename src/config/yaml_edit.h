/* yaml_edit.h - changes of a two-level YAML file (sections, then keys) at the very bytes, everything else
 * left as it is: comments, order, indentation, quotes, line ends, a byte order mark, anchors. Every function
 * parses the result again and compares it, value by value, with what it should say now; a text for which that
 * does not hold is not accepted: ERR_CONFIG, and the text is as it was. Where a value with an anchor changes
 * and an alias still names it, the first alias takes over the anchor with the old value. Threads: any, each
 * with its own text. */
#ifndef MYXTTS_YAML_EDIT_H
#define MYXTTS_YAML_EDIT_H

#include "base/err.h"
#include "base/mem.h"

/* A pair of the file. */
typedef struct YamlPlace {
    const char *section; /* NULL: the key itself stands at the top level */
    const char *key;     /* as the file writes it */
    int line;            /* of the key, from 1 (the last in that line); 0: the first with this name */
} YamlPlace;

/* Gives the pair the value, written as YAML in one line ("8", "[a, b]", "\"two words\""). Quotes around the
 * old value stay around a plain new one. A block list becomes comment lines below the new value. A pair that
 * is not there is added at the end of its section, a section that is not there at the end of the file. */
int yaml_edit_set(Buf *text, const YamlPlace *at, const char *value, Err *err);
/* Gives the key another name. */
int yaml_edit_rename(Buf *text, const YamlPlace *at, const char *key, Err *err);
/* Makes a comment of the lines of a pair; between brackets the pair is taken out instead. */
int yaml_edit_comment_out(Buf *text, const YamlPlace *at, Err *err);
/* Blanks in place of tabs before the first character of a line. How many lines that were; the result need not
 * be sound. Negative: no memory. */
int yaml_edit_tabs(Buf *text);

#endif
