#include "report/terminal/plan_output.h"

#include "base/version.h"
#include "model/model.h"
#include "results/format.h"
#include "results/store_points.h"
#include "results/verdict.h"
#include "study/search/plan.h"

#include <math.h>
#include <string.h>

enum { MOST_TERMS = 3 };
#define LEAST_TERM_FRAC 0.002 /* a term that is a smaller part of the step is no reason */

#define TRILLION 1e12
#define JOULES_PER_MWH 3.6e9

/* Returns whether the model counts samples; a search is for one model. */
static bool is_of_samples(const struct tsim_plan *plan) {
    return tsim_model_is_of_samples(plan->candidate->job->model);
}

enum tsim_outcome_figure tsim_plan_objective(const struct tsim_plan_output *output) {
    enum tsim_outcome_figure objective = output->search->ranking.objective;
    bool of_samples = tsim_model_is_of_samples(output->search->space->candidates[0].job->model);
    return objective == TSIM_OUTCOME_TOKENS_PER_S && of_samples ? TSIM_OUTCOME_SAMPLES_PER_S : objective;
}

static double figure(const struct tsim_plan *plan, enum tsim_outcome_figure which) {
    return plan->point.outcome.value[which];
}

/* ---- why a plan loses ---- */

struct term {
    const char *word, *cause; /* for programs, and in a sentence */
    double excess_s;
};

/* The parts of a round of post-training beside its steps. */
static const struct {
    enum tsim_outcome_figure figure;
    const char *word, *cause;
} ROUND_PARTS[] = {{TSIM_OUTCOME_GENERATION_TIME, "generation", "generation"},
                   {TSIM_OUTCOME_SCORING_TIME, "scoring", "scoring"},
                   {TSIM_OUTCOME_TRANSFER_TIME, "transfer", "the transfer of the weights"},
                   {TSIM_OUTCOME_COPIES_TIME, "copies", "copies to the host and back"}};
enum { N_ROUND_PARTS = sizeof ROUND_PARTS / sizeof ROUND_PARTS[0], MOST_PARTS = TSIM_N_STEP_TERMS + N_ROUND_PARTS };

static bool has_rounds(const struct tsim_plan *plan) {
    return tsim_has_rounds(plan->candidate->job);
}

/* Returns the time of a step, or of its part of a round. */
static double period_s(const struct tsim_plan *plan) {
    return has_rounds(plan)
               ? figure(plan, TSIM_OUTCOME_POST_TRAINING_TIME) / figure(plan, TSIM_OUTCOME_POST_TRAINING_STEPS)
               : figure(plan, TSIM_OUTCOME_STEP_TIME);
}

/* Steps of all models that are trained, in such a period: 2 with a critic. */
static double steps_of_period(const struct tsim_plan *plan) {
    return has_rounds(plan) ? figure(plan, TSIM_OUTCOME_TRAINING_TIME) /
                                  figure(plan, TSIM_OUTCOME_POST_TRAINING_STEPS) / figure(plan, TSIM_OUTCOME_STEP_TIME)
                            : 1;
}

static void insert(struct term *terms, size_t *n, struct term term) {
    size_t at = (*n)++;
    for (; at > 0 && fabs(terms[at - 1].excess_s) < fabs(term.excess_s); at--)
        terms[at] = terms[at - 1];
    terms[at] = term;
}

/* Returns the terms of the period against the best plan's, for the same number of tokens; the largest difference
 * first. */
static size_t find_terms(const struct tsim_plan *best, const struct tsim_plan *plan, struct term terms[MOST_PARTS]) {
    size_t n = 0;
    double scale = period_s(best) / best->price.time_s * plan->price.time_s / period_s(plan);
    double steps = steps_of_period(plan), best_steps = steps_of_period(best);
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++) {
        const struct tsim_step_term *which = &tsim_step_terms[i];
        insert(terms, &n,
               (struct term){which->word, which->cause,
                             scale * steps * figure(plan, which->figure) - best_steps * figure(best, which->figure)});
    }
    for (size_t i = 0; i < N_ROUND_PARTS && has_rounds(plan); i++) {
        enum tsim_outcome_figure part = ROUND_PARTS[i].figure;
        double excess_s = scale * figure(plan, part) / figure(plan, TSIM_OUTCOME_POST_TRAINING_STEPS) -
                          figure(best, part) / figure(best, TSIM_OUTCOME_POST_TRAINING_STEPS);
        if (!isnan(excess_s))
            insert(terms, &n, (struct term){ROUND_PARTS[i].word, ROUND_PARTS[i].cause, excess_s});
    }
    return n;
}

static void print_loss(const struct tsim_plan *best, const struct tsim_plan *plan, size_t number,
                       const struct tsim_style *style, FILE *out) {
    struct term terms[MOST_PARTS];
    char line[640], number_text[48];
    if (tsim_outcomes_are_alike(&best->point.outcome, &plan->point.outcome)) {
        snprintf(line, sizeof line, "tsim cannot tell %zu from 1: everything that it knows of the two is the same",
                 number + 1);
        fputs("  ", out);
        tsim_text_wrap(out, style, 4, line);
        return;
    }
    double excess_frac = plan->price.time_s / best->price.time_s - 1, step_s = period_s(best);
    size_t n = find_terms(best, plan, terms), n_said = 0;
    int length = snprintf(line, sizeof line, "%zu takes %s %s time:", number + 1,
                          tsim_percent_text(fabs(excess_frac), number_text, sizeof number_text),
                          excess_frac < 0 ? "less" : "more");
    for (size_t i = 0; i < n && n_said < MOST_TERMS && length > 0 && (size_t)length < sizeof line; i++) {
        if (fabs(terms[i].excess_s) < LEAST_TERM_FRAC * step_s)
            break;
        length += snprintf(line + length, sizeof line - (size_t)length, "%s %s%s of %s", n_said++ ? "," : "",
                           terms[i].excess_s > 0 ? "+" : "-",
                           tsim_quantity_human(fabs(terms[i].excess_s), TSIM_TIME_S, number_text, sizeof number_text),
                           terms[i].cause);
    }
    if (n_said == 0 && length > 0 && (size_t)length < sizeof line)
        snprintf(line + length, sizeof line - (size_t)length, " all terms are nearly the same");
    fputs("  ", out);
    tsim_text_wrap(out, style, 4, line);
}

