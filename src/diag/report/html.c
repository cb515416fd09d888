/* html.c - see html.h. */
#include "diag/report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/words/words.h"
#include "diag/pipeline/doctor.h"
#include "diag/report/html_style.h"
#include "picture/svg.h"

#define MOST_PICTURE_BYTES ((size_t)16 << 20)

/* A status of the report: its name in JSON and CSS, and as people read it. */
typedef struct Chip {
    const char *name;
    Word shown;
    int rank; /* how bad */
} Chip;

static const Chip statuses[] = {{"good", SAY_STATUS_GOOD, 2},
                                {"acceptable", SAY_STATUS_ACCEPTABLE, 3},
                                {"bad", SAY_STATUS_BAD, 4},
                                {"info", SAY_STATUS_INFO, 0},
                                {"unknown", SAY_NOT_MEASURED, 1}};
static const Chip severities[] = {
    {"error", SAY_SEVERITY_ERROR, 4}, {"warning", SAY_SEVERITY_WARNING, 3}, {"note", SAY_SEVERITY_NOTE, 0}};

static const Chip *find_chip(const Chip *chips, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(chips[i].name, name) == 0)
            return &chips[i];
    return NULL;
}
#define chip_of(table, name) find_chip(table, sizeof(table) / sizeof *(table), name)

/* Text of any value: strings as they are, numbers short, the rest nothing. */
static void put(Buf *b, const json_t *v)
{
    char s[32];
    if (json_is_string(v)) {
        svg_escape(b, json_string_value(v), json_string_length(v));
    } else if (json_is_number(v)) {
        svg_number(s, json_number_value(v));
        buf_str(b, s);
    } else if (json_is_boolean(v)) {
        buf_str(b, json_is_true(v) ? "true" : "false");
    }
}

/* Whether there is anything to show. */
static int filled(const json_t *v)
{
    return json_is_string(v) ? json_string_length(v) > 0 : json_is_number(v) || json_is_boolean(v);
}

