/* SPDX-License-Identifier: Apache-2.0 */
/* hold MIB - touches that much memory, prints its pid, and exits at the end of its input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char byte;

    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, size);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
