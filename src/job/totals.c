/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c - what the job uses: each quantity from the best source that serves. */
#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "job/job.h"
#include "job/memory/cpu_spent.h"

/* The cgroup counts what reached the disks, and what is still to be written. The processes count
 * what they dirtied, and more: whole folios. They alone count what goes to other machines. */
static void read_io(const struct job *job, struct job_reading *reading)
{
    uint64_t *written = &reading->usage.counter[USAGE_WRITTEN_BYTES];
    uint64_t bound = sum_u64(reading->leaf.written_bytes, reading->leaf.memory.dirty_bytes);

    /* The counts of an adopted cgroup and of its processes began at different times. */
    if (job->leaf.is_adopted) {
        if (is_known(reading->leaf.written_bytes) && job->storage_is_local) {
            *written = reading->leaf.written_bytes;
            reading->usage.counter[USAGE_READ_BYTES] = reading->leaf.read_bytes;
        }
        return;
    }
    if (is_known(bound) && is_known(*written) && job->storage_is_local)
        *written = smaller(*written, bound);
    raise_to(written, reading->leaf.written_bytes);
    raise_to(&reading->usage.counter[USAGE_READ_BYTES], reading->leaf.read_bytes);
}

/* A sum without one of its parts says nothing. */
static void forget_denied_io(const struct job *job, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;

    for (size_t i = 0; i < job->members.count; i++)
        reading->io_is_denied |= job->members.list[i].io_is_denied;
    if (reading->io_is_denied && !is_known(reading->leaf.read_bytes))
        counter[USAGE_READ_BYTES] = counter[USAGE_WRITTEN_BYTES] = UNKNOWN;
    reading->io_is_denied |= job->has_unknown_chars;
    if (reading->io_is_denied)
        counter[USAGE_READ_CHARS] = counter[USAGE_WRITTEN_CHARS] = UNKNOWN;
}

/* ---- memory ------------------------------------------------------------- */

static void forget(struct memory_split *split)
{
    *split = (struct memory_split)MEMORY_SPLIT_UNKNOWN;
}

/* Processes that came and went unseen had memory all the same: it is unknown, not 0. Where there
 * were none, there is nothing to be read. */
static void forget_unseen(const struct job *job, struct memory_estimate *memory)
{
    bool has_descendants = job->started_count > 1 || job->has_waited;

    if (!job->saw_main)
        forget(&memory->main);
    if (has_descendants && !job->saw_descendant)
        forget(&memory->descendants);
    else if (!has_descendants && memory->descendants.total_bytes == 0)
        memory->descendants = (struct memory_split){ 0 };
    if (!job->saw_main && !job->saw_descendant)
        forget(&memory->combined);
}

/* How much of a lone process may be mapped twice: what is shared, although there is no other process
 * to share it with, or what was mapped since sharing was last read. */
static uint64_t lone_doubt(const struct job *job, const struct memory_estimate *memory)
{
    enum { MUCH = 16 << 20 };
    uint64_t mapped_before = job->detail.bases.main.mapped;
    uint64_t doubt;

    if (job->members.count != 1 || job->members.list[0].pid != job->main_pid ||
        !is_known(memory->main.shared_bytes))
        return 0;
    doubt = less(job->members.list[0].shared_bytes, mapped_before);
    raise_to(&doubt, memory->main.shared_bytes);
    return doubt > MUCH ? doubt : 0;
}

/* How far resident sizes may be above the pages there are: pages that were found to be mapped twice,
 * or merged. */
static void note_discount(struct job *job, const struct memory_estimate *memory)
{
    const struct movement_bases *bases = &job->detail.bases;
    struct group_bytes *discount = &job->discount;

    raise_to(&discount->main, larger(bases->main.discount, lone_doubt(job, memory)));
    raise_to(&discount->descendants, bases->descendants.discount);
    raise_to(&discount->combined, larger(discount->main, discount->descendants));
}

