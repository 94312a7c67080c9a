/* term.h - a number with how it came about: its formula, its parts, and where the constants at the end were read.
 *
 * A function that works out a cost takes a recorder and says each term where it computes it:
 *
 *     struct tsim_amount rate = tsim_product(recorder, "sustained memory rate", "bandwidth x sustained fraction",
 *                                            TSIM_BYTES_PER_S, TSIM_PARTS(bandwidth, sustained));
 *
 * Without a recorder (NULL) that is a multiplication and nothing else; with one it also keeps a node for the tree that
 * `tsim explain` prints. One function computes both (tsim_by_rule), so a node always is what its rule makes of its
 * parts. Nodes that are equal are one node: a tree is an acyclic graph. A loop that looks for the best of many runs
 * without a recorder, and once more with one for the best. */
#pragma once

#include "base/arena.h"
#include "base/quantity.h"

#include <math.h>

enum tsim_term_rule {
    TSIM_TERM_GIVEN,   /* a leaf: read, or counted by what `source` says */
    TSIM_TERM_SUM,     /* the sum of the parts; inverse parts are subtracted */
    TSIM_TERM_PRODUCT, /* the product of the parts; inverse parts divide */
    TSIM_TERM_MAX,
    TSIM_TERM_MIN,
    TSIM_TERM_CEILING, /* the product, rounded up */
    TSIM_TERM_FLOOR,   /* the product, rounded down */
    /* The first of two parts to the power of the second; an inverse second part is a negative exponent. */
    TSIM_TERM_POWER,
    TSIM_TERM_OUTCOME /* made from its parts by a simulation, a search or a count, as `formula` says */
};

struct tsim_amount {
    double value;
    const struct tsim_term *term; /* NULL without a recorder */
    bool is_inverse;              /* the rules say what an inverse part does */
};

struct tsim_term {
    const char *name;
    const char *formula; /* in words; NULL for leaves that need none */
    const char *source;  /* GIVEN: where the value was read; NULL for others */
    const char *status;  /* catalogue values: "read", "fitted", "estimate", ...; NULL for others */
    double value;
    enum tsim_dimension dimension;
    enum tsim_term_rule rule;
    bool is_elsewhere; /* GIVEN: the value is a figure whose own tree is not repeated here */
    const struct tsim_amount *parts;
    int32_t n_parts;
    struct tsim_term *next; /* private to the recorder */
};

enum { TSIM_RECORDER_SLOTS = 1024 };
struct tsim_term_recorder {
    struct tsim_arena *arena; /* holds the nodes and their texts */
    struct tsim_term *slots[TSIM_RECORDER_SLOTS];
    const struct tsim_recorded_file *files; /* see config/provenance.h */
};
void tsim_term_recorder_init(struct tsim_term_recorder *recorder, struct tsim_arena *arena);

/* Returns the node that equals `term`. If none does, it keeps a new one, with copies of the strings and parts. A
 * sum's parts that are 0 are left out. */
const struct tsim_term *tsim_record(struct tsim_term_recorder *recorder, const struct tsim_term *term);

/* Makes the text of a name or formula. Without a recorder it is NULL, and the arguments are not evaluated. */
#define tsim_record_text(recorder, ...) ((recorder) ? tsim_arena_printf((recorder)->arena, __VA_ARGS__) : NULL)

/* Returns what the rule makes of the parts; NAN for GIVEN and OUTCOME, whose values do not follow from parts. */
static inline double tsim_by_rule(enum tsim_term_rule rule, const struct tsim_amount *parts, int32_t n) {
    bool is_sum = rule == TSIM_TERM_SUM;
    double value = is_sum ? 0 : 1;
    if (rule == TSIM_TERM_GIVEN || rule == TSIM_TERM_OUTCOME)
        return (double)NAN;
    if (rule == TSIM_TERM_POWER)
        return pow(parts[0].value, parts[1].is_inverse ? -parts[1].value : parts[1].value);
    for (int32_t i = 0; i < n; i++) {
        double part = parts[i].value;
        if (is_sum)
            value += parts[i].is_inverse ? -part : part;
        else if (rule == TSIM_TERM_MAX || rule == TSIM_TERM_MIN)
            value = i == 0 ? part : rule == TSIM_TERM_MAX ? fmax(value, part) : fmin(value, part);
        else
            value = parts[i].is_inverse ? value / part : value * part;
    }
    return rule == TSIM_TERM_CEILING ? ceil(value) : rule == TSIM_TERM_FLOOR ? floor(value) : value;
}

/* Returns the value that a node's rule makes of its parts, or the node's own value if it is GIVEN or OUTCOME. */
static inline double tsim_term_by_rule(const struct tsim_term *term) {
    bool is_known = term->rule == TSIM_TERM_GIVEN || term->rule == TSIM_TERM_OUTCOME;
    return is_known ? term->value : tsim_by_rule(term->rule, term->parts, term->n_parts);
}

#define TSIM_PARTS(...)                                                                                                \
    (const struct tsim_amount[]){__VA_ARGS__},                                                                         \
        sizeof((const struct tsim_amount[]){__VA_ARGS__}) / sizeof(struct tsim_amount)

