/* SPDX-License-Identifier: Apache-2.0 */
/* scribble FILE MIB - writes that much to a file and flushes it to the disk. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char block[1 << 20];
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

    memset(block, 'x', sizeof(block));
    for (long i = 0; i < count; i++) {
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            return 1;
    }
    return fsync(fd) == 0 ? 0 : 1;
}
