/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdlib.h>

#include "base/clock.h"
#include "source/gpu/nvidia_busy.h"

#define NOW_US 2000000000ull
#define MS(count) ((count)*1000000ull)

static void add(struct nvidia_clients *clients, unsigned pid, uint64_t stamp_us,
                unsigned percent, uint64_t now_ns)
{
    const struct nvml_process_usage usage = { .pid = pid,
                                              .stamp_us = stamp_us,
                                              .sm_percent = percent };

    assert_int_equal(nvidia_clients_add(clients, &usage, 1, now_ns, NOW_US), 0);
}

static void each_process_has_its_own_time(void **state)
{
    const struct nvml_process_usage usage[] = {
        { .pid = 20, .stamp_us = 1200000, .sm_percent = 10 },
        { .pid = 10, .stamp_us = 1200000, .sm_percent = 40 },
        { .pid = 10, .stamp_us = 1400000, .sm_percent = 40 },
        { .pid = 20, .stamp_us = 1400000, .sm_percent = 20 },
    };
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 1000000, 0);
    assert_int_equal(nvidia_clients_add(&clients, usage, 4, MS(1000), NOW_US), 0);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(160));
    assert_int_equal(nvidia_clients_find(&clients, 20)->busy_ns, MS(60));
    assert_null(nvidia_clients_find(&clients, 15));
    assert_int_equal(clients.covered_ns, MS(400));
    nvidia_clients_done(&clients);
}

static void process_without_samples_was_idle_meanwhile(void **state)
{
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 1000000, 0);
    add(&clients, 10, 1200000, 50, MS(300));
    add(&clients, 10, 1400000, 50, MS(500));
    add(&clients, 10, 3400000, 50, MS(2500)); /* two seconds later: it speaks of 200 ms */
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(300));
    assert_int_equal(clients.covered_ns, MS(2400));
    nvidia_clients_done(&clients);
}

static void time_goes_on_without_any_samples(void **state)
{
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 1000000, 0);
    add(&clients, 10, 1200000, 50, MS(300));
    assert_int_equal(clients.covered_ns, MS(200));
    assert_int_equal(nvidia_clients_add(&clients, NULL, 0, MS(400), NOW_US), 0);
    assert_int_equal(clients.covered_ns, MS(200)); /* its sample may still come */
    assert_int_equal(nvidia_clients_add(&clients, NULL, 0, MS(2300), NOW_US), 0);
    assert_int_equal(clients.covered_ns, MS(2000));
    add(&clients, 10, 3200000, 50, MS(2400)); /* as late as the first was */
    assert_int_equal(clients.covered_ns, MS(2200));
    nvidia_clients_done(&clients);
}

static void device_that_never_had_a_sample_is_covered_from_the_beginning(void **state)
{
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 0, MS(100));
    assert_int_equal(nvidia_clients_add(&clients, NULL, 0, MS(1100), NOW_US), 0);
    assert_int_equal(clients.covered_ns, MS(800));
    add(&clients, 10, NOW_US, 50, MS(1600));
    assert_int_equal(clients.covered_ns, MS(1500));
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(100));
    nvidia_clients_done(&clients);
}

static void time_before_the_beginning_is_not_counted(void **state)
{
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 0, MS(100));
    add(&clients, 10, NOW_US - 50000, 50, MS(200)); /* 50 ms after the beginning */
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(25));
    nvidia_clients_done(&clients);
}

static void covered_time_never_steps_back(void **state)
{
    struct nvidia_clients clients = { 0 };
    uint64_t before_ns;

    (void)state;
    nvidia_clients_begin(&clients, 1000000, 0);
    assert_int_equal(nvidia_clients_add(&clients, NULL, 0, MS(5000), NOW_US), 0);
    before_ns = clients.covered_ns;
    add(&clients, 10, 1200000, 50, MS(5001)); /* very late */
    assert_true(clients.covered_ns >= before_ns);
    nvidia_clients_done(&clients);
}

static void damaged_samples_are_dropped(void **state)
{
    const struct nvml_process_usage usage[] = {
        { .pid = 0, .stamp_us = 1200000, .sm_percent = 10 },
        { .pid = 4000000000u, .stamp_us = 1200000, .sm_percent = 10 },
        { .pid = 10, .stamp_us = 1200000, .sm_percent = 101 },
        { .pid = 10, .stamp_us = 900000, .sm_percent = 10 },
        { .pid = 10, .stamp_us = UINT64_MAX, .sm_percent = 10 },
        { .pid = 11, .stamp_us = 1200000, .sm_percent = 10 },
        { .pid = 11, .stamp_us = 1200000, .sm_percent = 10 }, /* twice */
    };
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 1000000, 0);
    assert_int_equal(nvidia_clients_add(&clients, usage, 7, MS(1000), NOW_US), 0);
    assert_int_equal(clients.count, 1);
    assert_int_equal(nvidia_clients_find(&clients, 11)->busy_ns, MS(20));
    nvidia_clients_done(&clients);
}

static void clock_that_was_set_back_does_not_stop_the_count(void **state)
{
    const struct nvml_process_usage usage = { .pid = 10,
                                              .stamp_us = NOW_US - 899800000,
                                              .sm_percent = 100 };
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, NOW_US, 0);
    assert_int_equal(nvidia_clients_add(&clients, NULL, 0, MS(100), NOW_US - 900000000), 0);
    assert_int_equal(nvidia_clients_add(&clients, &usage, 1, MS(400), NOW_US - 899700000), 0);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(200));
    nvidia_clients_done(&clients);
}

static void idlest_process_is_forgotten_where_there_are_too_many(void **state)
{
    struct nvidia_clients clients = { 0 };

    (void)state;
    nvidia_clients_begin(&clients, 1000000, 0);
    for (unsigned i = 0; i < NVIDIA_CLIENTS_MAX + 1; i++)
        add(&clients, 100000 - i, 1200000 + i, 10, MS(1000) + i);
    assert_int_equal(clients.count, NVIDIA_CLIENTS_MAX);
    assert_null(nvidia_clients_find(&clients, 100000));
    assert_non_null(nvidia_clients_find(&clients, 99999));
    for (size_t i = 1; i < clients.count; i++)
        assert_true(clients.list[i - 1].pid < clients.list[i].pid);
    nvidia_clients_done(&clients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_process_has_its_own_time),
        cmocka_unit_test(process_without_samples_was_idle_meanwhile),
        cmocka_unit_test(time_goes_on_without_any_samples),
        cmocka_unit_test(device_that_never_had_a_sample_is_covered_from_the_beginning),
        cmocka_unit_test(time_before_the_beginning_is_not_counted),
        cmocka_unit_test(covered_time_never_steps_back),
        cmocka_unit_test(damaged_samples_are_dropped),
        cmocka_unit_test(clock_that_was_set_back_does_not_stop_the_count),
        cmocka_unit_test(idlest_process_is_forgotten_where_there_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
