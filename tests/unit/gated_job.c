/* SPDX-License-Identifier: Apache-2.0 */
#include "gated_job.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

void gated_job_start(struct gated_job *job, int (*work)(void))
{
    int gate[2];
    char byte;

    assert_int_equal(pipe(gate), 0);
    /* Not fork(): ThreadSanitizer starts a thread in a forked child, which the tracker under
     * test might or might not see. */
    job->pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    assert_true(job->pid >= 0);
    if (job->pid == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? work() : 99);
    }
    close(gate[0]);
    job->gate_fd = gate[1];
}

void gated_job_begin(struct gated_job *job)
{
    close(job->gate_fd);
    job->gate_fd = -1;
}

bool gated_job_has_ended(const struct gated_job *job)
{
    siginfo_t info = { 0 };

    assert_int_equal(waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == job->pid;
}

void gated_job_end(struct gated_job *job)
{
    int status;

    assert_int_equal(waitpid(job->pid, &status, 0), job->pid);
    assert_int_equal(status, 0);
}

int run_child(int (*work)(void))
{
    pid_t pid = fork();
    int status = 1;

    if (pid == 0)
        _exit(work());
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status != 0;
}

int do_nothing(void)
{
    return 0;
}
