/* train_process.c - see train_process.h. */
#include "train_process.h"

static const char small_voice[] =
    "model:\n"
    "  text_encoder_dim: 16\n  text_encoder_layers: 1\n  text_encoder_heads: 2\n"
    "  audio_encoder_dim: 16\n  audio_encoder_layers: 1\n  audio_encoder_heads: 2\n"
    "  decoder_dim: 32\n  decoder_layers: 1\n  decoder_heads: 2\n  speaker_embedding_dim: 8\n"
    "  gst_num_style_tokens: 4\n  gst_num_heads: 2\n  predictor_dim: 16\n"
    "  sample_rate: 8000\n  n_fft: 256\n  win_length: 200\n  hop_length: 100\n  n_mels: 16\n"
    "  mel_fmax: 4000\n"
    "data:\n"
    "  use_phonemes: false\n  text_cleaners: basic\n  val_split: 0.2\n  batch_size: 3\n  length_buckets: 2\n"
    "  data_gpu: cpu\n  model_gpu: cpu\n  num_workers: 1\n  mixed_precision: false\n  max_mel_frames: 100\n"
    "training:\n"
    "  log_step: 5\n  text2audio_interval_steps: 0\n  listen_clips: 0\n  warmup_steps: 4\n  learning_rate: "
    "0.002\n";

void make_voice_corpus(Corpus *c)
{
    for (int i = 0; i < 19; i++)
        corpus_add(c, 0.3);
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    assert_non_null(f);
    for (int i = 0; i < c->count; i++) {
        snprintf(c->clips[i].text, sizeof c->clips[i].text, "%s hill", i % 2 ? "green" : "old");
        fprintf(f, "%s|%s|%s|%s\n", c->clips[i].id, c->clips[i].text, c->clips[i].text,
                i == 18      ? "dora"
                : i % 3 == 0 ? "anna"
                : i % 3 == 1 ? "boris"
                             : "چارلی");
    }
    assert_int_equal(fclose(f), 0);
    file_put(path_of(c->root, "voice.yaml"), small_voice, strlen(small_voice));
}

void train_start(Run *r, const Corpus *c, const char *folder, int steps, int save, const char *const *more,
                 const char *const *env)
{
    const char *args[MAX_ARGS] = {"train",       "--verbose", "--config",    path_of(c->root, "voice.yaml"),
                                  "--data-path", c->data,     "--cache-dir", c->cache};
    static char numbers[2][16];
    int n = 8;
    snprintf(numbers[0], sizeof numbers[0], "%d", steps);
    snprintf(numbers[1], sizeof numbers[1], "%d", save);
    const char *const own[] = {"--checkpoint-dir", folder,     "--max-steps", numbers[0],
                               "--save-step",      numbers[1], NULL};
    for (int i = 0; own[i]; i++)
        args[n++] = own[i];
    for (int i = 0; more && more[i]; i++)
        args[n++] = more[i];
    run_start(r, args, env);
}

void train_to_end(const Corpus *c, const char *folder, int steps, int save, const char *const *more, int code)
{
    Run r;
    train_start(&r, c, folder, steps, save, more, NULL);
    run_wait(&r, 120);
    if (r.code != code)
        fail_msg("exit code %d where %d was expected: %s", r.code, code, (const char *)r.stderr_text.data);
    run_free(&r);
}

void wait_for(Run *r, const char *text)
{
    double end = clock_now() + 120;
    buf_add(&r->stderr_text, "", 0);
    while (!strstr((const char *)r->stderr_text.data, text)) {
        char piece[4096];
        struct pollfd p = {.fd = r->err, .events = POLLIN};
        poll(&p, 1, 200);
        ssize_t n = p.revents ? read(r->err, piece, sizeof piece) : -1;
        if (n > 0)
            buf_add(&r->stderr_text, piece, (size_t)n);
        buf_add(&r->stderr_text, "", 0);
        if (n == 0 || clock_now() > end)
            fail_msg("\"%s\" was not said: %s", text, (const char *)r->stderr_text.data);
    }
}

int64_t check_folder(const char *folder)
{
    DIR *d = opendir(folder);
    int64_t most = 0;
    for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
        SafeTensors t;
        Err err = {0};
        size_t n = strlen(f->d_name);
        if (n < 12 || strcmp(f->d_name + n - 12, ".safetensors") != 0)
            continue;
        if (safetensors_open(&t, path_of(folder, f->d_name), &err))
            fail_msg("a finished checkpoint is not valid: %s", err.msg);
        safetensors_close(&t);
        int64_t step = strncmp(f->d_name, "step-", 5) == 0 ? atoll(f->d_name + 5) : 0;
        most = step > most ? step : most;
    }
    if (d)
        closedir(d);
    return most;
}
