/* SPDX-License-Identifier: Apache-2.0 */

#include "job/lives.h"
#include "unit_test.h"

static void only_processes_alive_together_add_up(void **state)
{
    struct peak_timeline timeline = { 0 };

    (void)state;
    assert_int_equal(peak_timeline_highest(&timeline), 0);
    peak_timeline_start(&timeline, 10); /* to 30 */
    peak_timeline_start(&timeline, 20); /* to 40 */
    peak_timeline_end(&timeline, &(struct peak_life){ 10, 30, 100 });
    assert_int_equal(peak_timeline_highest(&timeline), 100);
    peak_timeline_start(&timeline, 35); /* to 50 */
    peak_timeline_end(&timeline, &(struct peak_life){ 20, 40, 50 });
    assert_int_equal(peak_timeline_highest(&timeline), 150);
    peak_timeline_end(&timeline, &(struct peak_life){ 35, 50, 60 });
    assert_int_equal(peak_timeline_highest(&timeline), 150);
}

/* The event of a start may arrive after that of a later exit. */
static void a_late_start_counts_exited_processes(void **state)
{
    struct peak_timeline timeline = { 0 };

    (void)state;
    peak_timeline_start(&timeline, 10);
    peak_timeline_end(&timeline, &(struct peak_life){ 10, 30, 100 });
    peak_timeline_start(&timeline, 29);
    peak_timeline_end(&timeline, &(struct peak_life){ 29, 40, 50 });
    assert_int_equal(peak_timeline_highest(&timeline), 150);
}

static void a_long_lived_process_counts_with_all(void **state)
{
    struct peak_timeline timeline = { 0 };

    (void)state;
    peak_timeline_start(&timeline, 1);
    for (uint64_t i = 1; i <= 5; i++) {
        peak_timeline_start(&timeline, 10 * i);
        peak_timeline_end(&timeline, &(struct peak_life){ 10 * i, 10 * i + 5, i });
        peak_timeline_close_moments(&timeline, 1); /* the first is alive: nothing is final */
    }
    peak_timeline_end(&timeline, &(struct peak_life){ 1, 30, 100 });
    assert_int_equal(peak_timeline_highest(&timeline), 103);
    peak_timeline_close_moments(&timeline, 1000);
    assert_int_equal(timeline.count, 0);
    assert_int_equal(peak_timeline_highest(&timeline), 103);
}

/* Ten at a time, of 1 MB each, and one that outlives them all. */
static void many_processes_have_an_upper_bound(void **state)
{
    struct peak_timeline timeline = { 0 };
    uint64_t count = 10 * PEAK_MOMENTS_MAX;

    (void)state;
    peak_timeline_start(&timeline, 0);
    for (uint64_t i = 1; i <= count; i++) {
        peak_timeline_start(&timeline, i);
        if (i > 9)
            peak_timeline_end(&timeline, &(struct peak_life){ i - 9, i, 1 });
    }
    peak_timeline_end(&timeline, &(struct peak_life){ 0, count, 100 });
    assert_in_range(timeline.count, 1, PEAK_MOMENTS_MAX);
    /* Joining adds lives next to each other, a few times ten of them. */
    assert_in_range(peak_timeline_highest(&timeline), 110, 100 + 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_processes_alive_together_add_up),
        cmocka_unit_test(a_late_start_counts_exited_processes),
        cmocka_unit_test(a_long_lived_process_counts_with_all),
        cmocka_unit_test(many_processes_have_an_upper_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
