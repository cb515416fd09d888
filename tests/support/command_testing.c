/* command_testing.c - see command_testing.h. */
#include "command_testing.h"

#include "prepare_testing.h"

void expect_failure(int code, const char *const *args, const char *const *words, const char *file)
{
    Run r;
    run_program_env(&r, args, NULL);
    const char *said = strstr((const char *)r.stderr_text.data, "error: ");
    print_message("%d: %s", r.code, said ? said : (const char *)r.stderr_text.data);
    assert_int_equal(r.code, code);
    for (int i = 0; words[i]; i++)
        if (!strstr((const char *)r.stderr_text.data, words[i]))
            fail_msg("\"%s\" is not said: %s", words[i], (const char *)r.stderr_text.data);
    assert_true(!file || access(file, F_OK) != 0);
    run_free(&r);
}

json_t *run_json(const char *const *args, const char *said)
{
    Run r;
    run_program_env(&r, args, NULL);
    if (r.code != 0)
        fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
    if (said && !strstr((const char *)r.stderr_text.data, said))
        fail_msg("\"%s\" is not said: %s", said, (const char *)r.stderr_text.data);
    json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    run_free(&r);
    return o;
}

const char *text_at(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}
