/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_notes.c - fills the table of processes for the report (process_table.h).
 *
 * - An open process is described by its member until it exits. A process that exits before it
 *   is opened is known from its exit record, or not at all.
 * - A command line is read once, when the process has lived for a while and so has called exec,
 *   and only if the process may be among the largest. It is read again after another exec. If
 *   there are many processes at once, processes that hardly run are skipped.
 * - The kernel's I/O counts of a process include the counts of the children it waited for. The
 *   known counts of the children are subtracted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "job/command_line.h"
#include "job/job.h"

/* Younger processes may not have called exec yet. */
#define NEWBORN_NS (20 * NS_PER_MS)

/* The name of a process is checked each time its CPU time has grown by this factor. */
enum { NAMED_RATIO = 4 };
#define NAMED_CPU_NS NS_PER_MS

/* If there are many processes, one below both limits is probably not among the largest. */
#define HARDLY_CPU_NS (10 * NS_PER_MS)
#define HARDLY_BYTES ((uint64_t)16 << 20)

/* ---- while a process runs ------------------------------------------------- */

/* Converts a start time of the stat file, in clock ticks since boot, to monotonic time, which
 * excludes time suspended. The machine may have been suspended since the process started, so
 * only time suspended before the last search is subtracted: the process started later. */
static uint64_t start_by_ticks_ns(const struct job *job, uint64_t start_ticks)
{
    return smaller(sub_floor0(product_u64(start_ticks, clock_tick_ns()), job->suspended_ns),
                   clock_now().monotonic_ns);
}

void job_note_start(struct job *job, struct member *member, uint64_t now_ns)
{
    const struct process *process = roster_find(&job->roster, member->id.pid);

    if (process && process->started_ns > 0)
        member->notes.started_ns = process->started_ns;
    else if (job->root->is_live && is_known(member->id.start_ticks))
        member->notes.started_ns = start_by_ticks_ns(job, member->id.start_ticks);
    else
        member->notes.started_ns = now_ns;
}

/* Checks whether the process has called exec: its name is not read between samples. */
static void check_name(struct job *job, struct member *member)
{
    if (member->notes.seen_cpu_ns < NAMED_CPU_NS + NAMED_RATIO * member->notes.named_cpu_ns)
        return;
    member->notes.named_cpu_ns = member->notes.seen_cpu_ns;
    (void)member_read_name(member, job->root);
}

static bool is_candidate(const struct job *job, const struct member *member)
{
    bool hardly_runs =
        member->notes.seen_cpu_ns < HARDLY_CPU_NS && member_peak_bytes(member) < HARDLY_BYTES;

    if (member->group != GROUP_MAIN && job->roster.count > PROCESSES_LARGEST && hardly_runs)
        return false;
    return process_table_keeps(&job->roster.ended, member->notes.seen_cpu_ns,
                               member_peak_bytes(member));
}

/* Whether the command of a process is still ours: a main process that we start has it until it
 * calls exec. */
static bool has_own_command(const struct job *job, const struct member *member)
{
    return member->group != GROUP_MAIN || job->main.has_program;
}

static bool is_newborn(const struct job *job, const struct member *member)
{
    return job->root->is_live &&
           sub_floor0(clock_now().monotonic_ns, member->notes.started_ns) < NEWBORN_NS;
}

void job_note_command(struct job *job, struct member *member)
{
    if (member->reading.is_zombie || member->account.has_left || job->root->proc_fault ||
        !is_candidate(job, member))
        return;
    if (has_own_command(job, member))
        check_name(job, member);
    if (!member->notes.command_is_due)
        return;
    if (!has_own_command(job, member) || is_newborn(job, member)) {
        job->has_newborn = true;
        return;
    }
    free(member->notes.command);
    member->notes.command = command_line_read(job->root, member->id.pid);
    member->notes.command_is_due = !member->notes.command;
    job->has_newborn |= member->notes.command_is_due;
}

void job_note_newborn(struct job *job)
{
    if (!job->has_newborn)
        return;
    job->has_newborn = false;
    for (size_t i = 0; i < job->roster.count; i++)
        job_note_command(job, &job->roster.list[i]);
}

