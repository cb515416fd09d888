/* test_ssml.c - SSML: what documents become, W3C's examples, documents that are broken or hostile; and in a
 * voice: pauses to the frame, rate, pitch, volume, emphasis, marks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/folder_testing.h"
#include "support/voice_testing.h"
#include "text/markup/format.h"
#include "text/markup/ssml_values.h"
#include "text/markup/xml.h"
#include "text/phonemes/tokens.h"
#include "voice/voice.h"
#include "voice/voice_manner.h"

/* libespeak-ng 1.51 loses memory on each change of voice; that is not ours to find here. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libespeak-ng\n"; }

#define CHECKPOINT "tests/golden/checkpoint.safetensors"

static struct {
    Config cfg;
    TextEngine *engine;
    Folder folder;
    Device *device;
    Voice *voice;
    Log log;
} lab;

static int setup_lab(void **state)
{
    Err err = {0};
    log_init(&lab.log, LOG_ERROR);
    lab.folder = folder_make();
    char path[300];
    snprintf(path, sizeof path, "%s", folder_file(&lab.folder, "voice.safetensors"));
    write_phoneme_voice(path, CHECKPOINT);
    int rc = config_defaults(&lab.cfg, &err);
    if (!rc)
        rc = text_engine_open(&lab.engine, &lab.cfg, TEXT_TO_SPEAK, &err);
    if (!rc)
        rc = device_open(&lab.device, "cpu", &(DeviceOptions){.log = &lab.log}, &err);
    const VoiceOptions o = {.checkpoint = path,
                            .device = lab.device,
                            .vocoder = "griffin_lim",
                            .iterations = 2,
                            .speed = 0.5, /* the network is hardly trained: nearly all lasts one frame */
                            .threads = 1,
                            .log = &lab.log};
    if (!rc)
        rc = voice_open(&lab.voice, &o, &err);
    if (rc)
        print_message("%s\n", err.msg);
    return rc;
}

static int teardown_lab(void **state)
{
    voice_close(lab.voice);
    device_close(lab.device);
    text_engine_close(lab.engine);
    config_close(&lab.cfg);
    folder_remove(&lab.folder);
    return 0;
}

/* ---- what documents become ---- */

/* Phonemes, "{0.5}" where a break of half a second begins, "{m}" for the mark m, "{r0.5}" where the rate
 * becomes 0.5, likewise p, v and e; parts end with a bar. */
static void show_part(Buf *out, const VoicePart *p)
{
    const VoiceWishes *w = &p->wishes;
    MarkupManner now = MARKUP_MANNER_USUAL;
    for (int i = 0; i <= p->symbols; i++) {
        char name[8];
        for (size_t k = 0; k < w->mark_count; k++)
            if (w->marks[k].symbol == i)
                buf_printf(out, "{%s}", w->marks[k].name);
        for (size_t k = 0; k < w->pause_count; k++)
            if (w->pauses[k].from == i && w->pauses[k].seconds > 0)
                buf_printf(out, "{%g}", w->pauses[k].seconds);
        for (size_t k = 0; k < w->turn_count; k++)
            if (w->turns[k].symbol == i) {
                const MarkupManner *m = &w->turns[k].manner;
                if (m->rate != now.rate)
                    buf_printf(out, "{r%.3g}", m->rate);
                if (m->pitch != now.pitch)
                    buf_printf(out, "{p%.3g}", m->pitch);
                if (m->volume != now.volume)
                    buf_printf(out, "{v%.3g}", m->volume);
                if (m->emphasis != now.emphasis)
                    buf_printf(out, "{e%.3g}", m->emphasis);
                now = *m;
            }
        if (i < p->symbols && p->tokens[i] >= TOKEN_FIRST_SYMBOL)
            buf_str(out, tokens_name(p->tokens[i], name));
    }
    buf_str(out, "|");
}

static int read_document(Buf *out, const char *text, size_t n, VoiceLosses *losses, Err *err)
{
    const VoiceLimits limits = {400, 400};
    const TextFormatUse use = {.phonemes = 1, .language = "en"};
    VoiceText t = {.p = text, .n = n};
    VoicePart part;
    int rc = voice_text_mark_up(&t, TEXT_FORMAT_AUTO, &use, NULL, err);
    while (!rc && (rc = voice_text_next(&t, &part, lab.engine, "en", &limits, losses, NULL, err)) == 1) {
        show_part(out, &part);
        voice_part_free(&part);
        rc = 0;
    }
    voice_text_close(&t);
    return rc;
}

static void expect(const char *text, const char *want)
{
    Buf out = {0};
    Err err = {0};
    VoiceLosses losses = {0};
    if (read_document(&out, text, strlen(text), &losses, &err))
        fail_msg("%s: %s", text, err.msg);
    if (strcmp(out.data ? out.data : "", want))
        fail_msg("%s:\n '%s', not\n '%s'", text, out.data ? out.data : "", want);
    assert_int_equal(losses.count, 0);
    voice_losses_free(&losses);
    buf_free(&out);
}

