/* SPDX-License-Identifier: Apache-2.0 */
/* loading.h - why a shared library that is loaded at run time is missing. A static program
 * (make static) cannot load any. */
#pragma once

#ifdef SPOOR_STATIC
#define LOADING_FAILED(otherwise) " cannot be loaded by a static program"
#define LOADING_NOTE " (static: without NVML and libcurl)"
#else
#define LOADING_FAILED(otherwise) otherwise
#define LOADING_NOTE ""
#endif
