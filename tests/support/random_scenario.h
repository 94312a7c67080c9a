/* random_scenario.h - scenarios drawn from the whole catalogue and from everything that a scenario can say: models of
 * every kind, nodes, fabrics, software, precisions, optimizers, plans and schedules, the input pipeline, failures,
 * noise, slow links, money. Each choice by itself is sensible; together many are refused, which is a part of it. */
#pragma once

#include "support/random.h"

/* Returns YAML, which the caller frees. Aborts if the catalogue cannot be read. */
char *random_scenario(struct random_source *source);
