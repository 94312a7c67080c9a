/* step_terms.h - where a step's time goes, as formula trees (base/term.h): over the operators of the critical rank,
 * down to tiles, links and the constants of files.
 *
 * Kernels add up to the step's compute time. If passes are tasks, the exposed times of their collectives add up, too.
 * If operators are events, these times are results of the simulation, as all waits are, and their parts are what the
 * collectives expose alone. */
#pragma once

#include "base/term.h"
#include "step/program.h"

enum { TSIM_N_STEP_TERMS = 12 };

/* Records the trees of step.* and communication_exposed.*, each under its name in the summary. `account` is the
 * critical rank's; `stall` is the time that it waits for data. */
void tsim_step_terms_record(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                            const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                            const struct tsim_stage_group_account *account, struct tsim_amount stall,
                            struct tsim_amount terms[TSIM_N_STEP_TERMS]);
