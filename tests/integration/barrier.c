/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier - an MPI rank with 50 MB of private memory and a window of 64 MB that all ranks of
 * the node share. Rank 0 prints the memory of all ranks at the same moment in kB; shared pages
 * count once. MPICH takes System V segments of huge pages where the machine has any: PSS does not
 * include them, so those in use on the machine are added.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRIVATE_BYTES = 50000000, SHARED_BYTES = 64000000 };

/* Returns the number after a key at the start of a line. */
static long read_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    char line[256];
    long number = 0;

    while (file && number == 0 && fgets(line, sizeof(line), file))
        number =
            strncmp(line, key, strlen(key)) == 0 ? strtol(line + strlen(key), NULL, 10) : 0;
    if (file)
        fclose(file);
    return number;
}

static long read_pss_kb(void)
{
    return read_number("/proc/self/smaps_rollup", "Pss:");
}

static long read_used_huge_kb(void)
{
    return read_number("/proc/meminfo", "Hugepagesize:") *
           (read_number("/proc/meminfo", "HugePages_Total:") -
            read_number("/proc/meminfo", "HugePages_Free:"));
}

int main(int argc, char **argv)
{
    int rank, unit;
    long sum = 0, kb, all_kb = 0;
    char *memory, *shared;
    MPI_Comm node;
    MPI_Win window;
    MPI_Aint size;

    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Win_allocate_shared(rank == 0 ? SHARED_BYTES : 0, 1, MPI_INFO_NULL, node, &shared,
                            &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &shared);
    memory = malloc(PRIVATE_BYTES);
    if (!memory)
        return 1;
    memset(memory, 1, PRIVATE_BYTES);
    if (rank == 0)
        memset(shared, 1, SHARED_BYTES);
    MPI_Barrier(node);
    for (long i = 0; i < SHARED_BYTES; i += 4096) /* every rank maps every page of the window */
        sum += shared[i];
    MPI_Barrier(node);
    kb = read_pss_kb() + (rank == 0 ? read_used_huge_kb() : 0);
    /* Sleep for several samples. A rank that waits for a message would keep a CPU busy. */
    nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    MPI_Reduce(&kb, &all_kb, 1, MPI_LONG, MPI_SUM, 0, node);
    MPI_Win_free(&window);
    if (rank == 0)
        printf("%ld\n", all_kb);
    MPI_Finalize();
    return memory[5] == 1 && sum > 0 ? 0 : 1;
}
