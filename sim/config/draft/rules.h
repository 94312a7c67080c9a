/* rules.h - private to config: rules between keys. */
#ifndef TSIM_CONFIG_RULES_H
#define TSIM_CONFIG_RULES_H

#include "config/draft/scenario_draft.h"

/* Checks what must agree in a draft whose accelerator count is resolved; `data` may still be 0 (auto, with a
 * remainder). Reports every rule that is broken, with the numbers and, where there are some, the nearest settings that
 * work. */
void tsim_draft_validate(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Checks what does not depend on the plan. */
void tsim_draft_validate_job(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Warns of what is written and the named software does not have, in a finished draft. */
void tsim_draft_check_software(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Do the schedule and the stages take so many chunks a stage (virtual_pipeline)? */
bool tsim_chunks_work(const struct tsim_parallelism_spec *parallelism);
/* Returns the schedule that is played: interleaved with one chunk, and what needs more than one stage, comes to 1f1b. */
enum tsim_schedule tsim_played_schedule(const struct tsim_parallelism_spec *parallelism);

/* Do whole micro-batches of every replica make the batch? */
bool tsim_batch_divides(int64_t global_batch_size, int64_t micro_batch_size, int64_t data);
/* Micro-batches per replica come in multiples of `unit`, `least` at least. */
struct tsim_microbatch_rule {
    int64_t unit, least;
};
struct tsim_microbatch_rule tsim_microbatch_rule(const struct tsim_scenario *scenario);

#endif
