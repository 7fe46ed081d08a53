/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "fake_root.h"
#include "numbered_rows.h"
#include "unit_test.h"

static size_t count_lines(int fd)
{
    char text[4096];
    size_t count = 0;
    ssize_t n;

    while ((n = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < n; i++)
            count += text[i] == '\n';
    }
    return count;
}

FAKE_ROOT_TEST(rows_in_an_unread_pipe_are_not_lost)
{
    struct fake_root *fake = *state;
    enum { ROWS = 3000 }; /* more than the queue and the pipe can hold */
    struct writer_end end;
    struct writer_process writer;
    char path[128];
    int reader;
    pid_t pid;

    path_of(fake, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_APPEND), 0);
    pid = writer.pid;
    add_rows(&writer, 0, ROWS); /* does not block */
    assert_true(writer.dropped_rows > 0);
    end = writer_process_close(&writer, NULL); /* does not block either */
    assert_true(end.lost_rows > 0 && end.lost_rows < ROWS);
    assert_int_equal(end.error, -ETIMEDOUT);
    assert_int_equal(waitpid(pid, NULL, __WALL), -1); /* the writer has ended and was reaped */
    assert_int_equal(count_lines(reader), ROWS - end.lost_rows);
    close(reader);
}

TEST(a_descriptor_gets_the_header_and_the_rows)
{
    struct buffer header = { 0 };
    struct writer_process writer;
    char path[32], text[8];
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_APPEND), 0);
    close(fds[1]);
    row_writer_begin(&writer);
    buffer_add_text(&header, "header\n");
    row_writer_add_header(&writer, &header);
    add_rows(&writer, 0, 3);
    assert_int_equal(writer_process_close(&writer, NULL).lost_rows, 0);
    assert_int_equal(read(fds[0], text, 7), 7);
    assert_memory_equal(text, "header\n", 7);
    assert_int_equal(count_lines(fds[0]), 3); /* reads to end of file, so no writer is left */
    close(fds[0]);
    buffer_done(&header);
}

TEST(a_closed_reader_ends_the_rows)
{
    struct writer_process writer;
    struct writer_end end;
    char path[32];
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    close(fds[1]);
    add_rows(&writer, 0, 1);
    assert_true(writer_process_wait(&writer, WAIT_NS));
    close(fds[0]);
    add_rows(&writer, 1, 4);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.lost_rows, 0); /* not lost: the reader closed the pipe */
    assert_int_equal(end.error, -EPIPE);
}

/* Opens a writer to a pipe of one page and adds more rows than fit. Returns the read end. */
static int fill_pipe(struct writer_process *writer)
{
    char path[32];
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_true(fcntl(fds[0], F_SETPIPE_SZ, 4096) > 0);
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
    assert_int_equal(row_writer_open(writer, path, OUTPUT_TRUNCATE), 0);
    close(fds[1]);
    row_writer_begin(writer);
    add_rows(writer, 0, 6);
    return fds[0];
}

TEST(dropped_rows_are_reported_even_if_the_reader_closes)
{
    struct writer_process writer;
    struct writer_end end;
    uint64_t dropped_rows;
    int fd = fill_pipe(&writer);

    add_rows(&writer, 6, 3000); /* more than the queue can hold */
    close(fd);
    add_rows(&writer, 3006, 1);
    dropped_rows = writer.dropped_rows;
    assert_true(dropped_rows > 0);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.lost_rows, dropped_rows);
    assert_int_equal(end.error, -ETIMEDOUT);
}

/* Opens a writer to a named pipe that is never read, and adds 6 rows. */
static int fill_named_pipe(struct writer_process *writer, const char *path)
{
    assert_int_equal(row_writer_open(writer, path, OUTPUT_TRUNCATE), 0);
    row_writer_begin(writer);
    add_rows(writer, 0, 6);
    return -1;
}

/* Tries up to ten times, since a busy machine may be slow. `path`: a named pipe, or NULL. */
static void check_end_is_soon(const char *path, uint64_t least_lost)
{
    uint64_t least_ns = UINT64_MAX;

    for (int i = 0; i < 10 && least_ns > 700 * NS_PER_MS; i++) {
        struct writer_process writer;
        int fd = path ? fill_named_pipe(&writer, path) : fill_pipe(&writer);
        uint64_t start_ns = clock_now().monotonic_ns;
        struct writer_end end = writer_process_close(&writer, NULL);

        least_ns = smaller(least_ns, clock_now().monotonic_ns - start_ns);
        assert_int_equal(end.error, -ETIMEDOUT);
        assert_in_range(end.lost_rows, least_lost, 6);
        if (fd >= 0)
            close(fd);
    }
    assert_true(least_ns <= 700 * NS_PER_MS);
}

TEST(the_writer_soon_gives_up_on_a_stalled_reader)
{
    check_end_is_soon(NULL, 2);
}

FAKE_ROOT_TEST(the_writer_soon_gives_up_on_a_named_pipe_without_a_reader)
{
    struct fake_root *fake = *state;
    char path[128];

    path_of(fake, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_end_is_soon(path, 6);
}

/* Starts a reader in another process; `*taken`, in shared memory, counts the bytes read. */
static pid_t start_reader(int fd, int most, bool is_slow, _Atomic int *taken)
{
    struct timespec moment = clock_timespec(5 * NS_PER_MS);
    pid_t pid = fork();
    ssize_t n = 1;
    char byte;

    assert_true(pid >= 0);
    if (pid != 0) {
        close(fd);
        return pid;
    }
    while (*taken < most && n > 0) {
        n = read(fd, &byte, 1);
        *taken += (int)n;
        if (is_slow)
            (void)nanosleep(&moment, NULL);
    }
    _exit(0);
}

/* The reader reads a byte every 5 ms, for 10 s; the next row would fit only after 20 s. */
TEST(the_writer_gives_up_on_a_slow_reader)
{
    enum { LONG = 2000 };
    _Atomic int *taken =
        mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct writer_process writer;
    struct writer_end end;
    int fd = fill_pipe(&writer);
    pid_t pid = start_reader(fd, LONG, true, taken);

    end = writer_process_close(&writer, NULL);
    assert_true(*taken < LONG);
    assert_int_equal(end.error, -ETIMEDOUT);
    assert_in_range(end.lost_rows, 2, 5);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)munmap(taken, sizeof(*taken));
}

/* Tries up to ten times, since the reader may be too slow on a busy machine. */
TEST(a_fast_reader_gets_all_rows)
{
    _Atomic int *taken =
        mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct writer_end end = { .lost_rows = 1 };

    for (int i = 0; i < 10 && end.lost_rows > 0; i++) {
        struct writer_process writer;
        int fd = fill_pipe(&writer);
        pid_t pid;

        *taken = 0;
        pid = start_reader(fd, INT_MAX, false, taken);
        end = writer_process_close(&writer, NULL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(*taken, (6 - (int)end.lost_rows) * ROW_BYTES);
    }
    assert_int_equal(end.lost_rows, 0);
    assert_int_equal(end.error, 0);
    (void)munmap(taken, sizeof(*taken));
}
