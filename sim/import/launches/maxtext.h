/* maxtext.h - private to import: makes a scenario from the settings of AI-Hypercomputer/maxtext
 * (MaxText/configs/base.yml), which Primus has under the same names. */
#pragma once

#include "import/launches/recipe.h"

/* Refuses what cannot be taken over, builds the scenario from the settings, and writes it. */
enum tsim_status tsim_maxtext_job(struct tsim_recipe *r, struct tsim_import_result *result);