static void raise_split(struct memory_split *peak, const struct memory_split *seen)
{
    raise_to(&peak->total_bytes, seen->total_bytes);
    raise_to(&peak->private_bytes, seen->private_bytes);
    raise_to(&peak->shared_bytes, seen->shared_bytes);
}

static void raise_estimate(struct memory_estimate *peak, const struct memory_estimate *seen)
{
    raise_split(&peak->main, &seen->main);
    raise_split(&peak->descendants, &seen->descendants);
    raise_split(&peak->combined, &seen->combined);
    raise_to(&peak->pss_bytes, seen->pss_bytes);
}

/* Keeps the split of the highest total. What is shared counts as far as it was read: sizes that
 * have moved since do not tell. */
static void note_at_peak(struct job *job, const struct memory_split *seen)
{
    struct memory_split split = *seen;

    if (is_known(split.private_bytes)) {
        split.shared_bytes =
            smaller(split.shared_bytes, job->detail.estimate.combined.shared_bytes);
        split.total_bytes = split.private_bytes + split.shared_bytes;
    }
    memory_split_keep_higher(&job->peaks.at_peak, &split);
}

static void lower(uint64_t *value, uint64_t excess)
{
    *value = *value > excess ? *value - excess : 0;
}

static void lower_at_peak(struct job *job, const struct detail_excess *excess)
{
    struct memory_split split = job->peaks.at_peak;

    if (!is_known(split.private_bytes) ||
        (excess->combined_total == 0 && excess->combined_private == 0))
        return;
    lower(&split.total_bytes, excess->combined_total);
    lower(&split.private_bytes, excess->combined_private);
    split.private_bytes = smaller(split.private_bytes, split.total_bytes);
    split.shared_bytes = split.total_bytes - split.private_bytes;
    forget(&job->peaks.at_peak);
    note_at_peak(job, &split);
}

/* What the job's memory is, and by how much the glances since it was last read were too high. */
static void read_detail(struct job *job, uint64_t now_ns, struct memory_estimate *ret)
{
    const struct detail_excess *excess = &job->detail.excess;
    struct memory_estimate *peaks = &job->peaks.memory;

    detail_update(&job->detail, &job->members, job->main_pid, now_ns, ret);
    lower(&peaks->main.total_bytes, excess->main_total);
    lower(&peaks->descendants.total_bytes, excess->descendants_total);
    lower(&peaks->combined.total_bytes, excess->combined_total);
    lower(&peaks->combined.private_bytes, excess->combined_private);
    lower(&peaks->pss_bytes, excess->pss);
    lower_at_peak(job, excess);
    note_at_peak(job, &ret->combined);
    raise_estimate(peaks, ret);
    memory_estimate_order(peaks);
    note_discount(job, ret);
}

/* A part that this reading does not know (no rights) stays unknown. */
static void raise_known(struct memory_estimate *memory, const struct memory_estimate *peaks)
{
    bool has_parts = is_known(memory->combined.private_bytes);
    struct memory_estimate seen = *peaks;

    if (!has_parts) {
        seen.main.private_bytes = seen.main.shared_bytes = UNKNOWN;
        seen.descendants.private_bytes = seen.descendants.shared_bytes = UNKNOWN;
        seen.combined.private_bytes = seen.combined.shared_bytes = UNKNOWN;
        seen.pss_bytes = UNKNOWN;
    }
    raise_estimate(memory, &seen);
}

static void raise_to_peaks(struct job *job, struct job_reading *reading)
{
    const struct job_peaks *peaks = &job->peaks;

    note_at_peak(job, &reading->memory.combined);
    reading->at_peak = peaks->at_peak;
    raise_known(&reading->memory, &peaks->memory);
    if (is_known(reading->leaf.memory.anon_bytes)) {
        raise_to(&reading->leaf.memory.anon_bytes, peaks->leaf.anon_bytes);
        raise_to(&reading->leaf.memory.shmem_bytes, peaks->leaf.shmem_bytes);
        raise_to(&reading->leaf.memory.page_cache_bytes, peaks->leaf.page_cache_bytes);
        /* What no file backs is mapped by somebody of the job, or it would be free. */
        raise_to(&reading->memory.combined.total_bytes, reading->leaf.memory.anon_bytes);
    }
    memory_estimate_order(&reading->memory);
    raise_to(&reading->process_count, peaks->process_count);
    /* A look takes a while: it may see one that ends, and then another that has just begun. */
    if (job->births.is_exact)
        reading->process_count = smaller(reading->process_count, reading->process_bound);
    job->peaks = (struct job_peaks){ .at_peak = MEMORY_SPLIT_UNKNOWN };
}

