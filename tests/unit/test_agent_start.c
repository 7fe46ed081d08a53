/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "spoor/spoor.h"
#include "unit_test.h"

static volatile sig_atomic_t signal_count;

static void count_signal(UNUSED int number)
{
    signal_count++;
}

TEST(the_agent_is_not_a_child_of_its_starter)
{
    char name[] = "cat";
    char *const arguments[] = { name, NULL };
    struct sigaction action = { .sa_handler = count_signal };
    int input[2], output[2];
    char text[8] = "";

    assert_int_equal(sigaction(SIGCHLD, &action, NULL), 0);
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    assert_true(spoor_agent_start("/bin/cat", arguments, input[0], output[1], NULL) > 1);
    close(input[0]);
    close(output[1]);
    assert_int_equal(write(input[1], "hello", 5), 5);
    assert_int_equal(read(output[0], text, sizeof(text)), 5);
    assert_string_equal(text, "hello");
    close(input[1]);
    /* cat exits at end of file on its input. */
    assert_int_equal(read(output[0], text, sizeof(text)), 0);
    close(output[0]);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(signal_count, 0);
}

TEST(a_subreaper_gets_the_pid_of_its_agent)
{
    char name[] = "cat";
    char *const arguments[] = { name, NULL };
    int fds[2], pid;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = spoor_agent_start("/bin/cat", arguments, fds[0], fds[1], NULL);
    assert_true(pid > 1);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(kill(pid, SIGKILL), 0); /* cat holds both ends of its pipe */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(errors_name_the_program_that_cannot_be_started)
{
    char name[] = "spoor";
    char *const arguments[] = { name, NULL };
    struct spoor_error err;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(spoor_agent_start("/nowhere/spoor", arguments, fds[0], fds[1], &err),
                     -ENOENT);
    assert_string_equal(err.message,
                        "cannot start '/nowhere/spoor': No such file or directory");
    assert_int_equal(spoor_agent_start("/bin/cat", arguments, 0, fds[1], &err), -EINVAL);
    assert_string_equal(err.message, "agent: descriptors must be above 2");
    close(fds[0]);
    close(fds[1]);
}
