/* front.h - inputs and outputs of a graph, by the names that its readers know. Private to src/onnx. */
#ifndef MYXTTS_FRONT_H
#define MYXTTS_FRONT_H

#include "onnx/onnx_export.h"
#include "onnx/voice_graph.h"

typedef struct Front {
    OnnxFront kind;
    VoiceGraphInput in;
    Value kept; /* of piper: [T] bool, which of its symbols the network gets */
} Front;

/* The inputs. m: of the voice. */
void front_open(Front *f, Graph *g, OnnxFront kind, const Model *m, const Checkpoint *file, int speakers);
/* The outputs. samples [N], frames [symbols that the network got]. */
void front_close(const Front *f, Graph *g, Value samples, Value frames);

#endif
