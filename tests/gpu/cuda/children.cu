/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children SECONDS MIB... - starts a child for each amount, which holds that much GPU memory
 * that long; the parent makes no CUDA call and waits. Each child prints "ready" and writes its
 * own truth.
 */
#include <sys/wait.h>

#include "load.cuh"

int main(int argc, char **argv)
{
    const char *usage = "children SECONDS MIB...";
    double seconds = argument(argc, argv, 1, usage);
    int status, failed = 0;

    for (int i = 2; i < argc; i++) {
        double mib = argument(argc, argv, i, usage);
        pid_t pid = fork();

        if (pid < 0) {
            perror("fork");
            return 1;
        }
        if (pid == 0) {
            hold((size_t)mib * MIB, seconds);
            return 0;
        }
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}
