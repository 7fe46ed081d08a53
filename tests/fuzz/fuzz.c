/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - runs one target under libFuzzer. The environment variable FUZZ_TARGET names the
 * target; with the single argument `list`, prints the names of all targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("FUZZ_TARGET");

    if (*argc == 2 && strcmp((*argv)[1], "list") == 0) {
        for (size_t i = 0; fuzz_target(i); i++)
            puts(fuzz_target(i)->name);
        exit(0);
    }
    target = name ? fuzz_find(name) : NULL;
    if (!target) {
        fprintf(stderr, "fuzz: set FUZZ_TARGET to one of the names that 'fuzz list' prints\n");
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(target, data, size);
    return 0;
}
