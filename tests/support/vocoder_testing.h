/* vocoder_testing.h - checkpoints of vocoders that nobody has trained, for tests of what opens them. */
#ifndef TESTS_VOCODER_TESTING_H
#define TESTS_VOCODER_TESTING_H

/* The settings of the mel in make_voice_corpus (train_process.h), as JSON inside of "model": {...}. */
#define SMALL_MEL \
    "\"sample_rate\": 8000, \"n_fft\": 256, \"win_length\": 200, \"hop_length\": 100, \"n_mels\": 16, " \
    "\"mel_fmax\": 4000"

/* Writes a checkpoint with random weights. model: JSON of its settings, without network: "\"vocoder_dim\":
 * 16, ...". Recordings are taken as loud as they are. nan: the first number of this parameter is none; NULL:
 * all are. */
void write_vocoder(const char *path, const char *model, const char *nan);

#endif
