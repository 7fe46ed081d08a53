/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spike MIB HOLD_MS AFTER_MS SECONDS - keeps a context for SECONDS. AFTER_MS after it is ready,
 * it allocates GPU memory, keeps it for HOLD_MS and frees it.
 *
 * The memory existed for at least held_ms (from the end of the allocation to the start of the
 * free) and at most whole_ms (both calls included).
 */
#include "load.cuh"

int main(int argc, char **argv)
{
    const char *usage = "spike MIB HOLD_MS AFTER_MS SECONDS";
    size_t bytes = (size_t)argument(argc, argv, 1, usage) * MIB;
    double hold_ms = argument(argc, argv, 2, usage);
    double after_ms = argument(argc, argv, 3, usage);
    double seconds = argument(argc, argv, 4, usage);
    double start, asked, taken, freeing, freed;
    void *memory = nullptr;

    start_device();
    start = now_seconds();
    say_ready();
    sleep_until(start + after_ms / 1e3);

    asked = now_seconds();
    CHECK(cudaMalloc(&memory, bytes));
    taken = now_seconds();
    CHECK(cudaMemset(memory, 1, bytes));
    CHECK(cudaDeviceSynchronize());
    sleep_until(taken + hold_ms / 1e3);
    freeing = now_seconds();
    CHECK(cudaFree(memory));
    freed = now_seconds();

    sleep_until(start + seconds);
    tell_truth("{\"program\": \"spike\", \"pid\": %d, \"bytes\": %zu, \"held_ms\": %.3f, "
               "\"whole_ms\": %.3f}\n",
               (int)getpid(), bytes, (freeing - taken) * 1e3, (freed - asked) * 1e3);
    return 0;
}
