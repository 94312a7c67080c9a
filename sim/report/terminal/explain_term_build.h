/* explain_term_build.h - private to report: how the trees of explain_term.h are put together. */
#ifndef TSIM_REPORT_EXPLAIN_TERM_BUILD_H
#define TSIM_REPORT_EXPLAIN_TERM_BUILD_H

#include "cluster/placement.h"
#include "config/provenance.h"
#include "report/terminal/explain_term.h"
#include "workload/operators.h"

struct tsim_term_part {
    const struct tsim_term *term;
    double factor; /* 1, or -1: inverse */
};

/* The builders of one tree share this. */
struct tsim_terms {
    struct tsim_arena *arena;
    const struct tsim_explanation *explanation;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    struct tsim_term_recorder recorder;
    /* Nodes that occur often; NULL until one is wanted. */
    const struct tsim_term *tokens, *step_time;
};

/* ---- nodes ---- */

/* A value and where it is from. tsim_term_of_file: from a catalogue file of the scenario, under `key`;
 * tsim_term_of_scenario: a key of the scenario. A catalogue value that the scenario overrides says so. */
struct tsim_term *tsim_term_given(struct tsim_terms *terms, const char *name, double value,
                                  enum tsim_dimension dimension, const char *source);
struct tsim_term *tsim_term_of_file(struct tsim_terms *terms, enum tsim_catalogue_kind kind, const char *key,
                                    double value, enum tsim_dimension dimension);
struct tsim_term *tsim_term_of_scenario(struct tsim_terms *terms, const char *key, double value,
                                        enum tsim_dimension dimension);

/* A node to which parts are added, and which is then closed. `value` NAN: what the rule gives. */
struct tsim_term *tsim_term_new(struct tsim_terms *terms, enum tsim_term_rule rule, const char *name,
                                const char *formula, double value, enum tsim_dimension dimension);
void tsim_term_add(struct tsim_terms *terms, struct tsim_term *term, const struct tsim_term *part, double factor);
/* A sum whose parts do not give its value gets `rest` as one more part. */
const struct tsim_term *tsim_term_close(struct tsim_terms *terms, struct tsim_term *term, const char *rest);

/* A sum of the terms of n names, without those that are 0. */
const struct tsim_term *tsim_term_close_kinds(struct tsim_terms *terms, struct tsim_term *sum, const char *const *names,
                                              size_t n,
                                              const struct tsim_term *(*of)(struct tsim_terms *, const char *));

/* a x b, and a / b. */
const struct tsim_term *tsim_term_times(struct tsim_terms *terms, const char *name, const char *formula,
                                        enum tsim_dimension dimension, const struct tsim_term *a,
                                        const struct tsim_term *b);
const struct tsim_term *tsim_term_over(struct tsim_terms *terms, const char *name, const char *formula,
                                       enum tsim_dimension dimension, const struct tsim_term *a,
                                       const struct tsim_term *b);

/* ---- shared ---- */
const struct tsim_term *tsim_term_tokens(struct tsim_terms *terms); /* of a step */
const struct tsim_term *tsim_term_accelerators(struct tsim_terms *terms);

/* ---- figures of the summary, by the group they are in; NULL for a value that the run does not have ---- */
const struct tsim_term *tsim_term_of_step(struct tsim_terms *terms, const char *name); /* step, communication_exposed */
const struct tsim_term *tsim_term_of_memory(struct tsim_terms *terms, const char *name); /* memory */
/* Adds what a port of the fabric draws, if there is a fabric. */
void tsim_term_add_port_power(struct tsim_terms *terms, struct tsim_term *term);
const struct tsim_term *tsim_term_of_rates(struct tsim_terms *terms, const char *name); /* all others */

#endif
