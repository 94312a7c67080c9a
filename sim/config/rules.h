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

/* Layers of each chunk in model order for `layers_per_stage: auto`: even, or, where layers + 2 divides evenly but
 * layers does not, one fewer in the first and last chunk (which hold embedding and head). False when neither works. */
bool tsim_layers_even(int64_t layers, int64_t n_chunks, int64_t *first_and_last, int64_t *others);

#endif
