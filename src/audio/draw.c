/* draw.c - see draw.h. The letters are a few dots on a grid of 5 x 9; neighbouring dots are joined by strokes, which makes smooth text of
 * any size from a small table. */
#include "audio/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int canvas_open(Canvas *c, int w, int h, Rgb paper, Err *err)
{
    *c = (Canvas){.w = w, .h = h};
    c->pixels = mem_calloc((size_t)w * (size_t)h, sizeof *c->pixels);
    c->coverage = mem_calloc((size_t)w * (size_t)h, sizeof *c->coverage);
    if (!c->pixels || !c->coverage) {
        canvas_close(c);
        return err_set(err, ERR_NOMEM, "no memory for a picture of %d x %d", w, h);
    }
    draw_fill(c, 0, 0, w, h, paper);
    return 0;
}

Rgb *canvas_take(Canvas *c)
{
    Rgb *pixels = c->pixels;
    c->pixels = NULL;
    canvas_close(c);
    return pixels;
}

void canvas_close(Canvas *c)
{
    free(c->pixels);
    free(c->coverage);
    *c = (Canvas){0};
}

void draw_fill(Canvas *c, int x, int y, int w, int h, Rgb colour)
{
    for (int j = y < 0 ? 0 : y; j < y + h && j < c->h; j++)
        for (int i = x < 0 ? 0 : x; i < x + w && i < c->w; i++)
            c->pixels[(size_t)j * (size_t)c->w + (size_t)i] = colour;
}

static int limit(double v, int high) { return v <= 0.0 ? 0 : v >= (double)high ? high : (int)v; }

void draw_stroke(Canvas *c, double x0, double y0, double x1, double y1, double width)
{
    if (!isfinite(x0) || !isfinite(y0) || !isfinite(x1) || !isfinite(y1))
        return;
    const double reach = width / 2 + 0.5, dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    const int left = limit(floor(fmin(x0, x1) - reach), c->w), right = limit(ceil(fmax(x0, x1) + reach), c->w);
    const int top = limit(floor(fmin(y0, y1) - reach), c->h), bottom = limit(ceil(fmax(y0, y1) + reach), c->h);
    if (left >= right || top >= bottom)
        return;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            double px = x + 0.5 - x0, py = y + 0.5 - y0;
            double t = length2 > 0.0 ? fmin(fmax((px * dx + py * dy) / length2, 0.0), 1.0) : 0.0;
            double inside = reach - hypot(px - t * dx, py - t * dy); /* 0 at the outer edge of the last touched pixel, 1 within */
            if (inside <= 0.0)
                continue;
            uint8_t *to = &c->coverage[(size_t)y * (size_t)c->w + (size_t)x];
            uint8_t now = (uint8_t)lrint(255.0 * fmin(inside, 1.0));
            *to = now > *to ? now : *to;
        }
    int empty = c->x1 <= c->x0;
    c->x0 = empty || left < c->x0 ? left : c->x0;
    c->y0 = empty || top < c->y0 ? top : c->y0;
    c->x1 = empty || right > c->x1 ? right : c->x1;
    c->y1 = empty || bottom > c->y1 ? bottom : c->y1;
}

static uint8_t blend(uint8_t below, uint8_t above, double share)
{
    return (uint8_t)lrint((double)below + ((double)above - (double)below) * share);
}

void draw_paint(Canvas *c, Rgb colour, double opacity)
{
    for (int y = c->y0; y < c->y1; y++)
        for (int x = c->x0; x < c->x1; x++) {
            size_t at = (size_t)y * (size_t)c->w + (size_t)x;
            if (!c->coverage[at])
                continue;
            double share = opacity * c->coverage[at] / 255.0;
            Rgb *p = &c->pixels[at];
            *p = (Rgb){blend(p->r, colour.r, share), blend(p->g, colour.g, share), blend(p->b, colour.b, share)};
            c->coverage[at] = 0;
        }
    c->x0 = c->y0 = c->x1 = c->y1 = 0;
}

