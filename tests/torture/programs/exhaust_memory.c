/* SPDX-License-Identifier: Apache-2.0 */
/* exhaust_memory - starts a child that uses more and more memory, up to 1 GiB. Under a memory
 * limit, the kernel kills the child before that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    enum { STEP = 1 << 20, STEPS = 1024 };
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        for (int i = 0; i < STEPS; i++) {
            char *memory = malloc(STEP);

            if (!memory)
                _exit(4);
            memset(memory, i + 1, STEP);
        }
        _exit(3); /* there was no limit */
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 2;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
