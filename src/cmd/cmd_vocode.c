/* cmd_vocode.c - myxtts vocode: turn recordings or mels into sound with a vocoder alone, to hear what it can
 * do. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audio/audio_writer.h"
#include "audio/mel.h"
#include "audio/process.h"
#include "audio/sound_format.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/npy.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "dataset/audio_file.h"
#include "device/devices.h"
#include "voice/sound.h"
#include "voice/vocoder_file.h"

static const char usage_text[] =
    "myxtts vocode FILE.wav|FILE.npy... --checkpoint V --output OUT.wav|DIR [--vocoder griffin_lim] "
    "[--json]\n\n"
    "Turns the mel of a recording back into sound (copy synthesis), or a mel from a .npy file: log mels,\n"
    "[frames, n_mels] or [n_mels, frames]. V is a vocoder (RUN/vocoder, one of its files, an exported\n"
    "file) or a run that has one. A recording is resampled and levelled as in `prepare`, but not trimmed,\n"
    "so the copy has the same length. Several files go to DIR/NAME.wav. --vocoder griffin_lim uses\n"
    "Griffin-Lim instead, with the mel settings of V, or without --checkpoint those of the configuration.";

enum { MOST_PATH = 4096 };

typedef struct Vocode {
    const char *checkpoint, *output, *vocoder, *iterations;
    Checkpoint file;
    const Config *cfg; /* of the mel */
    Devices devices;
    Sound *sound;
    MelPlan *plan;
    MelScratch *scratch;
    AudioProcessor *processor;
    json_t *done, *failed;
    int overwrite;
    int left_out; /* files that could not be read */
} Vocode;

/* A mel, and how many samples its sound should have; -1: as many as it has. */
typedef struct HeardMel {
    float *mel;
    int64_t frames, samples;
} HeardMel;

/* --- reading --- */

static int ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* [frames, n_mels], or the other way round, as much of Python has it. */
static int read_mel(const Vocode *v, HeardMel *h, const char *path, Err *err)
{
    const int64_t bands = v->cfg->n_mels;
    float *data;
    int64_t rows, cols;
    int rc = npy_read(path, &data, &rows, &cols, err);
    if (rc)
        return rc;
    h->mel = mem_calloc((size_t)(rows * cols) + 1, sizeof *h->mel);
    h->frames = cols == bands ? rows : cols;
    h->samples = -1;
    if (!h->mel)
        rc = err_set(err, ERR_NOMEM, "no memory for the mel %s", path);
    else if (cols != bands && rows != bands) {
        err_set(err, ERR_DATA, "%s holds %lld x %lld numbers, but this mel has %lld bands", path,
                (long long)rows, (long long)cols, (long long)bands);
        rc = err_hint(err, "it must hold log mels, [frames, %lld] or [%lld, frames]", (long long)bands,
                      (long long)bands);
    }
    for (int64_t i = 0; !rc && i < rows * cols; i++) {
        h->mel[cols == bands ? i : i % cols * bands + i / cols] = data[i];
        if (!isfinite(data[i]))
            rc = err_set(err, ERR_DATA, "%s: number %lld is %g, which cannot occur in a log mel", path,
                         (long long)i, (double)data[i]);
    }
    free(data);
    return rc;
}

/* As the recordings of a corpus, but with the silence at its ends. */
static int read_recording(const Vocode *v, HeardMel *h, const char *path, Err *err)
{
    char detail[600] = "";
    AudioBuffer audio = {0};
    FileMap map = {0};
    const float *samples;
    int64_t n;
    int rc = file_load(&map, path, err);
    if (rc)
        return rc;
    RejectReason why = audio_decode(&audio, map.data, map.size, path, 0, detail, sizeof detail);
    if (!why)
        why = audio_process(v->processor, &samples, &n, &audio, 0, v->cfg->enable_loudness_normalization,
                            detail, sizeof detail);
    file_unmap(&map);
    if (why)
        rc = err_set(err, ERR_DATA, "%s cannot be used: %s%s%s", path, reject_text(why), *detail ? ": " : "",
                     detail);
    if (!rc) {
        h->frames = mel_frames(v->plan, n);
        h->samples = n;
        h->mel = mem_calloc((size_t)h->frames * (size_t)v->cfg->n_mels, sizeof *h->mel);
        if (h->mel)
            mel_compute(v->plan, v->scratch, h->mel, samples, n);
        else
            rc = err_set(err, ERR_NOMEM, "no memory for the mel of %s", path);
    }
    audio_buffer_free(&audio);
    return rc;
}

/* --- writing --- */

static int is_folder(const char *path)
{
    struct stat st;
    return ends_with(path, "/") || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

/* The name of an input without folder and ending. */
static void stem(char out[MOST_PATH], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, MOST_PATH, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot && dot != out)
        *dot = 0;
}

