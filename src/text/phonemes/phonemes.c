/* phonemes.c - see phonemes.h. The path of a line, as in phonemizer 3.4.0 (punctuation.py, backend/espeak):
 *   - Runs of punctuation, with the white space around them, divide the line into chunks; ',' and '.'
 *     between two digits do not count as punctuation.
 *   - Each chunk is passed to espeak_TextToPhonemes until it is used up; the pieces are joined by one space.
 *   - White space at the ends is removed, newlines become spaces, two spaces become one (once, from the
 *     left), and flags of a change of language, "(en)", are removed.
 *   - The runs of punctuation are put back between the chunks, without one space before them.
 * phonemizer asks espeak-ng for '_' between phonemes and then removes every '_'; asking for none gives the
 * same text.
 *   - A word with IPA of its own is given to espeak-ng as phonemes that no word has ("[[ttkttk]]"), so that
 *     the words beside it sound as they do before and behind a word; in the result the IPA takes their place.
 * phonemizer searches for a mark by its text and may find an earlier decimal point ("1.5."), so
 * that it returns two lines; here the position of the mark is known. */
#include "text/phonemes/phonemes.h"

#include <dirent.h>
#include <espeak-ng/espeak_ng.h>
#include <espeak-ng/speak_lib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/hash.h"
#include "text/scripts.h"
#include "text/unicode.h"

#define PHONEMES_VERSION 1
enum { MODE_IPA = 2, MAX_VOICES = 512 };

typedef struct Voice {
    const char *language, *identifier;
} Voice;

struct Phonemes {
    Voice voices[MAX_VOICES];
    int voice_count;
    const Voice *current;
    Block block;
    Buf chunk, raw, tidy;
};

/* The state of libespeak-ng, of which a process has one. */
static struct {
    pthread_mutex_t lock; /* held while the library is called */
    char voice[128];      /* identifier of the one that speaks; "": none so far */
    uint64_t changes;     /* of voice */
    int takes_phonemes;   /* [[...]] in a text are phonemes */
    char numbers[200];    /* how the voice that speaks says some, when nothing is wrong */
    int is_latin;         /* its language is written in Latin letters */
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A forked child finds the library at rest, whatever other threads were doing. */
static void hold_library(void) { pthread_mutex_lock(&library.lock); }
static void free_library(void) { pthread_mutex_unlock(&library.lock); }
static void follow_forks(void) { pthread_atfork(hold_library, free_library, free_library); }

const char *phonemes_bundle(char *out, size_t cap)
{
    if (getenv("ESPEAK_DATA_PATH"))
        return NULL; /* espeak-ng reads it itself when no path is given */
    if (file_own_folder(out, cap, 1))
        return NULL;
    size_t used = strlen(out);
    if (used + sizeof "/share/espeak-ng-data/phontab" > cap)
        return NULL;
    strcpy(out + used, "/share/espeak-ng-data/phontab");
    if (access(out, R_OK) != 0)
        return NULL;
    out[used + sizeof "/share" - 1] = 0;
    return out;
}

/* All voices except MBROLA's, which need extra files. */
static int load_voices(Phonemes *p)
{
    const espeak_VOICE **list = espeak_ListVoices(NULL);
    for (; list && *list && p->voice_count < MAX_VOICES; list++) {
        /* languages: a priority byte and a name, repeated; the first is the voice's own. */
        const char *languages = (*list)->languages, *id = (*list)->identifier;
        if (!languages || !languages[0] || !id || !strncmp(id, "mb/", 3))
            continue;
        Voice v = {block_strndup(&p->block, languages + 1, strlen(languages + 1)),
                   block_strndup(&p->block, id, strlen(id))};
        if (!v.language || !v.identifier)
            return ERR_NOMEM;
        p->voices[p->voice_count++] = v;
    }
    return 0;
}

/* espeak_Initialize is content with an empty folder; *dir is where it looks. */
static int has_voice_data(const char *bundle, const char **dir)
{
    espeak_ng_InitializePath(bundle);
    espeak_Info(dir);
    char *file = *dir ? file_join(*dir, "phontab") : NULL;
    int there = file && access(file, R_OK) == 0;
    free(file);
    return there;
}

/* Once per process: every espeak_Initialize starts another thread, and the second espeak_Terminate in a
 * process never returns (1.51). So the library stays open until the process ends; it has a sample rate from
 * its first start on. */
static int initialise(const char *bundle)
{
    if (espeak_ng_GetSampleRate() > 0)
        return 0;
    return espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, bundle, espeakINITIALIZE_DONT_EXIT) < 0 ? -1 : 0;
}

