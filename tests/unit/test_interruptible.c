/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/interruptible.h"

static int return_code(void *data)
{
    const int *code = data;

    return *code;
}

static int stall(void *data)
{
    (void)data;
    while (pause() < 0)
        continue;
    return 0;
}

static int die(void *data)
{
    (void)data;
    return raise(SIGKILL);
}

static void a_child_that_was_killed_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(run_interruptible(die, NULL), -SIGKILL);
}

static void what_the_work_returns_is_returned(void **state)
{
    (void)state;
    for (int code = 0; code < 256; code += 51)
        assert_int_equal(run_interruptible(return_code, &code), code);
}

static void it_does_not_matter_that_children_are_not_waited_for(void **state)
{
    int code = 3;

    (void)state;
    (void)signal(SIGCHLD, SIG_IGN);
    assert_int_equal(run_interruptible(return_code, &code), 3);
}

static void a_signal_ends_what_stalls(void **state)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t signals, before;

    (void)state;
    (void)sigfillset(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        (void)raise(numbers[i]); /* as if it came meanwhile */
        if (i > 0)
            (void)raise(SIGINT); /* and a second one, which makes it quick */
        assert_true(run_interruptible(stall, NULL) < 0);
        assert_true(waitpid(-1, NULL, 0) > 0); /* it was killed */
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_signal_leaves_time_for_what_does_not(void **state)
{
    const struct timespec at_once = { 0 };
    sigset_t signals, before;
    int code = 5;

    (void)state;
    (void)sigfillset(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    (void)raise(SIGTERM);
    assert_int_equal(run_interruptible(return_code, &code), 5);
    (void)sigtimedwait(&signals, NULL,
                       &at_once); /* it is still pending if the work was quicker */
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_work_returns_is_returned),
        cmocka_unit_test(a_child_that_was_killed_is_noticed),
        cmocka_unit_test(it_does_not_matter_that_children_are_not_waited_for),
        cmocka_unit_test(a_signal_ends_what_stalls),
        cmocka_unit_test(a_signal_leaves_time_for_what_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
