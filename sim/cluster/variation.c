#include "cluster/variation.h"

#include "base/normal.h"

const struct tsim_accelerator *tsim_slowest_of(struct tsim_arena *arena, const struct tsim_accelerator *accelerator,
                                               double n) {
    struct tsim_accelerator *slowest = TSIM_NEW(arena, struct tsim_accelerator);
    double factor = 1 + accelerator->speed_spread_frac * tsim_expected_maximum(n);
    *slowest = *accelerator;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        slowest->matrix_sustained_frac[p] /= factor;
    slowest->attention_flash1_frac /= factor;
    slowest->attention_flash2_frac /= factor;
    slowest->attention_flash3_frac /= factor;
    return slowest;
}
