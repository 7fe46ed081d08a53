/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the detection of clouds by the firmware of real machines, and facts that need no
 * metadata service. tests/functional/test_cloud.py tests the metadata service. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "services/cloud/cloud.h"
#include "unit_test.h"

/* ---- cloud vendor ------------------------------------------------------- */

#define AZURE_TAG "7783-7084-3265-9085-8269-3286-77"

static const struct {
    const char *vendor; /* NULL: not a known cloud */
    struct dmi dmi;
} machines[] = {
    { "aws", { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "m5.large" } } },
    /* arm64 */
    { "aws", { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "c7g.metal" } } },
    { "aws", { { [DMI_SYS_VENDOR] = "x", [DMI_BIOS_VENDOR] = "Amazon EC2" } } },
    /* Xen: as an ordinary user, as root, and with paravirtualization */
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
    { NULL, /* Hyper-V outside Azure */
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

TEST(clouds_are_recognized_by_their_firmware)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        const struct cloud_vendor *vendor = cloud_vendor_find(&machines[i].dmi);

        if (machines[i].vendor)
            assert_string_equal(vendor ? vendor->name : "none", machines[i].vendor);
        else if (vendor)
            fail_msg("machine %zu is not of %s", i, vendor->name);
    }
}

TEST(every_vendor_has_a_metadata_request)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        const struct cloud_vendor *vendor = cloud_vendor_find(&machines[i].dmi);
        const struct cloud_field *first = vendor ? &vendor->requests[0].fields[0] : NULL;

        if (!vendor)
            continue;
        assert_non_null(vendor->requests[0].path);
        assert_true(first->fact != CLOUD_NO_FACT || first->expected);
        assert_true(vendor->is_guess == !!first->expected || !vendor->is_guess);
    }
}

/* ---- cloud answer ------------------------------------------------------- */

static const struct cloud_request json = {
    .path = "/x",
    .fields = { { .key = "a.b", .fact = CLOUD_REGION },
                { .key = "list.1.c", .fact = CLOUD_ZONE } },
};
static const struct cloud_request text = {
    .path = "/x",
    .syntax = CLOUD_TEXT,
    .fields = { { .fact = CLOUD_ZONE, .unknown = "nova" },
                { .fact = CLOUD_REGION, .drops_suffix = true } },
};
static const struct cloud_request lines = {
    .path = "/x",
    .syntax = CLOUD_LINES,
    .fields = { { .key = "region:", .fact = CLOUD_REGION },
                { .key = "type:", .fact = CLOUD_INSTANCE_TYPE } },
};
static const struct cloud_request proof = {
    .path = "/x",
    .fields = { { .key = "name", .expected = "me" },
                { .key = "region", .fact = CLOUD_REGION } },
};

TEST(values_are_found_in_responses)
{
    struct cloud_facts facts = { .account = "before" };

    assert_int_equal(
        cloud_answer_parse(&json, "{\"a\":{\"b\":\"r-1\"},\"list\":[0,{\"c\":\"z\"}]}", &facts),
        0);
    assert_string_equal(facts.region, "r-1");
    assert_string_equal(facts.zone, "z");
    assert_string_equal(facts.account, "before");
    assert_int_equal(cloud_answer_parse(&text, "projects/1/zones/europe-west1-b\n", &facts), 0);
    assert_string_equal(facts.zone, "europe-west1-b");
    assert_string_equal(facts.region, "europe-west1");
    assert_int_equal(
        cloud_answer_parse(&lines, "regional: x\nregion: eu\ntype: cx22\n", &facts), 0);
    assert_string_equal(facts.region, "eu");
    assert_string_equal(facts.instance_type, "cx22");
}

TEST(only_the_first_value_is_required)
{
    struct cloud_facts facts = { 0 };

    assert_int_equal(cloud_answer_parse(&json, "{\"a\":{\"b\":\"r\"},\"list\":{}}", &facts), 0);
    assert_string_equal(facts.region, "r");
    assert_string_equal(facts.zone, "");
    assert_int_equal(cloud_answer_parse(&lines, "type: x\n", &facts), -EBADMSG);
    assert_int_equal(cloud_answer_parse(&lines, "region: y\n", &facts), 0);
    assert_string_equal(facts.instance_type, "");
}

