/* ssml.c - see ssml.h. A stack of the manners in force, one entry for each open element. */
#include "text/markup/ssml.h"

#include <stdlib.h>
#include <string.h>

#include "text/language.h"
#include "text/markup/ssml_values.h"
#include "text/markup/xml.h"
#include "text/unicode.h"

#define PARAGRAPH_SECONDS 0.6 /* between two */

typedef enum {
    EL_UNKNOWN,
    EL_SPEAK,
    EL_PARAGRAPH,
    EL_SENTENCE,
    EL_BREAK,
    EL_EMPHASIS,
    EL_PROSODY,
    EL_PHONEME,
    EL_SAY_AS,
    EL_SUB,
    EL_LANG,
    EL_VOICE,
    EL_MARK,
    EL_SILENT /* text that is not meant to be spoken */
} Element;

static const struct {
    const char *name;
    Element element;
} elements[] = {
    {"speak", EL_SPEAK},       {"p", EL_PARAGRAPH},     {"paragraph", EL_PARAGRAPH},
    {"s", EL_SENTENCE},        {"break", EL_BREAK},     {"sentence", EL_SENTENCE},
    {"emphasis", EL_EMPHASIS}, {"prosody", EL_PROSODY}, {"phoneme", EL_PHONEME},
    {"say-as", EL_SAY_AS},     {"sub", EL_SUB},         {"lang", EL_LANG},
    {"voice", EL_VOICE},       {"mark", EL_MARK},       {"metadata", EL_SILENT},
    {"meta", EL_SILENT},       {"lexicon", EL_SILENT},  {"desc", EL_SILENT},
};

/* What is in force inside an element. */
typedef struct Frame {
    Element element;
    MarkupManner manner;
    uint32_t language, speaker; /* as MarkupSection */
    int silent;                 /* its text is not spoken: something else is */
    size_t from;                /* of the source */
} Frame;

typedef struct Ssml {
    Markup *s;
    XmlReader xml;
    const TextFormatUse *use;
    Frame frames[XML_DEPTH + 1];
    int depth;
    int blank, line;               /* a blank, a newline is to come before the next word */
    int paragraph;                 /* a pause is to come before the next word, unless a break was given */
    int broken;                    /* one was, since the last word */
    double silence;                /* of all breaks so far */
    int words;                     /* there were some */
    Buf inside, as;                /* of say-as: its text, and how it is read */
    uint32_t interpret_as, format; /* of strings */
    int collects;                  /* the text of say-as */
} Ssml;

static Frame *top(Ssml *d) { return &d->frames[d->depth]; }

int ssml_is(const char *p, size_t n)
{
    size_t i = n >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3) ? 3 : 0;
    for (;;) {
        while (i < n && strchr(" \t\r\n", p[i]) && p[i])
            i++;
        const char *end = NULL;
        if (n - i > 5 && !memcmp(p + i, "<?xml", 5))
            end = memmem(p + i, n - i, "?>", 2);
        else if (n - i > 4 && !memcmp(p + i, "<!--", 4))
            end = memmem(p + i, n - i, "-->", 3);
        else if (n - i > 9 && !memcmp(p + i, "<!DOCTYPE", 9))
            end = memchr(p + i, '>', n - i);
        if (!end)
            break;
        i = (size_t)(end - p) + (*end == '>' ? 1 : *end == '?' ? 2 : 3);
    }
    return n - i > 6 && !memcmp(p + i, "<speak", 6) && strchr(" \t\r\n/>", p[i + 6]) && p[i + 6];
}

/* --- what is said --- */

static int closes_up(uint32_t cp) /* no blank stands before it */
{
    return cp < 0x80 ? cp && strchr(".,;:!?)]}%", (int)cp) != NULL
                     : cp == 0x2019 || cp == 0x201D || cp == 0xBB || cp == 0x2026 || cp == 0x3002 ||
                           cp == 0x61F || cp == 0x60C || cp == 0x61B;
}

static void control(Ssml *d, MarkupKind kind, double seconds, uint32_t name)
{
    const MarkupControl c = {.kind = kind, .manner = top(d)->manner, .seconds = seconds, .name = name};
    markup_control(d->s, &c);
    d->blank = 1;
}

