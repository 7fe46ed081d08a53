/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exits.c - accounts for the counters of processes that exit.
 *
 * - The usage of an exited process is added to the parent that waited for it (usage.h). It is
 *   lost if no process waits: the parent ignores SIGCHLD, or the process was adopted by a
 *   foreign process. Then the last reading is kept.
 * - A process that starts and exits between two looks is never seen. Its counters are still
 *   added to a living parent's, or to ours.
 * - If we are the reaper, the last figures of a process are read from the zombie.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "job/agents.h"
#include "job/job.h"
#include "source/proc/pid_files.h"
#include "text/find.h"

/* Caches whether the last checked parent discards exited children: siblings share a parent. */
struct checked_parent {
    pid_t pid;
    bool discards_children;
};

static bool discards_children(const struct job *job, pid_t pid, struct checked_parent *checked)
{
    struct pid_status status;

    if (checked->pid != pid)
        *checked =
            (struct checked_parent){ pid, pid_status_read(job->root, pid, &status) == 0 &&
                                              status.ignores_child_signal };
    return checked->discards_children;
}

/* Whether the page faults of a child were added to its parent's. A parent that ignores SIGCHLD
 * now may have waited before, for example a shell that has called exec since. */
static bool has_taken_over(const struct job *job, struct member *parent,
                           const struct member *child)
{
    uint64_t faults = child->reading.faults + child->account.waited_faults;

    if (faults == 0 ||
        member_waited_faults(parent, job->root) < parent->account.accounted_faults + faults)
        return false;
    parent->account.accounted_faults += faults;
    return true;
}

/* Whether the usage of this process was added to a parent. If that parent has exited, the
 * usage went to the same process as the parent's own. */
static bool was_inherited(struct job *job, const struct member *member,
                          struct checked_parent *checked)
{
    struct member *parent = roster_member(&job->roster, member->parent_pid);

    /* Limit the walk: PIDs of parents may be reused, so that the links may form a cycle. */
    for (size_t i = 0; parent && parent->account.has_left && i < job->roster.count; i++) {
        if (parent->account.is_counted)
            return true;
        parent = roster_member(&job->roster, parent->parent_pid);
    }
    if (!parent || parent->account.has_left)
        /* If we spawned the job, a missing parent exited earlier and its final figures reached
         * us. They include this process if the parent had waited for it. */
        return job->is_spawned;
    if (!discards_children(job, parent->id.pid, checked) || has_taken_over(job, parent, member))
        return true;
    job->ledger.saw_unwaited = true;
    return false;
}

void job_remember(struct job *job, struct member *member)
{
    if (member->reading.rss_bytes > 0 && !member->reading.borrows_memory)
        job->marks.has_seen[member->group] = true;
    if (member->group == GROUP_MAIN) {
        raise_to(&job->main.cpu_ns, member->reading.cpu_ns);
        job->main.has_clock = is_known(member->reading.clock_ns);
    }
    raise_to(&job->marks.rss_peak_bytes[member->group], member->reading.rss_peak_bytes);
    job->ledger.has_waited |=
        (job->is_spawned || job->was_read) &&
        member->account.waited_faults >= member->notes.first_waited_faults + FORK_FAULTS_MIN;
    job->delegating |= untracked_bit(member->comm);
    if (member->reading.hugetlb_bytes > 0 && member->reading.rss_bytes > 0) {
        raise_to(&job->marks.hugetlb_bytes, member->reading.hugetlb_bytes);
        raise_to(&member->reading.with_huge_bytes,
                 member->reading.rss_bytes + member->reading.hugetlb_bytes);
    }
    job_note_command(job, member);
}

/* ---- programs whose work is done elsewhere ---------------------------------- */

const struct untracked untracked_programs[] = {
    { "srun", "srun: slurmd starts the tasks, so they are not included; to track them: srun "
              "spoor run -- COMMAND" },
    { "docker", "docker: the Docker daemon starts the containers, so they are not included; to "
                "track one, run spoor in it" },
};

const size_t untracked_count = ARRAY_SIZE(untracked_programs);

