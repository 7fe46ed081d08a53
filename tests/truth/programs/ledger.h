/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - records the true usage of a job.
 *
 * The ledger is memory that all processes of the job share. Each process adds its own CPU clock
 * just before it exits, and records the memory that it touched. A parent that calls wait_for()
 * adds the CPU time of the child's exit. The last process writes one line of JSON to the file
 * that $TRUTH names, with a key for each recorded figure.
 *
 * If $TRUTH_GATE is set, a tracker attaches to the job: the job writes a byte to the FIFO
 * $TRUTH_GATE.ready, waits for a byte on $TRUTH_GATE.go, and counts from then on.
 *
 * Any error ends the job with status 99 and a line on stderr; a job that cannot do its work on
 * this machine ends with status 77 and the reason.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <sys/types.h>

enum figure {
    CPU_SECONDS,
    PEAK_RSS_BYTES, /* distinct pages mapped by the job, at the peak */
    MAIN_RSS_BYTES,
    DESCENDANTS_RSS_BYTES,
    PRIVATE_BYTES, /* pages that only one process maps, at their own peak */
    SHARED_BYTES,
    JOB_PEAK_BYTES, /* all memory charged to the job, page cache included */
    ANON_BYTES,
    PAGE_CACHE_BYTES,
    WRITTEN_BYTES, /* to storage */
    WRITTEN_CHARS, /* by system calls */
    READ_CHARS,
    PROCESSES, /* in total */
    CONCURRENT,
    THREADS,                 /* at once */
    UNSEEN_CPU_MICROSECONDS, /* CPU time of exits, which no process clock includes */
    ELAPSED_SECONDS,         /* from the start of the main process to ledger_set_elapsed() */
    MINOR_FAULTS,            /* page faults without a disk read */
    SHARED_BYTES_AT_MOST,    /* an upper bound of SHARED_BYTES if the exact value is unknown */
    CPU_WAIT_SECONDS,        /* time that runnable threads waited for a CPU */
    LOOPBACK_RECEIVED_BYTES, /* by TCP connections within the job */
    LOOPBACK_SENT_BYTES,
    FIGURE_COUNT,
};

/* Must be called first. */
void ledger_open(void);

/* Adds the CPU clock of this process, all threads included. Call it just before the process
 * exits. */
void ledger_add_own_cpu(void);

/* Adds the CPU time that a child has used since it added its clock. `usage`, from wait4(),
 * includes its exit: some 60 us in the kernel. */
void ledger_add_end(pid_t pid, const struct rusage *usage);

/* Burns CPU time until the job has used this much, so that its start and its exit cost less
 * than 2 % of it. Call it after the memory is released and before ledger_add_own_cpu(). */
void ledger_burn_to_ms(long milliseconds);
enum { ENOUGH_CPU_MS = 500 };

/* Returns the CPU time of the job that has been recorded so far. */
int64_t ledger_cpu_ns(void);

/* Returns the kernel's count of the CPU time of all children that this process has waited
 * for. */
int64_t waited_cpu_ns(void);

/* Adds waited_cpu_ns(), for children that do not add their own clock, such as other programs.
 * It includes their exits, which no clock of a living process shows. */
void ledger_add_waited_cpu(void);

void ledger_set(enum figure figure, double value);
void ledger_add(enum figure figure, double value);

/* Records a figure of one phase of the job; phases are numbered from 0. */
enum { PHASES_MAX = 4 };
void ledger_set_phase(unsigned phase, enum figure figure, double value);

/* Sets ELAPSED_SECONDS. The main process keeps its start time across exec. */
void ledger_set_elapsed(void);

/* Sets the figures of a job with one process that touched `bytes`: main, total, private. */
void ledger_set_lone_memory(double bytes);

/* Adds the CPU time that this process has used since ledger_add_own_cpu(), and writes the
 * line. */
void ledger_close(void);

noreturn void ledger_fail(const char *what);   /* with errno; status 99 */
noreturn void ledger_cannot(const char *what); /* status 77 */
