/* test_corpus_doubts.c - corpora that train without an error and still make no good voice: ten clips, one
 * sentence in fifty takes, a few clips far too loud, recordings of 8 kHz. `train` and `validate` say a
 * sentence of each, say nothing of a good corpus, and a voice comes of all of them. */
#include "support/command_testing.h"
#include "support/train_process.h"

#include <sys/stat.h>

static const char small[] =
    "model:\n"
    "  text_encoder_dim: 16\n  text_encoder_layers: 1\n  text_encoder_heads: 2\n"
    "  audio_encoder_dim: 16\n  audio_encoder_layers: 1\n  audio_encoder_heads: 2\n"
    "  decoder_dim: 16\n  decoder_layers: 1\n  decoder_heads: 2\n  speaker_embedding_dim: 8\n"
    "  gst_num_heads: 2\n  predictor_dim: 16\n"
    "data:\n"
    "  use_phonemes: false\n  text_cleaners: basic\n  val_split: 0\n  batch_size: 4\n"
    "  data_gpu: cpu\n  model_gpu: cpu\n  num_workers: 1\n"
    "training:\n"
    "  max_steps: 2\n  text2audio_interval_steps: 0\n  listen_clips: 0\n";

/* Clips of a second, each with two words of its own. */
typedef struct Recordings {
    int clips, texts, rate;
    int loud;            /* of them: all others are brought down to an eighth */
    const char *more[3]; /* options */
} Recordings;

static void make(const Corpus *c, char folder[256], const char *name, const Recordings *r)
{
    static const char *const words[] = {"old",  "green", "cold", "long", "round", "dark",
                                        "kind", "high",  "soft", "warm", "wide",  "young"};
    const int n = (int)(sizeof words / sizeof *words);
    char path[300];
    snprintf(folder, 256, "%s/%s", c->root, name);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(mkdir(path_of(folder, "wavs"), 0777), 0);
    FILE *f = fopen(path_of(folder, "metadata.csv"), "wb");
    for (int i = 0; i < r->clips; i++) {
        const int text = i % r->texts;
        snprintf(path, sizeof path, "%s/wavs/c%02d.wav", folder, i);
        write_wav(path, 20 + i % 5, 1.2, r->rate, 1);
        if (r->loud && i >= r->loud) { /* sixteen-bit samples behind a header of 44 bytes */
            Buf bytes = file_bytes(path);
            for (size_t k = 44; k + 1 < bytes.size; k += 2) {
                int16_t s;
                memcpy(&s, bytes.data + k, 2);
                s /= 8;
                memcpy(bytes.data + k, &s, 2);
            }
            file_put(path, bytes.data, bytes.size);
            buf_free(&bytes);
        }
        fprintf(f, "c%02d|the %s and %s hill\n", i, words[text % n], words[text / n % n]);
    }
    fclose(f);
}

/* What both commands say; NULL: none of the four sentences. */
static void say(const Corpus *c, const char *name, const Recordings *r, const char *sentence)
{
    static const char *const sentences[] = {"are very few", "between them", "much louder than",
                                            "hears up to"};
    char folder[256], run[300];
    make(c, folder, name, r);
    snprintf(run, sizeof run, "%s/run", folder);
    file_put(path_of(c->root, "small.yaml"), small, strlen(small));
    for (int i = 0; i < 2; i++) { /* train prepares what validate looks at */
        Run p;
        const char *args[16] = {
            i ? "validate" : "train", "--config", path_of(c->root, "small.yaml"), "--data-path", folder,
            "--checkpoint-dir",       run};
        int n = 7;
        for (int k = 0; k < 3 && r->more[k]; k++)
            args[n++] = r->more[k];
        run_program_env(&p, args, NULL);
        const char *said = i ? (const char *)p.stdout_text.data : (const char *)p.stderr_text.data;
        /* Findings name clips; of a corpus that is small or repeats itself it is a remark. */
        const int found =
            i && sentence && (!strcmp(sentence, sentences[2]) || !strcmp(sentence, sentences[3]));
        if (p.code != found)
            fail_msg("%s of %s: exit code %d: %s", args[0], name, p.code, (const char *)p.stderr_text.data);
        for (size_t k = 0; k < sizeof sentences / sizeof *sentences; k++) {
            const int expected = sentence && strcmp(sentence, sentences[k]) == 0;
            if ((strstr(said, sentences[k]) != NULL) != expected)
                fail_msg("%s of %s %s '%s': %s", args[0], name, expected ? "does not say" : "says",
                         sentences[k], said);
        }
        run_free(&p);
    }
    assert_int_equal(check_folder(run), 2); /* a voice all the same */
}

static void a_good_corpus(void **state)
{
    say(*state, "good", &(Recordings){.clips = 40, .texts = 40, .rate = 22050}, NULL);
}

static void ten_clips(void **state)
{
    say(*state, "ten", &(Recordings){.clips = 10, .texts = 10, .rate = 22050}, "are very few");
}

static void one_sentence_in_fifty_takes(void **state)
{
    say(*state, "takes", &(Recordings){.clips = 50, .texts = 1, .rate = 22050}, "between them");
}

static void loud_outliers(void **state)
{
    Recordings r = {.clips = 40,
                    .texts = 40,
                    .rate = 22050,
                    .loud = 3,
                    .more = {"--enable-loudness-normalization", "false"}};
    say(*state, "loud", &r, "much louder than");
    /* Every clip is brought to one loudness: then there are none. */
    r.more[1] = "true";
    say(*state, "levelled", &r, NULL);
}

static void recordings_of_a_telephone(void **state)
{
    say(*state, "narrow", &(Recordings){.clips = 40, .texts = 40, .rate = 8000}, "hears up to");
    /* A voice that does not reach higher has no lack. */
    say(*state, "narrow-voice",
        &(Recordings){.clips = 40, .texts = 40, .rate = 8000, .more = {"--mel-fmax", "4000"}}, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_good_corpus),
        T(ten_clips),
        T(one_sentence_in_fifty_takes),
        T(loud_outliers),
        T(recordings_of_a_telephone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
