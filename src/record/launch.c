/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - a table of launchers: the variables that identify each, and those that hold each
 * fact.
 *
 * The first row that matches the variables of a rank is its launcher. An inner launcher
 * precedes the one that starts it, since the variables of both are set: srun starts torchrun
 * and the daemons of mpirun, and SLURM_PROCID is the number of such a daemon, not of a rank.
 */
#include "record/launch.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "text/escape.h"
#include "text/find.h"

enum fact {
    LAUNCHER,
    SCHEDULER,
    JOB,
    STEP,
    RANK,
    RANKS,
    LOCAL_RANK,
    LOCAL_RANKS,
    NODE,
    NODES,
    NODE_NAME,
    ARRAY_JOB,
    ARRAY_INDEX,
    RESTART,
    JOB_NAME,
    CLUSTER,
    SUBMIT_DIRECTORY,
    FACTS,
};

#define TEXT(member) #member, FIELD_TEXT, offsetof(struct launch, member)
#define COUNT(member) #member, FIELD_COUNT, offsetof(struct launch, member)

static const struct field fields[FACTS] = {
    [LAUNCHER] = { TEXT(launcher) },
    [SCHEDULER] = { TEXT(scheduler) },
    [JOB] = { TEXT(job) },
    [STEP] = { TEXT(step) },
    [RANK] = { COUNT(rank) },
    [RANKS] = { COUNT(ranks) },
    [LOCAL_RANK] = { COUNT(local_rank) },
    [LOCAL_RANKS] = { COUNT(local_ranks) },
    [NODE] = { COUNT(node) },
    [NODES] = { COUNT(nodes) },
    [NODE_NAME] = { TEXT(node_name) },
    [ARRAY_JOB] = { TEXT(array_job) },
    [ARRAY_INDEX] = { COUNT(array_index) },
    [RESTART] = { COUNT(restart) },
    [JOB_NAME] = { TEXT(job_name) },
    [CLUSTER] = { TEXT(cluster) },
    [SUBMIT_DIRECTORY] = { TEXT(submit_directory) },
};

const struct field_table record_launch_fields = { fields, SUBMIT_DIRECTORY };

struct launcher {
    const char *name, *label; /* `label` is for people */
    const char *job[2];       /* set in every job of this scheduler; empty: not a scheduler */
    const char *rank[4];      /* set in every rank, besides the variable of RANK */
    uint64_t first;           /* the lowest rank, and the lowest index of an array */
    const char *variables[FACTS][2]; /* the first of the two that is set counts */
};

