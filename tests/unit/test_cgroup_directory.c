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

#include "cgroup/cgroup_directory.h"
#include "fake_root.h"

#define V2 "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID                                                                    \
    "27 1 254:0 / / rw - ext4 /dev/vda rw\n"                                      \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"           \
    "36 31 0:33 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"         \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

enum { LIST_SIZE = 100 };

struct machine {
    struct fake_root fake;
    struct cgroup own;
    struct cgroups cgroups;
    struct spoor_error err;
};

static void begin(struct machine *machine, const char *mounts)
{
    *machine = (struct machine){ .err = { 0 } };
    fake_root_init(&machine->fake);
    fake_root_write(&machine->fake, "proc/self/mountinfo", mounts);
}

static int find(struct machine *machine, const char *directory)
{
    return cgroup_directory_find(&machine->fake.root, directory, &machine->own,
                                 &machine->cgroups, &machine->err);
}

static void note(pid_t pid, void *data)
{
    char *text = data;
    size_t used = strlen(text);

    (void)snprintf(text + used, LIST_SIZE - used, "%d ", (int)pid);
}

static int list(struct machine *machine, char *text)
{
    struct children_buffer buffer = { 0 };
    int count;

    text[0] = '\0';
    count = cgroup_each_process(&machine->fake.root, &machine->own, &buffer, note, text);
    children_buffer_done(&buffer);
    return count;
}

static void version_2_is_one_directory(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, V2);
    fake_root_write(&m.fake, "sys/fs/cgroup/a.slice/b.scope/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/a.slice/b.scope/cgroup.events",
                    "populated 1\nfrozen 0\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/a.slice/b.scope"), 0);
    assert_string_equal(m.own.path, "sys/fs/cgroup/a.slice/b.scope");
    assert_true(m.own.is_v2);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        assert_string_equal(m.cgroups.of[i].path, m.own.path);
    assert_true(cgroup_to_parent(&m.own));
    assert_true(cgroup_to_parent(&m.own));
    assert_false(cgroup_to_parent(&m.own)); /* the top of the tree */
    fake_root_done(&m.fake);
}

static void version_1_is_found_in_every_hierarchy(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, HYBRID);
    fake_root_write(&m.fake, "sys/fs/cgroup/freezer/docker/1f/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/docker/1f/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/cpu,cpuacct/docker/1f/cgroup.procs", "42\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/freezer/docker/1f"), 0);
    assert_string_equal(m.own.path, "sys/fs/cgroup/freezer/docker/1f");
    assert_string_equal(m.cgroups.of[CGROUP_MEMORY].path, "sys/fs/cgroup/memory/docker/1f");
    assert_string_equal(m.cgroups.of[CGROUP_CPUACCT].path,
                        "sys/fs/cgroup/cpu,cpuacct/docker/1f");
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_UNIFIED]));
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_PIDS]));
    fake_root_done(&m.fake);
}

/* On a hybrid the directory may exist for a controller that does not have the processes. */
static void a_cgroup_of_the_same_name_without_processes_does_not_count(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, HYBRID);
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/job/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/cpu,cpuacct/job/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/unified/job/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/unified/job/cgroup.events", "populated 0\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/job"), 0);
    assert_string_equal(m.cgroups.of[CGROUP_MEMORY].path, "sys/fs/cgroup/memory/job");
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_CPUACCT]));
    assert_false(cgroup_is_visible(&m.cgroups.of[CGROUP_UNIFIED]));
    fake_root_done(&m.fake);
}

/* Docker on version 1: the mount shows the container's cgroup, and nothing above it. */
static void a_container_sees_its_cgroup_at_the_mount_point(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
              "36 31 0:33 /docker/1f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/cgroup.procs", "42\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/pids/cgroup.procs", "42\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory"), 0);
    assert_string_equal(m.cgroups.of[CGROUP_PIDS].path, "sys/fs/cgroup/pids");
    fake_root_done(&m.fake);
}

static void processes_below_are_listed_too(void **state)
{
    struct machine m;
    char text[LIST_SIZE];

    (void)state;
    begin(&m, V2);
    fake_root_write(&m.fake, "sys/fs/cgroup/job/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/job/a/cgroup.procs", "7\n0\n8\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/job/a/b/cgroup.procs", "9\n");
    fake_root_write(&m.fake, "sys/fs/cgroup/job/cgroup.events", "populated 1\n");
    assert_int_equal(find(&m, "/sys/fs/cgroup/job"), 0);
    assert_int_equal(list(&m, text), 3); /* 0 is of another PID namespace */
    assert_string_equal(text, "7 8 9 ");
    assert_true(cgroup_is_populated(&m.fake.root, &m.own));
    fake_root_write(&m.fake, "sys/fs/cgroup/job/cgroup.events", "populated 0\n");
    assert_false(cgroup_is_populated(&m.fake.root, &m.own));
    assert_int_equal(cgroup_to_child(&m.own, "gone"), 0);
    assert_int_equal(list(&m, text), -ENOENT);
    assert_false(cgroup_is_populated(&m.fake.root, &m.own));
    fake_root_done(&m.fake);
}

static void what_cannot_be_tracked_is_refused_with_a_sentence(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, HYBRID);
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/empty/cgroup.procs", "");
    fake_root_write(&m.fake, "sys/fs/cgroup/memory/odd/file", "");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/none"), -ENOENT);
    assert_string_equal(m.err.message, "no such cgroup: '/sys/fs/cgroup/memory/none'");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/empty"), -ESRCH);
    assert_string_equal(m.err.message,
                        "there is no process in cgroup '/sys/fs/cgroup/memory/empty'");
    assert_int_equal(find(&m, "/home"), -EINVAL);
    assert_string_equal(m.err.message,
                        "'/home' is not a cgroup: name a directory below /sys/fs/cgroup");
    assert_int_equal(find(&m, "/sys/fs/cgroup/memory/odd"), -EINVAL);
    assert_int_equal(find(&m, "/sys/fs/cgroup/memoryless"), -EINVAL);
    assert_int_equal(find(&m, ""), -EINVAL);
    fake_root_done(&m.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_is_one_directory),
        cmocka_unit_test(version_1_is_found_in_every_hierarchy),
        cmocka_unit_test(a_cgroup_of_the_same_name_without_processes_does_not_count),
        cmocka_unit_test(a_container_sees_its_cgroup_at_the_mount_point),
        cmocka_unit_test(processes_below_are_listed_too),
        cmocka_unit_test(what_cannot_be_tracked_is_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
