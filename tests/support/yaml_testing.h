/* yaml_testing.h - what an edited YAML text says now, read from its tree. */
#ifndef MYXTTS_YAML_TESTING_H
#define MYXTTS_YAML_TESTING_H

#include <string.h>

#include "config/yaml_edit.h"
#include "config/yaml_tree.h"

/* The value as written, without anchor (of an alias: what it stands for), appended to out. ERR_CONFIG where
 * that is more than one line, or if there is no such key. */
int yaml_value(Buf *out, const Buf *text, const YamlPlace *at, Err *err);

#endif
