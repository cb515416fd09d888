/* records.h - splits the bytes of a text table into records and fields, in place, without allocation. A
 * record is one line; in comma files a quoted field ("...", with "" for a quote) may contain delimiters and
 * line breaks, so a record may span lines. Lines end with LF or CRLF, or with CR if the file has no LF. After
 * a damaged record, reading continues at the next line. Any bytes are accepted. */
#ifndef MYXTTS_RECORDS_H
#define MYXTTS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/dataset.h"

#define RECORD_MAX_BYTES 65536 /* longer lines are RECORD_TOO_LONG */
#define RECORD_MAX_LINES 100   /* a quoted field over more lines than this is taken for a stray quote */
#define RECORD_MAX_FIELDS 32   /* further fields are counted, not kept */

typedef enum {
    RECORD_FIELDS,
    RECORD_BLANK,    /* only white space */
    RECORD_TOO_LONG, /* fields[0] is probably the id, or empty */
    RECORD_QUOTE     /* a quoted field is not closed, or has text after the closing quote */
} RecordKind;

typedef struct Record {
    RecordKind kind;
    uint32_t line; /* 1-based line where the record begins */
    Str all;       /* the record without its line end; of RECORD_TOO_LONG only the beginning */
    size_t bytes;  /* length of the whole line, for messages */
    int columns;   /* number of fields; may exceed RECORD_MAX_FIELDS */
    Str fields[RECORD_MAX_FIELDS]; /* without surrounding white space and quotes */
    uint32_t escaped;              /* bit i: fields[i] contains "", which means " */
} Record;

typedef struct Records {
    const char *p, *end; /* the bytes not yet read */
    uint32_t line;       /* 1-based line of p */
    char delimiter, newline;
} Records;

/* Reads bytes[0 .. size) from the start; a UTF-8 byte order mark is skipped. delimiter: '|', '\t' or ','. */
void records_open(Records *r, const uint8_t *bytes, size_t size, char delimiter);
/* Returns 1 and the next record, or 0 at the end. All slices are inside the bytes given. */
int records_next(Records *r, Record *rec);

/* Removes ASCII white space at both ends. */
Str str_trim(Str s);
int str_equal(Str a, Str b);

#endif
