/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbus_message.h - messages of D-Bus as bytes: as much of the format as it takes to call a
 * method and to understand the answer. Pure: nothing is sent or received here.
 *
 * A message is a head of 16 bytes, an array of header fields, padding to 8 bytes, and a body
 * whose types its signature names. Every value stands at a multiple of its own size, counted
 * from the message's start; a string is its length, its bytes and a NUL. Only little-endian
 * messages are written and understood.
 */
#ifndef SOURCE_CGROUP_DBUS_MESSAGE_H
#define SOURCE_CGROUP_DBUS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum dbus_type { DBUS_CALL = 1, DBUS_RETURN = 2, DBUS_ERROR = 3, DBUS_SIGNAL = 4 };

/* Flags of a call. */
enum { DBUS_NO_REPLY = 1, DBUS_NO_START = 2 };

enum { DBUS_HEAD_SIZE = 16 };

/* ---- writing ---- */

/* A message in the making. What does not fit makes it invalid, which its end tells. */
struct dbus_writer {
    uint8_t *data; /* borrowed */
    size_t size;
    size_t length;
    size_t body_at;
    bool is_cut;
};

struct dbus_call {
    uint32_t serial; /* not 0; the answer names it */
    uint8_t flags;
    const char *destination; /* NULL: there is only the one at the other end */
    const char *path, *interface, *member;
    const char *signature; /* of the body; NULL: there is none */
};

struct dbus_array {
    size_t length_at, start_at;
};

/* Starts a call. The values of the body follow, in the order of its signature. */
void dbus_begin_call(struct dbus_writer *writer, uint8_t *data, size_t size,
                     const struct dbus_call *call);

/* Returns the message's length; -EMSGSIZE: it did not fit. */
ssize_t dbus_end_call(struct dbus_writer *writer);

void dbus_put_u32(struct dbus_writer *writer, uint32_t value);      /* a 'b' too: 0 or 1 */
void dbus_put_string(struct dbus_writer *writer, const char *text); /* an 'o' too */
void dbus_put_signature(struct dbus_writer *writer, const char *signature);

/* A struct, and each entry of an array of structs, begins at a multiple of 8. */
void dbus_put_struct(struct dbus_writer *writer);

/* An array of elements that stand at multiples of `alignment`. */
struct dbus_array dbus_begin_array(struct dbus_writer *writer, size_t alignment);
void dbus_end_array(struct dbus_writer *writer, const struct dbus_array *array);

/* ---- reading ---- */

struct dbus_message {
    enum dbus_type type;
    uint32_t serial;
    uint32_t reply_serial; /* 0: it is no answer */
    /* All texts are borrowed from the bytes, and empty where the message has none. */
    const char *path, *interface, *member, *error_name, *signature;
    const uint8_t *body; /* begins at a multiple of 8 of the message */
    size_t body_length;
};

/* The length of the whole message, from its first DBUS_HEAD_SIZE bytes. -EBADMSG: it is no
 * message that we understand. */
int dbus_read_length(const uint8_t *head, size_t *ret_length);

/* Reads a whole message. -EBADMSG: it is damaged. */
int dbus_message_parse(const uint8_t *data, size_t length, struct dbus_message *ret);

/* Reads one value after the other. */
struct dbus_reader {
    const uint8_t *data; /* borrowed */
    size_t length;
    size_t at;
};

/* -EBADMSG: the bytes end before, or it is no such value; *ret is untouched then. */
int dbus_get_u32(struct dbus_reader *reader, uint32_t *ret);
int dbus_get_string(struct dbus_reader *reader, const char **ret);
int dbus_get_signature(struct dbus_reader *reader, const char **ret);

#endif
