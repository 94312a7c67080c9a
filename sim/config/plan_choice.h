/* plan_choice.h - the keys of a plan, which a search for plans (study/search/plan_space.h) proposes values of, and the
 * same job under such values. A value is a number: of a degree or size itself, of a word its enumeration's, of a switch
 * 0 or 1. */
#ifndef TSIM_CONFIG_PLAN_CHOICE_H
#define TSIM_CONFIG_PLAN_CHOICE_H

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
    TSIM_PLAN_RECOMPUTE, /* tsim_plan_recompute_value */
    TSIM_PLAN_LAYERS,    /* 0: auto, 1: balance */
    TSIM_PLAN_ORDER,     /* 0: the job's; 1: the pipeline's ranks inside the replicas */
    TSIM_PLAN_OFFLOAD,   /* 0: what the job says; 1: the optimizer, 2: activations, 3: both */
    TSIM_N_PLAN_KEYS
};

enum { TSIM_PLAN_OFFLOADS_OPTIMIZER = 1, TSIM_PLAN_OFFLOADS_ACTIVATIONS = 2 };

struct tsim_plan_choice {
    int64_t value[TSIM_N_PLAN_KEYS];
};

/* Returns the number that stands for a mode of recomputation with the set of parts that it names, or with the layers
 * between two checkpoints; 0: none. A mode alone is its own number. */
int64_t tsim_plan_recompute_value(enum tsim_recompute mode, unsigned parts, int64_t every);
enum tsim_recompute tsim_plan_recompute_mode(int64_t value);
unsigned tsim_plan_recompute_parts(int64_t value);
int64_t tsim_plan_recompute_every(int64_t value);

/* Returns a key's path, and its value as --set takes it: "parallelism.tensor", "8"; "parallelism.schedule", "1f1b". */
const char *tsim_plan_key_path(enum tsim_plan_key key);
/* Finds a key by its path; false: no search is given values of it. */
bool tsim_plan_key_find(const char *path, enum tsim_plan_key *key);
bool tsim_plan_key_has_words(enum tsim_plan_key key);
const char *tsim_plan_key_text(struct tsim_arena *arena, enum tsim_plan_key key, int64_t value);
/* Writes the order of ranks `order` with the pipeline's ranks moved inside the replicas. */
void tsim_plan_pipeline_inside(const enum tsim_axis order[TSIM_N_AXES], enum tsim_axis inside[TSIM_N_AXES]);
/* Reads a value of a key; false: `text` is no value that a search can try. */
bool tsim_plan_key_read(enum tsim_plan_key key, const char *text, int64_t *value);

/* Returns the replicas under the plan: all that is left of the job's accelerators. */
int64_t tsim_plan_data(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);

/* Returns the first key at which its numbers already say that the job cannot have the plan, whatever the keys after it
 * are: rules.c's rules of the ranks, the chunks and the batch, without a draft. TSIM_N_PLAN_KEYS: they do not. */
enum tsim_plan_key tsim_plan_refused_at(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);

/* Has expert_tensor, zero, schedule, sequence, layers_per_stage or order no effect under the values before it? Then all
 * its values are one plan. */
bool tsim_plan_key_is_idle(const struct tsim_scenario *job, const struct tsim_plan_choice *choice,
                           enum tsim_plan_key key);
/* Returns the schedule that is played where the plan's is named: 1f1b for one that needs more stages or chunks. */
enum tsim_schedule tsim_plan_played_schedule(const struct tsim_plan_choice *choice);

/* Makes the scenario of the job under a plan: replicas take what is left of the accelerators, layers are split evenly
 * (or balanced), and all that follows is resolved and checked as in a scenario that is read. Plans are compared without
 * noise, so it has none. Returns false when the plan is not valid. Threads may share a job. */
bool tsim_scenario_replan(struct tsim_arena *arena, const struct tsim_scenario *job,
                          const struct tsim_plan_choice *choice, const struct tsim_scenario **scenario);

#endif