static int output_path(char out[MOST_PATH], const Vocode *v, const CmdLine *line, int i, Err *err)
{
    char name[MOST_PATH];
    int n;
    if (line->positional_count == 1 && !is_folder(v->output)) {
        n = snprintf(out, MOST_PATH, "%s", v->output);
    } else {
        stem(name, line->positional[i]);
        n = snprintf(out, MOST_PATH, "%s/%s.wav", v->output, name);
    }
    return n < MOST_PATH ? 0 : err_set(err, ERR_USAGE, "the path of --output is too long");
}

/* Two files of the same name would become one. */
static int check_names(const CmdLine *line, Err *err)
{
    for (int i = 0; i < line->positional_count; i++)
        for (int k = 0; k < i; k++) {
            char a[MOST_PATH], b[MOST_PATH];
            stem(a, line->positional[i]);
            stem(b, line->positional[k]);
            if (strcmp(a, b) == 0)
                return err_set(err, ERR_USAGE, "%s and %s would both become %s.wav", line->positional[k],
                               line->positional[i], a);
        }
    return 0;
}

static int write_sound(const char *path, const float *samples, int64_t count, int rate, Err *err)
{
    AudioWriter w = {0};
    int rc = audio_writer_open(&w, path, err);
    if (!rc)
        rc = audio_writer_begin(&w, rate, err);
    if (!rc)
        rc = audio_writer_add(&w, samples, count, err);
    if (!rc)
        rc = audio_writer_commit(&w, err);
    audio_writer_abort(&w);
    return rc;
}

/* --- one file --- */

static const char *vocoder_name(const Vocode *v) { return v->vocoder ? v->vocoder : v->file.path; }

static int report(Vocode *v, const char *from, const char *to, int64_t count, int64_t frames, double took,
                  int json, Err *err)
{
    const double seconds = (double)count / v->cfg->sample_rate, factor = seconds > 0 ? took / seconds : 0;
    if (!json) {
        printf("%s: %.2f s of sound by %s in %.2f s (real-time factor %.4f)\n", to, seconds, vocoder_name(v),
               took, factor);
        return 0;
    }
    json_t *o = json_pack("{s:o, s:o, s:f, s:I, s:f, s:f}", "input", json_from_text(from), "output",
                          json_from_text(to), "seconds", seconds, "frames", (json_int_t)frames,
                          "audio_seconds", took, "real_time_factor", factor);
    return json_array_append_new(v->done, o) ? err_set(err, ERR_NOMEM, "no memory for the report") : 0;
}

/* What lies behind the last frame, less than a hop, is silence. */
static int vocode_mel(Vocode *v, const CmdLine *line, int i, const HeardMel *h, Err *err)
{
    const char *path = line->positional[i];
    char out[MOST_PATH];
    float *samples = NULL;
    int64_t count;
    int rc = output_path(out, v, line, i, err);
    double from = clock_now();
    if (!rc) {
        rc = sound_make(v->sound, &samples, &count, h->mel, h->frames,
                        h->samples < 0 ? 0 : v->cfg->hop_length, err);
        if (rc)
            err_prefix(err, "%s", path);
    }
    double took = clock_now() - from;
    if (!rc && h->samples >= 0 && count > h->samples)
        count = h->samples;
    if (!rc)
        rc = write_sound(out, samples, count, v->cfg->sample_rate, err);
    if (!rc)
        rc = report(v, path, out, count, h->frames, took, line->json, err);
    free(samples);
    return rc;
}

/* One of several that cannot be read is named and left out. */
static int vocode_file(Vocode *v, const CmdLine *line, int i, Log *log, Err *err)
{
    const char *path = line->positional[i];
    HeardMel h = {0};
    int rc = ends_with(path, ".npy") ? read_mel(v, &h, path, err) : read_recording(v, &h, path, err);
    if (!rc) {
        rc = vocode_mel(v, line, i, &h, err);
    } else if (line->positional_count > 1 && rc != ERR_NOMEM) {
        v->left_out++;
        log_warn(log, "left out: %s", err->msg);
        rc = json_array_append_new(v->failed, json_pack("{s:o, s:o}", "input", json_from_text(path), "error",
                                                        json_from_text(err->msg)))
                 ? err_set(err, ERR_NOMEM, "no memory for the report")
                 : 0;
        if (!rc)
            err_clear(err);
    }
    free(h.mel);
    return rc;
}

/* --- the command --- */

