/* SPDX-License-Identifier: Apache-2.0 */
#include "job/agents.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "source/proc/cpu_clock.h"
#include "source/proc/pid_cmdline.h"
#include "spoor/spoor.h"

#define PROGRAM "spoor"
#define AGENT_COMMAND "agent" /* "agent-lookup" is one too */
#define PHASE_COMMAND "phase" /* tells the tracker what the job does */

static bool runs_program(const struct root *root, pid_t pid)
{
    char file[PATH_MAX];

    if (root_read_link(root, file, sizeof(file), "proc/%d/exe", (int)pid) < 0)
        return true; /* we may not ask, or it is just ending */
    return strncmp(basename(file), PROGRAM, strlen(PROGRAM)) == 0;
}

/* The second of its arguments; "" if there is none, or not yet. */
static void read_second(const struct root *root, pid_t pid, char *buf, size_t size)
{
    char text[64] = "";
    size_t length;

    buf[0] = '\0';
    if (pid_cmdline_read(root, pid, text, sizeof(text) - 1) < 0)
        return;
    length = strlen(text) + 1;
    if (length < sizeof(text))                          /* it is empty behind what was read */
        (void)snprintf(buf, size, "%s", text + length); /* cut is fine */
}

bool agents_is_unclear(const struct root *root, const struct member *member)
{
    char word[8];

    if (strcmp(member->comm, PROGRAM) != 0)
        return false;
    read_second(root, member->pid, word, sizeof(word));
    return word[0] == '\0';
}

bool agents_has(const struct root *root, const struct member *member)
{
    char word[8];

    if (strcmp(member->comm, SPOOR_AGENT_NAME) == 0)
        return member->is_zombie || !member->has_exec || runs_program(root, member->pid);
    if (strcmp(member->comm, PROGRAM) != 0 || member->is_zombie)
        return false;
    read_second(root, member->pid, word, sizeof(word)); /* it has not taken its name yet */
    return strncmp(word, AGENT_COMMAND, strlen(AGENT_COMMAND)) == 0 ||
           strcmp(word, PHASE_COMMAND) == 0;
}

void agents_note(struct agents *agents, pid_t pid)
{
    for (size_t i = 0; i < agents->live_count; i++) {
        if (agents->live[i] == pid)
            return;
    }
    if (agents->live_count < AGENTS_MAX)
        agents->live[agents->live_count++] = pid;
}

void agents_end(struct agents *agents, pid_t pid, uint64_t cpu_ns)
{
    for (size_t i = 0; i < agents->live_count; i++) {
        if (agents->live[i] != pid)
            continue;
        agents->live[i] = agents->live[--agents->live_count];
        agents->ended_cpu_ns = sum_u64(agents->ended_cpu_ns, cpu_ns);
        return;
    }
}

uint64_t agents_cpu_ns(const struct agents *agents, const struct root *root)
{
    uint64_t sum_ns = agents->ended_cpu_ns, ns;

    for (size_t i = 0; i < agents->live_count; i++) {
        if (cpu_clock_read(root, agents->live[i], &ns) == 0)
            sum_ns = sum_u64(sum_ns, ns);
    }
    return sum_ns;
}
