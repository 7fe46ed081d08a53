/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_memory CROWD COUNT SAMPLES... - the memory of a session with many samples. For each
 * argument SAMPLES, samples a crowd of COUNT children until the session has that many samples,
 * then prints one line: the number of samples, the resident size and the peak resident size in
 * bytes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/root.h"
#include "tracked_crowd.h"

static int print_memory(const struct root *root, long sample_count)
{
    uint64_t resident_kb, peak_kb;
    char text[8192];

    if (root_read(root, text, sizeof(text), "proc/self/status") < 0 ||
        parse_key_u64(text, "VmRSS:", &resident_kb) < 0 ||
        parse_key_u64(text, "VmHWM:", &peak_kb) < 0)
        return -1;
    printf("%ld %llu %llu\n", sample_count, (unsigned long long)resident_kb * 1024,
           (unsigned long long)peak_kb * 1024);
    return 0;
}

int main(int argc, char **argv)
{
    struct tracked_crowd crowd;
    struct root root;
    long taken = 1; /* the session has taken one sample already */

    if (argc < 4 || root_open("/", &root) < 0)
        return 2;
    tracked_crowd_start(argv[1], argv[2], false, &crowd);
    for (int i = 3; i < argc; i++) {
        long wanted = strtol(argv[i], NULL, 10);

        tracked_crowd_sample(&crowd, wanted - taken);
        taken = wanted;
        if (print_memory(&root, taken) < 0)
            return 1;
    }
    tracked_crowd_end(&crowd);
    root_close(&root);
    return 0;
}