/* The data is looked for before the library starts: it would start without any. */
int phonemes_open(Phonemes **out, Err *err)
{
    char path[4096];
    const char *data = NULL;
    *out = NULL;
    Phonemes *p = mem_calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for the phonemiser");
    const char *bundle = phonemes_bundle(path, sizeof path);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, follow_forks);
    pthread_mutex_lock(&library.lock);
    const int ready = has_voice_data(bundle, &data) && initialise(bundle) == 0,
              loaded = ready ? load_voices(p) : 0;
    pthread_mutex_unlock(&library.lock);
    if (!ready) {
        err_set(err, ERR_MISSING, "espeak-ng found no voice data in %s",
                data && *data ? data : "the usual places");
        err_hint(err, "install the package espeak-ng-data, or set ESPEAK_DATA_PATH to the folder that "
                      "contains espeak-ng-data");
        free(p);
        return ERR_MISSING;
    }
    if (loaded < 0) {
        phonemes_close(p);
        return err_set(err, ERR_NOMEM, "no memory for the list of voices");
    }
    *out = p;
    return 0;
}

void phonemes_close(Phonemes *p)
{
    if (!p)
        return;
    block_free(&p->block);
    buf_free(&p->chunk);
    buf_free(&p->raw);
    buf_free(&p->tidy);
    free(p);
}

/* The list is sorted by relevance, so the first one is the best. */
static const Voice *find_voice(const Phonemes *p, const char *language)
{
    for (int i = 0; i < p->voice_count; i++) /* sorted by relevance: the first is the best */
        if (!strcasecmp(p->voices[i].language, language))
            return &p->voices[i];
    return NULL;
}

int phonemes_has_voice(const Phonemes *p, const char *voice) { return find_voice(p, voice) != NULL; }

static void say_numbers(char *out, size_t cap)
{
    const void *rest = "1 2 3 4 5 a";
    const char *ipa = espeak_TextToPhonemes(&rest, espeakCHARS_UTF8, MODE_IPA);
    snprintf(out, cap, "%s", ipa ? ipa : "");
}

/* The library speaks with this voice from now on. The lock is held. */
static int use_voice(const Voice *v)
{
    if (!strcmp(library.voice, v->identifier))
        return 0;
    library.voice[0] = 0;
    if (espeak_SetVoiceByName(v->identifier) != EE_OK)
        return -1;
    snprintf(library.voice, sizeof library.voice, "%s", v->identifier);
    library.changes++;
    say_numbers(library.numbers, sizeof library.numbers);
    ScriptSet scripts = {0};
    scripts_of_language(&scripts, v->language);
    library.is_latin = scripts.count == 1 && scripts.scripts[0] == script_by_name("Latn");
    return 0;
}

/* Behind a word of another language libespeak-ng 1.51 sometimes goes on in a third one: "S\u090a" leaves
 * en-us for en. It says the numbers otherwise then, and the voice is set again. */
static void heal(const Voice *v)
{
    char numbers[sizeof library.numbers];
    say_numbers(numbers, sizeof numbers);
    if (!strcmp(numbers, library.numbers))
        return;
    library.voice[0] = 0;
    use_voice(v);
}

