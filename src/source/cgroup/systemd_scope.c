/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd_scope.c - the conversation with the manager.
 *
 * On a bus: log in, Hello, then ask for the signal that tells of the end of the manager's
 * jobs, and call StartTransientUnit. On the manager's own socket there is no bus to greet,
 * and all signals come unasked. The answer to the call only says that a job has been queued;
 * the scope is there when the signal JobRemoved says "done" of it. The scope's name is ours
 * alone, so that the signal is known by it even if it comes before the answer.
 */
#include "source/cgroup/systemd_scope.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "source/cgroup/dbus_message.h"

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define BUS_NAME "org.freedesktop.DBus"
#define BUS_PATH "/org/freedesktop/DBus"

/* What we send is a few hundred bytes. Signals of others may be longer than what we keep:
 * those are passed over. */
enum { CALL_SIZE = 1024, MESSAGE_SIZE = 4096 };

/* ---- bytes ---- */

static bool is_late(const struct systemd_connection *connection)
{
    return clock_now().monotonic_ns >= connection->deadline_ns;
}

static int wait_for(const struct systemd_connection *connection, short events)
{
    struct pollfd poller = { .fd = connection->fd, .events = events };

    for (;;) {
        uint64_t now_ns = clock_now().monotonic_ns;
        uint64_t left_ns = connection->deadline_ns - now_ns;
        int n;

        if (now_ns >= connection->deadline_ns)
            return -ETIMEDOUT;
        if (left_ns > NS_PER_SECOND) /* what poll() can be told */
            left_ns = NS_PER_SECOND;
        /* Rounded up, so that it does not spin through the last millisecond. */
        n = poll(&poller, 1, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

static int send_all(const struct systemd_connection *connection, const void *data, size_t size)
{
    const uint8_t *rest = data;

    while (size > 0) {
        ssize_t n = send(connection->fd, rest, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        int r = 0;

        if (n >= 0) {
            rest += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) {
            r = wait_for(connection, POLLOUT);
        } else if (errno != EINTR) {
            r = -errno;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* -ECONNRESET where the other side has closed. Looks at the time even if there is always
 * something to read. */
static int receive_all(const struct systemd_connection *connection, void *data, size_t size)
{
    uint8_t *rest = data;

    if (is_late(connection))
        return -ETIMEDOUT;
    while (size > 0) {
        ssize_t n = recv(connection->fd, rest, size, MSG_DONTWAIT);
        int r = 0;

        if (n > 0) {
            rest += n;
            size -= (size_t)n;
        } else if (n == 0) {
            r = -ECONNRESET;
        } else if (errno == EAGAIN) {
            r = wait_for(connection, POLLIN);
        } else if (errno != EINTR) {
            r = -errno;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- messages ---- */

static int pass_over(const struct systemd_connection *connection, uint8_t *data, size_t size,
                     size_t length)
{
    int r = 0;

    while (length > 0 && r == 0) {
        size_t part = length < size ? length : size;

        r = receive_all(connection, data, part);
        length -= part;
    }
    return r;
}

/* The next message that fits. Its texts are in `data`. */
static int receive_message(const struct systemd_connection *connection, uint8_t *data,
                           size_t size, struct dbus_message *ret)
{
    for (;;) {
        size_t length = 0;
        int r = receive_all(connection, data, DBUS_HEAD_SIZE);

        if (r == 0)
            r = dbus_read_length(data, &length);
        if (r < 0)
            return r;
        if (length > size) {
            r = pass_over(connection, data, size, length - DBUS_HEAD_SIZE);
            if (r < 0)
                return r;
            continue;
        }
        r = receive_all(connection, data + DBUS_HEAD_SIZE, length - DBUS_HEAD_SIZE);
        return r < 0 ? r : dbus_message_parse(data, length, ret);
    }
}

static int send_call(const struct systemd_connection *connection, struct dbus_writer *writer)
{
    ssize_t length = dbus_end_call(writer);

    return length < 0 ? (int)length : send_all(connection, writer->data, (size_t)length);
}

/* A call with one text or nothing as its body, whose answer is of no interest. */
static int tell(struct systemd_connection *connection, struct dbus_call call, const char *text)
{
    uint8_t data[CALL_SIZE];
    struct dbus_writer writer;

    call.serial = ++connection->serial;
    call.signature = text ? "s" : NULL;
    dbus_begin_call(&writer, data, sizeof(data), &call);
    if (text)
        dbus_put_string(&writer, text);
    return send_call(connection, &writer);
}

/* ---- logging in ---- */

/* Our pids are only the manager's if it is of our pid namespace: the pid of whoever listens is
 * 0 where it is not. Nobody but root and the user has a say over the user's processes. */
static int check_peer(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    return peer.pid > 0 && (peer.uid == 0 || peer.uid == geteuid()) ? 0 : -EXDEV;
}

static int open_socket(const struct systemd_address *address)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int r;

    _Static_assert(sizeof(name.sun_path) >= sizeof(address->path), "a path that fits fits");
    if (fd < 0)
        return -errno;
    memcpy(name.sun_path, address->path, sizeof(address->path));
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
        return -errno; /* -EAGAIN: too many others wait */
    r = check_peer(fd);
    return r < 0 ? r : take_fd(&fd);
}

/* Reads a line up to its "\r\n", byte by byte: what follows it is a message. */
static int receive_line(const struct systemd_connection *connection, char *line, size_t size)
{
    for (size_t length = 0; length + 1 < size; length++) {
        int r = receive_all(connection, line + length, 1);

        if (r < 0)
            return r;
        if (length > 0 && line[length - 1] == '\r' && line[length] == '\n') {
            line[length - 1] = '\0';
            return 0;
        }
    }
    return -EBADMSG;
}

/* The kernel tells the other side who we are; it only has to hear which of our names we mean:
 * the uid in decimal, each digit as two of hexadecimal. */
static int log_in(const struct systemd_connection *connection)
{
    char digits[16], text[80], line[128];
    int length, count = snprintf(digits, sizeof(digits), "%u", (unsigned)geteuid());
    int r;

    text[0] = '\0'; /* is sent: it begins the connection */
    length = 1 + snprintf(text + 1, sizeof(text) - 1, "AUTH EXTERNAL ");
    for (int i = 0; i < count; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%02x",
                           (unsigned)(unsigned char)digits[i]);
    length += snprintf(text + length, sizeof(text) - (size_t)length, "\r\n");
    r = send_all(connection, text, (size_t)length);
    if (r == 0)
        r = receive_line(connection, line, sizeof(line));
    if (r < 0)
        return r;
    if (strncmp(line, "OK", 2) != 0)
        return strncmp(line, "REJECTED", 8) == 0 ? -EACCES : -EBADMSG;
    return send_all(connection, "BEGIN\r\n", 7);
}

/* A bus gives us a name first, and passes nothing on before. */
static int greet(struct systemd_connection *connection)
{
    static const struct dbus_call hello = {
        .destination = BUS_NAME, .path = BUS_PATH, .interface = BUS_NAME, .member = "Hello"
    };
    uint8_t data[MESSAGE_SIZE];
    struct dbus_message message;
    int r = tell(connection, hello, NULL);

    while (r == 0) {
        r = receive_message(connection, data, sizeof(data), &message);
        if (r == 0 && message.reply_serial == connection->serial)
            return message.type == DBUS_RETURN ? 0 : -EACCES;
    }
    return r;
}

int systemd_connect(const struct systemd_address *address, uint64_t deadline_ns,
                    struct systemd_connection *ret)
{
    AUTO_CLOSE int fd = open_socket(address);
    struct systemd_connection connection = { fd, address->is_direct, 0, deadline_ns };
    int r = fd < 0 ? fd : log_in(&connection);

    if (r == 0 && !address->is_direct)
        r = greet(&connection);
    if (r < 0)
        return r;
    (void)take_fd(&fd);
    *ret = connection;
    return 0;
}

void systemd_disconnect(struct systemd_connection *connection)
{
    cleanup_close(&connection->fd);
    connection->fd = -1;
}

/* ---- the scope ---- */

/* Two calls: to the bus, so that it passes the signal on, and to the manager, which only
 * sends signals to a bus if somebody there wants them. */
static int subscribe(struct systemd_connection *connection)
{
    static const char rule[] = "type='signal',sender='" SYSTEMD_NAME "',path='" SYSTEMD_PATH
                               "',interface='" SYSTEMD_MANAGER "',member='JobRemoved'";
    static const struct dbus_call add_match = {
        .flags = DBUS_NO_REPLY,
        .destination = BUS_NAME,
        .path = BUS_PATH,
        .interface = BUS_NAME,
        .member = "AddMatch",
    };
    static const struct dbus_call wants_signals = {
        .flags = DBUS_NO_REPLY | DBUS_NO_START,
        .destination = SYSTEMD_NAME,
        .path = SYSTEMD_PATH,
        .interface = SYSTEMD_MANAGER,
        .member = "Subscribe",
    };
    int r = connection->is_direct ? 0 : tell(connection, add_match, rule);

    return r < 0 || connection->is_direct ? r : tell(connection, wants_signals, NULL);
}

static void begin_property(struct dbus_writer *writer, const char *name, const char *signature)
{
    dbus_put_struct(writer);
    dbus_put_string(writer, name);
    dbus_put_signature(writer, signature);
}

static void put_text_property(struct dbus_writer *writer, const char *name, const char *text)
{
    begin_property(writer, name, "s");
    dbus_put_string(writer, text);
}

static void put_properties(struct dbus_writer *writer, const struct systemd_scope *scope)
{
    static const char *const controllers[] = { "memory", "pids", "io" };
    struct dbus_array properties = dbus_begin_array(writer, 8), list;

    put_text_property(writer, "Description", scope->description);
    begin_property(writer, "DelegateControllers", "as");
    list = dbus_begin_array(writer, 4);
    for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
        dbus_put_string(writer, controllers[i]);
    dbus_end_array(writer, &list);
    /* Else a job that fails would leave a unit behind. */
    put_text_property(writer, "CollectMode", "inactive-or-failed");
    begin_property(writer, "PIDs", "au");
    list = dbus_begin_array(writer, 4);
    for (size_t i = 0; i < scope->pids_count; i++)
        dbus_put_u32(writer, (uint32_t)scope->pids[i]);
    dbus_end_array(writer, &list);
    dbus_end_array(writer, &properties);
}

static int ask(struct systemd_connection *connection, const struct systemd_scope *scope)
{
    const struct dbus_call call = {
        .serial = ++connection->serial,
        .flags = DBUS_NO_START,
        .destination = connection->is_direct ? NULL : SYSTEMD_NAME,
        .path = SYSTEMD_PATH,
        .interface = SYSTEMD_MANAGER,
        .member = "StartTransientUnit",
        .signature = "ssa(sv)a(sa(sv))",
    };
    uint8_t data[CALL_SIZE];
    struct dbus_writer writer;
    struct dbus_array others;

    dbus_begin_call(&writer, data, sizeof(data), &call);
    dbus_put_string(&writer, scope->name);
    dbus_put_string(&writer, "fail"); /* where there is such a unit already */
    put_properties(&writer, scope);
    others = dbus_begin_array(&writer, 8); /* units to be made with it: none */
    dbus_end_array(&writer, &others);
    return send_call(connection, &writer);
}

static int explain(const char *error_name)
{
    static const struct {
        const char *name;
        int error;
    } errors[] = {
        { "org.freedesktop.DBus.Error.AccessDenied", EACCES },
        { "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", EACCES },
        { "org.freedesktop.DBus.Error.ServiceUnknown", ENOENT },
        { "org.freedesktop.DBus.Error.NameHasNoOwner", ENOENT },
    };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        if (strcmp(errors[i].name, error_name) == 0)
            return -errors[i].error;
    }
    return -EREMOTEIO;
}

/* Is it about our scope? Then *ret is 0 or why there is none. */
static bool is_outcome(const struct dbus_message *message, uint32_t serial, const char *name,
                       int *ret)
{
    struct dbus_reader body = { message->body, message->body_length, 0 };
    const char *job, *unit, *result;
    uint32_t id;

    if (message->type == DBUS_ERROR && message->reply_serial == serial) {
        *ret = explain(message->error_name);
        return true;
    }
    if (message->type != DBUS_SIGNAL || strcmp(message->member, "JobRemoved") != 0 ||
        strcmp(message->interface, SYSTEMD_MANAGER) != 0 ||
        strcmp(message->signature, "uoss") != 0)
        return false;
    if (dbus_get_u32(&body, &id) < 0 || dbus_get_string(&body, &job) < 0 ||
        dbus_get_string(&body, &unit) < 0 || dbus_get_string(&body, &result) < 0 ||
        strcmp(unit, name) != 0)
        return false;
    *ret = strcmp(result, "done") == 0 ? 0 : -ECANCELED;
    return true;
}

int systemd_start_scope(struct systemd_connection *connection,
                        const struct systemd_scope *scope)
{
    uint8_t data[MESSAGE_SIZE];
    struct dbus_message message;
    int outcome;
    int r = subscribe(connection);

    if (r < 0)
        return r;
    r = ask(connection, scope);
    if (r < 0)
        return r == -EMSGSIZE ? r : -EINPROGRESS; /* a part of it may have been sent */
    do {
        if (receive_message(connection, data, sizeof(data), &message) < 0)
            return -EINPROGRESS;
    } while (!is_outcome(&message, connection->serial, scope->name, &outcome));
    return outcome;
}
