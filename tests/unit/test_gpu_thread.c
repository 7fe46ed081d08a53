/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "fake_drm.h"
#include "session/gpu_thread.h"

#define PCI "0000:00:02.0"
#define AN_HOUR_OF_WORK                                     \
    "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t" PCI \
    "\ndrm-resident-system0:\t8 MiB\ndrm-engine-render:\t3600000000000 ns\n"

static void wait_for_memory(struct gpu_thread *thread, struct gpu_view *view)
{
    do {
        (void)usleep(100);
        gpu_thread_take(thread, clock_now().monotonic_ns, view);
    } while (view->state == GPU_PENDING ||
             view->totals.levels.descendants_memory_bytes != 8 << 20);
    assert_int_equal(view->state, GPU_READY);
}

/* Busy time is a share of a window, which has a least length. */
static void let_a_window_pass(void)
{
    uint64_t began_ns = clock_now().monotonic_ns;

    while (clock_now().monotonic_ns - began_ns < 50 * NS_PER_MS)
        (void)usleep(1000);
}

static void take_last_look(struct gpu_thread *thread, struct gpu_view *view)
{
    gpu_thread_ask_last(thread);
    gpu_thread_wait_last(thread);
    gpu_thread_take(thread, clock_now().monotonic_ns, view);
}

/* The busy time of a job whose child has worked for an hour when the GPUs are first looked at. */
static uint64_t busy_time_of_old_child(pid_t tracker_pid)
{
    struct member list[] = { { .pid = 41 }, { .pid = 42, .parent_pid = 41 } };
    const struct members members = { .list = list, .count = ARRAY_SIZE(list), .changes = 1 };
    const struct gate no_gate = { .signal_fd = -1 };
    struct gpu_thread_options options = {
        .main_pid = 41,
        .tracker_pid = tracker_pid,
        .start_ns = clock_now().monotonic_ns,
        .members = &members,
        .gate = &no_gate,
    };
    struct gpu_view view = { 0 };
    struct gpu_thread *thread;
    struct fake_root fake;

    fake_root_init(&fake);
    options.root = fake.path;
    fake_drm_card(&fake, 0, PCI, "0x8086\n");
    fake_drm_fd(&fake, 42, 3, "/dev/dri/renderD128", AN_HOUR_OF_WORK);
    assert_int_equal(gpu_thread_start(&options, &thread), 0);
    wait_for_memory(thread, &view);
    let_a_window_pass();
    take_last_look(thread, &view);
    thread = gpu_thread_close(thread);
    free(view.devices);
    fake_root_done(&fake);
    return view.totals.job_busy_ns;
}

static void work_from_before_we_attached_is_not_counted(void **state)
{
    (void)state;
    assert_int_equal(busy_time_of_old_child(0), 0);
}

static void work_of_children_of_a_job_that_we_started_is(void **state)
{
    (void)state;
    assert_in_range(busy_time_of_old_child(getpid()), 1, UNKNOWN - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_from_before_we_attached_is_not_counted),
        cmocka_unit_test(work_of_children_of_a_job_that_we_started_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
