#!/bin/bash
# example-script.sh - a load without a GPU to track, of a second or two: one process computes,
# another holds 200 MB. From this folder:
#
#     gpu-tracker -e "bash example-script.sh" --st=0.3
set -eu

# Most of a second of CPU time.
compute() {
    awk 'BEGIN { for (i = 0; i < 8000000; i++) sum += i % 7 }'
}

# tail keeps the whole of a line in memory, and nobody takes it out of its hands for a second.
hold() {
    # shellcheck disable=SC2216 # that is the point
    head -c 200000000 /dev/zero | tail | sleep 1
}

compute &
hold
wait
