/* cmd_synth.c - myxtts synth: a text, or many lines of text, in a trained voice. */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audio/audio_writer.h"
#include "audio/mel.h"
#include "audio/sound_format.h"
#include "audio/wav.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/ordered.h"
#include "base/plural.h"
#include "base/thread.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "device/devices.h"
#include "picture/picture.h"
#include "train/log/pictures.h"
#include "voice/best_note.h"
#include "voice/vocoder_file.h"
#include "voice/voice.h"

static const char usage_text[] =
    "myxtts synth \"TEXT\" | --text-file F [--checkpoint D] [--output out.wav] [--speed 1.2] [--pitch +2]\n"
    "             [--reference R.wav | --speaker S] [--language L] [--vocoder V] [--png mel.png]\n"
    "             [--alignment-png F.png]\n"
    "myxtts synth --checkpoint D --lines F --output-dir DIR [--json] ...\n\n"
    "Speaks the text with a voice that `myxtts train` made. D is the folder of a training (its best\n"
    "checkpoint is used), a checkpoint, an exported voice, or `base`, the voice that comes with the\n"
    "program; without it, the newest training that was not given a --checkpoint-dir. Without\n"
    "--output the speech is speech.wav; a sound file of that name is replaced. The voice is that of a\n"
    "recording (--reference), of a speaker of the training data (--speaker), or of the first speaker, in\n"
    "any language of the voice; `myxtts info --checkpoint D` lists speakers and languages. The extension\n"
    "of the output chooses WAV, FLAC, OGG or MP3; - is standard output (WAV), and for --text-file and\n"
    "--lines standard input. --verbose reports the device, the voice and its speed.\n"
    "With --lines, line N of the file becomes DIR/NN.wav; the voice is loaded once.";

#define GPU_WORKERS 4
enum { MOST_PATH = 4096 };

typedef struct Synth {
    char found[CHECKPOINT_PATH_SIZE]; /* the voice, where none was named */
    const char *checkpoint, *text, *text_file, *lines, *output, *output_dir, *reference, *speaker, *png,
        *alignment_png, *iterations, *speed, *pitch, *vocoder, *language;
    int force_language, overwrite, ssml;
    const char *text_format;
    TextFormat format;
    Devices devices;
    Voice *voice;
    Spoken spoken;
    Buf read;          /* of --text-file or --lines */
    const char *given; /* the text of either */
    AudioWriter sound;
    VoicePart first; /* of a text, kept for the pictures */
    int json, verbose;
    Log *log;
    double open_seconds;
} Synth;

static int is_dash(const char *path) { return path && strcmp(path, "-") == 0; }

/* --- one text --- */

/* Copies what the pictures need of the first part. */
static int keep_first(Synth *s, const VoicePart *p, Err *err)
{
    const size_t values = (size_t)p->frames * (size_t)voice_checkpoint(s->voice)->cfg.n_mels,
                 text = (size_t)p->speech.text;
    s->first.frames = p->frames;
    s->first.speech.text = p->speech.text;
    s->first.mel = malloc(values * sizeof(float));
    s->first.tokens = malloc(text * sizeof(int32_t));
    s->first.speech.durations = malloc(text * sizeof(int32_t));
    s->first.speech.pitch = malloc(text * sizeof(float));
    if (!s->first.mel || !s->first.tokens || !s->first.speech.durations || !s->first.speech.pitch)
        return err_set(err, ERR_NOMEM, "no memory for a picture");
    memcpy(s->first.mel, p->mel, values * sizeof(float));
    memcpy(s->first.tokens, p->tokens, text * sizeof(int32_t));
    memcpy(s->first.speech.durations, p->speech.durations, text * sizeof(int32_t));
    memcpy(s->first.speech.pitch, p->speech.pitch, text * sizeof(float));
    return 0;
}

/* Sound goes to the file as it comes; a long text is never in memory as a whole. */
static int take_part(void *arg, const VoicePart *part, const float *samples, int64_t count, Err *err)
{
    Synth *s = arg;
    int rc = 0;
    if (!s->first.mel && (s->png || s->alignment_png))
        rc = keep_first(s, part, err);
    return rc ? rc : audio_writer_add(&s->sound, samples, count, err);
}

