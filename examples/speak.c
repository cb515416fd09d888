/* speak.c - speaks a text into a sound file.
 *
 *   cc speak.c -o speak $(pkg-config --cflags --libs myxtts)
 *   ./speak RUN "Good morning." morning.wav [SPEAKER] */
#include <myxtts.h>
#include <stdio.h>
#include <string.h>

static int failed(const myxtts_error *e)
{
    fprintf(stderr, "error: %s\n%s%s%s", e->message, *e->hint ? "  hint: " : "", e->hint,
            *e->hint ? "\n" : "");
    return 1;
}

int main(int argc, char **argv)
{
    myxtts_voice_options options = MYXTTS_VOICE_OPTIONS;
    myxtts_manner manner = MYXTTS_MANNER;
    myxtts_error e;
    myxtts_voice *voice;
    float *samples;
    int64_t count;

    if (argc < 4) {
        fprintf(stderr, "usage: speak RUN TEXT FILE.wav [SPEAKER]\n");
        return 2;
    }
    options.checkpoint = argv[1];
    manner.speaker = argc > 4 ? argv[4] : NULL;
    if (myxtts_voice_open(&voice, &options, &e))
        return failed(&e);
    int rate = myxtts_voice_sample_rate(voice);
    int rc = myxtts_voice_say(voice, &samples, &count, argv[2], strlen(argv[2]), &manner, &e);
    if (!rc)
        rc = myxtts_write_audio(argv[3], samples, count, rate, &e);
    if (!rc)
        printf("%s: %.2f s of sound at %d Hz\n", argv[3], (double)count / rate, rate);
    myxtts_free(samples);
    myxtts_voice_close(voice);
    return rc ? failed(&e) : 0;
}
