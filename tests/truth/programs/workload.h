/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - what the jobs do: burn CPU time, touch memory, write files, wait for each other.
 *
 * All of it ends the process with status 99 where the system refuses. hold_ms() is for durations
 * that are the work itself; processes that wait for each other do so at a meeting.
 */
#ifndef TRUTH_WORKLOAD_H
#define TRUTH_WORKLOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MB ((size_t)1000000)
#define MIB ((size_t)1 << 20)

/* An argument that is a number; ends the job where there is none. */
long number_argument(int argc, char **argv, int index);

/* Burns CPU time of the calling thread. */
void burn_ms(long milliseconds);

void hold_ms(long milliseconds);

/* Zeroed memory that is shared with all children. */
void *shared_memory(size_t bytes);

/* Private memory in pages of 4 KiB, every one of them written. Freed by release(). */
char *touch(size_t bytes);
/* The same before it is written. */
char *reserve(size_t bytes);
void release(char *memory, size_t bytes);

void write_pages(char *memory, size_t bytes);
void read_pages(const char *memory, size_t bytes);

/* What this process has mapped, as the kernel counts it now. */
double resident_bytes(void);

/* A line of /proc/self/smaps_rollup, in bytes; 0 where there is no such line. */
double rollup_bytes(const char *key);
/* What of this process nobody else has mapped. Walks all its pages: first, then touch. */
double private_bytes(void);

/* A place where `count` processes or threads wait for each other, as often as they like. */
typedef pthread_barrier_t meeting;
meeting *meeting_of(unsigned count);
void meet(meeting *place);

/* Forks; in the child calls act(data), adds the child's CPU time to the ledger and ends it. */
pid_t start(void (*act)(void *data), void *data);
void wait_for(pid_t pid);

/* Reads so much from /dev/zero, in pieces of 1 MB: the kernel counts it, no disk does. */
void read_zeros(size_t bytes);
/* Writes so much to /dev/null. */
void write_nowhere(size_t bytes);

/* A file without a name in the current folder. On a tmpfs, where a page of a file is memory of
 * the job, the job cannot do its work. */
int make_file(void);
/* The same with `bytes` of holes: reading them fills the page cache and no disk. */
int make_sparse_file(size_t bytes);
/* Makes such a file, writes it in pieces of 1 MiB, which a disk counts as written at once, and
 * gives it up. */
void write_file(size_t bytes);

#endif
