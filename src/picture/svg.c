/* svg.c - see svg.h. */
#include "picture/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/svg_private.h"

#define PIECES 200 /* of a long line; two points each */
#define HOVER_COLUMNS 80

/* Characters that mean something in XML; control characters cannot stand in it at all. */
void svg_escape(Buf *out, const char *s, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        const char *as = NULL;
        unsigned char c = (unsigned char)s[i];
        if (c == '&')
            as = "&amp;";
        else if (c == '<')
            as = "&lt;";
        else if (c == '>')
            as = "&gt;";
        else if (c == '"')
            as = "&quot;";
        else if (c == '\'')
            as = "&#39;";
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F)
            as = "\xEF\xBF\xBD";
        if (!as)
            continue;
        buf_add(out, s + from, i - from);
        buf_str(out, as);
        from = i + 1;
    }
    buf_add(out, s + from, n - from);
}

void svg_text(Buf *out, const char *s) { svg_escape(out, s, strlen(s)); }

/* About three digits, with a thin group for thousands. */
void svg_number(char out[32], double v)
{
    double a = fabs(v);
    if (!isfinite(v))
        snprintf(out, 32, "-");
    else if (a >= 9.995e8)
        snprintf(out, 32, "%.3gG", v / 1e9);
    else if (a >= 9.995e5)
        snprintf(out, 32, "%.3gM", v / 1e6);
    else if (a >= 9999.5)
        snprintf(out, 32, "%.3gk", v / 1e3);
    else if (a >= 999.5)
        snprintf(out, 32, "%d %03d", (int)(v / 1000), (int)round(fmod(a, 1000)) % 1000);
    else
        snprintf(out, 32, "%.3g", v);
}

/* As many decimals as the distance of the ticks asks for. */
void svg_tick_text(char out[32], double v, double step)
{
    int decimals = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    if (fabs(v) < step * 1e-6)
        v = 0;
    if (fabs(v) >= 1e4 || decimals > 4)
        svg_number(out, v);
    else
        snprintf(out, 32, "%.*f", decimals, v);
}

/* 1, 2, 5 times a power of ten, and 25. */
double svg_round_step(double raw)
{
    if (!(raw > 0) || !isfinite(raw))
        return 1;
    double p = pow(10, floor(log10(raw))), m = raw / p;
    if (m > 2.0001 && m <= 2.5001 && p >= 10) /* 25, 250: quarters of a hundred */
        return 2.5 * p;
    return (m <= 1.0001 ? 1 : m <= 2.0001 ? 2 : m <= 5.0001 ? 5 : 10) * p;
}

/* null becomes NaN, a gap in the picture. */
static double *numbers(const json_t *array, size_t *n)
{
    *n = json_array_size(array);
    double *v = *n ? mem_calloc(*n, sizeof *v) : NULL;
    for (size_t i = 0; v && i < *n; i++) {
        const json_t *e = json_array_get(array, i);
        v[i] = json_is_number(e) ? json_number_value(e) : (double)NAN;
        /* Beyond any picture, and differences would overflow. */
        if (fabs(v[i]) > 1e30)
            v[i] = (double)NAN;
    }
    return v;
}