unsigned untracked_bit(const char *name)
{
    const struct untracked *found = FIND_ROW(untracked_programs, name, name);

    return found ? 1u << (found - untracked_programs) : 0;
}

/* ---- accounts of exited processes -------------------------------------------- */

/* Makes the next search list the children of the parent again: when they were last listed, the
 * PID may already have belonged to another child. */
static void list_siblings_again(struct job *job, const struct member *member)
{
    struct member *parent = roster_member(&job->roster, member->parent_pid);

    if (parent)
        parent->reading.children_clock_ns = UNKNOWN;
}

/* Adds the usage of an exited process. No parent inherits the time that it waited for a CPU. */
static void add_departed(struct job *job, const struct member *member)
{
    struct usage usage = member_usage(member);
    uint64_t wait_ns = usage.counter[USAGE_CPU_WAIT_NS];

    if (member->account.is_inherited)
        usage_clear(&usage);
    usage.counter[USAGE_CPU_WAIT_NS] = wait_ns;
    usage_add(&job->ledger.departed, &usage);
}

/* Finds exited processes whose usage was added to a parent. Oldest first: a parent that waited
 * for some of its children and then ignored SIGCHLD has most probably waited for the oldest. */
static void find_inherited(struct job *job)
{
    struct checked_parent checked = { 0 };

    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        member->account.is_inherited = member->account.has_left &&
                                       !member->account.is_counted &&
                                       was_inherited(job, member, &checked);
    }
}

void job_account_exits(struct job *job)
{
    find_inherited(job);
    /* Children first: their I/O is subtracted from their parents'. */
    for (size_t i = job->roster.count; i-- > 0;) {
        struct member *member = &job->roster.list[i];

        if (!member->account.has_left)
            continue;
        if (!member->account.is_counted)
            add_departed(job, member);
        job_note_end(job, member);
        if (member->group == GROUP_MAIN)
            job->main.has_ended = true;
        memory_sharing_member_left(&job->sharing, member);
        list_siblings_again(job, member);
    }
    roster_remove_left(&job->roster);
    for (size_t i = 0; i < job->roster.count; i++)
        raise_to(&job->roster.list[i].account.accounted_faults,
                 job->roster.list[i].account.waited_faults);
}

void job_disown(struct job *job, const struct member *agent)
{
    if (job->is_spawned && agent->has_exec) /* the exit of the agent will be reported */
        agents_note(&job->agents, agent->id);
    if (agent->has_exec)
        process_events_disown(&job->process_events, agent->id.pid);
}

void job_drop_agents(struct job *job)
{
    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        if (member->comm[0] != SPOOR_AGENT_NAME[0] || member->group == GROUP_MAIN ||
            member->account.is_counted || !agents_has(job->root, member))
            continue;
        member->account.has_left = member->account.is_counted = member->notes.is_disowned =
            true; /* its usage belongs to no other process */
        job->started_count--;
        job->ledger.descendants_ns = 0; /* the value includes the agent's time */
        job_disown(job, member);
    }
}

/* Reads the rusage that the reaper of this zombie gets: CPU time in microseconds, page
 * faults and context switches of the process and of the children it waited for. The C
 * library's waitid() cannot return it; the system call can. */
static bool read_final_rusage(pid_t pid, struct rusage *ret, int *ret_wait_status)
{
    /* In a wait status, the signal is below this flag and the exit code above. */
    enum { CORE_FLAG = 0x80 };
    siginfo_t info = { 0 };

    if (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG, ret) != 0)
        return false;
    *ret_wait_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
    if (info.si_code == CLD_DUMPED)
        *ret_wait_status |= CORE_FLAG;
    return true;
}

/* Tolerance between two readings of one peak: each CPU holds up to 32 pages that the total
 * does not include yet. */
#define COUNTING_STEP_BYTES ((uint64_t)256 * 1024)

/* Decides whether a peak belongs to main or to a child. If both may have reached it, the one
 * with more page faults relative to the growth it needed is chosen. A peak close to main's
 * largest seen size is main's: a child is unlikely to have come so close to that size. */
