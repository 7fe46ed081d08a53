/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - which processes are agents (spoor.h): trackers started by programs. They belong to
 * no job.
 *
 * An agent is started by an intermediate process, which shares its caller's memory and never
 * calls exec. Both have the name of an agent from the beginning, except for a moment after exec,
 * when the name is that of the executable. A zombie has only its name. For a live process that has
 * called exec the executable is checked too, because a process may set any name.
 */
#ifndef JOB_AGENTS_H
#define JOB_AGENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process_id.h"
#include "base/root.h"
#include "job/member.h"

enum { AGENTS_MAX = 32 };

/* Whether it may be one, but its arguments are not available yet. */
bool agents_is_unclear(const struct root *root, const struct member *member);

bool agents_has(const struct root *root, const struct member *member);

/* The agents among the job's processes: the job cgroup and perf count what they use, too. Zeroed is
 * empty. */
struct agents {
    struct live_agent {
        struct process_id id;
        uint64_t cpu_ns; /* as last read */
    } live[AGENTS_MAX];
    size_t live_count;
    uint64_t ended_cpu_ns; /* of those that have been reaped */
};

/* Notes an agent. More than AGENTS_MAX at once are not followed. */
void agents_note(struct agents *agents, struct process_id id);

/* A process has ended; if it is an agent, that is what it has used. */
void agents_end(struct agents *agents, struct process_id id, uint64_t cpu_ns);

/* CPU time of all of them so far. */
uint64_t agents_cpu_ns(struct agents *agents, const struct root *root);

#endif
