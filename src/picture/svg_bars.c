/* svg_bars.c - histograms, bars and stacked bars; see svg.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "picture/svg_private.h"

#define MOST_BINS 40
#define MOST_LETTERS 20 /* of a category's name beside its bar */
#define ROW 26          /* of a horizontal bar chart */

/* ---- histograms ---- */

/* Equal bins from `first` on. */
typedef struct Bins {
    double first, step;
    size_t count; /* 0: no sample at all */
} Bins;

/* Round bins, the same for all series that hold samples: counts can be compared only so. */
static Bins bins_of(const Plot *p)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t finite = 0;
    for (int k = 0; k < p->count; k++)
        for (size_t i = 0; !p->series[k].x_n && i < p->series[k].n; i++)
            if (isfinite(p->series[k].y[i])) {
                lo = fmin(lo, p->series[k].y[i]);
                hi = fmax(hi, p->series[k].y[i]);
                finite++;
            }
    if (!finite)
        return (Bins){0};
    svg_widen(&lo, &hi, 0);
    /* About the root of the number of samples, in round steps. */
    double wanted = fmax(8, fmin(MOST_BINS, sqrt((double)finite))), step = svg_round_step((hi - lo) / wanted),
           first = floor(lo / step) * step;
    return (Bins){first, step, (size_t)fmin(4 * MOST_BINS, floor((hi - first) / step) + 1)};
}

/* The series' samples become counts, with the bins' edges as x. 0 or ERR_NOMEM. */
static int count_samples(Values *v, const Bins *bins)
{
    double *x = mem_calloc(bins->count + 1, sizeof *x), *y = mem_calloc(bins->count + 1, sizeof *y);
    if (!x || !y) {
        free(x);
        free(y);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i <= bins->count; i++)
        x[i] = bins->first + (double)i * bins->step;
    for (size_t i = 0; i < v->n && bins->count; i++)
        if (isfinite(v->y[i])) {
            double at = floor((v->y[i] - bins->first) / bins->step);
            y[at < 0 ? 0 : at >= (double)bins->count ? bins->count - 1 : (size_t)at]++;
        }
    free(v->x);
    free(v->y);
    v->x = x;
    v->y = y;
    v->n = bins->count;
    v->x_n = bins->count + 1;
    return 0;
}

/* Edges as given if there is one more than counts; else half-way between the centres. */
static double lower_edge(const Values *v, size_t i)
{
    if (v->x_n > v->n)
        return v->x[i];
    return i ? (v->x[i - 1] + v->x[i]) / 2 : v->n > 1 ? v->x[0] - (v->x[1] - v->x[0]) / 2 : v->x[0] - 0.5;
}

static double upper_edge(const Values *v, size_t i)
{
    if (v->x_n > v->n)
        return v->x[i + 1];
    return i + 1 < v->n ? (v->x[i] + v->x[i + 1]) / 2
           : v->n > 1   ? v->x[i] + (v->x[i] - v->x[i - 1]) / 2
                        : v->x[i] + 0.5;
}

/* Counts that are given, or samples that are counted here. */
int svg_histogram(Plot *p)
{
    double xlo = INFINITY, xhi = -INFINITY, most = 0;
    Bins bins = bins_of(p);
    for (int k = 0; k < p->count; k++) {
        Values *v = &p->series[k];
        if (!v->x_n && count_samples(v, &bins))
            return ERR_NOMEM;
        v->n = v->n < v->x_n ? v->n : v->x_n;
        for (size_t i = 0; i < v->n; i++)
            if (isfinite(lower_edge(v, i)) && isfinite(v->y[i]) && isfinite(upper_edge(v, i))) {
                xlo = fmin(xlo, lower_edge(v, i));
                xhi = fmax(xhi, upper_edge(v, i));
                most = fmax(most, v->y[i]);
            }
    }
    int empty = !(xlo <= xhi);
    svg_widen(&xlo, &xhi, 0);
    p->x0 = xlo;
    p->x1 = xhi;
    p->y0 = 0;
    p->y1 = most > 0 ? most : 1;
    svg_open(p, SVG_HEIGHT);
    svg_y_axis(p);
    for (int k = 0; k < p->count; k++)
        for (size_t i = 0; i < p->series[k].n; i++) {
            const Values *v = &p->series[k];
            double a = lower_edge(v, i), b = upper_edge(v, i);
            if (!(v->y[i] > 0) || !(a < b))
                continue;
            char from[32], to[32], count[32];
            svg_number(from, a);
            svg_number(to, b);
            svg_number(count, v->y[i]);
            /* A small gap between neighbours; very narrow bars stay visible. */
            double w = svg_px(p, b) - svg_px(p, a);
            buf_printf(p->out,
                       "<rect class=\"bar s%d%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" "
                       "height=\"%.1f\"><title>%s to %s: %s</title></rect>",
                       k % SVG_COLOURS, p->count > 1 ? " see" : "", svg_px(p, a) + 0.4, svg_py(p, v->y[i]),
                       fmax(w - 0.8, 0.4), p->bottom - svg_py(p, v->y[i]), from, to, count);
        }
    svg_x_axis(p, 0);
    if (empty)
        svg_no_data(p);
    svg_marks(p, 0);
    return 0;
}

