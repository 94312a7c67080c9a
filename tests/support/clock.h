/* Measures wall time, the processor's time over all threads, and the most memory so far, for benchmarks. */
#pragma once

#include <sys/resource.h>
#include <time.h>

static inline double clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double now_s(void) {
    return clock_s(CLOCK_MONOTONIC);
}

static inline double processor_s(void) {
    return clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double peak_mb(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}