/* ---- tables ---- */

static void add(struct tsim_text_table *table, const char *format, int64_t value) {
    char text[96];
    snprintf(text, sizeof text, format, (long long)value);
    tsim_text_table_add(table, text);
}

/* Tells whether the run has failures: then plans differ in what they lose, too. */
static bool has_failures(const struct tsim_plan *plan) {
    return plan->candidate->job->reliability.has && !isnan(figure(plan, TSIM_OUTCOME_GOODPUT));
}

static bool any_may_not_fit(const struct tsim_plan *plans, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (plans[i].may_not_fit)
            return true;
    return false;
}

/* "77.10 GB?" if the plan may not fit; in a table with such a plan a blank keeps the others in line. */
static const char *memory_text(const struct tsim_plan *plan, bool is_marked, char *buffer, size_t size) {
    char bytes[48];
    snprintf(buffer, size, "%s%s", tsim_gigabytes_text(figure(plan, TSIM_OUTCOME_MEMORY_PEAK), bytes, sizeof bytes),
             !is_marked          ? ""
             : plan->may_not_fit ? "?"
                                 : " ");
    return buffer;
}

static int64_t data_of(const struct tsim_plan *plan) {
    return tsim_plan_data(plan->candidate->job, &plan->choice);
}

static const char *const OFFLOADED[] = {[TSIM_PLAN_OFFLOADS_OPTIMIZER] = "opt",
                                        [TSIM_PLAN_OFFLOADS_ACTIVATIONS] = "act",
                                        [TSIM_PLAN_OFFLOADS_OPTIMIZER | TSIM_PLAN_OFFLOADS_ACTIVATIONS] = "opt-act"};

const char *tsim_plan_text(struct tsim_arena *arena, const struct tsim_plan *plan) {
    const int64_t *value = plan->choice.value;
    const char *text = tsim_arena_printf(arena, "tp%lld pp%lld", (long long)value[TSIM_PLAN_TENSOR],
                                         (long long)value[TSIM_PLAN_PIPELINE]);
    if (value[TSIM_PLAN_VIRTUAL] > 1)
        text = tsim_arena_printf(arena, "%sx%lld", text, (long long)value[TSIM_PLAN_VIRTUAL]);
    if (value[TSIM_PLAN_CONTEXT] > 1)
        text = tsim_arena_printf(arena, "%s cp%lld", text, (long long)value[TSIM_PLAN_CONTEXT]);
    if (value[TSIM_PLAN_EXPERT] > 1)
        text = tsim_arena_printf(arena, "%s ep%lld", text, (long long)value[TSIM_PLAN_EXPERT]);
    if (value[TSIM_PLAN_EXPERT_TENSOR] > 0)
        text = tsim_arena_printf(arena, "%s etp%lld", text, (long long)value[TSIM_PLAN_EXPERT_TENSOR]);
    text = tsim_arena_printf(arena, "%s dp%lld zero%lld", text, (long long)data_of(plan),
                             (long long)value[TSIM_PLAN_ZERO]);
    if (value[TSIM_PLAN_PIPELINE] > 1 && value[TSIM_PLAN_SCHEDULE] != TSIM_SCHEDULE_1F1B &&
        value[TSIM_PLAN_SCHEDULE] != TSIM_SCHEDULE_INTERLEAVED)
        text = tsim_arena_printf(arena, "%s %s", text,
                                 tsim_plan_key_text(arena, TSIM_PLAN_SCHEDULE, value[TSIM_PLAN_SCHEDULE]));
    if (value[TSIM_PLAN_RECOMPUTE] != TSIM_RECOMPUTE_NONE)
        text = tsim_arena_printf(arena, "%s %s", text,
                                 tsim_plan_key_text(arena, TSIM_PLAN_RECOMPUTE, value[TSIM_PLAN_RECOMPUTE]));
    if (value[TSIM_PLAN_TENSOR] > 1 && !value[TSIM_PLAN_SEQUENCE])
        text = tsim_arena_printf(arena, "%s no-sp", text);
    if (value[TSIM_PLAN_OVERLAP])
        text = tsim_arena_printf(arena, "%s +overlap", text);
    if (value[TSIM_PLAN_LAYERS])
        text = tsim_arena_printf(arena, "%s balanced", text);
    if (value[TSIM_PLAN_ORDER])
        text = tsim_arena_printf(arena, "%s pp-inside", text);
    return value[TSIM_PLAN_OFFLOAD] ? tsim_arena_printf(arena, "%s off-%s", text, OFFLOADED[value[TSIM_PLAN_OFFLOAD]])
                                    : text;
}

static const char LEGEND[] =
    "tp: tensor ranks; pp: stages (x chunks of each); cp: context ranks; ep: expert ranks; dp: replicas; zero: stage "
    "of ZeRO; micro-batch: in samples; similar: measured runs like the plan. A plan also names its schedule unless it "
    "is 1f1b (interleaved with chunks), and what it recomputes. no-sp: without sequence parallelism; balanced: stages "
    "of unequal length";

/* Returns the keys that few plans have are told of those that have them. */
static const char *legend(struct tsim_arena *arena, const struct tsim_plan_result *result) {
    static const struct {
        enum tsim_plan_key key;
        const char *text;
    } RARE[] = {{TSIM_PLAN_EXPERT_TENSOR, "etp: tensor ranks of an expert"},
                {TSIM_PLAN_OVERLAP, "+overlap: hides more than the scenario says, as the settings of the plan name it"},
                {TSIM_PLAN_ORDER, "pp-inside: stages next to each other, inside the replicas"},
                {TSIM_PLAN_OFFLOAD, "off-opt, off-act: optimizer, activations in the host's memory"}};
    const char *text = LEGEND;
    for (size_t r = 0; r < sizeof RARE / sizeof RARE[0]; r++) {
        bool has = false;
        for (size_t i = 0; i < result->n_best; i++)
            has |= result->best[i].choice.value[RARE[r].key] > 0;
        for (size_t i = 0; i < result->n_front; i++)
            has |= result->front[i].choice.value[RARE[r].key] > 0;
        for (size_t i = 0; i < result->n_own; i++)
            has |= result->own[i].choice.value[RARE[r].key] > 0;
        if (has)
            text = tsim_arena_printf(arena, "%s; %s", text, RARE[r].text);
    }
    return tsim_arena_printf(arena, "%s.", text);
}

