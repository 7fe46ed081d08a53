/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - the life cycle of a job. */
#include "job/job.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/hidden_child.h"
#include "source/perf/events.h"
#include "source/proc/pid_files.h"

uint64_t job_now_ns(const struct job *job, uint64_t now_ns)
{
    return job->root->is_live ? clock_now().monotonic_ns : now_ns;
}

struct look job_look(const struct job *job, uint64_t now_ns, bool is_thorough)
{
    return (struct look){
        .root = job->root,
        .now_ns = now_ns,
        .uses_clocks = job->uses_clocks,
        .is_thorough = is_thorough,
        .was_born = job->is_spawned,
        .is_main_only = job->is_main_only,
        .reads_status = job->meters.swap_used_bytes != job->meters.swap_read_bytes ||
                        job->meters.huge_used_bytes != job->meters.huge_read_bytes,
        .has_huge_pages = job->meters.huge_used_bytes > 0,
    };
}

static void list_threads(void *data, child_found *found, void *found_data)
{
    const struct job *job = data;

    if (job->root->proc_fault) /* without /proc: the job is our child, which has one thread */
        found(job->main_pid, found_data);
    for (size_t i = 0; i < job->roster.count; i++)
        (void)proc_each_thread(job->root, job->roster.list[i].id.pid, found, found_data);
}

static int add_clock(void *clock, pid_t tid)
{
    return task_clock_add(clock, tid);
}

static void close_clock(void *clock)
{
    event_set_close(clock);
}

/* Opens perf's count of the CPU time if no cgroup counts it: an inherited event costs the job
 * 0.2 us at every context switch. The event is opened on each current thread of the job (if we
 * spawned the job, there is only one). If one of them fails, all are closed and perf is not
 * used. Threads that a job starts while we attach to it may be missed, so perf's count of an
 * attached job is not exact. */
static void open_task_clock(struct job *job, const struct job_options *options)
{
    const struct thread_events events = { list_threads, job, add_clock, close_clock,
                                          &job->meters.task_clock };

    if (!job->root->is_live || options->disabled & SOURCE_PERF ||
        job->is_main_only || /* perf counts descendants too */
        is_known(job_cgroup_read_cpu_ns(&job->meters.job_cgroup)))
        return;
    for (size_t i = 0; i < job->roster.count; i++)
        job->meters.attached_cpu_ns += job->roster.list[i].account.usage.counter[USAGE_CPU_NS];
    (void)thread_events_open(&events);
}

static const char *why_not_counted(int error)
{
    switch (-error) {
    case EACCES:
    case EPERM:
        return "hardware counters are not permitted (kernel.perf_event_paranoid above 2, or a "
               "container)";
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return "this machine has no hardware counters (most virtual machines have none)";
    default:
        return "the kernel refused to open the hardware counters";
    }
}

static void open_counters(struct job *job, const struct job_options *options)
{
    int r;

    if (!options->has_counters)
        return;
    r = options->disabled & SOURCE_PERF ? -ECANCELED
                                        : counters_open(&job->meters.counters, options->pid);
    job->meters.why_no_counters = r == -ECANCELED ? "disabled by SPOOR_DISABLE"
                                  : r < 0         ? why_not_counted(r)
                                                  : "this CPU does not count it";
}

/* Prepares everything that must be in place before the job's program runs. */
static int prepare_spawned(struct job *job, const struct job_options *options)
{
    process_events_open(&job->process_events, job->root, &job->roster, options->pid,
                        options->disabled);
    open_counters(job, options);
    if (options->cgroup == SPOOR_CGROUP_OFF)
        job->meters.job_cgroup.reason = "disabled by --cgroup off";
    else if (options->disabled & SOURCE_CGROUP)
        job->meters.job_cgroup.reason = "disabled by SPOOR_DISABLE";
    else
        job_cgroup_open(&job->meters.job_cgroup, job->root, job->tracker_pid, options->pid,
                        options->cgroups, options->cgroup_folder, options->environment);
    if (job->meters.job_cgroup.root && options->cgroup == SPOOR_CGROUP_AUTO &&
        !options->cgroup_folder)
        surrounding_open(job, options->cgroups);
    cgroup_escape_init(&job->meters.escape, &job->meters.job_cgroup, options->pid);
    return options->cgroup == SPOOR_CGROUP_REQUIRE &&
                   !job_cgroup_has_memory(&job->meters.job_cgroup)
               ? -ENOTSUP
               : 0;
}

/* Prepares a running job. If it has children, only the process connector reports its events. */
static void prepare_attached(struct job *job, const struct job_options *options,
                             uint64_t now_ns)
{
    struct look look = job_look(job, now_ns, true);

    if (!job->root->is_live || job->is_main_only)
        return;
    process_events_open(&job->process_events, job->root, &job->roster, options->pid,
                        options->disabled | SOURCE_RING);
    job_search(job, &look); /* processes started before the first event */
    for (size_t i = 0; i < job->roster.count; i++) {
        /* The exit of a zombie was already reported. */
        if (!job->roster.list[i].reading.is_zombie)
            process_events_adopt(&job->process_events, job->roster.list[i].id.pid);
    }
}

