/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_root.h"
#include "session/row_writer.h"

enum { ROW_BYTES = 1000 };
#define WAIT_NS (60 * NS_PER_SECOND)

static void path_of(const struct fake_root *fake, char path[128])
{
    (void)snprintf(path, 128, "%s/rows", fake->path);
}

/* A number and a line of ROW_BYTES bytes. */
static void make_row(struct buffer *row, int number)
{
    buffer_clear(row);
    buffer_format(row, "%0*d\n", ROW_BYTES - 1, number);
}

static void add_rows(struct writer_process *writer, int first, int count)
{
    struct buffer row = { 0 };

    for (int i = first; i < first + count; i++) {
        make_row(&row, i);
        row_writer_add(writer, &row, 1);
    }
    buffer_done(&row);
}

static void check_rows(const char *text, size_t length, int count)
{
    struct buffer row = { 0 };

    assert_int_equal(length, count * ROW_BYTES);
    for (int i = 0; i < count; i++) {
        make_row(&row, i);
        assert_memory_equal(text + (size_t)i * ROW_BYTES, row.text, ROW_BYTES);
    }
    buffer_done(&row);
}

static void all_rows_are_in_the_file(void **state)
{
    enum { ROWS = 5000 }; /* several times what the queue holds */
    struct buffer text = { 0 };
    struct writer_process writer;
    struct writer_end end;
    struct fake_root fake;
    char path[128];

    (void)state;
    fake_root_init(&fake);
    path_of(&fake, path);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    row_writer_begin(&writer);
    add_rows(&writer, 0, ROWS);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.error, 0);
    assert_int_equal(end.lost_rows, 0);
    assert_true(end.cpu_ns > 0);
    assert_int_equal(buffer_read_file(&text, path, BUFFER_MAX), 0);
    check_rows(text.text, text.length, ROWS);
    buffer_done(&text);
    end = writer_process_close(&writer, NULL); /* closed already */
    assert_int_equal(end.lost_rows, 0);
    fake_root_done(&fake);
}

static void a_file_that_cannot_be_opened_is_refused(void **state)
{
    struct writer_process writer;

    (void)state;
    assert_int_equal(row_writer_open(&writer, "/no/such/folder/rows", OUTPUT_TRUNCATE),
                     -ENOENT);
    assert_int_equal(row_writer_open(&writer, "/", OUTPUT_APPEND), -EISDIR);
    assert_int_equal(writer.pid, 0);
    (void)writer_process_close(&writer, NULL);
}

static void a_full_disk_costs_the_rows(void **state)
{
    struct writer_end end;
    struct writer_process writer;

    (void)state;
    assert_int_equal(row_writer_open(&writer, "/dev/full", OUTPUT_APPEND), 0);
    add_rows(&writer, 0, 3);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.lost_rows, 3);
    assert_int_equal(end.error, -ENOSPC);
}

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

static void of_a_pipe_that_is_not_read_the_rows_in_it_are_not_lost(void **state)
{
    enum { ROWS = 3000 }; /* more than the queue and the pipe hold */
    struct writer_end end;
    struct writer_process writer;
    struct fake_root fake;
    char path[128];
    int reader;
    pid_t pid;

    (void)state;
    fake_root_init(&fake);
    path_of(&fake, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_APPEND), 0);
    pid = writer.pid;
    add_rows(&writer, 0, ROWS); /* returns */
    assert_true(writer.dropped_rows > 0);
    end = writer_process_close(&writer, NULL); /* so does this */
    assert_true(end.lost_rows > 0 && end.lost_rows < ROWS);
    assert_int_equal(end.error, -ETIMEDOUT);
    assert_int_equal(waitpid(pid, NULL, __WALL), -1); /* the writer has ended and was reaped */
    assert_int_equal(count_lines(reader), ROWS - end.lost_rows);
    close(reader);
    fake_root_done(&fake);
}

static void check_content(const char *path, const char *content)
{
    struct buffer text = { 0 };

    assert_int_equal(buffer_read_file(&text, path, BUFFER_MAX), 0);
    assert_string_equal(text.text, content);
    buffer_done(&text);
}

static void write_table(const char *path, enum output_mode mode, const char *row)
{
    struct writer_process writer;
    struct buffer text = { 0 };

    assert_int_equal(row_writer_open(&writer, path, mode), 0);
    row_writer_begin(&writer);
    buffer_add_text(&text, "header\n");
    row_writer_add_header(&writer, &text);
    assert_true(writer_process_wait(&writer, WAIT_NS));
    buffer_clear(&text);
    buffer_add_text(&text, row);
    row_writer_add(&writer, &text, 1);
    buffer_done(&text);
    assert_int_equal(writer_process_close(&writer, NULL).lost_rows, 0);
}

static void a_file_has_one_header(void **state)
{
    struct fake_root fake;
    char path[128];

    (void)state;
    fake_root_init(&fake);
    path_of(&fake, path);
    write_table(path, OUTPUT_NO_CLOBBER, "1\n");
    check_content(path, "header\n1\n");
    write_table(path, OUTPUT_APPEND, "2\n");
    check_content(path, "header\n1\n2\n");
    write_table(path, OUTPUT_TRUNCATE, "3\n");
    check_content(path, "header\n3\n");
    fake_root_done(&fake);
}

