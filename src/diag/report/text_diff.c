/* text_diff.c - see text_diff.h. The greedy algorithm of Myers (1986), "An O(ND) Difference Algorithm and Its
 * Variations", on the lines between the common beginning and the common end. */
#include "diag/report/text_diff.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXT 3
#define MOST_CHANGES 1000

/* A line is a slice of the text. */
typedef struct Line {
    const char *p;
    size_t n;  /* without the newline */
    int whole; /* it ends with one */
} Line;

typedef struct Lines {
    Line *items;
    long count;
} Lines;

/* The last line may lack its newline. */
static int split(Lines *l, const char *s, size_t n)
{
    size_t cap = 0;
    *l = (Lines){0};
    for (size_t at = 0; at < n;) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t length = end ? (size_t)(end - s) - at : n - at;
        if (mem_grow(&l->items, &cap, (size_t)l->count + 1, sizeof *l->items))
            return ERR_NOMEM;
        l->items[l->count++] = (Line){s + at, length, end != NULL};
        at += length + (end != NULL);
    }
    return 0;
}

static int same(const Line *a, const Line *b)
{
    return a->n == b->n && a->whole == b->whole && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

/* gone[i]: line i of a is not in b; come[j]: line j of b is not in a. Over the middle a[from .. a_end),
 * b[from .. b_end). */
static int compare(char *gone, char *come, const Lines *a, const Lines *b, long from, long a_end, long b_end)
{
    long n = a_end - from, m = b_end - from, most = n + m < MOST_CHANGES ? n + m : MOST_CHANGES,
         width = 2 * most + 1;
    /* The furthest points of every number of changes are kept, to find the way back. */
    int *trace = mem_calloc((size_t)(most + 1), (size_t)width * sizeof *trace);
    if (!trace)
        return ERR_NOMEM;
    long d = 0, x = 0, y = 0;
    int found = 0;
    for (d = 0; d <= most && !found; d++) {
        int *v = trace + d * width + most;
        if (d > 0)
            memcpy(v - most, v - most - width, (size_t)width * sizeof *v);
        /* Along each diagonal as far as the lines are equal. */
        for (long k = -d; k <= d && !found; k += 2) {
            x = d == 0 ? 0 : k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
            for (y = x - k; x < n && y < m && same(&a->items[from + x], &b->items[from + y]); x++)
                y++;
            v[k] = (int)x;
            found = x >= n && y >= m;
        }
    }
    if (!found) { /* too much: all of it */
        memset(gone + from, 1, (size_t)n);
        memset(come + from, 1, (size_t)m);
        free(trace);
        return 0;
    }
    /* Back along the way: each step is one line that went or came. */
    for (x = n, y = m, d--; d > 0; d--) {
        const int *v = trace + (d - 1) * width + most;
        long k = x - y;
        int down = k == -d || (k != d && v[k - 1] < v[k + 1]);
        long before_x = down ? v[k + 1] : v[k - 1], before_y = before_x - (down ? k + 1 : k - 1);
        while (x > before_x + !down && y > before_y + down) {
            x--;
            y--;
        }
        if (down)
            come[from + before_y] = 1;
        else
            gone[from + before_x] = 1;
        x = before_x;
        y = before_y;
    }
    free(trace);
    return 0;
}

/* As diff -u writes it. */
static void put_line(Buf *out, char sign, const Line *l)
{
    buf_add(out, &sign, 1);
    buf_add(out, l->p, l->n);
    buf_str(out, l->whole ? "\n" : "\n\\ No newline at end of file\n");
}

/* The hunk that begins with the change at (i, j); moves both behind it. */
static void put_hunk(Buf *out, const Lines *a, const Lines *b, const char *gone, const char *come, long *i,
                     long *j)
{
    long a0 = *i > CONTEXT ? *i - CONTEXT : 0, b0 = *j - (*i - a0), x = *i, y = *j, quiet = 0;
    /* Changes with few equal lines between them share a hunk. */
    while (x < a->count || y < b->count) {
        if (x < a->count && gone[x]) {
            x++;
            quiet = 0;
        } else if (y < b->count && come[y]) {
            y++;
            quiet = 0;
        } else if (quiet == 2 * CONTEXT)
            break;
        else {
            x++;
            y++;
            quiet++;
        }
    }
    long spare = quiet > CONTEXT ? quiet - CONTEXT : 0;
    x -= spare;
    y -= spare;
    buf_printf(out, "@@ -%ld,%ld +%ld,%ld @@\n", a0 + (x > a0), x - a0, b0 + (y > b0), y - b0);
    long p = a0, q = b0;
    while (p < x || q < y) {
        if (p < x && gone[p])
            put_line(out, '-', &a->items[p++]);
        else if (q < y && come[q])
            put_line(out, '+', &b->items[q++]);
        else {
            put_line(out, ' ', &a->items[p]);
            p++;
            q++;
        }
    }
    *i = x;
    *j = y;
}

/* Nothing is written for equal texts. */
int text_diff(Buf *out, const char *old_name, const char *old_text, size_t old_size, const char *new_name,
              const char *new_text, size_t new_size)
{
    Lines a = {0}, b = {0};
    char *gone = NULL, *come = NULL;
    int rc = split(&a, old_text, old_size);
    if (!rc)
        rc = split(&b, new_text, new_size);
    if (!rc) {
        gone = mem_calloc((size_t)a.count + 1, 1);
        come = mem_calloc((size_t)b.count + 1, 1);
        rc = gone && come ? 0 : ERR_NOMEM;
    }
    if (!rc) {
        /* What both have in common at the beginning and the end needs no search. */
        long from = 0, a_end = a.count, b_end = b.count;
        while (from < a_end && from < b_end && same(&a.items[from], &b.items[from]))
            from++;
        while (a_end > from && b_end > from && same(&a.items[a_end - 1], &b.items[b_end - 1])) {
            a_end--;
            b_end--;
        }
        rc = compare(gone, come, &a, &b, from, a_end, b_end);
    }
    if (!rc) {
        int begun = 0;
        for (long i = 0, j = 0; i < a.count || j < b.count;) {
            if ((i < a.count && gone[i]) || (j < b.count && come[j])) {
                if (!begun)
                    buf_printf(out, "--- %s\n+++ %s\n", old_name, new_name);
                begun = 1;
                put_hunk(out, &a, &b, gone, come, &i, &j);
            } else {
                i++;
                j++;
            }
        }
        rc = out->failed ? ERR_NOMEM : 0;
    }
    free(gone);
    free(come);
    free(a.items);
    free(b.items);
    return rc;
}