/* ---- letters */

#define GLYPH_W 5
#define GLYPH_H 9 /* 7 rows for capitals, 2 below the line */
#define PEN 0.82  /* width of the strokes, in dots */

/* From ' ' to '~', then the box. Nine rows of five dots; the leftmost dot is bit 4. */
static const uint8_t glyphs['~' - ' ' + 2][GLYPH_H] = {
    {0},                                /* space */
    {4, 4, 4, 4, 4, 0, 4},              /* ! */
    {10, 10, 10},                       /* " */
    {10, 10, 31, 10, 31, 10, 10},       /* # */
    {4, 15, 20, 14, 5, 30, 4},          /* $ */
    {24, 25, 2, 4, 8, 19, 3},           /* % */
    {12, 18, 20, 8, 21, 18, 13},        /* & */
    {4, 4},                             /* ' */
    {2, 4, 8, 8, 8, 4, 2},              /* ( */
    {8, 4, 2, 2, 2, 4, 8},              /* ) */
    {0, 4, 21, 14, 21, 4},              /* * */
    {0, 4, 4, 31, 4, 4},                /* + */
    {0, 0, 0, 0, 0, 0, 4, 8},           /* , */
    {0, 0, 0, 14},                      /* - */
    {0, 0, 0, 0, 0, 0, 4},              /* . */
    {1, 1, 2, 4, 8, 16, 16},            /* / */
    {14, 17, 17, 17, 17, 17, 14},       /* 0 */
    {4, 12, 4, 4, 4, 4, 14},            /* 1 */
    {14, 17, 1, 2, 4, 8, 31},           /* 2 */
    {14, 17, 1, 6, 1, 17, 14},          /* 3 */
    {2, 6, 10, 18, 31, 2, 2},           /* 4 */
    {31, 16, 30, 1, 1, 17, 14},         /* 5 */
    {6, 8, 16, 30, 17, 17, 14},         /* 6 */
    {31, 1, 2, 4, 8, 8, 8},             /* 7 */
    {14, 17, 17, 14, 17, 17, 14},       /* 8 */
    {14, 17, 17, 15, 1, 2, 12},         /* 9 */
    {0, 0, 4, 0, 0, 0, 4},              /* : */
    {0, 0, 4, 0, 0, 0, 4, 8},           /* ; */
    {2, 4, 8, 16, 8, 4, 2},             /* < */
    {0, 0, 31, 0, 31},                  /* = */
    {8, 4, 2, 1, 2, 4, 8},              /* > */
    {14, 17, 1, 2, 4, 0, 4},            /* ? */
    {14, 17, 23, 21, 23, 16, 14},       /* @ */
    {4, 10, 17, 17, 31, 17, 17},        /* A */
    {30, 17, 17, 30, 17, 17, 30},       /* B */
    {14, 17, 16, 16, 16, 17, 14},       /* C */
    {30, 17, 17, 17, 17, 17, 30},       /* D */
    {31, 16, 16, 30, 16, 16, 31},       /* E */
    {31, 16, 16, 30, 16, 16, 16},       /* F */
    {14, 17, 16, 19, 17, 17, 14},       /* G */
    {17, 17, 17, 31, 17, 17, 17},       /* H */
    {14, 4, 4, 4, 4, 4, 14},            /* I */
    {1, 1, 1, 1, 1, 17, 14},            /* J */
    {17, 18, 20, 24, 20, 18, 17},       /* K */
    {16, 16, 16, 16, 16, 16, 31},       /* L */
    {17, 27, 21, 17, 17, 17, 17},       /* M */
    {17, 17, 25, 21, 19, 17, 17},       /* N */
    {14, 17, 17, 17, 17, 17, 14},       /* O */
    {30, 17, 17, 30, 16, 16, 16},       /* P */
    {14, 17, 17, 17, 21, 18, 13},       /* Q */
    {30, 17, 17, 30, 20, 18, 17},       /* R */
    {15, 16, 16, 14, 1, 1, 30},         /* S */
    {31, 4, 4, 4, 4, 4, 4},             /* T */
    {17, 17, 17, 17, 17, 17, 14},       /* U */
    {17, 17, 17, 17, 17, 10, 4},        /* V */
    {17, 17, 17, 17, 21, 21, 10},       /* W */
    {17, 17, 10, 4, 10, 17, 17},        /* X */
    {17, 17, 10, 4, 4, 4, 4},           /* Y */
    {31, 1, 2, 4, 8, 16, 31},           /* Z */
    {14, 8, 8, 8, 8, 8, 14},            /* [ */
    {16, 16, 8, 4, 2, 1, 1},            /* \ */
    {14, 2, 2, 2, 2, 2, 14},            /* ] */
    {4, 10, 17},                        /* ^ */
    {0, 0, 0, 0, 0, 0, 0, 31},          /* _ */
    {8, 4},                             /* ` */
    {0, 0, 14, 1, 15, 17, 15},          /* a */
    {16, 16, 30, 17, 17, 17, 30},       /* b */
    {0, 0, 14, 17, 16, 17, 14},         /* c */
    {1, 1, 15, 17, 17, 17, 15},         /* d */
    {0, 0, 14, 17, 31, 16, 14},         /* e */
    {6, 8, 28, 8, 8, 8, 8},             /* f */
    {0, 0, 15, 17, 17, 17, 15, 1, 14},  /* g */
    {16, 16, 30, 17, 17, 17, 17},       /* h */
    {4, 0, 4, 4, 4, 4, 4},              /* i */
    {2, 0, 2, 2, 2, 2, 2, 2, 12},       /* j */
    {16, 16, 18, 20, 24, 20, 18},       /* k */
    {8, 8, 8, 8, 8, 8, 4},              /* l */
    {0, 0, 26, 21, 21, 21, 21},         /* m */
    {0, 0, 30, 17, 17, 17, 17},         /* n */
    {0, 0, 14, 17, 17, 17, 14},         /* o */
    {0, 0, 30, 17, 17, 17, 30, 16, 16}, /* p */
    {0, 0, 15, 17, 17, 17, 15, 1, 1},   /* q */
    {0, 0, 22, 24, 16, 16, 16},         /* r */
    {0, 0, 15, 16, 14, 1, 30},          /* s */
    {8, 8, 28, 8, 8, 8, 6},             /* t */
    {0, 0, 17, 17, 17, 17, 15},         /* u */
    {0, 0, 17, 17, 17, 10, 4},          /* v */
    {0, 0, 17, 17, 21, 21, 10},         /* w */
    {0, 0, 17, 10, 4, 10, 17},          /* x */
    {0, 0, 17, 17, 17, 17, 15, 1, 14},  /* y */
    {0, 0, 31, 2, 4, 8, 31},            /* z */
    {2, 4, 4, 8, 4, 4, 2},              /* { */
    {4, 4, 4, 4, 4, 4, 4},              /* | */
    {8, 4, 4, 2, 4, 4, 8},              /* } */
    {0, 0, 8, 21, 2},                   /* ~ */
    {31, 17, 17, 17, 17, 17, 31},       /* anything else */
};

