/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_root.h"
#include "job/member.h"
#include "unit_test.h"

/* Returns a child of vfork() that uses its parent's memory and started at boot. */
static struct member of_vfork(void)
{
    return (struct member){ .id.pid = getpid(),
                            .reading.borrows_memory = true,
                            .id.start_ticks = 1 };
}

/* Returns a start time, in ticks, with which a process counts as young until the test ends. */
static uint64_t now_ticks(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
    return (uint64_t)now.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK) +
           100; /* later than the end of the test */
}

static bool is_pre_exec(const struct member *member)
{
    struct root root;
    bool is_pre_exec;

    assert_int_equal(root_open(NULL, &root), 0);
    is_pre_exec = member_is_pre_exec(&root, member);
    root_close(&root);
    return is_pre_exec;
}

TEST(a_young_process_may_not_have_called_exec)
{
    struct member member = of_vfork();

    assert_false(is_pre_exec(&member)); /* started long ago, and sleeps */
    member.id.start_ticks = now_ticks();
    assert_true(is_pre_exec(&member));
    member.reading.is_zombie = true;
    assert_false(is_pre_exec(&member));
}

TEST(a_process_waiting_for_a_cpu_stays_young)
{
    struct member member = of_vfork();

    member.reading.is_busy = true;
    assert_true(is_pre_exec(&member));
    member.reading.cpu_ns = 50 * NS_PER_MS; /* has run for too long to be before exec */
    assert_false(is_pre_exec(&member));
}

TEST(a_process_with_its_own_memory_has_called_exec)
{
    struct member member = of_vfork();

    member.id.start_ticks = now_ticks();
    member.reading.borrows_memory = false;
    assert_false(is_pre_exec(&member));
}

FAKE_ROOT_TEST(processes_of_a_fixture_are_never_pre_exec)
{
    struct fake_root *fake = *state;
    struct member member = of_vfork();

    member.id.start_ticks = now_ticks();
    assert_false(member_is_pre_exec(&fake->root, &member));
}
