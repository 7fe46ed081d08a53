/* SPDX-License-Identifier: Apache-2.0 */
/*
 * double_mapping.h - how much of its memory a process may map twice. Pure.
 *
 * Such pages count twice in its resident size and in the kernel's marks. They can only be among the pages
 * that it shares, and not with other processes of the job. A read shows how many these are, as long as
 * they are mapped: so a read of no less memory replaces what was found before.
 */
#ifndef JOB_MEMORY_DOUBLE_MAPPING_H
#define JOB_MEMORY_DOUBLE_MAPPING_H

#include <stdint.h>

/* Zeroed: nothing is mapped. */
struct double_mapping {
    uint64_t mapped_bytes; /* files and shared memory */
    uint64_t doubled_bytes;
};

/* A read has found that of `mapped_bytes` so much may be mapped twice. */
void double_mapping_read(struct double_mapping *mapping, uint64_t mapped_bytes,
                         uint64_t doubled_bytes);

/* The process has so much mapped now, as its size tells: what is new may be anything. */
void double_mapping_seen(struct double_mapping *mapping, uint64_t mapped_bytes);

/* What may be mapped twice; 0 if libraries that the rest of the machine maps too explain it. */
uint64_t double_mapping_bytes(const struct double_mapping *mapping);

#endif
