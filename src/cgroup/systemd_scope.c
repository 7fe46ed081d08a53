/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/systemd_scope.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hidden_child.h"
#include "spoor/spoor.h"

/* ---- scope message --------------------------------------------------------- */

/* Offsets in the head, and values of its fields. */
enum { AT_TYPE = 1, AT_VERSION = 3, AT_BODY_LENGTH = 4, AT_FIELDS_LENGTH = 12 };
enum { BYTE_ORDER_MARK = BYTE_ORDER == LITTLE_ENDIAN ? 'l' : 'B', VERSION = 1, SERIAL = 1 };
enum { TYPE_CALL = 1, TYPE_ERROR = 3, TYPE_SIGNAL = 4 };
enum { FIELD_PATH = 1, FIELD_INTERFACE = 2, FIELD_MEMBER = 3, FIELD_SIGNATURE = 8 };

static const size_t LENGTH_MAX = 1u << 27;

/* Rounds an offset up to a multiple of `alignment`, a power of two. */
static size_t align(size_t at, size_t alignment)
{
    return (at + alignment - 1) & ~(alignment - 1);
}

/* ---- the call ---- */

/* If `data` is full, only `length` still grows. */
struct writer {
    uint8_t *data;
    size_t length;
};

static void store(struct writer *writer, size_t at, const void *value, size_t size)
{
    if (at + size <= SCOPE_CALL_SIZE)
        memcpy(writer->data + at, value, size);
}

static void put(struct writer *writer, size_t alignment, const void *value, size_t size)
{
    size_t at = align(writer->length, alignment);

    store(writer, at, value, size);
    writer->length = at + size;
}

static void put_u32(struct writer *writer, uint32_t value)
{
    put(writer, sizeof(value), &value, sizeof(value));
}

static void put_text(struct writer *writer, const char *text)
{
    put_u32(writer, (uint32_t)strlen(text));
    put(writer, 1, text, strlen(text) + 1);
}

static void put_signature(struct writer *writer, const char *signature)
{
    uint8_t length = (uint8_t)strlen(signature);

    put(writer, 1, &length, 1);
    put(writer, 1, signature, length + 1u);
}

static void put_field(struct writer *writer, uint8_t code, const char *type, const char *text)
{
    put(writer, 8, &code, 1);
    put_signature(writer, type);
    if (type[0] == 'g')
        put_signature(writer, text);
    else
        put_text(writer, text);
}

static void begin_property(struct writer *writer, const char *name, const char *type)
{
    put(writer, 8, "", 0);
    put_text(writer, name);
    put_signature(writer, type);
}

/* Returns the offset for the array's length. */
static size_t begin_array(struct writer *writer)
{
    put_u32(writer, 0);
    return writer->length - sizeof(uint32_t);
}

/* Writes the length of an array. The length excludes the padding before the first element. */
static void end_array(struct writer *writer, size_t length_at, size_t alignment)
{
    uint32_t length =
        (uint32_t)(writer->length - align(length_at + sizeof(uint32_t), alignment));

    store(writer, length_at, &length, sizeof(length));
}

static void put_properties(struct writer *writer, pid_t job, pid_t keeper)
{
    size_t properties = begin_array(writer), list;

    begin_property(writer, "Description", "s");
    put_text(writer, "A job measured by spoor");
    begin_property(writer, "DelegateControllers", "as");
    list = begin_array(writer);
    put_text(writer, "memory");
    put_text(writer, "pids");
    put_text(writer, "io");
    end_array(writer, list, 4);
    begin_property(writer, "CollectMode", "s");
    put_text(writer, "inactive-or-failed"); /* remove the unit even if the job fails */
    begin_property(writer, "PIDs", "au");
    list = begin_array(writer);
    put_u32(writer, (uint32_t)job);
    put_u32(writer, (uint32_t)keeper);
    end_array(writer, list, 4);
    end_array(writer, properties, 8);
}

ssize_t scope_call_write(const char *unit, pid_t job, pid_t keeper,
                         uint8_t data[SCOPE_CALL_SIZE])
{
    static const uint8_t start[] = { BYTE_ORDER_MARK, TYPE_CALL, 0, VERSION };
    struct writer writer = { .data = data };
    size_t body_at;
    uint32_t body_length;

    memset(data, 0, SCOPE_CALL_SIZE);
    put(&writer, 1, start, sizeof(start));
    put_u32(&writer, 0); /* length of the body */
    put_u32(&writer, SERIAL);
    put_u32(&writer, 0); /* length of the fields */
    put_field(&writer, FIELD_PATH, "o", "/org/freedesktop/systemd1");
    put_field(&writer, FIELD_INTERFACE, "s", "org.freedesktop.systemd1.Manager");
    put_field(&writer, FIELD_MEMBER, "s", "StartTransientUnit");
    put_field(&writer, FIELD_SIGNATURE, "g", "ssa(sv)a(sa(sv))");
    end_array(&writer, AT_FIELDS_LENGTH, 8);
    body_at = align(writer.length, 8);
    put(&writer, 8, "", 0);
    put_text(&writer, unit);
    put_text(&writer, "fail"); /* fail if such a unit exists */
    put_properties(&writer, job, keeper);
    put_u32(&writer, 0); /* no other units to create along with it */
    put(&writer, 8, "", 0);
    body_length = (uint32_t)(writer.length - body_at);
    store(&writer, AT_BODY_LENGTH, &body_length, sizeof(body_length));
    return writer.length <= SCOPE_CALL_SIZE ? (ssize_t)writer.length : -EMSGSIZE;
}

