/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn FILE MEGABYTES [ROUNDS] - a job that allocates and frees memory all the time while it
 * keeps MEGABYTES allocated. Counts completed rounds in FILE, as a native 64-bit number. Exits
 * after ROUNDS rounds, if given; FILE may then be /dev/zero.
 *
 * This job suffers most from a tracker: walking the page tables of the kept memory holds the
 * lock that each mmap() and munmap() waits for. A round allocates and frees one large block,
 * for which malloc() calls mmap() and munmap(), and some small blocks. The kept memory is in
 * small pages, because these take longer to walk.
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    MAPPED_FROM_BYTES = 128 << 10,
    LARGE_BYTES = 1 << 20,
    SMALL_COUNT = 64,
    SMALL_BYTES = 512
};

static void touch(char *memory, size_t size)
{
    for (size_t i = 0; i < size; i += PAGE)
        ((volatile char *)memory)[i] = 1;
}

static int keep(size_t size)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -1;
    (void)madvise(memory, size, MADV_NOHUGEPAGE); /* fails on a kernel without huge pages */
    touch(memory, size);
    return 0;
}

static int go_round(void)
{
    char *small[SMALL_COUNT];
    char *large = malloc(LARGE_BYTES);

    if (!large)
        return -1;
    touch(large, LARGE_BYTES);
    for (size_t i = 0; i < SMALL_COUNT; i++) {
        small[i] = malloc(SMALL_BYTES);
        if (small[i])
            memset(small[i], 1, SMALL_BYTES);
    }
    for (size_t i = 0; i < SMALL_COUNT; i++)
        free(small[i]);
    free(large);
    return 0;
}

int main(int argc, char **argv)
{
    volatile uint64_t *rounds;
    uint64_t limit = argc == 4 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
    int fd;

    if (argc < 3)
        return 2;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Without this, malloc() would keep large blocks after the first free(). */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
    fd = open(argv[1], O_RDWR | O_CLOEXEC);
    rounds = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (rounds == MAP_FAILED || keep((size_t)strtoul(argv[2], NULL, 10) * 1000 * 1000) < 0)
        return 1;
    while (*rounds < limit && go_round() == 0)
        ++*rounds;
    return *rounds < limit;
}