/* Returns the size of a forked child before exec, for machines without /proc. Our own ru_maxrss
 * cannot be used: it starts at the value of the program that called exec to run us. */
static uint64_t forked_rss_bytes(void)
{
    struct rusage usage = { 0 };
    pid_t pid = hidden_child_fork(SPOOR_AGENT_NAME), r;

    if (pid == 0)
        _exit(0);
    do
        r = pid > 0 ? wait4(pid, NULL, __WALL, &usage) : 0;
    while (r < 0 && errno == EINTR);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* Tracks everything in a cgroup. Process events are not used: they would come for the whole
 * machine, and the cgroup lists its processes. */
static void adopt_cgroup(struct job *job, const struct job_options *options, uint64_t now_ns)
{
    struct look look = job_look(job, now_ns, true);

    job_cgroup_adopt(&job->meters.job_cgroup, job->root, options->adopted, options->cgroups);
    job->started_count = 0;
    job_search(job, &look);
    open_task_clock(job, options);
}

/* Starts tracking the job's first process and opens its sources. */
static int begin(struct job *job, const struct job_options *options, uint64_t now_ns)
{
    struct look look = job_look(job, now_ns, true);
    struct member main, *added;
    int r = member_open(&look, options->pid, &main);

    if (r < 0)
        return r;
    job->marks.spawn_rss_bytes = !options->caller_spawned ? 0
                                 : job->root->proc_fault  ? forked_rss_bytes()
                                                          : main.reading.rss_peak_bytes;
    added = roster_add_member(&job->roster, &main);
    if (!added) {
        member_close(&main);
        return -ENOMEM;
    }
    job_note_start(job, added, now_ns);
    if (options->caller_spawned && job->root->is_live)
        job_note_inherited(job);
    if (options->caller_spawned)
        r = prepare_spawned(job, options);
    else
        prepare_attached(job, options, now_ns);
    if (r == 0)
        open_task_clock(job, options);
    return r;
}

/* Watches the events of the job's own cgroup, and checks which pressures it counts. */
static void watch_cgroup(struct job_meters *meters)
{
    struct job_cgroup *cgroup = &meters->job_cgroup;
    struct job_cgroup_reading first = JOB_CGROUP_READING_UNKNOWN;

    if (job_cgroup_has_memory(cgroup))
        meters->cgroup_watch.memory =
            cgroup->folders[job_cgroup_tree(cgroup, CGROUP_MEMORY)].own;
    job_cgroup_read_pressure(cgroup, &first);
    for (int i = 0; i < PRESSURE_COUNT; i++)
        meters->has_pressure[i] = is_known(first.pressure_ns[i]);
}

int job_init(struct job *job, const struct root *root, const struct job_options *options,
             uint64_t now_ns)
{
    int r = 0;

    *job = (struct job){
        .root = root,
        .main_pid = options->pid,
        .is_spawned = options->caller_spawned,
        .tracker_pid = options->caller_spawned ? getpid() : 0,
        .is_tracked = options->pid != 0 || options->adopted,
        .is_main_only = options->is_main_only,
        .uses_clocks = !(options->disabled & SOURCE_CLOCK),
        .lists_children = !(options->disabled & SOURCE_CHILDREN) && children_are_listed(root),
        .main.has_program = !options->caller_spawned,
        .storage_is_local = options->storage_is_local,
        .network = JOB_NETWORK_CLOSED,
        .meters.events = { UNKNOWN, UNKNOWN },
        .sentinel = { .file = CACHED_FILE_CLOSED, .least_bytes = UNKNOWN },
        .peaks = JOB_PEAKS_NONE,
        .started_count = 1,
        .suspended_ns = clock_suspended_ns(),
    };
    job->meters.job_cgroup.reason =
        "the job was already running: only a job started by spoor gets its own cgroup";
    budget_init(&job->budget, options->budget_millionths, now_ns);
    memory_sharing_init(&job->sharing, root, &job->budget, options->detail,
                        !(options->disabled & SOURCE_SMAPS));
    cgroup_watch_init(&job->meters.cgroup_watch, root, options->cgroups);
    usage_clear(&job->ledger.departed);
    usage_clear(&job->ledger.reported);
    if (options->adopted)
        adopt_cgroup(job, options, now_ns);
    else if (options->pid != 0)
        r = begin(job, options, now_ns);
    watch_cgroup(&job->meters);
    if (r == 0 && job->is_tracked)
        job_open_network(job, options->disabled, now_ns);
    return r;
}

void job_done(struct job *job)
{
    roster_done(&job->roster);
    memory_sharing_done(&job->sharing);
    children_buffer_done(&job->children);
    free(job->inherited.ids);
    process_events_close(&job->process_events);
    job_cgroup_close(&job->meters.job_cgroup);
    cgroup_watch_done(&job->meters.cgroup_watch);
    event_set_close(&job->meters.task_clock);
    job_close_network(job);
    counters_close(&job->meters.counters);
    huge_pages_close(&job->meters.huge_pages);
    cached_file_close(&job->sentinel.file);
}

void job_check_program(struct job *job, struct member *main, const struct look *look)
{
    struct look thorough = *look;

    if (job->main.has_program)
        return;
    main->reading.rss_bytes = main->reading.shared_bytes = main->reading.rss_peak_bytes = 0;
    if (!main->has_exec)
        (void)member_read_name(main, job->root); /* glances do not read the name */
    if (!main->has_exec)
        return;
    job->main.has_program = true;
    thorough.is_thorough = true;
    member_look(main, &thorough);
}

static struct activity_seen look_at_members(struct job *job, const struct look *look)
{
    struct activity_seen seen = { .is_whole = job->main.has_program };

    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];
        uint64_t before_ns = member->reading.clock_ns;

        if (member->account.has_left)
            continue;
        member_look(member, look);
        if (member->group == GROUP_MAIN)
            job_check_program(job, member, look);
        if (member->reading.slow_read_ns == look->now_ns ||
            cgroup_escape_is_due(&job->meters.escape, member))
            cgroup_escape_check(&job->meters.escape, job->root, member);
        seen.is_whole &= !member_has_run(member);
        if (is_known(before_ns) && is_known(member->reading.clock_ns))
            seen.moved_ns += sub_floor0(member->reading.clock_ns, before_ns);
    }
    return seen;
}

