/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/upload_settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "text/number.h"

#define INTERVAL_MIN_SECONDS 0.1
#define INTERVAL_MAX_SECONDS 86400.0
#define LIMIT_MIN_MB 0.001
#define LIMIT_MAX_MB 1e6
#define WAIT_MAX_SECONDS 3600.0

/* The token is never part of a message. */
int upload_settings_set_token(struct upload_settings *settings, const char *token,
                              struct spoor_error *err)
{
    for (const char *c = token; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~')
            return error_set(err, EINVAL,
                             "SENTINEL_API_TOKEN is not a token: it has a blank or a "
                             "character that is not ASCII");
    }
    if (strlen(token) >= sizeof(settings->token))
        return error_set(err, EINVAL, "SENTINEL_API_TOKEN is longer than %zu characters",
                         sizeof(settings->token) - 1);
    (void)snprintf(settings->token, sizeof(settings->token), "%s", token);
    return 0;
}

int upload_settings_set_url(struct upload_settings *settings, const char *url,
                            struct spoor_error *err)
{
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        length--;
    if ((strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0) ||
        length >= sizeof(settings->url))
        return error_set(err, EINVAL,
                         "invalid SENTINEL_API_URL '%.200s': expected https://HOST", url);
    (void)snprintf(settings->url, sizeof(settings->url), "%.*s", (int)length, url);
    return 0;
}

int upload_settings_set_interval(struct upload_settings *settings, double seconds,
                                 struct spoor_error *err)
{
    if (!(seconds >= INTERVAL_MIN_SECONDS && seconds <= INTERVAL_MAX_SECONDS))
        return error_set(err, EINVAL, "invalid upload interval: expected 0.1 to 86400 seconds");
    settings->interval_ns = (uint64_t)llround(seconds * 1e9);
    return 0;
}

static int read_number(environment_get *get, const char *name, double min, double max,
                       double *ret, struct spoor_error *err)
{
    const char *text = get(name);
    double value;

    if (!text || *text == '\0')
        return 0;
    if (decimal_parse(text, &value) < 0 || !(value >= min && value <= max))
        return error_set(err, EINVAL, "invalid %s '%.100s': expected %s to %s", name, text,
                         decimal_number(min).text, decimal_number(max).text);
    *ret = value;
    return 0;
}

int upload_settings_read(environment_get *get, struct upload_settings *ret,
                         struct spoor_error *err)
{
    const char *token = get("SENTINEL_API_TOKEN"), *url = get("SENTINEL_API_URL");
    double seconds = 60, limit_mb = 100, wait_seconds = 5;
    int r;

    *ret = (struct upload_settings){ .url = SENTINEL_DEFAULT_URL };
    r = read_number(get, "TRACKER_UPLOAD_INTERVAL", INTERVAL_MIN_SECONDS, INTERVAL_MAX_SECONDS,
                    &seconds, err);
    if (r == 0)
        r = read_number(get, "TRACKER_UPLOAD_DISK_LIMIT", LIMIT_MIN_MB, LIMIT_MAX_MB, &limit_mb,
                        err);
    if (r == 0)
        r = read_number(get, "TRACKER_UPLOAD_WAIT", 0, WAIT_MAX_SECONDS, &wait_seconds, err);
    ret->interval_ns = (uint64_t)llround(seconds * 1e9);
    ret->wait_ns = (uint64_t)llround(wait_seconds * 1e9);
    ret->disk_limit_bytes = (uint64_t)llround(limit_mb * 1e6);
    if (r == 0 && url && *url != '\0')
        r = upload_settings_set_url(ret, url, err);
    if (r == 0 && token)
        r = upload_settings_set_token(ret, token, err);
    return r;
}