static bool is_choice(const struct tsim_plan_output *output) {
    return output->search->space->n_candidates > 1;
}

static void add_cluster(struct tsim_arena *arena, struct tsim_text_table *table, const struct tsim_plan_output *output,
                        const struct tsim_plan *plan) {
    if (is_choice(output))
        tsim_text_table_add(table, tsim_plan_cluster_name(arena, output->search->space, plan->candidate));
}

static void print_plans(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_plan *plans,
                        size_t n, const struct tsim_style *style, FILE *out) {
    struct tsim_text_table table;
    struct tsim_column columns[8] = {{"", true}};
    bool of_rounds = has_rounds(&plans[0]);
    bool is_marked = any_may_not_fit(plans, n);
    size_t n_columns = 1;
    char text[96];
    if (is_choice(output))
        columns[n_columns++] = (struct tsim_column){"cluster", false};
    columns[n_columns++] = (struct tsim_column){"plan", false};
    columns[n_columns++] = (struct tsim_column){"micro-batch", true};
    columns[n_columns++] = (struct tsim_column){"memory", true};
    columns[n_columns++] = (struct tsim_column){"step", true};
    columns[n_columns++] = (struct tsim_column){"90 %", true};
    if (of_rounds)
        columns[n_columns++] = (struct tsim_column){"round", true};
    tsim_text_table_init(&table, arena, columns, n_columns);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_plan *plan = &plans[i];
        add(&table, "%lld", (int64_t)i + 1);
        add_cluster(arena, &table, output, plan);
        tsim_text_table_add(&table, tsim_plan_text(arena, plan));
        add(&table, "%lld", plan->choice.value[TSIM_PLAN_MICRO_BATCH]);
        tsim_text_table_add(&table, memory_text(plan, is_marked, text, sizeof text));
        tsim_text_table_add(&table,
                            tsim_quantity_human(figure(plan, TSIM_OUTCOME_STEP_TIME), TSIM_TIME_S, text, sizeof text));
        tsim_text_table_add(&table, tsim_interval_text(figure(plan, TSIM_OUTCOME_STEP_LOW),
                                                       figure(plan, TSIM_OUTCOME_STEP_HIGH), text, sizeof text));
        if (of_rounds)
            tsim_text_table_add(&table, tsim_quantity_human(figure(plan, TSIM_OUTCOME_POST_TRAINING_TIME), TSIM_TIME_S,
                                                            text, sizeof text));
    }
    tsim_text_table_print(&table, style, out);
}

/* ---- what plans cost ---- */

static const char *money_text(double usd, char *buffer, size_t size) {
    return usd > 0 ? tsim_quantity_human(usd, TSIM_USD, buffer, size) : "-";
}

static const char *days_text(double days, char *buffer, size_t size) {
    snprintf(buffer, size, days >= 100 ? "%.0f" : days >= 10 ? "%.1f" : days >= 1 ? "%.2f" : "%.3g", days);
    return buffer;
}

static const char *megawatt_hours_text(double joules, char *buffer, size_t size) {
    return tsim_rate_text(joules / JOULES_PER_MWH, buffer, size);
}

/* A run with a length has days of its own, which include failures and the step's interval. */
static bool has_run(const struct tsim_plan *plan) {
    return !isnan(figure(plan, TSIM_OUTCOME_DAYS));
}

static void add_run_price(struct tsim_text_table *table, const struct tsim_plan *plan, bool with_failures) {
    char text[96], low[48], high[48];
    const struct tsim_percentiles *days = &plan->days, *usd = &plan->cost_usd;
    double own_days = figure(plan, TSIM_OUTCOME_DAYS), rent = figure(plan, TSIM_OUTCOME_RENT),
           mwh = figure(plan, TSIM_OUTCOME_ENERGY_KWH) / 1e3;
    if (isnan(days->p10)) { /* nothing is known of how wrong they are */
        tsim_text_table_add(table, days_text(own_days, text, sizeof text));
        tsim_text_table_add(table, "-");
    } else {
        tsim_text_table_add(table, tsim_supported_days_text(days, own_days, "", text, sizeof text));
        tsim_supported_days_text(days, days->p10, "", low, sizeof low);
        tsim_supported_days_text(days, days->p90, "", high, sizeof high);
        snprintf(text, sizeof text, "%.*s-%s", (int)strcspn(low, " "), low, high);
        tsim_text_table_add(table, text);
    }
    tsim_text_table_add(table, isnan(usd->p10) || isnan(rent)
                                   ? money_text(rent, text, sizeof text)
                                   : tsim_supported_text(usd, rent, "USD", text, sizeof text));
    tsim_text_table_add(table, tsim_supported_range_text(usd, "USD", text, sizeof text));
    const struct tsim_percentiles energy = {mwh * days->p10 / days->p50, mwh, mwh * days->p90 / days->p50};
    tsim_text_table_add(table, isnan(days->p10) || isnan(mwh)
                                   ? megawatt_hours_text(mwh * 1e3 * TSIM_KWH_J, text, sizeof text)
                                   : tsim_supported_number(&energy, mwh, text, sizeof text));
    if (!with_failures)
        return;
    double interval_s = figure(plan, TSIM_OUTCOME_CHECKPOINT_INTERVAL);
    add(table, "%lld", (int64_t)figure(plan, TSIM_OUTCOME_SPARES));
    tsim_text_table_add(table,
                        isnan(interval_s) ? "-" : tsim_quantity_human(interval_s, TSIM_TIME_S, text, sizeof text));
}

