/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "job/memory/shared_memory.h"
#include "unit_test.h"

#define MB (1024u * 1024u)

/* A process with `own` bytes of private memory, `shared` bytes that `sharers` processes map,
 * and `library` bytes of a library that processes outside the job map too, with a PSS of
 * `library_share`. */
static struct memory_view view(uint64_t own, uint64_t shared, unsigned sharers,
                               uint64_t library, uint64_t library_share)
{
    return (struct memory_view){
        .group = GROUP_DESCENDANTS,
        .rss = own + shared + library,
        .pss = own + shared / sharers + library_share,
        .pss_file = library_share,
        .private_total = own,
        .private_dirty = own,
        .shared_total = shared + library,
        .file = library,
        .mapped = library,
    };
}

TEST(sizes_are_0_without_processes)
{
    struct memory_estimate estimate;

    shared_memory_estimate(NULL, 0, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 0);
    assert_int_equal(estimate.pss_bytes, 0);
}

TEST(a_single_process_has_its_resident_size)
{
    struct memory_view views[] = { view(100 * MB, 0, 1, 2 * MB, MB / 10) };
    struct memory_estimate estimate;

    views[0].group = GROUP_MAIN;
    shared_memory_estimate(views, 1, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_MAIN].total_bytes, 102 * MB);
    assert_int_equal(estimate.of[GROUP_MAIN].private_bytes, 100 * MB);
    assert_int_equal(estimate.of[GROUP_MAIN].shared_bytes, 2 * MB);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 102 * MB);
    assert_int_equal(estimate.of[GROUP_DESCENDANTS].total_bytes, 0);
}

/* Four processes, main and three children, share 300 MB. */
TEST(shared_pages_count_once)
{
    struct memory_view views[4];
    struct memory_estimate estimate;

    for (int i = 0; i < 4; i++)
        views[i] = view(MB, 300 * MB, 4, 0, 0);
    views[0].group = GROUP_MAIN;
    shared_memory_estimate(views, 4, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 304 * MB);
    assert_int_equal(estimate.of[GROUP_JOB].private_bytes, 4 * MB);
    assert_int_equal(estimate.of[GROUP_JOB].shared_bytes, 300 * MB);
    /* For the group of the three children, main is a process outside; the children still map
     * all 300 MB. */
    assert_int_equal(estimate.of[GROUP_DESCENDANTS].total_bytes, 303 * MB);
    assert_int_equal(estimate.pss_bytes, 304 * MB);
}

/* Processes outside the job map the library too, so its PSS is too low; its largest resident
 * size is a lower bound. */
TEST(a_library_counts_with_its_largest_resident_size)
{
    struct memory_view views[] = { view(10 * MB, 0, 1, 20 * MB, MB),
                                   view(10 * MB, 0, 1, 8 * MB, MB) };
    struct memory_estimate estimate;

    views[0].group = GROUP_MAIN;
    shared_memory_estimate(views, 2, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 40 * MB);
}

/* A child exited between two reads: parts read at different moments must not be added up. */
TEST(inconsistent_readings_keep_the_safe_bound)
{
    struct memory_view views[2];
    struct memory_estimate estimate;

    /* The first process was read while two processes shared the memory, the second after one
     * had exited. */
    views[0] = view(0, 100 * MB, 2, 0, 0);
    views[0].group = GROUP_MAIN;
    views[1] = view(0, 100 * MB, 1, 0, 0);
    shared_memory_estimate(views, 2, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 150 * MB);
    shared_memory_estimate(views, 2, true, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 100 * MB);
}

/* 100 MB of addresses map each page a hundred times: PSS counts 1 MB. */
TEST(merged_pages_count_by_their_pss)
{
    struct memory_view views[] = { view(2 * MB, 0, 1, 0, 0) };
    struct memory_estimate estimate;

    views[0].group = GROUP_MAIN;
    views[0].resident = 102 * MB;
    views[0].pss += MB;
    shared_memory_estimate(views, 1, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_MAIN].total_bytes, 3 * MB);
    assert_int_equal(estimate.of[GROUP_JOB].total_bytes, 3 * MB);
    assert_int_equal(estimate.of[GROUP_JOB].private_bytes, 2 * MB);
}

