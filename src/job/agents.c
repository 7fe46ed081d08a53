/* SPDX-License-Identifier: Apache-2.0 */
#include "job/agents.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/parse.h"
#include "source/proc/pid_files.h"
#include "spoor/spoor.h"

#define PROGRAM "spoor"
#define AGENT_COMMAND "agent"
#define PHASE_COMMAND "phase" /* reports a phase to the tracker */

static bool runs_program(const struct root *root, pid_t pid)
{
    char file[PATH_MAX];

    if (root_read_link(root, file, sizeof(file), "proc/%d/exe", (int)pid) < 0)
        return true; /* permission denied, or the process is exiting */
    return begins_with(basename(file), PROGRAM);
}

/* Reads the second argument of a process; "" if it is missing or not set up yet. */
static void read_second(const struct root *root, pid_t pid, char *buf, size_t size)
{
    char text[64] = "";
    size_t length;

    buf[0] = '\0';
    if (pid_cmdline_read(root, pid, text, sizeof(text) - 1) < 0)
        return;
    length = strlen(text) + 1;
    if (length < sizeof(text)) /* `text` is filled with zeros after the data */
        (void)snprintf(buf, size, "%s", text + length); /* truncation is fine */
}

bool agents_is_unclear(const struct root *root, const struct member *member)
{
    char word[8];

    if (strcmp(member->comm, PROGRAM) != 0)
        return false;
    read_second(root, member->id.pid, word, sizeof(word));
    return word[0] == '\0';
}

bool agents_has(const struct root *root, const struct member *member)
{
    char word[8];

    if (strcmp(member->comm, SPOOR_AGENT_NAME) == 0)
        return member->reading.is_zombie || !member->has_exec ||
               runs_program(root, member->id.pid);
    if (strcmp(member->comm, PROGRAM) != 0 || member->reading.is_zombie)
        return false;
    /* The process name may not be set yet. */
    read_second(root, member->id.pid, word, sizeof(word));
    return strcmp(word, AGENT_COMMAND) == 0 || strcmp(word, PHASE_COMMAND) == 0;
}

/* Returns the index of a live agent; live_count: there is no such agent. */
static size_t find_live(const struct agents *agents, struct process_id id)
{
    size_t i = 0;

    while (i < agents->live_count && !process_id_equal(agents->live[i].id, id))
        i++;
    return i;
}

void agents_note(struct agents *agents, struct process_id id)
{
    if (find_live(agents, id) == agents->live_count && agents->live_count < AGENTS_MAX)
        agents->live[agents->live_count++] = (struct live_agent){ .id = id };
}

static void end(struct agents *agents, size_t i, uint64_t cpu_ns)
{
    agents->live[i] = agents->live[--agents->live_count];
    agents->ended_cpu_ns = sum_u64(agents->ended_cpu_ns, cpu_ns);
}

void agents_end(struct agents *agents, struct process_id id, uint64_t cpu_ns)
{
    size_t i = find_live(agents, id);

    if (i < agents->live_count)
        end(agents, i, cpu_ns);
}

/* Whether a process still exists. Its PID may have been reused, so the start time must
 * match. */
static bool is_there(const struct root *root, struct process_id id)
{
    struct pid_stat stat;

    return pid_stat_read(NULL, root, id.pid, &stat) == 0 && stat.start_ticks == id.start_ticks;
}

uint64_t agents_cpu_ns(struct agents *agents, const struct root *root)
{
    uint64_t sum_ns;

    for (size_t i = agents->live_count; root->is_live && i-- > 0;) {
        struct live_agent *agent = &agents->live[i];
        uint64_t ns;
        bool has_clock = cpu_clock_read(root, agent->id.pid, &ns) == 0;

        if (!is_there(root, agent->id)) /* a subreaper of the job has reaped it */
            end(agents, i, agent->cpu_ns);
        else if (has_clock)
            agent->cpu_ns = ns;
    }
    sum_ns = agents->ended_cpu_ns;
    for (size_t i = 0; i < agents->live_count; i++)
        sum_ns = sum_u64(sum_ns, agents->live[i].cpu_ns);
    return sum_ns;
}
