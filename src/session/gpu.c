/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - the GPUs of a session: when to read them, their part of samples and reports, and
 * lists of GPUs for callers of the library.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/parse.h"
#include "sample/origins.h"
#include "session/session.h"
#include "text/number.h"

static bool streams_read_host_gpus(const spoor_session *session)
{
    bool reads = false;

    for (size_t i = 0; i < session->stream_count; i++)
        reads |= session->streams[i].stream.reads_host_gpus;
    return reads;
}

/* The drivers are opened this long after the start of a job that we started: most commands
 * end sooner, and opening NVIDIA's takes 30 ms of CPU time. */
#define OPEN_AFTER_NS (100 * NS_PER_MS)

static const char *why_not_opened(const spoor_session *session)
{
    const struct gpu_vendor *enabled[GPU_VENDORS_MAX];

    if (visible_is_none(session->gpus))
        return origins_gpus_unwanted;
    return gpu_vendors_enabled(session->disabled, enabled) == 0 ? "disabled by SPOOR_DISABLE"
                                                                : "this machine has no GPU";
}

/* Lists the processes whose environments select the GPUs of the job. Returns 0 if our own
 * environment does. */
static size_t list_choosers(const spoor_session *session, pid_t *pids, size_t most)
{
    const struct job *job = &session->sampler.job;
    size_t count = 0;

    if (job->tracker_pid != 0)
        return 0;
    if (session->pid != 0)
        pids[count++] = session->pid;
    for (size_t i = 0; session->pid == 0 && i < job->roster.count && count < most; i++)
        pids[count++] = job->roster.list[i].id.pid;
    return count;
}

static void open_gpus(spoor_session *session)
{
    enum { PROCESSES_MAX = 64 }; /* for a cgroup */
    const struct job *job = &session->sampler.job;
    pid_t pids[PROCESSES_MAX];
    uint64_t start_ns = session->sampler.started.monotonic_ns;
    struct gpu_looks_options options = {
        .root = &session->root,
        .gpus = session->gpus,
        .main_pid = session->pid,
        .pids = pids,
        .pid_count = list_choosers(session, pids, PROCESSES_MAX),
        .tracker_pid = job->tracker_pid,
        .is_main_only = job->is_main_only,
        .leaves_drivers = session->flags & SPOOR_LEAVE_DRIVERS,
        .disabled = session->disabled,
        .watch = { .start_ns = start_ns,
                   .counts_no_work = session->flags & SPOOR_NO_GPM,
                   .cgroup =
                       job->is_main_only ? NULL : job_cgroup_dmem_path(&job->meters.job_cgroup),
                   .cgroup_is_older = job->meters.job_cgroup.is_adopted },
    };
    bool is_for_host = !job->is_tracked || streams_read_host_gpus(session);
    bool waits = job->tracker_pid != 0 && !is_for_host && !(session->flags & SPOOR_OPEN_GPUS);
    int r = session->may_have_gpus ? gpu_looks_open(&session->gpu_looks, &options) : -ENODEV;

    if (r == 0) {
        gpu_pace_init(&session->gpu_pace, start_ns + (waits ? OPEN_AFTER_NS : 0), is_for_host);
        return;
    }
    SESSION_LOCK(session);
    session->gpu.state = GPU_NONE;
    session->gpu.reason = why_not_opened(session);
    if (r != -ENODEV)
        session_add_warning(session, "gpu-thread", "GPUs are not tracked: %s", strerror(-r));
}

/* ---- several ranks on a node ----------------------------------------------- */

/* If a node has more ranks than this, they share its GPUs. */
enum { GPUS_OF_NODE_MAX = 16 };

#define CHECK_EVERY_NS (2 * NS_PER_SECOND)

/* Whether only the first rank on the node reads the GPUs. Opening NVIDIA's driver takes 30 ms
 * and 23 MB. So on a node full of ranks, only the first rank and the ranks whose processes use
 * a GPU open it. A rank with its own list of GPUs always counts as the first rank: the numbers
 * are relative to the GPUs that the scheduler assigned to it. */
