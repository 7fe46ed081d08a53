/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_pci.h - the PCI address of a device as one number, which sorts as the text does.
 *
 * domain << 16 | bus << 8 | device << 3 | function: the lower half is what KFD calls the
 * location of a device.
 */
#ifndef SOURCE_GPU_DRM_PCI_H
#define SOURCE_GPU_DRM_PCI_H

#include <stddef.h>
#include <stdint.h>

/* Reads "0000:03:00.0" or, as some older drivers write it, "03:00.0". The text ends there or
 * with a blank or newline. -EBADMSG: it is no such address. */
int drm_pci_parse(const char *text, uint64_t *ret);

/* Writes "0000:03:00.0"; 17 bytes are enough for what drm_pci_parse() gives. */
void drm_pci_format(uint64_t pci, char *buf, size_t size);

#endif
