/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"

enum { PAGE_BYTES = 4096 };

long number_argument(int argc, char **argv, int index)
{
    char *end;
    long number = index < argc ? strtol(argv[index], &end, 10) : -1;

    if (number < 0 || *end != '\0') {
        errno = EINVAL;
        ledger_fail("arguments");
    }
    return number;
}

static double thread_cpu_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

void burn_ms(long milliseconds)
{
    double end = thread_cpu_ms() + (double)milliseconds;

    while (thread_cpu_ms() < end) {
        for (volatile int i = 0; i < 10000; i++)
            ;
    }
}

void hold_ms(long milliseconds)
{
    struct timespec left = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void *map(size_t bytes, int flags)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        ledger_fail("mmap");
    /* Fails on a kernel without huge pages, where all pages are small anyway. */
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

void *shared_memory(size_t bytes)
{
    return map(bytes, MAP_SHARED);
}

char *reserve(size_t bytes)
{
    return map(bytes, MAP_PRIVATE);
}

void write_pages(char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE_BYTES)
        ((volatile char *)memory)[i]++;
}

void read_pages(const char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE_BYTES)
        (void)((const volatile char *)memory)[i];
}

char *touch(size_t bytes)
{
    char *memory = reserve(bytes);

    write_pages(memory, bytes);
    return memory;
}

void release(char *memory, size_t bytes)
{
    munmap(memory, bytes);
}

static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (n < 0)
        ledger_fail(path);
    text[n] = '\0';
    close(fd);
}

double resident_bytes(void)
{
    char text[256];

    read_text("/proc/self/statm", text, sizeof(text));
    return (double)strtoul(strchr(text, ' '), NULL, 10) * PAGE_BYTES;
}

double rollup_bytes(const char *key)
{
    char text[4096];
    const char *found;

    read_text("/proc/self/smaps_rollup", text, sizeof(text));
    found = strstr(text, key);
    return found ? (double)strtoul(found + strlen(key), NULL, 10) * 1024 : 0;
}

double private_bytes(void)
{
    return rollup_bytes("\nPrivate_Clean:") + rollup_bytes("\nPrivate_Dirty:");
}

meeting *meeting_of(unsigned count)
{
    meeting *place = shared_memory(sizeof(*place));
    pthread_barrierattr_t attributes;

    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    errno = pthread_barrier_init(place, &attributes, count);
    if (errno != 0)
        ledger_fail("barrier");
    return place;
}

void meet(meeting *place)
{
    pthread_barrier_wait(place);
}

pid_t start(void (*act)(void *data), void *data)
{
    pid_t pid = fork();

    if (pid < 0)
        ledger_fail("fork");
    if (pid == 0) {
        act(data);
        ledger_add_own_cpu();
        _exit(0);
    }
    return pid;
}

void wait_for(pid_t pid)
{
    struct rusage usage;
    int status;

    while (wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR)
            ledger_fail("wait");
    }
    ledger_add_end(pid, &usage);
    if (status != 0) {
        errno = ECHILD;
        ledger_fail("a child failed");
    }
}

static void move_bytes(const char *path, int flags, size_t bytes)
{
    enum { PIECE_BYTES = 1000000 };
    int fd = open(path, flags | O_CLOEXEC);
    char *piece = reserve(PIECE_BYTES);

    if (fd < 0)
        ledger_fail(path);
    while (bytes > 0) {
        size_t want = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        ssize_t n = flags == O_RDONLY ? read(fd, piece, want) : write(fd, piece, want);

        if (n <= 0)
            ledger_fail(path);
        bytes -= (size_t)n;
    }
    close(fd);
    release(piece, PIECE_BYTES);
}

void read_zeros(size_t bytes)
{
    move_bytes("/dev/zero", O_RDONLY, bytes);
}

void write_nowhere(size_t bytes)
{
    move_bytes("/dev/null", O_WRONLY, bytes);
}

int make_file(void)
{
    struct statfs system;
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0)
        ledger_fail("a file here");
    if (fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC)
        ledger_cannot("files here are memory (tmpfs)");
    return fd;
}

int make_sparse_file(size_t bytes)
{
    int fd = make_file();

    if (ftruncate(fd, (off_t)bytes) < 0)
        ledger_fail("ftruncate");
    return fd;
}

void write_file(size_t bytes)
{
    int fd = make_file();
    char *piece = reserve(MIB);

    memset(piece, 'x', MIB);
    for (size_t done = 0; done < bytes; done += MIB) {
        if (write(fd, piece, MIB) != (ssize_t)MIB)
            ledger_fail("write");
    }
    if (fdatasync(fd) < 0) /* without a flush, dropped pages would never be written to disk */
        ledger_fail("fdatasync");
    close(fd);
    release(piece, MIB);
}
