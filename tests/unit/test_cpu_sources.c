/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "job/cpu_sources.h"
#include "job/exactness.h"
#include "unit_test.h"

#define MS NS_PER_MS

static struct cpu_choice choose(uint64_t tree_ms, uint64_t cgroup_ms, uint64_t perf_ms)
{
    struct cpu_counts counts = {
        .tree_ns = is_known(tree_ms) ? tree_ms * MS : UNKNOWN,
        .cgroup_ns = is_known(cgroup_ms) ? cgroup_ms * MS : UNKNOWN,
        .perf_ns = is_known(perf_ms) ? perf_ms * MS : UNKNOWN,
        .waited_ns = is_known(tree_ms) ? tree_ms * MS : UNKNOWN,
    };

    return cpu_sources_choose(&counts);
}

/* Returns whether the count of a job that has ended would be exact. */
static bool is_exact(struct cpu_choice choice)
{
    static const enum counted_by by[] = {
        [CPU_FROM_TREE] = COUNTED_BY_CPU_CLOCKS,
        [CPU_FROM_CGROUP] = COUNTED_BY_CGROUP,
        [CPU_FROM_PERF] = COUNTED_BY_PERF,
    };
    const struct evidence evidence = {
        .was_spawned = true,
        .has_begun = true,
        .has_ended = true,
        .has_unwaited = choice.has_unwaited,
        .is_confirmed = choice.is_confirmed,
        .left_cgroup = choice.left_cgroup,
        .cpu_ns = UNKNOWN,
    };

    return count_is_exact(&evidence, by[choice.source]);
}

TEST(the_cgroup_is_exact_if_nothing_contradicts_it)
{
    struct cpu_choice choice = choose(1000, 1001, 1003);

    assert_int_equal(choice.source, CPU_FROM_CGROUP);
    assert_true(is_exact(choice));
    assert_true(choice.is_confirmed);
    assert_false(choice.left_cgroup);
}

TEST(the_cgroup_counts_processes_that_were_never_waited_for)
{
    struct cpu_choice choice = choose(100, 1000, 1000);

    assert_int_equal(choice.source, CPU_FROM_CGROUP);
    assert_true(is_exact(choice));
    assert_true(choice.has_unwaited);
    assert_false(choice.is_confirmed);
}

TEST(a_cgroup_with_less_cpu_time_than_its_processes_is_not_used)
{
    struct cpu_choice choice = choose(2000, 7, UNKNOWN);

    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_true(choice.left_cgroup);
    assert_false(is_exact(choice));
    choice = choose(2000, 7, 2001); /* perf confirms the tree, but the cgroup still disagrees */
    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_false(is_exact(choice));
    assert_true(choice.is_confirmed);
}

TEST(the_larger_count_is_used_if_processes_left_the_cgroup)
{
    struct cpu_counts counts = {
        .tree_ns = 100 * MS, .cgroup_ns = 900 * MS, .perf_ns = UNKNOWN, .left_cgroup = true
    };
    struct cpu_choice choice = cpu_sources_choose(&counts);

    assert_int_equal(choice.source, CPU_FROM_CGROUP);
    assert_false(is_exact(choice));
}

TEST(the_sum_over_processes_is_exact_if_perf_confirms_it)
{
    struct cpu_choice choice = choose(1000, UNKNOWN, 1005);

    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_true(is_exact(choice));
    choice = choose(1000, UNKNOWN, 1100);
    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_false(is_exact(choice));
    assert_false(is_exact(choose(1000, UNKNOWN, UNKNOWN)));
}

TEST(much_more_cpu_time_from_perf_indicates_unwaited_processes)
{
    struct cpu_choice choice = choose(100, UNKNOWN, 1000);

    assert_int_equal(choice.source, CPU_FROM_PERF);
    assert_false(is_exact(choice));
    assert_true(choice.has_unwaited);
}

/* Values of a real run: 0.61 s of CPU time, counted as 0.77 s by perf because the hypervisor
 * used the CPU. */