static const char *const documents[][2] = {
    {"<speak/>", ""},
    {"<speak>Hello there.</speak>", "həlˈoʊ ðˈɛɹ.|"},
    {"\n<?xml version='1.0'?><!-- <speak --><speak>Hello &amp; <![CDATA[there]]>.</speak>",
     "həlˈoʊ ænd ðˈɛɹ.|"},
    {"<speak xmlns:s='x'>one<s:break time='1s'/>two</speak>", "wˈʌn{1}, tˈuː|"},
    /* words sound as they do without the markup */
    {"<speak>the <emphasis>apple</emphasis>, a <prosody>pear</prosody>.</speak>",
     "ðɪ {e0.5}ˈæpəl{e0}, ɐ pˈɛɹ.|"},
    {"<speak><emphasis level='strong'>So</emphasis> <emphasis level='reduced'>so</emphasis> <emphasis "
     "level='none'>so</emphasis></speak>",
     "{e1}sˌoʊ {e0}{e-0.5}sˌoʊ {e0}sˈoʊ|"},
    /* breaks */
    {"<speak>red<break time='2s'/>hill</speak>", "ɹˈɛd{2}, hˈɪl|"},
    {"<speak>red, <break time='500ms'/> hill</speak>", "ɹˈɛd{0.5}, hˈɪl|"},
    {"<speak>red <break/> hill<break strength='x-strong'/></speak>", "ɹˈɛd{0.4}, hˈɪl{1.2},|"},
    {"<speak>red <break time='1s'/><break time='1s'/> hill</speak>", "ɹˈɛd{2}, hˈɪl|"},
    {"<speak>Red. <break time='1s'/> Hill. <break time='.5s' strength='none'/>Old.</speak>",
     "ɹˈɛd{1}.|hˈɪl{0.5}.|ˈoʊld.|"},
    {"<speak>red <break strength='none'/>hill</speak>", "ɹˈɛd hˈɪl|"},
    {"<speak><break time='1s'/>red</speak>", "{1}ɹˈɛd|"},
    {"<speak>red <break time='1h'/> hill</speak>", "ɹˈɛd{0.4}, hˈɪl|"},
    {"<speak>red <break time='900s'/> hill</speak>", "ɹˈɛd{60}, hˈɪl|"},
    {"<speak><p>Red</p><p><s>hill</s><s>old</s></p></speak>", "ɹˈɛd{0.6},|hˈɪl|ˈoʊld|"},
    /* prosody: what is nested */
    {"<speak><prosody rate='50%'>a <prosody rate='+50%' pitch='+2st'>red</prosody></prosody> "
     "hill</speak>",
     "{r0.5}ɐ {r0.75}{p2}ɹˈɛd {r0.5}{p0}{r1}hˈɪl|"},
    {"<speak>One. <prosody rate='2'>Two. Three.</prosody> Four.</speak>",
     "wˈʌn.|{r2}tˈuː.|{r2}θɹˈiː.|{r2}{r1}fˈoːɹ.|"},
    {"<speak><prosody rate='x-slow' pitch='x-high' volume='silent'>red</prosody></speak>",
     "{r0.5}{p6}{v0}ɹˈɛd|"},
    {"<speak><prosody pitch='+100%' volume='+6dB'>red</prosody> hill</speak>", "{p12}{v2}ɹˈɛd {p0}{v1}hˈɪl|"},
    {"<speak><prosody volume='50' rate='fast' pitch='banana'>red</prosody> hill</speak>",
     "{r1.25}{v0.5}ɹˈɛd {r1}{v1}hˈɪl|"},
    /* words instead of others */
    {"<speak><sub alias='World Wide Web'>WWW</sub>, <phoneme alphabet='ipa' "
     "ph='təˈmɑːtoʊ'>x</phoneme>.</speak>",
     "wˈɜːld wˈaɪd wˈɛb, təˈmɑːtoʊ.|"},
    {"<speak><phoneme alphabet='x-sampa' ph='h_d'>hill</phoneme></speak>", "hˈɪl|"},
    {"<speak><foo>red <bar/>hill</foo><audio src='a.wav'>old</audio></speak>", "ɹˈɛd hˈɪloʊld|"},
    {"<speak><metadata>none of this</metadata><meta name='a' content='b'/>red</speak>", "ɹˈɛd|"},
    /* marks */
    {"<speak>red <mark name='a'/>hill.<mark name='end'/></speak>", "ɹˈɛd {a}hˈɪl.{end}|"},
    {"<speak>Red. <mark name='a'/> Hill <mark name='b'/><break time='1s'/><mark name='c'/>old.</speak>",
     "ɹˈɛd.|{a}hˈɪl{b}{1}, {c}ˈoʊld.|"},
    /* say-as */
    {"<speak><say-as interpret-as='characters'>aB3</say-as></speak>", "ˈeɪ bˈiː θɹˈiː|"},
    {"<speak><say-as interpret-as='spell-out'>w-3</say-as></speak>", "dˈʌbəljˌuː dˈæʃ θɹˈiː|"},
    {"<speak><say-as interpret-as='digits'>407</say-as></speak>", "fˈoːɹ zˈiəɹoʊ sˈɛvən|"},
    {"<speak><say-as interpret-as='cardinal'>XIV</say-as></speak>", "fˈoːɹtiːn|"},
    {"<speak><say-as interpret-as='ordinal'>22</say-as> <say-as "
     "interpret-as='ordinal'>13</say-as></speak>",
     "twˈɛntisˈɛkənd θˈɜːtiːnθ|"},
    {"<speak><say-as interpret-as='date' format='dmy'>3/4/2021</say-as></speak>",
     "ˈeɪpɹəl θˈɜːd, twˈɛnti twˈɛntiwˌʌn|"},
    {"<speak><say-as interpret-as='date' format='ymd'>2021-04-03</say-as></speak>",
     "ˈeɪpɹəl θˈɜːd, twˈɛnti twˈɛntiwˌʌn|"},
    {"<speak><say-as interpret-as='date' format='md'>4/3</say-as></speak>", "ˈeɪpɹəl θˈɜːd|"},
    {"<speak><say-as interpret-as='time'>2:30pm</say-as></speak>", "tˈuː θˈɜːɾi pˌiːˈɛm|"},
    {"<speak><say-as interpret-as='telephone'>+1 55-12</say-as></speak>",
     "plˈʌs wˌʌn, fˈaɪv fˈaɪv, wˈʌn tˈuː|"},
    {"<speak><say-as interpret-as='currency'>USD 2.50</say-as></speak>", "tˈuː dˈɑːlɚz ænd fˈɪfti sˈɛnts|"},
    {"<speak><say-as interpret-as='nonsense'>hill</say-as></speak>", "hˈɪl|"},
    /* languages */
    {"<speak>red <lang xml:lang='de'>Tag</lang> hill</speak>", "ɹˈɛd|tˈɑːk|hˈɪl|"},
    {"<speak xml:lang='de'>Tag</speak>", "tˈɑːk|"},
};

