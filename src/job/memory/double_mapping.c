/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/double_mapping.h"

enum { LIBRARIES_MOST_BYTES = 16 << 20, SAME_SHARE = 16 };

void double_mapping_read(struct double_mapping *mapping, uint64_t mapped_bytes,
                         uint64_t doubled_bytes)
{
    if (mapped_bytes >= mapping->mapped_bytes - mapping->mapped_bytes / SAME_SHARE)
        *mapping = (struct double_mapping){ mapped_bytes, doubled_bytes };
}

void double_mapping_seen(struct double_mapping *mapping, uint64_t mapped_bytes)
{
    if (mapped_bytes <= mapping->mapped_bytes)
        return;
    mapping->doubled_bytes += mapped_bytes - mapping->mapped_bytes;
    mapping->mapped_bytes = mapped_bytes;
}

uint64_t double_mapping_bytes(const struct double_mapping *mapping)
{
    return mapping->doubled_bytes > LIBRARIES_MOST_BYTES ? mapping->doubled_bytes : 0;
}
