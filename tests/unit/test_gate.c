/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/perf/gate.h"

enum { OPENS_WITHIN_MS = 60000 };

/* A child that works when it is told to, in a child of its own that it has from the start. */
struct job {
    pid_t pid;
    int orders, answers;
};

static void burn(uint64_t cpu_ns)
{
    while (clock_thread_cpu_ns() < cpu_ns) {
    }
}

static void work(int orders, int answers)
{
    char order;

    while (read(orders, &order, 1) == 1) {
        burn(clock_thread_cpu_ns() + 5 * NS_PER_MS);
        if (write(answers, &order, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void job_start(struct job *job, struct gate *gate)
{
    int orders[2], answers[2], start[2];
    char byte = 's';
    int r;

    assert_int_equal(pipe(orders) | pipe(answers) | pipe(start), 0);
    job->pid = fork();
    assert_true(job->pid >= 0);
    if (job->pid == 0) {
        close(orders[1]);
        if (read(start[0], &byte, 1) == 1 && fork() == 0)
            work(orders[0], answers[1]);
        (void)waitpid(-1, NULL, 0);
        _exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    job->orders = orders[1];
    job->answers = answers[0];
    r = gate_add(gate, GATE_RUNS, job->pid);
    if (r < 0) {
        print_message("perf: %s\n", strerror(-r));
        (void)kill(job->pid, SIGKILL);
        (void)waitpid(job->pid, NULL, 0);
        skip();
    }
    assert_int_equal(write(start[1], &byte, 1), 1);
    close(start[0]);
    close(start[1]);
}

static void job_work(const struct job *job)
{
    char byte = 'w';

    assert_int_equal(write(job->orders, &byte, 1), 1);
    assert_int_equal(read(job->answers, &byte, 1), 1);
}

static void job_end(const struct job *job)
{
    close(job->orders);
    close(job->answers);
    assert_int_equal(waitpid(job->pid, NULL, 0), job->pid);
}

static bool opens(const struct gate *gate, int within_ms)
{
    struct pollfd fd = { .fd = gate->signal_fd, .events = POLLIN };

    return poll(&fd, 1, within_ms) == 1 && gate_take(gate);
}

static void block_signals(void)
{
    sigset_t all;

    (void)sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
}

static void it_opens_when_a_descendant_runs(void **state)
{
    struct gate gate = GATE_NONE;
    struct job job;

    (void)state;
    block_signals();
    job_start(&job, &gate);
    assert_int_equal(gate_attach(&gate), 0);
    job_work(&job); /* it is not armed */
    assert_false(opens(&gate, 0));
    gate_arm(&gate);
    job_work(&job);
    assert_true(opens(&gate, OPENS_WITHIN_MS));
    gate_disarm(&gate);
    (void)gate_take(&gate);
    job_work(&job);
    assert_false(opens(&gate, 0));
    gate_arm(&gate); /* again */
    job_work(&job);
    assert_true(opens(&gate, OPENS_WITHIN_MS));
    gate_disarm(&gate);
    job_end(&job);
    gate_close(&gate);
}

static void where_there_is_none_it_cannot_be_waited_for(void **state)
{
    struct gate gate = GATE_NONE;

    (void)state;
    assert_int_equal(gate_attach(&gate), -ENOENT);
    gate_arm(&gate);
    assert_false(gate_take(&gate));
    gate_disarm(&gate);
    gate_close(&gate);
    gate_close(&gate);
}

static void a_signal_sent_to_the_program_is_returned_to_it(void **state)
{
    static const struct timespec at_once = { 0 };
    struct gate gate = GATE_NONE;
    siginfo_t info = { 0 };
    sigset_t set;

    (void)state;
    block_signals();
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGURG);
    gate.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    assert_true(gate.signal_fd >= 0);
    assert_int_equal(kill(getpid(), SIGURG), 0);
    assert_false(gate_take(&gate));
    assert_int_equal(sigtimedwait(&set, &info, &at_once), SIGURG);
    assert_int_equal(info.si_pid, getpid()); /* who sent it */
    gate_close(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_when_a_descendant_runs),
        cmocka_unit_test(a_signal_sent_to_the_program_is_returned_to_it),
        cmocka_unit_test(where_there_is_none_it_cannot_be_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
