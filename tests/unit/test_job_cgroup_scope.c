/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests have no real systemd, so this tests only whether systemd would be called.
 * test_systemd_scope.c tests the call. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "job/job_cgroup.h"
#include "unit_test.h"

#define USER_SLICE "sys/fs/cgroup/user.slice/user-1000.slice"
#define SESSION USER_SLICE "/session-3.scope"

static const char mountinfo[] = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

static int start(void **state)
{
    static struct fake_root fake; /* cmocka passes it to the test */

    fake_root_init(&fake);
    fake_root_write(&fake, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    fake_root_write(&fake, USER_SLICE "/memory.max", "max\n");
    fake_root_write(&fake, SESSION "/memory.max", "max\n");
    fake_root_write(&fake, SESSION "/memory.high", "max\n");
    fake_root_write(&fake, SESSION "/cpu.max", "max 100000\n");
    fake_root_write(&fake, SESSION "/cpuset.cpus", "\n");
    fake_root_write(&fake, SESSION "/pids.max", "4096\n");
    *state = &fake;
    return 0;
}

static int stop(void **state)
{
    fake_root_done(*state);
    return 0;
}

static bool is_fit(struct fake_root *fake, const char *line, uid_t uid)
{
    struct cgroups cgroups;

    if (cgroups_parse(line, mountinfo, &cgroups) < 0)
        return false;
    return job_cgroup_may_leave(&fake->root, &cgroups, uid);
}

TEST_WITH(a_job_may_leave_a_login_session, start, stop)
{
    assert_true(is_fit(*state, "0::/user.slice/user-1000.slice/session-3.scope\n", 1000));
    assert_true(is_fit(*state, "0::/user.slice/user-1000.slice/session-3.scope\n", 0));
    /* The scope of a terminal, below the user's manager. */
    assert_true(is_fit(*state,
                       "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
                       "vte-spawn-1.scope\n",
                       1000));
}

TEST_WITH(a_job_of_a_service_or_batch_system_is_not_moved, start, stop)
{
    static const char *const lines[] = {
        "0::/\n",
        "0::/user.slice\n",
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n",
        "0::/user.slice/user-1000.slice/libpod-abc.scope/container\n",
        "0::/user.slice/user-1000.slice/.scope\n",
        "0::/user.slice/user-1000.slice/session-3.scopes\n",
        "0::/../session-3.scope\n",
        "0::/user.slice/user-1000.slice/user@1000.service/init.scope (deleted)\n",
        "",
    };

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        if (is_fit(*state, lines[i], 1000))
            fail_msg("%s", lines[i]);
    }
}

TEST_WITH(a_job_may_leave_only_the_slice_of_its_own_user, start, stop)
{
    assert_false(is_fit(*state, "0::/user.slice/user-1000.slice/session-3.scope\n", 1001));
    assert_false(is_fit(*state, "0::/user.slice/user-1000.slice/session-3.scope\n", 100));
    assert_false(is_fit(*state, "0::/machine.slice/x.scope\n", 1000));
}

TEST_WITH(a_job_stays_in_a_cgroup_with_a_limit, start, stop)
{
    static const struct {
        const char *file;
        const char *text;
    } limits[] = {
        { SESSION "/memory.max", "1073741824\n" },
        { SESSION "/memory.high", "1073741824\n" },
        { SESSION "/memory.swap.max", "0\n" },
        { SESSION "/cpu.max", "50000 100000\n" },
        { SESSION "/cpuset.cpus", "0-3\n" },
        { SESSION "/io.max", "8:0 rbps=1000 wbps=max riops=max wiops=max\n" },
    };
    struct fake_root *fake = *state;

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        fake_root_write(fake, limits[i].file, limits[i].text);
        if (is_fit(fake, "0::/user.slice/user-1000.slice/session-3.scope\n", 1000))
            fail_msg("%s", limits[i].file);
        stop(state);
        start(state);
    }
}

/* Scopes of the user's manager are inside the user's slice; scopes of the system's manager
 * are not. */
TEST_WITH(a_limit_of_the_users_slice_still_applies, start, stop)
{
    fake_root_write(*state, USER_SLICE "/memory.max", "1073741824\n");
    assert_true(is_fit(*state, "0::/user.slice/user-1000.slice/session-3.scope\n", 1000));
    assert_false(is_fit(*state, "0::/user.slice/user-1000.slice/session-3.scope\n", 0));
}

TEST_WITH(without_a_memory_controller_nothing_is_moved, start, stop)
{
    static const char line[] = "0::/user.slice/user-1000.slice/session-3.scope\n";

    fake_root_write(*state, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids\n");
    assert_false(is_fit(*state, line, 1000));
    fake_root_write(*state, "sys/fs/cgroup/cgroup.controllers", "memoryless\n");
    assert_false(is_fit(*state, line, 1000));
    fake_root_write(*state, "sys/fs/cgroup/cgroup.controllers", "");
    assert_false(is_fit(*state, line, 1000));
}

TEST_WITH(no_scope_is_requested_if_memory_is_on_version_1, start, stop)
{
    static const char both[] = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
                               "31 25 0:27 / /sys/fs/memory rw - cgroup cgroup rw,memory\n";
    struct fake_root *fake = *state;
    struct cgroups cgroups;

    assert_int_equal(cgroups_parse("4:memory:/a.scope\n"
                                   "0::/user.slice/user-1000.slice/session-3.scope\n",
                                   both, &cgroups),
                     0);
    assert_false(job_cgroup_may_leave(&fake->root, &cgroups, 1000));
}

TEST_WITH(a_job_does_not_leave_a_container, start, stop)
{
    static const char line[] = "0::/user.slice/user-1000.slice/session-3.scope\n";

    fake_root_write(*state, "run/.containerenv", "");
    assert_false(is_fit(*state, line, 1000));
    stop(state);
    start(state);
    fake_root_write(*state, ".dockerenv", "");
    assert_false(is_fit(*state, line, 1000));
}

static const char *no_variable(UNUSED const char *name)
{
    return NULL;
}

TEST_WITH(systemd_is_not_called_for_a_fixture, start, stop)
{
    struct fake_root *fake = *state;
    struct job_cgroup job_cgroup;
    struct cgroups cgroups;

    assert_int_equal(
        cgroups_parse("0::/user.slice/user-1000.slice/session-3.scope\n", mountinfo, &cgroups),
        0);
    job_cgroup_open(&job_cgroup, &fake->root, getpid(), getpid(), &cgroups, NULL, no_variable);
    assert_int_equal(job_cgroup.keeper.pid, 0);
    assert_non_null(job_cgroup.reason);
    job_cgroup_close(&job_cgroup);
}