static const char *string(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static int is_persian_page(void) { return words_chosen() == MESSAGES_PERSIAN; }

/* An English page lets each text choose its direction. In a Persian one all begin at the right, and what is
 * not Persian is read from left to right where it stands. */
static const char *auto_dir(void) { return is_persian_page() ? "" : " dir=\"auto\""; }

static void show(Buf *b, const json_t *v)
{
    const int apart = is_persian_page() && !(json_is_string(v) && words_are_persian(json_string_value(v)));
    buf_str(b, apart ? "<bdi dir=\"ltr\">" : "");
    put(b, v);
    buf_str(b, apart ? "</bdi>" : "");
}

/* <tag>value</tag>; nothing where there is no value. attributes begin with a space, or are "". */
static void element(Buf *b, const char *tag, const char *attributes, const json_t *v)
{
    if (!filled(v))
        return;
    buf_printf(b, "<%s%s%s>", tag, auto_dir(), attributes);
    show(b, v);
    buf_printf(b, "</%s>", tag);
}

/* A small coloured label. */
static void chip(Buf *b, const Chip *w)
{
    if (w)
        buf_printf(b, "<span class=\"chip %s\">%s</span>", w->name, word(w->shown));
}

/* The page needs nothing from elsewhere: no script, no font, and a policy that forbids both. */
static void head(Buf *b, const json_t *r)
{
    static const char *const about[] = {"date", "machine"};
    int any = 0;
    buf_printf(b, "<!DOCTYPE html>\n<html %s>\n",
               is_persian_page() ? "lang=\"fa\" dir=\"rtl\"" : "lang=\"en\"");
    buf_str(b, "<head>\n<meta charset=\"utf-8\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
               "'unsafe-inline'; img-src data:; media-src data:\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    if (filled(json_object_get(r, "title")))
        put(b, json_object_get(r, "title"));
    else
        buf_str(b, word(SAY_PAGE_TITLE));
    buf_str(b, "</title>\n<style>\n");
    buf_str(b, html_style);
    buf_str(b, "</style>\n</head>\n<body>\n<main>\n<header>\n");
    element(b, "h1", "", json_object_get(r, "title"));
    buf_str(b, "\n<p class=\"about\">");
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        const json_t *v = json_object_get(r, about[i]);
        if (!filled(v))
            continue;
        buf_str(b, any++ ? " · " : "");
        show(b, v);
    }
    if (filled(json_object_get(r, "command"))) {
        buf_str(b, any ? "<br>" : "");
        element(b, "code", "", json_object_get(r, "command"));
    }
    buf_str(b, "</p>\n</header>\n");
}

/* Nothing at all where the list is empty. */
static void list(Buf *b, const char *tag, const json_t *items)
{
    if (!json_array_size(items))
        return;
    buf_printf(b, "<%s>\n", tag);
    for (size_t i = 0; i < json_array_size(items); i++) {
        element(b, "li", "", json_array_get(items, i));
        buf_str(b, "\n");
    }
    buf_printf(b, "</%s>\n", tag);
}

/* A cause of the table in words; another one as it is. */
static json_t *shown_cause(const char *name)
{
    const Cause c = cause_find(name);
    return json_string(c == CAUSE_NONE ? name : cause_shown(c));
}

/* The sentence, its colour, and the words it is made of. */
static void verdict(Buf *b, const json_t *r)
{
    const json_t *say = json_object_get(r, "verdict"), *period = json_object_get(r, "period_steps");
    const char *stage = string(r, "bottleneck"), *cause = string(r, "cause"),
               *given = string(r, "verdict_status");
    const Chip *w = chip_of(statuses, given);
    if (!filled(say))
        return;
    /* Red where a stage is at fault, green where none is. */
    int found = stage[0] && strcmp(stage, "none") != 0;
    buf_printf(b, "<section class=\"verdict %s\">\n",
               w          ? w->name
               : found    ? "bad"
               : stage[0] ? "good"
                          : "info");
    element(b, "p", " class=\"say\"", say);
    if (found || filled(period)) {
        buf_str(b, "\n<div class=\"chips\">");
        json_t *cause_text = cause[0] && strcmp(cause, "none") != 0 ? shown_cause(cause) : NULL;
        const struct {
            const char *name;
            const json_t *v;
        } chips[] = {{word(SAY_PAGE_BOTTLENECK), found ? json_object_get(r, "bottleneck") : NULL},
                     {word(SAY_PAGE_CAUSE), cause_text},
                     {word(SAY_PAGE_PERIOD), period}};
        for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
            if (filled(chips[i].v)) {
                buf_printf(b, "<span class=\"chip\">%s: ", chips[i].name);
                show(b, chips[i].v);
                buf_str(b, "</span>");
            }
        json_decref(cause_text);
        buf_str(b, "</div>\n");
    }
    list(b, "ul", json_object_get(r, "evidence"));
    buf_str(b, "</section>\n");
}

/* "+42 %" for 1.42. */
static void gain_cell(Buf *b, const json_t *v)
{
    buf_str(b, "<td class=\"n\">");
    if (json_is_number(v)) {
        const double percent = (json_number_value(v) - 1) * 100;
        char text[64];
        if (fabs(percent) < 9.95)
            say(text, sizeof text, SAY_PAGE_GAIN_1, percent);
        else
            say(text, sizeof text, SAY_PAGE_GAIN_0, percent);
        /* A minus as wide as a plus. */
        buf_printf(b, "%s%s", text[0] == '-' ? "−" : "", text + (text[0] == '-'));
    } else {
        buf_str(b, "–");
    }
    buf_str(b, "</td>");
}

/* A bar from no gain to the largest. */
static void meter(Buf *b, const json_t *v, double most)
{
    double gain = json_is_number(v) ? json_number_value(v) - 1 : 0;
    if (json_is_number(v))
        buf_printf(b, "<i style=\"width:%.1f%%\"></i>",
                   gain > 0 && most > 0 ? 100 * fmin(gain / most, 1) : 0);
}

/* A table with a bar for each change; the longest bar is the largest gain. */
static void gains(Buf *b, const json_t *r)
{
    const json_t *all = json_object_get(r, "gains");
    int measured = 0, others = 0;
    double most = 0;
    if (!json_array_size(all))
        return;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *g = json_array_get(all, i), *p = json_object_get(g, "predicted"),
                     *m = json_object_get(g, "measured");
        measured |= json_is_number(m);
        most = fmax(most, fmax(json_is_number(p) ? json_number_value(p) - 1 : 0,
                               json_is_number(m) ? json_number_value(m) - 1 : 0));
    }
    buf_printf(b,
               "<h2>%s</h2>\n<div class=\"card\"><table>\n<thead><tr><th>%s</th><th class=\"meter\"></th>"
               "<th class=\"n\">%s</th>",
               word(SAY_PAGE_GAINS), word(SAY_PAGE_CHANGE), word(SAY_PAGE_PREDICTED));
    if (measured)
        buf_printf(b, "<th class=\"n\">%s</th>", word(SAY_PAGE_MEASURED));
    buf_str(b, "</tr></thead>\n");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *g = json_array_get(all, i);
        int other = json_is_string(
            json_object_get(g, "what_if")); /* no setting: a machine that is faster somewhere */
        if (other && !others++)
            buf_printf(b, "<tr><th colspan=\"%d\">%s</th></tr>\n", 3 + measured,
                       word(SAY_PAGE_ANOTHER_MACHINE));
        buf_printf(b, "<tr><td%s>%s", auto_dir(), other ? "" : "<code>");
        show(b, json_object_get(g, "change"));
        buf_printf(b, "%s</td><td class=\"meter\">", other ? "" : "</code>");
        meter(b, json_object_get(g, "predicted"), most);
        meter(b, json_object_get(g, "measured"), most);
        buf_str(b, "</td>");
        gain_cell(b, json_object_get(g, "predicted"));
        if (measured)
            gain_cell(b, json_object_get(g, "measured"));
        buf_str(b, "</tr>\n");
    }
    buf_str(b, "</table></div>\n");
}

