/* xml.h - reads an XML document from left to right: elements, attributes, text. Small and strict: what is not
 * well-formed is ERR_DATA with line and column. A document type with definitions is refused, so that no
 * entity can grow: there are the five of XML, and numbers. Namespaces are not told apart: a prefix is left
 * off, but for xml:. Written here, because a library would bring along entities, and the files they are read
 * from. Text is UTF-8. Threads: one for each reader. */
#ifndef MYXTTS_XML_H
#define MYXTTS_XML_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "dataset/dataset.h"

enum { XML_DEPTH = 64, XML_ATTRIBUTES = 24 };
#define XML_MOST_BYTES ((size_t)8 << 20)

typedef enum { XML_END, XML_OPEN, XML_CLOSE, XML_TEXT } XmlEvent;

typedef struct XmlAttribute {
    Str name;
    uint32_t value, size; /* of XmlReader.values, with a NUL after it */
} XmlAttribute;

typedef struct XmlReader {
    const char *p;
    size_t n, at; /* read so far */
    /* What was read last. */
    Str name;    /* XML_OPEN, XML_CLOSE */
    size_t from; /* where it begins */
    const char
        *text; /* XML_TEXT [text_size]: a run of characters, or one that was written as a number or name */
    size_t text_size;
    XmlAttribute attributes[XML_ATTRIBUTES]; /* XML_OPEN */
    int attribute_count;
    /* Its own. */
    Buf values;
    Str open[XML_DEPTH]; /* names with prefix */
    size_t open_at[XML_DEPTH];
    int depth;
    int closes; /* the element was empty: its end comes next */
    int in_cdata, has_root;
    char character[4];
} XmlReader;

void xml_open(XmlReader *r, const char *p, size_t n);
void xml_close(XmlReader *r);
int xml_next(XmlReader *r, Err *err); /* an XmlEvent, or ERR_DATA, ERR_NOMEM */
/* The value of an attribute of the element that was opened last, with a NUL; NULL: it has none. */
const char *xml_value(const XmlReader *r, const char *name);
/* "line 3, column 7: ..." */
int xml_fail(const XmlReader *r, size_t at, Err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Both from 1, the column in characters. */
void xml_place(const char *p, size_t at, size_t *line, size_t *column);

#endif
