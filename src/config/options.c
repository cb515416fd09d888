/* options.c - the one table of options: one row per setting, and the presets that some of them follow.
 * YAML reader, command line, help, `myxtts config` and configs/default.yaml are derived from these rows. */
#include <string.h>

#include "config/bindings.h"
#include "config/languages.h"
#include "config/option_table.h"

/* In the order in which default.yaml has them. */
const char *const option_sections[3] = {"model", "data", "training"};

/* ---- words of the settings that are a choice ---- */

static const OptionName model_sizes[] = {{"nano", SIZE_NANO},
                                         {"light", SIZE_LIGHT},
                                         {"tiny", SIZE_TINY},
                                         {"small", SIZE_SMALL},
                                         {"normal", SIZE_NORMAL},
                                         {"big", SIZE_BIG},
                                         {NULL, 0}};
static const OptionName networks[] = {
    {"voice", NETWORK_VOICE}, {"vocoder", NETWORK_VOCODER}, {"both", NETWORK_BOTH}, {NULL, 0}};
static const OptionName vocoder_sizes[] = {
    {"nano", VOCODER_NANO}, {"small", VOCODER_SMALL}, {"large", VOCODER_LARGE}, {NULL, 0}};
static const OptionName language_methods[] = {{"metadata", LANGUAGE_FROM_METADATA},
                                              {"filename", LANGUAGE_FROM_FILENAME},
                                              {"auto", LANGUAGE_AUTO},
                                              {NULL, 0}};
static const OptionName mel_storages[] = {{"float32", STORE_FLOAT32},
                                          {"float16", STORE_FLOAT16},
                                          {"fp32", STORE_FLOAT32},
                                          {"fp16", STORE_FLOAT16},
                                          {NULL, 0}};
static const OptionName rank_sums[] = {
    {"float32", RANK_SUM_FLOAT32}, {"bf16", RANK_SUM_BF16}, {"fp32", RANK_SUM_FLOAT32}, {NULL, 0}};
static const OptionName preprocessing_modes[] = {{"auto", PREPROCESS_AUTO},
                                                 {"precompute", PREPROCESS_PRECOMPUTE},
                                                 {"on_the_fly", PREPROCESS_ON_THE_FLY},
                                                 {NULL, 0}};
static const OptionName verifications[] = {{"off", VERIFY_OFF},
                                           {"fast", VERIFY_FAST},
                                           {"full", VERIFY_FULL},
                                           {"false", VERIFY_OFF},
                                           {"no", VERIFY_OFF},
                                           {"0", VERIFY_OFF},
                                           {"true", VERIFY_FULL},
                                           {"yes", VERIFY_FULL},
                                           {"on", VERIFY_FULL},
                                           {"1", VERIFY_FULL},
                                           {NULL, 0}};
static const OptionName cleaners[] = {{"none", CLEANER_NONE},
                                      {"basic", CLEANER_BASIC},
                                      {"english", CLEANER_ENGLISH},
                                      {"multilingual", CLEANER_MULTILINGUAL},
                                      {"no_cleaners", CLEANER_NONE},
                                      {"none_cleaners", CLEANER_NONE},
                                      {"basic_cleaners", CLEANER_BASIC},
                                      {"english_cleaners", CLEANER_ENGLISH},
                                      {"multilingual_cleaners", CLEANER_MULTILINGUAL},
                                      {NULL, 0}};
/* Choices are kept as their first word. */
static const OptionName delimiters[] = {{"auto", 0}, {"|", 1},  {"tab", 2}, {"comma", 3},
                                        {"pipe", 1}, {"\t", 2}, {",", 3},   {NULL, 0}};
static const OptionName schedules[] = {
    {"cosine", SCHEDULE_COSINE}, {"noam", SCHEDULE_NOAM}, {"constant", SCHEDULE_CONSTANT}, {NULL, 0}};
static const OptionName strategies[] = {
    {"non_autoregressive", DECODER_PARALLEL}, {"parallel", DECODER_PARALLEL}, {NULL, 0}};
static const OptionName freezes[] = {
    {"none", FREEZE_NONE}, {"text", FREEZE_TEXT}, {"encoders", FREEZE_ENCODERS}, {NULL, 0}};
static const OptionName mel_losses[] = {{"l1", MEL_LOSS_L1}, {"huber", MEL_LOSS_HUBER}, {NULL, 0}};

