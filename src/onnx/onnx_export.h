/* onnx_export.h - a voice and its vocoder as one ONNX graph: symbols in, sound out. docs/FORMATS.md describes
 * their inputs, outputs and metadata.
 *
 * To make a file that programs for other kinds of voices read: choose a front, which says what inputs and
 * outputs are called and what numbers mean, and give the entries that they look for. Only the caller knows
 * what the symbols are: those of the piper front are numbers of text/phonemes/tokens.h, with 0, 1 and 2 for
 * "_", "^" and "$". Threads: any. */
#ifndef MYXTTS_ONNX_EXPORT_H
#define MYXTTS_ONNX_EXPORT_H

#include "base/err.h"
#include "voice/checkpoint.h"
#include "voice/export.h"

#define ONNX_FORMAT "myxtts-onnx-1" /* the entry "format" of what is written */

typedef enum {
    ONNX_PLAIN, /* symbols [1, T], speed [1], pitch [1], speaker [1], language [1] -> sound [N], frames [T];
                   language is there where the voice has several */
    ONNX_PIPER  /* input [1, T], input_lengths [1], scales [3], sid [1] -> output [1, 1, 1, N], frames [T];
                   sid is there where the voice has several speakers. Pads become the blanks of a voice that
                   has learned with blanks, else they are left out and last no frames. Of scales the second
                   counts, the length; the others are for noise, of which this network has none. A voice of
                   several languages speaks that of its settings */
} OnnxFront;

/* Of the matrices of both networks in the file; what is computed is float32. */
typedef enum { ONNX_FLOAT32, ONNX_FLOAT16, ONNX_INT8 } OnnxPrecision;

typedef struct OnnxOptions {
    const char *output;
    const Checkpoint *voice, *vocoder;
    OnnxFront front;
    OnnxPrecision precision;
    Credits credits;          /* complete */
    const MetaEntry *entries; /* [entry_count] metadata on top of the usual; of a key that both have, this */
    int entry_count;
} OnnxOptions;

/* 0 when the two can become a graph. ERR_USAGE for a vocoder alone, ERR_MISSING where there is none (NULL),
 * ERR_CONFIG where it does not go with the voice. */
int onnx_check(const Checkpoint *voice, const Checkpoint *vocoder, Err *err);

/* Writes the file atomically; the same voice gives the same bytes. Errors of onnx_check; ERR_MISSING: there
 * is no clip of a speaker's voice; ERR_CONFIG, ERR_DATA: weights that are not there, of another shape or not
 * finite, texts that are not UTF-8, a file that would be too large. */
int onnx_export(Exported *out, const OnnxOptions *o, Err *err);

/* Numbers of the speakers [speaker_count of the voice], in the order of `speaker` and `sid`: those of whom
 * there are clips, the one that `myxtts synth` takes first. numbers NULL: only counted. Returns how many; 0
 * for a network that has one voice without a name. */
int onnx_speakers(int *numbers, const Checkpoint *voice);

#endif
