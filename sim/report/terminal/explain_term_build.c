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
    if (term->n_parts == term->capacity) {
        term->capacity = term->capacity ? 2 * term->capacity : 4;
        struct tsim_term_part *parts = TSIM_NEW_ARRAY(terms->arena, (size_t)term->capacity, struct tsim_term_part);
        for (int32_t i = 0; i < term->n_parts; i++)
            parts[i] = term->parts[i];
        term->parts = parts;
    }
    term->parts[term->n_parts++] = (struct tsim_term_part){.term = part, .factor = factor};
}

double tsim_term_by_rule(const struct tsim_term *term) {
    double value = term->rule == TSIM_TERM_PRODUCT ? 1 : 0;
    for (int32_t i = 0; i < term->n_parts; i++) {
        double part = term->parts[i].term->value, factor = term->parts[i].factor;
        switch (term->rule) {
        case TSIM_TERM_SUM:
            value += factor * part;
            break;
        case TSIM_TERM_PRODUCT:
            value *= factor < 0 ? 1 / part : part;
            break;
        case TSIM_TERM_MAX:
            value = i == 0 ? part : fmax(value, part);
            break;
        case TSIM_TERM_GIVEN:
        case TSIM_TERM_MODEL:
            break;
        }
    }
    return term->rule == TSIM_TERM_GIVEN || term->rule == TSIM_TERM_MODEL ? term->value : value;
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

/* A file that is not of the catalogue has no entries: its values are then the scenario's. */
static const struct tsim_term_entries *entries_of(struct tsim_terms *terms, enum tsim_catalogue_kind kind) {
    struct tsim_term_entries *file = &terms->catalogue[kind];
    struct tsim_diags diags;
    if (file->is_read)
        return file;
    file->is_read = true;
    tsim_diags_init(&diags);
    enum tsim_status status =
        tsim_catalogue_describe(terms->arena, kind, id_of(terms->scenario, kind), &file->entries, &file->n, &diags);
    if (status != TSIM_OK)
        file->n = 0;
    file->is_unreadable = status == TSIM_ERR_IO;
    tsim_diags_release(&diags);
    return file;
}

struct tsim_term *tsim_term_of_file(struct tsim_terms *terms, enum tsim_catalogue_kind kind, const char *key,
                                    double value, enum tsim_dimension dimension) {
    const struct tsim_term_entries *file = entries_of(terms, kind);
    const char *name = tsim_arena_printf(terms->arena, "%s %s", id_of(terms->scenario, kind), key);
    struct tsim_term *term = tsim_term_given(terms, name, value, dimension,
                                             file->is_unreadable ? "a file that could not be read again"
                                                                 : "the scenario, not the catalogue");
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(file->entries[i].key, key) == 0 && fabs(file->entries[i].number - value) <= 1e-12 * fabs(value)) {
            term->status = file->entries[i].status;
            term->source = file->entries[i].source ? file->entries[i].source : "tsim's default";
        }
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
