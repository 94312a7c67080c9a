#include "base/random.h"

#include <math.h>

#define GOLDEN 0x9e3779b97f4a7c15u

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void tsim_random_init(struct tsim_random *random, uint64_t seed, uint64_t replication, uint64_t stream) {
    uint64_t key = mix(seed + GOLDEN);
    key = mix(key ^ mix(replication + 2 * GOLDEN));
    *random = (struct tsim_random){.key = mix(key ^ mix(stream + 3 * GOLDEN))};
}

uint64_t tsim_random_bits(struct tsim_random *random) {
    return mix(random->key + ++random->counter * GOLDEN);
}

double tsim_random_uniform(struct tsim_random *random) {
    return (double)((tsim_random_bits(random) >> 11) + 1) * 0x1p-53;
}

double tsim_random_normal(struct tsim_random *random) {
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log(tsim_random_uniform(random)));
    return radius * cos(two_pi * tsim_random_uniform(random));
}

double tsim_random_exponential(struct tsim_random *random) {
    return -log(tsim_random_uniform(random));
}