/* The mel of the first part with its symbols and their pitch. */
static int alignment_picture(const Synth *s, Err *err)
{
    const Checkpoint *f = voice_checkpoint(s->voice);
    const VoicePart *p = &s->first;
    EngineLook look = {.predicted = p->mel,
                       .tokens = p->tokens,
                       .durations = p->speech.durations,
                       .pitch = p->speech.pitch,
                       .frames = (int)p->frames,
                       .bands = f->cfg.n_mels,
                       .text = p->speech.text};
    PictureScale scale = {.cfg = &f->cfg,
                          .pitch_mean = f->pitch_mean,
                          .pitch_deviation = f->pitch_deviation,
                          .title = s->output};
    Rgb *pixels;
    int w, h, rc = picture_spoken_pixels(&pixels, &w, &h, &look, &scale, err);
    if (!rc)
        rc = picture_write_rgb(s->alignment_png, pixels, w, h, err);
    free(pixels);
    return rc;
}

/* Of the first part only: a picture of a whole book would show nothing. */
static int pictures(const Synth *s, Err *err)
{
    const Config *cfg = &voice_checkpoint(s->voice)->cfg;
    int rc = 0;
    if (s->png) {
        MelPlan *plan;
        if ((rc = mel_plan_open(&plan, cfg, err)))
            return rc;
        PictureAxes axes = {(double)cfg->hop_length / cfg->sample_rate, mel_edges(plan)};
        rc = picture_mel(s->png, s->first.mel, s->first.frames, cfg->n_mels, &axes, err);
        mel_plan_close(plan);
    }
    return !rc && s->alignment_png ? alignment_picture(s, err) : rc;
}

static const char *vocoder_name(const Synth *s)
{
    const Checkpoint *vocoder = voice_vocoder(s->voice);
    return vocoder ? vocoder->path : VOCODER_NONE;
}

/* Which checkpoint speaks, and why; an exported voice knows nothing of its run. */
static void add_choice(json_t *o, const Synth *s)
{
    Judged best;
    char why[400];
    checkpoint_why(voice_checkpoint(s->voice), &best, why, sizeof why);
    if (!o || !*why)
        return;
    json_object_set_new(o, "chosen", json_string(why));
    judged_json(o, &best, 1);
    ear_json(o, &best.ear);
}

static json_t *marks_json(const Spoken *p)
{
    json_t *all = json_array();
    for (size_t i = 0; i < p->mark_count; i++)
        json_array_append_new(all, json_pack("{s:o, s:f}", "name", json_from_text(p->marks[i].name),
                                             "seconds", p->marks[i].seconds));
    return all;
}

/* Times are shares of the sound's length: below 1 is faster than speech. */
static int report(const Synth *s, Err *err)
{
    const Spoken *p = &s->spoken;
    const Checkpoint *f = voice_checkpoint(s->voice);
    double length = (double)p->count / f->cfg.sample_rate,
           took = p->text_seconds + p->mel_seconds + p->audio_seconds;
    if (s->json) {
        json_t *o = json_pack(
            "{s:o, s:o, s:o, s:I, s:f, s:I, s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "output",
            json_from_text(s->output), "checkpoint", json_from_text(f->path), "vocoder",
            json_from_text(vocoder_name(s)), "step", (json_int_t)f->content.state.step, "seconds", length,
            "frames", (json_int_t)p->frames, "symbols", (json_int_t)p->symbols, "parts", p->parts, "left_out",
            (int)p->losses.count, "real_time_factor", took / length, "text_seconds", p->text_seconds,
            "mel_seconds", p->mel_seconds, "audio_seconds", p->audio_seconds, "first_sound_seconds",
            p->first_seconds, "load_seconds", s->open_seconds);
        json_object_set_new(o, "left_out_pieces", voice_losses_json(&p->losses, s->given));
        json_object_set_new(o, "marks", marks_json(p));
        add_choice(o, s);
        return output_print(o, 6, err);
    }
    char line[4600];
    const int used = snprintf(line, sizeof line, "%s: %.2f s of speech%s",
                              is_dash(s->output) ? "standard output" : s->output, length,
                              voice_vocoder(s->voice) ? "" : ", sound by Griffin-Lim");
    if (s->verbose)
        snprintf(line + used, sizeof line - (size_t)used,
                 " from step %lld in %.2f s (real-time factor %.4f: text %.4f, mel %.4f, sound %.4f); first "
                 "sound after %.2f s",
                 (long long)f->content.state.step, took, took / length, p->text_seconds / length,
                 p->mel_seconds / length, p->audio_seconds / length, p->first_seconds);
    /* Standard output may be the speech itself. */
    if (is_dash(s->output))
        log_info(s->log, "%s", line);
    else
        printf("%s\n", line);
    return 0;
}