/* ---- the reading -------------------------------------------------------- */

static void raise_threads(struct job *job, uint64_t main, uint64_t descendants)
{
    struct heads *peaks = &job->thread_peaks;

    raise_to(&peaks->main_threads, main);
    raise_to(&peaks->descendants_threads, descendants);
    raise_to(&peaks->threads, main + descendants);
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
        *(is_main ? &reading->main_threads : &reading->descendants_threads) += member->threads;
    }
    raise_threads(job, reading->main_threads, reading->descendants_threads);
}

/* Context switches are known of processes that have ended. Before the job's program runs there are
 * none; while its first process lives, those of a few orphans would say nothing of the job. */
static void read_switches(const struct job *job, struct usage *usage)
{
    uint64_t known = job->has_program ? UNKNOWN : 0;

    if (job->main_has_ended)
        return;
    usage->counter[USAGE_VOLUNTARY_SWITCHES] = known;
    usage->counter[USAGE_INVOLUNTARY_SWITCHES] = known;
}

/* Main's time is as of its last look; once it has ended, or if it has not run, as of now. */
static void read_main_cpu(struct job *job, struct job_reading *reading)
{
    const struct member *main = members_find(&job->members, job->main_pid);

    reading->main_cpu_ns = job->main_cpu_ns;
    reading->main_cpu_span = job->look_span;
    if (main && main->clock_span.from_ns >= job->look_span.from_ns)
        reading->main_cpu_span = main->clock_span;
}

/* Everything that is added up over processes, or counted for all of them. */
static void add_up(struct job *job, uint64_t now_ns, struct job_reading *reading)
{
    *reading = (struct job_reading){ .usage = job->departed };
    reading->cpu_span.from_ns = job_now_ns(job, now_ns);
    leaf_read(&job->leaf, &reading->leaf);
    reading->cpu_span.until_ns = job_now_ns(job, now_ns);
    add_living(job, reading);
    job_read_cpu(job, now_ns, reading);
    read_main_cpu(job, reading);
    read_io(job, reading);
    usage_raise(&reading->usage, &job->reported);
    job->reported = reading->usage;
    read_switches(job, &reading->usage);
    forget_denied_io(job, reading);
    reading->left_memory_cgroup =
        job->escape.has_left[leaf_has(&job->leaf, LEAF_MEMORY) ? LEAF_MEMORY : LEAF_UNIFIED];
    read_detail(job, now_ns, &reading->memory);
    reading->main_rss_peak_bytes = job->main_rss_peak_bytes;
    reading->descendants_rss_peak_bytes = job->largest_peak_bytes;
    reading->discount = job->discount;
}

static void read_births(const struct job *job, struct job_reading *reading)
{
    /* What is not settled yet is reported only if nothing comes after it. */
    const struct heads *peak =
        job->was_thorough ? &job->births.heads.peak : &job->births.heads.settled_peak;

    reading->has_thread_events = job->births.source && !job->births.is_machine_wide;
    reading->thread_peaks = reading->has_thread_events ? *peak : job->thread_peaks;
    if (!reading->has_thread_events)
        raise_to(&reading->thread_peaks.threads, reading->leaf.threads_peak);
    reading->started_count = job->started_count;
    reading->process_peak = reading->process_bound = UNKNOWN;
    if (!job->births.source)
        return;
    raise_to(&reading->started_count, job->births.started_count);
    reading->process_bound = job->births.heads.peak.processes;
    /* The connector's events of different CPUs come out of order: it may be one too high. */
    if (!job->births.is_machine_wide)
        reading->process_peak = peak->processes;
}

