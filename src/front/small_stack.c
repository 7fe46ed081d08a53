/* SPDX-License-Identifier: Apache-2.0 */
#include "front/small_stack.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __GLIBC__
#define STACK_BYTES ((size_t)1 << 20)

struct order {
    int (*call)(void *data);
    void *data;
    int result;
};

/* makecontext() passes ints, so the address comes in two halves. */
static void enter(unsigned high, unsigned low)
{
    struct order *order = (struct order *)((uintptr_t)high << 16 << 16 | low);

    order->result = order->call(order->data);
}

/* The lowest page stays inaccessible: an overflow is a fault and not a silent overwrite. */
static char *map_stack(void)
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    char *stack = mmap(NULL, STACK_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

    if (stack == MAP_FAILED ||
        mprotect(stack + guard, STACK_BYTES - guard, PROT_READ | PROT_WRITE) < 0)
        return NULL;
    return stack;
}

int small_stack_call(int (*call)(void *data), void *data)
{
    struct order order = { call, data, 0 };
    uintptr_t address = (uintptr_t)&order;
    ucontext_t here, there;
    struct rlimit limit;
    char *stack;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_BYTES)
        return call(data);
    stack = map_stack();
    if (!stack || getcontext(&there) < 0)
        return call(data); /* it may be enough */
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_BYTES;
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))(uintptr_t)enter, 2, (unsigned)(address >> 16 >> 16),
                (unsigned)address);
    (void)swapcontext(&here, &there); /* fails only without memory on the new stack */
    return order.result;
}
#else
/* musl has no makecontext(): a small limit on the stack must be enough. */
int small_stack_call(int (*call)(void *data), void *data)
{
    return call(data);
}
#endif
