/* kaldi.c - see kaldi.h. */
#include "dataset/kaldi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "dataset/records.h"

typedef struct Pair { /* of a line: its first word, and the rest */
    Str id, value;
    uint32_t line;
    int used;
} Pair;

typedef struct Table {
    Pair *pairs;
    size_t count, cap;
    Map ids;
} Table;

static void table_free(Table *t)
{
    free(t->pairs);
    map_free(&t->ids);
    *t = (Table){0};
}

/* The first line of an id counts. */
static Pair *table_find(Table *t, Str id)
{
    uint32_t i;
    for (MapWalk w = map_walk(&t->ids, hash64(id.p, id.n)); map_next(&w, &i);)
        if (str_equal(t->pairs[i].id, id))
            return &t->pairs[i];
    return NULL;
}

/* Up to the first white space; the rest is the value. */
static Pair cut(const Record *rec)
{
    Str all = str_trim(rec->all), id = all;
    for (id.n = 0; id.n < all.n && all.p[id.n] != ' ' && all.p[id.n] != '\t';)
        id.n++;
    return (Pair){id, str_trim((Str){all.p + id.n, all.n - id.n}), rec->line, 0};
}

/* Lines over the longest that is allowed are passed over here: what names them is then missing. */
static int table_read(Table *t, KaldiBytes bytes)
{
    Records r;
    Record rec;
    records_open(&r, (const uint8_t *)(bytes.p ? bytes.p : ""), bytes.n, '\t');
    while (records_next(&r, &rec)) {
        Pair pair = cut(&rec);
        if (rec.kind != RECORD_FIELDS || table_find(t, pair.id))
            continue;
        if (mem_grow(&t->pairs, &t->cap, t->count + 1, sizeof *t->pairs) ||
            map_add(&t->ids, hash64(pair.id.p, pair.id.n), (uint32_t)t->count))
            return ERR_NOMEM;
        t->pairs[t->count++] = pair;
    }
    return 0;
}

/* tables: wav.scp, utt2spk, utt2lang. */
static int add_line(Lines *l, const Record *rec, Table tables[])
{
    char detail[200];
    if (rec->kind == RECORD_TOO_LONG) {
        snprintf(detail, sizeof detail, "%zu bytes", rec->bytes);
        return lines_reject(l, (Str){"", 0}, rec->line, REJECT_LINE_TOO_LONG, detail);
    }
    Pair text = cut(rec);
    Pair *found[3];
    for (int i = 0; i < 3; i++)
        found[i] = table_find(&tables[i], text.id);
    Pair *audio = found[0], *speaker = found[1], *language = found[2];
    int bad = lines_check_utf8(l, text.id, rec->line, rec->all);
    if (bad)
        return bad < 0 ? bad : 0;
    if (!audio || !audio->value.n)
        return lines_reject(l, text.id, rec->line, REJECT_AUDIO_MISSING, "wav.scp has no path for the id");
    audio->used = 1;
    if (audio->value.p[audio->value.n - 1] == '|') {
        snprintf(detail, sizeof detail,
                 "line %u of wav.scp is a command, not a file: run it and write the name of its output there",
                 audio->line);
        return lines_reject(l, text.id, rec->line, REJECT_AUDIO_UNREADABLE, detail);
    }
    return lines_add(l, &(Line){.id = text.id,
                                .text = text.value,
                                .speaker = speaker ? speaker->value : (Str){"", 0},
                                .language = language ? language->value : (Str){"", 0},
                                .audio = audio->value,
                                .line = rec->line});
}

int kaldi_parse(Lines *l, const KaldiBytes files[KALDI_FILES], size_t *without_text, Err *err)
{
    Table tables[KALDI_FILES - 1] = {0};
    Records r;
    Record rec;
    int rc = 0;
    *without_text = 0;
    for (int i = 1; i < KALDI_FILES && !rc; i++)
        rc = table_read(&tables[i - 1], files[i]);
    records_open(&r, (const uint8_t *)(files[0].p ? files[0].p : ""), files[0].n, '\t');
    while (!rc && records_next(&r, &rec))
        if (rec.kind != RECORD_BLANK)
            rc = add_line(l, &rec, tables);
    for (size_t i = 0; i < tables[0].count; i++)
        *without_text += !tables[0].pairs[i].used;
    for (int i = 0; i < KALDI_FILES - 1; i++)
        table_free(&tables[i]);
    return rc ? err_set(err, ERR_NOMEM, "no memory for %zu lines of a Kaldi folder", l->d->lines) : 0;
}
