/* cmd_mel.c - myxtts mel: the mel of one clip as training sees it, but without trim and loudness. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/stats.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "picture/picture.h"

static const char usage[] =
    "myxtts mel FILE [--output F.npy] [--png F.png] [--json] [any setting]\n\n"
    "Computes the mel of one audio file, mixed to mono and resampled to sample_rate, but not trimmed or\n"
    "levelled.\n"
    "--output writes float32 [frames, n_mels] in C order, --png draws it; without either, prints a\n"
    "summary.";

typedef struct Clip {
    int file_rate, rate, bands;
    int64_t samples, frames;
    float *mel;    /* [frames, bands] */
    double *edges; /* [bands + 2] Hz */
    Stats stats;
} Clip;

static void clip_free(Clip *c)
{
    free(c->mel);
    free(c->edges);
}

/* The mel, its band edges for the picture, and its statistics. */
static int compute(Clip *c, const Config *cfg, const float *samples, int64_t n, Err *err)
{
    MelPlan *plan = NULL;
    MelScratch *scratch = NULL;
    int rc = mel_plan_open(&plan, cfg, err);
    if (!rc)
        rc = mel_scratch_open(&scratch, plan, err);
    if (rc)
        goto done;
    c->bands = mel_bands(plan);
    c->samples = n;
    c->frames = mel_frames(plan, n);
    c->mel = mem_calloc((size_t)c->frames * (size_t)c->bands, sizeof(float));
    c->edges = mem_calloc((size_t)c->bands + 2, sizeof(double));
    if (!c->mel || !c->edges) {
        rc = err_set(err, ERR_NOMEM, "no memory for %lld frames", (long long)c->frames);
        goto done;
    }
    memcpy(c->edges, mel_edges(plan), ((size_t)c->bands + 2) * sizeof(double));
    mel_compute(plan, scratch, c->mel, samples, n);
    for (int64_t i = 0; i < c->frames * c->bands; i++)
        stats_add(&c->stats, (double)c->mel[i]);
done:
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    return rc;
}

/* Header, bytes, samples, mel: each step names the file when it fails. */
static int read_clip(Clip *c, const char *path, const Config *cfg, Err *err)
{
    char detail[600];
    AudioInfo info;
    FileMap map = {0};
    AudioBuffer audio = {0};
    AudioProcessor *processor = NULL;
    const float *samples;
    int64_t n;
    int rc = 0;
    RejectReason why = audio_probe(&info, path, 0, 0, detail, sizeof detail);
    if (why) /* detail begins with the path */
        return err_set(err, why == REJECT_AUDIO_MISSING ? ERR_MISSING : ERR_DATA, "%s", detail);
    rc = file_load(&map, path, err);
    if (!rc)
        rc = audio_processor_open(&processor, cfg, err);
    if (rc)
        goto done;
    why = audio_decode(&audio, map.data, map.size, path, 0, detail, sizeof detail);
    if (why) {
        rc = err_set(err, ERR_DATA, "%s", detail);
        goto done;
    }
    why = audio_process(processor, &samples, &n, &audio, 0, 0, detail, sizeof detail);
    if (why) {
        rc = err_set(err, ERR_DATA, "%s: %s", path, detail);
        goto done;
    }
    c->file_rate = audio.rate;
    c->rate = cfg->sample_rate;
    rc = compute(c, cfg, samples, n, err);
done:
    audio_processor_close(processor);
    audio_buffer_free(&audio);
    file_unmap(&map);
    return rc;
}

