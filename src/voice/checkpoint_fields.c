/* checkpoint_fields.c - the table of tensors in a checkpoint, and how their numbers are packed.
 * The order of the rows is the order in the file. */
#include "voice/checkpoint_fields.h"

#include <string.h>

/* Members are checked against their row: another type does not compile. */
#define MEMBER(m, T) \
    (offsetof(CheckpointContent, m) + 0 * sizeof(char[_Generic(((CheckpointContent *)0)->m, T : 1, default \
                                                               : -1)]))
#define ROW(t, d, ty, m, at, n, text, ...) \
    { \
        .tensor = t, .dtype = d, .type = ty, .offset = at, .need = n, .words = text, __VA_ARGS__ \
    }
#define I64(t, m, text, ...) ROW(t, "I64", "I64", m, MEMBER(m, int64_t), NEED_TO_RESUME, text, __VA_ARGS__)
#define U64(t, m, text, ...) ROW(t, "I64", "I64", m, MEMBER(m, uint64_t), NEED_TO_RESUME, text, __VA_ARGS__)
#define F64(t, m, text, ...) ROW(t, "F64", "F64", m, MEMBER(m, double), NEED_TO_RESUME, text, __VA_ARGS__)
#define F64_IF_THERE(t, m, text, ...) \
    ROW(t, "F64", "F64", m, MEMBER(m, double), NEED_OPTIONAL, text, __VA_ARGS__)
/* Numbers of 4 bytes inside a tensor of bytes. */
#define F32_IN_BYTES(t, m, text, ...) \
    ROW(t, "U8", "F32", m, MEMBER(m, float), NEED_TO_RESUME, text, __VA_ARGS__)
#define I32_IN_BYTES(t, m, text, ...) \
    ROW(t, "U8", "I32", m, MEMBER(m, int32_t), NEED_TO_RESUME, text, __VA_ARGS__)
#define F32_ARRAY(t, m, n, text, ...) \
    ROW(t, "F32", "F32", m, MEMBER(m, const float *), n, text, .shape = {__VA_ARGS__})
#define I32_ARRAY(t, m, n, text, ...) \
    ROW(t, "I32", "I32", m, MEMBER(m, const int32_t *), n, text, .shape = {__VA_ARGS__})
/* Behind a row: the number was added later, and older files lack it. */
#define ADDED .added = 1

/* clang-format off */
static const CheckpointField fields[] = {
    F32_ARRAY("mel.mean", mean, NEED_ALWAYS,
         "statistics of its mels: the mean of each band", EXTENT_BANDS),
    F32_ARRAY("mel.deviation", deviation, NEED_ALWAYS,
         "statistics of its mels: the deviation of each band", EXTENT_BANDS),
    I64("train.state", state.step, "steps made"),
    I64("train.state", state.data.epoch, "epoch of the next batch"),
    I64("train.state", state.data.index, "index of the next batch in its epoch"),
    U64("train.state", state.data.seed, "seed of the run"),
    I64("train.state", state.choice.best.step, "step of the best checkpoint, 0 before the first"),
    I64("train.state", state.choice.stale, "validations since the last clear improvement"),
    I64("train.state", state.total, "last step if `--minutes` has set it, else 0"),
    I64("train.state", state.schedule_from,
         "step where the learning rate schedule started: 0, or where the run was continued with the mels of "
         "a voice or for more minutes", ADDED),
    I64("train.state", state.batch, "clips of a batch over all ranks", ADDED),
    I64("train.state", state.critic_step, "first step that the critics took part in; 0 before it", ADDED),
    I64("train.state", state.choice.best.words,
         "words in the best checkpoint's sentences that a recogniser judged", ADDED),
    I64("train.state", state.choice.best.wrong, "how many of them it got wrong", ADDED),
    I64("train.state", state.choice.lowest_step, "step with the lowest validation loss", ADDED),
    I64("train.state", state.warmup, "steps of warm-up if `--minutes` has set them, else 0", ADDED),
    I64("train.state", state.choice.best.their_words,
         "words that the recogniser judged in the recordings of the best checkpoint's sentences", ADDED),
    I64("train.state", state.choice.best.their_wrong, "how many of those it got wrong", ADDED),
    I64("train.state", state.choice.best.taught,
         "1: critics have taught the best checkpoint of a vocoder", ADDED),
    F64("train.best", state.choice.best.loss,
         "the best checkpoint's validation loss; infinity before the first"),
    F64("train.best", state.choice.best.ear.movement,
         "its movement relative to the recordings', 0 if it was chosen by the loss", ADDED),
    F64("train.best", state.choice.best.ear.detail, "its detail", ADDED),
    F64("train.best", state.choice.best.ear.pitch_range, "its pitch range", ADDED),
    F64("train.best", state.choice.best.ear.length_ratio, "its length", ADDED),
    F64("train.best", state.choice.peak, "highest score so far", ADDED),
    F64("train.best", state.choice.level,
         "score of the last validation that was a clear improvement; of a vocoder that critics teach, the "
         "lowest loss since they do", ADDED),
    F64("train.best", state.choice.lowest_loss, "lowest validation loss", ADDED),
    F64("train.best", state.choice.floor, "the lowest validation loss when the best was judged", ADDED),
    F32_IN_BYTES("train.guard", state.guard.norm, "norm of the newest gradient, per frame"),
    F32_IN_BYTES("train.guard", state.guard.mean, "running mean of the norms of applied steps"),
    I32_IN_BYTES("train.guard", state.guard.seen, "applied steps, as the guard counts them"),
    I32_IN_BYTES("train.guard", state.guard.skipped,
         "why the newest step was skipped: 1 not finite, 2 far too high; 0 if it was applied"),
    I32_IN_BYTES("train.guard", state.guard.consecutive, "steps in a row that were skipped"),
    I32_IN_BYTES("train.guard", state.guard.total, "steps that were skipped, ever"),
    F64_IF_THERE("voice.manner", state.manner.pace,
         "how much longer the validation recordings are than the durations predicted for them; 0: not "
         "measured"),
    F64_IF_THERE("voice.manner", state.manner.spread,
         "the same for how far pitch strays from its mean in a sentence"),
    F64_IF_THERE("voice.manner", state.manner.sharpness,
         "how much the mel is sharpened to have the detail of the recordings; 0: not at all", ADDED),
    F64_IF_THERE("copies.distance", state.copies[0],
         "distance of a vocoder's copies of held-out clips from their recordings; 0: not measured"),
    F64_IF_THERE("copies.distance", state.copies[1], "the same for Griffin-Lim's copies of the same clips"),
    F32_ARRAY("voice_clips.mel", clips.mel, NEED_OPTIONAL,
         "normalised mels of clips that stand for the speakers' voices",
         EXTENT_CLIPS, EXTENT_FRAMES, EXTENT_BANDS),
    I32_ARRAY("voice_clips.length", clips.length, NEED_OPTIONAL, "frames of each clip", EXTENT_CLIPS),
    I32_ARRAY("voice_clips.speaker", clips.speaker, NEED_OPTIONAL, "whose voice it is", EXTENT_CLIPS),
};
/* clang-format on */

