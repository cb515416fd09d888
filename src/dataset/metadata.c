/* metadata.c - see metadata.h. */
#include "dataset/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "dataset/audio_endings.h"
#include "dataset/lines.h"
#include "dataset/records.h"

#define SAMPLE_LINES 1000 /* that the delimiter and the number of columns are decided from */
#define GUESS_MIN_LINES 8 /* fewer lines say nothing about the third column */
#define GUESS_MAX_SPEAKERS 1024
#define GUESS_MAX_NAME 40 /* bytes of a speaker's name */

/* ---- text ---- */

/* By its mark, or by zeros beside every letter. */
static int looks_utf16(const uint8_t *b, size_t n)
{
    if (n >= 2 && ((b[0] == 0xFF && b[1] == 0xFE) || (b[0] == 0xFE && b[1] == 0xFF)))
        return 1;
    /* Without a mark: ASCII letters with a zero before or after each. */
    return n >= 8 && ((b[0] && !b[1] && b[2] && !b[3] && b[4] && !b[5] && b[6] && !b[7]) ||
                      (!b[0] && b[1] && !b[2] && b[3] && !b[4] && b[5] && !b[6] && b[7]));
}

/* ---- the form of the file ---- */

/* Names a header may use, in lower case with `_` for blanks and dashes; each with a blank on both sides. */
static const char *const role_names[ROLE_COUNT] = {
    [ROLE_NONE] = "",
    [ROLE_FILE] =
        " file filename file_name filepath file_path path audio audio_file audio_path audio_filepath "
        "wav wav_file wav_path wav_filename ",
    [ROLE_ID] = " id fileid file_id wav_id audio_id clip clip_id utterance utterance_id ",
    [ROLE_TEXT] = " text raw raw_text transcription transcript sentence ",
    [ROLE_NORMALISED] =
        " normalized normalised normalized_text normalised_text text_normalized text_normalised "
        "normalized_transcription normalised_transcription normalized_transcript normalised_transcript ",
    [ROLE_SPEAKER] = " speaker speaker_id speaker_name client_id ",
    [ROLE_LANGUAGE] = " language lang language_id language_code locale ",
};

Role metadata_role(Str s)
{
    char name[34] = " ";
    if (!s.n || s.n > sizeof name - 3)
        return ROLE_NONE;
    for (uint32_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!c)
            return ROLE_NONE;
        name[i + 1] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == ' ' || c == '-' ? '_' : c;
    }
    name[s.n + 1] = ' ';
    for (int role = ROLE_FILE; role < ROLE_COUNT; role++)
        if (strstr(role_names[role], name))
            return (Role)role;
    return ROLE_NONE;
}

/* 1 when the record names columns, among them an id and a text; fills the form. The first column of a kind
 * counts. */
static int read_header(MetadataForm *f, const Record *rec)
{
    if (rec->kind != RECORD_FIELDS || rec->columns < 2 || rec->columns > RECORD_MAX_FIELDS)
        return 0;
    int at[ROLE_COUNT];
    memset(at, -1, sizeof at);
    for (int i = 0; i < rec->columns; i++) {
        Role role = metadata_role(rec->fields[i]);
        if (at[role] < 0)
            at[role] = i;
    }
    /* Where a file names both, the path leads to the audio. */
    int id = at[ROLE_FILE] >= 0 ? at[ROLE_FILE] : at[ROLE_ID];
    if (id < 0 || (at[ROLE_TEXT] < 0 && at[ROLE_NORMALISED] < 0))
        return 0;
    f->has_header = 1;
    f->columns = rec->columns;
    f->id = id;
    f->text = at[ROLE_TEXT] >= 0 ? at[ROLE_TEXT] : at[ROLE_NORMALISED];
    f->normalised = at[ROLE_NORMALISED];
    f->speaker = at[ROLE_SPEAKER];
    f->language = at[ROLE_LANGUAGE];
    return 1;
}

/* Blank lines separate nothing and count for nothing. */
static int next_record(Records *r, Record *rec)
{
    while (records_next(r, rec))
        if (rec->kind != RECORD_BLANK)
            return 1;
    return 0;
}

