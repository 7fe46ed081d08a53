/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
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

TEST(the_bound_is_the_peak_sum_over_processes_alive_together)
{
    struct lives lives = { 0 };

    live(&lives, 10, 20, &(struct exit_record){ .peak_rss_bytes = 100 });
    live(&lives, 15, 30, &(struct exit_record){ .peak_rss_bytes = 50 });
    live(&lives, 25, 40, &(struct exit_record){ .peak_rss_bytes = 70 });
    assert_int_equal(lives_bound_bytes(&lives), 150);
    lives_close_moments(&lives, &(struct roster){ 0 });
    assert_int_equal(lives.count, 0);
    /* Borrowed memory belongs to another process. */
    live(&lives, 110, 120,
         &(struct exit_record){ .peak_rss_bytes = 900, .may_be_borrowed = true });
    assert_int_equal(lives_bound_bytes(&lives), 150);
}

TEST(without_a_record_there_is_no_bound)
{
    struct lives lives = { 0 };

    assert_int_equal(lives_bound_bytes(NULL), UNKNOWN);
    assert_int_equal(lives_bound_bytes(&lives), 0);
    live(&lives, 10, 20, &(struct exit_record){ .peak_rss_bytes = UNKNOWN });
    assert_int_equal(lives_bound_bytes(&lives), UNKNOWN);
}

static void end(struct lives *lives, struct process *process, uint64_t to_ns, uint64_t bytes)
{
    process->ended_ns = to_ns;
    process->peak_bytes = bytes;
    lives_end(lives, process);
}

TEST(only_processes_alive_together_add_up)
{
    struct process first = { .pid = 1 }, second = { .pid = 2 }, third = { .pid = 3 };
    struct lives lives = { 0 };

    assert_int_equal(lives_bound_bytes(&lives), 0);
    lives_start(&lives, &first, 10);
    lives_start(&lives, &second, 20);
    end(&lives, &first, 30, 100);
    assert_int_equal(lives_bound_bytes(&lives), 100);
    lives_start(&lives, &third, 35);
    end(&lives, &second, 40, 50);
    assert_int_equal(lives_bound_bytes(&lives), 150);
    end(&lives, &third, 50, 60);
    assert_int_equal(lives_bound_bytes(&lives), 150);
}

/* The event of a start may arrive after the event of an exit that happened later. */
TEST(a_process_reported_late_is_added_to_processes_that_have_exited_since)
{
    struct process first = { .pid = 1 }, second = { .pid = 2 };
    struct lives lives = { 0 };

    lives_start(&lives, &first, 10);
    end(&lives, &first, 30, 100);
    lives_start(&lives, &second, 29);
    end(&lives, &second, 40, 50);
    assert_int_equal(lives_bound_bytes(&lives), 150);
}

TEST(a_long_lived_process_is_added_to_all_later_ones)
{
    struct roster roster = { 0 };
    struct process *first = roster_add(&roster, 1), other = { .pid = 2 };
    struct lives lives = { 0 };

    assert_non_null(first);
    first->threads = 1;
    lives_start(&lives, first, 1);
    for (uint64_t i = 1; i <= 5; i++) {
        lives_start(&lives, &other, 10 * i);
        end(&lives, &other, 10 * i + 5, i);
        lives_close_moments(&lives, &roster); /* process 1 is alive: nothing is final */
    }
    end(&lives, first, 30, 100);
    assert_int_equal(lives_bound_bytes(&lives), 103);
    lives_close_moments(&lives, &roster);
    assert_int_equal(lives.count, 0);
    assert_int_equal(lives_bound_bytes(&lives), 103);
    roster_done(&roster);
}

/* Ten processes of 1 byte run in turn, while one of 100 bytes outlives them all. */
TEST(many_processes_have_an_upper_bound)
{
    struct process first = { .pid = 1 }, others[10] = { 0 };
    struct lives lives = { 0 };
    uint64_t count = 10 * LIVES_MOMENTS_MAX;

    lives_start(&lives, &first, 1);
    for (uint64_t i = 2; i <= count; i++) {
        lives_start(&lives, &others[i % 10], i);
        if (i > 10)
            end(&lives, &others[(i - 9) % 10], i, 1);
    }
    end(&lives, &first, count, 100);
    assert_in_range(lives.count, 1, LIVES_MOMENTS_MAX);
    /* Merged moments add up some lives that did not overlap: a few tens of bytes here. */
    assert_in_range(lives_bound_bytes(&lives), 110, 100 + 64);
}
