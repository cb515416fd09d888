/* cmd_phonemize.c - myxtts phonemize: text in, IPA out, line by line. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "text/phonemes/phoneme_pool.h"
#include "text/phonemes/tokens.h"
#include "text/unicode.h"
#include "voice/voice_text.h"

#define MAX_LINE ((size_t)16 << 20) /* bytes */

static const char usage[] =
    "myxtts phonemize [--language en-us] [--text T | FILE | -] [--lexicon L] [--explain | --unknown]\n\n"
    "Prints the phonemes of each line (IPA with stress and punctuation), one line of output for each line\n"
    "of input. Numbers and abbreviations are written out first; --text-cleaners none leaves them to\n"
    "espeak-ng.\n"
    "--explain also prints, for each part of a line, where its phonemes come from: espeak, lexicon,\n"
    "inline ([[IPA]] in the text) or rule (names of signs, words in other scripts), with the words\n"
    "spoken.\n"
    "Markdown, HTML and SSML are read as a whole, with a line of output for each sentence; --json also\n"
    "has breaks, marks and changes of manner. The format is given by --text-format, or recognised in\n"
    "--text and in files that begin with a tag.\n"
    "--unknown lists the words whose phonemes espeak-ng only guesses, each once, as lines for a lexicon.\n"
    "Lines are processed in batches; --num-workers 0 answers each line before reading the next.";

