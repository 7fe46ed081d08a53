/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/meminfo.h"
#include "unit_test.h"

#define TEXT                     \
    "MemTotal:        1000 kB\n" \
    "MemFree:          300 kB\n" \
    "MemAvailable:     600 kB\n" \
    "Buffers:           10 kB\n" \
    "Cached:           200 kB\n" \
    "SwapCached:         7 kB\n" \
    "Active:            70 kB\n" \
    "Inactive:          90 kB\n" \
    "Active(anon):      30 kB\n" \
    "Inactive(anon):    20 kB\n" \
    "SwapTotal:        500 kB\n" \
    "SwapFree:         499 kB\n" \
    "Dirty:              3 kB\n" \
    "Writeback:          2 kB\n" \
    "SReclaimable:      40 kB\n" \
    "HugePages_Total:    1\n"    \
    "Hugetlb:        2048 kB\n"

TEST(sizes_are_in_bytes)
{
    struct meminfo info;

    assert_int_equal(meminfo_parse(TEXT, &info), 0);
    assert_int_equal(info.total_bytes, 1000 * 1024);
    assert_int_equal(info.free_bytes, 300 * 1024);
    assert_int_equal(info.available_bytes, 600 * 1024);
    assert_int_equal(info.cached_bytes, 250 * 1024);
    assert_int_equal(info.buffers_bytes, 10 * 1024);
    assert_int_equal(info.page_cache_bytes, 200 * 1024);
    assert_int_equal(info.reclaimable_bytes, 40 * 1024);
    assert_int_equal(info.active_bytes, 70 * 1024);
    assert_int_equal(info.inactive_bytes, 90 * 1024);
    assert_int_equal(info.active_anon_bytes, 30 * 1024);
    assert_int_equal(info.inactive_anon_bytes, 20 * 1024);
    assert_int_equal(info.swap_used_bytes, 1024);
    assert_int_equal(info.dirty_bytes, 5 * 1024);
    assert_int_equal(info.hugetlb_bytes, 2048 * 1024);
}

FAKE_ROOT_TEST(huge_pages_of_all_sizes_are_added_up)
{
    struct fake_root *fake = *state;
    struct huge_pages pages = { .count = 0 };

    assert_int_equal(huge_pages_read(&pages, &fake->root), 0);
    fake_root_write(fake, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "5\n");
    fake_root_write(fake, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "2\n");
    fake_root_write(fake, "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n");
    fake_root_write(fake, "sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
    assert_int_equal(huge_pages_read(&pages, &fake->root), (6ull << 20) + (1ull << 30));
    huge_pages_close(&pages);
}

TEST(without_memavailable_caches_count_as_available)
{
    struct meminfo info;

    assert_int_equal(meminfo_parse("MemTotal: 1000 kB\nMemFree: 300 kB\nBuffers: 10 kB\n"
                                   "Cached: 200 kB\n",
                                   &info),
                     0);
    assert_int_equal(info.available_bytes, 510 * 1024);
    assert_true(info.cached_bytes == UNKNOWN);
    assert_true(info.swap_used_bytes == UNKNOWN);
}

TEST(used_swap_is_0_without_swap_space)
{
    struct meminfo info;

    assert_int_equal(meminfo_parse("MemTotal: 1 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n", &info),
                     0);
    assert_int_equal(info.swap_used_bytes, 0);
    assert_true(info.available_bytes == UNKNOWN);
}

TEST(impossible_free_swap_is_unknown)
{
    struct meminfo info;

    assert_int_equal(meminfo_parse("MemTotal: 1 kB\nSwapTotal: 1 kB\nSwapFree: 2 kB\n", &info),
                     0);
    assert_true(info.swap_used_bytes == UNKNOWN);
}

TEST(a_truncated_text_never_gives_a_wrong_number)
{
    struct meminfo whole, info;
    char text[sizeof(TEXT)];

    assert_int_equal(meminfo_parse(TEXT, &whole), 0);
    for (size_t length = 0; length < strlen(TEXT); length++) {
        memcpy(text, TEXT, length);
        text[length] = '\0';
        if (meminfo_parse(text, &info) < 0) {
            assert_null(strchr(text, '\n'));
            continue;
        }
        assert_int_equal(info.total_bytes, whole.total_bytes);
        assert_true(info.free_bytes == whole.free_bytes || info.free_bytes == UNKNOWN);
        assert_true(info.cached_bytes == whole.cached_bytes || info.cached_bytes == UNKNOWN);
        assert_true(info.swap_used_bytes == whole.swap_used_bytes ||
                    info.swap_used_bytes == UNKNOWN);
    }
}

TEST(damaged_text_is_refused)
{
    static const char *const damaged[] = {
        "",
        "MemTotal:",
        "MemTotal: 12",
        "MemTotal: x kB\n",
        "MemTotal: -1 kB\n",
        "MemFree: 1 kB\n",
        "MemTotal: 18446744073709551616 kB\n",
        "MemTotal: 18446744073709551615 kB\n",
    };
    struct meminfo info = { .total_bytes = 5 };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
        assert_int_equal(meminfo_parse(damaged[i], &info), -EBADMSG);
    assert_int_equal(info.total_bytes, 5); /* untouched on failure */
}
