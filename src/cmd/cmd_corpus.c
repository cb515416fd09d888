/* cmd_corpus.c - myxtts corpus: hours of sound and their text -> a folder of clips to train on. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/progress.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "corpus/book.h"
#include "corpus/corpus_files.h"
#include "corpus/cut.h"
#include "corpus/listening.h"
#include "corpus/recording.h"
#include "corpus/text_track.h"
#include "text/language.h"

static const char usage_text[] =
    "myxtts corpus RECORDING... --text BOOK.txt --output DIR [--language L] [--json]\n\n"
    "Makes a corpus from long recordings and their text. Give the recordings in the order in which they\n"
    "were read. Clips of 2 to 12 s, cut at silences, go to DIR/wavs, their texts to DIR/metadata.csv.\n"
    "Passages that are only in the sound or only in the text, noise, and speech without a pause are left\n"
    "out. DIR/rejected.tsv lists them with the reason, DIR/sentences.tsv says where every sentence is,\n"
    "and DIR/report.html has the most doubtful clips to listen to. Without --text the recordings are only\n"
    "cut, and you fill in the texts in metadata.csv. Exit code 1: less than half of the sound became\n"
    "clips.";

static const double shortest_pause = 0.06; /* s: a unit of text may begin or end there */
static const double fits_least = 0.05;     /* of the sound; less: another text, or another language */

typedef struct CorpusJob {
    Listening listening;
    Book book;
    TextTrack track;
    Cuts cuts;
    const char *text, *output;
    char language[LANGUAGE_MAX];
    double heard, sound, kept; /* seconds: all, without pauses, in clips */
    int opened;                /* the book was */
} CorpusJob;

/* All are opened before the first is heard: a wrong name is told at once. */
static int listen_all(CorpusJob *j, char **paths, int count, Log *log, Err *err)
{
    Progress progress;
    double seconds = 0;
    int rc = 0;
    for (int i = 0; i < count && !rc; i++) {
        Recording *r = NULL;
        rc = recording_open(&r, paths[i], err);
        if (!rc)
            seconds += (double)recording_length(r) / recording_rate(r);
        recording_close(r);
    }
    if (rc)
        return rc;
    progress_begin(&progress, log, "listening", "s", (uint64_t)seconds);
    for (int i = 0; i < count && !rc; i++)
        rc = listening_add(&j->listening, paths[i], &progress, log, err);
    progress_end(&progress);
    if (!rc)
        rc = listening_find_pauses(&j->listening, shortest_pause, err);
    for (int64_t i = 0; i < 2 * j->listening.frames && !rc; i++)
        j->sound += !j->listening.quiet[i];
    j->sound /= LISTEN_LEVEL_HZ;
    j->heard = (double)j->listening.frames / LISTEN_HZ;
    if (!rc && j->sound < CLIP_LEAST)
        rc = err_set(err, ERR_DATA, "%s%s: no speech found; of %.1f s, less than %g s are not silent",
                     paths[0], count > 1 ? " and the other recordings" : "", j->heard, CLIP_LEAST);
    return rc;
}

/* The language that was given, else that of the text. */
static int open_book(CorpusJob *j, const Config *cfg, Log *log, Err *err)
{
    Buf text = {0};
    snprintf(j->language, sizeof j->language, "%s", cfg->language);
    int rc = file_read(&text, j->text, (size_t)256 << 20, err);
    if (!rc && config_is_given(cfg, "language"))
        rc = language_normalise(j->language, cfg->language, strlen(cfg->language))
                 ? err_set(err, ERR_USAGE, "--language is '%s', which is not a language code", cfg->language)
                 : 0;
    else if (!rc)
        language_from_text(j->language, &cfg->supported_languages, text.data ? text.data : "",
                           text.size < 20000 ? text.size : 20000);
    if (!rc)
        rc = book_parse(&j->book, text.data ? text.data : "", text.size, j->text, j->language, err);
    j->opened = !rc;
    if (!rc)
        log_info(log, "%s: %d sentence%s, language %s", j->text, j->book.sentences,
                 plural((uint64_t)j->book.sentences), j->language);
    buf_free(&text);
    return rc;
}

/* What is in the folder afterwards, in one sentence. */
static void describe(const CorpusJob *j, char *out, size_t cap)
{
    char kept[40], heard[40];
    progress_format_seconds(kept, sizeof kept, j->kept);
    progress_format_seconds(heard, sizeof heard, j->heard);
    if (j->opened)
        snprintf(out, cap, "%d clips, %s of %s; %d of %d parts of the text were found", j->cuts.clip_count,
                 kept, heard, j->track.count, j->book.count);
    else
        snprintf(out, cap, "%d clips, %s of %s, without texts", j->cuts.clip_count, kept, heard);
}

