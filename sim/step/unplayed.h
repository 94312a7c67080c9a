/* unplayed.h - traffic whose links this version does not play. Collectives inside passes take the time that they take
 * alone: right where each group has its links to itself, as on a node's switch or a fabric that does not block. Where
 * groups meet on the links of a fat tree, a dragonfly, a torus or PCIe switches, and together load one of them for
 * longer, a run is refused, unless they are played message by message (`network: steps`, and only where they are
 * exposed: step/pass_tasks.c). */
#ifndef TSIM_STEP_UNPLAYED_H
#define TSIM_STEP_UNPLAYED_H

#include "base/status.h"
#include "config/scenario.h"

/* TSIM_ERR_INFEASIBLE with a diag that names the group, the link and what would be right. */
enum tsim_status tsim_refuse_unplayed(const struct tsim_scenario *scenario, struct tsim_diags *diags);

#endif
