/* sound_graph.h - the vocoder as nodes: mel to samples, with the exact inverse of the STFT. Private to
 * src/onnx. */
#ifndef MYXTTS_SOUND_GRAPH_H
#define MYXTTS_SOUND_GRAPH_H

#include "onnx/network_graph.h"

/* Samples [(M - 1) * hop_length] of a mel [M, n_mels] in natural logarithms. n: a vocoder. */
Value sound_graph(const NetworkGraph *n, Value mel);

#endif
