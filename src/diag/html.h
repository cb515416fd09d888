/* html.h - a report as one HTML page that needs nothing else: no script, no font, no request to any host (its
 * own policy forbids them). Charts are inline SVG (svg.h); it reads on a phone, in print, in light and dark.
 * Threads: any. */
#ifndef MYXTTS_HTML_H
#define MYXTTS_HTML_H

#include <jansson.h>

#include "base/err.h"

/* report: the object the tools of src/diag make: title, date, machine, command, verdict, bottleneck, cause,
 * period_steps, evidence, gains, issues, recommendations, configuration_changes, charts, pictures, sections.
 * What is not in it is left out of the page; text is escaped. verdict_status "good|acceptable|bad|info"
 * colours the verdict; without it: good where the bottleneck is none, else bad. A gain with a string in
 * what_if is shown apart: it is no setting, but a machine that is faster somewhere. pictures: [{"title",
 * "path", "note"}], PNG files that become part of the page; others are left out. The file appears whole or
 * not at all. ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int html_write(const char *path, const json_t *report, Err *err);

#endif