TEST(a_value_can_be_empty)
{
    struct cloud_facts facts = { 0 };

    assert_int_equal(cloud_answer_parse(&text, "nova", &facts), 0);
    assert_string_equal(facts.zone, "");
}

TEST(a_response_must_identify_its_service)
{
    struct cloud_facts facts = { 0 };

    assert_int_equal(cloud_answer_parse(&proof, "{\"name\":\"me\",\"region\":\"r\"}", &facts),
                     0);
    assert_string_equal(facts.region, "r");
    facts = (struct cloud_facts){ 0 };
    assert_int_equal(cloud_answer_parse(&proof, "{\"name\":\"you\",\"region\":\"r\"}", &facts),
                     -EBADMSG);
    assert_int_equal(cloud_answer_parse(&proof, "{\"region\":\"r\"}", &facts), -EBADMSG);
    assert_string_equal(facts.region, "");
}

TEST(wrong_responses_are_refused)
{
    static const struct {
        const struct cloud_request *request;
        const char *text;
    } wrong[] = {
        { &json, "" },
        { &json, "<html><body>Log in</body></html>" },
        { &json, "[]" },
        { &json, "\"a\"" },
        { &json, "{" },
        { &json, "{}" },
        { &json, "{\"a\":\"b\"}" },
        { &json, "{\"a\":{\"b\":7}}" },
        { &json, "{\"a\":{\"b\":null}}" },
        { &json, "{\"a\":{\"b\":\"\"}}" },
        { &json, "{\"a\":{\"b\":\"two words\"}}" },
        { &json, "{\"a\":{\"b\":\"x\\u001b[31m\"}}" },
        { &json, "{\"a\":{\"b\":\"\xc3\xa9\"}}" },
        { &json, "{\"a\":{\"b\":\"r\"}} and more" },
        { &text, "" },
        { &text, " \n" },
        { &text, "zones/" },
        { &text, "<html><body>Log in</body></html>" },
        { &text, "Log in at http://example.com/login" },
        { &text, "a\nb" },
        { &lines, "region:\n" },
        { &lines, "region eu\n" },
        { &lines, "<html>\nregion: <b>eu</b>\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct cloud_facts facts = { .vendor = "v" }, before = facts;

        assert_int_equal(cloud_answer_parse(wrong[i].request, wrong[i].text, &facts), -EBADMSG);
        assert_memory_equal(&facts, &before, sizeof(facts)); /* untouched on failure */
    }
}

TEST(long_values_are_refused_instead_of_truncated)
{
    struct cloud_facts facts = { 0 };
    char buf[4] = "old", value[400];

    memset(value, 'a', sizeof(value));
    assert_int_equal(cloud_value_copy(value, 3, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "aaa");
    assert_int_equal(cloud_value_copy(value, 4, buf, sizeof(buf)), -EBADMSG);
    assert_int_equal(cloud_value_copy(value, sizeof(value), buf, sizeof(buf)), -EBADMSG);
    assert_int_equal(cloud_value_copy("a\0b", 3, buf, sizeof(buf)), -EBADMSG);
    value[100] = '\0'; /* too long for `zone` */
    assert_int_equal(cloud_answer_parse(&text, value, &facts), -EBADMSG);
    assert_string_equal(facts.zone, "");
}

/* ---- cloud cache -------------------------------------------------------- */

#define FILE_PATH "home/.cache/spoor/cloud.json"

static const struct cloud_cache_key key = { "aws", "http://169.254.169.254" };
static const struct cloud_facts kept_facts = { .vendor = "aws",
                                               .region = "us-west-2",
                                               .instance_type = "m5.large" };

static struct fake_root fake;
static char home[128], cache_home[128];

static const char *find_variable(const char *name)
{
    const char *value = strcmp(name, "HOME") == 0             ? home
                        : strcmp(name, "XDG_CACHE_HOME") == 0 ? cache_home
                                                              : "";

    return *value ? value : NULL;
}

static void boot(const char *id)
{
    fake_root_write(&fake, "proc/sys/kernel/random/boot_id", id);
}

static int begin(void **state)
{
    fake_root_init(&fake);
    fake_root_write(&fake, "home/x", "");
    boot("0f7d7d4e-5b1c-4b8e-9c1f-5b2f1a3b4c5d\n");
    snprintf(home, sizeof(home), "%s/home", fake.path);
    cache_home[0] = '\0';
    return 0;
}

static int end(void **state)
{
    fake_root_done(&fake);
    return 0;
}

static int read_again(struct cloud_facts *ret)
{
    return cloud_cache_read(&fake.root, find_variable, &key, ret);
}

TEST_WITH(facts_are_cached_for_the_user_only, begin, end)
{
    struct cloud_facts found;
    struct stat status;
    char path[256];

    assert_int_equal(read_again(&found), -ENOENT);
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(read_again(&found), 0);
    assert_memory_equal(&found, &kept_facts, sizeof(kept_facts));
    snprintf(path, sizeof(path), "%s/%s", fake.path, FILE_PATH);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts); /* replaces it */
    assert_int_equal(read_again(&found), 0);
}

TEST_WITH(a_reboot_invalidates_the_cache, begin, end)
{
    struct cloud_facts found;

    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    boot("11111111-5b1c-4b8e-9c1f-5b2f1a3b4c5d\n");
    assert_int_equal(read_again(&found), -ENOENT);
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(read_again(&found), 0);
}

TEST_WITH(the_cache_is_per_service, begin, end)
{
    const struct cloud_cache_key others[] = { { "gcp", key.url },
                                              { "aws", "http://127.0.0.1:1" } };
    struct cloud_facts found;

    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(cloud_cache_read(&fake.root, find_variable, &others[0], &found), -ENOENT);
    assert_int_equal(cloud_cache_read(&fake.root, find_variable, &others[1], &found), -ENOENT);
}

TEST_WITH(the_cache_directory_can_be_chosen, begin, end)
{
    struct cloud_facts found;

    fake_root_write(&fake, "elsewhere/x", "");
    snprintf(cache_home, sizeof(cache_home), "%s/elsewhere", fake.path);
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_true(root_exists(&fake.root, "elsewhere/spoor/cloud.json"));
    assert_false(root_exists(&fake.root, FILE_PATH));
    assert_int_equal(read_again(&found), 0);
}

TEST_WITH(without_a_cache_directory_nothing_is_cached, begin, end)
{
    struct cloud_facts found;

    snprintf(home, sizeof(home), "relative");
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(read_again(&found), -ENOENT);
    snprintf(home, sizeof(home), "%s/missing", fake.path);
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(read_again(&found), -ENOENT);
    home[0] = '\0';
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(read_again(&found), -ENOENT);
}

TEST_WITH(without_a_boot_id_nothing_is_cached, begin, end)
{
    struct cloud_facts found;

    boot("\n");
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_false(root_exists(&fake.root, FILE_PATH));
    assert_int_equal(read_again(&found), -ENOENT);
}

TEST_WITH(a_damaged_cache_file_is_not_used, begin, end)
{
#define KEYS                                                                     \
    "\"boot_id\":\"0f7d7d4e-5b1c-4b8e-9c1f-5b2f1a3b4c5d\",\"service\":\"http://" \
    "169.254.169.254\","
    static const char *const broken[] = {
        "",
        "{",
        "[]",
        "{}",
        "{" KEYS "\"vendor\":7}",
        "{" KEYS "\"vendor\":\"aws\",\"region\":7,\"zone\":null,\"instance_type\":null,"
        "\"account\":null}",
        "{" KEYS
        "\"vendor\":\"aws\",\"region\":\"\\u001b[31m\",\"zone\":null,\"instance_type\":null,"
        "\"account\":null}",
    };
    struct cloud_facts found = { .vendor = "before" };

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        fake_root_write(&fake, FILE_PATH, broken[i]);
        assert_int_equal(read_again(&found), -ENOENT);
    }
    assert_string_equal(found.vendor, "before");
    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    assert_int_equal(read_again(&found), 0);
}

