/* SPDX-License-Identifier: Apache-2.0 */
#include "session/row_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hidden_child.h"
#include "output/save.h"
#include "spoor/spoor.h"

enum { QUEUE_BYTES = 1 << 20 }; /* a power of two */

/* An error of the opening is waited for so long. */
#define OPEN_MOST_NS (250 * NS_PER_MS)
/* A burst of rows waits for room so long. */
#define ROOM_MOST_NS (100 * NS_PER_MS)
/* A call that takes longer has stalled. */
#define STALLED_AFTER_NS NS_PER_SECOND
/* The end is waited for so long, on a machine that is too busy to let the process run. */
#define END_MOST_NS (10 * NS_PER_SECOND)

/* A record is a head and its text, if any. Positions only grow, and a record starts at its position
 * modulo QUEUE_BYTES; it is in one piece, since it may extend beyond QUEUE_BYTES. */
enum record_kind { RECORD_BEGIN, RECORD_HEADER, RECORD_ROWS };

struct record_head {
    uint32_t kind;
    uint32_t rows;
    uint32_t bytes;
};

struct row_queue {
    _Atomic uint64_t put;              /* bytes, by us */
    _Atomic uint64_t taken;            /* bytes, by the process: written, or given up */
    _Atomic uint64_t calling_since_ns; /* it is in a call that may stall; 0: it is not */
    _Atomic uint64_t done_rows;        /* written, or given up */
    _Atomic uint64_t lost_rows;        /* given up */
    _Atomic uint64_t cpu_ns;
    _Atomic int error; /* why they were, or why the file was not opened */
    _Atomic bool has_opened;
    char bytes[2 * QUEUE_BYTES];
};

static char *place_of(struct row_queue *queue, uint64_t position)
{
    return queue->bytes + position % QUEUE_BYTES;
}

/* ---- the process: only system calls, because ours may have had other threads -------------- */

