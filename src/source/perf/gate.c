/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    uint64_t what, period;
    int signal;        /* each has its own: one thread may wait for both */
    bool may_be_blind; /* to what the kernel does for the job */
} kinds[] = {
    /* A larger period would miss huge pages: one fault is 2 MB there. */
    [GATE_FAULTS] = { PERF_COUNT_SW_PAGE_FAULTS, 4, SIGIO, true },
    [GATE_RUNS] = { PERF_COUNT_SW_TASK_CLOCK, 130000, SIGURG, false }, /* ns */
};

int gate_add(struct gate *gate, enum gate_event event, pid_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = kinds[event].what,
        .sample_period = kinds[event].period,
        .disabled = 1,
    };
    int r = event_set_add(&gate->events, &attr, tid);

    gate->signal = kinds[event].signal;
    if ((r != -EACCES && r != -EPERM) || !kinds[event].may_be_blind)
        return r;
    attr.exclude_kernel = 1; /* all that an ordinary user may see */
    return event_set_add(&gate->events, &attr, tid);
}

void gate_close(struct gate *gate)
{
    event_set_close(&gate->events);
    if (gate->signal_fd >= 0)
        close(gate->signal_fd);
    gate->signal_fd = -1;
}

/* Has a thread's signal sent to us when the event counts. */
static int direct_signal(int event_fd, int signal)
{
    struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = gettid() };
    int flags = fcntl(event_fd, F_GETFL);

    if (flags < 0 || fcntl(event_fd, F_SETOWN_EX, &owner) < 0 ||
        fcntl(event_fd, F_SETSIG, signal) < 0 || fcntl(event_fd, F_SETFL, flags | O_ASYNC) < 0)
        return -errno;
    return 0;
}

/* The event has no ring to poll. Its other way to tell is a signal, which goes to this thread
 * alone and is read from a descriptor: no handler is installed. */
int gate_attach(struct gate *gate)
{
    sigset_t set;
    int r = 0;

    if (gate->events.count == 0)
        return -ENOENT;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, gate->signal);
    gate->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (gate->signal_fd < 0)
        return -errno;
    for (size_t i = 0; r == 0 && i < gate->events.count; i++)
        r = direct_signal(gate->events.fds[i], gate->signal);
    if (r < 0)
        gate_close(gate);
    return r;
}

void gate_arm(const struct gate *gate)
{
    if (gate->signal_fd >= 0)
        event_set_control(&gate->events, PERF_EVENT_IOC_ENABLE);
}

void gate_disarm(const struct gate *gate)
{
    if (gate->signal_fd >= 0)
        event_set_control(&gate->events, PERF_EVENT_IOC_DISABLE);
}

/* Gives a signal that a process sent to the whole program to the main thread. The kernel lets a
 * thread name another sender only with this code. */
static void return_to_program(const struct signalfd_siginfo *info)
{
    siginfo_t copy = { .si_signo = (int)info->ssi_signo, .si_code = SI_QUEUE };

    copy.si_pid = (pid_t)info->ssi_pid;
    copy.si_uid = info->ssi_uid;
    copy.si_value.sival_ptr = (void *)(uintptr_t)info->ssi_ptr;
    (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), copy.si_signo, &copy);
}

bool gate_take(const struct gate *gate)
{
    struct signalfd_siginfo info;

    if (gate->signal_fd < 0 || read(gate->signal_fd, &info, sizeof(info)) <= 0)
        return false;
    if (info.ssi_code <= 0) /* not of the event */
        return_to_program(&info);
    return info.ssi_code > 0;
}
