/* SPDX-License-Identifier: Apache-2.0 */
/* report_template.h - the report page without data, put into the program by the build (web/report). */
#ifndef OUTPUT_REPORT_TEMPLATE_H
#define OUTPUT_REPORT_TEMPLATE_H

#include <stddef.h>

/* The line of the page that the data replaces. */
#define REPORT_TEMPLATE_MARKER "<!--spoor-data-->"

extern const char report_template[];
extern const size_t report_template_length; /* 0: this build has no page */

#endif
