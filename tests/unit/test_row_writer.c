/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "numbered_rows.h"
#include "unit_test.h"

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

FAKE_ROOT_TEST(all_rows_are_in_the_file)
{
    struct fake_root *fake = *state;
    /* ROWS is several times the size of the queue. The writer may be slow on a busy machine,
     * so the test waits for it after every FITS rows. */
    enum { ROWS = 5000, FITS = 500 };
    struct buffer text = { 0 };
    struct writer_process writer;
    struct writer_end end;
    char path[128];

    path_of(fake, path);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    row_writer_begin(&writer);
    for (int i = 0; i < ROWS; i += FITS) {
        add_rows(&writer, i, FITS);
        assert_true(writer_process_wait(&writer, WAIT_NS));
    }
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.error, 0);
    assert_int_equal(end.lost_rows, 0);
    assert_true(end.cpu_ns > 0);
    assert_int_equal(buffer_read_file(&text, path, BUFFER_MAX), 0);
    check_rows(text.text, text.length, ROWS);
    buffer_done(&text);
    end = writer_process_close(&writer, NULL); /* closed already */
    assert_int_equal(end.lost_rows, 0);
}

TEST(an_unopenable_file_is_refused)
{
    struct writer_process writer;

    assert_int_equal(row_writer_open(&writer, "/no/such/folder/rows", OUTPUT_TRUNCATE),
                     -ENOENT);
    assert_int_equal(row_writer_open(&writer, "/", OUTPUT_APPEND), -EISDIR);
    assert_int_equal(writer.pid, 0);
    (void)writer_process_close(&writer, NULL);
}

TEST(rows_are_lost_on_a_full_disk)
{
    struct writer_end end;
    struct writer_process writer;

    assert_int_equal(row_writer_open(&writer, "/dev/full", OUTPUT_APPEND), 0);
    add_rows(&writer, 0, 3);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.lost_rows, 3);
    assert_int_equal(end.error, -ENOSPC);
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

FAKE_ROOT_TEST(a_file_has_one_header)
{
    struct fake_root *fake = *state;
    char path[128];

    path_of(fake, path);
    write_table(path, OUTPUT_NO_CLOBBER, "1\n");
    check_content(path, "header\n1\n");
    write_table(path, OUTPUT_APPEND, "2\n");
    check_content(path, "header\n1\n2\n");
    write_table(path, OUTPUT_TRUNCATE, "3\n");
    check_content(path, "header\n3\n");
}

FAKE_ROOT_TEST(an_existing_file_is_unchanged_until_the_first_row)
{
    struct fake_root *fake = *state;
    struct writer_process writer;
    char path[128];

    path_of(fake, path);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    (void)writer_process_close(&writer, NULL);
    assert_int_equal(access(path, F_OK), -1); /* an unused new file is removed */
    fake_root_write(fake, "rows", "old\n");
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_NO_CLOBBER), -EEXIST);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    (void)writer_process_close(&writer, NULL);
    check_content(path, "old\n");
}

FAKE_ROOT_TEST(wait_does_not_return_the_writer_process)
{
    struct fake_root *fake = *state;
    struct writer_process writer;
    char path[128];

    path_of(fake, path);
    assert_int_equal(row_writer_open(&writer, path, OUTPUT_TRUNCATE), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    (void)writer_process_close(&writer, NULL);
}

/* The process that added the rows exits; its writer still writes them. */
FAKE_ROOT_TEST(rows_are_written_after_their_creator_exited)
{
    struct fake_root *fake = *state;
    enum { ROWS = 50 };
    struct timespec moment = { 0, 1000000 };
    struct writer_process writer;
    struct stat status;
    char path[128];
    pid_t pid;

    path_of(fake, path);
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
}

static void limit_file_size(pid_t pid, rlim_t bytes)
{
    struct rlimit limit = { bytes, RLIM_INFINITY };

    assert_int_equal(prlimit(pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

/* `path` is `file` or a descriptor opened for it. There is room for two and a half rows. */
static void check_full_disk(const char *path, const char *file)
{
    struct buffer text = { 0 };
    struct writer_process writer;
    struct writer_end end;

    assert_int_equal(row_writer_open(&writer, path, OUTPUT_APPEND), 0);
    row_writer_begin(&writer);
    limit_file_size(writer.pid, 5 * ROW_BYTES / 2);
    add_rows(&writer, 0, 2);
    add_rows(&writer, 7, 2);
    assert_true(writer_process_wait(&writer, WAIT_NS));
    limit_file_size(writer.pid, RLIM_INFINITY);
    add_rows(&writer, 2, 1);
    end = writer_process_close(&writer, NULL);
    assert_int_equal(end.lost_rows, 2);
    assert_int_equal(end.error, -EFBIG);
    assert_int_equal(buffer_read_file(&text, file, BUFFER_MAX), 0);
    check_rows(text.text, text.length, 3);
    buffer_done(&text);
}

FAKE_ROOT_TEST(a_full_disk_leaves_only_complete_rows)
{
    struct fake_root *fake = *state;
    static const int flags[] = { 0, O_APPEND };
    char path[128];

    path_of(fake, path);
    check_full_disk(path, path);
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        char name[32];
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | flags[i], 0600);

        assert_true(fd >= 0);
        (void)snprintf(name, sizeof(name), "/dev/fd/%d", fd);
        check_full_disk(name, path);
        close(fd);
    }
}

/* If a job writes to the same file, none of its output is lost. */
FAKE_ROOT_TEST(rows_of_other_writers_are_not_truncated)
{
    struct fake_root *fake = *state;
    struct buffer text = { 0 };
    struct writer_process writer;
    char path[128], name[32];
    int fd, behind;

    path_of(fake, path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    behind = open(path, O_WRONLY);
    assert_true(fd >= 0 && behind >= 0);
    assert_int_equal(pwrite(behind, "job", 3, 2 * ROW_BYTES), 3);
    (void)snprintf(name, sizeof(name), "/dev/fd/%d", fd);
    assert_int_equal(row_writer_open(&writer, name, OUTPUT_APPEND), 0);
    limit_file_size(writer.pid, ROW_BYTES / 2);
    add_rows(&writer, 0, 1);
    assert_int_equal(writer_process_close(&writer, NULL).error, -EFBIG);
    assert_int_equal(buffer_read_file(&text, path, BUFFER_MAX), 0);
    assert_int_equal(text.length, 2 * ROW_BYTES + 3);
    assert_memory_equal(text.text + 2 * (size_t)ROW_BYTES, "job", 3);
    buffer_done(&text);
    close(behind);
    close(fd);
}