/* ---- bars ---- */

typedef struct Category {
    char number[32];
    const char *name;
} Category;

/* Named categories, or as many as the longest series has values. */
static size_t category_count(const Plot *p)
{
    size_t n = json_array_size(json_object_get(p->chart, "categories"));
    for (int k = 0; k < p->count && !json_array_size(json_object_get(p->chart, "categories")); k++)
        n = p->series[k].n > n ? p->series[k].n : n;
    return n;
}

/* A category's name; its x or its number where it has none. */
static void category(const Plot *p, size_t i, Category *c)
{
    c->name = json_string_value(json_array_get(json_object_get(p->chart, "categories"), i));
    if (c->name)
        return;
    svg_number(c->number, p->count ? svg_x_of(&p->series[0], i) : (double)i);
    c->name = c->number;
}

/* A gap is a bar of no length. */
static double value(const Plot *p, int k, size_t i)
{
    return i < p->series[k].n && isfinite(p->series[k].y[i]) ? p->series[k].y[i] : 0;
}

/* What the pointer shows. */
static void bar_title(Plot *p, const Category *c, int k, double v)
{
    char s[32];
    svg_number(s, v);
    buf_str(p->out, "<title>");
    svg_text(p->out, c->name);
    if (p->series[k].name[0]) {
        buf_str(p->out, ", ");
        svg_text(p->out, p->series[k].name);
    }
    buf_printf(p->out, ": %s", s);
    if (p->y_label[0]) {
        buf_str(p->out, " ");
        svg_text(p->out, p->y_label);
    }
    buf_str(p->out, "</title>");
}

/* Lowest and highest end of a bar, over all of them. */
static void bar_range(const Plot *p, size_t n, int stacked, double *lo, double *hi)
{
    *lo = 0;
    *hi = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < p->count; k++) {
            double v = value(p, k, i);
            sum += stacked ? fmax(v, 0) : 0;
            *lo = fmin(*lo, stacked ? 0 : v);
            *hi = fmax(*hi, stacked ? sum : v);
        }
    }
}

/* Upright bars, for many short categories: autocorrelation over lags. */
static void upright(Plot *p, size_t n)
{
    double lo, hi;
    bar_range(p, n, 0, &lo, &hi);
    svg_widen(&lo, &hi, 1);
    p->y0 = lo;
    p->y1 = hi;
    p->x0 = 0;
    p->x1 = (double)n;
    svg_open(p, SVG_HEIGHT);
    svg_y_axis(p);
    /* A slot per category, divided among the series. */
    double slot = (p->right - p->left) / (double)n, gap = slot * 0.18, w = (slot - gap) / p->count;
    /* As many labels as fit beside each other. */
    size_t every = (size_t)ceil((double)n * 26 / (p->right - p->left));
    for (size_t i = 0; i < n; i++) {
        Category c;
        category(p, i, &c);
        for (int k = 0; k < p->count; k++) {
            double v = value(p, k, i), a = svg_py(p, fmax(v, 0)), b = svg_py(p, fmin(v, 0));
            buf_printf(p->out,
                       "<rect class=\"bar s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">",
                       k % SVG_COLOURS, p->left + slot * (double)i + gap / 2 + w * k, a, fmax(w - 0.3, 0.4),
                       fmax(b - a, 0.2));
            bar_title(p, &c, k, v);
            buf_str(p->out, "</rect>");
        }
        if (i % every == 0)
            svg_label(p->out, p->left + slot * ((double)i + 0.5), p->bottom + 16, "tick", "middle", c.name);
    }
    buf_printf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", p->left, p->bottom, p->right);
    svg_label(p->out, (p->left + p->right) / 2, p->bottom + 31, "name", "middle", p->x_label);
    /* Marks stand in the middle of a category; where the series has x, they are given in its terms. */
    const Values *v = &p->series[0];
    if (v->x_n > 1 && v->x[v->x_n - 1] > v->x[0] && v->x_n >= n) {
        double width = (v->x[n - 1] - v->x[0]) / (double)(n - 1);
        p->x0 = v->x[0];
        p->x1 = v->x[n - 1] + width;
        svg_marks(p, width / 2);
    } else {
        svg_marks(p, 0.5);
    }
}

