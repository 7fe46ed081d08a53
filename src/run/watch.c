/* SPDX-License-Identifier: Apache-2.0 */
#include "run/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "cgroup/cgroup.h"
#include "run/process.h"

#define POLLING_MS 20 /* interval without a pidfd */
#define CGROUP_MS \
    100 /* interval to list the processes of a cgroup of version 1, or of our own cgroup */
#define REAPED_MS 200 /* most parents reap at once */

/* From the kernel's linux/pidfd.h, which is newer than many systems' headers. */
struct pid_fd_info {
    uint64_t mask;
    uint64_t cgroup_id;
    uint32_t ids[11]; /* pid, tgid, ppid, then the user and group ids */
    int32_t exit_code;
};
#define PID_FD_INFO_EXIT (UINT64_C(1) << 3)
#define PID_FD_GET_INFO _IOWR(0xFF, 11, struct pid_fd_info)

int watch_identify(struct watch *watch)
{
    struct pid_stat process;
    int r = pid_stat_read(NULL, &watch->root, watch->pid, &process);

    if (r < 0)
        return r == -ENOENT ? -ESRCH : r;
    watch->start_ticks = process.start_ticks;
    return 0;
}

static int open_process(struct watch *watch, struct spoor_error *err)
{
    int r = 0;

    if (watch->pid == 0)
        return 0;
    watch->pid_fd = (int)syscall(SYS_pidfd_open, watch->pid, 0);
    if (watch->pid_fd < 0)
        r = errno == ESRCH ? -ESRCH : watch_identify(watch);
    if (r == -ESRCH)
        return error_set(err, ESRCH, "no such process: %d", (int)watch->pid);
    return r < 0 ? error_sys(err, r, "process %d", (int)watch->pid) : 0;
}

static int open_signals(struct watch *watch, struct spoor_error *err)
{
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    watch->signal_fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signal_fd < 0)
        return error_sys(err, errno, "signalfd");
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    return 0;
}

/* The processes in a cgroup and below it. */
struct occupants {
    const struct root *root;
    bool has_us, has_others;
};

/* Agents (spoor.h), such as the process that writes our samples, are not counted: they exit
 * after the processes they track. */
static void note_occupant(pid_t pid, void *data)
{
    struct occupants *occupants = data;
    struct pid_stat process;

    if (pid == getpid())
        occupants->has_us = true;
    else if (pid != 0 && !occupants->has_others)
        occupants->has_others = pid_stat_read(NULL, occupants->root, pid, &process) < 0 ||
                                strcmp(process.comm, SPOOR_AGENT_NAME) != 0;
}

static struct occupants read_occupants(const struct watch *watch)
{
    struct occupants occupants = { .root = &watch->root };
    struct children_buffer buffer = { 0 };

    (void)cgroup_each_process(&watch->root, &watch->cgroup, true, &buffer, note_occupant,
                              &occupants); /* fails if the cgroup was removed: no occupants */
    children_buffer_done(&buffer);
    return occupants;
}

static int open_cgroup(struct watch *watch, const char *directory, struct spoor_error *err)
{
    struct cgroups others;
    struct occupants occupants;
    int r = cgroup_directory_find(&watch->root, directory, &watch->cgroup, &others, err);

    if (r < 0)
        return r;
    occupants = read_occupants(watch);
    watch->is_inside = occupants.has_us;
    if (occupants.has_us && !occupants.has_others)
        return error_set(err, ESRCH, "there is no process in cgroup '%s' except spoor",
                         directory);
    return 0;
}

int watch_open(pid_t pid, const char *cgroup, struct watch *ret, struct spoor_error *err)
{
    struct watch watch = WATCH_CLOSED;
    int r = root_open(NULL, &watch.root);

    if (r < 0)
        return error_sys(err, r, "cannot open '/'");
    watch.pid = pid;
    r = cgroup ? open_cgroup(&watch, cgroup, err) : open_process(&watch, err);
    if (r == 0)
        r = open_signals(&watch, err);
    if (r < 0)
        watch_close(&watch);
    else
        *ret = watch;
    return r;
}

void watch_close(struct watch *watch)
{
    int *const fds[] = { &watch->pid_fd, &watch->signal_fd };

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    cached_file_close(&watch->events);
    root_close(&watch->root);
}

