/* every_key.h - the keys of every schema table of a scenario and of the files that it refers to, each with the values
 * at the ends of its range: 0 where it is taken, the least and the most, each word, true and false. A new key of a table
 * is here by itself. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct every_key {
    const char *path; /* "cluster.node.accelerator.memory", "cluster.degraded[0].rate" */
    const char *const *values;
    size_t n_values;
};

/* Returns all keys, *n of them, in the arena. Aborts at a key of several shapes that has no values here. */
const struct every_key *every_key(struct tsim_arena *arena, size_t *n);
