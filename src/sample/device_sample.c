/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/device_sample.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/unknown.h"
#include "source/host/host.h"

enum { CPUS_MAX = 8192 };

void device_sample_done(struct device_sample *sample)
{
    devices_done(&sample->devices);
    free(sample->cpus);
    *sample = (struct device_sample){ 0 };
}

static void read_cpus(struct device_sample *sample, const struct root *root)
{
    AUTO_FREE char *text = malloc(HOST_TEXT_SIZE);
    long ticks = sysconf(_SC_CLK_TCK);
    struct cpu_busy *cpus = calloc(CPUS_MAX, sizeof(*cpus));

    sample->cpus = cpus;
    if (!text || !cpus || ticks <= 0 ||
        root_read_start(root, text, HOST_TEXT_SIZE, "proc/stat") < 0)
        return;
    sample->cpu_count = cpu_stat_parse_each(text, (uint64_t)ticks, cpus, CPUS_MAX);
}

void device_sample_read(struct device_sample *sample, const struct root *root,
                        struct space *space)
{
    device_sample_done(sample);
    (void)devices_read(root, space, &sample->devices); /* without memory, there are none */
    read_cpus(sample, root);
}

uint64_t device_sample_cpu_ns(const struct device_sample *sample, uint64_t number)
{
    for (size_t i = 0; i < sample->cpu_count; i++) {
        if (sample->cpus[i].number == number)
            return sample->cpus[i].busy_ns;
    }
    return UNKNOWN;
}
