/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm.c - a run as seff prints a Slurm job, and as jobstats stores a job in its AdminComment:
 * "JS1:" followed by JSON, as a gzip file in base64.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "output/format.h"
#include "record/group.h"
#include "record/launch.h"
#include "text/escape.h"

/* ---- nodes ---------------------------------------------------------------- */

/* NaN: unknown. Without a limit, all of the machine is allocated. */
struct node {
    const char *host;
    double cpus, cpu_seconds, memory_bytes, limit_bytes;
    const char **gpus; /* UUIDs; NULL: all selected GPUs */
};

static size_t count_nodes(const struct record *record)
{
    return record->group ? record->group->node_count : 1;
}

static struct node get_node(const struct record *record, size_t index)
{
    const struct record_node *node = record->group ? &record->group->nodes[index] : NULL;
    double cpus = isnan(record->cpus_limit) ? as_number(record->cpus) : record->cpus_limit;
    uint64_t limit = node ? node->memory_limit_bytes : record->memory_limit_bytes;
    double memory = record_value(record, "memory.combined.total_rss_bytes");
    double cpu_seconds = record_value(record, "cpu.total_seconds");
    const char *host = node ? node->host : record->host;

    return (struct node){
        .host = host ? host : "unknown",
        .cpus = ceil(cpus / (double)count_nodes(record)),
        .cpu_seconds = node ? node->cpu_seconds : cpu_seconds,
        .memory_bytes = node ? node->memory.value : memory,
        .limit_bytes = as_number(is_known(limit) ? limit : record->memory_bytes),
        .gpus = node ? node->gpus : NULL,
    };
}

/* ---- seff ------------------------------------------------------------------ */

static const char *state_of(const struct record *record)
{
    if (record->is_still_running)
        return "RUNNING";
    if (record_value(record, "events.oom_kills") > 0)
        return "OUT_OF_MEMORY";
    return !is_known(record->exit_code) ? "UNKNOWN"
           : record->exit_code == 0     ? "COMPLETED"
                                        : "FAILED";
}

static void add_text(const char *label, const char *text, struct buffer *out)
{
    buffer_add_text(out, label);
    escape_unsafe(text ? text : "unknown", out);
    buffer_add_text(out, "\n");
}

/* Adds "1-02:03:04". */
static void add_time(double time_seconds, struct buffer *out)
{
    uint64_t seconds = (uint64_t)fmin(fmax(time_seconds, 0), 0x1p53);

    if (isnan(time_seconds)) {
        buffer_add_text(out, "unknown");
        return;
    }
    if (seconds >= 86400)
        buffer_format(out, "%" PRIu64 "-", seconds / 86400);
    buffer_format(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds % 86400 / 3600,
                  seconds % 3600 / 60, seconds % 60);
}

static void add_memory(double bytes, struct buffer *out)
{
    static const char units[] = "KMGTPE";
    size_t unit = bytes > 0 ? 0 : 1;

    if (isnan(bytes)) {
        buffer_add_text(out, "unknown");
        return;
    }
    for (bytes = bytes > 0 ? bytes / 1024 : 0; bytes >= 1024 && units[unit + 1]; unit++)
        bytes /= 1024;
    buffer_format(out, "%.2f %cB", bytes, units[unit]);
}

static void add_percent(const char *label, double part, double whole, struct buffer *out)
{
    double percent = 100 * part / whole;

    if (isfinite(percent))
        buffer_format(out, "%s: %.2f%% of ", label, percent);
    else
        buffer_format(out, "%s: unknown of ", label);
}

static void add_efficiency(const struct record *record, const struct node *all, size_t nodes,
                           struct buffer *out)
{
    double walltime = record->elapsed_seconds * all->cpus;

    buffer_add_text(out, "CPU Utilized: ");
    add_time(all->cpu_seconds, out);
    buffer_add_text(out, "\n");
    add_percent("CPU Efficiency", all->cpu_seconds, walltime, out);
    add_time(walltime, out);
    buffer_add_text(out, " core-walltime\nJob Wall-clock time: ");
    add_time(record->elapsed_seconds, out);
    buffer_add_text(out, "\nMemory Utilized: ");
    add_memory(all->memory_bytes, out);
    buffer_add_text(out, "\n");
    add_percent("Memory Efficiency", all->memory_bytes, all->limit_bytes, out);
    add_memory(all->limit_bytes, out);
    buffer_add_text(out, " (");
    add_memory(all->limit_bytes / (double)nodes, out);
    buffer_add_text(out, "/node)\n");
}

void seff_write(const struct record *record, UNUSED const struct format_style *style,
                struct buffer *out)
{
    const struct launch *launch = record->launch;
    size_t nodes = count_nodes(record);
    struct node all = { 0 };

    for (size_t i = 0; i < nodes; i++) {
        struct node node = get_node(record, i);

        all.cpus += node.cpus;
        all.cpu_seconds += node.cpu_seconds;
        all.memory_bytes += node.memory_bytes;
        all.limit_bytes += node.limit_bytes;
    }
    add_text("Job ID: ", launch && launch->job ? launch->job : record->id, out);
    if (launch && launch->array_job && is_known(launch->array_index)) {
        buffer_add_text(out, "Array Job ID: ");
        escape_unsafe(launch->array_job, out);
        buffer_format(out, "_%" PRIu64 "\n", launch->array_index);
    }
    add_text("Cluster: ", launch && launch->cluster ? launch->cluster : record->host, out);
    add_text("User/Group: ", record->user, out);
    buffer_format(out, "State: %s", state_of(record));
    if (is_known(record->exit_code))
        buffer_format(out, " (exit code %" PRIu64 ")", record->exit_code);
    if (all.cpus > 1)
        buffer_format(out, "\nNodes: %zu\nCores per node: %.0f\n", nodes,
                      all.cpus / (double)nodes);
    else
        buffer_add_text(out, "\nCores: 1\n");
    add_efficiency(record, &all, nodes, out);
}

