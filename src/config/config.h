/* config.h - every setting of the program.
 * The table in options.c gives each field its YAML key, default, range and help; the YAML reader, the command
 * line, `myxtts config`, configs/default.yaml and --help are all derived from it. A value is taken from, in
 * rising priority: default, preset, file, command line. Strings belong to the Config and are valid until
 * config_close. Threads: read-only after config_load. */
#ifndef MYXTTS_CONFIG_H
#define MYXTTS_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "config/augmentations.h"

typedef enum { SIZE_NANO, SIZE_LIGHT, SIZE_TINY, SIZE_SMALL, SIZE_NORMAL, SIZE_BIG } ModelSize;
/* What is trained: a voice from text to mel, a vocoder from mel to sound, or first the one and then the
 * other. */
typedef enum { NETWORK_VOICE, NETWORK_VOCODER, NETWORK_BOTH } NetworkKind;
typedef enum { VOCODER_NANO, VOCODER_SMALL, VOCODER_LARGE } VocoderSize;
typedef enum { LANGUAGE_FROM_METADATA, LANGUAGE_FROM_FILENAME, LANGUAGE_AUTO } LanguageMethod;
typedef enum { STORE_FLOAT32, STORE_FLOAT16 } MelStorage;
typedef enum { RANK_SUM_FLOAT32, RANK_SUM_BF16 } RankSum;
typedef enum { PREPROCESS_AUTO, PREPROCESS_PRECOMPUTE, PREPROCESS_ON_THE_FLY } PreprocessingMode;
typedef enum { VERIFY_OFF, VERIFY_FAST, VERIFY_FULL } CacheVerification;
typedef enum { CLEANER_NONE, CLEANER_BASIC, CLEANER_ENGLISH, CLEANER_MULTILINGUAL } TextCleaner;
typedef enum { SCHEDULE_COSINE, SCHEDULE_NOAM, SCHEDULE_CONSTANT } Schedule;
typedef enum { DECODER_PARALLEL } DecoderStrategy;
typedef enum { MEL_LOSS_L1, MEL_LOSS_HUBER } MelLoss;
typedef enum { FREEZE_NONE, FREEZE_TEXT, FREEZE_ENCODERS } Freeze;

#define CONFIG_AUTO (-1) /* value of the integer keys that accept `auto` */
#define CONFIG_MAX_LIST 32

typedef struct StringList {
    const char *items[CONFIG_MAX_LIST];
    int count;
} StringList;

