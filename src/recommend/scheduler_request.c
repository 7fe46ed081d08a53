/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_request.c - the formats.
 *
 * Units differ. Slurm, PBS, LSF, SGE, HTCondor, docker and Nextflow write M or MB and mean MiB
 * (in SGE, a lower-case m means 10^6); Kubernetes has Mi. Metaflow passes its MB on to
 * Kubernetes as 10^6 bytes, and mem_mb of Snakemake is in 10^6 bytes too: these are rounded up.
 *
 * The needs of a group are CPUs, GPUs and time of all ranks together, and the memory of the
 * largest node.
 *
 * Unknown values are left out. The only data from a report are numbers, and reasons, which are
 * escaped.
 */
#include "recommend/needs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "text/escape.h"
#include "text/find.h"

static bool is_wanted(const struct need *need)
{
    return need->value > 0; /* false for NaN */
}

/* Rounds up; 0: unknown. */
static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)ceil(value) : 0; /* 0 for NaN */
}

/* A run without ranks is one task on one node. */
static uint64_t nodes_of(const struct needs *needs)
{
    return needs->nodes > 1 ? needs->nodes : 1;
}

static uint64_t node_tasks(const struct needs *needs)
{
    return needs->node_ranks > 1 ? needs->node_ranks : 1;
}

static uint64_t task_cpus(const struct needs *needs)
{
    return whole(needs->cpus.value / (double)(nodes_of(needs) * node_tasks(needs)));
}

static uint64_t node_cpus(const struct needs *needs)
{
    return node_tasks(needs) * task_cpus(needs);
}

static uint64_t node_gpus(const struct needs *needs)
{
    return whole(needs->gpus.value / (double)nodes_of(needs));
}

static uint64_t minutes_of(const struct needs *needs)
{
    return whole(needs->seconds.value / 60);
}

/* Adds the time, as in "NAME01:30:00". */
static void add_time(const char *name, const struct needs *needs, struct buffer *out)
{
    if (is_wanted(&needs->seconds))
        buffer_format(out, "%s%02" PRIu64 ":%02" PRIu64 ":00\n", name, minutes_of(needs) / 60,
                      minutes_of(needs) % 60);
}

static uint64_t megabytes_of(const struct needs *needs)
{
    return whole(needs->memory_bytes.value / 1e6);
}

static uint64_t mebibytes_of(const struct needs *needs)
{
    return whole(needs->memory_bytes.value / 1048576);
}

/* Adds a number between two texts, if its need is known and not 0. */
static void add(const struct need *need, const char *before, uint64_t number, const char *after,
                struct buffer *out)
{
    if (is_wanted(need))
        buffer_format(out, "%s%" PRIu64 "%s", before, number, after);
}

/* Adds the memory between two texts: in GiB if it is a whole number of GiB, otherwise in
 * MiB. */
static void add_memory(const struct needs *needs, const char *before, const char *mib_unit,
                       const char *gib_unit, struct buffer *out)
{
    uint64_t mib = mebibytes_of(needs);

    if (mib % 1024 == 0)
        add(&needs->memory_bytes, before, mib / 1024, gib_unit, out);
    else
        add(&needs->memory_bytes, before, mib, mib_unit, out);
}

/* ---- GPUs ----------------------------------------------------------------- */

struct vendor {
    const char *name, *kubernetes, *docker;
};

/* docker is given a number of NVIDIA GPUs, but the device files of other GPUs. */
static const struct vendor *vendor_of(const struct needs *needs)
{
    static const struct vendor vendors[] = {
        { "nvidia", "nvidia.com/gpu", NULL },
        { "amd", "amd.com/gpu", " --device=/dev/kfd --device=/dev/dri" },
        { "intel", "gpu.intel.com/i915", " --device=/dev/dri" },
    };

    const struct vendor *found = FIND_ROW(vendors, name, needs->gpu_vendor);

    return found ? found : &vendors[0];
}

/* ---- formats -------------------------------------------------------------- */

static void write_sbatch(const struct needs *needs, struct buffer *out)
{
    if (needs->nodes > 0)
        buffer_format(out,
                      "#SBATCH --nodes=%" PRIu64 "\n#SBATCH --ntasks-per-node=%" PRIu64 "\n",
                      nodes_of(needs), node_tasks(needs));
    add(&needs->cpus, "#SBATCH --cpus-per-task=", task_cpus(needs), "\n", out);
    add_memory(needs, "#SBATCH --mem=", "M\n", "G\n", out);
    if (is_wanted(&needs->gpus))
        buffer_format(out, "#SBATCH --gpus%s=%" PRIu64 "\n",
                      needs->nodes > 0 ? "-per-node" : "", node_gpus(needs));
    add_time("#SBATCH --time=", needs, out);
}

