/* random_scenario.h - scenarios drawn from the whole catalogue and from everything that a scenario can say: models of
 * every kind, nodes, fabrics, software, precisions, optimizers, plans and schedules, the input pipeline, failures,
 * noise, slow links, money. Each choice by itself is sensible; together many are refused, which is a part of it. */
#ifndef TSIM_TESTS_SUPPORT_RANDOM_SCENARIO_H
#define TSIM_TESTS_SUPPORT_RANDOM_SCENARIO_H

#include "support/random.h"

/* Returns YAML, which the caller frees. Aborts if the catalogue cannot be read. */
char *random_scenario(struct random_source *source);

#endif