typedef struct Config {
    /* model: the network and the features it sees */
    ModelSize model_size;
    int text_encoder_dim, text_encoder_layers, text_encoder_heads;
    /* The voice encoder, which reads the reference mel. */
    int audio_encoder_dim, audio_encoder_layers, audio_encoder_heads;
    int decoder_dim, decoder_layers, decoder_heads;
    int speaker_embedding_dim; /* size of the voice vector */
    int use_voice_conditioning, use_gst, gst_num_style_tokens, gst_num_heads;
    int feed_forward_ratio; /* width of a feed-forward network / width of its layer */
    int predictor_dim;      /* width of the predictor of duration, pitch and energy */
    DecoderStrategy decoder_strategy;
    int critic_dim;
    double dropout;
    NetworkKind network;
    VocoderSize vocoder_size;
    int vocoder_dim, vocoder_layers, vocoder_critic_dim;
    int sample_rate, n_fft, win_length, hop_length, n_mels; /* Hz, samples, samples, samples, bands */
    double mel_fmin, mel_fmax;                              /* Hz */

    /* data: what is on disk */
    const char *data_path;                      /* dataset root */
    const char *cache_dir;                      /* "" = <data_path>/myxtts-cache */
    const char *metadata_train_file;            /* relative to data_path; default metadata.csv */
    const char *metadata_eval_file;             /* "" = split by text */
    const char *wavs_train_dir, *wavs_eval_dir; /* relative to data_path; "" = wavs, then the root itself */
    const char *metadata_delimiter;             /* auto, |, tab, comma */
    double val_split; /* share of texts held out if there is no metadata_eval_file */
    int64_t seed;
    int enable_multispeaker;        /* off: one speaker, whatever the columns say */
    const char *speaker_id_pattern; /* POSIX extended regex on the id, group 1 is the speaker; "" = none */

    /* data: text */
    const char *language; /* of lines that name none, and where detection fails */
    LanguageMethod language_detection_method;
    StringList supported_languages; /* detection chooses among these */
    TextCleaner text_cleaners;
    int use_phonemes;             /* off: the symbols are the characters of the cleaned text */
    const char *phoneme_language; /* espeak-ng voice for all lines; "" = by language */
    const char *lexicon;          /* a file of pronunciations (text/lexicon.h); "" = none */
    int phoneme_timeout_ms;       /* per line */
    int add_blank;                /* a blank token after every symbol */
    int max_text_length;          /* characters; longer lines are left out */

    /* data: audio */
    int trim_silence;
    double trim_top_db; /* frames that are this many dB below the loudest one are silence */
    int enable_loudness_normalization;
    double target_loudness_lufs;
    double min_audio_length, max_audio_length; /* seconds, before trimming */
    int max_mel_frames;                        /* longer clips are left out */
    MelStorage mel_storage;

    /* data: caches and loading */
    PreprocessingMode preprocessing_mode;
    CacheVerification cache_verification;
    int num_workers; /* CONFIG_AUTO = one per core; 0 = no threads */
    int batch_size;
    int global_batch_size;    /* 0: batch_size for each rank; see policy_global_batch */
    int prefetch_buffer_size; /* host slots; CONFIG_AUTO: see policy_slots */
    int pipeline_buffer_size; /* maximum of device buffers */
    int native_loading;       /* alias use_tf_native_loading */
    int prefetch_to_gpu, enhanced_gpu_prefetch, optimize_cpu_gpu_overlap;
    int pin_memory, enable_memory_mapping;
    int pad_to_fixed_length;    /* alias enable_static_shapes */
    int length_buckets;         /* number of padded shapes if pad_to_fixed_length is off */
    int vocoder_segment_frames; /* of a clip that one row of a vocoder's batch holds */
#define AUGMENT_FIELD(name, key, ...) double key;
    AUGMENTATIONS(AUGMENT_FIELD) /* augment_gain_db, ...; 0 = off */
#undef AUGMENT_FIELD

    /* data: devices */
    const char *data_gpu, *model_gpu;      /* 0, 1, ..., cpu, sim0, sim1 */
    int data_gpu_memory, model_gpu_memory; /* MB; 0 = no cap */
    int enable_memory_isolation;
    int mixed_precision, enable_xla; /* enable_xla: fused kernels; alias enable_xla_compilation */
    const char *sim;                 /* description of a simulated machine; "" = none */

    /* training */
    int epochs;
    int64_t max_steps; /* 0 = by epochs */
    double learning_rate, min_learning_rate, weight_decay, beta1, beta2, adam_eps, gradient_clip_norm;
    int warmup_steps, gradient_accumulation_steps;
    RankSum rank_sum;
    Schedule scheduler;
    int enable_graph_mode, enable_eager_debug, deterministic;
    MelLoss mel_loss;
    double huber_delta;
    double minutes; /* time limit of the run; 0 = none */
    int listen_clips;
    double mel_loss_weight, align_loss_weight, duration_loss_weight, pitch_loss_weight, energy_loss_weight;
    double critic_from, critic_loss_weight, adversarial_loss_weight, feature_loss_weight;
    double spectral_loss_weight; /* of the vocoder */
    /* The guard skips a step whose gradient norm is more than this many times its running mean. */
    double max_loss_spike_threshold;
    int guard_max_skips;         /* consecutive skipped steps that stop the run */
    int early_stopping_patience; /* validations without improvement; 0 = off */
    double early_stopping_min_delta;
    int save_step, val_step, log_step;
    int validation_clips; /* that a validation hears at most; 0 = all that are held out */
    int keep_checkpoints;
    const char *checkpoint_dir, *resume; /* resume: auto, none, or a path */
    const char *from_voice;              /* a run whose voice makes the mels for a vocoder; "" = none */
    const char *init_from;               /* a checkpoint whose weights a new run begins with; none; "" = what
                                            settle.h chooses */
    Freeze freeze;                       /* parts of a voice that no step changes */
    int text2audio_interval_steps;
    StringList text2audio_texts;

    struct ConfigState *state; /* origins and string storage; private to src/config */
    const char *lexicon_text;  /* what is in `lexicon`, behind what a voice has of its own; "" = nothing */
    int lexicon_own;           /* lines of lexicon_text that came with the voice */
} Config;

/* Sets every key to its default, with the preset `tiny`. Reads no file. 0 or ERR_NOMEM. */
int config_defaults(Config *cfg, Err *err);
void config_close(Config *cfg); /* a zeroed, closed or failed Config is allowed */

/* Reads defaults, the preset, the YAML file (unless yaml_path is NULL) and the command line, in rising
 * priority; then checks ranges and the rules between keys. argv holds only options that are keys
 * ("--batch-size", "16", "--batch-size=16", "--add-blank", "--no-add-blank", "--add-blank false"); the caller
 * has taken out all others. cfg need not be initialised; after an error it is closed. ERR_CONFIG names
 * file:line (or the option), the nearest known key and the allowed range. */
int config_load(Config *cfg, const char *yaml_path, int argc, char **argv, Err *err);
/* As config_load, with the YAML text in memory; `name` is the file's name in messages and origins. */
int config_load_text(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv,
                     Err *err);
/* As config_load_text, without the rules between keys: for settings that were valid once, such as those of a
 * checkpoint that is older than a rule. */
int config_read(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv,
                Err *err);
/* Checks the command line alone: 0 if each argument is a known option with a value in its range. The rules
 * between keys are not checked, because whether they hold may depend on the file. */
