#include "cluster/variation.h"

#include "base/normal.h"
#include "config/provenance.h"

struct tsim_amount tsim_slowness(struct tsim_term_recorder *r, const struct tsim_accelerator *a, double n) {
    struct tsim_amount excess = tsim_product(
        r, "excess of the slowest", "spread x expected maximum", TSIM_FRACTION,
        TSIM_PARTS(tsim_of_accelerator(r, a, "efficiency.speed_spread", a->speed_spread_frac, TSIM_FRACTION),
                   tsim_given(r, tsim_record_text(r, "expected maximum of %.0f normals", n), tsim_expected_maximum(n),
                              TSIM_FRACTION, "Blom 1958, Statistical Estimates and Transformed Beta-Variables")));
    return tsim_sum(r, "time of the slowest accelerator over the mean's", "1 + excess", TSIM_FRACTION,
                    TSIM_PARTS(tsim_given(r, "the mean's", 1, TSIM_FRACTION, "definition"), excess));
}

const struct tsim_accelerator *tsim_slowest_of(struct tsim_arena *arena, const struct tsim_accelerator *accelerator,
                                               double n) {
    struct tsim_accelerator *slowest = TSIM_NEW(arena, struct tsim_accelerator);
    double factor = tsim_slowness(NULL, accelerator, n).value;
    *slowest = *accelerator;
    if (factor == 1)
        return slowest;
    slowest->mean = accelerator;
    slowest->slowest_of = n;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        slowest->matrix_sustained_frac[p] /= factor;
    for (int f = 0; f < TSIM_N_FLASH; f++)
        slowest->attention_frac[f] /= factor;
    return slowest;
}