/* Before words: what was put off until it was known that some follow. Controls thus stand at the end of a
 * line rather than at the beginning of the next. */
static void before_words(Ssml *d, const char *p, size_t n)
{
    const Frame *f = top(d);
    Buf *text = &d->s->text;
    size_t i = 0;
    if (d->paragraph && d->words && !d->broken)
        control(d, MARKUP_BREAK, PARAGRAPH_SECONDS, 0);
    if (d->line && d->words)
        buf_str(text, "\n");
    markup_begin_section(d->s, f->language, f->speaker);
    const char last = text->size ? text->data[text->size - 1] : '\n';
    if (d->blank && last != ' ' && last != '\n' && !closes_up(unicode_next(p, n, &i)))
        buf_str(text, " ");
    d->paragraph = d->line = d->blank = d->broken = 0;
    d->words = 1;
}

/* source_size 0: the text is that of the source, byte for byte. */
static void say(Ssml *d, const char *p, size_t n, size_t source, size_t source_size)
{
    static const char blanks[] = " \t\r\n";
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && !strchr(blanks, p[end]))
            end++;
        if (end > i) {
            before_words(d, p + i, end - i);
            markup_add(d->s, p + i, end - i, source + (source_size ? 0 : i), source_size);
        }
        if (end < n)
            d->blank = 1;
        for (i = end; i < n && strchr(blanks, p[i]);)
            i++;
    }
}

/* Something in place of the text of an element. */
static void say_instead(Ssml *d, const char *p, size_t n, size_t from, size_t to)
{
    d->blank = 1;
    say(d, p, n, from, to > from ? to - from : 1);
}

/* --- elements --- */

static Element element_of(Str name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strlen(elements[i].name) == name.n && !memcmp(elements[i].name, name.p, name.n))
            return elements[i].element;
    return EL_UNKNOWN;
}

static void note_value(Ssml *d, const char *attribute, const char *value)
{
    markup_note(d->s, d->xml.from, "%s=\"%.40s\" of <%.*s> is not understood", attribute, value,
                (int)d->xml.name.n, d->xml.name.p);
}

