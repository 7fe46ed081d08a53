/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dmi.h - how the firmware names the machine: /sys/class/dmi/id, and /sys/hypervisor of Xen.
 *
 * Rules over these strings tell which hypervisor or cloud the machine runs on.
 */
#ifndef SOURCE_HOST_DMI_H
#define SOURCE_HOST_DMI_H

#include <stddef.h>

#include "base/root.h"

enum dmi_field {
    DMI_SYS_VENDOR,
    DMI_PRODUCT_NAME,
    DMI_PRODUCT_VERSION,
    DMI_PRODUCT_UUID, /* readable by root only */
    DMI_BOARD_VENDOR,
    DMI_BIOS_VENDOR,
    DMI_BIOS_VERSION,
    DMI_CHASSIS_ASSET_TAG,
    DMI_HYPERVISOR_UUID, /* of Xen, readable by everyone */
    DMI_FIELDS,
};

enum { DMI_TEXT_SIZE = 128 };

/* Empty: there is no such string, or it cannot be read. Printable ASCII only. */
struct dmi {
    char text[DMI_FIELDS][DMI_TEXT_SIZE];
};

void dmi_read(const struct root *root, struct dmi *ret);

/* Strings that name something. Patterns are those of fnmatch(3), in any case. */
struct dmi_rule {
    const char *name;
    struct {
        enum dmi_field field;
        const char *pattern; /* NULL: no condition */
    } wanted[2];             /* both */
};

/* The name of the first rule that matches, or NULL. */
const char *dmi_find(const struct dmi *dmi, const struct dmi_rule *rules, size_t count);

#endif
