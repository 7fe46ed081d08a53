/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - the building blocks of the jobs: burn CPU time, touch memory, write files, wait
 * for each other.
 *
 * Every function ends the process with status 99 on failure. hold_ms() is only for durations
 * that are part of the work; to wait for each other, processes use a meeting.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MB ((size_t)1000000)
#define MIB ((size_t)1 << 20)

/* Returns a numeric argument; ends the job if the argument is missing or invalid. */
long number_argument(int argc, char **argv, int index);

/* Burns CPU time of the calling thread. */
void burn_ms(long milliseconds);

void hold_ms(long milliseconds);

/* Zeroed memory that is shared with all children. */
void *shared_memory(size_t bytes);

/* Private memory in pages of 4 KiB, every one of them written. Freed by release(). */
char *touch(size_t bytes);
/* Like touch(), but without writing the pages. */
char *reserve(size_t bytes);
void release(char *memory, size_t bytes);

void write_pages(char *memory, size_t bytes);
void read_pages(const char *memory, size_t bytes);

/* Returns the resident bytes of this process, by the kernel's current count. */
double resident_bytes(void);

/* Returns the value of a line of /proc/self/smaps_rollup, in bytes; 0 if there is no such
 * line. */
double rollup_bytes(const char *key);
/* Returns the bytes that only this process maps. Walks all its pages: call it before
 * touch(). */
double private_bytes(void);

/* A place where `count` processes or threads wait for each other, any number of times. */
typedef pthread_barrier_t meeting;
meeting *meeting_of(unsigned count);
void meet(meeting *place);

/* Forks a child that calls act(data), adds its CPU time to the ledger and exits. */
pid_t start(void (*act)(void *data), void *data);
void wait_for(pid_t pid);

/* Reads from /dev/zero, in pieces of 1 MB: the kernel counts the bytes, but no disk is read. */
void read_zeros(size_t bytes);
/* Writes to /dev/null. */
void write_nowhere(size_t bytes);

/* Creates a file without a name in the current folder. Ends the job with status 77 on a tmpfs,
 * where the pages of a file are memory of the job. */
int make_file(void);
/* Like make_file(), with a hole of `bytes`: reading it fills the page cache without disk
 * reads. */
int make_sparse_file(size_t bytes);
/* Creates such a file, writes it in pieces of 1 MiB, which the kernel counts as written to disk
 * at once, and deletes it. */
void write_file(size_t bytes);
