/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "fake_root.h"
#include "gated_job.h"
#include "source/events/fork_ring.h"

enum { CHILDREN = 100, STORM = 2500 };

struct tally {
    pid_t main_pid;
    uint64_t last_ns;
    unsigned forked, exited, strangers, disordered;
    pid_t living;
};

static void count(const struct process_event *event, void *data)
{
    struct tally *tally = data;

    tally->disordered += event->time_ns < tally->last_ns;
    tally->last_ns = event->time_ns;
    if (event->is_thread)
        return; /* of a sanitizer */
    if (event->kind == PROCESS_FORKED) {
        tally->forked++;
        tally->strangers += event->parent_pid != tally->main_pid;
        tally->living = event->pid;
    } else if (event->pid != tally->main_pid) {
        /* One after another: who ends is who was forked last. */
        tally->exited++;
        tally->disordered += event->pid != tally->living;
    }
}

static int start_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        if (run_child(do_nothing) != 0)
            return 1;
    }
    return 0;
}

/* All on one CPU, so that one ring gets all. By a program of its own: a forked copy of a test
 * is slow where a checker of memory runs it. */
static int start_a_storm(void)
{
    cpu_set_t one;
    unsigned cpu;

    CPU_ZERO(&one);
    if (getcpu(&cpu, NULL) < 0)
        return 1;
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        return 1;
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 2500 ]; do (:); i=$((i+1)); done",
          (char *)NULL);
    return 1;
}

/* No rings, with a message, where perf is refused. */
static void watch(struct fork_ring *ring, pid_t pid)
{
    struct root root;
    int r;

    assert_int_equal(root_open(NULL, &root), 0);
    r = fork_ring_open(&root, pid, ring);
    root_close(&root);
    if (r == 0)
        return;
    assert_int_equal(ring->count, 0);
    print_message("perf's fork ring: %s\n", strerror(-r));
}

static void every_process_of_the_job_is_told_in_order(void **state)
{
    struct tally tally = { 0 };
    struct gated_job job;
    struct fork_ring ring;

    (void)state;
    gated_job_start(&job, start_children);
    watch(&ring, job.pid);
    tally.main_pid = job.pid;
    assert_int_equal(run_child(do_nothing), 0); /* not of the job */
    gated_job_begin(&job);
    gated_job_end(&job);
    if (ring.count == 0)
        skip();
    fork_ring_drain(&ring, count, &tally);
    assert_int_equal(tally.forked, CHILDREN);
    assert_int_equal(tally.exited, CHILDREN);
    assert_int_equal(tally.strangers, 0);
    assert_int_equal(tally.disordered, 0);
    assert_int_equal(ring.lost_count, 0);
    assert_false(ring.was_full);
    fork_ring_drain(&ring, count, &tally);
    assert_int_equal(tally.forked, CHILDREN); /* once */
    fork_ring_close(&ring);
    fork_ring_close(&ring);
}

/* Nobody drains: more records than there is room for. */
static void a_loss_is_known(void **state)
{
    struct tally tally = { 0 };
    struct gated_job job;
    struct fork_ring ring;

    (void)state;
    gated_job_start(&job, start_a_storm);
    watch(&ring, job.pid);
    gated_job_begin(&job);
    gated_job_end(&job);
    if (ring.count == 0)
        skip();
    fork_ring_drain(&ring, count, &tally);
    assert_true(tally.forked <= STORM); /* all of them where pages are larger than usual */
    assert_int_equal(ring.was_full, tally.forked < STORM);
    fork_ring_close(&ring);
}

static void a_fixture_has_none(void **state)
{
    struct fake_root fake;
    struct fork_ring ring;

    (void)state;
    fake_root_init(&fake);
    assert_int_equal(fork_ring_open(&fake.root, 1, &ring), -ENOTSUP);
    assert_int_equal(ring.count, 0);
    fork_ring_close(&ring);
    fake_root_done(&fake);
}

static void a_process_that_is_not_there_has_none(void **state)
{
    struct fork_ring ring;
    struct root root;

    (void)state;
    assert_int_equal(root_open(NULL, &root), 0);
    assert_true(fork_ring_open(&root, 0x7ffffffe, &ring) < 0);
    assert_int_equal(ring.count, 0);
    root_close(&root);
}

static void a_ring_has_as_many_bytes_with_larger_pages(void **state)
{
    (void)state;
    assert_int_equal(fork_ring_pages(128 << 10, 4096), 32);
    assert_int_equal(fork_ring_pages(32 << 10, 4096), 8);
    assert_int_equal(fork_ring_pages(128 << 10, 16384), 8);
    assert_int_equal(fork_ring_pages(128 << 10, 65536), 2);
    assert_int_equal(fork_ring_pages(32 << 10, 65536), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_has_as_many_bytes_with_larger_pages),
        cmocka_unit_test(every_process_of_the_job_is_told_in_order),
        cmocka_unit_test(a_loss_is_known),
        cmocka_unit_test(a_fixture_has_none),
        cmocka_unit_test(a_process_that_is_not_there_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
