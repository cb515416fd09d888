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
