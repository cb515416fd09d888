/* pictures.c - draws what a network makes of a clip: alignment, mel, pitch. */
#include "train/log/pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/normaliser.h"
#include "base/file.h"
#include "base/mem.h"
#include "picture/chart.h"
#include "picture/plot.h"
#include "text/phonemes/tokens.h"
#include "train/listen/alignment.h"

#define WIDTH 1200         /* about, of the time axis */
#define HEIGHT 1200        /* about, of the axis of symbols */
#define MOST_PER_SYMBOL 20 /* pixels */
#define LEAST_WIDTH 420    /* pixels of a very short clip */
#define MOST_PER_FRAME 6   /* pixels */
#define SYMBOL_SIZE 1.75   /* of the letters of symbols */
#define SYMBOL_ROW 16      /* pixels that such letters need */
#define NAME_SIZE 1.5      /* of those on the axis of symbols */
#define NAME_ROW 14.0
#define PITCH_HEIGHT 320 /* pixels */
#define MARGIN 40        /* at the right of a picture without a colour bar */
#define STRIP_ROWS 3     /* of symbols under a time axis that lie close to each other */
#define STRIP (STRIP_ROWS * SYMBOL_ROW + 10)

static const Rgb soft = {120, 120, 130}, hair = {214, 215, 220}, path_core = {120, 240, 255},
                 path_edge = {8, 20, 40};

/* --- what all of them share --- */

/* A clip that was lost has no symbols, and durations that do not add up have no place in time. */
static int check_look(const EngineLook *l, Err *err)
{
    int64_t frames = 0;
    for (int i = 0; i < l->text && l->durations; i++)
        frames += l->durations[i];
    if (l->text < 1 || l->frames < 1 || l->bands < 1 || !l->tokens || frames != l->frames)
        return err_set(err, ERR_DATA, "no alignment to draw: %d symbols on %lld of %d frames", l->text,
                       (long long)frames, l->frames);
    return 0;
}

static double seconds_per_frame(const PictureScale *s)
{
    return (double)s->cfg->hop_length / s->cfg->sample_rate;
}

/* Whole pixels for each frame where the clip is short enough; a very long one is squeezed. */
static int width_of(int frames)
{
    int each = WIDTH / frames;
    if (each < 1)
        return frames < 2 * WIDTH ? frames : 2 * WIDTH;
    int w = frames * (each < MOST_PER_FRAME ? each : MOST_PER_FRAME);
    return w > LEAST_WIDTH ? w : LEAST_WIDTH;
}

/* What stands for a symbol in a picture: itself, or its code where the font has no letter for it. joined: it
 * stands behind another. */
static const char *symbol_text(int32_t token, char out[16], int joined)
{
    char name[8];
    uint32_t code = tokens_code_point(token);
    if (token == TOKEN_BLANK)
        return strcpy(out, "");
    if (token == TOKEN_BOS || token == TOKEN_EOS)
        return strcpy(out, token == TOKEN_BOS ? "begin" : "end");
    if (code == ' ')
        return strcpy(out, "\xE2\x90\xA3");
    if (!draw_has(code))
        snprintf(out, 16, "%04X", code);
    else if (code >= 0x300 && code < 0x370 && !joined) /* a mark needs a letter to stand with */
        snprintf(out, 16, "\xE2\x97\x8C%s", tokens_name(token, name));
    else
        snprintf(out, 16, "%s", tokens_name(token, name));
    return out;
}

static void draw_title(Canvas *c, int x, const char *what, const char *title)
{
    char text[400];
    snprintf(text, sizeof text, "%s%s%s", what, title && *title ? ": " : "", title ? title : "");
    draw_text(c, x, PLOT_TOP + 10, text, PLOT_TITLE_SIZE, DRAW_LEFT, plot_ink);
}

/* A picture that is done, or failed with rc. */
static void hand_over(Rgb **pixels, int *w, int *h, Canvas *c, int rc)
{
    *w = c->w;
    *h = c->h;
    *pixels = rc ? NULL : canvas_take(c);
    canvas_close(c);
}

