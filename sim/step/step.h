/* step.h - one step of a scenario: whether it fits, how long it takes, what it is made of and bound by. Builds model,
 * cluster and costs, and simulates the step on the engine. */
#ifndef TSIM_STEP_STEP_H
#define TSIM_STEP_STEP_H

#include "step/pass/pass.h"
#include "step/step_result.h"

struct tsim_step_sink;
struct tsim_background_progress;

/* The machine of a scenario, and what passes cost on it. */
struct tsim_machine {
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_pass_costs *costs;
};
/* `memo`: where costs are kept for many plans of one job on one cluster; NULL: nowhere. */
struct tsim_machine tsim_machine_of(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                    struct tsim_pass_memo *memo);

/* Sets *result to what is known before a step is simulated: the model's size, memory, and whether that fits. Returns
 * the scenario with its layers as they are balanced, which the functions below want. */
const struct tsim_scenario *tsim_step_begin(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                            struct tsim_term_recorder *recorder, struct tsim_step_result *result);
/* The same for TSIM_LEAST_ANY_SPLIT: layers are not balanced, the peak is not known, and it counts as fitting. */
void tsim_step_begin_any_split(const struct tsim_scenario *scenario, struct tsim_step_result *result);
/* Fails where the host's memory is too small for what is offloaded. */
enum tsim_status tsim_step_check_host(const struct tsim_scenario *scenario, struct tsim_diags *diags);

/* Simulates the step, or as many as differ. *scenario becomes the one with the step that the result is of. `sink` hears
 * it (program.h) unless it is NULL, `recorder` how its waits for data and the shares of its time came about. `is_brief`: figures alone, no tables of operators, steps and ranks. Fails only with
 * a deadlock or a limit. */
enum tsim_status tsim_step_predict(struct tsim_arena *arena, const struct tsim_scenario **scenario,
                                   const struct tsim_machine *machine, const struct tsim_step_sink *sink,
                                   struct tsim_term_recorder *recorder, bool is_brief, struct tsim_step_result *result,
                                   struct tsim_diags *diags);

/* Simulates a step of the scenario that is none of its own: of another batch, or of forward passes alone. The energy is
 * of the whole cluster. */
enum tsim_status tsim_step_time_and_energy(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                           const struct tsim_machine *machine, double *time_s, double *energy_j,
                                           struct tsim_diags *diags);

/* Simulates a step beside others' traffic (cluster.background), and says how far each of it came: NULL where nothing
 * shares links. */
enum tsim_status tsim_step_beside_others(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                         const struct tsim_machine *machine, double *time_s,
                                         const struct tsim_background_progress **progress, struct tsim_diags *diags);

/* Bounds a step without simulating it: terms.time_s and energy_j are lower bounds, throughput follows from them;
 * mean_power_w does too, and bounds nothing. Splits other than the scenario's share its energy: a balanced one loads
 * the stages more alike, and the power of a stage grows ever less with its load (cluster/power.h), so it takes no
 * less. */
void tsim_step_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_machine *machine,
                     enum tsim_least of, struct tsim_step_result *result);

/* Model FLOPs and recomputation, both with the full attention square: what papers divide by a measured time for `hfu`
 * (Narayanan et al. 2021, appendix; Korthikanti et al. 2022, appendix A). */
double tsim_step_formula_flops(const struct tsim_scenario *scenario);

#endif
