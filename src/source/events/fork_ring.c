/* SPDX-License-Identifier: Apache-2.0 */
#include "source/events/fork_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"

/* ---- cpu list -------------------------------------------------------------- */

static int bound_cpus(pid_t pid, unsigned *cpus, size_t capacity)
{
    unsigned long mask[CPU_NUMBER_END / (8 * sizeof(unsigned long))] = { 0 };
    size_t count = 0;

    if (sched_getaffinity(pid, sizeof(mask), (cpu_set_t *)mask) < 0)
        return -errno;
    for (unsigned cpu = 0; cpu < CPU_NUMBER_END; cpu++) {
        if (!(mask[cpu / (8 * sizeof(*mask))] >> cpu % (8 * sizeof(*mask)) & 1))
            continue;
        if (count == capacity)
            return -E2BIG;
        cpus[count++] = cpu;
    }
    return (int)count;
}

int cpu_list_of_process(const struct root *root, pid_t pid, unsigned *cpus, size_t capacity,
                        bool *ret_is_partial)
{
    char text[512];
    ssize_t n = root_read(root, text, sizeof(text), "sys/devices/system/cpu/online");
    int count = n < 0 ? (int)n : parse_cpu_list(text, cpus, capacity);

    *ret_is_partial = count <= 0;
    return count > 0 ? count : bound_cpus(pid, cpus, capacity);
}

/* ---- task record ----------------------------------------------------------- */

/* The body of a record, as in perf_event_open(2). */
struct task_body {
    uint32_t pid, parent_pid;
    uint32_t tid, parent_tid;
    uint64_t time_ns;
};

struct lost_body {
    uint64_t id;
    uint64_t count;
};

/* Copies `size` bytes out of the ring. The caller has checked that they were written. */
static void copy_out(const struct record_ring *ring, uint64_t from, void *to, size_t size)
{
    size_t start = (size_t)(from & (ring->size_bytes - 1));
    size_t first = (size_t)ring->size_bytes - start;

    if (first > size)
        first = size;
    memcpy(to, ring->data + start, first);
    memcpy((unsigned char *)to + first, ring->data, size - first);
}

static void read_task(const struct record_ring *ring, uint64_t from, bool is_fork,
                      struct task_record *record)
{
    struct task_body body;

    copy_out(ring, from, &body, sizeof(body));
    record->kind = RECORD_PROCESS;
    record->event = (struct process_event){
        .kind = is_fork ? PROCESS_FORKED : PROCESS_EXITED,
        .pid = (pid_t)body.pid,
        .parent_pid = (pid_t)body.parent_pid,
        .is_thread = body.pid != body.tid,
        .time_ns = body.time_ns,
    };
}

int task_record_peek(const struct record_ring *ring, struct task_record *ret)
{
    uint64_t available = ring->head - ring->tail;
    struct perf_event_header header;
    struct task_record record = { .kind = RECORD_OTHER };
    uint64_t body = ring->tail + sizeof(header);

    if (available == 0)
        return 0;
    if (available < sizeof(header) || available > ring->size_bytes)
        return -EBADMSG;
    copy_out(ring, ring->tail, &header, sizeof(header));
    if (header.size < sizeof(header) || header.size > available || header.size % 8 != 0)
        return -EBADMSG;
    record.size_bytes = header.size;

    switch (header.type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        if (header.size < sizeof(header) + sizeof(struct task_body))
            return -EBADMSG;
        read_task(ring, body, header.type == PERF_RECORD_FORK, &record);
        break;
    case PERF_RECORD_LOST: {
        struct lost_body lost;

        if (header.size < sizeof(header) + sizeof(lost))
            return -EBADMSG;
        copy_out(ring, body, &lost, sizeof(lost));
        record.kind = RECORD_LOST;
        record.lost_count = lost.count;
        break;
    }
    default:
        break;
    }
    *ret = record;
    return 1;
}

/* ---- fork ring ------------------------------------------------------------- */

/* The rings of all CPUs, read as one stream.
 *
 * A process may be forked on one CPU and exit on another, so the records are merged by their
 * time. The exit of a process must not be read without its fork, which could be written
 * while we go from one ring to the next. But a fork is written before the process runs, so
 * an exit whose fork was missed is newer than the start of the drain. Records newer than the
 * start of a drain wait for the next one. */

/* 128 KiB hold 4096 records: the start and exit of 2048 processes or threads. Rings smaller
 * than a quarter of that are not worth using: other sources are better. */
enum { RING_BYTES_MAX = 128 << 10, RING_BYTES_MIN = RING_BYTES_MAX / 4, RECORD_BYTES = 32 };

/* The kernel writes a record only if there is also room for a record about losses. */
enum { FULL_BYTES = 64 };

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int fork_ring_pages(size_t bytes, size_t page_size)
{
    return bytes > page_size ? (int)(bytes / page_size) : 1;
}

