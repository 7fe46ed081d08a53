/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "run/process.h"
#include "unit_test.h"

/* Creates a tree: 10 -> 20 -> 30 (zombie), and 10 -> 40, started by a second thread. */
static void make_tree(struct fake_root *fake)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        { "proc/10/stat", "10 (a) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100 0 0\n" },
        { "proc/20/stat", "20 (b) S 10 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 200 0 0\n" },
        { "proc/30/stat", "30 (c) Z 20 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 300 0 0\n" },
        { "proc/40/stat", "40 (d) R 10 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 400 0 0\n" },
        { "proc/10/task/10/children", "20 " },
        { "proc/50/stat", "50 (spoor-agent) S 20 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 500 0 0\n" },
        { "proc/10/task/11/children", "40 " },
        { "proc/20/task/20/children", "30 50 " },
        { "proc/30/task/30/children", "" },
        { "proc/40/task/40/children", "" },
        { "proc/50/task/50/children", "" },
    };

    fake_root_init(fake);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        fake_root_write(fake, files[i].path, files[i].text);
}

TEST(children_of_every_thread_are_listed)
{
    struct fake_root fake;
    pid_t children[4] = { 0 };

    make_tree(&fake);
    assert_int_equal(process_children(&fake.root, 10, children, 4), 2);
    assert_int_equal(children[0] + children[1], 60);
    assert_int_equal(process_children(&fake.root, 10, children, 1), 1);
    assert_int_equal(process_children(&fake.root, 99, children, 4), -ENOENT);
    fake_root_done(&fake);
}

TEST(descendants_are_counted_without_zombies_and_agents)
{
    struct fake_root fake;

    make_tree(&fake);
    assert_int_equal(process_count_descendants(&fake.root, 10, 0), 2);
    assert_int_equal(process_count_descendants(&fake.root, 10, 40), 1);
    assert_int_equal(process_count_descendants(&fake.root, 20, 0), 0);
    assert_int_equal(process_count_descendants(&fake.root, 99, 0), 0);
    fake_root_done(&fake);
}

TEST(ancestors_are_followed_to_the_top)
{
    struct fake_root fake;

    make_tree(&fake);
    assert_true(process_descends(&fake.root, 30, 10));
    assert_true(process_descends(&fake.root, 40, 10));
    assert_false(process_descends(&fake.root, 10, 10));
    assert_false(process_descends(&fake.root, 40, 20));
    assert_false(process_descends(&fake.root, 99, 10));
    assert_false(process_descends(&fake.root, 0, 10));
    fake_root_done(&fake);
}

TEST(a_cyclic_process_tree_does_not_loop_forever)
{
    struct fake_root fake;

    make_tree(&fake);
    fake_root_write(&fake, "proc/10/stat",
                    "10 (a) S 20 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100 0 0\n");
    assert_false(process_descends(&fake.root, 10, 77));
    fake_root_done(&fake);
}
