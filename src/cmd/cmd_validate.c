/* cmd_validate.c - myxtts validate: a configuration against its schema, the machine and the data; --fix
 * repairs it in place. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "base/words/words.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "device/devices.h"
#include "diag/preflight/preflight.h"
#include "diag/report/sections.h"
#include "diag/report/text_diff.h"

static const char usage[] =
    "myxtts validate [DIR] [--config FILE] [--fix] [--strict] [--json] [any setting]\n\n"
    "Checks a configuration against its schema, this machine and the dataset. For each finding it says\n"
    "what is wrong, why it matters, what it read or measured, and what to do. --fix edits the file in\n"
    "place, keeps its comments and order, saves the old file as FILE.bak.N, shows the difference and\n"
    "validates again. Exit code 0: no errors left; 1: errors left (with --strict: or warnings).";

#define MOST_BYTES (1 << 20)
#define MOST_ROUNDS 6
#define MOST_BACKUPS 10000

typedef struct Validation {
    const char *path; /* NULL: no file */
    int argc;
    char **argv; /* settings of the command line */
    int fix, strict;
    Log quiet; /* for parts that would say the same in every round */
    Buf original, text;
    Preflight found; /* by the last examination */
    Preflight fixed; /* the first one's, when something was changed */
    Buf diff;
    char backup[PATH_MAX];
} Validation;

/* ---- one examination ---- */

static int examine_machine(Validation *v, Preflight *p, const Config *cfg, const Buf *text, Err *err)
{
    Devices devices;
    Err why = {0};
    /* Without devices everything else can still be judged; the reason becomes a finding. */
    int failed = devices_open(&devices, cfg, &v->quiet, &why);
    PreflightOptions o = {.cfg = cfg,
                          .data = failed ? NULL : devices.data,
                          .model = failed ? NULL : devices.model,
                          .device_error = failed ? &why : NULL,
                          .sim = !failed && devices.has_sim ? &devices.sim : NULL,
                          .text = v->path ? text : NULL,
                          .log = &v->quiet};
    int rc = preflight_run(p, &o, err);
    if (!failed)
        devices_close(&devices);
    return rc;
}

/* All findings about `text`, in which everything that can be repaired is. */
static int examine(Validation *v, Preflight *p, Buf *text, Err *err)
{
    const char *name = v->path ? v->path : "(no file)";
    SchemaReport schema = {0};
    Config cfg = {0};
    int rc = schema_repair(&schema, text, name, v->argc, v->argv, err);
    if (!rc)
        rc = preflight_schema(p, &schema, name, err);
    if (!rc && schema.loads) {
        rc = config_load_text(&cfg, name, text->data, text->size, v->argc, v->argv, err);
        if (!rc)
            rc = examine_machine(v, p, &cfg, text, err);
        config_close(&cfg);
    }
    schema_report_free(&schema);
    /* What the machine or the data call for is written into the text too. */
    for (size_t i = 0; i < p->count && !rc && v->path; i++) {
        Finding *f = &p->findings[i];
        Err why = {0};
        if (!f->set_value || f->severity == FINDING_NOTE)
            continue;
        rc = schema_set(text, f->key, f->set_value, &why);
        if (rc == ERR_CONFIG) { /* the file is written in a way that cannot be changed there */
            f->set_value = NULL;
            rc = 0;
        } else if (rc) {
            rc = err_set(err, rc, "%s", why.msg);
        }
    }
    return rc;
}

