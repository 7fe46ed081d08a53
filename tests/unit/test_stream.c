/* SPDX-License-Identifier: Apache-2.0 */
/* A path, a dialect and a format select a stream. test_csv.c and test_dialect.c test its
 * rows. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "output/dialect.h"
#include "unit_test.h"

static struct stream find(const char *dialect)
{
    struct stream stream;

    assert_int_equal(stream_find("-", dialect, NULL, true, &stream, NULL), 0);
    return stream;
}

static size_t count_columns(const struct dialect_table *table)
{
    const char *prefix;
    size_t count = 0;

    while (dialect_column(table, count, &prefix))
        count++;
    return count;
}

TEST(each_dialect_defines_its_tables)
{
    static const struct {
        const char *name;
        bool has_job;
        const char *table;
        size_t columns;
    } cases[] = {
        { "resource-tracker", true, "process", 12 },
        { "resource-tracker", false, "system", 21 },
        { "resource-tracker:system", true, "system", 21 },
        { "resource-tracker:combined", true, "combined", 32 },
        { "resource-tracker-0.3", true, "process", 12 },
        { "resource-tracker-0.3", false, "system", 21 },
        { "resource-tracker-0.1:process", false, "process", 12 },
        { "resource-tracker-0.1", false, "system", 21 },
        { "resource-tracker-rs", true, "combined", 32 },
        { "resource-tracker-rs", false, "combined", 32 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct dialect *dialect;
        const struct dialect_table *table;

        assert_true(dialect_find(cases[i].name, cases[i].has_job, &dialect, &table));
        assert_string_equal(table->name, cases[i].table);
        assert_int_equal(count_columns(table), cases[i].columns);
    }
}

TEST(other_names_are_refused)
{
    static const char *const names[] = {
        "",
        "resource",
        "resource-tracker:",
        "resource-tracker:host",
        "resource-tracker-0.2",
        ":",
        ":process",
        "spoor:process",
        "resource-tracker-rs:process",
    };
    struct stream stream;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct spoor_error err = { 0 };

        assert_int_equal(stream_find("-", names[i], NULL, true, &stream, &err), -EINVAL);
        assert_non_null(strstr(err.message, "unknown dialect"));
    }
}

TEST(the_suffix_or_the_option_selects_the_format)
{
    struct spoor_error err = { 0 };
    struct stream stream;

    assert_int_equal(stream_find("x.txt", "resource-tracker", "csv", true, &stream, &err), 0);
    assert_true(stream.has_header);
    assert_int_equal(stream_find("x.csv", "resource-tracker", "jsonl", true, &stream, &err), 0);
    assert_false(stream.has_header);
    assert_int_equal(stream_find("/dev/null", NULL, NULL, true, &stream, &err), 0);
    assert_true(stream.names_gpus);
    assert_int_equal(stream_find("x.f64", "resource-tracker", NULL, true, &stream, &err), 0);
    assert_int_equal(stream_find("x.f64", NULL, NULL, true, &stream, &err), -EINVAL);
    assert_int_equal(stream_find("-", NULL, "xml", true, &stream, &err), -EINVAL);
    assert_string_equal(err.message, "unknown format 'xml': expected csv or jsonl");
}

TEST(only_rows_with_columns_of_the_machine_need_its_processes_and_gpus)
{
    static const struct {
        const char *dialect;
        bool has_machine;
    } cases[] = { { "resource-tracker", false },
                  { "resource-tracker:system", true },
                  { "resource-tracker-rs", true },
                  { "spoor", false } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stream stream = find(cases[i].dialect);

        assert_int_equal(stream.counts_processes, cases[i].has_machine);
        assert_int_equal(stream.reads_host_gpus, cases[i].has_machine);
    }
}
