/* audio_damage.c - see audio_damage.h. Formats: RFC 9639 (FLAC), ISO 11172-3 and 13818-3 with the header of
 * Xing and LAME (MP3), RFC 3533 (OGG). */
#include "dataset/audio_damage.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

static uint32_t big_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_big_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Length of the ID3v2 tags that a file begins with. May be past its end. */
static size_t tags_before(const uint8_t *p, size_t size)
{
    size_t at = 0;
    while (size - at >= 10 && memcmp(p + at, "ID3", 3) == 0) {
        const uint8_t *n = p + at + 6; /* four times seven bits */
        at += 10 +
              ((size_t)(n[0] & 127) << 21 | (size_t)(n[1] & 127) << 14 | (size_t)(n[2] & 127) << 7 |
               (n[3] & 127)) +
              (p[at + 5] & 16 ? 10 : 0);
        if (at > size)
            return size;
    }
    return at;
}

/* ---- FLAC ---- */

#define STREAMINFO_BYTES 34

int flac_header(FlacHeader *h, const uint8_t *head, size_t size)
{
    size_t at = tags_before(head, size);
    *h = (FlacHeader){0};
    if (size - at < 8 + STREAMINFO_BYTES || memcmp(head + at, "fLaC", 4) != 0 || (head[at + 4] & 127) != 0)
        return 0;
    const uint8_t *p = head + at + 8; /* the stream's description */
    h->length_at = at + 8 + 13;
    memcpy(h->length, p + 13, sizeof h->length);
    h->rate = (int)(big_u32(p + 10) >> 12);
    h->channels = (p[12] >> 1 & 7) + 1;
    h->bits = ((p[12] & 1) << 4 | p[13] >> 4) + 1;
    h->samples = (uint64_t)(p[13] & 15) << 32 | big_u32(p + 14);
    return 1;
}

void flac_longest(uint8_t out[5], const FlacHeader *h)
{
    memset(out, 255, 5);
    out[0] = (uint8_t)(h->length[0] | 15);
}

/* The description has no checksum. Every frame repeats what it says, and has one. */
static int flac_damage(const uint8_t *p, size_t size, char *why, size_t cap)
{
    static const int rates[16] = {0,     88200, 176400, 192000, 8000, 16000, 22050, 24000,
                                  32000, 44100, 48000,  96000,  0,    0,     0,     0};
    static const int bits[8] = {0, 8, 12, 0, 16, 20, 24, 32};
    FlacHeader h;
    if (!flac_header(&h, p, size))
        return 0;
    size_t at = tags_before(p, size) + 4;
    for (int last = 0; !last;) { /* block after block, to the first frame */
        if (size - at < 4)
            return 0;
        last = p[at] & 128;
        size_t length = big_u32(p + at) & 0xFFFFFF;
        if (size - at - 4 < length)
            return 0;
        at += 4 + length;
    }
    if (size - at < 4 || p[at] != 0xFF || (p[at + 1] & 0xFE) != 0xF8)
        return 0; /* the decoder looks for a frame, and says if it finds none */
    int rate = rates[p[at + 2] & 15], assignment = p[at + 3] >> 4, depth = bits[p[at + 3] >> 1 & 7];
    int channels = assignment < 8 ? assignment + 1 : 2;
    if (rate && rate != h.rate)
        snprintf(why, cap, "damaged: header says %d Hz, the first frame %d Hz", h.rate, rate);
    else if (depth && depth != h.bits)
        snprintf(why, cap, "damaged: header says %d bits, the first frame %d", h.bits, depth);
    else if (channels != h.channels)
        snprintf(why, cap, "damaged: header says %d channels, the first frame %d", h.channels, channels);
    else
        return 0;
    return 1;
}

/* ---- MP3 ---- */

/* What all frames of a file have in common: sync, version, layer, sample rate. */
#define SAME_STREAM 0xFFFE0C00u

typedef struct MpegFrame {
    uint32_t head;
    size_t size; /* bytes; 0: free format, where only the next frame tells */
    size_t side; /* bytes from the beginning to the sound, without a checksum */
} MpegFrame;

