/* option_table.h - the inside of src/config: the rows of THE option table and what its files share.
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

/* Words for a value. The first word of a value is how it is written; the others are also read. Ends with word
 * NULL. */
typedef struct OptionName {
    const char *word;
    int value;
} OptionName;

typedef struct Option {
    const char *section, *key; /* the key is the name of the field in Config */
    OptionType type;
    size_t offset;                  /* of the field */
    const char *def;                /* default as text; a list: items between separators */
    const char *(*def_item)(int i); /* OPT_LIST with def NULL: the items of its default, then NULL */
    double min, max;                /* of the number, the length or the count */
    const OptionName *names;        /* OPT_ENUM, OPT_CHOICE */
    const char *help;               /* one or two sentences without the range */
    const char *aliases;            /* other names of the key, separated by blanks; NULL = none */
    const char *also;               /* other sections that may hold it, separated by blanks; NULL = none */
    char separator;                 /* OPT_LIST: between items in one text */
    char one_item_list;             /* a YAML list with one item is read as that item */
    unsigned binds;                 /* what is useless with another value: BOUND_... of bindings.h */
    const char *with;               /* key of the switch without which the value has no effect; NULL = none */
} Option;

extern const Option option_table[];
int option_count(void);
extern const char *const option_sections[3]; /* model, data, training */

/* Presets of model_size: the values, as text, of the keys that follow it. NULL when the key does not. */
const char *option_preset(const Option *o, ModelSize size);
const char *option_size_name(ModelSize size);

/* Row of a key or alias; name is compared with dashes and underscores as the same. -1 when there is none. */
int option_find(const char *name, size_t n);
/* As option_find for a command-line name (dashes in front, "=value" behind), and finds `no-KEY` of a switch
 * and `disable-X` of a switch `enable-X`: *negated is then 1. *value: what follows '=', or NULL. */
int option_find_argument(const char *arg, int *negated, const char **value);
int option_in_section(const Option *o, const char *section); /* its own or one of `also` */

/* A value as it was found: one text, or the items of a list. */
typedef struct RawValue {
    const char *items[CONFIG_MAX_LIST];
    int count;
    int is_list;
} RawValue;

/* Checks type and range and writes the field. Strings are copied into the block. ERR_CONFIG with the sentence
 * "batch_size is 0, but must be between 1 and 4096" (the caller puts the place before it), or ERR_NOMEM. */
int option_set(const Option *o, Config *cfg, Block *strings, const RawValue *raw, Err *err);
/* The field as YAML would write it, as a whole (appended to out). */
void option_format(Buf *out, const Option *o, const Config *cfg);
void option_format_double(char *out, size_t cap,
                          double x); /* short, reads back to the same bits, a number in YAML 1.1 too */
/* "1 .. 4096", "auto | 0 .. 256", "cosine | noam | constant" */
void option_range(char *out, size_t cap, const Option *o);
/* 1 and *out when the word is true/yes/on/1 or false/no/off/0, in any case. */
int option_parse_bool(const char *s, int *out);
/* The text in single quotes, cut to a readable length, control bytes as '?'. */
void option_quote(char *out, size_t cap, const char *s);

typedef enum { ORIGIN_DEFAULT, ORIGIN_PRESET, ORIGIN_FILE, ORIGIN_ARGUMENT } OriginKind;
typedef struct Origin {
    OriginKind kind;
    int line; /* ORIGIN_FILE */
} Origin;

struct ConfigState {
    Block strings;
    const char *file; /* name of the YAML file for messages; NULL = none */
    Origin *origins;  /* [option_count()] */
};
void config_origin(char *out, size_t cap, const Config *cfg,
                   int row); /* "default", "preset nano", "FILE:LINE", ... */

/* Walks the YAML text and sets what it finds, with lines as origins. name: the file, for messages. */
int yaml_load(Config *cfg, const char *name, const void *bytes, size_t n, Err *err);

#endif
