/* SPDX-License-Identifier: Apache-2.0 */
/* pressure.c - parse "some avg10=0.81 avg60=0.56 avg300=0.21 total=2194262" (us). */
#include "source/host/pressure.h"

#include <errno.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/parse.h"

int pressure_parse(const char *text, uint64_t *ret_some_ns)
{
    static const char key[] = " total=";
    const char *line = parse_key(text, "some");
    const char *end = line ? strchr(line, '\n') : NULL;
    const char *total;
    uint64_t total_us;

    if (!end)
        return -EBADMSG;
    total = strstr(line, key);
    if (!total || total > end)
        return -EBADMSG;
    total += strlen(key);
    if (parse_u64(&total, &total_us) < 0 || total > end)
        return -EBADMSG;
    *ret_some_ns = product_u64(total_us, NS_PER_US);
    return 0;
}
