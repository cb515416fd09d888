/* cmd_synth.c - myxtts synth: a text in a trained voice. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/picture.h"
#include "audio/wav.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/devices.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "train/voice.h"

static const char *usage_text = "myxtts synth --checkpoint D --text \"...\" | --text-file F --output out.wav [--reference R.wav | "
                                "--speaker S] [--png mel.png]\n\n"
                                "Speaks the text with a voice that `myxtts train` made. D is a checkpoint or a folder of them (its "
                                "best one is used). The voice is that of a\n"
                                "recording (--reference), of a speaker of the training data (--speaker), or of the first speaker.";

typedef struct Synth {
    const char *checkpoint, *text, *text_file, *output, *reference, *speaker, *png, *attention, *iterations;
    Devices devices;
    Voice *voice;
    Spoken spoken;
    FileMap file;
} Synth;

static int pictures(const Synth *s, Err *err)
{
    const Config *cfg = &voice_file(s->voice)->cfg;
    int rc = 0;
    if (s->png) {
        MelPlan *plan;
        if ((rc = mel_plan_open(&plan, cfg, err)))
            return rc;
        PictureAxes axes = {(double)cfg->hop_length / cfg->sample_rate, mel_edges(plan)};
        rc = picture_mel(s->png, s->spoken.mel, s->spoken.frames, cfg->n_mels, &axes, err);
        mel_plan_close(plan);
    }
    if (!rc && s->attention)
        rc = picture_matrix(s->attention, "attention", s->spoken.attention, s->spoken.steps, s->spoken.text, "symbol",
                            "decoder step", err);
    return rc;
}

static int speak(Synth *s, const CmdLine *line, Log *log, Err *err)
{
    int rc = devices_open(&s->devices, &line->cfg, log, err);
    if (rc)
        return rc;
    VoiceOptions o = {.checkpoint = s->checkpoint,
                      .argc = line->setting_count,
                      .argv = line->settings,
                      .device = s->devices.model,
                      .iterations = s->iterations ? atoi(s->iterations) : 0,
                      .seed = (uint64_t)line->cfg.seed,
                      .log = log};
    if ((rc = voice_open(&s->voice, &o, err)) || (s->reference && (rc = voice_of_recording(s->voice, s->reference, err))) ||
        (s->speaker && (rc = voice_of_speaker(s->voice, s->speaker, err))))
        return rc;
    const char *text = s->text;
    size_t size = text ? strlen(text) : 0;
    if (s->text_file) {
        if ((rc = file_map(&s->file, s->text_file, err)))
            return rc;
        text = (const char *)s->file.data, size = s->file.size;
    }
    if ((rc = voice_say(s->voice, &s->spoken, text, size, err)))
        return rc;
    const Config *cfg = &voice_file(s->voice)->cfg;
    rc = wav_write(s->output, s->spoken.samples, s->spoken.count, cfg->sample_rate, err);
    return rc ? rc : pictures(s, err);
}

static int report(const Synth *s, int json, Err *err)
{
    const Spoken *p = &s->spoken;
    const VoiceFile *f = voice_file(s->voice);
    double length = (double)p->count / f->cfg.sample_rate, took = p->text_seconds + p->mel_seconds + p->audio_seconds;
    if (json)
        return output_print(json_pack("{s:o, s:o, s:I, s:f, s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "output",
                                      output_text(s->output, strlen(s->output)), "checkpoint",
                                      output_text(f->path, strlen(f->path)), "step", (json_int_t)f->step, "seconds", length,
                                      "frames", (json_int_t)p->frames, "parts", p->parts, "capped", p->capped, "attention_diagonal",
                                      p->diagonal, "real_time_factor", took / length, "text_seconds", p->text_seconds,
                                      "mel_seconds", p->mel_seconds, "audio_seconds", p->audio_seconds),
                            6, err);
    printf(
        "%s: %.2f s of speech from step %lld in %.2f s (real-time factor %.3f: text %.3f, mel %.3f, sound %.3f), attention on the "
        "diagonal %.0f %%\n",
        s->output, length, (long long)f->step, took, took / length, p->text_seconds / length, p->mel_seconds / length,
        p->audio_seconds / length, 100 * p->diagonal);
    if (p->capped)
        printf("  %d of %d parts did not end by themselves within %d frames: the voice needs more training\n", p->capped, p->parts,
               f->cfg.max_mel_frames);
    return 0;
}

int cmd_synth(int argc, char **argv, Log *log)
{
    Synth s = {0};
    const CmdOption own[] = {
        {"checkpoint", "D", &s.checkpoint, NULL, "a checkpoint, or a folder of them"},
        {"text", "TEXT", &s.text, NULL, "what to say"},
        {"text-file", "F", &s.text_file, NULL, "a file with what to say (UTF-8)"},
        {"output", "F.wav", &s.output, NULL, "where the speech goes"},
        {"reference", "R.wav", &s.reference, NULL, "speak in the voice of this recording"},
        {"speaker", "S", &s.speaker, NULL, "speak in the voice of this speaker of the training data"},
        {"png", "F.png", &s.png, NULL, "draw the mel"},
        {"attention-png", "F.png", &s.attention, NULL, "draw which symbol each step attended to"},
        {"iterations", "N", &s.iterations, NULL, "of Griffin-Lim (60)"},
    };
    CmdLine line;
    Err err = {0};
    int code = 0, rc = cmd_line_parse(&line, usage_text, own, sizeof own / sizeof *own, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 0, "no arguments besides options", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if (!s.checkpoint)
        rc = err_set(&err, ERR_USAGE, "synth needs --checkpoint D, what `myxtts train` wrote");
    else if (!s.text == !s.text_file)
        rc = err_set(&err, ERR_USAGE, "synth needs either --text \"...\" or --text-file F");
    else if (!s.output)
        rc = err_set(&err, ERR_USAGE, "synth needs --output F.wav");
    else if (s.reference && s.speaker)
        rc = err_set(&err, ERR_USAGE, "--reference and --speaker both say whose voice it is: give one");
    else if (s.iterations &&
             (strspn(s.iterations, "0123456789") != strlen(s.iterations) || atoi(s.iterations) < 1 || atoi(s.iterations) > 10000))
        rc = err_set(&err, ERR_USAGE, "--iterations is '%s', but must be from 1 to 10000", s.iterations);
    if (!rc)
        rc = speak(&s, &line, log, &err);
    if (!rc)
        rc = report(&s, line.json, &err);
    if (!rc && (s.spoken.capped || s.spoken.left_out))
        code = 1;
done:
    if (rc)
        code = cmd_fail(log, &err);
    spoken_free(&s.spoken);
    voice_close(s.voice);
    file_unmap(&s.file);
    devices_close(&s.devices);
    cmd_line_close(&line);
    return code;
}