/* Adds the price per million million tokens, or samples. */
static void add_trillion_price(struct tsim_text_table *table, const struct tsim_plan *plan) {
    double each = is_of_samples(plan) ? (double)plan->candidate->job->training.sequence_length : 1;
    char text[96];
    tsim_text_table_add(table, tsim_rate_text(plan->price.time_s * each * TRILLION / TSIM_DAY_S, text, sizeof text));
    tsim_text_table_add(table, money_text(plan->price.cost_usd * each * TRILLION, text, sizeof text));
    tsim_text_table_add(table, megawatt_hours_text(plan->price.energy_j * each * TRILLION, text, sizeof text));
}

/* Prints whether the limits on days and rent are still kept when the step takes as long as the end of its interval. */
static void print_risks(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_plan *plan,
                        size_t number, const struct tsim_style *style, FILE *out) {
    const struct tsim_ranking *ranking = &output->search->ranking;
    char most[96], allowed[96];
    for (size_t i = 0; i < ranking->n_limits; i++) {
        const struct tsim_limit *limit = &ranking->limits[i];
        bool of_run = limit->figure == TSIM_OUTCOME_DAYS || limit->figure == TSIM_OUTCOME_RENT;
        double value = limit->figure == TSIM_OUTCOME_DAYS ? plan->days.p90 : plan->cost_usd.p90;
        if (!of_run || !(value > limit->value))
            continue;
        enum tsim_dimension dimension = tsim_outcome_spec(limit->figure)->unit->dimension;
        fputs("  ", out);
        tsim_text_wrap(out, style, 4,
                       tsim_arena_printf(arena, "%zu can miss the limit: %s above %s in one case of ten, %s allowed",
                                         number + 1, limit->figure == TSIM_OUTCOME_DAYS ? "days" : "rent",
                                         tsim_quantity_human(value, dimension, most, sizeof most),
                                         tsim_quantity_human(limit->value, dimension, allowed, sizeof allowed)));
    }
}

/* Returns whether failures are shown, for which names of clusters leave no room on a line. */
static bool shows_failures(const struct tsim_plan_output *output, const struct tsim_plan *plan) {
    return has_failures(plan) && !is_choice(output);
}

/* Returns the columns of what plans reach, how many measured runs say so, and what they cost. */
static size_t price_columns(const struct tsim_plan_output *output, const struct tsim_plan *plan,
                            struct tsim_column columns[12]) {
    bool of_samples = is_of_samples(plan);
    size_t n = 0;
    columns[n++] = (struct tsim_column){"", true};
    if (is_choice(output))
        columns[n++] = (struct tsim_column){"cluster", false};
    columns[n++] = (struct tsim_column){"MFU", true};
    columns[n++] = (struct tsim_column){of_samples ? "samples/s" : "tokens/s", true};
    columns[n++] = (struct tsim_column){"similar", true};
    if (!has_run(plan)) {
        columns[n++] = (struct tsim_column){of_samples ? "days/T samples" : "days/T tokens", true};
        columns[n++] = (struct tsim_column){of_samples ? "rent/T samples" : "rent/T tokens", true};
        columns[n++] = (struct tsim_column){of_samples ? "MWh/T samples" : "MWh/T tokens", true};
        return n;
    }
    columns[n++] = (struct tsim_column){"days", true};
    columns[n++] = (struct tsim_column){"likely", true};
    columns[n++] = (struct tsim_column){"rent", true};
    columns[n++] = (struct tsim_column){"likely", true};
    columns[n++] = (struct tsim_column){"MWh", true};
    if (shows_failures(output, plan)) {
        columns[n++] = (struct tsim_column){"spares", true};
        columns[n++] = (struct tsim_column){"saves each", true};
    }
    return n;
}

static void print_prices(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_plan *plans,
                         size_t n, const struct tsim_style *style, FILE *out) {
    struct tsim_text_table table;
    struct tsim_column columns[12];
    char text[96];
    if (n == 0)
        return;
    tsim_text_table_init(&table, arena, columns, price_columns(output, &plans[0], columns));
    for (size_t i = 0; i < n; i++) {
        const struct tsim_plan *plan = &plans[i];
        enum tsim_outcome_figure rate = is_of_samples(plan) ? TSIM_OUTCOME_SAMPLES_PER_S : TSIM_OUTCOME_TOKENS_PER_S;
        add(&table, "%lld", (int64_t)i + 1);
        add_cluster(arena, &table, output, plan);
        tsim_text_table_add(&table, tsim_percent_text(figure(plan, TSIM_OUTCOME_MFU), text, sizeof text));
        tsim_text_table_add(&table, tsim_rate_text(figure(plan, rate), text, sizeof text));
        if (plan->n_similar_runs < 0)
            tsim_text_table_add(&table, "-");
        else
            add(&table, plan->n_similar_runs == 0 ? "none" : "%lld", plan->n_similar_runs);
        if (has_run(&plans[0]))
            add_run_price(&table, plan, shows_failures(output, &plans[0]));
        else
            add_trillion_price(&table, plan);
    }
    tsim_text_table_print(&table, style, out);
    for (size_t i = 0; i < n && has_run(&plans[0]); i++)
        print_risks(arena, output, &plans[i], i, style, out);
}

/* Prints what hardly any of the measured runs can judge, or none, and what therefore widens the interval. */
static void print_evidence(struct tsim_arena *arena, const struct tsim_plan *plans, size_t n,
                           const struct tsim_style *style, FILE *out) {
    for (size_t i = 0; i < n; i++) {
        bool is_said = !plans[i].unknown;
        for (size_t before = 0; before < i && !is_said; before++)
            is_said = plans[before].unknown && strcmp(plans[before].unknown, plans[i].unknown) == 0;
        if (is_said)
            continue;
        fputs("  ", out);
        tsim_text_wrap(out, style, 4,
                       tsim_arena_printf(arena, "what widens the 90 %% of %s: %s",
                                         plans[i].candidate->job->cluster.node->accelerator->name, plans[i].unknown));
    }
}

