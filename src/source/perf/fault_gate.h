/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_gate.h - page faults of a job as a wake-up: a job that grows is looked at in
 * time, one that rests wakes nobody.
 *
 * One inherited perf event for the whole job, armed for one shot: after a few faults it
 * signals once. While it is not armed it costs the job nothing. As an ordinary user it is
 * blind to faults inside the kernel (memory filled by read()), so an active job must be
 * looked at now and then all the same.
 */
#ifndef SOURCE_PERF_FAULT_GATE_H
#define SOURCE_PERF_FAULT_GATE_H

#include <stdbool.h>
#include <sys/types.h>

struct fault_gate {
    int event_fd;  /* -1: there is no gate */
    int signal_fd; /* readable when the gate has opened; -1 until fault_gate_attach() */
};

#define FAULT_GATE_NONE                 \
    {                                   \
        .event_fd = -1, .signal_fd = -1 \
    }

/* Opens the event, not armed, on a process that has no children or threads yet. -EACCES or
 * -EPERM: refused. */
int fault_gate_open(struct fault_gate *gate, pid_t pid);
void fault_gate_close(struct fault_gate *gate);

/* To be called by the thread that will wait, which must have all signals blocked. */
int fault_gate_attach(struct fault_gate *gate);

void fault_gate_arm(const struct fault_gate *gate);
void fault_gate_disarm(const struct fault_gate *gate);

/* Takes the signal, if there is one. */
bool fault_gate_take(const struct fault_gate *gate);

#endif
