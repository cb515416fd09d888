/* yaml_json.h - values for a YAML file that is JSON, and is to stay JSON. Threads: any. */
#ifndef MYXTTS_YAML_JSON_H
#define MYXTTS_YAML_JSON_H

#include "base/mem.h"

/* Appends one line of YAML, a scalar or a flow list of scalars, as JSON: plain words get quotes. */
void yaml_put_json(Buf *out, const char *value);

#endif