/* clang-format off: one fact per line */
static const struct launcher launchers[] = {
    /* Any program may use the names RANK and WORLD_SIZE: only an agent of torchrun sets all of
     * these. srun starts one agent per node, so all ranks have the step of srun and the name of
     * their node. */
    { "torchrun", "torchrun", .rank = { "RANK", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE" }, .variables = {
        [JOB] = { "TORCHELASTIC_RUN_ID" }, [STEP] = { "SLURM_STEP_ID" },
        [RANK] = { "RANK" }, [RANKS] = { "WORLD_SIZE" },
        [LOCAL_RANK] = { "LOCAL_RANK" }, [LOCAL_RANKS] = { "LOCAL_WORLD_SIZE" },
        [NODE] = { "GROUP_RANK" }, [NODES] = { "GROUP_WORLD_SIZE" },
        [NODE_NAME] = { "SLURMD_NODENAME" },
        [RESTART] = { "TORCHELASTIC_RESTART_COUNT" } } },
    /* OMPI_COMM_WORLD_NODE_RANK is not a node: it is a local rank. */
    { "open-mpi", "Open MPI", .variables = {
        [JOB] = { "PMIX_NAMESPACE" },
        [RANK] = { "OMPI_COMM_WORLD_RANK" }, [RANKS] = { "OMPI_COMM_WORLD_SIZE" },
        [LOCAL_RANK] = { "OMPI_COMM_WORLD_LOCAL_RANK" },
        [LOCAL_RANKS] = { "OMPI_COMM_WORLD_LOCAL_SIZE" } } },
    /* Flux sets PMI_RANK too, so it precedes MPICH. */
    { "flux", "Flux", .variables = {
        [JOB] = { "FLUX_JOB_ID" },
        [RANK] = { "FLUX_TASK_RANK" }, [RANKS] = { "FLUX_JOB_SIZE" },
        [LOCAL_RANK] = { "FLUX_TASK_LOCAL_ID" }, [NODES] = { "FLUX_JOB_NNODES" } } },
    { "pals", "PALS", .variables = {
        [JOB] = { "PALS_APID" },
        [RANK] = { "PALS_RANKID" }, [RANKS] = { "PMI_SIZE" },
        [LOCAL_RANK] = { "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK" }, [LOCAL_RANKS] = { "PMI_LOCAL_SIZE" },
        [NODE] = { "PALS_NODEID" } } },
    /* Hydra, of MPICH and Intel MPI. In a Slurm job its proxies are the tasks of one step, and
     * SLURMD_NODENAME of the ranks is the node of mpiexec. The PMI of srun itself is below. */
    { "mpich", "MPICH", .rank = { "MPI_LOCALRANKID" }, .variables = {
        [JOB] = { "PMI_JOBID" }, [STEP] = { "SLURM_STEP_ID" },
        [RANK] = { "PMI_RANK" }, [RANKS] = { "PMI_SIZE" },
        [LOCAL_RANK] = { "MPI_LOCALRANKID" }, [LOCAL_RANKS] = { "MPI_LOCALNRANKS" } } },
    { "mpich", "MPICH", .variables = { /* MVAPICH2 */
        [RANK] = { "MV2_COMM_WORLD_RANK" }, [RANKS] = { "MV2_COMM_WORLD_SIZE" },
        [LOCAL_RANK] = { "MV2_COMM_WORLD_LOCAL_RANK" },
        [LOCAL_RANKS] = { "MV2_COMM_WORLD_LOCAL_SIZE" } } },
    /* A batch script has SLURM_PROCID 0 and SLURM_NTASKS, but no step: it is not a rank. */
    { "slurm", "Slurm", .job = { "SLURM_JOB_ID" }, .rank = { "SLURM_JOB_ID", "SLURM_STEP_ID" }, .variables = {
        [JOB] = { "SLURM_JOB_ID" }, [STEP] = { "SLURM_STEP_ID" },
        [RANK] = { "SLURM_PROCID" }, [RANKS] = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" },
        [LOCAL_RANK] = { "SLURM_LOCALID" },
        [NODE] = { "SLURM_NODEID" }, [NODES] = { "SLURM_STEP_NUM_NODES", "SLURM_NNODES" },
        [NODE_NAME] = { "SLURMD_NODENAME" },
        [ARRAY_JOB] = { "SLURM_ARRAY_JOB_ID" }, [ARRAY_INDEX] = { "SLURM_ARRAY_TASK_ID" },
        [RESTART] = { "SLURM_RESTART_COUNT" }, [JOB_NAME] = { "SLURM_JOB_NAME" },
        [CLUSTER] = { "SLURM_CLUSTER_NAME" }, [SUBMIT_DIRECTORY] = { "SLURM_SUBMIT_DIR" } } },
    { "pmix", "PMIx", .variables = { [JOB] = { "PMIX_NAMESPACE" }, [RANK] = { "PMIX_RANK" } } },
    { "mpich", "MPICH", .variables = {
        [JOB] = { "PMI_JOBID" }, [RANK] = { "PMI_RANK" }, [RANKS] = { "PMI_SIZE" } } },
    { "mpich", "MPICH", .variables = { [RANK] = { "ALPS_APP_PE" } } },
    /* Tasks are numbered from 1. LSB_JOBINDEX is 0 in a job without an array. */
    { "lsf", "LSF", .job = { "LSB_JOBID" }, .rank = { "LSB_JOBID" }, .first = 1, .variables = {
        [JOB] = { "LSB_JOBID" },
        [RANK] = { "LSF_PM_TASKID" }, [RANKS] = { "LSB_DJOB_NUMPROC" },
        [ARRAY_JOB] = { "LSB_JOBID" }, [ARRAY_INDEX] = { "LSB_JOBINDEX" },
        [JOB_NAME] = { "LSB_JOBNAME" }, [SUBMIT_DIRECTORY] = { "LS_SUBCWD" } } },
    /* PBS_TASKNUM numbers the tasks of a node on some sites: it is not a rank. */
    { "pbs", "PBS", .job = { "PBS_JOBID" }, .variables = {
        [JOB] = { "PBS_JOBID" },
        [NODE] = { "PBS_NODENUM" }, [NODES] = { "PBS_NUM_NODES" },
        [ARRAY_JOB] = { "PBS_ARRAY_ID", "PBS_JOBID" }, [ARRAY_INDEX] = { "PBS_ARRAY_INDEX", "PBS_ARRAYID" },
        [JOB_NAME] = { "PBS_JOBNAME" }, [SUBMIT_DIRECTORY] = { "PBS_O_WORKDIR" } } },
    /* Any program may use the name JOB_ID. SGE_TASK_ID is "undefined" without an array. */
    { "sge", "SGE", .job = { "SGE_ROOT", "JOB_ID" }, .first = 1, .variables = {
        [JOB] = { "JOB_ID" }, [NODES] = { "NHOSTS" },
        [ARRAY_JOB] = { "JOB_ID" }, [ARRAY_INDEX] = { "SGE_TASK_ID" },
        [RESTART] = { "RESTARTED" }, [JOB_NAME] = { "JOB_NAME" },
        [CLUSTER] = { "SGE_CLUSTER_NAME" }, [SUBMIT_DIRECTORY] = { "SGE_O_WORKDIR" } } },
    { "htcondor", "HTCondor", .job = { "_CONDOR_SLOT" }, .rank = { "_CONDOR_SLOT" }, .variables = {
        [RANK] = { "_CONDOR_PROCNO" }, [RANKS] = { "_CONDOR_NPROCS" },
        [SUBMIT_DIRECTORY] = { "_CONDOR_JOB_IWD" } } },
    /* Indexed jobs and Volcano; below, the training operator of Kubeflow. */
    { "kubernetes", "Kubernetes", .rank = { "KUBERNETES_SERVICE_HOST" }, .variables = {
        [RANK] = { "JOB_COMPLETION_INDEX", "VC_TASK_INDEX" }, [NODE_NAME] = { "HOSTNAME" } } },
    { "kubernetes", "Kubernetes", .rank = { "KUBERNETES_SERVICE_HOST", "MASTER_ADDR", "WORLD_SIZE" }, .variables = {
        [RANK] = { "RANK" }, [RANKS] = { "WORLD_SIZE" }, [NODE_NAME] = { "HOSTNAME" } } },
};
/* clang-format on */