int checkpoint_field_count(void) { return (int)(sizeof fields / sizeof *fields); }
const CheckpointField *checkpoint_field(int i) { return &fields[i]; }

/* An array has its own row; packed numbers follow each other. */
int checkpoint_field_rows(int i)
{
    int rows = 1;
    while (i + rows < checkpoint_field_count() && strcmp(fields[i].tensor, fields[i + rows].tensor) == 0)
        rows++;
    return rows;
}

/* The names of types end in their bits. */
static size_t number_bytes(const CheckpointField *f) { return strcmp(f->type + 1, "64") == 0 ? 8 : 4; }

size_t checkpoint_field_bytes(const CheckpointField *rows, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += number_bytes(&rows[i]);
    return bytes;
}

/* A file of before has fewer numbers; one of a later program has more, and is not understood. */
int checkpoint_field_fit(const CheckpointField *rows, int count, uint64_t bytes)
{
    while (count > 0 && bytes < checkpoint_field_bytes(rows, count) && rows[count - 1].added)
        count--;
    return bytes == checkpoint_field_bytes(rows, count) ? count : 0;
}

/* The file is little-endian, and so are all machines this program runs on: numbers are copied as they are. */
void checkpoint_field_pack(const CheckpointField *rows, int count, void *bytes,
                           const CheckpointContent *content)
{
    char *to = bytes;
    for (int i = 0; i < count; i++) {
        memcpy(to, (const char *)content + rows[i].offset, number_bytes(&rows[i]));
        to += number_bytes(&rows[i]);
    }
}

void checkpoint_field_unpack(const CheckpointField *rows, int count, const void *bytes,
                             CheckpointContent *content)
{
    const char *from = bytes;
    for (int i = 0; i < count; i++) {
        memcpy((char *)content + rows[i].offset, from, number_bytes(&rows[i]));
        from += number_bytes(&rows[i]);
    }
}

/* A voice needs the weights alone; the moments are for resuming. */
const CheckpointGroupRow *checkpoint_group(CheckpointGroup g)
{
    static const CheckpointGroupRow groups[CHECKPOINT_GROUPS] = {
        [CHECKPOINT_WEIGHTS] = {"", NEED_ALWAYS, "the parameters by the names of [MODEL.md](MODEL.md)"},
        [CHECKPOINT_MOMENTS1] = {"adam.m.", NEED_TO_RESUME, "the optimiser's mean of each gradient"},
        [CHECKPOINT_MOMENTS2] = {"adam.v.", NEED_TO_RESUME, "the optimiser's mean of each squared gradient"},
    };
    return &groups[g];
}
