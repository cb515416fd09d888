/* export_piper.h - a voice for Piper's programs: the graph, and the files that go beside it. Threads: one. */
#ifndef MYXTTS_CMD_EXPORT_PIPER_H
#define MYXTTS_CMD_EXPORT_PIPER_H

#include "base/err.h"
#include "base/log.h"
#include "onnx/onnx_export.h"

/* o: as for onnx_export, front and entries are chosen here. Warns where the voice will not be found, or will
 * speak otherwise than here. ERR_USAGE: the folder has the files of another voice (overwrite: they are
 * replaced), or the voice cannot be spoken to in this way. */
int export_piper(Exported *made, const OnnxOptions *o, int overwrite, Log *log, Err *err);
/* The same errors before anybody is asked for anything; nothing is written. */
int export_piper_check(const OnnxOptions *o, int overwrite, Err *err);

#endif