static void documents_become_words_and_controls(void **state)
{
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        expect(documents[i][0], documents[i][1]);
    assert_int_equal(text_format_of(TEXT_FORMAT_AUTO, "red <break/> hill", 17), TEXT_FORMAT_PLAIN);
    assert_int_equal(text_format_of(TEXT_FORMAT_AUTO, "<speaker>", 9), TEXT_FORMAT_PLAIN);
}

/* What is lost is told by its place in the document. */
static void losses_have_their_place(void **state)
{
    static const char text[] =
        "<speak>red\n <emphasis>x \xEE\x80\x80</emphasis> &#x2D7;<sub alias='\xEE\x80\x81'>y</sub></speak>";
    Buf out = {0};
    Err err = {0};
    VoiceLosses losses = {0};
    assert_int_equal(read_document(&out, text, strlen(text), &losses, &err), 0);
    assert_true(losses.count >= 2);
    assert_int_equal(losses.all[0].at, strstr(text, "\xEE\x80\x80") - text);
    assert_int_equal(losses.all[0].size, 3);
    assert_int_equal(losses.all[losses.count - 1].at, strstr(text, "<sub") - text);
    voice_losses_free(&losses);
    buf_free(&out);
}

/* What has no effect is counted and named. */
static void what_is_not_known_is_noted(void **state)
{
    static const char text[] = "<speak>\n<foo/><foo>a</foo><prosody contour='(0%,+20Hz)' rate='x'/></speak>";
    Markup m = {0};
    Err err = {0};
    assert_int_equal(text_format_read(&m, TEXT_FORMAT_AUTO, text, strlen(text), &(TextFormatUse){0}, &err),
                     1);
    const MarkupNote *notes = (const MarkupNote *)(const void *)m.notes.data;
    assert_int_equal(m.notes.size / sizeof *notes, 3);
    assert_string_equal(notes[0].what, "unknown element <foo>: its text is spoken");
    assert_int_equal(notes[0].count, 2);
    assert_int_equal(notes[0].at, 8);
    assert_string_equal(notes[1].what, "rate=\"x\" of <prosody> is not understood");
    assert_string_equal(notes[2].what, "contour of <prosody> has no effect");
    markup_free(&m);
}

/* Elements inside each other in any order: every mark comes back, in order, and wishes are about symbols that
 * are there. */