static bool are_read_by_first_rank(const spoor_session *session)
{
    const struct launch *launch = &session->run.launch;
    struct gpu_choice choice = { 0 };
    bool has_list = session->gpus != NULL;

    if (!is_known(launch->local_rank) || launch->local_rank == 0 || has_list ||
        session->sampler.job.tracker_pid == 0 || streams_read_host_gpus(session) ||
        session->flags & SPOOR_OPEN_GPUS || gpu_choice_init(&choice, NULL, environment_own) < 0)
        return false;
    for (int i = 0; i <= VISIBLE_SLURM; i++)
        has_list |= choice.texts[i] != NULL;
    gpu_choice_done(&choice);
    return !has_list || launch_ranks_here(launch) > GPUS_OF_NODE_MAX;
}

/* Whether a process has opened the device of a GPU. */
static bool has_gpu_open(const struct root *root, pid_t pid)
{
    static const char *const devices[] = { "/dev/nvidia", "/dev/kfd", "/dev/dri/" };
    AUTO_CLOSEDIR DIR *folder = root_open_folder(root, "proc/%d/fd", (int)pid);
    const struct dirent *entry;
    char path[64];

    while (folder && (entry = readdir(folder))) {
        if (root_read_link(root, path, sizeof(path), "proc/%d/fd/%s", (int)pid, entry->d_name) <
            0)
            continue; /* not a link, or too long */
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
            if (begins_with(path, devices[i]))
                return true;
        }
    }
    return false;
}

static void check_for_gpus(spoor_session *session, uint64_t now_ns)
{
    const struct roster *roster = &session->sampler.job.roster;

    session->gpu_check_ns = now_ns + CHECK_EVERY_NS;
    for (size_t i = 0; i < roster->count; i++) {
        if (roster->list[i].account.has_left ||
            !has_gpu_open(&session->root, roster->list[i].id.pid))
            continue;
        session->gpu_check_ns = UINT64_MAX;
        open_gpus(session);
        return;
    }
}

void session_start_gpus(spoor_session *session)
{
    session->gpu_check_ns = UINT64_MAX;
    if (!session->may_have_gpus || !are_read_by_first_rank(session)) {
        open_gpus(session);
        return;
    }
    session->gpu_check_ns = session->sampler.started.monotonic_ns + NS_PER_SECOND;
    SESSION_LOCK(session);
    session->gpu.state = GPU_NONE;
    session->gpu.reason =
        "measured by local rank 0: no process of this rank was seen to use a GPU";
}

static bool has_gpus(const spoor_session *session)
{
    return session->gpu_looks.is_open && session->gpu_looks.state != GPU_NONE;
}

uint64_t session_gpus_due_ns(const spoor_session *session)
{
    return has_gpus(session) ? session->gpu_pace.due_ns : UINT64_MAX;
}

/* Returns the memory of a process on the job's GPUs; UNKNOWN: not reported by a driver, or an
 * earlier row has the same process. */
static uint64_t memory_of_row(const struct gpu_watch *watch, size_t index)
{
    const struct gpu_row *rows = watch->rows;
    pid_t pid = rows[index].process.pid;
    uint64_t sum = UNKNOWN;

    for (size_t i = 0; i < watch->row_count; i++) {
        if (rows[i].process.pid != pid || !watch->inventory.units[rows[i].unit].is_selected)
            continue;
        if (i < index)
            return UNKNOWN;
        sum = sum_u64(first_known(sum, 0), rows[i].process.memory_bytes);
        if (!is_known(sum))
            return UNKNOWN;
    }
    return sum;
}

/* Stores the memory of each process for the process table, after a look. */
static void note_processes(spoor_session *session)
{
    const struct gpu_watch *watch = session->gpu_looks.watch;

    for (size_t i = 0; i < watch->row_count; i++) {
        const struct gpu_row *row = &watch->rows[i];

        if (row->is_job && !row->process.has_ended)
            job_note_gpu(&session->sampler.job, row->process.pid, memory_of_row(watch, i));
    }
}