/* The delimiter most lines hold; where several do, the one that stands least in sentences. */
static char find_delimiter(const uint8_t *bytes, size_t size)
{
    static const char candidates[] = {'|', '\t', ','};
    size_t holds[3] = {0}, lines = 0;
    Records r;
    Record rec;
    records_open(&r, bytes, size, '|');
    while (lines < SAMPLE_LINES && next_record(&r, &rec)) {
        lines++;
        for (int i = 0; i < 3; i++)
            holds[i] += memchr(rec.all.p, candidates[i], rec.all.n) != NULL;
    }
    int best = 0;
    for (int i = 0; i < 3; i++) {
        if (holds[i] && holds[i] * 2 >= lines)
            return candidates[i];
        if (holds[i] > holds[best])
            best = i;
    }
    return candidates[best];
}

/* 1 when the third column of a file without a header names speakers (the rule is in dataset.h). Stops at the
 * first line that speaks against it, so ordinary files cost one line. */
static int third_is_speaker(const uint8_t *bytes, size_t size, char delimiter)
{
    uint64_t seen[GUESS_MAX_SPEAKERS * 2] = {0}; /* hashes, an open table; 16 KiB */
    size_t lines = 0, sentences = 0, speakers = 0;
    Records r;
    Record rec;
    records_open(&r, bytes, size, delimiter);
    while (next_record(&r, &rec)) {
        if (rec.kind != RECORD_FIELDS || rec.columns != 3)
            continue;
        Str text = rec.fields[1], name = rec.fields[2];
        if (!name.n || name.n > GUESS_MAX_NAME || memchr(name.p, ' ', name.n))
            return 0;
        lines++;
        sentences += text.n && memchr(text.p, ' ', text.n) != NULL;
        /* A set of hashes on the stack: guessing must not fail for want of memory. */
        uint64_t h = hash64(name.p, name.n) | 1;
        size_t i = h >> 32;
        while (seen[i %= GUESS_MAX_SPEAKERS * 2] && seen[i] != h)
            i++;
        if (!seen[i]) {
            if (++speakers > GUESS_MAX_SPEAKERS)
                return 0;
            seen[i] = h;
        }
    }
    return lines >= GUESS_MIN_LINES && speakers * 4 <= lines && sentences * 10 >= lines * 9;
}

/* A header decides; without one, the number of columns that most lines have. */
static void find_form(MetadataForm *f, const uint8_t *bytes, size_t size, char forced)
{
    static const char candidates[] = {'|', '\t', ','};
    Records r;
    Record rec;
    *f = (MetadataForm){.id = 0, .text = 1, .normalised = -1, .speaker = -1, .language = -1};
    for (int i = 0; i < 3; i++) {
        if (forced && forced != candidates[i])
            continue;
        f->delimiter = candidates[i];
        records_open(&r, bytes, size, candidates[i]);
        if (next_record(&r, &rec) && read_header(f, &rec))
            return;
    }
    f->delimiter = forced ? forced : find_delimiter(bytes, size);
    /* By columns; of two that are equally frequent the larger. */
    size_t have[5] = {0};
    records_open(&r, bytes, size, f->delimiter);
    for (int i = 0; i < SAMPLE_LINES && next_record(&r, &rec); i++)
        if (rec.kind == RECORD_FIELDS && rec.columns <= 4)
            have[rec.columns]++;
    for (int c = 2; c <= 4; c++)
        if (have[c] && have[c] >= have[f->columns])
            f->columns = c;
    if (f->columns == 3 && third_is_speaker(bytes, size, f->delimiter)) {
        f->speaker = 2;
        f->speaker_guessed = 1;
        return;
    }
    if (f->columns >= 3)
        f->normalised = 2;
    if (f->columns == 4)
        f->speaker = 3;
}

/* ---- lines ---- */

typedef struct Parser {
    Lines lines;
    const MetadataForm *form;
    const MetadataOptions *opt;
} Parser;

/* The field's value: the slice itself, or a copy with each "" made one quote. p is NULL on no memory. */
static Str field_value(Parser *ps, const Record *rec, int column)
{
    if (column < 0 || column >= rec->columns || column >= RECORD_MAX_FIELDS)
        return (Str){"", 0};
    Str s = rec->fields[column];
    if (!(rec->escaped >> column & 1))
        return s;
    char *out = block_alloc(&ps->lines.d->block, s.n, 1);
    if (!out)
        return (Str){NULL, 0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < s.n; i++) {
        out[n++] = s.p[i];
        if (s.p[i] == '"')
            i++;
    }
    return (Str){out, n};
}

