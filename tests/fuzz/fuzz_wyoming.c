/* fuzz_wyoming.c - any bytes as events of the Wyoming protocol, in pieces whose size is the first byte: the
 * events, and the error, must be those of all bytes at once, and each event written and read again be the
 * same one. */
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "serve/wyoming_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_event(const WyomingEvent *e)
{
    WyomingReader r = {0};
    WyomingEvent again;
    Buf out = {0};
    ASSERT(e->type && json_is_object(e->data));
    wyoming_event_text(e, "text");
    ASSERT(wyoming_event_write(&out, "again", json_deep_copy(e->data), "abc", 3, NULL) == 0);
    ASSERT(wyoming_reader_add(&r, out.data, out.size, NULL) == 0);
    int rc = wyoming_reader_next(&r, &again, NULL);
    /* What was escaped on its way in may be longer on its way out, up to the limit. */
    ASSERT(rc == 1 || out.size > WYOMING_DATA);
    ASSERT(rc != 1 || (strcmp(again.type, "again") == 0 && wyoming_reader_is_empty(&r)));
    wyoming_event_free(&again);
    wyoming_reader_free(&r);
    buf_free(&out);
}

/* Types of the events, a line each, and how it ended. */
static void read_events(Buf *seen, const uint8_t *data, size_t size, size_t piece)
{
    WyomingReader r = {0};
    WyomingEvent e;
    Err err = {0};
    int rc = 0;
    for (size_t at = 0; at < size && rc >= 0; at += piece) {
        ASSERT(wyoming_reader_add(&r, data + at, piece < size - at ? piece : size - at, &err) == 0);
        for (;;) {
            rc = wyoming_reader_next(&r, &e, &err);
            if (rc <= 0)
                break;
            check_event(&e);
            buf_printf(seen, "%s\n", e.type);
            wyoming_event_free(&e);
        }
    }
    ASSERT(rc >= 0 || (err.code == rc && err.msg[0]));
    buf_printf(seen, "%d %s", rc, err.msg);
    wyoming_reader_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Buf whole = {0}, pieces = {0};
    if (size < 2)
        return 0;
    read_events(&whole, data + 1, size - 1, size);
    read_events(&pieces, data + 1, size - 1, 1 + data[0] % 16);
    ASSERT(whole.size == pieces.size && memcmp(whole.data, pieces.data, whole.size) == 0);
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
