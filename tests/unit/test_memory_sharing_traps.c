/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "fake_memory.h"
#include "unit_test.h"

/* The child exited after it was read but before the survey ended, so its statm is 0. */
TEST(an_exit_during_the_read_keeps_the_safe_bound)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .shared = 100, .shared_pss = 50 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .shared = 100, .shared_pss = 100 });
    memory_put_statm(&f, CHILD, 0, 0);
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    assert_true(f.sharing.members_changed);
    memory_end(&f);
}

TEST(an_empty_smaps_file_means_that_the_process_exited)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 30 });
    memory_write(&f, CHILD, "smaps_rollup", "");
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 20 * MB);
    assert_true(is_known(f.estimate.of[GROUP_JOB].private_bytes));
    memory_end(&f);
}

/* The child's mappings are gone when spoor reads them, so the sums are used. */
TEST(a_process_without_mappings_causes_no_correction)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put_file_job(&f);
    memory_write(&f, CHILD + 1, "smaps", "");
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 130 * MB);
    memory_end(&f);
}

TEST(an_unreadable_process_makes_sharing_unknown)
{
    struct memory_fixture f;
    char path[160];

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 30 });
    /* Root may read every file, so replace the file by a folder, which not even root can
     * read. */
    (void)snprintf(path, sizeof(path), "%s/proc/%d/smaps_rollup", f.fake.path, CHILD);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    memory_update(&f);
    assert_true(f.sharing.is_denied);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 50 * MB);
    assert_false(is_known(f.estimate.of[GROUP_JOB].private_bytes));
    assert_false(is_known(f.estimate.of[GROUP_JOB].shared_bytes));
    memory_follow(&f);
    assert_false(is_known(f.estimate.of[GROUP_JOB].private_bytes));
    memory_end(&f);
}

/* 100 MB of equal content are one page, though the kernel counts all of it as resident. */
TEST(pages_merged_by_ksm_are_not_counted_as_resident_memory)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f,
               &(struct fake_memory){ .pid = MAIN, .own = 2, .merged = 100, .shared_pss = 1 });
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_MAIN].total_bytes, 3 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 3 * MB);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 2 * MB);
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 3 * MB);
    memory_end(&f);
}

TEST(huge_pages_are_counted_separately)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 2, .hugetlb = 64 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 2, .hugetlb = 64 });
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 4 * MB);
    memory_end(&f);
}

TEST(memory_borrowed_by_a_vfork_child_is_counted_once)
{
    struct memory_fixture f;
    struct member *child;

    memory_begin(&f, SPOOR_DETAIL_NEVER);
    assert_non_null(memory_add(&f, MAIN, 100 * MB));
    child = memory_add(&f, CHILD, 100 * MB);
    assert_non_null(child);
    child->has_exec = false;
    child->reading.borrows_memory = true;
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    assert_int_equal(f.estimate.of[GROUP_MAIN].total_bytes, 100 * MB);
    assert_int_equal(f.estimate.of[GROUP_DESCENDANTS].total_bytes, 0);
    /* The parent's size may have been read before the parent grew. */
    child->reading.rss_bytes = 150 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 100 * MB);
    /* After exec, the child has its own memory. */
    child->reading.rss_bytes = 100 * MB;
    child->has_exec = true;
    child->reading.borrows_memory = false;
    memory_update(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].total_bytes, 200 * MB);
    memory_end(&f);
}

TEST(page_faults_are_converted_with_the_page_size_of_the_machine)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_NEVER);
    f.fake.root.page_bytes = 65536;
    memory_add(&f, MAIN, 100 * MB)->reading.faults = 10;
    assert_int_equal(rss_deltas_measure(&f.fake.root, &f.roster).of[GROUP_JOB].faults,
                     10 * 65536);
    memory_end(&f);
}

/* Between reads, PSS follows the private memory of each process. */
TEST(pss_follows_private_memory)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 200 });
    memory_update(&f);
    assert_int_equal(f.estimate.pss_bytes, 200 * MB);
    roster_member(&f.roster, MAIN)->reading.rss_bytes += 100 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.of[GROUP_JOB].private_bytes, 300 * MB);
    assert_int_equal(f.estimate.pss_bytes, 300 * MB);
    roster_member(&f.roster, MAIN)->reading.rss_bytes -= 250 * MB;
    memory_follow(&f);
    assert_int_equal(f.estimate.pss_bytes, 50 * MB);
    memory_end(&f);
}

/* The process is larger after the read than in its result: it grew, and maps nothing twice. */
TEST(growth_during_a_read_is_not_a_double_mapping)
{
    struct memory_fixture f;

    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 20 });
    memory_put_statm(&f, MAIN, 300, 0);
    memory_update(&f);
    assert_int_equal(memory_estimate_discount(&f.sharing.estimate, GROUP_MAIN), 0);
    assert_int_equal(memory_estimate_discount(&f.sharing.estimate, GROUP_JOB), 0);
    memory_end(&f);
}
