/* wyoming_event.c - see wyoming_event.h. What has been looked at is not looked at again, so that bytes that
 * come one at a time cost no more than all at once. */
#include "serve/wyoming_event.h"

#include <stdlib.h>
#include <string.h>

static const char *bytes(const WyomingReader *r) { return r->in.data + r->at; }
static size_t left(const WyomingReader *r) { return r->in.size - r->at; }

int wyoming_reader_add(WyomingReader *r, const void *p, size_t n, Err *err)
{
    if (r->at)
        memmove(r->in.data, bytes(r), left(r));
    r->in.size -= r->at;
    r->at = 0;
    buf_add(&r->in, p, n);
    return r->in.failed ? err_set(err, ERR_NOMEM, "no memory for %zu bytes of an event", n) : 0;
}

int wyoming_reader_is_empty(const WyomingReader *r) { return !r->head && !left(r); }

void wyoming_event_free(WyomingEvent *e)
{
    json_decref(e->head);
    *e = (WyomingEvent){0};
}

void wyoming_reader_free(WyomingReader *r)
{
    json_decref(r->head);
    buf_free(&r->in);
    *r = (WyomingReader){0};
}

/* A number of bytes in the head; one that is missing or null is 0. */
static int read_length(size_t *length, const json_t *head, const char *key, size_t most, Err *err)
{
    const json_t *value = json_object_get(head, key);
    *length = 0;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return err_set(err, ERR_DATA, "%s of the event is not a number of bytes", key);
    if ((uint64_t)json_integer_value(value) > most)
        return err_set(err, ERR_DATA, "%s of the event is %lld; the maximum is %zu bytes", key,
                       (long long)json_integer_value(value), most);
    *length = (size_t)json_integer_value(value);
    return 0;
}

static json_t *parse(const char *p, size_t n, const char *what, Err *err)
{
    json_error_t why;
    json_t *o = json_loadb(p, n, 0, &why);
    if (o && json_is_object(o))
        return o;
    err_set(err, ERR_DATA, "%s of the event is not a JSON object%s%s", what, o ? "" : ": ",
            o ? "" : why.text);
    json_decref(o);
    return NULL;
}

/* The line of an event: 1, 0 while it has not ended, or an error. */
static int read_head(WyomingReader *r, Err *err)
{
    const char *end = NULL;
    if (left(r) > r->scanned)
        end = memchr(bytes(r) + r->scanned, '\n', left(r) - r->scanned);
    r->scanned = end ? (size_t)(end - bytes(r)) : left(r);
    if (r->scanned > WYOMING_LINE)
        return err_set(err, ERR_DATA, "the line of the event is longer than %d bytes", WYOMING_LINE);
    if (!end)
        return 0;
    json_t *head = parse(bytes(r), r->scanned, "the line", err);
    if (!head)
        return ERR_DATA;
    int rc = read_length(&r->data, head, "data_length", WYOMING_DATA, err);
    if (!rc)
        rc = read_length(&r->payload, head, "payload_length", WYOMING_PAYLOAD, err);
    if (!rc && !json_is_string(json_object_get(head, "type")))
        rc = err_set(err, ERR_DATA, "the event has no type");
    const json_t *data = json_object_get(head, "data");
    if (!rc && data && !json_is_null(data) && !json_is_object(data))
        rc = err_set(err, ERR_DATA, "data of the event is not a JSON object");
    if (rc) {
        json_decref(head);
        return rc;
    }
    r->at += r->scanned + 1;
    r->scanned = 0;
    r->head = head;
    return 1;
}

/* The data behind the line wins over that in it. */
static int read_data(WyomingReader *r, Err *err)
{
    json_t *data = json_object_get(r->head, "data"), *more = NULL;
    if (!json_is_object(data)) {
        data = json_object();
        if (json_object_set_new(r->head, "data", data))
            return err_set(err, ERR_NOMEM, "no memory for an event");
    }
    if (!r->data)
        return 0;
    more = parse(bytes(r), r->data, "the data", err);
    if (!more)
        return ERR_DATA;
    int failed = json_object_update(data, more);
    json_decref(more);
    r->at += r->data;
    r->data = 0;
    return failed ? err_set(err, ERR_NOMEM, "no memory for an event") : 0;
}

int wyoming_reader_next(WyomingReader *r, WyomingEvent *e, Err *err)
{
    *e = (WyomingEvent){0};
    if (!r->head) {
        int rc = read_head(r, err);
        if (rc <= 0)
            return rc;
    }
    if (left(r) < r->data)
        return 0;
    if (r->data || !json_is_object(json_object_get(r->head, "data"))) {
        int rc = read_data(r, err);
        if (rc)
            return rc;
    }
    size_t here = r->payload < left(r) ? r->payload : left(r);
    r->at += here;
    r->payload -= here;
    if (r->payload)
        return 0;
    e->head = r->head;
    e->type = json_string_value(json_object_get(e->head, "type"));
    e->data = json_object_get(e->head, "data");
    r->head = NULL;
    return 1;
}

const char *wyoming_event_text(const WyomingEvent *e, const char *key)
{
    return json_string_value(json_object_get(e->data, key));
}

int wyoming_event_write(Buf *out, const char *type, json_t *data, const void *payload, size_t size, Err *err)
{
    char *text = data ? json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    const int failed = data && !text;
    json_decref(data);
    if (!failed) {
        buf_printf(out, "{\"type\": \"%s\"", type);
        if (text)
            buf_printf(out, ", \"data_length\": %zu", strlen(text));
        if (size)
            buf_printf(out, ", \"payload_length\": %zu", size);
        buf_str(out, "}\n");
        buf_str(out, text ? text : "");
        buf_add(out, payload, size);
    }
    free(text);
    return failed || out->failed ? err_set(err, ERR_NOMEM, "no memory for an event") : 0;
}
