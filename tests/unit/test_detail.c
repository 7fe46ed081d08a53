/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/unknown.h"
#include "fake_memory.h"

static void mappings_settle_what_sums_leave_open(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put_file_job(&f);
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 230 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 30 * MB);
    assert_int_equal(f.estimate.combined.shared_bytes, 200 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 220 * MB);
    assert_int_equal(f.estimate.main.total_bytes, 10 * MB);
    assert_int_equal(f.detail.sharing.reads, 1);
    memory_end(&f);
}

static void each_level_can_be_switched_off(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    f.detail.sharing.uses_smaps = false;
    memory_put_file_job(&f);
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    assert_int_equal(f.estimate.ambiguity_bytes, 100 * MB);
    assert_int_equal(f.detail.sharing.reads, 0);
    memory_end(&f);
}

static void a_correction_is_kept_while_files_stand_still(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put_file_job(&f);
    memory_update(&f);
    /* Main grows; its mappings are not looked at again. */
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 60 });
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 280 * MB);
    assert_int_equal(f.detail.sharing.reads, 1);
    /* The file's part moves by a tenth. */
    memory_put(&f,
               &(struct fake_memory){ .pid = CHILD, .own = 10, .file = 80, .file_pss = 27 });
    memory_update(&f);
    assert_int_equal(f.detail.sharing.reads, 2);
    assert_int_equal(f.estimate.combined.total_bytes, 260 * MB);
    /* A process comes. */
    memory_put(&f, &(struct fake_memory){ .pid = CHILD + 2, .own = 5 });
    memory_update(&f);
    assert_int_equal(f.detail.sharing.reads, 3);
    assert_int_equal(f.estimate.combined.total_bytes, 265 * MB);
    memory_end(&f);
}

/* A file shown twice, 50 MB later: 150 of 200 resident MB are distinct. Between reads the
 * total follows the size from there; it does not jump to it. */
static void a_file_mapped_twice_counts_once(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){
                       .pid = MAIN, .own = 10, .file = 100, .file_pss = 75, .twice = 50 });
    memory_update(&f);
    assert_int_equal(f.estimate.main.total_bytes, 160 * MB);
    assert_int_equal(f.estimate.combined.total_bytes, 160 * MB);
    members_find(&f.members, MAIN)->rss_bytes += MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 161 * MB);
    assert_int_equal(f.estimate.main.total_bytes, 161 * MB);
    memory_end(&f);
}

/* A doubt that proved to be nothing is not looked into at every change. */
static void libraries_are_not_suspected_twice(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10, .file = 20, .file_pss = 1 });
    memory_update(&f);
    assert_int_equal(f.detail.sharing.reads, 1);
    assert_int_equal(f.estimate.main.total_bytes, 30 * MB);
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 10 });
    memory_update(&f);
    assert_int_equal(f.detail.sharing.reads, 1);
    memory_end(&f);
}

static void what_there_is_no_time_for_is_done_later(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    f.detail.tokens_ns = 12 * (int64_t)NS_PER_MS; /* enough for the sums alone */
    f.detail.sharing.areas_per_process = 3000;
    memory_put_file_job(&f);
    memory_update(&f);
    assert_int_equal(f.detail.reads, 1);
    assert_int_equal(f.detail.sharing.reads, 0);
    assert_true(f.detail.is_unsettled);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    /* Nothing moves, but time comes together: 3.3 ms in a second. */
    for (int i = 0; i < 20 && f.detail.is_unsettled; i++)
        memory_update(&f);
    assert_false(f.detail.is_unsettled);
    assert_int_equal(f.estimate.combined.total_bytes, 230 * MB);
    memory_end(&f);
}

static void time_spent_beyond_the_budget_is_owed(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_update(&f);
    f.detail.walk_cost.page_ns = 16;
    f.detail.tokens_ns = -4 * (int64_t)NS_PER_MS; /* a second brings 3.3 ms */
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 1);
    assert_int_equal(f.estimate.combined.total_bytes, 51 * MB);
    memory_update(&f);
    assert_int_equal(f.detail.reads, 2);
    memory_end(&f);
}

static void between_reads_values_follow_the_resident_sizes(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 10, .shared = 50, .shared_pss = 25 });
    memory_put(
        &f, &(struct fake_memory){ .pid = CHILD, .own = 10, .shared = 50, .shared_pss = 25 });
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 70 * MB);
    members_find(&f.members, MAIN)->rss_bytes += 30 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 50 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 60 * MB);
    /* The child ends: its own memory goes, what it shared stays with main. */
    members_find(&f.members, CHILD)->rss_bytes = 0;
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 90 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 0);
    assert_int_equal(f.detail.reads, 1);
    memory_end(&f);
}

/* Children that touch, page by page, the shared memory which main has already. */
static void growth_of_what_main_maps_is_not_added_up(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 10, .file = 100, .file_pss = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 10 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD + 1, .own = 10 });
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    for (int pid = CHILD; pid <= CHILD + 1; pid++) {
        members_find(&f.members, pid)->rss_bytes += 90 * MB;
        members_find(&f.members, pid)->shared_bytes += 90 * MB;
    }
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 130 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 30 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 110 * MB);
    memory_end(&f);
}

