/* monitor_view.h - the current state of a run, from its log and its GPUs, as several lines for a terminal,
 * one plain line, or a JSON object. Measures nothing and never waits; what the log does not contain is left
 * out. Threads: one. */
#ifndef MYXTTS_MONITOR_VIEW_H
#define MYXTTS_MONITOR_VIEW_H

#include <jansson.h>

#include "base/mem.h"
#include "device/monitor.h"
#include "diag/report/run_record.h"

#define VIEW_GPUS 8

typedef struct MonitorView {
    const RunRecord *run;
    double age;    /* seconds since the log was written; NaN: unknown */
    int width;     /* columns; longer lines are cut */
    int wants_gpu; /* the run uses a GPU: show a note if none can be measured */
    int gpu_count;
    int gpus[VIEW_GPUS];               /* CUDA's numbers */
    MonitorSummary summary[VIEW_GPUS]; /* samples 0: not measured */
    MonitorSample history[VIEW_GPUS][60];
    int history_count[VIEW_GPUS];
} MonitorView;

typedef enum { VIEW_EMPTY, VIEW_RUNNING, VIEW_SILENT, VIEW_ENDED } ViewState;
/* VIEW_SILENT: no new line for longer than what the run does explains (run_voice.h). */
ViewState monitor_view_state(const MonitorView *v);
void monitor_view_frame(Buf *out, const MonitorView *v); /* appends at least one line, each with a newline */
void monitor_view_line(Buf *out, const MonitorView *v);  /* appends one line with a newline */
json_t *monitor_view_json(const MonitorView *v);         /* NULL if out of memory */

/* Appends a sparkline of the n values with at most `columns` characters; each shows the maximum of its part
 * of the values. low is the value of the lowest character (NaN: the lowest value), high at least that of the
 * highest one (NaN: the highest value). Values that are not finite are spaces. */
void monitor_view_sparkline(Buf *out, const double *y, size_t n, int columns, double low, double high);

#endif
