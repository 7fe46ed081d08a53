/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - the place of a process in a job of a scheduler or an MPI: job, step, rank, node. Read from the environment.
 *
 * Job and rank may come from two programs: an Open MPI rank in a PBS job has `launcher` "open-mpi" and `scheduler` "pbs",
 * and its step is the ID that the launcher gave its own job.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/environment.h"
#include "record/record.h"
#include "text/buffer.h"

/* NULL or UNKNOWN: not known. Texts belong to the environment, or to the record that holds the
 * struct. */
struct launch {
    const char *launcher;  /* what started the ranks: "slurm", "open-mpi"; NULL: not a rank */
    const char *scheduler; /* what manages the job: "slurm", "pbs"; NULL: none */
    const char *job, *step;
    uint64_t rank, ranks; /* in the step */
    uint64_t local_rank, local_ranks;
    uint64_t node, nodes; /* index and number */
    const char *node_name;
    const char *array_job;
    uint64_t array_index, restart;
    const char *job_name, *cluster;
    const char *submit_directory; /* not in a report */
};

/* Whether the run has a section "launch". */
static inline bool launch_is_known(const struct launch *launch)
{
    return launch->launcher || launch->scheduler;
}

/* Returns the number of ranks on this node, or a lower bound if it is unknown. */
static inline uint64_t launch_ranks_here(const struct launch *launch)
{
    if (is_known(launch->local_ranks))
        return launch->local_ranks;
    return is_known(launch->local_rank) ? launch->local_rank + 1 : 1;
}

/* Reads only the variables that `get` returns, and keeps pointers to their texts. */
void launch_read(struct launch *launch, environment_get *get);

/* Copies the texts out of the environment, into a block that the caller frees. */
int launch_keep(struct launch *launch, char **ret);

/* Returns a copy that the record owns. On failure, returns NULL and sets record->error. */
struct launch *launch_copy(struct record *record, const struct launch *from);

/* Adds "Rank 3 of 16 on n03, Slurm job 1234.0", or "16 ranks on 4 nodes, Slurm job 1234.0",
 * escaped for a terminal. `host` is used if the node has no name. */
void launch_describe(const struct launch *launch, const char *host, struct buffer *out);

extern const struct field_table record_launch_fields; /* of struct launch: section "launch" */
