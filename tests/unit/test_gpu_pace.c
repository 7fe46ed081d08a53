/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "session/gpu_pace.h"
#include "unit_test.h"

#define MS(n) ((n)*NS_PER_MS)
#define US(n) ((n)*NS_PER_US)
#define S(n) ((n)*NS_PER_SECOND)

/* A run in which a quick look costs 100 us and a slow look 5 ms. */
struct run {
    struct gpu_pace pace;
    struct budget budget;
    struct budget *limit; /* &budget, or NULL */
    struct gpu_job_state job;
    struct gpu_findings found;
    uint64_t now_ns;
    unsigned quick, slow; /* looks so far */
    uint64_t spent_ns;
};

static void begin(struct run *run, bool is_for_host)
{
    *run = (struct run){ .found = { .holds_context = true, .utilization = 500000 },
                         .now_ns = S(1) };
    budget_init(&run->budget, BUDGET_MILLIONTHS, run->now_ns);
    gpu_pace_init(&run->pace, run->now_ns, is_for_host);
}

static void look(struct run *run)
{
    enum gpu_look look = gpu_pace_begin(&run->pace, run->now_ns, &run->job, run->limit);
    uint64_t cost_ns = look == GPU_LOOK_NONE ? 0 : look == GPU_LOOK_QUICK ? US(100) : MS(5);

    run->quick += look == GPU_LOOK_QUICK;
    run->slow += look == GPU_LOOK_SLOW;
    if (look == GPU_LOOK_NONE)
        return;
    run->spent_ns += cost_ns;
    budget_charge(&run->budget, SPENT_GPUS, cost_ns);
    gpu_pace_end(&run->pace, run->now_ns, cost_ns, &run->found);
}

static void go_on_until(struct run *run, uint64_t end_ns)
{
    while (run->pace.due_ns < end_ns) {
        uint64_t gap_ns =
            run->pace.due_ns > run->now_ns ? run->pace.due_ns - run->now_ns : US(10);

        run->now_ns += gap_ns;
        budget_earn(&run->budget, run->now_ns, run->now_ns); /* the job uses one core */
        look(run);
    }
}

static uint64_t next_gap(struct run *run)
{
    uint64_t before_ns = run->now_ns;

    go_on_until(run, run->pace.due_ns + 1);
    return run->now_ns - before_ns;
}

TEST(drivers_are_opened_at_the_first_reading)
{
    struct run run;

    begin(&run, false);
    run.pace.due_ns = S(2);
    look(&run);
    assert_int_equal(run.slow, 0);
    run.now_ns = S(2);
    look(&run);
    assert_int_equal(run.slow, 1);
    assert_int_equal(run.pace.due_ns, S(2)); /* a quick look follows at once */
}

TEST(gpu_readings_become_rare_while_memory_is_unchanged)
{
    static const uint64_t gaps[] = { MS(54), MS(108), MS(216), MS(250), MS(250) };
    struct run run;

    begin(&run, false);
    go_on_until(&run, S(1) + 1);
    (void)next_gap(&run);
    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
        assert_int_equal(next_gap(&run), gaps[i]);
    run.found.memory_bytes = 5;
    (void)next_gap(&run);
    assert_int_equal(next_gap(&run), MS(27));
}

TEST(gpus_are_read_rarely_for_a_job_that_uses_none)
{
    struct run run;

    begin(&run, false);
    run.found = (struct gpu_findings){ .utilization = 900000 }; /* usage of other processes */
    go_on_until(&run, S(11));
    assert_in_range(run.quick, 24, 28);
    assert_int_equal(run.slow, 1);
    run.job.started_count += 10;
    look(&run); /* must not look because of new processes */
    assert_int_equal(next_gap(&run), MS(400));
    run.found.holds_context = true;
    go_on_until(&run, S(14));
    assert_in_range(run.quick, 30, 55);
    assert_int_equal(run.slow, 2); /* a slow look once the driver has samples */
}

TEST(a_new_process_shortens_the_interval_to_the_next_reading)
{
    struct run run;

    begin(&run, false);
    go_on_until(&run, S(3));
    run.now_ns += MS(1);
    run.job.started_count++;
    look(&run); /* called before a look is due */
    assert_in_range(run.pace.due_ns, run.now_ns, run.now_ns + MS(27));
}

TEST(gpus_of_an_idle_job_are_read_every_2_seconds)
{
    struct run run;
    unsigned quick, slow;

    begin(&run, false);
    go_on_until(&run, S(3));
    quick = run.quick;
    run.job.rests = true;
    look(&run); /* one look when the job becomes idle */
    assert_int_equal(run.quick, quick + 1);
    slow = run.slow;
    go_on_until(&run, S(23));
    assert_in_range(run.quick, quick + 6, quick + 10); /* reads the power of the job's GPU */
    assert_in_range(run.slow, slow + 3, slow + 5);     /* every 5 s, because the GPU is busy */
    run.found.holds_context = false;
    go_on_until(&run, S(25));
    quick = run.quick;
    go_on_until(&run, S(45));
    assert_int_equal(run.quick, quick);
    run.job.rests = false;
    look(&run);
    assert_int_equal(run.pace.due_ns, run.now_ns + MS(100));
}

