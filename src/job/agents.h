/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - which processes are agents (spoor.h): trackers started by programs. They belong to no
 * job.
 *
 * An agent is started by an intermediate process, which shares its caller's memory and never
 * calls exec. Both have the name of an agent from the beginning, except for a moment after
 * exec, when the kernel has set the name of the executable. A zombie is recognized by its name
 * alone. For a live process that has called exec, the executable is checked too, because a
 * process may set any name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process_id.h"
#include "base/root.h"
#include "job/member.h"

enum { AGENTS_MAX = 32 };

/* Whether a process runs spoor, but its arguments are not set up yet: it may be an agent. */
bool agents_is_unclear(const struct root *root, const struct member *member);

bool agents_has(const struct root *root, const struct member *member);

/* The agents among the job's processes: their usage is also in the job cgroup and in perf's
 * count. A zeroed struct is empty. */
struct agents {
    struct live_agent {
        struct process_id id;
        uint64_t cpu_ns; /* as last read */
    } live[AGENTS_MAX];
    size_t live_count;
    uint64_t ended_cpu_ns; /* CPU time of agents that have been reaped */
};

/* Records an agent. Agents beyond AGENTS_MAX at once are ignored. */
void agents_note(struct agents *agents, struct process_id id);

/* Called when a process has exited: the CPU time of an agent is added to ended_cpu_ns. */
void agents_end(struct agents *agents, struct process_id id, uint64_t cpu_ns);

/* Returns the total CPU time of all agents. */
uint64_t agents_cpu_ns(struct agents *agents, const struct root *root);
