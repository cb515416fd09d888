/* cmd_eval.c - myxtts eval: a checkpoint on the held-out clips of a dataset. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/thread.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/voice_data.h"
#include "diag/voice/voice_report.h"
#include "train/listen/evaluate.h"
#include "train/listen/hearing.h"
#include "train/step/beside.h"
#include "voice/vocoder_file.h"
#include "voice/voice.h"

static const char usage_text[] =
    "myxtts eval --checkpoint D --data-path DIR [--clips N] [--lines F] [--vocoder V] [--json]\n\n"
    "Speaks the texts of N held-out clips of DIR (of any N clips if none are held out). Reports what a\n"
    "recogniser hears in the voice and in the recordings, how far the voice's sound is from the\n"
    "recordings, and the loss on all held-out clips. --lines: judges the words of these lines instead of\n"
    "the clips' texts. Exit code 1: findings, or a share of wrong words that is over 10 points higher\n"
    "than in the recordings.";

#define SPOKEN_CLIPS 20
#define LOST_POINTS 0.10 /* share of words that may be lost before it is a finding */

typedef struct Eval {
    VoiceData data;
    Checkpoint vocoder; /* closed if there is none */
    int has_vocoder;
    Corpus corpus;
    Synthesiser *synthesiser;
    Hearing *hearing;
    double terms[TERM_COUNT], loss;
    Heard heard;
    EarFigures ear;  /* of the same clips */
    WordScore lines; /* of --lines */
    VoiceReport report;
    int all;
} Eval;

/* The held-out clips; where none is held out, all. */
static int open_data(Eval *e, const char *checkpoint, const char *vocoder, const CmdLine *line, Log *log,
                     Err *err)
{
    int rc = voice_data_open(&e->data, checkpoint, line, log, err);
    if (!rc) {
        rc = vocoder_file_of(&e->vocoder, &e->data.file, vocoder, 0, log, err);
        e->has_vocoder = rc == 1;
        rc = rc < 0 ? rc : 0;
    }
    if (!rc)
        rc = voice_data_corpus(&e->data, &e->corpus, SPLIT_VAL, log, err);
    if (rc)
        return rc;
    if (!e->corpus.count) {
        corpus_close(&e->corpus);
        e->all = 1;
        if ((rc = voice_data_corpus(&e->data, &e->corpus, SPLIT_TRAIN, log, err)))
            return rc;
    }
    return e->corpus.count ? 0
                           : err_set(err, ERR_DATA, "%s has no clip that can be used", line->cfg.data_path);
}

/* Speakers of the dataset may have other numbers than in the checkpoint: they are matched by name; unknown
 * ones get the first voice. */
static void match_speakers(Eval *e)
{
    for (uint32_t i = 0; i < e->corpus.count; i++) {
        Str name = e->corpus.speakers[e->corpus.items[i].speaker];
        int found = 0;
        for (int k = 0; k < e->data.file.speaker_count; k++)
            if (strlen(e->data.file.speakers[k]) == name.n &&
                memcmp(e->data.file.speakers[k], name.p, name.n) == 0)
                found = k;
        e->corpus.items[i].speaker = found;
    }
}

/* Speaks clips from their text alone and listens to them. */
static int listen(Eval *e, Model *m, const EngineShape *largest, int clips, Log *log, Err *err)
{
    const Config *cfg = &e->data.file.cfg;
    SynthesisLimits limits = synthesis_limits(&e->data.file.cfg, largest);
    limits.grow = 1;
    const TrainState *state = &e->data.file.content.state;
    int rc = synthesiser_open(&e->synthesiser, m, &limits, err);
    if (!rc)
        rc = synthesiser_set_manner(e->synthesiser, &state->manner, err);
    if (!rc)
        rc = hearing_open(&e->hearing, cfg, &e->corpus, clips, thread_cores(), log, err);
    if (rc)
        return rc;
    /* As synth makes it: without rounds of Griffin-Lim behind a vocoder. */
    hearing_set_sound(e->hearing, &(SoundOptions){.vocoder = e->has_vocoder ? &e->vocoder : NULL,
                                                  .iterations = e->has_vocoder ? SOUND_NONE : 0,
                                                  .device = e->data.devices.model});
    /* All clips are spoken first; then several threads listen. */
    const Checkpoint *file = &e->data.file;
    const CheckpointContent *c = &file->content;
    const int n = hearing_count(e->hearing);
    Speech *speech = calloc((size_t)n + 1, sizeof *speech);
    uint32_t *items = calloc((size_t)n + 1, sizeof *items);
    if (!speech || !items)
        rc = err_set(err, ERR_NOMEM, "no memory to speak %d clips", n);
    for (int i = 0; i < n && !rc; i++) {
        items[i] = hearing_item(e->hearing, i);
        rc = speak_item(e->synthesiser, &speech[i], cfg, &e->corpus, items[i], &c->clips, err);
    }
    const SpokenClips spoken = {.speech = speech,
                                .items = items,
                                .count = n,
                                .corpus = &e->corpus,
                                .mean = c->mean,
                                .deviation = c->deviation,
                                .pitch_deviation = file->pitch_deviation};
    int compared = rc ? 0 : beside_recordings(&e->ear, &spoken, err);
    rc = compared < 0 ? compared : rc;
    if (!rc)
        rc = hearing_submit(e->hearing, c->state.step, speech, c->mean, c->deviation, err);
    for (int i = 0; i < n && speech; i++)
        speech_free(&speech[i]);
    free(speech);
    free(items);
    if (!rc && (rc = hearing_result(e->hearing, &e->heard, 1, err)) == 1)
        rc = 0;
    return rc;
}