/* A chunk of `select` is a node. */
static void write_pbs(const struct needs *needs, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer chunk = { 0 };

    add(&needs->cpus, ":ncpus=", node_cpus(needs), "", &chunk);
    if (needs->nodes > 0)
        buffer_format(&chunk, ":mpiprocs=%" PRIu64, node_tasks(needs));
    add_memory(needs, ":mem=", "mb", "gb", &chunk);
    add(&needs->gpus, ":ngpus=", node_gpus(needs), "", &chunk);
    if (chunk.length > 0)
        buffer_format(out, "#PBS -l select=%" PRIu64 "%s\n", nodes_of(needs), chunk.text);
    add_time("#PBS -l walltime=", needs, out);
}

/* The unit of memory is always written: the default, LSF_UNIT_FOR_LIMITS, depends on the
 * site. */
static void write_lsf(const struct needs *needs, struct buffer *out)
{
    if (is_wanted(&needs->memory_bytes))
        buffer_add_text(out, "# mem is that of a host: if LSF reserves it per task, divide it "
                             "by the tasks of a host\n");
    if (is_wanted(&needs->cpus))
        buffer_format(out, "#BSUB -n %" PRIu64 "\n#BSUB -R \"span[ptile=%" PRIu64 "]\"\n",
                      nodes_of(needs) * node_cpus(needs), node_cpus(needs));
    add_memory(needs, "#BSUB -R \"rusage[mem=", "MB]\"\n", "GB]\"\n", out);
    add_memory(needs, "#BSUB -M ", "MB\n", "GB\n", out);
    add(&needs->gpus, "#BSUB -gpu \"num=", node_gpus(needs), "\"\n", out);
    add(&needs->seconds, "#BSUB -W ", minutes_of(needs), "\n", out);
}

/* Memory is requested per slot. */
static void write_sge(const struct needs *needs, struct buffer *out)
{
    uint64_t cpus = node_cpus(needs), slots = cpus > 0 ? cpus : 1;

    if (is_wanted(&needs->memory_bytes))
        buffer_add_text(out, "# h_vmem is per slot and limits virtual memory; the names of -pe "
                             "and gpu depend on the site\n");
    if (nodes_of(needs) * slots > 1)
        buffer_format(out, "#$ -pe %s %" PRIu64 "\n", needs->nodes > 1 ? "mpi" : "smp",
                      nodes_of(needs) * slots);
    add(&needs->memory_bytes, "#$ -l h_vmem=", (mebibytes_of(needs) + slots - 1) / slots, "M\n",
        out);
    add(&needs->gpus, "#$ -l gpu=", node_gpus(needs), "\n", out);
    add_time("#$ -l h_rt=", needs, out);
}

/* HTCondor has no way to request time. */
static void write_htcondor(const struct needs *needs, struct buffer *out)
{
    if (needs->nodes > 1)
        buffer_format(out, "universe = parallel\nmachine_count = %" PRIu64 "\n", needs->nodes);
    add(&needs->cpus, "request_cpus = ", node_cpus(needs), "\n", out);
    add(&needs->memory_bytes, "request_memory = ", mebibytes_of(needs), "MB\n", out);
    add(&needs->gpus, "request_gpus = ", node_gpus(needs), "\n", out);
}

/* Writes no CPU limit: it would throttle the job while CPUs are idle. */
static void write_kubernetes(const struct needs *needs, struct buffer *out)
{
    bool has_memory = is_wanted(&needs->memory_bytes), has_gpus = is_wanted(&needs->gpus);

    if (!is_wanted(&needs->cpus) && !has_memory && !has_gpus)
        return;
    buffer_add_text(out, "resources:\n");
    if (is_wanted(&needs->cpus) || has_memory)
        buffer_add_text(out, "  requests:\n");
    add(&needs->cpus, "    cpu: \"", node_cpus(needs), "\"\n", out);
    for (int i = 0; has_memory && i < 2; i++) {
        if (i == 1)
            buffer_add_text(out, "  limits:\n");
        add_memory(needs, "    memory: ", "Mi\n", "Gi\n", out);
    }
    if (has_gpus && !has_memory)
        buffer_add_text(out, "  limits:\n");
    if (has_gpus)
        buffer_format(out, "    %s: %" PRIu64 "\n", vendor_of(needs)->kubernetes,
                      node_gpus(needs));
}

/* Adds "name=VALUE" to a list, if the need is known and not 0. */
static void add_pair(const struct need *need, const char *separator, const char *name,
                     uint64_t value, struct buffer *out)
{
    if (!is_wanted(need))
        return;
    if (out->length > 0)
        buffer_add_text(out, separator);
    buffer_format(out, "%s=%" PRIu64, name, value);
}

