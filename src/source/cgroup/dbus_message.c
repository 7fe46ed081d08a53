/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cgroup/dbus_message.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"

/* The codes of the header fields that we know. Others are passed over. */
enum field {
    FIELD_PATH = 1,
    FIELD_INTERFACE = 2,
    FIELD_MEMBER = 3,
    FIELD_ERROR_NAME = 4,
    FIELD_REPLY_SERIAL = 5,
    FIELD_DESTINATION = 6,
    FIELD_SIGNATURE = 8,
};

/* Where they stand in the head. */
enum { AT_TYPE = 1, AT_FLAGS = 2, AT_VERSION = 3, AT_BODY_LENGTH = 4, AT_SERIAL = 8 };
enum { AT_FIELDS_LENGTH = 12 };

enum { LITTLE_ENDIAN_MARK = 'l', VERSION = 1, SIGNATURE_MAX = 255 };

static const size_t MESSAGE_MAX = 1u << 27;
static const size_t FIELDS_MAX = 1u << 26;

/* Up to the next multiple; `alignment` is a power of two. */
static size_t align(size_t at, size_t alignment)
{
    return (at + alignment - 1) & ~(alignment - 1);
}

static void store_u32(uint8_t *place, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        place[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t load_u32(const uint8_t *place)
{
    return (uint32_t)place[0] | (uint32_t)place[1] << 8 | (uint32_t)place[2] << 16 |
           (uint32_t)place[3] << 24;
}

/* ---- writing ---- */

/* Room for `count` bytes behind zeroed padding, or NULL. */
static uint8_t *take(struct dbus_writer *writer, size_t alignment, size_t count)
{
    size_t start = align(writer->length, alignment);

    if (writer->is_cut || start > writer->size || count > writer->size - start) {
        writer->is_cut = true;
        return NULL;
    }
    memset(writer->data + writer->length, 0, start - writer->length);
    writer->length = start + count;
    return writer->data + start;
}

static void put_byte(struct dbus_writer *writer, uint8_t value)
{
    uint8_t *place = take(writer, 1, 1);

    if (place)
        *place = value;
}

void dbus_put_u32(struct dbus_writer *writer, uint32_t value)
{
    uint8_t *place = take(writer, 4, 4);

    if (place)
        store_u32(place, value);
}

void dbus_put_string(struct dbus_writer *writer, const char *text)
{
    size_t length = strlen(text);
    uint8_t *place;

    if (length > UINT32_MAX - 1)
        writer->is_cut = true;
    dbus_put_u32(writer, (uint32_t)length);
    place = take(writer, 1, length + 1);
    if (place)
        memcpy(place, text, length + 1);
}

void dbus_put_signature(struct dbus_writer *writer, const char *signature)
{
    size_t length = strlen(signature);
    uint8_t *place;

    if (length > SIGNATURE_MAX)
        writer->is_cut = true;
    put_byte(writer, (uint8_t)length);
    place = take(writer, 1, length + 1);
    if (place)
        memcpy(place, signature, length + 1);
}

void dbus_put_struct(struct dbus_writer *writer)
{
    (void)take(writer, 8, 0); /* the writer itself knows where it failed */
}

struct dbus_array dbus_begin_array(struct dbus_writer *writer, size_t alignment)
{
    struct dbus_array array;

    dbus_put_u32(writer, 0);
    array.length_at = writer->length - 4;
    (void)take(writer, alignment, 0); /* not part of the array's length */
    array.start_at = writer->length;
    return array;
}

void dbus_end_array(struct dbus_writer *writer, const struct dbus_array *array)
{
    if (!writer->is_cut)
        store_u32(writer->data + array->length_at,
                  (uint32_t)(writer->length - array->start_at));
}

static void put_field(struct dbus_writer *writer, enum field field, const char *signature,
                      const char *text)
{
    if (!text)
        return;
    dbus_put_struct(writer);
    put_byte(writer, (uint8_t)field);
    dbus_put_signature(writer, signature);
    if (signature[0] == 'g')
        dbus_put_signature(writer, text);
    else
        dbus_put_string(writer, text);
}

void dbus_begin_call(struct dbus_writer *writer, uint8_t *data, size_t size,
                     const struct dbus_call *call)
{
    struct dbus_array fields;

    *writer = (struct dbus_writer){ .data = data, .size = size };
    put_byte(writer, LITTLE_ENDIAN_MARK);
    put_byte(writer, DBUS_CALL);
    put_byte(writer, call->flags);
    put_byte(writer, VERSION);
    dbus_put_u32(writer, 0); /* the body's length: known at the end */
    dbus_put_u32(writer, call->serial);
    fields = dbus_begin_array(writer, 8);
    put_field(writer, FIELD_PATH, "o", call->path);
    put_field(writer, FIELD_DESTINATION, "s", call->destination);
    put_field(writer, FIELD_INTERFACE, "s", call->interface);
    put_field(writer, FIELD_MEMBER, "s", call->member);
    put_field(writer, FIELD_SIGNATURE, "g", call->signature);
    dbus_end_array(writer, &fields);
    dbus_put_struct(writer);
    writer->body_at = writer->length;
}

ssize_t dbus_end_call(struct dbus_writer *writer)
{
    if (writer->is_cut)
        return -EMSGSIZE;
    store_u32(writer->data + AT_BODY_LENGTH, (uint32_t)(writer->length - writer->body_at));
    return (ssize_t)writer->length;
}

/* ---- reading ---- */

/* The next `count` bytes behind the padding, or NULL. */
static const uint8_t *next(struct dbus_reader *reader, size_t alignment, size_t count)
{
    size_t start = align(reader->at, alignment);

    if (start > reader->length || count > reader->length - start)
        return NULL;
    reader->at = start + count;
    return reader->data + start;
}

int dbus_get_u32(struct dbus_reader *reader, uint32_t *ret)
{
    const uint8_t *place = next(reader, 4, 4);

    if (!place)
        return -EBADMSG;
    *ret = load_u32(place);
    return 0;
}

/* Bytes that are followed by the first NUL among them. */
static int get_text(struct dbus_reader *reader, size_t length, const char **ret)
{
    const uint8_t *place = length < reader->length ? next(reader, 1, length + 1) : NULL;

    if (!place || memchr(place, '\0', length + 1) != place + length)
        return -EBADMSG;
    *ret = (const char *)place;
    return 0;
}

int dbus_get_string(struct dbus_reader *reader, const char **ret)
{
    uint32_t length;

    return dbus_get_u32(reader, &length) < 0 ? -EBADMSG : get_text(reader, length, ret);
}

int dbus_get_signature(struct dbus_reader *reader, const char **ret)
{
    const uint8_t *length = next(reader, 1, 1);

    return length ? get_text(reader, *length, ret) : -EBADMSG;
}

/* A value that we do not need: all types but containers, which no header field has. */
static int skip_value(struct dbus_reader *reader, char type)
{
    static const struct {
        char type;
        uint8_t size;
    } fixed[] = { { 'y', 1 }, { 'n', 2 }, { 'q', 2 }, { 'b', 4 }, { 'i', 4 },
                  { 'u', 4 }, { 'h', 4 }, { 'x', 8 }, { 't', 8 }, { 'd', 8 } };
    const char *text;

    if (type == 's' || type == 'o')
        return dbus_get_string(reader, &text);
    if (type == 'g')
        return dbus_get_signature(reader, &text);
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
        if (fixed[i].type == type)
            return next(reader, fixed[i].size, fixed[i].size) ? 0 : -EBADMSG;
    }
    return -EBADMSG;
}

/* A header field whose type is not the one it must have is passed over as one that we do not
 * know; what lacks then is found by whoever asks for it. */
static int read_field(struct dbus_reader *reader, struct dbus_message *message)
{
    const struct {
        enum field code;
        char type;
        const char **text;
    } texts[] = {
        { FIELD_PATH, 'o', &message->path },
        { FIELD_INTERFACE, 's', &message->interface },
        { FIELD_MEMBER, 's', &message->member },
        { FIELD_ERROR_NAME, 's', &message->error_name },
        { FIELD_SIGNATURE, 'g', &message->signature },
    };
    const uint8_t *code = next(reader, 8, 1);
    const char *type;

    if (!code || dbus_get_signature(reader, &type) < 0 || strlen(type) != 1)
        return -EBADMSG;
    if (*code == FIELD_REPLY_SERIAL && type[0] == 'u')
        return dbus_get_u32(reader, &message->reply_serial);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        if (texts[i].code != *code || texts[i].type != type[0])
            continue;
        return type[0] == 'g' ? dbus_get_signature(reader, texts[i].text)
                              : dbus_get_string(reader, texts[i].text);
    }
    return skip_value(reader, type[0]);
}

