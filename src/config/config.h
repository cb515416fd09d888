/* config.h - every setting of the program, with its unit and range.
 * The table in options.c gives each field its YAML key, default, range and help; file, command line, `myxtts
 * config`, configs/default.yaml and --help are all derived from it. Precedence: default < preset < file <
 * command line. Threads: read-only after config_load. Strings belong to the Config and live until
 * config_close. */
#ifndef MYXTTS_CONFIG_H
#define MYXTTS_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

typedef enum { SIZE_NANO, SIZE_TINY, SIZE_SMALL, SIZE_NORMAL, SIZE_BIG } ModelSize;
typedef enum { LANGUAGE_FROM_METADATA, LANGUAGE_FROM_FILENAME, LANGUAGE_AUTO } LanguageMethod;
typedef enum { STORE_FLOAT32, STORE_FLOAT16 } MelStorage;
typedef enum { PREPROCESS_AUTO, PREPROCESS_PRECOMPUTE, PREPROCESS_ON_THE_FLY } PreprocessingMode;
typedef enum { VERIFY_OFF, VERIFY_FAST, VERIFY_FULL } CacheVerification;
typedef enum { CLEANER_NONE, CLEANER_BASIC, CLEANER_ENGLISH, CLEANER_MULTILINGUAL } TextCleaner;
typedef enum { SCHEDULE_COSINE, SCHEDULE_NOAM, SCHEDULE_CONSTANT } Schedule;
typedef enum { DECODER_PARALLEL } DecoderStrategy;
typedef enum { MEL_LOSS_L1, MEL_LOSS_HUBER } MelLoss;

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
    int audio_encoder_dim, audio_encoder_layers,
        audio_encoder_heads; /* voice encoder over the reference mel */
    int decoder_dim, decoder_layers, decoder_heads;
    int speaker_embedding_dim; /* voice vector */
    int use_voice_conditioning, use_gst, gst_num_style_tokens, gst_num_heads;
    int feed_forward_ratio; /* width of a feed-forward part over that of its layer */
    int predictor_dim;      /* of the predictor of duration, pitch and energy */
    DecoderStrategy decoder_strategy;
    double dropout;
    int sample_rate, n_fft, win_length, hop_length, n_mels; /* Hz, samples, samples, samples, bands */
    double mel_fmin, mel_fmax;                              /* Hz */

    /* data: what is on disk */
    const char *data_path;                      /* dataset root */
    const char *cache_dir;                      /* "" = <data_path>/myxtts-cache */
    const char *metadata_train_file;            /* relative to data_path; default metadata.csv */
    const char *metadata_eval_file;             /* "" = split by hash of the id */
    const char *wavs_train_dir, *wavs_eval_dir; /* relative to data_path; "" = wavs, then the root itself */
    const char *metadata_delimiter;             /* auto, |, tab, comma */
    double val_split; /* share of ids held out when there is no metadata_eval_file */
    int64_t seed;
    int enable_multispeaker;        /* off: one speaker, whatever the columns say */
    const char *speaker_id_pattern; /* POSIX extended regex on the id, group 1 is the speaker; "" = none */

    /* data: text */
    const char *language; /* for lines that name none, and the fall-back of detection */
    LanguageMethod language_detection_method;
    StringList supported_languages; /* detection chooses among these */
    TextCleaner text_cleaners;
    int use_phonemes;             /* off: characters of the cleaned text are the symbols */
    const char *phoneme_language; /* espeak-ng voice for every line; "" = by language */
    int phoneme_timeout_ms;       /* per line */
    int add_blank;                /* a blank token after every symbol */
    int max_text_length;          /* tokens; longer lines are left out */

    /* data: audio */
    int trim_silence;
    double trim_top_db; /* dB below the loudest frame that counts as silence */
    int enable_loudness_normalization;
    double target_loudness_lufs;
    double min_audio_length, max_audio_length; /* seconds, before trimming */
    int max_mel_frames;                        /* longer clips are left out */
    MelStorage mel_storage;

    /* data: caches and loading */
    PreprocessingMode preprocessing_mode;
    CacheVerification cache_verification;
    int num_workers; /* CONFIG_AUTO = cores; 0 = inline */
    int batch_size;
    int prefetch_buffer_size; /* CONFIG_AUTO: see pipeline/policy.h */
    int pipeline_buffer_size; /* most device buffers */
    int native_loading;       /* alias use_tf_native_loading */
    int prefetch_to_gpu, enhanced_gpu_prefetch, optimize_cpu_gpu_overlap;
    int pin_memory, enable_memory_mapping;
    int pad_to_fixed_length; /* alias enable_static_shapes */
    int length_buckets;      /* how many static shapes when pad_to_fixed_length is off */
    double augment_gain_db, augment_noise_db, augment_speed; /* 0 = off */

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
    Schedule scheduler;
    int enable_graph_mode, enable_eager_debug, deterministic;
    MelLoss mel_loss;
    double huber_delta;
    double minutes; /* 0: not limited */
    int listen_clips;
    double mel_loss_weight, align_loss_weight, duration_loss_weight, pitch_loss_weight, energy_loss_weight;
    double max_loss_spike_threshold; /* guard: gradient norm over this many times its running mean skips the
                                        step */
    int guard_max_skips;             /* consecutive skipped steps that stop the run */
    int early_stopping_patience;     /* validations without improvement; 0 = off */
    double early_stopping_min_delta;
    int save_step, val_step, log_step;
    int keep_checkpoints;
    const char *checkpoint_dir, *resume; /* resume: auto, none, or a path */
    int text2audio_interval_steps;
    StringList text2audio_texts;

    struct ConfigState *state; /* origins and string storage; private to src/config */
} Config;

