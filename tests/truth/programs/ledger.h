/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - records the true usage of a job.
 *
 * The ledger is memory that all processes of the job share. Each adds its own CPU clock just
 * before it ends and notes the memory it touched; a parent that calls wait_for() adds the cost
 * of its exit; the last one writes one line of JSON to the file that $TRUTH names, with a key
 * for each figure that was noted.
 *
 * If $TRUTH_GATE is set, a tracker attaches to the job: the job writes a byte to the FIFO
 * $TRUTH_GATE.ready, waits for a byte on $TRUTH_GATE.go, and counts from there on.
 *
 * Any error ends the job with status 99 and a line on stderr; a job that cannot do its work on
 * this machine ends with status 77 and the reason.
 */
#ifndef TRUTH_LEDGER_H
#define TRUTH_LEDGER_H

#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <sys/types.h>

enum figure {
    CPU_SECONDS,
    PEAK_RSS_BYTES, /* distinct pages that the job has mapped, at the worst moment */
    MAIN_RSS_BYTES,
    DESCENDANTS_RSS_BYTES,
    PRIVATE_BYTES, /* the part that one process alone maps; its own worst moment */
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
    UNSEEN_CPU_MICROSECONDS, /* CPU time of exits, which no clock shows before */
    ELAPSED_SECONDS,         /* from the start of the main process to the ledger's last line */
    MINOR_FAULTS,            /* page faults that read from no disk */
    SHARED_BYTES_AT_MOST,    /* an upper bound of SHARED_BYTES, if that is not known exactly */
    CPU_WAIT_SECONDS,        /* of threads that were ready to run */
    LOOPBACK_RECEIVED_BYTES, /* by TCP connections within the job */
    LOOPBACK_SENT_BYTES,
    FIGURE_COUNT,
};

/* Must be called first. */
void ledger_open(void);

/* Adds the CPU clock of this process, all threads included. The last call before it exits. */
void ledger_add_own_cpu(void);

/* Adds the CPU time that a child has used since it added its clock: wait4's count includes its exit, some 60 us in
 * the kernel. */
void ledger_add_end(pid_t pid, const struct rusage *usage);

/* Burns CPU time until the job has used this much, so that its start and its exit cost less than
 * 2 % of it. Called after the memory is released, before ledger_add_own_cpu(). */
void ledger_burn_to_ms(long milliseconds);
enum { ENOUGH_CPU_MS = 500 };

/* CPU time of the job noted so far. */
int64_t ledger_cpu_ns(void);

/* CPU time, by the kernel's count, of all children that this process has waited for. */
int64_t waited_cpu_ns(void);

/* Adds the kernel's count for the children that this process has waited for, if they are other
 * programs. It includes their exit, which no clock of a living process shows. */
void ledger_add_waited_cpu(void);

void ledger_set(enum figure figure, double value);
void ledger_add(enum figure figure, double value);

/* Notes a figure of one phase of the job; phases are numbered from 0. */
enum { PHASES_MAX = 4 };
void ledger_set_phase(unsigned phase, enum figure figure, double value);

/* Sets ELAPSED_SECONDS. In a job of several programs, the main process keeps its start over exec. */
void ledger_set_elapsed(void);

/* Sets the figures of a job with one process that touched `bytes`: main, total, private. */
void ledger_set_lone_memory(double bytes);

/* Adds the CPU time that this process has used since ledger_add_own_cpu(), and writes the
 * line. */
void ledger_close(void);

noreturn void ledger_fail(const char *what);   /* with errno; status 99 */
noreturn void ledger_cannot(const char *what); /* status 77 */

#endif
