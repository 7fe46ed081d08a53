/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/line_reader.h"
#include "unit_test.h"

static int file_of(const char *text, size_t length)
{
    FILE *file = tmpfile();
    int fd;

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fflush(file), 0);
    fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    (void)fclose(file);
    return fd;
}

TEST(lines_are_read_one_by_one)
{
    static const char text[] = "one\n\nthree\r\nlast";
    static const char *const expected[] = { "one", "", "three\r", "last" };
    struct line_reader reader = { .fd = file_of(text, strlen(text)) };
    int fd = reader.fd;
    struct line line;

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(line_reader_next(&reader, &line), 1);
        assert_string_equal(line.text, expected[i]);
        assert_int_equal(line.length, strlen(expected[i]));
        assert_int_equal(line.is_torn, i == 3);
    }
    assert_int_equal(line_reader_next(&reader, &line), 0);
    assert_int_equal(line_reader_next(&reader, &line), 0);
    line_reader_done(&reader);
    close(fd);
}

TEST(peeked_lines_are_returned_by_the_next_read)
{
    static const char text[] = "one\ntwo";
    int pipe_fds[2];
    struct line_reader reader;
    struct line line;
    const char *start;
    size_t length;

    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], text, strlen(text)), strlen(text));
    reader = (struct line_reader){ .fd = pipe_fds[0] };
    assert_int_equal(line_reader_peek(&reader, 4, &start, &length), 0);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(start, text, length);
    close(pipe_fds[1]);
    assert_int_equal(line_reader_peek(&reader, 100, &start, &length), 0);
    assert_int_equal(length, strlen(text));
    assert_int_equal(line_reader_next(&reader, &line), 1);
    assert_string_equal(line.text, "one");
    assert_int_equal(line_reader_peek(&reader, 0, &start, &length), 0);
    assert_int_equal(length, 3);
    assert_int_equal(line_reader_next(&reader, &line), 1);
    assert_true(line.is_torn);
    assert_int_equal(line_reader_next(&reader, &line), 0);
    line_reader_done(&reader);
    close(pipe_fds[0]);
}

TEST(lines_may_span_buffers)
{
    enum { LINES = 30000, LENGTH = 100 };
    char *text = malloc((size_t)LINES * LENGTH + 1);
    struct line_reader reader;
    struct line line;
    int fd;

    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        (void)snprintf(text + (size_t)i * LENGTH, LENGTH + 1, "%-*d\n", LENGTH - 1, i);
    fd = file_of(text, (size_t)LINES * LENGTH);
    reader = (struct line_reader){ .fd = fd };
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(line_reader_next(&reader, &line), 1);
        assert_int_equal(line.length, LENGTH - 1);
        assert_int_equal(strtol(line.text, NULL, 10), i);
    }
    assert_int_equal(line_reader_next(&reader, &line), 0);
    line_reader_done(&reader);
    close(fd);
    free(text);
}

TEST(an_endless_line_is_refused)
{
    char *text = calloc(1, LINE_MAX_BYTES + 10);
    struct line_reader reader;
    struct line line;
    int fd;

    assert_non_null(text);
    fd = file_of(text, LINE_MAX_BYTES + 10);
    reader = (struct line_reader){ .fd = fd };
    assert_int_equal(line_reader_next(&reader, &line), -E2BIG);
    line_reader_done(&reader);
    close(fd);
    free(text);
    reader = (struct line_reader){ .fd = -1 };
    assert_int_equal(line_reader_next(&reader, &line), -EBADF);
    line_reader_done(&reader);
}
