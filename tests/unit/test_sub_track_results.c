/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "unit_test.h"

/* ---- statistics --------------------------------------------------------- */

static void check(const double *values, size_t count, double min, double max, double mean,
                  double std)
{
    const double expected[STATISTICS] = { min, max, mean, std };
    struct spread spread = { 0 };
    double found[STATISTICS];

    for (size_t i = 0; i < count; i++)
        spread_add(&spread, values[i]);
    spread_get(&spread, found);
    for (size_t i = 0; i < STATISTICS; i++)
        assert_true(!(fabs(found[i] - expected[i]) > 1e-12 * fabs(expected[i])));
}

TEST(standard_deviation_is_the_population_standard_deviation)
{
    static const double some[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
    static const double negative[] = { -3, -1 };
    static const double one[] = { 42.5 };

    check(some, ARRAY_SIZE(some), 2, 9, 5, 2);
    check(negative, ARRAY_SIZE(negative), -3, -1, -2, 1);
    check(one, 1, 42.5, 42.5, 42.5, 0);
}

TEST(the_deviation_of_equal_numbers_is_0)
{
    double values[1000];

    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        values[i] = 0.216;
    check(values, ARRAY_SIZE(values), 0.216, 0.216, 0.216, 0);
}

/* Sums of squares would lose the small deviation of numbers that are far from 0. */
TEST(the_deviation_of_large_numbers_is_accurate)
{
    static const double values[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };

    check(values, ARRAY_SIZE(values), 1e9 + 4, 1e9 + 16, 1e9 + 10, 4.743416490252569);
}

TEST(statistics_without_numbers_have_only_a_total_of_0)
{
    struct spread spread = { 0 };
    double found[STATISTICS];

    spread_get(&spread, found);
    for (size_t i = 0; i < STATISTICS; i++)
        assert_true(isnan(found[i]));
    assert_true(!(fabs((double)spread.total) > 0));
    spread_add(&spread, 1.5);
    spread_add(&spread, 2);
    assert_true(!(fabs((double)spread.total - 3.5) > 0));
}

/* ---- calls -------------------------------------------------------------- */

struct step {
    int process_id;
    const char *name;
    char position; /* S: start, E: end */
    double timestamp;
};

/* Finds the calls in a log with one block. Returns their number, or -errno. */
static int pair(const struct step *steps, size_t count, struct call *ret,
                struct spoor_error *err)
{
    struct block_log log = { 0 };
    int r;

    for (size_t i = 0; i < count; i++)
        assert_int_equal(block_log_add(&log, steps[i].process_id, steps[i].name,
                                       steps[i].position == 'E', steps[i].timestamp),
                         0);
    calls_sort_events(&log);
    r = calls_pair(log.events, log.count, ret, err);
    block_log_done(&log);
    return r;
}

static double total(const struct call *calls, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += calls[i].stop - calls[i].start;
    return sum;
}

#define CHECK(expected_count, expected_total, ...)                        \
    do {                                                                  \
        const struct step steps[] = { __VA_ARGS__ };                      \
        struct call calls[8];                                             \
        int count = pair(steps, ARRAY_SIZE(steps), calls, NULL);          \
                                                                          \
        assert_int_equal(count, expected_count);                          \
        assert_true(fabs(total(calls, count) - (expected_total)) < 1e-9); \
    } while (0)

TEST(a_start_and_a_stop_form_a_call)
{
    CHECK(1, 3, { 7, "b", 'S', 1 }, { 7, "b", 'E', 4 });
    CHECK(2, 5, { 7, "b", 'S', 1 }, { 7, "b", 'E', 4 }, { 7, "b", 'S', 6 }, { 7, "b", 'E', 8 });
}

TEST(calls_of_a_recursive_block_are_nested)
{
    CHECK(2, 6, { 7, "b", 'S', 0 }, { 7, "b", 'S', 1 }, { 7, "b", 'E', 3 }, { 7, "b", 'E', 4 });
}

TEST(an_unfinished_block_is_not_counted_as_a_call)
{
    /* The process was killed in the block. */
    CHECK(0, 0, { 7, "b", 'S', 0 });
    /* The end of the first call was lost. */
    CHECK(1, 2, { 7, "b", 'S', 0 }, { 7, "b", 'S', 1 }, { 7, "b", 'E', 3 });
    /* Another process does not end the call. */
    CHECK(1, 2, { 7, "b", 'S', 0 }, { 8, "b", 'S', 1 }, { 8, "b", 'E', 3 });
}

TEST(calls_of_different_processes_are_separate)
{
    CHECK(2, 7, { 8, "b", 'S', 0 }, { 7, "b", 'S', 1 }, { 8, "b", 'E', 5 }, { 7, "b", 'E', 3 });
}

/* A call may start in the same tick in which the previous call ends. */
TEST(rows_with_the_same_time_keep_their_order)
{
    const struct step steps[] = {
        { 7, "b", 'S', 1 }, { 7, "b", 'E', 2 }, { 7, "b", 'S', 2 }, { 7, "b", 'E', 3 }
    };
    struct call calls[2];

    assert_int_equal(pair(steps, 4, calls, NULL), 2);
    assert_true(fabs(calls[0].stop - 2) < 1e-9 && fabs(calls[1].start - 2) < 1e-9);
}

static void check_refused(const struct step *steps, size_t count, const char *message)
{
    struct call calls[8];
    struct spoor_error err;

    assert_int_equal(pair(steps, count, calls, &err), -EBADMSG);
    assert_string_equal(err.message, message);
}

TEST(a_stop_without_a_start_is_refused)
{
    const struct step same[] = { { 7, "b", 'E', 1.5 }, { 7, "b", 'S', 2 } };
    const struct step other[] = {
        { 7, "b", 'S', 1 }, { 7, "b", 'E', 2 }, { 7, "b", 'E', 3 }, { 8, "b", 'S', 1.25 }
    };
    const struct step last[] = { { 7, "b", 'S', 1 }, { 7, "b", 'E', 2 }, { 7, "b", 'E', 3 } };

    check_refused(same, 2,
                  "Sub-tracking file is invalid. Detected timestamp pair (1.5, 2.0) of process "
                  "ID 7 with a start time greater than the stop time.");
    check_refused(other, 4,
                  "Sub-tracking file is invalid. Detected timestamp pair (3.0, 1.25) with "
                  "differing process IDs: 7 and 8.");
    check_refused(last, 3,
                  "Sub-tracking file is invalid. Detected a stop (3.0) of process ID 7 without "
                  "a start.");
}

TEST(merged_calls_include_the_time_between_them)
{
    struct call calls[] = { { 5, 6, 0 }, { 1, 2, 0 }, { 1.5, 3, 0 }, { 3, 4, 0 }, { 8, 8, 0 } };
    size_t count = calls_join(calls, ARRAY_SIZE(calls));

    assert_int_equal(count, 3);
    assert_true(calls_contain(calls, count, 1));
    assert_true(calls_contain(calls, count, 3.5));
    assert_true(calls_contain(calls, count, 6));
    assert_true(calls_contain(calls, count, 8));
    assert_false(calls_contain(calls, count, 0.99));
    assert_false(calls_contain(calls, count, 4.5));
    assert_false(calls_contain(calls, count, 8.01));
    assert_false(calls_contain(calls, 0, 1));
    assert_int_equal(calls_join(calls, 0), 0);
}

/* ---- text table --------------------------------------------------------- */

static void check_table(const struct text_table *table, unsigned tabs, const char *expected)
{
    struct buffer out = { 0 };

    text_table_write(table, tabs, &out);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

TEST(numbers_are_written_with_at_most_eight_decimals)
{
    assert_string_equal(cell_number(0).text, "0.0");
    assert_string_equal(cell_number(13).text, "13.0");
    assert_string_equal(cell_number(0.086913024).text, "0.08691302");
    assert_string_equal(cell_number(0.00000177).text, "1.77e-06");
    assert_string_equal(cell_number(1e-9).text, "0.0");
    assert_string_equal(cell_number(31000000000.5).text, "31000000000.5");
    assert_string_equal(cell_number(nan("")).text, "NaN");
    assert_string_equal(cell_number(1e300).text, "1e+300");
}

TEST(a_column_of_numbers_is_wider_than_its_header)
{
    static const char *const headers[] = { "min", "std" };
    static const char *const index[] = { "a", "main" };
    static const struct cell_text cells[] = { { "0.25" }, { "0.0" }, { "12.125" }, { "1.0" } };
    const struct text_table table = { headers, index, cells, 2, 2, false };

    check_table(&table, 1,
                "\t        min  std\n"
                "\ta      0.25  0.0\n"
                "\tmain 12.125  1.0\n");
}

TEST(a_column_of_words_is_wider_than_its_cells)
{
    static const char *const headers[] = { "unit", "cores" };
    static const struct cell_text cells[] = { { "bytes" }, { "12" } };
    const struct text_table table = { headers, NULL, cells, 1, 2, true };

    check_table(&table, 0,
                "   unit cores\n"
                "  bytes    12\n");
}

TEST(width_is_counted_in_characters)
{
    static const char *const headers[] = { "\xc3\xa9t\xc3\xa9" };
    static const struct cell_text cells[] = { { "12345.5" } };
    const struct text_table table = { headers, NULL, cells, 1, 1, false };

    check_table(&table, 0, "     \xc3\xa9t\xc3\xa9\n 12345.5\n");
}
