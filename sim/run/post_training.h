/* post_training.h - a round of post-training around the steps that train: DPO (Rafailov et al. 2023), GRPO (Shao et al.
 * 2024, DeepSeekMath), PPO (Schulman et al. 2017; Ouyang et al. 2022).
 *
 *   generation  The policy generates the samples (generation.h); DPO has them.
 *   scoring     Each model in training.scoring makes a forward pass of all samples, by the plan that trains.
 *   training    Each batch of the samples is a step. If a critic scores, it is trained by as many steps.
 *   transfer    Each rank of the engines gets its part of the new weights. If the software gathers the whole model
 *               tensor by tensor (NeMo-RL: software.refit_rate), the transfer takes the whole model at that rate.
 *   copies      What trains (weights, master weights, optimizer states) leaves for the host's memory and returns, so
 *               that engines on the same accelerators have room. The policy makes room for the reference, which then
 *               comes from the host, and returns (NeMo-RL: use_reference_model, by pinned memory).
 *
 * These follow one another on the same accelerators (as in NeMo-RL, verl and OpenRLHF with colocated engines). Engines
 * drop their weights and get new ones. The computation of rewards that are rules is not counted.
 *
 * If engines have nodes of their own (generation.nodes), they rest while the others train, and the others rest while
 * engines generate, unless engines are `ahead`. Then round i is generated as soon as round i - 1 has been and the
 * weights from round i - 1 - ahead have come (1: one step off the policy; Noukhovitch et al. 2024, arXiv:2410.18252).
 * Whenever new weights arrive, engines take them between two passes and lose the time of the transfer (NeMo-RL's
 * in_flight_weight_updates). TSIM_ROUNDS rounds, each with its own longest response, are played in this way, one after
 * another and then once more; the time of a round is their mean in the second turn.
 *
 * Distillation (Hinton et al. 2015, arXiv:1503.02531) is a round of one step: the teacher scores the batch by the plan
 * of the student, and stays in the accelerators' memory (partition/memory.h). */
#pragma once

#include "run/generation.h"
#include "step/step_result.h"

struct tsim_machine;
struct tsim_pass_memo;
struct tsim_term_recorder;

struct tsim_post_training {
    bool has;
    struct tsim_generation_phase generation; /* `has` is false if nothing is generated */
    double steps;                            /* of the policy, in a round */
    double time_s, energy_j;                 /* of a round, on the whole cluster */
    double scoring_s, training_s, transfer_s, copies_s;
    double beside_s; /* time in which generation and these ran beside one another */
    double samples_per_s;
};

/* The things that many plans of one job on one cluster share. */
struct tsim_run_memo {
    struct tsim_pass_memo *passes, *teacher; /* costs of passes (step/pass/pass.h) */
    /* The phase of engines, which are no part of a plan; NULL: it has not been simulated. */
    const struct tsim_generation_phase *generation;
};
struct tsim_run_memo *tsim_run_memo_new(struct tsim_arena *arena);

/* Simulates a round. `step_s` and `step_j` are the time and energy of a step of training; `memo` may be NULL. It fills
 * in *round if the scenario is dpo, grpo, ppo or distill; else *round stays zeroed. */
enum tsim_status tsim_post_training_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                             const struct tsim_machine *machine, double step_s, double step_j,
                                             const struct tsim_run_memo *memo, struct tsim_term_recorder *recorder,
                                             struct tsim_post_training *round, struct tsim_diags *diags);

/* Bounds a round without simulating it: no plan's round takes less time or energy if its step takes no less than these
 * (step/step.h). Generation counts if `memo` has it. */
void tsim_post_training_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                              const struct tsim_machine *machine, enum tsim_least of, double step_s, double step_j,
                              const struct tsim_run_memo *memo, struct tsim_post_training *round);

/* Returns the time between two rounds if engines are so many rounds ahead of steps that take `training_s` with their
 * scoring. It is public for tests. */
double tsim_rounds_ahead_s(const double generation_s[TSIM_ROUNDS], double training_s, double transfer_s, int64_t ahead);
