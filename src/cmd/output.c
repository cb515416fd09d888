/* output.c - see output.h. */
#include "cmd/output.h"

#include <stdio.h>
#include <stdlib.h>

/* Takes the object over also when it fails, so that callers have one path. */
int output_print(json_t *o, int digits, Err *err)
{
    char *text = o ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits)) : NULL;
    json_decref(o);
    if (!text)
        return err_set(err, ERR_NOMEM, "no memory for the JSON text");
    puts(text);
    free(text);
    return 0;
}
