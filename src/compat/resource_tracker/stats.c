/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/stats.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/unknown.h"
#include "compat/resource_tracker/machine_stats.h"

#define BYTES_PER_MIB 1048576.0

/* A member of an answer: a metric and what to divide it by. */
struct member {
    const char *key;
    const char *metric;
    double unit;
};

static const struct member process_members[] = {
    { "utime", "job_user_seconds", 1 },
    { "stime", "job_system_seconds", 1 },
    { "memory_mib", "job_pss_bytes", BYTES_PER_MIB },
    { "disk_read_bytes", "job_read_bytes", 1 },
    { "disk_write_bytes", "job_written_bytes", 1 },
    { "gpu_usage", "job_gpu_utilization_gpus", 1 },
    { "gpu_vram_mib", "job_gpu_memory_bytes", BYTES_PER_MIB },
};

static const struct member machine_members[] = {
    { "gpu_usage", "host_gpu_utilization_gpus", 1 },
    { "gpu_vram_mib", "host_gpu_memory_bytes", BYTES_PER_MIB },
};

enum { GPUS_MAX = 256 };

/* A process under observation, or the machine. The sampling thread writes the latest sample, under
 * the mutex. */
struct observed {
    pid_t pid; /* 0: the machine */
    bool has_children;
    spoor_session *session;
    pthread_mutex_t mutex;
    double unix_seconds;
    double *moments; /* by metric */
    bool has_gpus;   /* they are known */
    unsigned busy_gpus[GPUS_MAX];
    size_t busy_gpu_count;
};

/* ---- observation ---------------------------------------------------------- */

/* Of a GPU that is divided, each part counts. */
static void note_busy_gpus(struct observed *observed, const struct spoor_sample *sample)
{
    observed->busy_gpu_count = 0;
    observed->has_gpus = sample->gpu_count > 0;
    for (size_t i = 0; i < sample->gpu_count && i < GPUS_MAX; i++) {
        const struct spoor_gpu_sample *gpu = &sample->gpus[i];

        if ((observed->pid == 0 ? gpu->utilization : gpu->job_utilization) > 0)
            observed->busy_gpus[observed->busy_gpu_count++] = gpu->index;
    }
}

static void keep_sample(const struct spoor_sample *sample, void *data)
{
    struct observed *observed = data;

    pthread_mutex_lock(&observed->mutex);
    observed->unix_seconds = sample->unix_seconds;
    memcpy(observed->moments, sample->moments, sample->count * sizeof(*sample->moments));
    note_busy_gpus(observed, sample);
    pthread_mutex_unlock(&observed->mutex);
}

static void skip_gpu(const struct spoor_gpu *gpu, void *data)
{
    (void)gpu;
    (void)data;
}

static void observed_free(struct observed *observed)
{
    if (!observed)
        return;
    observed->session = spoor_session_close(observed->session);
    (void)pthread_mutex_destroy(&observed->mutex);
    free(observed->moments);
    free(observed);
}

/* Waits a moment for the drivers, which respond only after the first sample. */
static void wait_for_gpus(struct observed *observed)
{
    const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };

    if (!spoor_may_have_gpus(NULL))
        return;
    for (int i = 0; i < 100; i++) {
        if (spoor_session_gpus(observed->session, skip_gpu, NULL, NULL) != -EAGAIN)
            break;
        (void)nanosleep(&pause, NULL);
        (void)spoor_session_sample(observed->session, NULL); /* it runs */
    }
    (void)spoor_session_sample(observed->session, NULL); /* likewise */
}

/* NULL with a message: it cannot be observed. */
static struct observed *observe(pid_t pid, bool has_children, struct spoor_error *err)
{
    struct observed *observed = calloc(1, sizeof(*observed));
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    int r;

    if (!observed) {
        (void)error_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    *observed = (struct observed){ .pid = pid, .has_children = has_children };
    (void)pthread_mutex_init(&observed->mutex, NULL); /* cannot fail with defaults */
    observed->moments = calloc(spoor_metric_count(), sizeof(*observed->moments));
    options.pid = pid;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS; /* samples are taken when they are asked for */
    options.detail = SPOOR_DETAIL_ALWAYS;
    options.flags = has_children ? 0 : SPOOR_MAIN_ONLY;
    options.sample_seen = keep_sample;
    options.sample_data = observed;
    r = observed->moments ? spoor_session_open(&options, &observed->session, err)
                          : error_set(err, ENOMEM, "out of memory");
    if (r == 0)
        r = spoor_session_start(observed->session, err);
    if (r < 0) {
        observed_free(observed);
        return NULL;
    }
    wait_for_gpus(observed);
    return observed;
}

/* With the mutex held. */
static double get_value(const struct observed *observed, const char *metric)
{
    for (size_t i = 0; i < spoor_metric_count(); i++) {
        if (strcmp(spoor_metric_get(i)->name, metric) == 0)
            return observed->moments[i];
    }
    return (double)NAN;
}

/* A new sample of it. False: it has ended, and its number may be another's. */
static bool is_alive(struct observed *observed)
{
    bool has_processes;

    if (spoor_session_sample(observed->session, NULL) < 0)
        return false;
    pthread_mutex_lock(&observed->mutex);
    has_processes = get_value(observed, "job_processes") > 0;
    pthread_mutex_unlock(&observed->mutex);
    return observed->pid == 0 || has_processes;
}

/* ---- the list ------------------------------------------------------------- */

/* Takes one out of the list. */
static struct observed *take(struct stats *stats, size_t index)
{
    struct observed *observed = stats->observed[index];