int phonemes_set_voice(Phonemes *p, const char *language, Err *err)
{
    if (p->current && !strcasecmp(p->current->language, language))
        return 0;
    const Voice *v = find_voice(p, language);
    pthread_mutex_lock(&library.lock);
    int rc = v ? use_voice(v) : -1;
    pthread_mutex_unlock(&library.lock);
    if (rc)
        return err_set(err, ERR_MISSING, "espeak-ng has no voice '%s'", language);
    p->current = v;
    return 0;
}

uint64_t phonemes_voice_changes(void)
{
    pthread_mutex_lock(&library.lock);
    uint64_t changes = library.changes;
    pthread_mutex_unlock(&library.lock);
    return changes;
}

const char *phonemes_voice(const Phonemes *p) { return p->current ? p->current->language : ""; }

/* Length of the punctuation mark at `at`, or 0. */
static size_t mark_length(const char *s, size_t n, size_t at)
{
    uint8_t c = (uint8_t)s[at];
    switch (c) {
    case '.':
    case ',':
        return !(at > 0 && s[at - 1] >= '0' && s[at - 1] <= '9' && at + 1 < n && s[at + 1] >= '0' &&
                 s[at + 1] <= '9');
    case ';':
    case ':':
    case '!':
    case '?':
    case '"':
    case '(':
    case ')':
    case '{':
    case '}':
    case '[':
    case ']':
        return 1;
    case 0xC2: /* inverted marks and angle quotes */
        return at + 1 < n && strchr("\xA1\xBF\xAB\xBB", s[at + 1]) ? 2 : 0;
    case 0xE2: /* em dash, ellipsis, curved double quotes */
        return at + 2 < n && s[at + 1] == (char)0x80 && strchr("\x94\xA6\x9C\x9D", s[at + 2]) ? 3 : 0;
    default:
        return 0;
    }
}

/* Bytes of the white space at `at`, or 0. */
static size_t space_length(const char *s, size_t n, size_t at)
{
    if (s[at] == ' ')
        return 1;
    if ((uint8_t)s[at] > ' ' && (uint8_t)s[at] < 0x80)
        return 0;
    size_t i = at;
    return unicode_is_space(unicode_next(s, n, &i)) ? i - at : 0;
}

/* The next run of punctuation and white space that holds at least one mark: [*start, *end), or n, n. */
static void find_run(const char *s, size_t n, size_t from, size_t *start, size_t *end)
{
    /* Runs without a mark are part of a chunk; continuation bytes are neither marks nor spaces. */
    size_t i = from, step;
    while (i < n) {
        size_t begin = i;
        int marks = 0;
        while (i < n) {
            if ((step = mark_length(s, n, i)))
                marks = 1;
            else if (!(step = space_length(s, n, i)))
                break;
            i += step;
        }
        if (marks) {
            *start = begin;
            *end = i;
            return;
        }
        if (i == begin)
            i++; /* a byte of a word; continuation bytes are no marks and no spaces */
    }
    *start = *end = n;
}

/* Step 3: raw -> out. */
static void append_tidy(Buf *out, const char *s, size_t n)
{
    while (n && unicode_is_space((uint8_t)s[n - 1]) && (uint8_t)s[n - 1] < 0x80)
        n--;
    size_t i = 0;
    while (i < n && unicode_is_space((uint8_t)s[i]) && (uint8_t)s[i] < 0x80)
        i++;
    size_t run = i;
    while (i < n) {
        if (s[i] == '\n' || s[i] == ' ') {
            buf_add(out, s + run, i - run);
            buf_add(out, " ", 1);
            i += i + 1 < n && (s[i + 1] == ' ' || s[i + 1] == '\n') ? 2 : 1;
            run = i;
        } else if (s[i] == '(' && i + 1 < n) {
            const char *close = memchr(s + i + 2, ')', n > i + 2 ? n - i - 2 : 0);
            if (!close) {
                i++;
                continue;
            }
            buf_add(out, s + run, i - run);
            i = run = (size_t)(close - s) + 1;
        } else {
            i++;
        }
    }
    buf_add(out, s + run, i - run);
}