/* ---- below and above the tables ---- */

static void print_gaps(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_style *style,
                       FILE *out) {
    const struct tsim_plan_result *result = output->result;
    for (size_t i = 0; i < result->n_gaps; i++) {
        fputs("  ", out);
        tsim_text_wrap(out, style, 4, tsim_plan_gap_text(arena, output, &result->gaps[i]));
    }
}

/* Says what an interrupt left undone. */
static void print_interrupt(struct tsim_arena *arena, const struct tsim_plan_result *result,
                            const struct tsim_style *style, FILE *out) {
    char seen[96], all[96], clusters[96];
    if (!result->is_interrupted)
        return;
    const char *unlisted =
        result->n_unlisted == 0
            ? ""
            : tsim_arena_printf(arena, ", and %s clusters have more, which were not counted",
                                tsim_count_text((double)result->n_unlisted, clusters, sizeof clusters));
    double n_all = (double)(result->n_plans + result->n_unbounded), n_seen = n_all - (double)result->n_unseen;
    const char *what = result->n_unseen == 0 ? "all plans were decided on, and not all that is shown was run in full"
                       : result->n_best == 0 ? "no simulation had ended; more time finds plans"
                                             : "there may be better ones among the others";
    tsim_text_wrap(out, style, 0,
                   tsim_arena_printf(arena, "interrupted: %s of %s plans (%.3g %%) were decided on%s; %s",
                                     tsim_count_text(n_seen, seen, sizeof seen),
                                     tsim_count_text(n_all, all, sizeof all), n_all > 0 ? 100 * n_seen / n_all : 0,
                                     unlisted, what));
}

static void print_counts(const struct tsim_plan_result *result, FILE *out) {
    char plans[96], large[96], run[96], pruned[96];
    int64_t n_valid = result->n_plans - result->n_invalid - result->n_unplayed;
    fprintf(out, "%s plans: %s do not fit in memory, %s simulated, %s excluded by bounds\n",
            tsim_count_text((double)n_valid, plans, sizeof plans),
            tsim_count_text((double)result->n_too_large, large, sizeof large),
            tsim_count_text((double)result->n_evaluated, run, sizeof run),
            tsim_count_text((double)result->n_pruned, pruned, sizeof pruned));
    if (result->n_unplayed > 0)
        fprintf(out,
                "%s more are left out: their groups meet on links that detail: passes does not play (tsim check)\n",
                tsim_count_text((double)result->n_unplayed, plans, sizeof plans));
}

/* Returns a setting as a word for a shell: 'cost.rent=4.20 USD/h'. A text of plain characters needs no quotes of its
 * own. */
static const char *set_word(struct tsim_arena *arena, const struct tsim_json *set, const char *key) {
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+% ";
    const char *value = tsim_json_value_text(arena, tsim_json_find(set, key));
    size_t length = strlen(value);
    if (length > 2 && value[0] == '"' && strspn(value + 1, PLAIN) == length - 2)
        value = tsim_arena_printf(arena, "%.*s", (int)length - 2, value + 1);
    const char *quote = strspn(value, PLAIN) == strlen(value) && !strchr(value, ' ') ? "" : "'";
    for (const char *at; (at = strchr(value, '\''));) /* ends the word for a shell: \u0027 is the same in JSON */
        value = tsim_arena_printf(arena, "%.*s\\u0027%s", (int)(at - value), value, at + 1);
    return tsim_arena_printf(arena, "--set %s%s=%s%s", quote, key, value, quote);
}

void tsim_plan_print_settings(struct tsim_arena *arena, const char *set_json, const struct tsim_style *style,
                              FILE *out) {
    struct tsim_json *set = tsim_json_new_parsed(set_json);
    int at = 1;
    fputc(' ', out);
    for (size_t i = 0; i < tsim_json_count(set); i++) {
        const char *word = set_word(arena, set, tsim_json_key(set, i));
        int width = tsim_text_width(word);
        if (style->table_width > 0 && i > 0 && at + width + 3 > style->width)
            at = fputs(" \\\n ", out) < 0 ? 0 : 1;
        fprintf(out, " %s", word);
        at += 1 + width;
    }
    fputc('\n', out);
    tsim_json_release(set);
}

/* Says what the question marks mean. */
static void print_doubt(const struct tsim_plan_output *output, const struct tsim_style *style, FILE *out) {
    const struct tsim_plan_result *result = output->result;
    char line[160];
    if (!any_may_not_fit(result->best, result->n_best) && !any_may_not_fit(result->own, result->n_own) &&
        !any_may_not_fit(result->front, result->n_front))
        return;
    snprintf(line, sizeof line, "? may not fit: one in ten measured peaks was %.0f %% or more above the predicted one",
             100 * (TSIM_NINE_IN_TEN_PEAKS - 1));
    fputc('\n', out);
    tsim_text_wrap(out, style, 2, line);
}

/* Prints the keys that have several values to choose from. */
static void print_space(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_style *style,
                        FILE *out) {
    static const char *const NAMES[TSIM_N_PLAN_KEYS] = {"tensor",
                                                        "stages",
                                                        "chunks",
                                                        "context",
                                                        "experts",
                                                        "tensor ranks of experts",
                                                        "ZeRO",
                                                        "micro-batch",
                                                        "schedule",
                                                        "sequence",
                                                        "overlap",
                                                        "recomputation",
                                                        "balanced stages",
                                                        "stages inside replicas",
                                                        "offload"};
    const struct tsim_plan_space *space = output->search->space;
    const struct tsim_software *software = space->candidates[0].job->software;
    const char *text = "searched: ", *of = "", *servers = "";
    size_t n = 0;
    bool is_refined = !output->result->is_unrefined;
    for (int key = 0; key < TSIM_N_PLAN_KEYS; key++) {
        bool has = false;
        for (size_t c = 0; c < space->n_candidates; c++)
            has |= space->candidates[c].axes[key].n > 1 && (is_refined || key < TSIM_PLAN_LAYERS);
        if (has)
            text = tsim_arena_printf(arena, "%s%s%s", text, n++ > 0 ? ", " : "", NAMES[key]);
    }
    if (space->extent != TSIM_PLAN_ANY_SOFTWARE && software->supports.splits)
        of = tsim_arena_printf(arena, ", as far as %.40s can run it (--any-software adds what other software can)",
                               software->name);
    if (space->candidates[0].job->parallelism.parameter_server.servers > 0)
        servers = "; ranked are steps of the workers: pushes and pulls (tsim run) come on top of each";
    if (n > 0)
        tsim_text_wrap(out, style, 0,
                       tsim_arena_printf(arena, "%s%s%s%s", text, of,
                                         is_refined
                                             ? ""
                                             : "; not refined (parts of layers, balance, order, offload), because tsim "
                                               "has no bound on the figure that limits or ranks the plans",
                                         servers));
}

