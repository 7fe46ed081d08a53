/* SPDX-License-Identifier: Apache-2.0 */
/*
 * membership.c - which processes belong to the job.
 *
 * A job is the given process and all its descendants. Facts that shape this file:
 *
 * - Process events report every new process, parents first. Without them, or if some were lost,
 *   processes are searched for.
 * - PIDs are reused. A process is identified by (PID, start time), or by an open file.
 * - A parent can exit before its child, which is then adopted by init, or by us if
 *   we are the subreaper. So membership is remembered: a process belongs
 *   until it exits; and if we spawned the job, every child of ours belongs.
 * - An agent is a tracker that a program of the job has started: it does not belong (agents.h).
 * - The process list of the job cgroup is the job, in any order. If a known process is missing
 *   from it, it was moved to another cgroup, where its children will start, too.
 * - If an existing cgroup was adopted, the job is everything in it or below. A process that is
 *   moved out of it leaves the job.
 */
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/reserve.h"
#include "cgroup/cgroup.h"
#include "job/agents.h"
#include "job/job.h"
#include "job/member.h"
#include "source/proc/children.h"
#include "source/proc/pid_files.h"

/* List all children now and then: a nested subreaper gets children without running. */
enum { FULL_SEARCH_EVERY = 16 };

/* The time between searches if events report every process: they may fail unnoticed. */
#define CHECK_EVENTS_EVERY_NS (10 * NS_PER_SECOND)

/* A process with a shorter life costs only an event: its reaper inherits its usage. */
#define SHORT_LIFE_NS (20 * NS_PER_MS)

#define OPEN_COST_NS (15 * NS_PER_US)

/* At most this many processes are opened at a time by a glance, except at the end of growth. */
enum { OPENED_MOST = 64 };

struct search {
    struct job *job;
    const struct look *look;
    unsigned opened_count; /* number of opened processes that events reported between samples */
    /* The start of the oldest child that was listed, is about to call exec and must be read
     * again; UNKNOWN: none. */
    uint64_t postponed_ticks;
};

/* Whether a process is a zombie that we reap: its last figures have been read, or
 * job_child_ended() will read them. If a search added the zombie again, it would count
 * twice. */
static bool is_accounted_elsewhere(const struct job *job, const struct member *member)
{
    return member->reading.is_zombie && job->is_spawned &&
           member->parent_pid == job->tracker_pid;
}

static void note_inherited(pid_t pid, void *data)
{
    struct job *job = data;
    struct pid_stat stat;

    if (pid == job->main_pid || pid_stat_read(NULL, job->root, pid, &stat) < 0 ||
        reserve(&job->inherited.ids, &job->inherited.capacity, job->inherited.count + 1,
                sizeof(*job->inherited.ids)) < 0)
        return;
    job->inherited.ids[job->inherited.count++] = (struct process_id){ pid, stat.start_ticks };
}

void job_note_inherited(struct job *job)
{
    /* If the list cannot be read, an earlier child is mistaken for a process of the job. */
    (void)children_read(NULL, job->root, job->tracker_pid, 2, &job->children, note_inherited,
                        job);
}

bool job_is_inherited(const struct job *job, struct process_id id)
{
    for (size_t i = 0; i < job->inherited.count; i++) {
        if (process_id_equal(job->inherited.ids[i], id))
            return true;
    }
    return false;
}

/* Whether the kernel's mark of the parent's memory covers the time of a fork: the parent still
 * runs, and has not called exec since, which restarts the mark and changes its name. */
static bool has_mark_since(const struct job *job, struct member *parent,
                           const struct member *child, uint64_t forked_ns)
{
    if (parent->reading.peak_read_ns <= forked_ns) {
        member_read_status(parent, job->root);
        if (!member_read_name(parent, job->root))
            parent->reading.peak_read_ns = 0;
    }
    return parent->reading.peak_read_ns > forked_ns && parent->notes.started_ns <= forked_ns &&
           memcmp(parent->comm, child->comm, sizeof(parent->comm)) == 0;
}

/* A fork inherits at most the peak of its parent so far, so the rest is its own. The parent in
 * stat may be a subreaper, so the parent is taken from the event of the fork. */
static void limit_inherited(struct job *job, struct member *member)
{
    const struct process *process = roster_find(&job->roster, member->id.pid);
    struct member *parent = process ? roster_member(&job->roster, process->parent_pid) : NULL;
    uint64_t *inherited_bytes = &member->survey.own_bytes;

    if (parent && member_is_copy(member) && !member->reading.borrows_memory &&
        (parent->group != GROUP_MAIN || job->main.has_program) &&
        *inherited_bytes > parent->reading.rss_peak_bytes &&
        has_mark_since(job, parent, member, process->started_ns))
        *inherited_bytes = smaller(*inherited_bytes, parent->reading.rss_peak_bytes);
}

