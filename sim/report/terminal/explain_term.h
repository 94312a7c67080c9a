/* explain_term.h - a figure of the summary as a formula tree: what it is made of, down to constants and where each of
 * them was read.
 *
 * A node's value follows from its parts by its rule; tests hold every tree to that. What comes out of the event
 * simulation, or of a cost model that is no plain formula, is a MODEL node: its formula says which, its parts are what
 * goes in. Nodes may be shared: a tree is an acyclic graph. */
#ifndef TSIM_REPORT_EXPLAIN_TERM_H
#define TSIM_REPORT_EXPLAIN_TERM_H

#include "report/terminal/explain.h"

enum tsim_term_rule {
    TSIM_TERM_GIVEN,   /* a leaf: read, or counted by what `source` says */
    TSIM_TERM_SUM,     /* of factor x part */
    TSIM_TERM_PRODUCT, /* of part ^ factor */
    TSIM_TERM_MAX,
    TSIM_TERM_MODEL
};

struct tsim_term_part {
    const struct tsim_term *term;
    double factor;
};

struct tsim_term {
    const char *name;
    const char *formula; /* in words; NULL for leaves that need none */
    const char *source;  /* GIVEN: where it was read; NULL for others */
    const char *status;  /* of catalogue values: "read", "fitted", "estimate", ...; NULL for others */
    double value;
    enum tsim_dimension dimension;
    enum tsim_term_rule rule;
    struct tsim_term_part *parts;
    int32_t n_parts, capacity;
};

/* The tree of one figure of the summary, by its path in the JSON ("step.compute_s"), by the last part of it where that
 * is unique ("mfu"), or by the name of a group ("memory": its peak, "communication": what is exposed). NULL for an
 * unknown name, and for one whose value this run does not have (tsim_term_exists tells which). */
const struct tsim_term *tsim_term_build(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                                        const char *name);
bool tsim_term_exists(const char *name);
/* The path or word that an unknown name may be a slip of, or NULL. */
const char *tsim_term_near(const char *wrong);
/* All paths, in the order of the summary. */
const char *const *tsim_term_names(size_t *n);

/* What the rule gives for the parts; the node's own value for GIVEN and MODEL. */
double tsim_term_by_rule(const struct tsim_term *term);

/* Indented, value first; sources are numbered and stand below. A shared node is written out once. */
void tsim_term_print(FILE *out, const struct tsim_style *style, const struct tsim_term *term);
/* A line a node in the order of the tree: table,depth,name,value,unit,formula,source,status. */
void tsim_term_print_csv(FILE *out, const struct tsim_term *term);
/* {"schema": "tsim/term/v1", "name", "value", "unit", "formula", "source", "status", "parts": [...]} */
struct tsim_json *tsim_term_json(const struct tsim_term *term);

#endif