/* Every key at its default, preset `tiny`. Never fails for want of files. 0 or ERR_NOMEM. */
int config_defaults(Config *cfg, Err *err);
void config_close(Config *cfg); /* always safe on a zeroed, loaded, closed or failed Config */

/* Reads defaults, the preset, the YAML file (when path is not NULL) and the command line, in that order of
 * precedence. argv holds only options ("--batch-size", "16", "--batch-size=16", "--add-blank",
 * "--no-add-blank", "--add-blank false"); options that are not keys of the table are collected by the caller
 * before. Checks ranges, then rules between keys. cfg need not be initialised; after an error it is closed.
 * Errors: ERR_CONFIG with file:line (or the option), the nearest known key, the allowed range. */
int config_load(Config *cfg, const char *yaml_path, int argc, char **argv, Err *err);
/* The same with the YAML text in memory; name stands for the file in messages and origins. */
int config_load_text(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv,
                     Err *err);
/* The same without the rules between keys: for settings that once were valid, such as those of a checkpoint
 * that is older than a rule. */
int config_read(Config *cfg, const char *name, const void *yaml, size_t size, int argc, char **argv,
                Err *err);
/* Only the command line: 0 when each argument is a known option with a value in its range. The rules between
 * keys are left out, because a file may be what makes them hold. */
int config_check_arguments(int argc, char **argv, Err *err);

/* Threads or processes for num_workers: auto is one per core. */
int config_workers(const Config *cfg);

/* 1 when `name` (with or without leading dashes, dashes or underscores) is a key or an alias of one. */
int config_is_key(const char *name);
/* 1 when the option takes a separate value argument (switches may stand alone). For building argv lists. */
int config_takes_value(const char *name, const char *next_arg);

/* The key or alias nearest to name, and how many letters differ; NULL when none is near enough to be what was
 * meant. */
const char *config_nearest_key(const char *name, int *distance);
/* Letters to change, add, drop or swap between two names; dashes and underscores are the same. Names over 63
 * bytes: 64. */
int config_name_distance(const char *a, const char *b);

/* Whole table, one row per key, in table order: used by `myxtts config`, default.yaml and --help. */
typedef enum { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_STRING, KIND_LIST } ConfigKind;
typedef struct ConfigRow {
    const char *section, *key, *help;
    char range[160];  /* "1 .. 4096", "auto | 0 .. 256", "cosine | noam | constant" */
    char value[512];  /* as YAML would write it; a longer one ends in "..." */
    char origin[300]; /* "default", "preset nano", "FILE:LINE", "command line" */
    /* The value itself, by kind. An integer at `auto`, an enum and a device name are KIND_STRING. */
    ConfigKind kind;
    int64_t integer; /* KIND_BOOL, KIND_INT */
    double number;
    const char *string;
    const StringList *list;
} ConfigRow;
int config_row_count(void);
int config_row(const Config *cfg, int i, ConfigRow *row); /* 0 or ERR_NOMEM; row points into cfg */

/* The text of configs/default.yaml. */
int config_write_default_yaml(Buf *out);
/* Lines "  --batch-size N   help [1 .. 4096]" for --help; section NULL = all. */
void config_write_help(Buf *out, const char *section);

#endif