/* ---- the replies ---- */

static uint32_t load_u32(const uint8_t *data)
{
    uint32_t value;

    memcpy(&value, data, sizeof(value));
    return value;
}

static size_t body_offset(const uint8_t *head)
{
    return align((size_t)SCOPE_HEAD_SIZE + load_u32(head + AT_FIELDS_LENGTH), 8);
}

int scope_message_length(const uint8_t head[SCOPE_HEAD_SIZE], size_t *ret)
{
    size_t body_length = load_u32(head + AT_BODY_LENGTH);

    if (head[0] != BYTE_ORDER_MARK || head[AT_VERSION] != VERSION || body_length > LENGTH_MAX ||
        load_u32(head + AT_FIELDS_LENGTH) > LENGTH_MAX)
        return -EBADMSG;
    *ret = body_offset(head) + body_length;
    return 0;
}

/* Returns the text at or after *at, and moves *at to its end; NULL: there is none. */
static const char *next_text(const uint8_t *data, size_t length, size_t *at)
{
    size_t start = align(*at, 4) + sizeof(uint32_t);
    size_t count;

    if (start >= length)
        return NULL;
    count = load_u32(data + start - sizeof(uint32_t));
    if (count >= length - start || data[start + count] != '\0')
        return NULL;
    *at = start + count + 1;
    return (const char *)data + start;
}

/* Finds the outcome of the call. The reply to the call only confirms that a job was queued. The
 * scope exists after the signal JobRemoved(id, job, unit, "done"). Only one call is made, so
 * every error refers to that call. */
int scope_message_outcome(const uint8_t *data, size_t length, const char *unit)
{
    uint8_t member[SCOPE_CALL_SIZE];
    struct writer writer = { .data = member };
    size_t whole, at;
    const char *name, *result;

    if (length < SCOPE_HEAD_SIZE || scope_message_length(data, &whole) < 0 || whole != length)
        return -EBADMSG;
    if (data[AT_TYPE] == TYPE_ERROR)
        return -EREMOTEIO;
    at = body_offset(data);
    /* The field is found by its bytes: no text contains a NUL, so nothing else can match. */
    put_field(&writer, FIELD_MEMBER, "s", "JobRemoved");
    if (data[AT_TYPE] != TYPE_SIGNAL || !memmem(data, at, member, writer.length))
        return -EAGAIN;
    at += sizeof(uint32_t);             /* the job's id */
    (void)next_text(data, length, &at); /* the job's path; if damaged, so is the rest */
    name = next_text(data, length, &at);
    result = name ? next_text(data, length, &at) : NULL;
    if (!result)
        return -EBADMSG;
    if (strcmp(name, unit) != 0)
        return -EAGAIN;
    return strcmp(result, "done") == 0 ? 0 : -EREMOTEIO;
}

/* ---- systemd scope --------------------------------------------------------- */

/* The connection to the manager uses the same socket as systemctl: there is no bus in between,
 * and signals arrive without a subscription.
 *
 * libsystemd is not used: to create a scope it takes 0.97 ms of CPU time, half of it to load
 * itself and six more libraries (3 ms of waiting if they are not in the page cache). This code
 * takes 0.19 ms. */

/* Sends a message at once: the socket's buffer is empty, and larger than any message here. */
static int send_all(int fd, const void *data, size_t size)
{
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return -errno;
    return (size_t)n == size ? 0 : -EMSGSIZE;
}

/* Receives exactly `size` bytes. -ECONNRESET: the peer has closed the connection. The deadline
 * applies even if data keeps arriving. */
