/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_manager.h"

#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit_test.h"

/* ---- bytes ---- */

enum { ORDER = BYTE_ORDER == LITTLE_ENDIAN ? 'l' : 'B' };

struct bytes {
    uint8_t data[16 * 1024];
    size_t length;
};

static void pad(struct bytes *bytes, size_t alignment)
{
    while (bytes->length % alignment)
        bytes->data[bytes->length++] = 0;
}

static void add(struct bytes *bytes, const void *data, size_t size)
{
    memcpy(bytes->data + bytes->length, data, size);
    bytes->length += size;
}

static void add_u32(struct bytes *bytes, uint32_t value)
{
    pad(bytes, 4);
    add(bytes, &value, sizeof(value));
}

static void add_string(struct bytes *bytes, const char *text)
{
    add_u32(bytes, (uint32_t)strlen(text));
    add(bytes, text, strlen(text) + 1);
}

static void add_field(struct bytes *bytes, uint8_t code, char type, const char *text)
{
    uint8_t start[4] = { code, 1, (uint8_t)type, 0 };
    uint8_t length = (uint8_t)strlen(text);

    pad(bytes, 8);
    add(bytes, start, sizeof(start));
    if (type == 'g') {
        add(bytes, &length, 1);
        add(bytes, text, strlen(text) + 1);
    } else {
        add_string(bytes, text);
    }
}

static void set_u32(struct bytes *bytes, size_t at, size_t value)
{
    size_t length = bytes->length;

    bytes->length = at;
    add_u32(bytes, (uint32_t)value);
    bytes->length = length;
}

/* Begins a message; send_message() fills in the lengths. */
static void begin(struct bytes *bytes, uint8_t type)
{
    uint8_t head[16] = { ORDER, type, 1, 1, 0, 0, 0, 0, 42 };

    bytes->length = 0;
    add(bytes, head, sizeof(head));
}

static void send_message(int fd, struct bytes *bytes, const struct bytes *body)
{
    set_u32(bytes, 4, body->length);
    set_u32(bytes, 12, bytes->length - 16);
    pad(bytes, 8);
    add(bytes, body->data, body->length);
    (void)!send(fd, bytes->data, bytes->length, MSG_NOSIGNAL);
}

static void add_reply_serial(struct bytes *bytes, uint32_t serial)
{
    static const uint8_t start[4] = { 5, 1, 'u', 0 };

    pad(bytes, 8);
    add(bytes, start, sizeof(start));
    add_u32(bytes, serial);
}

#define JOB "/org/freedesktop/systemd1/job/77"

static void send_return(int fd, uint32_t serial)
{
    static struct bytes const none;
    struct bytes bytes, body = none;

    begin(&bytes, 2);
    add_reply_serial(&bytes, serial);
    add_field(&bytes, 8, 'g', "o");
    add_string(&body, JOB);
    send_message(fd, &bytes, &body);
}

static void send_error(int fd, uint32_t serial)
{
    static struct bytes const none;
    struct bytes bytes, body = none;

    begin(&bytes, 3);
    add_field(&bytes, 4, 's', "org.freedesktop.DBus.Error.AccessDenied");
    add_reply_serial(&bytes, serial);
    add_field(&bytes, 8, 'g', "s");
    add_string(&body, "it will not be");
    send_message(fd, &bytes, &body);
}

/* `result` is NULL for JobNew, which carries no result. */
static void send_job_signal(int fd, const char *member, const char *unit, const char *result)
{
    static struct bytes const none;
    struct bytes bytes, body = none;

    begin(&bytes, 4);
    add_field(&bytes, 1, 'o', "/org/freedesktop/systemd1");
    add_field(&bytes, 2, 's', "org.freedesktop.systemd1.Manager");
    add_field(&bytes, 3, 's', member);
    add_field(&bytes, 7, 's', "org.freedesktop.systemd1");
    add_field(&bytes, 8, 'g', result ? "uoss" : "uos");
    add_u32(&body, 77);
    add_string(&body, JOB);
    add_string(&body, unit);
    if (result)
        add_string(&body, result);
    send_message(fd, &bytes, &body);
}

/* Sends a signal that is longer than any client accepts. */
static void send_long_signal(int fd)
{
    struct bytes bytes, body = { .length = 12000 };

    begin(&bytes, 4);
    add_field(&bytes, 1, 'o', "/org/freedesktop/systemd1");
    add_field(&bytes, 3, 's', "PropertiesChanged");
    send_message(fd, &bytes, &body);
}

/* ---- the conversation ---- */

static bool receive(int fd, void *data, size_t size)
{
    return recv(fd, data, size, MSG_WAITALL) == (ssize_t)size;
}

static bool receive_line(int fd, char *line, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++) {
        if (!receive(fd, line + i, 1))
            return false;
        if (i > 0 && line[i - 1] == '\r' && line[i] == '\n') {
            line[i - 1] = '\0';
            return true;
        }
    }
    return false;
}