/* Collects the result of a look. The cost of opening the drivers is spread over the run. */
static void collect(spoor_session *session, uint64_t now_ns)
{
    const struct job_meters *meters = &session->sampler.job.meters;
    struct budget *budget = &session->sampler.job.budget;
    struct gpu_looks *looks = &session->gpu_looks;
    bool is_opening = looks->state == GPU_PENDING;
    uint64_t before_ns = looks->cost_ns;

    looks->have_left_cgroup =
        meters->escape.has_left[job_cgroup_tree(&meters->job_cgroup, CGROUP_DMEM)];
    if (!has_gpus(session) || !gpu_looks_collect(looks))
        return;
    if (is_opening)
        budget_borrow(budget, SPENT_GPUS, looks->cost_ns);
    else
        budget_charge(budget, SPENT_GPUS, looks->cost_ns - before_ns);
    note_processes(session);
    gpu_pace_end(&session->gpu_pace, now_ns, looks->cost_ns - before_ns, &looks->found);
}

bool session_look_at_gpus(spoor_session *session, uint64_t now_ns)
{
    struct job *job = &session->sampler.job;
    struct gpu_pace *pace = &session->gpu_pace;
    struct gpu_job_state state = { .rests = activity_state(&job->activity) == JOB_RESTS,
                                   .started_count = job->started_count };
    enum gpu_look look;

    if (now_ns >= session->gpu_check_ns)
        check_for_gpus(session, now_ns);
    collect(session, now_ns);
    if (!has_gpus(session))
        return false;
    state.space_bytes = job_gpu_space_bytes(job);
    gpu_looks_note(&session->gpu_looks, &job->roster);
    if (!gpu_looks_are_idle(&session->gpu_looks)) {
        if (now_ns >= pace->due_ns)
            gpu_pace_wait(pace, now_ns);
        return false;
    }
    look = gpu_pace_begin(pace, now_ns, &state, job->is_tracked ? &job->budget : NULL);
    return look != GPU_LOOK_NONE &&
           gpu_looks_start(&session->gpu_looks, look, &job->roster) == 0;
}

/* The sample at the start or end of a phase waits this long for the drivers: a driver may
 * hang. */
#define BORDER_WAIT_NS (50 * NS_PER_MS)

void session_look_at_gpus_at_border(spoor_session *session)
{
    uint64_t now_ns = clock_now().monotonic_ns, until_ns = now_ns + BORDER_WAIT_NS;
    struct gpu_looks *looks = &session->gpu_looks;

    if (!has_gpus(session) || looks->state != GPU_READY)
        return;
    gpu_looks_wait(looks, until_ns);
    collect(session, now_ns);
    if (gpu_looks_are_idle(looks) &&
        gpu_looks_start(looks, GPU_LOOK_BORDER, &session->sampler.job.roster) == 0)
        gpu_looks_wait(looks, until_ns);
}

void session_begin_last_look_at_gpus(spoor_session *session)
{
    collect(session, clock_now().monotonic_ns);
    if (has_gpus(session))
        gpu_looks_begin_last(&session->gpu_looks, &session->sampler.job.roster);
}

void session_wait_for_gpus(spoor_session *session)
{
    struct gpu_looks *looks = &session->gpu_looks;
    uint64_t before_ns = looks->cost_ns;

    if (!has_gpus(session))
        return;
    /* First the look that was in progress when the job ended, then the last one. */
    while (gpu_looks_finish(looks)) {
        note_processes(session);
        gpu_looks_begin_last(looks, &session->sampler.job.roster);
    }
    budget_charge(&session->sampler.job.budget, SPENT_GPUS, looks->cost_ns - before_ns);
}

void session_note_gpu_process_end(spoor_session *session, pid_t pid)
{
    if (has_gpus(session))
        gpu_looks_add_ended(&session->gpu_looks, pid);
}

