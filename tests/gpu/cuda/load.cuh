/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.cuh - what the CUDA loads share: arguments, errors, time, and telling the truth.
 *
 * A load prints "ready" on stdout when it begins to do what it is for, and at its end writes one
 * line of JSON with what it did to the file that the variable TRUTH names, or to stderr.
 * If a call fails, the program prints the error and exits with status 1.
 */
#ifndef TESTS_GPU_CUDA_LOAD_CUH
#define TESTS_GPU_CUDA_LOAD_CUH

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define CHECK(call) check((call), #call)

static inline void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

/* The nth argument, a number that is not negative. */
static inline double argument(int argc, char **argv, int n, const char *usage)
{
    char *end = nullptr;
    double value = n < argc ? strtod(argv[n], &end) : -1;

    if (n >= argc || end == argv[n] || *end != '\0' || !(value >= 0)) {
        fprintf(stderr, "usage: %s\n", usage);
        exit(1);
    }
    return value;
}

static inline double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* False where a signal came first. */
static inline bool sleep_until(double seconds)
{
    struct timespec until;

    until.tv_sec = (time_t)seconds;
    until.tv_nsec = (long)((seconds - (double)until.tv_sec) * 1e9);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != EINTR;
}

static inline void say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

__attribute__((format(printf, 1, 2))) static inline void tell_truth(const char *fmt, ...)
{
    const char *path = getenv("TRUTH");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : STDERR_FILENO;
    va_list args;

    va_start(args, fmt);
    if (fd < 0 || vdprintf(fd, fmt, args) < 0) {
        perror("TRUTH");
        exit(1);
    }
    va_end(args);
}

/* Memory that is really there; NULL for 0 bytes. */
static inline void *take(size_t bytes)
{
    void *memory = nullptr;

    if (bytes == 0)
        return nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 1, bytes));
    CHECK(cudaDeviceSynchronize());
    return memory;
}

/* Makes the context, with all that it loads when memory is first taken and set. */
static inline void start_device(void)
{
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CHECK(cudaFree(take(2 * MIB)));
}

static inline void hold(size_t bytes, double seconds)
{
    void *memory;
    double start;

    start_device();
    memory = take(bytes);
    start = now_seconds();
    say_ready();
    sleep_until(start + seconds);
    tell_truth("{\"program\": \"hold\", \"pid\": %d, \"bytes\": %zu, \"held_seconds\": %.6f}\n",
               (int)getpid(), bytes, now_seconds() - start);
    CHECK(cudaFree(memory));
}

#endif
