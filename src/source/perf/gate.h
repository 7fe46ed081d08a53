/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - what a job does as a wake-up: one that rests wakes nobody.
 *
 * An inherited perf event for the whole job, which signals while the gate is armed, and costs
 * the job nothing while it is not. Each thread of the job counts for itself.
 */
#ifndef SOURCE_PERF_GATE_H
#define SOURCE_PERF_GATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "source/perf/event_set.h"

/* What opens it. */
enum gate_event {
    /* A few page faults: a job that grows is looked at in time. As an ordinary user it is blind
     * to faults inside the kernel (memory filled by read()), so an active job must be looked at
     * now and then all the same. */
    GATE_FAULTS,
    /* 130 us of CPU time: of two such stretches one after the other a driver's memory is made,
     * and not by the threads that only wake up now and then. It needs the right to see the
     * kernel: most of what a call of a driver takes is spent there. */
    GATE_RUNS,
};

struct gate {
    struct event_set events; /* empty: there is no gate */
    int signal;              /* that it sends */
    int signal_fd;           /* readable when it has opened; -1 until gate_attach() */
};

#define GATE_NONE       \
    {                   \
        .signal_fd = -1 \
    }

/* Adds a thread, and all that it starts from now on; not armed. As event_set_add(). */
int gate_add(struct gate *gate, enum gate_event event, pid_t tid);
void gate_close(struct gate *gate);

/* To be called by the thread that will wait, which must have all signals blocked. -ENOENT: there
 * is no gate. */
int gate_attach(struct gate *gate);

void gate_arm(const struct gate *gate);
void gate_disarm(const struct gate *gate);

/* Takes the signal, if there is one. By the thread that attached it. */
bool gate_take(const struct gate *gate);

#endif
