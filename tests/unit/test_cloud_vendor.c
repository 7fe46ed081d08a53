/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloud_vendor.c - which cloud the strings of real machines name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/compiler.h"
#include "services/cloud/vendor.h"

#define AZURE_TAG "7783-7084-3265-9085-8269-3286-77"

static const struct {
    const char *vendor; /* NULL: none */
    struct dmi dmi;
} machines[] = {
    { "aws", { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "m5.large" } } },
    /* arm64 */
    { "aws", { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "c7g.metal" } } },
    { "aws", { { [DMI_SYS_VENDOR] = "x", [DMI_BIOS_VENDOR] = "Amazon EC2" } } },
    /* Xen: as an ordinary user, as root, and paravirtual */
    { "aws",
      { { [DMI_SYS_VENDOR] = "Xen",
          [DMI_PRODUCT_NAME] = "HVM domU",
          [DMI_BIOS_VENDOR] = "Xen",
          [DMI_BIOS_VERSION] = "4.11.amazon" } } },
    { "aws",
      { { [DMI_SYS_VENDOR] = "Xen",
          [DMI_PRODUCT_NAME] = "HVM domU",
          [DMI_PRODUCT_UUID] = "EC2E1916-9099-7CAF-FD21-012345ABCDEF" } } },
    { "aws", { { [DMI_HYPERVISOR_UUID] = "ec2e1916-9099-7caf-fd21-012345abcdef" } } },
    { NULL,
      { { [DMI_SYS_VENDOR] = "Xen",
          [DMI_PRODUCT_NAME] = "HVM domU",
          [DMI_BIOS_VENDOR] = "Xen",
          [DMI_BIOS_VERSION] = "4.17",
          [DMI_PRODUCT_UUID] = "1ec21916-9099-7caf-fd21-012345abcdef",
          [DMI_HYPERVISOR_UUID] = "1ec21916-9099-7caf-fd21-012345abcdef" } } },
    { "gcp",
      { { [DMI_SYS_VENDOR] = "Google", [DMI_PRODUCT_NAME] = "Google Compute Engine" } } },
    { NULL, { { [DMI_SYS_VENDOR] = "Google", [DMI_PRODUCT_NAME] = "Eve" } } }, /* a laptop */
    { "azure",
      { { [DMI_SYS_VENDOR] = "Microsoft Corporation",
          [DMI_PRODUCT_NAME] = "Virtual Machine",
          [DMI_CHASSIS_ASSET_TAG] = AZURE_TAG } } },
    { NULL, /* Hyper-V */
      { { [DMI_SYS_VENDOR] = "Microsoft Corporation",
          [DMI_PRODUCT_NAME] = "Virtual Machine",
          [DMI_CHASSIS_ASSET_TAG] = "4512-4837-1288-0191-5233-9961-53" } } },
    { NULL, { { [DMI_CHASSIS_ASSET_TAG] = AZURE_TAG } } },
    { "hcloud", { { [DMI_SYS_VENDOR] = "Hetzner", [DMI_PRODUCT_NAME] = "vServer" } } },
    { "upcloud", { { [DMI_SYS_VENDOR] = "UpCloud" } } },
    { "alicloud",
      { { [DMI_SYS_VENDOR] = "Alibaba Cloud", [DMI_PRODUCT_NAME] = "Alibaba Cloud ECS" } } },
    { "vultr", { { [DMI_SYS_VENDOR] = "Vultr", [DMI_PRODUCT_NAME] = "VC2" } } },
    { "ovh",
      { { [DMI_SYS_VENDOR] = "OpenStack Foundation",
          [DMI_PRODUCT_NAME] = "OpenStack Nova" } } },
    { "ovh", { { [DMI_SYS_VENDOR] = "RDO", [DMI_PRODUCT_NAME] = "OpenStack Compute" } } },
    { NULL, { { [DMI_SYS_VENDOR] = "QEMU", [DMI_PRODUCT_NAME] = "Standard PC" } } },
    { NULL, { { [DMI_SYS_VENDOR] = "Dell Inc.", [DMI_PRODUCT_NAME] = "PowerEdge R640" } } },
    { NULL, { { "" } } },
};

static void machines_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        const struct cloud_vendor *vendor = cloud_vendor_find(&machines[i].dmi);

        if (machines[i].vendor)
            assert_string_equal(vendor ? vendor->name : "none", machines[i].vendor);
        else if (vendor)
            fail_msg("machine %zu is not of %s", i, vendor->name);
    }
}

static void every_vendor_is_asked_something(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        const struct cloud_vendor *vendor = cloud_vendor_find(&machines[i].dmi);
        const struct cloud_field *first = vendor ? &vendor->requests[0].fields[0] : NULL;

        if (!vendor)
            continue;
        assert_non_null(vendor->requests[0].path);
        assert_true(first->size > 0 || first->expected);
        assert_true(vendor->is_guess == !!first->expected || !vendor->is_guess);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_told_apart),
        cmocka_unit_test(every_vendor_is_asked_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
