/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/dmi.h"

static void strings_are_printable_and_trimmed(void **state)
{
    struct fake_root fake;
    struct dmi dmi;

    (void)state;
    memset(&dmi, 'x', sizeof(dmi));
    fake_root_init(&fake);
    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "  Amazon EC2 \n");
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "a\033[31mb\x80\n");
    fake_root_write(&fake, "sys/class/dmi/id/bios_version", "\n");
    fake_root_write(&fake, "sys/hypervisor/uuid", "ec2f0000\n");
    dmi_read(&fake.root, &dmi);
    assert_string_equal(dmi.text[DMI_SYS_VENDOR], "Amazon EC2");
    assert_string_equal(dmi.text[DMI_PRODUCT_NAME], "a[31mb");
    assert_string_equal(dmi.text[DMI_BIOS_VERSION], "");
    assert_string_equal(dmi.text[DMI_CHASSIS_ASSET_TAG], "");
    assert_string_equal(dmi.text[DMI_HYPERVISOR_UUID], "ec2f0000");
    fake_root_done(&fake);
}

static void long_strings_are_cut(void **state)
{
    struct fake_root fake;
    struct dmi dmi;
    char text[1001];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fake_root_init(&fake);
    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", text);
    dmi_read(&fake.root, &dmi);
    assert_int_equal(strlen(dmi.text[DMI_SYS_VENDOR]), DMI_TEXT_SIZE - 1);
    fake_root_done(&fake);
}

static void the_first_rule_whose_conditions_all_hold_matches(void **state)
{
    static const struct dmi_rule rules[] = {
        { "both", { { DMI_SYS_VENDOR, "acme" }, { DMI_PRODUCT_NAME, "*cloud*" } } },
        { "one", { { DMI_SYS_VENDOR, "ACME" } } },
    };
    struct dmi dmi = { .text = {
                           [DMI_SYS_VENDOR] = "Acme", [DMI_PRODUCT_NAME] = "My Cloud 7" } };

    (void)state;
    assert_string_equal(dmi_find(&dmi, rules, ARRAY_SIZE(rules)), "both");
    dmi.text[DMI_PRODUCT_NAME][0] = '\0';
    assert_string_equal(dmi_find(&dmi, rules, ARRAY_SIZE(rules)), "one");
    dmi.text[DMI_SYS_VENDOR][0] = '\0';
    assert_null(dmi_find(&dmi, rules, ARRAY_SIZE(rules)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_printable_and_trimmed),
        cmocka_unit_test(long_strings_are_cut),
        cmocka_unit_test(the_first_rule_whose_conditions_all_hold_matches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