static inline struct tsim_amount tsim_combined(struct tsim_term_recorder *recorder, enum tsim_term_rule rule,
                                               const char *name, const char *formula, enum tsim_dimension dimension,
                                               const struct tsim_amount *parts, size_t n) {
    struct tsim_amount amount = {.value = tsim_by_rule(rule, parts, (int32_t)n)};
    if (recorder)
        amount.term = tsim_record(recorder, &(struct tsim_term){.name = name,
                                                                .formula = formula,
                                                                .value = amount.value,
                                                                .dimension = dimension,
                                                                .rule = rule,
                                                                .parts = parts,
                                                                .n_parts = (int32_t)n});
    return amount;
}

static inline struct tsim_amount tsim_sum(struct tsim_term_recorder *recorder, const char *name, const char *formula,
                                          enum tsim_dimension dimension, const struct tsim_amount *parts, size_t n) {
    return tsim_combined(recorder, TSIM_TERM_SUM, name, formula, dimension, parts, n);
}

static inline struct tsim_amount tsim_product(struct tsim_term_recorder *recorder, const char *name,
                                              const char *formula, enum tsim_dimension dimension,
                                              const struct tsim_amount *parts, size_t n) {
    return tsim_combined(recorder, TSIM_TERM_PRODUCT, name, formula, dimension, parts, n);
}

static inline struct tsim_amount tsim_power(struct tsim_term_recorder *recorder, const char *name, const char *formula,
                                            enum tsim_dimension dimension, struct tsim_amount base,
                                            struct tsim_amount exponent) {
    return tsim_combined(recorder, TSIM_TERM_POWER, name, formula, dimension, TSIM_PARTS(base, exponent));
}

static inline struct tsim_amount tsim_largest(struct tsim_term_recorder *recorder, const char *name,
                                              const char *formula, enum tsim_dimension dimension,
                                              const struct tsim_amount *parts, size_t n) {
    return tsim_combined(recorder, TSIM_TERM_MAX, name, formula, dimension, parts, n);
}

static inline struct tsim_amount tsim_smallest(struct tsim_term_recorder *recorder, const char *name,
                                               const char *formula, enum tsim_dimension dimension,
                                               const struct tsim_amount *parts, size_t n) {
    return tsim_combined(recorder, TSIM_TERM_MIN, name, formula, dimension, parts, n);
}

/* Marks a part as inverse: a sum subtracts it, a product divides by it. */
static inline struct tsim_amount tsim_inverse(struct tsim_amount part) {
    part.is_inverse = !part.is_inverse;
    return part;
}

/* Returns a leaf. `formula` may say in words how it was counted, else it is NULL. */
static inline struct tsim_amount tsim_counted(struct tsim_term_recorder *recorder, const char *name,
                                              const char *formula, double value, enum tsim_dimension dimension,
                                              const char *source) {
    struct tsim_amount amount = {.value = value};
    if (recorder)
        amount.term = tsim_record(recorder, &(struct tsim_term){.name = name,
                                                                .formula = formula,
                                                                .source = source,
                                                                .value = value,
                                                                .dimension = dimension,
                                                                .rule = TSIM_TERM_GIVEN});
    return amount;
}

static inline struct tsim_amount tsim_given(struct tsim_term_recorder *recorder, const char *name, double value,
                                            enum tsim_dimension dimension, const char *source) {
    return tsim_counted(recorder, name, NULL, value, dimension, source);
}

/* Returns the result of a simulation or a search; the parts are what goes in. */
static inline struct tsim_amount tsim_outcome(struct tsim_term_recorder *recorder, const char *name,
                                              const char *formula, double value, enum tsim_dimension dimension,
                                              const struct tsim_amount *parts, size_t n) {
    struct tsim_amount amount = {.value = value};
    if (recorder)
        amount.term = tsim_record(recorder, &(struct tsim_term){.name = name,
                                                                .formula = formula,
                                                                .value = value,
                                                                .dimension = dimension,
                                                                .rule = TSIM_TERM_OUTCOME,
                                                                .parts = parts,
                                                                .n_parts = (int32_t)n});
    return amount;
}

/* Returns the term of a figure of the run by the figure's name in the summary, or NULL if none was recorded. */
const struct tsim_term *tsim_recorded_term(const struct tsim_term_recorder *recorder, const char *name);

/* Returns a figure that was computed elsewhere. If its term was not recorded, a leaf says how to see it. */
struct tsim_amount tsim_figure(struct tsim_term_recorder *recorder, const char *name, double value,
                               enum tsim_dimension dimension);

/* Does the same but always returns the leaf, for a figure whose tree is long. */
struct tsim_amount tsim_elsewhere(struct tsim_term_recorder *recorder, const char *name, double value,
                                  enum tsim_dimension dimension);

/* A list of parts that come one by one. Without a recorder only their sum is kept. */
struct tsim_part_list {
    struct tsim_term_recorder *recorder;
    double sum;
    struct tsim_amount *parts; /* owned by the recorder's arena */
    int32_t n, capacity;
};
void tsim_part_keep(struct tsim_part_list *list, struct tsim_amount part);
static inline void tsim_part_add(struct tsim_part_list *list, struct tsim_amount part) {
    list->sum += part.is_inverse ? -part.value : part.value;
    if (list->recorder)
        tsim_part_keep(list, part);
}
static inline struct tsim_amount tsim_sum_of(const struct tsim_part_list *list, const char *name, const char *formula,
                                             enum tsim_dimension dimension) {
    if (!list->recorder)
        return (struct tsim_amount){.value = list->sum};
    return tsim_sum(list->recorder, name, formula, dimension, list->parts, (size_t)list->n);
}
