/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parse.h"
#include "cgroup/cgroup_folder.h"
#include "fake_root.h"
#include "unit_test.h"

/* This PID is above the kernel's maximum, so no such process exists. */
#define DEAD_TRACKER "spoor-5000000-1"

struct place {
    struct root root;
    struct cgroup own; /* created by the test below its own cgroup */
};

static struct cgroup below(const struct cgroup *cgroup, const char *name)
{
    struct cgroup child = *cgroup;

    assert_int_equal(cgroup_to_child(&child, name), 0);
    return child;
}

static struct cgroup make(const struct place *place, const struct cgroup *cgroup,
                          const char *name)
{
    struct cgroup child = below(cgroup, name);

    assert_int_equal(cgroup_make(&place->root, &child), 0);
    return child;
}

static bool exists(const struct place *place, const struct cgroup *cgroup)
{
    return root_exists(&place->root, "%s", cgroup->path);
}

/* Creates a cgroup, in the version 2 hierarchy if possible, otherwise in the hierarchy of a
 * controller. */
static void place_open(struct place *place)
{
    static const int order[] = { CGROUP_UNIFIED, CGROUP_PIDS, CGROUP_MEMORY, CGROUP_CPUACCT };
    struct cgroups cgroups;
    char name[32];

    (void)snprintf(name, sizeof(name), "test-folder-%d", (int)getpid());
    assert_int_equal(root_open("/", &place->root), 0);
    if (cgroups_read(&place->root, getpid(), &cgroups) == 0) {
        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
            if (!cgroup_is_visible(&cgroups.of[order[i]]))
                continue;
            place->own = below(&cgroups.of[order[i]], name);
            if (cgroup_make(&place->root, &place->own) == 0)
                return;
        }
    }
    root_close(&place->root);
    print_message("no cgroup can be made here\n");
    skip();
}

static void place_close(struct place *place)
{
    assert_int_equal(cgroup_remove_tree(&place->root, &place->own, NULL), 0);
    root_close(&place->root);
}

static pid_t start_in(const struct place *place, const struct cgroup *cgroup)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(cgroup_move(&place->root, cgroup, pid), 0);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool holds(const struct place *place, const struct cgroup *cgroup, pid_t pid)
{
    return cgroup_holds_only(&place->root, cgroup, pid);
}

TEST(empty_child_cgroups_are_removed_too)
{
    struct place place;
    struct cgroup top, a;

    place_open(&place);
    top = make(&place, &place.own, "top");
    a = make(&place, &top, "a");
    (void)make(&place, &a, "b");
    (void)make(&place, &top, "c");
    assert_int_equal(cgroup_remove(&place.root, &top), -EBUSY);
    assert_int_equal(cgroup_remove_tree(&place.root, &top, NULL), 0);
    assert_false(exists(&place, &top));
    place_close(&place);
}

TEST(processes_are_moved_to_the_parent_cgroup)
{
    struct cgroup top, nested;
    struct place place;
    pid_t pid, orphan;

    place_open(&place);
    top = make(&place, &place.own, "top");
    pid = start_in(&place, &top);
    assert_int_equal(cgroup_remove_tree(&place.root, &top, NULL), -EBUSY);
    assert_true(holds(&place, &top, pid));
    assert_int_equal(cgroup_remove_tree(&place.root, &top, &place.own), 0);
    assert_true(holds(&place, &place.own, pid));
    end(pid);

    top = make(&place, &place.own, "top");
    nested = make(&place, &top, DEAD_TRACKER);
    orphan = start_in(&place, &nested);
    assert_int_equal(cgroup_remove_tree(&place.root, &top, &place.own), 0);
    assert_true(holds(&place, &place.own, orphan));
    end(orphan);
    place_close(&place);
}

/* An exiting process cannot be moved, and stays in the cgroup until its memory is freed. */
TEST(removal_waits_for_an_exiting_process)
{
    enum { BYTES = 32 << 20 };
    struct cgroup top;
    struct place place;
    int ready[2];
    char byte;
    pid_t pid;

    place_open(&place);
    top = make(&place, &place.own, "top");
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        char *memory =
            mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        (void)madvise(memory, BYTES, MADV_NOHUGEPAGE);
        memset(memory, 1, BYTES);
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(cgroup_move(&place.root, &top, pid), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(cgroup_remove_tree(&place.root, &top, &place.own), 0);
    assert_false(exists(&place, &top));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
    place_close(&place);
}

TEST(a_child_cgroup_in_use_is_kept)
{
    struct place place;
    struct cgroup top, used;
    pid_t pid;

    place_open(&place);
    top = make(&place, &place.own, "top");
    used = make(&place, &top, "used");
    pid = start_in(&place, &used);
    assert_int_equal(cgroup_remove_tree(&place.root, &top, &place.own), -EBUSY);
    assert_true(holds(&place, &used, pid));
    end(pid);
    place_close(&place);
}

/* Returns how many read system calls this process has made. */
static uint64_t count_reads(void)
{
    FILE *file = fopen("/proc/self/io", "re");
    char text[512] = "";
    const char *line;
    uint64_t count = 0;

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    (void)fclose(file);
    line = strstr(text, "syscr: ");
    assert_non_null(line);
    line += strlen("syscr: ");
    assert_int_equal(parse_u64(&line, &count), 0);
    return count;
}

TEST(moving_processes_gives_up_when_none_can_be_moved)
{
    struct cgroup top, missing;
    struct place place;
    uint64_t before;
    pid_t pid;

    place_open(&place);
    top = make(&place, &place.own, "top");
    missing = below(&place.own, "missing");
    pid = start_in(&place, &top);
    before = count_reads();
    assert_int_equal(cgroup_move_all(&place.root, &top, &missing), -ENOENT);
    assert_in_range(count_reads() - before, 1, 20); /* each attempt reads the list */
    end(pid);
    place_close(&place);
}

TEST(cgroups_with_another_prefix_are_detected)
{
    struct place place;

    place_open(&place);
    (void)make(&place, &place.own, "spoor-1");
    (void)make(&place, &place.own, "spoor-1-self");
    assert_true(cgroup_is_alone(&place.root, &place.own, "spoor-1"));
    assert_false(cgroup_is_alone(&place.root, &place.own, "spoor-2"));
    place_close(&place);
}

/* Plain files simulate a cgroup; the fake root is marked as live. */
FAKE_ROOT_TEST(controllers_enabled_earlier_are_not_disabled)
{
    struct fake_root *fake = *state;
    static const char *const controllers[] = { "memory", "pids", "io", NULL };
    const struct cgroup cgroup = { .path = "cg", .is_v2 = true };
    char text[64];

    fake_root_write(fake, "cg/cgroup.subtree_control", "cpu pids hugetlb\n");
    fake->root.is_live = true;
    assert_int_equal(cgroup_enable(&fake->root, &cgroup, controllers), 1u << 0 | 1u << 2);
    fake_root_write(fake, "cg/cgroup.subtree_control", "");
    cgroup_disable(&fake->root, &cgroup, controllers, 1u << 2);
    assert_true(root_read(&fake->root, text, sizeof(text), "cg/cgroup.subtree_control") > 0);
    assert_string_equal(text, "-io");
}