static int random_document(Buf *out, Rng *r, int depth, int *marks)
{
    static const char *const words[] = {"old",  "hill.", "a", "3.5",   ",", "red",
                                        "it's", "(so)",  "!", "No. 5", "x"},
                             *const tags[] = {"emphasis",
                                              "prosody rate='80%'",
                                              "p",
                                              "s",
                                              "lang xml:lang='de'",
                                              "prosody volume='soft'",
                                              "sub alias='two words'",
                                              "foo"};
    for (int i = 0, n = (int)rng_below(r, 7); i < n; i++) {
        const uint64_t kind = rng_below(r, 10);
        if (kind < 5)
            buf_printf(out, "%s%s", words[rng_below(r, sizeof words / sizeof *words)],
                       rng_below(r, 4) ? " " : "");
        else if (kind == 5)
            buf_printf(out, "<break time='%dms'/>", (int)rng_below(r, 900));
        else if (kind == 6)
            buf_printf(out, "<mark name='m%d'/>", (*marks)++);
        else if (depth < 6) {
            const char *tag = tags[rng_below(r, sizeof tags / sizeof *tags)];
            const int silent = *tag == 's' && tag[1] == 'u';
            buf_printf(out, "<%s>", tag);
            if (!silent)
                random_document(out, r, depth + 1, marks);
            buf_printf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
        }
    }
    return *marks;
}

static void any_document_keeps_its_marks(void **state)
{
    const VoiceLimits limits = {30, 400}; /* sentences are cut */
    const TextFormatUse use = {.phonemes = 1, .language = "en"};
    Rng r;
    rng_seed(&r, 7);
    for (int k = 0; k < 300; k++) {
        Buf text = {0};
        Err err = {0};
        VoiceLosses losses = {0};
        VoicePart p;
        int marks = 0, found = 0, rc = 0;
        buf_str(&text, "<speak>");
        random_document(&text, &r, 0, &marks);
        buf_str(&text, " hill</speak>");
        VoiceText t = {.p = text.data, .n = text.size};
        assert_int_equal(voice_text_mark_up(&t, TEXT_FORMAT_AUTO, &use, NULL, &err), 0);
        while ((rc = voice_text_next(&t, &p, lab.engine, "en", &limits, &losses, NULL, &err)) == 1) {
            const VoiceWishes *w = &p.wishes;
            for (size_t i = 0; i < w->mark_count; i++) {
                char name[16];
                snprintf(name, sizeof name, "m%d", found++);
                if (strcmp(name, w->marks[i].name) || w->marks[i].symbol < 0 ||
                    w->marks[i].symbol > p.symbols)
                    fail_msg("%s in place of %s: %s", w->marks[i].name, name, text.data);
            }
            for (size_t i = 0; i < w->pause_count; i++)
                if (w->pauses[i].from < (i ? w->pauses[i - 1].to : 0) ||
                    w->pauses[i].from >= w->pauses[i].to || w->pauses[i].to > p.symbols)
                    fail_msg("a pause from %d to %d of %d: %s", w->pauses[i].from, w->pauses[i].to, p.symbols,
                             text.data);
            for (size_t i = 1; i < w->turn_count; i++)
                assert_true(w->turns[i].symbol >= w->turns[i - 1].symbol && w->turns[i].symbol < p.symbols);
            voice_part_free(&p);
        }
        if (rc || found != marks)
            fail_msg("%d, %d of %d marks: %s: %s", rc, found, marks, err.msg, text.data);
        assert_true(t.manner.rate == 1 && t.manner.volume == 1 && t.manner.emphasis == 0);
        voice_text_close(&t);
        voice_losses_free(&losses);
        buf_free(&text);
    }
}

/* ---- W3C's examples ---- */

/* Of Speech Synthesis Markup Language 1.1 (W3C Recommendation, 7 September 2010), sections 3.1 and 3.2, the
 * body of each. */
static const char *const w3c[] = {
    "<speak version=\"1.1\" xmlns=\"http://www.w3.org/2001/10/synthesis\" "
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"http://www.w3.org/2001/10/"
    "synthesis http://www.w3.org/TR/speech-synthesis11/synthesis.xsd\" xml:lang=\"en-US\">\n"
    "<p>I don't speak Japanese.</p><p xml:lang=\"en-GB\">Nihongo-ga wakarimasen.</p></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\"><p><s>This is the first sentence of the paragraph.</s>"
    "<s>Here's another sentence.</s></p></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\">The French word for cat is <w xml:lang=\"fr\">chat</w>. He "
    "prefers to "
    "eat pasta that is <lang xml:lang=\"it\">al dente</lang>.</speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\"><phoneme alphabet=\"ipa\" "
    "ph=\"t&#x259;mei&#x325;&#x27E;ou&#x325;\"> "
    "tomato </phoneme></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\"><sub alias=\"World Wide Web Consortium\">W3C</sub></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\"><voice gender=\"female\" languages=\"en-US\" "
    "required=\"languages "
    "gender variant\">Mary had a little lamb,</voice><voice gender=\"female\" variant=\"2\">Its fleece was "
    "white as "
    "snow.</voice><voice name=\"Mike\" required=\"name\">I want to be like Mike.</voice></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\">That is a <emphasis> big </emphasis> car! That is a <emphasis "
    "level=\"strong\"> huge </emphasis> bank account!</speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\">Take a deep breath <break/> then continue. Press 1 or wait "
    "for the "
    "tone. <break time=\"3s\"/> I didn't hear you! <break strength=\"weak\"/> Please repeat.</speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\">The price of XYZ is <prosody "
    "rate=\"90%\">$45</prosody></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\"><prosody contour=\"(0%,+20Hz) (10%,+30%) (40%,+10Hz)\">good "
    "morning</prosody></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\">Go from <mark name=\"here\"/> here, to <mark name=\"there\"/> "
    "there!</speak>",
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE speak PUBLIC \"-//W3C//DTD SYNTHESIS 1.0//EN\" "
    "\"http://www.w3.org/TR/speech-synthesis/synthesis.dtd\">\n<speak version=\"1.1\" "
    "xml:lang=\"en-US\"><lexicon "
    "uri=\"http://www.example.com/lexicon.pls\" xml:id=\"pls\"/><lookup ref=\"pls\">These words</lookup>. "
    "<say-as "
    "interpret-as=\"date\" format=\"mdy\">2/3/2009</say-as></speak>",
    "<speak version=\"1.1\" xml:lang=\"en-US\"><audio src=\"welcome.wav\"><desc>a "
    "welcome</desc><emphasis>Welcome"
    "</emphasis> to the Voice Portal.</audio></speak>",
};