/* Two picture rows per line of text: the upper half block in one colour on the other. */
static void draw_on_terminal(const Clip *c)
{
    struct winsize size = {0};
    enum { LEAST_COLUMNS = 20, USUAL_COLUMNS = 80, MOST_COLUMNS = 160, ROWS = 40 };
    int known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= LEAST_COLUMNS;
    int columns = known ? size.ws_col : USUAL_COLUMNS, rows = ROWS;
    if (columns > MOST_COLUMNS)
        columns = MOST_COLUMNS;
    if (columns > c->frames)
        columns = (int)c->frames;
    if (rows > c->bands)
        rows = c->bands + c->bands % 2;
    /* Colours span the values of this clip; silence would divide by zero. */
    double range = c->stats.max > c->stats.min ? c->stats.max - c->stats.min : 1.0;
    Buf drawn = {0};
    for (int y = 0; y < rows; y += 2) {
        for (int x = 0; x < columns; x++) {
            Rgb half[2];
            for (int k = 0; k < 2; k++) {
                int64_t f0 = x * c->frames / columns, f1 = (x + 1) * c->frames / columns;
                int b0 = (rows - 1 - y - k) * c->bands / rows, b1 = (rows - y - k) * c->bands / rows;
                Stats cell = {0};
                for (int64_t f = f0; f < f1; f++)
                    for (int b = b0; b < (b1 > b0 ? b1 : b0 + 1); b++)
                        stats_add(&cell, (double)c->mel[f * c->bands + b]);
                half[k] = picture_colour((cell.mean - c->stats.min) / range);
            }
            buf_printf(&drawn, "\x1b[38;2;%d;%d;%dm\x1b[48;2;%d;%d;%dm\u2580", half[0].r, half[0].g,
                       half[0].b, half[1].r, half[1].g, half[1].b);
        }
        buf_str(&drawn, "\x1b[0m\n");
    }
    if (!drawn.failed)
        output_control(drawn.data, drawn.size);
    buf_free(&drawn);
}

static int print_json(const Clip *c, const char *path, const char *output, const char *png, Err *err)
{
    json_t *o = json_pack("{s:i, s:i, s:f, s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:s?, s:s?, s:s?}", "file_rate",
                          c->file_rate, "sample_rate", c->rate, "seconds", (double)c->samples / c->rate,
                          "samples", (json_int_t)c->samples, "frames", (json_int_t)c->frames, "n_mels",
                          c->bands, "min", c->stats.min, "max", c->stats.max, "mean", c->stats.mean, "std",
                          stats_std(&c->stats), "file", path, "output", output, "png", png);
    char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
    json_decref(o);
    if (!text)
        return err_set(err, ERR_DATA, "the summary cannot be written as JSON: a path is not valid UTF-8");
    puts(text);
    free(text);
    return 0;
}

static void print_summary(const Clip *c, const char *path)
{
    printf("%s: %d Hz, %.3f s\n", path, c->file_rate, (double)c->samples / c->rate);
    printf("mel at %d Hz: %lld frames x %d bands, min %.3f, max %.3f, mean %.3f, deviation %.3f\n", c->rate,
           (long long)c->frames, c->bands, c->stats.min, c->stats.max, c->stats.mean, stats_std(&c->stats));
}

/* As they were typed. */
typedef struct Given {
    const char *output, *png;
    int overwrite;
} Given;

static const CmdOption options[] = {
    {"output", "F.npy", TEXT_AT(Given, output), 0, "write the mel as a NumPy file"},
    {"png", "F.png", TEXT_AT(Given, png), 0, "draw the mel"},
    {"overwrite", NULL, 0, FLAG_AT(Given, overwrite), PLACE_OVERWRITE},
};
const CmdUsage mel_usage = {usage, options, OPTION_COUNT(options)};

/* With files to write it says so in one line; otherwise the summary, and a drawing on a terminal. */
int cmd_mel(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    Clip clip = {0};
    int rc = cmd_line_parse(&line, &mel_usage, &given, argc, argv, &err);
    if (!rc && line.help) {
        cmd_line_close(&line);
        return 0;
    }
    if (!rc)
        rc = cmd_line_expect(&line, 1, 1, "one audio file", &err);
    if (rc)
        goto done;
    cmd_line_set_log(&line, log);
    const char *path = line.positional[0];
    rc = read_clip(&clip, path, &line.cfg, &err);
    if (!rc && given.output)
        rc = npy_write(given.output, clip.mel, clip.frames, clip.bands, &err);
    if (!rc && given.png) {
        PictureAxes axes = {(double)line.cfg.hop_length / line.cfg.sample_rate, clip.edges};
        rc = picture_mel(given.png, clip.mel, clip.frames, clip.bands, &axes, &err);
    }
    if (rc)
        goto done;
    if (line.json)
        rc = print_json(&clip, path, given.output, given.png, &err);
    else if (!given.output && !given.png) {
        print_summary(&clip, path);
        if (isatty(STDOUT_FILENO))
            draw_on_terminal(&clip);
    } else
        log_info(log, "%s: %lld frames x %d bands%s%s%s%s", path, (long long)clip.frames, clip.bands,
                 given.output ? " -> " : "", given.output ? given.output : "", given.png ? " -> " : "",
                 given.png ? given.png : "");
done:
    clip_free(&clip);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}
