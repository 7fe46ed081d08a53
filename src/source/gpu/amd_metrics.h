/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amd_metrics.h - the metrics of an AMD GPU's firmware:
 * /sys/class/drm/cardN/device/gpu_metrics.
 *
 * The table starts with its size and revision, which define the rest. Only fields that the
 * kernel documents with their units are used: revisions 1.4 to 1.8, of MI300 and its
 * successors.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { AMD_METRICS_SIZE = 4096 };

/* A member is UNKNOWN if the firmware does not report it. */
struct amd_metrics {
    uint64_t energy_uj;    /* counter */
    uint64_t dram_percent; /* share of the memory bandwidth currently in use */
    uint64_t xgmi_read_bytes, xgmi_written_bytes; /* counters, over all links */
};

/* Parses the table. -ENOTSUP: another revision; -EBADMSG: the table is damaged or truncated.
 * Pure. */
int amd_metrics_parse(const char *table, size_t size, struct amd_metrics *ret);
