/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill_processes.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "job/command_line.h"
#include "record/ending.h"

/* In whole microseconds. */
static double seconds_of(uint64_t ns)
{
    return is_known(ns) ? (double)(ns / NS_PER_US) / 1e6 : (double)NAN;
}

/* Since the start of the run. A job that we started did not run before. */
static double seconds_since(const struct record_input *input, uint64_t ns)
{
    if (is_known(ns) && ns < input->started_ns)
        return input->is_attached ? -seconds_of(input->started_ns - ns) : 0;
    return seconds_of(is_known(ns) ? ns - input->started_ns : UNKNOWN);
}

/* The main process may end before its command line is read; it is the command of the run. */
static const char *command_of(struct record *record, const struct record_input *input,
                              const struct process_entry *entry)
{
    char *line = NULL;
    const char *copy;

    if (!entry->command && entry->pid == input->pid && input->command && input->command[0])
        line = command_line_make(input->command, false);
    copy = record_known_text(record, entry->command ? entry->command : line);
    free(line);
    return copy;
}

static struct record_process make_process(struct record *record,
                                          const struct record_input *input,
                                          const struct process_entry *entry)
{
    struct ending ending = ending_of(entry->has_wait_status, entry->wait_status);

    return (struct record_process){
        .pid = (uint64_t)entry->pid,
        .parent_pid = entry->parent_pid > 0 ? (uint64_t)entry->parent_pid : UNKNOWN,
        .name = record_known_text(record, entry->name),
        .command = command_of(record, input, entry),
        .started_seconds = seconds_since(input, entry->started_ns),
        .ended_seconds = seconds_since(input, entry->ended_ns),
        .cpu_seconds = seconds_of(entry->cpu_ns),
        .peak_rss_bytes = entry->peak_bytes,
        .read_bytes = entry->read_bytes,
        .written_bytes = entry->written_bytes,
        .gpu_memory_bytes = entry->gpu_bytes,
        .exit_code = ending.exit_code,
        .signal = record_known_text(record, ending.signal_name),
    };
}

static struct record_process_sum make_sum(struct record *record, const struct process_sum *sum)
{
    return (struct record_process_sum){
        .name = record_known_text(record, sum->name),
        .count = sum->count,
        .cpu_seconds = seconds_of(sum->cpu_ns),
        .peak_rss_bytes = sum->peak_bytes,
    };
}

static void fill_others(struct record *record, const struct process_table *table)
{
    bool has_unknown = table->unknown.count > 0 || table->unknown.cpu_ns > 0;
    size_t count = table->other_count + has_unknown;
    struct record_process_sum *to = record_alloc(record, count, sizeof(*to));

    record->other_processes = to;
    record->other_process_count = to ? count : 0;
    for (size_t i = 0; i < record->other_process_count; i++)
        to[i] = make_sum(record, i < table->other_count ? &table->others[i] : &table->unknown);
}

void fill_processes(struct record *record, const struct record_input *input)
{
    const struct process_table *table = input->processes;

    if (!table)
        return;
    record->processes = record_alloc(record, table->count, sizeof(*record->processes));
    record->process_count = record->processes ? table->count : 0;
    for (size_t i = 0; i < record->process_count; i++)
        record->processes[i] = make_process(record, input, &table->list[i]);
    fill_others(record, table);
}