static int mpeg_frame(MpegFrame *f, const uint8_t *p)
{
    static const int kbps[2][3][16] = {
        /* version 1 and 2, layers I, II, III */
        {{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
         {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
         {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}},
        {{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}};
    static const int rates[4] = {44100, 48000, 32000, 0};
    uint32_t h = big_u32(p);
    unsigned version = h >> 19 & 3, layer = 4 - (h >> 17 & 3), step = h >> 12 & 15;
    if (h >> 21 != 0x7FF || version == 1 || layer == 4 || step == 15 || (h >> 10 & 3) == 3)
        return 0;
    int later = version != 3, rate = rates[h >> 10 & 3] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    int mono = (h >> 6 & 3) == 3, bits = kbps[later][layer - 1][step] * 1000, pad = h >> 9 & 1;
    size_t size = layer == 1   ? (size_t)(12 * bits / rate + pad) * 4
                  : layer == 2 ? (size_t)(144 * bits / rate + pad)
                               : (size_t)((later ? 72 : 144) * bits / rate + pad);
    *f = (MpegFrame){h, bits ? size : 0, later ? (mono ? 13 : 21) : (mono ? 21 : 36)};
    return 1;
}

/* The next place where a frame begins and another of the stream, or the end, follows; size if there is none.
 * like: a frame of the stream, NULL before the first. */
static size_t find_frame(const uint8_t *p, size_t size, size_t at, const MpegFrame *like)
{
    for (; size - at >= 4; at++) {
        MpegFrame f, next;
        if (p[at] != 0xFF || !mpeg_frame(&f, p + at) || (like && (f.head ^ like->head) & SAME_STREAM))
            continue;
        if (like || f.size == 0 || size - at < f.size + 4 ||
            (mpeg_frame(&next, p + at + f.size) && !((next.head ^ f.head) & SAME_STREAM)))
            return at;
    }
    return size;
}

/* The number of frames that the first one, which is silent, announces; 0: it announces nothing. */
static uint64_t frames_announced(const uint8_t *p, size_t size, const MpegFrame *first)
{
    size_t side = first->side + (first->head >> 16 & 1 ? 0 : 2);
    if (size < side + 12 || size < 4 + 32 + 18)
        return 0;
    const uint8_t *tag = p + side;
    if ((memcmp(tag, "Xing", 4) == 0 || memcmp(tag, "Info", 4) == 0) && tag[7] & 1)
        return big_u32(tag + 8);
    return memcmp(p + 36, "VBRI", 4) == 0 ? big_u32(p + 36 + 14) : 0;
}

typedef struct MpegStream {
    MpegFrame first;
    size_t at;            /* of the first frame */
    uint64_t announced;   /* frames; 0: unknown */
    uint64_t count;       /* whole frames, the announcement among them */
    size_t torn, torn_of; /* bytes of the last frame that are there, if not all of torn_of are */
} MpegStream;

/* Frame after frame to the end of the sound. What stands between two frames, or behind the last, is skipped
 * as decoders skip it; a frame that is not all there means that the rest is missing too. 0: not an MP3 file,
 * or one in free format. */
static int mpeg_walk(MpegStream *s, const uint8_t *p, size_t size)
{
    static const char *const tags[] = {"TAG", "APETAGEX", "LYRICSBEGIN", "ID3"};
    *s = (MpegStream){.at = find_frame(p, size, tags_before(p, size), NULL)};
    if (size - s->at < 4 || !mpeg_frame(&s->first, p + s->at))
        return 0;
    s->announced = frames_announced(p + s->at, size - s->at, &s->first);
    for (size_t at = s->at; size - at >= 4;) {
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
            if (size - at >= strlen(tags[i]) && memcmp(p + at, tags[i], strlen(tags[i])) == 0)
                return 1;
        MpegFrame f;
        if (!mpeg_frame(&f, p + at) || (f.head ^ s->first.head) & SAME_STREAM) {
            at = find_frame(p, size, at + 1, &s->first);
            continue;
        }
        if (f.size == 0)
            return 0;
        if (f.size > size - at) {
            s->torn = size - at;
            s->torn_of = f.size;
            return 1;
        }
        at += f.size;
        s->count++;
    }
    return 1;
}

static int mpeg_damage(const uint8_t *p, size_t size, char *why, size_t cap)
{
    MpegStream s;
    if (!mpeg_walk(&s, p, size))
        return 0;
    if (s.torn_of)
        snprintf(why, cap, "truncated: its last frame has %zu bytes of %zu", s.torn, s.torn_of);
    else if (s.announced > s.count + 1) /* some count the announcement too, some do not */
        snprintf(why, cap, "truncated: header says %llu frames, file holds %llu",
                 (unsigned long long)s.announced, (unsigned long long)s.count);
    else
        return 0;
    return 1;
}

size_t mpeg_announcement(uint8_t out[MPEG_MAX_FRAME], size_t *skip, const uint8_t *bytes, size_t size)
{
    MpegStream s;
    MpegFrame f;
    size_t at = tags_before(bytes, size);
    /* As libsndfile tells an MP3 file from others. */
    if (size - at < 4 || bytes[at] != 0xFF || bytes[at + 1] < 0xE0)
        return 0;
    if (!mpeg_walk(&s, bytes, size) || s.announced || s.count > UINT32_MAX)
        return 0;
    /* The first frame's header with the highest bit rate, so that there is room; no checksum, no padding. */
    memset(out, 0, MPEG_MAX_FRAME);
    put_big_u32(out, (s.first.head & ~0xF200u) | 0x1E000u);
    if (!mpeg_frame(&f, out) || f.size > MPEG_MAX_FRAME || f.size < f.side + 12)
        return 0;
    memcpy(out + f.side, "Xing", 4);
    out[f.side + 7] = 1; /* the number of frames follows, and nothing else */
    put_big_u32(out + f.side + 8, (uint32_t)s.count);
    *skip = s.at;
    return f.size;
}

/* ---- OGG ---- */

#define PAGE_HEAD 27
#define PAGE_CHECKSUM 22 /* offset of four bytes that count as zero */

static uint32_t page_checksum(const uint8_t *p, size_t n)
{
    uint32_t table[256], sum = 0;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i << 24;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] << 1 ^ (table[i] >> 31 ? 0x04c11db7u : 0);
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = i >= PAGE_CHECKSUM && i < PAGE_CHECKSUM + 4 ? 0 : p[i];
        sum = sum << 8 ^ table[sum >> 24 ^ byte];
    }
    return sum;
}

static int ogg_damage(const uint8_t *p, size_t size, char *why, size_t cap)
{
    size_t at = 0;
    int pages = 0, ended = 0;
    for (; size - at >= 4 && memcmp(p + at, "OggS", 4) == 0; pages++) {
        size_t length = PAGE_HEAD, left = size - at;
        if (left >= length)
            length += p[at + 26];
        int table_there = left >= length && length > PAGE_HEAD;
        for (size_t i = PAGE_HEAD, head = length; table_there && i < head; i++)
            length += p[at + i];
        if (left < length) {
            snprintf(why, cap, "truncated: its last page has %zu bytes of %zu", left, length);
            return 1;
        }
        if (page_checksum(p + at, length) != get_u32(p + at + PAGE_CHECKSUM)) {
            snprintf(why, cap, "damaged: the checksum of the page at byte %zu does not match", at);
            return 1;
        }
        ended = p[at + 5] & 4;
        at += length;
    }
    /* Other bytes may follow the end of a stream. */
    if (ended)
        return 0;
    /* Browsers record Opus page by page, and mark none as the last one when the recording ends. */
    if (at == size && pages > 2 && memcmp(p + PAGE_HEAD + 1, "OpusHead", 8) == 0)
        return 0;
    if (at < size)
        snprintf(why, cap, "damaged: no page starts at byte %zu", at);
    else
        snprintf(why, cap, "truncated: none of its %d pages is the last of the stream", pages);
    return 1;
}

int audio_damage(const uint8_t *bytes, size_t size, char *why, size_t cap)
{
    FlacHeader h;
    if (flac_header(&h, bytes, size))
        return flac_damage(bytes, size, why, cap);
    if (size >= 4 && memcmp(bytes, "OggS", 4) == 0)
        return ogg_damage(bytes, size, why, cap);
    return mpeg_damage(bytes, size, why, cap);
}