void job_note_cpu(struct job *job, uint64_t now_ns, uint64_t cpu_ns)
{
    budget_earn(&job->budget, now_ns, cpu_ns);
    activity_note_cpu(&job->activity, now_ns, cpu_ns);
}

/* Whether main's own clock has advanced. perf's count may not have: perf stops counting a
 * process before its memory is freed, and its last milliseconds would be counted in the next
 * sample. */
static bool main_has_run(struct job *job)
{
    const struct member *main = roster_member(&job->roster, job->main_pid);
    uint64_t ns;

    return main && is_known(main->reading.clock_ns) &&
           cpu_clock_read(job->root, main->id.pid, &ns) == 0 && ns != main->reading.clock_ns;
}

/* Refreshes an idle job. It starts no processes, but processes may be moved into an adopted
 * cgroup. */
static void refresh_resting(struct job *job, const struct look *look)
{
    job_take_events(job, look->now_ns, true);
    job_note_newborn(job);
    if (!job->meters.job_cgroup.is_adopted)
        return;
    job_search(job, look);
    job_account_exits(job);
}

/* Repeats the first look at an attached job until no process exits during it. A process that is
 * reaped after its parent was read is in neither count: its earlier usage would seem to be new. */
static struct activity_seen look_at_attached(struct job *job, const struct look *look)
{
    enum { LOOKS_MAX = 4 };
    struct activity_seen seen = look_at_members(job, look);

    for (int i = 1; i < LOOKS_MAX && roster_left_count(&job->roster) > 0; i++) {
        job_account_exits(job);
        seen = look_at_members(job, look);
    }
    return seen;
}

void job_refresh(struct job *job, uint64_t now_ns, bool is_thorough)
{
    struct look look;
    /* Read the CPU time first: the next look reads processes again that run during this one. */
    uint64_t cpu_ns = job_whole_cpu_ns(job);
    enum activity_look whom =
        is_thorough ? LOOK_AT_ALL : activity_look_at(&job->activity, cpu_ns, now_ns);
    struct activity_seen seen;

    job_note_huge_pages(job);
    look = job_look(job, now_ns, is_thorough);
    job->was_thorough = is_thorough;
    if (is_known(cpu_ns)) /* otherwise glances record it */
        job_note_cpu(job, now_ns, cpu_ns);
    job->look_span.from_ns = job->look_span.until_ns = job_now_ns(job, now_ns);
    if (whom == LOOK_AT_NONE && main_has_run(job))
        whom = LOOK_AT_MOVERS;
    if (whom == LOOK_AT_NONE) {
        refresh_resting(job, &look);
        return;
    }
    job->sum_holds = false;
    job_note_status_read(job);
    look.passes_over = whom == LOOK_AT_MOVERS;
    seen = job->was_read || job->is_spawned ? look_at_members(job, &look)
                                            : look_at_attached(job, &look);
    job->look_span.until_ns = job_now_ns(job, now_ns);
    activity_looked(&job->activity, whom, cpu_ns, now_ns, seen);
    job_take_events(job, now_ns, true);
    job_search(job, &look);
    job_drop_agents(job);
    for (size_t i = 0; i < job->roster.count; i++)
        job_remember(job, &job->roster.list[i]);
    job_account_exits(job);
}