/* Pixel of the beginning of a frame. */
static double frame_x(const Plot *p, int64_t frame, int frames)
{
    return p->x + (double)frame * p->w / frames;
}

/* A name in the middle of x0 .. x1, in the first row with room for it. */
static void place_name(const Plot *p, int y, double taken[STRIP_ROWS], double x0, double x1, const char *text)
{
    double middle = (x0 + x1) / 2, half = draw_text_width(text, SYMBOL_SIZE) / 2;
    for (int r = 0; r < STRIP_ROWS; r++)
        if (middle - half > taken[r] + 3) {
            int text_y = y + 8 + SYMBOL_ROW / 2 + r * SYMBOL_ROW;
            if (r)
                draw_fill(p->canvas, (int)lrint(middle), y, 1, text_y - 8 - y, hair);
            draw_text(p->canvas, middle, text_y, text, SYMBOL_SIZE, DRAW_CENTRE, plot_ink);
            taken[r] = middle + half;
            return;
        }
}

/* Symbols from y on, under the time axis of p: a tick at each border; the names of phones and punctuation
 * where there is room. 0 or ERR_NOMEM. */
static int draw_strip(const Plot *p, int y, const EngineLook *l, Err *err)
{
    double taken[STRIP_ROWS];
    int64_t at = 0;
    SymbolSpan *phones = mem_calloc((size_t)l->text, sizeof *phones);
    if (!phones)
        return err_set(err, ERR_NOMEM, "no memory for the names of %d symbols", l->text);
    const int count = alignment_phones(phones, l->tokens, l->text);
    for (int r = 0; r < STRIP_ROWS; r++)
        taken[r] = -1e9;
    for (int i = 0, k = 0; i < l->text;) {
        const int is_phone = k < count && phones[k].from == i, to = is_phone ? phones[k++].to : i + 1;
        const int32_t first = l->tokens[i];
        char text[64] = "", name[16];
        double from = frame_x(p, at, l->frames);
        for (; i < to; at += l->durations[i++]) {
            size_t n = strlen(text);
            draw_fill(p->canvas, (int)lrint(frame_x(p, at, l->frames)), y, 1, 6, soft);
            snprintf(text + n, sizeof text - n, "%s", symbol_text(l->tokens[i], name, is_phone && n));
        }
        if (is_phone || (first >= TOKEN_FIRST_SYMBOL && tokens_code_point(first) != ' '))
            place_name(p, y, taken, from, frame_x(p, at, l->frames), text);
    }
    draw_fill(p->canvas, p->x + p->w - 1, y, 1, 6, soft);
    free(phones);
    return 0;
}

/* --- alignment --- */

/* [text, frames]: the log-likelihood of the frame under the symbol, less that of the symbol it fits best. */
static float *fit(const EngineLook *l)
{
    float *out = mem_calloc((size_t)l->text * (size_t)l->frames, sizeof *out);
    for (int m = 0; m < l->frames && out; m++) {
        const float *mel = l->target + (size_t)m * (size_t)l->bands;
        double best = -HUGE_VAL;
        /* First the likelihood of every symbol, then less the best of them. */
        for (int pass = 0; pass < 2; pass++)
            for (int t = 0; t < l->text; t++) {
                const float *mu = l->mu + (size_t)t * (size_t)l->bands;
                float *to = &out[(size_t)t * (size_t)l->frames + (size_t)m];
                double sum = 0;
                if (pass) {
                    *to = (float)((double)*to - best);
                    continue;
                }
                for (int k = 0; k < l->bands; k++)
                    sum += ((double)mel[k] - (double)mu[k]) * ((double)mel[k] - (double)mu[k]);
                *to = (float)(-sum / 2);
                best = fmax(best, (double)*to);
            }
    }
    return out;
}

