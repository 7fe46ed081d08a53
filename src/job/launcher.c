/* SPDX-License-Identifier: Apache-2.0 */
#include "job/launcher.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

#define CONTAINERS                                                                        \
    "containers it starts are children of a daemon, so their usage is not included (run " \
    "spoor "                                                                              \
    "in the container, or attach to it)"

static const struct {
    const char *name;
    const char *text;
} launchers[] = {
    { "srun",
      "its tasks are children of slurmstepd, so their usage is not included (track each "
      "task: srun spoor run -- COMMAND)" },
    { "docker", CONTAINERS },
    { "docker-compose", CONTAINERS },
    { "nerdctl", CONTAINERS },
    { "podman-remote", CONTAINERS },
    { "systemd-run",
      "units it starts, other than with --scope, are children of systemd, so their "
      "usage is not included (run spoor in the unit)" },
};

unsigned launcher_find(const char *comm)
{
    for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
        if (comm[0] == launchers[i].name[0] && strcmp(comm, launchers[i].name) == 0)
            return 1u << i;
    }
    return 0;
}

void launcher_describe(unsigned found,
                       void (*say)(const char *name, const char *text, void *data), void *data)
{
    for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
        if (found & 1u << i)
            say(launchers[i].name, launchers[i].text, data);
    }
}
