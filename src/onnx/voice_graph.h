/* voice_graph.h - the voice as nodes: symbols to durations and mel (docs/MODEL.md, Speaking). Private to
 * src/onnx. */
#ifndef MYXTTS_VOICE_GRAPH_H
#define MYXTTS_VOICE_GRAPH_H

#include "onnx/network_graph.h"
#include "voice/checkpoint.h"

/* What is spoken, and how. */
typedef struct VoiceGraphInput {
    Value symbols;  /* [T] int64 */
    Value speed;    /* [1] double: 2 is twice as fast */
    Value pitch;    /* [1] float, semitones */
    Value speaker;  /* [1] int64, a row of vectors */
    Value language; /* [1] int64; NULL where the network tells none apart */
} VoiceGraphInput;

typedef struct VoiceGraphOutput {
    Value frames; /* [T] int64 */
    Value mel;    /* [M, n_mels] natural logarithms */
} VoiceGraphOutput;

/* vectors [speakers, text_encoder_dim]: what each speaker's voice adds to a symbol; live until the graph is
 * written. */
VoiceGraphOutput voice_graph(const NetworkGraph *n, const VoiceGraphInput *in, const Checkpoint *file,
                             const float *vectors, int speakers);

#endif
