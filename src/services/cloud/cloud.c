/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cloud/cloud.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "output/output_file.h"
#include "services/http.h"
#include "text/find.h"
#include "text/json_member.h"
#include "text/json_writer.h"

/* ---- the vendors -------------------------------------------------------- */

#define AZURE_ASSET_TAG "7783-7084-3265-9085-8269-3286-77"
#define LINK_LOCAL "http://169.254.169.254"
#define OVH_DNS "213.186.33.99"

/*
 * How the firmware names a cloud:
 *
 * - Every Hyper-V machine has Microsoft as its vendor; only Azure machines have the asset tag.
 * - Google's laptops have Google as their vendor, but another product name.
 * - EC2 on Xen (older instance types) has the product name "HVM domU", "amazon" in the firmware
 *   version, and a UUID that starts with "ec2". Paravirtual instances have only the UUID.
 * - OVH uses OpenStack, like many other clouds.
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
            .fields = { { "region", .fact = CLOUD_REGION }, { "availabilityZone", .fact = CLOUD_ZONE },
                        { "instanceType", .fact = CLOUD_INSTANCE_TYPE }, { "accountId", .fact = CLOUD_ACCOUNT } },
        } },
    },
    {
        .name = "gcp",
        .url = LINK_LOCAL, /* metadata.google.internal, without a DNS lookup */
        .header = "Metadata-Flavor: Google",
        .answer_header = "Metadata-Flavor",
        .answer_value = "Google",
        .requests = { {
            .path = "/computeMetadata/v1/instance/zone",
            .syntax = CLOUD_TEXT,
            .fields = { { NULL, .fact = CLOUD_ZONE }, { NULL, CLOUD_REGION, .drops_suffix = true } },
        }, {
            .path = "/computeMetadata/v1/instance/machine-type",
            .syntax = CLOUD_TEXT,
            .fields = { { NULL, .fact = CLOUD_INSTANCE_TYPE } },
        }, {
            .path = "/computeMetadata/v1/project/project-id",
            .syntax = CLOUD_TEXT,
            .fields = { { NULL, .fact = CLOUD_ACCOUNT } },
        } },
    },
    {
        .name = "azure",
        .url = LINK_LOCAL,
        .header = "Metadata: true",
        .requests = { {
            .path = "/metadata/instance?api-version=2021-02-01",
            .fields = { { "compute.location", .fact = CLOUD_REGION }, { "compute.zone", .fact = CLOUD_ZONE },
                        { "compute.vmSize", .fact = CLOUD_INSTANCE_TYPE },
                        { "compute.subscriptionId", .fact = CLOUD_ACCOUNT } },
        } },
    },
    {
        .name = "hcloud",
        .url = LINK_LOCAL,
        .requests = { {
            .path = "/hetzner/v1/metadata", /* instance-id is the number of the machine */
            .syntax = CLOUD_LINES,
            .fields = { { "region:", .fact = CLOUD_REGION }, { "availability-zone:", .fact = CLOUD_ZONE },
                        { "instance-type:", .fact = CLOUD_INSTANCE_TYPE } },
        } },
    },
    {
        .name = "upcloud",
        .url = LINK_LOCAL,
        .requests = { {
            .path = "/metadata/v1.json",
            .fields = { { .key = "cloud_name", .expected = "upcloud" }, { "region", .fact = CLOUD_REGION } },
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
            .fields = { { "availability_zone", CLOUD_ZONE, .unknown = "nova" },
                        { "availability_zone", CLOUD_REGION, .unknown = "nova" } },
        }, {
            .path = "/latest/meta-data/instance-type",
            .syntax = CLOUD_TEXT,
            .is_optional = true,
            .fields = { { NULL, .fact = CLOUD_INSTANCE_TYPE } },
        } },
    },
    {
        .name = "alicloud",
        .url = "http://100.100.100.200",
        .token_request_header = "X-aliyun-ecs-metadata-token-ttl-seconds: 60",
        .token_header = "X-aliyun-ecs-metadata-token",
        .requests = { {
            .path = "/latest/dynamic/instance-identity/document",
            .fields = { { "region-id", .fact = CLOUD_REGION }, { "zone-id", .fact = CLOUD_ZONE },
                        { "instance-type", .fact = CLOUD_INSTANCE_TYPE },
                        { "owner-account-id", .fact = CLOUD_ACCOUNT } },
        } },
    },
    {
        .name = "vultr",
        .url = LINK_LOCAL,
        .requests = { {
            .path = "/v1.json",
            .fields = { { "region.regioncode", .fact = CLOUD_REGION } },
        } },
    },
};