TEST_WITH(a_cache_file_writable_by_others_is_not_used, begin, end)
{
    struct cloud_facts found;
    char path[256];

    cloud_cache_write(&fake.root, find_variable, &key, &kept_facts);
    snprintf(path, sizeof(path), "%s/%s", fake.path, FILE_PATH);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(read_again(&found), -ENOENT);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(read_again(&found), 0);
    assert_int_equal(unlink(path), 0);
    fake_root_link(&fake, FILE_PATH, "/dev/zero");
    assert_int_equal(read_again(&found), -ENOENT);
}

/* ---- cloud -------------------------------------------------------------- */

/* No server listens on this port. */
#define DEAD_END "http://127.0.0.1:1"

static int cloud_begin(void **state)
{
    fake_root_init(&fake);
    fake_root_write(&fake, "proc/sys/kernel/random/boot_id", "0f7d7d4e\n");
    setenv(CLOUD_URL_VARIABLE, DEAD_END, 1);
    setenv(CLOUD_TIMEOUT_VARIABLE, "20", 1);
    setenv("XDG_CACHE_HOME", fake.path, 1);
    return 0;
}

TEST_WITH(a_machine_outside_a_cloud_sends_no_request, cloud_begin, end)
{
    struct cloud_facts facts, none = { 0 };
    struct spoor_error err = { 0 };

    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "QEMU\n");
    memset(&facts, 'x', sizeof(facts));
    assert_int_equal(cloud_find(&fake.root, true, &facts, &err), -ENODEV);
    assert_memory_equal(&facts, &none, sizeof(facts));
}

