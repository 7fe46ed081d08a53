/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cgroup/cgroup.h"
#include "fake_root.h"

#define V2_MOUNT "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID_MOUNTS                                                             \
    "27 1 254:0 / / rw - ext4 /dev/vda rw\n"                                      \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"           \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"    \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static const char *path(const struct cgroups *cgroups, enum cgroup_controller controller)
{
    return cgroups->of[controller].path;
}

static void on_version_2_all_controllers_share_one_folder(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(cgroups_parse("0::/user.slice/a b\n", V2_MOUNT, &cgroups), 0);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        assert_string_equal(cgroups.of[i].path, "sys/fs/cgroup/user.slice/a b");
        assert_true(cgroups.of[i].is_v2);
    }
}

static void on_a_hybrid_each_controller_has_its_version(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(
        cgroups_parse("9:name=systemd:/s\n4:memory:/a/b\n2:cpu,cpuacct:/c:d\n0::/u\n",
                      HYBRID_MOUNTS, &cgroups),
        0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory/a/b");
    assert_false(cgroups.of[CGROUP_MEMORY].is_v2);
    assert_string_equal(path(&cgroups, CGROUP_CPU), "sys/fs/cgroup/cpu,cpuacct/c:d");
    assert_string_equal(path(&cgroups, CGROUP_CPUACCT), "sys/fs/cgroup/cpu,cpuacct/c:d");
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "sys/fs/cgroup/unified/u");
    assert_string_equal(path(&cgroups, CGROUP_PIDS), "sys/fs/cgroup/unified/u");
    assert_true(cgroups.of[CGROUP_PIDS].is_v2);
}

