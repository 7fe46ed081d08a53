/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "record/launch.h"
#include "unit_test.h"

/* The environment: "NAME=value" strings, then NULL. */
static const char *const *variables;

static const char *fake_get(const char *name)
{
    for (size_t i = 0; variables[i]; i++) {
        size_t length = strlen(name);

        if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=')
            return variables[i] + length + 1;
    }
    return NULL;
}

static struct launch read_launch(const char *const *environment)
{
    struct launch launch;

    variables = environment;
    memset(&launch, 'x', sizeof(launch));
    launch_read(&launch, fake_get);
    return launch;
}

#define READ(...) read_launch((const char *const[]){ __VA_ARGS__, NULL })

static void assert_text(const char *text, const char *expected)
{
    if (!expected)
        assert_null(text);
    else
        assert_string_equal(text, expected);
}

static void assert_job(struct launch launch, const char *scheduler, const char *job,
                       const char *step)
{
    assert_text(launch.scheduler, scheduler);
    assert_text(launch.job, job);
    assert_text(launch.step, step);
}

static void assert_rank(struct launch launch, const char *launcher, uint64_t rank,
                        uint64_t ranks, uint64_t local_rank, uint64_t local_ranks)
{
    assert_text(launch.launcher, launcher);
    assert_true(launch.rank == rank);
    assert_true(launch.ranks == ranks);
    assert_true(launch.local_rank == local_rank);
    assert_true(launch.local_ranks == local_ranks);
}

static void assert_node(struct launch launch, uint64_t node, uint64_t nodes, const char *name)
{
    assert_true(launch.node == node);
    assert_true(launch.nodes == nodes);
    assert_text(launch.node_name, name);
}

TEST(the_launch_is_unknown_without_a_launcher)
{
    struct launch launch = READ("HOME=/root", "HOSTNAME=n1", "SGE_ROOT=/opt/sge");

    assert_false(launch_is_known(&launch));
    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_node(launch, UNKNOWN, UNKNOWN, NULL);
    assert_job(launch, NULL, NULL, NULL);
    assert_null(launch.submit_directory);
}

#define SLURM_JOB                                                            \
    "SLURM_JOB_ID=1234", "SLURM_JOB_NAME=train", "SLURM_CLUSTER_NAME=alps",  \
        "SLURM_SUBMIT_DIR=/home/a", "SLURMD_NODENAME=n03", "SLURM_PROCID=0", \
        "SLURM_NTASKS=16", "SLURM_NNODES=4", "SLURM_NODEID=0", "SLURM_LOCALID=0"

TEST(a_task_of_slurm_is_a_rank)
{
    struct launch launch = READ(
        "SLURM_JOB_ID=1234", "SLURM_STEP_ID=0", "SLURM_PROCID=9", "SLURM_STEP_NUM_TASKS=10",
        "SLURM_NTASKS=16", "SLURM_LOCALID=1", "SLURM_NODEID=3", "SLURM_STEP_NUM_NODES=4",
        "SLURM_NNODES=8", "SLURMD_NODENAME=n03", "SLURM_STEP_TASKS_PER_NODE=3(x2),2(x2)",
        "SLURM_ARRAY_JOB_ID=1200", "SLURM_ARRAY_TASK_ID=0", "SLURM_RESTART_COUNT=2",
        "SLURM_JOB_NAME=train", "SLURM_CLUSTER_NAME=alps", "SLURM_SUBMIT_DIR=/home/a",
        "PMIX_RANK=9", "PMIX_NAMESPACE=slurm.pmix.1234.0", "PMI_RANK=9", "PMI_SIZE=10");

    assert_job(launch, "slurm", "1234", "0");
    assert_rank(launch, "slurm", 9, 10, 1, 2);
    assert_node(launch, 3, 4, "n03");
    assert_string_equal(launch.array_job, "1200");
    assert_true(launch.array_index == 0);
    assert_true(launch.restart == 2);
    assert_string_equal(launch.job_name, "train");
    assert_string_equal(launch.cluster, "alps");
    assert_string_equal(launch.submit_directory, "/home/a");

    launch = READ("SLURM_JOB_ID=1", "SLURM_STEP_ID=7", "SLURM_PROCID=0", "SLURM_NTASKS=2",
                  "SLURM_NNODES=1");
    assert_rank(launch, "slurm", 0, 2, UNKNOWN, UNKNOWN);
    assert_node(launch, UNKNOWN, 1, NULL);
}

