/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/shared_memory.h"
#include "unit_test.h"

#define MB ((uint64_t)1 << 20)

TEST(unread_memory_is_assumed_to_be_mapped_twice)
{
    struct double_mapping mapping = { 0 };

    double_mapping_seen(&mapping, 200 * MB);
    assert_int_equal(double_mapping_bytes(&mapping), 200 * MB);
    double_mapping_seen(&mapping, 50 * MB); /* must not lower the bound */
    assert_int_equal(double_mapping_bytes(&mapping), 200 * MB);
}

TEST(memory_as_small_as_libraries_is_not_suspected)
{
    struct double_mapping mapping = { 0 };

    double_mapping_seen(&mapping, 16 * MB);
    assert_int_equal(double_mapping_bytes(&mapping), 0);
}

TEST(a_read_of_at_least_as_much_memory_replaces_the_bound)
{
    struct double_mapping mapping = { 0 };

    double_mapping_read(&mapping, 100 * MB, 90 * MB); /* read before children were found */
    double_mapping_read(&mapping, 100 * MB, 0);
    assert_int_equal(double_mapping_bytes(&mapping), 0);
    double_mapping_seen(&mapping, 300 * MB);
    double_mapping_read(&mapping, 20 * MB, 0); /* most of it has been unmapped */
    assert_int_equal(double_mapping_bytes(&mapping), 200 * MB);
    double_mapping_read(&mapping, 290 * MB, 100 * MB);
    assert_int_equal(double_mapping_bytes(&mapping), 100 * MB);
}