/* The second factor is 0 times the size of an array that only exists when the field has the row's type. */
#define FIELD(f, T) (offsetof(Config, f) + 0 * sizeof(char[_Generic(((Config *)0)->f, T : 1, default : -1)]))
#define FIELD_ENUM(f) \
    (offsetof(Config, f) + 0 * sizeof(char[sizeof(((Config *)0)->f) == sizeof(int) ? 1 : -1]))
/* One macro per type: section, field, default, range, help; then other names and sections. */
#define ROW(T, s, f, at, d, lo, hi, text) \
    .section = s, .key = #f, .type = T, .offset = at, .def = d, .min = lo, .max = hi, .help = text
#define BOOL(s, f, d, text, ...) \
    { \
        ROW(OPT_BOOL, s, f, FIELD(f, int), d, 0, 1, text), __VA_ARGS__ \
    }
#define INT(s, f, d, lo, hi, text, ...) \
    { \
        ROW(OPT_INT, s, f, FIELD(f, int), d, lo, hi, text), __VA_ARGS__ \
    }
#define INT_AUTO(s, f, lo, hi, text, ...) \
    { \
        ROW(OPT_INT_AUTO, s, f, FIELD(f, int), "auto", lo, hi, text), __VA_ARGS__ \
    }
#define INT64(s, f, d, lo, hi, text, ...) \
    { \
        ROW(OPT_INT64, s, f, FIELD(f, int64_t), d, lo, hi, text), __VA_ARGS__ \
    }
#define FLOAT(s, f, d, lo, hi, text, ...) \
    { \
        ROW(OPT_FLOAT, s, f, FIELD(f, double), d, lo, hi, text), __VA_ARGS__ \
    }
#define STRING(s, f, d, lo, hi, text, ...) \
    { \
        ROW(OPT_STRING, s, f, FIELD(f, const char *), d, lo, hi, text), __VA_ARGS__ \
    }
/* A text that names a file or a folder. */
#define PATH(s, f, d, lo, text, ...) \
    { \
        ROW(OPT_STRING, s, f, FIELD(f, const char *), d, lo, 4000, text), .is_path = 1, __VA_ARGS__ \
    }
#define CHOICE(s, f, d, words, text, ...) \
    { \
        ROW(OPT_CHOICE, s, f, FIELD(f, const char *), d, 0, 0, text), .names = words, __VA_ARGS__ \
    }
#define ENUM(s, f, d, words, text, ...) \
    { \
        ROW(OPT_ENUM, s, f, FIELD_ENUM(f), d, 0, 0, text), .names = words, __VA_ARGS__ \
    }
#define LIST(s, f, d, lo, hi, sep, text, ...) \
    { \
        ROW(OPT_LIST, s, f, FIELD(f, StringList), d, lo, hi, text), .separator = sep, __VA_ARGS__ \
    }
#define DEVICE(s, f, d, text, ...) \
    { \
        ROW(OPT_DEVICE, s, f, FIELD(f, const char *), d, 0, 0, text), __VA_ARGS__ \
    }
#define ALIAS(names) .aliases = names
#define ALSO(sections) .also = sections
/* What depends on the value (bindings.h): a cache that is rebuilt, a checkpoint that cannot be used. */
#define BINDS(what) .binds = (what)
#define WITH(key) .with = #key + 0 * sizeof(((Config *)0)->key) /* compiles for members of Config only */
#define MEL_AND_VOICE BINDS(BOUND_MEL_CACHE | BOUND_CHECKPOINT | BOUND_VOCODER)
#define TEXT_AND_VOICE BINDS(BOUND_TEXT_CACHE | BOUND_CHECKPOINT)
#define SOUND_AND_VOICE BINDS(BOUND_AUDIO_CACHE | BOUND_MEL_CACHE | BOUND_CHECKPOINT | BOUND_VOCODER)
#define SOUND BINDS(BOUND_AUDIO_CACHE | BOUND_MEL_CACHE) /* what the mel is computed from */
#define MEL_ONLY BINDS(BOUND_MEL_CACHE)
#define TEXT_ONLY BINDS(BOUND_TEXT_CACHE)
#define VOICE_ONLY BINDS(BOUND_CHECKPOINT)
#define VOCODER_ONLY BINDS(BOUND_VOCODER)
#define LOSS BINDS(BOUND_LOSS)
#define M "model"
#define D "data"
#define T "training"

