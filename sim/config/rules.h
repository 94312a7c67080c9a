/* rules.h - private to config: rules between keys. */
#ifndef TSIM_CONFIG_RULES_H
#define TSIM_CONFIG_RULES_H

#include "config/scenario_draft.h"

/* Checks what must agree in a draft whose accelerator count is resolved; `data` may still be 0 (auto, with a
 * remainder). Reports every rule that is broken, with the numbers and, where there are some, the nearest settings that
 * work. */
void tsim_draft_validate(const struct tsim_draft *draft, struct tsim_reader *reader);

/* The same of what does not depend on the plan. */
void tsim_draft_validate_job(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Warns of what is written and the named software does not have, in a finished draft. */
void tsim_draft_check_software(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Micro-batches per replica come in multiples of `unit`, `least` at least. */
struct tsim_microbatch_rule {
    int64_t unit, least;
};
struct tsim_microbatch_rule tsim_microbatch_rule(const struct tsim_scenario *scenario);

#endif
