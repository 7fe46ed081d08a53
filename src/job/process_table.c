/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_table.c - entries are collected until there are KEPT_MAX of them; then all but the
 * largest are summed. A process that is not among the largest of a subset is not among the
 * largest of all.
 */
#include "job/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/reserve.h"

enum { KEPT_MAX = 256 };

/* The longest clock tick of any kernel configuration. */
#define TICK_NS (10 * NS_PER_MS)

/* A remainder below 1/100 of the job's CPU time gets no row. */
enum { NOTABLE_SHARE = 100 };

void process_table_done(struct process_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->list[i].command);
    free(table->list);
    free(table->others);
    *table = (struct process_table){ 0 };
}

bool process_table_keeps(const struct process_table *table, uint64_t cpu_ns,
                         uint64_t peak_bytes)
{
    return !table->is_selective || cpu_ns > table->cpu_floor_ns ||
           (is_known(peak_bytes) && peak_bytes > table->memory_floor_bytes);
}

/* ---- sums ----------------------------------------------------------------- */

static struct process_sum *find_sum(struct process_table *table, const char *name)
{
    struct process_sum *sum;

    if (name[0] == '\0')
        return &table->unknown;
    for (size_t i = 0; i < table->other_count; i++) {
        if (memcmp(table->others[i].name, name, PROCESS_NAME_SIZE) == 0)
            return &table->others[i];
    }
    if (table->other_count >= PROCESS_NAMES_MAX ||
        reserve(&table->others, &table->other_capacity, table->other_count + 1,
                sizeof(*table->others)) < 0)
        return &table->unknown;
    sum = &table->others[table->other_count++];
    *sum = (struct process_sum){ .peak_bytes = UNKNOWN };
    memcpy(sum->name, name, PROCESS_NAME_SIZE);
    return sum;
}

static void add_to_sum(struct process_table *table, struct process_entry *entry)
{
    struct process_sum *sum = find_sum(table, entry->name);

    if (sum->count++ == 0)
        sum->peak_bytes = UNKNOWN;
    raise_to(&sum->peak_bytes, entry->peak_bytes);
    sum->cpu_ns += entry->cpu_ns;
    sum->estimated_ns += entry->estimated_ns;
    sum->estimates += entry->estimated_ns > 0;
    free(entry->command);
    entry->command = NULL;
}

/* ---- the largest ---------------------------------------------------------- */

struct ranked {
    uint64_t key;
    size_t index;
};

static int compare_keys(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    return a->key != b->key ? compare_u64(b->key, a->key) : compare_u64(a->index, b->index);
}

/* Marks the `most` entries with the largest keys. Returns the smallest of these keys. */
static uint64_t mark_largest(struct ranked *ranks, size_t count, size_t most, bool *kept)
{
    qsort(ranks, count, sizeof(*ranks), compare_keys);
    for (size_t i = 0; i < count && i < most; i++)
        kept[ranks[i].index] = true;
    return count < most ? 0 : ranks[most - 1].key;
}

static void sum_smallest(struct process_table *table)
{
    struct ranked by_cpu[KEPT_MAX], by_memory[KEPT_MAX];
    bool kept[KEPT_MAX] = { false };
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct process_entry *entry = &table->list[i];

        by_cpu[i] = (struct ranked){ entry->cpu_ns + entry->estimated_ns, i };
        by_memory[i] = (struct ranked){ known_or_0(entry->peak_bytes), i };
    }
    table->cpu_floor_ns = mark_largest(by_cpu, table->count, PROCESSES_BY_CPU, kept);
    table->memory_floor_bytes =
        mark_largest(by_memory, table->count, PROCESSES_BY_MEMORY, kept);
    for (size_t i = 0; i < table->count; i++) {
        if (kept[i])
            table->list[count++] = table->list[i];
        else
            add_to_sum(table, &table->list[i]);
    }
    table->count = count;
    table->is_selective = true;
}

void process_table_add(struct process_table *table, struct process_entry *entry)
{
    if (!process_table_keeps(table, entry->cpu_ns + entry->estimated_ns, entry->peak_bytes) ||
        reserve(&table->list, &table->capacity, table->count + 1, sizeof(*entry)) < 0) {
        add_to_sum(table, entry);
        return;
    }
    table->list[table->count++] = *entry;
    entry->command = NULL;
    if (table->count == KEPT_MAX)
        sum_smallest(table);
}

struct process_entry *process_table_find(const struct process_table *table, pid_t pid)
{
    for (size_t i = table->count; i-- > 0;) {
        if (table->list[i].pid == pid)
            return &table->list[i];
    }
    return NULL;
}

int process_table_copy(const struct process_table *table, struct process_table *ret)
{
    *ret = (struct process_table){ .unknown = table->unknown,
                                   .is_selective = table->is_selective,
                                   .cpu_floor_ns = table->cpu_floor_ns,
                                   .memory_floor_bytes = table->memory_floor_bytes };
    if (reserve(&ret->list, &ret->capacity, table->count, sizeof(*ret->list)) < 0 ||
        reserve(&ret->others, &ret->other_capacity, table->other_count, sizeof(*ret->others)) <
            0) {
        process_table_done(ret);
        return -ENOMEM;
    }
    for (size_t i = 0; i < table->count; i++) {
        struct process_entry *entry = &ret->list[ret->count++];

        *entry = table->list[i];
        if (entry->command)
            entry->command = strdup(entry->command); /* NULL: unknown */
    }
    for (size_t i = 0; i < table->other_count; i++)
        ret->others[ret->other_count++] = table->others[i];
    return 0;
}

