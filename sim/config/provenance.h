/* provenance.h - constants as terms (base/term.h): which file or key says them, from what source, and how sure. */
#ifndef TSIM_CONFIG_PROVENANCE_H
#define TSIM_CONFIG_PROVENANCE_H

#include "base/term.h"
#include "config/catalogue_load.h"

/* The value that file `id` of the catalogue has under `key`. One that the scenario overrides says so. */
struct tsim_amount tsim_of_file(struct tsim_term_recorder *recorder, enum tsim_catalogue_kind kind, const char *id,
                                const char *key, double value, enum tsim_dimension dimension);

/* The value of a key of the scenario. */
static inline struct tsim_amount tsim_of_scenario(struct tsim_term_recorder *recorder, const char *key, double value,
                                                  enum tsim_dimension dimension) {
    return tsim_given(recorder, key, value, dimension, "the scenario");
}

static inline struct tsim_amount tsim_of_accelerator(struct tsim_term_recorder *recorder,
                                                     const struct tsim_accelerator *accelerator, const char *key,
                                                     double value, enum tsim_dimension dimension) {
    return tsim_of_file(recorder, TSIM_CATALOGUE_ACCELERATORS, accelerator->name, key, value, dimension);
}

#endif