/* Prints the plan to run. By default it is one that fits even if its memory is more than predicted; a faster one that
 * may not fit stands below it. */
static void print_choice(struct tsim_arena *arena, const struct tsim_plan_output *output,
                         const struct tsim_style *style, FILE *out) {
    const struct tsim_plan_result *result = output->result;
    const struct tsim_plan *best = &result->best[0];
    char peak[48], capacity[48], step[48], more[48];
    fputc('\n', out);
    if (!best->may_not_fit) {
        fputs("run the best plan with\n", out);
        tsim_plan_print_settings(arena, best->set_json, style, out);
        return;
    }
    if (result->has_safe) {
        const struct tsim_plan *safe = &result->safe;
        const char *name =
            is_choice(output) ? tsim_plan_cluster_name(arena, output->search->space, safe->candidate) : "";
        tsim_text_wrap(
            out, style, 0,
            tsim_arena_printf(
                arena,
                "run the best plan that fits even if its peak is %.0f %% higher (%s%s%s, %s, step %s, %s longer) with",
                100 * (TSIM_NINE_IN_TEN_PEAKS - 1), name, *name ? ": " : "", tsim_plan_text(arena, safe),
                tsim_gigabytes_text(figure(safe, TSIM_OUTCOME_MEMORY_PEAK), peak, sizeof peak),
                tsim_quantity_human(figure(safe, TSIM_OUTCOME_STEP_TIME), TSIM_TIME_S, step, sizeof step),
                tsim_percent_text(safe->price.time_s / best->price.time_s - 1, more, sizeof more)));
        tsim_plan_print_settings(arena, safe->set_json, style, out);
    }
    tsim_text_wrap(out, style, 0,
                   tsim_arena_printf(
                       arena, "%srun the best plan, which may not fit (%s of %s), with", result->has_safe ? "or " : "",
                       tsim_gigabytes_text(figure(best, TSIM_OUTCOME_MEMORY_PEAK), peak, sizeof peak),
                       tsim_gigabytes_text(figure(best, TSIM_OUTCOME_MEMORY_CAPACITY), capacity, sizeof capacity)));
    tsim_plan_print_settings(arena, best->set_json, style, out);
}

/* With --any-software, prints for each plan what the job's own software cannot run. */
static void print_lacking(struct tsim_arena *arena, const struct tsim_plan *plans, size_t n,
                          const struct tsim_style *style, FILE *out) {
    for (size_t i = 0; i < n; i++) {
        if (!plans[i].lacking)
            continue;
        fputs("  ", out);
        tsim_text_wrap(out, style, 4,
                       tsim_arena_printf(arena, "%zu: %.40s cannot run it: %s", i + 1,
                                         plans[i].candidate->job->software->name, plans[i].lacking));
    }
}

static void print_best(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_style *style,
                       FILE *out) {
    const struct tsim_plan_result *result = output->result;
    fputc('\n', out);
    print_plans(arena, output, result->best, result->n_best, style, out);
    print_lacking(arena, result->best, result->n_best, style, out);
    tsim_text_wrap(out, style, 0, legend(arena, result));
    fputs("\nwhat they reach and cost\n", out);
    print_prices(arena, output, result->best, result->n_best, style, out);
    if (!is_choice(output))
        print_evidence(arena, result->best, result->n_best, style, out);
    for (size_t i = 1; i < result->n_best; i++)
        print_loss(&result->best[0], &result->best[i], i, style, out);
}

static void print_search(struct tsim_arena *arena, const struct tsim_plan_output *output,
                         const struct tsim_style *style, FILE *out) {
    const struct tsim_plan_result *result = output->result;
    fprintf(out, "%s%s%s: best plans by %s\n", tsim_tint_on(style, TSIM_TINT_BOLD), output->scenario,
            tsim_tint_off(style), tsim_outcome_spec(tsim_plan_objective(output))->name);
    print_counts(result, out);
    print_interrupt(arena, result, style, out);
    print_space(arena, output, style, out);
    if (result->n_best == 0) {
        print_gaps(arena, output, style, out);
        return;
    }
    print_best(arena, output, style, out);
    if (is_choice(output)) {
        fputs("\nthe best of each cluster\n", out);
        print_plans(arena, output, result->own, result->n_own, style, out);
        print_lacking(arena, result->own, result->n_own, style, out);
        fputs("\nwhat they reach and cost\n", out);
        print_prices(arena, output, result->own, result->n_own, style, out);
        print_evidence(arena, result->own, result->n_own, style, out);
        print_gaps(arena, output, style, out);
    }
    if (output->sensitivity->n_cells > 0) {
        fputc('\n', out);
        tsim_text_wrap(out, style, 0,
                       "how the time per token of the two best clusters changes when one input is a tenth off (for "
                       "inputs of both: the second relative to the first)");
        tsim_figures_print(output->sensitivity, style, out);
    }
    if (output->verdict)
        tsim_text_wrap(out, style, 0, output->verdict);
    print_doubt(output, style, out);
    fputs("\nPareto front of time, cost and energy\n", out);
    print_plans(arena, output, result->front, result->n_front, style, out);
    print_lacking(arena, result->front, result->n_front, style, out);
    fputs("\nwhat they reach and cost\n", out);
    print_prices(arena, output, result->front, result->n_front, style, out);
    print_choice(arena, output, style, out);
}

