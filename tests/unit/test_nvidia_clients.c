/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_clients.h"
#include "unit_test.h"

#include <stdlib.h>

#include "base/amount.h"

#define MS(count) ((count)*1000000ull)
#define START_US 1000000000ull
#define AT(ms) (START_US + (ms)*1000ull)

static bool none_has_ended(UNUSED pid_t pid, UNUSED const void *data)
{
    return false;
}

static bool all_have_ended(UNUSED pid_t pid, UNUSED const void *data)
{
    return true;
}

/* Adds the answer of a driver whose samples are 200 ms apart, received `now_ms` after the
 * start. */
static void answer(struct nvidia_clients *clients, const struct nvml_process_usage *usage,
                   size_t count, uint64_t now_ms)
{
    const struct nvidia_answer all = {
        .list = usage,
        .count = count,
        .now_us = AT(now_ms),
        .period_us = 200000,
        .device_busy_ns = MS(100000),
        .has_ended = none_has_ended,
    };

    assert_int_equal(nvidia_clients_add(clients, &all), 0);
}

/* Adds an answer without processes, because all have exited. The device was busy for this
 * long. */
static void end_all(struct nvidia_clients *clients, uint64_t device_busy_ns, uint64_t now_ms)
{
    const struct nvidia_answer all = {
        .now_us = AT(now_ms),
        .period_us = 200000,
        .device_busy_ns = device_busy_ns,
        .has_ended = all_have_ended,
    };

    assert_int_equal(nvidia_clients_add(clients, &all), 0);
}

static void add(struct nvidia_clients *clients, unsigned pid, uint64_t stamp_ms,
                unsigned percent, uint64_t now_ms)
{
    const struct nvml_process_usage usage = { .pid = pid,
                                              .stamp_us = AT(stamp_ms),
                                              .sm_percent = percent };

    answer(clients, &usage, 1, now_ms);
}

TEST(process_samples_cover_the_time_since_the_previous_reading)
{
    const struct nvml_process_usage usage[] = {
        { .pid = 20, .stamp_us = AT(400), .sm_percent = 10 }, /* idle since then */
        { .pid = 10, .stamp_us = AT(1000), .sm_percent = 40 },
    };
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_since_us(&clients, 200000), AT(50));
    answer(&clients, usage, 2, 1150);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(400));
    assert_int_equal(nvidia_clients_find(&clients, 20)->busy_ns, MS(100));
    assert_null(nvidia_clients_find(&clients, 15));
    assert_int_equal(clients.covered_ns, MS(1000));
    assert_int_equal(nvidia_clients_since_us(&clients, 200000), AT(1050));
    add(&clients, 10, 2000, 50, 2011);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(900));
    assert_int_equal(nvidia_clients_find(&clients, 20)->busy_ns, MS(100));
    assert_int_equal(clients.covered_ns, MS(2000));
    nvidia_clients_done(&clients);
}

TEST(the_time_after_the_newest_sample_was_idle)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    add(&clients, 10, 400, 20, 2050); /* the mean of all samples up to 2000 ms */
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(400));
    assert_int_equal(clients.covered_ns, MS(2000));
    nvidia_clients_done(&clients);
}

TEST(time_whose_samples_may_still_arrive_is_not_covered_yet)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    add(&clients, 10, 400, 50, 605); /* the sample at 600 ms may not have arrived yet */
    assert_int_equal(clients.covered_ns, MS(400));
    add(&clients, 10, 600, 50, 650);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(300));
    assert_int_equal(clients.covered_ns, MS(600));
    nvidia_clients_done(&clients);
}

TEST(time_is_covered_without_any_samples)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    answer(&clients, NULL, 0, 100);
    assert_int_equal(clients.covered_ns, 0); /* a sample may still arrive */
    answer(&clients, NULL, 0, 2210);
    assert_int_equal(clients.covered_ns, MS(2000));
    add(&clients, 10, 2400, 50, 2450);
    assert_int_equal(clients.covered_ns, MS(2400));
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(200));
    nvidia_clients_done(&clients);
}

TEST(an_exited_process_gets_the_unexplained_busy_time)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    add(&clients, 10, 1000, 80, 1050);
    end_all(&clients, MS(300), 2210);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(800 + 300));
    end_all(&clients, MS(300), 4210);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(1100)); /* counted once */
    nvidia_clients_done(&clients);
}

TEST(an_unlisted_process_gets_its_share_too)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_expect(&clients, 10), 0);
    assert_int_equal(nvidia_clients_expect(&clients, 11), 0);
    end_all(&clients, MS(600), 2210);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(300));
    assert_int_equal(nvidia_clients_find(&clients, 11)->busy_ns, MS(300));
    end_all(&clients, MS(600), 4210);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(300));
    nvidia_clients_done(&clients);
}

TEST(busy_time_of_others_is_not_added_to_exited_processes)
{
    const struct nvml_process_usage usage = { .pid = 11,
                                              .stamp_us = AT(2000),
                                              .sm_percent = 50 };
    struct nvidia_answer all = {
        .list = &usage,
        .count = 1,
        .now_us = AT(2050),
        .period_us = 200000,
        .device_busy_ns = MS(1200),
        .has_ended = all_have_ended,
    };
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_expect(&clients, 10), 0);
    assert_int_equal(nvidia_clients_add(&clients, &all), 0);
    assert_int_equal(nvidia_clients_find(&clients, 11)->busy_ns, MS(1000));
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(200));
    nvidia_clients_done(&clients);
}

TEST(without_device_samples_nothing_is_added_for_exited_processes)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    add(&clients, 10, 1000, 80, 1050);
    end_all(&clients, UNKNOWN, 2210);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(800));
    nvidia_clients_done(&clients);
}

