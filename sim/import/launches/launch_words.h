/* launch_words.h - private to import: translates words of other programs to the values of a scenario's keys, and back.
 * Readers and writers of launch files share these tables. */
#pragma once

#include "config/scenario.h"

struct tsim_launch_word {
    const char *theirs, *ours;
};

/* Each table ends with NULL. If several of a program's words stand for one of ours, the first is written. */
extern const struct tsim_launch_word tsim_attention_backends[];  /* --attention-backend; software.attention_kernel */
extern const struct tsim_launch_word tsim_fp8_recipes[];         /* --fp8-recipe; software.fp8_scaling */
extern const struct tsim_launch_word tsim_context_kinds[];       /* --cp-comm-type; parallelism.context_exchange */
extern const struct tsim_launch_word tsim_recompute_modules[];   /* --recompute-modules; training.recompute */
extern const struct tsim_launch_word tsim_sharding_strategies[]; /* --data-parallel-sharding-strategy; zero */
extern const struct tsim_launch_word tsim_torch_types[];         /* precisions, as a log prints them */
extern const struct tsim_launch_word tsim_rotate_methods[];      /* torchtitan's context_parallel_rotate_method */
extern const struct tsim_launch_word tsim_titan_schedules[];     /* torchtitan's pipeline_parallel_schedule */

/* The letters of --hybrid-override-pattern. Each stands for one layer, which is one of these blocks, an entry of
 * model.pattern. */
extern const struct tsim_hybrid_block {
    char letter;
    const char *kind, *feed_forward;
} tsim_hybrid_blocks[]; /* ends with the letter '\0' */

/* The order of ranks of --use-tp-pp-dp-mapping, with data parallelism outermost (parallelism.order). */
extern const enum tsim_axis tsim_tp_pp_dp_order[TSIM_N_AXES];

/* These translate a word; they return NULL if the table does not have it. */
const char *tsim_launch_ours(const struct tsim_launch_word *words, const char *theirs);
const char *tsim_launch_theirs(const struct tsim_launch_word *words, const char *ours);

/* Returns AMD's machine of a job of Primus: the one that its file's path names (.../configs/MI355X/llama3_8B.yaml), or
 * else its text, or else MI300X. */
const char *tsim_primus_machine(const char *path, const char *text);
