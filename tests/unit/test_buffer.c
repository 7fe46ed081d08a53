/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_root.h"
#include "text/buffer.h"
#include "unit_test.h"

TEST(an_empty_buffer_can_be_appended)
{
    struct buffer empty = { 0 }, out = { 0 };

    buffer_add(&out, empty.text, empty.length);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text, "");
    buffer_done(&out);
}

TEST(text_is_terminated_with_a_nul_byte)
{
    struct buffer buffer = { 0 };

    buffer_add(&buffer, "abc", 2);
    assert_string_equal(buffer.text, "ab");
    buffer_add_text(&buffer, "");
    buffer_format(&buffer, "%d-%s", 7, "x");
    assert_string_equal(buffer.text, "ab7-x");
    assert_int_equal(buffer.length, 5);
    buffer_done(&buffer);
    assert_null(buffer.text);
    buffer_done(&buffer); /* a second call is harmless */
}

TEST(a_buffer_grows_as_needed)
{
    struct buffer buffer = { 0 };

    for (int i = 0; i < 100000; i++)
        buffer_format(&buffer, "%05d", i);
    assert_int_equal(buffer_error(&buffer), 0);
    assert_int_equal(buffer.length, 500000);
    assert_string_equal(buffer.text + 499995, "99999");
    buffer_done(&buffer);
}

TEST(clearing_keeps_the_memory)
{
    struct buffer buffer = { 0 };
    const char *text;

    buffer_clear(&buffer); /* harmless if the buffer is empty */
    buffer_add_text(&buffer, "some text");
    text = buffer.text;
    buffer_clear(&buffer);
    assert_int_equal(buffer.length, 0);
    assert_string_equal(buffer.text, "");
    buffer_add_text(&buffer, "other");
    assert_ptr_equal(buffer.text, text);
    buffer_done(&buffer);
}

TEST(a_text_that_is_too_long_is_an_error)
{
    struct buffer buffer = { 0 };
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    buffer_add_text(&buffer, "start");
    buffer_add(&buffer, "x", (size_t)BUFFER_MAX); /* refused before "x" is read */
    assert_int_equal(buffer_error(&buffer), -EFBIG);
    buffer_add_text(&buffer, "more");
    buffer_format(&buffer, "more");
    assert_string_equal(buffer.text, "start");
    assert_int_equal(buffer_write(&buffer, fd), -EFBIG);
    buffer_add(&buffer, "x", SIZE_MAX);
    assert_int_equal(buffer_error(&buffer), -EFBIG);
    buffer_clear(&buffer);
    assert_int_equal(buffer_error(&buffer), 0);
    buffer_done(&buffer);
    close(fd);
}

TEST(all_bytes_are_written)
{
    char path[] = "/tmp/spoor-buffer-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    struct buffer buffer = { 0 };
    char found[16] = { 0 };

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(buffer_write(&buffer, fd), 0); /* there is nothing to write */
    buffer_add(&buffer, "a\0b", 3);
    assert_int_equal(buffer_write(&buffer, fd), 0);
    assert_int_equal(pread(fd, found, sizeof(found), 0), 3);
    assert_memory_equal(found, "a\0b", 3);
    close(fd);
    assert_int_equal(buffer_write(&buffer, -1), -EBADF);
    buffer_done(&buffer);
}

TEST(a_full_disk_is_reported)
{
    struct buffer buffer = { 0 };
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    buffer_add_text(&buffer, "text");
    assert_int_equal(buffer_write(&buffer, fd), -ENOSPC);
    buffer_done(&buffer);
    close(fd);
}

enum { MAX = 8192 };

static void *read_all(void *data)
{
    const int *fd = data;
    struct buffer text = { 0 };
    int r = buffer_read(&text, *fd, BUFFER_MAX);
    size_t length = text.length;

    buffer_done(&text);
    return r < 0 ? NULL : (void *)length;
}

TEST(a_write_waits_for_a_nonblocking_descriptor)
{
    enum { SIZE = 1 << 20 }; /* many times the size of a pipe */
    struct buffer buffer = { 0 };
    pthread_t reader;
    int fds[2];
    void *read_count;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < SIZE / 16; i++)
        buffer_add(&buffer, "0123456789abcde\n", 16);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &fds[0]), 0);
    assert_int_equal(buffer_write(&buffer, fds[1]), 0);
    close(fds[1]);
    assert_int_equal(pthread_join(reader, &read_count), 0);
    assert_int_equal((uintptr_t)read_count, SIZE);
    close(fds[0]);
    buffer_done(&buffer);
}

static void check_file(struct fake_root *fake, const char *content)
{
    struct buffer buffer = { 0 };
    char path[128];

    fake_root_write(fake, "file", content);
    (void)snprintf(path, sizeof(path), "%s/file", fake->path);
    assert_int_equal(buffer_read_file(&buffer, path, MAX), 0);
    assert_int_equal(buffer.length, strlen(content));
    assert_string_equal(buffer.text, content);
    buffer_done(&buffer);
}

FAKE_ROOT_TEST(files_are_read_completely)
{
    struct fake_root *fake = *state;
    char large[MAX + 1];

    check_file(fake, "");
    check_file(fake, "a");
    memset(large, 'x', sizeof(large));
    large[MAX] = '\0';
    check_file(fake, large);
    large[4096] = '\0';
    check_file(fake, large);
}

TEST(an_unreadable_file_is_an_error)
{
    struct buffer buffer = { 0 };

    assert_int_equal(buffer_read_file(&buffer, "/no/such/file", MAX), -ENOENT);
    assert_int_equal(buffer_read_file(&buffer, "/", MAX), -EISDIR);
    assert_null(buffer.text);
    assert_int_equal(buffer_read_file(&buffer, "/dev/zero", MAX), -EFBIG);
    buffer_done(&buffer);
    assert_int_equal(buffer_read_file(&buffer, "/dev/zero", SIZE_MAX), -EFBIG);
    buffer_done(&buffer);
}