/* A file, or standard input. */
static int read_text(Synth *s, const char *path, Err *err)
{
    const size_t most = (size_t)1 << 30;
    return is_dash(path) ? file_read_fd(&s->read, STDIN_FILENO, "standard input", most, err)
                         : file_read(&s->read, path, most, err);
}

/* The file appears under its name only when all of it is there. */
static int speak_text(Synth *s, Err *err)
{
    const char *text = s->text_file ? s->read.data : s->text;
    size_t size = s->text_file ? s->read.size : strlen(text);
    s->given = text;
    int rc = audio_writer_begin(&s->sound, voice_checkpoint(s->voice)->cfg.sample_rate, err);
    if (!rc)
        rc = voice_say(s->voice, &s->spoken, text, size, take_part, s, err);
    if (!rc)
        rc = audio_writer_commit(&s->sound, err);
    if (!rc)
        rc = pictures(s, err);
    if (rc)
        return rc;
    return report(s, err);
}

/* --- many lines --- */

typedef struct LineResult {
    Spoken spoken;
    Err err;
} LineResult;

/* The network speaks one line at a time; sound is made by all cores. */
typedef struct Lines {
    Synth *s;
    const char **line;
    size_t *size;
    uint64_t count;
    pthread_mutex_t network;
    Sound **sound; /* [workers] */
    LineResult *slots;
    int failed, left_out;
    double seconds, first_at;
} Lines;

static const char *lines_name(const Synth *s) { return is_dash(s->lines) ? "standard input" : s->lines; }

static int line_path(char path[MOST_PATH], const Synth *s, uint64_t item, Err *err)
{
    const int n = snprintf(path, MOST_PATH, "%s/%02llu.wav", s->output_dir, (unsigned long long)item + 1);
    return n < MOST_PATH ? 0 : err_set(err, ERR_USAGE, "the path of --output-dir is too long");
}

/* In a worker: part by part, the network under its lock, the sound beside the others. */
static void speak_line(void *user, int thread, int slot, uint64_t item)
{
    Lines *l = user;
    LineResult *r = &l->slots[slot];
    Spoken *out = &r->spoken;
    VoiceText rest = {.p = l->line[item], .n = l->size[item], .language = l->s->language};
    VoicePart part;
    memset(r, 0, sizeof *r);
    const LanguageWish wish = {.force = l->s->force_language}; /* the language was looked at */
    int rc = voice_begin(&rest, voice_checkpoint(l->s->voice), l->s->format, &wish, l->s->log, &r->err);
    for (rc = rc ? rc : 1; rc == 1;) {
        pthread_mutex_lock(&l->network);
        rc = voice_next(l->s->voice, &rest, &part, &out->losses, &r->err);
        pthread_mutex_unlock(&l->network);
        if (rc != 1)
            break;
        float *samples;
        int64_t n;
        double from = clock_now();
        rc = voice_sound(l->s->voice, l->sound[thread], &samples, &n, &part, !voice_text_is_over(&rest),
                         &r->err);
        float *grown = rc ? NULL : realloc(out->samples, (size_t)(out->count + n) * sizeof *grown);
        if (grown) {
            out->samples = grown;
            memcpy(grown + out->count, samples, (size_t)n * sizeof *grown);
            out->audio_seconds += clock_now() - from;
            rc = spoken_add(out, &part, out->count, out->count + n, &voice_checkpoint(l->s->voice)->cfg,
                            &r->err);
            rc = rc ? rc : 1;
        } else if (!rc) {
            rc = err_set(&r->err, ERR_NOMEM, "no memory for %lld samples", (long long)n);
        }
        free(grown ? samples : NULL);
        voice_part_free(&part);
    }
    voice_text_close(&rest);
    if (!r->err.code && !out->parts)
        err_set(&r->err, ERR_DATA, "the line has nothing to speak");
}

