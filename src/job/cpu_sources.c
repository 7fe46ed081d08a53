/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cpu_sources.h"

#include "base/amount.h"
#include "base/clock.h"

/* Counts that differ by at most this much agree: they are read at different moments. */
enum { SAME_PERCENT = 2 };
/* If a count exceeds the tree by more than this, some processes were never waited for. */
enum { CGROUP_PERCENT = 5, PERF_PERCENT = 25 };
/* The threshold if a process that had children ignores SIGCHLD. */
enum { SUSPECT_PERCENT = 1 };

#define LEEWAY_NS (10 * NS_PER_MS)
#define SUSPECT_LEEWAY_NS NS_PER_MS

static bool exceeds(uint64_t ns, uint64_t other_ns, unsigned percent, uint64_t leeway_ns)
{
    return is_known(ns) &&
           (!is_known(other_ns) || ns > other_ns + other_ns / 100 * percent + leeway_ns);
}

/* Returns the CPU time that the tree may lack even if every process was waited for: exits of
 * threads, which only the cgroup counts, or stolen time, which perf attributes to the job. If a
 * process is suspect, unwaited children are the more likely cause, so at most half of the
 * tree's time counts as stolen. */
static uint64_t unattributed_ns(const struct cpu_counts *counts, bool by_cgroup)
{
    if (by_cgroup)
        return counts->exits_ns;
    return counts->is_suspect ? smaller(known_or_0(counts->stolen_ns), counts->tree_ns / 2)
                              : counts->stolen_ns;
}

/* Whether a count of all processes proves that some were never waited for. A single process
 * has no children, and perf proves nothing if the stolen part of its time is unknown. */
static bool proves_more(const struct cpu_counts *counts, bool by_cgroup)
{
    uint64_t whole_ns = by_cgroup ? counts->cgroup_ns : counts->perf_ns;
    uint64_t known_ns = sum_u64(counts->tree_ns, unattributed_ns(counts, by_cgroup));

    if (counts->is_alone || !is_known(known_ns))
        return false;
    return counts->is_suspect ? exceeds(whole_ns, known_ns, SUSPECT_PERCENT, SUSPECT_LEEWAY_NS)
                              : exceeds(whole_ns, known_ns,
                                        by_cgroup ? CGROUP_PERCENT : PERF_PERCENT, LEEWAY_NS);
}

static enum cpu_source choose_source(const struct cpu_counts *counts, bool has_unwaited)
{
    if (exceeds(counts->cgroup_ns, counts->tree_ns, 0, 0))
        return CPU_FROM_CGROUP;
    return has_unwaited && exceeds(counts->perf_ns, counts->tree_ns, 0, 0) ? CPU_FROM_PERF
                                                                           : CPU_FROM_TREE;
}

struct cpu_choice cpu_sources_choose(const struct cpu_counts *counts)
{
    bool has_cgroup = is_known(counts->cgroup_ns);
    bool left_cgroup =
        has_cgroup && (counts->left_cgroup || (is_known(counts->waited_ns) &&
                                               exceeds(counts->waited_ns, counts->cgroup_ns,
                                                       SAME_PERCENT, LEEWAY_NS)));
    bool is_whole = has_cgroup && !left_cgroup;
    uint64_t whole_ns = is_whole ? counts->cgroup_ns : counts->perf_ns;
    uint64_t known_ns = sum_u64(counts->tree_ns, is_whole ? counts->exits_ns : 0);
    bool has_unwaited =
        proves_more(counts, is_whole) || counts->saw_unwaited || !is_known(counts->tree_ns);

    /* The tree may include time that processes used before they were moved into the cgroup, and
     * lacks processes that exited before the run. */
    if (counts->is_cgroup && has_cgroup)
        return (struct cpu_choice){ .source = CPU_FROM_CGROUP };
    return (struct cpu_choice){
        .source = is_whole ? CPU_FROM_CGROUP : choose_source(counts, has_unwaited),
        .has_unwaited = has_unwaited,
        .is_confirmed =
            !has_unwaited &&
            (counts->is_alone ||
             (is_known(whole_ns) && !exceeds(whole_ns, known_ns, SAME_PERCENT, LEEWAY_NS))),
        .left_cgroup = left_cgroup,
    };
}

/* Returns perf's count. Until wait4 reports the time of all processes, it lacks stolen time, which
 * wait4 leaves out: the reported time never falls. */
static uint64_t counted_by_perf(const struct cpu_counts *counts)
{
    uint64_t ns = counts->perf_ns;

    if (!counts->awaits_wait4 || !is_known(ns))
        return ns;
    ns = sub_floor0(ns, known_or_0(counts->stolen_ns));
    raise_to(&ns, counts->tree_ns);
    return ns;
}

uint64_t cpu_total_add(struct cpu_total *total, const struct cpu_counts *counts,
                       enum cpu_source source)
{
    const uint64_t now_ns[CPU_SOURCE_COUNT] = {
        [CPU_FROM_TREE] = counts->tree_ns,
        [CPU_FROM_CGROUP] = counts->cgroup_ns,
        [CPU_FROM_PERF] = counted_by_perf(counts),
    };
    const uint64_t *last_ns = total->last_ns;
    enum cpu_source before = is_known(last_ns[source]) ? source : total->source;
    uint64_t missed_ns, grown_ns;

    if (!is_known(now_ns[source]))
        return 0;
    if (!total->has_begun)
        total->reported_ns = now_ns[source];
    else if (total->source == CPU_FROM_CGROUP && !is_known(counts->cgroup_ns))
        total->base_ns =
            sub_floor0(total->reported_ns, first_known(last_ns[source], now_ns[source]));
    /* One counter may add at once what another adds in steps: do not count it twice. */
    missed_ns = sub_floor0(total->base_ns + now_ns[source], total->reported_ns);
    grown_ns = smaller(known_or_0(sub_known(now_ns[before], last_ns[before])), missed_ns);
    total->reported_ns += grown_ns;
    total->has_begun = true;
    total->source = source;
    for (int i = 0; i < CPU_SOURCE_COUNT; i++) { /* a counter may step back a little */
        if (!is_known(now_ns[i]))
            total->last_ns[i] = UNKNOWN;
        raise_to(&total->last_ns[i], now_ns[i]);
    }
    return missed_ns - grown_ns;
}

void cpu_split_set(struct cpu_split *split, uint64_t total_ns, uint64_t first_ns)
{
    split->first_ns =
        smaller(larger(first_ns, split->first_ns), sub_floor0(total_ns, split->second_ns));
    split->second_ns = total_ns - split->first_ns;
}

struct cpu_split cpu_split_divide(struct cpu_split *last, uint64_t total_ns,
                                  struct cpu_split counted)
{
    uint64_t divided_ns = sum_u64(counted.first_ns, counted.second_ns), first_ns = total_ns;

    if (!is_known(total_ns) || !is_known(divided_ns))
        return (struct cpu_split){ UNKNOWN, UNKNOWN };
    if (counted.second_ns > 0)
        first_ns =
            (uint64_t)((double)total_ns * ((double)counted.first_ns / (double)divided_ns));
    cpu_split_set(last, total_ns, first_ns);
    return *last;
}
