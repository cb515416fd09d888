/* audio_producer.c - audio file -> the samples that the mel sees: the producer of the audio cache. */
#include <stdlib.h>

#include "cache/audio_features.h"
#include "cache/builder/clip.h"
#include "cache/builder/producers.h"
#include "cache/features.h"

/* A rejection that was kept as a record stands as well as samples. */
static int is_usable(const StoreEntry *e)
{
    AudioView v;
    return e->status != 0 || audio_view(&v, e) == 0;
}

static void close_worker(void *worker)
{
    ClipReader *r = worker;
    if (!r)
        return;
    clip_reader_close(r);
    free(r);
}

static int open_worker(void **out, const void *first, const Config *cfg, Err *err)
{
    *out = NULL;
    ClipReader *r = mem_calloc(1, sizeof *r);
    int rc = r ? clip_reader_open(r, cfg, err)
               : err_set(err, ERR_NOMEM, "no memory for a worker of the audio cache");
    if (rc) {
        close_worker(r);
        return rc;
    }
    *out = r;
    return 0;
}

static void produce(void *worker, Produced *out, const ProducerInput *in)
{
    const float *samples;
    int64_t n;
    clip_read(worker, &samples, &n, out, in);
    if (out->reason == REJECT_NONE && audio_encode_payload(out, samples, n))
        clip_no_memory(out);
}

static int describe(const NewState *s, Buf *blob, Err *err)
{
    AudioInformation head = {.sample_rate = (uint32_t)s->cfg->sample_rate};
    buf_add(blob, &head, sizeof head);
    return blob->failed ? err_set(err, ERR_NOMEM, "no memory for the index of the audio cache") : 0;
}

const Producer audio_producer = {.store = AUDIO_STORE,
                                 .unit = "clips",
                                 .from_audio = 1,
                                 .settings = audio_settings_hash,
                                 .key = clip_key,
                                 .is_usable = is_usable,
                                 .open = open_worker,
                                 .close = close_worker,
                                 .produce = produce,
                                 .accept = clip_accept,
                                 .describe = describe};