static void add_opened(struct job *job, const struct look *look, struct member *member)
{
    struct member *added;

    if (job_is_inherited(job, member->id)) {
        member_close(member);
        return;
    }
    if (agents_has(job->root, member)) {
        job_disown(job, member);
        member_close(member);
        return;
    }
    /* The process existed before and was not in the cgroup: its earlier usage is not the job's. */
    if (job->meters.job_cgroup.is_adopted && member->id.start_ticks < job->searched_ticks) {
        member->account.base = member->account.usage;
        member_note_first(member);
        job->ledger.has_joined = true;
    }
    member->group = member->id.pid == job->main_pid ? GROUP_MAIN : GROUP_DESCENDANTS;
    added = roster_add_member(&job->roster, member);
    if (!added) {
        member_close(member);
        job->is_full = true;
        return;
    }
    limit_inherited(job, added);
    job_note_start(job, added, look->now_ns);
    job->started_count++;
    job->sum_holds = false;
    job->sharing.members_changed = true;
}

void job_add_member(struct job *job, const struct look *look, pid_t pid)
{
    struct member member;

    if (!roster_member(&job->roster, pid) && member_open(look, pid, &member) == 0)
        add_opened(job, look, &member);
}

/* Adds a new process. Returns true if the process is about to call exec and must be read again. */
static bool take_newborn(pid_t pid, void *data)
{
    struct search *search = data;
    struct job *job = search->job;
    struct member member;
    bool is_pre_exec;

    if (job->root->proc_fault || roster_member(&job->roster, pid) ||
        member_open(search->look, pid, &member) < 0)
        return false;
    is_pre_exec = member_is_pre_exec(job->root, &member);
    if (is_pre_exec)
        search->postponed_ticks = smaller(search->postponed_ticks, member.id.start_ticks);
    if (is_pre_exec || is_accounted_elsewhere(job, &member))
        member_close(&member);
    else
        add_opened(job, search->look, &member);
    return is_pre_exec;
}

static void add_found(pid_t pid, void *data)
{
    (void)take_newborn(pid, data);
}

/* Adds a process if its parent belongs to the job. Used if there are no children files. */
static void add_if_parent_belongs(pid_t pid, void *data)
{
    struct search *search = data;
    struct job *job = search->job;
    struct member member;

    if (roster_member(&job->roster, pid) || member_open(search->look, pid, &member) < 0)
        return;
    if (!is_accounted_elsewhere(job, &member) &&
        (roster_member(&job->roster, member.parent_pid) ||
         (job->is_spawned && member.parent_pid == job->tracker_pid)))
        add_opened(job, search->look, &member);
    else
        member_close(&member);
}

static void search_all(struct search *search)
{
    struct roster *roster = &search->job->roster;

    for (size_t before = 0; before != roster->count;) {
        before = roster->count;
        (void)proc_each_pid(search->look->root, add_if_parent_belongs, search);
    }
}

/* Whether a process may have forked since its last list of children. Reads its clock. */
static bool may_have_forked(const struct job *job, struct member *member)
{
    uint64_t before_ns = member->reading.children_clock_ns;
    uint64_t clock_ns = member->reading.clock_ns;

    if (is_known(clock_ns))
        /* The clock cannot be read if the process has exited. */
        (void)cpu_clock_read(job->root, member->id.pid, &clock_ns);
    member->reading.children_clock_ns = clock_ns;
    return !is_known(clock_ns) || clock_ns != before_ns;
}

static void search_children(struct search *search, bool is_full)
{
    struct job *job = search->job;

    if (job->is_spawned) /* any of our threads may have adopted an orphan */
        (void)children_read(NULL, job->root, job->tracker_pid, 2, &job->children, add_found,
                            search);
    /* New members are appended, so the loop reads their children too. */
    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];
        struct cached_file file = member->files.children;

        if (member->account.has_left || member->reading.is_zombie ||
            !(may_have_forked(job, member) || is_full))
            continue;
        /* The table may move while children are added: work on a copy of the file. */
        member->files.children = (struct cached_file)CACHED_FILE_CLOSED;
        search->postponed_ticks = UNKNOWN;
        (void)children_read(&file, job->root, member->id.pid, member->reading.threads,
                            &job->children, add_found,
                            search); /* fails if the process has exited */
        member = &job->roster.list[i];
        member->files.children = file;
        if (is_known(search->postponed_ticks))
            /* The next search lists the children again, even if the parent has not run. */
            member->reading.children_clock_ns = UNKNOWN;
    }
}

static void add_listed(pid_t pid, void *data)
{
    struct search *search = data;
    struct member *member;

    add_found(pid, data);
    member = roster_member(&search->job->roster, pid);
    if (member)
        member->reading.listed_by = search->job->search_count;
}