static const struct {
    enum metric metric;
    bool is_memory; /* false: busy time */
} of_processes[] = {
    { METRIC_MAIN_GPU_MEMORY, true },      { METRIC_DESCENDANTS_GPU_MEMORY, true },
    { METRIC_JOB_GPU_MEMORY, true },       { METRIC_JOB_GPU_BUSY, false },
    { METRIC_JOB_GPU_UTILIZATION, false },
};

static struct gpu_uncertain uncertain_of(const struct gpu_totals *totals)
{
    return (struct gpu_uncertain){
        .memory = totals->is_memory_unreported && totals->has_unreported_memory,
        .busy = totals->is_busy_unreported && totals->has_unreported_busy,
    };
}

static void forget_zero(uint64_t *value)
{
    if (*value == 0)
        *value = UNKNOWN;
}

/* Makes a gauge of 0 unknown if one of its parts was not reported. */
static void clear_unreported(spoor_session *session)
{
    struct gpu_uncertain uncertain = uncertain_of(&session->gpu.totals);

    for (size_t i = 0; i < ARRAY_SIZE(of_processes); i++) {
        enum metric metric = of_processes[i].metric;

        if (!(of_processes[i].is_memory ? uncertain.memory : uncertain.busy))
            continue;
        forget_zero(&session->latest.value[metric]);
        forget_zero(&session->latest.moment[metric]);
    }
}

/* Makes zeros unknown if a driver did not report the usage of a GPU that the job used. A value
 * reported later counts. */
static void forget_zeros(const struct gpu_totals *totals, struct gpu_uncertain *uncertain,
                         struct summary *summary)
{
    struct gpu_uncertain now = uncertain_of(totals);

    uncertain->memory = now.memory || (uncertain->memory && totals->has_unreported_memory);
    uncertain->busy = now.busy || (uncertain->busy && totals->has_unreported_busy);
    for (size_t i = 0; i < ARRAY_SIZE(of_processes); i++) {
        if (of_processes[i].is_memory ? uncertain->memory : uncertain->busy)
            summary_forget_zero(summary, of_processes[i].metric);
    }
}

void session_forget_uncertain_gpus(spoor_session *session)
{
    const struct gpu_totals *totals = &session->gpu.totals;

    forget_zeros(totals, &session->gpu_uncertain, &session->summary);
    for (size_t i = 0; i < session->phase_count; i++) {
        struct phase *phase = &session->phases[i];

        if (phase->is_open)
            forget_zeros(totals, &phase->gpu_uncertain, &phase->summary);
    }
}

void session_add_gpus(spoor_session *session, struct instant now, bool is_last)
{
    if (session->gpu_looks.is_open) {
        collect(session, now.monotonic_ns);
        gpu_looks_view(&session->gpu_looks, now.monotonic_ns, &session->gpu);
    }
    /* Otherwise there has been no look at the GPUs yet. */
    if (session->gpu.reason || session->gpu.state == GPU_READY)
        sampler_add_gpus(&session->sampler, &session->gpu, is_last, &session->latest);
    clear_unreported(session);
}

/* Warns about GPUs that the job used although they were not assigned to it: the job may have
 * changed its own variables. */
static void warn_about_strays(spoor_session *session)
{
    const struct gpu_view *view = &session->gpu;
    char list[160];
    size_t used = 0;

    for (size_t i = 0; i < view->count && used < sizeof(list) - 1; i++) {
        const struct gpu_device_view *device = &view->devices[i];
        uint64_t bytes = device->figures[GPU_JOB_MEMORY].peak;
        int n = 0;

        if (!view->units[i].is_selected && device->has_had_job && is_known(bytes) && bytes > 0)
            n = snprintf(list + used, sizeof(list) - used, "%s%s on GPU %s",
                         used > 0 ? ", " : "", number_bytes((double)bytes).text,
                         gpu_place_text(view->units[i].place, ':').text);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used > 0)
        session_add_warning(
            session, "gpu-not-selected",
            "the job used %s, selected neither by --gpus nor by its environment: not counted",
            list);
}

