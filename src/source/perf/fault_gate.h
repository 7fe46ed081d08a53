/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_gate.h - page faults of a job as a wake-up: a job that grows is looked at in
 * time, one that rests wakes nobody.
 *
 * An inherited perf event for the whole job, armed for one shot: after a few faults it
 * signals once. While it is not armed it costs the job nothing. As an ordinary user it is
 * blind to faults inside the kernel (memory filled by read()), so an active job must be
 * looked at now and then all the same.
 */
#ifndef SOURCE_PERF_FAULT_GATE_H
#define SOURCE_PERF_FAULT_GATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "source/perf/event_set.h"

struct fault_gate {
    struct event_set events; /* empty: there is no gate */
    int signal_fd;           /* readable when it has opened; -1 until fault_gate_attach() */
};

#define FAULT_GATE_NONE \
    {                   \
        .signal_fd = -1 \
    }

/* Adds a thread, and all that it starts from now on; not armed. As event_set_add(). */
int fault_gate_add(struct fault_gate *gate, pid_t tid);
void fault_gate_close(struct fault_gate *gate);

/* To be called by the thread that will wait, which must have all signals blocked. */
int fault_gate_attach(struct fault_gate *gate);

void fault_gate_arm(const struct fault_gate *gate);
void fault_gate_disarm(const struct fault_gate *gate);

/* Takes the signal, if there is one. */
bool fault_gate_take(const struct fault_gate *gate);

#endif
