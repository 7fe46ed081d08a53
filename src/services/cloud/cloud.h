/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud.h - which cloud this machine belongs to, and what it is called there.
 *
 * The firmware (DMI strings) says which cloud it may be. Only then the metadata service of that
 * cloud is asked, on a link-local address; a machine outside a cloud sends no packet and waits for
 * nothing. The answer is cached until reboot. Part of the program, not of the library.
 */
#ifndef SERVICES_CLOUD_CLOUD_H
#define SERVICES_CLOUD_CLOUD_H

#include "base/root.h"
#include "spoor/spoor.h"

/* Replaces the address of every metadata service: "http://127.0.0.1:8080". */
#define CLOUD_URL_VARIABLE "SPOOR_METADATA_URL"

/* Seconds to wait for all answers together; 0: nothing is asked. */
#define CLOUD_TIMEOUT_VARIABLE "SPOOR_METADATA_TIMEOUT"

/* Empty: unknown. Letters, digits and punctuation only, no blanks. */
struct cloud_facts {
    char
        vendor[32]; /* "aws", "gcp", "azure", "hcloud", "upcloud", "ovh", "alicloud", "vultr" */
    char region[64];
    char zone[64];
    char instance_type[128];
    char account[64]; /* or project or subscription */
};

/* Finds out, and takes at most one second (CLOUD_TIMEOUT_VARIABLE). Always sets *ret.
 * 0: the metadata service has answered, now or since boot. -ENODEV: not a machine of a cloud that we
 * know. Other errors: there was no usable answer, as `err` explains; *ret holds what is known without,
 * such as the vendor. */
int cloud_find(const struct root *root, struct cloud_facts *ret, struct spoor_error *err);

/* What is known without asking: by the firmware, and by an answer since boot. */
void cloud_recall(const struct root *root, struct cloud_facts *ret);

/* For the library; the texts are those of the facts. */
struct spoor_cloud cloud_describe(const struct cloud_facts *facts);

#endif