static int same_text(const Buf *a, const Buf *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static int copy_text(Buf *to, const Buf *from, Err *err)
{
    buf_clear(to);
    buf_add(to, from->data, from->size);
    return to->failed ? err_set(err, ERR_NOMEM, "out of memory for the file") : 0;
}

/* ---- the file ---- */

/* A copy of the file under the first number that is free. */
static int write_backup(Validation *v, mode_t mode, Err *err)
{
    /* O_EXCL: an older backup is never overwritten, also not by a second process. */
    int fd = -1;
    for (int i = 1; i <= MOST_BACKUPS && fd < 0; i++) {
        if ((size_t)snprintf(v->backup, sizeof v->backup, "%s.bak.%d", v->path, i) >= sizeof v->backup)
            return err_set(err, ERR_IO, "the name of %s is too long to make a backup of it", v->path);
        fd = open(v->backup, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
        if (fd < 0 && errno != EEXIST)
            return err_set_errno(err, ERR_IO, "cannot make the backup %s", v->backup);
    }
    if (fd < 0)
        return err_set(err, ERR_IO, "there are already %d backups of %s", MOST_BACKUPS, v->path);
    int rc = file_write_all(fd, v->original.data, v->original.size, v->backup, err);
    if (!rc && fsync(fd))
        rc = err_set_errno(err, ERR_IO, "cannot write the backup %s", v->backup);
    if (close(fd) && !rc)
        rc = err_set_errno(err, ERR_IO, "cannot write the backup %s", v->backup);
    if (rc)
        unlink(v->backup);
    return rc;
}

/* The backup, then the new text in place of the old: through a link, with its rights. */
static int write_file(Validation *v, Err *err)
{
    struct stat st;
    char *target = realpath(v->path, NULL);
    int rc = 0;
    if (!target || stat(target, &st))
        rc = err_set_errno(err, ERR_IO, "cannot find %s any more", v->path);
    else if (access(target, W_OK)) {
        rc = err_set_errno(err, ERR_IO, "cannot change %s", v->path);
    } else if (!(rc = write_backup(v, st.st_mode, err))) {
        rc = file_replace(target, v->text.data, v->text.size, err);
        if (rc)
            unlink(v->backup);
        else if (chmod(target, st.st_mode & 07777) ||
                 (st.st_uid != geteuid() && chown(target, st.st_uid, st.st_gid)))
            log_warn(&v->quiet, "the owner or the permissions of %s have changed", v->path);
    }
    free(target);
    return rc;
}

/* Rounds until nothing changes, then writes. What was found first stays in v->fixed. */
static int put_right(Validation *v, Err *err)
{
    Buf before = {0};
    int rc = 0;
    for (int i = 0; i < MOST_ROUNDS && !rc; i++) {
        Preflight found = {0};
        if (!(rc = copy_text(&before, &v->text, err)))
            rc = examine(v, &found, &v->text, err);
        if (i == 0)
            v->fixed = found;
        else
            preflight_free(&found);
        if (same_text(&before, &v->text))
            break;
    }
    buf_free(&before);
    if (rc || same_text(&v->text, &v->original))
        return rc;
    if ((rc = write_file(v, err)))
        return rc;
    if (text_diff(&v->diff, v->backup, v->original.data, v->original.size, v->path, v->text.data,
                  v->text.size))
        return err_set(err, ERR_NOMEM, "out of memory for the difference");
    buf_clear(&v->text);
    return file_read(&v->text, v->path, MOST_BYTES, err);
}

/* ---- what is printed ---- */

/* Findings and rows of an area; one without any is not printed. */
static int counts_of(const Preflight *p, Area a)
{
    int n = 0;
    for (size_t i = 0; i < p->count; i++)
        n += p->findings[i].area == a;
    for (size_t i = 0; i < p->row_count; i++)
        n += p->rows[i].area == a;
    return n;
}

/* A line of what belongs to a finding; nothing where there is nothing to say. */
static void add_part(Buf *out, Word name, const char *text)
{
    if (!*text)
        return;
    buf_str(out, "    ");
    words_column(out, word(name), 7);
    buf_printf(out, "%s\n", text);
}

/* What, the present value unless the sentence has it, why, and the fix. */
static void add_finding(Buf *out, const Finding *f)
{
    const int place = f->place[0] && strcmp(f->place, "default") != 0;
    buf_str(out, "  ");
    words_column(out, word(severity_word(severity_name(f->severity))), 9);
    buf_printf(out, "%s%s%s\n", place ? f->place : "", place ? ": " : "", f->what);
    add_part(out, SAY_CHECK_NOW, strstr(f->what, f->value) ? "" : f->value);
    add_part(out, SAY_CHECK_WHY, f->why);
    add_part(out, SAY_CHECK_FIX, f->fix);
}

static void add_row(Buf *out, const PreflightRow *r)
{
    buf_str(out, "  ");
    words_column(out, r->status == STATUS_INFO ? "" : word(status_word(status_name(r->status))), 11);
    words_column(out, r->name, 17);
    buf_printf(out, "%s%s%s%s\n", r->value, r->note[0] ? " (" : "", r->note, r->note[0] ? ")" : "");
}

static void add_counts(Buf *out, const char *name, const Preflight *p)
{
    char errors[80], warnings[80], notes[80];
    const int e = preflight_tally(p, FINDING_ERROR), w = preflight_tally(p, FINDING_WARNING),
              n = preflight_tally(p, FINDING_NOTE);
    say_count(errors, sizeof errors, SAY_CHECK_ERRORS, e, e);
    say_count(warnings, sizeof warnings, SAY_CHECK_WARNINGS, w, w);
    say_count(notes, sizeof notes, SAY_CHECK_NOTES, n, n);
    buf_printf(out, "%s: %s%s %s%s %s\n", name, errors, word(SAY_COMMA), warnings, word(SAY_COMMA), notes);
}

/* After --fix: what was found first, and the difference. */
static void add_changes(Buf *out, const Validation *v, const char *name)
{
    add_counts(out, name, &v->fixed);
    for (size_t i = 0; i < v->fixed.count; i++)
        if (v->fixed.findings[i].severity != FINDING_NOTE)
            add_finding(out, &v->fixed.findings[i]);
    buf_printf(out, "\n%s\n", v->diff.data);
    buf_say(out, SAY_CHECK_CHANGED, v->backup);
    buf_str(out, "\n\n");
}

static int print_text(const Validation *v, Err *err)
{
    const char *name = v->path ? v->path : word(SAY_CHECK_NO_FILE);
    Buf out = {0};
    if (v->diff.size)
        add_changes(&out, v, name);
    else if (v->fix)
        buf_printf(&out, "%s\n\n", word(SAY_CHECK_NO_CHANGES));
    for (int a = 0; a < AREA_COUNT; a++) {
        if (!counts_of(&v->found, (Area)a))
            continue;
        buf_printf(&out, "%s\n", area_title((Area)a));
        for (size_t i = 0; i < v->found.row_count; i++)
            if (v->found.rows[i].area == (Area)a)
                add_row(&out, &v->found.rows[i]);
        for (size_t i = 0; i < v->found.count; i++)
            if (v->found.findings[i].area == (Area)a)
                add_finding(&out, &v->found.findings[i]);
    }
    buf_str(&out, "\n");
    add_counts(&out, name, &v->found);
    int rc = out.failed ? err_set(err, ERR_NOMEM, "out of memory for the report") : 0;
    if (!rc)
        fputs(out.data, stdout);
    buf_free(&out);
    return rc;
}

static json_t *finding_json(const Finding *f)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "severity", severity_name(f->severity),
                     "key", json_from_text(f->key), "place", json_from_text(f->place), "what",
                     json_from_text(f->what), "why", json_from_text(f->why), "value",
                     json_from_text(f->value), "fix", json_from_text(f->fix), "set",
                     f->set_value ? json_from_text(f->set_value) : json_null());
}