typedef struct Job {
    FILE *in;         /* NULL: `text` is the only line */
    const char *name; /* for messages */
    const char *text;
    Buf line;
    int json, explain, strict_language, flush;
    TextFormat format;
    Buf whole;       /* a text that is marked up */
    uint64_t bad;    /* lines without phonemes that should have some, or with less of them */
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

static json_t *spans_json(const TextResult *r)
{
    const TextSpan *all = (const TextSpan *)(const void *)r->spans.data;
    json_t *spans = json_array();
    for (size_t i = 0; i < r->spans.size / sizeof *all; i++) {
        const TextSpan *s = &all[i];
        json_array_append_new(
            spans, json_pack("{s:s, s:i, s:i, s:o, s:o}", "origin", span_origin_name((SpanOrigin)s->origin),
                             "at", (int)s->source, "bytes", (int)s->source_size, "said",
                             json_from_bytes(r->cleaned.data + s->said, s->said_size), "phonemes",
                             json_from_bytes(r->phonemes.data + s->phonemes, s->phonemes_size)));
    }
    return spans;
}

static json_t *losses_json(const TextResult *r)
{
    const TextLoss *all = (const TextLoss *)(const void *)r->losses.data;
    json_t *losses = json_array();
    for (size_t i = 0; i < r->losses.size / sizeof *all; i++)
        json_array_append_new(losses, json_pack("{s:i, s:i, s:s}", "at", (int)all[i].source, "bytes",
                                                (int)all[i].source_size, "why", all[i].why));
    return losses;
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
    json_object_set_new(o, "spans", spans_json(r));
    json_object_set_new(o, "left_out_pieces", losses_json(r));
    int rc = o ? json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
    json_decref(o);
    return rc < 0 || putchar('\n') == EOF ? -1 : 0;
}

/* Origin, words and phonemes of each part. */
static int print_spans(const TextResult *r)
{
    const TextSpan *all = (const TextSpan *)(const void *)r->spans.data;
    int rc = 0;
    for (size_t i = 0; i < r->spans.size / sizeof *all && rc >= 0; i++) {
        const TextSpan *s = &all[i];
        rc = printf("  %s\t%.*s\t%.*s\n", span_origin_name((SpanOrigin)s->origin), (int)s->said_size,
                    r->cleaned.data + s->said, (int)s->phonemes_size, r->phonemes.data + s->phonemes);
    }
    return rc < 0 ? -1 : 0;
}

/* What will not be heard of a line. */
static void tell_losses(Job *job, uint64_t index, const TextResult *r)
{
    const TextLoss *all = (const TextLoss *)(const void *)r->losses.data;
    for (size_t i = 0; i < r->losses.size / sizeof *all; i++)
        log_warn(job->log, "%s:%llu: byte %u is left out: %s", job->name, (unsigned long long)index + 1,
                 all[i].source + 1, all[i].why);
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
    tell_losses(job, index, r);
    job->bad += !fault && r->losses.size;
    int rc = 0;
    if (job->json)
        rc = print_json(index, reason, r);
    else if (!fault && r->phonemes.size &&
             fwrite(r->phonemes.data, 1, r->phonemes.size, stdout) != r->phonemes.size)
        rc = -1;
    if (!job->json && putchar('\n') == EOF)
        rc = -1;
    if (!job->json && job->explain && !rc)
        rc = print_spans(r);
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
    const int rc = file_open_lines(&job->in, job->name, err);
    return rc && strchr(job->name, ' ')
               ? err_hint(err, "to phonemize words rather than a file: --text \"...\"")
               : rc;
}

/* --- words that are guessed at --- */

typedef struct Guesses {
    TextEngine *engine;
    Map map; /* of all words so far */
    Buf words, ipa;
    size_t *at; /* [count] where each word begins in words, with a NUL behind it */
    size_t count, room, map_room;
    Job *job;
} Guesses;

static int is_new(Guesses *g, const char *word, size_t n)
{
    uint32_t i;
    for (MapWalk w = map_walk(&g->map, hash64(word, n)); map_next(&w, &i);)
        if (strlen(g->words.data + g->at[i]) == n && !memcmp(g->words.data + g->at[i], word, n))
            return 0;
    return 1;
}

/* Keeps the word, and prints it where it is a guess. */
static int judge_word(Guesses *g, const char *language, const char *word, size_t n, Err *err)
{
    if (!is_new(g, word, n))
        return 0;
    const size_t from = g->words.size;
    if (mem_grow(&g->at, &g->room, g->count + 1, sizeof *g->at))
        return err_set(err, ERR_NOMEM, "no memory for a list of words");
    g->at[g->count] = from;
    buf_add(&g->words, word, n);
    buf_add(&g->words, "", 1);
    if (g->count >= g->map_room) {
        g->map_room = g->map_room ? 2 * g->map_room : 1024;
        map_free(&g->map);
        if (map_reserve(&g->map, g->map_room))
            return err_set(err, ERR_NOMEM, "no memory for a list of words");
        for (size_t i = 0; i < g->count; i++)
            map_add(&g->map, hash64(g->words.data + g->at[i], strlen(g->words.data + g->at[i])), (uint32_t)i);
    }
    map_add(&g->map, hash64(word, n), (uint32_t)g->count++);
    buf_clear(&g->ipa);
    int rc = text_is_guess(g->engine, &g->ipa, language, (Str){word, (uint32_t)n});
    if (rc <= 0)
        return rc ? err_set(err, ERR_NOMEM, "no memory for a word") : 0;
    const char *ipa = g->ipa.data ? g->ipa.data : "";
    if (g->job->json) {
        json_t *o = json_pack("{s:o, s:s}", "word", json_from_bytes(word, n), "phonemes", ipa);
        rc = o ? json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
        json_decref(o);
        rc = rc < 0 || putchar('\n') == EOF ? -1 : 0;
    } else {
        rc = printf("%.*s\t%s\n", (int)n, word, ipa) < 0 ? -1 : 0;
    }
    return rc ? err_set_errno(err, ERR_IO, "writing the words to stdout failed") : 0;
}

/* Words in espeak-ng's output: letters, with apostrophes inside. */
static int judge_line(Guesses *g, const TextResult *r, Err *err)
{
    const TextSpan *all = (const TextSpan *)(const void *)r->spans.data;
    int rc = 0;
    for (size_t i = 0; i < r->spans.size / sizeof *all; i++) {
        const char *p = r->cleaned.data + all[i].said;
        const size_t n = all[i].origin == SPAN_ESPEAK ? all[i].said_size : 0;
        for (size_t at = 0; at < n && !rc;) {
            size_t end = at, next = at;
            for (; next < n; end = next) {
                size_t behind = next;
                uint32_t cp = unicode_next(p, n, &next);
                const int apostrophe = (cp == '\'' || cp == 0x2019) && end > at && next < n;
                if (apostrophe)
                    behind = next;
                if (!unicode_is_letter(cp) && !(apostrophe && unicode_is_letter(unicode_next(p, n, &behind))))
                    break;
            }
            if (end > at)
                rc = judge_word(g, r->language, p + at, end - at, err);
            at = next;
        }
    }
    return rc;
}

/* In this process: the words are few, and each is looked up once. */
static int list_unknown(Job *job, const Config *cfg, Err *err)
{
    Guesses g = {.job = job};
    TextResult result = {0};
    PhonemeItem item = {0};
    int rc = text_engine_open(&g.engine, cfg, TEXT_TO_SPEAK, err);
    while (!rc && next_line(job, &item)) {
        RejectReason why = text_process(g.engine, &result, item.text, (Str){"", 0}, (Str){"", 0});
        rc = why ? 0 : judge_line(&g, &result, err);
    }
    text_result_free(&result);
    text_engine_close(g.engine);
    map_free(&g.map);
    buf_free(&g.words);
    buf_free(&g.ipa);
    free(g.at);
    return rc;
}

/* --- marked-up text --- */

static json_t *wishes_json(const VoiceWishes *w, const char *kind)
{
    json_t *all = json_array();
    for (size_t i = 0; *kind == 'b' && i < w->pause_count; i++)
        json_array_append_new(
            all, json_pack("{s:i, s:f}", "token", w->pauses[i].from, "seconds", w->pauses[i].seconds));
    for (size_t i = 0; *kind == 'm' && i < w->mark_count; i++)
        json_array_append_new(all, json_pack("{s:i, s:o}", "token", w->marks[i].symbol, "name",
                                             json_from_text(w->marks[i].name)));
    for (size_t i = 0; *kind == 't' && i < w->turn_count; i++) {
        const MarkupManner *m = &w->turns[i].manner;
        json_array_append_new(all, json_pack("{s:i, s:f, s:f, s:f, s:f}", "token", w->turns[i].symbol, "rate",
                                             m->rate, "pitch", m->pitch, "volume", m->volume, "emphasis",
                                             m->emphasis));
    }
    return all;
}

static int print_part(const Job *job, const VoicePart *p, int number, Err *err)
{
    Buf phonemes = {0};
    json_t *tokens = json_array();
    for (int i = 0; i < p->symbols; i++) {
        char name[8];
        json_array_append_new(tokens, json_integer(p->tokens[i]));
        if (p->tokens[i] >= TOKEN_FIRST_SYMBOL)
            buf_str(&phonemes, tokens_name(p->tokens[i], name));
    }
    int rc = 0;
    const char *text = phonemes.data ? phonemes.data : "";
    if (job->json) {
        json_t *o = json_pack("{s:i, s:s, s:o, s:s, s:O}", "line", number, "language", p->language, "text",
                              json_from_text(p->said), "phonemes", text, "tokens", tokens);
        json_object_set_new(o, "breaks", wishes_json(&p->wishes, "breaks"));
        json_object_set_new(o, "marks", wishes_json(&p->wishes, "marks"));
        json_object_set_new(o, "turns", wishes_json(&p->wishes, "turns"));
        rc = o ? json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) : -1;
        json_decref(o);
    } else {
        rc = fputs(text, stdout);
    }
    rc = rc < 0 || putchar('\n') == EOF ? -1 : 0;
    json_decref(tokens);
    buf_free(&phonemes);
    return rc ? err_set_errno(err, ERR_IO, "writing the phonemes to stdout failed") : 0;
}

