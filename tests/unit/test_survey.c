/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/survey.h"
#include "unit_test.h"

#include <stdio.h>

#include "fake_memory.h"
#include "source/proc/smaps.h"

enum { COPIED_PAGES = 300, PAGE_BYTES = 4096, CROWD = 20 };

static void put_stat(struct memory_fixture *f, int pid, unsigned faults)
{
    char text[160];

    (void)snprintf(text, sizeof(text),
                   "%d (x) S 1 1 1 0 -1 0 %u 0 0 0 0 0 0 0 20 0 1 0 5 1000 1000 0\n", pid,
                   faults);
    memory_write(f, pid, "stat", text);
}

/* The fixture in which the child copies pages while main is being read. */
static struct memory_fixture *copying;

int __real_smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret);
int __wrap_smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret);

int __wrap_smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret)
{
    if (pid == MAIN)
        put_stat(copying, CHILD, COPIED_PAGES);
    return __real_smaps_rollup_read(root, pid, ret);
}

/* Main is read while both share the pages, the child after it has copied them. */
TEST(pages_copied_before_the_process_is_read_are_counted)
{
    struct memory_fixture f = { 0 };
    struct memory_view views[2];
    struct survey survey;

    copying = &f;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 40, .shared = 60 });
    put_stat(&f, MAIN, 0);
    put_stat(&f, CHILD, 0);
    survey = survey_plan(&f.roster, false, SURVEY_PAGE_NS);
    survey_take(&survey, &f.fake.root, &f.roster, views);
    survey_look_again(&survey, &f.fake.root, &f.roster);
    assert_int_equal(survey.count, 2);
    assert_int_equal(survey.gained_bytes, COPIED_PAGES * PAGE_BYTES);
    memory_end(&f);
}

/* The processes have no files, so neither page tables nor sizes can be read. */
TEST(page_tables_of_many_small_processes_are_not_walked)
{
    struct memory_fixture f = { 0 };
    struct memory_view views[CROWD];
    struct survey survey;

    copying = &f;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1 });
    for (int i = 0; i < CROWD - 2; i++)
        memory_add(&f, CHILD + 1 + i, MB);
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 40 });
    survey = survey_plan(&f.roster, false, SURVEY_PAGE_NS);
    assert_int_equal(survey.walk_count, 2);
    assert_int_equal(survey.walk_bytes, 41 * MB);
    survey_take(&survey, &f.fake.root, &f.roster, views);
    survey_look_again(&survey, &f.fake.root, &f.roster);
    assert_int_equal(survey.count, CROWD);
    assert_false(survey.has_ended);
    assert_int_equal(views[1].private_total, MB);
    /* Only a walk shows which pages a copy shares with its parent. */
    roster_member(&f.roster, CHILD + 1)->has_exec = false;
    roster_member(&f.roster, CHILD + 1)->parent_pid = CHILD + 2;
    assert_int_equal(survey_plan(&f.roster, false, SURVEY_PAGE_NS).walk_count, 4);
    assert_int_equal(survey_plan(&f.roster, true, SURVEY_PAGE_NS).walk_count, CROWD);
    memory_end(&f);
}

