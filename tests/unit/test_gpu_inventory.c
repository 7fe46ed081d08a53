/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_inventory.h"
#include "unit_test.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

enum { NVIDIA_COUNT = 4, AMD_COUNT = 2 };

/* Four NVIDIA GPUs, followed by two AMD GPUs with higher PCI addresses. */
static struct gpu_device devices[NVIDIA_COUNT + AMD_COUNT];

static int open_nothing(UNUSED const struct root *root, void **ret,
                        UNUSED struct spoor_error *err)
{
    *ret = NULL;
    return 0;
}

static void close_nothing(UNUSED void *vendor)
{
}

static size_t count_nvidia(UNUSED const void *vendor)
{
    return NVIDIA_COUNT;
}

static size_t count_amd(UNUSED const void *vendor)
{
    return AMD_COUNT;
}

static const struct gpu_device *get_nvidia(UNUSED const void *vendor, size_t index)
{
    return &devices[index];
}

static const struct gpu_device *get_amd(UNUSED const void *vendor, size_t index)
{
    return &devices[NVIDIA_COUNT + index];
}

static const struct gpu_vendor nvidia = {
    .name = "nvidia",
    .open = open_nothing,
    .close = close_nothing,
    .device_count = count_nvidia,
    .device = get_nvidia,
};
static const struct gpu_vendor amd = {
    .name = "amd",
    .open = open_nothing,
    .close = close_nothing,
    .device_count = count_amd,
    .device = get_amd,
};

static void number_devices(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        (void)snprintf(devices[i].uuid, sizeof(devices[i].uuid), "GPU-%zu000", i);
        (void)snprintf(devices[i].pci_address, sizeof(devices[i].pci_address),
                       "0000:%02zx:00.0", i + 1);
    }
}

static const char *const *variables; /* "NAME=VALUE" strings, ended by NULL */

static const char *get_variable(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; variables[i]; i++)
        if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=')
            return variables[i] + length + 1;
    return NULL;
}

struct environment {
    const char *variables[4];
    const char
        *selected;      /* one character per GPU, the four NVIDIA GPUs first; 'x' if selected */
    const char *reason; /* the reason if no GPU is selected */
};

static void check(const struct environment *given, const char *gpus)
{
    static const struct gpu_vendor *const vendors[] = { &nvidia, &amd };
    struct gpu_inventory inventory;
    struct gpu_choice choice;
    char selected[16] = "";
    struct root root = ROOT_CLOSED;
    /* Cases with four characters have no AMD GPUs. */
    size_t vendor_count = strlen(given->selected) > NVIDIA_COUNT ? 2 : 1;

    variables = given->variables;
    assert_int_equal(gpu_choice_init(&choice, gpus, get_variable), 0);
    assert_int_equal(gpu_inventory_open(&inventory, &root, vendors, vendor_count, &choice), 0);
    for (size_t i = 0; i < inventory.count; i++)
        selected[i] = inventory.units[i].is_selected ? 'x' : '.';
    assert_string_equal(selected, given->selected);
    if (given->reason)
        assert_string_equal(inventory.none_reason, given->reason);
    gpu_inventory_close(&inventory);
    gpu_choice_done(&choice);
}

TEST(the_environment_selects_the_gpus_of_the_job)
{
    static const struct environment cases[] = {
        { { NULL }, "xxxx", NULL },
        /* CUDA_VISIBLE_DEVICES is parsed as CUDA does, and precedes the other variables. */
        { { "CUDA_VISIBLE_DEVICES=2" }, "..x.", NULL },
        { { "CUDA_VISIBLE_DEVICES=GPU-1" }, ".x..", NULL },
        { { "CUDA_VISIBLE_DEVICES=1,9,2" }, ".x..", NULL },
        { { "CUDA_VISIBLE_DEVICES=1", "NVIDIA_VISIBLE_DEVICES=0", "SLURM_JOB_GPUS=3" },
          ".x..",
          NULL },
        { { "CUDA_VISIBLE_DEVICES=" },
          "....",
          "CUDA_VISIBLE_DEVICES is empty: no GPU is assigned to the job" },
        { { "CUDA_VISIBLE_DEVICES=-1", "SLURM_JOB_GPUS=3" },
          "....",
          "CUDA_VISIBLE_DEVICES=-1 matches none of this machine's GPUs" },
        { { "CUDA_VISIBLE_DEVICES=all" },
          "....",
          "CUDA_VISIBLE_DEVICES=all matches none of this machine's GPUs" },
        { { "CUDA_VISIBLE_DEVICES=9" },
          "....",
          "CUDA_VISIBLE_DEVICES=9 matches none of this machine's GPUs" },
        { { "CUDA_VISIBLE_DEVICES=foo" },
          "....",
          "CUDA_VISIBLE_DEVICES=foo matches none of this machine's GPUs" },
        /* NVIDIA_VISIBLE_DEVICES of the container runtime is used only if all its GPUs exist
         * here. */
        { { "NVIDIA_VISIBLE_DEVICES=1,2" }, ".xx.", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=1-2" }, ".xx.", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=GPU-3000", "SLURM_JOB_GPUS=1" }, "...x", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=0,1,2,3", "SLURM_JOB_GPUS=1" }, "xxxx", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=" }, "xxxx", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=none" }, "xxxx", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=void" }, "xxxx", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=9" }, "xxxx", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=1,3,5,7" }, "xxxx", NULL }, /* numbers of the host's GPUs */
        { { "NVIDIA_VISIBLE_DEVICES=all" }, "xxxx", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=all", "SLURM_JOB_GPUS=0,3" }, "x..x", NULL },
        { { "NVIDIA_VISIBLE_DEVICES=void", "SLURM_JOB_GPUS=0,3" }, "x..x", NULL },
        /* SLURM_JOB_GPUS is used only if all its GPUs exist here. */
        { { "SLURM_JOB_GPUS=0-1" }, "xx..", NULL },
        { { "SLURM_JOB_GPUS=9" }, "xxxx", NULL },
        { { "SLURM_JOB_GPUS=3,4,5,6" }, "xxxx", NULL },
        { { "SLURM_JOB_GPUS=gpu:2" }, "xxxx", NULL },
        { { "SLURM_JOB_GPUS=" }, "xxxx", NULL },
        /* Each vendor has its own variable; the scheduler's variable numbers the GPUs of
         * each vendor separately. */
        { { "CUDA_VISIBLE_DEVICES=0" }, "x...xx", NULL },
        { { "ROCR_VISIBLE_DEVICES=1" }, "xxxx.x", NULL },
        { { "ROCR_VISIBLE_DEVICES=foo" }, "xxxx..", NULL },
        { { "SLURM_JOB_GPUS=1" }, ".x...x", NULL },
        { { "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=foo" },
          "......",
          "ROCR_VISIBLE_DEVICES=foo matches none of this machine's GPUs" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check(&cases[i], NULL);
}

TEST(the_option_overrides_variables_and_selects_among_all_gpus)
{
    check(&(struct environment){ { "CUDA_VISIBLE_DEVICES=1" }, "x...x.", NULL }, "0,4");
    check(&(struct environment){ { "CUDA_VISIBLE_DEVICES=" }, "xxxx", NULL }, "all");
    check(&(struct environment){ { NULL },
                                 "......",
                                 "--gpus none matches none of this machine's GPUs" },
          "none");
}

int main(void)
{
    number_devices();
    return unit_tests_run();
}