void tsim_plan_print(struct tsim_arena *arena, const struct tsim_plan_output *output, const struct tsim_style *style,
                     FILE *out) {
    struct tsim_fold fold;
    print_search(arena, output, style, tsim_fold_open(&fold, style, out));
    tsim_fold_close(&fold);
}

/* ---- CSV ---- */

static const struct tsim_figure_column CSV_COLUMNS[] = {
    {NULL, "number", TSIM_FIGURE_COUNT},
    {NULL, "cluster", TSIM_FIGURE_COUNT},
    {NULL, "accelerators", TSIM_FIGURE_COUNT},
    {NULL, "accelerator", TSIM_FIGURE_TEXT},
    {NULL, "tensor", TSIM_FIGURE_COUNT},
    {NULL, "pipeline", TSIM_FIGURE_COUNT},
    {NULL, "virtual_pipeline", TSIM_FIGURE_COUNT},
    {NULL, "context", TSIM_FIGURE_COUNT},
    {NULL, "expert", TSIM_FIGURE_COUNT},
    {NULL, "data", TSIM_FIGURE_COUNT},
    {NULL, "zero", TSIM_FIGURE_COUNT},
    {NULL, "micro_batch_size", TSIM_FIGURE_COUNT},
    {NULL, "recompute", TSIM_FIGURE_TEXT},
    {NULL, "schedule", TSIM_FIGURE_TEXT},
    {NULL, "sequence", TSIM_FIGURE_TEXT},
    {NULL, "memory_peak_bytes", TSIM_FIGURE_BYTES},
    {NULL, "step_time_s", TSIM_FIGURE_SECONDS},
    {NULL, "step_time_low_s", TSIM_FIGURE_SECONDS},
    {NULL, "step_time_high_s", TSIM_FIGURE_SECONDS},
    {NULL, "mfu", TSIM_FIGURE_SHARE},
    {NULL, "tokens_per_s", TSIM_FIGURE_NUMBER},
    {NULL, "samples_per_s", TSIM_FIGURE_NUMBER},
    {NULL, "days", TSIM_FIGURE_NUMBER},
    {NULL, "rent_usd", TSIM_FIGURE_NUMBER},
    {NULL, "energy_kwh", TSIM_FIGURE_NUMBER},
    {NULL, "usd_per_token", TSIM_FIGURE_NUMBER},
    {NULL, "joules_per_token", TSIM_FIGURE_NUMBER},
    {NULL, "plan", TSIM_FIGURE_TEXT},
};

static void add_csv(struct tsim_arena *arena, struct tsim_figures *table, const struct tsim_plan_output *output,
                    const struct tsim_plan *plan, size_t number) {
    static const enum tsim_outcome_figure FIGURES[] = {
        TSIM_OUTCOME_MEMORY_PEAK, TSIM_OUTCOME_STEP_TIME,    TSIM_OUTCOME_STEP_LOW,      TSIM_OUTCOME_STEP_HIGH,
        TSIM_OUTCOME_MFU,         TSIM_OUTCOME_TOKENS_PER_S, TSIM_OUTCOME_SAMPLES_PER_S, TSIM_OUTCOME_DAYS,
        TSIM_OUTCOME_RENT,        TSIM_OUTCOME_ENERGY_KWH};
    const int64_t *value = plan->choice.value;
    const struct tsim_scenario *job = plan->candidate->job;
    const int64_t degrees[] = {value[TSIM_PLAN_TENSOR],  value[TSIM_PLAN_PIPELINE],   value[TSIM_PLAN_VIRTUAL],
                               value[TSIM_PLAN_CONTEXT], value[TSIM_PLAN_EXPERT],     data_of(plan),
                               value[TSIM_PLAN_ZERO],    value[TSIM_PLAN_MICRO_BATCH]};
    tsim_figures_add(table, (double)(number + 1));
    tsim_figures_add(table, (double)(plan->candidate - output->search->space->candidates + 1));
    tsim_figures_add(table, (double)job->n_accelerators);
    tsim_figures_add_text(table, job->cluster.node->accelerator->name);
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++)
        tsim_figures_add(table, (double)degrees[i]);
    tsim_figures_add_text(table, tsim_plan_key_text(arena, TSIM_PLAN_RECOMPUTE, value[TSIM_PLAN_RECOMPUTE]));
    tsim_figures_add_text(table, tsim_plan_key_text(arena, TSIM_PLAN_SCHEDULE, value[TSIM_PLAN_SCHEDULE]));
    tsim_figures_add_text(table, value[TSIM_PLAN_SEQUENCE] && value[TSIM_PLAN_TENSOR] > 1 ? "true" : "false");
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++)
        tsim_figures_add(table, figure(plan, FIGURES[i]));
    tsim_figures_add(table, plan->price.cost_usd > 0 ? plan->price.cost_usd : (double)NAN);
    tsim_figures_add(table, plan->price.energy_j);
    tsim_figures_add_text(table, tsim_plan_text(arena, plan));
}

void tsim_plan_print_csv(struct tsim_arena *arena, const struct tsim_plan_output *output, FILE *out) {
    const struct tsim_plan_result *result = output->result;
    const struct {
        const char *name;
        const struct tsim_plan *plans;
        size_t n;
    } tables[] = {{"best", result->best, result->n_best},
                  {"best_of_each", result->own, output->search->space->n_candidates > 1 ? result->n_own : 0},
                  {"points", result->front, result->n_front}};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        struct tsim_figures table;
        tsim_figures_init(&table, arena, tables[t].name, CSV_COLUMNS, sizeof CSV_COLUMNS / sizeof CSV_COLUMNS[0]);
        for (size_t i = 0; i < tables[t].n; i++)
            add_csv(arena, &table, output, &tables[t].plans[i], i);
        if (tables[t].n > 0)
            tsim_figures_print_csv(&table, out);
    }
    if (output->sensitivity->n_cells > 0)
        tsim_figures_print_csv(output->sensitivity, out);
}