/* Warns if the driver stopped reporting the memory of processes after the peak was measured. */
static void warn_about_unreported(spoor_session *session)
{
    const struct gpu_totals *totals = &session->gpu.totals;
    uint64_t peak = session->summary.tally[METRIC_JOB_GPU_MEMORY].max;
    const char *reason = totals->measures[GPU_TOTAL_JOB_MEMORY].origin.reason;

    if (totals->is_memory_unreported && reason && is_known(peak) && peak > 0)
        session_add_warning(session, "gpu-memory-unreported",
                            "the driver stopped reporting the job's GPU memory, so the real "
                            "peak may be higher: %s",
                            reason);
}

/* Raises the peak to the driver's peak of one process, which is a lower bound for the run, but
 * not for a phase. */
void session_raise_gpu_peak(spoor_session *session)
{
    const struct tally *tally = &session->summary.tally[METRIC_JOB_GPU_MEMORY];
    uint64_t bytes = session->gpu_looks.troubles.record_bytes;

    if (!session->gpu_looks.is_open || !is_known(bytes) ||
        (is_known(tally->max) && bytes <= tally->max))
        return;
    summary_raise(&session->summary, METRIC_JOB_GPU_MEMORY, bytes, "nvml.accounting");
}

/* Warns about lost GPUs. Returns whether there are any. */
static bool warn_of_lost(spoor_session *session)
{
    const struct gpu_view *view = &session->gpu;
    bool has_any = false;

    for (size_t i = 0; i < view->count && view->devices; i++) {
        if (!view->units[i].is_selected || !view->devices[i].was_lost)
            continue;
        session_add_warning(session, "gpu-lost",
                            "the driver lost GPU %s: its use since then is unknown",
                            gpu_unit_id(&view->units[i]));
        has_any = true;
    }
    return has_any;
}

void session_warn_about_gpus(spoor_session *session)
{
    const struct gpu_troubles *troubles = &session->gpu_looks.troubles;
    struct spoor_error unmatched;

    for (size_t i = 0; i < troubles->refusal_count; i++)
        session_add_warning(session, "gpu-driver",
                            troubles->refusals[i].is_partial
                                ? "some %s GPUs cannot be measured: %s"
                                : "%s GPUs cannot be measured: %s",
                            troubles->refusals[i].vendor, troubles->refusals[i].error.message);
    if (session->gpus && session->gpu.state == GPU_NONE && strcmp(session->gpus, "all") != 0 &&
        !visible_is_none(session->gpus))
        session_add_warning(session, "gpu-unknown", "--gpus %s: %s", session->gpus,
                            session->gpu.reason);
    if (session_refuse_choice(&troubles->unmatched, session->gpu.units, session->gpu.count,
                              &unmatched) < 0)
        session_add_warning(session, "gpu-unknown", "%s", unmatched.message);
    if (troubles->silent_for_ns > 0)
        session_add_warning(
            session, "gpu-blocked",
            "the GPU driver did not respond for %.1f s, starting %.1f s into the run: GPU use "
            "in that time is unknown",
            (double)troubles->silent_for_ns / 1e9,
            (double)(troubles->silent_since_ns - session->sampler.started.monotonic_ns) / 1e9);
    if (!warn_of_lost(session))
        warn_about_unreported(session);
    if (troubles->is_busy_mixed)
        session_add_warning(session, "gpu-shared",
                            "other processes compute on the job's GPU: the driver attributes "
                            "each fifth of a second to one process only, so the job's "
                            "utilization may include some of theirs and miss some of its own");
    warn_about_strays(session);
}

void session_end_gpus(spoor_session *session)
{
    gpu_looks_close(&session->gpu_looks);
    free(session->gpu.devices);
    session->gpu = (struct gpu_view){ 0 };
}

/* ---- lists of GPUs --------------------------------------------------------- */

int spoor_check_gpus(const char *gpus, struct spoor_error *err)
{
    return gpu_choice_check(gpus, err);
}

