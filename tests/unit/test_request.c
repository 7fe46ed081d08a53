/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "front/spoor/settings.h"
#include "recommend/needs.h"
#include "unit_test.h"

#define MIB 1048576.0
#define GIB 1073741824.0

#define LSF_NOTE \
    "# mem is that of a host: if LSF reserves it per task, divide it by the tasks of a host\n"
#define SGE_NOTE                                                                              \
    "# h_vmem is per slot and limits virtual memory; the names of -pe and gpu depend on the " \
    "site\n"

static struct needs make_needs(double cpus, double memory_bytes, double gpus, double vram_bytes,
                               double seconds)
{
    struct needs needs;

    (void)needs_combine(NULL, 0, 1, &needs);
    needs.cpus.value = cpus;
    needs.memory_bytes.value = memory_bytes;
    needs.gpus.value = gpus;
    needs.vram_bytes.value = vram_bytes;
    needs.seconds.value = seconds;
    return needs;
}

static void assert_request(const char *format, const struct needs *needs, const char *expected)
{
    struct buffer out = { 0 };

    assert_non_null(request_find(format));
    request_write(request_find(format), needs, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

TEST(small_requests_are_in_mebibytes)
{
    struct needs needs = make_needs(2, 512 * MIB, 0, 0, 360);

    assert_request("sbatch", &needs,
                   "#SBATCH --cpus-per-task=2\n"
                   "#SBATCH --mem=512M\n"
                   "#SBATCH --time=00:06:00\n");
    assert_request("kubernetes", &needs,
                   "resources:\n"
                   "  requests:\n"
                   "    cpu: \"2\"\n"
                   "    memory: 512Mi\n"
                   "  limits:\n"
                   "    memory: 512Mi\n");
    assert_request("metaflow", &needs,
                   "@timeout(minutes=6)\n"
                   "@resources(cpu=2, memory=537)\n"); /* 536.87 MB */
    assert_request("nextflow", &needs,
                   "cpus 2\n"
                   "memory 512.MB\n"
                   "time 6.min\n");
    assert_request("snakemake", &needs,
                   "threads: 2\n"
                   "resources:\n"
                   "    mem_mb=537,\n"
                   "    runtime=6\n");
    assert_request("docker", &needs, "docker run --cpus=2 --memory=512m IMAGE\n");
    assert_request("pbs", &needs,
                   "#PBS -l select=1:ncpus=2:mem=512mb\n"
                   "#PBS -l walltime=00:06:00\n");
    assert_request("lsf", &needs,
                   LSF_NOTE "#BSUB -n 2\n"
                            "#BSUB -R \"span[ptile=2]\"\n"
                            "#BSUB -R \"rusage[mem=512MB]\"\n"
                            "#BSUB -M 512MB\n"
                            "#BSUB -W 6\n");
    assert_request("sge", &needs,
                   SGE_NOTE "#$ -pe smp 2\n"
                            "#$ -l h_vmem=256M\n"
                            "#$ -l h_rt=00:06:00\n");
    assert_request("htcondor", &needs,
                   "request_cpus = 2\n"
                   "request_memory = 512MB\n");
}

TEST(large_requests_are_in_gibibytes_and_have_gpus)
{
    struct needs needs = make_needs(64, 60 * GIB, 4, 96 * GIB, 100.0 * 3600);

    (void)snprintf(needs.gpu_vendor, sizeof(needs.gpu_vendor), "nvidia");
    assert_request("sbatch", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "#SBATCH --cpus-per-task=64\n"
                   "#SBATCH --mem=60G\n"
                   "#SBATCH --gpus=4\n"
                   "#SBATCH --time=100:00:00\n");
    assert_request("kubernetes", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "resources:\n"
                   "  requests:\n"
                   "    cpu: \"64\"\n"
                   "    memory: 60Gi\n"
                   "  limits:\n"
                   "    memory: 60Gi\n"
                   "    nvidia.com/gpu: 4\n");
    assert_request("metaflow", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "@timeout(minutes=6000)\n"
                   "@resources(cpu=64, memory=64425, gpu=4)\n"); /* 64424.5 MB */
    assert_request("nextflow", &needs,
                   "// GPU memory: 98304 MiB in all\n"
                   "cpus 64\n"
                   "memory 60.GB\n"
                   "time 6000.min\n"
                   "accelerator 4\n");
    assert_request("snakemake", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "threads: 64\n"
                   "resources:\n"
                   "    mem_mb=64425,\n"
                   "    runtime=6000,\n"
                   "    gpu=4\n");
    assert_request("docker", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "docker run --cpus=64 --memory=60g --gpus=4 IMAGE\n");
}

TEST(requests_for_batch_systems_contain_gibibytes_and_gpus)
{
    struct needs needs = make_needs(64, 60 * GIB, 4, 96 * GIB, 100.0 * 3600);

    assert_request("pbs", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "#PBS -l select=1:ncpus=64:mem=60gb:ngpus=4\n"
                   "#PBS -l walltime=100:00:00\n");
    assert_request("lsf", &needs,
                   "# GPU memory: 98304 MiB in all\n" LSF_NOTE "#BSUB -n 64\n"
                   "#BSUB -R \"span[ptile=64]\"\n"
                   "#BSUB -R \"rusage[mem=60GB]\"\n"
                   "#BSUB -M 60GB\n"
                   "#BSUB -gpu \"num=4\"\n"
                   "#BSUB -W 6000\n");
    assert_request("sge", &needs,
                   "# GPU memory: 98304 MiB in all\n" SGE_NOTE "#$ -pe smp 64\n"
                   "#$ -l h_vmem=960M\n"
                   "#$ -l gpu=4\n"
                   "#$ -l h_rt=100:00:00\n");
    assert_request("htcondor", &needs,
                   "# GPU memory: 98304 MiB in all\n"
                   "request_cpus = 64\n"
                   "request_memory = 61440MB\n"
                   "request_gpus = 4\n");
}

/* Eight ranks use 1.5 CPUs and half a GPU each; memory is given for the largest node. */
TEST(a_request_for_a_group_contains_nodes_and_tasks)
{
    static const char note[] =
        "# CPUs, memory and GPUs of each node; memory: as the largest node\n";
    struct needs needs = make_needs(12, 3 * GIB, 4, 0, 360);
    char expected[512];

    needs.nodes = 2;
    needs.node_ranks = 4;
    (void)snprintf(expected, sizeof(expected), "%s%s", note,
                   "#SBATCH --nodes=2\n"
                   "#SBATCH --ntasks-per-node=4\n"
                   "#SBATCH --cpus-per-task=2\n"
                   "#SBATCH --mem=3G\n"
                   "#SBATCH --gpus-per-node=2\n"
                   "#SBATCH --time=00:06:00\n");
    assert_request("slurm", &needs, expected);
    (void)snprintf(expected, sizeof(expected), "%s%s", note,
                   "#PBS -l select=2:ncpus=8:mpiprocs=4:mem=3gb:ngpus=2\n"
                   "#PBS -l walltime=00:06:00\n");
    assert_request("pbs", &needs, expected);
    (void)snprintf(expected, sizeof(expected), "%s%s", note,
                   LSF_NOTE "#BSUB -n 16\n"
                            "#BSUB -R \"span[ptile=8]\"\n"
                            "#BSUB -R \"rusage[mem=3GB]\"\n"
                            "#BSUB -M 3GB\n"
                            "#BSUB -gpu \"num=2\"\n"
                            "#BSUB -W 6\n");
    assert_request("lsf", &needs, expected);
    (void)snprintf(expected, sizeof(expected), "%s%s", note,
                   SGE_NOTE "#$ -pe mpi 16\n"
                            "#$ -l h_vmem=384M\n"
                            "#$ -l gpu=2\n"
                            "#$ -l h_rt=00:06:00\n");
    assert_request("sge", &needs, expected);
    (void)snprintf(expected, sizeof(expected), "%s%s", note,
                   "universe = parallel\n"
                   "machine_count = 2\n"
                   "request_cpus = 8\n"
                   "request_memory = 3072MB\n"
                   "request_gpus = 2\n");
    assert_request("htcondor", &needs, expected);
}

TEST(gpus_have_the_names_of_their_vendors)
{
    static const struct {
        const char *vendor, *kubernetes, *docker;
    } rows[] = {
        { "", "    nvidia.com/gpu: 1\n", "docker run --gpus=1 IMAGE\n" },
        { "nvidia", "    nvidia.com/gpu: 1\n", "docker run --gpus=1 IMAGE\n" },
        { "amd", "    amd.com/gpu: 1\n",
          "docker run --device=/dev/kfd --device=/dev/dri IMAGE\n" },
        { "intel", "    gpu.intel.com/i915: 1\n", "docker run --device=/dev/dri IMAGE\n" },
        { "x\nrm -rf", "    nvidia.com/gpu: 1\n", "docker run --gpus=1 IMAGE\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs = make_needs(0, 0, 1, 0, 0);
        char expected[100];

        (void)snprintf(needs.gpu_vendor, sizeof(needs.gpu_vendor), "%s", rows[i].vendor);
        (void)snprintf(expected, sizeof(expected), "resources:\n  limits:\n%s",
                       rows[i].kubernetes);
        assert_request("kubernetes", &needs, expected);
        assert_request("docker", &needs, rows[i].docker);
    }
}

TEST(an_unknown_value_is_written_as_a_comment)
{
    struct needs needs = make_needs(1, (double)NAN, 0, 0, (double)NAN);

    (void)snprintf(needs.memory_bytes.why, sizeof(needs.memory_bytes.why),
                   "no sample\nrm -rf / \x1b[2J");
    assert_request("sbatch", &needs,
                   "# memory is unknown: no sample\\nrm -rf / \\x1b[2J\n"
                   "# time is unknown: no run was given\n"
                   "#SBATCH --cpus-per-task=1\n");
    assert_request("nextflow", &needs,
                   "// memory is unknown: no sample\\nrm -rf / \\x1b[2J\n"
                   "// time is unknown: no run was given\n"
                   "cpus 1\n");
    assert_request("metaflow", &needs,
                   "# memory is unknown: no sample\\nrm -rf / \\x1b[2J\n"
                   "# time is unknown: no run was given\n"
                   "@resources(cpu=1)\n");
}

TEST(a_guess_is_marked_in_the_request)
{
    struct needs needs = make_needs(1, 2 * GIB, 0, 0, 60);

    needs.memory_bytes.is_guess = true;
    (void)snprintf(needs.memory_bytes.why, sizeof(needs.memory_bytes.why),
                   "a guess: it was killed");
    assert_request("docker", &needs,
                   "# memory: a guess: it was killed\n"
                   "docker run --cpus=1 --memory=2g IMAGE\n");
}

/* Even without any known figure, the syntax is valid. */
TEST(a_request_without_figures_contains_only_comments)
{
    for (size_t i = 0; request_get(i); i++) {
        struct needs needs =
            make_needs((double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN);
        struct buffer out = { 0 };
        const char *line;

        request_write(request_get(i), &needs, &out);
        line = out.text;
        for (int k = 0; k < NEEDS_FIELDS; k++, line = strchr(line, '\n') + 1)
            assert_memory_equal(line, request_get(i)->comment, strlen(request_get(i)->comment));
        assert_string_equal(
            line, strcmp(request_get(i)->name, "docker") == 0 ? "docker run IMAGE\n" : "");
        buffer_done(&out);
    }
}

/* The help of the option lists all formats. */
TEST(every_format_is_a_value_of_the_option)
{
    const struct option *option = NULL;
    struct buffer names = { 0 };

    for (size_t i = 0; i < settings_table.count; i++) {
        if (strcmp(settings_table.rows[i].name, "for") == 0)
            option = &settings_table.rows[i];
    }
    assert_non_null(option);
    for (size_t i = 0; request_get(i); i++)
        buffer_format(&names, "%s%s", i > 0 ? "|" : "", request_get(i)->name);
    assert_string_equal(option->value, names.text);
    assert_ptr_equal(request_find("slurm"), request_find("sbatch"));
    assert_ptr_equal(request_find("k8s"), request_find("kubernetes"));
    assert_null(request_find("torque"));
    assert_null(request_find(""));
    buffer_done(&names);
}
