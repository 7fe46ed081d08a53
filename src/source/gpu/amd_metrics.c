/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/amd_metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"

/* Offsets in the table. The counts of bytes read over the XGMI links are followed by the counts
 * of bytes written. */
static const struct {
    uint8_t content_revision;
    uint16_t size, energy, xgmi;
} layouts[] = {
    { 4, 288, 24, 104 },  { 5, 360, 88, 176 },  { 6, 1664, 16, 128 },
    { 7, 2208, 24, 136 }, { 8, 3872, 24, 136 },
};
enum { FORMAT_DISCRETE = 1, DRAM_ACTIVITY = 14, XGMI_LINKS = 8 };

/* The unit of energy is 2^-16 J. */
#define UJ_PER_1024_UNITS 15625

/* Sums the counts of all links. All bits of a field are set if the field is not supported, or
 * if the link does not exist. */
static uint64_t sum_links(const char *at)
{
    uint64_t sum = 0;
    bool has_link = false;

    for (int i = 0; i < XGMI_LINKS; i++) {
        uint64_t kilobytes;

        memcpy(&kilobytes, at + (size_t)i * sizeof(kilobytes), sizeof(kilobytes));
        if (is_known(kilobytes))
            sum = sum_u64(sum, kilobytes);
        has_link |= is_known(kilobytes);
    }
    return has_link ? product_u64(sum, 1024) : UNKNOWN;
}

int amd_metrics_parse(const char *table, size_t size, struct amd_metrics *ret)
{
    struct {
        uint16_t size;
        uint8_t format, content;
    } header;
    uint64_t energy;
    uint16_t percent;
    size_t i = 0;

    if (size < sizeof(header))
        return -EBADMSG;
    memcpy(&header, table, sizeof(header));
    while (i < ARRAY_SIZE(layouts) && layouts[i].content_revision != header.content)
        i++;
    if (header.format != FORMAT_DISCRETE || i == ARRAY_SIZE(layouts))
        return -ENOTSUP;
    if (header.size != layouts[i].size || size != header.size)
        return -EBADMSG;
    memcpy(&percent, table + DRAM_ACTIVITY, sizeof(percent));
    memcpy(&energy, table + layouts[i].energy, sizeof(energy));
    energy = product_u64(energy, UJ_PER_1024_UNITS);
    *ret = (struct amd_metrics){
        .energy_uj = is_known(energy) ? energy / 1024 : UNKNOWN,
        .dram_percent = percent <= 100 ? percent : UNKNOWN,
        .xgmi_read_bytes = sum_links(table + layouts[i].xgmi),
        .xgmi_written_bytes = sum_links(table + layouts[i].xgmi + XGMI_LINKS * sizeof(energy)),
    };
    return 0;
}