/* Step IDs from here on are not steps of srun: batch script, interactive shell, external
 * processes. */
static const uint64_t SLURM_SPECIAL_STEPS = 0xfffffff0u;

static uint64_t parse_number(const char *text)
{
    uint64_t value;

    return text && parse_whole_u64(text, &value) == 0 && value <= UINT32_MAX ? value : UNKNOWN;
}

/* Returns the value of a variable; NULL if the variable is not set or empty, or if it is not an
 * ID: torchrun without an ID calls its run "none". */
static const char *get_text(environment_get *get, const char *name)
{
    const char *text = name ? get(name) : NULL;

    if (!text || !*text || strcmp(text, "none") == 0)
        return NULL;
    return strcmp(name, "SLURM_STEP_ID") == 0 && parse_number(text) >= SLURM_SPECIAL_STEPS
               ? NULL
               : text;
}

static const char *get_fact(const struct launcher *launcher, enum fact fact,
                            environment_get *get)
{
    const char *text = get_text(get, launcher->variables[fact][0]);

    return text ? text : get_text(get, launcher->variables[fact][1]);
}

static bool are_set(const char *const *names, size_t count, environment_get *get)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i] && !get_text(get, names[i]))
            return false;
    }
    return true;
}

static bool has_rank(const struct launcher *launcher, environment_get *get)
{
    uint64_t rank = parse_number(get_fact(launcher, RANK, get));

    return is_known(rank) && rank >= launcher->first &&
           are_set(launcher->rank, ARRAY_SIZE(launcher->rank), get);
}

/* Does not change a fact that is already known. */
static void read_fact(struct launch *launch, const struct launcher *launcher, enum fact fact,
                      environment_get *get)
{
    void *at = (char *)launch + fields[fact].offset;
    const char *text = get_fact(launcher, fact, get);
    uint64_t number = parse_number(text);

    if (fields[fact].kind == FIELD_TEXT) {
        const char **known = at;

        *known = *known ? *known : text;
        return;
    }
    if ((fact == RANK || fact == ARRAY_INDEX) && number < launcher->first)
        number = UNKNOWN;
    if (fact == RANK && is_known(number))
        number -= launcher->first;
    *(uint64_t *)at = first_known(*(uint64_t *)at, number);
}

/* Returns the number of tasks of a node. The list "2(x3),1" means three nodes with two tasks
 * each, and one with one. */
static uint64_t count_tasks(const char *list, uint64_t node)
{
    uint64_t tasks, repeat;

    while (list && is_known(node) && parse_u64(&list, &tasks) == 0) {
        repeat = 1;
        if (strncmp(list, "(x", 2) == 0) {
            list += 2;
            if (parse_u64(&list, &repeat) < 0 || *list++ != ')')
                break;
        }
        if (node < repeat)
            return tasks;
        node -= repeat;
        if (*list++ != ',')
            break;
    }
    return UNKNOWN;
}

/* An agent of torchrun may give each of its processes the local rank 0, with one GPU each.
 * Ranks are numbered node by node. */
static void number_local_ranks(struct launch *launch)
{
    uint64_t first = launch->node * launch->local_ranks; /* numbers below 2^32 */

    if (launch->local_rank == 0 && is_known(launch->node) && is_known(launch->nodes) &&
        launch->ranks == launch->nodes * launch->local_ranks && launch->rank >= first &&
        launch->rank - first < launch->local_ranks)
        launch->local_rank = launch->rank - first;
}

