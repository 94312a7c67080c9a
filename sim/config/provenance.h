/* provenance.h - constants as terms (base/term.h): the file or key that gives them, its source, and how sure that
 * is. */
#pragma once

#include "base/term.h"
#include "config/catalogue_load.h"
#include "config/lengths.h"

/* Returns the value that file `id` of the catalogue has under `key`. If the scenario overrides it, its term says so. */
struct tsim_amount tsim_of_file(struct tsim_term_recorder *recorder, enum tsim_catalogue_kind kind, const char *id,
                                const char *key, double value, enum tsim_dimension dimension);

/* Returns the value of a key of the scenario. */
static inline struct tsim_amount tsim_of_scenario(struct tsim_term_recorder *recorder, const char *key, double value,
                                                  enum tsim_dimension dimension) {
    return tsim_given(recorder, key, value, dimension, "the scenario");
}

/* These return the number of the cluster's accelerators, of those that train, and of the tokens in a step. */
static inline struct tsim_amount tsim_accelerators_of(struct tsim_term_recorder *recorder,
                                                      const struct tsim_scenario *scenario) {
    const struct tsim_cluster_spec *c = &scenario->cluster;
    return tsim_product(recorder, "accelerators", "nodes x accelerators of each", TSIM_COUNT,
                        TSIM_PARTS(tsim_of_scenario(recorder, "cluster.nodes", (double)c->nodes, TSIM_COUNT),
                                   tsim_of_scenario(recorder, "cluster.accelerators_per_node",
                                                    (double)c->accelerators_per_node, TSIM_COUNT)));
}
static inline struct tsim_amount tsim_training_accelerators_of(struct tsim_term_recorder *recorder,
                                                               const struct tsim_scenario *scenario) {
    const struct tsim_cluster_spec *c = &scenario->cluster;
    if (scenario->generation.nodes == 0)
        return tsim_accelerators_of(recorder, scenario);
    return tsim_product(recorder, "accelerators that train", "nodes that train x accelerators of each", TSIM_COUNT,
                        TSIM_PARTS(tsim_given(recorder, "nodes that train", (double)tsim_training_nodes(scenario),
                                              TSIM_COUNT, "cluster.nodes less generation.nodes"),
                                   tsim_of_scenario(recorder, "cluster.accelerators_per_node",
                                                    (double)c->accelerators_per_node, TSIM_COUNT)));
}

/* Returns the tokens of a sample that are not padding. */
static inline struct tsim_amount tsim_sample_tokens_of(struct tsim_term_recorder *recorder,
                                                       const struct tsim_scenario *scenario) {
    double tokens = tsim_useful_length(scenario);
    if (scenario->training.lengths.mean > 0)
        return tsim_given(recorder, "tokens of a sample", tokens, TSIM_COUNT,
                          "training.lengths of the scenario (sim/config/lengths.h)");
    return tsim_of_scenario(recorder, "training.sequence_length", tokens, TSIM_COUNT);
}

static inline struct tsim_amount tsim_tokens_of(struct tsim_term_recorder *recorder,
                                                const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return tsim_product(
        recorder, "tokens of a step", "batch x sequence", TSIM_COUNT,
        TSIM_PARTS(tsim_of_scenario(recorder, "training.global_batch_size", (double)t->global_batch_size, TSIM_COUNT),
                   tsim_sample_tokens_of(recorder, scenario)));
}

static inline struct tsim_amount tsim_of_accelerator(struct tsim_term_recorder *recorder,
                                                     const struct tsim_accelerator *accelerator, const char *key,
                                                     double value, enum tsim_dimension dimension) {
    return tsim_of_file(recorder, TSIM_CATALOGUE_ACCELERATORS, accelerator->name, key, value, dimension);
}