void watch_ignore_signals(struct watch *watch)
{
    close(watch->signal_fd);
    watch->signal_fd = -1;
}

/* Whether no other process is left in the cgroup. After the events of a version 2 cgroup have
 * been read, poll() reports the next change. If we are in the cgroup ourselves, no event is
 * reported. */
static bool cgroup_has_ended(struct watch *watch)
{
    char text[256];

    if (watch->cgroup.is_v2)
        (void)cached_file_read(&watch->events, &watch->root, READ_WHOLE, text, sizeof(text),
                               "%s/cgroup.events",
                               watch->cgroup.path); /* the root cgroup has no such file */
    return watch->is_inside ? !read_occupants(watch).has_others
                            : !cgroup_is_populated(&watch->root, &watch->cgroup);
}

/* Whether the end must be polled for because no descriptor reports it. */
static bool polls_end(const struct watch *watch)
{
    return watch->pid != 0 ? watch->pid_fd < 0 : cgroup_is_visible(&watch->cgroup);
}

static bool has_ended(struct watch *watch)
{
    struct pid_stat process;

    if (watch->pid == 0)
        return cgroup_has_ended(watch);
    return pid_stat_read(NULL, &watch->root, watch->pid, &process) < 0 ||
           pid_stat_is_zombie(&process) || process.start_ticks != watch->start_ticks;
}

static bool time_left(const struct watch *watch, uint64_t deadline_ns, struct timespec *ret)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint64_t polling_ns = (watch->pid == 0 ? CGROUP_MS : POLLING_MS) * NS_PER_MS;

    if (polls_end(watch) && (watch->is_inside || watch->events.fd < 0) && left_ns > polling_ns)
        left_ns = polling_ns;
    *ret = clock_timespec(left_ns);
    return deadline_ns > now_ns;
}

int watch_wait(struct watch *watch, uint64_t duration_ns, enum watch_end *ret,
               struct spoor_error *err)
{
    uint64_t deadline_ns = duration_ns ? clock_now().monotonic_ns + duration_ns : UINT64_MAX;

    for (;;) {
        struct pollfd fds[] = {
            { .fd = watch->signal_fd, .events = POLLIN },
            { .fd = watch->pid_fd, .events = POLLIN }, /* -1 is skipped */
            { .fd = watch->input_fd, .events = POLLIN },
            { .fd = watch->output_fd, .events = 0 }, /* POLLERR */
            { .fd = watch->events.fd, .events = POLLPRI },
        };
        struct signalfd_siginfo info;
        struct timespec left;

        if (!time_left(watch, deadline_ns, &left)) {
            *ret = WATCH_TIME_IS_UP;
            return 0;
        }
        if (ppoll(fds, ARRAY_SIZE(fds), &left, NULL) < 0) {
            if (errno == EINTR)
                continue;
            return error_sys(err, errno, "cannot wait");
        }
        if (fds[1].revents || (polls_end(watch) && has_ended(watch))) {
            *ret = WATCH_PROCESS_ENDED;
            return 0;
        }
        if (fds[0].revents)
            (void)!read(watch->signal_fd, &info, sizeof(info)); /* non-blocking */
        if (fds[0].revents || fds[2].revents || fds[3].revents) {
            *ret = fds[0].revents   ? WATCH_INTERRUPTED
                   : fds[2].revents ? WATCH_INPUT
                                    : WATCH_READER_LEFT;
            return 0;
        }
    }
}

int watch_wait_status(const struct watch *watch, int *ret_wait_status)
{
    struct pollfd reaped = { .fd = watch->pid_fd, .events = 0 };
    struct pid_fd_info info = { .mask = PID_FD_INFO_EXIT };

    /* Do not wait if the kernel cannot report the status. */
    if (watch->pid_fd < 0 ||
        (ioctl(watch->pid_fd, PID_FD_GET_INFO, &info) < 0 && errno != ESRCH))
        return -ENODATA;
    (void)poll(&reaped, 1, REAPED_MS); /* POLLHUP is reported after the process is reaped */
    info = (struct pid_fd_info){ .mask = PID_FD_INFO_EXIT };
    if (ioctl(watch->pid_fd, PID_FD_GET_INFO, &info) < 0 || !(info.mask & PID_FD_INFO_EXIT))
        return -ENODATA;
    *ret_wait_status = info.exit_code;
    return 0;
}
