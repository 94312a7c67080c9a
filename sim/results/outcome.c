#include "results/outcome.h"

#include "results/format.h"
#include "results/scaling_laws.h"
#include "results/verdict.h"

#include <math.h>
#include <string.h>

#define TOKENS 1e12

/* ---- what the figures are ---- */

/* clang-format off */
#define UNIT(...) (&(const struct tsim_outcome_unit){__VA_ARGS__})
#define SI(word, dimension) UNIT(word, dimension, dimension, 1, TSIM_OUTCOME_NUMBER)
#define PLAIN(word) SI(word, TSIM_COUNT)
#define WHOLE UNIT("", TSIM_COUNT, TSIM_COUNT, 1, TSIM_OUTCOME_WHOLE)
#define YES_NO UNIT("true or false", TSIM_COUNT, TSIM_COUNT, 1, TSIM_OUTCOME_YES_NO)
#define SHARE SI("fraction", TSIM_FRACTION)
#define BYTES SI("B", TSIM_BYTES)
#define SECONDS SI("s", TSIM_TIME_S)
#define FLOP SI("FLOP", TSIM_FLOPS)
#define TFLOP_PER_S UNIT("TFLOP/s", TSIM_COUNT, TSIM_FLOPS_PER_S, 1e12, TSIM_OUTCOME_NUMBER)
#define WATTS SI("W", TSIM_WATTS)
#define JOULES SI("J", TSIM_JOULES)
#define KWH UNIT("kWh", TSIM_COUNT, TSIM_JOULES, TSIM_KWH_J, TSIM_OUTCOME_NUMBER)
#define KG SI("kg", TSIM_KG)
#define USD SI("USD", TSIM_USD)
#define COLUMN_OF(...) (&(const struct tsim_outcome_column){__VA_ARGS__})
#define COLUMN(version, place, name) COLUMN_OF(#name, version, place, true, NULL)
#define POINTS_COLUMN(version, place, name) COLUMN_OF(#name, version, place, false, NULL)
#define NO_COLUMN(why) COLUMN_OF(NULL, 0, -1, true, why)
#define FOLLOWS "only for single runs: it follows from figures that points have"
#define OF_SCENARIO "only for single runs: it is known without a simulation"
#define SPREAD "only for single runs: it is the spread inside one"
#define PART "only for single runs: it is a part of another figure"
#define ONE_RUN "only for single runs: it is computed for one at a time"
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_WORDS WORDS(NULL)
/* clang-format on */

static const struct tsim_outcome_spec SPECS[TSIM_N_OUTCOMES] = {
#define FIGURE(NAME, path, column, unit, goal, words, value, meaning)                                                  \
    [TSIM_OUTCOME_##NAME] = {path, column, unit, TSIM_GOAL_##goal, words, meaning},
#include "results/outcome.def"
};

const struct tsim_outcome_spec *tsim_outcome_spec(enum tsim_outcome_figure figure) {
    return &SPECS[figure];
}

const struct tsim_step_term tsim_step_terms[TSIM_N_STEP_TERMS] = {
#define TERM(FIGURE, word, name, label, cause) {TSIM_OUTCOME_##FIGURE, word, name, label, cause},
#include "results/outcome.def"
};

const struct tsim_step_term *tsim_step_term(enum tsim_outcome_figure figure) {
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++)
        if (tsim_step_terms[i].figure == figure)
            return &tsim_step_terms[i];
    return NULL;
}

void tsim_outcome_columns(enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS]) {
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (SPECS[i].column->name)
            columns[SPECS[i].column->place] = (enum tsim_outcome_figure)i;
}

/* ---- values ---- */

/* USD/s for the whole cluster; NAN if no rent is known. */
static double rent_usd_per_trillion_tokens(const struct tsim_result *r) {
    double rent_usd_per_s = r->scenario->cost.rent_usd_per_s * (double)tsim_all_accelerators(r->scenario);
    double frac = tsim_period_s(r) / r->step.terms.time_s;
    return rent_usd_per_s > 0 ? rent_usd_per_s / r->step.throughput.tokens_per_s * frac * TOKENS : (double)NAN;
}

static double electricity_usd_per_trillion_tokens(const struct tsim_result *r) {
    const struct tsim_energy_spec *energy = &r->scenario->energy;
    double frac = tsim_period_j(r) / r->step.energy_j;
    return r->step.mean_power_w * energy->pue * energy->price_usd_per_j / r->step.throughput.tokens_per_s * frac *
           TOKENS;
}