/* clang-format on */

const struct cloud_vendor *cloud_vendor_find(const struct dmi *dmi)
{
    const char *name = dmi_find(dmi, rules, ARRAY_SIZE(rules));

    return name ? FIND_ROW(vendors, name, name) : NULL;
}

/* ---- responses of a vendor ---------------------------------------------- */

enum { VALUE_SIZE = 256 };

static bool is_identifier(const char *text)
{
    for (; *text; text++) {
        if (!isascii(*text) || (!isalnum((unsigned char)*text) && !strchr("-_.:+@/", *text)))
            return false;
    }
    return true;
}

int cloud_value_copy(const char *text, size_t length, char *buf, size_t size)
{
    char value[VALUE_SIZE];
    const char *part;

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    if (length >= sizeof(value))
        return -EBADMSG;
    memcpy(value, text, length);
    value[length] = '\0';
    part = strrchr(value, '/') ? strrchr(value, '/') + 1 : value;
    if (strlen(value) != length || !is_identifier(value) || !*part || strlen(part) >= size)
        return -EBADMSG;
    memcpy(buf, part, strlen(part) + 1);
    return 0;
}

static int copy_field(const struct cloud_request *request, const struct cloud_field *field,
                      const char *text, const json_t *document, char value[VALUE_SIZE])
{
    const json_t *found;

    switch (request->syntax) {
    case CLOUD_JSON:
        found = member_at(document, field->key);
        return json_is_string(found)
                   ? cloud_value_copy(json_string_value(found), json_string_length(found),
                                      value, VALUE_SIZE)
                   : -EBADMSG;
    case CLOUD_LINES:
        text = parse_key(text, field->key);
        break;
    case CLOUD_TEXT:
        return cloud_value_copy(text, strlen(text), value, VALUE_SIZE);
    }
    return text ? cloud_value_copy(text, strcspn(text, "\n"), value, VALUE_SIZE) : -EBADMSG;
}

#define FACT(member)                                   \
    {                                                  \
#member, offsetof(struct cloud_facts, member), \
            sizeof(((struct cloud_facts *)0)->member)  \
    }

static const struct {
    const char *key; /* in the cache */
    size_t offset, size;
} members[] = {
    [CLOUD_VENDOR] = FACT(vendor),   [CLOUD_REGION] = FACT(region),
    [CLOUD_ZONE] = FACT(zone),       [CLOUD_INSTANCE_TYPE] = FACT(instance_type),
    [CLOUD_ACCOUNT] = FACT(account),
};

/* Stores a value. -EBADMSG: it is too long, or shows that this is another service. */
static int take_value(const struct cloud_field *field, char *value, struct cloud_facts *facts)
{
    char *dash = field->drops_suffix ? strrchr(value, '-') : NULL;

    if (field->expected)
        return strcmp(value, field->expected) == 0 ? 0 : -EBADMSG;
    if (field->unknown && strcmp(value, field->unknown) == 0)
        return 0;
    if (dash)
        *dash = '\0';
    if (strlen(value) >= members[field->fact].size)
        return -EBADMSG;
    memcpy((char *)facts + members[field->fact].offset, value, strlen(value) + 1);
    return 0;
}

static bool is_field(const struct cloud_field *field)
{
    return field->fact != CLOUD_NO_FACT || field->expected;
}

int cloud_answer_parse(const struct cloud_request *request, const char *text,
                       struct cloud_facts *facts)
{
    struct cloud_facts found = *facts;
    json_t *document = NULL;
    int r = 0;