/* Letters that libespeak-ng 1.51 takes for those of a language it has no voice for: it says nothing of them,
 * and speaks with that language's vowels from then on. Blanks stand for them. */
static void take_out_poison(Buf *text)
{
    for (size_t i = 0; i < text->size; i++) {
        const uint8_t lead = (uint8_t)text->data[i];
        if (lead != 0xE1 && lead != 0xEA && lead != 0xED)
            continue;
        size_t end = i;
        uint32_t cp = unicode_next(text->data, text->size, &end);
        if ((cp >= 0x1100 && cp <= 0x11FF) || (cp >= 0x13A0 && cp <= 0x13FF) ||
            (cp >= 0xA700 && cp <= 0xABFF) || (cp >= 0xD7B0 && cp <= 0xD7FF))
            memset(text->data + i, ' ', end - i);
    }
}

/* libespeak-ng 1.51 forgets what is behind the 160th byte of a word, and overruns a buffer with 600 letters:
 * long ones are cut between syllables. Scripts that are written without blanks are not cut: it does that. */
static int cut_long_words(Phonemes *p)
{
    enum { LONG = 60, LONGEST = 90 }; /* bytes */
    const Buf *text = &p->chunk;
    size_t run = 0, from = 0;
    buf_clear(&p->raw);
    for (size_t i = 0; i < text->size; i++) {
        const char c = text->data[i];
        if (c == ' ' || (uint8_t)c >= 0xE0) {
            run = 0;
            continue;
        }
        run++;
        if (run < LONG || ((uint8_t)c & 0xC0) == 0x80)
            continue;
        const int syllable = strchr("aeiouAEIOU", text->data[i - 1]) && !strchr("aeiouAEIOU", c);
        if (!syllable && run < LONGEST)
            continue;
        buf_add(&p->raw, text->data + from, i - from);
        buf_add(&p->raw, " ", 1);
        from = i;
        run = 1;
    }
    if (!from)
        return 0;
    buf_add(&p->raw, text->data + from, text->size - from);
    buf_clear(&p->chunk);
    buf_add(&p->chunk, p->raw.data, p->raw.size);
    return p->raw.failed ? ERR_NOMEM : 0;
}

/* Letters that are not Latin. */
static int has_other_script(const Buf *text)
{
    for (size_t i = 0; i < text->size; i++) {
        const uint8_t lead = (uint8_t)text->data[i];
        if (lead >= 0xCD && lead != 0xE2) /* signs */
            return 1;
    }
    return 0;
}

/* Step 2, of p->chunk. espeak-ng speaks clause by clause and moves `rest`; one clause needs no copy. */
static int speak_raw(Phonemes *p, Buf *out)
{
    if (cut_long_words(p))
        return ERR_NOMEM;
    buf_add(&p->chunk, "", 1);
    if (p->chunk.failed)
        return ERR_NOMEM;
    take_out_poison(&p->chunk);
    const void *rest = p->chunk.data;
    const char *first = NULL;
    buf_clear(&p->raw);
    while (rest) {
        const void *before = rest;
        const char *ipa = espeak_TextToPhonemes(&rest, espeakCHARS_UTF8, MODE_IPA);
        if (ipa && *ipa) {
            if (p->raw.size)
                buf_add(&p->raw, " ", 1);
            if (!rest && !p->raw.size)
                first = ipa; /* the usual case, one clause: no copy */
            else
                buf_add(&p->raw, ipa, strlen(ipa));
        }
        if (rest == before)
            break; /* no progress: it would never end */
    }
    const char *raw = first ? first : p->raw.data ? p->raw.data : "";
    const size_t n = first ? strlen(first) : p->raw.size;
    /* The language has changed, for a word or more, or may have. */
    const int changed = !n || memchr(raw, '(', n) || (library.is_latin && has_other_script(&p->chunk));
    append_tidy(out, raw, n);
    if (changed)
        heal(p->current);
    return p->raw.failed || out->failed ? ERR_NOMEM : 0;
}