static int reject(Parser *ps, const Record *rec, Str id, RejectReason reason, const char *detail)
{
    return lines_reject(&ps->lines, id, rec->line, reason, detail);
}

/* Says what is wrong with the line as a whole. */
static int reject_columns(Parser *ps, const Record *rec, Str id)
{
    char detail[160];
    if (rec->kind == RECORD_QUOTE)
        snprintf(detail, sizeof detail, "a quoted field is not closed, or has text after its closing quote");
    else if (!ps->form->columns)
        snprintf(
            detail, sizeof detail,
            "%d column%s; it can be id|text, id|raw|normalised, id|raw|normalised|speaker, or have a header",
            rec->columns, rec->columns == 1 ? "" : "s");
    else
        snprintf(detail, sizeof detail, "%d column%s, but the file has %d", rec->columns,
                 rec->columns == 1 ? "" : "s", ps->form->columns);
    return reject(ps, rec, id, REJECT_COLUMNS, detail);
}

/* The normalised text if there is one, else the raw text. */
static int add_line(Parser *ps, const Record *rec, Str id)
{
    const MetadataForm *f = ps->form;
    Line line = {.id = id, .text = field_value(ps, rec, f->normalised), .line = rec->line};
    if (!line.text.n)
        line.text = field_value(ps, rec, f->text);
    line.speaker = field_value(ps, rec, f->speaker);
    line.language = field_value(ps, rec, f->language);
    if (!line.text.p || !line.speaker.p || !line.language.p)
        return ERR_NOMEM;
    uint32_t ending = ps->opt->bare_ids ? (uint32_t)audio_ending(id.p, id.n, NULL) : 0;
    if (ending) {
        line.audio = id;
        line.id.n -= ending;
    }
    return lines_add(&ps->lines, &line);
}

/* Judges a line; the first fault counts. ERR_NOMEM is the only failure. */
static int parse_record(Parser *ps, const Record *rec)
{
    char detail[160];
    Str id = field_value(ps, rec, rec->kind == RECORD_TOO_LONG ? -1 : ps->form->id);
    if (!id.p)
        return ERR_NOMEM;
    if (rec->kind == RECORD_TOO_LONG) {
        snprintf(detail, sizeof detail, "%zu bytes", rec->bytes);
        return reject(ps, rec, ps->form->id == 0 ? rec->fields[0] : id, REJECT_LINE_TOO_LONG, detail);
    }
    /* Before anything that would print the line. */
    size_t bad = utf8_valid(rec->all.p, rec->all.n);
    if (bad < rec->all.n) {
        snprintf(detail, sizeof detail, "byte 0x%02X at offset %zu of the line", (uint8_t)rec->all.p[bad],
                 bad);
        return reject(ps, rec, id, REJECT_UTF8, detail);
    }
    if (rec->kind == RECORD_QUOTE || rec->columns != ps->form->columns)
        return reject_columns(ps, rec, id);
    const char *nul = memchr(rec->all.p, 0, rec->all.n);
    if (nul && id.n && !line_id_fault(id)) {
        snprintf(detail, sizeof detail, "NUL byte at offset %zu of the line", (size_t)(nul - rec->all.p));
        return reject(ps, rec, id, REJECT_UTF8, detail);
    }
    return add_line(ps, rec, id);
}

/* The form of the file is found first, from a sample; then every line is judged by it. */
int metadata_parse(Dataset *d, Map *ids, MetadataForm *form, const uint8_t *bytes, size_t size, int file,
                   const MetadataOptions *opt, Err *err)
{
    if (looks_utf16(bytes, size)) {
        err_set(err, ERR_FORMAT, "the metadata is UTF-16 text, not UTF-8");
        return err_hint(err, "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW");
    }
    find_form(form, bytes, size, opt->delimiter);
    Parser ps = {{d, ids, file, {opt->prefix[0], opt->prefix[1]}}, form, opt};
    Records r;
    Record rec;
    int skip = form->has_header;
    records_open(&r, bytes, size, form->delimiter);
    while (next_record(&r, &rec)) {
        if (skip) {
            skip = 0;
            continue;
        }
        if (parse_record(&ps, &rec))
            return err_set(err, ERR_NOMEM, "no memory for %zu metadata lines", d->lines);
    }
    return 0;
}