static int compare_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The value that a share of all is below; of a sample where there are many. */
static float quantile(const float *values, size_t n, double share)
{
    const size_t step = n / 20000 + 1, count = (n + step - 1) / step;
    float *some = mem_calloc(count, sizeof *some), found = 0;
    for (size_t i = 0; i < count && some; i++)
        some[i] = values[i * step];
    if (some) {
        qsort(some, count, sizeof *some, compare_float);
        found = some[(size_t)(share * (double)(count - 1))];
    }
    free(some);
    return found;
}

/* The symbols at the left, one under the other; in several columns where rows are lower than letters. */
typedef struct Names {
    int columns, width; /* of a column, pixels */
} Names;

/* As many columns as are needed for names not to overlap. */
static Names measure_names(const EngineLook *l, double row)
{
    Names n = {.width = 0};
    int shown = 0;
    for (int i = 0; i < l->text; i++) {
        char text[16];
        int w = (int)draw_text_width(symbol_text(l->tokens[i], text, 0), NAME_SIZE) + 10;
        n.width = w > n.width ? w : n.width;
        shown += *text != 0;
    }
    double each = row * l->text / (shown ? shown : 1); /* pixels for a name: blanks have none */
    n.columns = each >= NAME_ROW ? 1 : (int)ceil(NAME_ROW / each);
    return n;
}

/* A thin line leads from each name to its row. */
static void draw_names(Plot *p, const EngineLook *l, Names n)
{
    int shown = 0;
    for (int i = 0; i < l->text; i++) {
        char text[16];
        if (!*symbol_text(l->tokens[i], text, 0))
            continue;
        int y = p->y + p->h - (int)lrint((i + 0.5) * p->h / l->text), column = shown++ % n.columns;
        draw_fill(p->canvas, p->x - 5 - column * n.width, y, 4 + column * n.width, 1,
                  column ? hair : plot_faint);
        int x = p->x - 9 - column * n.width;
        draw_text(p->canvas, x, y, text, NAME_SIZE, DRAW_RIGHT, plot_ink);
    }
}

/* A path of steps: along each symbol's row while it lasts, then up to the next. */
static void draw_path(Plot *p, const EngineLook *l)
{
    /* A dark edge first, the bright core over it: it is seen on any colour. */
    static const double widths[] = {4.8, 2.2};
    for (int k = 0; k < 2; k++) {
        int64_t at = 0;
        double row = (double)p->h / l->text;
        for (int i = 0; i < l->text; at += l->durations[i++]) {
            double y = p->y + p->h - (i + 0.5) * row, x0 = frame_x(p, at, l->frames);
            double x1 = frame_x(p, at + l->durations[i], l->frames);
            draw_stroke(p->canvas, x0, y, x1, y, widths[k]);
            if (i + 1 < l->text)
                draw_stroke(p->canvas, x1, y, x1, y - row, widths[k]);
        }
        draw_paint(p->canvas, k ? path_core : path_edge, 1);
    }
}

/* How well each frame fits each symbol, and the path that the search has chosen through it. */
int picture_alignment_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s,
                             Err *err)
{
    *pixels = NULL;
    int rc = check_look(l, err);
    if (rc)
        return rc;
    if (!l->mu || !l->target)
        return err_set(err, ERR_DATA, "no mel to draw the alignment on");
    float *values = fit(l);
    if (!values)
        return err_set(err, ERR_NOMEM, "no memory for a picture of %d x %d", l->text, l->frames);
    const int fair = HEIGHT / l->text, row = fair > MOST_PER_SYMBOL ? MOST_PER_SYMBOL : fair < 8 ? 8 : fair;
    Names names = measure_names(l, row);
    Canvas canvas = {0};
    Plot p = {.canvas = &canvas, .x = 16 + names.columns * names.width, .y = PLOT_TOP + PLOT_TITLE};
    p.w = width_of(l->frames);
    p.h = row * l->text;
    plot_range(&p, NULL, 0);
    float low = quantile(values, (size_t)l->text * (size_t)l->frames, 0.6);
    /* Four even steps on the colour bar. */
    p.low = -4 * (float)draw_round_step(fmax((double)-low / 4, 1e-3));
    p.high = 0;
    rc = canvas_open(&canvas, p.x + p.w + PLOT_RIGHT, p.y + p.h + PLOT_BOTTOM, plot_paper, err);
    if (!rc) {
        draw_title(&canvas, p.x, "alignment", s->title);
        plot_values(&p, values, l->frames, l->text, 1);
        plot_frame(&p);
        plot_time(&p, l->frames, seconds_per_frame(s));
        draw_names(&p, l, names);
        draw_path(&p, l);
        plot_colour_bar(&p, "log-likelihood minus that of the best symbol");
        hand_over(pixels, w, h, &canvas, rc);
    }
    free(values);
    return rc;
}