struct peak_owner peak_owner_of(const struct peak_evidence *evidence)
{
    uint64_t huge_page = evidence->page_bytes * (evidence->page_bytes / 8);
    uint64_t growth = sub_floor0(evidence->maxrss_bytes, evidence->seen_bytes);
    bool main_can = product_u64(evidence->faults, huge_page) >= growth;
    bool child_can = product_u64(evidence->child_faults, huge_page) >= growth;

    if (growth <= evidence->maxrss_bytes / 64 + 2 * COUNTING_STEP_BYTES)
        return (struct peak_owner){ .is_main = true };
    if (!main_can || !child_can)
        return (struct peak_owner){ .is_main = main_can, .is_certain = true };
    return (struct peak_owner){ .is_main =
                                    product_u64(evidence->faults, evidence->maxrss_bytes) >=
                                    product_u64(evidence->child_faults, growth) };
}

/* Takes the peak of main from its rusage. ru_maxrss of main is its own peak or the peak of a
 * child it waited for, and at least the size of the spawner at the fork. `faults`: page faults
 * since its peak was last read. */
static void take_main_peak(struct job *job, struct member *main, uint64_t maxrss_bytes,
                           uint64_t faults)
{
    const struct peak_evidence evidence = {
        .maxrss_bytes = maxrss_bytes,
        .seen_bytes = main->reading.rss_peak_bytes,
        .faults = faults,
        .child_faults = main->reading.child_faults,
        .page_bytes = job->root->page_bytes,
    };
    bool is_same = maxrss_bytes <= main->reading.rss_peak_bytes +
                                       smaller(COUNTING_STEP_BYTES, maxrss_bytes / 128);
    struct peak_owner owner = main->reading.child_faults > 0 && !is_same
                                  ? peak_owner_of(&evidence)
                                  : (struct peak_owner){ true, true };
    uint64_t *descendants_peak = &job->marks.rss_peak_bytes[GROUP_DESCENDANTS];
    uint64_t *peak = owner.is_main ? &main->reading.rss_peak_bytes : descendants_peak;

    job->marks.main_peak_is_exact |=
        owner.is_main && owner.is_certain && maxrss_bytes > job->marks.spawn_rss_bytes;
    if (maxrss_bytes <= job->marks.spawn_rss_bytes ||
        maxrss_bytes <= main->reading.rss_peak_bytes ||
        (maxrss_bytes <= *descendants_peak && !job->marks.main_peak_is_exact))
        return;
    if (!owner.is_certain)
        raise_to(&job->marks.discount[owner.is_main ? GROUP_MAIN : GROUP_DESCENDANTS],
                 maxrss_bytes - *peak);
    *peak = maxrss_bytes;
}

/* Takes the peak of a descendant from its rusage. ru_maxrss of a descendant that we reap is the
 * largest of its own peak, the peaks of children it waited for, and, if it was created by
 * vfork, the peak of its parent, which may be the main process. */
static void take_descendant_peak(struct job *job, const struct member *member,
                                 uint64_t maxrss_bytes)
{
    if (!member->reading.has_borrowed && maxrss_bytes > job->marks.spawn_rss_bytes &&
        maxrss_bytes > job->marks.rss_peak_bytes[GROUP_MAIN])
        raise_to(&job->marks.rss_peak_bytes[GROUP_DESCENDANTS], maxrss_bytes);
}

static void take_peak(struct job *job, struct member *member, uint64_t maxrss_bytes,
                      uint64_t faults)
{
    const struct process_events *events = &job->process_events;

    raise_to(&job->marks.largest_bound_bytes, maxrss_bytes);
    if (member->group != GROUP_MAIN) {
        take_descendant_peak(job, member, maxrss_bytes);
        return;
    }
    job->marks.main_bound_bytes = maxrss_bytes;
    job->marks.main_peak_is_exact = maxrss_bytes <= member->reading.rss_peak_bytes;
    if (member->reading.child_faults == 0 || !events->has_peaks ||
        !events->taskstats.has_records)
        take_main_peak(job, member, maxrss_bytes, faults);
    job->marks.outlived_main = process_events_outlive_main(events);
}

