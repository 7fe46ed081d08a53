/* SPDX-License-Identifier: Apache-2.0 */
#include "session/row_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/clock.h"
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

/* A record is a head and its text, if any. Positions only grow; a place in the queue is what is left of
 * them in QUEUE_BYTES. */
enum record_kind { RECORD_BEGIN, RECORD_HEADER, RECORD_ROWS };

struct record_head {
    uint32_t kind;
    uint32_t rows;
    uint32_t bytes;
};

struct row_queue {
    _Atomic uint64_t put;   /* bytes, by us */
    _Atomic uint64_t taken; /* bytes, by the process: written, or given up */
    _Atomic uint64_t
        calling_since;          /* ns: the process is in a call that may stall; 0: it is not */
    _Atomic uint64_t done_rows; /* written, or given up */
    _Atomic uint64_t lost_rows; /* given up */
    _Atomic uint64_t cpu_ns;
    _Atomic int error; /* why they were, or why the file was not opened */
    _Atomic bool has_opened;
    char bytes[QUEUE_BYTES];
};

/* The bytes at a position, in two parts where they go over the end. */
static void locate(struct row_queue *queue, uint64_t position, size_t length,
                   struct iovec parts[2])
{
    size_t start = position % QUEUE_BYTES;
    size_t first = length < QUEUE_BYTES - start ? length : QUEUE_BYTES - start;

    parts[0] = (struct iovec){ queue->bytes + start, first };
    parts[1] = (struct iovec){ queue->bytes, length - first };
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
    atomic_store(&queue->calling_since, read_ns(CLOCK_MONOTONIC));
}

static void end_call(struct row_queue *queue)
{
    atomic_store(&queue->calling_since, 0);
}

static int write_parts(int fd, struct iovec parts[2])
{
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        struct pollfd room = { .fd = fd, .events = POLLOUT };
        ssize_t n = writev(fd, parts, 2);

        if (n < 0 && errno == EAGAIN && poll(&room, 1, -1) >= 0)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        for (int i = 0; i < 2; i++) {
            size_t length = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + length;
            parts[i].iov_len -= length;
            n -= (ssize_t)length;
        }
    }
    return 0;
}

/* Whole rows only: what a full disk took of a row is cut off again. */
static int write_whole(int fd, struct iovec parts[2])
{
    off_t end = lseek(fd, 0, SEEK_END);
    int r = write_parts(fd, parts);

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

static int obey(struct target *target, const struct record_head *head, struct iovec parts[2])
{
    int r = target->fd < 0 ? target->fd : 0;

    if (r < 0)
        return r;
    if (target->mode == OUTPUT_APPEND) /* others may append too */
        output_file_lock(target->fd);
    if (head->kind == RECORD_BEGIN)
        r = begin_file(target);
    else if (head->kind == RECORD_ROWS || lseek(target->fd, 0, SEEK_END) <= 0)
        r = write_whole(target->fd, parts);
    if (target->mode == OUTPUT_APPEND)
        output_file_unlock(target->fd);
    return r;
}

static void take_record(struct row_queue *queue, struct target *target)
{
    uint64_t position = atomic_load(&queue->taken);
    struct record_head head;
    struct iovec parts[2];
    int r;

    locate(queue, position, sizeof(head), parts);
    memcpy(&head, parts[0].iov_base, parts[0].iov_len);
    memcpy((char *)&head + parts[0].iov_len, parts[1].iov_base, parts[1].iov_len);
    locate(queue, position + sizeof(head), head.bytes, parts);
    begin_call(queue);
    r = obey(target, &head, parts);
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

    (void)prctl(PR_SET_NAME, SPOOR_AGENT_NAME); /* not the job's */
    (void)setsid();                             /* nor are signals of its group for us */
    /* Files of the tracker that others wait to see closed. Linux before 5.9 keeps them open. */
    (void)dup2(socket_fd, 0);
    (void)syscall(SYS_close_range, 1u, UINT_MAX, 0u);
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
    sigset_t all, before;
    int fds[2];
    long pid;
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    ours = fds[0];
    theirs = fds[1];
    (void)sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul); /* a fork without a SIGCHLD */
    r = pid < 0 ? -errno : 0;
    if (pid == 0)
        serve(writer->queue, theirs, target);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r < 0)
        return r;
    writer->pid = (pid_t)pid;
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

static void put(struct row_writer *writer, const void *data, size_t length, uint64_t *position)
{
    struct iovec parts[2];

    locate(writer->queue, *position, length, parts);
    memcpy(parts[0].iov_base, data, parts[0].iov_len);
    memcpy(parts[1].iov_base, (const char *)data + parts[0].iov_len, parts[1].iov_len);
    *position += length;
}

static bool has_room(const struct row_writer *writer, size_t length)
{
    uint64_t used = atomic_load(&writer->queue->put) - atomic_load(&writer->queue->taken);

    return length <= QUEUE_BYTES - used;
}

static bool is_stalled(const struct row_writer *writer, uint64_t limit_ns)
{
    uint64_t since_ns = atomic_load(&writer->queue->calling_since);

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
    uint64_t position;

    if (!wait_for_room(writer, sizeof(head) + head.bytes))
        return false;
    position = atomic_load(&writer->queue->put);
    put(writer, &head, sizeof(head), &position);
    put(writer, text, head.bytes, &position);
    atomic_store(&writer->queue->put, position);
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
    siginfo_t info;

    if (writer->pid != 0) {
        bool is_left = !wait_for_end(writer);
        uint64_t done_rows = atomic_load(&queue->done_rows);

        end.lost_rows = atomic_load(&queue->lost_rows) + writer->given_rows - done_rows;
        end.error = end.lost_rows == 0 ? 0 : atomic_load(&queue->error);
        if (end.lost_rows > 0 && end.error == 0)
            end.error = is_left || writer->dropped_rows > 0 ? -ETIMEDOUT : -EPIPE;
        end.cpu_ns = atomic_load(&queue->cpu_ns);
        while (!is_left && waitid(P_PID, (id_t)writer->pid, &info, WEXITED | __WALL) < 0 &&
               errno == EINTR)
            continue;
        close(writer->fd);
    }
    if (queue)
        (void)munmap(queue, sizeof(*queue));
    *writer = (struct row_writer)ROW_WRITER_CLOSED;
    return end;
}
