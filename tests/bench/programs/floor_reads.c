/* SPDX-License-Identifier: Apache-2.0 */
#include "floor_reads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"

enum { CHILDREN_TEXT_MAX = 128 << 10 };

static const char *const host_files[] = {
    "/proc/stat",         "/proc/meminfo",         "/proc/diskstats",   "/proc/net/dev",
    "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/loadavg",
};
_Static_assert(ARRAY_SIZE(host_files) == ARRAY_SIZE(((struct floor_reads *)NULL)->files),
               "a descriptor for each");

static int add_process(struct floor_reads *reads, pid_t pid)
{
    struct floor_process *processes =
        reallocarray(reads->processes, reads->process_count + 1, sizeof(*processes));
    char path[64];
    int fd;

    if (!processes)
        return -ENOMEM;
    reads->processes = processes;
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid); /* always fits */
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    processes[reads->process_count++] = (struct floor_process){
        .clock = (clockid_t)(~(unsigned)pid << 3 | 2), /* as in clock_getcpuclockid() */
        .statm_fd = fd,
    };
    return 0;
}

static int add_children(struct floor_reads *reads, pid_t pid)
{
    AUTO_FREE char *text = malloc(CHILDREN_TEXT_MAX);
    AUTO_CLOSE int fd = -1;
    char path[64];
    ssize_t n, length = 0;

    if (!text)
        return -ENOMEM;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while ((n = read(fd, text + length, (size_t)(CHILDREN_TEXT_MAX - 1 - length))) > 0)
        length += n;
    text[length] = '\0';
    for (char *cursor = text, *end;; cursor = end) {
        long child = strtol(cursor, &end, 10);
        int r;

        if (end == cursor)
            return 0;
        r = add_process(reads, (pid_t)child);
        if (r < 0)
            return r;
    }
}

int floor_open(pid_t main_pid, struct floor_reads *ret)
{
    int r;

    *ret = (struct floor_reads){ .file_count = ARRAY_SIZE(host_files) };
    for (size_t i = 0; i < ret->file_count; i++)
        ret->files[i] = open(host_files[i], O_RDONLY | O_CLOEXEC);
    r = add_process(ret, main_pid);
    return r < 0 ? r : add_children(ret, main_pid);
}

void floor_close(struct floor_reads *reads)
{
    for (size_t i = 0; i < reads->process_count; i++)
        close(reads->processes[i].statm_fd);
    for (size_t i = 0; i < reads->file_count; i++) {
        if (reads->files[i] >= 0)
            close(reads->files[i]);
    }
    free(reads->processes);
    *reads = (struct floor_reads){ 0 };
}

/* The second field: size, resident, shared, ... */
static uint64_t resident_pages(const char *statm)
{
    char *second;

    (void)strtoull(statm, &second, 10);
    return strtoull(second, NULL, 10);
}

struct floor_sums floor_read_processes(const struct floor_reads *reads)
{
    struct floor_sums sums = { 0 };

    for (size_t i = 0; i < reads->process_count; i++) {
        const struct floor_process *process = &reads->processes[i];
        struct timespec time = { 0 };
        char text[128];
        ssize_t n = pread(process->statm_fd, text, sizeof(text) - 1, 0);

        if (n <= 0 || clock_gettime(process->clock, &time) < 0)
            continue; /* the process has exited */
        text[n] = '\0';
        sums.cpu_ns += (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
        sums.resident_pages += resident_pages(text);
    }
    return sums;
}

size_t floor_read_host(const struct floor_reads *reads)
{
    size_t length = 0;
    char text[32 << 10];

    for (size_t i = 0; i < reads->file_count; i++) {
        ssize_t n = pread(reads->files[i], text, sizeof(text), 0);

        length += n > 0 ? (size_t)n : 0; /* pread() fails without pressure files */
    }
    return length;
}
