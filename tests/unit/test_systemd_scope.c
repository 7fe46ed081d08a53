/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/root.h"
#include "cgroup/systemd_scope.h"
#include "fake_manager.h"
#include "job/agents.h"
#include "unit_test.h"

/* ---- systemd scope --------------------------------------------------------- */

/* Timeouts: for managers that respond (reached only if the test hangs), and for managers
 * that do not. */
#define PATIENT_NS (20 * NS_PER_SECOND)
#define HASTY_NS (40 * NS_PER_MS)

static uint64_t deadline_in(uint64_t time_ns)
{
    return clock_now().monotonic_ns + time_ns;
}

/* Connects to a manager that behaves like `manner` and makes the call, each with its own
 * timeout. If the connection fails, returns the error minus 1000. */
static int converse_within(struct fake_manager *fake, enum fake_manner manner,
                           uint64_t connect_ns, uint64_t start_ns)
{
    int fd, r;

    fake_manager_start(fake, manner);
    fd = systemd_connect(fake->path, deadline_in(connect_ns));
    r = fd < 0
            ? fd - 1000
            : systemd_start_scope(fd, deadline_in(start_ns), "spoor-1-cafe.scope", 4711, 4712);
    if (fd >= 0)
        close(fd);
    fake_manager_stop(fake);
    return r;
}

static int converse(struct fake_manager *fake, enum fake_manner manner)
{
    return converse_within(fake, manner, PATIENT_NS, PATIENT_NS);
}

TEST(the_manager_receives_the_call)
{
    uint8_t expected[SCOPE_CALL_SIZE];
    struct fake_manager fake;

    assert_int_equal(converse(&fake, FAKE_WORKS), 0);
    assert_int_equal(fake.call_length,
                     scope_call_write("spoor-1-cafe.scope", 4711, 4712, expected));
    assert_memory_equal(fake.call, expected, fake.call_length);
}

TEST(a_name_that_is_too_long_is_not_sent)
{
    char name[SCOPE_CALL_SIZE];

    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(systemd_start_scope(-1, UINT64_MAX, name, 1, 2), -EMSGSIZE);
}

TEST(the_login_contains_the_uid_with_hex_encoded_digits)
{
    char expected[64] = "AUTH EXTERNAL ", digits[16];
    struct fake_manager fake;

    (void)snprintf(digits, sizeof(digits), "%u", (unsigned)geteuid());
    for (const char *digit = digits; *digit; digit++)
        (void)snprintf(expected + strlen(expected), 3, "%02x", (unsigned)(unsigned char)*digit);
    assert_int_equal(converse(&fake, FAKE_WORKS), 0);
    assert_string_equal(fake.login, expected);
}

TEST(other_messages_are_skipped)
{
    struct fake_manager fake;

    assert_int_equal(converse(&fake, FAKE_TALKS), 0);
    assert_int_equal(converse(&fake, FAKE_SIGNALS_FIRST), 0);
}

TEST(a_manager_that_refuses_the_login_is_not_called)
{
    static const struct {
        enum fake_manner manner;
        int result;
    } cases[] = {
        { FAKE_REJECTS, -EACCES },
        { FAKE_BABBLES, -EACCES },
        { FAKE_BABBLES_ON, -EBADMSG },
        { FAKE_HANGS_UP, -ECONNRESET },
    };
    struct fake_manager fake;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = converse(&fake, cases[i].manner);

        if (cases[i].manner == FAKE_HANGS_UP && r == -1000 - EPIPE)
            r = -1000 - ECONNRESET; /* closed before the first message */
        assert_int_equal(r, cases[i].result - 1000);
        assert_int_equal(fake.call_length, 0);
    }
}

TEST(a_refusal_is_distinguished_from_an_unknown_outcome)
{
    static const struct {
        enum fake_manner manner;
        int result;
    } cases[] = {
        { FAKE_DENIES, -EREMOTEIO },
        { FAKE_FAILS, -EREMOTEIO },
        { FAKE_HANGS_UP_LATE, -EINPROGRESS },
        { FAKE_SENDS_RUBBISH, -EINPROGRESS },
    };
    struct fake_manager fake;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(converse(&fake, cases[i].manner), cases[i].result);
}

TEST(every_call_ends_by_its_deadline)
{
    static const struct {
        enum fake_manner manner;
        uint64_t connect_ns; /* a successful login may take some time */
        int result;
    } cases[] = {
        { FAKE_IS_MUTE, HASTY_NS, -ETIMEDOUT - 1000 },
        { FAKE_IS_MUTE_LATE, PATIENT_NS, -EINPROGRESS },
        { FAKE_FLOODS, PATIENT_NS, -EINPROGRESS },
    };
    struct fake_manager fake;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t before_ns = clock_now().monotonic_ns;
        uint64_t spent_ns;

        assert_int_equal(converse_within(&fake, cases[i].manner, cases[i].connect_ns, HASTY_NS),
                         cases[i].result);
        spent_ns = clock_now().monotonic_ns - before_ns;
        assert_true(spent_ns >= HASTY_NS);
        assert_true(spent_ns < PATIENT_NS / 4);
    }
}

