/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill.h"

#include <arpa/inet.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "job/command_line.h"
#include "job/gpu/gpu_account.h"
#include "sample/origins.h"
#include "series/figure.h"
#include "text/escape.h"

/* ---- ending ---------------------------------------------------------------- */

struct ending {
    uint64_t exit_code;   /* 128 + n if signal n killed the process; or UNKNOWN */
    char signal_name[24]; /* "SIGKILL"; empty: the process was not killed */
    bool has_dumped_core;
};

/* Returns how a process ended. `wait_status`, from wait(2), is valid only if `has_ended`. */
static struct ending ending_of(bool has_ended, int wait_status)
{
    struct ending ending = { .exit_code = UNKNOWN };
    const char *name;
    int number;

    if (!has_ended)
        return ending;
    if (!WIFSIGNALED(wait_status)) {
        ending.exit_code = (uint64_t)WEXITSTATUS(wait_status);
        return ending;
    }
    number = WTERMSIG(wait_status);
    name = signal_name(number);
    ending.exit_code = 128 + (uint64_t)number;
    ending.has_dumped_core = WCOREDUMP(wait_status);
    if (name)
        (void)snprintf(ending.signal_name, sizeof(ending.signal_name), "%s", name);
    else if (number >= SIGRTMIN && number <= SIGRTMAX)
        (void)snprintf(ending.signal_name, sizeof(ending.signal_name), "SIGRTMIN+%d",
                       number - SIGRTMIN);
    else
        (void)snprintf(ending.signal_name, sizeof(ending.signal_name), "SIG%d", number);
    return ending;
}

/* ---- fill gpu -------------------------------------------------------------- */

static void fill_measures(struct record *record, const struct gpu_device_view *device,
                          bool has_job, struct spoor_figure *ret)
{
    static const struct {
        enum gpu_measure measure;
        bool is_mean; /* otherwise the peak */
    } rows[RECORD_GPU_WORK] = {
        [RECORD_GPU_MEMORY] = { GPU_MEMORY, false },
        [RECORD_GPU_JOB_MEMORY] = { GPU_JOB_MEMORY, false },
        [RECORD_GPU_UTILIZATION_MEAN] = { GPU_UTILIZATION, true },
        [RECORD_GPU_UTILIZATION_MAX] = { GPU_UTILIZATION, false },
        [RECORD_GPU_JOB_UTILIZATION_MEAN] = { GPU_JOB_UTILIZATION, true },
        [RECORD_GPU_JOB_UTILIZATION_MAX] = { GPU_JOB_UTILIZATION, false },
        [RECORD_GPU_ENERGY] = { GPU_ENERGY, false },
        [RECORD_GPU_TEMPERATURE_MAX] = { GPU_TEMPERATURE, false },
        [RECORD_GPU_POWER_MAX] = { GPU_POWER, false },
    };

    for (int i = 0; i < RECORD_GPU_MEASURES; i++) {
        int kind = i - RECORD_GPU_WORK;
        enum gpu_measure measure =
            kind < 0 ? rows[i].measure : (enum gpu_measure)(GPU_WORK + kind);
        bool is_mean = kind < 0 ? rows[i].is_mean : kind < GPU_WORK_SHARES;
        const struct gpu_figure *from = &device->figures[measure];
        const struct origin *origin = &from->measure.origin;
        bool is_unused = !has_job && (measure == GPU_JOB_MEMORY ||
                                      measure == GPU_JOB_UTILIZATION || kind >= 0);
        uint64_t raw = is_unused ? UNKNOWN : is_mean ? from->mean : from->peak;
        struct spoor_figure figure = record_unknown_figure(is_unused ? "no job is tracked"
                                                           : origin->reason ? origin->reason
                                                                            : gpu_not_reported);

        if (is_known(raw)) {
            figure.value = gpu_measure_value(measure, raw);
            figure.source = origin->source;
            figure.reason = NULL;
            figure.is_exact = (measure == GPU_ENERGY && !device->is_energy_estimated) ||
                              (measure == GPU_JOB_MEMORY && device->is_job_memory_exact);
        }
        ret[i] = record_figure(record, figure, NULL);
    }
}