/* It was loaded after the last read: its memory of no file is nobody else's. A copy of its
 * parent has nothing of its own at first. */
static void memory_of_a_new_program_is_all_new(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    memory_update(&f);
    memory_add(&f, CHILD, 40 * MB)->has_exec = false;
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 50 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 40 * MB);
    members_find(&f.members, CHILD)->has_exec = true;
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 90 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 90 * MB);
    memory_end(&f);
}

static void a_read_tells_how_far_the_values_had_run_ahead(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    memory_update(&f);
    assert_int_equal(f.detail.excess.combined_total, 0);
    /* It has 40 MB more of one content, which the kernel merged meanwhile. */
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50, .merged = 40 });
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 90 * MB);
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 50 * MB);
    assert_int_equal(f.detail.excess.combined_total, 40 * MB);
    assert_int_equal(f.detail.excess.main_total, 40 * MB);
    assert_int_equal(f.detail.excess.combined_private, 40 * MB);
    memory_end(&f);
}

/* The sizes were 50 MB before the read and are 60 after it: nobody knows what it saw. */
static void what_came_during_a_read_makes_for_another(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    memory_put_statm(&f, MAIN, 60, 0);
    memory_update(&f);
    assert_int_equal(f.detail.unread_bytes, 10 * MB);
    assert_int_equal(members_find(&f.members, MAIN)->rss_bytes, 60 * MB);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 60 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 2);
    assert_int_equal(f.estimate.combined.total_bytes, 60 * MB);
    memory_update(&f); /* nothing moves any more */
    assert_int_equal(f.detail.reads, 2);
    memory_end(&f);
}

/* A megabyte of 100 is not worth another read, and need not be read: a lone process has it. */
static void what_came_after_the_walk_is_not_lost(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put_statm(&f, MAIN, 101, 0);
    memory_update(&f);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 101 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 1);
    assert_int_equal(f.estimate.combined.private_bytes, 101 * MB);
    assert_int_equal(f.estimate.combined.total_bytes, 101 * MB);
    memory_end(&f);
}

static void without_detail_only_totals_are_known(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_NEVER);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 20 });
    memory_follow(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 30 * MB);
    memory_update(&f);
    assert_int_equal(f.estimate.main.total_bytes, 10 * MB);
    assert_int_equal(f.estimate.descendants.total_bytes, 20 * MB);
    assert_false(is_known(f.estimate.combined.private_bytes));
    assert_false(is_known(f.estimate.pss_bytes));
    assert_int_equal(f.detail.reads, 0);
    memory_end(&f);
}

static bool is_wanted(struct memory_fixture *f)
{
    memory_follow(f);
    return detail_is_wanted_for_peak(&f->detail, &f->members, MAIN, f->now_ns, &f->estimate);
}

static void a_new_maximum_is_worth_a_read(void **state)
{
    struct memory_fixture f;
    struct member *main_member;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    assert_false(is_wanted(&f)); /* nothing was read yet */
    memory_update(&f);
    main_member = members_find(&f.members, MAIN);
    f.detail.walk_cost.page_ns = 16;
    f.detail.tokens_ns = 25 * (int64_t)NS_PER_MS;
    assert_false(is_wanted(&f));
    main_member->rss_bytes = 101 * MB; /* not worth it */
    assert_false(is_wanted(&f));
    main_member->rss_bytes = 60 * MB; /* moved, but down */
    assert_false(is_wanted(&f));
    main_member->rss_bytes = 120 * MB;
    assert_false(is_wanted(&f)); /* it still grows */
    assert_false(is_wanted(&f)); /* or does it? */
    assert_true(is_wanted(&f));
    f.detail.tokens_ns = (int64_t)NS_PER_MS; /* kept for the next sample */
    assert_false(is_wanted(&f));
    f.now_ns += NS_PER_SECOND;
    assert_true(is_wanted(&f));
    f.detail.mode = SPOOR_DETAIL_NEVER;
    assert_false(is_wanted(&f));
    memory_end(&f);
}

static void doubling_is_not_waited_out(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_update(&f);
    f.detail.walk_cost.page_ns = 16;
    f.detail.tokens_ns = 25 * (int64_t)NS_PER_MS;
    members_find(&f.members, MAIN)->rss_bytes = 190 * MB;
    assert_false(is_wanted(&f));
    members_find(&f.members, MAIN)->rss_bytes = 210 * MB;
    assert_true(is_wanted(&f));
    f.detail.tokens_ns = 14 * (int64_t)NS_PER_MS; /* kept for when it has grown */
    members_find(&f.members, MAIN)->rss_bytes = 230 * MB;
    assert_false(is_wanted(&f));
    memory_end(&f);
}

