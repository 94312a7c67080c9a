/* random.h - the tests' own random numbers (splitmix64: Steele, Lea, Flood 2014), which are small, seeded and the same
 * everywhere. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct random_source {
    uint64_t state; /* any seed will do */
};

static inline uint64_t random_u64(struct random_source *source) {
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns a number in [0, 1). */
static inline double random_real(struct random_source *source) {
    return (double)(random_u64(source) >> 11) * 0x1p-53;
}

/* Returns a number in [low, high], both included. */
static inline int32_t random_between(struct random_source *source, int32_t low, int32_t high) {
    return low + (int32_t)(random_u64(source) % (uint64_t)((int64_t)high - low + 1));
}

/* Returns how many random cases a test tries: TSIM_CASES in the environment, which `make check` sets to many, or
 * `usual`. */
static inline long random_cases(long usual) {
    const char *cases = getenv("TSIM_CASES");
    return cases ? strtol(cases, NULL, 10) : usual;
}

/* Returns where the random numbers of a test begin: TSIM_SEED in the environment, or `usual`. It prints that, so that a
 * failure can be repeated. */
static inline struct random_source random_start(uint64_t usual) {
    const char *seed = getenv("TSIM_SEED");
    struct random_source source = {seed ? strtoull(seed, NULL, 10) : usual};
    printf("seed %llu\n", (unsigned long long)source.state);
    return source;
}