static const char **make_throttled(struct record *record, uint64_t reasons)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        { GPU_THROTTLE_POWER, "power" },
        { GPU_THROTTLE_THERMAL, "thermal" },
        { GPU_THROTTLE_HARDWARE, "hardware" },
    };
    const char **list;
    size_t count = 0;

    if (!is_known(reasons))
        return NULL;
    list = record_alloc(record, ARRAY_SIZE(names) + 1, sizeof(*list));
    for (size_t i = 0; list && i < ARRAY_SIZE(names); i++) {
        if (reasons & names[i].bit)
            list[count++] = record_text(record, names[i].name);
    }
    return list;
}

static void fill_gpu(struct record *record, const struct gpu_view *view, bool has_job,
                     size_t index)
{
    const struct gpu_unit *unit = &view->units[index];
    struct record_gpu *gpu = &record->gpus[index];

    *gpu = (struct record_gpu){
        .index = unit->place.index,
        .part = unit->place.part < 0 ? UNKNOWN : (uint64_t)unit->place.part,
        .uuid = record_text(record, gpu_unit_id(unit)),
        .name = record_known_text(record, unit->device.name),
        .vendor = record_text(record, unit->vendor),
        .pci_address = record_known_text(record, unit->device.pci_address),
        .memory_bytes = unit->device.memory_total_bytes,
        .is_part = unit->device.is_part,
        .is_selected = unit->is_selected,
    };
    for (size_t i = 0; i < RECORD_GPU_MEASURES; i++)
        gpu->measures[i] = record_unknown_figure(NULL);
    if (gpu->is_selected && view->devices) {
        fill_measures(record, &view->devices[index], has_job, gpu->measures);
        gpu->throttled = make_throttled(record, view->devices[index].throttle_reasons);
    }
}

static void fill_gpus(struct record *record, const struct gpu_view *view, bool has_job)
{
    record->gpus = record_alloc(record, view->count, sizeof(*record->gpus));
    record->gpu_count = record->gpus ? view->count : 0;
    for (size_t i = 0; i < record->gpu_count; i++)
        fill_gpu(record, view, has_job, i);
    if ((view->state != GPU_PENDING && view->reason != origins_gpus_unwanted) ||
        view->count > 0)
        record->whole_gpus = gpu_units_count_whole(view->units, view->count);
    record->gpus_reason = record_text(record, view->reason);
}

/* ---- fill curve ------------------------------------------------------------ */

struct source {
    const struct series *series;
    const struct summary *summary;
};

/* Columns are numbered: the charted metrics first, then the measures of each GPU. */
static size_t column_count(const struct series *series)
{
    return series->metric_count + series->gpu_count * SERIES_GPU_MEASURES;
}

static struct series_value get(const struct source *source, size_t column, size_t point)
{
    const struct series *series = source->series;
    size_t gpu_columns = series->gpu_count * SERIES_GPU_MEASURES;

    if (column < series->metric_count)
        return series_get(series, source->summary, column, point);
    return series->gpu_values[point * gpu_columns + column - series->metric_count];
}

static const char *gpu_name(struct record *record, const struct series *series, size_t index)
{
    enum { NAME_SIZE = 64 };
    struct gpu_place place = series->gpus[index / SERIES_GPU_MEASURES];
    char *name = record_alloc(record, NAME_SIZE, 1);

    if (name)
        (void)snprintf(name, NAME_SIZE, "gpu%s_%s", gpu_place_text(place, '_').text,
                       gpu_measure_row(series_gpu_measure(index % SERIES_GPU_MEASURES))->name);
    return name;
}

static struct curve_column describe(struct record *record, const struct series *series,
                                    size_t column)
{
    const struct spoor_metric *metric;

    if (column >= series->metric_count)
        return (struct curve_column){ .name = gpu_name(record, series,
                                                       column - series->metric_count) };
    metric = &metric_row((enum metric)series->metrics[column].metric)->published;
    return (struct curve_column){ .name = record_text(record, metric->name),
                                  .is_rate = metric->kind == SPOOR_COUNTER };
}