static int speak_chunk(Phonemes *p, Buf *out, const char *text, size_t n)
{
    buf_clear(&p->chunk);
    buf_add(&p->chunk, text, n);
    return speak_raw(p, out);
}

/* --- words with given IPA --- */

static const char stand_in[] = "ttkttk"; /* phonemes of every voice, in an order that no word has */

/* The library remembers what its last espeak_Synth said about [[...]]. Brackets of a text are punctuation
 * here and never reach it. */
static void take_phonemes(void)
{
    if (!library.takes_phonemes)
        espeak_Synth("", 1, 0, POS_CHARACTER, 0, espeakCHARS_UTF8 | espeakPHONEMES, NULL, NULL);
    library.takes_phonemes = 1;
}

/* Sounds before which a word such as "the" sounds as before a vowel. */
static int begins_with_vowel(const char *ipa, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(ipa, n, &i);
        if (cp < 0x80)
            return cp && strchr("aeiouy", (int)cp) != NULL;
        static const char vowels[] = "ɐɑɒæɔəɘɚɛɜɝɞɨɪɵɶøœɤɯʉʊʌʏᵻãõẽĩũ";
        for (size_t k = 0; k + 1 < sizeof vowels;)
            if (unicode_next(vowels, sizeof vowels - 1, &k) == cp)
                return 1;
        if (cp != 0x2C8 && cp != 0x2CC) /* stress marks stand before the sound */
            return 0;
    }
    return 0;
}

/* A control has no sound of its own: the letter behind it counts. */
static int sounds_like_vowel(const char *ipa, size_t size, const char *behind, size_t n)
{
    size_t i = 0;
    if (size && unicode_next(ipa, size, &i) < UNICODE_STAND_IN)
        return begins_with_vowel(ipa, size);
    for (i = 0; i < n && behind[i] == ' ';)
        i++;
    return i < n && strchr("aeiouAEIOU", behind[i]) != NULL;
}

static void add_place(const PhonemeMarks *m, size_t text, size_t text_size, size_t from, const Buf *out,
                      uint32_t mark)
{
    const PhonemePlace place = {.text = (uint32_t)text,
                                .text_size = (uint32_t)text_size,
                                .phonemes = (uint32_t)from,
                                .phonemes_size = (uint32_t)(out->size - from),
                                .mark = mark};
    if (m->places && text_size)
        buf_add(m->places, &place, sizeof place);
}

/* The next private character with IPA, or n. */
static size_t find_mark(const PhonemeMarks *m, const char *text, size_t n, size_t at, const char **ipa,
                        size_t *size, uint32_t *cp, size_t *end)
{
    for (; at < n; at++) {
        if ((uint8_t)text[at] < 0xF3)
            continue;
        *end = at;
        *cp = unicode_next(text, n, end);
        *ipa = *cp >= UNICODE_STAND_IN ? m->ipa(m->arg, *cp, size) : NULL;
        if (*ipa)
            return at;
    }
    return n;
}

/* What espeak-ng made of a stand-in at `at` of p->tidy begins here: with a vowel, or stress, before it. */
static size_t stand_in_begin(const Phonemes *p, size_t at)
{
    for (int most = 3; most && at && p->tidy.data[at - 1] != ' '; most--) {
        at--;
        while (at && ((uint8_t)p->tidy.data[at] & 0xC0) == 0x80)
            at--;
    }
    return at;
}