/* In order: writes the file, and says so. A line that failed is a finding, not the end. */
static int finish_line(void *user, int slot, uint64_t item, Err *err)
{
    Lines *l = user;
    LineResult *r = &l->slots[slot];
    const Spoken *p = &r->spoken;
    const int rate = voice_checkpoint(l->s->voice)->cfg.sample_rate;
    char path[MOST_PATH];
    int rc = line_path(path, l->s, item, err);
    if (rc)
        return rc;
    if (!r->err.code)
        rc = wav_write(path, p->samples, p->count, rate, err);
    if (!rc && l->s->json) {
        double length = (double)p->count / rate;
        json_t *o = json_pack("{s:I, s:o, s:f, s:I, s:i, s:i, s:f, s:f, s:f}", "line", (json_int_t)item + 1,
                              "output", r->err.code ? json_null() : json_from_text(path), "seconds", length,
                              "symbols", (json_int_t)p->symbols, "parts", p->parts, "left_out",
                              (int)p->losses.count, "text_seconds", p->text_seconds, "mel_seconds",
                              p->mel_seconds, "audio_seconds", p->audio_seconds);
        json_object_set_new(o, "left_out_pieces", voice_losses_json(&p->losses, l->line[item]));
        json_object_set_new(o, "marks", marks_json(p));
        json_object_set_new(o, "error", r->err.code ? json_from_text(r->err.msg) : json_null());
        char *text = json_dumps(o, JSON_REAL_PRECISION(6));
        json_decref(o);
        printf("%s\n", text ? text : "{}");
        free(text);
    } else if (!rc && r->err.code) {
        log_error(l->s->log, "%s:%llu: %s", lines_name(l->s), (unsigned long long)item + 1, r->err.msg);
    }
    l->failed += r->err.code != 0;
    l->left_out += (int)p->losses.count;
    l->seconds += (double)p->count / rate;
    spoken_free(&r->spoken);
    return rc;
}

/* Twice over the text: count, then keep. A last line without a newline counts. */
static int cut_lines(Lines *l, Err *err)
{
    const char *p = l->s->read.data, *end = p + l->s->read.size;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t n = 0;
        for (const char *at = p; at < end; n++) {
            const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
            size_t size = (size_t)(stop - at);
            if (pass) {
                l->line[n] = at;
                l->size[n] = size && at[size - 1] == '\r' ? size - 1 : size;
            }
            at = stop + 1;
        }
        l->count = n;
        if (pass || !n)
            continue;
        l->line = calloc((size_t)n, sizeof *l->line);
        l->size = calloc((size_t)n, sizeof *l->size);
        if (!l->line || !l->size)
            return err_set(err, ERR_NOMEM, "no memory for %llu lines", (unsigned long long)n);
    }
    if (!l->count)
        return err_set(err, ERR_DATA, "%s has no line to speak", lines_name(l->s));
    return 0;
}

/* Before the first is spoken. */
static int check_line_places(const Lines *l, Err *err)
{
    const Synth *s = l->s;
    const char *const inputs[] = {s->lines, s->reference, s->checkpoint, s->vocoder};
    int rc = 0;
    for (uint64_t i = 0; i < l->count && !rc; i++) {
        char path[MOST_PATH];
        rc = line_path(path, s, i, err);
        if (!rc)
            rc = place_check("output-dir", path, WRITES_SOUND, inputs, sizeof inputs / sizeof *inputs,
                             s->overwrite, err);
    }
    return rc;
}

/* All cores make sound, each with its own stage. */
static int speak_lines(Synth *s, int *findings, Err *err)
{
    /* Four are enough to keep a GPU busy. */
    const int cores = thread_cores(),
              on_gpu = !s->devices.model->traits.host_memory && voice_vocoder(s->voice),
              workers = on_gpu && cores > GPU_WORKERS ? GPU_WORKERS : cores;
    Lines l = {.s = s};
    int rc = cut_lines(&l, err);
    if (!rc)
        rc = check_line_places(&l, err);
    if (rc)
        goto done;
    pthread_mutex_init(&l.network, NULL);
    l.sound = calloc((size_t)workers, sizeof *l.sound);
    l.slots = calloc((size_t)workers * 2, sizeof *l.slots);
    if (!l.sound || !l.slots)
        rc = err_set(err, ERR_NOMEM, "no memory to speak %llu lines", (unsigned long long)l.count);
    for (int i = 0; i < workers && !rc; i++)
        rc = voice_sound_open(s->voice, &l.sound[i], 1, err);
    double from = clock_now();
    OrderedJob job = {"speak", l.count, workers, workers * 2, &l, speak_line, finish_line};
    if (!rc)
        rc = ordered_run(&job, err);
    double took = clock_now() - from;
    if (!rc && !s->json)
        printf("%s: %llu line%s, %.1f s of speech in %.2f s (real-time factor %.4f)%s\n", s->output_dir,
               (unsigned long long)l.count, plural(l.count), l.seconds, took, took / l.seconds,
               l.failed ? "; not all lines could be spoken" : "");
    *findings = l.failed || l.left_out;
done:
    for (int i = 0; i < workers && l.sound; i++)
        sound_close(l.sound[i]);
    free(l.sound);
    free(l.slots);
    free(l.line);
    free(l.size);
    return rc;
}

