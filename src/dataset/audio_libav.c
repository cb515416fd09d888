/* audio_libav.c - see audio_libav.h. */
#include "dataset/audio_libav.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"

#define WAV_HEAD 44
#define MOST_BYTES 0xFFFF0000u /* of sound in a WAV file */

typedef struct Frame { /* how AVFrame begins, since libavutil 52 (2012) */
    uint8_t *data[8];
    int linesize[8];
    uint8_t **extended_data;
    int width, height, nb_samples, format;
} Frame;

typedef struct Libav { /* the functions by their own names; the types are opaque */
    void *library;
    void *(*avfilter_graph_alloc)(void);
    void (*avfilter_graph_free)(void **graph);
    const void *(*avfilter_get_by_name)(const char *name);
    int (*avfilter_graph_create_filter)(void **filter, const void *kind, const char *name, const char *args,
                                        void *opaque, void *graph);
    int (*avfilter_link)(void *from, unsigned out, void *to, unsigned in);
    int (*avfilter_graph_config)(void *graph, void *log);
    int (*av_buffersink_get_frame)(void *sink, Frame *frame);
    int (*av_buffersink_get_sample_rate)(const void *sink);
    int (*av_buffersink_get_channels)(const void *sink);
    Frame *(*av_frame_alloc)(void);
    void (*av_frame_free)(Frame **frame);
    void (*av_frame_unref)(Frame *frame);
    int (*av_opt_set)(void *object, const char *name, const char *value, int flags);
    int (*av_strerror)(int code, char *out, size_t cap);
    void (*av_log_set_level)(int level);
} Libav;

