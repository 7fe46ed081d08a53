/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "fake_memory.h"
#include "unit_test.h"

TEST(mappings_resolve_ambiguous_sums)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put_file_job(&f);
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 230 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 30 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].shared_bytes, 200 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 220 * MB);
    assert_int_equal(f.estimate.of[GROUP_MAIN].total_bytes, 10 * MB);
    memory_end(&f);
}

/* By default, and if smaps is disabled, only the sums in smaps_rollup are used. */
TEST(mappings_are_read_only_on_request)
{
    struct memory_fixture f;

    for (int i = 0; i < 2; i++) {
        memory_begin(&f, i == 0 ? SPOOR_DETAIL_AUTO : SPOOR_DETAIL_ALWAYS);
        f.sharing.uses_smaps = false;
        memory_put_file_job(&f);
        memory_update(&f);
        assert_int_equal(f.sharing.reads, 1);
        assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 130 * MB);
        memory_end(&f);
    }
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    assert_false(f.sharing.uses_smaps);
    memory_end(&f);
}

/* A file is mapped twice, the second time at 50 MB, so 150 of 200 resident MB are distinct.
 * Between reads, the total follows the resident size, without jumping to it. */
TEST(a_file_mapped_twice_counts_once)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){
                       .pid = MAIN, .own = 10, .file = 100, .file_pss = 75, .twice = 50 });
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_MAIN].total_bytes, 160 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 160 * MB);
    roster_member(&f.roster, MAIN)->reading.rss_bytes += MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 161 * MB);
    assert_int_equal(f.estimate.of[GROUP_MAIN].total_bytes, 161 * MB);
    memory_end(&f);
}

/* Uses up all credit and leaves `tokens_ns` in the budget. */
static void set_tokens(struct memory_fixture *f, int64_t tokens_ns)
{
    f->budget.owed_ns = 1000 * NS_PER_MS;
    f->budget.tokens_ns = tokens_ns;
}

/* The budget grows by 0.25 ms each second; the same amount repays the credit. */
TEST(a_read_is_delayed_until_the_budget_allows_it)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_update(&f);
    f.sharing.page_ns = 16;
    set_tokens(&f, 0);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 1); /* a read would take 0.45 ms */
    assert_true(f.sharing.is_pending);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 101 * MB);
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 2);
    assert_false(f.sharing.is_pending);
    memory_end(&f);
}

TEST(between_reads_values_follow_the_resident_sizes)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 10, .shared = 50, .shared_pss = 25 });
    memory_put(
        &f, &(struct fake_memory){ .pid = CHILD, .own = 10, .shared = 50, .shared_pss = 25 });
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 70 * MB);
    set_tokens(&f, 0);
    roster_member(&f.roster, MAIN)->reading.rss_bytes += 30 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 50 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 60 * MB);
    /* The child exits: its own memory is freed, while main keeps the shared memory. */
    roster_member(&f.roster, CHILD)->reading.rss_bytes = 0;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 90 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 0);
    assert_int_equal(f.sharing.reads, 1);
    memory_end(&f);
}

/* The children touch, page by page, shared memory that main maps already. */
TEST(growth_of_memory_that_main_also_maps_is_not_added)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 10, .file = 100, .file_pss = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 10 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD + 1, .own = 10 });
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 130 * MB);
    for (int pid = CHILD; pid <= CHILD + 1; pid++) {
        roster_member(&f.roster, pid)->reading.rss_bytes += 90 * MB;
        roster_member(&f.roster, pid)->reading.shared_bytes += 90 * MB;
    }
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 130 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 30 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 110 * MB);
    memory_end(&f);
}

/* If a program was loaded after the last read, its anonymous memory is private. Before exec,
 * the process is a copy of its parent and has no private memory. */
TEST(memory_of_a_new_program_counts_in_full)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    memory_update(&f);
    memory_add(&f, CHILD, 40 * MB)->has_exec = false;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 50 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 40 * MB);
    roster_member(&f.roster, CHILD)->has_exec = true;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 90 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 90 * MB);
    memory_end(&f);
}

/* Main has forked and not written since, so no page is private. */
TEST(unchanged_shared_memory_is_not_added_again)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .shared = 100, .shared_pss = 50 });
    roster_member(&f.roster, MAIN)->has_exec = true;
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 100, .shared_pss = 50 });
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    memory_end(&f);
}

/* Main had 50 MB before the read and 60 MB after it; which of the two was read is unknown. */
TEST(growth_during_a_read_causes_another)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 50 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_put_statm(&f, MAIN, 60, 0);
    memory_update(&f);
    assert_true(f.sharing.was_racy);
    assert_int_equal(roster_member(&f.roster, MAIN)->reading.rss_bytes, 60 * MB);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 60 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 2);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 61 * MB);
    memory_update(&f); /* no size changes any more */
    assert_int_equal(f.sharing.reads, 2);
    memory_end(&f);
}

/* An increase by 1 % does not cause another read: the memory of a single process is private. */
TEST(growth_after_the_walk_is_not_lost)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put_statm(&f, MAIN, 101, 0);
    memory_update(&f);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 101 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 1);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 101 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 101 * MB);
    memory_end(&f);
}

TEST(without_detail_only_totals_are_known)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_NEVER);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 20 });
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 30 * MB);
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_MAIN].total_bytes, 10 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 20 * MB);
    assert_false(is_known(f.estimate.of[GROUP_JOB].private_bytes));
    assert_false(is_known(f.estimate.pss_bytes));
    assert_int_equal(f.sharing.reads, 0);
    memory_end(&f);
}