/* ---- completing the table ------------------------------------------------- */

static int compare_starts(const void *left, const void *right)
{
    const struct process_entry *a = left, *b = right;

    return a->started_ns != b->started_ns ? compare_u64(a->started_ns, b->started_ns)
                                          : a->pid - b->pid;
}

static int compare_sums(const void *left, const void *right)
{
    const struct process_sum *a = left, *b = right;

    return a->cpu_ns != b->cpu_ns ? compare_u64(b->cpu_ns, a->cpu_ns)
                                  : memcmp(a->name, b->name, PROCESS_NAME_SIZE);
}

/* Totals of all processes of a table. */
struct balance {
    uint64_t count, exact_ns, estimated_ns, estimates;
};

static struct balance add_up(const struct process_table *table)
{
    struct balance balance = { .count = table->count };

    for (size_t i = 0; i < table->count; i++) {
        const struct process_entry *entry = &table->list[i];

        balance.exact_ns += entry->cpu_ns;
        balance.estimated_ns += entry->estimated_ns;
        balance.estimates += entry->estimated_ns > 0;
    }
    for (size_t i = 0; i <= table->other_count; i++) {
        const struct process_sum *sum =
            i < table->other_count ? &table->others[i] : &table->unknown;

        balance.count += sum->count;
        balance.exact_ns += sum->cpu_ns;
        balance.estimated_ns += sum->estimated_ns;
        balance.estimates += sum->estimates;
    }
    return balance;
}

static void scale_estimates(struct process_table *table, double factor)
{
    for (size_t i = 0; i < table->count; i++) {
        struct process_entry *entry = &table->list[i];

        entry->cpu_ns += (uint64_t)((double)entry->estimated_ns * factor);
        entry->estimated_ns = 0;
    }
    for (size_t i = 0; i <= table->other_count; i++) {
        struct process_sum *sum = i < table->other_count ? &table->others[i] : &table->unknown;

        sum->cpu_ns += (uint64_t)((double)sum->estimated_ns * factor);
        sum->estimated_ns = sum->estimates = 0;
    }
}

/* Assigns CPU time of the job beyond the exact times to the estimates, within their error.
 * Returns the remainder, which belongs to no process. */
static uint64_t balance_cpu(struct process_table *table, const struct balance *balance,
                            uint64_t job_cpu_ns, bool has_unknown)
{
    uint64_t left_ns = sub_floor0(job_cpu_ns, balance->exact_ns);
    uint64_t most_ns = balance->estimated_ns + (has_unknown ? 0 : balance->estimates * TICK_NS);
    uint64_t taken_ns = smaller(left_ns, most_ns);

    if (!is_known(job_cpu_ns) || balance->estimated_ns == 0) {
        scale_estimates(table, 1);
        return is_known(job_cpu_ns) ? left_ns : 0;
    }
    scale_estimates(table, (double)taken_ns / (double)balance->estimated_ns);
    return left_ns - taken_ns;
}

/* Adds a remainder within the error of the readings to the largest process: all processes are
 * known, so it belongs to one of them. */
static bool give_to_largest(struct process_table *table, uint64_t count, uint64_t left_ns)
{
    struct process_entry *largest = table->list;

    if (table->count == 0 || left_ns > count * TICK_NS)
        return false;
    for (size_t i = 1; i < table->count; i++) {
        if (table->list[i].cpu_ns > largest->cpu_ns)
            largest = &table->list[i];
    }
    largest->cpu_ns += left_ns;
    return true;
}

/* Adds CPU time that belongs to no known process; `missing` unknown processes were started. */
static void add_rest(struct process_table *table, uint64_t left_ns, uint64_t missing,
                     bool is_counted)
{
    struct process_sum *unknown = &table->unknown;

    unknown->cpu_ns += left_ns;
    unknown->count += missing;
    if (!is_counted || unknown->count == 0)
        unknown->count = UNKNOWN;
}

void process_table_finish(struct process_table *table, uint64_t job_cpu_ns,
                          uint64_t started_count)
{
    struct process_sum *unknown = &table->unknown;
    bool is_counted = is_known(started_count);
    struct balance balance;
    uint64_t missing, left_ns;

    if (table->count > PROCESSES_LARGEST)
        sum_smallest(table);
    balance = add_up(table);
    missing = is_counted ? sub_floor0(started_count, balance.count) : 0;
    left_ns = balance_cpu(table, &balance, job_cpu_ns, missing > 0 || !is_counted);
    if (unknown->count == 0)
        unknown->peak_bytes = UNKNOWN;
    if (missing > 0 || (left_ns > job_cpu_ns / NOTABLE_SHARE &&
                        !(is_counted && unknown->count == 0 &&
                          give_to_largest(table, balance.count, left_ns))))
        add_rest(table, left_ns, missing, is_counted);
    if (table->count > 1)
        qsort(table->list, table->count, sizeof(*table->list), compare_starts);
    if (table->other_count > 1)
        qsort(table->others, table->other_count, sizeof(*table->others), compare_sums);
}
