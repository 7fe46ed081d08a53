/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/gpu_tracker_subtrack.h"

#include "cli/message.h"

int gpu_tracker_subtrack(int argc, char **argv)
{
    complain("sub-track %s: not there yet", argc > 0 ? argv[0] : "");
    return 1;
}