static void nothing_is_changed_before_it_begins(void **state)
{
    struct writer_process writer;
    struct fake_root fake;
    char path[128];

    (void)state;
    fake_root_init(&fake);
    path_of(&fake, path);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    (void)writer_process_close(&writer, NULL);
    assert_int_equal(access(path, F_OK), -1); /* it was created for nothing */
    fake_root_write(&fake, "rows", "old\n");
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_NO_CLOBBER), -EEXIST);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    (void)writer_process_close(&writer, NULL);
    check_content(path, "old\n");
    fake_root_done(&fake);
}

static void it_is_no_child_that_is_waited_for(void **state)
{
    struct writer_process writer;
    struct fake_root fake;
    char path[128];

    (void)state;
    fake_root_init(&fake);
    path_of(&fake, path);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    (void)writer_process_close(&writer, NULL);
    fake_root_done(&fake);
}

/* Its user is killed: what was handed over is written. */
static void rows_outlive_who_wrote_them(void **state)
{
    enum { ROWS = 50 };
    struct timespec moment = { 0, 1000000 };
    struct writer_process writer;
    struct fake_root fake;
    struct stat status;
    char path[128];
    pid_t pid;

    (void)state;
    fake_root_init(&fake);
    path_of(&fake, path);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (row_writer_open(&writer, path, OUTPUT_TRUNCATE) == 0) {
            row_writer_begin(&writer);
            add_rows(&writer, 0, ROWS);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    while (stat(path, &status) < 0 || status.st_size < ROWS * ROW_BYTES)
        (void)nanosleep(&moment, NULL);
    fake_root_done(&fake);
}

static void a_descriptor_gets_the_header_and_the_rows(void **state)
{
    struct buffer header = { 0 };
    struct writer_process writer;
    char path[32], text[8];
    int fds[2];

    (void)state;
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
    assert_int_equal(count_lines(fds[0]), 3); /* and nobody has it open */
    close(fds[0]);
    buffer_done(&header);
}

static void a_reader_that_leaves_ends_the_rows(void **state)
{
    struct writer_process writer;
    struct writer_end end;
    char path[32];
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    close(fds[1]);
    add_rows(&writer, 0, 1);
    assert_true(writer_process_wait(&writer, WAIT_NS));
    close(fds[0]);
    add_rows(&writer, 1, 4);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.lost_rows, 4);
    assert_int_equal(end.error, -EPIPE);
}

/* Opens a writer to a pipe of one page, and hands over more than that. Returns the reader's end. */
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

/* A busy machine may take long once, or twice. */
static void a_reader_that_takes_nothing_is_soon_given_up(void **state)
{
    uint64_t least_ns = UINT64_MAX;

    (void)state;
    for (int i = 0; i < 10 && least_ns > 700 * NS_PER_MS; i++) {
        struct writer_process writer;
        int fd = fill_pipe(&writer);
        uint64_t start_ns = clock_now().monotonic_ns;
        struct writer_end end = writer_process_close(&writer, NULL);
        uint64_t took_ns = clock_now().monotonic_ns - start_ns;

        assert_int_equal(end.error, -ETIMEDOUT);
        assert_in_range(end.lost_rows, 2, 5);
        close(fd);
        if (took_ns < least_ns)
            least_ns = took_ns;
    }
    assert_true(least_ns <= 700 * NS_PER_MS);
}

/* Room for the next row is made after more than a second only. */
static void a_reader_that_is_slow_gets_all_rows(void **state)
{
    struct timespec moment = clock_timespec(5 * NS_PER_MS);
    char text[6 * ROW_BYTES];
    struct writer_process writer;
    struct writer_end end;
    size_t length = 0;
    int fd = fill_pipe(&writer);
    int results[2];
    pid_t pid;
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(results), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        while (length < sizeof(text) &&
               (n = read(fd, text + length, length < ROW_BYTES ? 4 : ROW_BYTES)) > 0) {
            length += (size_t)n;
            if (length < ROW_BYTES)
                (void)nanosleep(&moment, NULL);
        }
        _exit(write(results[1], text, length) == (ssize_t)length ? 0 : 1);
    }
    close(fd);
    close(results[1]);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.error, 0);
    assert_int_equal(end.lost_rows, 0);
    while (length < sizeof(text) &&
           (n = read(results[0], text + length, sizeof(text) - length)) > 0)
        length += (size_t)n;
    check_rows(text, length, 6);
    close(results[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_are_in_the_file),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_refused),
        cmocka_unit_test(a_full_disk_costs_the_rows),
        cmocka_unit_test(a_descriptor_gets_the_header_and_the_rows),
        cmocka_unit_test(a_reader_that_leaves_ends_the_rows),
        cmocka_unit_test(of_a_pipe_that_is_not_read_the_rows_in_it_are_not_lost),
        cmocka_unit_test(a_file_has_one_header),
        cmocka_unit_test(nothing_is_changed_before_it_begins),
        cmocka_unit_test(it_is_no_child_that_is_waited_for),
        cmocka_unit_test(rows_outlive_who_wrote_them),
        cmocka_unit_test(a_reader_that_takes_nothing_is_soon_given_up),
        cmocka_unit_test(a_reader_that_is_slow_gets_all_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
