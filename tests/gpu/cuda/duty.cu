/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duty PERCENT PERIOD_MS SECONDS [PHASE_MS [MIB]] - runs one kernel per period, which is busy
 * for PERCENT of it; holds MIB of memory meanwhile. SIGTERM ends it early.
 *
 * Periods begin PHASE_MS after the multiples of PERIOD_MS of the monotonic clock, so that two of
 * these programs can be busy at different times. busy_seconds is the time of the kernels by
 * CUDA's events, loop_seconds the time of all periods.
 */
#include <cmath>
#include <csignal>

#include "load.cuh"

static volatile sig_atomic_t is_ended;

static void on_term(int number)
{
    (void)number;
    is_ended = 1;
}

static __device__ unsigned long long device_ns(void)
{
    unsigned long long ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

static __global__ void spin(unsigned long long ns)
{
    unsigned long long start = device_ns();

    while (device_ns() - start < ns)
        ;
}

struct meter {
    cudaEvent_t begin, end;
};

/* Runs the kernel once. Returns its busy time. */
static double spin_once(const struct meter *meter, double seconds)
{
    float milliseconds;

    CHECK(cudaEventRecord(meter->begin));
    spin<<<1, 1>>>((unsigned long long)(seconds * 1e9));
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(meter->end));
    CHECK(cudaEventSynchronize(meter->end));
    CHECK(cudaEventElapsedTime(&milliseconds, meter->begin, meter->end));
    return (double)milliseconds / 1e3;
}

int main(int argc, char **argv)
{
    const char *usage = "duty PERCENT PERIOD_MS SECONDS [PHASE_MS [MIB]]";
    double share = argument(argc, argv, 1, usage) / 100;
    double period = argument(argc, argv, 2, usage) / 1e3;
    double seconds = argument(argc, argv, 3, usage);
    double phase = argc > 4 ? argument(argc, argv, 4, usage) / 1e3 : 0;
    size_t bytes = argc > 5 ? (size_t)argument(argc, argv, 5, usage) * MIB : 0;
    double start, next, busy = 0;
    struct sigaction action = {};
    struct meter meter;
    void *memory;

    action.sa_handler = on_term;
    sigaction(SIGTERM, &action, nullptr);
    start_device();
    memory = take(bytes);
    CHECK(cudaEventCreate(&meter.begin));
    CHECK(cudaEventCreate(&meter.end));
    spin_once(&meter, 0);

    start = std::ceil(now_seconds() / period) * period + phase;
    say_ready();
    for (next = start; next < start + seconds && sleep_until(next) && !is_ended; next += period)
        busy += spin_once(&meter, share * period);
    sleep_until(next);
    tell_truth("{\"program\": \"duty\", \"pid\": %d, \"bytes\": %zu, \"busy_seconds\": %.6f, "
               "\"loop_seconds\": %.6f}\n",
               (int)getpid(), bytes, busy, now_seconds() - start);
    CHECK(cudaFree(memory));
    return 0;
}