void job_read(struct job *job, uint64_t now_ns, struct job_reading *ret)
{
    bool was_added_up = !job->sum_holds || job->detail.is_pending;
    struct job_reading reading;

    if (!was_added_up) {
        /* Who waits for a disk or for memory does not run, and yet presses. */
        leaf_read_pressure(&job->leaf, &job->sum.leaf);
    } else {
        add_up(job, now_ns, &job->sum);
        job->sum_holds = true;
    }
    reading = job->sum;
    if (!was_added_up) /* it is as it was, and that is known now */
        reading.cpu_span = reading.main_cpu_span = job->look_span;
    reading.memory_now = reading.memory;
    if (is_known(reading.leaf.memory.anon_bytes))
        raise_to(&reading.memory_now.combined.total_bytes, reading.leaf.memory.anon_bytes);
    reading.process_count_now = reading.process_count;
    read_births(job, &reading);
    raise_to_peaks(job, &reading);
    job_read_bounds(job, &reading);
    forget_unseen(job, &reading.memory);
    forget_unseen(job, &reading.memory_now);
    if (!job->saw_main && !job->saw_descendant)
        forget(&reading.at_peak);
    *ret = reading;
}

/* The resident sizes of all, and what they add up to. */
static void scan(struct job *job, const struct look *look)
{
    struct job_peaks *peaks = &job->peaks;
    uint64_t process_count = 0, main_threads = 0, threads = 0;

    for (size_t i = 0; i < job->members.count; i++) {
        struct member *member = &job->members.list[i];

        if (member->has_left || (member->is_zombie && look->uses_clocks))
            continue;
        if (look->uses_clocks)
            member_glance(member, job->root);
        else /* ticks are in a file that is lost when it ends */
            member_look(member, look);
        if (member->pid == job->main_pid)
            job_check_program(job, member, look);
        if (cgroup_escape_is_due(&job->escape, member))
            cgroup_escape_check(&job->escape, job->root, member);
        job_remember(job, member);
        if (member->rss_bytes == 0)
            continue;
        process_count++;
        *(member->pid == job->main_pid ? &main_threads : &threads) += member->threads;
    }
    raise_threads(job, main_threads, threads);
    /* All who have left, zombies too: one whose parent was settled before it would seem to have
     * left its figures to nobody. */
    job_settle_left(job);
    raise_to(&peaks->process_count, process_count);
    leaf_raise_memory(&job->leaf, &peaks->leaf);
}

uint64_t job_glance(struct job *job, uint64_t now_ns, uint64_t birth_mark, bool is_at_rest)
{
    struct look look = job_look(job, now_ns, false);
    struct job_peaks *peaks = &job->peaks;
    struct memory_estimate estimate;
    uint64_t before_ns, cost_ns;

    job->sum_holds = false;
    if (is_at_rest) /* page faults, which tell of copies on write, are in the slower files */
        job_refresh(job, now_ns, birth_mark, false);
    else
        job_search(job, &look, birth_mark);
    before_ns = cpu_spent_ns(job->root);
    scan(job, &look);
    detail_follow(&job->detail, &job->members, job->main_pid, &estimate);
    cost_ns = cpu_spent_ns(job->root) - before_ns;
    job->detail.job_rests = is_at_rest;
    if (is_at_rest || detail_is_wanted_for_peak(&job->detail, &job->members, job->main_pid,
                                                now_ns, &estimate))
        read_detail(job, now_ns, &estimate);
    job->detail.job_rests = false;
    note_discount(job, &estimate);
    note_at_peak(job, &estimate.combined);
    /* What is shared is known when it is read, not from sizes that have moved. */
    estimate.main.shared_bytes = estimate.descendants.shared_bytes = 0;
    estimate.combined.shared_bytes = 0;
    raise_estimate(&peaks->memory, &estimate);
    return cost_ns;
}
