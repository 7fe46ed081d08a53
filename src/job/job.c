/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - which processes belong to the job, and what becomes of their counters.
 *
 * A job is the process we were given and everything it started. Facts that shape
 * this file:
 *
 * - A pid is reused. A process is known by (pid, start time), or by an open file.
 * - A parent can end before its child, which is then adopted by init, or by us when
 *   we are the subreaper. So membership is remembered: once in, a process stays in
 *   until it ends; and where we spawned the job, every child of ours is of the job.
 * - What an ended process used goes to the parent that waited for it (usage.h). It
 *   is lost where nobody waits: the parent ignores SIGCHLD, or the process was
 *   adopted by a stranger. Then we keep what we last saw.
 * - A process that starts and ends between two looks is never seen. Its counters
 *   reach a living parent, or us, all the same.
 */
#include "job/job.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "source/perf/task_clock.h"
#include "source/proc/pid_status.h"

/* A process may get a child without running itself: an orphan that a nested subreaper
 * adopts. So now and then all are asked, moved or not. */
enum { FULL_SEARCH_EVERY = 16 };

int job_init(struct job *job, const struct root *root, pid_t main_pid, bool caller_spawned,
             enum spoor_detail detail, uint64_t now_ns)
{
    struct member main;
    int r = member_open(root, main_pid, now_ns, &main);

    if (r < 0)
        return r;
    *job = (struct job){
        .root = root,
        .main_pid = main_pid,
        .tracker_pid = caller_spawned ? getpid() : 0,
        .lists_children = children_are_listed(root),
        .has_program = !caller_spawned,
        .task_clock_fd = -1,
        .fork_count = UNKNOWN,
        .started_count = 1,
    };
    detail_init(&job->detail, detail);
    usage_clear(&job->departed);
    usage_clear(&job->reported);
    if (caller_spawned) {
        job->spawn_rss_bytes = main.rss_peak_bytes;
        job->task_clock_fd = task_clock_open(main_pid);
    }
    if (!members_add(&job->members, &main)) {
        member_close(&main);
        job_done(job);
        return -ENOMEM;
    }
    return 0;
}

void job_done(struct job *job)
{
    members_done(&job->members);
    detail_done(&job->detail);
    children_buffer_done(&job->children);
    if (job->task_clock_fd >= 0)
        close(job->task_clock_fd);
    job->task_clock_fd = -1;
}

/* ---- who belongs -------------------------------------------------------- */

struct search {
    struct job *job;
    uint64_t now_ns;
};

static void add_member(pid_t pid, void *data)
{
    struct search *search = data;
    struct job *job = search->job;
    struct member member;

    if (members_find(&job->members, pid) ||
        member_open(job->root, pid, search->now_ns, &member) < 0)
        return;
    if (!members_add(&job->members, &member)) {
        member_close(&member);
        job->is_full = true;
        return;
    }
    job->started_count++;
    job->detail.members_changed = true;
}

/* The way without children files: a process belongs if its parent does. */
static void add_if_parent_belongs(pid_t pid, void *data)
{
    struct search *search = data;
    struct job *job = search->job;
    struct member member;

    if (members_find(&job->members, pid) ||
        member_open(job->root, pid, search->now_ns, &member) < 0)
        return;
    member_close(&member);
    if (members_find(&job->members, member.parent_pid) ||
        (job->tracker_pid != 0 && member.parent_pid == job->tracker_pid))
        add_member(pid, data);
}

static void search_children(struct job *job, bool is_full, struct search *search)
{
    if (job->tracker_pid != 0) {
        struct kept file = KEPT_CLOSED;

        /* Any thread of ours may be the one that adopted an orphan. */
        (void)children_read(&file, job->root, job->tracker_pid, 2, &job->children, add_member,
                            search);
        kept_close(&file);
    }
    /* New members are added behind and are asked in their turn. */
    for (size_t i = 0; i < job->members.count; i++) {
        struct member *member = &job->members.list[i];
        struct kept file = member->children_file;
        pid_t pid = member->pid;

        if (member->has_left || member->is_zombie ||
            (!is_full && is_known(member->clock_ns) &&
             member->clock_ns == member->children_clock_ns))
            continue;
        member->children_clock_ns = member->clock_ns;
        /* The table may move while children are added: work on a copy of the file. */
        member->children_file = (struct kept)KEPT_CLOSED;
        (void)children_read(&file, job->root, pid, member->threads, &job->children, add_member,
                            search); /* fails where it has just ended: seen next time */
        job->members.list[i].children_file = file;
    }
}

