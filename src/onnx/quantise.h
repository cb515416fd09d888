/* quantise.h - matrices in fewer bytes, and the nodes that widen them again. Only the file gets smaller: the
 * arithmetic stays in float32. Private to src/onnx. */
#ifndef MYXTTS_QUANTISE_H
#define MYXTTS_QUANTISE_H

#include "onnx/graph.h"

/* numbers [rows, columns] as IEEE half precision, rounded to nearest even. */
Value quantise_half(Graph *g, const char *name, const float *numbers, int64_t rows, int64_t columns);
/* Each row as whole numbers from -127 to 127 times a scale of its own: that of its largest number. */
Value quantise_int8(Graph *g, const char *name, const float *numbers, int64_t rows, int64_t columns);

#endif
