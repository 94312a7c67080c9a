/* post_training.h - a round of post-training around the steps that train: DPO (Rafailov et al. 2023), GRPO (Shao et al.
 * 2024, DeepSeekMath), PPO (Schulman et al. 2017; Ouyang et al. 2022).
 *
 *   generation  the policy gives the samples (generation.h); dpo has them
 *   scoring     a forward pass of all samples for each model in training.scoring, by the plan that trains
 *   training    a step for each batch of the samples; where a critic scores, it is trained by as many
 *   transfer    each rank of the engines gets its part of the new weights; where the software gathers all of the model tensor by
 *               tensor (NeMo-RL: software.refit_rate), it takes the whole model by that rate
 *   copies      what trains leaves for the host's memory, weights, master weights and optimizer states, and returns, so that
 *               engines on the same accelerators have room; the policy makes room for the reference, which then comes from the
 *               host, and returns (NeMo-RL: use_reference_model, by pinned memory)
 *
 * These follow one another on the same accelerators (as NeMo-RL, verl and OpenRLHF do with colocated engines). Engines drop
 * their weights and get new ones. The computation of rewards that are rules is not counted.
 *
 * With nodes of their own (generation.nodes) engines rest while the others train, and these while engines generate, unless engines
 * are `ahead`: then round i is generated as soon as round i - 1 is, and the weights that came of round i - 1 - ahead are there
 * (1: one step off the policy; Noukhovitch et al. 2024, arXiv:2410.18252). Whenever new weights arrive, engines take them between two
 * passes and lose the time of the transfer (NeMo-RL's in_flight_weight_updates). TSIM_ROUNDS rounds, each with its own longest
 * response, are followed so, one after another and once more, and the time of one is their mean of the second time.
 *
 * Distillation (Hinton et al. 2015, arXiv:1503.02531) is a round of one step: the teacher scores the batch, by the plan of the
 * student, and stays in the accelerators' memory (partition/memory.h). */
#ifndef TSIM_RUN_POST_TRAINING_H
#define TSIM_RUN_POST_TRAINING_H

#include "run/generation.h"
#include "step/step_result.h"

struct tsim_machine;
struct tsim_pass_memo;
struct tsim_term_recorder;

struct tsim_post_training {
    bool has;
    struct tsim_generation_phase generation; /* without `has` where nothing is generated */
    double steps;                            /* of the policy in a round */
    double time_s, energy_j;                 /* of a round, whole cluster */
    double scoring_s, training_s, transfer_s, copies_s;
    double beside_s; /* of these and generation, what ran beside one another */
    double samples_per_s;
};

/* Many plans of one job on one cluster share these. */
struct tsim_run_memo {
    struct tsim_pass_memo *passes, *teacher; /* costs (step/pass/pass.h) */
    /* The phase of engines, which are no part of a plan; NULL: not simulated yet. */
    const struct tsim_generation_phase *generation;
};
struct tsim_run_memo *tsim_run_memo_new(struct tsim_arena *arena);

/* Simulates a round. `step_s` and `step_j` are the time and energy of a step of training; `memo` may be NULL. Fills in
 * *round where the scenario is dpo, grpo, ppo or distill; else it stays zeroed. */
enum tsim_status tsim_post_training_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                             const struct tsim_machine *machine, double step_s, double step_j,
                                             const struct tsim_run_memo *memo, struct tsim_term_recorder *recorder,
                                             struct tsim_post_training *round, struct tsim_diags *diags);

/* Bounds a round without simulating it: no plan's round takes less time or energy, where its step takes no less than
 * these (step/step.h). Generation counts as far as `memo` knows it. */
void tsim_post_training_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                              const struct tsim_machine *machine, enum tsim_least of, double step_s, double step_j,
                              const struct tsim_run_memo *memo, struct tsim_post_training *round);

/* Returns the time between two rounds, where engines are so many rounds ahead of steps that take `training_s` with
 * their scoring. For tests. */
double tsim_rounds_ahead_s(const double generation_s[TSIM_ROUNDS], double training_s, double transfer_s, int64_t ahead);

#endif
