/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd COUNT FD - a process with so many sleeping children, each a program of its own. Writes a
 * byte to FD when all of them sleep. They end with it, and it ends with its parent.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void sleep_for_good(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* holds over exec */
    execlp("sleep", "sleep", "infinity", (char *)NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? strtol(argv[1], NULL, 10) : -1;
    int running[2];
    char byte;

    if (count < 0 || pipe2(running, O_CLOEXEC) < 0)
        return 2;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();

        if (pid == 0)
            sleep_for_good();
        if (pid < 0) {
            perror("crowd: fork");
            return 1;
        }
    }
    /* Every child holds an end of the pipe until its exec. */
    close(running[1]);
    if (read(running[0], &byte, 1) != 0 || write((int)strtol(argv[2], NULL, 10), "", 1) != 1)
        return 1;
    for (;;)
        pause();
}
