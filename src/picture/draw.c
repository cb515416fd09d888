/* draw.c - see draw.h. The letters are a few dots (glyphs.h); neighbouring dots are joined by strokes, which
 * makes smooth text of any size from a small table. */
#include "picture/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "picture/glyphs.h"

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
    /* Only the pixels that the stroke can touch. */
    const int left = limit(floor(fmin(x0, x1) - reach), c->w),
              right = limit(ceil(fmax(x0, x1) + reach), c->w);
    const int top = limit(floor(fmin(y0, y1) - reach), c->h),
              bottom = limit(ceil(fmax(y0, y1) + reach), c->h);
    if (left >= right || top >= bottom)
        return;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            /* Distance of the pixel's middle from the nearest point of the line. */
            double px = x + 0.5 - x0, py = y + 0.5 - y0;
            double t = length2 > 0.0 ? fmin(fmax((px * dx + py * dy) / length2, 0.0), 1.0) : 0.0;
            /* 0 at the outer edge of the last touched pixel, 1 within. */
            double inside = reach - hypot(px - t * dx, py - t * dy);
            if (inside <= 0.0)
                continue;
            uint8_t *to = &c->coverage[(size_t)y * (size_t)c->w + (size_t)x];
            uint8_t now = (uint8_t)lrint(255.0 * fmin(inside, 1.0));
            /* Strokes that meet do not darken each other: the larger coverage stays. */
            *to = now > *to ? now : *to;
        }
    /* The rectangle that draw_paint has to look at. */
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
            /* Paint as far as the strokes cover the pixel, and clean up for the next. */
            double share = opacity * c->coverage[at] / 255.0;
            Rgb *p = &c->pixels[at];
            *p = (Rgb){blend(p->r, colour.r, share), blend(p->g, colour.g, share),
                       blend(p->b, colour.b, share)};
            c->coverage[at] = 0;
        }
    c->x0 = c->y0 = c->x1 = c->y1 = 0;
}

/* ---- letters */

#define PEN 0.82 /* width of the strokes, in dots */

/* The next character of *s (UTF-8), which moves on; 0 at the end. */
static int next_parts(GlyphParts *g, const char **s)
{
    const uint8_t *p = (const uint8_t *)*s;
    uint32_t code = p[0];
    int more = p[0] >= 0xF0 ? 3 : p[0] >= 0xE0 ? 2 : p[0] >= 0xC0 ? 1 : 0, n = 1;
    if (!code)
        return 0;
    /* The bits of the first byte, then six of each that follows. */
    if (code >= 0x80)
        code &= more ? 0x3Fu >> more : 0;
    while (n <= more && utf8_continues((char)p[n]))
        code = code << 6 | (p[n++] & 0x3Fu);
    *s += n;
    glyph_find(g, code);
    return 1;
}

int draw_has(uint32_t code_point)
{
    GlyphParts g;
    return glyph_find(&g, code_point);
}

static int dot(const Glyph *g, int col, int row)
{
    return col >= 0 && col < GLYPH_W && row >= 0 && row < g->count &&
           (g->rows[row] >> (GLYPH_W - 1 - col) & 1);
}

/* Text runs along (ax, ay), letters hang down along (-ay, ax). */
typedef struct Pen {
    Canvas *canvas;
    double x, y, ax, ay, size;
} Pen;

/* A stroke between two dots of a letter. */
static void join(const Pen *p, double c0, double r0, double c1, double r1)
{
    draw_stroke(p->canvas, p->x + (c0 * p->ax - r0 * p->ay) * p->size,
                p->y + (c0 * p->ay + r0 * p->ax) * p->size, p->x + (c1 * p->ax - r1 * p->ay) * p->size,
                p->y + (c1 * p->ay + r1 * p->ax) * p->size, PEN * p->size);
}

/* The first dot in use is `at` dots along the text, the first row `down` rows below the top of the capitals.
 */
