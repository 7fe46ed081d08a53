/* SPDX-License-Identifier: Apache-2.0 */
/* hold MIB SECONDS - allocates GPU memory and keeps it that long; with 0 MiB it creates only
 * a context. */
#include "load.cuh"

int main(int argc, char **argv)
{
    const char *usage = "hold MIB SECONDS";
    double mib = argument(argc, argv, 1, usage);
    double seconds = argument(argc, argv, 2, usage);

    hold((size_t)mib * MIB, seconds);
    return 0;
}
