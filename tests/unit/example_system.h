/* SPDX-License-Identifier: Apache-2.0 */
/* example_system.h - turns the example of example_report.h into a report on a machine
 * without a job. */
#pragma once

#include "example_report.h"

/* Changes `example`. The devices were read twice, two seconds apart: disk sda was present
 * both times, sdb was plugged in between the readings, and the counters of eth0 were reset. */
void example_system(struct example *example);