/* --- the command --- */

/* Whether a file can be made there, without making one. */
static int check_place(const char *path, Err *err)
{
    FileWriter w = {0};
    int rc = path ? file_writer_open(&w, path, err) : 0;
    file_writer_abort(&w);
    return rc;
}

/* The text, and places for what will be written: neither should be missed after minutes of speaking. */
static int open_files(Synth *s, Err *err)
{
    int rc = 0;
    if (is_dash(s->output))
        audio_writer_open_pipe(&s->sound, STDOUT_FILENO);
    else if (s->output)
        rc = audio_writer_open(&s->sound, s->output, err);
    if (!rc && s->output_dir) {
        char *first = file_join(s->output_dir, "01.wav");
        rc = first ? file_make_dirs(s->output_dir, err) : err_set(err, ERR_NOMEM, "no memory for a path");
        rc = rc ? rc : check_place(first, err);
        free(first);
    }
    if (!rc)
        rc = check_place(s->png, err);
    if (!rc)
        rc = check_place(s->alignment_png, err);
    const char *path = s->text_file ? s->text_file : s->lines;
    return !rc && path ? read_text(s, path, err) : rc;
}

/* Device, voice and vocoder are told of with --verbose; what goes wrong always is. */
static int open_voice(Synth *s, const CmdLine *line, const VoiceOptions *options, Log *log, Err *err)
{
    const LogLevel level = log->level;
    if (level == LOG_INFO)
        log->level = LOG_WARN;
    VoiceOptions o = *options;
    int rc = devices_open(&s->devices, &line->cfg, log, err);
    o.device = s->devices.model;
    if (!rc)
        rc = voice_open(&s->voice, &o, err);
    if (!rc && s->lines)
        rc = voice_language_check(voice_checkpoint(s->voice), &o.wish, NULL, 0, log, err);
    /* Whose voice it is belongs to loading: no listener waits for it in the middle of a text. */
    if (!rc)
        rc = s->reference ? voice_of_recording(s->voice, s->reference, err)
                          : voice_of_speaker(s->voice, s->speaker, err);
    log->level = level;
    return rc;
}

/* For --verbose: which checkpoint speaks and why, and what makes its sound. */
static void say_voice(const Synth *s, Log *log)
{
    const Checkpoint *vocoder = voice_vocoder(s->voice);
    char why[400];
    checkpoint_why(voice_checkpoint(s->voice), NULL, why, sizeof why);
    if (*why)
        log_debug(log, "voice: %s", why);
    if (vocoder)
        log_debug(log, "sound: by the vocoder %s (step %lld)", vocoder->path,
                  (long long)vocoder->content.state.step);
    else
        log_debug(log, "sound: by Griffin-Lim");
}

/* Numbers of the options, files, devices, voice; then one text or many lines. */
static int speak(Synth *s, const CmdLine *line, int *findings, Log *log, Err *err)
{
    double iterations = 0, speed = 1, pitch = 0, from = clock_now();
    int rc = cmd_number(&iterations, "iterations", s->iterations, 0, 10000, err);
    if (!rc)
        rc = cmd_number(&speed, "speed", s->speed, 0.25, 4, err);
    if (!rc)
        rc = cmd_number(&pitch, "pitch", s->pitch, -24, 24, err);
    if (!rc)
        rc = open_files(s, err);
    if (rc)
        return rc;
    VoiceOptions o = {.checkpoint = s->checkpoint,
                      .argc = line->setting_count,
                      .argv = line->settings,
                      .vocoder = s->vocoder,
                      .iterations = s->iterations && iterations == 0 ? SOUND_NONE : (int)iterations,
                      .speed = speed,
                      .pitch = pitch,
                      .wish = {.language = s->language, .force = s->force_language},
                      .format = s->format,
                      .log = log};
    rc = open_voice(s, line, &o, log, err);
    if (rc)
        return rc;
    s->open_seconds = clock_now() - from;
    say_voice(s, log);
    if (s->lines)
        return speak_lines(s, findings, err);
    rc = speak_text(s, err);
    *findings = s->spoken.losses.count > 0;
    return rc;
}

