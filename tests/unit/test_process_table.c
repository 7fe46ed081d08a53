/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "job/process_table.h"
#include "unit_test.h"

#define MS NS_PER_MS

static struct process_entry named(pid_t pid, const char *name, uint64_t cpu_ns,
                                  uint64_t peak_bytes)
{
    struct process_entry entry = { .pid = pid,
                                   .started_ns = (uint64_t)pid,
                                   .cpu_ns = cpu_ns,
                                   .peak_bytes = peak_bytes,
                                   .command = strdup(name) };

    (void)snprintf(entry.name, sizeof(entry.name), "%s", name);
    return entry;
}

static void add(struct process_table *table, pid_t pid, const char *name, uint64_t cpu_ns,
                uint64_t peak_bytes)
{
    struct process_entry entry = named(pid, name, cpu_ns, peak_bytes);

    process_table_add(table, &entry);
    assert_null(entry.command);
}

static void add_estimate(struct process_table *table, pid_t pid, const char *name,
                         uint64_t cpu_ns, uint64_t estimated_ns)
{
    struct process_entry entry = named(pid, name, cpu_ns, 1);

    entry.estimated_ns = estimated_ns;
    process_table_add(table, &entry);
}

/* Returns the CPU time of all processes. */
static uint64_t sum_cpu(const struct process_table *table)
{
    uint64_t sum = table->unknown.cpu_ns;

    for (size_t i = 0; i < table->count; i++)
        sum += table->list[i].cpu_ns;
    for (size_t i = 0; i < table->other_count; i++)
        sum += table->others[i].cpu_ns;
    return sum;
}

static uint64_t count_all(const struct process_table *table)
{
    uint64_t count = table->count + table->unknown.count;

    for (size_t i = 0; i < table->other_count; i++)
        count += table->others[i].count;
    return count;
}

TEST(a_few_processes_are_kept_in_order_of_their_start)
{
    struct process_table table = { 0 };

    assert_true(process_table_keeps(&table, 0, UNKNOWN));
    add(&table, 12, "b", 5, 10);
    add(&table, 11, "a", 7, UNKNOWN);
    assert_string_equal(process_table_find(&table, 11)->command, "a");
    assert_null(process_table_find(&table, 13));
    process_table_finish(&table, 12, 2);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.list[0].pid, 11);
    assert_int_equal(table.list[1].pid, 12);
    assert_int_equal(table.other_count, 0);
    assert_int_equal(table.unknown.count, 0);
    process_table_done(&table);
}

TEST(the_largest_are_kept_and_the_others_summed)
{
    enum { COUNT = 5000 };
    struct process_table table = { 0 };
    uint64_t total_ns = 0;

    /* The order is arbitrary; the more CPU time a process has used, the smaller its memory. */
    for (int i = 0; i < COUNT; i++) {
        uint64_t cpu_ns = (uint64_t)(i * 7919 % COUNT) * (uint64_t)MS;
        uint64_t peak_bytes = (uint64_t)(COUNT - i * 7919 % COUNT) << 20;

        add(&table, i + 1, i % 3 == 0 ? "cc1" : "as", cpu_ns, peak_bytes);
        assert_in_range(table.count, 1, 255);
        total_ns += cpu_ns;
    }
    process_table_finish(&table, total_ns, COUNT);
    assert_int_equal(table.count, PROCESSES_LARGEST);
    for (size_t i = 0; i < table.count; i++)
        assert_true(table.list[i].cpu_ns >= (COUNT - PROCESSES_BY_CPU) * MS ||
                    table.list[i].peak_bytes > (uint64_t)(COUNT - PROCESSES_BY_MEMORY) << 20);
    assert_int_equal(table.other_count, 2);
    assert_string_equal(table.others[0].name, "as"); /* sorted by CPU time, descending */
    assert_string_equal(table.others[1].name, "cc1");
    assert_int_equal(table.others[0].peak_bytes, (uint64_t)(COUNT - PROCESSES_BY_MEMORY) << 20);
    assert_int_equal(sum_cpu(&table), total_ns);
    assert_int_equal(count_all(&table), COUNT);
    assert_false(process_table_keeps(&table, MS, 1));
    assert_true(process_table_keeps(&table, COUNT * MS, 1));
    assert_true(process_table_keeps(&table, MS, (uint64_t)COUNT << 20));
    process_table_done(&table);
}

/* The kernel keeps only 15 bytes of a name. */
TEST(the_number_of_names_is_limited)
{
    struct process_table table = { 0 };
    char name[16];

    for (int i = 0; i < 2000; i++) {
        (void)snprintf(name, sizeof(name), "name-%09d", i);
        add(&table, i + 1, name, 1, 1);
    }
    process_table_finish(&table, 2000, 2000);
    assert_int_equal(table.other_count, PROCESS_NAMES_MAX);
    assert_true(table.unknown.count > 0);
    assert_int_equal(count_all(&table), 2000);
    assert_int_equal(sum_cpu(&table), 2000);
    process_table_done(&table);
}

