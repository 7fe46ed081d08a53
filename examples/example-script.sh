#!/bin/bash
# example-script.sh - a load of a second or two, without a GPU: one process computes, another
# holds 200 MB. Run from this directory:
#
#     gpu-tracker -e "bash example-script.sh" --st=0.3
set -eu

# Uses most of a second of CPU time.
compute() {
    awk 'BEGIN { for (i = 0; i < 8000000; i++) sum += i % 7 }'
}

# tail keeps a whole line in memory, and its output is not read for a second.
hold() {
    # shellcheck disable=SC2216 # sleep does not read its input: that is intended
    head -c 200000000 /dev/zero | tail | sleep 1
}

compute &
hold
wait
