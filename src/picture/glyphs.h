/* glyphs.h - the letters of the pictures: dots on a small grid for ASCII, the symbols of phonetics, Latin
 * letters with marks, and Cyrillic. draw.h makes smooth text of them.
 * Threads: any; the tables are constant. */
#ifndef MYXTTS_GLYPHS_H
#define MYXTTS_GLYPHS_H

#include <stdint.h>

#define GLYPH_W 8       /* dots; most letters use five */
#define GLYPH_H 10      /* one row above the capitals, 7 for them, 2 below the line */
#define GLYPH_CAPITAL 1 /* the row where capitals begin */
#define GLYPH_MARK_H 3

typedef struct Glyph {
    const uint8_t *rows; /* [count], the leftmost dot is bit 7 */
    int count;
    int first, width; /* columns in use */
    int top, bottom;  /* rows in use; top is -1 where there is no dot */
} Glyph;

typedef enum { GLYPH_ABOVE, GLYPH_BELOW, GLYPH_THROUGH } GlyphPlace;

typedef struct GlyphMark { /* is drawn on the letter before it and takes no room */
    Glyph glyph;
    GlyphPlace place;
    int tie; /* between that letter and the next */
} GlyphMark;

typedef struct GlyphParts { /* of one code point: a letter, a mark, or both */
    Glyph letter;
    GlyphMark mark;
    int has_letter, has_mark;
} GlyphParts;

/* 1, or 0 and an empty box for what is not in the tables. */
int glyph_find(GlyphParts *p, uint32_t code);

#endif
