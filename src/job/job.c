/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - the life of a job, as we follow it. */
#include "job/job.h"

#include <errno.h>
#include <unistd.h>

#include "base/unknown.h"
#include "source/perf/task_clock.h"

struct look job_look(const struct job *job, uint64_t now_ns, bool is_thorough)
{
    return (struct look){
        .root = job->root,
        .now_ns = now_ns,
        .uses_clocks = job->uses_clocks,
        .is_thorough = is_thorough,
    };
}

/* What must be in place before the job's program runs. */
static int prepare_spawned(struct job *job, const struct job_options *options)
{
    if (!(options->disabled & RUNG_PERF))
        job->task_clock_fd = task_clock_open(options->pid);
    if (!(options->disabled & RUNG_GATE))
        (void)fault_gate_open(&job->gate, options->pid); /* else we poll */
    if (options->cgroup == SPOOR_CGROUP_OFF)
        job->leaf.reason = "switched off (--cgroup off)";
    else if (options->disabled & RUNG_CGROUP)
        job->leaf.reason = "switched off (SPOOR_DISABLE)";
    else
        leaf_open(&job->leaf, job->root, job->tracker_pid, options->pid, options->cgroup_folder,
                  options->environment);
    return options->cgroup == SPOOR_CGROUP_REQUIRE && !leaf_has_memory(&job->leaf) ? -ENOTSUP
                                                                                   : 0;
}

int job_init(struct job *job, const struct root *root, const struct job_options *options,
             uint64_t now_ns)
{
    struct member main;
    struct look look;
    int r;

    *job = (struct job){
        .root = root,
        .main_pid = options->pid,
        .tracker_pid = options->caller_spawned ? getpid() : 0,
        .uses_clocks = !(options->disabled & RUNG_CLOCK),
        .lists_children = !(options->disabled & RUNG_CHILDREN) && children_are_listed(root),
        .has_program = !options->caller_spawned,
        .task_clock_fd = -1,
        .gate = FAULT_GATE_NONE,
        .leaf = LEAF_NONE,
        .birth_mark = UNKNOWN,
        .started_count = 1,
    };
    job->leaf.reason = "the job was running already: only one that spoor starts has its own";
    detail_init(&job->detail, options->detail, !(options->disabled & RUNG_SMAPS),
                !(options->disabled & RUNG_SCAN));
    usage_clear(&job->departed);
    usage_clear(&job->reported);
    look = job_look(job, now_ns, true);
    r = member_open(&look, options->pid, &main);
    if (r < 0)
        return r;
    job->spawn_rss_bytes = options->caller_spawned ? main.rss_peak_bytes : 0;
    if (!members_add(&job->members, &main)) {
        member_close(&main);
        return -ENOMEM;
    }
    return options->caller_spawned ? prepare_spawned(job, options) : 0;
}

void job_done(struct job *job)
{
    members_done(&job->members);
    detail_done(&job->detail);
    children_buffer_done(&job->children);
    leaf_close(&job->leaf);
    fault_gate_close(&job->gate);
    if (job->task_clock_fd >= 0)
        close(job->task_clock_fd);
    job->task_clock_fd = -1;
}

void job_check_program(struct job *job, struct member *main, const struct look *look)
{
    struct look thorough = *look;

    if (job->has_program)
        return;
    main->rss_bytes = main->shared_bytes = main->rss_peak_bytes = 0;
    if (!main->has_exec)
        return;
    job->has_program = true;
    thorough.is_thorough = true;
    member_look(main, &thorough);
}

void job_refresh(struct job *job, uint64_t now_ns, uint64_t birth_mark, bool is_thorough)
{
    struct look look = job_look(job, now_ns, is_thorough);

    for (size_t i = 0; i < job->members.count; i++) {
        struct member *member = &job->members.list[i];

        if (member->has_left)
            continue;
        member_look(member, &look);
        if (member->pid == job->main_pid)
            job_check_program(job, member, &look);
    }
    job_search(job, &look, birth_mark);
    for (size_t i = 0; i < job->members.count; i++)
        job_remember(job, &job->members.list[i]);
    job_settle_left(job);
}