/* Returns the scaling laws of a result, with NAN for each if they do not apply. */
static struct tsim_scaling_laws scaling_laws_of(const struct tsim_result *r) {
    const double nan = (double)NAN;
    struct tsim_scaling_laws laws = {nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, {NULL}, 0};
    if (tsim_scaling_laws_apply(r))
        tsim_scaling_laws(NULL, r, &laws);
    return laws;
}

/* An infinite value is no figure: a model without tokens has no price of tokens, and what never fails has no time
 * between failures. */
static double finite(double value) {
    return isfinite(value) ? value : (double)NAN;
}

static double positive(double value) {
    return value > 0 ? value : (double)NAN;
}

#define IF(condition, value_) ((condition) ? (double)(value_) : (double)NAN)
#define SIMULATED(value_) IF(r->step.simulated, value_)
#define STEP(member) SIMULATED(r->step.terms.member)
#define VARIATION(member) IF(r->step.variation.has, r->step.variation.member)
#define DRAWS(member) IF(r->step.variation.has && r->step.variation.draws.has, r->step.variation.draws.member)
#define INPUT(member) IF(r->step.input.has, r->step.input.member)
#define EVALUATION(member) IF(r->evaluation.has, r->evaluation.member)
#define POST_TRAINING(member) IF(r->post_training.has, r->post_training.member)
#define SEARCH(member) IF(r->search.has, r->search.member)
#define SERVER(member) IF(r->server.has, r->server.member)
#define GENERATION(member) IF(r->post_training.generation.has, r->post_training.generation.member)
#define CAMPAIGN(member) IF(r->step.simulated && r->campaign.has, r->campaign.member)
#define EARLY(member) IF(r->step.simulated && r->campaign.has && r->early.has, r->early.member)
#define OWNED(member) IF(r->step.simulated && r->campaign.has && r->campaign.own.has, r->campaign.own.member)
#define FAILING(member) IF(r->step.simulated && r->campaign.has && r->campaign.has_failures, r->campaign.member)
#define LOCAL(member) (r->campaign.has_local_tier ? FAILING(member) : (double)NAN)
#define SPOT(member) (r->campaign.is_spot ? FAILING(member) : (double)NAN)
#define POSITIVE(value_) positive(value_)
#define INTERVAL(member) IF(u->basis, u->member)
#define FORECAST(range, percentile) IF(u->basis != NULL && u->has_run, u->range.percentile)

static void fill(const struct tsim_result *r, const struct tsim_uncertainty *u, struct tsim_outcome *outcome) {
    const struct tsim_scaling_laws laws = scaling_laws_of(r);
#define FIGURE(NAME, path, column, unit, goal, words, value_, meaning)                                                 \
    outcome->value[TSIM_OUTCOME_##NAME] = finite((double)(value_));
#include "results/outcome.def"
    outcome->bottleneck = r->step.simulated ? tsim_bottleneck_kind(r) : NULL;
}

void tsim_outcome_of(const struct tsim_prediction *prediction, struct tsim_outcome *outcome) {
    fill(&prediction->result, &prediction->uncertainty, outcome);
}

void tsim_outcome_of_run(const struct tsim_result *result, struct tsim_outcome *outcome) {
    static const struct tsim_uncertainty NONE;
    fill(result, &NONE, outcome);
}

void tsim_outcome_clear(struct tsim_outcome *outcome) {
    outcome->bottleneck = NULL;
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        outcome->value[i] = (double)NAN;
}

void tsim_outcome_complete(struct tsim_outcome *outcome) {
    double *value = outcome->value;
    if (!isnan(value[TSIM_OUTCOME_FITS]))
        value[TSIM_OUTCOME_MAY_NOT_FIT] =
            tsim_may_not_fit(value[TSIM_OUTCOME_MEMORY_PEAK], value[TSIM_OUTCOME_MEMORY_CAPACITY]);
}

bool tsim_outcomes_are_alike(const struct tsim_outcome *a, const struct tsim_outcome *b) {
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (SPECS[i].column->name && a->value[i] != b->value[i] && !(isnan(a->value[i]) && isnan(b->value[i])))
            return false;
    return true;
}

const char *tsim_bottleneck_word(const char *text) {
    static const char *const WORDS[] = {"compute", "memory", "data", "communication", "bubble"};
    for (size_t i = 0; text && i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strcmp(WORDS[i], text) == 0)
            return WORDS[i];
    return NULL;
}

/* ---- for people ---- */

static const char *const TITLES[TSIM_N_OUTCOMES] = {
#define TITLE(FIGURE, title) [TSIM_OUTCOME_##FIGURE] = title,
#include "results/outcome.def"
};

const char *tsim_outcome_name(enum tsim_outcome_figure figure, char *buffer, size_t size) {
    static const char *const UNITS[] = {"_usd", "_bytes", "_w", "_s", "_j", "_kwh", "_kg"};
    const char *path = SPECS[figure].name, *dot = strchr(path, '.');
    if (TITLES[figure]) {
        snprintf(buffer, size, "%s", TITLES[figure]);
        return buffer;
    }
    snprintf(buffer, size, "%s", dot && strncmp(path, "memory.", 7) != 0 ? dot + 1 : path);
    size_t length = strlen(buffer), rate = strlen("_per_s");
    if (length > rate && strcmp(buffer + length - rate, "_per_s") == 0)
        memcpy(buffer + length - rate, "/s", sizeof "/s");
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        size_t n = strlen(UNITS[i]);
        length = strlen(buffer);
        if (length > n && strcmp(buffer + length - n, UNITS[i]) == 0) {
            buffer[length - n] = '\0';
            break;
        }
    }
    for (char *c = buffer; *c; c++)
        *c = *c == '_' || *c == '.' ? ' ' : *c;
    return buffer;
}