static void read_rank(struct launch *launch, const struct launcher *launcher,
                      environment_get *get)
{
    for (enum fact fact = JOB; fact < FACTS; fact++)
        read_fact(launch, launcher, fact, get);
    launch->launcher = launcher->name;
    if (strcmp(launcher->name, "torchrun") == 0)
        number_local_ranks(launch);
    if (strcmp(launcher->name, "slurm") == 0)
        launch->local_ranks = count_tasks(get("SLURM_STEP_TASKS_PER_NODE"), launch->node);
}

/* The job is the scheduler's; the launcher's own job ID becomes the step. Nodes and tasks of
 * the scheduler are ignored for a rank: they may describe the launcher's daemons, or the node
 * where the launcher was started. */
static void read_job(struct launch *launch, const struct launcher *launcher,
                     environment_get *get)
{
    bool is_rank = launch->launcher != NULL;

    launch->step = launch->job ? launch->job : launch->step;
    launch->job = NULL;
    for (enum fact fact = JOB; fact < FACTS; fact++) {
        bool is_of_step = fact >= STEP && fact <= LOCAL_RANKS;
        bool is_node = fact >= NODE && fact <= NODE_NAME;

        if (!is_of_step && !(is_node && is_rank))
            read_fact(launch, launcher, fact, get);
    }
}

void launch_read(struct launch *launch, environment_get *get)
{
    const struct launcher *of_rank = NULL, *of_job = NULL;

    *launch = (struct launch){ 0 };
    field_table_clear(&record_launch_fields, launch);
    for (size_t i = ARRAY_SIZE(launchers); i-- > 0;) {
        const struct launcher *launcher = &launchers[i];

        if (has_rank(launcher, get))
            of_rank = launcher;
        if (launcher->job[0] && are_set(launcher->job, ARRAY_SIZE(launcher->job), get))
            of_job = launcher;
    }
    if (of_rank)
        read_rank(launch, of_rank, get);
    if (of_job && of_job != of_rank)
        read_job(launch, of_job, get);
    launch->scheduler = of_job ? of_job->name : NULL;
    if (!is_known(launch->array_index))
        launch->array_job = NULL;
}

/* Returns the address of a text that is known; otherwise NULL. */
static const char **known_text(struct launch *launch, size_t fact)
{
    const char **text = (const char **)(void *)((char *)launch + fields[fact].offset);

    return fields[fact].kind == FIELD_TEXT && *text ? text : NULL;
}

struct launch *launch_copy(struct record *record, const struct launch *from)
{
    struct launch *copy = record_alloc(record, 1, sizeof(*copy));

    if (!copy)
        return NULL;
    *copy = *from;
    for (size_t i = 0; i < FACTS; i++) {
        const char **text = known_text(copy, i);

        if (text)
            *text = record_text(record, *text);
    }
    return copy;
}

int launch_keep(struct launch *launch, char **ret)
{
    size_t size = 0, used = 0;
    char *block;

    for (size_t i = 0; i < FACTS; i++) {
        const char **text = known_text(launch, i);

        size += text ? strlen(*text) + 1 : 0;
    }
    block = malloc(size + 1);
    if (!block)
        return -ENOMEM;
    for (size_t i = 0; i < FACTS; i++) {
        const char **text = known_text(launch, i);

        if (text) {
            size = strlen(*text) + 1;
            *text = memcpy(block + used, *text, size);
            used += size;
        }
    }
    *ret = block;
    return 0;
}

static const char *find_label(const char *name)
{
    const struct launcher *found = FIND_ROW(launchers, name, name);

    return found ? found->label : name;
}

static void add_escaped(const char *before, const char *text, struct buffer *out)
{
    if (!text)
        return;
    buffer_add_text(out, before);
    escape_terminal(text, out);
}

void launch_describe(const struct launch *launch, const char *host, struct buffer *out)
{
    const char *name = launch->scheduler ? launch->scheduler : launch->launcher;
    const char *node = launch->node_name ? launch->node_name : host;

    if (is_known(launch->rank)) {
        buffer_format(out, "Rank %llu", (unsigned long long)launch->rank);
        if (is_known(launch->ranks))
            buffer_format(out, " of %llu", (unsigned long long)launch->ranks);
        add_escaped(" on ", node, out);
        node = NULL;
    } else if (is_known(launch->ranks)) { /* the record is of a group */
        buffer_format(out, "%llu ranks", (unsigned long long)launch->ranks);
        if (is_known(launch->nodes))
            buffer_format(out, " on %llu node%s", (unsigned long long)launch->nodes,
                          launch->nodes == 1 ? "" : "s");
        node = NULL;
    }
    add_escaped(out->length > 0 ? ", " : "", name ? find_label(name) : "launcher", out);
    add_escaped(" job ", launch->job, out);
    add_escaped(".", launch->step, out);
    add_escaped(" on ", node, out);
}
