/* variation.h - accelerators of one model are not equally fast: silicon, cooling and power delivery differ, and a
 * synchronous step waits for the slowest.
 *
 * Speeds spread like a normal distribution with coefficient of variation `speed_spread` (Sinha et al. 2022, "Not all
 * GPUs are created equal", SC'22: 8 % between slow and fast GPUs of a cluster, outliers removed). The slowest of n is
 * then expected to be 1 + spread * E(n) times as slow as the mean, with E(n) the expected maximum of n standard
 * normals (base/normal.h). Products slow down, memory traffic does not: what differs is the clock under the power
 * limit. */
#ifndef TSIM_CLUSTER_VARIATION_H
#define TSIM_CLUSTER_VARIATION_H

#include "base/term.h"
#include "config/catalogue.h"

/* Returns how much longer the slowest of n takes than their mean. */
struct tsim_amount tsim_slowness(struct tsim_term_recorder *recorder, const struct tsim_accelerator *accelerator,
                                 double n);

/* Returns the accelerator that n of its kind have to wait for: a copy in `arena` with its sustained matrix rates
 * lowered. */
const struct tsim_accelerator *tsim_slowest_of(struct tsim_arena *arena, const struct tsim_accelerator *accelerator,
                                               double n);

#endif
