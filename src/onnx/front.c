/* front.c - see front.h. */
#include "onnx/front.h"

#include "text/phonemes/tokens.h"
#include "voice/voice_language.h"

/* --- plain --- */

static void open_plain(Front *f, Graph *g, const Model *m)
{
    f->in.symbols = graph_squeeze(g, graph_input(g, "symbols", ELEMENT_INT64, "1,symbols"), 0);
    f->in.speed = graph_cast(g, graph_input(g, "speed", ELEMENT_FLOAT, "1"), ELEMENT_DOUBLE);
    f->in.pitch = graph_input(g, "pitch", ELEMENT_FLOAT, "1");
    f->in.speaker = graph_input(g, "speaker", ELEMENT_INT64, "1");
    f->in.language = m->languages ? graph_input(g, "language", ELEMENT_INT64, "1") : NULL;
}

/* --- piper --- */

/* Piper puts a pad behind the beginning and behind every symbol. Behind the beginning a voice never has a
 * blank. */
static Value blanks_for_pads(Front *f, Graph *g, Value ids, Value pad)
{
    const Value before[] = {graph_ints(g, TOKEN_PAD), graph_slice(g, ids, 0, 0, -1)};
    const Value begun = graph_add(g, "Equal", graph_concat(g, before, 2, 0), graph_int(g, TOKEN_BOS));
    f->kept = graph_add(g, "Not", graph_add(g, "And", pad, begun));
    return graph_add(g, "Where", pad, graph_int(g, TOKEN_BLANK), ids);
}

static void open_piper(Front *f, Graph *g, const Model *m, const Checkpoint *file, int speakers)
{
    const Value input = graph_squeeze(g, graph_input(g, "input", ELEMENT_INT64, "1,phonemes"), 0);
    const Value length = graph_input(g, "input_lengths", ELEMENT_INT64, "1");
    const Value scales = graph_input(g, "scales", ELEMENT_FLOAT, "3");
    Value ids = graph_add(g, "Slice", input, graph_ints(g, 0), length, graph_ints(g, 0));
    const Value pad = graph_add(g, "Equal", ids, graph_int(g, TOKEN_PAD));
    if (file->cfg.add_blank)
        ids = blanks_for_pads(f, g, ids, pad);
    else
        f->kept = graph_add(g, "Not", pad);
    graph_attribute(g, "axis", 0);
    f->in.symbols = graph_add(g, "Compress", ids, f->kept);
    const Value slowness = graph_cast(g, graph_slice(g, scales, 0, 1, 2), ELEMENT_DOUBLE);
    f->in.speed = graph_add(g, "Div", graph_double(g, 1), slowness);
    f->in.pitch = graph_float(g, 0);
    f->in.speaker = speakers > 1 ? graph_input(g, "sid", ELEMENT_INT64, "1") : graph_ints(g, 0);
    f->in.language = m->languages ? graph_ints(g, voice_language_number(file, file->language)) : NULL;
}

/* The frames of all symbols that came in: 0 for those that were left out. */
static Value frames_of_all(const Front *f, Graph *g, Value frames)
{
    const Value count = graph_add(g, "CumSum", graph_cast(g, f->kept, ELEMENT_INT64), graph_int(g, 0));
    const Value place = graph_add(g, "Max", graph_add(g, "Sub", count, graph_int(g, 1)), graph_int(g, 0));
    return graph_add(g, "Where", f->kept, graph_gather(g, frames, place, 0), graph_int(g, 0));
}

void front_open(Front *f, Graph *g, OnnxFront kind, const Model *m, const Checkpoint *file, int speakers)
{
    *f = (Front){.kind = kind};
    graph_scope(g, "front.");
    if (kind == ONNX_PIPER)
        open_piper(f, g, m, file, speakers);
    else
        open_plain(f, g, m);
}

void front_close(const Front *f, Graph *g, Value samples, Value frames)
{
    graph_scope(g, "front.");
    if (f->kind == ONNX_PIPER) {
        samples = graph_reshape(g, samples, 1, 1, 1, -1);
        graph_output(g, "output", ELEMENT_FLOAT, "1,1,1,samples", samples);
        graph_output(g, "frames", ELEMENT_INT64, "phonemes", frames_of_all(f, g, frames));
        return;
    }
    graph_output(g, "sound", ELEMENT_FLOAT, "samples", samples);
    graph_output(g, "frames", ELEMENT_INT64, "symbols", frames);
}
