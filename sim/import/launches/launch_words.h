/* launch_words.h - private to import: translates words of other programs to the values of a scenario's keys, and
 * back. Readers and writers of launch files share these tables. */
#ifndef TSIM_IMPORT_LAUNCH_WORDS_H
#define TSIM_IMPORT_LAUNCH_WORDS_H

#include "config/scenario.h"

struct tsim_launch_word {
    const char *theirs, *ours;
};

/* Each ends with NULL; of several words for one of ours the first is written. */
extern const struct tsim_launch_word tsim_attention_backends[];  /* --attention-backend; software.attention_kernel */
extern const struct tsim_launch_word tsim_fp8_recipes[];         /* --fp8-recipe; software.fp8_scaling */
extern const struct tsim_launch_word tsim_context_kinds[];       /* --cp-comm-type; parallelism.context_exchange */
extern const struct tsim_launch_word tsim_recompute_modules[];   /* --recompute-modules; training.recompute */
extern const struct tsim_launch_word tsim_sharding_strategies[]; /* --data-parallel-sharding-strategy; zero */
extern const struct tsim_launch_word tsim_torch_types[];         /* as a log prints them; precisions */
extern const struct tsim_launch_word tsim_rotate_methods[];      /* torchtitan's context_parallel_rotate_method */
extern const struct tsim_launch_word tsim_titan_schedules[];     /* torchtitan's pipeline_parallel_schedule */

/* --hybrid-override-pattern has a letter for each layer, which is one block of these: an entry of model.pattern. */
extern const struct tsim_hybrid_block {
    char letter;
    const char *kind, *feed_forward;
} tsim_hybrid_blocks[]; /* ends with the letter '\0' */

/* --use-tp-pp-dp-mapping: data parallelism outermost; parallelism.order. */
extern const enum tsim_axis tsim_tp_pp_dp_order[TSIM_N_AXES];

/* These translate a word; NULL: the table does not have it. */
const char *tsim_launch_ours(const struct tsim_launch_word *words, const char *theirs);
const char *tsim_launch_theirs(const struct tsim_launch_word *words, const char *ours);

#endif
