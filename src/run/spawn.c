/* SPDX-License-Identifier: Apache-2.0 */
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/root.h"
#include "run/forward.h"
#include "run/process.h"

/* What the child gets back before it calls exec. */
struct inherited {
    sigset_t mask;
    struct sigaction on_child;
};

/* read() of a few bytes from a pipe, over interruptions. */
static ssize_t read_all(int fd, void *buf, size_t size)
{
    ssize_t n;

    do {
        n = read(fd, buf, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Between fork and exec: nothing but system calls. */
static noreturn void child_main(char *const argv[], int gate_fd, int exec_fd,
                                const struct inherited *inherited)
{
    ssize_t n;
    char token;
    int code;

    sigaction(SIGCHLD, &inherited->on_child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    n = read_all(gate_fd, &token, 1);
    close(gate_fd);
    if (n != 1) {
        close(exec_fd);
        _exit(125);
    }
    execvp(argv[0], argv);
    code = errno;
    /* A pipe takes an int in one piece; without a reader there is no one to tell. */
    n = write(exec_fd, &code, sizeof(code));
    close(exec_fd);
    _exit(n < 0 ? 125 : code == ENOENT ? 127 : 126);
}

/* With SIGCHLD ignored, as a parent may have left it, the kernel would reap the job
 * before us. */
static void prepare_signals(struct inherited *ret)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t ours;

    forward_signals(&ours);
    sigprocmask(SIG_BLOCK, &ours, &ret->mask);
    sigaction(SIGCHLD, &standard, &ret->on_child);
}

int spawn_start(char *const argv[], struct spawn *ret, struct spoor_error *err)
{
    AUTO_CLOSE int gate_read = -1, gate_write = -1, exec_read = -1, exec_write = -1;
    struct inherited inherited;
    int gate[2], exec[2];
    pid_t pid;

    if (pipe2(gate, O_CLOEXEC) < 0)
        return error_sys(err, errno, "pipe");
    gate_read = gate[0];
    gate_write = gate[1];
    if (pipe2(exec, O_CLOEXEC) < 0)
        return error_sys(err, errno, "pipe");
    exec_read = exec[0];
    exec_write = exec[1];

    prepare_signals(&inherited);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* without it orphans go to init */
    pid = fork();
    if (pid < 0) {
        int code = errno;

        sigaction(SIGCHLD, &inherited.on_child, NULL);
        sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
        return error_sys(err, code, "cannot fork");
    }
    if (pid == 0) {
        close(gate_write); /* or the end of the parent would not close the gate */
        close(exec_read);
        child_main(argv, gate_read, exec_write, &inherited);
    }
    file_limit_raise(); /* the job has forked by now and keeps its own */
    *ret = (struct spawn){ pid, take_fd(&gate_write), take_fd(&exec_read) };
    return 0;
}

void spawn_cancel(struct spawn *spawn)
{
    close(take_fd(&spawn->gate_fd));
    close(take_fd(&spawn->exec_fd));
    process_reap(spawn->pid);
}

int spawn_release(struct spawn *spawn)
{
    AUTO_CLOSE int gate_fd = take_fd(&spawn->gate_fd);
    AUTO_CLOSE int exec_fd = take_fd(&spawn->exec_fd);
    ssize_t n;
    int code;

    do {
        n = write(gate_fd, "", 1);
    } while (n < 0 && errno == EINTR);
    /* It fails if the child was killed at the gate: its wait status says so. One that is still
     * there would wait for ever. */
    close(take_fd(&gate_fd));
    if (read_all(exec_fd, &code, sizeof(code)) != (ssize_t)sizeof(code))
        return 0; /* exec closed the pipe */
    process_reap(spawn->pid);
    return -code;
}
