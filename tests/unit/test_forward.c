/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <signal.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "run/forward.h"

enum { SELF = 100, OTHER = 200 };

static bool is_wanted(int signal, int code, pid_t sender, bool is_from_job, bool shares_group)
{
    const struct forward_facts facts = { SELF, is_from_job, shares_group };
    siginfo_t info = { .si_signo = signal, .si_code = code };

    info.si_pid = sender;
    return forward_is_wanted(&info, &facts);
}

static void what_a_process_sends_is_forwarded(void **state)
{
    static const int codes[] = { SI_USER, SI_TKILL, SI_QUEUE };
    static const int signals[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                   SIGCONT, SIGWINCH, SIGTSTP, SIGALRM, SIGPIPE, SIGURG };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(codes); j++)
            assert_true(is_wanted(signals[i], codes[j], OTHER, false, true));
        assert_true(is_wanted(signals[i], SI_USER, 0, false, true)); /* another pid namespace */
    }
    assert_true(is_wanted(SIGRTMIN, SI_QUEUE, OTHER, false, true));
}

static void what_the_terminal_sends_reaches_the_group_without_us(void **state)
{
    static const int signals[] = { SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGWINCH };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        assert_false(is_wanted(signals[i], SI_KERNEL, 0, false, true));
        assert_true(is_wanted(signals[i], SI_KERNEL, 0, false, false)); /* it left our group */
    }
}

static void what_the_job_sends_is_not_given_back(void **state)
{
    (void)state;
    assert_false(is_wanted(SIGUSR1, SI_USER, OTHER, true, true));
    assert_false(is_wanted(SIGTSTP, SI_USER, OTHER, true, true));
}

static void our_own_doing_is_not_forwarded(void **state)
{
    (void)state;
    assert_false(is_wanted(SIGPIPE, SI_USER, SELF, false, true));
    assert_false(is_wanted(SIGXFSZ, SI_USER, SELF, false, true));
    assert_false(is_wanted(SIGXCPU, SI_KERNEL, 0, false, true));
    assert_false(is_wanted(SIGIO, SI_KERNEL, 0, false, true));
}

static void an_alarm_rings_in_the_job(void **state)
{
    (void)state;
    assert_true(is_wanted(SIGALRM, SI_KERNEL, 0, false, true));
}

static void ends_of_children_are_ours(void **state)
{
    (void)state;
    assert_false(is_wanted(SIGCHLD, CLD_EXITED, OTHER, false, true));
    assert_false(is_wanted(SIGCHLD, SI_USER, OTHER, false, true));
}

static void faults_and_stops_are_forwarded_if_sent(void **state)
{
    static const int signals[] = { SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGTRAP,
                                   SIGSYS,  SIGABRT, SIGTTIN, SIGTTOU };
    sigset_t set;

    (void)state;
    forward_signals(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        assert_true(sigismember(&set, signals[i]));
        assert_true(is_wanted(signals[i], SI_USER, OTHER, false, true));
        assert_false(is_wanted(signals[i], SI_KERNEL, 0, false, true));
    }
    assert_true(sigismember(&set, SIGCHLD));
    assert_true(sigismember(&set, SIGPIPE));
    assert_true(sigismember(&set, SIGTSTP));
    assert_true(sigismember(&set, SIGRTMAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_process_sends_is_forwarded),
        cmocka_unit_test(what_the_terminal_sends_reaches_the_group_without_us),
        cmocka_unit_test(what_the_job_sends_is_not_given_back),
        cmocka_unit_test(our_own_doing_is_not_forwarded),
        cmocka_unit_test(an_alarm_rings_in_the_job),
        cmocka_unit_test(ends_of_children_are_ours),
        cmocka_unit_test(faults_and_stops_are_forwarded_if_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
