/* SPDX-License-Identifier: Apache-2.0 */
/* amd.h - AMD GPUs, through the files of the amdgpu driver; ROCm is not needed. */
#ifndef SOURCE_GPU_AMD_H
#define SOURCE_GPU_AMD_H

#include "source/gpu/gpu.h"

extern const struct gpu_vendor gpu_amd;

#endif
