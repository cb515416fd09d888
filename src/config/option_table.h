/* option_table.h - the rows of the one table of options, and what else the files of src/config share.
 * Nothing outside src/config and its tests includes this. */
#ifndef MYXTTS_OPTION_TABLE_H
#define MYXTTS_OPTION_TABLE_H

#include <stddef.h>

#include "config/config.h"

typedef enum {
    OPT_BOOL,     /* int */
    OPT_INT,      /* int */
    OPT_INT_AUTO, /* int; `auto` is CONFIG_AUTO */
    OPT_INT64,    /* int64_t */
    OPT_FLOAT,    /* double */
    OPT_STRING,   /* const char *, min .. max bytes */
    OPT_CHOICE,   /* const char *, one of names */
    OPT_ENUM,     /* an enum, one of names */
    OPT_LIST,     /* StringList, min .. max items */
    OPT_DEVICE    /* const char *: auto, cpu, 0, 1, ..., sim0, sim1, ... */
} OptionType;

/* Words for the values of an OPT_ENUM or OPT_CHOICE. The first word of a value is written; the others are
 * only accepted. The list ends with word NULL. */
typedef struct OptionName {
    const char *word;
    int value;
} OptionName;

typedef struct Option {
    const char *section, *key; /* the key is also the name of the field in Config */
    OptionType type;
    size_t offset;                  /* of the field */
    const char *def;                /* default as text; items of a list are joined by `separator` */
    const char *(*def_item)(int i); /* OPT_LIST with def NULL: item i of the default; NULL past the last */
    const char *(*usual)(int i);    /* OPT_STRING: values that are likely; NULL past the last */
    double min, max;                /* range of the number, the length or the count */
    const OptionName *names;        /* OPT_ENUM, OPT_CHOICE */
    const char *help;               /* one or two sentences without the range */
    const char *aliases;            /* other names of the key, separated by spaces; NULL = none */
    const char *also;               /* other sections that may hold it, separated by spaces; NULL = none */
    char separator;                 /* OPT_LIST: between the items in one text */
    char is_path;                   /* OPT_STRING: names a file or a folder */
    char one_item_list;             /* a YAML list with one item is read as that item */
    unsigned binds;                 /* what is useless with another value: BOUND_... of bindings.h */
    const char *with;               /* key of the switch without which the value has no effect; NULL = none */
} Option;

extern const Option option_table[];
int option_count(void);
extern const char *const option_sections[3]; /* model, data, training */

/* A key whose default follows another key (model_size, vocoder_size, network). */
#define PRESET_CHOICES 6
typedef struct Preset {
    const char *key, *by;
    const char *values[PRESET_CHOICES]; /* as text, for each word of `by`; NULL: it gives none */
} Preset;
/* The n-th preset of the key, from 0; NULL past the last. */
const Preset *option_follows(const Option *o, int n);
/* The value, as text, that the presets give the key with the choices of cfg; NULL if they give none. word
 * (may be NULL): the choice that gave it. */
const char *option_preset(const Option *o, const Config *cfg, const char **word);

/* The row of a key or alias, or -1. Dashes count as underscores. */
int option_find(const char *name, size_t n);
/* As option_find for a command-line argument ("--key", "--key=value"). Also finds `no-KEY` of a switch and
 * `disable-X` of a switch `enable-X`: *negated is then 1. *value is what follows '=', or NULL. */
int option_find_argument(const char *arg, int *negated, const char **value);
int option_in_section(const Option *o, const char *section); /* its own or one of `also` */

/* A value before it is checked: one text, or the items of a list. */
typedef struct RawValue {
    const char *items[CONFIG_MAX_LIST];
    int count;
    int is_list;
} RawValue;

/* Checks type and range and sets the field. Strings are copied into the block. ERR_CONFIG with a sentence
 * such as "batch_size is 0, but must be between 1 and 4096" (the caller prefixes the place), or ERR_NOMEM. */
int option_set(const Option *o, Config *cfg, Block *strings, const RawValue *raw, Err *err);
/* Appends the whole value of the field as YAML. */
void option_format(Buf *out, const Option *o, const Config *cfg);
/* A short form that reads back to the same bits and is a number in YAML 1.1 too. */
void option_format_double(char *out, size_t cap, double x);
/* "1 .. 4096", "auto | 0 .. 256", "cosine | noam | constant" */
void option_range(char *out, size_t cap, const Option *o);
/* Returns 1 and sets *out if the word is true/yes/on/1 or false/no/off/0, in any case; else returns 0. */
int option_parse_bool(const char *s, int *out);
/* The text in single quotes, cut to a readable length, control bytes as '?'. */
void option_quote(char *out, size_t cap, const char *s);

typedef enum { ORIGIN_DEFAULT, ORIGIN_PRESET, ORIGIN_FILE, ORIGIN_ARGUMENT, ORIGIN_TAKEN } OriginKind;
typedef struct Origin {
    OriginKind kind;
    int line;           /* ORIGIN_FILE */
    const char *reason; /* ORIGIN_TAKEN; in strings */
} Origin;

struct ConfigState {
    Block strings;
    const char *file; /* name of the YAML file for messages; NULL = none */
    Origin *origins;  /* [option_count()] */
};
/* "default", "preset nano", "FILE:LINE", ... */
void config_origin(char *out, size_t cap, const Config *cfg, int row);

/* Reads the YAML text and sets the keys that it has, with their lines as origins. name: the file, for
 * messages. */
int yaml_load(Config *cfg, const char *name, const void *bytes, size_t n, Err *err);

#endif
