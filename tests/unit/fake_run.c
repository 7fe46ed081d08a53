/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_run.h"

#include <assert.h>

#include "series/figure.h"

enum { GPUS_MAX = 8 };

void fake_run_init(struct record *run)
{
    record_init(run);
    run->exit_code = 0;
    run->elapsed_seconds = 100;
    run->whole_gpus = 0;
    run->figures = record_alloc(run, figure_count(), sizeof(*run->figures));
    run->gpus = record_alloc(run, GPUS_MAX, sizeof(*run->gpus));
    assert(run->figures && run->gpus);
    for (size_t i = 0; i < figure_count(); i++)
        run->figures[i] = record_unknown_figure("not in this example");
}

struct spoor_figure *fake_run_figure(struct record *run, const char *path)
{
    ssize_t index = figure_index(path);

    assert(index >= 0);
    return &run->figures[index];
}

void fake_run_set(struct record *run, const char *path, double value)
{
    struct spoor_figure *figure = fake_run_figure(run, path);

    *figure = record_unknown_figure(NULL);
    figure->value = value;
    figure->source = "example";
    figure->is_exact = true;
}

void fake_run_add_gpu(struct record *run, const char *vendor, double job_memory_bytes)
{
    struct record_gpu *gpu = &run->gpus[run->gpu_count];

    assert(run->gpu_count < GPUS_MAX);
    *gpu =
        (struct record_gpu){ .index = run->gpu_count, .vendor = vendor, .is_selected = true };
    gpu->measures[RECORD_GPU_JOB_MEMORY].value = job_memory_bytes;
    run->whole_gpus = ++run->gpu_count;
}
