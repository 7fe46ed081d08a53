/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/fault_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A larger period would miss huge pages: one fault is 2 MB there. */
enum { FAULTS = 4 };

int fault_gate_add(struct fault_gate *gate, pid_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = FAULTS,
        .disabled = 1,
    };
    int r = event_set_add(&gate->events, &attr, tid);

    if (r != -EACCES && r != -EPERM)
        return r;
    attr.exclude_kernel = 1; /* an ordinary user may not see the kernel's own faults */
    return event_set_add(&gate->events, &attr, tid);
}

void fault_gate_close(struct fault_gate *gate)
{
    event_set_close(&gate->events);
    if (gate->signal_fd >= 0)
        close(gate->signal_fd);
    gate->signal_fd = -1;
}

/* Has a thread's signal sent to us when the event counts. */
static int direct_signal(int event_fd)
{
    struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = gettid() };
    int flags = fcntl(event_fd, F_GETFL);

    if (flags < 0 || fcntl(event_fd, F_SETOWN_EX, &owner) < 0 ||
        fcntl(event_fd, F_SETFL, flags | O_ASYNC) < 0)
        return -errno;
    return 0;
}

/* The event has no ring to poll. Its other way to tell is a signal, which goes to this thread
 * alone and is read from a descriptor: no handler is installed. */
int fault_gate_attach(struct fault_gate *gate)
{
    sigset_t set;
    int r = 0;

    if (gate->events.count == 0)
        return -ENOENT;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGIO);
    gate->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (gate->signal_fd < 0)
        return -errno;
    for (size_t i = 0; r == 0 && i < gate->events.count; i++)
        r = direct_signal(gate->events.fds[i]);
    if (r < 0)
        fault_gate_close(gate);
    return r;
}

void fault_gate_arm(const struct fault_gate *gate)
{
    if (gate->signal_fd >= 0)
        event_set_control(&gate->events, PERF_EVENT_IOC_ENABLE);
}

void fault_gate_disarm(const struct fault_gate *gate)
{
    if (gate->signal_fd >= 0)
        event_set_control(&gate->events, PERF_EVENT_IOC_DISABLE);
}

bool fault_gate_take(const struct fault_gate *gate)
{
    struct signalfd_siginfo info;

    return gate->signal_fd >= 0 && read(gate->signal_fd, &info, sizeof(info)) > 0;
}