static bool is_ever_known(const struct source *source, size_t column)
{
    for (size_t i = 0; i < source->series->count; i++) {
        if (isfinite(get(source, column, i).high))
            return true;
    }
    return false;
}

/* Whether a column of the job has values of the whole host, for lack of a cgroup. */
static bool is_of_host(const struct source *source, size_t column)
{
    enum metric metric;

    if (column >= source->series->metric_count)
        return false;
    metric = (enum metric)source->series->metrics[column].metric;
    return source_is_host(source->summary->tally[metric].origin.source) &&
           begins_with(metric_row(metric)->published.name, "job_");
}

/* If each point is one sample, its highest, lowest and mean values are equal, except for rates:
 * one array holds all three. */
static void fill_column(struct record *record, const struct source *source, size_t column)
{
    const struct series *series = source->series;
    struct record_curve *curve = &record->curve;
    struct curve_column to = describe(record, series, column);
    size_t arrays = series->stride > 1 || to.is_rate ? 3 : 1;
    float *values = record_alloc(record, arrays * series->count, sizeof(*values));

    if (!values || !to.name)
        return;
    to.high = values;
    to.low = arrays > 1 ? values + series->count : values;
    to.mean = arrays > 1 ? values + 2 * series->count : values;
    for (size_t i = 0; i < series->count; i++) {
        struct series_value value = get(source, column, i);

        to.high[i] = value.high;
        to.low[i] = value.low;
        to.mean[i] = value.mean;
    }
    curve->columns[curve->column_count++] = to;
}

void fill_curve(struct record *record, const struct series *series,
                const struct summary *summary)
{
    const struct source source = { series, summary };
    struct record_curve *curve = &record->curve;

    if (series->count == 0)
        return;
    curve->samples = series->samples;
    curve->seconds = record_alloc(record, series->count, sizeof(*curve->seconds));
    curve->columns = record_alloc(record, column_count(series), sizeof(*curve->columns));
    if (!curve->seconds || !curve->columns)
        return;
    curve->count = series->count;
    for (size_t i = 0; i < series->count; i++)
        curve->seconds[i] = (double)series->ends_ns[i] / 1e9;
    for (size_t i = 0; i < column_count(series); i++) {
        if (!is_of_host(&source, i) && is_ever_known(&source, i))
            fill_column(record, &source, i);
    }
}

/* ---- fill processes -------------------------------------------------------- */

/* Truncates to whole microseconds. */
static double cut_seconds_of(uint64_t ns)
{
    return is_known(ns) ? (double)(ns / NS_PER_US) / 1e6 : (double)NAN;
}

/* Returns the time since the start of the run. Only processes of a job that was attached to can
 * be older than the run. */
static double seconds_since(const struct record_input *input, uint64_t ns)
{
    if (is_known(ns) && ns < input->started_ns)
        return input->is_attached ? -cut_seconds_of(input->started_ns - ns) : 0;
    return cut_seconds_of(is_known(ns) ? ns - input->started_ns : UNKNOWN);
}

/* If the main process ended before its command line was read, uses the command of the run. */
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
        .cpu_seconds = cut_seconds_of(entry->cpu_ns),
        .peak_rss_bytes = entry->peak_bytes,
        .read_bytes = entry->read_bytes,
        .written_bytes = entry->written_bytes,
        .gpu_memory_bytes = entry->gpu_bytes,
        .cpu_wait_seconds = cut_seconds_of(entry->wait_ns),
        .exit_code = ending.exit_code,
        .signal = record_known_text(record, ending.signal_name),
    };
}

