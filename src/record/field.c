/* SPDX-License-Identifier: Apache-2.0 */
#include "record/field.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "record/record.h"

#define AT(member) offsetof(struct record, member)

static const struct field run[] = {
    { "run.id", FIELD_TEXT, AT(id) },
    { "run.name", FIELD_TEXT, AT(name) },
    { "run.tags", FIELD_TAGS, AT(tags) },
    { "run.command", FIELD_TEXTS, AT(command) },
    { "run.pid", FIELD_COUNT, AT(pid) },
    { "run.host", FIELD_TEXT, AT(host) },
    { "run.user", FIELD_TEXT, AT(user) },
    { "run.cwd", FIELD_TEXT, AT(cwd) },
    { "run.started_at", FIELD_DATE, AT(started_at) },
    { "run.ended_at", FIELD_DATE, AT(ended_at) },
    { "run.elapsed_seconds", FIELD_NUMBER, AT(elapsed_seconds) },
    { "run.exit_code", FIELD_COUNT, AT(exit_code) },
    { "run.signal", FIELD_TEXT, AT(signal) },
    { "run.core_dumped", FIELD_IF_TRUE, AT(has_dumped_core) },
    { "run.attached", FIELD_IF_TRUE, AT(is_attached) },
    { "run.still_running", FIELD_IF_TRUE, AT(is_still_running) },
    { "run.interval_seconds", FIELD_NUMBER, AT(interval_seconds) },
    { "run.samples", FIELD_COUNT, AT(samples) },
    { "run.spoor_version", FIELD_TEXT, AT(spoor_version) },
};

static const struct field machine[] = {
    { "host.os", FIELD_TEXT, AT(os) },
    { "host.kernel", FIELD_TEXT, AT(kernel) },
    { "host.cpu_model", FIELD_TEXT, AT(cpu_model) },
    { "host.cpus", FIELD_COUNT, AT(cpus) },
    { "host.memory_bytes", FIELD_COUNT, AT(memory_bytes) },
    { "limits.cpus", FIELD_NUMBER, AT(cpus_limit) },
    { "limits.cpus_source", FIELD_TEXT, AT(cpus_limit_source) },
    { "limits.memory_bytes", FIELD_COUNT, AT(memory_limit_bytes) },
    { "limits.memory_source", FIELD_TEXT, AT(memory_limit_source) },
};

