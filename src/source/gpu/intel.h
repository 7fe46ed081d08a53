/* SPDX-License-Identifier: Apache-2.0 */
/* intel.h - Intel GPUs, through the files of the i915 and xe drivers. */
#ifndef SOURCE_GPU_INTEL_H
#define SOURCE_GPU_INTEL_H

#include "source/gpu/gpu.h"

extern const struct gpu_vendor gpu_intel;

#endif
