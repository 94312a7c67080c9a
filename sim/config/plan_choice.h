/* plan_choice.h - the keys of a plan, which a search for plans (study/search/plan_space.h) proposes values of, and the
 * same job under such values. A value is a number: of a degree or size itself, of a word its enumeration's, of a switch
 * 0 or 1. */
#ifndef TSIM_CONFIG_PLAN_CHOICE_H
#define TSIM_CONFIG_PLAN_CHOICE_H

#include "config/scenario.h"

/* In the order in which a search varies them, the slowest first. */
enum tsim_plan_key {
    TSIM_PLAN_TENSOR,
    TSIM_PLAN_PIPELINE,
    TSIM_PLAN_VIRTUAL,
    TSIM_PLAN_CONTEXT,
    TSIM_PLAN_EXPERT,
    TSIM_PLAN_ZERO,
    TSIM_PLAN_MICRO_BATCH,
    TSIM_PLAN_RECOMPUTE, /* none, selective or full */
    TSIM_PLAN_SCHEDULE,
    TSIM_PLAN_SEQUENCE,
    TSIM_PLAN_LAYERS, /* 0: auto, 1: balance */
    TSIM_N_PLAN_KEYS
};

struct tsim_plan_choice {
    int64_t value[TSIM_N_PLAN_KEYS];
};

/* A key's path, and its value as --set takes it: "parallelism.tensor", "8"; "parallelism.schedule", "1f1b". */
const char *tsim_plan_key_path(enum tsim_plan_key key);
bool tsim_plan_key_find(const char *path, enum tsim_plan_key *key); /* false: no key of a plan */
bool tsim_plan_key_has_words(enum tsim_plan_key key);
const char *tsim_plan_key_text(struct tsim_arena *arena, enum tsim_plan_key key, int64_t value);
/* False: `text` is no value that a search can try. */
bool tsim_plan_key_read(enum tsim_plan_key key, const char *text, int64_t *value);

/* Replicas under the plan: all that is left of the job's accelerators. */
int64_t tsim_plan_data(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);

/* The first key at which its numbers already say that the job cannot have the plan, whatever the keys after it are:
 * rules.c's rules of the ranks, the chunks and the batch, without a draft. TSIM_N_PLAN_KEYS: they do not. */
enum tsim_plan_key tsim_plan_refused_at(const struct tsim_scenario *job, const struct tsim_plan_choice *choice);

/* Has zero, schedule, sequence or layers_per_stage no effect under the values before it? Then all its values are one
 * plan. */
bool tsim_plan_key_is_idle(const struct tsim_scenario *job, const struct tsim_plan_choice *choice,
                           enum tsim_plan_key key);
/* The schedule that is played where the plan's is named: 1f1b for one that needs more stages or chunks. */
enum tsim_schedule tsim_plan_played_schedule(const struct tsim_plan_choice *choice);

/* The job under a plan: data is what is left, layers are split evenly, and all that follows from the choice is resolved
 * and checked as for a scenario that is read. It is without noise, by which plans are not compared. False when it is
 * not valid. Threads may share a job. */
bool tsim_scenario_replan(struct tsim_arena *arena, const struct tsim_scenario *job,
                          const struct tsim_plan_choice *choice, const struct tsim_scenario **scenario);

#endif
