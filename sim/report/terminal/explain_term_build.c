#include "report/terminal/explain_term_build.h"

#include <math.h>
#include <string.h>

/* Sums and products of doubles, over at most some hundred parts. */
#define RULE_TOLERANCE 1e-9

struct tsim_term *tsim_term_new(struct tsim_terms *terms, enum tsim_term_rule rule, const char *name,
                                const char *formula, double value, enum tsim_dimension dimension) {
    struct tsim_term *term = TSIM_NEW(terms->arena, struct tsim_term);
    *term = (struct tsim_term){.name = name, .formula = formula, .value = value, .dimension = dimension, .rule = rule};
    return term;
}

void tsim_term_add(struct tsim_terms *terms, struct tsim_term *term, const struct tsim_term *part, double factor) {
    struct tsim_amount *parts = TSIM_NEW_ARRAY(terms->arena, (size_t)term->n_parts + 1, struct tsim_amount);
    for (int32_t i = 0; i < term->n_parts; i++)
        parts[i] = term->parts[i];
    parts[term->n_parts++] = (struct tsim_amount){.value = part->value, .term = part, .is_inverse = factor < 0};
    term->parts = parts;
}

const struct tsim_term *tsim_term_close(struct tsim_terms *terms, struct tsim_term *term, const char *rest) {
    double by_rule = tsim_term_by_rule(term);
    if (isnan(term->value))
        term->value = by_rule;
    double missing = term->value - by_rule;
    if (term->rule == TSIM_TERM_SUM && rest && fabs(missing) > RULE_TOLERANCE * fabs(term->value))
        tsim_term_add(terms, term, tsim_term_given(terms, rest, missing, term->dimension, "what is left of the whole"),
                      1);
    return term;
}

const struct tsim_term *tsim_term_close_kinds(struct tsim_terms *terms, struct tsim_term *sum, const char *const *names,
                                              size_t n,
                                              const struct tsim_term *(*of)(struct tsim_terms *, const char *)) {
    for (size_t i = 0; i < n; i++) {
        const struct tsim_term *kind = of(terms, names[i]);
        if (kind->value > 0)
            tsim_term_add(terms, sum, kind, 1);
    }
    return tsim_term_close(terms, sum, NULL);
}

struct tsim_term *tsim_term_given(struct tsim_terms *terms, const char *name, double value,
                                  enum tsim_dimension dimension, const char *source) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_GIVEN, name, NULL, value, dimension);
    term->source = source;
    return term;
}

static const char *id_of(const struct tsim_scenario *sc, enum tsim_catalogue_kind kind) {
    switch (kind) {
    case TSIM_CATALOGUE_MODELS:
        return sc->model->name;
    case TSIM_CATALOGUE_ACCELERATORS:
        return sc->cluster.node->accelerator->name;
    case TSIM_CATALOGUE_NODES:
        return sc->cluster.node->name;
    case TSIM_CATALOGUE_FABRICS:
        return sc->cluster.fabric->name;
    case TSIM_CATALOGUE_SOFTWARE:
        return sc->software->name;
    case TSIM_CATALOGUE_REGIONS:
        return sc->energy.region ? sc->energy.region->name : "";
    case TSIM_CATALOGUE_STORAGE:
        return sc->data.has ? sc->data.storage->name : "";
    case TSIM_CATALOGUE_SCENARIOS:
    case TSIM_N_CATALOGUE_KINDS:
        break;
    }
    TSIM_BUG("catalogue kind %d", (int)kind);
}

struct tsim_term *tsim_term_of_file(struct tsim_terms *terms, enum tsim_catalogue_kind kind, const char *key,
                                    double value, enum tsim_dimension dimension) {
    struct tsim_term *term = TSIM_NEW(terms->arena, struct tsim_term);
    *term = *tsim_of_file(&terms->recorder, kind, id_of(terms->scenario, kind), key, value, dimension).term;
    return term;
}

struct tsim_term *tsim_term_of_scenario(struct tsim_terms *terms, const char *key, double value,
                                        enum tsim_dimension dimension) {
    return tsim_term_given(terms, key, value, dimension, "the scenario");
}

static const struct tsim_term *pair(struct tsim_terms *terms, const char *name, const char *formula,
                                    enum tsim_dimension dimension, const struct tsim_term *a, const struct tsim_term *b,
                                    double factor) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, name, formula, (double)NAN, dimension);
    tsim_term_add(terms, term, a, 1);
    tsim_term_add(terms, term, b, factor);
    return tsim_term_close(terms, term, NULL);
}

const struct tsim_term *tsim_term_times(struct tsim_terms *terms, const char *name, const char *formula,
                                        enum tsim_dimension dimension, const struct tsim_term *a,
                                        const struct tsim_term *b) {
    return pair(terms, name, formula, dimension, a, b, 1);
}

const struct tsim_term *tsim_term_over(struct tsim_terms *terms, const char *name, const char *formula,
                                       enum tsim_dimension dimension, const struct tsim_term *a,
                                       const struct tsim_term *b) {
    return pair(terms, name, formula, dimension, a, b, -1);
}
