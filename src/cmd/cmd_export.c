/* cmd_export.c - myxtts export: makes one file to speak from, from what training wrote. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/line/format.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/ask_credits.h"
#include "cmd/work/export_piper.h"
#include "onnx/onnx_export.h"
#include "voice/export.h"
#include "voice/share/piper_voice.h"
#include "voice/vocoder_file.h"

static const char usage_text[] =
    "myxtts export --checkpoint D --output voice.safetensors [--precision bf16|float32] [--vocoder PATH]\n"
    "              [--voice-clips N] [--licence TEXT] [--source TEXT] [--note TEXT] [--json]\n"
    "myxtts export --checkpoint D --format onnx --output voice.onnx [--precision float32|float16|int8] ...\n"
    "myxtts export --checkpoint D --format piper --output en_US-anna-medium.onnx ...\n\n"
    "Writes one file to speak from: the weights without the training state, the symbols, the mel\n"
    "settings, reference clips of the speakers, and the vocoder in D/vocoder if there is one (--vocoder\n"
    "names another; griffin_lim leaves it out). `myxtts synth --checkpoint voice.safetensors` speaks from\n"
    "it, and `myxtts info` shows licence, source and note. In a terminal the command asks for licence and\n"
    "source if they are not known; otherwise the file says \"unknown\". The file has no paths of this\n"
    "machine in it. bf16 halves the file, and GPUs compute in bf16 anyway; float32 keeps every bit of the\n"
    "weights.\n"
    "With --format onnx the file is a graph that ONNX Runtime runs without this program: it takes symbol\n"
    "ids and returns sound. It needs a vocoder, and takes it even where `synth` prefers Griffin-Lim.\n"
    "docs/FORMATS.md describes inputs, outputs and metadata.\n"
    "With --format piper it is a voice for Piper, Home Assistant, NVDA's add-on and sherpa-onnx, with\n"
    "NAME.onnx.json, tokens.txt and MODEL_CARD beside it. Its name starts with the language and ends with\n"
    "the quality.";

/* A kind of file. */
typedef struct Format {
    const char *name, *ending;
    const char *precisions[4]; /* the first is the default; NULL ends them */
} Format;

enum { FORMAT_SAFETENSORS, FORMAT_ONNX, FORMAT_PIPER };
static const Format formats[] = {
    [FORMAT_SAFETENSORS] = {"safetensors", ".safetensors", {"bf16", "float32"}},
    [FORMAT_ONNX] = {"onnx", ".onnx", {"float32", "float16", "int8"}},
    [FORMAT_PIPER] = {"piper", ".onnx", {"float32", "float16", "int8"}},
};
enum { FORMATS = sizeof formats / sizeof *formats };

typedef struct ExportCommand {
    const char *checkpoint, *format, *output, *precision, *vocoder, *clips;
    Credits credits;
    CreditsAnswers answers;
    int kind, weights; /* of formats, and of its precisions */
    int argc;          /* settings: of a lexicon */
    char **argv;
    Checkpoint voice, inside;
    int has_vocoder, overwrite;
} ExportCommand;

