// SPDX-License-Identifier: Apache-2.0
// Sanitizer options, built into the programs: tests start some of them with an empty
// environment.
// On aarch64 two checks of gcc 12 are left to x86-64 and valgrind. The leak check takes 4 s of
// CPU time whenever a process ends (0.1 s without it). The check for use after return makes
// loops eight times slower (111 s instead of 14 s in test_load): on a busy machine, the last
// sample of a tracker then exceeds its limit of 10 s.
#ifdef __aarch64__
#define SLOW_CHECKS "0"
#else
#define SLOW_CHECKS "1"
#endif

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *__asan_default_options(void);
EXPORTED const char *__ubsan_default_options(void);
EXPORTED const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "strict_string_checks=1:detect_stack_use_after_return=" SLOW_CHECKS
           ":detect_leaks=" SLOW_CHECKS;
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:halt_on_error=1:abort_on_error=1";
}

const char *__tsan_default_options(void)
{
    return "second_deadlock_stack=1:halt_on_error=1";
}
