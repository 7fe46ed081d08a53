/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/log.h"

#include <stdarg.h>

#include "front/common/message.h"
#include "front/gpu_tracker/program.h"

int gpu_tracker_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    message_write(gpu_tracker_program.message_prefix, fmt, args);
    va_end(args);
    return gpu_tracker_program.failure_code;
}

void gpu_tracker_warning(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    message_write("WARNING:root:", fmt, args);
    va_end(args);
}
