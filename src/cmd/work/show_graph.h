/* show_graph.h - what an ONNX file says about itself, for info. */
#ifndef MYXTTS_CMD_SHOW_GRAPH_H
#define MYXTTS_CMD_SHOW_GRAPH_H

#include "base/err.h"
#include "cmd/line/options.h"

/* 1: by its name it is an ONNX file. */
int show_graph_is(const char *path);
/* Prints what may be done with the voice in it, and the other entries of its metadata. */
int show_graph(const char *path, const CmdLine *line, Err *err);

#endif