typedef struct Glyph {
    const uint8_t *rows;
    int first, width; /* of the columns in use */
} Glyph;

/* The next character of *s, which moves on; 0 at the end. */
static int next_glyph(Glyph *g, const char **s)
{
    uint8_t byte = (uint8_t) * *s, columns = 0;
    if (!byte)
        return 0;
    do
        (*s)++;
    while (byte >= 0xC0 && ((uint8_t) * *s & 0xC0) == 0x80); /* the rest of a UTF-8 character */
    g->rows = glyphs[byte >= ' ' && byte <= '~' ? byte - ' ' : '~' - ' ' + 1];
    for (int r = 0; r < GLYPH_H; r++)
        columns |= g->rows[r];
    int last = GLYPH_W - 1;
    g->first = 0;
    while (columns && !(columns & 16 >> g->first))
        g->first++;
    while (columns && !(columns & 16 >> last))
        last--;
    g->width = columns ? last - g->first + 1 : 2;
    return 1;
}

static int dot(const Glyph *g, int col, int row)
{
    return col >= 0 && col < GLYPH_W && row >= 0 && row < GLYPH_H && (g->rows[row] >> (GLYPH_W - 1 - col) & 1);
}

/* Text runs along (ax, ay), letters hang down along (-ay, ax). */
typedef struct Pen {
    Canvas *canvas;
    double x, y, ax, ay, size;
} Pen;

