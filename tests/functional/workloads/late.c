/* SPDX-License-Identifier: Apache-2.0 */
/* late MIB - waits for a child, then touches that much memory and exits at once. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) << 20;
    pid_t pid = fork();
    char *memory;

    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        return 1;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, size);
    _exit(0);
}