void member_note_first(struct member *member)
{
    const uint64_t *counter = member->account.usage.counter;

    member->notes.first_cpu_ns = member->reading.cpu_ns;
    member->notes.first_wait_ns = known_or_0(counter[USAGE_CPU_WAIT_NS]);
    member->notes.foreign_io = (struct process_io){ known_or_0(counter[USAGE_READ_BYTES]),
                                                    known_or_0(counter[USAGE_WRITTEN_BYTES]) };
}

void job_note_first_reading(struct job *job)
{
    /* Processes that have exited by now are not part of the run. */
    process_table_done(&job->roster.ended);
    job->ledger.ended_clocks_ns = 0;
    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        if (!job->root->is_live) /* on a fixture machine, time begins now */
            member->notes.started_ns = job->look_span.from_ns;
        member_note_first(member);
        if (!job->is_spawned)
            member->notes.first_waited_faults = member->account.waited_faults;
    }
}

void job_note_gpu(struct job *job, pid_t pid, uint64_t bytes)
{
    struct member *member = roster_member(&job->roster, pid);
    struct process_entry *ended =
        /* Exited since the look began. */
        member ? NULL : process_table_find(&job->roster.ended, pid);

    if (member)
        raise_to(&member->notes.gpu_peak_bytes, bytes);
    else if (ended)
        raise_to(&ended->gpu_bytes, bytes);
}

uint64_t member_clock_ns(const struct member *member)
{
    return sub_floor0(larger(member->reading.cpu_ns, member->notes.seen_cpu_ns),
                      member->notes.first_cpu_ns);
}

/* ---- the entry of a process ----------------------------------------------- */

/* Returns the I/O of the process itself since the first reading. Exit records contain it,
 * unless the process ran before that reading. */
static struct process_io own_io(const struct member *member)
{
    const uint64_t *counter = member->account.usage.counter;
    const struct process_io *foreign = &member->notes.foreign_io;

    if (member->notes.has_record && !member->notes.lacks_records &&
        member->notes.first_cpu_ns == 0)
        return member->notes.recorded_io;
    if (!is_known(counter[USAGE_READ_BYTES]) || !is_known(counter[USAGE_WRITTEN_BYTES]))
        return (struct process_io){ UNKNOWN, UNKNOWN };
    return (struct process_io){
        sub_floor0(counter[USAGE_READ_BYTES], foreign->read_bytes),
        sub_floor0(counter[USAGE_WRITTEN_BYTES], foreign->written_bytes),
    };
}

/* Returns how long a process waited for a CPU. Exit records include exited threads. */
static uint64_t own_wait_ns(const struct member *member)
{
    uint64_t wait_ns = member->notes.has_record && !member->notes.lacks_records
                           ? member->notes.recorded_wait_ns
                           : member->account.usage.counter[USAGE_CPU_WAIT_NS];

    return is_known(wait_ns) ? sub_floor0(wait_ns, member->notes.first_wait_ns) : UNKNOWN;
}

/* Returns the CPU time of a process between its last look, which the job's total includes, and
 * its exit: from its exit record, or extrapolated from looks between samples. */
static uint64_t unseen_cpu_ns(const struct member *member, uint64_t ended_ns)
{
    uint64_t seen_ns = sub_floor0(member->notes.seen_ns, member->notes.started_ns);
    double rate = seen_ns > 0 ? (double)member->notes.seen_cpu_ns / (double)seen_ns : 0;

    if (member->reading.is_zombie)
        return 0;
    if (member->notes.has_record)
        return sub_floor0(member->notes.recorded_cpu_ns, member->reading.cpu_ns);
    return sub_floor0(member->notes.seen_cpu_ns, member->reading.cpu_ns) +
           (uint64_t)(rate * (double)sub_floor0(ended_ns, member->notes.seen_ns));
}

static uint64_t end_of(const struct job *job, const struct member *member,
                       const struct process *slot)
{
    if (slot && slot->threads == 0 && slot->ended_ns >= member->notes.started_ns &&
        slot->ended_ns > 0)
        return slot->ended_ns;
    return job_now_ns(job, job->look_span.from_ns);
}

