/* plan_space.h - the plans among which a search chooses: for each candidate cluster (the axes of `sweep:` over other
 * keys than a plan's) every combination of the plan's keys. An axis of `sweep:` over a key of the plan says which
 * values it may take; without one:
 *
 *   tensor             divisors of a node's accelerators
 *   pipeline           divisors of all accelerators, at most layers + 2
 *   virtual_pipeline   divisors of the layers, and of layers + 2 (a first and a last chunk with one layer fewer)
 *   context            powers of 2 that leave a rank at least 4096 tokens of a sequence
 *   expert             divisors of the number of experts
 *   expert_tensor      the job's; 1 or tensor in its place
 *   zero               0, 1, 2, 3
 *   micro_batch_size   powers of 2 up to 16, or up to 32,768 tokens where those are more samples; of models without
 *                      tokens (CNN, MLP, DLRM) up to the global batch
 *   schedule           1f1b, interleaved, zb-h1, zb-v, and with experts dualpipe
 *   sequence           true, false
 *   overlap            what the job says, and all that the software can hide where that is more; with any software
 *                      also all that any can
 *   recompute          none, selective (where it is not the same: attention: standard, or recompute_parts), full
 *   layers_per_stage   auto; balance where no number of chunks splits the layers evenly over the stages
 *
 * and, refined (TSIM_PLAN_FINE): lists of the parts of a layer that are recomputed, {every: 2, 4, 8} layers, balance of
 * stages of one chunk that could be even, the pipeline's ranks inside the replicas, optimizer and activations in the
 * host's memory.
 *
 * Only those are in the space that the software can run (its `supports`), unless any software is asked for. data is
 * what is left. Plans that are the same one (sequence with tensor 1, zero without replicas, any schedule without a
 * pipeline) are in it once. The batch, precisions and the optimizer, with which a run learns, stay the job's. */
#pragma once

#include "config/plan_choice.h"
#include "study/search/space.h"

struct tsim_plan_axis {
    const int64_t *values; /* enumerations and bool by their numbers */
    size_t n;              /* 0: no values are given, and the candidate's own counts */
};

struct tsim_plan_candidate {
    const struct tsim_space_setting **settings; /* of the cluster, or of whatever else varies */
    size_t n_settings;
    const struct tsim_scenario *job;
    struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS];
    bool any_zero;                    /* also stages of ZeRO that the software has only with, or without, a pipeline */
    bool balances_all;                /* layers_per_stage was listed: balance is also tried where stages are even */
    bool balances_chunks;             /* layers of several chunks a stage are balanced, too */
    bool is_coarse;                   /* there are no refinements */
    size_t n_coarse_recomputes;       /* the first so many values of recompute are no refinements */
    int64_t first_position, n_points; /* combinations, including those that are no plan or repeat one */
};

/* A search has one of three extents: each plan as a launch script would usually give it; also refinements of it; or
 * also plans that the named software cannot run. */
enum tsim_plan_extent { TSIM_PLAN_COARSE, TSIM_PLAN_FINE, TSIM_PLAN_ANY_SOFTWARE };

struct tsim_plan_space {
    const struct tsim_plan_candidate *candidates;
    size_t n_candidates;
    int64_t n_points;
    enum tsim_plan_extent extent;
};

/* Reads the space. `axes` is what `sweep:` or the command line vary; NULL: nothing. Everything is allocated from
 * `arena`. */
enum tsim_status tsim_plan_space_read(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                      const struct tsim_override *overrides, size_t n_overrides,
                                      const struct tsim_space *axes, enum tsim_plan_extent extent,
                                      struct tsim_plan_space *space, struct tsim_diags *diags);

/* Makes a space of one candidate, which is a job that has been loaded. */
void tsim_plan_space_of(struct tsim_arena *arena, const struct tsim_scenario *job,
                        const struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS], enum tsim_plan_extent extent,
                        struct tsim_plan_space *space);

const struct tsim_plan_candidate *tsim_plan_candidate_at(const struct tsim_plan_space *space, int64_t position);

/* Finds the plan at a position; returns false if the combination is the same plan as another one, or its divisions
 * alone rule it out. */
bool tsim_plan_choice_at(const struct tsim_plan_candidate *candidate, int64_t position,
                         struct tsim_plan_choice *choice);
/* Returns whether it is a refinement: a list of parts or {every: N}, balance of what could be even, another order,
 * something offloaded. Values that an axis asks for by name are no refinements. */
bool tsim_plan_is_fine(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice);
/* Returns whether the plans that share the choice's keys before layers_per_stage have one whose layers are balanced. */
bool tsim_plan_may_balance(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice);
/* Returns the mode of recomputation of the plan that a value of recompute refines: selective for a list of parts, full
 * for {every: N}. */
enum tsim_recompute tsim_plan_coarse_recompute(int64_t value);
/* Returns the plan that it refines, with that mode of recomputation and without its other refinements. */
struct tsim_plan_choice tsim_plan_coarse(const struct tsim_plan_candidate *candidate,
                                         const struct tsim_plan_choice *choice);
/* Returns the number of positions from one combination of the keys before `key` to the next. */
int64_t tsim_plan_stride(const struct tsim_plan_candidate *candidate, enum tsim_plan_key key);
/* Finds the first plan from *position on, and its position; returns false at the candidate's end. It passes over
 * combinations that are no plan at once, which makes listing a space many times faster than asking for each
 * position. */
bool tsim_plan_choice_from(const struct tsim_plan_candidate *candidate, int64_t *position,
                           struct tsim_plan_choice *choice);
/* Does the same for plans that are no refinements. */
bool tsim_plan_coarse_from(const struct tsim_plan_candidate *candidate, int64_t *position,
                           struct tsim_plan_choice *choice);

/* Finds, for a candidate without a valid combination, the nearest global batches below and above its own with which one
 * is valid; 0 if none of those tried is. Memory and limits do not count here. */
void tsim_plan_nearest_batches(const struct tsim_plan_candidate *candidate, int64_t *below, int64_t *above);

/* Returns {"cluster.nodes": 16, "parallelism.tensor": 8, ...}: a run with these --set is the plan. It has `data`,
 * because a scenario may set it, and layers_per_stage if it is a list; it leaves out what is as the scenario has it. */
const char *tsim_plan_set_json(struct tsim_arena *arena, const struct tsim_plan_candidate *candidate,
                               const struct tsim_plan_choice *choice);