/* clang-format off */
const Option option_table[] = {
    /* model: the network */
    ENUM(M, model_size, "tiny", model_sizes,
         "Preset for the sizes of the network and the learning rate; keys that are set explicitly override "
         "it."),
    INT(M, text_encoder_dim, "384", 16, 8192, "Width of the text encoder.", VOICE_ONLY),
    INT(M, text_encoder_layers, "4", 1, 64, "Transformer layers of the text encoder.", VOICE_ONLY),
    INT(M, text_encoder_heads, "6", 1, 128,
         "Attention heads of the text encoder; must divide text_encoder_dim.", VOICE_ONLY),
    INT(M, audio_encoder_dim, "256", 16, 8192,
         "Width of the voice encoder, which listens to a reference mel of the speaker.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, audio_encoder_layers, "2", 1, 64, "Transformer layers of the voice encoder.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, audio_encoder_heads, "4", 1, 128,
         "Attention heads of the voice encoder; must divide audio_encoder_dim.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, decoder_dim, "384", 16, 8192, "Width of the mel decoder.", VOICE_ONLY),
    INT(M, decoder_layers, "6", 1, 64, "Transformer layers of the mel decoder.", VOICE_ONLY),
    INT(M, decoder_heads, "6", 1, 128, "Attention heads of the mel decoder; must divide decoder_dim.",
         VOICE_ONLY),
    INT(M, speaker_embedding_dim, "256", 8, 4096, "Length of the voice vector.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    BOOL(M, use_voice_conditioning, "true", "Condition the decoder on the voice vector of a reference clip.",
         VOICE_ONLY),
    BOOL(M, use_gst, "true", "Global style tokens in addition to the voice vector.", ALIAS("enable_gst"),
         VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, gst_num_style_tokens, "10", 1, 256, "Number of style tokens.", VOICE_ONLY, WITH(use_gst)),
    INT(M, gst_num_heads, "4", 1, 64,
         "Attention heads over the style tokens; must divide speaker_embedding_dim.", VOICE_ONLY,
         WITH(use_gst)),
    INT(M, feed_forward_ratio, "3", 1, 8,
         "Width of the feed-forward part of a layer, as a multiple of the layer's width.", VOICE_ONLY),
    INT(M, predictor_dim, "256", 8, 4096, "Width of the predictor of duration, pitch and energy.",
         VOICE_ONLY),
    INT(M, critic_dim, "256", 0, 2048,
         "Width of the critics: networks that are trained along with the voice to tell its mels from "
         "recordings, and so teach it to sound like them. They are not part of the finished voice. 0: none.",
         VOICE_ONLY),
    ENUM(M, decoder_strategy, "non_autoregressive", strategies,
         "How frames are made: non_autoregressive computes all frames at once, with a predicted duration for "
         "each symbol."),
    FLOAT(M, dropout, "0.1", 0, 0.9, "Dropout of the transformer layers."),

    /* model: the vocoder */
    ENUM(M, network, "voice", networks,
         "What to train: voice (text to mels), vocoder (mels to sound), or both, one after the other.",
         ALSO("training"), BINDS(BOUND_CHECKPOINT | BOUND_VOCODER)),
    ENUM(M, vocoder_size, "small", vocoder_sizes,
         "Preset for the sizes of the vocoder; keys that are set explicitly override it. "
         "On a GPU large, unless it is set."),
    INT(M, vocoder_dim, "256", 16, 8192, "Width of the vocoder.", VOCODER_ONLY),
    INT(M, vocoder_layers, "8", 1, 64, "Blocks of the vocoder.", VOCODER_ONLY),
    INT(M, vocoder_critic_dim, "0", 0, 2048,
         "Width of the vocoder's critics: networks that are trained along with it to tell its sound from "
         "recordings, and so teach it to sound like them. They are not part of the finished vocoder. On a "
         "GPU, a large vocoder that learns from half an hour of speech or more has critics of half its "
         "width, unless this is set. 0: none.",
         VOCODER_ONLY),

    /* model: the features it sees */
    INT(M, sample_rate, "22050", 4000, 192000,
         "Samples per second; recordings at other rates are resampled.", ALSO("data"), SOUND_AND_VOICE),
    INT(M, n_fft, "1024", 64, 16384, "FFT length of the mel, in samples.", ALSO("data"), SOUND_AND_VOICE),
    INT(M, win_length, "1024", 32, 16384,
         "Window length of the mel, in samples; at most n_fft.", ALSO("data"), MEL_AND_VOICE),
    INT(M, hop_length, "256", 16, 8192,
         "Samples from one mel frame to the next; at most win_length.", ALSO("data"), SOUND_AND_VOICE),
    INT(M, n_mels, "80", 8, 512, "Mel bands.", ALSO("data"), MEL_AND_VOICE),
    FLOAT(M, mel_fmin, "0", 0, 96000, "Lowest frequency of the mel, in Hz.", ALIAS("fmin"), ALSO("data"),
         MEL_AND_VOICE),
    FLOAT(M, mel_fmax, "8000", 1, 96000,
         "Highest frequency of the mel, in Hz; at most half of sample_rate.", ALIAS("fmax"), ALSO("data"),
         MEL_AND_VOICE),

    /* data: what is on disk */
    PATH(D, data_path, "", 0, "Folder of the dataset.", ALIAS("dataset_path train_data")),
    PATH(D, cache_dir, "", 0,
         "Folder of the caches; \"\" is myxtts-cache inside data_path."),
    PATH(D, metadata_train_file, "metadata.csv", 1,
         "Metadata file, relative to data_path."),
    PATH(D, metadata_eval_file, "", 0,
         "Metadata file of the validation clips; if \"\", val_split of the texts are held out instead."),
    PATH(D, wavs_train_dir, "", 0,
         "Folder of the recordings, relative to data_path; \"\" means wavs if it exists, otherwise data_path "
         "itself."),
    PATH(D, wavs_eval_dir, "", 0,
         "Folder of the validation recordings; \"\" means the same as for training."),
    CHOICE(D, metadata_delimiter, "auto", delimiters, "Separator between the columns of the metadata."),
    FLOAT(D, val_split, "0.05", 0, 0.9,
         "Share of the texts held out for validation, with all their takes, if metadata_eval_file is not "
         "set."),
    INT64(D, seed, "1234", 0, 9007199254740991.0,
         "Seed of the split, the order of the clips, the initial weights and dropout.", ALSO("training")),
    BOOL(D, enable_multispeaker, "true",
         "Tell speakers apart by the speaker column or speaker_id_pattern; off treats all clips as one "
         "speaker."),
    STRING(D, speaker_id_pattern, "", 0, 1000,
         "POSIX extended regular expression for ids, whose first group is the speaker; \"\" for none."),

    /* data: text */
    STRING(D, language, "en", 2, 15,
         "Language of lines that do not name one, and of lines whose language cannot be detected.", TEXT_ONLY,
         .usual = language_code),
    ENUM(D, language_detection_method, "metadata", language_methods,
         "Where the language of a line comes from: the metadata column, the file name, or the text itself.",
         TEXT_ONLY),
    LIST(D, supported_languages, NULL, 1, CONFIG_MAX_LIST, ',',
         "Languages that detection chooses among.", .def_item = language_code, TEXT_ONLY),
    ENUM(D, text_cleaners, "multilingual", cleaners,
         "none; basic: cleans punctuation, and lowers case if use_phonemes is off; english: also writes out "
         "numbers and abbreviations in English lines; multilingual: in every line, in its language.",
         .one_item_list = 1, TEXT_ONLY),
    BOOL(D, use_phonemes, "true",
         "Use the phonemes of espeak-ng as symbols; off uses the characters of the cleaned text.",
         TEXT_AND_VOICE),
    STRING(D, phoneme_language, "", 0, 31, "espeak-ng voice for every line; \"\" chooses it by language.",
         TEXT_ONLY),
    PATH(D, lexicon, "", 0,
         "File with your own pronunciations, one a line: word, TAB, IPA. A voice keeps the pronunciations "
         "it was trained with; those in this file override them.", WITH(use_phonemes)),
    INT(D, phoneme_timeout_ms, "5000", 100, 600000,
         "Milliseconds that espeak-ng may take for one line; after that the line is rejected."),
    BOOL(D, add_blank, "false", "Put a blank token after every symbol.", TEXT_AND_VOICE),
    INT(D, max_text_length, "500", 4, 65535,
         "Maximum number of characters in a line, as it stands in the metadata; longer lines are skipped and "
         "counted.",
         ALSO("model")),

    /* data: audio */
    BOOL(D, trim_silence, "true", "Cut silence from the beginning and the end of each clip.", SOUND),
    FLOAT(D, trim_top_db, "40", 5, 120,
         "Frames this many decibels below the loudest one count as silence. 40 keeps the quiet endings of "
         "words; 20-30 cuts closer and may lose them.", SOUND, WITH(trim_silence)),
    BOOL(D, enable_loudness_normalization, "true", "Level every clip to target_loudness_lufs (EBU R128).",
         SOUND),
    FLOAT(D, target_loudness_lufs, "-23", -70, -5, "Loudness that clips are levelled to, in LUFS.",
         SOUND, WITH(enable_loudness_normalization)),
    FLOAT(D, min_audio_length, "0.1", 0, 3600, "Minimum length in seconds; shorter recordings are skipped "
                                               "and counted."),
    FLOAT(D, max_audio_length, "30", 0.1, 36000, "Maximum length in seconds; longer recordings are skipped "
                                                 "and counted."),
    INT(D, max_mel_frames, "1024", 8, 65535,
         "Maximum number of mel frames in a clip; longer clips are skipped and counted."),
    ENUM(D, mel_storage, "float32", mel_storages, "Number format of the mel cache; float16 needs half the "
                                                  "disk space.",
         MEL_ONLY),

    /* data: caches and loading */
    ENUM(D, preprocessing_mode, "auto", preprocessing_modes,
         "precompute: read mels from the cache; on_the_fly: read samples from disk and compute the mels on "
         "the data device; auto: on_the_fly if augment_speed is set, or if the mels do not fit into free "
         "memory and the audio files are at most half as large; otherwise precompute."),
    ENUM(D, cache_verification, "fast", verifications,
         "What to check of the caches. fast: header, sizes and stamps of the sources; full: every checksum; "
         "off: nothing. true is full, false is off."),
    INT_AUTO(D, num_workers, 0, 256,
         "Worker threads of the loader and worker processes of the phonemiser; auto: one per core; 0: no "
         "workers, the main thread does the work."),
    INT(D, batch_size, "32", 1, 4096, "Maximum number of clips that a device processes at once."),
    INT(D, global_batch_size, "0", 0, 1048576,
         "Clips in a batch over all ranks; 0 means batch_size per rank. If a rank's share is larger than "
         "batch_size, it is processed in parts whose gradients are added. So this setting decides what is "
         "learned, batch_size only how much memory it takes.", ALSO(
              "training")),
    INT_AUTO(D, prefetch_buffer_size, 1, 1024,
         "Batches prepared ahead in host memory; auto starts with 64 / batch_size (at least 2, at most 8) "
         "and grows up to eightfold while loading stalls make the model device wait."),
    INT(D, pipeline_buffer_size, "8", 3, 1024,
         "Maximum number of device buffers; the pipeline starts with 3.", ALIAS("buffer_size")),
    BOOL(D, native_loading, "true",
         "Load batches in the background; off: the trainer loads each batch itself, for comparison.", ALIAS(
              "use_tf_native_loading")),
    BOOL(D, prefetch_to_gpu, "true",
         "Copy batches to the data device ahead of time; off: only when the model device has nothing left to "
         "do."),
    BOOL(D, enhanced_gpu_prefetch, "true", "Use a separate stream for copies."),
    BOOL(D, optimize_cpu_gpu_overlap, "true", "Overlap copies, preprocessing and the training step."),
    BOOL(D, pin_memory, "true", "Use page-locked memory for batches on the host."),
    BOOL(D, enable_memory_mapping, "true", "Map the caches into memory; off reads them."),
    BOOL(D, pad_to_fixed_length, "false",
         "Pad every batch to the longest text and to max_mel_frames; off pads "
         "to the shape of a length bucket.", ALIAS("enable_static_shapes")),
    INT(D, length_buckets, "8", 1, 64, "Number of shapes that clips are sorted into by length when "
                                       "pad_to_fixed_length is off."),
    INT(D, vocoder_segment_frames, "48", 8, 65535,
         "Mel frames of a clip that a vocoder is trained on at a time; every epoch cuts out another piece.",
         ALSO(
              "training")),
#define AUGMENT_OPTION(name, key, most, of, neutral, drawn, salt, segments, help) \
    FLOAT(D, key, "0", 0, most, help),
    AUGMENTATIONS(AUGMENT_OPTION)
#undef AUGMENT_OPTION

    /* data: devices */
    DEVICE(D, data_gpu, "auto",
         "Device that prepares batches: a GPU number, cpu, or a simulated GPU; auto is the first GPU, or "
         "cpu."),
    DEVICE(D, model_gpu, "auto",
         "Device that trains: a GPU number, cpu, or a simulated GPU; auto is the first GPU, or cpu. It may "
         "be the same as data_gpu."),
    INT(D, data_gpu_memory, "0", 0, 1048576, "Memory limit on the data device, in MB; 0: none."),
    INT(D, model_gpu_memory, "0", 0, 1048576, "Memory limit on the model device, in MB; 0: none."),
    BOOL(D, enable_memory_isolation, "true",
         "Keep both devices within their memory limits, which is checked before the first step."),
    BOOL(D, mixed_precision, "true",
         "Compute in bf16 with fp32 master weights and reductions.", ALSO("training")),
    BOOL(D, enable_xla, "true",
         "On a GPU: compute bias and activation inside the matrix products; off: in separate kernels.",
         ALIAS("enable_xla_compilation"), ALSO(
              "training")),
    STRING(D, sim, "", 0, 1000,
         "Describes a simulated machine with the devices sim0, sim1, ...; \"\" for none."),

    /* training */
    INT(T, epochs, "1000", 1, 1000000,
        "Passes over the training clips. If minutes is set and this is not, only the time counts."),
    FLOAT(T, minutes, "0", 0, 100000,
         "How long to train, in minutes: max_steps is set from the measured time of a step. A finished run "
         "continues for this long again. 0, which only a file may say: no limit; epochs and max_steps end "
         "the run."),
    INT64(T, max_steps, "0", 0, 1000000000000.0, "Stop after this many steps; 0: only epochs count."),
    FLOAT(T, learning_rate, "0.001", 0, 1, "Highest learning rate, reached after warmup_steps.", ALIAS("lr")),
    FLOAT(T, min_learning_rate, "0.00001", 0, 1, "Learning rate at the end of the cosine schedule."),
    FLOAT(T, weight_decay, "0.01", 0, 1, "AdamW: weight decay, not applied to biases and norms."),
    FLOAT(T, beta1, "0.9", 0, 0.999999, "AdamW: decay of the running mean of the gradient (beta1)."),
    FLOAT(T, beta2, "0.98", 0, 0.999999, "AdamW: decay of the running mean of the squared gradient (beta2)."),
    FLOAT(T, adam_eps, "1e-8", 1e-16, 0.01,
         "AdamW: added to the root of the mean squared gradient (epsilon).", ALIAS("eps")),
    FLOAT(T, gradient_clip_norm, "1", 0, 1000000, "Maximum norm of the whole gradient, which is scaled down "
                                                  "to it; 0 is off."),
    INT(T, warmup_steps, "400", 0, 1000000,
         "Steps of linear warm-up. If minutes is set and this is not, at most a tenth of all steps."),
    INT(T, gradient_accumulation_steps, "1", 1, 1024,
         "Number of batches whose gradients are added for one step; the effective batch grows by this "
         "factor.", ALIAS(
              "grad_accum")),
    ENUM(T, rank_sum, "float32", rank_sums,
         "Number format in which ranks exchange gradients; bf16 halves the bytes and rounds each rank's "
         "gradient. They are added in float32, in the order of the ranks."),
    ENUM(T, scheduler, "cosine", schedules, "How the learning rate changes after the warm-up."),
    BOOL(T, enable_graph_mode, "true", "Capture the training step as a CUDA graph for each batch shape."),
    BOOL(T, enable_eager_debug, "false",
         "Run the step without graphs and wait after each phase, so that an error is reported where it "
         "happens; slow, GPU only."),
    BOOL(T, deterministic, "false",
         "On a GPU, use the library's default algorithms for matrix products instead of the fastest measured "
         "ones, so that two runs give the same numbers. The CPU always does."),
    ENUM(T, mel_loss, "l1", mel_losses, "Distance between predicted and true mel.", LOSS),
    FLOAT(T, huber_delta, "1", 0.000001, 1000, "Where the Huber loss changes from quadratic to linear.",
         LOSS),
    FLOAT(T, mel_loss_weight, "1", 0, 1000, "Weight of the mel loss.",
         LOSS),
    FLOAT(T, align_loss_weight, "1", 0.001, 1000,
         "Weight of the loss that teaches the alignment of symbols and frames.",
         LOSS),
    FLOAT(T, duration_loss_weight, "1", 0.001, 1000, "Weight of the loss of the durations of symbols.",
         LOSS),
    FLOAT(T, pitch_loss_weight, "0.5", 0.001, 1000, "Weight of the loss of the pitch of symbols.",
         LOSS),
    FLOAT(T, energy_loss_weight, "0.5", 0.001, 1000, "Weight of the loss of the energy of symbols.",
         LOSS),
    FLOAT(T, critic_from, "0.3", 0, 1,
         "Share of the run after which the critics take part; until then the voice learns to pronounce "
         "words, and the vocoder what a sound is. Without a value a vocoder with critics takes 0.7."),
    FLOAT(T, critic_loss_weight, "0.1", 0.001, 1000,
         "Weight of the critics' own loss. AdamW is indifferent to it, the clipping of gradients is not."),
    FLOAT(T, adversarial_loss_weight, "0.2", 0, 1000, "Weight of the loss from the critics' scores."),
    FLOAT(T, feature_loss_weight, "1", 0, 1000,
         "Weight of the loss from the critics' layers: what the network makes should activate them as the "
         "recordings do."),
    FLOAT(T, spectral_loss_weight, "1", 0.001, 1000,
         "Weight of the vocoder's loss between the spectra of its sound and those of the recording.", LOSS),
    FLOAT(T, max_loss_spike_threshold, "10", 1, 1000000,
         "Skip a step whose gradient norm is over this many times its running mean."),
    INT(T, guard_max_skips, "20", 1, 100000, "Stop the run after this many skipped steps in a row."),
    INT(T, early_stopping_patience, "0", 0, 100000,
         "Stop the run after this many validations that did not improve the best checkpoint; 0 is off."),
    FLOAT(T, early_stopping_min_delta, "0.0005", 0, 1000,
         "Smallest gain that counts as an improvement: in the score of a voice, or in the validation loss of "
         "a vocoder."),
    INT(T, save_step, "1000", 1, 100000000, "Number of steps between checkpoints."),
    INT(T, val_step, "500", 1, 100000000, "Number of steps between validations."),
    INT(T, validation_clips, "2000", 0, 100000000,
        "Most held-out clips that a validation hears (of a vocoder: segments), evenly spread over all of "
        "them; 0 is all. The others are not trained on either."),
    INT(T, listen_clips, "8", 0, 1000,
         "Number of validation clips whose texts are spoken at every validation and judged, by a recogniser "
         "if one is installed; 0: no recogniser, 8 clips are only compared with their recordings."),
    INT(T, log_step, "50", 1, 100000000,
         "Number of steps between lines in log.jsonl and in the event file. The terminal gets a line every "
         "few seconds."),
    INT(T, keep_checkpoints, "3", 1, 10000,
         "Number of recent checkpoints to keep, in addition to the best one and the newest one from which "
         "training is known to continue well."),
    PATH(T, checkpoint_dir, "checkpoints", 1,
         "Folder of the checkpoints and logs; if not set, the folder in it that has the name of data_path."),
    PATH(T, resume, "auto", 1,
         "auto: resume from the newest valid checkpoint if there is one; none: start over; or the path of a "
         "checkpoint; or the folder of a run, which is then continued in that folder.", ALIAS(
              "resume_from")),
    PATH(T, from_voice, "", 0,
         "Run or checkpoint of a voice: the vocoder is trained on the mels that this voice makes for the "
         "clips, instead of those of the recordings; \"\" is off."),
    PATH(T, init_from, "", 0,
         "Checkpoint file, folder of a run, or file from `myxtts export` whose weights a new run starts with "
         "(fine-tuning); none: random weights; \"\": the base that comes with the program if there are less "
         "than 30 minutes of speech, otherwise random weights. Sizes that are not set are taken from the "
         "file. Steps, schedule and optimiser start from zero."),
    ENUM(T, freeze, "none", freezes,
         "Parts of the initial voice that are not trained further: none, the text encoder, or the text and "
         "the voice encoder. A vocoder has neither."),
    INT(T, text2audio_interval_steps, "1000", 0, 100000000,
         "Number of steps between spoken samples (event file, samples/*.wav in checkpoint_dir); 0 is off."),
    LIST(T, text2audio_texts, "The quick brown fox jumps over the lazy dog.", 0, CONFIG_MAX_LIST, '|',
         "Sentences to speak as samples; on the command line with | between them."),
};
/* clang-format on */

int option_count(void) { return (int)(sizeof option_table / sizeof option_table[0]); }

/* Keys that follow another, with a value for each of its words in their order; NULL: none. The sizes are
 * those of docs/MODEL.md. What comes first wins. */
static const Preset presets[] = {
    {"learning_rate", "network", {NULL, "0.0005"}},
    {"min_learning_rate", "network", {NULL, "0.000005"}},
    {"beta1", "network", {NULL, "0.8"}},
    {"beta2", "network", {NULL, "0.95"}},
    {"gradient_clip_norm", "network", {NULL, "20"}},
    {"warmup_steps", "network", {NULL, "0"}},
    {"adversarial_loss_weight", "network", {NULL, "0.1"}},
    {"feature_loss_weight", "network", {NULL, "0.4"}},
    {"vocoder_dim", "vocoder_size", {"128", "256", "512"}},
    {"vocoder_layers", "vocoder_size", {"6", "8", "8"}},
    {"text_encoder_dim", "model_size", {"128", "256", "384", "512", "640", "768"}},
    {"text_encoder_layers", "model_size", {"3", "4", "4", "5", "6", "8"}},
    {"text_encoder_heads", "model_size", {"2", "4", "6", "8", "10", "12"}},
    {"audio_encoder_dim", "model_size", {"128", "128", "256", "384", "512", "512"}},
    {"audio_encoder_layers", "model_size", {"1", "1", "2", "3", "4", "6"}},
    {"audio_encoder_heads", "model_size", {"2", "2", "4", "6", "8", "8"}},
    {"decoder_dim", "model_size", {"128", "256", "384", "512", "640", "768"}},
    {"decoder_layers", "model_size", {"4", "5", "6", "8", "10", "12"}},
    {"decoder_heads", "model_size", {"2", "4", "6", "8", "10", "12"}},
    {"speaker_embedding_dim", "model_size", {"64", "128", "256", "320", "512", "640"}},
    {"gst_num_heads", "model_size", {"4", "4", "4", "4", "4", "8"}},
    {"feed_forward_ratio", "model_size", {"3", "2", "3", "3", "3", "3"}},
    {"predictor_dim", "model_size", {"128", "192", "256", "256", "384", "384"}},
    {"critic_dim", "model_size", {"64", "256", "256", "256", "256", "256"}},
    {"learning_rate", "model_size", {"0.002", "0.0015", "0.001", "0.0007", "0.0005", "0.0004"}},
};

const Preset *option_follows(const Option *o, int n)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(presets[i].key, o->key) == 0 && n-- == 0)
            return &presets[i];
    return NULL;
}

