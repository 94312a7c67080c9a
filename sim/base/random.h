/* random.h - counter-based random numbers: number n of a stream is a function of (seed, replication, stream, n) alone,
 * so that it is the same whatever else was drawn, by any number of threads. The generator is SplitMix64 (Steele, Lea,
 * Flood 2014, "Fast splittable pseudorandom number generators", OOPSLA) with the stream's name mixed into its start. */
#pragma once

#include <stdint.h>

/* Returns a number that depends on every bit of x (the finalizer of SplitMix64). */
static inline uint64_t tsim_random_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns a number that depends on three others, and on their order. */
static inline uint64_t tsim_random_mix_of(uint64_t a, uint64_t b, uint64_t c) {
    return tsim_random_mix(tsim_random_mix(tsim_random_mix(a + 1) + b) + c);
}

struct tsim_random {
    uint64_t key, counter;
};

void tsim_random_init(struct tsim_random *random, uint64_t seed, uint64_t replication, uint64_t stream);
uint64_t tsim_random_bits(struct tsim_random *random);
double tsim_random_uniform(struct tsim_random *random);     /* in (0, 1], a multiple of 2^-53 */
double tsim_random_exponential(struct tsim_random *random); /* the mean is 1 */
double tsim_random_normal(struct tsim_random *random);      /* standard normal; takes two numbers (Box, Muller 1958) */