static struct record_process_sum make_sum(struct record *record, const struct process_sum *sum)
{
    return (struct record_process_sum){
        .name = record_known_text(record, sum->name),
        .count = sum->count,
        .cpu_seconds = cut_seconds_of(sum->cpu_ns),
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

static void fill_remotes(struct record *record, const struct record_input *input)
{
    size_t count = input->remotes ? input->remotes->count : 0;

    record->remotes = record_alloc(record, count, sizeof(*record->remotes));
    record->remote_count = record->remotes ? count : 0;
    for (size_t i = 0; i < record->remote_count; i++) {
        const struct network_peer *peer = &input->remotes->list[i];
        char text[INET6_ADDRSTRLEN];

        record->remotes[i] = (struct record_remote){
            .address =
                record_text(record, inet_ntop(peer->family, peer->address, text, sizeof(text))),
            .connections = peer->connections,
            .received_bytes = peer->received_bytes,
            .sent_bytes = peer->sent_bytes,
        };
    }
}

/* ---- fill server ----------------------------------------------------------- */

static void add_caches(struct record *record, const struct topology *topology,
                       struct record_server *to)
{
    to->caches = record_alloc(record, topology->cache_count, sizeof(*to->caches));
    to->cache_count = to->caches ? topology->cache_count : 0;
    for (size_t i = 0; i < to->cache_count; i++) {
        const struct topology_cache *from = &topology->caches[i];

        to->caches[i] = (struct record_cache){
            .level = from->level,
            .type = from->type == 'd'   ? "data"
                    : from->type == 'i' ? "instruction"
                                        : "unified",
            .count = from->count,
            .total_bytes = from->bytes,
        };
    }
}

static double rate_of(uint64_t before, uint64_t after, uint64_t span_ns)
{
    uint64_t growth = devices_growth(before, after);

    return is_known(growth) && span_ns > 0 ? (double)growth / ((double)span_ns / 1e9)
                                           : (double)NAN;
}

/* Rates are means since `first`, which was read `span_ns` earlier. */
static struct record_disk *make_disks(struct record *record, const struct devices *devices,
                                      const struct devices *first, uint64_t span_ns)
{
    struct record_disk *to = record_alloc(record, devices->disk_count, sizeof(*to));

    for (size_t i = 0; to && i < devices->disk_count; i++) {
        const struct disk_device *disk = &devices->disks[i];
        const struct disk_device *before = devices_find_disk(first, disk->name);

        to[i] = (struct record_disk){
            .name = record_text(record, disk->name),
            .type = record_text(record, disk_type_name(disk->type)),
            .model = record_known_text(record, disk->model),
            .vendor = record_known_text(record, disk->vendor),
            .serial = record_known_text(record, disk->serial),
            .capacity_bytes = disk->capacity_bytes,
            .read_bytes_per_second =
                rate_of(before ? before->read_bytes : UNKNOWN, disk->read_bytes, span_ns),
            .written_bytes_per_second =
                rate_of(before ? before->written_bytes : UNKNOWN, disk->written_bytes, span_ns),
        };
    }
    return to;
}

static void fill_cloud(struct record *record, const struct spoor_cloud *from)
{
    record->cloud = record_alloc(record, 1, sizeof(*record->cloud));
    if (record->cloud)
        *record->cloud = (struct record_cloud){
            .vendor = record_known_text(record, from->vendor),
            .region = record_known_text(record, from->region),
            .zone = record_known_text(record, from->zone),
            .instance_type = record_known_text(record, from->instance_type),
            .account = record_known_text(record, from->account),
            .reason = record_known_text(record, from->reason),
        };
}

static void fill_server(struct record *record, const struct server_facts *facts)
{
    struct record_server *to = record_alloc(record, 1, sizeof(*to));

    if (!to)
        return;
    *to = (struct record_server){
        .architecture = record_known_text(record, facts->architecture),
        .vendor = record_known_text(record, facts->dmi.text[DMI_SYS_VENDOR]),
        .model = record_known_text(record, facts->dmi.text[DMI_PRODUCT_NAME]),
        .hypervisor = record_text(record, facts->hypervisor),
        .container = record_known_text(record, facts->container.text),
        .sockets = facts->topology.sockets,
        .cores = facts->topology.cores,
        .threads = facts->topology.threads,
        .numa_nodes = facts->topology.numa_nodes,
    };
    add_caches(record, &facts->topology, to);
    to->disks = make_disks(record, &facts->devices, &facts->devices, 0);
    to->disk_count = to->disks ? facts->devices.disk_count : 0;
    record->server = to;
}

/* ---- fill system ----------------------------------------------------------- */

/* ---- figures -------------------------------------------------------------- */

enum derivation {
    RATE,       /* increase of a counter per second, from the first to the last sample */
    LEVEL,      /* value of a metric at the last sample */
    HOST_LEVEL, /* like LEVEL, for values that are not metrics: a member of struct host_reading */
};

/* The metric of a HOST_LEVEL is any metric from the same source; METRIC_NONE: the source is
 * /proc. */
static const struct row {
    const char *path;
    enum derivation derivation;
    enum metric metric;
    size_t offset;
} rows[] = {
#define OF(member) offsetof(struct host_reading, member)
    { "system.cpu.busy_cores", RATE, METRIC_HOST_CPU, 0 },
    { "system.cpu.user_cores", RATE, METRIC_HOST_CPU_USER, 0 },
    { "system.cpu.system_cores", RATE, METRIC_HOST_CPU_SYSTEM, 0 },
    { "system.cpu.iowait_cores", RATE, METRIC_HOST_CPU_IOWAIT, 0 },
    { "system.cpu.steal_cores", RATE, METRIC_HOST_CPU_STEAL, 0 },
    { "system.memory.total_bytes", HOST_LEVEL, METRIC_HOST_MEMORY_USED,
      OF(memory.total_bytes) },
    { "system.memory.used_bytes", LEVEL, METRIC_HOST_MEMORY_USED, 0 },
    { "system.memory.available_bytes", LEVEL, METRIC_HOST_MEMORY_AVAILABLE, 0 },
    { "system.memory.free_bytes", HOST_LEVEL, METRIC_HOST_MEMORY_USED, OF(memory.free_bytes) },
    { "system.memory.cached_bytes", LEVEL, METRIC_HOST_MEMORY_CACHED, 0 },
    { "system.memory.buffers_bytes", HOST_LEVEL, METRIC_HOST_MEMORY_USED,
      OF(memory.buffers_bytes) },
    { "system.memory.dirty_bytes", LEVEL, METRIC_HOST_DIRTY, 0 },
    { "system.memory.swap_total_bytes", HOST_LEVEL, METRIC_HOST_SWAP_USED,
      OF(memory.swap_total_bytes) },
    { "system.memory.swap_used_bytes", LEVEL, METRIC_HOST_SWAP_USED, 0 },
    { "system.disk.read_bytes_per_second", RATE, METRIC_HOST_DISK_READ, 0 },
    { "system.disk.written_bytes_per_second", RATE, METRIC_HOST_DISK_WRITTEN, 0 },
    { "system.disk.space_total_bytes", HOST_LEVEL, METRIC_HOST_DISK_SPACE_USED,
      OF(space.total_bytes) },
    { "system.disk.space_used_bytes", LEVEL, METRIC_HOST_DISK_SPACE_USED, 0 },
    { "system.disk.space_free_bytes", LEVEL, METRIC_HOST_DISK_SPACE_FREE, 0 },
    { "system.network.received_bytes_per_second", RATE, METRIC_HOST_NETWORK_RECEIVED, 0 },
    { "system.network.sent_bytes_per_second", RATE, METRIC_HOST_NETWORK_SENT, 0 },
    { "system.pressure.cpu_ratio", RATE, METRIC_HOST_CPU_PRESSURE, 0 },
    { "system.pressure.memory_ratio", RATE, METRIC_HOST_MEMORY_PRESSURE, 0 },
    { "system.pressure.io_ratio", RATE, METRIC_HOST_IO_PRESSURE, 0 },
    { "system.processes.count", HOST_LEVEL, METRIC_NONE, OF(process_count) },
#undef OF
};

size_t record_system_figure_count(void)
{
    return ARRAY_SIZE(rows);
}

const char *record_system_figure_path(size_t index)
{
    return rows[index].path;
}

enum metric record_system_figure_metric(size_t index)
{
    return rows[index].derivation == HOST_LEVEL ? METRIC_NONE : rows[index].metric;
}

bool record_system_figure_is_rate(size_t index)
{
    return rows[index].derivation == RATE;
}

static struct spoor_figure make_level(const struct row *row, const struct record_input *input)
{
    static const struct origin processes = { "procfs", "cannot read /proc", false };
    const struct origin *origin =
        row->metric == METRIC_NONE ? &processes : &input->summary->tally[row->metric].origin;
    uint64_t value = UNKNOWN;
    struct spoor_figure figure = record_unknown_figure(origin->reason);

    if (input->latest && row->derivation == LEVEL)
        value = input->latest->value[row->metric];
    else if (input->latest)
        value = raw_at(&input->latest->host, row->offset);
    if (is_known(value)) {
        figure.value = (double)value;
        figure.source = origin->source;
        figure.reason = NULL;
    }
    return figure;
}

static void fill_figures(struct record *record, const struct record_input *input)
{
    struct spoor_figure *figures = record_alloc(record, ARRAY_SIZE(rows), sizeof(*figures));

    for (size_t i = 0; figures && i < ARRAY_SIZE(rows); i++) {
        struct spoor_figure figure = rows[i].derivation == RATE
                                         ? figure_mean_rate(rows[i].metric, input->summary)
                                         : make_level(&rows[i], input);

        figures[i] = record_figure(record, figure, i > 0 ? &figures[i - 1] : NULL);
    }
    record->system->figures = figures;
}

/* ---- devices -------------------------------------------------------------- */

static void fill_interfaces(struct record *record, const struct record_input *input)
{
    const struct devices *devices = input->devices;
    struct record_interface *to = record_alloc(record, devices->interface_count, sizeof(*to));

    record->system->interfaces = (struct record_list){ to, to ? devices->interface_count : 0 };
    for (size_t i = 0; to && i < devices->interface_count; i++) {
        const struct network_device *device = &devices->interfaces[i];
        const struct network_device *before =
            devices_find_interface(input->first_devices, device->name);

        to[i] = (struct record_interface){
            .name = record_text(record, device->name),
            .mac_address = record_known_text(record, device->mac_address),
            .driver = record_known_text(record, device->driver),
            .state = record_known_text(record, device->state),
            .speed_mbps = device->speed_mbps,
            .mtu = device->mtu,
            .is_hardware = device->is_hardware,
            .received_bytes_per_second =
                rate_of(before ? before->received_bytes : UNKNOWN, device->received_bytes,
                        input->devices_span_ns),
            .sent_bytes_per_second = rate_of(before ? before->sent_bytes : UNKNOWN,
                                             device->sent_bytes, input->devices_span_ns),
        };
    }
}

static void fill_mounts(struct record *record, const struct devices *devices)
{
    struct record_mount *to = record_alloc(record, devices->mounts.count, sizeof(*to));

    record->system->mounts = (struct record_list){ to, to ? devices->mounts.count : 0 };
    for (size_t i = 0; to && i < devices->mounts.count; i++) {
        const struct mount_item *mount = &devices->mounts.items[i];

        to[i] = (struct record_mount){
            .point = record_text(record, mount->point),
            .type = record_known_text(record, mount->type),
            .source = record_known_text(record, mount->source),
            .disk = record_known_text(record, mount->disk),
            .total_bytes = mount->space.total_bytes,
            .used_bytes = mount->space.used_bytes,
            .free_bytes = mount->space.free_bytes,
        };
    }
}

static void fill_system(struct record *record, const struct record_input *input)
{
    record->system = record_alloc(record, 1, sizeof(*record->system));
    if (!record->system)
        return;
    fill_figures(record, input);
    record->system->disks.items =
        make_disks(record, input->devices, input->first_devices, input->devices_span_ns);
    record->system->disks.count = record->system->disks.items ? input->devices->disk_count : 0;
    fill_interfaces(record, input);
    fill_mounts(record, input->devices);
}

/* ---- fill ------------------------------------------------------------------ */

static double seconds_of(uint64_t ns)
{
    return is_known(ns) ? (double)ns / 1e9 : (double)NAN;
}

/* Returns a date in whole milliseconds, as in reports. */
static double date_of(const struct summary *summary, uint64_t realtime_ns)
{
    return summary->sample_count > 0 ? (double)(realtime_ns / NS_PER_MS) / 1e3 : (double)NAN;
}

static double elapsed_of(const struct summary *summary)
{
    return summary->sample_count > 0 ? seconds_of(summary->ended_ns - summary->started_ns)
                                     : (double)NAN;
}

/* Splits "KEY=VALUE" or "KEY" in two. */
static struct record_tag split_tag(struct record *record, const char *text)
{
    size_t length = strcspn(text, "=");
    char *key = record_alloc(record, length + 1, 1);

    if (key)
        memcpy(key, text, length);
    return (struct record_tag){ key,
                                record_text(record, text[length] ? text + length + 1 : "") };
}

/* Whether two keys are equal in JSON, where all bytes that are not valid UTF-8 become the same
 * character. */
static bool is_same_key(const char *a, const char *b)
{
    struct buffer texts[2] = { { 0 }, { 0 } };
    bool is_same;

    escape_json(a, &texts[0]);
    escape_json(b, &texts[1]);
    is_same = texts[0].text && texts[1].text && strcmp(texts[0].text, texts[1].text) == 0;
    buffer_done(&texts[0]);
    buffer_done(&texts[1]);
    return is_same;
}

/* If a key is given twice, only the last tag is kept, at its position. */
static void fill_tags(struct record *record, const char *const *tags)
{
    struct record_tags *to = &record->tags;
    size_t count = 0;

    while (tags && tags[count])
        count++;
    to->items = count > 0 ? record_alloc(record, count, sizeof(*to->items)) : NULL;
    for (size_t i = 0; to->items && i < count; i++) {
        struct record_tag tag = split_tag(record, tags[i]);

        for (size_t k = 0; tag.key && k < to->count; k++) {
            if (is_same_key(to->items[k].key, tag.key)) {
                to->count--;
                memmove(&to->items[k], &to->items[k + 1], (to->count - k) * sizeof(*to->items));
                break;
            }
        }
        if (tag.key)
            to->items[to->count++] = tag;
    }
}

static void fill_run(struct record *record, const struct record_input *input)
{
    const struct summary *summary = input->summary;
    struct ending ending = ending_of(input->has_ended, input->wait_status);

    record->id = record_text(record, input->id);
    record->name = record_text(record, input->name);
    fill_tags(record, input->tags);
    record->command =
        record_texts(record, input->command ? input->command : (const char *[]){ NULL });
    record->pid = input->pid != 0 ? (uint64_t)input->pid : UNKNOWN;
    record->user = record_known_text(record, input->user);
    record->cwd = record_known_text(record, input->cwd);
    record->started_at = date_of(summary, summary->started_realtime_ns);
    record->ended_at = date_of(summary, summary->ended_realtime_ns);
    record->elapsed_seconds = elapsed_of(summary);
    record->exit_code = ending.exit_code;
    record->signal = record_known_text(record, ending.signal_name);
    record->has_dumped_core = ending.has_dumped_core;
    record->is_attached = input->is_attached;
    record->is_still_running = input->is_still_running && !input->has_ended;
    record->interval_seconds = seconds_of(input->interval_ns);
    record->samples = summary->sample_count;
    record->spoor_version = record_text(record, SPOOR_VERSION);
    record->tracker_cpu_seconds = seconds_of(input->tracker_cpu_ns);
    record->tracker_max_rss_bytes = input->tracker_max_rss_bytes;
    record->late_samples = input->late_samples;
    record->detail_reads = input->detail_reads;
    if (input->budget.job_millionths != UINT64_MAX)
        record->budget_percent = (double)input->budget.job_millionths / 1e4;
    for (int i = 0; i < SPENDING_COUNT; i++) {
        record->spent_seconds[i] = seconds_of(input->budget.spent_ns[i]);
        record->postponed[i] = input->budget.postponed[i];
    }
}

static void fill_machine(struct record *record, const struct host_facts *host,
                         const struct limits *limits)
{
    record->host = record_known_text(record, host->hostname);
    record->os = record_known_text(record, host->os);
    record->kernel = record_known_text(record, host->kernel);
    record->cpu_model = record_known_text(record, host->cpu_model);
    record->cpus = host->cpus;
    record->memory_bytes = host->memory_bytes;
    record->cpus_limit = limits->cpus;
    record->cpus_limit_source = record_text(record, limits->cpus_source);
    record->memory_limit_bytes = limits->memory_bytes;
    record->memory_limit_source = record_text(record, limits->memory_source);
}

/* Makes the figures of a run. `like`: figures that probably have the same sources and reasons,
 * to share their texts; or NULL. */
static struct spoor_figure *make_figures(struct record *record, const struct summary *summary,
                                         const struct spoor_figure *like)
{
    struct spoor_figure *figures = record_alloc(record, figure_count(), sizeof(*figures));

    for (size_t i = 0; figures && i < figure_count(); i++)
        figures[i] = record_figure(record, figure_get(i, summary), like ? &like[i] : NULL);
    return figures;
}

static void fill_phases(struct record *record, const struct record_input *input)
{
    record->phases = record_alloc(record, input->phase_count, sizeof(*record->phases));
    record->phase_count = record->phases ? input->phase_count : 0;
    for (size_t i = 0; i < record->phase_count; i++) {
        const struct summary *summary = &input->phases[i].summary;

        record->phases[i] = (struct record_phase){
            .name = record_text(record, input->phases[i].name),
            .started_at = date_of(summary, summary->started_realtime_ns),
            .elapsed_seconds = elapsed_of(summary),
            .figures = make_figures(record, summary, record->figures),
        };
    }
}

static void fill_warnings(struct record *record, const struct record_input *input)
{
    record->warnings = record_alloc(record, input->warning_count, sizeof(*record->warnings));
    record->warning_count = record->warnings ? input->warning_count : 0;
    for (size_t i = 0; i < record->warning_count; i++)
        record->warnings[i] =
            (struct record_warning){ record_text(record, input->warnings[i].code),
                                     record_text(record, input->warnings[i].message) };
}

static int end_fill(struct record *record)
{
    int r = record->error;

    if (r < 0)
        record_done(record);
    return r;
}

int record_fill(const struct record_input *input, struct record *ret)
{
    record_init(ret);
    fill_run(ret, input);
    fill_machine(ret, input->host, input->limits);
    fill_gpus(ret, input->gpu, input->is_tracked);
    if (input->cloud && input->cloud->vendor && *input->cloud->vendor)
        fill_cloud(ret, input->cloud);
    if (input->launch && launch_is_known(input->launch))
        ret->launch = launch_copy(ret, input->launch);
    ret->figures = make_figures(ret, input->summary, NULL);
    fill_processes(ret, input);
    fill_remotes(ret, input);
    fill_phases(ret, input);
    fill_curve(ret, input->series, input->summary);
    record_fill_distribution(ret);
    fill_warnings(ret, input);
    if (!input->is_tracked)
        fill_system(ret, input);
    return end_fill(ret);
}

int record_fill_machine(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, const struct server_facts *server,
                        const struct spoor_cloud *cloud, struct record *ret)
{
    record_init(ret);
    fill_machine(ret, host, limits);
    fill_gpus(ret, gpu, false);
    fill_server(ret, server);
    if (cloud)
        fill_cloud(ret, cloud);
    return end_fill(ret);
}
