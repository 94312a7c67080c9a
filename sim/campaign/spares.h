/* spares.h - how many nodes should stand by, by simulation of the run with its failures.
 *
 * Where nodes that are away never outnumber the spares, the job never lacks one, and more of them change nothing: so
 * the most that are away at a time, with spares without end, is the largest number that need be tried. Each smaller
 * number is simulated with the same seeds. Nothing else is left out: the number that is found is the best one of all.
 */
#ifndef TSIM_CAMPAIGN_SPARES_H
#define TSIM_CAMPAIGN_SPARES_H

#include "campaign/replication.h"

enum tsim_spares_goal {
    TSIM_SPARES_FOR_NODE_HOURS, /* least (nodes + spares) x mean time, less that of preempted nodes: least rent */
    TSIM_SPARES_FOR_TIME        /* least mean time; of these the fewest */
};
/* Returns the best number of spares. It plays replications 0 to n - 1; of equally good numbers the smallest is best. A
 * number is given up as soon as it cannot be the best any more.  */
int64_t tsim_best_spares(const struct tsim_campaign_job *job, int64_t n_replications, enum tsim_spares_goal goal);

#endif