/* What limits training now, and what limits it next. */
static void walls(Buf *b, const json_t *r)
{
    const json_t *all = json_object_get(r, "walls");
    if (!json_array_size(all))
        return;
    buf_printf(b,
               "<h2>%s</h2>\n<div class=\"card\"><table>\n<thead><tr><th>%s</th><th>%s</th><th>%s</th>"
               "<th class=\"n\">%s</th><th class=\"n\">%s</th></tr></thead>\n",
               word(SAY_PAGE_WALLS), word(SAY_PAGE_STAGE_CAUSE), word(SAY_PAGE_SEEN), word(SAY_PAGE_REMEDY),
               word(SAY_PAGE_WITHOUT), word(SAY_PAGE_AND_BEFORE));
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *w = json_array_get(all, i);
        buf_str(b, "<tr><td>");
        json_t *cause = shown_cause(string(w, "cause"));
        show(b, json_object_get(w, "stage"));
        buf_printf(b, "%s ", word(SAY_COMMA));
        show(b, cause);
        json_decref(cause);
        buf_printf(b, "</td><td%s>", auto_dir());
        show(b, json_object_get(w, "evidence"));
        buf_printf(b, "</td><td%s>", auto_dir());
        show(b, json_object_get(w, "remedy"));
        buf_str(b, "</td>");
        gain_cell(b, json_object_get(w, "gain_alone"));
        gain_cell(b, json_object_get(w, "gain_so_far"));
        buf_str(b, "</tr>\n");
    }
    buf_str(b, "</table></div>\n");
}

/* nothing: what to say when the list is empty; NULL: no card then. */
static void card_of_list(Buf *b, const json_t *r, const char *key, const char *title, const char *nothing)
{
    const json_t *items = json_object_get(r, key);
    if (!json_is_array(items) || (!json_array_size(items) && !nothing))
        return;
    buf_printf(b, "<h2>%s</h2>\n<div class=\"card\">", title);
    if (json_array_size(items))
        list(b, "ul", items);
    else
        buf_printf(b, "<p>%s</p>", nothing);
    buf_str(b, "</div>\n");
}