/* However dear a read is: there is a moment at which it can be afforded. */
static void a_peak_is_read_whatever_it_costs(void **state)
{
    (void)state;
    for (double page_ns = 1; page_ns < 1e6; page_ns *= 1.5) {
        struct memory_fixture f;

        memory_begin(&f, SPOOR_DETAIL_AUTO);
        memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
        memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
        memory_update(&f);
        f.detail.walk_cost.page_ns = page_ns;
        members_find(&f.members, MAIN)->rss_bytes = 200 * MB;
        for (int i = 0; i < 3; i++)
            (void)is_wanted(&f);
        f.now_ns += 100000 * (uint64_t)NS_PER_SECOND;
        assert_true(is_wanted(&f));
        memory_end(&f);
    }
}

/* A read of a job at rest keeps nobody waiting: it may take what comes later. */
static void a_job_at_rest_is_read_on_credit(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_update(&f);
    f.detail.walk_cost.page_ns = 1e6; /* far more than there is */
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 200 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 1);
    f.detail.job_rests = true;
    memory_update(&f);
    assert_int_equal(f.detail.reads, 2);
    f.detail.tokens_ns = -4 * (int64_t)NS_PER_MS; /* but not on more and more of it */
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 300 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 2);
    memory_end(&f);
}

/* Two of 100 MB, all shared; one maps 1 MB more while the other is read. What was read of either
 * may count that twice. */
static void what_moves_during_a_read_is_not_counted_twice(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .shared = 100, .shared_pss = 51 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 100, .shared_pss = 50 });
    memory_put_statm(&f, CHILD, 101, 0);
    memory_update(&f);
    assert_int_equal(f.detail.unread_bytes, MB);
    assert_int_equal(f.estimate.combined.total_bytes, 100 * MB);
    assert_int_equal(f.estimate.combined.shared_bytes, 100 * MB);
    memory_end(&f);
}

/* Main was read when all of its 90 MB were its own; then its child mapped them all, and was read. */
static void what_was_private_and_is_shared_counts_once(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 90 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 90, .shared_pss = 45 });
    memory_put_statm(&f, CHILD, 180, 0);
    memory_update(&f);
    assert_int_equal(f.estimate.combined.total_bytes, 90 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 90 * MB);
    memory_end(&f);
}

/* What a lone process has of no file is its own: its size tells all. */
static void a_lone_process_is_read_when_its_mappings_move(void **state)
{
    struct memory_fixture f;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10, .file = 5, .file_pss = 5 });
    memory_update(&f);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 500, .file = 5, .file_pss = 5 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 1);
    assert_int_equal(f.estimate.combined.total_bytes, 505 * MB);
    assert_int_equal(f.estimate.combined.private_bytes, 500 * MB);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 500, .file = 105, .file_pss = 105 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 2);
    memory_end(&f);
}

/* Going down is no maximum: it is read only where time for one more read is left. */
static void a_read_for_a_maximum_goes_first(void **state)
{
    struct memory_fixture f;
    int64_t one_read_ns;

    (void)state;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1000 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_update(&f);
    f.detail.walk_cost.page_ns = 50;
    one_read_ns = 2 * 20000 + 1001 * 256 * 50;
    f.detail.refilled_ns = f.now_ns + NS_PER_SECOND; /* no refill at the next update */
    f.detail.tokens_ns = one_read_ns + one_read_ns / 10;
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 900 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 1);
    f.detail.refilled_ns = f.now_ns + NS_PER_SECOND;
    f.detail.tokens_ns = one_read_ns + one_read_ns / 10;
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1050 });
    memory_update(&f);
    assert_int_equal(f.detail.reads, 2);
    memory_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mappings_settle_what_sums_leave_open),
        cmocka_unit_test(each_level_can_be_switched_off),
        cmocka_unit_test(a_correction_is_kept_while_files_stand_still),
        cmocka_unit_test(a_file_mapped_twice_counts_once),
        cmocka_unit_test(libraries_are_not_suspected_twice),
        cmocka_unit_test(what_there_is_no_time_for_is_done_later),
        cmocka_unit_test(time_spent_beyond_the_budget_is_owed),
        cmocka_unit_test(between_reads_values_follow_the_resident_sizes),
        cmocka_unit_test(growth_of_what_main_maps_is_not_added_up),
        cmocka_unit_test(memory_of_a_new_program_is_all_new),
        cmocka_unit_test(a_read_tells_how_far_the_values_had_run_ahead),
        cmocka_unit_test(what_came_during_a_read_makes_for_another),
        cmocka_unit_test(what_came_after_the_walk_is_not_lost),
        cmocka_unit_test(without_detail_only_totals_are_known),
        cmocka_unit_test(a_new_maximum_is_worth_a_read),
        cmocka_unit_test(doubling_is_not_waited_out),
        cmocka_unit_test(a_peak_is_read_whatever_it_costs),
        cmocka_unit_test(a_job_at_rest_is_read_on_credit),
        cmocka_unit_test(what_moves_during_a_read_is_not_counted_twice),
        cmocka_unit_test(what_was_private_and_is_shared_counts_once),
        cmocka_unit_test(a_lone_process_is_read_when_its_mappings_move),
        cmocka_unit_test(a_read_for_a_maximum_goes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
