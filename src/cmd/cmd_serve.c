/* cmd_serve.c - myxtts serve: voices behind a port, and trainings to look at. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/signals.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/line/options.h"
#include "device/devices.h"
#include "lib/myxtts.h"
#include "serve/announce.h"
#include "serve/server.h"
#include "serve/wyoming.h"

#define LOOK_TENTHS 5   /* of a second between looks at the files of the voices */
#define STOP_SECONDS 30 /* that requests in progress may take to finish */

static const char usage_text[] =
    "myxtts serve --checkpoint RUN|voice.safetensors [MORE ...] [--runs FOLDER] [--listen 127.0.0.1:8000]\n"
    "             [--token-file F] [--wyoming PORT]\n"
    "       myxtts serve --record DIR [--language de | --sentences FILE]\n\n"
    "Lets other programs speak over HTTP: POST /v1/audio/speech as OpenAI's clients send it, and a page\n"
    "at / for the browser. Each checkpoint is a voice, named after its folder or file. --runs shows the\n"
    "trainings in a folder. --record serves a page that shows sentences and records you reading them, as\n"
    "DIR/ID.wav and DIR/ID.txt, for `myxtts train`. By default only this machine can connect; listening\n"
    "on any other address needs --token-file. Ctrl-C and SIGTERM let the current requests finish; a\n"
    "second Ctrl-C exits at once. docs/SERVER.md describes the API.";

static volatile int signals; /* set by the signal handler: nothing else can reach it there */

static void on_signal(int signal_number)
{
    if (signals && signal_number == SIGINT)
        _exit(128 + signal_number);
    signals++;
}

static void catch_signals(void)
{
    signal_catch(SIGINT, on_signal);
    signal_catch(SIGTERM, on_signal);
    signal_catch(SIGHUP, on_signal);
    signal(SIGPIPE, SIG_IGN); /* a client that has left is no reason to end */
}

typedef struct Serve {
    const char *checkpoint, *runs, *record, *sentences, *listen, *token_file, *max_connections, *max_requests,
        *max_queue, *max_wait, *max_text, *max_body, *max_upload, *request_timeout;
    const char *vocoder, *iterations, *wyoming;
    int wyoming_open, announce, force_language;
    Devices devices;
    StudioVoice *voices; /* [studio's] */
    Studio *studio;
    Server server;
    Wyoming *home; /* NULL: nobody wants it */
    Announcement announcement;
} Serve;

/* Each --checkpoint V becomes an argument V, so that there may be several. Returns malloc'd [argc + 1]. */
static char **gather_checkpoints(int *argc, char **argv)
{
    char **out = calloc((size_t)*argc + 1, sizeof *out);
    int n = 0, options = 1;
    static const char name[] = "--checkpoint";
    for (int i = 0; i < *argc && out; i++) {
        const size_t length = sizeof name - 1;
        options = options && strcmp(argv[i], "--") != 0;
        if (options && strcmp(argv[i], name) == 0 && i + 1 < *argc && argv[i + 1][0] != '-')
            out[n++] = argv[++i];
        else if (options && strncmp(argv[i], name, length) == 0 && argv[i][length] == '=' &&
                 argv[i][length + 1] != '-')
            out[n++] = argv[i] + length + 1;
        else
            out[n++] = argv[i];
    }
    *argc = n;
    return out;
}

static int take_numbers(const Serve *s, ServeOptions *o, Err *err)
{
    double connections = 2000, requests = 256, queue = 128, wait = 1, text = 50000, body = 24, upload = 16,
           timeout = 60;
    int rc = cmd_number(&connections, "max-connections", s->max_connections, 8, 100000, err);
    if (!rc)
        rc = cmd_number(&requests, "max-requests", s->max_requests, 1, 10000, err);
    if (!rc)
        rc = cmd_number(&queue, "max-queue", s->max_queue, 1, 10000, err);
    if (!rc)
        rc = cmd_number(&wait, "max-wait", s->max_wait, 0.01, 3600, err);
    if (!rc)
        rc = cmd_number(&text, "max-text", s->max_text, 1, 10e6, err);
    if (!rc)
        rc = cmd_number(&body, "max-body", s->max_body, 0.01, 1024, err);
    if (!rc)
        rc = cmd_number(&upload, "max-upload", s->max_upload, 0.001, 1024, err);
    if (!rc)
        rc = cmd_number(&timeout, "request-timeout", s->request_timeout, 0.1, 3600, err);
    o->max_connections = (int)connections;
    o->max_requests = (int)requests;
    o->max_queue = (int)queue;
    o->max_wait = wait;
    o->max_text = (int)text;
    o->max_body = (size_t)(body * (1 << 20));
    o->max_upload = (size_t)(upload * (1 << 20));
    o->request_timeout = timeout;
    return rc;
}

