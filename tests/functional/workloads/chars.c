/* SPDX-License-Identifier: Apache-2.0 */
/* chars BYTES [secret] - writes BYTES bytes to /dev/null. With "secret", unprivileged processes
 * cannot read its /proc/PID/io. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char block[65536];
    long left = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (argc > 2 && prctl(PR_SET_DUMPABLE, 0) < 0)
        return 1;
    while (left > 0) {
        ssize_t n = write(fd, block, left < (long)sizeof(block) ? (size_t)left : sizeof(block));

        if (n <= 0)
            return 1;
        left -= n;
    }
    return 0;
}
