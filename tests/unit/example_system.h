/* SPDX-License-Identifier: Apache-2.0 */
/* example_system.h - the example report (example_report.h) without a job. */
#ifndef TESTS_EXAMPLE_SYSTEM_H
#define TESTS_EXAMPLE_SYSTEM_H

#include "example_report.h"

/* Two seconds between two readings of the devices. Disk sda was there all the time, sdb was plugged in
 * meanwhile, and the counters of eth0 were reset. */
void example_system(struct example *example);

#endif