/* Adds main, of which 100 MB were read, and a child: with two processes, their sizes are not
 * sufficient. */
static void begin_pair(struct memory_fixture *f)
{
    memory_begin(f, SPOOR_DETAIL_AUTO);
    memory_put(f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put(f, &(struct fake_memory){ .pid = CHILD, .own = 1 });
    memory_update(f);
    assert_int_equal(f->sharing.reads, 1);
    f->sharing.page_ns = 16;
    set_tokens(f, 10 * (int64_t)NS_PER_MS);
}

static bool is_read_at_glance(struct memory_fixture *f, unsigned own)
{
    memory_put(f, &(struct fake_memory){ .pid = MAIN, .own = own });
    memory_follow(f);
    return f->sharing.was_read;
}

TEST(page_tables_are_read_at_a_new_maximum)
{
    struct memory_fixture f;

    begin_pair(&f);
    assert_false(is_read_at_glance(&f, 100));
    assert_false(is_read_at_glance(&f, 101)); /* the increase is too small */
    assert_false(is_read_at_glance(&f, 60));  /* the size is not a maximum */
    f.sharing.activity = JOB_GROWS;           /* a larger maximum will follow */
    assert_false(is_read_at_glance(&f, 120));
    f.sharing.activity = JOB_RUNS;
    set_tokens(&f, (int64_t)NS_PER_MS / 2);
    assert_false(is_read_at_glance(&f, 120)); /* a read would take 0.54 ms */
    set_tokens(&f, (int64_t)NS_PER_MS);
    assert_true(is_read_at_glance(&f, 120));
    f.sharing.mode = SPOOR_DETAIL_NEVER;
    assert_false(is_read_at_glance(&f, 200));
    memory_end(&f);
}

/* A running job is read on credit only if enough credit for three reads is left. */
TEST(a_read_at_a_maximum_may_exceed_the_budget)
{
    struct memory_fixture f;

    begin_pair(&f);
    set_tokens(&f, -(int64_t)NS_PER_SECOND);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 200 });
    f.budget.owed_ns = 28 * NS_PER_MS; /* a read would take 0.86 ms */
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 1);
    f.sharing.activity = JOB_RESTS;
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 2);
    f.sharing.activity = JOB_RUNS;
    f.budget.owed_ns = 27 * NS_PER_MS;
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 220 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 3);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_update(&f); /* smaller than before */
    assert_int_equal(f.sharing.reads, 3);
    memory_end(&f);
}

/* The next maximum of a growing job is near, so the credit is kept for it. Otherwise a sample of a
 * job that forks and grows uses up the credit, and its private memory at the peak is unknown. */
TEST(a_growing_job_is_not_read_on_credit)
{
    struct memory_fixture f;

    begin_pair(&f);
    set_tokens(&f, -(int64_t)NS_PER_SECOND);
    f.budget.owed_ns = 0;
    f.sharing.activity = JOB_GROWS;
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 200 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 1);
    f.sharing.activity = JOB_RUNS;
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 2);
    memory_end(&f);
}

/* After enough time, the budget allows any read, however expensive. */
TEST(a_peak_is_read_even_if_the_read_is_expensive)
{
    for (double page_ns = 1; page_ns < 1e6; page_ns *= 1.5) {
        struct memory_fixture f;

        begin_pair(&f);
        f.sharing.page_ns = page_ns;
        memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 200 });
        f.now_ns += 100000 * (uint64_t)NS_PER_SECOND;
        memory_update(&f);
        assert_int_equal(f.sharing.reads, 2);
        memory_end(&f);
    }
}

/* Two processes share all of their 100 MB. One maps 1 MB more while the other is being read,
 * so both results may include that megabyte. */
TEST(memory_that_moves_during_a_read_is_not_counted_twice)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .shared = 100, .shared_pss = 51 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 100, .shared_pss = 50 });
    memory_put_statm(&f, CHILD, 101, 0);
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].shared_bytes, 100 * MB);
    memory_end(&f);
}

/* Main was read when all of its 90 MB were private; then its child mapped all of them, and
 * was read. */
TEST(memory_that_becomes_shared_counts_once)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 90 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 90, .shared_pss = 45 });
    memory_put_statm(&f, CHILD, 180, 0);
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 90 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 90 * MB);
    memory_end(&f);
}

/* The anonymous memory of a single process is private, so its size is sufficient. */
TEST(a_single_process_is_read_when_its_mappings_change)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 10, .file = 5, .file_pss = 5 });
    memory_update(&f);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 500, .file = 5, .file_pss = 5 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 1);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 505 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 500 * MB);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 500, .file = 105, .file_pss = 105 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 2);
    memory_end(&f);
}

/* A decrease is not a maximum, so it causes a read only if the budget allows one more. */
TEST(a_read_for_a_maximum_has_priority)
{
    struct memory_fixture f;

    begin_pair(&f);
    set_tokens(&f, (int64_t)NS_PER_MS / 4); /* the budget grows by 0.25 ms a second */
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 90 });
    memory_update(&f); /* a read would take 0.4 ms */
    assert_int_equal(f.sharing.reads, 1);
    set_tokens(&f, (int64_t)NS_PER_MS / 4);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 105 });
    memory_update(&f);
    assert_int_equal(f.sharing.reads, 2);
    memory_end(&f);
}