static const struct field tracker[] = {
    { "tracker.cpu_seconds", FIELD_NUMBER, AT(tracker_cpu_seconds) },
    { "tracker.max_rss_bytes", FIELD_COUNT, AT(tracker_max_rss_bytes) },
    { "tracker.late_samples", FIELD_COUNT, AT(late_samples) },
    { "tracker.detail_reads", FIELD_COUNT, AT(detail_reads) },
    { "tracker.budget_percent", FIELD_NUMBER, AT(budget_percent) },
    { "tracker.spent.samples_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_SAMPLES]) },
    { "tracker.spent.events_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_EVENTS]) },
    { "tracker.spent.glances_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_GLANCES]) },
    { "tracker.spent.sharing_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_SHARING]) },
    { "tracker.spent.gpus_seconds", FIELD_NUMBER, AT(spent_seconds[SPENT_GPUS]) },
    { "tracker.postponed.glances", FIELD_COUNT, AT(postponed[SPENT_GLANCES]) },
    { "tracker.postponed.sharing", FIELD_COUNT, AT(postponed[SPENT_SHARING]) },
    { "tracker.postponed.gpus", FIELD_COUNT, AT(postponed[SPENT_GPUS]) },
};

static const struct field warning[] = {
    { "code", FIELD_TEXT, offsetof(struct record_warning, code) },
    { "message", FIELD_TEXT, offsetof(struct record_warning, message) },
};

static const struct field phase[] = {
    { "name", FIELD_TEXT, offsetof(struct record_phase, name) },
    { "started_at", FIELD_DATE, offsetof(struct record_phase, started_at) },
    { "elapsed_seconds", FIELD_NUMBER, offsetof(struct record_phase, elapsed_seconds) },
};

static const struct field gpu[] = {
    { "index", FIELD_COUNT, offsetof(struct record_gpu, index) },
    { "part", FIELD_COUNT, offsetof(struct record_gpu, part) },
    { "uuid", FIELD_TEXT, offsetof(struct record_gpu, uuid) },
    { "name", FIELD_TEXT, offsetof(struct record_gpu, name) },
    { "vendor", FIELD_TEXT, offsetof(struct record_gpu, vendor) },
    { "pci_address", FIELD_TEXT, offsetof(struct record_gpu, pci_address) },
    { "memory_bytes", FIELD_COUNT, offsetof(struct record_gpu, memory_bytes) },
    { "is_part", FIELD_FLAG, offsetof(struct record_gpu, is_part) },
};

#define OF_PROCESS(member) offsetof(struct record_process, member)

static const struct field process[] = {
    { "pid", FIELD_COUNT, OF_PROCESS(pid) },
    { "parent_pid", FIELD_COUNT, OF_PROCESS(parent_pid) },
    { "name", FIELD_TEXT, OF_PROCESS(name) },
    { "command", FIELD_TEXT, OF_PROCESS(command) },
    { "started_seconds", FIELD_NUMBER, OF_PROCESS(started_seconds) },
    { "ended_seconds", FIELD_NUMBER, OF_PROCESS(ended_seconds) },
    { "cpu_seconds", FIELD_NUMBER, OF_PROCESS(cpu_seconds) },
    { "peak_rss_bytes", FIELD_COUNT, OF_PROCESS(peak_rss_bytes) },
    { "read_bytes", FIELD_COUNT, OF_PROCESS(read_bytes) },
    { "written_bytes", FIELD_COUNT, OF_PROCESS(written_bytes) },
    { "gpu_memory_bytes", FIELD_COUNT, OF_PROCESS(gpu_memory_bytes) },
    { "exit_code", FIELD_COUNT, OF_PROCESS(exit_code) },
    { "signal", FIELD_TEXT, OF_PROCESS(signal) },
};

static const struct field process_sum[] = {
    { "name", FIELD_TEXT, offsetof(struct record_process_sum, name) },
    { "count", FIELD_COUNT, offsetof(struct record_process_sum, count) },
    { "cpu_seconds", FIELD_NUMBER, offsetof(struct record_process_sum, cpu_seconds) },
    { "peak_rss_bytes", FIELD_COUNT, offsetof(struct record_process_sum, peak_rss_bytes) },
};

#define TABLE(rows)              \
    {                            \
        (rows), ARRAY_SIZE(rows) \
    }

const struct field_table record_run_fields = TABLE(run);
const struct field_table record_machine_fields = TABLE(machine);
const struct field_table record_tracker_fields = TABLE(tracker);
const struct field_table record_warning_fields = TABLE(warning);
const struct field_table record_phase_fields = TABLE(phase);
const struct field_table record_gpu_fields = TABLE(gpu);
const struct field_table record_process_fields = TABLE(process);
const struct field_table record_process_sum_fields = TABLE(process_sum);

void field_table_clear(const struct field_table *table, void *base)
{
    static const uint64_t unknown_count = UNKNOWN;
    static const double unknown_number = (double)NAN;

    for (size_t i = 0; i < table->count; i++) {
        void *at = (char *)base + table->rows[i].offset;

        switch (table->rows[i].kind) {
        case FIELD_COUNT:
            memcpy(at, &unknown_count, sizeof(unknown_count));
            break;
        case FIELD_NUMBER:
        case FIELD_DATE:
            memcpy(at, &unknown_number, sizeof(unknown_number));
            break;
        case FIELD_TEXT:
        case FIELD_TEXTS:
        case FIELD_TAGS:
        case FIELD_FLAG:
        case FIELD_IF_TRUE:
            break; /* zeroed is unknown */
        }
    }
}
