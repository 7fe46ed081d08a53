/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "run/reraise.h"

/* The wait status of a process that blocks all signals, ignores this one and reraises it. Its
 * buffered output goes to `output_fd`. */
static int status_after(int number, int output_fd)
{
    int wait_status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit cores = { 0, 0 };
        FILE *output = fdopen(output_fd, "w");
        sigset_t all;

        (void)getrlimit(RLIMIT_CORE, &cores);
        cores.rlim_cur = cores.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &cores);
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, NULL);
        (void)signal(number, SIG_IGN);
        if (output)
            (void)fputs("last words", output);
        reraise(number);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    return wait_status;
}

static void it_ends_as_the_command_did_without_a_core_file(void **state)
{
    static const int signals[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGKILL,
                                   SIGSEGV, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int wait_status = status_after(signals[i], fd);

        close(fd);
        assert_true(WIFSIGNALED(wait_status));
        assert_int_equal(WTERMSIG(wait_status), signals[i]);
        assert_false(WCOREDUMP(wait_status));
    }
}

static void what_was_printed_is_not_lost(void **state)
{
    char text[32] = "";
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(WTERMSIG(status_after(SIGTERM, fds[1])), SIGTERM);
    close(fds[1]);
    assert_int_equal(read(fds[0], text, sizeof(text) - 1), 10);
    assert_string_equal(text, "last words");
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_as_the_command_did_without_a_core_file),
        cmocka_unit_test(what_was_printed_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