/* Loss, speech, alignment of the held-out clips. */
static int evaluate(Eval *e, int clips, Log *log, Err *err)
{
    const Config *cfg = &e->data.file.cfg;
    EngineShape largest = corpus_shape(cfg, 1, &e->corpus, NULL);
    EvaluateOptions eo = {.cfg = cfg,
                          .corpus = &e->corpus,
                          .data = e->data.devices.data,
                          .model = e->data.devices.model,
                          .log = log};
    int rc = voice_data_engine(&e->data, &largest, log, err);
    if (!rc)
        rc = evaluate_batches(e->terms, e->data.engine, &eo, NULL, NULL, err);
    if (rc)
        return rc;
    for (int i = 0; i < TERM_COUNT; i++)
        e->loss += e->terms[i];
    if (!isfinite(e->loss))
        return err_set(err, ERR_DATA, "none of the %u clips could be loaded, or their loss is not finite",
                       e->corpus.count);
    match_speakers(e);
    if (clips && (rc = listen(e, engine_model(e->data.engine), &largest, clips, log, err)))
        return rc;
    VoiceHeard heard = voice_heard(&e->heard);
    VoiceReportOptions ro = {.cfg = cfg,
                             .engine = e->data.engine,
                             .align = &eo,
                             .terms = e->terms,
                             .step = e->data.file.content.state.step,
                             .heard = e->heard.voice.words ? &heard : NULL};
    return voice_report(&e->report, &ro, err);
}

/* --- lines --- */

/* Speaks line after line and lets all cores listen. */
static int judge_lines(Eval *e, const char *checkpoint, const char *path, const char *vocoder,
                       const CmdLine *line, Log *log, Err *err)
{
    VoiceOptions o = {.checkpoint = checkpoint,
                      .argc = line->setting_count,
                      .argv = line->settings,
                      .device = e->data.devices.model,
                      .vocoder = vocoder,
                      .wish = {.goes_on = 1}, /* a line in another language is not the end */
                      .log = log};
    Buf text = {0};
    Voice *voice = NULL;
    JudgeClip *clips = NULL;
    int n = 0, room = 0, rc = file_read(&text, path, (size_t)64 << 20, err);
    if (!rc)
        rc = voice_open(&voice, &o, err);
    for (size_t at = 0; !rc && at < text.size;) {
        size_t size = strcspn(text.data + at, "\n");
        Spoken spoken;
        if (size > text.size - at)
            size = text.size - at;
        if (n == room) {
            room = room ? 2 * room : 64;
            JudgeClip *grown = realloc(clips, (size_t)room * sizeof *grown);
            if (!grown) {
                rc = err_set(err, ERR_NOMEM, "no memory for %d lines", room);
                break;
            }
            clips = grown;
        }
        if (size && !(rc = voice_say(voice, &spoken, text.data + at, size, NULL, NULL, err)))
            clips[n++] = (JudgeClip){.samples = spoken.samples, .count = spoken.count, .said = spoken.said};
        if (n)
            clips[n - 1].rate = voice_checkpoint(voice)->cfg.sample_rate;
        at += size + 1;
    }
    if (!rc && !n)
        rc = err_set(err, ERR_DATA, "%s has no line to speak", path);
    if (!rc && !(rc = judge_clips(clips, n, e->data.file.cfg.language, thread_cores(), err)))
        e->lines = judge_score(clips, n);
    if (rc == ERR_MISSING && clips) { /* said with the clips: there is no recogniser */
        err_clear(err);
        rc = 0;
    }
    judge_clips_free(clips, n);
    voice_close(voice);
    buf_free(&text);
    return rc;
}

/* --- report --- */

/* Recordings are not understood perfectly either: only what is lost beyond that counts. */
static int lost_words(const Eval *e)
{
    const WordScore *voice = e->lines.words ? &e->lines : &e->heard.voice, *real = &e->heard.recordings;
    return voice->words && real->words && voice->share > real->share + LOST_POINTS;
}

static const char *vocoder_name(const Eval *e) { return e->has_vocoder ? e->vocoder.path : VOCODER_NONE; }