TEST(a_socket_without_a_listener_is_not_treated_as_a_manager)
{
    char long_path[200];
    struct fake_manager fake;

    assert_int_equal(systemd_connect("/nonexistent/socket", UINT64_MAX), -ENOENT);
    assert_int_equal(systemd_connect("/dev/null", UINT64_MAX), -ECONNREFUSED);
    memset(long_path, '/', sizeof(long_path));
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(systemd_connect(long_path, UINT64_MAX), -ENAMETOOLONG);
    /* A socket that no longer listens. */
    fake_manager_start(&fake, FAKE_WORKS);
    shutdown(fake.listen_fd, SHUT_RDWR);
    assert_int_equal(systemd_connect(fake.path, UINT64_MAX), -ECONNREFUSED);
    fake_manager_stop(&fake);
}

/* ---- scope keeper ---------------------------------------------------------- */

static int start(void **state)
{
    static struct scope_keeper keeper; /* cmocka passes it to the test */
    int r = scope_keeper_start(&keeper);

    *state = r == 0 ? &keeper : NULL;
    if (r == -ENOSYS)
        print_message("the kernel is too old for a keeper\n");
    return r == -ENOSYS ? 0 : r;
}

static int stop(void **state)
{
    if (*state)
        scope_keeper_stop(*state);
    return 0;
}

static struct scope_keeper *get(void **state)
{
    if (!*state)
        skip();
    return *state;
}

/* Returns whether all descriptors of the other end of `fd` are closed within `ms`. */
static bool is_closed_within(int fd, int ms)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };

    return poll(&poller, 1, ms) == 1 && (poller.revents & POLLHUP);
}

TEST_WITH(wait_does_not_return_the_keeper_process, start, stop)
{
    struct scope_keeper *keeper = get(state);
    siginfo_t info = { 0 };

    assert_true(keeper->pid > 0);
    assert_int_equal(kill(keeper->pid, 0), 0);
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(keeper->pid, NULL, WNOHANG), -1);
}

/* The keeper is a child of the tracker, like orphans of the job. */
TEST_WITH(the_keeper_is_not_counted_as_part_of_a_job, start, stop)
{
    struct scope_keeper *keeper = get(state);
    struct member member = { .id.pid = keeper->pid };
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    assert_true(root_read(&root, member.comm, sizeof(member.comm), "proc/%d/comm",
                          (int)keeper->pid) > 0);
    member.comm[strcspn(member.comm, "\n")] = '\0';
    assert_true(agents_has(&root, &member));
    root_close(&root);
}

TEST(the_keeper_inherits_no_descriptors_of_the_tracker)
{
    struct scope_keeper *keeper;
    int fds[2];

    assert_int_equal(pipe2(fds, 0), 0); /* inheritable */
    if (start(state) != 0 || !*state) {
        close(fds[0]);
        close(fds[1]);
        skip();
    }
    keeper = *state;
    close(fds[1]);
    assert_true(is_closed_within(fds[0], 10000));
    close(fds[0]);
    assert_int_equal(kill(keeper->pid, 0), 0); /* alive */
    stop(state);
}

TEST_WITH(signals_do_not_end_the_keeper, start, stop)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGALRM };
    struct scope_keeper *keeper = get(state);
    siginfo_t info = { 0 };

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        assert_int_equal(kill(keeper->pid, signals[i]), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL), 0);
    assert_int_equal(info.si_pid, 0);
}

TEST_WITH(a_stopped_keeper_can_be_ended, start, stop)
{
    struct scope_keeper *keeper = get(state);
    pid_t pid = keeper->pid;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    scope_keeper_stop(keeper);
    assert_int_equal(keeper->pid, 0);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    scope_keeper_stop(keeper); /* a second call is harmless */
}

/* Simulates the kill of a tracker. The keeper must not outlive the tracker. */
TEST(the_keeper_exits_with_the_tracker)
{
    int fds[2];
    int status;
    pid_t tracker, keeper = 0;
    struct root root;
    char text[512];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    tracker = fork();
    assert_true(tracker >= 0);
    if (tracker == 0) {
        struct scope_keeper own = { 0 };

        (void)scope_keeper_start(&own);
        (void)!write(fds[1], &own.pid, sizeof(own.pid));
        (void)raise(SIGKILL);
    }
    assert_int_equal(read(fds[0], &keeper, sizeof(keeper)), sizeof(keeper));
    assert_int_equal(waitpid(tracker, &status, 0), tracker);
    close(fds[0]);
    close(fds[1]);
    if (keeper == 0)
        skip();
    assert_int_equal(root_open(NULL, &root), 0);
    for (int i = 0; i < 10000; i++) {
        ssize_t n = root_read(&root, text, sizeof(text), "proc/%d/stat", (int)keeper);

        if (n < 0 || strstr(text, ") Z ")) {
            root_close(&root);
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    fail_msg("it is still there");
}
