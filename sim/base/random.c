#include "base/random.h"

#include <math.h>

#define GOLDEN 0x9e3779b97f4a7c15u

void tsim_random_init(struct tsim_random *random, uint64_t seed, uint64_t replication, uint64_t stream) {
    uint64_t key = tsim_random_mix(seed + GOLDEN);
    key = tsim_random_mix(key ^ tsim_random_mix(replication + 2 * GOLDEN));
    *random = (struct tsim_random){.key = tsim_random_mix(key ^ tsim_random_mix(stream + 3 * GOLDEN))};
}

uint64_t tsim_random_bits(struct tsim_random *random) {
    return tsim_random_mix(random->key + ++random->counter * GOLDEN);
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
