/* enum_words.h - private to config: the words of enumerations that more than one table or message needs. */
#pragma once

#include "config/keys/schema.h"

/* Each array ends with a NULL word. */
extern const struct tsim_word tsim_precision_words[], tsim_schedule_words[], tsim_context_exchange_words[],
    tsim_optimizer_words[], tsim_recompute_words[], tsim_axis_words[];

/* Values are the exponents of enum tsim_recompute_part. */
extern const struct tsim_word tsim_recompute_part_words[];
