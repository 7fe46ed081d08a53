/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd COUNT FD [SECONDS] - a process with COUNT children, each of which runs sleep(1). Writes
 * a byte to FD once all children have called exec. If SECONDS is given, writes another byte
 * after that time and exits. Its children are killed when it exits; it is killed when its
 * parent exits.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void sleep_for_good(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* kept across exec */
    execlp("sleep", "sleep", "infinity", (char *)NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    long count = argc >= 3 ? strtol(argv[1], NULL, 10) : -1;
    int running[2], fd;
    char byte;

    if (count < 0 || pipe2(running, O_CLOEXEC) < 0)
        return 2;
    fd = (int)strtol(argv[2], NULL, 10);
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
    /* Every child keeps the write end open until it calls exec. */
    close(running[1]);
    if (read(running[0], &byte, 1) != 0 || write(fd, "", 1) != 1)
        return 1;
    while (argc < 4)
        pause();
    (void)sleep((unsigned)strtoul(argv[3], NULL, 10));
    return write(fd, "", 1) != 1;
}
