/* unplayed.h - traffic whose links `simulation.detail: passes` does not play. There most passes are one activity,
 * and collectives inside take the time that they take alone: right where each group has its links to itself, as on a
 * node's switch or a fabric that does not block. Where groups meet on the links of a fat tree, a dragonfly, a torus or
 * PCIe switches, and together load one of them for longer, such a run is refused; played operator by operator it is
 * not. */
#ifndef TSIM_STEP_UNPLAYED_H
#define TSIM_STEP_UNPLAYED_H

#include "base/status.h"
#include "config/scenario.h"

/* Returns TSIM_ERR_INFEASIBLE, with a diag that names the group, the link and what would be right, where traffic is not
 * played. */
enum tsim_status tsim_refuse_unplayed(const struct tsim_scenario *scenario, struct tsim_diags *diags);

/* Do groups of experts meet on links, and does nothing tell them apart? Then they stay in step, and wait for each
 * other's bytes; those that vary a little drift apart, and some compute while others send (step/folding/in_step.h). */
bool tsim_experts_keep_step(const struct tsim_scenario *scenario);

/* Tells whether all traffic of a scenario is played, without a diagnostic. */
bool tsim_is_played(const struct tsim_scenario *scenario);

/* Returns the detail in which many variants of a scenario are played to find which are worth a closer look: passes
 * where the scenario leaves the detail open and passes play all of its traffic, else the scenario's own. */
enum tsim_detail tsim_screening_detail(const struct tsim_scenario *scenario);

#endif
