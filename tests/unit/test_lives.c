/* SPDX-License-Identifier: Apache-2.0 */

#include "base/unknown.h"
#include "job/lives.h"
#include "unit_test.h"

static void live(struct lives *lives, uint64_t from_ns, uint64_t to_ns,
                 const struct exit_record *record)
{
    struct process process = { .pid = 42 };

    lives_start(lives, &process, from_ns);
    process.ended_ns = to_ns;
    if (record)
        lives_note_record(&process, record);
    lives_end(lives, &process);
}

static void the_bound_is_over_processes_alive_together(void **state)
{
    struct lives lives = { 0 };

    (void)state;
    lives_open(&lives);
    assert_non_null(lives.timeline);
    live(&lives, 10, 20, &(struct exit_record){ .peak_rss_bytes = 100 });
    live(&lives, 15, 30, &(struct exit_record){ .peak_rss_bytes = 50 });
    live(&lives, 25, 40, &(struct exit_record){ .peak_rss_bytes = 70 });
    assert_int_equal(lives_bound_bytes(&lives), 150);
    lives_close_moments(&lives, &(struct roster){ 0 });
    assert_int_equal(lives.timeline->count, 0);
    /* Borrowed memory belongs to another process. */
    live(&lives, 110, 120,
         &(struct exit_record){ .peak_rss_bytes = 900, .may_be_borrowed = true });
    assert_int_equal(lives_bound_bytes(&lives), 150);
    lives_close(&lives);
}

static void without_a_record_there_is_no_bound(void **state)
{
    struct lives lives = { 0 };

    (void)state;
    assert_int_equal(lives_bound_bytes(&lives), UNKNOWN);
    lives_open(&lives);
    assert_int_equal(lives_bound_bytes(&lives), 0);
    live(&lives, 10, 20, &(struct exit_record){ .peak_rss_bytes = UNKNOWN });
    assert_int_equal(lives_bound_bytes(&lives), UNKNOWN);
    lives_close(&lives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_over_processes_alive_together),
        cmocka_unit_test(without_a_record_there_is_no_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
