/* monitor_view.h - what a run does now, as a few lines for a terminal, one plain line, or an object: from its
 * log and from the GPUs. Nothing is measured here and nothing is waited for; what the log does not say is
 * left out. Threads: one. */
#ifndef MYXTTS_MONITOR_VIEW_H
#define MYXTTS_MONITOR_VIEW_H

#include <jansson.h>

#include "base/mem.h"
#include "device/monitor.h"
#include "diag/run_record.h"

#define VIEW_GPUS 8

typedef struct MonitorView {
    const RunRecord *run;
    double age;    /* s since the log was written; NaN: not known */
    int width;     /* columns; lines are cut there */
    int wants_gpu; /* the run uses a GPU: say so where none can be measured */
    int gpu_count;
    int gpus[VIEW_GPUS];               /* CUDA's numbers */
    MonitorSummary summary[VIEW_GPUS]; /* samples 0: not measured */
    MonitorSample history[VIEW_GPUS][60];
    int history_count[VIEW_GPUS];
} MonitorView;

typedef enum { VIEW_EMPTY, VIEW_RUNNING, VIEW_SILENT, VIEW_ENDED } ViewState;
/* SILENT: no line for three times the usual while, and at least 30 s. */
ViewState monitor_view_state(const MonitorView *v);
void monitor_view_frame(Buf *out, const MonitorView *v); /* lines, each ended; at least one */
void monitor_view_line(Buf *out, const MonitorView *v);  /* one line, ended */
json_t *monitor_view_json(const MonitorView *v);         /* NULL on no memory */

/* Appends at most `columns` signs from low to high for the n values; each sign is the highest of its part.
 * low: what the lowest sign means (NaN: the lowest value); high: what the highest sign means at least (NaN:
 * the highest value). Values that are not finite are blanks. */
void monitor_view_sparkline(Buf *out, const double *y, size_t n, int columns, double low, double high);

#endif
