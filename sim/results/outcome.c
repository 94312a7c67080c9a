#include "results/outcome.h"

#include "results/format.h"
#include "results/verdict.h"

#include <math.h>
#include <string.h>

#define TOKENS 1e12
#define JOULES_PER_KWH 3.6e6

static const struct tsim_outcome_spec SPECS[TSIM_N_OUTCOMES] = {
#define SPEC(NAME, json, column, dimension, goal, value)                                                               \
    [TSIM_OUTCOME_##NAME] = {json, #column, dimension, TSIM_GOAL_##goal},
    TSIM_OUTCOMES(SPEC)};

/* Words of a scenario's `limits` and of everyday speech. */
static const struct {
    const char *name;
    enum tsim_outcome_figure figure;
} OTHER_NAMES[] = {{"time_s", TSIM_OUTCOME_STEP_TIME},
                   {"step_time", TSIM_OUTCOME_STEP_TIME},
                   {"cost", TSIM_OUTCOME_RENT},
                   {"budget", TSIM_OUTCOME_RENT},
                   {"gpus", TSIM_OUTCOME_ACCELERATORS},
                   {"memory", TSIM_OUTCOME_MEMORY_PEAK},
                   {"memory_peak", TSIM_OUTCOME_MEMORY_PEAK},
                   {"energy", TSIM_OUTCOME_STEP_ENERGY},
                   {"power", TSIM_OUTCOME_MEAN_POWER},
                   {"electricity_usd", TSIM_OUTCOME_ELECTRICITY},
                   {"rent_usd", TSIM_OUTCOME_RENT},
                   {"data_s", TSIM_OUTCOME_EXPOSED_DATA},
                   {"optimizer_s", TSIM_OUTCOME_OPTIMIZER},
                   {"bubble", TSIM_OUTCOME_BUBBLE_FRAC},
                   {"data_stall", TSIM_OUTCOME_DATA_STALL_FRAC}};
enum { N_OTHER_NAMES = sizeof OTHER_NAMES / sizeof OTHER_NAMES[0] };

const struct tsim_outcome_spec *tsim_outcome_spec(enum tsim_outcome_figure figure) {
    return &SPECS[figure];
}

/* USD/s for the whole cluster; NAN where no rent is known. */
static double rent_usd_per_trillion_tokens(const struct tsim_result *r) {
    double rent_usd_per_s = r->scenario->cost.rent_usd_per_s * (double)r->scenario->n_accelerators;
    return rent_usd_per_s > 0 ? rent_usd_per_s / r->step.throughput.tokens_per_s * TOKENS : (double)NAN;
}

static double electricity_usd_per_trillion_tokens(const struct tsim_result *r) {
    const struct tsim_energy_spec *energy = &r->scenario->energy;
    return r->step.mean_power_w * energy->pue * energy->price_usd_per_j / r->step.throughput.tokens_per_s * TOKENS;
}

void tsim_outcome_of(const struct tsim_prediction *prediction, struct tsim_outcome *outcome) {
    const struct tsim_result *r = &prediction->result;
    const struct tsim_uncertainty *u = &prediction->uncertainty;
#define CAMPAIGN(member) (r->campaign.has ? r->campaign.member : (double)NAN)
#define FAILING(member) (r->campaign.has_failures ? r->campaign.member : (double)NAN)
#define INTERVAL(member) (u->basis ? u->member : (double)NAN)
#define VALUE(NAME, json, column, dimension, goal, value_)                                                             \
    outcome->value[TSIM_OUTCOME_##NAME] =                                                                              \
        r->step.simulated || TSIM_OUTCOME_##NAME < TSIM_OUTCOME_STEP_TIME ? (double)(value_) : (double)NAN;
    TSIM_OUTCOMES(VALUE)
    outcome->bottleneck = r->step.simulated ? tsim_bottleneck_kind(r) : NULL;
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (isinf(outcome->value[i])) /* tokens of a model that has none: a price for each is no figure */
            outcome->value[i] = (double)NAN;
}

bool tsim_outcomes_are_alike(const struct tsim_outcome *a, const struct tsim_outcome *b) {
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (a->value[i] != b->value[i] && !(isnan(a->value[i]) && isnan(b->value[i])))
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

/* ---- names ---- */

static const char *after_section(const char *name) {
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

const char *tsim_outcome_text(enum tsim_outcome_figure figure, double value, char *buffer, size_t size) {
    enum tsim_dimension dimension = tsim_outcome_spec(figure)->dimension;
    if (isnan(value)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    if (figure == TSIM_OUTCOME_ACCELERATORS)
        return tsim_count_text(value, buffer, size);
    if (figure == TSIM_OUTCOME_ENERGY_KWH)
        return tsim_quantity_human(value * JOULES_PER_KWH, TSIM_JOULES, buffer, size);
    if (figure == TSIM_OUTCOME_MODEL_TFLOPS_PER_GPU || figure == TSIM_OUTCOME_HARDWARE_TFLOPS_PER_GPU)
        return tsim_quantity_human(value * 1e12, TSIM_FLOPS_PER_S, buffer, size);
    if (dimension == TSIM_FRACTION)
        return tsim_percent_text(value, buffer, size);
    if (dimension == TSIM_BYTES)
        return tsim_gigabytes_text(value, buffer, size);
    return tsim_quantity_human(value, dimension, buffer, size);
}

bool tsim_outcome_find(const char *name, enum tsim_outcome_figure *figure, const char **near) {
    const char *names[3 * TSIM_N_OUTCOMES];
    size_t n_names = 0, n_found = 0;
    for (size_t i = 0; i < N_OTHER_NAMES; i++)
        if (strcmp(OTHER_NAMES[i].name, name) == 0) {
            *figure = OTHER_NAMES[i].figure;
            return true;
        }
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++) {
        names[n_names++] = SPECS[i].name;
        names[n_names++] = SPECS[i].column;
        names[n_names++] = after_section(SPECS[i].name);
        if (strcmp(SPECS[i].name, name) == 0 || strcmp(SPECS[i].column, name) == 0) {
            *figure = (enum tsim_outcome_figure)i;
            return true;
        }
    }
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++)
        if (strcmp(after_section(SPECS[i].name), name) == 0) {
            *figure = (enum tsim_outcome_figure)i;
            n_found++;
        }
    *near = n_found == 1 ? NULL : tsim_did_you_mean(name, names, n_names);
    return n_found == 1;
}

/* ---- JSON ---- */

static void add(const struct tsim_outcome *outcome, enum tsim_outcome_figure figure, struct tsim_json *parent) {
    const char *key = after_section(SPECS[figure].name);
    double value = outcome->value[figure];
    if (isnan(value))
        return;
    if (figure == TSIM_OUTCOME_FITS) {
        tsim_json_bool(parent, key, value > 0);
        tsim_json_bool(
            parent, "may_not_fit",
            tsim_may_not_fit(outcome->value[TSIM_OUTCOME_MEMORY_PEAK], outcome->value[TSIM_OUTCOME_MEMORY_CAPACITY]));
    } else if (figure == TSIM_OUTCOME_ACCELERATORS)
        tsim_json_integer(parent, key, (int64_t)value);
    else
        tsim_json_number(parent, key, value);
}

/* All figures of "SECTION.", unless there are none. */
static void add_section(const struct tsim_outcome *outcome, const char *section, struct tsim_json *summary) {
    struct tsim_json *object = NULL;
    size_t length = strlen(section);
    for (size_t i = 0; i < TSIM_N_OUTCOMES; i++) {
        if (strncmp(SPECS[i].name, section, length) != 0 || SPECS[i].name[length] != '.' || isnan(outcome->value[i]))
            continue;
        if (!object)
            object = tsim_json_object(summary, section);
        add(outcome, (enum tsim_outcome_figure)i, object);
    }
}

void tsim_outcome_json(const struct tsim_outcome *outcome, struct tsim_json *summary) {
    static const char *const BEFORE[] = {"step", "communication_exposed", "throughput", "fractions", "memory", "energy",
                                         "model"};
    add(outcome, TSIM_OUTCOME_ACCELERATORS, summary);
    for (size_t i = 0; i < sizeof BEFORE / sizeof BEFORE[0]; i++)
        add_section(outcome, BEFORE[i], summary);
    if (outcome->bottleneck)
        tsim_json_text(tsim_json_object(summary, "bottleneck"), "kind", outcome->bottleneck);
    add_section(outcome, "campaign", summary);
    add_section(outcome, "per_trillion_tokens", summary);
    add_section(outcome, "uncertainty", summary);
}
