/* SPDX-License-Identifier: Apache-2.0 */
#include "base/writer_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hidden_child.h"

enum { QUEUE_BYTES = 1 << 20 }; /* a power of two */
enum { TRIM_BYTES = 1 << 16 };  /* an empty queue keeps about this much memory */

/* How long a record waits for room during a burst. Never used for an output with a reader,
 * which may stall. */
#define ROOM_MOST_NS (100 * NS_PER_MS)
/* A record that takes longer has stalled. */
#define STALLED_AFTER_NS NS_PER_SECOND
/* How long to wait for the child's end if the machine is too busy to let the child run. */
#define END_MOST_NS (10 * NS_PER_SECOND)

/* A record is a head and its bytes, if any. Positions only grow, and a record starts at its
 * position modulo QUEUE_BYTES. It is contiguous, since `bytes` extends beyond QUEUE_BYTES. */
struct record_head {
    uint32_t kind;
    uint32_t rows;
    uint32_t bytes;
};

struct writer_queue {
    char bytes[2 * QUEUE_BYTES];    /* at the start of a page */
    _Atomic uint64_t put;           /* bytes that we put */
    _Atomic uint64_t taken;         /* bytes that the child has written or given up */
    _Atomic uint64_t working_since; /* monotonic time in ns; 0: the child is idle */
    _Atomic uint64_t done_rows;     /* written, or given up */
    _Atomic uint64_t lost_rows;     /* given up */
    _Atomic uint64_t cpu_ns;
    _Atomic int error;          /* the first failure; 0: none */
    struct spoor_error failure; /* message of `error`, final once `error` is set */
};

static char *place_of(struct writer_queue *queue, uint64_t position)
{
    return queue->bytes + position % QUEUE_BYTES;
}

/* ---- the child: only system calls --------------------------------------------------------- */

/* Marks the start of a record. Returns where to store the message of a failure; NULL: the
 * message of an earlier failure is kept. */
static struct spoor_error *begin_work(struct writer_queue *queue)
{
    atomic_store(&queue->working_since, clock_now().monotonic_ns);
    return atomic_load(&queue->error) == 0 ? &queue->failure : NULL;
}

void writer_process_note_progress(const struct writer_process *process)
{
    atomic_store(&process->queue->working_since, clock_now().monotonic_ns);
}

static void end_work(struct writer_queue *queue, int r)
{
    if (r < 0 && atomic_load(&queue->error) == 0)
        atomic_store(&queue->error, r);
    atomic_store(&queue->working_since, 0);
}

static void take_record(struct writer_queue *queue, const struct writer_target *target)
{
    uint64_t position = atomic_load(&queue->taken);
    const char *place = place_of(queue, position);
    struct record_head head;
    int r;

    memcpy(&head, place, sizeof(head));
    r = target->carry_out(target->data, head.kind, place + sizeof(head), head.bytes,
                          begin_work(queue));
    end_work(queue, r);
    if (r < 0)
        atomic_fetch_add(&queue->lost_rows, head.rows);
    atomic_fetch_add(&queue->done_rows, head.rows);
    atomic_store(&queue->taken, position + sizeof(head) + head.bytes);
}

static _Noreturn void serve(struct writer_queue *queue, int socket_fd,
                            const struct writer_target *target)
{
    char wakes[64];
    bool is_over;

    /* Close the other descriptors: other processes may wait for them to be closed. */
    (void)hidden_child_keep_only(socket_fd, target->output_fd);
    do {
        ssize_t n = read(WRITER_END_FD, wakes, sizeof(wakes));

        is_over = n == 0 || (n < 0 && errno != EINTR);
        while (atomic_load(&queue->taken) != atomic_load(&queue->put))
            take_record(queue, target);
        atomic_store(&queue->cpu_ns, clock_thread_cpu_ns());
    } while (!is_over);
    end_work(queue, target->end(target->data, begin_work(queue)));
    _exit(0);
}

/* ---- ours --------------------------------------------------------------------------------- */

