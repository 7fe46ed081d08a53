/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - the list of vendors. */
#include "source/gpu/gpu.h"

#include "base/compiler.h"
#include "source/gpu/amd.h"
#include "source/gpu/intel.h"
#include "source/gpu/nvidia.h"

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_nvidia,
    &gpu_amd,
    &gpu_intel,
};
const size_t gpu_vendor_count = ARRAY_SIZE(gpu_vendors);