/* Rows and findings by area, as the page of diagnose has them. */
static json_t *sections_json(const Preflight *p)
{
    json_t *sections = json_array();
    for (int a = 0; a < AREA_COUNT; a++) {
        json_t *rows = json_array(), *findings = json_array();
        for (size_t i = 0; i < p->row_count; i++) {
            const PreflightRow *r = &p->rows[i];
            if (r->area == (Area)a)
                json_array_append_new(rows,
                                      json_pack("{s:o, s:o, s:s, s:o}", "name", json_from_text(r->name),
                                                "value", json_from_text(r->value), "status",
                                                status_name(r->status), "note", json_from_text(r->note)));
        }
        for (size_t i = 0; i < p->count; i++)
            if (p->findings[i].area == (Area)a)
                json_array_append_new(findings, finding_json(&p->findings[i]));
        json_array_append_new(sections, json_pack("{s:s, s:s, s:o, s:o}", "name", area_name((Area)a), "title",
                                                  area_title((Area)a), "rows", rows, "findings", findings));
    }
    return sections;
}

/* For the head of the JSON report. */
static void machine_text(char *out, size_t cap)
{
    struct utsname u;
    int cores = thread_cores();
    if (uname(&u))
        memset(&u, 0, sizeof u);
    snprintf(out, cap, "%d core%s, %s %s", cores, cores == 1 ? "" : "s", u.sysname, u.machine);
}

/* The report for scripts; found_before, backup and diff say something only after --fix. */
static int print_json(const Validation *v, Err *err)
{
    const Preflight *p = &v->found;
    json_t *issues = json_array(), *advice = json_array(), *changes = json_array(), *fixed = json_array();
    char date[40] = "", machine[200];
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
    machine_text(machine, sizeof machine);
    for (size_t i = 0; i < p->count; i++) {
        const Finding *f = &p->findings[i];
        if (f->severity != FINDING_NOTE)
            json_array_append_new(issues, json_from_text(f->what));
        if (f->fix[0])
            json_array_append_new(advice, json_from_text(f->fix));
    }
    /* After --fix the changes are those that were made, before it those that would be. */
    const Preflight *changed = v->diff.size ? &v->fixed : p;
    for (size_t i = 0; i < changed->count; i++) {
        const Finding *f = &changed->findings[i];
        if (f->set_value)
            json_array_append_new(changes,
                                  json_pack("{s:o, s:o, s:o, s:o}", "key", json_from_text(f->key), "from",
                                            json_from_text(f->value), "to", json_from_text(f->set_value),
                                            "why", json_from_text(f->why)));
        if (v->diff.size && f->severity != FINDING_NOTE)
            json_array_append_new(fixed, finding_json(f));
    }
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:{s:i, s:i, s:i}, s:o, s:o, s:o, s:o}", "title", "myxtts validate",
        "date", date, "machine", machine, "command", v->fix ? "validate --fix" : "validate", "file",
        v->path ? json_from_text(v->path) : json_null(), "counts", "error", preflight_tally(p, FINDING_ERROR),
        "warning", preflight_tally(p, FINDING_WARNING), "note", preflight_tally(p, FINDING_NOTE), "sections",
        sections_json(p), "issues", issues, "recommendations", advice, "configuration_changes", changes);
    if (o &&
        (json_object_set_new(o, "found_before", fixed) ||
         json_object_set_new(o, "limits", limits_json(&p->limits)) ||
         json_object_set_new(o, "backup", v->diff.size ? json_from_text(v->backup) : json_null()) ||
         json_object_set_new(o, "diff", json_from_bytes(v->diff.size ? v->diff.data : "", v->diff.size)))) {
        json_decref(o);
        o = NULL;
    }
    return output_print(o, 9, err);
}