    if (request->syntax == CLOUD_JSON) {
        document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!document)
            return -EBADMSG;
    }
    for (size_t i = 0; r == 0 && i < CLOUD_FIELDS_MAX && is_field(&request->fields[i]); i++) {
        const struct cloud_field *field = &request->fields[i];
        char value[VALUE_SIZE];

        r = copy_field(request, field, text, document, value);
        if (r == 0)
            r = take_value(field, value, &found);
        if (r < 0 && i > 0 && !field->expected)
            r = 0; /* the value stays unknown */
    }
    json_decref(document);
    if (r == 0)
        *facts = found;
    return r;
}

/* ---- queries of the metadata service ------------------------------------ */

#define TOKEN_PATH "/latest/api/token"

enum { ANSWER_MAX = 256 << 10, TOKEN_MAX = 1024, NOT_FOUND = 404 };

struct conversation {
    const struct cloud_vendor *vendor;
    const char *url;
    uint64_t until_ns;
    struct http *http;
    struct http_response response;
    struct buffer token; /* header with the token */
};

static int refuse(const struct conversation *talk, const char *path, struct spoor_error *err)
{
    return error_set(err, EBADMSG,
                     "the metadata service of %s gave an unexpected answer to '%s'",
                     talk->vendor->name, path);
}

/* Sends one request. Returns 0 for a response of any status. */
static int send_request(struct conversation *talk, const char *method, const char *path,
                        const char *header, struct spoor_error *err)
{
    const char *headers[] = { header, talk->token.text, NULL }, *base = talk->url;
    uint64_t now_ns = clock_now().monotonic_ns;
    CLEANUP(buffer_done) struct buffer url = { 0 };
    struct http_request request = { .method = method,
                                    .headers = header ? headers : headers + 1,
                                    .is_local = true,
                                    .wanted_header = talk->vendor->answer_header };
    int r;

    buffer_format(&url, "%s%s", base, path);
    if (buffer_error(&url) < 0 || buffer_error(&talk->token) < 0)
        return error_set(err, ENOMEM, "out of memory");
    request.url = url.text;
    request.timeout_ms = talk->until_ns > now_ns ? (talk->until_ns - now_ns) / NS_PER_MS : 0;
    r = request.timeout_ms == 0 ? -ETIMEDOUT
                                : http_send(talk->http, &request, &talk->response, err);
    if (r == -ETIMEDOUT)
        return error_set(err, ETIMEDOUT, "the metadata service of %s did not answer in time",
                         talk->vendor->name);
    return r < 0 ? error_prefix(err, r, "the metadata service of %s", talk->vendor->name) : 0;
}

static bool is_token(const struct buffer *text)
{
    if (text->length == 0 || text->length > TOKEN_MAX)
        return false;
    for (size_t i = 0; i < text->length; i++) {
        if (!isascii(text->text[i]) || !isgraph((unsigned char)text->text[i]))
            return false;
    }
    return true;
}

/* If the service issues no token, continues without: it may be a version that needs none. */
static int ask_token(struct conversation *talk, struct spoor_error *err)
{
    const char *name = talk->vendor->token_header;
    int r = send_request(talk, "PUT", TOKEN_PATH, talk->vendor->token_request_header, err);

    if (r < 0 || !http_is_success(talk->response.status))
        return r;
    if (!is_token(&talk->response.body))
        return refuse(talk, TOKEN_PATH, err);
    buffer_format(&talk->token, "%s: %s", name, talk->response.body.text);
    return 0;
}

static int ask(struct conversation *talk, const struct cloud_request *request,
               struct cloud_facts *facts, struct spoor_error *err)
{
    const struct cloud_vendor *vendor = talk->vendor;
    const struct http_response *response = &talk->response;
    int r = send_request(talk, NULL, request->path, vendor->header, err);

