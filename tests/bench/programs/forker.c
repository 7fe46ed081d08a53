/* SPDX-License-Identifier: Apache-2.0 */
/* forker INTERVAL_MS - a foreign process that starts a child every INTERVAL_MS and waits for it. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long interval_ms = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    struct timespec pause_time = { interval_ms / 1000, interval_ms % 1000 * 1000000 };

    if (interval_ms <= 0)
        return 2;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
            return 1;
        (void)nanosleep(&pause_time, NULL);
    }
}