static const char *string(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* The chart's series as arrays. */
static int load(Plot *p)
{
    const json_t *all = json_object_get(p->chart, "series");
    p->x_label = string(p->chart, "x_label");
    p->y_label = string(p->chart, "y_label");
    for (size_t i = 0; i < json_array_size(all) && p->count < SVG_SERIES; i++) {
        const json_t *one = json_array_get(all, i);
        Values *v = &p->series[p->count++];
        v->name = string(one, "name");
        v->x = numbers(json_object_get(one, "x"), &v->x_n);
        v->y = numbers(json_object_get(one, "y"), &v->n);
        if ((v->x_n && !v->x) || (v->n && !v->y))
            return ERR_NOMEM;
    }
    return 0;
}

/* Without x the points are 0, 1, ... */
double svg_x_of(const Values *v, size_t i) { return i < v->x_n ? v->x[i] : v->x_n ? (double)NAN : (double)i; }
double svg_px(const Plot *p, double x)
{
    return p->left + (x - p->x0) / (p->x1 - p->x0) * (p->right - p->left);
}
double svg_py(const Plot *p, double y)
{
    return p->bottom - (y - p->y0) / (p->y1 - p->y0) * (p->bottom - p->top);
}

/* A range that can be divided by: not empty, not a single point. */
void svg_widen(double *lo, double *hi, int with_zero)
{
    if (!(*lo <= *hi)) {
        *lo = 0;
        *hi = 1;
    }
    if (with_zero) {
        *lo = *lo > 0 ? 0 : *lo;
        *hi = *hi < 0 ? 0 : *hi;
    }
    if (*hi - *lo <= fabs(*hi) * 1e-9)
        *hi = *lo == 0 && *hi == 0 ? 1 : *hi + (fabs(*hi) > 0 ? fabs(*hi) * 0.1 : 1);
}

void svg_open(Plot *p, double height)
{
    buf_printf(p->out, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", SVG_WIDTH, height);
    svg_text(p->out, string(p->chart, "title"));
    buf_str(p->out, "\">");
}

void svg_label(Buf *out, double x, double y, const char *class, const char *anchor, const char *s)
{
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    svg_text(out, s);
    buf_str(out, "</text>");
}

/* The range grows to whole ticks; the left margin follows the longest number. */
void svg_y_axis(Plot *p)
{
    double step = svg_round_step((p->y1 - p->y0) / 4.5);
    p->y0 = floor(p->y0 / step + 1e-9) * step;
    p->y1 = ceil(p->y1 / step - 1e-9) * step;
    /* Two passes: labels are measured before anything is placed. */
    size_t longest = 1;
    char s[32];
    int ticks = (int)round((p->y1 - p->y0) / step);
    for (int i = 0; i <= ticks; i++) {
        svg_tick_text(s, p->y0 + i * step, step);
        longest = strlen(s) > longest ? strlen(s) : longest;
    }
    p->left = 10 + 6.3 * (double)longest;
    for (int i = 0; i <= ticks; i++) {
        double v = p->y0 + i * step, y = svg_py(p, v);
        svg_tick_text(s, v, step);
        buf_printf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>",
                   fabs(v) < step * 1e-6 ? "axis" : "grid", p->left, y, p->right);
        svg_label(p->out, p->left - 5, y + 3.8, "tick", "end", s);
    }
    svg_label(p->out, 4, 12, "name", "start", p->y_label);
}

/* whole: steps and lags have no halves. */
void svg_x_axis(Plot *p, int whole)
{
    /* About five ticks across, at round values. */
    double step = svg_round_step((p->x1 - p->x0) / 5.5);
    char s[32];
    if (whole && step < 1)
        step = 1;
    for (double v = ceil(p->x0 / step - 1e-9) * step; v <= p->x1 + step * 1e-6; v += step) {
        double x = svg_px(p, v);
        svg_tick_text(s, v, step);
        buf_printf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fv4\"/>", x, p->bottom);
        svg_label(p->out, x, p->bottom + 16, "tick", x > p->right - 8 ? "end" : "middle", s);
    }
    buf_printf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", p->left, p->bottom, p->right);
    svg_label(p->out, (p->left + p->right) / 2, p->bottom + 31, "name", "middle", p->x_label);
}

/* Vertical lines with labels, in three rows so that neighbours do not overlap. */
void svg_marks(Plot *p, double shift)
{
    const json_t *all = json_object_get(p->chart, "marks");
    int row = 0;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *m = json_array_get(all, i), *at = json_object_get(m, "x");
        double v = json_is_number(at) ? json_number_value(at) : (double)NAN;
        if (!(v >= p->x0 - shift && v <= p->x1))
            continue;
        double x = svg_px(p, v + shift), y = p->top + 9 + 12 * (row++ % 3);
        /* Labels near the right edge stand left of their line. */
        int flip = x > p->left + (p->right - p->left) * 0.6;
        buf_printf(p->out, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"/>", x, p->top, p->bottom);
        svg_label(p->out, x + (flip ? -4 : 4), y, "note", flip ? "end" : "start", string(m, "label"));
    }
}

void svg_no_data(Plot *p)
{
    svg_label(p->out, (p->left + p->right) / 2, (p->top + p->bottom) / 2 + 4, "none", "middle", "no data");
}

/* ---- lines ---- */

/* A gap lifts the pen. */
static void move_to(Plot *p, double x, double y, int *pen)
{
    if (!isfinite(x) || !isfinite(y)) {
        *pen = 0;
        return;
    }
    /* The line of no length makes a single point visible: its ends are round. */
    buf_printf(p->out, *pen ? "L%.1f %.1f" : "M%.1f %.1fh0", svg_px(p, x), svg_py(p, y));
    *pen = 1;
}

/* Lowest and highest of the points from .. to-1, in the order in which they come. */
static void piece(Plot *p, const Values *v, size_t from, size_t to, int *pen)
{
    size_t lo = to, hi = to;
    for (size_t i = from; i < to; i++) {
        if (!isfinite(v->y[i]) || !isfinite(svg_x_of(v, i)))
            continue;
        if (lo == to || v->y[i] < v->y[lo])
            lo = i;
        if (hi == to || v->y[i] > v->y[hi])
            hi = i;
    }
    if (lo == to) {
        *pen = 0;
        return;
    }
    /* In the order in which they come, or the line would go back. */
    size_t first = lo < hi ? lo : hi, second = lo < hi ? hi : lo;
    move_to(p, svg_x_of(v, first), v->y[first], pen);
    if (second != first)
        move_to(p, svg_x_of(v, second), v->y[second], pen);
}