/* Fills an entry, without the command. */
static struct process_entry describe(const struct job *job, const struct member *member,
                                     const struct process *slot)
{
    bool has_ended = member->account.has_left || member->reading.is_zombie;
    struct process_io io = own_io(member);
    struct process_entry entry = {
        .pid = member->id.pid,
        .parent_pid =
            slot && slot->parent_pid != 0 ? slot->parent_pid : member->reading.memory_owner,
        .started_ns = member->notes.started_ns,
        .ended_ns = has_ended ? end_of(job, member, slot) : UNKNOWN,
        .cpu_ns = sub_floor0(member->reading.cpu_ns, member->notes.first_cpu_ns),
        .peak_bytes = larger(member_peak_bytes(member), slot ? slot->peak_bytes : 0),
        .read_bytes = io.read_bytes,
        .written_bytes = io.written_bytes,
        .gpu_bytes = member->notes.gpu_peak_bytes,
        .wait_ns = own_wait_ns(member),
        .has_wait_status = member->notes.has_wait_status,
        .wait_status = member->notes.wait_status,
    };

    if (has_ended)
        entry.estimated_ns = unseen_cpu_ns(member, entry.ended_ns);
    memcpy(entry.name, member->comm, sizeof(entry.name));
    if (entry.peak_bytes == 0)
        entry.peak_bytes = UNKNOWN;
    if (!entry.has_wait_status && slot && slot->has_wait_status) {
        entry.has_wait_status = true;
        entry.wait_status = slot->wait_status;
    }
    return entry;
}

/* Records that the counts of an exited process are now part of the counts of its parent. */
static void give_to_parent(struct job *job, const struct member *member)
{
    struct member *parent = roster_member(&job->roster, member->parent_pid);
    struct process_io io = own_io(member);

    if (!parent || !is_known(io.read_bytes))
        return;
    parent->notes.foreign_io.read_bytes += io.read_bytes + member->notes.foreign_io.read_bytes;
    parent->notes.foreign_io.written_bytes +=
        io.written_bytes + member->notes.foreign_io.written_bytes;
}

void job_note_end(struct job *job, struct member *member)
{
    struct process *slot = roster_slot_of(&job->roster, member);
    struct process_entry entry;

    if (member->account.is_inherited)
        give_to_parent(job, member);
    if (member->notes.is_disowned || (slot && slot->is_listed))
        return;
    entry = describe(job, member, slot);
    job->ledger.ended_clocks_ns += member->group == GROUP_MAIN ? 0 : member_clock_ns(member);
    entry.command = member->notes.command;
    member->notes.command = NULL;
    process_table_add(&job->roster.ended, &entry);
    if (slot)
        slot->is_listed = true;
}

/* ---- from process events ---------------------------------------------------- */

/* The minimum CPU time of a process, even without a clock tick. */
#define SHORTEST_LIFE_NS (NS_PER_MS / 2)

/* Estimates the CPU time of an unread process: with one thread, at most its lifetime. */
static uint64_t estimate_cpu_ns(const struct process *process, const struct exit_record *record)
{
    uint64_t used_ns = larger(record->tick_ns, record->run_ns) + SHORTEST_LIFE_NS;
    uint64_t lived_ns = sub_floor0(process->ended_ns, process->started_ns);

    return lived_ns > 0 && !record->is_last_of_several ? smaller(used_ns, lived_ns) : used_ns;
}