/* Presets are texts like defaults, and go through the same checks. */
const char *option_preset(const Option *o, const Config *cfg, const char **word)
{
    const Preset *p;
    for (int n = 0; (p = option_follows(o, n)); n++) {
        const Option *by = &option_table[option_find(p->by, strlen(p->by))];
        const int choice = *(const int *)((const char *)cfg + by->offset);
        if (word)
            *word = by->names[choice].word;
        if (p->values[choice])
            return p->values[choice];
    }
    return NULL;
}

/* One letter of a name: dashes count as underscores. */
static int letter(char c) { return c == '-' ? '_' : c; }

static int same_name(const char *a, size_t na, const char *b, size_t nb)
{
    if (na != nb)
        return 0;
    for (size_t i = 0; i < na; i++)
        if (letter(a[i]) != letter(b[i]))
            return 0;
    return 1;
}

/* 1 when one of the blank-separated words is the name. */
static int in_words(const char *words, const char *name, size_t n)
{
    for (const char *p = words ? words : ""; *p;) {
        size_t len = strcspn(p, " ");
        if (same_name(p, len, name, n))
            return 1;
        p += len + (p[len] == ' ');
    }
    return 0;
}

/* ---- finding a row ---- */

int option_find(const char *name, size_t n)
{
    for (int i = 0; i < option_count(); i++)
        if (same_name(option_table[i].key, strlen(option_table[i].key), name, n) ||
            in_words(option_table[i].aliases, name, n))
            return i;
    return -1;
}