/* Old value struck out, new value beside it. */
static void changes(Buf *b, const json_t *r)
{
    const json_t *all = json_object_get(r, "configuration_changes");
    if (!json_array_size(all))
        return;
    buf_printf(b,
               "<h2>%s</h2>\n<div class=\"card\"><table class=\"changes\">\n"
               "<thead><tr><th>%s</th><th>%s</th><th>%s</th></tr></thead>\n",
               word(SAY_PAGE_CHANGES), word(SAY_PAGE_SETTING), word(SAY_PAGE_FROM_TO), word(SAY_PAGE_WHY));
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *c = json_array_get(all, i);
        buf_str(b, "<tr><td><code>");
        show(b, json_object_get(c, "key"));
        buf_str(b, "</code></td><td>");
        if (filled(json_object_get(c, "from"))) {
            element(b, "del", "", json_object_get(c, "from"));
            buf_str(b, is_persian_page() ? " ← " : " → ");
        }
        element(b, "ins", "", json_object_get(c, "to"));
        buf_printf(b, "</td><td%s>", auto_dir());
        show(b, json_object_get(c, "why"));
        buf_str(b, "</td></tr>\n");
    }
    buf_str(b, "</table></div>\n");
}

/* The legend is HTML, so that it can wrap; the picture is SVG. */
static void chart(Buf *b, const json_t *c)
{
    const json_t *series = json_object_get(c, "series");
    buf_str(b, "<figure class=\"card\"");
    if (filled(json_object_get(c, "id"))) {
        buf_str(b, " id=\"chart-");
        put(b, json_object_get(c, "id"));
        buf_str(b, "\"");
    }
    buf_str(b, ">");
    element(b, "figcaption", "", json_object_get(c, "title"));
    if (json_array_size(series) > 1) {
        buf_str(b, "<ul class=\"legend\">");
        for (size_t i = 0; i < json_array_size(series); i++) {
            buf_printf(b, "<li><i class=\"s%zu\"></i>", i % SVG_COLOURS);
            show(b, json_object_get(json_array_get(series, i), "name"));
            buf_str(b, "</li>");
        }
        buf_str(b, "</ul>");
    }
    svg_chart(b, c);
    buf_str(b, "</figure>\n");
}

/* All pictures of the report. */
static void charts(Buf *b, const json_t *r)
{
    const json_t *all = json_object_get(r, "charts");
    if (!json_array_size(all))
        return;
    buf_printf(b, "<h2>%s</h2>\n<div class=\"charts\">\n", word(SAY_PAGE_CHARTS));
    for (size_t i = 0; i < json_array_size(all); i++)
        chart(b, json_array_get(all, i));
    buf_str(b, "</div>\n");
}

/* One that is not there, or is no PNG, is left out. */
static void picture(Buf *b, const json_t *p)
{
    static const char magic[] = "\x89PNG\r\n\x1a\n";
    Buf file = {0};
    if (file_read(&file, string(p, "path"), MOST_PICTURE_BYTES, NULL) == 0 && file.size > 8 &&
        memcmp(file.data, magic, 8) == 0) {
        buf_str(b, "<figure class=\"card\">");
        element(b, "figcaption", "", json_object_get(p, "title"));
        buf_str(b, "<img alt=\"");
        put(b, json_object_get(p, "title"));
        buf_str(b, "\" src=\"data:image/png;base64,");
        base64_encode(b, file.data, file.size);
        buf_str(b, "\">");
        element(b, "p", " class=\"why\"", json_object_get(p, "note"));
        buf_str(b, "</figure>\n");
    }
    buf_free(&file);
}

/* What the training run has drawn. */
static void pictures(Buf *b, const json_t *r)
{
    const json_t *all = json_object_get(r, "pictures");
    if (!json_array_size(all))
        return;
    buf_printf(b, "<h2>%s</h2>\n<div class=\"pictures\">\n", word(SAY_PAGE_RUN));
    for (size_t i = 0; i < json_array_size(all); i++)
        picture(b, json_array_get(all, i));
    buf_str(b, "</div>\n");
}

