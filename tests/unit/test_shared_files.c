/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "job/memory/shared_files.h"
#include "unit_test.h"

#define MB ((uint64_t)1024 * 1024)

enum { MAIN = 1, CHILD = 2 };

/* Adds an area that maps megabytes `from` to `to` of file `inode`, all of them resident: `own`
 * MB are private, the others have a PSS of `part` MB. Inode 0: anonymous memory. */
static void put(struct memory_areas *areas, uint64_t inode, uint64_t from, uint64_t to,
                uint64_t own, uint64_t part)
{
    const struct smaps_area area = {
        .start = (from + 1000) * MB,
        .end = (to + 1000) * MB,
        .offset = inode ? from * MB : 0,
        .device = 1,
        .inode = inode,
        .sizes = { .rss = (to - from) * MB,
                   .pss = (own + part) * MB,
                   .shared_clean = (to - from - own) * MB,
                   .private_dirty = own * MB,
                   .anonymous = inode ? 0 : (to - from) * MB },
    };

    assert_int_equal(memory_areas_add(areas, &area), 0);
}

static void begin(struct memory_areas *areas)
{
    *areas = (struct memory_areas){ 0 };
    memory_areas_clear(areas);
}

static void put_process(struct memory_areas *areas, int pid)
{
    assert_int_equal(
        memory_areas_add_process(areas, pid == MAIN ? GROUP_MAIN : GROUP_DESCENDANTS), 0);
}

static struct shared_files estimate(struct memory_areas *areas)
{
    struct shared_files files;

    assert_int_equal(shared_files_estimate(areas, &files), 0);
    memory_areas_done(areas);
    return files;
}

TEST(sizes_are_0_without_mappings)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_JOB], 0);
}

/* Three processes map 150 MB each of a file of 300 MB, at 0, 75 and 150 MB. A process
 * outside the job maps all of it, so PSS is less than the mapped size. */
TEST(disjoint_parts_of_a_file_add_up)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    put(&areas, 0, 0, 1, 1, 0);
    for (int i = 0; i < 3; i++) {
        put_process(&areas, CHILD + i);
        put(&areas, 9, 75 * (uint64_t)i, 75 * (uint64_t)i + 150, 0, 58);
    }
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_MAIN], MB);
    assert_int_equal(files.total[GROUP_DESCENDANTS], 300 * MB);
    assert_int_equal(files.total[GROUP_JOB], 301 * MB);
    assert_int_equal(files.rss[GROUP_JOB], 451 * MB);
}

/* One process maps 0-100 and 50-150 of a file, so each page in the middle is mapped twice. */
TEST(a_file_mapped_twice_counts_once)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    put(&areas, 9, 0, 100, 50, 25);
    put(&areas, 9, 50, 150, 50, 25);
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_MAIN], 150 * MB);
    assert_int_equal(files.total[GROUP_JOB], 150 * MB);
}

/* The child inherited 100 MB and moved them to another address. */
TEST(anonymous_memory_counts_once_at_any_address)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    put(&areas, 0, 0, 100, 0, 50);
    put_process(&areas, CHILD);
    put(&areas, 0, 5000, 5100, 0, 50);
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_MAIN], 100 * MB);
    assert_int_equal(files.total[GROUP_DESCENDANTS], 100 * MB);
    assert_int_equal(files.total[GROUP_JOB], 100 * MB);
}

/* Main shares 90 MB with two children and has 100 MB of its own. */
TEST(descendants_memory_excludes_only_private_pages_of_main)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    put(&areas, 0, 0, 190, 100, 30);
    for (int i = 0; i < 2; i++) {
        put_process(&areas, CHILD + i);
        put(&areas, 0, 0, 90, 0, 30);
    }
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_JOB], 190 * MB);
    assert_int_equal(files.total[GROUP_DESCENDANTS], 90 * MB);
}

TEST(an_inode_of_another_device_is_another_file)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    put(&areas, 9, 0, 10, 0, 1);
    put_process(&areas, CHILD);
    put(&areas, 9, 0, 10, 0, 1);
    areas.list[1].device = 2;
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_JOB], 20 * MB);
}

/* Maps the same page at 25,600 addresses. */
TEST(merged_pages_count_by_their_pss)
{
    const struct smaps_area area = {
        .start = MB,
        .end = 101 * MB,
        .sizes = { .rss = 100 * MB,
                   .pss = 4096,
                   .shared_dirty = 100 * MB,
                   .anonymous = 100 * MB,
                   .merged = 100 * MB },
    };
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    assert_int_equal(memory_areas_add(&areas, &area), 0);
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_MAIN], 4096);
}