/* Whose mel it is: that of the vocoder; for Griffin-Lim of any checkpoint, or of the settings. */
static int open_sound(Vocode *v, const CmdLine *line, Log *log, Err *err)
{
    double iterations = 0;
    int rc = cmd_number(&iterations, "iterations", v->iterations, 0, 10000, err);
    v->cfg = &line->cfg;
    if (!rc && v->checkpoint) {
        rc = v->vocoder ? checkpoint_open(&v->file, v->checkpoint, v->checkpoint, 0, NULL, log, err)
                        : vocoder_file_open(&v->file, v->checkpoint, log, err);
        v->cfg = &v->file.cfg;
    }
    if (!rc)
        rc = devices_open(&v->devices, &line->cfg, log, err);
    if (!rc)
        rc = sound_open(
            &v->sound,
            &(SoundOptions){.cfg = v->cfg,
                            .iterations = v->iterations && iterations == 0 ? SOUND_NONE : (int)iterations,
                            .vocoder = v->vocoder ? NULL : &v->file,
                            .device = v->devices.model},
            err);
    if (!rc)
        rc = mel_plan_open(&v->plan, v->cfg, err);
    if (!rc)
        rc = mel_scratch_open(&v->scratch, v->plan, err);
    if (!rc)
        rc = audio_processor_open(&v->processor, v->cfg, err);
    return rc;
}

static int check_options(const Vocode *v, const CmdLine *line, Err *err)
{
    if (v->vocoder && strcmp(v->vocoder, VOCODER_NONE) != 0) {
        err_set(err, ERR_USAGE, "--vocoder is '%s', but can only be " VOCODER_NONE " here", v->vocoder);
        return err_hint(err, "name a vocoder with --checkpoint");
    }
    if (!v->checkpoint && !v->vocoder)
        return err_set(err, ERR_USAGE,
                       "vocode needs --checkpoint V, the folder that `myxtts train --network vocoder` wrote");
    if (!v->output)
        return err_set(err, ERR_USAGE, "vocode needs --output OUT.wav, or for several files a folder");
    return check_names(line, err);
}

/* A place that cannot or must not be written to is known before anything is computed. */
static int check_place(const Vocode *v, const CmdLine *line, Err *err)
{
    char path[MOST_PATH];
    AudioWriter w = {0};
    int rc = 0;
    if (line->positional_count > 1 || is_folder(v->output))
        rc = file_make_dirs(v->output, err);
    for (int i = line->positional_count - 1; i >= 0 && !rc; i--) {
        rc = output_path(path, v, line, i, err);
        if (!rc)
            rc = place_check("output", path, WRITES_SOUND, (const char *const *)line->positional,
                             line->positional_count, v->overwrite, err);
    }
    if (!rc)
        rc = audio_writer_open(&w, path, err);
    audio_writer_abort(&w);
    return rc;
}

static int vocode(Vocode *v, const CmdLine *line, Log *log, Err *err)
{
    int rc = check_options(v, line, err);
    if (!rc)
        rc = check_place(v, line, err);
    if (!rc)
        rc = open_sound(v, line, log, err);
    v->done = json_array();
    v->failed = json_array();
    for (int i = 0; i < line->positional_count && !rc; i++)
        rc = vocode_file(v, line, i, log, err);
    if (!rc && v->left_out == line->positional_count)
        rc = err_set(err, ERR_DATA, "none of the %d files could be used", v->left_out);
    if (rc || !line->json)
        return rc;
    return output_print(json_pack("{s:o, s:I, s:O, s:O}", "vocoder", json_from_text(vocoder_name(v)), "step",
                                  (json_int_t)v->file.content.state.step, "files", v->done, "left_out",
                                  v->failed),
                        6, err);
}

static const CmdOption options[] = {
    {"checkpoint", "V", TEXT_AT(Vocode, checkpoint), 0, "a vocoder, or a run that has one"},
    {"output", "OUT", TEXT_AT(Vocode, output), 0, "where the sound goes: " SOUND_ENDINGS "; or a folder"},
    {"vocoder", "griffin_lim", TEXT_AT(Vocode, vocoder), 0,
     "griffin_lim: use Griffin-Lim instead, to compare"},
    {"iterations", "N", TEXT_AT(Vocode, iterations), 0,
     "iterations of Griffin-Lim (default: 60; after a vocoder 32, on a CPU 16); 0: none"},
    {"overwrite", NULL, 0, FLAG_AT(Vocode, overwrite), PLACE_OVERWRITE},
};
const CmdUsage vocode_usage = {usage_text, options, OPTION_COUNT(options)};

int cmd_vocode(int argc, char **argv, Log *log)
{
    Vocode v = {0};
    CmdLine line;
    Err err = {0};
    int rc = cmd_line_parse(&line, &vocode_usage, &v, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 1, 1000000, "recordings or .npy files", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    rc = vocode(&v, &line, log, &err);
done:
    json_decref(v.done);
    json_decref(v.failed);
    audio_processor_close(v.processor);
    mel_scratch_close(v.scratch);
    mel_plan_close(v.plan);
    sound_close(v.sound);
    devices_close(&v.devices);
    checkpoint_close(&v.file);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : v.left_out ? 1 : 0;
}