TEST(stolen_time_does_not_count_as_unwaited_processes)
{
    struct cpu_counts counts = {
        .tree_ns = 610 * MS, .cgroup_ns = UNKNOWN, .perf_ns = 773 * MS, .stolen_ns = 170 * MS
    };
    struct cpu_choice choice = cpu_sources_choose(&counts);

    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_false(choice.has_unwaited);
    assert_false(is_exact(choice));
    counts.cgroup_ns = 610 * MS;
    assert_true(is_exact(cpu_sources_choose(&counts)));
    counts.cgroup_ns = UNKNOWN;
    counts.stolen_ns = UNKNOWN;
    assert_int_equal(cpu_sources_choose(&counts).source, CPU_FROM_TREE);
    counts.perf_ns = 2000 * MS;
    counts.stolen_ns = 900 * MS;
    assert_int_equal(cpu_sources_choose(&counts).source, CPU_FROM_PERF);
    counts.stolen_ns = 1400 * MS;
    assert_int_equal(cpu_sources_choose(&counts).source, CPU_FROM_TREE);
    counts.is_suspect =
        true; /* unwaited children are now more likely than that much stolen time */
    assert_int_equal(cpu_sources_choose(&counts).source, CPU_FROM_PERF);
}

/* Values of a real run: 0.20 s of CPU time, counted as 0.51 s by perf. */
TEST(a_single_process_has_no_children_to_wait_for)
{
    struct cpu_counts counts = {
        .tree_ns = 201 * MS, .cgroup_ns = UNKNOWN, .perf_ns = 514 * MS, .is_alone = true
    };
    struct cpu_choice choice = cpu_sources_choose(&counts);

    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_true(is_exact(choice));
}

/* perf stops counting before an exiting process frees its memory. */
TEST(perf_is_not_used_if_the_sum_over_processes_is_larger)
{
    struct cpu_counts counts = {
        .tree_ns = 2000 * MS, .cgroup_ns = UNKNOWN, .perf_ns = 1800 * MS, .saw_unwaited = true
    };
    struct cpu_choice choice = cpu_sources_choose(&counts);

    assert_int_equal(choice.source, CPU_FROM_TREE);
    assert_true(choice.has_unwaited);
    assert_false(is_exact(choice));
}

TEST(a_single_source_is_used)
{
    assert_int_equal(choose(UNKNOWN, UNKNOWN, 5).source, CPU_FROM_PERF);
    assert_int_equal(choose(UNKNOWN, 5, UNKNOWN).source, CPU_FROM_CGROUP);
    assert_int_equal(choose(UNKNOWN, UNKNOWN, UNKNOWN).source, CPU_FROM_TREE);
    assert_false(is_exact(choose(UNKNOWN, UNKNOWN, UNKNOWN)));
}

static uint64_t add(struct cpu_total *total, uint64_t tree_ms, uint64_t perf_ms,
                    enum cpu_source source)
{
    const struct cpu_counts counts = {
        .tree_ns = tree_ms * MS,
        .cgroup_ns = UNKNOWN,
        .perf_ns = is_known(perf_ms) ? perf_ms * MS : UNKNOWN,
    };

    return cpu_total_add(total, &counts, source) / MS;
}

/* For an attached job, perf is first read at the end, and includes unwaited processes. */
TEST(a_change_of_source_does_not_count_as_usage)
{
    struct cpu_total total = { 0 };

    assert_int_equal(add(&total, 5000, UNKNOWN, CPU_FROM_TREE), 0);
    assert_int_equal(add(&total, 7000, UNKNOWN, CPU_FROM_TREE), 0);
    assert_int_equal(total.reported_ns, 7000 * MS);
    assert_int_equal(add(&total, 7100, 90000, CPU_FROM_PERF), 90000 - 7100);
    assert_int_equal(total.reported_ns, 7100 * MS);
    assert_int_equal(add(&total, 7100, 90500, CPU_FROM_PERF), 90000 - 7100);
    assert_int_equal(total.reported_ns, 7600 * MS);
}