static int print_result(const CorpusJob *j, int json, Err *err)
{
    char line[200];
    int counts[CUT_REASONS] = {0};
    for (int i = 0; i < j->cuts.reject_count; i++)
        counts[j->cuts.rejects[i].reason]++;
    if (json) {
        json_t *rejected = json_object();
        for (int r = 0; r < CUT_REASONS; r++)
            json_object_set_new(rejected, cut_reason_code((CutReason)r), json_integer(counts[r]));
        return output_print(json_pack("{s:o, s:i, s:f, s:f, s:f, s:i, s:i, s:o}", "output",
                                      json_from_text(j->output), "clips", j->cuts.clip_count, "clip_seconds",
                                      j->kept, "heard_seconds", j->heard, "sound_seconds", j->sound, "units",
                                      j->opened ? j->book.count : 0, "found", j->track.count, "rejected",
                                      rejected),
                            6, err);
    }
    describe(j, line, sizeof line);
    printf("%s: %s\n", j->output, line);
    for (int r = 0; r < CUT_REASONS; r++)
        if (counts[r])
            printf("  left out: %d %s\n", counts[r], cut_reason_text((CutReason)r));
    if (j->opened)
        printf("listen to the worst clips in %s/report.html, then: myxtts train --data-path %s\n", j->output,
               j->output);
    else
        printf("in %s/metadata.csv, write what is said after the | of each line; or run this again with "
               "--text\n",
               j->output);
    return 0;
}

/* The text of another book, or in another language: only the lists are written. */
static int judge_fit(const CorpusJob *j, Err *err)
{
    const double kept = j->kept / j->sound;
    if (j->cuts.clip_count > 0 && (!j->opened || kept >= fits_least))
        return 0;
    if (!j->opened) {
        err_set(err, ERR_DATA, "no clip could be cut: there is no speech with pauses in the recording");
        return err_hint(err, "%s/rejected.tsv lists what was found", j->output);
    }
    err_set(err, ERR_DATA,
            "%s does not match the recording: %d of its %d sentences and parts were found, in %.1f %% of the "
            "sound",
            j->text, j->track.count, j->book.count, 100 * kept);
    return err_hint(err,
                    "check that it is the text of this recording, and that '%s' is the language "
                    "(--language); %s/rejected.tsv lists what was heard",
                    j->language, j->output);
}

static int write_all(CorpusJob *j, const char *command, Log *log, Err *err)
{
    char verdict[300];
    describe(j, verdict, sizeof verdict);
    const CorpusFiles files = {.dir = j->output,
                               .listening = &j->listening,
                               .cuts = &j->cuts,
                               .track = j->opened ? &j->track : NULL,
                               .book = j->opened ? &j->book : NULL,
                               .command = command,
                               .verdict = verdict,
                               .status = j->kept < 0.5 * j->sound ? "bad" : "good"};
    int rc = corpus_write_lists(&files, err);
    if (!rc)
        rc = judge_fit(j, err);
    if (!rc)
        rc = corpus_write_clips(&files, log, err);
    if (!rc)
        rc = corpus_write_page(&files, err);
    return rc ? rc : corpus_write_metadata(&files, err);
}

static int run(CorpusJob *j, const CmdLine *line, const char *command, Log *log, Err *err)
{
    int rc = j->text ? open_book(j, &line->cfg, log, err) : 0;
    if (!rc)
        rc = listen_all(j, line->positional, line->positional_count, log, err);
    if (!rc)
        rc = corpus_folder_begin(j->output, err);
    if (!rc && j->opened)
        rc = text_track_make(&j->track, &j->listening, &j->book, language_voice(j->language), log, err);
    if (!rc)
        rc = cuts_make(&j->cuts, &j->listening, j->opened ? &j->track : NULL, j->opened ? &j->book : NULL,
                       err);
    for (int i = 0; !rc && i < j->cuts.clip_count; i++)
        j->kept += cut_clip_seconds(&j->cuts, &j->cuts.clips[i]);
    if (!rc)
        rc = write_all(j, command, log, err);
    return rc ? rc : print_result(j, line->json, err);
}

static const CmdOption options[] = {
    {"text", "FILE", TEXT_AT(CorpusJob, text), 0,
     "the text that is read in the recordings, in the same order, UTF-8"},
    {"output", "DIR", TEXT_AT(CorpusJob, output), 0, "folder to write the corpus to"},
};
const CmdUsage corpus_usage = {usage_text, options, OPTION_COUNT(options)};

int cmd_corpus(int argc, char **argv, Log *log)
{
    CorpusJob j = {0};
    CmdLine line;
    Err err = {0};
    Buf command = {0};
    int code = 0, rc = cmd_line_parse(&line, &corpus_usage, &j, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 1, 1 << 20, "one or more recordings", &err);
    if (!rc && !line.help && !j.output)
        rc = err_set(&err, ERR_USAGE, "corpus needs --output DIR, the folder for the clips");
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    output_command(&command, argc, argv);
    rc = command.failed ? err_set(&err, ERR_NOMEM, "no memory for the command line")
                        : run(&j, &line, command.data, log, &err);
    code = j.kept < 0.5 * j.sound;
done:
    if (rc)
        code = cmd_fail(log, &err);
    cuts_close(&j.cuts);
    text_track_close(&j.track);
    book_close(&j.book);
    listening_close(&j.listening);
    buf_free(&command);
    cmd_line_close(&line);
    return code;
}