/* --- mels --- */

/* As it was before the network's normalisation, where that is known. */
static float *plain_mel(const float *mel, const EngineLook *l, const PictureScale *s)
{
    const size_t n = (size_t)l->frames * (size_t)l->bands;
    float *out = mem_calloc(n, sizeof *out);
    if (out && s->mean && s->deviation)
        normaliser_restore_mel(out, mel, s->mean, s->deviation, l->frames, l->bands);
    else if (out)
        memcpy(out, mel, n * sizeof *out);
    return out;
}

static void draw_mel(Plot *p, const float *mel, const EngineLook *l, const double *edges, const char *name)
{
    plot_values(p, mel, l->frames, l->bands, 0);
    plot_frame(p);
    plot_frequency(p, l->bands, edges);
    draw_text_up(p->canvas, 14, p->y + p->h / 2.0, name, DRAW_TEXT_SIZE, plot_ink);
}

static int mel_height(int bands) { return bands <= 40 ? 6 * bands : bands <= 100 ? 3 * bands : 2 * bands; }

/* The recording above, the network's mel below; both with the clip's own durations, so that they can be
 * compared frame by frame. */
int picture_mels_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err)
{
    *pixels = NULL;
    int rc = l->text ? check_look(l, err) : 0;
    if (rc)
        return rc;
    if (!l->target || !l->predicted || l->frames < 1)
        return err_set(err, ERR_DATA, "two mels are needed for a picture");
    MelPlan *plan = NULL;
    rc = mel_plan_open(&plan, s->cfg, err);
    if (rc)
        return rc;
    /* Frequencies on the axis only where the mel is that of the settings. */
    const double *edges = l->bands == mel_bands(plan) ? mel_edges(plan) : NULL;
    float *real = plain_mel(l->target, l, s), *made = plain_mel(l->predicted, l, s);
    Canvas canvas = {0};
    Plot a = {.canvas = &canvas, .x = PLOT_LEFT + 16, .y = PLOT_TOP + PLOT_TITLE, .w = width_of(l->frames)};
    a.h = mel_height(l->bands);
    if (!real || !made)
        rc = err_set(err, ERR_NOMEM, "no memory for a picture of %d frames", l->frames);
    else
        rc = canvas_open(&canvas, a.x + a.w + PLOT_RIGHT, a.y + 2 * a.h + STRIP + PLOT_BOTTOM, plot_paper,
                         err);
    if (!rc) {
        /* The recording's range for both: what is made is seen against it. */
        plot_range(&a, real, (int64_t)l->frames * l->bands);
        Plot b = a;
        b.y += a.h + STRIP;
        draw_title(&canvas, a.x, "mel", s->title);
        draw_mel(&a, real, l, edges, "recording");
        if (l->text)
            rc = draw_strip(&a, a.y + a.h + 1, l, err);
        draw_mel(&b, made, l, edges, "network");
        plot_time(&b, l->frames, seconds_per_frame(s));
        Plot bar = a;
        bar.h = 2 * a.h + STRIP;
        plot_colour_bar(&bar, "log mel");
        hand_over(pixels, w, h, &canvas, rc);
    }
    free(real);
    free(made);
    mel_plan_close(plan);
    return rc;
}

/* --- pitch --- */

typedef struct PitchLine {
    const float *values; /* one for each symbol, `step` apart */
    int step;
    const char *name;
    Rgb colour;
} PitchLine;