/* In this process, sentence by sentence. */
static int print_marked_up(Job *job, const Config *cfg, const char *text, size_t size, Err *err)
{
    const VoiceLimits limits = {INT_MAX, INT_MAX};
    VoiceText rest = {.p = text, .n = size};
    VoiceLosses losses = {0};
    VoicePart part;
    TextEngine *engine;
    int number = 0, rc = text_engine_open(&engine, cfg, TEXT_TO_SPEAK, err);
    const TextFormatUse use = {.phonemes = 1, .language = cfg->language};
    if (!rc)
        rc = voice_text_mark_up(&rest, job->format, &use, job->log, err);
    for (rc = rc ? rc : 1; rc == 1;) {
        rc = voice_text_next(&rest, &part, engine, "", &limits, &losses, job->log, err);
        if (rc != 1)
            break;
        int failed = print_part(job, &part, ++number, err);
        voice_part_free(&part);
        rc = failed ? failed : 1;
    }
    job->bad += losses.count > 0;
    voice_losses_free(&losses);
    voice_text_close(&rest);
    text_engine_close(engine);
    return rc;
}

/* 1 and job->whole: the input is marked up. What is not is read line by line. */
static int read_marked_up(Job *job, Err *err)
{
    const int first = job->in && job->format == TEXT_FORMAT_AUTO ? getc(job->in) : EOF;
    if (first != EOF)
        ungetc(first, job->in);
    if (!job->in) {
        const size_t size = strlen(job->text);
        job->format = text_format_of(job->format, job->text, size);
        if (job->format != TEXT_FORMAT_PLAIN)
            buf_str(&job->whole, job->text);
    } else if ((job->format != TEXT_FORMAT_AUTO && job->format != TEXT_FORMAT_PLAIN) || first == '<') {
        char some[4096];
        for (size_t n; (n = fread(some, 1, sizeof some, job->in)) > 0 && job->whole.size < MAX_LINE;)
            buf_add(&job->whole, some, n);
        job->format = text_format_of(job->format, job->whole.data ? job->whole.data : "", job->whole.size);
        if (job->format == TEXT_FORMAT_PLAIN) { /* "<3" */
            if (job->in != stdin)
                fclose(job->in);
            job->in = job->whole.size ? fmemopen(job->whole.data, job->whole.size, "r") : NULL;
            if (!job->in)
                return err_set_errno(err, ERR_IO, "%s cannot be read", job->name);
        }
    } else {
        job->format = TEXT_FORMAT_PLAIN;
    }
    if (job->whole.failed)
        return err_set(err, ERR_NOMEM, "no memory for a text");
    return job->format != TEXT_FORMAT_PLAIN;
}

