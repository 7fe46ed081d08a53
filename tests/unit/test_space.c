/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with --wrap=mounts_read and --wrap=mounts_may_stall: disks respond when this test
 * allows it.
 */
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "source/host/mounts.h"
#include "text/buffer.h"
#include "unit_test.h"

int __real_mounts_read(const struct root *root, const char *text, struct mounts *ret,
                       struct mount_list *ret_list);
int __wrap_mounts_read(const struct root *root, const char *text, struct mounts *ret,
                       struct mount_list *ret_list);

bool __wrap_mounts_may_stall(const char *text);

static bool may_stall;                /* result of mounts_may_stall() */
static _Thread_local bool has_called; /* this thread has called mounts_read() */

bool __wrap_mounts_may_stall(UNUSED const char *text)
{
    return may_stall;
}

/* The test holds this lock while disks must not respond. */
static pthread_mutex_t disks = PTHREAD_MUTEX_INITIALIZER;

int __wrap_mounts_read(const struct root *root, const char *text, struct mounts *ret,
                       struct mount_list *ret_list)
{
    pthread_mutex_lock(&disks);
    pthread_mutex_unlock(&disks);
    has_called = true;
    return __real_mounts_read(root, text, ret, ret_list);
}

/* Returns the result of space_read(); -ENOENT if this machine has no disk. */
static int read_now(struct space *space, const struct root *root)
{
    struct mounts mounts = { 0 };
    int r = space_read(space, root, &mounts, NULL);

    if (r == 0)
        assert_true(mounts.used_bytes > 0);
    return r;
}

TEST(a_reading_does_not_wait_for_a_hanging_disk)
{
    struct space space = { 0 };
    struct root root;

    may_stall = true;
    assert_int_equal(root_open(NULL, &root), 0);
    if (read_now(&space, &root) == -ENOENT)
        skip();
    pthread_mutex_lock(&disks);
    assert_int_equal(read_now(&space, &root), -ETIMEDOUT);
    assert_int_equal(read_now(&space, &root), -ETIMEDOUT); /* must not start a second thread */
    pthread_mutex_unlock(&disks);
    while (read_now(&space, &root) == -ETIMEDOUT)
        continue;
    assert_int_equal(read_now(&space, &root), 0); /* the disk responds again */
    space_done(&space);
    root_close(&root);
}

/* Returns whether a thread that reads the disks still exists. */
static bool is_asking(void)
{
    bool is_found = false;
    glob_t names = { 0 };

    assert_int_equal(glob("/proc/self/task/*/comm", 0, NULL, &names), 0);
    for (size_t i = 0; i < names.gl_pathc; i++) {
        struct buffer name = { 0 };

        if (buffer_read_file(&name, names.gl_pathv[i], 64) == 0)
            is_found |= strcmp(name.text, "spoor-disks\n") == 0;
        buffer_done(&name);
    }
    globfree(&names);
    return is_found;
}

TEST(a_hanging_disk_query_can_be_abandoned)
{
    struct space space = { 0 };
    struct root root;

    may_stall = true;
    assert_int_equal(root_open(NULL, &root), 0);
    if (read_now(&space, &root) == -ENOENT)
        skip();
    pthread_mutex_lock(&disks);
    assert_int_equal(read_now(&space, &root), -ETIMEDOUT);
    space_done(&space);
    root_close(&root);
    assert_true(is_asking());
    pthread_mutex_unlock(&disks);
    while (is_asking()) /* the thread ends by itself */
        (void)sched_yield();
}

/* Starting a thread costs more than reading these disks. */
TEST(disks_that_cannot_block_need_no_thread)
{
    struct space space = { 0 };
    struct root root;

    may_stall = false;
    assert_int_equal(root_open(NULL, &root), 0);
    has_called = false;
    (void)read_now(&space, &root);
    assert_true(has_called);
    space_done(&space);
    root_close(&root);
}

TEST(mounts_of_a_fixture_are_not_read)
{
    struct space space = { 0 };
    struct root root;

    assert_int_equal(root_open("/proc", &root), 0);
    assert_int_equal(read_now(&space, &root), -ENOTSUP);
    space_done(&space);
    root_close(&root);
}
