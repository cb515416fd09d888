/* records.h - bytes of a table of text -> records -> fields, in place: nothing is copied, nothing is
 * allocated. A record is one line; in comma files a quoted field ("...", with "" for a quote) may hold
 * delimiters and line ends, so a record may span lines. Lines end with LF or CRLF; with CR alone when the
 * file holds no LF. A damaged record costs one line: reading always goes on at the next line. Any bytes are
 * accepted. */
#ifndef MYXTTS_RECORDS_H
#define MYXTTS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

#define RECORD_MAX_BYTES 65536 /* longer lines are not looked into */
#define RECORD_MAX_LINES \
    100 /* a quoted field that is still open after so many lines is taken for a stray quote */
#define RECORD_MAX_FIELDS 32 /* further fields are counted, not kept */

typedef enum {
    RECORD_FIELDS,
    RECORD_BLANK,    /* only white space */
    RECORD_TOO_LONG, /* fields[0] is what could be the id, or empty */
    RECORD_QUOTE     /* a quoted field is not closed, or has text after the closing quote */
} RecordKind;

typedef struct Record {
    RecordKind kind;
    uint32_t line; /* 1-based, of the record's first byte */
    Str all;       /* the record without its line end; for RECORD_TOO_LONG only its beginning */
    size_t bytes;  /* of the whole line, for messages */
    int columns;   /* fields found; may exceed RECORD_MAX_FIELDS */
    Str fields[RECORD_MAX_FIELDS]; /* without white space around, without the quotes around */
    uint32_t escaped;              /* bit i: fields[i] holds "" that stand for " */
} Record;

typedef struct Records {
    const char *p, *end;
    uint32_t line; /* of p, 1-based */
    char delimiter, newline;
} Records;

/* Reads bytes[0 .. size) from the start; a UTF-8 byte order mark is skipped. delimiter: '|', '\t' or ','. */
void records_open(Records *r, const uint8_t *bytes, size_t size, char delimiter);
/* 1 and the next record, or 0 at the end. Every slice lies inside the bytes given. */
int records_next(Records *r, Record *rec);

/* Without ASCII white space at both ends. */
Str str_trim(Str s);
int str_equal(Str a, Str b);

#endif