static uint64_t read_ns(clockid_t clock)
{
    struct timespec time = { 0 };

    (void)clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

static void begin_call(struct row_queue *queue)
{
    atomic_store(&queue->calling_since_ns, read_ns(CLOCK_MONOTONIC));
}

static void end_call(struct row_queue *queue)
{
    atomic_store(&queue->calling_since_ns, 0);
}

/* Whole rows only: what a full disk took of a row is cut off again. */
static int write_whole(int fd, const struct buffer *text)
{
    off_t end = lseek(fd, 0, SEEK_END);
    int r = buffer_write(text, fd);

    if (r < 0 && end >= 0)
        (void)!ftruncate(fd, end); /* a pipe cannot be cut: nothing more to do */
    return r;
}

/* What the process knows of its file. */
struct target {
    const char *path;
    enum output_mode mode;
    int fd;          /* or -errno */
    bool is_created; /* by us, and nothing was to be written yet */
};

static int begin_file(struct target *target)
{
    int r = 0;

    if (target->mode == OUTPUT_APPEND)
        r = save_end_torn_line(target->fd);
    else if (!target->is_created && ftruncate(target->fd, 0) < 0)
        r = -errno;
    target->is_created = false;
    return r;
}

static int obey(struct target *target, const struct record_head *head,
                const struct buffer *text)
{
    int r = target->fd < 0 ? target->fd : 0;

    if (r < 0)
        return r;
    if (target->mode == OUTPUT_APPEND) /* others may append too */
        output_file_lock(target->fd);
    if (head->kind == RECORD_BEGIN)
        r = begin_file(target);
    else if (head->kind == RECORD_ROWS || lseek(target->fd, 0, SEEK_END) <= 0)
        r = write_whole(target->fd, text);
    if (target->mode == OUTPUT_APPEND)
        output_file_unlock(target->fd);
    return r;
}

static void take_record(struct row_queue *queue, struct target *target)
{
    uint64_t position = atomic_load(&queue->taken);
    struct record_head head;
    struct buffer text = { .text = place_of(queue, position) + sizeof(head) };
    int r;

    memcpy(&head, place_of(queue, position), sizeof(head));
    text.length = head.bytes;
    begin_call(queue);
    r = obey(target, &head, &text);
    end_call(queue);
    if (r < 0) {
        atomic_store(&queue->error, r);
        atomic_fetch_add(&queue->lost_rows, head.rows);
    }
    atomic_fetch_add(&queue->done_rows, head.rows);
    atomic_store(&queue->taken, position + sizeof(head) + head.bytes);
}

static void open_file(struct row_queue *queue, struct target *target)
{
    begin_call(queue);
    target->fd = save_open_to_append(target->path, O_CREAT | O_EXCL);
    target->is_created = target->fd >= 0;
    if (target->fd == -EEXIST && target->mode != OUTPUT_NO_CLOBBER)
        target->fd = save_open_to_append(target->path, 0);
    if (target->fd < 0)
        atomic_store(&queue->error, target->fd);
    end_call(queue);
    atomic_store(&queue->has_opened, true);
}

/* Another run may have written to a file that we created. */
static void remove_if_unused(const struct target *target)
{
    struct stat status;

    if (target->is_created && fstat(target->fd, &status) == 0 && status.st_size == 0)
        (void)unlink(target->path);
}

static _Noreturn void serve(struct row_queue *queue, int socket_fd, struct target *target)
{
    char wakes[64];
    ssize_t n;

    (void)hidden_child_keep_only(socket_fd); /* others wait to see the rest closed */
    open_file(queue, target);
    (void)!write(0, "", 1);
    do {
        n = read(0, wakes, sizeof(wakes));
        while (atomic_load(&queue->taken) != atomic_load(&queue->put))
            take_record(queue, target);
        atomic_store(&queue->cpu_ns, read_ns(CLOCK_PROCESS_CPUTIME_ID));
    } while (n > 0);
    remove_if_unused(target);
    _exit(0);
}

/* ---- ours --------------------------------------------------------------------------------- */

static int start(struct row_writer *writer, struct target *target)
{
    AUTO_CLOSE int ours = -1;
    AUTO_CLOSE int theirs = -1;
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    ours = fds[0];
    theirs = fds[1];
    pid = hidden_child_fork(SPOOR_AGENT_NAME); /* it belongs to no job */
    if (pid == 0)
        serve(writer->queue, theirs, target);
    if (pid < 0)
        return pid;
    writer->pid = pid;
    writer->fd = take_fd(&ours);
    return 0;
}

/* Waits until there is something to read from the process, or it has ended. */
static void wait_for_news(const struct row_writer *writer, uint64_t most_ns)
{
    struct pollfd news = { .fd = writer->fd, .events = POLLIN };
    struct timespec timeout = clock_timespec(most_ns);

    (void)ppoll(&news, 1, &timeout, NULL); /* woken up for nothing, the caller looks again */
}

int row_writer_open(struct row_writer *writer, const char *path, enum output_mode mode)
{
    struct target target = { .path = path, .mode = mode };
    uint64_t deadline_ns = clock_now().monotonic_ns + OPEN_MOST_NS;
    int r;

    *writer = (struct row_writer)ROW_WRITER_CLOSED;
    writer->queue = mmap(NULL, sizeof(*writer->queue), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (writer->queue == MAP_FAILED) {
        writer->queue = NULL;
        return -errno;
    }
    r = start(writer, &target);
    while (r == 0 && !atomic_load(&writer->queue->has_opened)) {
        uint64_t now_ns = clock_now().monotonic_ns;

        if (now_ns >= deadline_ns)
            return 0;
        wait_for_news(writer, deadline_ns - now_ns);
    }
    if (r == 0)
        r = atomic_load(&writer->queue->error);
    if (r < 0)
        (void)row_writer_close(writer);
    return r;
}

static bool has_room(const struct row_writer *writer, size_t length)
{
    uint64_t used = atomic_load(&writer->queue->put) - atomic_load(&writer->queue->taken);

    return length <= QUEUE_BYTES - used;
}

static bool is_stalled(const struct row_writer *writer, uint64_t limit_ns)
{
    uint64_t since_ns = atomic_load(&writer->queue->calling_since_ns);

    return since_ns != 0 && less(clock_now().monotonic_ns, since_ns) >= limit_ns;
}

static bool wait_for_room(const struct row_writer *writer, size_t length)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + ROOM_MOST_NS;
    struct timespec moment = clock_timespec(NS_PER_MS);

    while (!has_room(writer, length)) {
        if (length > QUEUE_BYTES || is_stalled(writer, ROOM_MOST_NS) ||
            clock_now().monotonic_ns >= deadline_ns)
            return false;
        (void)nanosleep(&moment, NULL);
    }
    return true;
}

/* Returns whether there was room for it. */
static bool put_record(struct row_writer *writer, struct record_head head, const char *text)
{
    size_t length = sizeof(head) + head.bytes;
    char *place;

    if (!wait_for_room(writer, length))
        return false;
    place = place_of(writer->queue, atomic_load(&writer->queue->put));
    memcpy(place, &head, sizeof(head));
    memcpy(place + sizeof(head), text, head.bytes);
    atomic_fetch_add(&writer->queue->put, length);
    /* If there is no room for a byte, the process has been told often enough. */
    (void)send(writer->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
}

void row_writer_begin(struct row_writer *writer)
{
    if (writer->pid != 0)
        (void)put_record(writer, (struct record_head){ RECORD_BEGIN, 0, 0 }, "");
}

void row_writer_add_header(struct row_writer *writer, const struct buffer *text)
{
    struct record_head head = { RECORD_HEADER, 0, (uint32_t)text->length };

    if (writer->pid != 0 && buffer_error(text) == 0)
        (void)put_record(writer, head, text->text);
}

void row_writer_add(struct row_writer *writer, const struct buffer *text, uint64_t rows)
{
    struct record_head head = { RECORD_ROWS, (uint32_t)rows, (uint32_t)text->length };

    if (writer->pid == 0)
        return;
    writer->given_rows += rows;
    if (buffer_error(text) < 0 || !put_record(writer, head, text->text))
        writer->dropped_rows += rows;
}

bool row_writer_wait(struct row_writer *writer)
{
    return wait_for_room(writer, QUEUE_BYTES);
}

/* Has it ended? Takes what it said when it had opened the file. */
static bool has_ended(const struct row_writer *writer)
{
    char byte;

    return recv(writer->fd, &byte, 1, MSG_DONTWAIT) == 0 ||
           recv(writer->fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static bool wait_for_end(const struct row_writer *writer)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + END_MOST_NS;

    (void)shutdown(writer->fd, SHUT_WR);
    while (!has_ended(writer)) {
        if (is_stalled(writer, STALLED_AFTER_NS) || clock_now().monotonic_ns >= deadline_ns)
            return false;
        wait_for_news(writer, 20 * NS_PER_MS);
    }
    return true;
}

struct row_writer_end row_writer_close(struct row_writer *writer)
{
    struct row_writer_end end = { 0 };
    struct row_queue *queue = writer->queue;

    if (writer->pid != 0) {
        bool is_left = !wait_for_end(writer);
        uint64_t done_rows = atomic_load(&queue->done_rows);

        end.lost_rows = atomic_load(&queue->lost_rows) + writer->given_rows - done_rows;
        end.error = end.lost_rows == 0 ? 0 : atomic_load(&queue->error);
        if (end.lost_rows > 0 && end.error == 0)
            end.error = is_left || writer->dropped_rows > 0 ? -ETIMEDOUT : -EPIPE;
        end.cpu_ns = atomic_load(&queue->cpu_ns);
        if (!is_left)
            hidden_child_reap(writer->pid);
        close(writer->fd);
    }
    if (queue)
        (void)munmap(queue, sizeof(*queue));
    *writer = (struct row_writer)ROW_WRITER_CLOSED;
    return end;
}
