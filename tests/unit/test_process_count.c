/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "source/host/process_count.h"
#include "source/proc/children.h"

#define MINUTE_NS (60 * NS_PER_SECOND)

static void processes_are_counted_and_other_folders_are_not(void **state)
{
    struct process_count count = { 0 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_true(process_count_read(&count, &fake.root, 0) == UNKNOWN); /* there is no /proc */
    fake_root_write(&fake, "proc/1/stat", "");
    fake_root_write(&fake, "proc/42/stat", "");
    fake_root_write(&fake, "proc/sys/x", "");
    assert_int_equal(process_count_read(&count, &fake.root, 0), 2);
    fake_root_write(&fake, "proc/43/stat", "");
    for (int i = 0; i < 5; i++)
        assert_int_equal(process_count_read(&count, &fake.root, 0), 3);
    fake_root_done(&fake);
}

/* On most file systems a folder has a link for each folder in it, as /proc has. On others, the list
 * is read each time, which gives the same. */
static void links_tell_as_much_as_the_list(void **state)
{
    struct process_count count = { 0 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake.root.is_live = true;
    fake_root_link(&fake, "proc/self/ns/pid", "pid:[4026531836]");
    fake_root_write(&fake, "proc/1/stat", "");
    for (int i = 0; i < 5; i++)
        assert_int_equal(process_count_read(&count, &fake.root, 0), 1);
    fake_root_write(&fake, "proc/2/stat", "");
    fake_root_write(&fake, "proc/3/stat", "");
    assert_int_equal(process_count_read(&count, &fake.root, NS_PER_SECOND), 3);
    fake_root_write(&fake, "proc/sys/x", ""); /* as a module may, is noticed after a minute */
    assert_int_equal(process_count_read(&count, &fake.root, 2 * MINUTE_NS), 3);
    for (int i = 0; i < 5; i++)
        assert_int_equal(process_count_read(&count, &fake.root, 2 * MINUTE_NS), 3);
    fake_root_done(&fake);
}

static void in_another_namespace_the_links_are_not_ours(void **state)
{
    struct process_count count = { 0 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake.root.is_live = true;
    fake_root_link(&fake, "proc/self/ns/pid", "pid:[4026532001]");
    fake_root_write(&fake, "proc/1/stat", "");
    for (int i = 0; i < 5; i++)
        assert_int_equal(process_count_read(&count, &fake.root, 0), 1);
    fake_root_write(&fake, "proc/sys/x", "");
    assert_int_equal(process_count_read(&count, &fake.root, 0), 1);
    fake_root_done(&fake);
}

static void count_one(pid_t pid, void *data)
{
    (void)pid;
    ++*(uint64_t *)data;
}

static uint64_t count_listed(const struct root *root)
{
    uint64_t count = 0;

    assert_true(proc_each_pid(root, count_one, &count) >= 0);
    return count;
}

/* Others may start and end processes: it waits for a moment in which they do not. */
static void the_live_machine_is_counted(void **state)
{
    struct process_count count = { 0 };
    struct root root;
    bool is_equal = false;

    (void)state;
    assert_int_equal(root_open(NULL, &root), 0);
    for (int i = 0; i < 10; i++)
        assert_true(process_count_read(&count, &root, 0) >= 1);
    for (int i = 0; i < 100000 && !is_equal; i++) {
        uint64_t before = count_listed(&root);
        uint64_t counted = process_count_read(&count, &root, 0);

        is_equal = counted == before && counted == count_listed(&root);
    }
    assert_true(is_equal);
    root_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_counted_and_other_folders_are_not),
        cmocka_unit_test(links_tell_as_much_as_the_list),
        cmocka_unit_test(in_another_namespace_the_links_are_not_ours),
        cmocka_unit_test(the_live_machine_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
