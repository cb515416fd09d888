/* options.c - the one table of options: one row per setting, and the presets that some of them follow.
 * YAML reader, command line, help, `myxtts config` and configs/default.yaml are derived from these rows. */
#include <string.h>

#include "config/bindings.h"
#include "config/languages.h"
#include "config/option_table.h"

/* In the order in which default.yaml has them. */
const char *const option_sections[3] = {"model", "data", "training"};

/* ---- words of the settings that are a choice ---- */

static const OptionName model_sizes[] = {{"nano", SIZE_NANO},     {"tiny", SIZE_TINY}, {"small", SIZE_SMALL},
                                         {"normal", SIZE_NORMAL}, {"big", SIZE_BIG},   {NULL, 0}};
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
/* What depends on the value (bindings.h): a cache that is built anew, a checkpoint that cannot be used. */
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
         "Preset that gives the sizes of the network and the learning rate; keys given beside it win."),
    INT(M, text_encoder_dim, "384", 16, 8192, "Width of the text encoder.", VOICE_ONLY),
    INT(M, text_encoder_layers, "4", 1, 64, "Transformer layers of the text encoder.", VOICE_ONLY),
    INT(M, text_encoder_heads, "6", 1, 128,
         "Attention heads of the text encoder; they divide text_encoder_dim.", VOICE_ONLY),
    INT(M, audio_encoder_dim, "256", 16, 8192,
         "Width of the voice encoder, which listens to a reference mel of the speaker.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, audio_encoder_layers, "2", 1, 64, "Transformer layers of the voice encoder.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, audio_encoder_heads, "4", 1, 128,
         "Attention heads of the voice encoder; they divide audio_encoder_dim.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, decoder_dim, "384", 16, 8192, "Width of the mel decoder.", VOICE_ONLY),
    INT(M, decoder_layers, "6", 1, 64, "Transformer layers of the mel decoder.", VOICE_ONLY),
    INT(M, decoder_heads, "6", 1, 128, "Attention heads of the mel decoder; they divide decoder_dim.",
         VOICE_ONLY),
    INT(M, speaker_embedding_dim, "256", 8, 4096, "Length of the voice vector.", VOICE_ONLY,
         WITH(use_voice_conditioning)),
    BOOL(M, use_voice_conditioning, "true", "Condition the decoder on the voice vector of a reference clip.",
         VOICE_ONLY),
    BOOL(M, use_gst, "true", "Global style tokens beside the voice vector.", ALIAS("enable_gst"), VOICE_ONLY,
         WITH(use_voice_conditioning)),
    INT(M, gst_num_style_tokens, "10", 1, 256, "How many style tokens there are.", VOICE_ONLY, WITH(use_gst)),
    INT(M, gst_num_heads, "4", 1, 64,
         "Attention heads over the style tokens; they divide speaker_embedding_dim.", VOICE_ONLY,
         WITH(use_gst)),
    INT(M, feed_forward_ratio, "3", 1, 8,
         "Width of the feed-forward part of a layer, as a multiple of the layer's.", VOICE_ONLY),
    INT(M, predictor_dim, "256", 8, 4096, "Width of the predictor of duration, pitch and energy.",
         VOICE_ONLY),
    INT(M, critic_dim, "256", 0, 2048,
         "Width of the critics: networks that learn, beside the voice, to tell its mels from recordings, and "
         "by which it learns to sound like them. They are no part of the finished voice. 0: none.",
         VOICE_ONLY),
    ENUM(M, decoder_strategy, "non_autoregressive", strategies,
         "How frames are made: non_autoregressive computes all of them at once, each symbol with its own "
         "duration."),
    FLOAT(M, dropout, "0.1", 0, 0.9, "Dropout of the transformer layers."),

    /* model: the vocoder */
    ENUM(M, network, "voice", networks,
         "What is trained: voice makes mels from text, vocoder makes sound from mels; both trains one after "
         "the other.", ALSO("training"), BINDS(BOUND_CHECKPOINT | BOUND_VOCODER)),
    ENUM(M, vocoder_size, "small", vocoder_sizes,
         "Preset that gives the sizes of the vocoder; keys given beside it win."),
    INT(M, vocoder_dim, "256", 16, 8192, "Width of the vocoder.", VOCODER_ONLY),
    INT(M, vocoder_layers, "8", 1, 64, "Blocks of the vocoder.", VOCODER_ONLY),

    /* model: the features it sees */
    INT(M, sample_rate, "22050", 4000, 192000,
         "Samples per second; other recordings are resampled.", ALSO("data"), SOUND_AND_VOICE),
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
         "Metadata file of the validation clips; \"\" holds out val_split of the texts."),
    PATH(D, wavs_train_dir, "", 0,
         "Folder of the recordings, relative to data_path; \"\" is wavs, or data_path itself."),
    PATH(D, wavs_eval_dir, "", 0,
         "Folder of the validation recordings; \"\" is the same as for training."),
    CHOICE(D, metadata_delimiter, "auto", delimiters, "What stands between the columns of the metadata."),
    FLOAT(D, val_split, "0.05", 0, 0.9,
         "Share of the texts held out for validation, with all takes, if there is no metadata_eval_file."),
    INT64(D, seed, "1234", 0, 9007199254740991.0,
         "Seed of the split, the order of the clips, the initial weights and dropout.", ALSO("training")),
    BOOL(D, enable_multispeaker, "true",
         "Use the speaker column or speaker_id_pattern; off treats all clips as one speaker."),
    STRING(D, speaker_id_pattern, "", 0, 1000,
         "POSIX extended regular expression on the id whose first group is the speaker; \"\" for none."),

    /* data: text */
    STRING(D, language, "en", 2, 15,
         "Language of lines that name none, and of lines whose language cannot be told.", TEXT_ONLY,
         .usual = language_code),
    ENUM(D, language_detection_method, "metadata", language_methods,
         "Where the language of a line comes from: the metadata column, the file name, or the text itself.",
         TEXT_ONLY),
    LIST(D, supported_languages, NULL, 1, CONFIG_MAX_LIST, ',',
         "Languages that detection chooses among.", .def_item = language_code, TEXT_ONLY),
    ENUM(D, text_cleaners, "multilingual", cleaners,
         "none; basic: sentence marks, and lower case when use_phonemes is off; "
         "english: also numbers and abbreviations of English lines; multilingual: "
         "those of every line, in its own language.", .one_item_list = 1, TEXT_ONLY),
    BOOL(D, use_phonemes, "true",
         "Speak the text with espeak-ng and use its phonemes; off uses the characters of the cleaned text.",
         TEXT_AND_VOICE),
    STRING(D, phoneme_language, "", 0, 31, "espeak-ng voice for every line; \"\" chooses by language.",
         TEXT_ONLY),
    PATH(D, lexicon, "", 0,
         "File of own pronunciations, one a line: word, TAB, IPA. A voice keeps those it was trained with; "
         "those of the file win.", WITH(use_phonemes)),
    INT(D, phoneme_timeout_ms, "5000", 100, 600000,
         "Milliseconds that espeak-ng may take for one line before the line is given up."),
    BOOL(D, add_blank, "false", "Put a blank token after every symbol.", TEXT_AND_VOICE),
    INT(D, max_text_length, "500", 4, 65535,
         "Most characters of a line, as the metadata has it; longer lines are left out and counted.",
         ALSO("model")),

    /* data: audio */
    BOOL(D, trim_silence, "true", "Cut silence from the beginning and the end of each clip.", SOUND),
    FLOAT(D, trim_top_db, "40", 5, 120,
         "Decibels below the loudest frame that count as silence. 40 keeps the quiet endings of words; "
         "20-30 cuts closer and may take them.", SOUND, WITH(trim_silence)),
    BOOL(D, enable_loudness_normalization, "true", "Bring every clip to target_loudness_lufs (EBU R128).",
         SOUND),
    FLOAT(D, target_loudness_lufs, "-23", -70, -5, "Loudness of a clip, in LUFS.",
         SOUND, WITH(enable_loudness_normalization)),
    FLOAT(D, min_audio_length, "0.1", 0, 3600, "Seconds; shorter recordings are left out and counted."),
    FLOAT(D, max_audio_length, "30", 0.1, 36000, "Seconds; longer recordings are left out and counted."),
    INT(D, max_mel_frames, "1024", 8, 65535,
         "Most mel frames of a clip; longer clips are left out and counted."),
    ENUM(D, mel_storage, "float32", mel_storages, "Numbers of the mel cache; float16 takes half the disk.",
         MEL_ONLY),

    /* data: caches and loading */
    ENUM(D, preprocessing_mode, "auto", preprocessing_modes,
         "precompute: mels from the cache; on_the_fly: samples from disk, mel on the data device; auto "
         "is on_the_fly where augment_speed is set, or where the mels do not fit into the free memory and "
         "the audio files are at most half as large, else precompute."),
    ENUM(D, cache_verification, "fast", verifications,
         "fast: header, sizes and source stamps; full: every checksum; off. true is full, false is off."),
    INT_AUTO(D, num_workers, 0, 256,
         "Worker threads of the loader and worker processes of the phonemiser; auto is one per core, 0 "
         "works inline."),
    INT(D, batch_size, "32", 1, 4096, "Most clips that a device works on at once."),
    INT(D, global_batch_size, "0", 0, 1048576,
         "Clips in a batch over all ranks; 0 is batch_size for each. Where it is more than batch_size, a "
         "rank works on its share in several parts, whose gradients are added. It decides what is learned, "
         "batch_size only the memory that it takes.", ALSO("training")),
    INT_AUTO(D, prefetch_buffer_size, 1, 1024,
         "Batches prepared ahead in host memory; auto begins with 64 / batch_size, at least 2 and at most 8, "
         "and grows up to eight times while stalls of loading make the model device wait."),
    INT(D, pipeline_buffer_size, "8", 3, 1024,
         "Most device buffers that the ring may grow to; it starts with 3.", ALIAS("buffer_size")),
    BOOL(D, native_loading, "true",
         "The asynchronous pipeline; off: the trainer loads each batch "
         "itself, for comparison.", ALIAS("use_tf_native_loading")),
    BOOL(D, prefetch_to_gpu, "true",
         "Copy batches to the data device ahead of need; off: when the model device has nothing left to do."),
    BOOL(D, enhanced_gpu_prefetch, "true", "Copy on a stream of its own."),
    BOOL(D, optimize_cpu_gpu_overlap, "true", "Overlap copy, preprocessing and training step."),
    BOOL(D, pin_memory, "true", "Page-locked memory for batches on the host."),
    BOOL(D, enable_memory_mapping, "true", "Map the caches; off reads them."),
    BOOL(D, pad_to_fixed_length, "false",
         "Pad every batch to the longest text and to max_mel_frames; off pads "
         "to the shape of a length bucket.", ALIAS("enable_static_shapes")),
    INT(D, length_buckets, "8", 1, 64, "Shapes that clips are sorted into when pad_to_fixed_length is off."),
    INT(D, vocoder_segment_frames, "48", 8, 65535,
         "Mel frames that a vocoder sees of a clip at once, cut out anew in every epoch.", ALSO("training")),
    FLOAT(D, augment_gain_db, "0", 0, 24, "Random gain of up to this many decibels, up or down; 0 is off."),
    FLOAT(D, augment_noise_db, "0", 0, 80, "White noise this many decibels below the clip; 0 is off."),
    FLOAT(D, augment_speed, "0", 0, 0.5,
         "Random change of speed, and with it of the voice, by up to this share; the same for all clips of a "
         "speaker in a batch; 0 is off."),

    /* data: devices */
    DEVICE(D, data_gpu, "auto",
         "Device that prepares batches: a GPU number, cpu, or a simulated GPU; auto is the first GPU, or "
         "cpu."),
    DEVICE(D, model_gpu, "auto",
         "Device that trains: a GPU number, cpu, or a simulated GPU; auto is the first GPU, or cpu. It may "
         "be the same as data_gpu."),
    INT(D, data_gpu_memory, "0", 0, 1048576, "Cap on the memory of the data device, in MB; 0 is none."),
    INT(D, model_gpu_memory, "0", 0, 1048576, "Cap on the memory of the model device, in MB; 0 is none."),
    BOOL(D, enable_memory_isolation, "true",
         "Hold both devices to their caps, planned before the first step."),
    BOOL(D, mixed_precision, "true",
         "Compute in bf16 with fp32 master weights and reductions.", ALSO("training")),
    BOOL(D, enable_xla, "true",
         "On a GPU: bias and activation inside the "
         "matrix products; off runs them as kernels of "
         "their own.", ALIAS("enable_xla_compilation"), ALSO("training")),
    STRING(D, sim, "", 0, 1000,
         "Description of the simulated machine with the devices sim0, sim1, ...; \"\" for none."),

    /* training */
    INT(T, epochs, "1000", 1, 1000000,
        "Passes over the training clips. Where minutes is set and this is not, the time alone counts."),
    FLOAT(T, minutes, "0", 0, 100000,
         "Time to train in, in minutes: a step is measured and max_steps set from it. A run that is finished "
         "goes on for so many more. 0 is no limit."),
    INT64(T, max_steps, "0", 0, 1000000000000.0, "Stop after this many steps; 0 counts epochs only."),
    FLOAT(T, learning_rate, "0.001", 0, 1, "Highest learning rate, reached after warmup_steps.", ALIAS("lr")),
    FLOAT(T, min_learning_rate, "0.00001", 0, 1, "Learning rate at the end of the cosine."),
    FLOAT(T, weight_decay, "0.01", 0, 1, "Decay of AdamW, not applied to biases and norms."),
    FLOAT(T, beta1, "0.9", 0, 0.999999, "AdamW: memory of the mean gradient."),
    FLOAT(T, beta2, "0.98", 0, 0.999999, "AdamW: memory of the squared gradient."),
    FLOAT(T, adam_eps, "1e-8", 1e-16, 0.01,
         "AdamW: added to the root of the squared gradient.", ALIAS("eps")),
    FLOAT(T, gradient_clip_norm, "1", 0, 1000000, "Norm that the whole gradient is clipped to; 0 is off."),
    INT(T, warmup_steps, "400", 0, 1000000,
         "Steps of linear warm-up. Where minutes is set and this is not, at most a tenth of the steps."),
    INT(T, gradient_accumulation_steps, "1", 1, 1024,
         "Batches whose gradients make one step; the effective batch grows by this "
         "factor.", ALIAS("grad_accum")),
    ENUM(T, rank_sum, "float32", rank_sums,
         "How gradients travel between ranks; bf16 halves the bytes and rounds each rank's gradient. They "
         "are added in float32, in the order of ranks."),
    ENUM(T, scheduler, "cosine", schedules, "Course of the learning rate after the warm-up."),
    BOOL(T, enable_graph_mode, "true", "Capture the step as a CUDA graph for each shape."),
    BOOL(T, enable_eager_debug, "false",
         "Run the step without graphs and wait for each of its phases, so that an error is named where it "
         "happens; slow, GPU only."),
    BOOL(T, deterministic, "false",
         "On a GPU take the algorithms of matrix products as the library offers them instead of timing "
         "them: then two runs give the same numbers. The CPU is always exact."),
    ENUM(T, mel_loss, "l1", mel_losses, "Distance between predicted and true mel.", LOSS),
    FLOAT(T, huber_delta, "1", 0.000001, 1000, "Where the Huber loss turns from square to linear.",
         LOSS),
    FLOAT(T, mel_loss_weight, "1", 0, 1000, "Weight of the mel loss.",
         LOSS),
    FLOAT(T, align_loss_weight, "1", 0.001, 1000,
         "Weight of the loss that the alignment of symbols and frames is learned from.",
         LOSS),
    FLOAT(T, duration_loss_weight, "1", 0.001, 1000, "Weight of the loss of the durations of symbols.",
         LOSS),
    FLOAT(T, pitch_loss_weight, "0.5", 0.001, 1000, "Weight of the loss of the pitch of symbols.",
         LOSS),
    FLOAT(T, energy_loss_weight, "0.5", 0.001, 1000, "Weight of the loss of the energy of symbols.",
         LOSS),
    FLOAT(T, critic_from, "0.3", 0, 1,
         "Share of the run after which the critics take part; before it, words are learned."),
    FLOAT(T, critic_loss_weight, "0.1", 0.001, 1000,
         "Weight of what the critics learn; AdamW makes up for it, the clipping of gradients does not."),
    FLOAT(T, adversarial_loss_weight, "0.2", 0, 1000,
         "Weight of what the voice learns from the critics' scores."),
    FLOAT(T, feature_loss_weight, "1", 0, 1000,
         "Weight of what the voice learns from the critics' layers: they should see in its mels what they "
         "see in the recordings."),
    FLOAT(T, spectral_loss_weight, "1", 0.001, 1000,
         "Weight of the vocoder's loss between the spectra of its sound and of the recording.", LOSS),
    FLOAT(T, max_loss_spike_threshold, "10", 1, 1000000,
         "A gradient norm over this many times its running mean skips the step."),
    INT(T, guard_max_skips, "20", 1, 100000, "Consecutive skipped steps that stop the run."),
    INT(T, early_stopping_patience, "0", 0, 100000,
         "Validations without improvement of the best checkpoint that stop the run; 0 is off."),
    FLOAT(T, early_stopping_min_delta, "0.0005", 0, 1000,
         "Smallest gain that counts as improvement: in the score of a voice, in the validation loss of a "
         "vocoder."),
    INT(T, save_step, "1000", 1, 100000000, "Steps from one checkpoint to the next."),
    INT(T, val_step, "500", 1, 100000000, "Steps from one validation to the next."),
    INT(T, listen_clips, "8", 0, 1000,
         "Validation clips that are spoken at every validation and listened to, by a recogniser where "
         "there is one; 0: nobody listens, and 8 are compared with their recordings alone."),
    INT(T, log_step, "50", 1, 100000000,
         "Steps from one line of log.jsonl, and of the event file, to the next. The terminal has one by the "
         "clock."),
    INT(T, keep_checkpoints, "3", 1, 10000,
         "Newest checkpoints that are kept; the best one is kept besides, and so is the newest that "
         "training is known to go on well from."),
    PATH(T, checkpoint_dir, "checkpoints", 1,
         "Folder of the checkpoints and logs; where nobody names one, the folder in it that is called as "
         "data_path is."),
    PATH(T, resume, "auto", 1,
         "auto: resume from the newest valid checkpoint if there is one; none: start over; or the path of "
         "a checkpoint. The folder of a run goes on in there.", ALIAS("resume_from")),
    PATH(T, from_voice, "", 0,
         "Run, or checkpoint, of a voice: a vocoder is trained on the mels that it makes of the clips, "
         "instead of those of the recordings; \"\" is off."),
    PATH(T, init_from, "", 0,
         "Checkpoint file, folder of a run, or file of `myxtts export`, whose weights a new run begins with "
         "(fine-tuning); none begins with random ones; \"\" begins with the base that comes with the program "
         "where there are less than 30 minutes of speech, and with random ones otherwise. Sizes that are not "
         "given follow the file. Steps, schedule and optimiser begin anew."),
    ENUM(T, freeze, "none", freezes,
         "What stays as it was in a voice that a run begins with: nothing, the text encoder, or the text and "
         "the voice encoder. A vocoder has neither."),
    INT(T, text2audio_interval_steps, "1000", 0, 100000000,
         "Steps from one spoken sample to the next (event file, samples/*.wav in checkpoint_dir); 0 is off."),
    LIST(T, text2audio_texts, "The quick brown fox jumps over the lazy dog.", 0, CONFIG_MAX_LIST, '|',
         "Sentences that the samples speak; on the command line with | between them."),
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
    {"vocoder_dim", "vocoder_size", {"128", "256", "512"}},
    {"vocoder_layers", "vocoder_size", {"6", "8", "8"}},
    {"text_encoder_dim", "model_size", {"128", "384", "512", "640", "768"}},
    {"text_encoder_layers", "model_size", {"3", "4", "5", "6", "8"}},
    {"text_encoder_heads", "model_size", {"2", "6", "8", "10", "12"}},
    {"audio_encoder_dim", "model_size", {"128", "256", "384", "512", "512"}},
    {"audio_encoder_layers", "model_size", {"1", "2", "3", "4", "6"}},
    {"audio_encoder_heads", "model_size", {"2", "4", "6", "8", "8"}},
    {"decoder_dim", "model_size", {"128", "384", "512", "640", "768"}},
    {"decoder_layers", "model_size", {"4", "6", "8", "10", "12"}},
    {"decoder_heads", "model_size", {"2", "6", "8", "10", "12"}},
    {"speaker_embedding_dim", "model_size", {"64", "256", "320", "512", "640"}},
    {"gst_num_heads", "model_size", {"4", "4", "4", "4", "8"}},
    {"predictor_dim", "model_size", {"128", "256", "256", "384", "384"}},
    {"critic_dim", "model_size", {"64", "256", "256", "256", "256"}},
    {"learning_rate", "model_size", {"0.002", "0.001", "0.0007", "0.0005", "0.0004"}},
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