const char *audio_libav_format(const uint8_t *head, size_t n)
{
    static const struct {
        const char *name;
        uint8_t at, size;
        const char *magic;
    } formats[] = {{"MP4", 4, 4, "ftyp"},
                   {"WebM", 0, 4, "\x1A\x45\xDF\xA3"},
                   {"WMA", 0, 4, "\x30\x26\xB2\x75"},
                   {"AMR", 0, 5, "#!AMR"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (n >= (size_t)formats[i].at + formats[i].size &&
            memcmp(head + formats[i].at, formats[i].magic, formats[i].size) == 0)
            return formats[i].name;
    /* ADTS: twelve set bits, then a layer of 0, which no MP3 has. */
    return n >= 2 && head[0] == 0xFF && (head[1] & 0xF6) == 0xF0 ? "AAC" : NULL;
}

/* It stays loaded: unloading code that has started threads is not safe. */
void *audio_libav_library(void)
{
    static const char *const names[] = {"libavfilter.so.11", "libavfilter.so.10", "libavfilter.so.9",
                                        "libavfilter.so.8", "libavfilter.so.7"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return library;
}

static int load(Libav *av)
{
    *av = (Libav){.library = audio_libav_library()};
    if (!av->library)
        return 0;
    /* Those of libavutil are found through the library that needs it. */
    int missing = 0;
#define FIND(name) \
    *(void **)&av->name = dlsym(av->library, #name); \
    missing += !av->name
    FIND(avfilter_graph_alloc);
    FIND(avfilter_graph_free);
    FIND(avfilter_get_by_name);
    FIND(avfilter_graph_create_filter);
    FIND(avfilter_link);
    FIND(avfilter_graph_config);
    FIND(av_buffersink_get_frame);
    FIND(av_buffersink_get_sample_rate);
    FIND(av_buffersink_get_channels);
    FIND(av_frame_alloc);
    FIND(av_frame_free);
    FIND(av_frame_unref);
    FIND(av_opt_set);
    FIND(av_strerror);
    FIND(av_log_set_level);
#undef FIND
    if (missing)
        dlclose(av->library);
    return !missing;
}

/* The bytes as a file that has no name; -1 with errno. */
static int file_of(const void *bytes, size_t size)
{
    Err err = {0};
    int fd = memfd_create("myxtts-sound", MFD_CLOEXEC);
    if (fd >= 0 && file_write_all(fd, bytes, size, "a copy in memory", &err)) {
        close(fd);
        errno = ENOMEM;
        return -1;
    }
    return fd;
}

/* The graph: amovie reads the file, aformat makes floats, the sink hands them out. 0 or libav's code. */
static int build_graph(const Libav *av, void *graph, void **sink, int fd)
{
    static const char *const kinds[] = {"amovie", "aformat", "abuffersink"};
    char file[64];
    snprintf(file, sizeof file, "filename=/proc/self/fd/%d", fd);
    const char *args[] = {file, "sample_fmts=flt", NULL};
    void *filters[3] = {0};
    av->av_log_set_level(-8); /* AV_LOG_QUIET: what is wrong is said by us */
    av->av_opt_set(graph, "threads", "1", 0);
    int code = 0;
    for (int i = 0; i < 3 && code >= 0; i++) {
        const void *kind = av->avfilter_get_by_name(kinds[i]);
        code = kind ? av->avfilter_graph_create_filter(&filters[i], kind, kinds[i], args[i], NULL, graph)
                    : -ENOSYS;
        if (code >= 0 && i > 0)
            code = av->avfilter_link(filters[i - 1], 0, filters[i], 0);
    }
    *sink = filters[2];
    return code < 0 ? code : av->avfilter_graph_config(graph, NULL);
}

/* Header of 32 bit floats; the length is filled in at the end. */
static void wav_head(uint8_t head[WAV_HEAD], int rate, int channels, uint32_t bytes)
{
    memset(head, 0, WAV_HEAD);
    memcpy(head, "RIFF\0\0\0\0WAVEfmt ", 16);
    put_u32(head + 4, bytes + WAV_HEAD - 8);
    put_u32(head + 16, 16);
    put_u16(head + 20, 3);
    put_u16(head + 22, (uint16_t)channels);
    put_u32(head + 24, (uint32_t)rate);
    put_u32(head + 28, (uint32_t)rate * (uint32_t)channels * 4);
    put_u16(head + 32, (uint16_t)(channels * 4));
    put_u16(head + 34, 32);
    memcpy(head + 36, "data", 4);
    put_u32(head + 40, bytes);
}

/* Appends frame after frame; 0, or libav's code when it was not the end that stopped it. */
static int drain(const Libav *av, void *sink, Frame *frame, Buf *out, int channels, double most_bytes)
{
    const int end = -(int)('E' | 'O' << 8 | 'F' << 16 | (unsigned)' ' << 24); /* AVERROR_EOF */
    int code = 0;
    while (!out->failed && (double)out->size <= most_bytes) {
        code = av->av_buffersink_get_frame(sink, frame);
        if (code < 0)
            return code == end ? 0 : code;
        buf_add(out, frame->data[0], (size_t)frame->nb_samples * (size_t)channels * sizeof(float));
        av->av_frame_unref(frame);
    }
    return 0;
}

/* With the library, and a graph that is freed in any case. */
static RejectReason decode(const Libav *av, Buf *out, int fd, const char *path, double max_seconds,
                           char *detail, size_t cap)
{
    uint8_t head[WAV_HEAD] = {0};
    char why[128] = "";
    void *sink = NULL, *graph = av->avfilter_graph_alloc();
    Frame *frame = av->av_frame_alloc();
    int code = graph && frame ? build_graph(av, graph, &sink, fd) : -ENOMEM, rate = 0, channels = 0;
    if (code >= 0) {
        rate = av->av_buffersink_get_sample_rate(sink);
        channels = av->av_buffersink_get_channels(sink);
        if (rate < 1 || channels < 1)
            code = -EINVAL;
    }
    if (code >= 0) {
        double most = (max_seconds + 1) * rate * channels * (double)sizeof(float);
        buf_add(out, head, sizeof head);
        code = drain(av, sink, frame, out, channels, most < MOST_BYTES ? most : MOST_BYTES);
    }
    if (code < 0)
        av->av_strerror(code, why, sizeof why);
    av->av_frame_free(&frame);
    av->avfilter_graph_free(&graph);
    if (code < 0)
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: libav: %s", path, why);
    if (out->failed)
        return reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: no memory to decode it", path);
    if (out->size == WAV_HEAD)
        return reject_because(REJECT_AUDIO_EMPTY, detail, cap, "%s: no sample could be decoded", path);
    if (out->size - WAV_HEAD > MOST_BYTES)
        return reject_because(REJECT_AUDIO_TOO_LONG, detail, cap, "%s: more than 4 GB of sound", path);
    wav_head((uint8_t *)out->data, rate, channels, (uint32_t)(out->size - WAV_HEAD));
    return REJECT_NONE;
}

RejectReason audio_libav_wav(Buf *out, const void *bytes, size_t size, const char *path, double max_seconds,
                             char *detail, size_t cap)
{
    Libav av;
    const char *format = audio_libav_format(bytes, size);
    if (!load(&av))
        return reject_because(
            REJECT_AUDIO_UNREADABLE, detail, cap,
            "%s: %s is read with libavfilter, which is not installed (apt-get install ffmpeg)", path,
            format ? format : "the format");
    int fd = file_of(bytes, size);
    RejectReason r =
        fd < 0 ? reject_because(REJECT_AUDIO_UNREADABLE, detail, cap, "%s: %s", path, strerror(errno))
               : decode(&av, out, fd, path, max_seconds, detail, cap);
    if (fd >= 0)
        close(fd);
    dlclose(av.library);
    return r;
}