/* Whether the list has every living process. Others are in a cgroup below, or have left. */
static bool all_are_listed(struct job *job)
{
    bool all = true;

    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        if (member->account.has_left || member->reading.is_zombie ||
            member->reading.listed_by == job->search_count)
            continue;
        cgroup_escape_check(&job->meters.escape, job->root, member);
        all = false;
    }
    return all;
}

/* Searches the list of the job's own cgroup. Returns false if the job has no cgroup. */
static bool search_listed(struct search *search)
{
    struct job *job = search->job;
    struct children_buffer *buffer = &job->children;
    size_t before = job->roster.count;
    ssize_t n = CHILDREN_UNREAD;

    while (children_buffer_try(buffer, &n))
        n = job_cgroup_read_procs(&job->meters.job_cgroup, buffer->text, buffer->size);
    if (n < 0 || children_parse(buffer->text, add_listed, search) < 0)
        return false;
    roster_order(&job->roster, before);
    return true;
}

/* Drops processes that were moved out of the cgroup. Their usage so far belongs to the job. */
static void drop_unlisted(struct job *job)
{
    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];
        struct pid_stat stat;
        struct usage usage;

        if (member->account.has_left || member->reading.is_zombie ||
            member->reading.listed_by == job->search_count ||
            pid_stat_read(&member->files.stat, job->root, member->id.pid, &stat) < 0 ||
            stat.is_ending || pid_stat_is_zombie(&stat))
            continue;
        usage = member_usage(member);
        usage_add(&job->ledger.departed, &usage);
        member->account.has_left = member->account.is_counted = true;
        job->sum_holds = false;
    }
}

static void add_adopted(pid_t pid, void *data)
{
    const struct search *search = data;

    if (pid != 0 && /* the tracker is not part of any job */
        (pid != getpid() || !search->job->root->is_live))
        add_listed(pid, data);
}

static void search_adopted(struct search *search)
{
    struct job *job = search->job;
    size_t before = job->roster.count;
    uint64_t now_ticks = job->root->is_live ? clock_boot_ticks() : 0;

    if (cgroup_each_process(job->root, &job->meters.job_cgroup.adopted, true, &job->children,
                            add_adopted, search) >= 0)
        drop_unlisted(job);
    roster_order(&job->roster, before);
    /* A child that was postponed was not moved into the cgroup. */
    job->searched_ticks = smaller(now_ticks, search->postponed_ticks);
}

static void search_job(struct search *search, bool is_full)
{
    struct job *job = search->job;

    if (job->meters.job_cgroup.is_adopted) {
        search_adopted(search);
        return;
    }
    if (job_cgroup_has(&job->meters.job_cgroup, CGROUP_UNIFIED) && search_listed(search) &&
        all_are_listed(job))
        return;
    if (job->lists_children)
        search_children(search, is_full);
    else
        search_all(search);
}

void job_search(struct job *job, const struct look *look)
{
    struct search search = { .job = job, .look = look, .postponed_ticks = UNKNOWN };
    struct process_events *events = &job->process_events;
    bool is_full = job->search_count++ % FULL_SEARCH_EVERY == 0 || events->needs_search;
    uint64_t suspended_ns;

    if (job->root->proc_fault || job->is_main_only ||
        (events->is_complete && !look->is_thorough &&
         look->now_ns - job->searched_ns < CHECK_EVENTS_EVERY_NS))
        return;
    job->searched_ns = look->now_ns;
    suspended_ns = clock_suspended_ns();
    search_job(&search, is_full);
    job->suspended_ns = suspended_ns;
    if (events->needs_search)
        process_events_resume(events);
}

/* Like take_newborn(), but called between samples and limited by the budget. */
static bool take_affordable(pid_t pid, void *data)
{
    struct search *search = data;

    return search->opened_count >= OPENED_MOST ||
           !budget_allows(&search->job->budget, SPENT_EVENTS,
                          ++search->opened_count * OPEN_COST_NS) ||
           take_newborn(pid, data);
}

void job_take_events(struct job *job, uint64_t now_ns, bool is_sample)
{
    struct look look = job_look(job, now_ns, false);
    struct search search = { .job = job, .look = &look, .postponed_ticks = UNKNOWN };
    const struct process_events *events = &job->process_events;
    uint64_t before_ns, settled_ns;

    if (!events->source)
        return;
    before_ns = cpu_spent_ns(job->root);
    process_events_drain(&job->process_events, is_sample);
    settled_ns = now_ns - (job->sentinel.has_grown ? 0 : SHORT_LIFE_NS);
    if (is_sample)
        process_events_announce(&job->process_events, UINT64_MAX, take_newborn, &search);
    else
        process_events_announce(&job->process_events, settled_ns, take_affordable, &search);
    budget_charge(&job->budget, SPENT_EVENTS, cpu_spent_ns(job->root) - before_ns);
    if (!events->has_peaks)
        return;
    for (int i = 0; i < GROUP_JOB; i++)
        raise_to(&job->marks.rss_peak_bytes[i], events->peak_bytes[i]);
}
