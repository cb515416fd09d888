/* aac_encoder.c - see aac_encoder.h. What libav's structures look like changes from version to version, so
 * that as little as can be is known of them: settings are made by name, and frames come out of a filter graph
 * that makes silence of the right kind, into which the samples are written. */
#include "audio/aac_encoder.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/audio_libav.h"

#define FRAME 1024
#define BITS_PER_SAMPLE 4 /* of what comes out; an LC frame holds 6 at most */
#define MOST_BITS 96000   /* a second */
#define ADTS_HEAD 7
#define NO_FORMAT (-1) /* AV_SAMPLE_FMT_NONE */
#define FLOATS 8       /* AV_SAMPLE_FMT_FLTP */

typedef struct Frame { /* how AVFrame begins */
    uint8_t *data[8];
} Frame;

typedef struct Packet { /* how AVPacket begins */
    void *buf;
    int64_t pts, dts;
    uint8_t *data;
    int size;
} Packet;

typedef struct Option { /* how AVOption begins */
    const char *name, *help;
    int offset;
} Option;

typedef struct Functions { /* by their own names */
    void *(*avfilter_graph_alloc)(void);
    void (*avfilter_graph_free)(void **graph);
    const void *(*avfilter_get_by_name)(const char *name);
    int (*avfilter_graph_create_filter)(void **filter, const void *kind, const char *name, const char *args,
                                        void *opaque, void *graph);
    int (*avfilter_link)(void *from, unsigned out, void *to, unsigned in);
    int (*avfilter_graph_config)(void *graph, void *log);
    int (*av_buffersink_get_frame)(void *sink, Frame *frame);
    Frame *(*av_frame_alloc)(void);
    void (*av_frame_free)(Frame **frame);
    void (*av_frame_unref)(Frame *frame);
    int (*av_frame_make_writable)(Frame *frame);
    int (*av_opt_set)(void *object, const char *name, const char *value, int flags);
    const Option *(*av_opt_find)(void *object, const char *name, const char *unit, int flags, int search);
    int (*av_strerror)(int code, char *out, size_t cap);
    void (*av_log_set_level)(int level);
    const void *(*avcodec_find_encoder_by_name)(const char *name);
    void *(*avcodec_alloc_context3)(const void *codec);
    void (*avcodec_free_context)(void **context);
    int (*avcodec_open2)(void *context, const void *codec, void **options);
    int (*avcodec_send_frame)(void *context, const Frame *frame);
    int (*avcodec_receive_packet)(void *context, Packet *packet);
    Packet *(*av_packet_alloc)(void);
    void (*av_packet_free)(Packet **packet);
    void (*av_packet_unref)(Packet *packet);
} Functions;

struct AacEncoder {
    Functions av;
    int rate;
    void *graph, *silence, *context;
    Frame *frame;
    Packet *packet;
    float samples[FRAME];
    int count; /* of them that have come */
};

static const int rates[] = {96000, 88200, 64000, 48000, 44100, 32000, 24000,
                            22050, 16000, 12000, 11025, 8000,  7350};
enum { RATES = sizeof rates / sizeof *rates };

int aac_encoder_rate(int rate)
{
    int found = rates[0];
    for (int i = 0; i < RATES && rates[i] >= rate; i++)
        found = rates[i];
    return found;
}

/* --- the library --- */

