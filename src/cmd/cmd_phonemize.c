/* cmd_phonemize.c - myxtts phonemize: text in, IPA out, line by line. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "text/phoneme_pool.h"

#define MAX_LINE ((size_t)16 << 20) /* bytes */

static const char usage[] =
    "myxtts phonemize [--language en-us] [--text T | FILE | -] [options]\n\n"
    "Prints the phonemes (IPA with stress and punctuation) of each line, in order, one line for each; an "
    "empty line for an empty "
    "one.\n"
    "The text is spoken as it stands; --clean writes numbers and abbreviations out first, as prepare does.\n"
    "Lines are worked on in batches; --num-workers 0 answers each line before it reads the next.";

typedef struct Job {
    FILE *in;         /* NULL: `text` is the only line */
    const char *name; /* for messages */
    const char *text;
    Buf line;
    int json, strict_language, flush;
    uint64_t bad;    /* lines without phonemes that should have some */
    int read_failed; /* the code, with the sentence in read_err */
    Err read_err;
    Log *log;
} Job;

/* The next line without its end, or the one text of --text. */
static int next_line(void *user, PhonemeItem *item)
{
    Job *job = user;
    if (!job->in) {
        if (!job->text)
            return 0;
        item->text = (Str){job->text, (uint32_t)strlen(job->text)};
        job->text = NULL;
        return 1;
    }
    int got = file_next_line(job->in, &job->line, MAX_LINE, job->name, &job->read_err);
    if (got <= 0) {
        job->read_failed = got;
        return 0;
    }
    item->text = (Str){job->line.size ? job->line.data : "", (uint32_t)job->line.size};
    return 1;
}

/* One object per line, as the lines come. */
static int print_json(uint64_t index, RejectReason reason, const TextResult *r)
{
    json_t *tokens = json_array();
    for (size_t i = 0; i + 1 < r->tokens.size; i += 2) {
        uint16_t id;
        memcpy(&id, r->tokens.data + i, 2);
        json_array_append_new(tokens, json_integer(id));
    }
    json_t *o =
        json_pack("{s:I,s:s,s:s%,s:s%,s:o,s:o}", "line", (json_int_t)index + 1, "language", r->language,
                  "text", r->cleaned.data ? r->cleaned.data : "", r->cleaned.size, "phonemes",
                  r->phonemes.data ? r->phonemes.data : "", r->phonemes.size, "tokens", tokens, "rejected",
                  reason == REJECT_NONE ? json_null() : json_string(reject_code(reason)));
    int rc = o ? json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
    json_decref(o);
    return rc < 0 || putchar('\n') == EOF ? -1 : 0;
}

/* In order. A language without a voice ends it all when the user chose it; detected ones are findings. */
static int print_line(void *user, uint64_t index, RejectReason reason, const TextResult *r, Err *err)
{
    Job *job = user;
    if (reason == REJECT_LANGUAGE && job->strict_language) {
        err_set(err, ERR_USAGE, "%s", r->detail);
        return err_hint(err, "`espeak-ng --voices` lists the voices, `--language en-us` chooses one");
    }
    /* Punctuation alone is no fault here: it is printed as it is. */
    int fault = reason != REJECT_NONE && reason != REJECT_EMPTY_TEXT &&
                !(reason == REJECT_NO_PHONEMES && r->phonemes.size);
    if (fault) {
        job->bad++;
        log_warn(job->log, "%s:%llu: %s%s%s", job->name, (unsigned long long)index + 1, reject_text(reason),
                 *r->detail ? ": " : "", r->detail);
    }
    int rc = 0;
    if (job->json)
        rc = print_json(index, reason, r);
    else if (!fault && r->phonemes.size &&
             fwrite(r->phonemes.data, 1, r->phonemes.size, stdout) != r->phonemes.size)
        rc = -1;
    if (!job->json && putchar('\n') == EOF)
        rc = -1;
    if (job->flush && fflush(stdout) != 0)
        rc = -1;
    return rc < 0 ? err_set_errno(err, ERR_IO, "writing the phonemes to stdout failed") : 0;
}

/* A terminal as standard input means that nothing was given. */
static int open_input(Job *job, const CmdLine *line, const char *text, Err *err)
{
    if (text && line->positional_count)
        return err_set(err, ERR_USAGE, "--text and a file (%s) were given; choose one", line->positional[0]);
    job->name = text ? "--text" : line->positional_count ? line->positional[0] : "-";
    job->text = text;
    if (text)
        return 0;
    if (!line->positional_count && isatty(0)) {
        err_set(err, ERR_USAGE, "there is nothing to phonemize");
        return err_hint(err, "give --text \"some words\", a file, or - for standard input");
    }
    return file_open_lines(&job->in, job->name, err);
}

/* One text needs no workers; the lines of a file are spread over them. */
static int run(Job *job, CmdLine *line, const char *text, int clean, Err *err)
{
    Config *cfg = &line->cfg;
    int rc = open_input(job, line, text, err);
    if (rc < 0)
        return rc;
    int workers = text ? 0 : config_workers(cfg);
    /* Whatever the configuration says, phonemes are what was asked for. */
    cfg->use_phonemes = 1;
    if (!clean)
        cfg->text_cleaners = CLEANER_NONE;
    job->strict_language = cfg->language_detection_method != LANGUAGE_AUTO || *cfg->phoneme_language;
    job->flush = workers == 0;
    PhonemeCallbacks callbacks = {next_line, print_line, job};
    rc = phoneme_pool_run(cfg, workers, &callbacks, NULL, job->log, err);
    if (rc == 0 && job->read_failed) {
        *err = job->read_err;
        rc = job->read_failed;
    }
    if (rc == 0 && fflush(stdout) != 0)
        rc = err_set_errno(err, ERR_IO, "writing the phonemes to stdout failed");
    return rc;
}

/* Exit code 1: some lines have no phonemes. */
int cmd_phonemize(int argc, char **argv, Log *log)
{
    const char *text = NULL;
    int clean = 0;
    const CmdOption own[] = {
        {"text", "T", &text, NULL, "speak this text"},
        {"clean", NULL, NULL, &clean, "write numbers and abbreviations out first (text_cleaners)"},
    };
    CmdLine line;
    Err err = {0};
    Job job = {.log = log};
    int rc = cmd_line_parse(&line, usage, own, 2, argc, argv, &err);
    if (rc == 0 && !line.help)
        rc = cmd_line_expect(&line, 0, 1, "one file, or - for standard input", &err);
    if (rc == 0 && !line.help) {
        cmd_line_set_log(&line, log);
        job.json = line.json;
        rc = run(&job, &line, text, clean, &err);
    }
    if (job.in && job.in != stdin)
        fclose(job.in);
    buf_free(&job.line);
    cmd_line_close(&line);
    if (rc < 0)
        return cmd_fail(log, &err);
    return job.bad ? 1 : 0;
}
