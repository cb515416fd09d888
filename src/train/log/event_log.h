/* event_log.h - TensorBoard event files: scalars, pictures, audio, text over steps. The format: TFRecord
 * framing (length, masked CRC-32C, bytes, masked CRC-32C) around Event messages in protobuf's wire format, as
 * the tensorboard package 2.x reads them. Everything is gathered in memory and written by event_log_flush.
 *
 * Nothing here stops a training: the first failure (no memory, a full disk) is told once, by the next flush;
 * from then on all calls have no effect. The file stays readable up to the last whole flush. Times in the
 * file are the wall time given at open plus what the monotonic clock counted since. Threads: one at a time.
 * All functions except open accept l == NULL and then have no effect. */
#ifndef MYXTTS_EVENT_LOG_H
#define MYXTTS_EVENT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "picture/picture.h"

typedef struct EventLog EventLog;

/* A new file events.out.tfevents.<seconds>.<host>.<pid> in dir, which is made when missing. The seconds are
 * those of wall_time_now (since 1970), or one more than those of the newest event file in dir: TensorBoard
 * reads files in the order of their names. first_step: the first step that this run logs. Above 0 the file
 * begins with a session start at it, and TensorBoard drops what earlier files of the folder hold at
 * first_step and later. ERR_IO, ERR_NOSPACE, ERR_NOMEM. */
int event_log_open(EventLog **l, const char *dir, double wall_time_now, int64_t first_step, Err *err);
void event_log_scalar(EventLog *l, const char *tag, int64_t step, double value);
/* pixels: [h][w] */
void event_log_picture(EventLog *l, const char *tag, int64_t step, const Rgb *pixels, int w, int h);
void event_log_audio(EventLog *l, const char *tag, int64_t step, const float *samples, int64_t n, int rate);
int event_log_flush(EventLog *l, Err *err);
void event_log_close(EventLog *l); /* flushes; a failure then is lost */

const char *event_log_path(const EventLog *l);

/* CRC-32C (Castagnoli, reflected, as in RFC 3720), and the masked form of the framing. */
uint32_t event_log_crc(const void *p, size_t n);
uint32_t event_log_masked_crc(const void *p, size_t n);

#endif
