/* launch_adapter.h - private to import: makes adapters (LoRA) from a program's settings. */
#pragma once

#include "import/launches/recipe.h"

/* The settings of adapters may each be NULL. */
struct tsim_adapter_settings {
    const struct tsim_setting *rank;
    /* A list of projections ("q_proj", "linear_qkv"), a pattern, or "all" for all of them. */
    const struct tsim_setting *targets;
    const struct tsim_setting *dropout;
    const struct tsim_setting *bits;   /* 4 or 8: of the frozen model */
    const struct tsim_setting *base;   /* the model's name, which may tell its bits */
    const char *experts, *why_experts; /* a word of training.adapter.experts, and why it is assumed */
    int64_t default_rank;              /* used if none is given, for the reason `why` */
    const char *why;
};

/* Puts training.adapter. The model must have been put. */
void tsim_recipe_put_adapter(struct tsim_recipe *r, const struct tsim_adapter_settings *settings);