/* The pieces between the marks one by one, where the stand-ins were lost. */
static int speak_apart(Phonemes *p, Buf *out, const char *text, size_t n, size_t base, const PhonemeMarks *m)
{
    for (size_t at = 0; at < n;) {
        const char *ipa = "";
        size_t size = 0, end = n, from = out->size;
        uint32_t cp = 0;
        size_t mark = find_mark(m, text, n, at, &ipa, &size, &cp, &end);
        if (mark > at && speak_chunk(p, out, text + at, mark - at) < 0)
            return ERR_NOMEM;
        add_place(m, base + at, mark - at, from, out, 0);
        if (mark == n)
            break;
        if (out->size && out->data[out->size - 1] != ' ')
            buf_add(out, " ", 1);
        from = out->size;
        buf_add(out, ipa, size);
        add_place(m, base + mark, end - mark, from, out, cp);
        at = end;
        if (at < n)
            buf_add(out, " ", 1);
    }
    return out->failed ? ERR_NOMEM : 0;
}

/* p->tidy -> out, IPA in place of the stand-ins. */
static void put_back(Phonemes *p, Buf *out, const char *text, size_t n, size_t base, const PhonemeMarks *m)
{
    const size_t width = sizeof stand_in - 1;
    size_t at = 0, tidy = 0;
    while (at < n) {
        const char *ipa = "";
        size_t size = 0, end = n, from = out->size;
        uint32_t cp = 0;
        const size_t mark = find_mark(m, text, n, at, &ipa, &size, &cp, &end);
        const char *found = mark < n ? strstr(p->tidy.data + tidy, stand_in) : NULL;
        const size_t stop = found ? stand_in_begin(p, (size_t)(found - p->tidy.data)) : p->tidy.size;
        buf_add(out, p->tidy.data + tidy, stop - tidy);
        add_place(m, base + at, mark - at, from, out, 0);
        if (!found)
            break;
        from = out->size;
        buf_add(out, ipa, size);
        add_place(m, base + mark, end - mark, from, out, cp);
        tidy = (size_t)(found - p->tidy.data) + width;
        at = end;
    }
    buf_add(out, at < n ? "" : p->tidy.data + tidy, at < n ? 0 : p->tidy.size - tidy);
}

/* A chunk that may have marks; base: where it begins in the text. */
static int speak_marked(Phonemes *p, Buf *out, const char *text, size_t n, size_t base, const PhonemeMarks *m)
{
    size_t at = 0, count = 0, found = 0;
    buf_clear(&p->chunk);
    for (size_t end; at < n; at = end) {
        const char *ipa = "";
        size_t size = 0;
        uint32_t cp = 0;
        end = n;
        size_t mark = find_mark(m, text, n, at, &ipa, &size, &cp, &end);
        buf_add(&p->chunk, text + at, mark - at);
        if (mark == n)
            break;
        buf_str(&p->chunk, sounds_like_vowel(ipa, size, text + end, n - end) ? " [[a" : " [[");
        buf_str(&p->chunk, stand_in);
        buf_str(&p->chunk, "]] ");
        count++;
    }
    if (!count) {
        size_t from = out->size;
        int rc = speak_raw(p, out);
        add_place(m, base, n, from, out, 0);
        return rc;
    }
    take_phonemes();
    buf_clear(&p->tidy);
    if (speak_raw(p, &p->tidy) < 0)
        return ERR_NOMEM;
    for (const char *s = p->tidy.data; s && (s = strstr(s, stand_in)); s += sizeof stand_in - 1)
        found++;
    if (found != count)
        return speak_apart(p, out, text, n, base, m);
    put_back(p, out, text, n, base, m);
    return out->failed ? ERR_NOMEM : 0;
}

/* Steps 1 and 4: chunks and the runs of punctuation between them. The lock is held. */
static int speak_chunks(Phonemes *p, Buf *out, size_t *spoken, const char *text, size_t n,
                        const PhonemeMarks *marks)
{
    size_t at = 0, total = 0;
    while (at < n) {
        size_t start, end;
        find_run(text, n, at, &start, &end);
        if (start > at) {
            size_t before = out->size;
            if ((marks ? speak_marked(p, out, text + at, start - at, at, marks)
                       : speak_chunk(p, out, text + at, start - at)) < 0)
                return ERR_NOMEM;
            total += out->size - before;
            if (end > start && out->size > before && out->data[out->size - 1] == ' ')
                out->size--;
        }
        buf_add(out, text + start, end - start);
        at = end;
    }
    if (spoken)
        *spoken = total;
    return out->failed ? ERR_NOMEM : 0;
}