/* Where it is, for people and for scripts; the latter wait for the line. */
static int say_where(const Serve *s, int json, Log *log, Err *err)
{
    const HttpAddress *a = &s->server.address;
    const char *home = s->home ? wyoming_address(s->home) : NULL;
    if (json && home)
        printf("{\"address\": \"%s\", \"port\": %d, \"wyoming\": \"%s\"}\n", a->shown, a->port, home);
    else if (json)
        printf("{\"address\": \"%s\", \"port\": %d}\n", a->shown, a->port);
    else
        log_info(log, "listening: http://%s/%s%s%s (open it in a browser; Ctrl-C ends it)", a->shown,
                 s->record ? "record" : "", home ? ", Wyoming at " : "", home ? home : "");
    if (fflush(stdout) != 0)
        return err_set(err, ERR_IO, "cannot write to standard output");
    return 0;
}

/* What it would serve is served all the same where it cannot be told of. */
static void announce(Serve *s, Log *log)
{
    Err err = {0};
    if (!announce_open(&s->announcement, ANNOUNCE_FOLDER, wyoming_port(s->home), &err))
        log_info(log, "announced: %s", s->announcement.path);
    else
        log_warn(log, "%s; %s", err.msg, err.hint);
}

/* One studio with all voices; without any there is none. */
static int open_voices(Serve *s, const CmdLine *line, const ServeOptions *limits, Log *log, Err *err)
{
    const int count = line->positional_count;
    double iterations = 0;
    int rc = cmd_number(&iterations, "iterations", s->iterations, 0, 10000, err);
    if (rc || count == 0)
        return rc;
    StudioVoice *voices = mem_calloc((size_t)count, sizeof *voices);
    s->voices = voices;
    if (!voices)
        return err_set(err, ERR_NOMEM, "no memory for %d voices", count);
    for (int i = 0; i < count; i++)
        voices[i] =
            (StudioVoice){.checkpoint = line->positional[i],
                          .vocoder = s->vocoder,
                          .iterations = s->iterations && iterations == 0 ? SOUND_NONE : (int)iterations};
    rc = devices_open(&s->devices, &line->cfg, log, err);
    StudioOptions o = {.voices = voices,
                       .count = count,
                       .argc = line->setting_count,
                       .argv = line->settings,
                       .device = s->devices.model,
                       .most_talks = limits->max_requests,
                       .most_wait = limits->max_wait,
                       .force_language = s->force_language,
                       .log = log};
    if (!rc)
        rc = studio_open(&s->studio, &o, err);
    return rc;
}

/* What each voice is, as clients see it. */
static void say_voices(const Serve *s, Log *log)
{
    const Catalogue *c = &s->server.catalogue;
    for (int i = 0; i < c->count; i++) {
        const Voice *v = studio_voice(s->studio, i);
        const Checkpoint *f = voice_checkpoint(v), *vocoder = voice_vocoder(v);
        log_info(log, "voice %s: %s, step %lld, %d speaker%s, sound by %s", c->names[i], f->path,
                 (long long)f->content.state.step, f->speaker_count, plural((uint64_t)f->speaker_count),
                 vocoder ? vocoder->path : "Griffin-Lim");
    }
}

static WyomingOptions wyoming_options(const Serve *s, const ServeOptions *o)
{
    return (WyomingOptions){.listen = s->wyoming,
                            .open = s->wyoming_open,
                            .names = (const char *const *)s->server.catalogue.names,
                            .version = myxtts_version(),
                            .max_text = (size_t)o->max_text,
                            .timeout = o->request_timeout,
                            .stop_seconds = STOP_SECONDS,
                            .log = o->log};
}

static int serve(Serve *s, const CmdLine *line, Log *log, Err *err)
{
    ServeOptions o = {.runs = s->runs,
                      .record = s->record,
                      .sentences = s->sentences,
                      .language = line->cfg.language,
                      .listen = s->listen ? s->listen : "127.0.0.1:8000",
                      .token_file = s->token_file,
                      .log = log};
    if (line->positional_count == 0 && !s->runs && !s->record)
        return err_set(err, ERR_USAGE,
                       "serve needs --checkpoint D (the folder that `myxtts train` wrote), --runs FOLDER or "
                       "--record DIR");
    if (s->sentences && !s->record)
        return err_set(err, ERR_USAGE, "--sentences works only with --record DIR");
    if (s->wyoming && line->positional_count == 0)
        return err_set(err, ERR_USAGE, "--wyoming works only with --checkpoint D");
    if (s->announce && !s->wyoming_open)
        return err_set(err, ERR_USAGE,
                       "--announce needs a port that other machines can reach: --wyoming 0.0.0.0:10200 and "
                       "--wyoming-open");
    int rc = take_numbers(s, &o, err);
    WyomingOptions home = wyoming_options(s, &o);
    if (!rc && s->wyoming)
        rc = wyoming_check(&home, err);
    if (!rc)
        rc = server_open(&s->server, &o, err);
    catch_signals();
    if (!rc)
        rc = open_voices(s, line, &o, log, err);
    if (!rc)
        rc = server_begin(&s->server, s->studio, s->voices, err);
    home = wyoming_options(s, &o);
    if (!rc && s->wyoming)
        rc = wyoming_open(&s->home, s->studio, &home, err);
    if (!rc && s->announce)
        announce(s, log);
    if (!rc)
        say_voices(s, log);
    if (!rc)
        rc = say_where(s, line->json, log, err);
    if (rc)
        return rc;
    for (int tenths = 1; !signals; tenths++) {
        clock_sleep(0.1);
        if (tenths % LOOK_TENTHS == 0)
            server_look(&s->server);
    }
    announce_close(&s->announcement);
    log_info(log, "stopping after the current requests; press Ctrl-C again to exit at once");
    if (s->home)
        wyoming_stop(s->home);
    server_stop(&s->server, STOP_SECONDS);
    return 0;
}