static int start(struct writer_process *process, const struct writer_target *target)
{
    AUTO_CLOSE int ours = -1;
    AUTO_CLOSE int theirs = -1;
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    ours = fds[0];
    theirs = fds[1];
    pid = hidden_child_fork(SPOOR_AGENT_NAME); /* processes of this name belong to no job */
    if (pid == 0)
        serve(process->queue, theirs, target);
    if (pid < 0)
        return pid;
    process->pid = pid;
    process->has_reader = target->has_reader;
    process->fd = take_fd(&ours);
    return 0;
}

int writer_process_start(struct writer_process *process, const struct writer_target *target)
{
    void *queue = mmap(NULL, sizeof(*process->queue), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int r;

    *process = (struct writer_process){ 0 };
    if (queue == MAP_FAILED)
        return -errno;
    process->queue = queue;
    r = start(process, target);
    if (r < 0)
        (void)writer_process_close(process, NULL);
    return r;
}

static bool has_room(const struct writer_process *process, size_t length)
{
    uint64_t used = atomic_load(&process->queue->put) - atomic_load(&process->queue->taken);

    return length <= QUEUE_BYTES - used;
}

static bool is_stalled(const struct writer_process *process, uint64_t limit_ns)
{
    uint64_t since_ns = atomic_load(&process->queue->working_since);

    return since_ns != 0 && sub_floor0(clock_now().monotonic_ns, since_ns) >= limit_ns;
}

/* Whether the child has ended, or been killed: its end of the socket is closed. */
static bool has_gone(const struct writer_process *process)
{
    char byte;

    return recv(process->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* Waits for room. Gives up after `most_ns`, or if a record has taken `stalled_ns`. */
static bool wait_for_room(const struct writer_process *process, size_t length,
                          uint64_t stalled_ns, uint64_t most_ns)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + most_ns;
    struct timespec moment = clock_timespec(NS_PER_MS / 5);

    while (!has_room(process, length)) {
        if (length > QUEUE_BYTES || is_stalled(process, stalled_ns) || has_gone(process) ||
            clock_now().monotonic_ns >= deadline_ns)
            return false;
        (void)nanosleep(&moment, NULL);
    }
    return true;
}

/* Frees the memory of records that were taken: otherwise it would grow to the whole queue,
 * in both processes. The child does not touch an empty queue. */
static void trim(struct writer_process *process)
{
    struct writer_queue *queue = process->queue;
    uint64_t put = atomic_load(&queue->put);

    if (put - process->trimmed_at < TRIM_BYTES || put != atomic_load(&queue->taken))
        return;
    (void)madvise(queue->bytes, sizeof(queue->bytes), MADV_REMOVE); /* best effort */
    process->trimmed_at = put;
}

void writer_process_put(struct writer_process *process, unsigned kind, uint64_t rows,
                        const void *bytes, size_t size)
{
    struct record_head head = { kind, (uint32_t)rows, (uint32_t)size };
    uint64_t most_ns = process->has_reader ? 0 : ROOM_MOST_NS;
    char *place;

    if (process->pid == 0)
        return;
    process->given_rows += rows;
    trim(process);
    if (!wait_for_room(process, sizeof(head) + size, most_ns, most_ns)) {
        process->dropped_rows += rows;
        return;
    }
    place = place_of(process->queue, atomic_load(&process->queue->put));
    memcpy(place, &head, sizeof(head));
    if (size > 0)
        memcpy(place + sizeof(head), bytes, size);
    atomic_fetch_add(&process->queue->put, sizeof(head) + size);
    /* If there is no room for a byte, enough wake-ups are pending. */
    (void)send(process->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A child that has not begun is not stalled: the machine is too busy to let it run. */
bool writer_process_wait(const struct writer_process *process, uint64_t most_ns)
{
    return process->pid == 0 ||
           wait_for_room(process, QUEUE_BYTES, most_ns, larger(most_ns, END_MOST_NS));
}

int writer_process_error(const struct writer_process *process, struct spoor_error *err)
{
    int r = process->queue ? atomic_load(&process->queue->error) : 0;

    if (r < 0 && err)
        *err = process->queue->failure;
    return r;
}

/* Returns a number that changes whenever the child makes progress. */
static uint64_t progress_of(const struct writer_process *process)
{
    return atomic_load(&process->queue->taken) + atomic_load(&process->queue->working_since);
}

/* Waits for the child to end. A child that waits for a reader is not stalled: it notices the
 * end and stops waiting. */
static bool wait_for_end(const struct writer_process *process)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    uint64_t patient_until_ns = now_ns + (process->has_reader ? STALLED_AFTER_NS : 0);
    uint64_t deadline_ns = now_ns + END_MOST_NS;
    struct pollfd news = { .fd = process->fd, .events = POLLIN };
    struct timespec moment = clock_timespec(20 * NS_PER_MS);
    uint64_t progress = progress_of(process);
    char byte;

    (void)shutdown(process->fd, SHUT_WR);
    while (recv(process->fd, &byte, 1, MSG_DONTWAIT) != 0) {
        uint64_t before = progress;

        progress = progress_of(process);
        now_ns = clock_now().monotonic_ns;
        if (progress != before)
            deadline_ns = now_ns + END_MOST_NS;
        if ((now_ns >= patient_until_ns && is_stalled(process, STALLED_AFTER_NS)) ||
            now_ns >= deadline_ns)
            return false;
        (void)ppoll(&news, 1, &moment, NULL); /* on a spurious wake-up the loop checks again */
    }
    return true;
}

/* Kills a stalled child and returns whether it ended within a second. A child that waits for
 * the reader of a pipe does; a child that waits for a disk does not. */
static bool abandon(const struct writer_process *process)
{
    struct pollfd news = { .fd = process->fd, .events = POLLIN };
    struct timespec most = clock_timespec(NS_PER_SECOND);

    (void)kill(process->pid, SIGKILL);
    return ppoll(&news, 1, &most, NULL) == 1;
}

/* Counts the lost rows. A child that ends by itself has taken all records. Rows that were not
 * written because the reader has left do not count as lost; rows that were dropped earlier
 * because the reader was slow do. */
static struct writer_end count_lost(const struct writer_process *process, bool has_stalled,
                                    struct spoor_error *err)
{
    const struct writer_queue *queue = process->queue;
    uint64_t untaken_rows = process->given_rows - atomic_load(&queue->done_rows);
    struct writer_end end = { .error = writer_process_error(process, err),
                              .lost_rows = untaken_rows,
                              .cpu_ns = atomic_load(&queue->cpu_ns) };
    bool has_left = process->has_reader && end.error == -EPIPE;

    if (!has_left)
        end.lost_rows += atomic_load(&queue->lost_rows);
    if (end.error != 0 && (!has_left || untaken_rows == 0))
        return end;
    if (has_stalled || process->dropped_rows == untaken_rows)
        end.error = has_stalled || untaken_rows > 0 ? -ETIMEDOUT : 0;
    else
        end.error = -ECHILD;
    return end;
}

struct writer_end writer_process_close(struct writer_process *process, struct spoor_error *err)
{
    struct writer_end end = { 0 };

    if (process->pid != 0) {
        bool has_stalled = !wait_for_end(process);
        bool is_left = has_stalled && !(process->has_reader && abandon(process));

        end = count_lost(process, has_stalled, err);
        if (!is_left)
            child_reap(process->pid);
        close(process->fd);
    }
    if (process->queue)
        (void)munmap(process->queue, sizeof(*process->queue));
    *process = (struct writer_process){ 0 };
    return end;
}

const char *writer_end_reason(const struct writer_end *end)
{
    switch (end->error) {
    case -ETIMEDOUT:
        return "it does not respond";
    case -ECHILD:
        return "its writer process was killed";
    default:
        return strerror(-end->error);
    }
}
