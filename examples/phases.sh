#!/bin/sh
# phases.sh - a job that marks its phases. Run from this directory:
#
#     spoor run -- sh phases.sh
#
# or, with a row for each mark in a file:
#
#     gpu-tracker -e "sh phases.sh" --tf=tracking.csv --st=0.1
#     gpu-tracker sub-track analyze --tf=tracking.csv --stf=phases.csv
set -eu
export SPOOR_PHASE_FILE="${SPOOR_PHASE_FILE:-phases.csv}"

# Holds 100 MB for half a second: tail keeps what is not read.
spoor phase start load
# shellcheck disable=SC2216 # sleep does not read its input: that is intended
head -c 100000000 /dev/zero | tail | sleep 0.5
spoor phase stop load

# Computes, twice.
for round in 1 2; do
    spoor phase start compute
    awk -v round=$round 'BEGIN { for (i = 0; i < 2000000; i++) sum += i % round }'
    spoor phase stop compute
done