/* ---- JSON ---- */

static void add_gaps(struct tsim_arena *arena, const struct tsim_plan_output *output, struct tsim_json *root) {
    struct tsim_json *list = tsim_json_array(root, "without");
    for (size_t i = 0; i < output->result->n_gaps; i++) {
        const struct tsim_plan_gap *gap = &output->result->gaps[i];
        struct tsim_json *object = tsim_json_object(list, NULL);
        tsim_json_integer(object, "cluster", gap->candidate - output->search->space->candidates + 1);
        tsim_json_text(object, "why", tsim_plan_reason_text(arena, gap));
        if (gap->lack == TSIM_PLAN_LACKS_MEMORY)
            tsim_json_number(object, "excess_bytes", gap->excess_bytes);
        if (gap->limit) {
            tsim_json_text(object, "figure", tsim_outcome_spec(gap->limit->figure)->name);
            tsim_json_number(object, "limit", gap->limit->value);
            tsim_json_number(object, "nearest", gap->nearest);
        }
    }
}

static struct tsim_json *add_point(const struct tsim_plan_output *output, struct tsim_json *parent, const char *key,
                                   const struct tsim_plan *plan) {
    struct tsim_json *object = tsim_json_object(parent, key);
    tsim_json_parsed(object, "set", plan->set_json);
    if (plan->lacking)
        tsim_json_text(object, "software_lacks", plan->lacking);
    tsim_json_text(object, "status", tsim_point_status_name(plan->point.status));
    tsim_json_integer(object, "cluster", plan->candidate - output->search->space->candidates + 1);
    tsim_json_text(object, "accelerator", plan->candidate->job->cluster.node->accelerator->name);
    if (plan->may_not_fit)
        tsim_json_bool(object, "may_not_fit", true);
    if (plan->n_similar_runs >= 0) {
        tsim_json_integer(object, "similar_runs", plan->n_similar_runs);
        tsim_json_integer(object, "runs_on_accelerator", plan->n_own_runs);
    }
    if (plan->unknown)
        tsim_json_text(object, "wide_for", plan->unknown);
    struct tsim_json *token = tsim_json_object(object, "per_token");
    tsim_json_number(token, "time_s", plan->price.time_s);
    tsim_json_number(token, "cost_usd", plan->price.cost_usd > 0 ? plan->price.cost_usd : (double)NAN);
    tsim_json_number(token, "energy_j", plan->price.energy_j);
    return object;
}

/* Adds a point's summary, and the range of days, money and energy of its run as `tsim run` prints it. */
static void add_summary(struct tsim_json *object, const struct tsim_plan *plan) {
    struct tsim_json *summary = tsim_json_object(object, "summary");
    const struct tsim_outcome *outcome = &plan->point.outcome;
    tsim_outcome_json(outcome, summary);
    for (int i = TSIM_OUTCOME_DAYS_LIKELY_P10; i <= TSIM_OUTCOME_ENERGY_LIKELY_P90; i++)
        tsim_outcome_add(outcome, (enum tsim_outcome_figure)i, summary);
}

static void add_losses(struct tsim_json *object, const struct tsim_plan *best, const struct tsim_plan *plan) {
    struct tsim_json *loses = tsim_json_object(object, "loses");
    struct term terms[MOST_PARTS];
    size_t n = find_terms(best, plan, terms);
    tsim_json_number(loses, "time", plan->price.time_s / best->price.time_s - 1);
    for (size_t i = 0; i < n; i++)
        if (terms[i].excess_s != 0)
            tsim_json_number(loses, terms[i].word, terms[i].excess_s);
}

struct tsim_json *tsim_plan_json(struct tsim_arena *arena, const struct tsim_plan_output *output) {
    const struct tsim_plan_result *result = output->result;
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/plan/v1");
    tsim_json_text(root, "scenario", output->scenario);
    tsim_json_text(root, "objective", tsim_outcome_spec(tsim_plan_objective(output))->name);
    struct tsim_json *best = tsim_json_array(root, "best");
    for (size_t i = 0; i < result->n_best; i++) {
        struct tsim_json *object = add_point(output, best, NULL, &result->best[i]);
        if (i > 0)
            add_losses(object, &result->best[0], &result->best[i]);
        add_summary(object, &result->best[i]);
    }
    if (result->n_best > 0) {
        const struct tsim_plan *plan = result->has_safe ? &result->safe : &result->best[0];
        struct tsim_json *object = add_point(output, root, "recommended", plan);
        add_summary(object, plan);
    }
    struct tsim_json *points = tsim_json_array(root, "points");
    for (size_t i = 0; i < result->n_front; i++)
        add_summary(add_point(output, points, NULL, &result->front[i]), &result->front[i]);
    if (output->search->space->n_candidates > 1) {
        struct tsim_json *own = tsim_json_array(root, "best_of_each");
        for (size_t i = 0; i < result->n_own; i++)
            add_summary(add_point(output, own, NULL, &result->own[i]), &result->own[i]);
    }
    if (output->result->n_gaps > 0)
        add_gaps(arena, output, root);
    if (output->sensitivity->n_cells > 0)
        tsim_figures_json(output->sensitivity, root);
    if (output->verdict)
        tsim_json_text(root, "verdict", output->verdict);
    tsim_json_integer(root, "plans", result->n_plans - result->n_invalid - result->n_unplayed);
    tsim_json_integer(root, "not_played", result->n_unplayed);
    tsim_json_integer(root, "does_not_fit", result->n_too_large);
    tsim_json_integer(root, "evaluated", result->n_evaluated);
    tsim_json_integer(root, "pruned", result->n_pruned);
    if (result->is_interrupted) {
        tsim_json_bool(root, "interrupted", true);
        tsim_json_integer(root, "undecided", result->n_unseen);
        tsim_json_integer(root, "clusters_not_counted", (int64_t)result->n_unlisted);
    }
    tsim_json_text(tsim_json_object(root, "simulator"), "version", TSIM_VERSION);
    return root;
}
