/* SPDX-License-Identifier: Apache-2.0 */
/* workers INHERITED OWN - touches INHERITED MiB and forks a child that touches OWN MiB more.
 * The child prints "ready"; both exit at the end of their input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int touch(const char *mebibytes)
{
    size_t size = strtoul(mebibytes, NULL, 10) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, size);
    return 0;
}

int main(int argc, char **argv)
{
    char byte;
    pid_t pid;

    if (argc < 3 || touch(argv[1]) != 0)
        return 1;
    pid = fork();
    if (pid == 0) {
        if (touch(argv[2]) != 0)
            return 1;
        puts("ready");
        fflush(stdout);
    }
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return pid != 0 && wait(NULL) < 0;
}