static uint32_t mixed(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Returns the weight of the heaviest set of areas that do not overlap, by trying all sets. */
static uint64_t heaviest(const struct memory_areas *areas)
{
    uint64_t best = 0;

    for (unsigned set = 0; set < 1u << areas->count; set++) {
        uint64_t weight = 0;
        bool is_valid = true;

        for (size_t i = 0; i < areas->count && is_valid; i++) {
            if (!(set >> i & 1))
                continue;
            weight += areas->list[i].bytes.shared;
            for (size_t j = 0; j < i; j++)
                is_valid &= !(set >> j & 1) ||
                            areas->list[i].offset_end <= areas->list[j].offset ||
                            areas->list[j].offset_end <= areas->list[i].offset;
        }
        if (is_valid && weight > best)
            best = weight;
    }
    return best;
}

TEST(the_heaviest_set_of_disjoint_areas_is_found)
{
    uint32_t seed = 1;

    for (int round = 0; round < 200; round++) {
        struct memory_areas areas;
        struct shared_files files;
        uint64_t best;

        begin(&areas);
        put_process(&areas, CHILD);
        for (uint32_t i = 0, count = 1 + mixed(&seed) % 9; i < count; i++) {
            uint64_t from = mixed(&seed) % 40;

            put(&areas, 9, from, from + 1 + mixed(&seed) % 20, 0, 0);
        }
        best = heaviest(&areas);
        files = estimate(&areas);
        assert_int_equal(files.total[GROUP_DESCENDANTS], best);
        assert_int_equal(files.total[GROUP_JOB], best);
    }
}

TEST(totals_do_not_exceed_the_resident_size)
{
    uint32_t seed = 7;

    for (int round = 0; round < 300; round++) {
        struct memory_areas areas;
        struct shared_files files;

        begin(&areas);
        for (int pid = MAIN; pid < 5; pid++) {
            put_process(&areas, pid);
            for (uint32_t i = 0; i < 6; i++) {
                uint64_t from = mixed(&seed) % 40, size = 1 + mixed(&seed) % 20;
                uint64_t own = mixed(&seed) % (size + 1);

                put(&areas, mixed(&seed) % 3, from, from + size, own,
                    mixed(&seed) % (size - own + 1));
            }
        }
        files = estimate(&areas);
        assert_true(files.total[GROUP_JOB] <= files.rss[GROUP_JOB]);
        assert_true(files.total[GROUP_MAIN] <= files.rss[GROUP_MAIN]);
        assert_true(files.total[GROUP_DESCENDANTS] <= files.rss[GROUP_DESCENDANTS]);
        assert_true(files.total[GROUP_JOB] >= files.total[GROUP_MAIN]);
        assert_true(files.total[GROUP_JOB] >= files.total[GROUP_DESCENDANTS]);
    }
}

TEST(more_areas_than_the_limit_are_refused)
{
    const struct smaps_area area = { .start = 0, .end = 4096, .inode = 1 };
    struct memory_areas areas = { 0 };

    put_process(&areas, MAIN);
    for (int i = 0; i < MEMORY_AREAS_MAX; i++)
        assert_int_equal(memory_areas_add(&areas, &area), 0);
    assert_int_equal(memory_areas_add(&areas, &area), -E2BIG);
    memory_areas_clear(&areas);
    put_process(&areas, MAIN);
    assert_int_equal(memory_areas_add(&areas, &area), 0);
    memory_areas_done(&areas);
}

/* Comparing all pairs of areas would take a minute. */
TEST(many_areas_of_one_file_are_processed_quickly)
{
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    for (uint64_t i = 0; i < 100000; i++)
        put(&areas, 9, (i * 7919) % 100000, (i * 7919) % 100000 + 1, 0, 0);
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_MAIN], 100000 * MB);
}

/* Both processes share 100 MB. The child copies 4 MB of them after the sums of both were
 * read, but before their mappings are read. */
TEST(pages_copied_between_the_reads_are_not_shared)
{
    const struct memory_view views[] = {
        { .group = GROUP_MAIN,
          .resident = 100 * MB,
          .rss = 100 * MB,
          .pss = 50 * MB,
          .shared_total = 100 * MB },
        { .group = GROUP_DESCENDANTS,
          .resident = 100 * MB,
          .rss = 100 * MB,
          .pss = 50 * MB,
          .shared_total = 100 * MB },
    };
    struct memory_estimate result;
    struct memory_areas areas;
    struct shared_files files;

    begin(&areas);
    put_process(&areas, MAIN);
    put(&areas, 0, 0, 100, 4, 48);
    put_process(&areas, CHILD);
    put(&areas, 0, 0, 100, 4, 48);
    files = estimate(&areas);
    assert_int_equal(files.total[GROUP_JOB], 104 * MB);
    shared_memory_estimate(views, 2, false, 4 * MB, &result);
    shared_files_correct(&files, views, 2, 4 * MB, &result);
    assert_int_equal(result.of[GROUP_JOB].shared_bytes, 100 * MB);
    assert_int_equal(result.of[GROUP_JOB].total_bytes, 100 * MB);
}