static void list_unopened(struct roster *roster, const struct process *process,
                          const struct exit_record *record)
{
    struct member *parent = roster_member(roster, process->parent_pid);
    const uint64_t *counter = record->usage.counter;
    bool has_io = !record->is_last_of_several;
    struct process_entry entry = {
        .pid = process->pid,
        .parent_pid = process->parent_pid,
        .started_ns = process->started_ns,
        .ended_ns = process->ended_ns > 0 ? process->ended_ns : clock_now().monotonic_ns,
        .estimated_ns = estimate_cpu_ns(process, record),
        .peak_bytes = process->peak_bytes > 0 ? process->peak_bytes : UNKNOWN,
        .read_bytes = has_io ? counter[USAGE_READ_BYTES] : UNKNOWN,
        .written_bytes = has_io ? counter[USAGE_WRITTEN_BYTES] : UNKNOWN,
        .wait_ns = has_io ? counter[USAGE_CPU_WAIT_NS] : UNKNOWN,
        .gpu_bytes = UNKNOWN,
        .has_wait_status = process->has_wait_status,
        .wait_status = process->wait_status,
    };

    memcpy(entry.name, record->name, sizeof(entry.name) - 1);
    if (parent && has_io) {
        parent->notes.foreign_io.read_bytes += counter[USAGE_READ_BYTES];
        parent->notes.foreign_io.written_bytes += counter[USAGE_WRITTEN_BYTES];
    }
    process_table_add(&roster->ended, &entry);
}

/* Adds a record to an open process, which is added to the table when it is closed. */
static void note_open(struct member *member, const struct exit_record *record,
                      bool skips_threads)
{
    const uint64_t *counter = record->usage.counter;
    char name[PROCESS_NAME_SIZE] = { 0 };

    member->notes.recorded_io.read_bytes += counter[USAGE_READ_BYTES];
    member->notes.recorded_io.written_bytes += counter[USAGE_WRITTEN_BYTES];
    member->notes.recorded_wait_ns =
        sum_u64(member->notes.recorded_wait_ns, counter[USAGE_CPU_WAIT_NS]);
    if (!record->is_group_exit)
        return;
    member->notes.has_record = true;
    member->notes.lacks_records = skips_threads && record->is_last_of_several;
    member->notes.recorded_cpu_ns = record->run_ns;
    memcpy(name, record->name, sizeof(name) - 1);
    if (record->pid != record->tgid || memcmp(name, member->comm, sizeof(name)) == 0)
        return;
    /* The process has called exec since the last look: its command line is unknown. */
    memcpy(member->comm, name, sizeof(name));
    free(member->notes.command);
    member->notes.command = NULL;
}

void note_exit_record(struct roster *roster, struct process *process,
                      const struct exit_record *record, bool skips_threads)
{
    struct process_entry *listed;

    if (process->member != 0) {
        note_open(&roster->list[process->member - 1], record, skips_threads);
    } else if (record->is_group_exit && !process->is_listed) {
        list_unopened(roster, process, record);
        process->is_listed = true;
    } else if (record->is_group_exit && process->peak_bytes > 0 &&
               (listed = process_table_find(&roster->ended, process->pid))) {
        raise_to(&listed->peak_bytes, process->peak_bytes);
    }
}

void note_exit_status(struct roster *roster, struct process *process,
                      const struct process_event *event)
{
    struct process_entry *listed =
        process->is_listed ? process_table_find(&roster->ended, process->pid) : NULL;

    process->has_wait_status = event->has_wait_status;
    process->wait_status = event->wait_status;
    if (listed && event->has_wait_status && !listed->has_wait_status) {
        listed->has_wait_status = true;
        listed->wait_status = event->wait_status;
    }
}

/* ---- the table ------------------------------------------------------------- */

int job_list_processes(const struct job *job, uint64_t job_cpu_ns, struct process_table *ret)
{
    const struct process_events *events = &job->process_events;
    uint64_t started_count =
        events->source ? larger(job->started_count, events->started_count) : UNKNOWN;
    int r = process_table_copy(&job->roster.ended, ret);

    if (r < 0)
        return r;
    for (size_t i = 0; i < job->roster.count; i++) {
        const struct member *member = &job->roster.list[i];
        struct process_entry entry =
            describe(job, member, roster_slot_of(&job->roster, member));

        if (member->account.has_left || member->notes.is_disowned)
            continue;
        if (member->notes.command)
            entry.command = strdup(member->notes.command); /* NULL: unknown */
        process_table_add(ret, &entry);
    }
    process_table_finish(ret, job_cpu_ns, job->is_main_only ? 1 : started_count);
    return 0;
}
