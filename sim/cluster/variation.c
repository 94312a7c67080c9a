#include "cluster/variation.h"

#include "base/normal.h"

const struct tsim_accelerator *tsim_slowest_of(struct tsim_arena *arena, const struct tsim_accelerator *accelerator,
                                               double n) {
    struct tsim_accelerator *slowest = TSIM_NEW(arena, struct tsim_accelerator);
    double factor = 1 + accelerator->speed_spread_frac * tsim_expected_maximum(n);
    *slowest = *accelerator;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        slowest->matrix_sustained_frac[p] /= factor;
    for (int f = 0; f < TSIM_N_FLASH; f++)
        slowest->attention_frac[f] /= factor;
    return slowest;
}