TEST(a_reused_pid_is_listed_as_two_processes)
{
    struct process_table table = { 0 };

    add(&table, 7, "first", 1, 1);
    add(&table, 7, "second", 2, 2);
    assert_string_equal(process_table_find(&table, 7)->name, "second");
    process_table_finish(&table, 3, 2);
    assert_int_equal(table.count, 2);
    process_table_done(&table);
}

TEST(missing_cpu_time_belongs_to_unknown_processes)
{
    struct process_table table = { 0 };

    add(&table, 1, "main", 70 * MS, 1);
    process_table_finish(&table, 100 * MS, 31);
    assert_int_equal(table.unknown.count, 30);
    assert_int_equal(table.unknown.cpu_ns, 30 * MS);
    assert_false(is_known(table.unknown.peak_bytes));
    process_table_done(&table);
}

/* Processes that no look found are not counted. */
TEST(without_events_the_number_of_unknown_processes_is_unknown)
{
    struct process_table table = { 0 };

    add(&table, 1, "main", 70 * MS, 1);
    process_table_finish(&table, 100 * MS, UNKNOWN);
    assert_false(is_known(table.unknown.count));
    assert_int_equal(table.unknown.cpu_ns, 30 * MS);
    process_table_done(&table);

    add(&table, 1, "main", 100 * MS - 1, 1);
    process_table_finish(&table, 100 * MS, UNKNOWN);
    assert_int_equal(table.unknown.count, 0);
    assert_int_equal(table.unknown.cpu_ns, 0);
    process_table_done(&table);
}

TEST(a_small_unattributed_time_is_added_to_the_largest_process)
{
    struct process_table table = { 0 };

    add(&table, 1, "main", 1 * MS, 1);
    add(&table, 2, "sh", 3 * MS, 1);
    process_table_finish(&table, 6 * MS, 2);
    assert_int_equal(table.list[0].cpu_ns, 1 * MS);
    assert_int_equal(table.list[1].cpu_ns, 5 * MS);
    assert_int_equal(table.unknown.count, 0);
    assert_int_equal(table.unknown.cpu_ns, 0);
    process_table_done(&table);
}

TEST(estimates_are_scaled_to_the_cpu_time_of_the_job)
{
    struct process_table table = { 0 };

    add(&table, 1, "main", 40 * MS, 1);
    add_estimate(&table, 2, "sh", 0, 20 * MS);
    add_estimate(&table, 3, "sh", 10 * MS, 60 * MS);
    process_table_finish(&table, 90 * MS, 3); /* half of the estimated time */
    assert_int_equal(table.list[0].cpu_ns, 40 * MS);
    assert_int_equal(table.list[1].cpu_ns, 10 * MS);
    assert_int_equal(table.list[2].cpu_ns, 40 * MS);
    assert_int_equal(table.unknown.cpu_ns, 0);
    process_table_done(&table);
}

/* An estimate is at most one clock tick of 10 ms too small; any further time belongs to
 * other processes. */
TEST(estimates_grow_by_at_most_a_tick)
{
    struct process_table table = { 0 };

    add_estimate(&table, 2, "sh", 0, 10 * MS);
    process_table_finish(&table, 15 * MS, 1);
    assert_int_equal(table.list[0].cpu_ns, 15 * MS);
    process_table_done(&table);

    add_estimate(&table, 2, "sh", 0, 10 * MS);
    process_table_finish(&table, 100 * MS, 1);
    assert_int_equal(table.list[0].cpu_ns, 20 * MS);
    assert_false(is_known(table.unknown.count)); /* not 0: an unknown process used the rest */
    assert_int_equal(table.unknown.cpu_ns, 80 * MS);
    process_table_done(&table);

    add_estimate(&table, 2, "sh", 0, 10 * MS); /* another process may have used more */
    process_table_finish(&table, 15 * MS, 2);
    assert_int_equal(table.list[0].cpu_ns, 10 * MS);
    assert_int_equal(table.unknown.cpu_ns, 5 * MS);
    process_table_done(&table);
}

TEST(without_the_cpu_time_of_the_job_estimates_are_kept)
{
    struct process_table table = { 0 };

    add_estimate(&table, 2, "sh", 0, 10 * MS);
    process_table_finish(&table, UNKNOWN, UNKNOWN);
    assert_int_equal(table.list[0].cpu_ns, 10 * MS);
    assert_int_equal(table.unknown.cpu_ns, 0);
    process_table_done(&table);
}

TEST(a_copy_has_its_own_memory)
{
    struct process_table table = { 0 }, copy;

    for (int i = 0; i < 300; i++)
        add(&table, i + 1, "sh", (uint64_t)i, (uint64_t)i);
    assert_int_equal(process_table_copy(&table, &copy), 0);
    add(&copy, 1000, "late", 1000, 1000);
    assert_int_equal(copy.count, table.count + 1);
    assert_null(process_table_find(&table, 1000));
    assert_int_equal(count_all(&copy), 301);
    process_table_done(&table);
    assert_string_equal(process_table_find(&copy, 300)->command, "sh");
    process_table_done(&copy);
}
