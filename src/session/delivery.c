/* SPDX-License-Identifier: Apache-2.0 */
/* delivery.c - passes samples to the streams and the caller. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/amount.h"
#include "base/error.h"
#include "base/reserve.h"
#include "session/session.h"

static size_t read_gpus(const struct gpu_view *view, struct spoor_gpu_sample *ret)
{
    struct gpu_columns gpus = gpu_columns_of(view);

    for (size_t i = 0; i < gpus.count; i++) {
        const struct gpu_unit *unit =
            gpu_view_find(view, gpus.places[i]); /* found: the place is from this view */
        double values[GPU_MEASURE_COUNT];

        gpu_columns_read(view, gpus.places[i], values);
        ret[i] = (struct spoor_gpu_sample){
            .index = gpus.places[i].index,
            .part = gpus.places[i].part,
            .memory_total_bytes = as_number(unit->device.memory_total_bytes),
            .uuid = gpu_unit_id(unit),
        };
        for (int k = 0; k < GPU_MEASURE_COUNT; k++)
            memcpy((char *)&ret[i] + gpu_measure_row((enum gpu_measure)k)->sample_offset,
                   &values[k], sizeof(values[k]));
    }
    return gpus.count;
}

void spoor_session_latest_gpus(spoor_session *session,
                               void (*each)(const struct spoor_gpu_sample *gpu, void *data),
                               void *data)
{
    SESSION_LOCK(session);
    struct spoor_gpu_sample gpus[GPU_COLUMNS_MAX];
    size_t count = read_gpus(&session->gpu, gpus);

    for (size_t i = 0; i < count; i++)
        each(&gpus[i], data);
}

/* Fills the list of processes and returns its length; 0 if memory runs out. */
static size_t read_processes(spoor_session *session)
{
    const struct roster *roster = &session->sampler.job.roster;
    size_t count = 0;

    if (!(session->flags & SPOOR_LIST_PROCESSES) ||
        reserve(&session->processes, &session->process_capacity, roster->count,
                sizeof(*session->processes)) < 0)
        return 0;
    for (size_t i = 0; i < roster->count; i++) {
        const struct member *member = &roster->list[i];
        struct spoor_process_sample *process = &session->processes[count];

        if (member->account.has_left || member->notes.is_disowned || member->reading.is_zombie)
            continue;
        *process = (struct spoor_process_sample){
            .pid = member->id.pid,
            .parent_pid = member->parent_pid,
            .command = member->notes.command,
            .cpu_seconds = (double)member->notes.seen_cpu_ns / 1e9,
            .rss_bytes = (double)member->reading.rss_bytes,
        };
        memcpy(process->name, member->comm, sizeof(process->name));
        count++;
    }
    return count;
}

static void show_sample(spoor_session *session)
{
    double values[METRIC_COUNT], moments[METRIC_COUNT];
    struct spoor_gpu_sample gpus[GPU_COLUMNS_MAX];
    struct spoor_sample sample = {
        .elapsed_seconds = (double)session->latest.elapsed_ns / 1e9,
        .unix_seconds = (double)session->latest.realtime_ns / 1e9,
        .values = values,
        .count = METRIC_COUNT,
        .moments = moments,
        .gpus = gpus,
        .gpu_count = read_gpus(&session->gpu, gpus),
        .process_count = read_processes(session),
        .cpu_limit = session->limits.cpus,
        .memory_limit_bytes = as_number(session->limits.memory_bytes),
    };

    sample.processes = session->processes; /* the list may have moved */

    for (int i = 0; i < METRIC_COUNT; i++) {
        values[i] = metric_value((enum metric)i, session->latest.value[i]);
        moments[i] = metric_value((enum metric)i, session->latest.moment[i]);
    }
    session->sample_seen(&sample, session->sample_data);
}

/* Writes rows. If one stream ends, all streams get a row, so that their rows have the same
 * times. Streams in a dialect get no rows of early samples: the programs they imitate would not
 * write any. */
static void write_rows(spoor_session *session, enum sample_kind kind)
{
    bool must_end[ARRAY_SIZE(session->streams)];
    bool must_write = kind == SAMPLE_LAST;

    for (size_t i = 0; i < session->stream_count; i++) {
        must_end[i] = atomic_exchange(&session->streams[i].must_end, false);
        must_write = must_write || must_end[i];
    }
    for (size_t i = 0; i < session->stream_count; i++) {
        struct samples_file *file = &session->streams[i];

        if (kind == SAMPLE_EARLY && file->stream.dialect && !must_write)
            continue;
        samples_file_add(file, &session->latest, &session->gpu,
                         (struct samples_machine){ &session->root, &session->space },
                         must_write);
        if (must_end[i])
            samples_file_end(file);
    }
}

void session_deliver_sample(spoor_session *session, enum sample_kind kind)
{
    write_rows(session, kind);
    /* If the session was abandoned, the caller's data may have been freed. */
    if (session->sample_seen && !session->is_abandoned)
        show_sample(session);
}

void session_begin_delivery(spoor_session *session)
{
    if (session->holds_samples || session->delivers_samples)
        return;
    session->delivers_samples = true;
    for (size_t i = 0; i < session->stream_count; i++)
        row_writer_begin(&session->streams[i].writer);
    if (session->has_sample)
        session_deliver_sample(session, SAMPLE_REGULAR);
}

int spoor_session_end_stream(spoor_session *session, size_t stream, struct spoor_error *err)
{
    if (stream >= session->stream_count)
        return error_set(err, EINVAL, "no stream %zu", stream);
    session->streams[stream].must_end = true;
    session->outlives_job = true;
    return spoor_session_sample(session, err);
}
