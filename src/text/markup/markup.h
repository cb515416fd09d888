/* markup.h - what a marked-up text (SSML, say) wants said, and how: plain words, with controls between them.
 *
 * `text` is for text_read (text.h): words, in which the character MARKUP_CONTROL stands for each control, in
 * order, with blanks around it; a newline ends what is read together. Offsets are bytes. Zero-initialise,
 * fill with text_format_read (format.h), then markup_free. Threads: any, once it is filled. */
#ifndef MYXTTS_MARKUP_H
#define MYXTTS_MARKUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define MARKUP_CONTROL 0xFFFFu /* no character of XML; in a text without controls it means nothing */

/* How words are spoken, relative to the voice's usual manner. */
typedef struct MarkupManner {
    double rate;     /* 1: as it is; 2: twice as fast */
    double pitch;    /* semitones */
    double hz;       /* added to the pitch */
    double base_hz;  /* the mean pitch, which the other two are added to; 0: the voice's own */
    double volume;   /* factor of the amplitude; 0: silence */
    double emphasis; /* 0: none, 1: strong, below 0: less than usual */
} MarkupManner;
#define MARKUP_MANNER_USUAL ((MarkupManner){.rate = 1, .volume = 1})

typedef enum { MARKUP_MANNER, MARKUP_BREAK, MARKUP_MARK } MarkupKind;

typedef struct MarkupControl {
    MarkupKind kind;
    MarkupManner manner; /* of the words after it */
    double seconds;      /* MARKUP_BREAK: from one sound to the next */
    uint32_t name;       /* MARKUP_MARK: of `strings` */
} MarkupControl;

/* From here on another language, or another speaker: offsets of `strings`, 0: that of the whole text. */
typedef struct MarkupSection {
    uint32_t from, language, speaker;
} MarkupSection;

/* Where a run of `text` comes from. */
typedef struct MarkupPlace {
    uint32_t text, source;
    uint32_t size; /* bytes of source that all of it stands for; 0: it is the same, byte for byte */
} MarkupPlace;

#define MARKUP_MOST_NOTES 20
/* Something in the text that has no effect; what is the same is counted. */
typedef struct MarkupNote {
    uint32_t at, count; /* where it was first */
    char what[120];
} MarkupNote;

typedef struct Markup {
    Buf text, strings;
    Buf controls; /* MarkupControl */
    Buf sections; /* MarkupSection; the first is from 0 */
    Buf places;   /* MarkupPlace */
    Buf notes;    /* MarkupNote */
} Markup;
void markup_free(Markup *s);
int markup_failed(const Markup *s); /* 1: memory was short */

/* Bytes of the source that bytes [size] at `at` of text came from. */
void markup_source(const Markup *s, size_t at, size_t size, size_t *from, size_t *source_size);
const MarkupSection *markup_section(const Markup *s, size_t at);
const char *markup_string(const Markup *s, uint32_t at);

/* --- for those who fill it --- */
uint32_t markup_keep(Markup *s, const char *p, size_t n); /* into strings; never 0 */
void markup_note(Markup *s, size_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Bytes [n] of p, which stand for bytes [source_size] at source; 0: they are the same bytes. */
void markup_add(Markup *s, const char *p, size_t n, size_t source, size_t source_size);
void markup_control(Markup *s, const MarkupControl *c);
void markup_begin_section(Markup *s, uint32_t language, uint32_t speaker);

#endif
