/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/phase_socket.h"

static spoor_session *start_session(void)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    spoor_session *session;
    struct spoor_error err;

    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    return session;
}

/* In a child. */
static void exit_refused(const char *message)
{
    (void)message;
    _exit(100);
}

/* phase_tell() in a child: the number of trackers that it has told, or 100. */
static int tell(const char *name, bool is_stop)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit((int)phase_tell(name, is_stop, exit_refused));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void child_starts_and_stops_a_phase(void **state)
{
    spoor_session *session = start_session();
    int around = tell("x", false); /* trackers of this test */
    struct job_listener listener;
    struct spoor_error err;

    (void)state;
    assert_int_equal(phase_listener_start(&listener, session, &err), 0);
    assert_int_equal(tell("a name", false), around + 1);
    assert_int_equal(spoor_phase_stop(session, "a name", &err), 0); /* it was open */
    assert_int_equal(spoor_phase_start(session, "b", &err), 0);
    assert_int_equal(tell("b", true), around + 1);
    assert_int_equal(spoor_phase_stop(session, "b", &err), -ENOENT);
    assert_int_equal(tell("b", true), 100); /* refused, with a message */
    job_listener_stop(&listener);
    assert_int_equal(tell("c", false), around);
    job_listener_stop(&listener); /* once more changes nothing */
    session = spoor_session_close(session);
}

static void second_listener_of_a_process_is_refused(void **state)
{
    spoor_session *session = start_session();
    struct job_listener first, second;
    struct spoor_error err;

    (void)state;
    assert_int_equal(phase_listener_start(&first, session, &err), 0);
    assert_int_equal(phase_listener_start(&second, session, &err), -EADDRINUSE);
    assert_non_null(strstr(err.message, "cannot listen for phases of the job"));
    job_listener_stop(&second);
    job_listener_stop(&first);
    session = spoor_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_starts_and_stops_a_phase),
        cmocka_unit_test(second_listener_of_a_process_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