static void examples_of_w3c_are_accepted(void **state)
{
    for (size_t i = 0; i < sizeof w3c / sizeof *w3c; i++) {
        Buf out = {0};
        Err err = {0};
        VoiceLosses losses = {0};
        assert_int_equal(text_format_of(TEXT_FORMAT_AUTO, w3c[i], strlen(w3c[i])), TEXT_FORMAT_SSML);
        if (read_document(&out, w3c[i], strlen(w3c[i]), &losses, &err))
            fail_msg("%s: %s", w3c[i], err.msg);
        assert_true(out.size > 8);
        if (i != 3) /* its ring below is no symbol of any voice */
            assert_int_equal(losses.count, 0);
        voice_losses_free(&losses);
        buf_free(&out);
    }
}

/* ---- broken and hostile ---- */

static void expect_error(const char *text, size_t n, const char *want)
{
    Buf out = {0};
    Err err = {0};
    Markup m = {0};
    assert_int_equal(text_format_read(&m, TEXT_FORMAT_SSML, text, n, &(TextFormatUse){0}, &err), ERR_DATA);
    if (strncmp(err.msg, want, strlen(want)))
        fail_msg("%.60s: '%s', not '%s'", text, err.msg, want);
    buf_free(&out);
    markup_free(&m);
}