static void search(struct job *job, uint64_t now_ns, uint64_t fork_count)
{
    struct search search = { job, now_ns };
    bool is_full = job->refresh_count % FULL_SEARCH_EVERY == 0;

    if (is_known(fork_count) && fork_count == job->fork_count && !is_full)
        return;
    job->fork_count = fork_count;
    if (job->lists_children) {
        search_children(job, is_full, &search);
        return;
    }
    for (size_t before = 0; before != job->members.count;) {
        before = job->members.count;
        (void)proc_each_pid(job->root, add_if_parent_belongs, &search);
    }
}

/* ---- what becomes of their counters ------------------------------------- */

static bool discards_children(struct job *job, const struct member *parent)
{
    struct pid_status status;

    return pid_status_read(job->root, parent->pid, &status) == 0 && status.ignores_child_signal;
}

/* Did anybody inherit what this process used? */
static bool was_inherited(struct job *job, const struct member *member)
{
    struct member *parent = members_find(&job->members, member->parent_pid);

    if (!parent)
        /* Where we spawned the job a parent that is not here ended before, and left its
         * final figures, with this one's if it had waited, to us. */
        return job->tracker_pid != 0;
    if (parent->has_left)
        return parent->is_counted;
    if (!discards_children(job, parent))
        return true;
    job->saw_unwaited = true;
    return false;
}

static void remember_peak(struct job *job, const struct member *member)
{
    if (member->rss_bytes > 0)
        *(member->pid == job->main_pid ? &job->saw_main : &job->saw_descendant) = true;
    if (member->pid == job->main_pid) {
        job->main_cpu_ns = member->cpu_ns;
        job->has_clock = is_known(member->clock_ns);
        if (member->rss_peak_bytes > job->main_rss_peak_bytes)
            job->main_rss_peak_bytes = member->rss_peak_bytes;
    } else if (member->rss_peak_bytes > job->largest_peak_bytes) {
        job->largest_peak_bytes = member->rss_peak_bytes;
    }
    job->saw_denied_io |= member->io_is_denied;
}

static void settle_left(struct job *job)
{
    for (size_t i = 0; i < job->members.count; i++) {
        struct member *member = &job->members.list[i];

        if (!member->has_left)
            continue;
        if (!member->is_counted && !was_inherited(job, member))
            usage_add(&job->departed, &member->usage);
        if (member->pid == job->main_pid)
            job->main_has_ended = true;
        detail_member_left(&job->detail, member);
    }
    members_remove_left(&job->members);
}

/* Until it calls exec, what we forked is a copy of ourselves: none of its memory is the
 * job's. */
static void check_program(struct job *job, struct member *main, uint64_t now_ns)
{
    if (job->has_program)
        return;
    main->rss_bytes = main->shared_bytes = main->rss_peak_bytes = 0;
    if (!main->has_exec)
        return;
    job->has_program = true;
    member_look(main, job->root, now_ns, true);
}

void job_refresh(struct job *job, uint64_t now_ns, uint64_t fork_count, bool is_thorough)
{
    for (size_t i = 0; i < job->members.count; i++) {
        struct member *member = &job->members.list[i];

        if (member->has_left)
            continue;
        member_look(member, job->root, now_ns, is_thorough);
        if (member->pid == job->main_pid)
            check_program(job, member, now_ns);
    }
    search(job, now_ns, fork_count);
    for (size_t i = 0; i < job->members.count; i++)
        remember_peak(job, &job->members.list[i]);
    settle_left(job);
    job->refresh_count++;
}

static uint64_t timeval_to_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * NS_PER_US;
}

/* What the kernel will hand to whoever reaps this zombie: the CPU time of the process and
 * of the children it waited for, in microseconds. The C library's waitid() has no place
 * for it; the system call does. */
static bool read_final_rusage(pid_t pid, struct rusage *ret)
{
    siginfo_t info;

    return syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG, ret) == 0;
}

/* ru_maxrss is the larger of the process's own peak and its waited-for children's; and it
 * has a floor: what the spawner had when it forked. */
static void take_peak(struct job *job, struct member *member, uint64_t maxrss_bytes)
{
    bool is_main = member->pid == job->main_pid;

    if (maxrss_bytes > job->spawn_rss_bytes && maxrss_bytes > member->rss_peak_bytes) {
        if (!member->has_waited)
            member->rss_peak_bytes = maxrss_bytes;
        else if (maxrss_bytes > job->largest_peak_bytes)
            job->largest_peak_bytes = maxrss_bytes;
    }
    if (is_main)
        job->main_peak_is_exact = maxrss_bytes <= member->rss_peak_bytes;
}

