/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite FILE COUNT - creates a file of 4 MiB, then overwrites 8 KiB of it COUNT times, at
 * varying offsets, and flushes each write to storage. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char block[4 << 20];
    int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

    memset(block, 1, sizeof(block));
    if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) || fsync(fd) < 0)
        return 1;
    for (long i = 0; i < count; i++) {
        if (pwrite(fd, block, 8192, i * 7919 % 512 * 8192) != 8192 || fdatasync(fd) < 0)
            return 1;
    }
    return 0;
}
