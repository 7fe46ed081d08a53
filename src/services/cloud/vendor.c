/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cloud/vendor.h"

#include <string.h>

#include "base/compiler.h"
#include "services/cloud/cloud.h"

#define AZURE_ASSET_TAG "7783-7084-3265-9085-8269-3286-77"
#define LINK_LOCAL "http://169.254.169.254"
#define OVH_DNS "213.186.33.99"

/*
 * - Virtual machines of Hyper-V have Microsoft's name too; only those of Azure have its asset tag.
 * - Google's laptops have Google's name, but another product name.
 * - EC2 on Xen (older instance types) calls itself "HVM domU", with "amazon" in the version of the
 *   firmware and a UUID that starts with "ec2". Paravirtual ones have the UUID alone.
 * - OVH is one of many that run OpenStack.
 */
static const struct dmi_rule rules[] = {
    { "aws", { { DMI_SYS_VENDOR, "Amazon EC2" } } },
    { "aws", { { DMI_BIOS_VENDOR, "Amazon EC2" } } },
    { "aws", { { DMI_BIOS_VENDOR, "Xen" }, { DMI_BIOS_VERSION, "*.amazon" } } },
    { "aws", { { DMI_SYS_VENDOR, "Xen" }, { DMI_PRODUCT_UUID, "ec2*" } } },
    { "aws", { { DMI_HYPERVISOR_UUID, "ec2*" } } },
    { "gcp", { { DMI_PRODUCT_NAME, "Google Compute Engine" } } },
    { "azure",
      { { DMI_SYS_VENDOR, "Microsoft Corporation" },
        { DMI_CHASSIS_ASSET_TAG, AZURE_ASSET_TAG } } },
    { "hcloud", { { DMI_SYS_VENDOR, "Hetzner" }, { DMI_PRODUCT_NAME, "vServer" } } },
    { "upcloud", { { DMI_SYS_VENDOR, "UpCloud" } } },
    { "alicloud", { { DMI_SYS_VENDOR, "Alibaba Cloud" } } },
    { "vultr", { { DMI_SYS_VENDOR, "Vultr" } } },
    { "ovh", { { DMI_PRODUCT_NAME, "OpenStack *" } } },
    { "ovh", { { DMI_SYS_VENDOR, "OpenStack Foundation" } } },
};

#define TO(member) \
    offsetof(struct cloud_facts, member), sizeof(((struct cloud_facts *)0)->member)
#define FIELD(name, member)              \
    {                                    \
        .key = (name), STORE(TO(member)) \
    }
#define STORE(...) STORE_AT(__VA_ARGS__)
#define STORE_AT(at, length) .offset = (at), .size = (length)

/* clang-format off */
static const struct cloud_vendor vendors[] = {
    {
        .name = "aws",
        .url = LINK_LOCAL,
        .product_is_type = true,
        .token_request_header = "X-aws-ec2-metadata-token-ttl-seconds: 60",
        .token_header = "X-aws-ec2-metadata-token",
        .requests = { {
            .path = "/latest/dynamic/instance-identity/document",
            .fields = { FIELD("region", region), FIELD("availabilityZone", zone),
                        FIELD("instanceType", instance_type), FIELD("accountId", account) },
        } },
    },
    {
        .name = "gcp",
        .url = LINK_LOCAL, /* of metadata.google.internal, which would have to be looked up */
        .header = "Metadata-Flavor: Google",
        .answer_header = "Metadata-Flavor",
        .answer_value = "Google",
        .requests = { {
            .path = "/computeMetadata/v1/instance/zone",
            .syntax = CLOUD_TEXT,
            .fields = { FIELD(NULL, zone), { STORE(TO(region)), .drops_suffix = true } },
        }, {
            .path = "/computeMetadata/v1/instance/machine-type",
            .syntax = CLOUD_TEXT,
            .fields = { FIELD(NULL, instance_type) },
        }, {
            .path = "/computeMetadata/v1/project/project-id",
            .syntax = CLOUD_TEXT,
            .fields = { FIELD(NULL, account) },
        } },
    },
    {
        .name = "azure",
        .url = LINK_LOCAL,
        .header = "Metadata: true",
        .requests = { {
            .path = "/metadata/instance?api-version=2021-02-01",
            .fields = { FIELD("compute.location", region), FIELD("compute.zone", zone),
                        FIELD("compute.vmSize", instance_type),
                        FIELD("compute.subscriptionId", account) },
        } },
    },
    {
        .name = "hcloud",
        .url = LINK_LOCAL,
        .requests = { {
            .path = "/hetzner/v1/metadata", /* its instance-id is the number of the machine */
            .syntax = CLOUD_LINES,
            .fields = { FIELD("region", region), FIELD("availability-zone", zone),
                        FIELD("instance-type", instance_type) },
        } },
    },
    {
        .name = "upcloud",
        .url = LINK_LOCAL,
        .requests = { {
            .path = "/metadata/v1.json",
            .fields = { { .key = "cloud_name", .expected = "upcloud" }, FIELD("region", region) },
        } },
    },
    {
        .name = "ovh",
        .url = LINK_LOCAL,
        .is_guess = true,
        .requests = { {
            .path = "/openstack/latest/network_data.json",
            .fields = { { .key = "services.0.address", .expected = OVH_DNS } },
        }, {
            .path = "/openstack/latest/meta_data.json", /* "nova" is a default of OpenStack */
            .fields = { { .key = "availability_zone", STORE(TO(zone)), .unknown = "nova" },
                        { .key = "availability_zone", STORE(TO(region)), .unknown = "nova" } },
        }, {
            .path = "/latest/meta-data/instance-type",
            .syntax = CLOUD_TEXT,
            .is_optional = true,
            .fields = { FIELD(NULL, instance_type) },
        } },
    },
    {
        .name = "alicloud",
        .url = "http://100.100.100.200",
        .token_request_header = "X-aliyun-ecs-metadata-token-ttl-seconds: 60",
        .token_header = "X-aliyun-ecs-metadata-token",
        .requests = { {
            .path = "/latest/dynamic/instance-identity/document",
            .fields = { FIELD("region-id", region), FIELD("zone-id", zone),
                        FIELD("instance-type", instance_type), FIELD("owner-account-id", account) },
        } },
    },
    {
        .name = "vultr",
        .url = LINK_LOCAL,
        .requests = { {
            .path = "/v1.json",
            .fields = { FIELD("region.regioncode", region) },
        } },
    },
};
/* clang-format on */

const struct cloud_vendor *cloud_vendor_find(const struct dmi *dmi)
{
    const char *name = dmi_find(dmi, rules, ARRAY_SIZE(rules));

    for (size_t i = 0; name && i < ARRAY_SIZE(vendors); i++) {
        if (strcmp(vendors[i].name, name) == 0)
            return &vendors[i];
    }
    return NULL;
}
