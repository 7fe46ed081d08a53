/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/proc/children.h"
#include "unit_test.h"

struct found {
    pid_t pids[4096];
    size_t count;
};

static void remember(pid_t pid, void *data)
{
    struct found *found = data;

    assert_true(found->count < ARRAY_SIZE(found->pids));
    found->pids[found->count++] = pid;
}

static bool holds(const struct found *found, pid_t pid)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->pids[i] == pid)
            return true;
    }
    return false;
}

TEST(a_list_of_children_contains_pids_separated_by_blanks)
{
    static const char *const damaged[] = { "x", "12 x", "-1", "0", "99999999999" };
    struct found found = { .count = 0 };

    assert_int_equal(children_parse("12 15 9 ", remember, &found), 3);
    assert_int_equal(found.pids[2], 9);
    assert_int_equal(children_parse("", remember, &found), 0);
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(children_parse(damaged[i], remember, &found), -EBADMSG);
}

FAKE_ROOT_TEST(children_of_every_thread_are_listed)
{
    struct fake_root *fake = *state;
    struct cached_file leader = CACHED_FILE_CLOSED;
    struct children_buffer buffer = { 0 };
    struct found found = { .count = 0 };

    fake_root_write(fake, "proc/42/task/42/children", "50 ");
    fake_root_write(fake, "proc/42/task/43/children", "51 52 ");
    fake_root_write(fake, "proc/42/task/44/children", "");
    assert_int_equal(children_read(&leader, &fake->root, 42, 3, &buffer, remember, &found), 0);
    assert_int_equal(found.count, 3);
    assert_true(holds(&found, 50) && holds(&found, 51) && holds(&found, 52));

    found.count = 0; /* a process with one thread has only one file to read */
    assert_int_equal(children_read(&leader, &fake->root, 42, 1, &buffer, remember, &found), 0);
    assert_int_equal(found.count, 1);
    children_buffer_done(&buffer);
}

FAKE_ROOT_TEST(the_buffer_grows_for_a_long_list_of_children)
{
    struct fake_root *fake = *state;
    enum { COUNT = 4000 };
    struct cached_file leader = CACHED_FILE_CLOSED;
    struct children_buffer buffer = { 0 };
    struct found found = { .count = 0 };
    char *text = malloc(COUNT * 8 + 1);
    size_t length = 0;

    assert_non_null(text);
    for (int i = 0; i < COUNT; i++)
        length += (size_t)snprintf(text + length, 9, "%d ", 1000000 + i);
    fake_root_write(fake, "proc/42/task/42/children", text);
    assert_int_equal(children_read(&leader, &fake->root, 42, 1, &buffer, remember, &found), 0);
    assert_int_equal(found.count, COUNT);
    assert_int_equal(found.pids[COUNT - 1], 1000000 + COUNT - 1);
    children_buffer_done(&buffer);
    free(text);
}

FAKE_ROOT_TEST(an_exited_process_has_no_list)
{
    struct fake_root *fake = *state;
    struct cached_file leader = CACHED_FILE_CLOSED;
    struct children_buffer buffer = { 0 };
    struct found found = { .count = 0 };

    assert_int_equal(children_read(&leader, &fake->root, 42, 1, &buffer, remember, &found),
                     -ENOENT);
    assert_false(children_are_listed(&fake->root));
    children_buffer_done(&buffer);
}

FAKE_ROOT_TEST(only_numbered_directories_are_processes)
{
    struct fake_root *fake = *state;
    struct found found = { .count = 0 };

    fake_root_write(fake, "proc/1/stat", "");
    fake_root_write(fake, "proc/42/stat", "");
    fake_root_write(fake, "proc/net/dev", "");
    fake_root_write(fake, "proc/99999999999999999999/stat", "");
    assert_int_equal(proc_each_pid(&fake->root, remember, &found), 0);
    assert_int_equal(found.count, 2);
    assert_true(holds(&found, 1) && holds(&found, 42));
}

/* A job may have a million open files. */
FAKE_ROOT_TEST(the_rest_of_a_folder_is_not_listed)
{
    struct fake_root *fake = *state;
    enum { ENTRIES = 1000, MOST = 3 };
    struct found found = { .count = 0 };
    char path[64];
    int folder;

    for (int i = 0; i < ENTRIES; i++) {
        (void)snprintf(path, sizeof(path), "proc/7/fd/%d", i);
        fake_root_write(fake, path, "");
    }
    folder = root_open_dir(&fake->root, "proc/7/fd");
    assert_true(folder >= 0);
    assert_int_equal(proc_each_number(folder, MOST, remember, &found), 0);
    assert_int_equal(found.count, MOST);
    assert_int_equal(proc_each_number(folder, SIZE_MAX, remember, &found), 0);
    assert_true(found.count > ENTRIES / 2); /* the kernel has not been asked for these before */
    close(folder);
}