/* The voice beside the recordings: words, distance, loss, findings. */
static int report(const Eval *e, int json, Err *err)
{
    const Heard *h = &e->heard;
    if (json) {
        json_t *terms = json_object();
        for (int i = 0; i < TERM_COUNT; i++)
            if (loss_term_is_of(i, e->data.file.cfg.network))
                json_object_set_new(terms, loss_term_name(i), json_from_double(e->terms[i]));
        json_t *o = json_pack("{s:o, s:o, s:I, s:I, s:b, s:o, s:o, s:i}", "checkpoint",
                              json_from_text(e->data.file.path), "vocoder", json_from_text(vocoder_name(e)),
                              "step", (json_int_t)e->data.file.content.state.step, "clips",
                              (json_int_t)e->corpus.count, "held_out", !e->all, "loss",
                              json_from_double(e->loss), "terms", terms, "spoken", h->clips);
        ear_json(o, &e->ear);
        heard_json(o, h);
        if (e->lines.words) {
            json_object_set_new(o, "words", json_integer(e->lines.words));
            json_object_set_new(o, "words_wrong", json_integer(e->lines.wrong));
            json_object_set_new(o, "words_wrong_share", json_real(e->lines.share));
        }
        json_t *findings = voice_report_json(&e->report);
        if (findings)
            json_object_set(o, "findings", json_object_get(findings, "findings"));
        json_decref(findings);
        return output_print(o, 7, err);
    }
    if (h->clips) {
        char sentence[400];
        heard_sentence(h, sentence, sizeof sentence);
        printf("%s (step %lld), %d %sclip%s spoken from the text: %s\n", e->data.file.path,
               (long long)e->data.file.content.state.step, h->clips, e->all ? "" : "held-out ",
               plural((uint64_t)h->clips), sentence);
    }
    if (e->ear.movement > 0) {
        char figures[140];
        ear_sentence(&e->ear, figures, sizeof figures);
        printf("  compared with the recordings (1: the same): %s\n", figures);
    }
    if (e->lines.words)
        printf("  the lines: %.1f %% of %d words wrong\n", 100 * e->lines.share, e->lines.words);
    if (lost_words(e))
        printf("  the voice is much harder to understand than the recordings: it needs more training, or "
               "more data\n");
    if (h->clips || e->lines.words)
        printf("  sound by %s\n", e->has_vocoder ? e->vocoder.path : "Griffin-Lim");
    if (h->judge[0])
        printf("  judged by %s\n", h->judge);
    for (int i = 0; i < e->report.count; i++)
        printf("  %s\n    %s\n", e->report.findings[i].evidence, e->report.findings[i].advice);
    printf("  loss on %u %sclip%s: %.4f (", e->corpus.count, e->all ? "" : "held-out ",
           plural(e->corpus.count), e->loss);
    for (int i = 0; i < TERM_COUNT; i++)
        if (loss_term_is_of(i, e->data.file.cfg.network))
            printf("%s%s %.4f", i ? ", " : "", loss_term_name(i), e->terms[i]);
    printf(")\n");
    return 0;
}

/* As they were typed. */
typedef struct Given {
    const char *checkpoint, *clips, *lines, *vocoder;
} Given;

static const CmdOption options[] = {
    {"checkpoint", "D", TEXT_AT(Given, checkpoint), 0, "a checkpoint, or a folder that holds some"},
    {"clips", "N", TEXT_AT(Given, clips), 0, "how many clips' texts to speak (20); 0: none"},
    {"lines", "F", TEXT_AT(Given, lines), 0, "a file whose lines are spoken and judged"},
    {"vocoder", "PATH", TEXT_AT(Given, vocoder), 0,
     "what turns mels into sound: a vocoder, or griffin_lim; as in synth"},
};
const CmdUsage eval_usage = {usage_text, options, OPTION_COUNT(options)};

/* Exit code 1: words are lost, or the voice doctor found something. */
int cmd_eval(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    Eval e = {0};
    int code = 0, rc = cmd_line_parse(&line, &eval_usage, &given, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 0, "options only", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if (!given.checkpoint)
        rc = err_set(&err, ERR_USAGE, "eval needs --checkpoint D, the folder that `myxtts train` wrote");
    else if (!line.cfg.data_path[0])
        rc = err_set(&err, ERR_USAGE,
                     "eval needs --data-path DIR, the folder with recordings and their texts");
    else if (given.clips &&
             (atoi(given.clips) < 0 || (atoi(given.clips) == 0 && strcmp(given.clips, "0") != 0)))
        rc = err_set(&err, ERR_USAGE, "--clips is '%s', but must be 0 or more", given.clips);
    if (!rc)
        rc = open_data(&e, given.checkpoint, given.vocoder, &line, log, &err);
    if (!rc)
        rc = evaluate(&e, given.clips ? atoi(given.clips) : SPOKEN_CLIPS, log, &err);
    if (!rc && given.lines)
        rc = judge_lines(&e, given.checkpoint, given.lines, given.vocoder, &line, log, &err);
    if (!rc)
        rc = report(&e, line.json, &err);
    if (!rc && (lost_words(&e) || e.report.count > 0))
        code = 1;
done:
    if (rc)
        code = cmd_fail(log, &err);
    voice_report_close(&e.report);
    hearing_close(e.hearing);
    synthesiser_close(e.synthesiser);
    corpus_close(&e.corpus);
    checkpoint_close(&e.vocoder);
    voice_data_close(&e.data);
    cmd_line_close(&line);
    return code;
}