static void errors_have_line_and_column(void **state)
{
    static const char *const table[][2] = {
        {"", "line 1, column 1: there is no element"},
        {"Hello", "line 1, column 1: there is text outside"},
        {"<p>Hi</p>", "line 1, column 1: the first element is <p>"},
        {"<speak>", "line 1, column 1: the element <speak> is not closed"},
        {"<speak>\n  <p>Hi</s></speak>",
         "line 2, column 8: </s> where </p> should be, for the element of line 2"},
        {"<speak>ä\nöü &nbsp;</speak>", "line 2, column 4: unknown entity '&nbsp;'"},
        {"<speak>a & b</speak>", "line 1, column 10: a bare &"},
        {"<speak>&#0;</speak>", "line 1, column 8: this is not the number of a character"},
        {"<speak>&#xFFFF;</speak>", "line 1, column 8: this is not the number"},
        {"<speak>\xEF\xBF\xBF</speak>", "line 1, column 8: U+FFFF is not allowed"},
        {"<speak>\x01</speak>", "line 1, column 8: U+0001 is not allowed"},
        {"<speak>\xFF</speak>", "line 1, column 8: this is not valid UTF-8"},
        {"<speak><break time=1s/></speak>", "line 1, column 20: the value of 'time' must be in quotes"},
        {"<speak><break time='1s' time='2s'/></speak>",
         "line 1, column 25: the attribute 'time' is given twice"},
        {"<speak><break time='<'/></speak>", "line 1, column 21: < is not allowed"},
        {"<speak><break time='1s/></speak>", "line 1, column 25: < is not allowed"},
        {"<speak></speak><speak/>", "line 1, column 16: there is a second element"},
        {"<speak></speak>x", "line 1, column 16: there is text outside"},
        {"<speak><!-- a -- b --></speak>", "line 1, column 15: -- is not allowed"},
        {"<speak><!-- a", "line 1, column 8: the comment"},
        {"<speak><![CDATA[a</speak>", "line 1, column 26: the text ends inside"},
        {"<speak>a]]>b</speak>", "line 1, column 9: ]]> is not allowed"},
        {"<speak><1/></speak>", "line 1, column 9: the name of"},
        {"<speak><mark/></speak>", "line 1, column 8: <mark> needs a name"},
        {"<speak><sub>a</sub></speak>", "line 1, column 8: <sub> needs alias"},
        {"<speak><phoneme>a</phoneme></speak>", "line 1, column 8: <phoneme> needs ph"},
        {"<speak><say-as>a</say-as></speak>", "line 1, column 8: <say-as> needs interpret-as"},
        {"<!DOCTYPE speak [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><speak>&b;</speak>",
         "line 1, column 17: definitions inside the document type"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_error(table[i][0], strlen(table[i][0]), table[i][1]);
}

/* 10,000 elements inside each other, 10 MB, a million comments, hours of silence: an answer, and soon. */
static void hostile_documents_are_limited(void **state)
{
    Markup m = {0};
    Buf silence = {0};
    double seconds = 0;
    buf_str(&silence, "<speak>");
    for (int i = 0; i < 1000; i++)
        buf_str(&silence, "a<break time='60s'/>");
    buf_str(&silence, "</speak>");
    assert_int_equal(
        text_format_read(&m, TEXT_FORMAT_AUTO, silence.data, silence.size, &(TextFormatUse){0}, &(Err){0}),
        1);
    for (size_t i = 0; i < m.controls.size / sizeof(MarkupControl); i++)
        seconds += ((const MarkupControl *)(const void *)m.controls.data)[i].seconds;
    assert_true(seconds == SSML_MOST_SILENCE);
    markup_free(&m);
    buf_free(&silence);
    Buf deep = {0}, large = {0}, comments = {0};
    buf_str(&deep, "<speak>");
    for (int i = 0; i < 10000; i++)
        buf_str(&deep, "<prosody>");
    expect_error(deep.data, deep.size, "line 1, column 575: elements are nested more than 64 deep");
    buf_str(&large, "<speak>");
    while (large.size < (size_t)10 << 20)
        buf_str(&large, "Words, and more words. ");
    expect_error(large.data, large.size, "the document has 10485");
    while (comments.size < ((size_t)7 << 20))
        buf_str(&comments, "<!---->\n");
    buf_str(&comments, "<speak>a<");
    expect_error(comments.data, comments.size, "line 917505, column 10: the name of");
    buf_free(&deep);
    buf_free(&large);
    buf_free(&comments);
}

/* ---- in a voice ---- */

typedef struct Said {
    VoicePart parts[8];
    int count;
} Said;

static void say_parts(Said *s, const char *text)
{
    const Checkpoint *f = voice_checkpoint(lab.voice);
    VoiceText t = {.p = text, .n = strlen(text)};
    VoiceLosses losses = {0};
    Err err = {0};
    *s = (Said){0};
    int rc = voice_begin(&t, f, TEXT_FORMAT_AUTO, &(LanguageWish){0}, &lab.log, &err);
    while (!rc && s->count < 8 && (rc = voice_next(lab.voice, &t, &s->parts[s->count], &losses, &err)) == 1) {
        s->parts[s->count].wishes.speaker = NULL;
        s->count++;
        rc = 0;
    }
    if (rc)
        fail_msg("%s", err.msg);
    voice_text_close(&t);
    voice_losses_free(&losses);
}

static void free_parts(Said *s)
{
    for (int i = 0; i < s->count; i++)
        voice_part_free(&s->parts[i]);
}

/* Frames of the longest pause between two sounds; if there is one sound: before it, or behind it. */
static int64_t longest_gap(const Said *s, int ends)
{
    int64_t gap = 0, longest = 0;
    int letters = 0;
    for (int k = 0; k < s->count; k++)
        for (int i = 0; i < s->parts[k].symbols; i++) {
            if (!tokens_is_letter(s->parts[k].tokens[i])) {
                gap += s->parts[k].speech.durations[i];
                continue;
            }
            longest = gap > longest && (letters || ends) ? gap : longest;
            gap = 0;
            letters++;
        }
    return ends && gap > longest ? gap : longest;
}

static void breaks_are_exact_to_the_frame(void **state)
{
    const Config *cfg = &voice_checkpoint(lab.voice)->cfg;
    static const char *const forms[] = {
        "<speak>red <break time='%dms'/> hill</speak>",
        "<speak>red, <break time='%dms'/> hill</speak>",
        "<speak>red. <break time='%dms'/> Hill.</speak>",
        "<speak><prosody rate='50%%'>red.</prosody><break time='%dms'/><p xml:lang='en'>Hill.</p></speak>",
        "<speak>hill <break time='%dms'/></speak>",
        "<speak><break time='%dms'/> hill</speak>",
    };
    static const int lengths[] = {300, 500, 777, 1000, 2000, 12345};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            char text[200];
            Said s;
            snprintf(text, sizeof text, forms[f], lengths[i]); /* NOLINT: the table above */
            say_parts(&s, text);
            const int64_t want = llround(lengths[i] / 1000.0 * cfg->sample_rate / cfg->hop_length);
            if (longest_gap(&s, f > 3) != want)
                fail_msg("%s: %lld frames, not %lld", text, (long long)longest_gap(&s, f > 3),
                         (long long)want);
            int64_t frames = 0;
            for (int k = 0; k < s.parts[0].speech.text; k++)
                frames += s.parts[0].speech.durations[k];
            assert_int_equal(frames, s.parts[0].frames);
            for (int k = 0; k + 1 < s.count; k++)
                assert_true(s.parts[k].pause == 0);
            free_parts(&s);
        }
}

/* Also where a long text is cut into blocks. */
static void breaks_belong_to_the_sentence_before_them(void **state)
{
    const VoiceLimits limits = {400, 400};
    Buf text = {0};
    Err err = {0};
    VoicePart p;
    VoiceLosses losses = {0};
    int parts = 0;
    buf_str(&text, "<speak>");
    for (int i = 0; i < 200; i++)
        buf_printf(&text, "Old hill, and number %d. <break time='1s'/> ", i);
    buf_str(&text, "</speak>");
    VoiceText t = {.p = text.data, .n = text.size};
    assert_int_equal(voice_text_mark_up(&t, TEXT_FORMAT_AUTO, &(TextFormatUse){.phonemes = 1}, NULL, &err),
                     0);
    while (voice_text_next(&t, &p, lab.engine, "en", &limits, &losses, NULL, &err) == 1) {
        const VoicePause *last = &p.wishes.pauses[p.wishes.pause_count - 1];
        assert_true(p.wishes.pause_count == (parts ? 2 : 1) && last->seconds == 1 && last->to == p.symbols);
        assert_true(!parts || p.wishes.pauses[0].seconds == 0);
        parts++;
        voice_part_free(&p);
    }
    assert_int_equal(parts, 200);
    voice_text_close(&t);
    buf_free(&text);
}

/* The sum of the durations, and the mean pitch and energy, of a word of the first part. */
static double measure(const Said *s, int word, double *pitch, double *energy)
{
    const VoicePart *p = &s->parts[0];
    double frames = 0, heights = 0, energies = 0;
    int now = 0, count = 0;
    for (int i = 0; i < p->symbols; i++) {
        now += tokens_code_point(p->tokens[i]) == ' ';
        if (now != word || !tokens_is_letter(p->tokens[i]))
            continue;
        frames += p->speech.durations[i];
        heights += (double)p->speech.pitch[i];
        energies += (double)p->speech.energy[i];
        count++;
    }
    *pitch = heights / count;
    *energy = energies / count;
    return frames;
}

/* The word in the middle is changed, and it alone. */
static void rate_pitch_and_emphasis_are_measured(void **state)
{
    const Checkpoint *f = voice_checkpoint(lab.voice);
    const double semitone = log(2) / 12 / (f->pitch_deviation > 0 ? f->pitch_deviation : 1);
    static const struct {
        const char *open, *close;
        double length, semitones, energy;
    } table[] = {
        {"<prosody rate='50%'>", "</prosody>", 2, 0, 0},
        {"<prosody rate='80%'>", "</prosody>", 1.25, 0, 0},
        {"<prosody rate='25%'>", "</prosody>", 2, 0, 0}, /* with the speed of the voice not below 0.25 */
        {"<prosody pitch='+2st'>", "</prosody>", 1, 2, 0},
        {"<prosody pitch='-50%'>", "</prosody>", 1, -12, 0},
        {"<emphasis level='strong'>", "</emphasis>", 1.2, 2, 1},
        {"<emphasis level='reduced'>", "</emphasis>", 0.9, -1, -0.5},
    };
    Said plain;
    double pitch0[3], energy0[3], length0[3];
    say_parts(&plain, "red responsibilities old");
    for (int k = 0; k < 3; k++)
        length0[k] = measure(&plain, k, &pitch0[k], &energy0[k]);
    free_parts(&plain);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[300];
        Said s;
        snprintf(text, sizeof text, "<speak>red %sresponsibilities%s old</speak>", table[i].open,
                 table[i].close);
        say_parts(&s, text);
        for (int k = 0; k < 3; k++) {
            double pitch, energy, length = measure(&s, k, &pitch, &energy);
            const int changed = k == 1;
            print_message("%-28s word %d: length x %.3f, pitch %+.3f st, energy %+.2f\n", table[i].open,
                          k + 1, length / length0[k], (pitch - pitch0[k]) / semitone, energy - energy0[k]);
            const double factor = changed ? table[i].length : 1; /* both lengths are rounded to a frame */
            assert_true(fabs(length - factor * length0[k]) <= 1 + factor);
            assert_true(fabs((pitch - pitch0[k]) / semitone - (changed ? table[i].semitones : 0)) < 1e-3);
            assert_true(fabs(energy - energy0[k] - (changed ? table[i].energy : 0)) < 1e-4);
        }
        free_parts(&s);
    }
}