static void say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Reads until the client closes the connection. */
static void listen_on(int fd)
{
    char text[256];

    while (recv(fd, text, sizeof(text), 0) > 0)
        continue;
}

static bool log_in(struct fake_manager *fake, int fd)
{
    char line[64];
    char first;

    if (fake->manner == FAKE_HANGS_UP)
        return false;
    if (!receive(fd, &first, 1) || first != '\0' ||
        !receive_line(fd, fake->login, sizeof(fake->login)))
        return false;
    switch ((int)fake->manner) {
    case FAKE_REJECTS:
        say(fd, "REJECTED EXTERNAL\r\n");
        return true;
    case FAKE_BABBLES:
        say(fd, "HTTP/1.1 400 Bad Request\r\n");
        return true;
    case FAKE_BABBLES_ON:
        for (int i = 0; i < 1000; i++)
            say(fd, "OK ");
        return true;
    case FAKE_IS_MUTE:
        listen_on(fd);
        return false;
    default:
        say(fd, "OK 0123456789abcdef0123456789abcdef\r\n");
        return receive_line(fd, line, sizeof(line)) && strcmp(line, "BEGIN") == 0;
    }
}

/* Sends signals that the client must ignore: overlong signals, the end of another job, and
 * signals about the client's unit other than JobRemoved. */
static void talk(int fd, const char *unit)
{
    send_long_signal(fd);
    send_job_signal(fd, "JobRemoved", "other.service", "failed");
    send_job_signal(fd, "JobNew", unit, NULL);
    send_job_signal(fd, "JobRemovedNot", unit, "failed");
    send_long_signal(fd);
}

static void flood(int fd)
{
    char byte;

    while (recv(fd, &byte, 1, MSG_DONTWAIT) != 0)
        send_job_signal(fd, "JobRemoved", "other.service", "done");
}

/* Answers a call. `serial` and `unit` come from the call; `unit` is the first value in its
 * body. */
static void answer(struct fake_manager *fake, int fd, uint32_t serial, const char *unit)
{
    switch ((int)fake->manner) {
    case FAKE_HANGS_UP_LATE:
    case FAKE_IS_MUTE_LATE:
        return;
    case FAKE_SENDS_RUBBISH:
        say(fd, "l\2\1\1 these are bytes but they are no message at all\r\n");
        return;
    case FAKE_FLOODS:
        flood(fd);
        return;
    case FAKE_DENIES:
        send_error(fd, serial);
        return;
    case FAKE_TALKS:
        talk(fd, unit);
        break;
    default:
        break;
    }
    if (fake->manner != FAKE_SIGNALS_FIRST)
        send_return(fd, serial);
    if (fake->manner == FAKE_TALKS)
        talk(fd, unit);
    send_job_signal(fd, "JobRemoved", unit, fake->manner == FAKE_FAILS ? "failed" : "done");
    if (fake->manner == FAKE_SIGNALS_FIRST)
        send_return(fd, serial);
}

/* Receives the call and answers it. */
static void serve(struct fake_manager *fake, int fd)
{
    uint32_t head[4]; /* order to version (4 bytes), body length, serial, fields length */
    size_t body_at;

    if (!receive(fd, head, sizeof(head)))
        return;
    body_at = (sizeof(head) + head[3] + 7) / 8 * 8;
    if (body_at + head[1] > sizeof(fake->call) ||
        !receive(fd, fake->call + sizeof(head), body_at + head[1] - sizeof(head)))
        return;
    memcpy(fake->call, head, sizeof(head));
    fake->call_length = body_at + head[1];
    answer(fake, fd, head[2], (const char *)fake->call + body_at + 4);
    if (fake->manner != FAKE_HANGS_UP_LATE)
        listen_on(fd);
}

static void *run(void *data)
{
    struct fake_manager *fake = data;
    int fd = accept(fake->listen_fd, NULL, NULL);

    if (fd < 0)
        return NULL;
    if (log_in(fake, fd))
        serve(fake, fd);
    close(fd);
    return NULL;
}

void fake_manager_start(struct fake_manager *fake, enum fake_manner manner)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };

    memset(fake, 0, sizeof(*fake));
    fake->manner = manner;
    (void)snprintf(fake->folder, sizeof(fake->folder), "/tmp/spoor-test-XXXXXX");
    assert_non_null(mkdtemp(fake->folder));
    (void)snprintf(fake->path, sizeof(fake->path), "%s/socket", fake->folder);
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", fake->path);
    fake->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fake->listen_fd >= 0);
    assert_int_equal(bind(fake->listen_fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(listen(fake->listen_fd, 4), 0);
    assert_int_equal(pthread_create(&fake->thread, NULL, run, fake), 0);
}

void fake_manager_stop(struct fake_manager *fake)
{
    shutdown(fake->listen_fd, SHUT_RDWR); /* ends accept() if no client has connected */
    assert_int_equal(pthread_join(fake->thread, NULL), 0);
    close(fake->listen_fd);
    assert_int_equal(unlink(fake->path), 0);
    assert_int_equal(rmdir(fake->folder), 0);
}