    if (r < 0)
        return r;
    if (!http_is_success(response->status))
        return error_set(err, response->status == NOT_FOUND ? ENOENT : EPROTO,
                         "the metadata service of %s answered '%s' with status %d",
                         vendor->name, request->path, response->status);
    if (response->body.length > ANSWER_MAX ||
        strlen(response->body.text) != response->body.length ||
        (vendor->answer_header && strcmp(response->header, vendor->answer_value) != 0) ||
        cloud_answer_parse(request, response->body.text, facts) < 0)
        return refuse(talk, request->path, err);
    return 0;
}

int metadata_ask(const struct cloud_vendor *vendor, const char *url, uint64_t timeout_ms,
                 struct cloud_facts *facts, struct spoor_error *err)
{
    struct conversation talk = { .vendor = vendor, .url = url };
    int r = http_open(&talk.http, err);

    if (r < 0)
        return r;
    /* The time limit starts after libcurl is loaded. */
    talk.until_ns = clock_now().monotonic_ns + timeout_ms * NS_PER_MS;
    if (vendor->token_header)
        r = ask_token(&talk, err);
    for (size_t i = 0; r == 0 && i < CLOUD_REQUESTS_MAX && vendor->requests[i].path; i++) {
        const struct cloud_request *request = &vendor->requests[i];

        r = ask(&talk, request, facts, err);
        if (r == -ENOENT && request->is_optional)
            r = 0;
        if (r == 0)
            memcpy(facts->vendor, vendor->name, strlen(vendor->name) + 1);
    }
    buffer_done(&talk.token);
    http_response_done(&talk.response);
    http_close(talk.http);
    return r;
}

/* ---- cached responses ---------------------------------------------- */

enum { FILE_MAX = 16 << 10 };

/* Reads the boot ID, which changes at every boot. -ENOENT: unknown. */
static int read_boot_id(const struct root *root, char *buf, size_t size)
{
    char text[128];
    ssize_t n = root_read(root, text, sizeof(text), "proc/sys/kernel/random/boot_id");

    return n > 0 && cloud_value_copy(text, (size_t)n, buf, size) == 0 ? 0 : -ENOENT;
}

/* Finds the path of the cache file. Its base directory must belong to us: with sudo, HOME
 * may still be another user's. */
static int find_path(environment_get *get_variable, bool is_made, struct buffer *ret)
{
    const char *cache = get_variable("XDG_CACHE_HOME"), *home = get_variable("HOME");
    bool has_cache = cache && *cache == '/';
    const char *base = has_cache ? cache : home;
    struct stat status;

    if (!base || *base != '/' || stat(base, &status) < 0 || status.st_uid != geteuid())
        return -ENOENT;
    buffer_format(ret, "%s%s", base, has_cache ? "" : "/.cache");
    buffer_add_text(ret, "/spoor");
    if (is_made && buffer_error(ret) == 0)
        (void)output_make_directories(ret->text); /* on failure the file cannot be created */
    buffer_add_text(ret, "/cloud.json");
    return buffer_error(ret);
}

/* Reads a regular file that only we can write. */
static json_t *load(const char *path)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH) ||
        buffer_read(&text, fd, FILE_MAX) < 0)
        return NULL;
    return json_loads(text.text, JSON_REJECT_DUPLICATES, NULL);
}

static int take_facts(const json_t *document, struct cloud_facts *ret)
{
    struct cloud_facts facts = { 0 };

    for (size_t i = CLOUD_VENDOR; i < ARRAY_SIZE(members); i++) {
        const json_t *value = json_object_get(document, members[i].key);

        if (json_is_null(value))
            continue;
        if (!json_is_string(value) ||
            cloud_value_copy(json_string_value(value), json_string_length(value),
                             (char *)&facts + members[i].offset, members[i].size) < 0)
            return -ENOENT;
    }
    *ret = facts;
    return 0;
}

int cloud_cache_read(const struct root *root, environment_get *get_variable,
                     const struct cloud_cache_key *key, struct cloud_facts *ret)
{
    CLEANUP(buffer_done) struct buffer path = { 0 };
    char boot_id[64];
    json_t *document;
    int r = -ENOENT;

    if (read_boot_id(root, boot_id, sizeof(boot_id)) < 0 ||
        find_path(get_variable, false, &path) < 0)
        return -ENOENT;
    document = load(path.text);
    if (member_is(document, "boot_id", boot_id) && member_is(document, "service", key->url) &&
        member_is(document, "vendor", key->vendor))
        r = take_facts(document, ret);
    json_decref(document);
    return r;
}