int dbus_read_length(const uint8_t *head, size_t *ret_length)
{
    size_t fields_length = load_u32(head + AT_FIELDS_LENGTH);
    size_t body_length = load_u32(head + AT_BODY_LENGTH);
    size_t length;

    if (head[0] != LITTLE_ENDIAN_MARK || head[AT_VERSION] != VERSION ||
        fields_length > FIELDS_MAX || body_length > MESSAGE_MAX)
        return -EBADMSG;
    length = align(DBUS_HEAD_SIZE + fields_length, 8) + body_length;
    if (length > MESSAGE_MAX)
        return -EBADMSG;
    *ret_length = length;
    return 0;
}

int dbus_message_parse(const uint8_t *data, size_t length, struct dbus_message *ret)
{
    struct dbus_message message = {
        .path = "", .interface = "", .member = "", .error_name = "", .signature = ""
    };
    struct dbus_reader fields = { data, 0, DBUS_HEAD_SIZE };
    size_t whole;

    if (length < DBUS_HEAD_SIZE || dbus_read_length(data, &whole) < 0 || whole != length)
        return -EBADMSG;
    message.type = (enum dbus_type)data[AT_TYPE];
    message.serial = load_u32(data + AT_SERIAL);
    fields.length = DBUS_HEAD_SIZE + load_u32(data + AT_FIELDS_LENGTH);
    while (fields.at < fields.length) {
        if (read_field(&fields, &message) < 0)
            return -EBADMSG;
    }
    message.body = data + align(fields.length, 8);
    message.body_length = load_u32(data + AT_BODY_LENGTH);
    *ret = message;
    return 0;
}