int option_in_section(const Option *o, const char *section)
{
    return strcmp(o->section, section) == 0 || in_words(o->also, section, strlen(section));
}

/* --batch-size=16, --no-add-blank, --disable-loudness-normalization. */
int option_find_argument(const char *arg, int *negated, const char **value)
{
    static const char disable[] = "disable_", enable[] = "enable_";
    const char *name = arg + strspn(arg, "-");
    size_t n = strcspn(name, "=");
    char word[64];

    *negated = 0;
    *value = name[n] == '=' ? name + n + 1 : NULL;
    /* A key of the table wins over a reading as no-KEY or disable-X. */
    int row = option_find(name, n);
    if (row >= 0 || n + 1 > sizeof word)
        return row;
    if (n > 3 && same_name(name, 3, "no_", 3)) {
        row = option_find(name + 3, n - 3);
    } else if (n > strlen(disable) && same_name(name, strlen(disable), disable, strlen(disable))) {
        size_t rest = n - strlen(disable);
        memcpy(word, enable, strlen(enable));
        memcpy(word + strlen(enable), name + strlen(disable), rest);
        row = option_find(word, strlen(enable) + rest);
    }
    if (row < 0 || option_table[row].type != OPT_BOOL)
        return -1;
    *negated = 1;
    return row;
}