static void describe(const struct cloud_cache_key *key, const char *boot_id,
                     const struct cloud_facts *facts, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "boot_id", boot_id);
    json_add_text(&json, "service", key->url);
    for (size_t i = CLOUD_VENDOR; i < ARRAY_SIZE(members); i++) {
        json_add_known_text(&json, members[i].key, (const char *)facts + members[i].offset);
    }
    json_end(&json);
    buffer_add(out, "\n", 1);
}

void cloud_cache_write(const struct root *root, environment_get *get_variable,
                       const struct cloud_cache_key *key, const struct cloud_facts *facts)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(buffer_done) struct buffer path = { 0 };
    char boot_id[64];

    if (read_boot_id(root, boot_id, sizeof(boot_id)) < 0 ||
        find_path(get_variable, true, &path) < 0)
        return;
    describe(key, boot_id, facts, &text);
    /* On failure the service is queried again. */
    (void)replacement_write(path.text, &text, (struct replacement_style){ .is_private = true });
}

/* ---- the cloud of this machine ------------------------------------------ */

enum { TIMEOUT_MS = 1000 };

/* Returns the facts that the firmware provides. */
static struct cloud_facts facts_of(const struct dmi *dmi, const struct cloud_vendor *vendor)
{
    const char *product = dmi->text[DMI_PRODUCT_NAME];
    struct cloud_facts facts = { 0 };

    if (vendor->is_guess)
        return facts;
    memcpy(facts.vendor, vendor->name, strlen(vendor->name) + 1);
    if (vendor->product_is_type && strchr(product, '.')) /* "HVM domU" is not a type */
        (void)cloud_value_copy(product, strlen(product), facts.instance_type,
                               sizeof(facts.instance_type)); /* stays unknown on failure */
    return facts;
}

struct spoor_cloud cloud_describe(const struct cloud_facts *facts)
{
    return (struct spoor_cloud){
        .size = sizeof(struct spoor_cloud),
        .vendor = facts->vendor,
        .region = facts->region,
        .zone = facts->zone,
        .instance_type = facts->instance_type,
        .account = facts->account,
    };
}

int cloud_find(const struct root *root, bool may_ask, struct cloud_facts *ret,
               struct spoor_error *err)
{
    const char *url = environment_own(CLOUD_URL_VARIABLE);
    const struct cloud_vendor *vendor;
    struct cloud_cache_key key;
    struct dmi dmi;
    uint64_t timeout_ms = TIMEOUT_MS;
    int r;

    *ret = (struct cloud_facts){ 0 };
    dmi_read(root, &dmi);
    vendor = cloud_vendor_find(&dmi);
    if (!vendor)
        return error_set(err, ENODEV, "not a machine of a known cloud");
    key = (struct cloud_cache_key){ vendor->name, url && *url ? url : vendor->url };
    if (cloud_cache_read(root, environment_own, &key, ret) == 0)
        return 0;
    *ret = facts_of(&dmi, vendor);
    if (!may_ask)
        return error_set(err, ENOENT, "the metadata service is not asked");
    r = http_timeout_read(environment_own, CLOUD_TIMEOUT_VARIABLE, 0, &timeout_ms, err);
    if (r == 0 && timeout_ms == 0)
        r = error_set(err, ECANCELED, "%s is 0, so the metadata service is not asked",
                      CLOUD_TIMEOUT_VARIABLE);
    if (r == 0)
        r = metadata_ask(vendor, key.url, timeout_ms, ret, err);
    if (r == 0)
        cloud_cache_write(root, environment_own, &key, ret);
    else if (vendor->is_guess && !ret->vendor[0] && (r == -ENOENT || r == -EBADMSG))
        return error_set(err, ENODEV, "not a machine of a known cloud");
    return r;
}
