/* SPDX-License-Identifier: Apache-2.0 */
/* Who is the job's on GPUs, from its birth until after its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "job/gpu/gpu_watch.h"
#include "nvidia_fixture.h"
#include "source/gpu/nvidia.h"
#include "source/proc/cpu_clock.h"

#define MS(n) ((n)*NS_PER_MS)
#define PID_MAX_LIMIT (1 << 22) /* no process has a larger number */
#define CARD                                                                            \
    "device 0 uuid GPU-1\ndevice 0 name H200\ndevice 0 pci 0:3:0\ndevice 0 total 100\n" \
    "device 0 used 50\ndevice 0 minor 0\n"

static const struct gpu_choice all_gpus;

static void open_watch(struct gpu_watch *watch, const struct machine *machine, pid_t main_pid,
                       pid_t tracker_pid)
{
    const struct gpu_vendor *const vendors[] = { &gpu_nvidia };
    const struct gpu_watch_options options = { .vendors = vendors,
                                               .vendor_count = 1,
                                               .choice = &all_gpus,
                                               .main_pid = main_pid,
                                               .tracker_pid = tracker_pid };

    assert_int_equal(gpu_watch_open(watch, &machine->fake.root, &options), 0);
}

static void add_child(struct machine *machine, pid_t pid, pid_t parent)
{
    char path[64], text[160];

    (void)snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
    (void)snprintf(text, sizeof(text),
                   "%d (x) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0\n",
                   (int)pid, (int)parent);
    fake_root_write(&machine->fake, path, text);
}

/* A process that rests until it is ended. */
static pid_t start_sleeper(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it outlives a test that fails */
    while (pid == 0)
        (void)pause();
    return pid;
}

static void end_sleeper(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* This process computes for a while. */
static void compute(const struct root *root)
{
    uint64_t began_ns, now_ns;

    assert_int_equal(cpu_clock_read(root, getpid(), &began_ns), 0);
    do
        assert_int_equal(cpu_clock_read(root, getpid(), &now_ns), 0);
    while (now_ns - began_ns < MS(1));
}

/* Does the job rest, by three looks while this process computes? */
static bool rests(struct gpu_watch *watch, uint64_t now_ns)
{
    (void)gpu_watch_rests(watch, now_ns);
    compute(watch->root);
    (void)gpu_watch_rests(watch, now_ns + MS(1));
    compute(watch->root);
    return gpu_watch_rests(watch, now_ns + MS(2));
}

/* A shell waits for its child, which is on a GPU and of which nobody has told yet. */
static void one_that_was_only_found_counts_as_running(void **state)
{
    pid_t main_pid = start_sleeper();
    char script[400];
    struct machine machine;
    struct gpu_watch watch;

    (void)state;
    machine_init(&machine, false);
    machine_play(&machine, CARD);
    add_child(&machine, getpid(), main_pid);
    open_watch(&watch, &machine, main_pid, 0);
    assert_true(rests(&watch, MS(1000)));
    (void)snprintf(script, sizeof(script), CARD "process 0 compute %d 5\n", (int)getpid());
    machine_play(&machine, script);
    gpu_watch_read(&watch, MS(2000), true);
    assert_int_equal(watch.tally.totals.levels.descendants_memory_bytes, 5);
    assert_false(rests(&watch, MS(3000)));
    gpu_watch_close(&watch);
    machine_done(&machine);
    end_sleeper(main_pid);
}

static void many_that_ended_do_not_keep_the_job_from_rest(void **state)
{
    pid_t main_pid = start_sleeper();
    struct machine machine;
    struct gpu_watch watch;

    (void)state;
    machine_init(&machine, false);
    machine_play(&machine, CARD);
    open_watch(&watch, &machine, main_pid, 0);
    for (pid_t i = 1; i <= 200; i++)
        assert_int_equal(gpu_kin_add(&watch.kin, PID_MAX_LIMIT + i, MS(1000)), 0);
    assert_true(rests(&watch, MS(1000)));
    gpu_watch_close(&watch);
    machine_done(&machine);
    end_sleeper(main_pid);
}

/* The driver's account of a process that ended has its peak, whether a look came upon it or
 * not. */
static void accounts_of_those_that_ended_are_taken_before_they_are_let_go(void **state)
{
    struct machine machine;
    struct gpu_watch watch;

    (void)state;
    machine_init(&machine, false);
    machine_play(&machine, CARD "device 0 accounting 1\naccount 0 42 7 1000 0 1 0\n");
    open_watch(&watch, &machine, 41, 40);
    assert_int_equal(gpu_kin_add(&watch.kin, 42, MS(1000)), 0);
    gpu_watch_read(&watch, MS(2000), true);
    assert_int_equal(machine_calls(&machine, "nvmlDeviceGetAccountingStats"), 0);
    gpu_watch_read(&watch, MS(2000) + GPU_KIN_KEPT_NS, false);
    assert_int_equal(watch.account_bytes, 7);
    assert_int_equal(watch.tally.list[0].view.job_memory_peak_bytes, 7);
    assert_int_equal(gpu_kin_pids(&watch.kin).count, 1);
    gpu_watch_read(&watch, MS(3000) + GPU_KIN_KEPT_NS, false);
    assert_int_equal(machine_calls(&machine, "nvmlDeviceGetAccountingStats"), 1);
    gpu_watch_close(&watch);
    machine_done(&machine);
}

/* They speak of the time before us, too. */
static void accounts_of_a_job_that_was_attached_to_are_not_asked_for(void **state)
{
    struct machine machine;
    struct gpu_watch watch;

    (void)state;
    machine_init(&machine, false);
    machine_play(&machine, CARD "device 0 accounting 1\naccount 0 41 7 1000 0 1 0\n");
    open_watch(&watch, &machine, 41, 0);
    gpu_watch_accounts(&watch);
    assert_false(is_known(watch.account_bytes));
    gpu_watch_close(&watch);
    machine_done(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_only_found_counts_as_running),
        cmocka_unit_test(many_that_ended_do_not_keep_the_job_from_rest),
        cmocka_unit_test(accounts_of_those_that_ended_are_taken_before_they_are_let_go),
        cmocka_unit_test(accounts_of_a_job_that_was_attached_to_are_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