TEST(a_living_process_without_samples_was_idle)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    add(&clients, 10, 1000, 80, 1050);
    answer(&clients, NULL, 0, 2210);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(800));
    nvidia_clients_done(&clients);
}

/* Device samples of 0 0 0 0 0 0 2 55 99 99 %; the first six name no process. */
TEST(samples_without_a_process_are_not_counted)
{
    const struct nvml_process_usage usage = { .pid = 10,
                                              .stamp_us = AT(2000),
                                              .sm_percent = 64 };
    struct nvidia_answer all = {
        .list = &usage,
        .count = 1,
        .now_us = AT(2050),
        .period_us = 200000,
        .device_busy_ns = MS(510),
        .has_ended = none_has_ended,
    };
    struct nvidia_clients clients = { 0 }, blind = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_add(&clients, &all), 0);
    assert_in_range(nvidia_clients_find(&clients, 10)->busy_ns, MS(510) - 1, MS(510));
    assert_int_equal(clients.covered_ns, MS(2000));
    all.device_busy_ns = UNKNOWN;
    nvidia_clients_begin(&blind, AT(0));
    assert_int_equal(nvidia_clients_add(&blind, &all), 0);
    assert_int_equal(nvidia_clients_find(&blind, 10)->busy_ns, MS(1280)); /* as reported */
    nvidia_clients_done(&clients);
    nvidia_clients_done(&blind);
}

TEST(busy_times_of_processes_are_limited_by_the_busy_time_of_the_device)
{
    const struct nvml_process_usage usage[] = {
        { .pid = 10, .stamp_us = AT(1800), .sm_percent = 60 },
        { .pid = 11, .stamp_us = AT(2000), .sm_percent = 20 },
    };
    struct nvidia_answer all = {
        .list = usage,
        .count = 2,
        .now_us = AT(2050),
        .period_us = 200000,
        .device_busy_ns = MS(800),
        .has_ended = all_have_ended,
    };
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_expect(&clients, 12), 0);
    assert_int_equal(nvidia_clients_add(&clients, &all), 0);
    assert_in_range(nvidia_clients_find(&clients, 10)->busy_ns, MS(600) - 1, MS(600));
    assert_in_range(nvidia_clients_find(&clients, 11)->busy_ns, MS(200) - 1, MS(200));
    assert_int_equal(nvidia_clients_find(&clients, 12)->busy_ns,
                     0); /* no busy time is left for this process */
    nvidia_clients_done(&clients);
}

TEST(processes_of_an_idle_device_were_idle)
{
    const struct nvml_process_usage usage = { .pid = 10,
                                              .stamp_us = AT(2000),
                                              .sm_percent = 1 };
    struct nvidia_answer all = {
        .list = &usage,
        .count = 1,
        .now_us = AT(2050),
        .device_busy_ns = 0,
        .has_ended = none_has_ended,
    };
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_add(&clients, &all), 0);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, 0);
    nvidia_clients_done(&clients);
}

TEST(covered_time_ends_with_the_last_device_sample)
{
    struct nvidia_answer all = {
        .now_us = AT(2900),
        .period_us = 200000,
        .device_busy_ns = 0,
        .device_last_us = AT(2000),
        .has_ended = none_has_ended,
    };
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    assert_int_equal(nvidia_clients_add(&clients, &all), 0);
    assert_int_equal(clients.covered_ns, MS(2000));
    all.now_us = AT(9000); /* no new device sample since */
    assert_int_equal(nvidia_clients_add(&clients, &all), 0);
    assert_int_equal(clients.covered_ns, MS(2000));
    nvidia_clients_done(&clients);
}

TEST(damaged_samples_are_dropped)
{
    const struct nvml_process_usage usage[] = {
        { .pid = 0, .stamp_us = AT(200), .sm_percent = 10 },
        { .pid = 4000000000u, .stamp_us = AT(200), .sm_percent = 10 },
        { .pid = 10, .stamp_us = AT(200), .sm_percent = 101 },
        { .pid = 10, .stamp_us = START_US - 1, .sm_percent = 10 },
        { .pid = 10, .stamp_us = UINT64_MAX, .sm_percent = 10 },
        { .pid = 11, .stamp_us = AT(200), .sm_percent = 10 },
        { .pid = 11, .stamp_us = AT(200), .sm_percent = 10 }, /* a duplicate */
    };
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    answer(&clients, usage, 7, 250);
    assert_int_equal(clients.count, 1);
    assert_int_equal(nvidia_clients_find(&clients, 11)->busy_ns, MS(20));
    nvidia_clients_done(&clients);
}

TEST(a_clock_that_was_set_back_does_not_stop_the_count)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(900000));
    answer(&clients, NULL, 0, 100);
    add(&clients, 10, 300, 100, 350);
    assert_int_equal(nvidia_clients_find(&clients, 10)->busy_ns, MS(200));
    nvidia_clients_done(&clients);
}

TEST(the_longest_idle_process_is_dropped_if_there_are_too_many)
{
    struct nvidia_clients clients = { 0 };

    nvidia_clients_begin(&clients, AT(0));
    for (unsigned i = 0; i < NVIDIA_CLIENTS_MAX + 1; i++)
        add(&clients, 100000 - i, 200 + 200 * i, 10, 211 + 200 * i);
    assert_int_equal(clients.count, NVIDIA_CLIENTS_MAX);
    assert_null(nvidia_clients_find(&clients, 100000));
    assert_non_null(nvidia_clients_find(&clients, 99999));
    for (size_t i = 1; i < clients.count; i++)
        assert_true(clients.list[i - 1].pid < clients.list[i].pid);
    nvidia_clients_done(&clients);
}
