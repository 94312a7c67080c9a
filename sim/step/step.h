/* step.h - one step of a scenario: whether it fits in memory, how long it takes, what it is made of and what limits it.
 * It builds the model, the cluster and the costs, and simulates the step on the engine. */
#pragma once

#include "step/pass/pass.h"
#include "step/step_result.h"

struct tsim_step_sink;
struct tsim_background_progress;

/* The machine of a scenario, and the cost of its passes. */
struct tsim_machine {
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_pass_costs *costs;
};
/* Builds the machine of a scenario. `memo` keeps costs for many plans of one job on one cluster; NULL keeps none. */
struct tsim_machine tsim_machine_of(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                    struct tsim_pass_memo *memo);

/* Sets *result to what is known before a step is simulated: the model's size, the memory it takes and whether it fits.
 * Returns the scenario with its layers balanced over the stages; the functions below take that one. */
const struct tsim_scenario *tsim_step_begin(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                            struct tsim_pass_memo *memo, struct tsim_term_recorder *recorder,
                                            struct tsim_step_result *result);
/* Does the same for TSIM_LEAST_ANY_SPLIT, without balancing layers: the peak and the executed work are not known, and
 * the plan counts as fitting. */
void tsim_step_begin_any_split(const struct tsim_scenario *scenario, struct tsim_step_result *result);
/* Fails if the host's memory is too small for what is offloaded. */
enum tsim_status tsim_step_check_host(const struct tsim_scenario *scenario, struct tsim_diags *diags);

/* Simulates the step, or several if steps differ. *scenario becomes the scenario of the step that the result describes.
 * `sink` is told what happens (program.h) unless it is NULL; `recorder` records how the waits for data and the shares of
 * the step's time came about. With `is_brief` the result has figures but no tables of operators, steps and ranks. Fails
 * only with a deadlock or a limit. */
enum tsim_status tsim_step_predict(struct tsim_arena *arena, const struct tsim_scenario **scenario,
                                   const struct tsim_machine *machine, const struct tsim_step_sink *sink,
                                   struct tsim_term_recorder *recorder, bool is_brief, struct tsim_step_result *result,
                                   struct tsim_diags *diags);

/* Simulates a step that is not one of the scenario's own: one of another batch, or one of forward passes alone. The energy
 * is that of the whole cluster. */
enum tsim_status tsim_step_time_and_energy(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                           const struct tsim_machine *machine, double *time_s, double *energy_j,
                                           struct tsim_diags *diags);

/* Simulates a step beside the traffic of others (cluster.background). *progress says how far each entry of that traffic
 * came; it is NULL if nothing shares links. */
enum tsim_status tsim_step_beside_others(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                         const struct tsim_machine *machine, double *time_s,
                                         const struct tsim_background_progress **progress, struct tsim_diags *diags);

/* Bounds a step without simulating it: terms.time_s and energy_j are lower bounds, and throughput follows from them.
 * mean_power_w follows, too, but bounds nothing. The bound on energy also holds for other splits of the layers: a more
 * even split loads the stages more alike, and a stage's power grows ever less with its load (cluster/power.h), so the
 * even split takes no less energy. */
void tsim_step_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_machine *machine,
                     enum tsim_least of, struct tsim_step_result *result);
/* Bounds terms.time_s alone. */
void tsim_step_bound_time(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                          const struct tsim_machine *machine, enum tsim_least of, struct tsim_step_result *result);

/* Returns the FLOPs of model and recomputation with the full attention square, which papers divide by a measured time to
 * get their `hfu` (Narayanan et al. 2021, appendix; Korthikanti et al. 2022, appendix A). */
double tsim_step_formula_flops(const struct tsim_scenario *scenario);