    for (size_t i = index; i + 1 < STATS_MAX; i++)
        stats->observed[i] = stats->observed[i + 1];
    stats->observed[STATS_MAX - 1] = NULL;
    return observed;
}

static struct observed *take_matching(struct stats *stats, pid_t pid, bool has_children)
{
    for (size_t i = 0; i < STATS_MAX && stats->observed[i]; i++) {
        if (stats->observed[i]->pid == pid && stats->observed[i]->has_children == has_children)
            return take(stats, i);
    }
    return NULL;
}

static void put_first(struct stats *stats, struct observed *observed)
{
    observed_free(take(stats, STATS_MAX - 1)); /* the last, if the list is full */
    for (size_t i = STATS_MAX - 1; i > 0; i--)
        stats->observed[i] = stats->observed[i - 1];
    stats->observed[0] = observed;
}

void stats_done(struct stats *stats)
{
    for (size_t i = 0; i < STATS_MAX; i++)
        observed_free(stats->observed[i]);
    machine_free(stats->machine);
    *stats = (struct stats){ 0 };
}

/* Observes it from now on, or as before. It has a new sample and is the first of the list. NULL as
 * observe(). */
static struct observed *get_observed(struct stats *stats, pid_t pid, bool has_children,
                                     struct spoor_error *err)
{
    struct observed *observed = take_matching(stats, pid, has_children);

    if (observed && !is_alive(observed)) {
        observed_free(observed);
        observed = NULL;
    }
    if (!observed)
        observed = observe(pid, has_children, err);
    if (observed)
        put_first(stats, observed);
    return observed;
}

/* ---- answers: each is of one sample, with the mutex held ------------------- */

static void add_members(const struct observed *observed, const struct member *members,
                        size_t count, struct json_writer *json)
{
    for (size_t i = 0; i < count; i++)
        json_add_number(json, members[i].key,
                        get_value(observed, members[i].metric) / members[i].unit);
}

static void add_busy_gpus(const struct observed *observed, struct json_writer *json)
{
    json_add_u64(json, "gpu_utilized",
                 observed->has_gpus ? (uint64_t)observed->busy_gpu_count : UNKNOWN);
    json_begin(json, "gpu_utilized_indexes", '[');
    for (size_t i = 0; i < observed->busy_gpu_count; i++)
        json_add_u64(json, NULL, observed->busy_gpus[i]);
    json_end(json);
}

int stats_add_process(struct stats *stats, pid_t pid, bool has_children,
                      struct json_writer *json, struct spoor_error *err)
{
    struct observed *observed = get_observed(stats, pid, has_children, err);

    if (!observed)
        return -err->code;
    pthread_mutex_lock(&observed->mutex);
    json_begin(json, "stats", '{');
    json_add_number(json, "timestamp", observed->unix_seconds);
    json_add_u64(json, "pid", (uint64_t)pid);
    if (has_children)
        json_add_number(json, "children", get_value(observed, "job_processes") - 1);
    else
        json_add_null(json, "children");
    add_members(observed, process_members, ARRAY_SIZE(process_members), json);
    add_busy_gpus(observed, json);
    json_end(json);
    pthread_mutex_unlock(&observed->mutex);
    return 0;
}

/* A session only for GPUs: the rest is read without one. */
static void add_machine_gpus(struct stats *stats, struct json_writer *json)
{
    struct spoor_error err;
    struct observed *observed =
        spoor_may_have_gpus(NULL) ? get_observed(stats, 0, true, &err) : NULL;

    if (!observed)
        return;
    pthread_mutex_lock(&observed->mutex);
    add_members(observed, machine_members, ARRAY_SIZE(machine_members), json);
    add_busy_gpus(observed, json);
    pthread_mutex_unlock(&observed->mutex);
}

int stats_add_system(struct stats *stats, struct json_writer *json, struct spoor_error *err)
{
    int r = stats->machine ? 0 : machine_open(&stats->machine, err);

    if (r < 0)
        return r;
    json_begin(json, "stats", '{');
    r = machine_add_stats(stats->machine, json, err);
    if (r == 0)
        add_machine_gpus(stats, json);
    json_end(json);
    return r;
}
