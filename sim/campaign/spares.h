/* spares.h - how many nodes should stand by, found by simulation of the run with its failures.
 *
 * If the nodes that are away never outnumber the spares, the job never lacks one, and more spares change nothing. So
 * the largest number worth trying is the most nodes that are ever away at a time, with unlimited spares. Each smaller
 * number is simulated with the same seeds. Nothing else is left out, so the number that is found is the best of all. */
#pragma once

#include "campaign/replication.h"

enum tsim_spares_goal {
    TSIM_SPARES_FOR_NODE_HOURS, /* the least rent: (nodes + spares) x mean time, less that of preempted nodes */
    TSIM_SPARES_FOR_TIME        /* the least mean time; among equals the fewest spares */
};
/* Returns the best number of spares over the replications 0 to n - 1; among equally good numbers it is the smallest. A
 * number is given up as soon as it cannot become the best. */
int64_t tsim_best_spares(const struct tsim_campaign_job *job, int64_t n_replications, enum tsim_spares_goal goal);
