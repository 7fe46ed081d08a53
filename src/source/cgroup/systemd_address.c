/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cgroup/systemd_address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"

/* Copies a value up to the ',' or ';' behind it; "%2f" stands for a byte. */
static int unescape(const char *value, char *buf, size_t size)
{
    size_t length = 0;

    for (; *value && *value != ',' && *value != ';'; value++) {
        char c = *value;

        if (c == '%') {
            int high = parse_hex_digit(value[1]);
            int low = high < 0 ? -1 : parse_hex_digit(value[2]);

            if (low < 0 || high + low == 0)
                return -EBADMSG;
            c = (char)(high * 16 + low);
            value += 2;
        }
        if (length + 1 >= size)
            return -ENAMETOOLONG;
        buf[length++] = c;
    }
    buf[length] = '\0';
    return length > 0 && buf[0] == '/' ? 0 : -EBADMSG;
}

int systemd_address_parse(const char *text, struct systemd_address *ret)
{
    static const char transport[] = "unix:", key[] = "path=";
    struct systemd_address address = { .is_direct = false };

    for (; *text; text += strcspn(text, ";"), text += *text == ';') {
        const char *pair = text + sizeof(transport) - 1;

        if (strncmp(text, transport, sizeof(transport) - 1) != 0)
            continue;
        for (; *pair && *pair != ';'; pair += strcspn(pair, ",;"), pair += *pair == ',') {
            int r;

            if (strncmp(pair, key, sizeof(key) - 1) != 0)
                continue;
            r = unescape(pair + sizeof(key) - 1, address.path, sizeof(address.path));
            if (r == 0)
                *ret = address;
            return r;
        }
    }
    return -ENOENT;
}

static const struct systemd_address of_machine[] = {
    { "/run/systemd/private", true },
    { "/run/dbus/system_bus_socket", false },
};

size_t systemd_addresses(uid_t uid, environment_get *environment,
                         struct systemd_address ret[SYSTEMD_ADDRESSES_MAX])
{
    const char *session = environment("DBUS_SESSION_BUS_ADDRESS");
    struct systemd_address *next = ret;

    if (uid == 0) {
        memcpy(ret, of_machine, sizeof(of_machine));
        return ARRAY_SIZE(of_machine);
    }
    /* All fit: a uid has ten digits at most. */
    next->is_direct = true;
    (void)snprintf(next->path, sizeof(next->path), "/run/user/%u/systemd/private",
                   (unsigned)uid);
    next++;
    if (session && systemd_address_parse(session, next) == 0)
        next++;
    next->is_direct = false;
    (void)snprintf(next->path, sizeof(next->path), "/run/user/%u/bus", (unsigned)uid);
    if (next - ret == 2 && strcmp(next[-1].path, next->path) == 0)
        return 2;
    return (size_t)(next - ret) + 1;
}