TEST_WITH(without_a_response_only_firmware_facts_are_known, cloud_begin, end)
{
    struct spoor_error err = { 0 };
    struct cloud_facts facts;

    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "m5.large\n");
    assert_int_equal(cloud_find(&fake.root, true, &facts, &err), -ECONNREFUSED);
    assert_string_equal(facts.vendor, "aws");
    assert_string_equal(facts.instance_type, "m5.large");
    assert_string_equal(facts.region, "");
    assert_non_null(strstr(err.message, "the metadata service of aws: " DEAD_END));
    assert_false(root_exists(&fake.root, "spoor/cloud.json")); /* not cached */
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "HVM domU\n");
    assert_int_equal(cloud_find(&fake.root, true, &facts, &err), -ECONNREFUSED);
    assert_string_equal(facts.instance_type, "");
}

TEST_WITH(an_unconfirmed_guess_is_not_reported_as_the_vendor, cloud_begin, end)
{
    struct cloud_facts facts;

    fake_root_write(&fake, "sys/class/dmi/id/product_name", "OpenStack Nova\n");
    assert_int_equal(cloud_find(&fake.root, true, &facts, NULL), -ECONNREFUSED);
    assert_string_equal(facts.vendor, "");
}

TEST_WITH(the_service_can_be_disabled_and_bad_timeouts_are_refused, cloud_begin, end)
{
    struct spoor_error err = { 0 };
    struct cloud_facts facts;

    fake_root_write(&fake, "sys/class/dmi/id/sys_vendor", "Hetzner\n");
    fake_root_write(&fake, "sys/class/dmi/id/product_name", "vServer\n");
    setenv(CLOUD_TIMEOUT_VARIABLE, "0", 1);
    assert_int_equal(cloud_find(&fake.root, true, &facts, &err), -ECANCELED);
    assert_string_equal(facts.vendor, "hcloud");
    assert_string_equal(err.message,
                        CLOUD_TIMEOUT_VARIABLE " is 0, so the metadata service is not asked");
    setenv(CLOUD_TIMEOUT_VARIABLE, "nan", 1);
    assert_int_equal(cloud_find(&fake.root, true, &facts, &err), -EINVAL);
    assert_string_equal(err.message, CLOUD_TIMEOUT_VARIABLE ": expected 0 to 60 seconds");
    setenv(CLOUD_TIMEOUT_VARIABLE, "61", 1);
    assert_int_equal(cloud_find(&fake.root, true, &facts, &err), -EINVAL);
}