TEST(a_batch_script_of_slurm_is_not_a_rank)
{
    struct launch launch = READ(SLURM_JOB);

    assert_job(launch, "slurm", "1234", NULL);
    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_node(launch, 0, 4, "n03");

    /* The step IDs that Slurm gives to the batch script and to the shell started by salloc. */
    assert_rank(READ(SLURM_JOB, "SLURM_STEP_ID=4294967291"), NULL, UNKNOWN, UNKNOWN, UNKNOWN,
                UNKNOWN);
    launch = READ(SLURM_JOB, "SLURM_STEP_ID=4294967290");
    assert_job(launch, "slurm", "1234", NULL);
    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
}

TEST(tasks_of_a_slurm_node_are_counted)
{
    static const struct {
        const char *list, *node;
        uint64_t tasks;
    } cases[] = {
        { "4", "0", 4 },          { "4", "1", UNKNOWN },       { "2(x3),1", "2", 2 },
        { "2(x3),1", "3", 1 },    { "2(x3),1", "4", UNKNOWN }, { "2(x", "0", UNKNOWN },
        { "2(x3", "0", UNKNOWN }, { "", "0", UNKNOWN },        { "x", "0", UNKNOWN },
        { "1,,1", "1", UNKNOWN },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char list[64] = "SLURM_STEP_TASKS_PER_NODE=", node[64] = "SLURM_NODEID=";
        struct launch launch;

        strncat(list, cases[i].list, 20);
        strncat(node, cases[i].node, 20);
        launch = READ("SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_PROCID=0", list, node);
        assert_true(launch.local_ranks == cases[i].tasks);
    }
}

#define OPEN_MPI                                                          \
    "PMIX_NAMESPACE=3473145857", "PMIX_RANK=5", "OMPI_COMM_WORLD_RANK=5", \
        "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",         \
        "OMPI_COMM_WORLD_LOCAL_SIZE=4", "OMPI_COMM_WORLD_NODE_RANK=1"

TEST(the_rank_comes_from_open_mpi_and_the_job_from_the_scheduler)
{
    struct launch launch = READ(OPEN_MPI);

    assert_job(launch, NULL, "3473145857", NULL);
    assert_rank(launch, "open-mpi", 5, 8, 1, 4);
    assert_node(launch, UNKNOWN, UNKNOWN, NULL); /* NODE_RANK is not the number of the node */

    launch = READ(OPEN_MPI, "PBS_JOBID=77.head", "PBS_TASKNUM=3", "PBS_NODENUM=0",
                  "PBS_O_WORKDIR=/work");
    assert_job(launch, "pbs", "77.head", "3473145857");
    assert_rank(launch, "open-mpi", 5, 8, 1, 4);
    assert_node(launch, UNKNOWN, UNKNOWN, NULL);
    assert_string_equal(launch.submit_directory, "/work");

    launch = READ(OPEN_MPI, "LSB_JOBID=88", "LSF_PM_TASKID=2", "LSB_DJOB_NUMPROC=2");
    assert_job(launch, "lsf", "88", "3473145857");
    assert_rank(launch, "open-mpi", 5, 8, 1, 4);

    /* On other nodes, mpirun's daemons are tasks of a Slurm step, numbered by SLURM_PROCID. */
    launch = READ(OPEN_MPI, SLURM_JOB, "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=3");
    assert_job(launch, "slurm", "1234", "3473145857");
    assert_rank(launch, "open-mpi", 5, 8, 1, 4);
    assert_node(launch, UNKNOWN, UNKNOWN, NULL);
    launch = READ(OPEN_MPI, SLURM_JOB);
    assert_job(launch, "slurm", "1234", "3473145857");
    assert_rank(launch, "open-mpi", 5, 8, 1, 4);
}

