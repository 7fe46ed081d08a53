/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/results.h"

#include <stdlib.h>

void results_done(struct results *results)
{
    for (size_t i = 0; i < results->block_count; i++)
        free(results->blocks[i].name);
    free(results->blocks);
    *results = (struct results){ 0 };
}
