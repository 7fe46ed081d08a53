/* SPDX-License-Identifier: Apache-2.0 */
/* floor_wrap COMMAND [ARGUMENT...] - the minimal work of a wrapper: fork, exec, wait. */
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status;
    pid_t pid;

    if (argc < 2)
        return 2;
    pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return 125;
    return WEXITSTATUS(status);
}