const char *tsim_outcome_text(enum tsim_outcome_figure figure, double value, char *buffer, size_t size) {
    const struct tsim_outcome_unit *unit = SPECS[figure].unit;
    if (isnan(value)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    if (unit->kind == TSIM_OUTCOME_WHOLE)
        return tsim_count_text(value, buffer, size);
    if (unit->shown == TSIM_FRACTION)
        return tsim_percent_text(value, buffer, size);
    if (unit->shown == TSIM_BYTES)
        return tsim_gigabytes_text(value, buffer, size);
    return tsim_quantity_human(value * unit->shown_per_unit, unit->shown, buffer, size);
}

static void put_row(const struct tsim_outcome_spec *spec, FILE *out) {
    const char *column = spec->column->name;
    fprintf(out, "| `%s` | %s | %s%s%s |", spec->name, spec->unit->word, column ? "`" : "",
            column ? column : spec->column->why, column ? "`" : "");
    for (size_t k = 0; spec->words[k]; k++)
        fprintf(out, "%s %s", k ? "," : "", spec->words[k]);
    fprintf(out, " | %s |\n", spec->meaning);
}

void tsim_outcome_reference(FILE *out) {
    fputs(
        "\n## Figures of a summary\n\n"
        "Called as in `tsim run --json`; `tsim explain SCENARIO FIGURE` shows what one is made of. A figure with a "
        "column in the\n"
        "database is one of the points of `sweep` and `plan`, too: `--where`, `sweep.limits` and the objective "
        "take "
        "it by\n"
        "its name, its column, the name without its section where that is unique, or one of its words. (`bubble` is a "
        "time to\n"
        "`explain`, which has parts, and the fraction in a condition.)\n\n"
        "| figure | unit | column | words | meaning |\n| --- | --- | --- | --- | --- |\n",
        out);
#define FIGURE(NAME, path, column, unit, goal, words, value, meaning) put_row(&SPECS[TSIM_OUTCOME_##NAME], out);
#define TEXT(path, value, meaning) fprintf(out, "| `%s` | a word | | | %s |\n", path, meaning);
#include "results/outcome.def"
}

/* ---- names ---- */

/* Returns "mfu" for "throughput.mfu", and the whole name if it is in no section. */
static const char *after_section(const char *name) {
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_one_of(const char *const *words, const char *name) {
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

/* Returns whether a point has the figure, or a run's summary. */
static bool is_asked_for(size_t i, bool of_points) {
    return of_points ? SPECS[i].column->name != NULL : SPECS[i].column->is_in_runs;
}

static bool find_name(const char *name, bool of_points, enum tsim_outcome_figure *figure) {
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (is_asked_for(i, of_points) &&
            (strcmp(SPECS[i].name, name) == 0 || (of_points && strcmp(SPECS[i].column->name, name) == 0))) {
            *figure = (enum tsim_outcome_figure)i;
            return true;
        }
    return false;
}

static bool find_word(const char *name, bool of_points, enum tsim_outcome_figure *figure) {
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (is_asked_for(i, of_points) && is_one_of(SPECS[i].words, name)) {
            *figure = (enum tsim_outcome_figure)i;
            return true;
        }
    return false;
}

static bool find_without_section(const char *name, bool of_points, enum tsim_outcome_figure *figure) {
    size_t n_found = 0;
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (is_asked_for(i, of_points) && strcmp(after_section(SPECS[i].name), name) == 0) {
            *figure = (enum tsim_outcome_figure)i;
            n_found++;
        }
    return n_found == 1;
}

bool tsim_outcome_find(const char *name, enum tsim_outcome_figure *figure, const char **near) {
    const char *names[3 * TSIM_N_OUTCOMES];
    size_t n_names = 0;
    *near = NULL;
    if (find_name(name, true, figure) || find_without_section(name, true, figure) || find_word(name, true, figure))
        return true;
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++) {
        if (!SPECS[i].column->name)
            continue;
        names[n_names++] = SPECS[i].name;
        names[n_names++] = SPECS[i].column->name;
        names[n_names++] = after_section(SPECS[i].name);
    }
    *near = tsim_did_you_mean(name, names, n_names);
    return false;
}

const char *tsim_outcome_why_not_of_points(const char *name) {
    enum tsim_outcome_figure figure;
    return tsim_outcome_find_term(name, &figure) ? SPECS[figure].column->why : NULL;
}

/* Finds a part of the step as the table of a run calls it: "exposed tensor traffic". */
static bool find_step_term(const char *name, enum tsim_outcome_figure *figure) {
    for (size_t i = 0; i < TSIM_N_STEP_TERMS; i++)
        if (strcmp(tsim_step_terms[i].name, name) == 0 || strcmp(tsim_step_terms[i].label, name) == 0) {
            *figure = tsim_step_terms[i].figure;
            return true;
        }
    return false;
}

bool tsim_outcome_find_term(const char *name, enum tsim_outcome_figure *figure) {
    return find_name(name, false, figure) || find_word(name, false, figure) ||
           find_without_section(name, false, figure) || find_step_term(name, figure);
}

const char *tsim_outcome_near_term(const char *wrong) {
    const char *names[4 * TSIM_N_OUTCOMES + TSIM_N_STEP_TERMS];
    enum tsim_outcome_figure figure;
    size_t n = 0;
    for (size_t i = 0; i < TSIM_N_STEP_TERMS; i++)
        names[n++] = tsim_step_terms[i].name;
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++) {
        if (!is_asked_for(i, false))
            continue;
        names[n++] = SPECS[i].name;
        if (tsim_outcome_find_term(after_section(SPECS[i].name), &figure))
            names[n++] = after_section(SPECS[i].name);
        for (size_t k = 0; SPECS[i].words[k]; k++)
            names[n++] = SPECS[i].words[k];
    }
    TSIM_ASSERT(n <= sizeof names / sizeof names[0]);
    return tsim_did_you_mean(wrong, names, n);
}

/* ---- JSON ---- */

void tsim_outcome_add(const struct tsim_outcome *outcome, enum tsim_outcome_figure figure, struct tsim_json *summary) {
    double value = outcome->value[figure];
    const char *key;
    if (isnan(value))
        return;
    struct tsim_json *parent = tsim_json_make_path(summary, SPECS[figure].name, &key);
    if (SPECS[figure].unit->kind == TSIM_OUTCOME_YES_NO)
        tsim_json_bool(parent, key, value > 0);
    else if (SPECS[figure].unit->kind == TSIM_OUTCOME_WHOLE)
        tsim_json_integer(parent, key, (int64_t)value);
    else
        tsim_json_number(parent, key, value);
}

static void add_of_point(const struct tsim_outcome *outcome, enum tsim_outcome_figure figure,
                         struct tsim_json *summary) {
    if (SPECS[figure].column->name || figure == TSIM_OUTCOME_MAY_NOT_FIT)
        tsim_outcome_add(outcome, figure, summary);
}

static void add_text_of_point(const struct tsim_outcome *outcome, const char *path, struct tsim_json *summary) {
    if (strcmp(path, "bottleneck.kind") == 0)
        tsim_json_put_text(summary, path, outcome->bottleneck);
}

void tsim_outcome_json(const struct tsim_outcome *outcome, struct tsim_json *summary) {
#define FIGURE(NAME, path, column, unit, goal, words, value, meaning)                                                  \
    add_of_point(outcome, TSIM_OUTCOME_##NAME, summary);
#define TEXT(path, value, meaning) add_text_of_point(outcome, path, summary);
#include "results/outcome.def"
}