/* Letters, not bytes. */
static size_t letters(const char *s) { return utf8_count(s, strlen(s)); }

/* At most `most` letters; what is cut off can be read in the bar's title. */
static void short_name(Buf *out, const char *s, size_t most)
{
    if (letters(s) <= most) {
        svg_text(out, s);
        return;
    }
    svg_escape(out, s, utf8_prefix(s, strlen(s), most - 1));
    buf_str(out, "…");
}

/* Bars that lie: the names of stages and settings need room to be read. */
static void lying(Plot *p, size_t n, int stacked)
{
    double lo, hi;
    size_t longest = 0;
    Category c;
    bar_range(p, n, stacked, &lo, &hi);
    svg_widen(&lo, &hi, 1);
    for (size_t i = 0; i < n; i++) {
        category(p, i, &c);
        longest = letters(c.name) > longest ? letters(c.name) : longest;
    }
    /* The picture is as high as its bars need. */
    double step = svg_round_step((hi - lo) / 4.5), height;
    int lines = stacked ? 1 : p->count;
    double row = fmax(ROW, 13.0 * lines + 6);
    p->left = 10 + 6.6 * fmin((double)longest, MOST_LETTERS);
    p->top = 8;
    p->bottom = p->top + row * (double)(n ? n : 1);
    p->x0 = floor(lo / step + 1e-9) * step;
    p->x1 = ceil(hi / step - 1e-9) * step;
    height = p->bottom + 38;
    svg_open(p, height);
    /* Grid lines and numbers below. */
    for (double v = p->x0; v <= p->x1 + step * 1e-6; v += step) {
        char s[32];
        svg_tick_text(s, v, step);
        buf_printf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>",
                   fabs(v) < step * 1e-6 ? "axis" : "grid", svg_px(p, v), p->top, p->bottom);
        svg_label(p->out, svg_px(p, v), p->bottom + 15, "tick",
                  svg_px(p, v) > p->right - 8 ? "end" : "middle", s);
    }
    for (size_t i = 0; i < n; i++) {
        double y = p->top + row * (double)i, sum = 0, h = (row - 6) / lines;
        category(p, i, &c);
        buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"cat\" text-anchor=\"end\">", p->left - 6,
                   y + row / 2 + 4);
        short_name(p->out, c.name, MOST_LETTERS);
        buf_str(p->out, "</text>");
        for (int k = 0; k < p->count; k++) {
            /* Stacked bars begin where the one before ends. */
            double v = value(p, k, i), a = stacked ? sum : fmin(v, 0),
                   b = stacked ? sum + fmax(v, 0) : fmax(v, 0);
            sum = b;
            if (b <= a)
                continue;
            buf_printf(p->out,
                       "<rect class=\"bar s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">",
                       k % SVG_COLOURS, svg_px(p, a), y + 3 + (stacked ? 0 : h * k),
                       fmax(svg_px(p, b) - svg_px(p, a) - (stacked ? 0.6 : 0), 0.4), h - (lines > 1 ? 1 : 0));
            bar_title(p, &c, k, v);
            buf_str(p->out, "</rect>");
        }
    }
    /* The value axis lies: its name is the y label, below. */
    svg_label(p->out, p->right, p->bottom + 31, "name", "end", p->y_label);
    if (!n || !p->count)
        svg_no_data(p);
}

/* Upright where the names are short or the bars many. */
void svg_bars(Plot *p, int stacked)
{
    size_t n = category_count(p), longest = 0;
    for (size_t i = 0; i < n; i++) {
        Category c;
        category(p, i, &c);
        longest = strlen(c.name) > longest ? strlen(c.name) : longest;
    }
    if (!stacked && n && p->count && (longest <= 4 || n > 24))
        upright(p, n);
    else
        lying(p, n, stacked);
}
