/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cloud/cloud.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "services/cloud/answer.h"
#include "services/cloud/cache.h"
#include "services/cloud/metadata.h"
#include "services/cloud/vendor.h"
#include "text/number.h"

enum { TIMEOUT_MS = 1000, TIMEOUT_MAX_SECONDS = 60 };

/* -ECANCELED: the user wants nothing to be asked. */
static int read_timeout(uint64_t *ret_ms, struct spoor_error *err)
{
    const char *text = environment_own(CLOUD_TIMEOUT_VARIABLE);
    double seconds;

    *ret_ms = TIMEOUT_MS;
    if (!text || !*text)
        return 0;
    if (decimal_parse(text, &seconds) < 0 || !(seconds >= 0 && seconds <= TIMEOUT_MAX_SECONDS))
        return error_set(err, EINVAL, "%s: expected 0 to %d seconds", CLOUD_TIMEOUT_VARIABLE,
                         TIMEOUT_MAX_SECONDS);
    *ret_ms = (uint64_t)(seconds * 1000);
    if (*ret_ms == 0)
        return error_set(err, ECANCELED, "%s is 0, so the metadata service is not asked",
                         CLOUD_TIMEOUT_VARIABLE);
    return 0;
}

/* What the firmware alone says. */
static struct cloud_facts facts_of(const struct dmi *dmi, const struct cloud_vendor *vendor)
{
    const char *product = dmi->text[DMI_PRODUCT_NAME];
    struct cloud_facts facts = { 0 };

    if (vendor->is_guess)
        return facts;
    memcpy(facts.vendor, vendor->name, strlen(vendor->name) + 1);
    if (vendor->product_is_type && strchr(product, '.')) /* "HVM domU" is not a type */
        (void)cloud_value_copy(product, strlen(product), facts.instance_type,
                               sizeof(facts.instance_type)); /* unknown if it cannot be */
    return facts;
}

/* -ENODEV: not a machine of a cloud. -ENOENT: there was no answer since boot; *ret has what the
 * firmware says. */
static int recall(const struct root *root, const struct cloud_vendor **ret_vendor,
                  struct cloud_cache_key *ret_key, struct cloud_facts *ret)
{
    const char *url = environment_own(CLOUD_URL_VARIABLE);
    const struct cloud_vendor *vendor;
    struct dmi dmi;

    *ret = (struct cloud_facts){ 0 };
    dmi_read(root, &dmi);
    vendor = cloud_vendor_find(&dmi);
    if (!vendor)
        return -ENODEV;
    *ret_vendor = vendor;
    *ret_key = (struct cloud_cache_key){ vendor->name, url && *url ? url : vendor->url };
    if (cloud_cache_read(root, environment_own, ret_key, ret) == 0)
        return 0;
    *ret = facts_of(&dmi, vendor);
    return -ENOENT;
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

void cloud_recall(const struct root *root, struct cloud_facts *ret)
{
    const struct cloud_vendor *vendor;
    struct cloud_cache_key key;

    (void)recall(root, &vendor, &key, ret); /* what is not known is empty */
}

int cloud_find(const struct root *root, struct cloud_facts *ret, struct spoor_error *err)
{
    const struct cloud_vendor *vendor;
    struct cloud_cache_key key;
    uint64_t timeout_ms;
    int r = recall(root, &vendor, &key, ret);

    if (r == -ENODEV)
        return error_set(err, ENODEV, "not a machine of a known cloud");
    if (r == 0)
        return 0;
    r = read_timeout(&timeout_ms, err);
    if (r == 0)
        r = metadata_ask(vendor, key.url, timeout_ms, ret, err);
    if (r == 0)
        cloud_cache_write(root, environment_own, &key, ret);
    else if (vendor->is_guess && !ret->vendor[0] && (r == -ENOENT || r == -EBADMSG))
        return error_set(err, ENODEV, "not a machine of a known cloud");
    return r;
}