/* One text needs no workers; the lines of a file are spread over them. */
static int run(Job *job, CmdLine *line, const char *text, int unknown, Err *err)
{
    Config *cfg = &line->cfg;
    int rc = open_input(job, line, text, err);
    if (rc < 0)
        return rc;
    /* Whatever the configuration says, phonemes are what was asked for. */
    cfg->use_phonemes = 1;
    rc = read_marked_up(job, err);
    if (rc < 0)
        return rc;
    if (rc && unknown)
        return err_set(err, ERR_USAGE, "--unknown lists words of plain text only");
    if (rc)
        return print_marked_up(job, cfg, job->whole.data ? job->whole.data : "", job->whole.size, err);
    int workers = text ? 0 : config_workers(cfg);
    job->strict_language = cfg->language_detection_method != LANGUAGE_AUTO || *cfg->phoneme_language;
    job->flush = workers == 0;
    PhonemeCallbacks callbacks = {next_line, print_line, job};
    rc = unknown ? list_unknown(job, cfg, err)
                 : phoneme_pool_run(cfg, TEXT_TO_SPEAK, workers, &callbacks, NULL, job->log, err);
    if (rc == 0 && job->read_failed) {
        *err = job->read_err;
        rc = job->read_failed;
    }
    if (rc == 0 && fflush(stdout) != 0)
        rc = err_set_errno(err, ERR_IO, "writing the phonemes to stdout failed");
    return rc;
}

/* As they were typed. */
typedef struct Given {
    const char *text, *text_format;
    int explain, ssml, unknown;
} Given;

static const CmdOption options[] = {
    {"text", "T", TEXT_AT(Given, text), 0, "phonemize this text"},
    {"explain", NULL, 0, FLAG_AT(Given, explain), "also print where the phonemes come from"},
    {"text-format", "F", TEXT_AT(Given, text_format), 0,
     "format of the text: " TEXT_FORMAT_NAMES " (auto recognises it)"},
    {"ssml", NULL, 0, FLAG_AT(Given, ssml), "the text is SSML, as --text-format ssml"},
    {"unknown", NULL, 0, FLAG_AT(Given, unknown), "list the words whose phonemes espeak-ng only guesses"},
};
const CmdUsage phonemize_usage = {usage, options, OPTION_COUNT(options)};

/* Exit code 1: some lines have no phonemes, or something in them is left out. */
int cmd_phonemize(int argc, char **argv, Log *log)
{
    Given given = {0};
    Job job = {.log = log};
    CmdLine line;
    Err err = {0};
    int rc = cmd_line_parse(&line, &phonemize_usage, &given, argc, argv, &err);
    if (rc == 0 && !line.help)
        rc = cmd_line_expect(&line, 0, 1, "one file, or - for standard input", &err);
    if (rc == 0 && !line.help) {
        cmd_line_set_log(&line, log);
        job.json = line.json;
        job.explain = given.explain;
        if (given.text_format && text_format_find(&job.format, given.text_format))
            rc = err_set(&err, ERR_USAGE, "--text-format is '%s'; it must be " TEXT_FORMAT_NAMES,
                         given.text_format);
        if (given.ssml)
            job.format = TEXT_FORMAT_SSML;
        rc = rc ? rc : run(&job, &line, given.text, given.unknown, &err);
    }
    if (job.in && job.in != stdin)
        fclose(job.in);
    buf_free(&job.line);
    buf_free(&job.whole);
    cmd_line_close(&line);
    if (rc < 0)
        return cmd_fail(log, &err);
    return job.bad ? 1 : 0;
}
