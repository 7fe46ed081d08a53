/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/dmi.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

static const char *const paths[DMI_FIELDS] = {
    [DMI_SYS_VENDOR] = "sys/class/dmi/id/sys_vendor",
    [DMI_PRODUCT_NAME] = "sys/class/dmi/id/product_name",
    [DMI_PRODUCT_VERSION] = "sys/class/dmi/id/product_version",
    [DMI_PRODUCT_UUID] = "sys/class/dmi/id/product_uuid",
    [DMI_BOARD_VENDOR] = "sys/class/dmi/id/board_vendor",
    [DMI_BIOS_VENDOR] = "sys/class/dmi/id/bios_vendor",
    [DMI_BIOS_VERSION] = "sys/class/dmi/id/bios_version",
    [DMI_CHASSIS_ASSET_TAG] = "sys/class/dmi/id/chassis_asset_tag",
    [DMI_HYPERVISOR_UUID] = "sys/hypervisor/uuid",
};

/* The first line, without blanks at its ends and without what is not printable. */
static void copy_printable(const char *text, char buf[DMI_TEXT_SIZE])
{
    size_t length = 0;

    text += strspn(text, " \t");
    for (; *text && *text != '\n' && length + 1 < DMI_TEXT_SIZE; text++) {
        if (*text >= ' ' && *text <= '~')
            buf[length++] = *text;
    }
    while (length > 0 && buf[length - 1] == ' ')
        length--;
    buf[length] = '\0';
}

void dmi_read(const struct root *root, struct dmi *ret)
{
    char text[256];

    for (size_t i = 0; i < DMI_FIELDS; i++) {
        ret->text[i][0] = '\0';
        if (root_read_start(root, text, sizeof(text), "%s", paths[i]) > 0)
            copy_printable(text, ret->text[i]);
    }
}

static bool matches(const struct dmi *dmi, const struct dmi_rule *rule)
{
    for (size_t i = 0; i < ARRAY_SIZE(rule->wanted); i++) {
        const char *pattern = rule->wanted[i].pattern;

        if (pattern && fnmatch(pattern, dmi->text[rule->wanted[i].field], FNM_CASEFOLD) != 0)
            return false;
    }
    return true;
}

const char *dmi_find(const struct dmi *dmi, const struct dmi_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (matches(dmi, &rules[i]))
            return rules[i].name;
    }
    return NULL;
}
