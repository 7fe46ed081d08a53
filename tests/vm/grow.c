/* SPDX-License-Identifier: Apache-2.0 */
/* grow - allocates memory until it is killed. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STEP_BYTES = 16 << 20 };

int main(void)
{
    for (;;) {
        void *memory =
            mmap(NULL, STEP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
            return 1;
        memset(memory, 1, STEP_BYTES);
    }
}