static int receive_all(int fd, uint64_t deadline_ns, void *data, size_t size)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    uint8_t *rest = data;

    while (size > 0) {
        uint64_t now_ns = clock_now().monotonic_ns;
        ssize_t n;

        if (now_ns >= deadline_ns)
            return -ETIMEDOUT;
        n = recv(fd, rest, size, MSG_DONTWAIT);
        if (n == 0)
            return -ECONNRESET;
        if (n > 0) {
            rest += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) {
            /* Wait a second at most, so that the time fits an int, and round up, so that the
             * loop does not spin. */
            (void)poll(&poller, 1,
                       (int)(smaller(deadline_ns - now_ns, NS_PER_SECOND) / NS_PER_MS) + 1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* Receives the next message that fits. Signals about other units may be longer: they are skipped. */
static int receive_message(int fd, uint64_t deadline_ns, uint8_t *data, size_t size,
                           size_t *ret_length)
{
    for (;;) {
        size_t length = SCOPE_HEAD_SIZE, left;
        int r = receive_all(fd, deadline_ns, data, SCOPE_HEAD_SIZE);

        if (r == 0)
            r = scope_message_length(data, &length);
        if (r < 0)
            return r;
        left = length - SCOPE_HEAD_SIZE;
        *ret_length = length;
        if (length <= size)
            return receive_all(fd, deadline_ns, data + SCOPE_HEAD_SIZE, left);
        for (; left > 0 && r == 0; left -= smaller(left, size))
            r = receive_all(fd, deadline_ns, data, smaller(left, size));
        if (r < 0)
            return r;
    }
}

/* Checks that the peer is in our PID namespace, where its PID is not 0, and belongs to root or
 * this user: only they may control the job. */
static int check_peer(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    return peer.pid > 0 && (peer.uid == 0 || peer.uid == geteuid()) ? 0 : -EXDEV;
}

/* Logs in to D-Bus. The kernel passes our credentials, but D-Bus also requires the uid in
 * decimal, each digit in hexadecimal. The reply is "OK" and an id of 32 digits. */
static int log_in(int fd, uint64_t deadline_ns)
{
    char text[64], digits[16], answer[3 + 32 + 2];
    int length = snprintf(text, sizeof(text), "%cAUTH EXTERNAL ", '\0');
    int r;

    (void)snprintf(digits, sizeof(digits), "%u", (unsigned)geteuid());
    for (const char *digit = digits; *digit; digit++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "3%c", *digit);
    length += snprintf(text + length, sizeof(text) - (size_t)length, "\r\n"); /* fits */
    r = send_all(fd, text, (size_t)length);
    if (r == 0)
        r = receive_all(fd, deadline_ns, answer, 3);
    if (r == 0 && memcmp(answer, "OK ", 3) != 0)
        return -EACCES;
    if (r == 0)
        r = receive_all(fd, deadline_ns, answer + 3, sizeof(answer) - 3);
    if (r == 0 && memcmp(answer + sizeof(answer) - 2, "\r\n", 2) != 0)
        return -EBADMSG;
    return r < 0 ? r : send_all(fd, "BEGIN\r\n", 7);
}

int systemd_connect(const char *path, uint64_t deadline_ns)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int r;

    if (fd < 0)
        return -errno;
    if ((size_t)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path) >=
        sizeof(name.sun_path))
        return -ENAMETOOLONG;
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
        return -errno; /* -EAGAIN: the peer's queue is full */
    r = check_peer(fd);
    if (r == 0)
        r = log_in(fd, deadline_ns);
    return r < 0 ? r : take_fd(&fd);
}

int systemd_start_scope(int fd, uint64_t deadline_ns, const char *unit, pid_t job, pid_t keeper)
{
    uint8_t data[4096];
    ssize_t n = scope_call_write(unit, job, keeper, data);
    size_t length;
    int r;

    if (n < 0)
        return (int)n;
    if (send_all(fd, data, (size_t)n) < 0)
        return -EINPROGRESS;
    do {
        if (receive_message(fd, deadline_ns, data, sizeof(data), &length) < 0)
            return -EINPROGRESS;
        r = scope_message_outcome(data, length, unit);
    } while (r == -EAGAIN);
    return r == -EBADMSG ? -EINPROGRESS : r;
}

/* ---- scope keeper ---------------------------------------------------------- */

static _Noreturn void keep(int end_fd)
{
    char byte;

    /* The job or other processes may wait for files of the tracker to be closed. */
    if (hidden_child_keep_only(end_fd, 0) < 0)
        _exit(1);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(0);
}

int scope_keeper_start(struct scope_keeper *ret)
{
    AUTO_CLOSE int read_fd = -1;
    AUTO_CLOSE int write_fd = -1;
    int fds[2];
    pid_t pid;

    /* Closes nothing: only checks that the system call exists. */
    if (syscall(__NR_close_range, UINT_MAX, UINT_MAX, 0u) < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    read_fd = fds[0];
    write_fd = fds[1];
    pid = hidden_child_fork(SPOOR_AGENT_NAME); /* excluded from every job */
    if (pid == 0)
        keep(read_fd);
    if (pid < 0)
        return pid;
    *ret = (struct scope_keeper){ .pid = pid, .fd = take_fd(&write_fd) };
    return 0;
}

void scope_keeper_stop(struct scope_keeper *keeper)
{
    siginfo_t info = { 0 };

    if (keeper->pid == 0)
        return;
    close(keeper->fd);
    /* The keeper may be stopped and not notice that the pipe is closed. Its PID is not reused
     * before it is waited for. */
    if (waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
        (void)kill(keeper->pid, SIGKILL);
    child_reap(keeper->pid);
    *keeper = (struct scope_keeper){ 0 };
}