static int load(Functions *av)
{
    void *library = audio_libav_library();
    int missing = !library;
#define FIND(name) \
    *(void **)&av->name = library ? dlsym(library, #name) : NULL; \
    missing += !av->name
    FIND(avfilter_graph_alloc);
    FIND(avfilter_graph_free);
    FIND(avfilter_get_by_name);
    FIND(avfilter_graph_create_filter);
    FIND(avfilter_link);
    FIND(avfilter_graph_config);
    FIND(av_buffersink_get_frame);
    FIND(av_frame_alloc);
    FIND(av_frame_free);
    FIND(av_frame_unref);
    FIND(av_frame_make_writable);
    FIND(av_opt_set);
    FIND(av_opt_find);
    FIND(av_strerror);
    FIND(av_log_set_level);
    FIND(avcodec_find_encoder_by_name);
    FIND(avcodec_alloc_context3);
    FIND(avcodec_free_context);
    FIND(avcodec_open2);
    FIND(avcodec_send_frame);
    FIND(avcodec_receive_packet);
    FIND(av_packet_alloc);
    FIND(av_packet_free);
    FIND(av_packet_unref);
#undef FIND
    return !missing;
}

int aac_encoder_is_here(void)
{
    Functions av = {0};
    return load(&av) && av.avcodec_find_encoder_by_name("aac");
}

static int fail(const AacEncoder *e, int code, const char *what, Err *err)
{
    char why[128] = "";
    e->av.av_strerror(code, why, sizeof why);
    return err_set(err, ERR_IO, "cannot %s AAC: libav: %s", what, why);
}

/* --- opening --- */

/* anullsrc makes frames of silence for ever. 0, or libav's code. */
static int open_silence(AacEncoder *e)
{
    static const char *const kinds[] = {"anullsrc", "aformat", "abuffersink"};
    char source[80];
    snprintf(source, sizeof source, "channel_layout=mono:sample_rate=%d:nb_samples=%d", e->rate, FRAME);
    const char *args[] = {source, "sample_fmts=fltp", NULL};
    void *filters[3] = {0};
    int code = 0;
    e->graph = e->av.avfilter_graph_alloc();
    if (!e->graph)
        return -ENOMEM;
    for (int i = 0; i < 3 && code >= 0; i++) {
        const void *kind = e->av.avfilter_get_by_name(kinds[i]);
        code = kind ? e->av.avfilter_graph_create_filter(&filters[i], kind, kinds[i], args[i], NULL, e->graph)
                    : -ENOSYS;
        if (code >= 0 && i > 0)
            code = e->av.avfilter_link(filters[i - 1], 0, filters[i], 0);
    }
    e->silence = filters[2];
    return code < 0 ? code : e->av.avfilter_graph_config(e->graph, NULL);
}

/* The one setting that has no name stands behind the rate, and in older versions behind the number of
 * channels; a new encoder has none. 0, or libav's code. */
static int choose_floats(AacEncoder *e)
{
    const Option *before = e->av.av_opt_find(e->context, "ac", NULL, 0, 0);
    if (!before)
        before = e->av.av_opt_find(e->context, "ar", NULL, 0, 0);
    int *format = before ? (int *)(void *)((char *)e->context + before->offset + sizeof(int)) : NULL;
    if (!format || *format != NO_FORMAT)
        return -ENOSYS;
    *format = FLOATS;
    return 0;
}

static int open_encoder(AacEncoder *e)
{
    const void *codec = e->av.avcodec_find_encoder_by_name("aac");
    char rate[16], bits[16], tick[24];
    const int most = e->rate * BITS_PER_SAMPLE;
    snprintf(rate, sizeof rate, "%d", e->rate);
    snprintf(bits, sizeof bits, "%d", most < MOST_BITS ? most : MOST_BITS);
    snprintf(tick, sizeof tick, "1/%d", e->rate);
    e->context = codec ? e->av.avcodec_alloc_context3(codec) : NULL;
    int code = e->context ? choose_floats(e) : -ENOSYS;
    if (code >= 0)
        code = e->av.av_opt_set(e->context, "ar", rate, 0);
    if (code >= 0)
        code = e->av.av_opt_set(e->context, "b", bits, 0);
    if (code >= 0)
        code = e->av.av_opt_set(e->context, "time_base", tick, 0);
    /* As newer versions call it, and as older ones do. */
    if (code >= 0 && e->av.av_opt_set(e->context, "ch_layout", "mono", 0) < 0) {
        code = e->av.av_opt_set(e->context, "channel_layout", "mono", 0);
        if (code >= 0)
            code = e->av.av_opt_set(e->context, "ac", "1", 0);
    }
    return code < 0 ? code : e->av.avcodec_open2(e->context, codec, NULL);
}

int aac_encoder_open(AacEncoder **out, int rate, Err *err)
{
    *out = NULL;
    AacEncoder *e = mem_calloc(1, sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "no memory to encode sound");
    e->rate = rate;
    if (!load(&e->av)) {
        free(e);
        err_set(err, ERR_MISSING, "AAC is made by libavcodec, which is not installed");
        return err_hint(err, "apt-get install ffmpeg");
    }
    e->av.av_log_set_level(-8); /* AV_LOG_QUIET: what is wrong is said by us */
    e->frame = e->av.av_frame_alloc();
    e->packet = e->av.av_packet_alloc();
    int code = e->frame && e->packet ? open_silence(e) : -ENOMEM;
    if (code >= 0)
        code = open_encoder(e);
    if (code < 0) {
        fail(e, code, "begin", err);
        aac_encoder_close(e);
        return ERR_IO;
    }
    *out = e;
    return 0;
}

void aac_encoder_close(AacEncoder *e)
{
    if (!e)
        return;
    e->av.avcodec_free_context(&e->context);
    e->av.avfilter_graph_free(&e->graph);
    e->av.av_frame_free(&e->frame);
    e->av.av_packet_free(&e->packet);
    free(e);
}

/* --- encoding --- */

/* ISO 14496-3: MPEG-4, no checksum, LC, one channel, a frame of AAC in each. */
static void write_head(uint8_t head[ADTS_HEAD], int rate, size_t bytes)
{
    const unsigned size = (unsigned)bytes + ADTS_HEAD;
    unsigned number = 0;
    while (rates[number] != rate)
        number++;
    head[0] = 0xFF;
    head[1] = 0xF1;
    head[2] = (uint8_t)(1 << 6 | number << 2);
    head[3] = (uint8_t)(1 << 6 | size >> 11);
    head[4] = (uint8_t)(size >> 3);
    head[5] = (uint8_t)((size & 7) << 5 | 0x1F);
    head[6] = 0xFC;
}

/* Gives out what the encoder has. */
static int take_packets(AacEncoder *e, Buf *out, Err *err)
{
    const int end = -(int)('E' | 'O' << 8 | 'F' << 16 | (unsigned)' ' << 24); /* AVERROR_EOF */
    for (;;) {
        uint8_t head[ADTS_HEAD];
        int code = e->av.avcodec_receive_packet(e->context, e->packet);
        if (code == end || code == -EAGAIN)
            return out->failed ? err_set(err, ERR_NOMEM, "no memory for encoded sound") : 0;
        if (code < 0)
            return fail(e, code, "make", err);
        write_head(head, e->rate, (size_t)e->packet->size);
        buf_add(out, head, sizeof head);
        buf_add(out, e->packet->data, (size_t)e->packet->size);
        e->av.av_packet_unref(e->packet);
    }
}

/* What has come, with silence behind it where it is less than a frame. */
static int send_frame(AacEncoder *e, Buf *out, Err *err)
{
    int code = e->av.av_buffersink_get_frame(e->silence, e->frame);
    if (code >= 0)
        code = e->av.av_frame_make_writable(e->frame);
    if (code >= 0) {
        memcpy(e->frame->data[0], e->samples, (size_t)e->count * sizeof *e->samples);
        code = e->av.avcodec_send_frame(e->context, e->frame);
    }
    e->av.av_frame_unref(e->frame);
    e->count = 0;
    return code < 0 ? fail(e, code, "make", err) : take_packets(e, out, err);
}

int aac_encoder_add(AacEncoder *e, Buf *out, const int16_t *samples, size_t n, Err *err)
{
    for (size_t i = 0; i < n; i++) {
        e->samples[e->count++] = (float)samples[i] / 32768.0f;
        int rc = e->count == FRAME ? send_frame(e, out, err) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

int aac_encoder_finish(AacEncoder *e, Buf *out, Err *err)
{
    int rc = e->count ? send_frame(e, out, err) : 0,
        code = rc ? 0 : e->av.avcodec_send_frame(e->context, NULL);
    if (code < 0)
        return fail(e, code, "finish", err);
    return rc ? rc : take_packets(e, out, err);
}