int config_check_arguments(int argc, char **argv, Err *err);

/* The number of workers beyond which more only take turns: those that wait for a disk may be twice as many as
 * cores. Simulated stages take no core. What checks a setting and what proposes one both ask here. */
int config_most_workers(int cores, int simulated);
/* The number of workers for num_workers; `auto` is one per core. */
int config_workers(const Config *cfg);
/* The pronunciations of a voice [n], before those of the file that cfg->lexicon names. 0 or ERR_NOMEM. */
int config_add_lexicon(Config *cfg, const char *text, size_t n, Err *err);

/* 1 if `name` is a key or an alias of one. Leading dashes are ignored, other dashes count as underscores. */
int config_is_key(const char *name);
/* 1 if next_arg is the value of the option (a switch may have none). For building argv lists. */
int config_takes_value(const char *name, const char *next_arg);

/* The key or alias nearest to `name`, and its distance; NULL if none is so near that it may be meant. */
const char *config_nearest_key(const char *name, int *distance);
/* The number of letters to change, add, drop or swap to turn one name into the other; dashes count as
 * underscores. 64 if a name has more than 63 bytes. */
int config_name_distance(const char *a, const char *b);

/* The table with its current values, one row per key, in the order of options.c. `myxtts config`,
 * default.yaml and --help are made from it. */
typedef enum { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_STRING, KIND_LIST } ConfigKind;
typedef struct ConfigRow {
    const char *section, *key, *help;
    char range[160];  /* "1 .. 4096", "auto | 0 .. 256", "cosine | noam | constant" */
    char value[512];  /* as in YAML; a longer one ends in "..." */
    char origin[300]; /* "default", "preset nano", "FILE:LINE", "command line" */
    /* The value itself, by kind. An integer at `auto`, an enum and a device name are KIND_STRING. */
    ConfigKind kind;
    int64_t integer; /* KIND_BOOL, KIND_INT */
    double number;
    const char *string;
    const StringList *list;
} ConfigRow;
int config_row_count(void);
int config_row(const Config *cfg, int i, ConfigRow *row);  /* 0 or ERR_NOMEM; row points into cfg */
int config_is_default(const Config *cfg, const char *key); /* 1: neither the user nor a preset has set it */
/* 1: file or command line set it, or the choice whose preset gives it (model_size for decoder_dim). */
int config_is_given(const Config *cfg, const char *key);

/* Sets a key to what something else than file and command line asks for; reason: its origin from now on.
 * ERR_CONFIG as for a value of the command line. */
int config_take(Config *cfg, const char *key, const char *value, const char *reason, Err *err);
int config_is_taken(const Config *cfg, int row);
typedef struct ConfigSetting {
    const char *key, *value; /* value NULL: left as it is */
} ConfigSetting;
/* *cfg becomes `from` with these settings, as if they came last on the command line. `from` must outlive it;
 * after an error it is closed. */
int config_vary(Config *cfg, const Config *from, const ConfigSetting *settings, int count, Err *err);
/* A checkpoint_dir that was not given becomes the folder in it that has the name of data_path, so that two
 * datasets do not share one. All code that loads settings calls it, again if data_path was set later. */
int config_name_folder(Config *cfg, Err *err);
void config_value_text(Buf *out, const Config *cfg, int row); /* appends the value as config_take reads it */
/* Settings with one of these bindings (bindings.h) that are not given become those of `from`, and so do the
 * choices they go with (model_size). */
int config_follow(Config *cfg, const Config *from, unsigned binds, const char *reason, Err *err);
/* Takes all other unset keys from `from` too, except those marked with one of `binds` and those in `except`,
 * a list that ends with NULL. */
int config_follow_others(Config *cfg, const Config *from, unsigned binds, const char *const *except,
                         const char *reason, Err *err);
/* 1: a setting with one of `binds` differs and cannot follow, because it is given or has one of `fixed`. */
int config_cannot_follow(const Config *cfg, const Config *from, unsigned binds, unsigned fixed,
                         ConfigRow *theirs, ConfigRow *ours);
int config_begins_with(const Config *cfg); /* 1: init_from names weights */

/* How a setting is given on the command line. */
typedef struct ConfigUse {
    const char *section, *key, *help;
    const char
        *value; /* "N", "X", "TEXT", "PATH", "WORD", "LIST", "DEVICE"; NULL: a switch, --KEY or --no-KEY */
    char range[160];                    /* as in ConfigRow; "" where that says nothing */
    const char *words[CONFIG_MAX_LIST]; /* [word_count] worth proposing: all of a choice, some of others */
    int word_count;
} ConfigUse;
void config_use(int i, ConfigUse *use); /* 0 <= i < config_row_count() */

/* Appends the text of configs/default.yaml. */
int config_write_default_yaml(Buf *out);
/* Appends lines "  --batch-size N   help [1 .. 4096]" for --help; section NULL = all. */
void config_write_help(Buf *out, const char *section);

#endif