static void set_prosody(Ssml *d, MarkupManner *m)
{
    static const struct {
        const char *name;
        int (*set)(MarkupManner *m, const char *value);
    } known[] = {{"rate", ssml_rate}, {"pitch", ssml_pitch}, {"volume", ssml_volume},
                 {"range", NULL},     {"contour", NULL},     {"duration", NULL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *value = xml_value(&d->xml, known[i].name);
        if (value && !known[i].set)
            markup_note(d->s, d->xml.from, "%s of <prosody> has no effect", known[i].name);
        else if (value && !known[i].set(m, value))
            note_value(d, known[i].name, value);
    }
}

/* time counts before strength. */
static void add_break(Ssml *d)
{
    const char *time = xml_value(&d->xml, "time"), *strength = xml_value(&d->xml, "strength");
    double seconds = 0;
    ssml_strength(&seconds, "medium");
    if (strength && !ssml_strength(&seconds, strength))
        note_value(d, "strength", strength);
    if (time && !ssml_time(&seconds, time))
        note_value(d, "time", time);
    if (seconds > SSML_LONGEST_BREAK) {
        markup_note(d->s, d->xml.from, "a break of %.0f s is shortened to the maximum, %.0f s", seconds,
                    SSML_LONGEST_BREAK);
        seconds = SSML_LONGEST_BREAK;
    }
    if (d->silence + seconds > SSML_MOST_SILENCE) {
        markup_note(d->s, d->xml.from, "the breaks together are longer than %.0f s and are shortened",
                    SSML_MOST_SILENCE);
        seconds = SSML_MOST_SILENCE - d->silence;
    }
    d->silence += seconds;
    d->broken = 1;
    control(d, MARKUP_BREAK, seconds, 0);
}

static int add_mark(Ssml *d, Err *err)
{
    const char *name = xml_value(&d->xml, "name");
    if (!name || !*name)
        return xml_fail(&d->xml, d->xml.from, err, "<mark> needs a name");
    control(d, MARKUP_MARK, 0, markup_keep(d->s, name, strlen(name)));
    return 0;
}

static int open_phoneme(Ssml *d, Frame *f, Err *err)
{
    const char *ph = xml_value(&d->xml, "ph"), *alphabet = xml_value(&d->xml, "alphabet");
    if (!ph || !*ph)
        return xml_fail(&d->xml, d->xml.from, err, "<phoneme> needs ph: its sounds");
    if (alphabet && strcmp(alphabet, "ipa")) {
        markup_note(d->s, d->xml.from,
                    "unknown alphabet '%.30s' (only ipa is supported): the text is spoken instead", alphabet);
        return 0;
    }
    if (strchr(ph, '[') || strchr(ph, ']')) {
        note_value(d, "ph", ph);
        return 0;
    }
    if (!d->use->phonemes) /* a voice of letters */
        return 0;
    Buf ipa = {0};
    buf_printf(&ipa, "[[%s]]", ph);
    for (size_t i = 0; i < ipa.size; i++) /* one word, whatever is in it */
        if (ipa.data[i] == '\t' || ipa.data[i] == '\n' || ipa.data[i] == '\r')
            ipa.data[i] = ' ';
    d->blank = 1;
    before_words(d, ipa.data ? ipa.data : " ", ipa.data ? ipa.size : 1);
    markup_add(d->s, ipa.data, ipa.size, d->xml.from, d->xml.at - d->xml.from);
    d->blank = 1;
    if (ipa.failed)
        d->s->text.failed = 1;
    buf_free(&ipa);
    f->silent = 1;
    return 0;
}

static int open_say_as(Ssml *d, Err *err)
{
    const char *as = xml_value(&d->xml, "interpret-as"), *format = xml_value(&d->xml, "format");
    if (!as || !*as)
        return xml_fail(&d->xml, d->xml.from, err, "<say-as> needs interpret-as: date, characters, ...");
    buf_clear(&d->inside);
    d->interpret_as = markup_keep(d->s, as, strlen(as));
    d->format = format ? markup_keep(d->s, format, strlen(format)) : 0;
    d->collects = 1;
    return 0;
}

static void language_of(const Ssml *d, const Frame *f, char out[LANGUAGE_MAX])
{
    const char *code = f->language ? markup_string(d->s, f->language) : d->use->language;
    char whole[LANGUAGE_MAX] = "";
    out[0] = 0;
    if (code && !language_normalise(whole, code, strlen(code)))
        language_primary(out, whole);
}

static void close_say_as(Ssml *d, const Frame *f)
{
    char language[LANGUAGE_MAX];
    const char *as = markup_string(d->s, d->interpret_as);
    d->collects = 0;
    if (!as || d->inside.failed)
        return;
    language_of(d, f, language);
    buf_clear(&d->as);
    if (!ssml_say_as(&d->as, d->inside.data ? d->inside.data : "", d->inside.size, as,
                     markup_string(d->s, d->format), language, d->use->phonemes))
        markup_note(d->s, f->from, "unknown interpret-as=\"%.40s\": the text is read as it is", as);
    say_instead(d, d->as.data ? d->as.data : "", d->as.size, f->from, d->xml.at);
    d->blank = 1;
    if (d->as.failed)
        d->s->text.failed = 1;
}

/* A language or a speaker that is not the one of the whole text. */
static void set_section(Ssml *d, Frame *f, Element element)
{
    const char *language = xml_value(&d->xml, "xml:lang"), *name = xml_value(&d->xml, "name");
    if (language)
        f->language = *language ? markup_keep(d->s, language, strlen(language)) : 0;
    if (element != EL_VOICE)
        return;
    if (name)
        f->speaker = markup_keep(d->s, name, strlen(name));
    else if (!language)
        markup_note(d->s, d->xml.from, "<voice> has no effect without a name");
}

static void end_line(Ssml *d, Element element)
{
    d->line = 1;
    d->paragraph |= element == EL_PARAGRAPH;
}

static int open_sub(Ssml *d, Frame *now, Err *err)
{
    const char *alias = xml_value(&d->xml, "alias");
    if (!alias)
        return xml_fail(&d->xml, d->xml.from, err, "<sub> needs alias: the words to speak");
    say_instead(d, alias, strlen(alias), d->xml.from, d->xml.at);
    d->blank = 1;
    now->silent = 1;
    return 0;
}

static int open_element(Ssml *d, Err *err)
{
    Frame f = *top(d);
    f.element = element_of(d->xml.name);
    f.from = d->xml.from;
    int rc = 0;
    if (!d->depth && f.element != EL_SPEAK)
        return xml_fail(&d->xml, d->xml.from, err, "the first element is <%.*s>, but must be <speak>",
                        (int)(d->xml.name.n < 60 ? d->xml.name.n : 60), d->xml.name.p);
    if (d->collects) /* elements inside say-as: their text is collected, too */
        f.element = EL_UNKNOWN;
    set_section(d, &f, f.element);
    d->frames[++d->depth] = f;
    Frame *now = top(d);
    switch (f.silent ? EL_SPEAK : f.element) {
    case EL_UNKNOWN:
        markup_note(d->s, d->xml.from, "unknown element <%.*s>: its text is spoken",
                    (int)(d->xml.name.n < 60 ? d->xml.name.n : 60), d->xml.name.p);
        break;
    case EL_PARAGRAPH:
    case EL_SENTENCE:
        end_line(d, f.element);
        break;
    case EL_BREAK:
        add_break(d);
        break;
    case EL_EMPHASIS:
        if (!ssml_emphasis(&now->manner, xml_value(&d->xml, "level")))
            note_value(d, "level", xml_value(&d->xml, "level"));
        control(d, MARKUP_MANNER, 0, 0);
        break;
    case EL_PROSODY:
        set_prosody(d, &now->manner);
        control(d, MARKUP_MANNER, 0, 0);
        break;
    case EL_PHONEME:
        rc = open_phoneme(d, now, err);
        break;
    case EL_SAY_AS:
        rc = open_say_as(d, err);
        break;
    case EL_SUB:
        rc = open_sub(d, now, err);
        break;
    case EL_MARK:
        rc = add_mark(d, err);
        break;
    case EL_SILENT:
        now->silent = 1;
        break;
    case EL_SPEAK:
    case EL_LANG:
    case EL_VOICE:
        break;
    }
    return rc;
}

static void close_element(Ssml *d)
{
    const Frame f = *top(d);
    d->depth--;
    const Frame *outer = top(d);
    if (f.element == EL_SAY_AS && !outer->silent)
        close_say_as(d, &f);
    if (!f.silent && (f.element == EL_EMPHASIS || f.element == EL_PROSODY))
        control(d, MARKUP_MANNER, 0, 0);
    if (f.element == EL_PARAGRAPH || f.element == EL_SENTENCE)
        end_line(d, f.element);
}

static void add_text(Ssml *d)
{
    const XmlReader *x = &d->xml;
    if (top(d)->silent)
        return;
    if (d->collects)
        buf_add(&d->inside, x->text, x->text_size);
    else /* a character that was written as a number stands for more bytes than it has */
        say(d, x->text, x->text_size, x->from, x->text == x->character ? x->at - x->from : 0);
}

int ssml_read(Markup *s, const char *p, size_t n, const TextFormatUse *use, Err *err)
{
    Ssml *d = mem_calloc(1, sizeof *d);
    if (!d)
        return err_set(err, ERR_NOMEM, "no memory for a text");
    *s = (Markup){0};
    d->s = s;
    d->use = use;
    d->frames[0].manner = MARKUP_MANNER_USUAL;
    markup_begin_section(s, 0, 0);
    xml_open(&d->xml, p, n);
    int rc = XML_TEXT;
    while (rc > 0) {
        rc = xml_next(&d->xml, err);
        int failed = 0;
        if (rc == XML_OPEN)
            failed = open_element(d, err);
        else if (rc == XML_CLOSE)
            close_element(d);
        else if (rc == XML_TEXT)
            add_text(d);
        rc = failed ? failed : rc;
    }
    if (rc == ERR_DATA)
        err_hint(err, ssml_is(p, n) ? "to speak a text that only looks like SSML, use the text format 'plain'"
                                    : "SSML starts with <speak> and ends with </speak>");
    xml_close(&d->xml);
    buf_free(&d->inside);
    buf_free(&d->as);
    free(d);
    return rc;
}
