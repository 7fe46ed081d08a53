/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/fault_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A larger period would miss huge pages: one fault is 2 MB there. */
enum { FAULTS = 4 };

int fault_gate_open(struct fault_gate *gate, pid_t pid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = FAULTS,
        .disabled = 1,
        .inherit = 1,
        .exclude_hv = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd < 0) { /* an ordinary user may not see the kernel's own faults */
        attr.exclude_kernel = 1;
        fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    if (fd < 0)
        return -errno;
    *gate = (struct fault_gate){ .event_fd = (int)fd, .signal_fd = -1 };
    return 0;
}

void fault_gate_close(struct fault_gate *gate)
{
    if (gate->event_fd >= 0)
        close(gate->event_fd);
    if (gate->signal_fd >= 0)
        close(gate->signal_fd);
    *gate = (struct fault_gate)FAULT_GATE_NONE;
}

/* The event has no ring to poll. Its other way to tell is a signal, which goes to this thread
 * alone and is read from a descriptor: no handler is installed. */
int fault_gate_attach(struct fault_gate *gate)
{
    struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = gettid() };
    sigset_t set;
    int flags;

    if (gate->event_fd < 0)
        return -ENOENT;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGIO);
    gate->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (gate->signal_fd < 0)
        return -errno;
    flags = fcntl(gate->event_fd, F_GETFL);
    if (flags < 0 || fcntl(gate->event_fd, F_SETOWN_EX, &owner) < 0 ||
        fcntl(gate->event_fd, F_SETFL, flags | O_ASYNC) < 0) {
        int saved = errno;

        fault_gate_close(gate);
        return -saved;
    }
    return 0;
}

void fault_gate_arm(const struct fault_gate *gate)
{
    if (gate->signal_fd >= 0)
        (void)ioctl(gate->event_fd, PERF_EVENT_IOC_ENABLE, 0); /* cannot fail for ours */
}

void fault_gate_disarm(const struct fault_gate *gate)
{
    if (gate->signal_fd >= 0)
        (void)ioctl(gate->event_fd, PERF_EVENT_IOC_DISABLE, 0);
}

bool fault_gate_take(const struct fault_gate *gate)
{
    struct signalfd_siginfo info;

    return gate->signal_fd >= 0 && read(gate->signal_fd, &info, sizeof(info)) > 0;
}
