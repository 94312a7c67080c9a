/* random_plan.h - a random valid plan on at most 64 accelerators, over the example scenario: every schedule, tensor,
 * context, data and expert parallelism, ZeRO, overlaps, recomputation; half of the models are mixtures of experts. */
#pragma once

#include "support/example.h"
#include "support/random.h"

void random_plan(struct random_source *random, struct example *example);