/* Where the statistics are not known the pitch is shown as the network sees it. */
static double in_hz(const PictureScale *s, float value)
{
    return s->pitch_deviation > 0 ? normaliser_pitch_hz((double)value, s->pitch_mean, s->pitch_deviation)
                                  : (double)value;
}

/* Lines of steps in the rectangle of p, with an axis at the left; the range is that of all values. */
static void draw_pitch(Plot *p, const EngineLook *l, const PictureScale *s, const PitchLine *lines, int count)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    const int hz = s->pitch_deviation > 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < l->text; i++) {
            double v = in_hz(s, lines[k].values[i * lines[k].step]);
            if (isfinite(v)) {
                low = fmin(low, v);
                high = fmax(high, v);
            }
        }
    if (!(low <= high)) {
        low = 0;
        high = 1;
    }
    double room = fmax((high - low) * 0.08, hz ? 5 : 0.05);
    low -= room;
    high += room;
    double step = draw_round_step((high - low) * 40 / p->h);
    for (double v = ceil(low / step) * step; v <= high; v += step) {
        char text[32];
        int y = p->y + p->h - (int)lrint((v - low) / (high - low) * p->h);
        draw_fill(p->canvas, p->x, y, p->w, 1, hair);
        snprintf(text, sizeof text, hz ? "%.0f Hz" : "%.2g", fabs(v) < step / 1e6 ? 0.0 : v);
        plot_tick_left(p, y, text);
    }
    for (int k = 0; k < count; k++) {
        int64_t at = 0;
        double last = NAN;
        for (int i = 0; i < l->text; at += l->durations[i++]) {
            double v = in_hz(s, lines[k].values[i * lines[k].step]),
                   y = p->y + p->h - (v - low) / (high - low) * p->h;
            double x0 = frame_x(p, at, l->frames), x1 = frame_x(p, at + l->durations[i], l->frames);
            /* A thin line up or down to the next symbol; nothing is drawn where one of them is not a
             * number. */
            draw_stroke(p->canvas, x0, last, x0, y, 1.2);
            draw_stroke(p->canvas, x0, y, x1, y, 3.4);
            last = y;
        }
        draw_paint(p->canvas, lines[k].colour, 0.92);
    }
    plot_frame(p);
}

static void draw_legend(Canvas *c, int right, int y, const PitchLine *lines, int count)
{
    for (int k = count - 1; k >= 0; k--) {
        right -= (int)draw_text_width(lines[k].name, DRAW_TEXT_SIZE);
        draw_text(c, right, y, lines[k].name, DRAW_TEXT_SIZE, DRAW_LEFT, plot_ink);
        draw_stroke(c, right - 34, y, right - 10, y, 3.4);
        draw_paint(c, lines[k].colour, 1);
        right -= 60;
    }
}

int picture_pitch_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err)
{
    *pixels = NULL;
    int rc = check_look(l, err);
    if (rc)
        return rc;
    if (!l->pitch || !l->traits)
        return err_set(err, ERR_DATA, "no pitch to draw");
    const PitchLine lines[] = {{l->pitch, 1, "recording", chart_colour(0)},
                               {l->traits + TRAIT_PITCH, TRAIT_COUNT, "predicted", chart_colour(1)}};
    Canvas canvas = {0};
    Plot p = {.canvas = &canvas,
              .x = PLOT_LEFT,
              .y = PLOT_TOP + PLOT_TITLE,
              .w = width_of(l->frames),
              .h = PITCH_HEIGHT};
    rc = canvas_open(&canvas, p.x + p.w + MARGIN, p.y + p.h + STRIP + PLOT_BOTTOM, plot_paper, err);
    if (rc)
        return rc;
    draw_title(&canvas, p.x, "pitch", s->title);
    draw_legend(&canvas, p.x + p.w, PLOT_TOP + 10, lines, 2);
    draw_pitch(&p, l, s, lines, 2);
    rc = draw_strip(&p, p.y + p.h + 1, l, err);
    /* The times stand below the symbols. */
    p.h += STRIP;
    plot_time(&p, l->frames, seconds_per_frame(s));
    hand_over(pixels, w, h, &canvas, rc);
    return rc;
}