/* ---- the command ---- */

/* Settings go to *settings, everything else stays in argv: the file may be what makes the settings sound, so
 * they are not loaded alone. */
static int split_arguments(Validation *v, int argc, char **argv, char **rest, char **settings)
{
    int n = 1;
    rest[0] = argv[0];
    v->argv = settings;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || !argv[i][2] || !config_is_key(argv[i])) {
            rest[n++] = argv[i];
            continue;
        }
        settings[v->argc++] = argv[i];
        if (config_takes_value(argv[i], i + 1 < argc ? argv[i + 1] : NULL) && i + 1 < argc)
            settings[v->argc++] = argv[++i];
    }
    return n;
}

/* The file as it is; mended in rounds with --fix; examined once more for the report. */
static int validate(Validation *v, Err *err)
{
    int rc = v->path ? file_read(&v->original, v->path, MOST_BYTES, err) : 0;
    if (rc == ERR_MISSING) {
        err_set(err, ERR_CONFIG, "there is no configuration file %s", v->path);
        return err_hint(err, "`myxtts config --default-yaml > FILE` writes one to start from");
    }
    if (!rc)
        rc = copy_text(&v->text, &v->original, err);
    if (!rc && v->fix)
        rc = put_right(v, err);
    if (rc)
        return rc;
    Buf scratch = {0};
    if (!(rc = copy_text(&scratch, &v->text, err)))
        rc = examine(v, &v->found, &scratch, err);
    buf_free(&scratch);
    return rc;
}

static const CmdOption options[] = {
    {"config", "FILE", TEXT_AT(Validation, path), 0,
     "the file to validate (default: only the defaults and the command line)"},
    {"fix", NULL, 0, FLAG_AT(Validation, fix), "edit the file in place, keeping a numbered backup"},
    {"strict", NULL, 0, FLAG_AT(Validation, strict), "treat warnings as errors"},
};
const CmdUsage validate_usage = {usage, options, OPTION_COUNT(options)};

/* Settings are kept apart from options: wrong ones are wrong use, rules between them are findings. */
int cmd_validate(int argc, char **argv, Log *log)
{
    Validation v = {0};
    CmdLine line = {0};
    Err err = {0};
    int code = 0, rc = 0;
    char **rest = mem_calloc((size_t)argc + 1, sizeof *rest),
         **settings = mem_calloc((size_t)argc + 1, sizeof *settings);
    if (!rest || !settings) {
        rc = err_set(&err, ERR_NOMEM, "out of memory for the command line");
        goto done;
    }
    int n = split_arguments(&v, argc, argv, rest, settings);
    rc = cmd_line_parse(&line, &validate_usage, &v, n, rest, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 1, "at most one folder, the dataset", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if (line.positional_count) {
        static char option[] = "--data-path";
        v.argv[v.argc++] = option;
        v.argv[v.argc++] = line.positional[0];
    }
    v.quiet = *log;
    v.quiet.level = LOG_WARN;
    if (v.fix && !v.path)
        rc = err_set(&err, ERR_USAGE, "--fix needs --config FILE, the file to edit");
    if (!rc)
        rc = config_check_arguments(v.argc, v.argv, &err); /* wrong here is wrong use; rules are findings */
    if (!rc)
        rc = validate(&v, &err);
    if (!rc && line.json)
        rc = print_json(&v, &err);
    else if (!rc)
        rc = print_text(&v, &err);
    if (!rc && (preflight_tally(&v.found, FINDING_ERROR) || v.found.data_findings ||
                (v.strict && preflight_tally(&v.found, FINDING_WARNING))))
        code = 1;
done:
    if (rc)
        code = cmd_fail(log, &err);
    preflight_free(&v.found);
    preflight_free(&v.fixed);
    buf_free(&v.original);
    buf_free(&v.text);
    buf_free(&v.diff);
    cmd_line_close(&line);
    free(rest);
    free(settings);
    return code;
}
