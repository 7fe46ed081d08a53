/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/cgroup_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/unknown.h"

/* Version 1 writes "no limit" as the largest number of pages, in bytes, which is a
 * little below 2^63 and depends on the size of a page. */
static const uint64_t NO_LIMIT_FROM = 1ull << 60;

/* Is the text this word and nothing else? */
static bool is_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    return strncmp(text, word, length) == 0 &&
           (text[length] == '\0' || strcmp(text + length, "\n") == 0);
}

int cgroup_parse_u64(const char *text, uint64_t *ret)
{
    uint64_t value;

    if (is_word(text, "max") || is_word(text, "-1")) {
        *ret = UNKNOWN;
        return 0;
    }
    if (parse_whole_u64(text, &value) < 0)
        return -EBADMSG;
    *ret = value >= NO_LIMIT_FROM ? UNKNOWN : value;
    return 0;
}

static double quota_cpus(uint64_t quota_us, uint64_t period_us)
{
    return is_known(quota_us) ? (double)quota_us / (double)period_us : (double)NAN;
}

int cgroup_parse_quota(const char *text, double *ret_cpus)
{
    uint64_t quota_us = UNKNOWN, period_us;

    if (strncmp(text, "max ", 4) == 0)
        text += 4;
    else if (parse_u64(&text, &quota_us) < 0)
        return -EBADMSG;
    if (parse_whole_u64(text, &period_us) < 0 || period_us == 0)
        return -EBADMSG;
    *ret_cpus = quota_cpus(quota_us, period_us);
    return 0;
}

static ssize_t read_text(const struct root *root, const struct cgroup *cgroup, const char *file,
                         char *buf, size_t size)
{
    if (!cgroup_is_visible(cgroup))
        return -ENOENT;
    return root_read(root, buf, size, "%s/%s", cgroup->path, file);
}

int cgroup_read_u64(const struct root *root, const struct cgroup *cgroup, const char *file,
                    uint64_t *ret)
{
    char text[64];
    ssize_t n = read_text(root, cgroup, file, text, sizeof(text));

    return n < 0 ? (int)n : cgroup_parse_u64(text, ret);
}

static int read_quota_v1(const struct root *root, const struct cgroup *cgroup, double *ret_cpus)
{
    uint64_t quota_us, period_us;
    int r = cgroup_read_u64(root, cgroup, "cpu.cfs_quota_us", &quota_us);

    if (r < 0)
        return r;
    r = cgroup_read_u64(root, cgroup, "cpu.cfs_period_us", &period_us);
    if (r < 0)
        return r;
    if (period_us == 0 || !is_known(period_us))
        return -EBADMSG;
    *ret_cpus = quota_cpus(quota_us, period_us);
    return 0;
}

int cgroup_read_quota(const struct root *root, const struct cgroup *cgroup, double *ret_cpus)
{
    char text[64];
    ssize_t n;

    if (!cgroup->is_v2)
        return read_quota_v1(root, cgroup, ret_cpus);
    n = read_text(root, cgroup, "cpu.max", text, sizeof(text));
    return n < 0 ? (int)n : cgroup_parse_quota(text, ret_cpus);
}

int cgroup_read_cpu_count(const struct root *root, const struct cgroup *cgroup,
                          const char *file, unsigned *ret_count)
{
    char text[CPU_LIST_SIZE];
    ssize_t n = read_text(root, cgroup, file, text, sizeof(text));

    return n < 0 ? (int)n : parse_cpu_list_count(text, ret_count);
}