/* --- speech --- */

/* There is no recording to compare with: durations and pitch are the network's own. */
int picture_spoken_pixels(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s, Err *err)
{
    *pixels = NULL;
    int rc = check_look(l, err);
    if (rc)
        return rc;
    if (!l->predicted || !l->pitch)
        return err_set(err, ERR_DATA, "no speech to draw");
    MelPlan *plan = NULL;
    rc = mel_plan_open(&plan, s->cfg, err);
    if (rc)
        return rc;
    const double *edges = l->bands == mel_bands(plan) ? mel_edges(plan) : NULL;
    const PitchLine line = {l->pitch, 1, NULL, chart_colour(1)};
    float *made = plain_mel(l->predicted, l, s);
    Canvas canvas = {0};
    Plot a = {.canvas = &canvas, .x = PLOT_LEFT + 16, .y = PLOT_TOP + PLOT_TITLE, .w = width_of(l->frames)};
    a.h = mel_height(l->bands);
    Plot b = a;
    b.y += a.h + STRIP;
    b.h = PITCH_HEIGHT / 2;
    rc = made ? canvas_open(&canvas, a.x + a.w + PLOT_RIGHT, b.y + b.h + PLOT_BOTTOM, plot_paper, err)
              : err_set(err, ERR_NOMEM, "no memory for a picture of %d frames", l->frames);
    if (!rc) {
        plot_range(&a, made, (int64_t)l->frames * l->bands);
        draw_title(&canvas, a.x, "speech", s->title);
        draw_mel(&a, made, l, edges, "mel");
        plot_colour_bar(&a, "log mel");
        rc = draw_strip(&a, a.y + a.h + 1, l, err);
        draw_pitch(&b, l, s, &line, 1);
        draw_text_up(&canvas, 14, b.y + b.h / 2.0, "pitch", DRAW_TEXT_SIZE, plot_ink);
        plot_time(&b, l->frames, seconds_per_frame(s));
        hand_over(pixels, w, h, &canvas, rc);
    }
    free(made);
    mel_plan_close(plan);
    return rc;
}

/* --- of a run --- */

/* Pictures are for looking at; one that fails gives a warning, and training continues. */
typedef int (*PictureDraw)(Rgb **pixels, int *w, int *h, const EngineLook *l, const PictureScale *s,
                           Err *err);

/* dir/name.png, and the same in the event log. */
static void put_picture(const char *dir, EventLog *events, int64_t step, const char *name, PictureDraw draw,
                        const EngineLook *l, const PictureScale *s, Log *log)
{
    Rgb *pixels;
    int w = 0, h = 0;
    Err err = {0};
    Buf path = {0};
    int rc = draw(&pixels, &w, &h, l, s, &err);
    buf_printf(&path, "%s/%s.png", dir, name);
    if (!rc) {
        event_log_picture(events, name, step, pixels, w, h);
        rc = path.failed ? err_set(&err, ERR_NOMEM, "no memory for its path")
                         : picture_write_rgb(path.data, pixels, w, h, &err);
    }
    if (rc)
        log_warn(log, "no picture %s.png: %s", name, err.msg);
    free(pixels);
    buf_free(&path);
}

void pictures_of_look(const char *dir, EventLog *events, int64_t step, const EngineLook *l,
                      const PictureScale *s, Log *log)
{
    put_picture(dir, events, step, "alignment", picture_alignment_pixels, l, s, log);
    put_picture(dir, events, step, "mel", picture_mels_pixels, l, s, log);
    put_picture(dir, events, step, "pitch", picture_pitch_pixels, l, s, log);
}

void picture_of_copy(const char *dir, EventLog *events, int64_t step, const EngineLook *l,
                     const PictureScale *s, Log *log)
{
    put_picture(dir, events, step, "mel", picture_mels_pixels, l, s, log);
}
