/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "unit_test.h"

TEST(parsing_a_number_advances_the_cursor)
{
    const char *cursor = "  12 -7 x";
    uint64_t u;
    int64_t i;

    assert_int_equal(parse_u64(&cursor, &u), 0);
    assert_int_equal(u, 12);
    assert_int_equal(parse_i64(&cursor, &i), 0);
    assert_int_equal(i, -7);
    assert_int_equal(parse_i64(&cursor, &i), -EBADMSG);
    assert_string_equal(cursor, " x");
}

TEST(numbers_that_do_not_fit_are_refused)
{
    static const char *const bad[] = {
        "18446744073709551616", "99999999999999999999999", "-1", "", " ", "x1", "--1", "+1"
    };
    uint64_t u = 5;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const char *cursor = bad[i];

        assert_int_equal(parse_u64(&cursor, &u), -EBADMSG);
        assert_ptr_equal(cursor, bad[i]);
    }
    assert_int_equal(u, 5); /* untouched on failure */
}

TEST(the_largest_number_fits)
{
    const char *cursor = "18446744073709551615";
    uint64_t u;

    assert_int_equal(parse_u64(&cursor, &u), 0);
    assert_true(u == UINT64_MAX);
}

TEST(a_key_matches_only_at_the_start_of_a_line)
{
    static const char text[] = "XMemFree: 1 kB\nMemFree:   2 kB\noom_kill 3\nrbytes=4\n";
    uint64_t value;

    assert_int_equal(parse_key_u64(text, "MemFree:", &value), 0);
    assert_int_equal(value, 2);
    assert_int_equal(parse_key_u64(text, "oom_kill", &value), 0);
    assert_int_equal(value, 3);
    assert_int_equal(parse_key_u64(text, "rbytes", &value), 0);
    assert_int_equal(value, 4);
    assert_int_equal(parse_key_u64(text, "Mem", &value), -ENOENT);
    assert_int_equal(parse_key_u64("MemFree: x\n", "MemFree:", &value), -EBADMSG);
    assert_int_equal(parse_key_u64("", "MemFree:", &value), -ENOENT);
}

TEST(cpu_lists_are_counted)
{
    static const struct {
        const char *text;
        unsigned count;
    } good[] = { { "0", 1 }, { "0-3\n", 4 }, { "0-3,8,10-11\n", 7 } };
    static const char *const bad[] = {
        "",      "\n",    ",", "0,",   "0-",   "-1",         "3-1", "0-99999999999999999999",
        "0 1 x", "0-1-2", "a", "0,,1", "8192", "0-99999999", "0 1",
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(parse_cpu_list(good[i].text, NULL, CPU_NUMBER_END), good[i].count);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(parse_cpu_list(bad[i], NULL, CPU_NUMBER_END), -EBADMSG);
}

TEST(cpu_lists_contain_single_cpus_and_ranges)
{
    unsigned cpus[8];

    assert_int_equal(parse_cpu_list("0\n", cpus, 8), 1);
    assert_int_equal(cpus[0], 0);
    assert_int_equal(parse_cpu_list("0-2,7,10-11\n", cpus, 8), 6);
    assert_memory_equal(cpus, ((unsigned[]){ 0, 1, 2, 7, 10, 11 }), 6 * sizeof(*cpus));
}

TEST(a_cpu_list_longer_than_the_capacity_is_refused)
{
    unsigned cpus[8];

    assert_int_equal(parse_cpu_list("0-7\n", cpus, 8), 8);
    assert_int_equal(parse_cpu_list("0-8\n", cpus, 8), -E2BIG);
    assert_int_equal(parse_cpu_list("0-8191\n", cpus, 8), -E2BIG);
}

TEST(a_line_is_copied_without_the_blanks_around_it)
{
    char buf[8];

    parse_copy_line(" \n\t a b \t\r\nc", buf, sizeof(buf));
    assert_string_equal(buf, "a b");
    parse_copy_line("0123456789", buf, sizeof(buf));
    assert_string_equal(buf, "0123456");
    parse_copy_line(" \n", buf, sizeof(buf));
    assert_string_equal(buf, "");
}

TEST(a_whole_number_has_no_trailing_text)
{
    uint64_t value;

    assert_int_equal(parse_whole_u64("42\n", &value), 0);
    assert_int_equal(value, 42);
    assert_int_equal(parse_whole_u64("max\n", &value), -EBADMSG);
    assert_int_equal(parse_whole_u64("42 43\n", &value), -EBADMSG);
}

TEST(a_word_must_match_as_a_whole)
{
    assert_true(parse_has_word("cpu io memory\n", "memory"));
    assert_true(parse_has_word("cpu io memory\n", "cpu"));
    assert_true(parse_has_word("io", "io"));
    assert_false(parse_has_word("memoryless cpuset\n", "memory"));
    assert_false(parse_has_word("memoryless cpuset\n", "set"));
    assert_false(parse_has_word("", "memory"));
}

TEST(a_sum_with_an_unknown_value_is_unknown)
{
    assert_int_equal(sum_u64(1, 2), 3);
    assert_true(sum_u64(UINT64_MAX, 2) == UINT64_MAX);
    assert_true(sum_u64(UINT64_MAX - 1, 2) == UINT64_MAX);
    assert_true(product_u64(UINT64_MAX / 2, 3) == UINT64_MAX);
    assert_int_equal(product_u64(6, 7), 42);
}
