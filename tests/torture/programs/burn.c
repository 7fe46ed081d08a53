/* SPDX-License-Identifier: Apache-2.0 */
/* burn MILLISECONDS - prints its pid, uses that much CPU time, and prints its CPU time in
 * microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "usage.h"

int main(int argc, char **argv)
{
    long milliseconds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

    (void)printf("%d\n", (int)getpid());
    (void)fflush(stdout);
    burn_us(milliseconds * 1000ll);
    (void)printf("%lld\n", used_us(RUSAGE_SELF));
    return 0;
}