static int open_event(pid_t pid, unsigned cpu)
{
    /* Never with inherit_stat, which loses up to half of the records without notice. */
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .task = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .watermark = 1, /* as few wake-ups as possible: nothing polls */
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    long fd = syscall(SYS_perf_event_open, &attr, pid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

/* Returns the number of record pages obtained, at most `pages`, or -errno. */
static int open_cpu(pid_t pid, unsigned cpu, int pages, struct fork_ring_cpu *ret)
{
    AUTO_CLOSE int fd = open_event(pid, cpu);

    if (fd < 0)
        return fd;
    for (; pages >= fork_ring_pages(RING_BYTES_MIN, page_bytes()); pages /= 2) {
        size_t data_bytes = (size_t)pages * page_bytes();
        void *map =
            mmap(NULL, page_bytes() + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (map != MAP_FAILED) {
            *ret = (struct fork_ring_cpu){ take_fd(&fd), map, data_bytes };
            return pages;
        }
        if (errno != EPERM) /* EPERM: more than the user may lock */
            return -errno;
    }
    return -EPERM;
}

int fork_ring_open(const struct root *root, pid_t pid, struct fork_ring *ret)
{
    unsigned cpus[FORK_RING_CPU_MAX] = { 0 };
    int pages = fork_ring_pages(RING_BYTES_MAX, page_bytes());
    int count;

    *ret = (struct fork_ring){ 0 };
    if (!root->is_live)
        return -ENOTSUP;
    count = cpu_list_of_process(root, pid, cpus, FORK_RING_CPU_MAX, &ret->is_partial);
    if (count < 0)
        return count;
    for (int i = 0; i < count; i++) {
        pages = open_cpu(pid, cpus[i], pages, &ret->cpu[ret->count]);
        if (pages < 0) {
            fork_ring_close(ret);
            return pages;
        }
        ret->count++;
    }
    return count > 0 ? 0 : -ENODEV;
}

void fork_ring_close(struct fork_ring *ring)
{
    for (size_t i = 0; i < ring->count; i++) {
        munmap(ring->cpu[i].map, page_bytes() + ring->cpu[i].data_bytes);
        close(ring->cpu[i].fd);
    }
    ring->count = 0;
}

size_t fork_ring_capacity(const struct fork_ring *ring)
{
    return ring->count > 0 ? ring->cpu[ring->count - 1].data_bytes / RECORD_BYTES : 0;
}

/* The oldest record of each ring. */
struct front {
    struct record_ring ring;
    struct task_record record;
    bool has_record;
};

/* Skips records of other types, so that the front is a process event or empty. */
static void advance(struct fork_ring *ring, struct front *front)
{
    for (;;) {
        int r = task_record_peek(&front->ring, &front->record);

        front->has_record = r > 0 && front->record.kind == RECORD_PROCESS;
        if (front->has_record || r == 0)
            return;
        if (r < 0) {
            front->ring.tail = front->ring.head;
            ring->lost_count++;
            return;
        }
        if (front->record.kind == RECORD_LOST)
            ring->lost_count += front->record.lost_count;
        front->ring.tail += front->record.size_bytes;
    }
}

static struct front *earliest(struct front *fronts, size_t count)
{
    struct front *first = NULL;

    for (size_t i = 0; i < count; i++) {
        if (fronts[i].has_record &&
            (!first || fronts[i].record.event.time_ns < first->record.event.time_ns))
            first = &fronts[i];
    }
    return first;
}

static void look(struct fork_ring *ring, const struct fork_ring_cpu *cpu, struct front *front)
{
    struct perf_event_mmap_page *page = cpu->map;

    front->ring = (struct record_ring){
        .data = (const unsigned char *)cpu->map + page_bytes(),
        .size_bytes = cpu->data_bytes,
        .head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
        .tail = page->data_tail, /* written only by this process */
    };
    if (front->ring.head - front->ring.tail + FULL_BYTES > cpu->data_bytes)
        ring->was_full = true;
    advance(ring, front);
}

void fork_ring_drain(struct fork_ring *ring, process_event_seen *seen, void *data)
{
    struct front fronts[FORK_RING_CPU_MAX];
    uint64_t until_ns = clock_now().monotonic_ns;
    struct front *front;

    for (size_t i = 0; i < ring->count; i++)
        look(ring, &ring->cpu[i], &fronts[i]);

    while ((front = earliest(fronts, ring->count)) && front->record.event.time_ns <= until_ns) {
        seen(&front->record.event, data);
        front->ring.tail += front->record.size_bytes;
        advance(ring, front);
    }

    for (size_t i = 0; i < ring->count; i++) {
        struct perf_event_mmap_page *page = ring->cpu[i].map;

        /* Free the space for the kernel only after the records were read. */
        __atomic_store_n(&page->data_tail, fronts[i].ring.tail, __ATOMIC_RELEASE);
    }
}
