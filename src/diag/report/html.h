/* html.h - writes a report as one self-contained HTML page: no script, no font, no request to any host (its
 * content policy forbids them). Charts are inline SVG (svg.h). The page suits phones, print, light and dark
 * mode. Threads: any. */
#ifndef MYXTTS_HTML_H
#define MYXTTS_HTML_H

#include <jansson.h>

#include "base/err.h"

/* report: an object made by the tools of src/diag with title, date, machine, command, verdict, bottleneck,
 * cause, period_steps, evidence, gains, issues, recommendations, configuration_changes, charts, pictures,
 * sections. Members that are missing are left out of the page; text is escaped.
 *   - verdict_status "good|acceptable|bad|info" colours the verdict; without it, it is good if there is no
 *     bottleneck, else bad.
 *   - A gain with a string in what_if is shown separately: it is not a setting, but a machine that is faster.
 *   - pictures: [{"title", "path", "note"}], PNG files that are embedded in the page; others are left out.
 *   - sounds: [{"title", "note", "type", "base64"}], to listen to, under the heading sounds_title; type is a
 *     media type ("audio/ogg").
 * The file is written atomically. ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int html_write(const char *path, const json_t *report, Err *err);

#endif