static void take_rusage(struct job *job, struct member *member, uint64_t faults)
{
    uint64_t *counter = member->account.usage.counter;
    struct rusage rusage = { 0 };

    member->notes.has_wait_status =
        read_final_rusage(member->id.pid, &rusage, &member->notes.wait_status);
    if (!member->notes.has_wait_status)
        return;
    counter[USAGE_USER_NS] = usage_timeval_ns(rusage.ru_utime);
    counter[USAGE_SYSTEM_NS] = usage_timeval_ns(rusage.ru_stime);
    counter[USAGE_CPU_NS] = counter[USAGE_USER_NS] + counter[USAGE_SYSTEM_NS];
    job->ledger.waited_ns += counter[USAGE_CPU_NS];
    /* Equal to the process's io file, in blocks of 512 bytes, but readable by every user. */
    counter[USAGE_READ_BYTES] = (uint64_t)rusage.ru_inblock * 512;
    counter[USAGE_WRITTEN_BYTES] = (uint64_t)rusage.ru_oublock * 512;
    counter[USAGE_MINOR_FAULTS] = (uint64_t)rusage.ru_minflt;
    counter[USAGE_MAJOR_FAULTS] = (uint64_t)rusage.ru_majflt;
    counter[USAGE_VOLUNTARY_SWITCHES] = (uint64_t)rusage.ru_nvcsw;
    counter[USAGE_INVOLUNTARY_SWITCHES] = (uint64_t)rusage.ru_nivcsw;
    job->ledger.lost_chars |= member->reading.io_is_stale;
    job->ledger.has_unknown_chars |=
        member->reading.io_is_stale &&
        (member->reading.io_is_denied || member->group == GROUP_MAIN);
    take_peak(job, member, (uint64_t)rusage.ru_maxrss * 1024, faults);
}

static void end_agent(struct job *job, pid_t pid)
{
    struct rusage rusage = { 0 };
    struct pid_stat stat;
    int wait_status;

    if (job->agents.live_count > 0 && read_final_rusage(pid, &rusage, &wait_status) &&
        pid_stat_read(NULL, job->root, pid, &stat) == 0)
        agents_end(&job->agents, (struct process_id){ pid, stat.start_ticks },
                   usage_timeval_ns(rusage.ru_utime) + usage_timeval_ns(rusage.ru_stime));
}

/* Records whether a zombie ignored SIGCHLD, and so may not have waited for its children. Its
 * signal dispositions are still readable. */
static void note_suspect(struct job *job, pid_t pid)
{
    const struct process *process = roster_find(&job->roster, pid);
    bool had_children = !job->process_events.source || (process && process->has_children);
    struct pid_status status;

    if (had_children && pid_status_read(job->root, pid, &status) == 0)
        job->ledger.is_suspect |= status.ignores_child_signal;
}

void job_child_ended(struct job *job, pid_t pid, uint64_t now_ns)
{
    struct look look = job_look(job, now_ns, true);
    bool was_open = roster_member(&job->roster, pid);
    struct member *member;
    uint64_t faults;

    if (!was_open) /* the process may have started after the last look */
        job_add_member(job, &look, pid);
    member = roster_member(&job->roster, pid);
    if (!member)
        end_agent(job, pid);
    if (!member || member->account.is_counted)
        return;
    faults = member->reading.size_faults;
    if (was_open)
        member_look(member, &look);
    if (pid == job->main_pid) {
        job->main.ended_ns = now_ns;
        job_check_program(job, member, &look);
        job_take_events(job, now_ns, false); /* read events of the processes it started last */
        if (process_events_ended_ns(&job->process_events) != 0)
            job->main.ended_ns = smaller(now_ns, process_events_ended_ns(&job->process_events));
        member = roster_member(&job->roster, pid); /* the table may have moved */
    }
    take_rusage(job, member, sub_floor0(member->reading.faults, faults));
    job_remember(job, member);
    note_suspect(job, pid);
    add_departed(job, member);
    member->account.is_counted = true;
    member->account.has_left = true; /* the caller reaps it now */
    activity_forget(&job->activity);
    job->sum_holds = false;
}