static void draw_glyph(const Pen *p, const Glyph *g, double at, double down)
{
    at -= g->first;
    for (int r = 0; r < g->count; r++)
        for (int c = 0; c < GLYPH_W; c++) {
            const double x = at + c, y = down + r;
            if (!dot(g, c, r))
                continue;
            join(p, x, y, x, y);
            if (dot(g, c + 1, r))
                join(p, x, y, x + 1, y);
            if (dot(g, c, r + 1))
                join(p, x, y, x, y + 1);
            /* a diagonal where there is no way around the corner */
            if (dot(g, c + 1, r + 1) && !dot(g, c + 1, r) && !dot(g, c, r + 1))
                join(p, x, y, x + 1, y + 1);
            if (dot(g, c - 1, r + 1) && !dot(g, c - 1, r) && !dot(g, c, r + 1))
                join(p, x, y, x - 1, y + 1);
        }
}

#define LETTER_GAP 2 /* dots from the last of a letter to the first of the next */

/* From the first dot to the last, in dots. Marks take no room, unless there is no letter that they stand
 * with. */
static int text_dots(const char *s)
{
    GlyphParts g;
    int dots = 0;
    while (next_parts(&g, &s))
        if (g.has_letter || !dots)
            dots += (g.has_letter ? g.letter.width : g.mark.glyph.width) - 1 + LETTER_GAP;
    return dots > LETTER_GAP ? dots - LETTER_GAP : 0;
}

double draw_text_width(const char *s, double size) { return *s ? (text_dots(s) + PEN) * size : 0.0; }

/* Where marks of a letter go. */
typedef struct Under {
    double at;       /* of its first dot */
    int width;       /* in dots */
    int top, bottom; /* rows from the top of the capitals that are taken */
} Under;

static void draw_mark(const Pen *p, const GlyphMark *m, Under *u)
{
    const int rows = m->glyph.count;
    double at = u->at + (u->width - m->glyph.width) / 2.0;
    if (m->tie)
        at = u->at + u->width - 1 + (LETTER_GAP - m->glyph.width + 1) / 2.0;
    if (m->place == GLYPH_ABOVE) {
        draw_glyph(p, &m->glyph, at, u->top - 1 - rows);
        u->top -= rows + 1;
    } else if (m->place == GLYPH_BELOW) {
        draw_glyph(p, &m->glyph, at, u->bottom + 2);
        u->bottom += rows + 1;
    } else {
        draw_glyph(p, &m->glyph, at, (u->top + u->bottom - rows + 1) / 2.0);
    }
}

/* Letters one after the other; a mark goes to the letter before it. */
static void draw_run(const Pen *p, const char *s, Rgb colour)
{
    GlyphParts g;
    Under u = {.width = 5, .top = 2, .bottom = 6}; /* a mark at the beginning: as with a small letter */
    int at = 0;
    while (next_parts(&g, &s)) {
        if (g.has_letter) {
            draw_glyph(p, &g.letter, at, -GLYPH_CAPITAL);
            u = (Under){at, g.letter.width, g.letter.top - GLYPH_CAPITAL, g.letter.bottom - GLYPH_CAPITAL};
            at += g.letter.width - 1 + LETTER_GAP;
        } else if (!at) {
            u.width = g.mark.glyph.width;
            at = u.width - 1 + LETTER_GAP;
        }
        if (g.has_mark)
            draw_mark(p, &g.mark, &u);
    }
    draw_paint(p->canvas, colour, 1.0);
}

void draw_text(Canvas *c, double x, double y, const char *s, double size, DrawAlign align, Rgb colour)
{
    double width = draw_text_width(s, size), half_pen = PEN * size / 2;
    x += half_pen - (align == DRAW_LEFT ? 0.0 : align == DRAW_CENTRE ? width / 2 : width);
    /* On the middle of a pixel: sharp stems. */
    Pen p = {.canvas = c, .x = floor(x) + 0.5, .y = floor(y - 3 * size) + 0.5, .ax = 1.0, .size = size};
    draw_run(&p, s, colour);
}

void draw_text_up(Canvas *c, double x, double y, const char *s, double size, Rgb colour)
{
    double width = draw_text_width(s, size), half_pen = PEN * size / 2;
    Pen p = {.canvas = c,
             .x = floor(x - 3 * size) + 0.5,
             .y = floor(y + width / 2 - half_pen) + 0.5,
             .ay = -1.0,
             .size = size};
    draw_run(&p, s, colour);
}

double draw_round_step(double least)
{
    double unit = pow(10.0, floor(log10(least)));
    return least <= unit ? unit : least <= 2 * unit ? 2 * unit : least <= 5 * unit ? 5 * unit : 10 * unit;
}