static double loudness(const float *p, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)p[i] * (double)p[i];
    return sqrt(sum / (double)(n ? n : 1));
}

static void say_all(Spoken *out, const char *text)
{
    Err err = {0};
    if (voice_say(lab.voice, out, text, strlen(text), NULL, NULL, &err))
        fail_msg("%s", err.msg);
}

static void volume_is_measured_on_the_sound(void **state)
{
    static const struct {
        const char *volume;
        double factor;
    } table[] = {{"-6dB", 0.5012}, {"soft", 0.5}, {"+3dB", 1.4125},
                 {"silent", 0},    {"25", 0.25},  {"medium", 1}};
    Spoken plain, s;
    say_all(&plain, "hill hill hill");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[200];
        snprintf(text, sizeof text, "<speak><prosody volume='%s'>hill hill hill</prosody></speak>",
                 table[i].volume);
        say_all(&s, text);
        assert_int_equal(s.count, plain.count);
        const int64_t middle = s.count / 2; /* at the end the volume is the usual one again */
        const double factor = loudness(s.samples, middle) / loudness(plain.samples, middle);
        print_message("volume %s: %.4f\n", table[i].volume, factor);
        assert_true(fabs(factor - table[i].factor) < 0.002);
        spoken_free(&s);
    }
    /* What is said around it is as loud as ever; a break is silent to the sample. */
    say_all(&s, "<speak>hill<break time='2s'/>hill</speak>");
    int64_t silent = 0, longest = 0;
    for (int64_t i = 0; i < s.count; i++) {
        silent = s.samples[i] == 0 ? silent + 1 : 0;
        longest = silent > longest ? silent : longest;
    }
    assert_true(longest > (int64_t)(1.5 * voice_checkpoint(lab.voice)->cfg.sample_rate));
    spoken_free(&s);
    spoken_free(&plain);
}