/* 1: both are the same file. */
static int same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int ends_with(const char *text, const char *ending)
{
    const size_t n = text ? strlen(text) : 0, m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

/* The kind of file, by its name or by that of the output. */
static int choose_format(ExportCommand *c, Err *err)
{
    for (int i = 0; i < FORMATS; i++)
        if (c->format ? strcmp(c->format, formats[i].name) == 0 : ends_with(c->output, formats[i].ending)) {
            c->kind = i;
            if (ends_with(c->output, formats[i].ending))
                return 0;
            return err_set(err, ERR_USAGE, "export needs --output F%s", formats[i].ending);
        }
    const char *slash = c->output ? strrchr(c->output, '/') : NULL,
               *dot = c->output ? strrchr(slash ? slash : c->output, '.') : NULL;
    if (!c->format && dot) {
        err_set(err, ERR_USAGE, "export writes no %.40s files", dot);
        return err_hint(err, "--output F.safetensors is for myxtts, F.onnx for other programs");
    }
    if (!c->format)
        return err_set(err, ERR_USAGE, "export needs --output F.safetensors or F.onnx");
    return err_set(err, ERR_USAGE, "--format is '%s', but must be safetensors, onnx or piper", c->format);
}

static int choose_precision(ExportCommand *c, Err *err)
{
    const Format *f = &formats[c->kind];
    char words[64] = "";
    for (int i = 0; f->precisions[i]; i++) {
        const size_t n = strlen(words);
        const char *between = !i ? "" : f->precisions[i + 1] ? ", " : " or ";
        if (!c->precision || strcmp(c->precision, f->precisions[i]) == 0) {
            c->weights = i;
            return 0;
        }
        snprintf(words + n, sizeof words - n, "%s%s", between, f->precisions[i]);
    }
    return err_set(err, ERR_USAGE, "--precision of %s is '%s', but must be %s", f->name, c->precision, words);
}

static int check_options(ExportCommand *c, Err *err)
{
    if (!c->checkpoint)
        return err_set(err, ERR_USAGE, "export needs --checkpoint D, the folder that `myxtts train` wrote");
    int rc = choose_format(c, err);
    if (!rc)
        rc = choose_precision(c, err);
    if (!rc && c->clips && c->kind != FORMAT_SAFETENSORS)
        rc = err_set(err, ERR_USAGE, "--voice-clips works only with --format safetensors: %s has no clips",
                     c->output);
    return rc;
}

/* A vocoder may be exported alone; it has none beside it. */
static int open_networks(ExportCommand *c, Log *log, Err *err)
{
    int rc = checkpoint_open(&c->voice, c->checkpoint, c->checkpoint, c->argc, c->argv, log, err);
    if (!rc && c->voice.cfg.network == NETWORK_VOICE) {
        rc = vocoder_file_of(&c->inside, &c->voice, c->vocoder, c->kind != FORMAT_SAFETENSORS, log, err);
        c->has_vocoder = rc == 1;
        rc = rc == 1 ? 0 : rc;
    } else if (!rc && c->vocoder) {
        rc = err_set(err, ERR_USAGE, "%s is itself a vocoder; --vocoder is for voices", c->voice.path);
    }
    if (!rc &&
        (same_file(c->output, c->voice.path) || (c->has_vocoder && same_file(c->output, c->inside.path)))) {
        err_set(err, ERR_USAGE, "--output %s is the checkpoint itself", c->output);
        rc = err_hint(err, "training could not resume from it then; name another file");
    }
    return rc;
}

static int report(const ExportCommand *c, const Exported *e, int json, Err *err)
{
    const char *precision = formats[c->kind].precisions[c->weights];
    const char *what = c->voice.cfg.network == NETWORK_VOICE ? "voice" : "vocoder";
    if (json)
        return output_print(
            json_pack("{s:o, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "output",
                      json_from_text(c->output), "format", formats[c->kind].name, "checkpoint",
                      json_from_text(c->voice.path), "vocoder",
                      c->has_vocoder ? json_from_text(c->inside.path) : json_null(), "network", what,
                      "precision", precision, "licence", json_from_text(c->credits.licence), "source",
                      json_from_text(c->credits.source), "bytes", (json_int_t)e->bytes, "step",
                      (json_int_t)c->voice.content.state.step, "parameters", (json_int_t)e->parameters,
                      "vocoder_parameters", (json_int_t)e->vocoder_parameters),
            6, err);
    char bytes[32];
    format_bytes(bytes, sizeof bytes, e->bytes);
    printf("%s: %s, a %s of %.2f million parameters after %lld steps in %s", c->output, bytes, what,
           (double)e->parameters / 1e6, (long long)c->voice.content.state.step, precision);
    if (c->has_vocoder)
        printf(", with the vocoder %s of %.2f million", c->inside.path, (double)e->vocoder_parameters / 1e6);
    else if (c->voice.cfg.network == NETWORK_VOICE)
        printf(", without a vocoder: Griffin-Lim will make the sound");
    printf("\n");
    return 0;
}

static const CmdOption options[] = {
    {"checkpoint", "D", TEXT_AT(ExportCommand, checkpoint), 0,
     "a checkpoint, or a folder that holds some (the best is taken)"},
    {"format", "safetensors|onnx|piper", TEXT_AT(ExportCommand, format), 0,
     "the kind of file (default: by the extension of --output)"},
    {"output", "F.safetensors", TEXT_AT(ExportCommand, output), 0, "the file to write: .safetensors, .onnx"},
    {"precision", "bf16|float32|float16|int8", TEXT_AT(ExportCommand, precision), 0,
     "number format of the weights: bf16 (default) or float32 in safetensors; float32 (default), float16 or "
     "int8 in onnx"},
    {"vocoder", "PATH", TEXT_AT(ExportCommand, vocoder), 0,
     "the vocoder to include (default: D/vocoder, unless Griffin-Lim is better); griffin_lim: none"},
    {"voice-clips", "N", TEXT_AT(ExportCommand, clips), 0,
     "at most this many reference clips of each speaker (default: all in the checkpoint)"},
    {"licence", "TEXT", TEXT_AT(ExportCommand, credits.licence), 0,
     "what others may do with the voice, such as CC BY 4.0"},
    {"source", "TEXT", TEXT_AT(ExportCommand, credits.source), 0,
     "whose recordings it was made from: a name, a corpus, a link"},
    {"note", "TEXT", TEXT_AT(ExportCommand, credits.note), 0, "what else others should know"},
    {"overwrite", NULL, 0, FLAG_AT(ExportCommand, overwrite), PLACE_OVERWRITE},
};
const CmdUsage export_usage = {usage_text, options, OPTION_COUNT(options)};

static OnnxOptions graph_options(const ExportCommand *c)
{
    static const OnnxPrecision precisions[] = {ONNX_FLOAT32, ONNX_FLOAT16, ONNX_INT8};
    return (OnnxOptions){.output = c->output,
                         .voice = &c->voice,
                         .vocoder = c->has_vocoder ? &c->inside : NULL,
                         .front = ONNX_PLAIN,
                         .precision = precisions[c->weights],
                         .credits = c->credits};
}

/* What is refused is refused before credits are asked for, or warned of. */
static int check_graph(const ExportCommand *c, Err *err)
{
    if (c->kind == FORMAT_SAFETENSORS)
        return 0;
    int rc = onnx_check(&c->voice, c->has_vocoder ? &c->inside : NULL, err);
    const OnnxOptions o = graph_options(c);
    return rc || c->kind != FORMAT_PIPER ? rc : export_piper_check(&o, c->overwrite, err);
}

static int write_graph(const ExportCommand *c, Exported *made, Log *log, Err *err)
{
    const OnnxOptions o = graph_options(c);
    if (c->kind == FORMAT_PIPER)
        return export_piper(made, &o, c->overwrite, log, err);
    return onnx_export(made, &o, err);
}

static int write(const ExportCommand *c, Exported *made, int clips, Log *log, Err *err)
{
    if (c->kind != FORMAT_SAFETENSORS)
        return write_graph(c, made, log, err);
    return export_write(made,
                        &(ExportOptions){.output = c->output,
                                         .voice = &c->voice,
                                         .vocoder = c->has_vocoder ? &c->inside : NULL,
                                         .bf16 = c->weights == 0,
                                         .clips = clips,
                                         .credits = c->credits},
                        err);
}

int cmd_export(int argc, char **argv, Log *log)
{
    ExportCommand c = {0};
    CmdLine line;
    Err err = {0};
    Exported made;
    int rc = cmd_line_parse(&line, &export_usage, &c, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 0, "options only", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    c.argc = line.setting_count;
    c.argv = line.settings;
    double clips = 0;
    rc = check_options(&c, &err);
    if (!rc)
        rc = cmd_number(&clips, "voice-clips", c.clips, 1, 1000, &err);
    if (!rc)
        rc = open_networks(&c, log, &err);
    if (!rc)
        rc = check_graph(&c, &err);
    if (!rc)
        rc = ask_credits(&c.credits, &c.answers, &c.voice, !line.json && !line.quiet, log, &err);
    if (!rc)
        rc = write(&c, &made, (int)clips, log, &err);
    if (!rc)
        rc = report(&c, &made, line.json, &err);
    if (!rc && c.kind == FORMAT_ONNX && !c.format && piper_voice_named(c.output))
        log_info(log, "hint: the name is like those of Piper's voices, but this is a plain graph; "
                      "--format piper makes a voice for Piper, Home Assistant, NVDA and sherpa-onnx");
done:
    checkpoint_close(&c.inside);
    checkpoint_close(&c.voice);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}