TEST(each_mpi_is_recognized)
{
    struct launch launch =
        READ("PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2");

    assert_rank(launch, "mpich", 3, 4, 1, 2);
    assert_job(launch, NULL, NULL, NULL);
    /* srun may start the proxies of mpiexec; SLURMD_NODENAME is then the node of mpiexec. */
    launch = READ("PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2",
                  SLURM_JOB, "SLURM_STEP_ID=0");
    assert_rank(launch, "mpich", 3, 4, 1, 2);
    assert_job(launch, "slurm", "1234", "0");
    assert_node(launch, UNKNOWN, UNKNOWN, NULL);

    launch = READ("PMI_RANK=3", "PMI_SIZE=4", "PMI_JOBID=9");
    assert_rank(launch, "mpich", 3, 4, UNKNOWN, UNKNOWN);
    assert_job(launch, NULL, "9", NULL);

    launch = READ("PMI_RANK=6", "PMI_SIZE=8", "PALS_RANKID=6", "PALS_APID=ab-cd",
                  "PALS_LOCAL_RANKID=2", "PMI_LOCAL_SIZE=4", "PALS_NODEID=1", "PBS_JOBID=5.x");
    assert_rank(launch, "pals", 6, 8, 2, 4);
    assert_job(launch, "pbs", "5.x", "ab-cd");
    assert_node(launch, 1, UNKNOWN, NULL);

    launch = READ("MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_SIZE=2",
                  "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2");
    assert_rank(launch, "mpich", 1, 2, 1, 2);
    assert_rank(READ("ALPS_APP_PE=12"), "mpich", 12, UNKNOWN, UNKNOWN, UNKNOWN);

    launch = READ("PMIX_RANK=2", "PMIX_NAMESPACE=prte-n1-77@1");
    assert_rank(launch, "pmix", 2, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_job(launch, NULL, "prte-n1-77@1", NULL);
}

TEST(flux_takes_precedence_over_its_pmi_variables)
{
    struct launch launch =
        READ("PMI_RANK=2", "PMI_SIZE=4", "FLUX_JOB_ID=f2Vx", "FLUX_TASK_RANK=2",
             "FLUX_JOB_SIZE=4", "FLUX_TASK_LOCAL_ID=0", "FLUX_JOB_NNODES=2");

    assert_rank(launch, "flux", 2, 4, 0, UNKNOWN);
    assert_node(launch, UNKNOWN, 2, NULL);
    assert_job(launch, NULL, "f2Vx", NULL);

    /* Flux inside a Slurm job: srun starts the Flux brokers. */
    launch = READ("FLUX_JOB_ID=f2Vx", "FLUX_TASK_RANK=2", "FLUX_JOB_SIZE=4", SLURM_JOB,
                  "SLURM_STEP_ID=0");
    assert_rank(launch, "flux", 2, 4, UNKNOWN, UNKNOWN);
    assert_job(launch, "slurm", "1234", "f2Vx");
}

TEST(tasks_and_arrays_of_lsf_count_from_1)
{
    struct launch launch = READ("LSB_JOBID=88", "LSF_PM_TASKID=1", "LSB_DJOB_NUMPROC=4",
                                "LSB_JOBINDEX=0", "LSB_JOBNAME=a", "LS_SUBCWD=/home/a");

    assert_rank(launch, "lsf", 0, 4, UNKNOWN, UNKNOWN);
    assert_job(launch, "lsf", "88", NULL);
    assert_true(launch.array_index == UNKNOWN);
    assert_null(launch.array_job);
    assert_string_equal(launch.submit_directory, "/home/a");

    launch = READ("LSB_JOBID=88", "LSB_JOBINDEX=3", "LSF_PM_TASKID=0", "LSB_DJOB_NUMPROC=4");
    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_true(launch.array_index == 3);
    assert_string_equal(launch.array_job, "88");
}

TEST(the_task_number_of_pbs_is_not_a_rank)
{
    struct launch launch =
        READ("PBS_JOBID=77[2].head", "PBS_TASKNUM=3", "PBS_NODENUM=1", "PBS_NUM_NODES=2",
             "PBS_ARRAY_ID=77[].head", "PBS_ARRAY_INDEX=2", "PBS_JOBNAME=sweep");

    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_job(launch, "pbs", "77[2].head", NULL);
    assert_node(launch, 1, 2, NULL);
    assert_string_equal(launch.array_job, "77[].head");
    assert_true(launch.array_index == 2);
    assert_string_equal(launch.job_name, "sweep");
    /* Slurm has a plugin that sets the variables of PBS. */
    assert_job(READ("PBS_JOBID=1234", SLURM_JOB), "slurm", "1234", NULL);
}

TEST(a_job_id_alone_does_not_identify_sge)
{
    struct launch launch = READ("JOB_ID=5", "JOB_NAME=x", "SGE_TASK_ID=undefined");

    assert_false(launch_is_known(&launch));

    launch = READ("SGE_ROOT=/opt/sge", "JOB_ID=5", "JOB_NAME=x", "SGE_TASK_ID=undefined",
                  "NHOSTS=2", "SGE_O_WORKDIR=/home/a", "RESTARTED=1", "SGE_CLUSTER_NAME=c");
    assert_job(launch, "sge", "5", NULL);
    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_node(launch, UNKNOWN, 2, NULL);
    assert_null(launch.array_job);
    assert_true(launch.restart == 1);
    assert_string_equal(launch.cluster, "c");

    launch = READ("SGE_ROOT=/opt/sge", "JOB_ID=5", "SGE_TASK_ID=4");
    assert_string_equal(launch.array_job, "5");
    assert_true(launch.array_index == 4);
}

TEST(ranks_of_the_htcondor_parallel_universe_are_recognized)
{
    struct launch launch = READ("_CONDOR_SLOT=slot1_2", "_CONDOR_JOB_IWD=/home/a");

    assert_job(launch, "htcondor", NULL, NULL);
    assert_rank(launch, NULL, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_rank(READ("_CONDOR_SLOT=slot1", "_CONDOR_PROCNO=1", "_CONDOR_NPROCS=2"), "htcondor",
                1, 2, UNKNOWN, UNKNOWN);
}

/* Two nodes with four ranks each; used after RANK, LOCAL_RANK and GROUP_RANK. */
#define TORCHRUN \
    "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4", "GROUP_WORLD_SIZE=2", "TORCHELASTIC_RESTART_COUNT=1"

TEST(a_rank_alone_does_not_identify_torchrun)
{
    struct launch launch = READ("RANK=3", "WORLD_SIZE=4");

    assert_false(launch_is_known(&launch));
    launch = READ("RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=4");
    assert_false(launch_is_known(&launch));

    launch =
        READ("RANK=6", "LOCAL_RANK=2", "GROUP_RANK=1", TORCHRUN, "TORCHELASTIC_RUN_ID=exp-7");
    assert_rank(launch, "torchrun", 6, 8, 2, 4);
    assert_node(launch, 1, 2, NULL);
    assert_job(launch, NULL, "exp-7", NULL);
    assert_true(launch.restart == 1);
    /* torchrun sets the ID to "none" if the user gave none. */
    assert_job(
        READ("RANK=6", "LOCAL_RANK=2", "GROUP_RANK=1", TORCHRUN, "TORCHELASTIC_RUN_ID=none"),
        NULL, NULL, NULL);
}

TEST(local_ranks_are_computed_if_all_are_0)
{
    assert_rank(READ("RANK=6", "LOCAL_RANK=0", "GROUP_RANK=1", TORCHRUN), "torchrun", 6, 8, 2,
                4);
    assert_rank(READ("RANK=4", "LOCAL_RANK=0", "GROUP_RANK=1", TORCHRUN), "torchrun", 4, 8, 0,
                4);
    /* If nodes have different numbers of ranks, local ranks cannot be computed. */
    assert_rank(READ("WORLD_SIZE=6", "RANK=5", "LOCAL_RANK=0", "GROUP_RANK=1", TORCHRUN),
                "torchrun", 5, 6, 0, 4);
    assert_rank(READ("RANK=2", "LOCAL_RANK=0", "GROUP_RANK=1", TORCHRUN), "torchrun", 2, 8, 0,
                4);
}

TEST(torchrun_takes_the_job_and_the_step_from_srun)
{
    struct launch launch =
        READ("RANK=6", "LOCAL_RANK=2", "GROUP_RANK=1", TORCHRUN, "TORCHELASTIC_RUN_ID=none",
             SLURM_JOB, "SLURM_STEP_ID=2", "SLURM_RESTART_COUNT=3");

    assert_rank(launch, "torchrun", 6, 8, 2, 4);
    assert_job(launch, "slurm", "1234", "2");
    assert_node(launch, 1, 2, "n03");
    assert_true(launch.restart == 1);
    assert_job(READ("RANK=6", "LOCAL_RANK=2", "GROUP_RANK=1", TORCHRUN, "TORCHELASTIC_RUN_ID=a",
                    SLURM_JOB),
               "slurm", "1234", "a");
}

TEST(the_index_of_a_kubernetes_job_is_the_rank)
{
    struct launch launch = READ("KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=pod-1");

    assert_false(launch_is_known(&launch));
    launch = READ("JOB_COMPLETION_INDEX=2");
    assert_false(launch_is_known(&launch));

    launch = READ("KUBERNETES_SERVICE_HOST=10.0.0.1", "JOB_COMPLETION_INDEX=2", "HOSTNAME=p");
    assert_rank(launch, "kubernetes", 2, UNKNOWN, UNKNOWN, UNKNOWN);
    assert_node(launch, UNKNOWN, UNKNOWN, "p");
    assert_rank(READ("KUBERNETES_SERVICE_HOST=10.0.0.1", "VC_TASK_INDEX=1"), "kubernetes", 1,
                UNKNOWN, UNKNOWN, UNKNOWN);
    assert_rank(READ("KUBERNETES_SERVICE_HOST=1", "MASTER_ADDR=m", "RANK=1", "WORLD_SIZE=2"),
                "kubernetes", 1, 2, UNKNOWN, UNKNOWN);
}

TEST(values_that_are_not_numbers_are_unknown)
{
    static const char *const values[] = { "",          "x", "-1", "1x", "99999999999999999999",
                                          "4294967296" };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char rank[64] = "OMPI_COMM_WORLD_RANK=", size[64] = "PMI_SIZE=";
        struct launch launch;

        strncat(rank, values[i], 30);
        strncat(size, values[i], 30);
        launch = READ(rank);
        assert_false(launch_is_known(&launch));
        assert_rank(READ("PMI_RANK=0", size), "mpich", 0, UNKNOWN, UNKNOWN, UNKNOWN);
    }
}

static void assert_description(struct launch launch, const char *expected)
{
    struct buffer text = { 0 };

    launch_describe(&launch, "host7", &text);
    assert_string_equal(text.text, expected);
    buffer_done(&text);
}

TEST(a_launch_is_described_on_one_line)
{
    assert_description(READ(SLURM_JOB, "SLURM_STEP_ID=0"),
                       "Rank 0 of 16 on n03, Slurm job 1234.0");
    assert_description(READ(SLURM_JOB), "Slurm job 1234 on n03");
    assert_description(READ("PBS_JOBID=77.head", "OMPI_COMM_WORLD_RANK=2"),
                       "Rank 2 on host7, PBS job 77.head");
    assert_description(READ("PMI_RANK=1", "PMI_SIZE=2"), "Rank 1 of 2 on host7, MPICH");
    assert_description((struct launch){ .scheduler = "slurm",
                                        .job = "7",
                                        .step = "0",
                                        .rank = UNKNOWN,
                                        .ranks = 16,
                                        .nodes = 4 },
                       "16 ranks on 4 nodes, Slurm job 7.0");
    assert_description(
        (struct launch){ .launcher = "mpich", .rank = UNKNOWN, .ranks = 2, .nodes = 1 },
        "2 ranks on 1 node, MPICH");
    assert_description(
        (struct launch){ .launcher = "newer", .ranks = UNKNOWN, .rank = UNKNOWN },
        "newer on host7");
}

TEST(texts_that_are_kept_do_not_change_with_the_environment)
{
    char job[] = "SLURM_JOB_ID=1234", name[] = "SLURM_JOB_NAME=train",
         folder[] = "SLURM_SUBMIT_DIR=/home/a";
    struct launch launch = READ(job, name, folder);
    char *texts;

    assert_int_equal(launch_keep(&launch, &texts), 0);
    memset(job, 'x', sizeof(job));
    memset(name, 'x', sizeof(name));
    memset(folder, 'x', sizeof(folder));
    assert_job(launch, "slurm", "1234", NULL);
    assert_string_equal(launch.job_name, "train");
    assert_string_equal(launch.submit_directory, "/home/a");
    assert_null(launch.cluster);
    free(texts);
}