TEST(cpu_time_counted_only_by_an_unread_counter_is_not_added_later)
{
    struct cpu_total total = { 0 };

    assert_int_equal(add(&total, 1000, 1000, CPU_FROM_TREE), 0);
    assert_int_equal(add(&total, 2000, UNKNOWN, CPU_FROM_TREE), 0);
    assert_int_equal(add(&total, 2300, 3000, CPU_FROM_PERF), 700);
    assert_int_equal(total.reported_ns, 2300 * MS);
}

/* The tree includes the time of exited processes, perf the time of running ones. */
TEST(time_is_not_counted_twice)
{
    struct cpu_total total = { 0 };

    assert_int_equal(add(&total, 10, 10, CPU_FROM_TREE), 0);
    assert_int_equal(add(&total, 10, 800, CPU_FROM_PERF), 0);
    assert_int_equal(add(&total, 1000, 990, CPU_FROM_TREE), 0);
    assert_int_equal(total.reported_ns, 1000 * MS);
}

TEST(reported_time_never_falls)
{
    struct cpu_total total = { 0 };

    assert_int_equal(add(&total, 1000, UNKNOWN, CPU_FROM_TREE), 0);
    assert_int_equal(add(&total, 900, UNKNOWN, CPU_FROM_TREE), 0);
    assert_int_equal(total.reported_ns, 1000 * MS);
    assert_int_equal(add(&total, 1100, UNKNOWN, CPU_FROM_TREE), 0);
    assert_int_equal(total.reported_ns, 1100 * MS);
}

/* A run in a PID namespace without its /proc, where only main's clock is known: perf counted
 * 0.60 s, and wait4 0.30 s at the end. */
TEST(stolen_time_is_not_reported_until_wait4_returns)
{
    struct cpu_total total = { 0 };
    struct cpu_counts counts = { .tree_ns = 200 * MS,
                                 .cgroup_ns = UNKNOWN,
                                 .perf_ns = 600 * MS,
                                 .stolen_ns = 320 * MS,
                                 .awaits_wait4 = true };

    (void)cpu_total_add(&total, &counts, CPU_FROM_PERF);
    assert_int_equal(total.reported_ns, 280 * MS);
    counts.stolen_ns = 450 * MS; /* an upper bound: not less than the sum over processes */
    (void)cpu_total_add(&total, &counts, CPU_FROM_PERF);
    assert_int_equal(total.reported_ns, 280 * MS);
    counts.tree_ns = 302 * MS;
    counts.awaits_wait4 = false;
    assert_int_equal(cpu_total_add(&total, &counts, CPU_FROM_TREE), 0);
    assert_int_equal(total.reported_ns, 302 * MS);
}

TEST(user_and_system_time_add_up_to_the_total)
{
    struct cpu_split last = { 0 }, split;

    split = cpu_split_divide(&last, 5, (struct cpu_split){ 0, 0 });
    assert_int_equal(split.first_ns, 5); /* no tick yet: all of it counts as user time */
    last = (struct cpu_split){ 0 };
    split = cpu_split_divide(&last, 1000, (struct cpu_split){ 900, 300 });
    assert_int_equal(split.first_ns, 750);
    assert_int_equal(split.second_ns, 250);
    split = cpu_split_divide(&last, 1100, (struct cpu_split){ 1200, 300 });
    assert_int_equal(split.first_ns, 850);
    assert_int_equal(split.second_ns, 250); /* not 220, as by ticks: time never decreases */
    split = cpu_split_divide(&last, 1200, (struct cpu_split){ 1200, 900 });
    assert_int_equal(split.first_ns, 850);
    assert_int_equal(split.second_ns, 350);
    split = cpu_split_divide(&last, 5, (struct cpu_split){ UNKNOWN, 7 });
    assert_false(is_known(split.first_ns));
}
