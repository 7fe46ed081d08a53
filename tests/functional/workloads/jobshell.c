/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobshell REPORT CONTROL COMMAND... - runs a job at a terminal as a shell does: in its own
 * process group, in the foreground. Writes each change of the job's state to the descriptor
 * REPORT: "started PID", "stopped SIGNAL", "exited STATUS", "killed SIGNAL". A byte read from
 * CONTROL continues the job in the foreground.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void start(int report, int control, char **command)
{
    close(report);
    close(control);
    setpgid(0, 0);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    signal(SIGTTOU, SIG_DFL);
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    int report = argc > 3 ? (int)strtol(argv[1], NULL, 10) : -1;
    int control = argc > 3 ? (int)strtol(argv[2], NULL, 10) : -1;
    pid_t pid;
    char byte;
    int status;

    signal(SIGTTOU, SIG_IGN);
    pid = argc > 3 ? fork() : -1;
    if (pid == 0)
        start(report, control, argv + 3);
    if (pid < 0)
        return 1;
    setpgid(pid, pid);
    dprintf(report, "started %d\n", (int)pid);
    while (waitpid(pid, &status, WUNTRACED) == pid) {
        if (WIFEXITED(status)) {
            dprintf(report, "exited %d\n", WEXITSTATUS(status));
            return 0;
        }
        if (WIFSIGNALED(status)) {
            dprintf(report, "killed %d\n", WTERMSIG(status));
            return 0;
        }
        dprintf(report, "stopped %d\n", WSTOPSIG(status));
        if (read(control, &byte, 1) != 1)
            return 1;
        tcsetpgrp(STDIN_FILENO, pid);
        kill(-pid, SIGCONT);
    }
    return 1;
}