static void join(const Pen *p, double c0, double r0, double c1, double r1)
{
    draw_stroke(p->canvas, p->x + (c0 * p->ax - r0 * p->ay) * p->size, p->y + (c0 * p->ay + r0 * p->ax) * p->size,
                p->x + (c1 * p->ax - r1 * p->ay) * p->size, p->y + (c1 * p->ay + r1 * p->ax) * p->size, PEN * p->size);
}

static void draw_glyph(const Pen *p, const Glyph *g, double at)
{
    at -= g->first;
    for (int r = 0; r < GLYPH_H; r++)
        for (int c = 0; c < GLYPH_W; c++) {
            if (!dot(g, c, r))
                continue;
            join(p, at + c, r, at + c, r);
            if (dot(g, c + 1, r))
                join(p, at + c, r, at + c + 1, r);
            if (dot(g, c, r + 1))
                join(p, at + c, r, at + c, r + 1);
            /* a diagonal where there is no way around the corner */
            if (dot(g, c + 1, r + 1) && !dot(g, c + 1, r) && !dot(g, c, r + 1))
                join(p, at + c, r, at + c + 1, r + 1);
            if (dot(g, c - 1, r + 1) && !dot(g, c - 1, r) && !dot(g, c, r + 1))
                join(p, at + c, r, at + c - 1, r + 1);
        }
}

#define LETTER_GAP 2 /* dots from the last of a letter to the first of the next */

/* From the first dot to the last, in dots. */
static int text_dots(const char *s)
{
    Glyph g;
    int dots = 0;
    while (next_glyph(&g, &s))
        dots += g.width - 1 + LETTER_GAP;
    return dots > LETTER_GAP ? dots - LETTER_GAP : 0;
}

double draw_text_width(const char *s, double size) { return *s ? (text_dots(s) + PEN) * size : 0.0; }

static void draw_run(const Pen *p, const char *s, Rgb colour)
{
    Glyph g;
    for (int at = 0; next_glyph(&g, &s); at += g.width - 1 + LETTER_GAP)
        draw_glyph(p, &g, at);
    draw_paint(p->canvas, colour, 1.0);
}

void draw_text(Canvas *c, double x, double y, const char *s, double size, DrawAlign align, Rgb colour)
{
    double width = draw_text_width(s, size), half_pen = PEN * size / 2;
    x += half_pen - (align == DRAW_LEFT ? 0.0 : align == DRAW_CENTRE ? width / 2 : width);
    Pen p = {.canvas = c, .x = floor(x) + 0.5, .y = floor(y - 3 * size) + 0.5, .ax = 1.0, .size = size}; /* sharp stems */
    draw_run(&p, s, colour);
}

void draw_text_up(Canvas *c, double x, double y, const char *s, double size, Rgb colour)
{
    double width = draw_text_width(s, size), half_pen = PEN * size / 2;
    Pen p = {.canvas = c, .x = floor(x - 3 * size) + 0.5, .y = floor(y + width / 2 - half_pen) + 0.5, .ay = -1.0, .size = size};
    draw_run(&p, s, colour);
}

double draw_round_step(double least)
{
    double unit = pow(10.0, floor(log10(least)));
    return least <= unit ? unit : least <= 2 * unit ? 2 * unit : least <= 5 * unit ? 5 * unit : 10 * unit;
}
