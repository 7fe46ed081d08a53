/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* ---- error ----------------------------------------------------------------- */

static int positive(int code)
{
    return code < 0 ? -code : code;
}

int error_set(struct spoor_error *err, int code, const char *fmt, ...)
{
    va_list args;

    code = positive(code);
    if (err) {
        err->code = code;
        va_start(args, fmt);
        (void)vsnprintf(err->message, sizeof(err->message), fmt, args); /* may be truncated */
        va_end(args);
    }
    return -code;
}

/* Joins "what: why". If both do not fit, truncates `what`, which may be a long path: the
 * reason is more important. */
static int join(struct spoor_error *err, int code, char *what, const char *why)
{
    enum { WHAT_MIN = 60 };
    size_t room = sizeof(err->message) - sizeof(": ");
    size_t length = strlen(why);

    room = length < room - WHAT_MIN ? room - length : WHAT_MIN;
    if (strlen(what) > room)
        memcpy(what + room - 3, "...", 4);
    return error_set(err, code, "%s: %s", what, why);
}

/* A thread-safe strerror(). The text may be static instead of in `buf`. */
static const char *text_of(int code, char *buf, size_t size)
{
#ifdef __GLIBC__
    return strerror_r(code, buf, size);
#else
    return strerror_r(code, buf, size) == 0 ? buf : "unknown error";
#endif
}

int error_sys(struct spoor_error *err, int code, const char *fmt, ...)
{
    char what[sizeof(err->message)];
    char why[128];
    va_list args;

    if (!err)
        return -positive(code);
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args); /* may be truncated */
    va_end(args);
    return join(err, code, what, text_of(positive(code), why, sizeof(why)));
}

int error_prefix(struct spoor_error *err, int code, const char *fmt, ...)
{
    char what[sizeof(err->message)];
    char old[sizeof(err->message)];
    va_list args;

    if (!err)
        return -positive(code);
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args); /* may be truncated */
    va_end(args);
    memcpy(old, err->message, sizeof(old));
    old[sizeof(old) - 1] = '\0';
    return join(err, code, what, old);
}

/* ---- signal name ----------------------------------------------------------- */

#define NAME(signal) [signal] = #signal

/* Signal numbers differ between architectures. SIGIO equals SIGPOLL, and SIGABRT equals
 * SIGIOT. */
static const char *const names[] = {
    NAME(SIGHUP),        NAME(SIGINT),   NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP),
    NAME(SIGABRT),       NAME(SIGBUS),   NAME(SIGFPE),  NAME(SIGKILL), NAME(SIGUSR1),
    NAME(SIGSEGV),       NAME(SIGUSR2),  NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM),
    NAME(SIGCHLD),       NAME(SIGCONT),  NAME(SIGSTOP), NAME(SIGTSTP), NAME(SIGTTIN),
    NAME(SIGTTOU),       NAME(SIGURG),   NAME(SIGXCPU), NAME(SIGXFSZ), NAME(SIGPROF),
    NAME(SIGVTALRM),     NAME(SIGWINCH), NAME(SIGPWR),  NAME(SIGSYS),
#ifdef SIGSTKFLT
    NAME(SIGSTKFLT),
#endif
    [SIGIO] = "SIGPOLL", /* as glibc calls it */
};

const char *signal_name(int number)
{
    return number >= 0 && (size_t)number < ARRAY_SIZE(names) ? names[number] : NULL;
}