/* The folder in `in` that holds the log of a run and was changed last; "": there is none. */
static void newest_run(char out[CHECKPOINT_PATH_SIZE], const char *in)
{
    DIR *here = opendir(in);
    int64_t newest = 0;
    out[0] = 0;
    for (struct dirent *e = here ? readdir(here) : NULL; e; e = readdir(here)) {
        struct stat st;
        char run[CHECKPOINT_PATH_SIZE], path[CHECKPOINT_PATH_SIZE + 16];
        snprintf(run, sizeof run, "%s%s%s", strcmp(in, ".") ? in : "", strcmp(in, ".") ? "/" : "", e->d_name);
        snprintf(path, sizeof path, "%s/log.jsonl", run);
        if (e->d_name[0] == '.' || stat(path, &st))
            continue;
        int64_t changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        if (out[0] && changed <= newest)
            continue;
        newest = changed;
        memcpy(out, run, sizeof run);
    }
    if (here)
        closedir(here);
}

/* What `synth "Hello."` leaves open: the voice is where train puts it. */
static int fill_in(Synth *s, const CmdLine *line, Err *err)
{
    char own[CHECKPOINT_PATH_SIZE + 16];
    if (line->positional_count && s->text)
        return err_set(err, ERR_USAGE, "the text is given twice: '%s' and --text '%s'", line->positional[0],
                       s->text);
    if (line->positional_count)
        s->text = line->positional[0];
    if (!s->output && !s->output_dir && !s->lines && (s->text || s->text_file))
        s->output = "speech.wav";
    if (s->checkpoint)
        return 0;
    s->checkpoint = line->cfg.checkpoint_dir;
    snprintf(own, sizeof own, "%s/log.jsonl", s->checkpoint);
    if (!file_exists(own)) { /* each dataset has a folder in it */
        newest_run(s->found, s->checkpoint);
        s->checkpoint = s->found[0] ? s->found : s->checkpoint;
    }
    if (file_exists(s->checkpoint)) {
        log_info(s->log, "using the voice in %s; --checkpoint D chooses another", s->checkpoint);
        return 0;
    }
    err_set(err, ERR_USAGE,
            "synth needs --checkpoint D, the folder that `myxtts train` wrote; there is no folder %s here",
            s->checkpoint);
    newest_run(s->found, ".");
    return s->found[0] ? err_hint(err, "the newest run here is %.200s; to use it: --checkpoint %.200s",
                                  s->found, s->found)
                       : err_hint(err, "the voice that comes with the program: --checkpoint base");
}

/* Which of the two ways of use is meant, and whether it is complete. */
static int check_options(Synth *s, Err *err)
{
    if (!!s->text + !!s->text_file + !!s->lines != 1)
        return err_set(err, ERR_USAGE, "synth needs \"TEXT\", --text-file F or --lines F");
    if (s->lines && (!s->output_dir || s->output))
        return err_set(err, ERR_USAGE, "--lines needs --output-dir DIR, where each line becomes a file");
    if (!s->lines && (!s->output || s->output_dir))
        return err_set(err, ERR_USAGE,
                       "synth needs --output FILE, a name with one of " SOUND_ENDINGS
                       " (- for standard output)");
    if (is_dash(s->output) && s->json)
        return err_set(err, ERR_USAGE, "--output - and --json both write to standard output: give only one");
    if (is_dash(s->output) && isatty(STDOUT_FILENO)) {
        err_set(err, ERR_USAGE, "--output - would write sound to the terminal");
        return err_hint(err, "send it somewhere: myxtts synth ... --output - | aplay");
    }
    if (s->lines && (s->png || s->alignment_png))
        return err_set(err, ERR_USAGE, "--%s draws a single text and cannot be used with --lines",
                       s->png ? "png" : "alignment-png");
    if (s->text_format && text_format_find(&s->format, s->text_format))
        return err_set(err, ERR_USAGE, "--text-format is '%s'; it must be " TEXT_FORMAT_NAMES,
                       s->text_format);
    if (s->ssml)
        s->format = TEXT_FORMAT_SSML;
    if (s->reference && s->speaker)
        return err_set(err, ERR_USAGE,
                       "--reference and --speaker both choose whose voice it is: give only one");
    return 0;
}