/* Another Phonemes may have spoken with another voice in between. */
int phonemes_speak_marked(Phonemes *p, Buf *out, size_t *spoken, const char *text, size_t n,
                          const PhonemeMarks *marks)
{
    pthread_mutex_lock(&library.lock);
    int rc = use_voice(p->current) ? ERR_NOMEM : speak_chunks(p, out, spoken, text, n, marks);
    pthread_mutex_unlock(&library.lock);
    return rc;
}

int phonemes_speak(Phonemes *p, Buf *out, size_t *spoken, const char *text, size_t n)
{
    return phonemes_speak_marked(p, out, spoken, text, n, NULL);
}

/* The library writes down what it does with a word: "Found:" is an entry, "Translate" its rules. */
int phonemes_knows(Phonemes *p, const char *word, size_t n)
{
    enum { TRACE = 8 };
    char *trace = NULL;
    size_t size = 0;
    Buf ipa = {0};
    FILE *to = open_memstream(&trace, &size);
    if (!to)
        return ERR_NOMEM;
    pthread_mutex_lock(&library.lock);
    espeak_SetPhonemeTrace(TRACE, to);
    int rc = use_voice(p->current) ? ERR_NOMEM : speak_chunks(p, &ipa, NULL, word, n, NULL);
    espeak_SetPhonemeTrace(0, stdout);
    pthread_mutex_unlock(&library.lock);
    buf_free(&ipa);
    if (fclose(to) || !trace)
        rc = ERR_NOMEM;
    if (!rc)
        rc = !strstr(trace, "Translate '") || strstr(trace, "Found: '") ? 1 : 0;
    free(trace);
    return rc;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Files that decide how words are spoken. */
static int is_dictionary(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n > 5 && !strcmp(e->d_name + n - 5, "_dict");
}

/* Name and bytes; a file that is missing counts with its name alone. -1: it is there and cannot be read. */
static int hash_file(Hasher *h, const char *dir, const char *name)
{
    FileMap map = {0};
    char *path = file_join(dir, name);
    hasher_str(h, name);
    int rc = path ? 0 : -1;
    if (!rc && file_exists(path))
        rc = file_load(&map, path, NULL) ? -1 : 0;
    if (!rc)
        hasher_bytes(h, map.data, map.size);
    file_unmap(&map);
    free(path);
    return rc;
}

/* All dictionaries count, because a line may switch languages; only the usual one is read whole. */
int phonemes_hash_version(Hasher *h, const char *dictionary)
{
    char path[4096], dir[4096] = "", name[64];
    const char *where = NULL;
    hasher_u64(h, PHONEMES_VERSION);
    pthread_mutex_lock(&library.lock);
    espeak_ng_InitializePath(phonemes_bundle(path, sizeof path));
    hasher_str(h, espeak_Info(&where));
    snprintf(dir, sizeof dir, "%s", where ? where : "");
    pthread_mutex_unlock(&library.lock);
    if (!where)
        return 0;
    int rc = hash_file(h, dir, "phontab");
    snprintf(name, sizeof name, "%s_dict", dictionary);
    if (hash_file(h, dir, name))
        rc = -1;
    struct dirent **list = NULL;
    int count = scandir(dir, &list, is_dictionary, by_name);
    if (count < 0 && file_exists(dir))
        rc = -1;
    for (int i = 0; i < count; i++) {
        char *file = file_join(dir, list[i]->d_name);
        FileStamp stamp = {0};
        if (!file || file_stamp(&stamp, file, NULL))
            rc = -1;
        hasher_str(h, list[i]->d_name);
        hasher_u64(h, stamp.size);
        free(file);
        free(list[i]);
    }
    free(list);
    return rc;
}