/* Only processes that are walked have files. */
static void walk_some_of_many(unsigned shared_mb, int each)
{
    enum { ALIKE = 40, ALL = ALIKE + 2, OTHER = CHILD + ALIKE };
    const int walked = (ALIKE + each - 1) / each;
    struct memory_fixture f = { 0 };
    struct memory_view views[ALL];
    struct survey survey;
    uint64_t private_bytes = 0;

    copying = &f;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1 });
    for (int i = 0; i < ALIKE; i++) {
        if (i % each == 0)
            memory_put(
                &f, &(struct fake_memory){ .pid = CHILD + i, .own = 1, .shared = shared_mb });
        else
            (void)memory_add(&f, CHILD + i, (1 + shared_mb) * MB);
    }
    memory_put(&f, &(struct fake_memory){ .pid = OTHER, .own = 3, .shared = shared_mb - 2 });
    roster_member(&f.roster, OTHER)->reading.faults = 700; /* the process has copied pages */
    roster_member(&f.roster, CHILD + 1)->reading.rss_bytes -=
        5 * PAGE_BYTES; /* the process is still growing */
    for (int i = CHILD; i <= OTHER; i++)
        roster_member(&f.roster, i)->has_exec = false;
    survey = survey_plan(&f.roster, false, SURVEY_PAGE_NS);
    assert_int_equal(survey.walk_count, walked + 2);
    survey_take(&survey, &f.fake.root, &f.roster, views);
    survey_look_again(&survey, &f.fake.root, &f.roster);
    assert_int_equal(survey.count, ALL);
    assert_false(survey.has_ended);
    for (int i = 0; i < ALL; i++)
        private_bytes += views[i].private_total;
    assert_int_equal(private_bytes, (1 + ALIKE + 3) * MB - 5 * PAGE_BYTES);
    assert_int_equal(survey.guessed_bytes, (uint64_t)(ALIKE - walked) * MB - 5 * PAGE_BYTES);
    assert_int_equal(views[ALL - 2].pid, OTHER - 1);
    assert_int_equal(survey_plan(&f.roster, true, SURVEY_PAGE_NS).walk_count, ALL);
    memory_end(&f);
}

TEST(only_some_of_many_similar_copies_are_walked)
{
    walk_some_of_many(2, 3);
}

/* A walk over all of them would take too long. */
TEST(only_some_of_many_similar_large_copies_are_walked)
{
    walk_some_of_many(99, 3);
    walk_some_of_many(999, 21);
}

/* Records twenty walks over this much memory that took `us` each. Returns the expected time
 * of the next walk, in microseconds. */
static uint64_t learned_us(size_t processes, uint64_t megabytes, uint64_t us, double *page_ns)
{
    const struct survey survey = { .walk_count = processes, .walk_bytes = megabytes * MB };

    for (int i = 0; i < 20; i++)
        *page_ns = survey_learn(&survey, *page_ns, us * NS_PER_US);
    return survey_cost_ns(&survey, *page_ns) / NS_PER_US;
}

TEST(the_cost_of_a_walk_is_estimated_from_the_last)
{
    double page_ns = SURVEY_PAGE_NS;

    assert_in_range(learned_us(2, 1000, 6000, &page_ns), 5900, 6100);
    assert_in_range(learned_us(2, 1000, 30000, &page_ns), 29000, 31000);
    assert_in_range(learned_us(2, 1000, 1000, &page_ns), 950, 1060);
    /* Huge pages, followed by small pages again. */
    assert_in_range(learned_us(1, 10000, 20, &page_ns), 20, 300);
    assert_in_range(learned_us(1, 10000, 40000, &page_ns), 38000, 42000);
}

/* Four processes of 3 MB took half a millisecond; 180 MB will not take 11 ms. */
TEST(a_slow_walk_over_little_memory_changes_the_estimate_little)
{
    const struct survey small = { .walk_count = 4, .walk_bytes = 12 * MB };
    const struct survey loading = { .walk_count = 1, .walk_bytes = MB / 16 };
    const struct survey large = { .walk_count = 4, .walk_bytes = 180 * MB };
    const struct survey nothing = { 0 };
    double page_ns = survey_learn(&small, SURVEY_PAGE_NS, 540 * NS_PER_US);

    assert_in_range(survey_cost_ns(&large, page_ns) / NS_PER_US, 820, 1500);
    page_ns = survey_learn(&loading, SURVEY_PAGE_NS, 1000 * NS_PER_US);
    assert_in_range(survey_cost_ns(&large, page_ns) / NS_PER_US, 820, 1500);
    page_ns = survey_learn(&nothing, SURVEY_PAGE_NS, NS_PER_MS);
    assert_int_equal(survey_cost_ns(&large, page_ns), survey_cost_ns(&large, SURVEY_PAGE_NS));
}
