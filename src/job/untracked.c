/* SPDX-License-Identifier: Apache-2.0 */
#include "job/untracked.h"

#include <string.h>

#include "base/compiler.h"

const struct untracked untracked_programs[] = {
    { "srun", "srun: slurmd starts the tasks, so they are not included; to track them: srun "
              "spoor run -- COMMAND" },
    { "docker", "docker: the Docker daemon starts the containers, so they are not included; to "
                "track one, run spoor in it" },
};

const size_t untracked_count = ARRAY_SIZE(untracked_programs);

unsigned untracked_bit(const char *name)
{
    for (size_t i = 0; i < untracked_count; i++) {
        if (strcmp(untracked_programs[i].name, name) == 0)
            return 1u << i;
    }
    return 0;
}