static const CmdOption options[] = {
    {"checkpoint", "D", TEXT_AT(Synth, checkpoint), 0, "a checkpoint, or a folder that holds some"},
    {"text", "TEXT", TEXT_AT(Synth, text), 0, "the text to speak, as an option"},
    {"text-file", "F", TEXT_AT(Synth, text_file), 0,
     "a file with the text to speak (UTF-8); -: standard input"},
    {"lines", "F", TEXT_AT(Synth, lines), 0,
     "a file whose lines are each spoken into a separate file; -: standard input"},
    {"output", "F.wav", TEXT_AT(Synth, output), 0,
     "where the speech goes: " SOUND_ENDINGS "; -: standard output"},
    {"output-dir", "DIR", TEXT_AT(Synth, output_dir), 0,
     "folder for the sound files of --lines: 01.wav, 02.wav, ..."},
    {"speed", "X", TEXT_AT(Synth, speed), 0, "speed factor; 1.2 is a fifth faster (1)"},
    {"pitch", "N", TEXT_AT(Synth, pitch), 0, "change the pitch by this many semitones, up or down (0)"},
    {"reference", "R.wav", TEXT_AT(Synth, reference), 0, "sound like the person in this recording"},
    {"speaker", "S", TEXT_AT(Synth, speaker), 0, "sound like this speaker of the training data"},
    {"language", "L", TEXT_AT(Synth, language), 0, "speak this language, one of the voice's (such as de)"},
    {"force-language", NULL, 0, FLAG_AT(Synth, force_language),
     "also speak a language or a script that the voice was never trained on"},
    {"text-format", "F", TEXT_AT(Synth, text_format), 0,
     "format of the text: " TEXT_FORMAT_NAMES " (auto recognises it)"},
    {"ssml", NULL, 0, FLAG_AT(Synth, ssml), "the text is SSML, as --text-format ssml"},
    {"png", "F.png", TEXT_AT(Synth, png), 0, "draw the mel of the first sentence into F"},
    {"alignment-png", "F.png", TEXT_AT(Synth, alignment_png), 0,
     "draw the mel of the first sentence with symbols, durations and pitch"},
    {"vocoder", "PATH", TEXT_AT(Synth, vocoder), 0,
     "what turns mels into sound: a vocoder, or griffin_lim (default: D/vocoder, unless griffin_lim's copies "
     "are closer to the recordings)"},
    {"iterations", "N", TEXT_AT(Synth, iterations), 0,
     "iterations of Griffin-Lim (default: 60; 0 if there is a vocoder)"},
    {"overwrite", NULL, 0, FLAG_AT(Synth, overwrite), PLACE_OVERWRITE},
};
const CmdUsage synth_usage = {usage_text, options, OPTION_COUNT(options)};

/* Exit code 1: a line could not be spoken, or characters were left out. */
int cmd_synth(int argc, char **argv, Log *log)
{
    Synth s = {0};
    CmdLine line;
    Err err = {0};
    int findings = 0, code = 0, rc = cmd_line_parse(&line, &synth_usage, &s, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 1, "one text, in quotes", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    s.json = line.json;
    s.verbose = line.verbose;
    s.log = log;
    rc = fill_in(&s, &line, &err);
    if (!rc)
        rc = check_options(&s, &err);
    if (!rc)
        rc = speak(&s, &line, &findings, log, &err);
    if (!rc && findings)
        code = 1;
done:
    if (rc == ERR_LANGUAGE)
        err_hint(&err, "--force-language speaks it anyway");
    if (rc)
        code = cmd_fail(log, &err);
    audio_writer_abort(&s.sound);
    voice_part_free(&s.first);
    spoken_free(&s.spoken);
    buf_free(&s.read);
    voice_close(s.voice);
    devices_close(&s.devices);
    cmd_line_close(&line);
    return code;
}