static void write_metaflow(const struct needs *needs, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer pairs = { 0 };

    add_pair(&needs->cpus, ", ", "cpu", node_cpus(needs), &pairs);
    add_pair(&needs->memory_bytes, ", ", "memory", megabytes_of(needs), &pairs);
    add_pair(&needs->gpus, ", ", "gpu", node_gpus(needs), &pairs);
    add(&needs->seconds, "@timeout(minutes=", minutes_of(needs), ")\n", out);
    if (pairs.length > 0)
        buffer_format(out, "@resources(%s)\n", pairs.text);
}

static void write_nextflow(const struct needs *needs, struct buffer *out)
{
    add(&needs->cpus, "cpus ", node_cpus(needs), "\n", out);
    add_memory(needs, "memory ", ".MB\n", ".GB\n", out);
    add(&needs->seconds, "time ", minutes_of(needs), ".min\n", out);
    add(&needs->gpus, "accelerator ", node_gpus(needs), "\n", out);
}

static void write_snakemake(const struct needs *needs, struct buffer *out)
{
    static const char separator[] = ",\n    ";
    CLEANUP(buffer_done) struct buffer pairs = { 0 };

    add_pair(&needs->memory_bytes, separator, "mem_mb", megabytes_of(needs), &pairs);
    add_pair(&needs->seconds, separator, "runtime", minutes_of(needs), &pairs);
    add_pair(&needs->gpus, separator, "gpu", node_gpus(needs), &pairs);
    add(&needs->cpus, "threads: ", node_cpus(needs), "\n", out);
    if (pairs.length > 0)
        buffer_format(out, "resources:\n    %s\n", pairs.text);
}

static void write_docker(const struct needs *needs, struct buffer *out)
{
    const struct vendor *vendor = vendor_of(needs);

    buffer_add_text(out, "docker run");
    add(&needs->cpus, " --cpus=", node_cpus(needs), "", out);
    add_memory(needs, " --memory=", "m", "g", out);
    if (is_wanted(&needs->gpus) && vendor->docker)
        escape_unsafe(vendor->docker, out);
    else if (is_wanted(&needs->gpus))
        buffer_format(out, " --gpus=%" PRIu64, node_gpus(needs));
    buffer_add_text(out, " IMAGE\n");
}

static const struct request_format formats[] = {
    { "sbatch", "Slurm", "#", write_sbatch },
    { "kubernetes", "Kubernetes", "#", write_kubernetes },
    { "metaflow", "Metaflow", "#", write_metaflow },
    { "nextflow", "Nextflow", "//", write_nextflow },
    { "snakemake", "Snakemake", "#", write_snakemake },
    { "docker", "Docker", "#", write_docker },
    { "pbs", "PBS", "#", write_pbs },
    { "lsf", "LSF", "#", write_lsf },
    { "sge", "SGE", "#", write_sge },
    { "htcondor", "HTCondor", "#", write_htcondor },
};

const struct request_format *request_get(size_t index)
{
    return index < ARRAY_SIZE(formats) ? &formats[index] : NULL;
}

const struct request_format *request_find(const char *name)
{
    if (strcmp(name, "slurm") == 0)
        name = "sbatch";
    else if (strcmp(name, "k8s") == 0)
        name = "kubernetes";
    return FIND_ROW(formats, name, name);
}

/* ---- comments: values that the syntax cannot express -------------------------------------- */

static void add_note(const struct request_format *format, const char *note, struct buffer *out)
{
    escape_unsafe(format->comment, out);
    buffer_add_text(out, " ");
    escape_unsafe(note, out);
    buffer_add_text(out, "\n");
}

static void add_comment(const struct request_format *format, const char *name,
                        const struct need *need, struct buffer *out)
{
    if (!isnan(need->value) && !need->is_guess)
        return;
    escape_unsafe(format->comment, out);
    buffer_format(out, " %s%s: ", name, isnan(need->value) ? " is unknown" : "");
    escape_terminal(need->why, out);
    buffer_add_text(out, "\n");
}

void request_write(const struct request_format *format, const struct needs *needs,
                   struct buffer *out)
{
    static const char *const names[NEEDS_FIELDS] = { "CPUs", "memory", "GPUs", "GPU memory",
                                                     "time" };

    if (*needs->note)
        add_note(format, needs->note, out);
    for (size_t i = 0; i < NEEDS_FIELDS; i++)
        add_comment(format, names[i], &needs->fields[i], out);
    if (is_wanted(&needs->gpus) && is_wanted(&needs->vram_bytes)) {
        escape_unsafe(format->comment, out);
        buffer_format(out, " GPU memory: %" PRIu64 " MiB in all\n",
                      whole(needs->vram_bytes.value / 1048576));
    }
    if (needs->nodes > 1)
        add_note(format, "CPUs, memory and GPUs of each node; memory: as the largest node",
                 out);
    format->write(needs, out);
}