static void on_version_1_there_is_no_unified_tree(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(
        cgroups_parse("4:memory:/\n",
                      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                      &cgroups),
        0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory");
    assert_false(cgroup_is_visible(&cgroups.of[CGROUP_UNIFIED]));
    assert_false(cgroup_is_visible(&cgroups.of[CGROUP_CPU]));
}

static void a_bind_mount_shows_a_part_of_the_tree(void **state)
{
    static const char mount[] =
        "35 31 0:32 /docker/id /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(cgroups_parse("4:memory:/docker/id\n", mount, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory");
    assert_int_equal(cgroups_parse("4:memory:/docker/id/sub\n", mount, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/memory/sub");
    /* not below it: another container, one whose name only starts the same, the top */
    assert_int_equal(cgroups_parse("4:memory:/docker/other\n", mount, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("4:memory:/docker/id2\n", mount, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("4:memory:/\n", mount, &cgroups), -ENOENT);
}

static void what_is_outside_of_the_namespace_is_not_visible(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(cgroups_parse("0::/../x\n", V2_MOUNT, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("0::/..\n", V2_MOUNT, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("0::/a/../../x\n", V2_MOUNT, &cgroups), -ENOENT);
    /* unless the mount was made outside of it too */
    assert_int_equal(
        cgroups_parse("0::/../x\n", "31 23 0:28 /.. /cg rw - cgroup2 none rw\n", &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "cg/x");
    assert_int_equal(
        cgroups_parse("0::/../../x\n", "31 23 0:28 /.. /cg rw - cgroup2 none rw\n", &cgroups),
        -ENOENT);
    /* a name may start with dots */
    assert_int_equal(cgroups_parse("0::/..x/...\n", V2_MOUNT, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "sys/fs/cgroup/..x/...");
}

static void a_controller_on_a_tree_that_is_not_mounted_is_not_on_version_2(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(cgroups_parse("4:memory:/a\n0::/b\n", V2_MOUNT, &cgroups), 0);
    assert_false(cgroup_is_visible(&cgroups.of[CGROUP_MEMORY]));
    assert_string_equal(path(&cgroups, CGROUP_CPU), "sys/fs/cgroup/b");
}

static void of_two_mounts_the_one_that_shows_more_is_taken(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(cgroups_parse("0::/a/b\n",
                                   "1 2 0:28 /a/b /one rw - cgroup2 none rw\n"
                                   "1 2 0:28 / /two rw - cgroup2 none rw\n"
                                   "1 2 0:28 /a /three rw - cgroup2 none rw\n",
                                   &cgroups),
                     0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "two/a/b");
}

static void escapes_of_mounts_are_decoded_and_those_of_cgroups_are_names(void **state)
{
    struct cgroups cgroups;

    (void)state;
    assert_int_equal(cgroups_parse("0::/a b/c\\x2d\\040d\n",
                                   "1 2 0:28 /a\\040b /my\\040cg rw - cgroup2 none rw\n",
                                   &cgroups),
                     0);
    assert_string_equal(path(&cgroups, CGROUP_UNIFIED), "my cg/c\\x2d\\040d");
}

static void parents_end_at_the_mount(void **state)
{
    struct cgroups cgroups;
    struct cgroup *cgroup = &cgroups.of[CGROUP_MEMORY];

    (void)state;
    assert_int_equal(cgroups_parse("4:memory:/a/b\n", HYBRID_MOUNTS, &cgroups), 0);
    assert_true(cgroup_to_parent(cgroup));
    assert_string_equal(cgroup->path, "sys/fs/cgroup/memory/a");
    assert_true(cgroup_to_parent(cgroup));
    assert_string_equal(cgroup->path, "sys/fs/cgroup/memory");
    assert_false(cgroup_to_parent(cgroup));
    assert_string_equal(cgroup->path, "sys/fs/cgroup/memory");
    *cgroup = (struct cgroup){ .mount_length = 0 };
    assert_false(cgroup_to_parent(cgroup));
}

static void a_child_is_one_folder_below(void **state)
{
    struct cgroup cgroup = { .path = "cg", .mount_length = 2 };
    char name[CGROUP_PATH_SIZE];

    (void)state;
    assert_int_equal(cgroup_to_child(&cgroup, "spoor-1"), 0);
    assert_string_equal(cgroup.path, "cg/spoor-1");
    assert_int_equal(cgroup_to_child(&cgroup, ""), -EINVAL);
    assert_int_equal(cgroup_to_child(&cgroup, ".."), -EINVAL);
    assert_int_equal(cgroup_to_child(&cgroup, "a/b"), -EINVAL);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(cgroup_to_child(&cgroup, name), -ENAMETOOLONG);
    assert_string_equal(cgroup.path, "cg/spoor-1");
    assert_true(cgroup_to_parent(&cgroup));
    assert_string_equal(cgroup.path, "cg");
    cgroup.path[0] = '\0';
    assert_int_equal(cgroup_to_child(&cgroup, "a"), -EINVAL);
}

static void a_path_that_is_too_long_is_not_cut(void **state)
{
    char text[2 * CGROUP_PATH_SIZE];
    struct cgroups cgroups;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "0::/", 4);
    memcpy(text + sizeof(text) - 2, "\n", 2);
    assert_int_equal(cgroups_parse(text, V2_MOUNT, &cgroups), -ENOENT);
}

static void damaged_lines_are_passed_over(void **state)
{
    static const char *const damaged[] = {
        "", "\n", "0", "0:", "0::", "0::\n", "0::/a", "0:/a\n", "4:memory:a\n", ":::\n", "x\n",
    };
    struct cgroups cgroups = { .of[0].mount_length = 5 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(cgroups_parse(damaged[i], V2_MOUNT HYBRID_MOUNTS, &cgroups), -ENOENT);
    assert_int_equal(cgroups_parse("0::/a\n", "", &cgroups), -ENOENT);
    assert_int_equal(
        cgroups_parse("0::/a\n", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cg", &cgroups),
        -ENOENT);
    assert_int_equal(cgroups_parse("0::/a\n", "1 2 0:28 / / rw - cgroup2 none rw\n", &cgroups),
                     -ENOENT);
    assert_int_equal(
        cgroups_parse("0::/a\n", "1 2 0:28 / //sys rw - cgroup2 none rw\n", &cgroups), -ENOENT);
    assert_int_equal(
        cgroups_parse("0::/a\n", "1 2 0:28 / not/absolute rw - cgroup2 none rw\n", &cgroups),
        -ENOENT);
    assert_int_equal(cgroups.of[0].mount_length, 5); /* untouched on failure */
    assert_int_equal(cgroups_parse("x\n4:memory\n0::/a\n9:cut", "x\n" V2_MOUNT "x", &cgroups),
                     0);
    assert_string_equal(path(&cgroups, CGROUP_MEMORY), "sys/fs/cgroup/a");
}

static void cgroups_are_read_through_the_root(void **state)
{
    struct cgroups cgroups;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(cgroups_read(&fake.root, 42, &cgroups), -ENOENT);
    fake_root_write(&fake, "proc/42/cgroup", "0::/a\n");
    assert_int_equal(cgroups_read(&fake.root, 42, &cgroups), -ENOENT);
    fake_root_write(&fake, "proc/self/mountinfo", V2_MOUNT);
    assert_int_equal(cgroups_read(&fake.root, 42, &cgroups), 0);
    assert_string_equal(path(&cgroups, CGROUP_CPU), "sys/fs/cgroup/a");
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_version_2_all_controllers_share_one_folder),
        cmocka_unit_test(on_a_hybrid_each_controller_has_its_version),
        cmocka_unit_test(on_version_1_there_is_no_unified_tree),
        cmocka_unit_test(a_bind_mount_shows_a_part_of_the_tree),
        cmocka_unit_test(what_is_outside_of_the_namespace_is_not_visible),
        cmocka_unit_test(a_controller_on_a_tree_that_is_not_mounted_is_not_on_version_2),
        cmocka_unit_test(of_two_mounts_the_one_that_shows_more_is_taken),
        cmocka_unit_test(escapes_of_mounts_are_decoded_and_those_of_cgroups_are_names),
        cmocka_unit_test(parents_end_at_the_mount),
        cmocka_unit_test(a_child_is_one_folder_below),
        cmocka_unit_test(a_path_that_is_too_long_is_not_cut),
        cmocka_unit_test(damaged_lines_are_passed_over),
        cmocka_unit_test(cgroups_are_read_through_the_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