static void take_rusage(struct job *job, struct member *member)
{
    struct rusage rusage = { 0 };

    if (!read_final_rusage(member->pid, &rusage))
        return;
    member->usage.counter[USAGE_USER_NS] = timeval_to_ns(rusage.ru_utime);
    member->usage.counter[USAGE_SYSTEM_NS] = timeval_to_ns(rusage.ru_stime);
    member->usage.counter[USAGE_CPU_NS] =
        member->usage.counter[USAGE_USER_NS] + member->usage.counter[USAGE_SYSTEM_NS];
    take_peak(job, member, (uint64_t)rusage.ru_maxrss * 1024);
}

void job_child_ended(struct job *job, pid_t pid, uint64_t now_ns)
{
    struct search search = { job, now_ns };
    struct member *member;

    add_member(pid, &search); /* it may have lived between two looks */
    member = members_find(&job->members, pid);
    if (!member || member->is_counted)
        return;
    member_look(member, job->root, now_ns, true);
    if (pid == job->main_pid)
        check_program(job, member, now_ns);
    take_rusage(job, member);
    remember_peak(job, member);
    usage_add(&job->departed, &member->usage);
    member->is_counted = true;
    member->has_left = true; /* its caller reaps it now */
}

/* ---- the sum ------------------------------------------------------------ */

static void read_cpu(struct job *job, struct job_reading *reading)
{
    uint64_t tree_ns = reading->usage.counter[USAGE_CPU_NS];
    uint64_t perf_ns = UNKNOWN;

    if (job->task_clock_fd >= 0 && task_clock_read(job->task_clock_fd, &perf_ns) < 0)
        perf_ns = UNKNOWN;
    reading->tree_cpu_ns = tree_ns;
    reading->perf_cpu_ns = perf_ns;
    if (job->tracker_pid != 0)
        reading->cpu_source = "wait4";
    else
        reading->cpu_source = job->has_clock ? "procfs.cpuclock" : "procfs.stat";
    reading->cpu_is_exact = is_known(perf_ns);
    /* perf leaves out the tear-down of processes, the tree those nobody waits for: the
     * larger is nearer. The tree is a hair larger where nothing was lost. */
    if (is_known(perf_ns) && (!is_known(tree_ns) || perf_ns > tree_ns)) {
        reading->usage.counter[USAGE_CPU_NS] = perf_ns;
        reading->cpu_source = "perf.task-clock";
    }
    /* Where all CPU time came to us, everybody was waited for, and so did all I/O. */
    reading->io_is_exact = is_known(perf_ns) && is_known(tree_ns) &&
                           tree_ns + tree_ns / 50 + NS_PER_MS >= perf_ns && !job->saw_unwaited;
}

static void add_living(struct job *job, struct job_reading *reading)
{
    for (size_t i = 0; i < job->members.count; i++) {
        const struct member *member = &job->members.list[i];
        bool is_main = member->pid == job->main_pid;

        if (member->has_left)
            continue;
        usage_add(&reading->usage, &member->usage);
        if (member->is_zombie)
            continue;
        reading->process_count++;
        reading->swap_bytes += member->swap_bytes;
        reading->rss_bound_bytes += member->rss_peak_bytes;
        *(is_main ? &reading->main_threads : &reading->descendants_threads) += member->threads;
        if (!is_main)
            reading->descendants_rss_bound_bytes += member->rss_peak_bytes;
    }
}

static void forget(struct memory_split *split)
{
    *split = (struct memory_split){ UNKNOWN, UNKNOWN, UNKNOWN };
}

/* Processes that came and went unseen had memory all the same: it is unknown, not 0. */
static void forget_unseen(const struct job *job, struct memory_estimate *memory)
{
    bool has_descendants = job->started_count > 1;

    if (!job->saw_main)
        forget(&memory->main);
    if (has_descendants && !job->saw_descendant)
        forget(&memory->descendants);
    if (!job->saw_main && !job->saw_descendant)
        forget(&memory->combined);
}

void job_read(struct job *job, uint64_t now_ns, struct job_reading *ret)
{
    struct job_reading reading = {
        .main_cpu_ns = job->main_cpu_ns,
        .main_rss_peak_bytes = job->main_rss_peak_bytes,
        .descendants_rss_peak_bytes = job->largest_peak_bytes,
        .started_count = job->started_count,
    };

    reading.usage = job->departed;
    add_living(job, &reading);
    read_cpu(job, &reading);
    usage_raise(&reading.usage, &job->reported);
    job->reported = reading.usage;
    detail_update(&job->detail, job->root, &job->members, job->main_pid, now_ns,
                  &reading.memory);
    forget_unseen(job, &reading.memory);
    *ret = reading;
}
