/* variation.h - accelerators of one model are not equally fast: silicon, cooling and power delivery differ, and a
 * synchronous step waits for the slowest.
 *
 * Speeds spread like a normal distribution with coefficient of variation `speed_spread` (Sinha et al. 2022, "Not all
 * GPUs are created equal", SC'22, find 8 % between slow and fast GPUs of a cluster, without outliers). The slowest of n
 * is then expected to take 1 + spread * E(n) times as long as the mean, with E(n) the expected maximum of n standard
 * normals (base/normal.h). Products slow down and memory traffic does not, because what differs is the clock under the
 * power limit. */
#pragma once

#include "base/term.h"
#include "config/catalogue.h"

/* Returns by what factor the slowest of n takes longer than their mean. */
struct tsim_amount tsim_slowness(struct tsim_term_recorder *recorder, const struct tsim_accelerator *accelerator,
                                 double n);

/* Returns the accelerator that n of its kind wait for: a copy in `arena` with lower sustained matrix rates. */
const struct tsim_accelerator *tsim_slowest_of(struct tsim_arena *arena, const struct tsim_accelerator *accelerator,
                                               double n);