static const CmdOption options[] = {
    {"checkpoint", "D", TEXT_AT(Serve, checkpoint), 0,
     "a voice: a checkpoint, or a folder that holds some; may be repeated"},
    {"runs", "FOLDER", TEXT_AT(Serve, runs), 0, "show the trainings in this folder"},
    {"record", "DIR", TEXT_AT(Serve, record), 0, "serve a page that records sentences into this folder"},
    {"sentences", "FILE", TEXT_AT(Serve, sentences), 0,
     "the sentences to record, one a line (default: a built-in list for --language en, de or fa)"},
    {"vocoder", "PATH", TEXT_AT(Serve, vocoder), 0, "what turns mels into sound, as in synth"},
    {"iterations", "N", TEXT_AT(Serve, iterations), 0, "iterations of Griffin-Lim, as in synth"},
    {"listen", "HOST:PORT", TEXT_AT(Serve, listen), 0,
     "address and port to listen on (127.0.0.1:8000); port 0: any free port"},
    {"token-file", "F", TEXT_AT(Serve, token_file), 0,
     "clients must send the line in this file as their Bearer token"},
    {"wyoming", "HOST:PORT", TEXT_AT(Serve, wyoming), 0,
     "also speak the Wyoming protocol (Home Assistant) on this port"},
    {"wyoming-open", NULL, 0, FLAG_AT(Serve, wyoming_open),
     "allow Wyoming on an address that other machines can reach, although it has no token"},
    {"announce", NULL, 0, FLAG_AT(Serve, announce),
     "announce the Wyoming port on the network (Avahi), so that Home Assistant finds it"},
    {"force-language", NULL, 0, FLAG_AT(Serve, force_language),
     "also speak languages and scripts that a voice was never trained on"},
    {"max-connections", "N", TEXT_AT(Serve, max_connections), 0, "maximum number of open connections (2000)"},
    {"max-requests", "N", TEXT_AT(Serve, max_requests), 0, "maximum number of texts spoken at once (256)"},
    {"max-queue", "N", TEXT_AT(Serve, max_queue), 0,
     "maximum number of these still waiting for their first sound (128)"},
    {"max-wait", "S", TEXT_AT(Serve, max_wait), 0, "seconds that a text may have to wait for others (1)"},
    {"max-text", "N", TEXT_AT(Serve, max_text), 0, "maximum number of characters in a text (50000)"},
    {"max-body", "MIB", TEXT_AT(Serve, max_body), 0, "maximum size of a request in MB (24)"},
    {"max-upload", "MIB", TEXT_AT(Serve, max_upload), 0, "maximum size of a recording in a request (16)"},
    {"request-timeout", "S", TEXT_AT(Serve, request_timeout), 0,
     "seconds a client may take to send a request, wait for the first sound, or stall (60)"},
};
const CmdUsage serve_usage = {usage_text, options, OPTION_COUNT(options)};

int cmd_serve(int argc, char **argv, Log *log)
{
    Serve s = {0};
    CmdLine line;
    Err err = {0};
    int code = 0;
    char **args = gather_checkpoints(&argc, argv);
    if (!args) {
        err_set(&err, ERR_NOMEM, "out of memory for the command line");
        return cmd_fail(log, &err);
    }
    int rc = cmd_line_parse(&line, &serve_usage, &s, argc, args, &err);
    if (!rc && !line.help) {
        cmd_line_set_log(&line, log);
        rc = serve(&s, &line, log, &err);
    }
    if (rc)
        code = cmd_fail(log, &err);
    announce_close(&s.announcement);
    wyoming_close(s.home);
    server_close(&s.server);
    studio_close(s.studio);
    free(s.voices);
    devices_close(&s.devices);
    cmd_line_close(&line);
    free(args);
    return code;
}