TEST(a_quiet_gpu_is_read_every_10_seconds)
{
    struct run run;

    begin(&run, false);
    run.job.rests = true;
    run.found.utilization = 0;
    go_on_until(&run, S(42));
    assert_in_range(run.slow, 4, 6);
}

TEST(the_machines_gpus_are_read_even_if_the_job_is_idle)
{
    struct run run;

    begin(&run, true);
    run.job.rests = true;
    run.found = (struct gpu_findings){ 0 };
    go_on_until(&run, S(21));
    assert_in_range(run.slow, 5, 6); /* every 5 s, because of their cost */
    assert_in_range(run.quick, 40, 50);
}

/* GPU memory is mapped in the process that allocates it. */
TEST(a_change_of_the_address_space_causes_a_reading)
{
    struct run run;

    for (int rests = 0; rests <= 1; rests++) {
        unsigned before;

        begin(&run, false);
        run.job.space_bytes = (uint64_t)50 << 30;
        run.found.memory_bytes = (uint64_t)1 << 30;
        run.job.rests = rests;
        go_on_until(&run, S(11));
        before = run.quick;
        for (int i = 0; i < 10; i++) {
            run.now_ns += MS(300); /* longer than any gap */
            run.job.space_bytes ^= (uint64_t)64 << 20;
            look(&run);
            run.now_ns += MS(1);
            look(&run); /* no second look follows */
        }
        assert_in_range(run.quick - before, 7, 10); /* others are slow looks */
        before = run.quick + run.slow;
        for (int i = 0; i < 10; i++) {
            run.now_ns += MS(1);
            run.job.space_bytes ^= (uint64_t)63 << 20; /* less than a 16th of 1 GiB */
            look(&run);
        }
        assert_in_range(run.quick + run.slow - before, 0, 1);
    }
}

/* An idle job allocates GPU memory for 30 ms while the budget does not yet allow opening the
 * drivers. */
TEST(a_change_of_the_address_space_does_not_wait_for_the_budget)
{
    struct run run;
    unsigned before;

    begin(&run, false);
    run.limit = &run.budget;
    run.job.space_bytes = (uint64_t)17 << 30;
    run.job.rests = true;
    go_on_until(&run, S(2));
    budget_charge(&run.budget, SPENT_GPUS, MS(100));
    before = run.quick;
    for (unsigned i = 1; i <= 5; i++) {
        run.now_ns += MS(100);
        run.job.space_bytes += (uint64_t)i << 32;
        look(&run);
        assert_int_equal(run.quick - before, i);
        run.now_ns += MS(30); /* released; the next look waits for the budget */
        run.job.space_bytes -= (uint64_t)i << 32;
        look(&run);
        assert_int_equal(run.quick - before, i);
    }
}

/* The job creates its first context and becomes idle: without this look, spoor would not
 * notice the context. */
TEST(gpus_of_an_idle_job_are_read_once_even_if_the_budget_delays_it)
{
    struct run run;

    for (int holds_context = 0; holds_context <= 1; holds_context++) {
        unsigned before;

        begin(&run, false);
        run.limit = &run.budget;
        run.found.holds_context = holds_context;
        go_on_until(&run, S(2));
        budget_charge(&run.budget, SPENT_GPUS, MS(20));
        before = run.quick;
        run.job.rests = true;
        look(&run);
        assert_int_equal(run.quick - before, !holds_context);
        budget_earn(&run.budget, run.now_ns + S(60), run.now_ns + S(60));
        run.now_ns += MS(25);
        look(&run);
        assert_int_equal(run.quick - before, 1); /* as soon as the budget allows it */
        run.now_ns += MS(25);
        look(&run);
        assert_int_equal(run.quick - before, 1);
    }
}

/* The job uses one core, so the budget earns 0.35 % of a core. */
TEST(the_budget_is_respected)
{
    struct run run;

    begin(&run, false);
    run.limit = &run.budget;
    for (uint64_t end_ns = S(2); end_ns < S(61); end_ns += S(1)) {
        run.found.memory_bytes++; /* the memory changes all the time */
        run.job.started_count += 10;
        go_on_until(&run, end_ns);
    }
    assert_in_range(run.spent_ns, MS(60), MS(10) + 60 * NS_PER_SECOND * 35 / 10000);
}

TEST(gpus_are_read_once_a_second_if_the_budget_is_empty)
{
    struct run run;

    begin(&run, false);
    run.limit = &run.budget;
    budget_init(&run.budget, 0, run.now_ns);
    budget_charge(&run.budget, SPENT_GPUS, S(1));
    go_on_until(&run, S(31));
    assert_in_range(run.quick, 20, 31);
    assert_in_range(run.slow, 3, 4);
}

TEST(completion_of_a_long_reading_is_checked_less_and_less_often)
{
    struct gpu_pace pace;
    struct gpu_job_state job = { 0 };
    unsigned checks = 0;

    gpu_pace_init(&pace, S(1), false);
    assert_int_equal(gpu_pace_begin(&pace, S(1), &job, NULL), GPU_LOOK_SLOW);
    for (; pace.due_ns < S(61); checks++)
        gpu_pace_wait(&pace, pace.due_ns);
    assert_in_range(checks, 60, 70);
}
