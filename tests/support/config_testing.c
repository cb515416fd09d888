/* config_testing.c - see config_testing.h. */
#include "config_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int load_text(Config *cfg, const char *yaml, Err *err)
{
    return config_load_text(cfg, "t.yaml", yaml, strlen(yaml), 0, NULL, err);
}

void must_load(Config *cfg, const char *yaml)
{
    Err err = {0};
    if (load_text(cfg, yaml, &err))
        fail_msg("%s (%s)\n%s", err.msg, err.hint, yaml);
}

void row_of(const Config *cfg, const char *key, ConfigRow *row)
{
    int i = option_find(key, strlen(key));
    assert_true(i >= 0);
    config_row(cfg, i, row);
}

void assert_value(const Config *cfg, const char *key, const char *value, const char *origin)
{
    ConfigRow row;
    row_of(cfg, key, &row);
    assert_string_equal(row.value, value);
    if (origin)
        assert_string_equal(row.origin, origin);
}

void load_options(Config *cfg, char *text)
{
    enum { MOST = 160 };
    char *argv[MOST], *save = NULL;
    int argc = 0;
    Err err = {0};
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        assert_true(argc < MOST);
        argv[argc++] = w;
    }
    for (int i = 0; i + 1 < argc; i += 2)
        for (int k = i + 2; k + 1 < argc; k += 2)
            if (strcmp(argv[i], argv[k]) == 0) {
                memmove(argv + i, argv + i + 2, (size_t)(argc - i - 2) * sizeof *argv);
                argc -= 2;
                i -= 2;
                break;
            }
    if (config_load(cfg, NULL, argc, argv, &err))
        fail_msg("%s", err.msg);
}
