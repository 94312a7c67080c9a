/* titan_job.h - private to import: makes a scenario from torchtitan's settings, whoever has read them. */
#pragma once

#include "import/launches/recipe.h"

/* Refuses what cannot be taken over, builds the scenario from the settings (by their dotted names) and writes it. The
 * setting preset.machine names the accelerator. */
enum tsim_status tsim_titan_job(struct tsim_recipe *r, struct tsim_import_result *result);
