/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/root.h"
#include "fake_root.h"
#include "unit_test.h"

FAKE_ROOT_TEST(without_proc_no_file_of_a_process_is_read)
{
    struct fake_root *fake = *state;
    struct cached_file kept = CACHED_FILE_CLOSED;
    char text[64];

    fake_root_write(fake, "proc/42/stat", "42");
    fake_root_write(fake, "proc/self/stat", "1");
    fake_root_write(fake, "proc/stat", "cpu");
    assert_int_equal(root_read(&fake->root, text, sizeof(text), "proc/%d/stat", 42), 2);

    fake->root.proc_fault = "it shows others";
    assert_int_equal(root_read(&fake->root, text, sizeof(text), "proc/%d/stat", 42), -ESRCH);
    assert_int_equal(root_read_start(&fake->root, text, sizeof(text), "proc/42/stat"), -ESRCH);
    assert_int_equal(root_open_dir(&fake->root, "proc/%d", 42), -ESRCH);
    assert_int_equal(root_read_link(&fake->root, text, sizeof(text), "proc/42/exe"), -ESRCH);
    assert_false(root_exists(&fake->root, "proc/42/stat"));
    assert_int_equal(
        cached_file_read(&kept, &fake->root, READ_WHOLE, text, sizeof(text), "proc/42/stat"),
        -ESRCH);
    assert_int_equal(root_read(&fake->root, text, sizeof(text), "proc/self/stat"), 1);
    assert_int_equal(root_read(&fake->root, text, sizeof(text), "proc/stat"), 3);
    fake->root.proc_fault = NULL;
}

TEST(proc_contains_this_process)
{
    struct root root, copy;

    assert_int_equal(root_open(NULL, &root), 0);
    assert_null(root.proc_fault);
    root.proc_fault = "a fault";
    assert_int_equal(root_copy(&root, &copy), 0);
    assert_string_equal(copy.proc_fault, "a fault");
    root_close(&copy);
    root_close(&root);
}

/* Reads "proc/lines" into `size` bytes and keeps at most 8 bytes of each line. */
static ssize_t read_lines(struct fake_root *fake, const char *content, char *text, size_t size)
{
    fake_root_write(fake, "proc/lines", content);
    return root_read_lines(&fake->root, text, size, 8, "proc/lines");
}

FAKE_ROOT_TEST(a_long_line_does_not_hide_other_lines)
{
    struct fake_root *fake = *state;
    char text[32];

    assert_int_equal(read_lines(fake, "", text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(read_lines(fake, "12345678\n", text, sizeof(text)), 9);
    assert_string_equal(text, "12345678\n");
    read_lines(fake,
               "a: 1\nlong: 1234567890 1234567890 1234567890 1234567890 1234567890\nb: 2\n",
               text, sizeof(text));
    assert_string_equal(text, "a: 1\nlong: 12\nb: 2\n");
    read_lines(fake, "long: 1234567890 1234567890 1234567890 1234567890", text, sizeof(text));
    assert_string_equal(text, "long: 12");
}

FAKE_ROOT_TEST(lines_that_do_not_fit_are_left_out)
{
    struct fake_root *fake = *state;
    char text[32], small[4];

    assert_int_equal(read_lines(fake, "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\n", text,
                                sizeof(text)),
                     31);
    assert_string_equal(text, "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng");
    read_lines(fake, "abcdefghijklm\nx\n", small, sizeof(small));
    assert_string_equal(small, "abc");
    assert_int_equal(root_read_lines(&fake->root, text, sizeof(text), 8, "proc/none"), -ENOENT);
}
