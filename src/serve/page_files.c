/* page_files.c - the files of src/page as bytes of the program. The assembler reads them from the folder
 * where the compiler runs; the Makefile has them as prerequisites of this unit. */
#include <string.h>

#include "serve/page.h"

#define FILE_BYTES(name, file) \
    __asm__(".pushsection .rodata\n" \
            ".local page_" #name "\n.local page_" #name "_end\n" \
            "page_" #name ":\n.incbin \"src/page/" file "\"\n" \
            "page_" #name "_end:\n.byte 0\n.popsection\n"); \
    extern const char page_##name[] __attribute__((visibility("hidden"))); \
    extern const char page_##name##_end[] __attribute__((visibility("hidden")))

FILE_BYTES(index, "index.html");
FILE_BYTES(runs, "runs.html");
FILE_BYTES(style, "style.css");
FILE_BYTES(icon, "icon.svg");
FILE_BYTES(base, "base.js");
FILE_BYTES(words, "words.js");
FILE_BYTES(speak, "speak.js");
FILE_BYTES(sound, "sound.js");
FILE_BYTES(strip, "strip.js");
FILE_BYTES(runs_script, "runs.js");
FILE_BYTES(run_log, "run_log.js");
FILE_BYTES(chart, "chart.js");
FILE_BYTES(record, "record.html");
FILE_BYTES(record_script, "record.js");
FILE_BYTES(microphone, "microphone.js");
FILE_BYTES(microphone_worklet, "microphone_worklet.js");

#define HTML "text/html; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

static const PageFile files[] = {
    {"/", HTML, page_index, page_index_end},
    {"/runs", HTML, page_runs, page_runs_end},
    {"/page/style.css", "text/css; charset=utf-8", page_style, page_style_end},
    {"/page/icon.svg", "image/svg+xml", page_icon, page_icon_end},
    {"/page/base.js", SCRIPT, page_base, page_base_end},
    {"/page/words.js", SCRIPT, page_words, page_words_end},
    {"/page/speak.js", SCRIPT, page_speak, page_speak_end},
    {"/page/sound.js", SCRIPT, page_sound, page_sound_end},
    {"/page/strip.js", SCRIPT, page_strip, page_strip_end},
    {"/page/runs.js", SCRIPT, page_runs_script, page_runs_script_end},
    {"/page/run_log.js", SCRIPT, page_run_log, page_run_log_end},
    {"/page/chart.js", SCRIPT, page_chart, page_chart_end},
    {"/record", HTML, page_record, page_record_end},
    {"/page/record.js", SCRIPT, page_record_script, page_record_script_end},
    {"/page/microphone.js", SCRIPT, page_microphone, page_microphone_end},
    {"/page/microphone_worklet.js", SCRIPT, page_microphone_worklet, page_microphone_worklet_end},
};

const PageFile *page_file(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}
