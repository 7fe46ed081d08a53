/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front/small_stack.h"

/* Fills far more than the limit below. */
static int use_stack(void *data)
{
    volatile char text[200 << 10];

    for (size_t i = 0; i < sizeof(text); i += 1024)
        text[i] = 1;
    return *(const int *)data + text[1024];
}

static int code_under(rlim_t stack_bytes)
{
    int wait_status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = { stack_bytes, stack_bytes };
        int code = 7;

        if (stack_bytes > 0)
            (void)setrlimit(RLIMIT_STACK, &limit);
        _exit(small_stack_call(use_stack, &code));
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

static void the_limit_of_the_stack_does_not_matter(void **state)
{
    (void)state;
    assert_int_equal(code_under(0), 8); /* as it is */
    assert_int_equal(code_under(48 << 10), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        the_limit_of_the_stack_does_not_matter) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
