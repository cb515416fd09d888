/* textgrid.c - writes intervals as a TextGrid of Praat. */
#include "train/listen/textgrid.h"

#include <string.h>

#define LEAST 5e-6 /* seconds: times have five digits, and Praat takes no interval without a length */

/* A text in quotes; quotes within it are doubled. */
static void put_text(Buf *out, const char *s)
{
    buf_str(out, "\"");
    for (const char *quote; (quote = strchr(s, '"')); s = quote + 1) {
        buf_add(out, s, (size_t)(quote - s));
        buf_str(out, "\"\"");
    }
    buf_str(out, s);
    buf_str(out, "\"");
}

static void put_interval(Buf *out, int number, double from, double to, const char *label)
{
    buf_printf(
        out, "        intervals [%d]:\n            xmin = %.5f\n            xmax = %.5f\n            text = ",
        number, from, to);
    put_text(out, label);
    buf_str(out, " \n");
}

/* All intervals with those between them; out NULL: they are only counted. */
static int put_intervals(Buf *out, double end, const TextGridTier *t)
{
    double at = 0;
    int n = 0;
    for (int i = 0; i <= t->count; i++) {
        double from = i < t->count ? t->intervals[i].from : end;
        /* What lies between two intervals is one without a label; a tier has no holes. */
        int gap = from > at + LEAST;
        n += gap;
        if (gap && out)
            put_interval(out, n, at, from, "");
        if (i == t->count)
            break;
        n++;
        if (out)
            put_interval(out, n, gap ? from : at, t->intervals[i].to, t->intervals[i].label);
        at = t->intervals[i].to;
    }
    return n;
}

/* Praat reads the number of intervals before the intervals, so they are counted first. */
void textgrid_text(Buf *out, double end, const TextGridTier *tiers, int count)
{
    buf_printf(out,
               "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0 \nxmax = %.5f \ntiers? "
               "<exists> \n"
               "size = %d \nitem []: \n",
               end, count);
    for (int k = 0; k < count; k++) {
        buf_printf(out, "    item [%d]:\n        class = \"IntervalTier\" \n        name = ", k + 1);
        put_text(out, tiers[k].name);
        buf_printf(out, " \n        xmin = 0 \n        xmax = %.5f \n        intervals: size = %d \n", end,
                   put_intervals(NULL, end, &tiers[k]));
        put_intervals(out, end, &tiers[k]);
    }
}
