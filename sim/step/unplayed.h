/* unplayed.h - traffic whose links `simulation.detail: passes` does not play. With that detail most passes are one
 * activity, and the collectives inside take the time that they take alone. That is right if each group has its links to
 * itself, as on a node's switch or a fabric that does not block. If groups meet on the links of a fat tree, a
 * dragonfly, a torus or PCIe switches, and together load one of them for longer, such a run is refused. Played operator
 * by operator, it is not. */
#pragma once

#include "base/status.h"
#include "config/scenario.h"

/* Returns TSIM_ERR_INFEASIBLE, with a diag that names the group, the link and what would be right, if traffic is not
 * played. */
enum tsim_status tsim_refuse_unplayed(const struct tsim_scenario *scenario, struct tsim_diags *diags);

/* Returns whether groups of experts meet on links, and nothing tells the groups apart. Then they stay in step, and wait
 * for each other's bytes. Groups that vary a little drift apart, and some compute while others send
 * (step/folding/in_step.h). */
bool tsim_experts_keep_step(const struct tsim_scenario *scenario);

/* Returns whether all traffic of a scenario is played, without adding a diagnostic. */
bool tsim_is_played(const struct tsim_scenario *scenario);

/* Returns the detail with which many variants of a scenario are screened for those worth a closer look: passes, if the
 * scenario leaves the detail open and passes play all of its traffic; else the scenario's own. */
enum tsim_detail tsim_screening_detail(const struct tsim_scenario *scenario);