static void give(const struct gpu_unit *units, size_t count,
                 void (*each)(const struct spoor_gpu *gpu, void *data), void *data)
{
    for (size_t i = 0; i < count; i++) {
        const struct gpu_unit *unit = &units[i];
        struct spoor_gpu gpu = {
            .index = unit->place.index,
            .part = unit->place.part,
            .uuid = gpu_unit_id(unit),
            .name = unit->device.name,
            .vendor = unit->vendor,
            .pci_address = unit->device.pci_address,
            .memory_bytes = unit->device.memory_total_bytes,
            .is_part = unit->device.is_part,
            .is_selected = unit->is_selected,
        };

        each(&gpu, data);
    }
}

bool spoor_may_have_gpus(const char *root_path)
{
    unsigned disabled;
    CLEANUP(root_close) struct root root = ROOT_CLOSED;

    /* If one of the first two calls fails, listing the GPUs reports the error. */
    return session_read_disabled(&disabled, NULL) < 0 || root_open(root_path, &root) < 0 ||
           gpu_looks_are_needed(&root, NULL, disabled);
}

int session_find_gpus(const struct root *root, const char *gpus, struct gpu_inventory *ret,
                      struct spoor_error *err)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    unsigned disabled;
    size_t count;
    int r = session_read_disabled(&disabled, err);

    *ret = (struct gpu_inventory){ 0 };
    if (r < 0)
        return r;
    count = gpu_vendors_enabled(disabled, vendors);
    if (count == 0)
        return error_set(err, ENODEV, "disabled by SPOOR_DISABLE");
    r = gpu_inquire(root, vendors, count, gpus, ret);
    if (r == -ENODEV && ret->refusal_count > 0)
        return error_set(err, ret->refusals[0].error.code, "%s GPUs: %s",
                         ret->refusals[0].vendor, ret->refusals[0].error.message);
    if (r == -ENODEV)
        return error_set(err, ENODEV, "%s",
                         ret->absent.code == ENXIO ? ret->absent.message : "none");
    if (r == -ETIMEDOUT)
        return error_set(err, ETIMEDOUT, "%s", gpu_inquiry_silence);
    return r < 0 ? error_sys(err, r, "look for GPUs") : 0;
}

int session_refuse_choice(const struct spoor_error *unmatched, const struct gpu_unit *units,
                          size_t count, struct spoor_error *err)
{
    size_t whole = gpu_units_count_whole(units, count);

    if (unmatched->code == 0)
        return 0;
    if (whole <= 1)
        return error_set(err, unmatched->code, "%s; this machine has %s (see 'spoor info')",
                         unmatched->message, whole == 1 ? "only GPU 0" : "none");
    return error_set(err, unmatched->code,
                     "%s; this machine has GPUs 0 to %zu (see 'spoor info')",
                     unmatched->message, whole - 1);
}

int spoor_gpu_list(const char *root_path, const char *selection,
                   void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                   struct spoor_error *err)
{
    CLEANUP(gpu_inventory_close) struct gpu_inventory inventory = { 0 };
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    int r;

    if (selection && gpu_choice_check(selection, err) < 0)
        return -EINVAL;
    r = session_open_root(root_path, &root, err);
    if (r < 0)
        return r;
    r = session_find_gpus(&root, selection, &inventory, err);
    if (r < 0)
        return r == -ENODEV ? 0 : r;
    r = session_refuse_choice(&inventory.unmatched, inventory.units, inventory.count, err);
    if (r == 0)
        give(inventory.units, inventory.count, each, data);
    return r;
}

int spoor_session_gpus(spoor_session *session,
                       void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                       struct spoor_error *err)
{
    SESSION_LOCK(session);

    if (!session->gpu.units && session->gpu.state != GPU_NONE)
        return error_set(err, EAGAIN, "the drivers have not reported their GPUs yet");
    if (session->gpu.units)
        give(session->gpu.units, session->gpu.count, each, data);
    return 0;
}