/* ---- jobstats -------------------------------------------------------------- */

/* Writes both or neither: reportseff divides used_memory by total_memory. */
static void add_usage(struct json_writer *json, const struct node *node)
{
    if (node->limit_bytes > 0 && !isnan(node->memory_bytes)) {
        json_add_number(json, "total_memory", node->limit_bytes);
        json_add_number(json, "used_memory", node->memory_bytes);
    }
    if (!isnan(node->cpu_seconds))
        json_add_number(json, "total_time", node->cpu_seconds);
    if (node->cpus > 0)
        json_add_number(json, "cpus", node->cpus);
}

static bool has_gpu(const struct node *node, const struct record_gpu *gpu)
{
    if (!gpu->is_selected || !is_known(gpu->memory_bytes) || gpu->memory_bytes == 0)
        return false;
    for (size_t i = 0; node->gpus && node->gpus[i]; i++) {
        if (gpu->uuid && strcmp(gpu->uuid, node->gpus[i]) == 0)
            return true;
    }
    return !node->gpus;
}

/* Adds a value per GPU of the node: a measure in units of `unit`, or the size of its memory if
 * `unit` is 0. Returns the number of values. */
static size_t add_gpus(struct json_writer *json, const struct record *record,
                       const struct node *node, const char *key,
                       enum record_gpu_measure measure, double unit)
{
    size_t count = 0;

    for (size_t i = 0; i < record->gpu_count; i++) {
        const struct record_gpu *gpu = &record->gpus[i];
        double value =
            unit > 0 ? gpu->measures[measure].value / unit : (double)gpu->memory_bytes;
        CLEANUP(buffer_done) struct buffer name = { 0 };

        if (!has_gpu(node, gpu) || isnan(value))
            continue;
        if (count++ == 0)
            json_begin(json, key, '{');
        buffer_format(&name, "%" PRIu64, gpu->index);
        if (is_known(gpu->part))
            buffer_format(&name, ":%" PRIu64, gpu->part);
        json_add_number(json, buffer_text(&name), value);
    }
    if (count > 0)
        json_end(json);
    return count;
}

static void add_statistics(const struct record *record, struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_compact };
    size_t gpus = 0;

    json_begin(&json, NULL, '{');
    json_begin(&json, "nodes", '{');
    for (size_t i = 0; i < count_nodes(record); i++) {
        struct node node = get_node(record, i);

        json_begin(&json, node.host, '{');
        add_usage(&json, &node);
        gpus += add_gpus(&json, record, &node, "gpu_total_memory", RECORD_GPU_MEMORY, 0);
        add_gpus(&json, record, &node, "gpu_used_memory", RECORD_GPU_MEMORY, 1);
        add_gpus(&json, record, &node, "gpu_utilization", RECORD_GPU_UTILIZATION_MEAN, 0.01);
        json_end(&json);
    }
    json_end(&json);
    json_add_number(&json, "total_time", record->elapsed_seconds);
    json_add_u64(&json, "gpus", gpus);
    json_end(&json);
}

static uint32_t crc32_of(const unsigned char *data, size_t length)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

static void add_little_endian(uint32_t value, size_t bytes, struct buffer *out)
{
    for (size_t i = 0; i < bytes; i++)
        buffer_add(out, (const char[]){ (char)(value >> 8 * i & 0xFF) }, 1);
}

/* Writes uncompressed blocks: the library does not use zlib, and the text is short. */
static void add_gzip(const struct buffer *text, struct buffer *out)
{
    static const char header[10] = "\x1f\x8b\x08\0\0\0\0\0\0\xff";

    buffer_add(out, header, sizeof(header));
    for (size_t start = 0; start < text->length;) {
        size_t left = text->length - start;
        uint32_t size = left < UINT16_MAX ? (uint32_t)left : UINT16_MAX;

        add_little_endian(size == left, 1, out); /* the last block */
        add_little_endian(size, 2, out);
        add_little_endian(~size, 2, out);
        buffer_add(out, text->text + start, size);
        start += size;
    }
    add_little_endian(crc32_of((const unsigned char *)text->text, text->length), 4, out);
    add_little_endian((uint32_t)text->length, 4, out);
}

static void add_base64(const struct buffer *data, struct buffer *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < data->length; i += 3) {
        uint32_t group = 0;
        size_t count = data->length - i < 3 ? data->length - i : 3;

        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < count ? (unsigned char)data->text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buffer_add(out, k <= count ? &digits[group >> (18 - 6 * k) & 63] : "=", 1);
    }
}

void jobstats_write(const struct record *record, UNUSED const struct format_style *style,
                    struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(buffer_done) struct buffer data = { 0 };

    add_statistics(record, &text);
    if (buffer_error(&text) == 0)
        add_gzip(&text, &data);
    buffer_add_text(out, "JS1:");
    if (buffer_error(&text) < 0 || buffer_error(&data) < 0)
        out->error = buffer_error(&text) < 0 ? buffer_error(&text) : buffer_error(&data);
    else
        add_base64(&data, out);
    buffer_add_text(out, "\n");
}
