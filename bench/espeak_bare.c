/* espeak_bare.c - the floor of the text stage: a bare loop over the espeak-ng C API, whole lines, results
 * thrown away. usage: espeak_bare METADATA.csv [COLUMN]     prints {"lines": N, "seconds": S} (initialisation
 * not counted) */
#include <espeak-ng/speak_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f || espeak_Initialize(AUDIO_OUTPUT_RETRIEVAL, 0, NULL, 0) < 0 ||
        espeak_SetVoiceByName("en-us") != EE_OK) {
        fprintf(stderr, "usage: espeak_bare METADATA.csv [COLUMN]; needs espeak-ng's en-us voice\n");
        return 2;
    }
    int column = argc > 2 ? atoi(argv[2]) : 3, lines = 0;
    char *line = NULL;
    size_t cap = 0, bytes = 0;
    double spoken = 0;
    while (getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\r\n")] = 0;
        char *text = line;
        for (int c = 1; c < column && text; c++)
            text = strchr(text, '|') ? strchr(text, '|') + 1 : NULL;
        if (!text)
            continue;
        text[strcspn(text, "|")] = 0;
        double start = clock_now();
        for (const void *at = text; at;) {
            const char *ipa = espeak_TextToPhonemes(&at, espeakCHARS_UTF8, '_' << 8 | 0x02);
            bytes += ipa ? strlen(ipa) : 0;
        }
        spoken += clock_now() - start;
        lines++;
    }
    printf("{\"lines\": %d, \"bytes\": %zu, \"seconds\": %.6f}\n", lines, bytes, spoken);
    free(line);
    fclose(f);
    return 0;
}