/* A long line is drawn by its extremes: a screen has fewer columns than it has points. */
static void line(Plot *p, const Values *v, int colour)
{
    int pen = 0;
    buf_printf(p->out, "<path class=\"line s%d\" d=\"", colour);
    if (v->n <= 2 * PIECES)
        for (size_t i = 0; i < v->n; i++)
            move_to(p, svg_x_of(v, i), v->y[i], &pen);
    else
        for (size_t i = 0; i < PIECES; i++)
            piece(p, v, v->n * i / PIECES, v->n * (i + 1) / PIECES, &pen);
    buf_str(p->out, "\"/>");
}

/* Invisible columns; the one under the pointer (or the finger) shows the values near it. The style sheet does
 * it, without a script. */
static void hover(Plot *p)
{
    const Values *first = &p->series[0];
    /* At most HOVER_COLUMNS: a page has many charts. */
    size_t columns = first->n < HOVER_COLUMNS ? first->n : HOVER_COLUMNS;
    for (size_t c = 0; c < columns; c++) {
        size_t i = first->n <= HOVER_COLUMNS ? c : first->n * (2 * c + 1) / (2 * columns);
        double x = svg_x_of(first, i), w = (p->right - p->left) / (double)columns;
        if (!isfinite(x) || svg_px(p, x) < p->left - 1 || svg_px(p, x) > p->right + 1)
            continue;
        char s[32];
        svg_number(s, x);
        buf_printf(p->out,
                   "<g class=\"at\"><path d=\"M%.1f %.1fV%.1f\"/><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\"/>",
                   svg_px(p, x), p->top, p->bottom, svg_px(p, x) - w / 2, p->top, w, p->bottom - p->top);
        buf_printf(p->out, "<text x=\"%.1f\" y=\"12\" text-anchor=\"end\">%s:", p->right, s);
        for (int k = 0; k < p->count && k < 4; k++) {
            const Values *v = &p->series[k];
            /* The point of each series that is nearest to the column. */
            size_t near = v->n;
            if (v->n == first->n)
                near = i;
            else
                for (size_t j = 0; j < v->n; j++)
                    if (near == v->n || fabs(svg_x_of(v, j) - x) < fabs(svg_x_of(v, near) - x))
                        near = j;
            svg_number(s, near < v->n ? v->y[near] : (double)NAN);
            buf_printf(p->out, "%s %s", k ? "," : "", s);
        }
        buf_str(p->out, "</text></g>");
    }
}

/* Range of all series, axes, lines, marks, and the values under the pointer. */
static void line_chart(Plot *p)
{
    double xlo = INFINITY, xhi = -INFINITY, ylo = INFINITY, yhi = -INFINITY;
    int whole = 1;
    for (int k = 0; k < p->count; k++)
        for (size_t i = 0; i < p->series[k].n; i++) {
            double x = svg_x_of(&p->series[k], i), y = p->series[k].y[i];
            if (!isfinite(x) || !isfinite(y))
                continue;
            xlo = fmin(xlo, x);
            xhi = fmax(xhi, x);
            ylo = fmin(ylo, y);
            yhi = fmax(yhi, y);
            whole = whole && x == floor(x);
        }
    /* No finite point: the axes are drawn anyway. */
    int empty = !(xlo <= xhi);
    svg_widen(&xlo, &xhi, 0);
    svg_widen(&ylo, &yhi, 1);
    p->x0 = xlo;
    p->x1 = xhi;
    p->y0 = ylo;
    p->y1 = yhi;
    svg_open(p, SVG_HEIGHT);
    svg_y_axis(p);
    svg_x_axis(p, whole);
    if (empty)
        svg_no_data(p);
    for (int k = 0; k < p->count; k++)
        line(p, &p->series[k], k % SVG_COLOURS);
    svg_marks(p, 0);
    if (!empty)
        hover(p);
}

/* By kind; lines where it is not known. */
void svg_chart(Buf *out, const json_t *chart)
{
    Plot p = {
        .out = out, .chart = chart, .left = 40, .top = 22, .right = SVG_WIDTH - 8, .bottom = SVG_HEIGHT - 38};
    const char *kind = string(chart, "kind");
    int rc = load(&p);
    if (!rc && strcmp(kind, "histogram") == 0)
        rc = svg_histogram(&p);
    else if (!rc && (strcmp(kind, "bars") == 0 || strcmp(kind, "stacked") == 0))
        svg_bars(&p, kind[0] == 's');
    else if (!rc)
        line_chart(&p);
    buf_str(out, "</svg>");
    if (rc)
        out->failed = 1;
    for (int i = 0; i < p.count; i++) {
        free(p.series[i].x);
        free(p.series[i].y);
    }
}