/* One process may map shared pages twice if no other process of the job maps them. */
TEST(a_possible_double_mapping_is_suspected)
{
    struct memory_view views[] = { view(10 * MB, 0, 1, 40 * MB, 20 * MB),
                                   view(10 * MB, 0, 1, 0, 0) };
    struct memory_estimate estimate;

    views[0].group = GROUP_MAIN;
    shared_memory_estimate(views, 2, false, 0, &estimate);
    assert_int_equal(estimate.of[GROUP_MAIN].total_bytes, 50 * MB);
    assert_int_equal(estimate.doubled[GROUP_MAIN], 40 * MB);
    assert_int_equal(estimate.doubled[GROUP_DESCENDANTS], 0);
    assert_int_equal(estimate.doubled[GROUP_JOB], 40 * MB);
    views[1] = view(10 * MB, 0, 1, 30 * MB, 20 * MB);
    shared_memory_estimate(views, 2, false, 0, &estimate);
    assert_int_equal(estimate.doubled[GROUP_MAIN], 10 * MB);
    views[0] = view(10 * MB, 40 * MB, 1, 0, 0);
    shared_memory_estimate(views, 1, false, 0, &estimate);
    assert_int_equal(estimate.doubled[GROUP_JOB], 0);
}

TEST(the_parts_always_add_up_to_the_total)
{
    struct memory_view views[3];
    struct memory_estimate estimate;

    for (uint64_t seed = 1; seed < 2000; seed++) {
        for (uint64_t i = 0; i < 3; i++) {
            uint64_t mix = (seed * 2654435761u + i * 40503u) % 1000003u;

            views[i] = view(mix % 977 * 4096, mix % 613 * 4096, 1 + (unsigned)(mix % 5),
                            mix % 401 * 4096, mix % 401 * 1024);
            views[i].group = i == 0 ? GROUP_MAIN : GROUP_DESCENDANTS;
        }
        shared_memory_estimate(views, 3, seed % 2, 0, &estimate);
        assert_int_equal(estimate.of[GROUP_JOB].private_bytes +
                             estimate.of[GROUP_JOB].shared_bytes,
                         estimate.of[GROUP_JOB].total_bytes);
        assert_true(estimate.of[GROUP_JOB].total_bytes >= views[0].rss);
        assert_true(estimate.of[GROUP_JOB].total_bytes <=
                    views[0].rss + views[1].rss + views[2].rss);
        assert_true(estimate.of[GROUP_JOB].total_bytes >= estimate.of[GROUP_MAIN].total_bytes);
    }
}

TEST(the_memory_split_at_the_highest_total_is_kept)
{
    static const struct {
        struct memory_split kept, seen;
        bool is_replaced;
    } cases[] = {
        { MEMORY_SPLIT_UNKNOWN, { 5, 2, 3 }, true },
        { { 5, 2, 3 }, MEMORY_SPLIT_UNKNOWN, false },
        { { 5, 2, 3 }, { 6, 6, 0 }, true },
        { { 5, 2, 3 }, { 5, 3, 2 }, true }, /* of equal totals, the later one is used */
        { { 5, 2, 3 }, { 4, 4, 0 }, false },
        { { 9, UNKNOWN, UNKNOWN }, { 5, 2, 3 }, true }, /* known parts are preferred */
        { { 5, 2, 3 }, { 9, UNKNOWN, UNKNOWN }, false },
        { { 5, UNKNOWN, UNKNOWN }, { 9, UNKNOWN, UNKNOWN }, true },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct memory_split kept = cases[i].kept;
        const struct memory_split *expected =
            cases[i].is_replaced ? &cases[i].seen : &cases[i].kept;

        memory_split_keep_higher(&kept, &cases[i].seen);
        assert_memory_equal(&kept, expected, sizeof(kept));
    }
}