/* What, value, why, fix. */
static void finding(Buf *b, const json_t *f)
{
    buf_str(b, "<div class=\"finding\"><p>");
    chip(b, chip_of(severities, string(f, "severity")));
    buf_str(b, " ");
    element(b, "strong", "", json_object_get(f, "what"));
    if (filled(json_object_get(f, "value"))) {
        buf_str(b, " <code>");
        show(b, json_object_get(f, "value"));
        buf_str(b, "</code>");
    }
    buf_str(b, "</p>");
    element(b, "p", " class=\"why\"", json_object_get(f, "why"));
    if (filled(json_object_get(f, "fix"))) {
        buf_printf(b, "<p%s>%s ", auto_dir(), word(SAY_PAGE_FIX));
        show(b, json_object_get(f, "fix"));
        buf_str(b, "</p>");
    }
    buf_str(b, "</div>\n");
}

/* Rows as a table, findings below it. */
static void section(Buf *b, const json_t *s)
{
    const json_t *rows = json_object_get(s, "rows"), *findings = json_object_get(s, "findings");
    /* The section's label is its worst row or finding. */
    const Chip *worst = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const Chip *w = chip_of(statuses, string(json_array_get(rows, i), "status"));
        worst = w && w->rank && (!worst || w->rank > worst->rank) ? w : worst;
    }
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const Chip *w = chip_of(severities, string(json_array_get(findings, i), "severity"));
        worst = w && w->rank && (!worst || w->rank > worst->rank) ? w : worst;
    }
    buf_str(b, "<section class=\"card\">\n<div class=\"head\">");
    element(b, "h3", "", json_object_get(s, filled(json_object_get(s, "title")) ? "title" : "name"));
    chip(b, worst);
    buf_str(b, "</div>\n");
    if (json_array_size(rows))
        buf_str(b, "<div class=\"rows\">\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const Chip *w = chip_of(statuses, string(row, "status"));
        buf_printf(b, "<div class=\"row\"><div class=\"k\"%s>", auto_dir());
        show(b, json_object_get(row, "name"));
        buf_printf(b, "</div><div class=\"v\"%s>", auto_dir());
        show(b, json_object_get(row, "value"));
        element(b, "small", "", json_object_get(row, "note"));
        buf_str(b, "</div><div class=\"c\">");
        if (w && strcmp(w->name, "info") != 0)
            chip(b, w);
        buf_str(b, "</div></div>\n");
    }
    if (json_array_size(rows))
        buf_str(b, "</div>\n");
    for (size_t i = 0; i < json_array_size(findings); i++)
        finding(b, json_array_get(findings, i));
    buf_str(b, "</section>\n");
}

/* Recordings to listen to, each with its text. */
static void sounds(Buf *b, const json_t *r)
{
    const json_t *all = json_object_get(r, "sounds");
    if (!json_array_size(all))
        return;
    element(b, "h2", "", json_object_get(r, "sounds_title"));
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *s = json_array_get(all, i);
        buf_str(b, "<section class=\"card\">\n");
        element(b, "p", "", json_object_get(s, "title"));
        buf_printf(b, "<audio controls preload=\"none\" src=\"data:%s;base64,", string(s, "type"));
        buf_str(b, string(s, "base64"));
        buf_str(b, "\"></audio>\n");
        element(b, "p", " class=\"about\"", json_object_get(s, "note"));
        buf_str(b, "</section>\n");
    }
}

/* Everything in memory first: the file appears when it is whole. */
int html_write(const char *path, const json_t *report, Err *err)
{
    Buf b = {0};
    const json_t *sections = json_object_get(report, "sections");
    head(&b, report);
    verdict(&b, report);
    walls(&b, report);
    gains(&b, report);
    card_of_list(&b, report, "issues", word(SAY_PAGE_ISSUES), word(SAY_PAGE_NONE_FOUND));
    card_of_list(&b, report, "recommendations", word(SAY_PAGE_RECOMMENDATIONS), NULL);
    changes(&b, report);
    charts(&b, report);
    pictures(&b, report);
    sounds(&b, report);
    if (json_array_size(sections))
        buf_printf(&b, "<h2>%s</h2>\n", word(SAY_PAGE_SECTIONS));
    for (size_t i = 0; i < json_array_size(sections); i++)
        section(&b, json_array_get(sections, i));
    buf_str(&b, "</main>\n</body>\n</html>\n");
    int rc = b.failed ? err_set(err, ERR_NOMEM, "no memory for the page %s", path)
                      : file_replace(path, b.data, b.size, err);
    buf_free(&b);
    return rc;
}