/* The times are those of the sound: what lies before a mark is as long as the text before it. */
static void marks_have_their_times(void **state)
{
    Spoken s;
    const double frame =
        (double)voice_checkpoint(lab.voice)->cfg.hop_length / voice_checkpoint(lab.voice)->cfg.sample_rate;
    say_all(&s, "<speak><mark name='a'/>hill <mark name='b'/><break time='1s'/><mark name='c'/> old. <break "
                "time='1s'/> <mark name='d'/>Red hill.<mark name='e'/></speak>");
    assert_int_equal(s.mark_count, 5);
    for (int i = 0; i < 5; i++)
        print_message("mark %s: %.4f s\n", s.marks[i].name, s.marks[i].seconds);
    assert_string_equal(s.marks[2].name, "c");
    assert_true(s.marks[0].seconds < 0.2);
    assert_true(fabs(s.marks[2].seconds - s.marks[1].seconds - 1) <= frame / 2 + 1e-6);
    assert_true(s.marks[3].seconds > s.marks[2].seconds + 1);
    assert_true(fabs(s.marks[4].seconds - (double)s.count / voice_checkpoint(lab.voice)->cfg.sample_rate) <=
                frame);
    spoken_free(&s);
}

/* Markup that changes nothing changes no sample. */
static void plain_ssml_is_the_text(void **state)
{
    Spoken a, b;
    say_all(&a, "Red hill. Old hill, and more.");
    say_all(&b, "<speak><s>Red <emphasis level='none'>hill</emphasis>.</s> Old <prosody "
                "rate='100%'>hill</prosody>, and "
                "more.</speak>");
    assert_string_equal(a.said, b.said);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.samples, b.samples, (size_t)a.count * sizeof *a.samples);
    spoken_free(&a);
    spoken_free(&b);
}

static void values_are_understood(void **state)
{
    MarkupManner m = MARKUP_MANNER_USUAL;
    double seconds = 0;
    static const char *const wrong[] = {"", "fastest", "1e9", "0x10", "nan", "-", "10 %x", "99999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (ssml_rate(&m, wrong[i]) || ssml_pitch(&m, wrong[i]) || ssml_time(&seconds, wrong[i]))
            fail_msg("'%s' is taken", wrong[i]);
    assert_true(ssml_pitch(&m, "+5Hz") && m.hz == 5);
    assert_true(ssml_pitch(&m, "200Hz") && m.base_hz == 200 && m.hz == 0);
    assert_true(ssml_rate(&m, "1000%") && m.rate == 4); /* within limits */
    assert_true(ssml_time(&seconds, "1.5s") && seconds == 1.5);
    assert_false(ssml_time(&seconds, "-1s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_become_words_and_controls),
        cmocka_unit_test(losses_have_their_place),
        cmocka_unit_test(what_is_not_known_is_noted),
        cmocka_unit_test(any_document_keeps_its_marks),
        cmocka_unit_test(examples_of_w3c_are_accepted),
        cmocka_unit_test(errors_have_line_and_column),
        cmocka_unit_test(hostile_documents_are_limited),
        cmocka_unit_test(breaks_are_exact_to_the_frame),
        cmocka_unit_test(breaks_belong_to_the_sentence_before_them),
        cmocka_unit_test(rate_pitch_and_emphasis_are_measured),
        cmocka_unit_test(volume_is_measured_on_the_sound),
        cmocka_unit_test(marks_have_their_times),
        cmocka_unit_test(plain_ssml_is_the_text),
        cmocka_unit_test(values_are_understood),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
