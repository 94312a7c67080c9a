/* plan_choice.h - the keys of a plan for which a search (study/search/plan_space.h) proposes values, and the same job
 * under such values. A value is a number: a degree or size, the number of a word in its enumeration, or 0 or 1 for a
 * switch. */
#pragma once

#include "config/scenario.h"

/* The keys stand in the order in which a search varies them, the slowest first. The last four are refined around a plan
 * of the others. */
enum tsim_plan_key {
    TSIM_PLAN_TENSOR,
    TSIM_PLAN_PIPELINE,
    TSIM_PLAN_VIRTUAL,
    TSIM_PLAN_CONTEXT,
    TSIM_PLAN_EXPERT,
    TSIM_PLAN_EXPERT_TENSOR, /* 0: as tensor */
    TSIM_PLAN_ZERO,
    TSIM_PLAN_MICRO_BATCH,
    TSIM_PLAN_SCHEDULE,
    TSIM_PLAN_SEQUENCE,
    TSIM_PLAN_OVERLAP,   /* enum tsim_plan_overlap */
    TSIM_PLAN_RECOMPUTE, /* a tsim_plan_recompute_value */
    TSIM_PLAN_LAYERS,    /* 0: auto, 1: balance */
    TSIM_PLAN_ORDER,     /* 0: the job's; 1: the pipeline's ranks are inside the replicas */
    TSIM_PLAN_OFFLOAD,   /* 0: the job's; 1: the optimizer, 2: activations, 3: both */
    TSIM_N_PLAN_KEYS
};

/* A plan hides of communication what the job says, all that its software can, or all that any software can. */
enum tsim_plan_overlap { TSIM_OVERLAP_AS_SAID, TSIM_OVERLAP_OF_SOFTWARE, TSIM_OVERLAP_OF_ANY };
enum { TSIM_PLAN_OFFLOADS_OPTIMIZER = 1, TSIM_PLAN_OFFLOADS_ACTIVATIONS = 2 };

struct tsim_plan_choice {
    int64_t value[TSIM_N_PLAN_KEYS];
};

/* Returns the number that stands for a mode of recomputation together with the set of parts that it names, or with the
 * layers between two checkpoints; 0 is none. A mode alone is its own number. */
int64_t tsim_plan_recompute_value(enum tsim_recompute mode, unsigned parts, int64_t every);
enum tsim_recompute tsim_plan_recompute_mode(int64_t value);
unsigned tsim_plan_recompute_parts(int64_t value);
int64_t tsim_plan_recompute_layers(int64_t value);

/* These return a key's path and its value as --set takes them: "parallelism.tensor" and "8"; "parallelism.schedule" and
 * "1f1b". */
const char *tsim_plan_key_path(enum tsim_plan_key key);
/* Finds a key by its path; returns false if a search is given no values of it. */
bool tsim_plan_key_find(const char *path, enum tsim_plan_key *key);
bool tsim_plan_key_has_words(enum tsim_plan_key key);
const char *tsim_plan_key_text(struct tsim_arena *arena, enum tsim_plan_key key, int64_t value);
/* Writes the order of ranks `order`, with the pipeline's ranks moved inside the replicas. */
void tsim_plan_pipeline_inside(const enum tsim_axis order[TSIM_N_AXES], enum tsim_axis inside[TSIM_N_AXES]);
/* Reads a value of a key; returns false if `text` is no value that a search can try. */
bool tsim_plan_key_read(enum tsim_plan_key key, const char *text, int64_t *value);

/* Returns the values of a scenario's own plan; of its layers, order and offload it has the job's (0). */
struct tsim_plan_choice tsim_plan_of(const struct tsim_scenario *scenario);

/* Returns the replicas under the plan, which are all that is left of the job's accelerators. */
int64_t tsim_plan_data(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);

/* Returns the first key whose value, with those before it, already rules the plan out for the job, whatever the keys
 * after it are. It applies rules.c's rules of the ranks, the chunks and the batch, without a draft. Returns
 * TSIM_N_PLAN_KEYS if the plan is not ruled out. */
enum tsim_plan_key tsim_plan_refused_at(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);

/* Returns bits, in the order of the keys of `overlap`, of those that the plan hides and the job does not. Those without effect
 * under the plan are not among them. */
unsigned tsim_plan_more_overlap(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);
const char *tsim_overlap_name(size_t bit); /* "gradients"; NULL if there is no such bit */
void tsim_overlap_add(struct tsim_overlap *overlap, unsigned bits);
/* Returns whether some plan with this value of overlap hides more than the job. */
bool tsim_may_overlap_more(const struct tsim_scenario *job, enum tsim_plan_overlap overlap);

/* Returns whether expert_tensor, zero, schedule, sequence, layers_per_stage or order has no effect under the values
 * before it, so that all its values are one plan; of overlap, whether its value is the same plan as the value before it. */
bool tsim_plan_key_is_idle(const struct tsim_scenario *job, const struct tsim_plan_choice *choice,
                           enum tsim_plan_key key);
/* Returns the schedule that is played for the plan's: 1f1b for one that needs more stages or chunks. */
enum tsim_schedule tsim_plan_played_schedule(const struct tsim_plan_choice *choice);

/* Makes the scenario of the job under a plan. Replicas take what is left of the accelerators, layers are split evenly
 * (or balanced), and all that follows is resolved and checked as in a scenario that is read. It has no noise, because
 * plans are compared without. Returns false if the plan is not valid. Threads may share a job. */
bool tsim_scenario_replan(struct tsim_arena *arena, const struct tsim_scenario *job,
                          const struct tsim_plan_choice *choice, const struct tsim_scenario **scenario);
