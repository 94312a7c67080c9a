#include "report/terminal/explain_term.h"

#include "report/terminal/explain_term_build.h"
#include "results/format.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 64, VALUE_COLUMNS = 13, NARROW = 80, MOST_SOURCES = 128 };

/* ---- names ---- */

static const char *const NAMES[] = {"accelerators",
                                    "step.time_s",
                                    "step.compute_s",
                                    "step.bubble_s",
                                    "step.communication_exposed_s",
                                    "step.data_stall_s",
                                    "step.optimizer_s",
                                    "step.recompute_s",
                                    "communication_exposed.tensor_s",
                                    "communication_exposed.pipeline_s",
                                    "communication_exposed.data_s",
                                    "communication_exposed.context_s",
                                    "communication_exposed.expert_s",
                                    "throughput.tokens_per_s",
                                    "throughput.tokens_per_s_per_gpu",
                                    "throughput.samples_per_s",
                                    "throughput.model_tflops_per_gpu",
                                    "throughput.hardware_tflops_per_gpu",
                                    "throughput.mfu",
                                    "throughput.hfu",
                                    "fractions.bubble",
                                    "fractions.communication_exposed",
                                    "fractions.data_stall",
                                    "memory.capacity_bytes",
                                    "memory.peak_bytes",
                                    "memory.weights_bytes",
                                    "memory.gradients_bytes",
                                    "memory.master_bytes",
                                    "memory.optimizer_bytes",
                                    "memory.activations_bytes",
                                    "memory.buffers_bytes",
                                    "energy.step_j",
                                    "energy.mean_power_w",
                                    "model.parameters",
                                    "model.active_parameters",
                                    "model.step_model_flops",
                                    "model.step_hardware_flops",
                                    "campaign.steps",
                                    "campaign.skipped_steps",
                                    "campaign.days",
                                    "campaign.energy_kwh",
                                    "campaign.co2_kg",
                                    "campaign.electricity_usd",
                                    "campaign.rent_usd",
                                    "campaign.purchase_usd",
                                    "campaign.breakeven_runs",
                                    "campaign.goodput",
                                    "campaign.failures",
                                    "campaign.days_p10",
                                    "campaign.days_p90",
                                    "campaign.mean_days",
                                    "campaign.spares",
                                    "campaign.checkpoint_interval_s",
                                    "campaign.goodput_p10",
                                    "campaign.goodput_p90",
                                    "campaign.failures_p10",
                                    "campaign.failures_p90",
                                    "campaign.distribution.from_days",
                                    "campaign.distribution.to_days",
                                    "campaign.mtbf_s",
                                    "campaign.interruptions.accelerator",
                                    "campaign.interruptions.hbm",
                                    "campaign.interruptions.nic",
                                    "campaign.interruptions.link",
                                    "campaign.interruptions.switch",
                                    "campaign.interruptions.host",
                                    "campaign.interruptions.software",
                                    "campaign.interruptions.preemption",
                                    "campaign.interruptions.straggler",
                                    "campaign.lost_accelerator_hours.accelerator",
                                    "campaign.lost_accelerator_hours.hbm",
                                    "campaign.lost_accelerator_hours.nic",
                                    "campaign.lost_accelerator_hours.link",
                                    "campaign.lost_accelerator_hours.switch",
                                    "campaign.lost_accelerator_hours.host",
                                    "campaign.lost_accelerator_hours.software",
                                    "campaign.lost_accelerator_hours.preemption",
                                    "campaign.lost_accelerator_hours.straggler",
                                    "campaign.lost_accelerator_hours.checkpoint",
                                    "campaign.lost_accelerator_hours.evaluation",
                                    "campaign.lost_accelerator_hours.maintenance",
                                    "campaign.lost_accelerator_hours.shrunk",
                                    "campaign.power.loaded_w",
                                    "campaign.power.idle_w",
                                    "campaign.power.mean_w",
                                    "campaign.checkpoint.bytes",
                                    "campaign.checkpoint.interval_s",
                                    "campaign.checkpoint.stall_s",
                                    "campaign.checkpoint.local.interval_s",
                                    "campaign.checkpoint.local.stall_s",
                                    "campaign.checkpoint.local.restarts",
                                    "campaign.spot.on_demand_days",
                                    "campaign.spot.on_demand_usd",
                                    "campaign.spot.breakeven_rate_per_h",
                                    "campaign.rent_usd_per_trillion_tokens",
                                    "campaign.embodied_co2_kg",
                                    "campaign.ownership.capital_usd",
                                    "campaign.ownership.fixed_usd_per_year",
                                    "campaign.ownership.run_usd",
                                    "campaign.ownership.run_capital_usd",
                                    "campaign.ownership.run_maintenance_usd",
                                    "campaign.ownership.run_power_usd",
                                    "campaign.ownership.run_cooling_usd",
                                    "campaign.ownership.usd_per_trillion_tokens",
                                    "campaign.ownership.breakeven_utilization",
                                    "campaign.ownership.breakeven_runs",
                                    "regimen.tokens_per_parameter",
                                    "regimen.optimal_parameters",
                                    "regimen.optimal_tokens",
                                    "regimen.loss_nats",
                                    "regimen.critical_batch_tokens",
                                    "regimen.tokens_factor",
                                    "regimen.steps_factor",
                                    "regimen.epochs",
                                    "regimen.effective_tokens",
                                    "bottleneck.shares.compute",
                                    "bottleneck.shares.memory",
                                    "bottleneck.shares.communication",
                                    "bottleneck.shares.bubble",
                                    "bottleneck.shares.data",
                                    "bottleneck.shares.host",
                                    "uncertainty.step_time_low_s",
                                    "uncertainty.step_time_high_s",
                                    "uncertainty.days.p10",
                                    "uncertainty.days.p50",
                                    "uncertainty.days.p90",
                                    "uncertainty.cost_usd.p10",
                                    "uncertainty.cost_usd.p50",
                                    "uncertainty.cost_usd.p90",
                                    "uncertainty.energy_kwh.p10",
                                    "uncertainty.energy_kwh.p50",
                                    "uncertainty.energy_kwh.p90"};
enum { N_NAMES = sizeof NAMES / sizeof NAMES[0] };

/* Groups, and words that people use for one of their figures. */
static const struct {
    const char *word, *name;
} WORDS[] = {{"step", "step.time_s"},
             {"communication", "step.communication_exposed_s"},
             {"communication_exposed", "step.communication_exposed_s"},
             {"bubble", "step.bubble_s"},
             {"compute", "step.compute_s"},
             {"recompute", "step.recompute_s"},
             {"optimizer", "step.optimizer_s"},
             {"throughput", "throughput.tokens_per_s"},
             {"memory", "memory.peak_bytes"},
             {"activations", "memory.activations_bytes"},
             {"weights", "memory.weights_bytes"},
             {"gradients", "memory.gradients_bytes"},
             {"energy", "energy.step_j"},
             {"power", "energy.mean_power_w"},
             {"model", "model.parameters"},
             {"campaign", "campaign.days"},
             {"ownership", "campaign.ownership.run_usd"}};
enum { N_WORDS = sizeof WORDS / sizeof WORDS[0] };

const char *const *tsim_term_names(size_t *n) {
    *n = N_NAMES;
    return NAMES;
}

/* What is behind the group; the name itself where it is in none. */
static const char *last_part(const char *path) {
    const char *dot = strchr(path, '.');
    return dot ? dot + 1 : path;
}

/* NULL: unknown. */
static const char *path_of(const char *name) {
    const char *found = NULL;
    for (size_t i = 0; i < N_NAMES; i++)
        if (strcmp(NAMES[i], name) == 0)
            return NAMES[i];
    for (size_t i = 0; i < N_WORDS; i++)
        if (strcmp(WORDS[i].word, name) == 0)
            return WORDS[i].name;
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strcmp(last_part(NAMES[i]), name) != 0)
            continue;
        if (found)
            return NULL;
        found = NAMES[i];
    }
    return found;
}

bool tsim_term_exists(const char *name) {
    return path_of(name) != NULL;
}

const char *tsim_term_near(const char *wrong) {
    const char *candidates[2 * N_NAMES + N_WORDS];
    size_t n = 0;
    for (size_t i = 0; i < N_NAMES; i++) {
        candidates[n++] = NAMES[i];
        if (tsim_term_exists(last_part(NAMES[i])))
            candidates[n++] = last_part(NAMES[i]);
    }
    for (size_t i = 0; i < N_WORDS; i++)
        candidates[n++] = WORDS[i].word;
    return tsim_did_you_mean(wrong, candidates, n);
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* Figures of a run that fails; the others of a campaign are there without failures, too. */
static bool is_of_failures(const char *path) {
    static const char *const STARTS[] = {"interruptions.", "lost_accelerator_hours.",
                                         "distribution.",  "power.",
                                         "checkpoint",     "spot.",
                                         "spares",         "mtbf_s",
                                         "mean_days",      "goodput",
                                         "failures",       "days_p"};
    const char *start = "campaign.";
    for (size_t i = 0; i < sizeof STARTS / sizeof STARTS[0] && starts_with(path, start); i++)
        if (starts_with(path + strlen(start), STARTS[i]))
            return true;
    return false;
}

const struct tsim_term *tsim_term_build(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                                        const char *name) {
    const char *path = path_of(name);
    struct tsim_terms terms = {.arena = arena, .explanation = explanation, .scenario = explanation->scenario};
    if (!path)
        return NULL;
    tsim_term_recorder_init(&terms.recorder, arena);
    terms.cluster = tsim_cluster_build(arena, terms.scenario);
    terms.placement = tsim_placement_build(arena, terms.scenario);
    if (starts_with(path, "memory."))
        return tsim_term_of_memory(&terms, path);
    if (starts_with(path, "model."))
        return tsim_term_of_rates(&terms, path);
    if (strcmp(path, "accelerators") == 0)
        return tsim_term_accelerators(&terms);
    if (!explanation->result->step.simulated)
        return NULL;
    if (starts_with(path, "step.") || starts_with(path, "communication_exposed."))
        return tsim_term_of_step(&terms, path);
    if (starts_with(path, "campaign.ownership.") || strcmp(path, "campaign.embodied_co2_kg") == 0 ||
        strcmp(path, "campaign.rent_usd_per_trillion_tokens") == 0)
        return tsim_term_of_ownership(&terms, path);
    if (is_of_failures(path))
        return tsim_term_of_failures(&terms, path);
    if (starts_with(path, "regimen."))
        return tsim_term_of_scaling_laws(&terms, path);
    if (starts_with(path, "bottleneck."))
        return tsim_term_of_shares(&terms, path);
    if (starts_with(path, "uncertainty."))
        return tsim_term_of_interval(&terms, path);
    return tsim_term_of_rates(&terms, path);
}

/* ---- printing ---- */

static const char *value_text(const struct tsim_term *term, char *buffer, size_t size) {
    if (term->dimension == TSIM_FRACTION) {
        snprintf(buffer, size, "%.4g", term->value);
        return buffer;
    }
    if (term->dimension == TSIM_COUNT && fabs(term->value) < 1e7 && term->value == floor(term->value))
        return tsim_count_text(term->value, buffer, size);
    if (term->value == 0)
        return strcpy(buffer, "0");
    return tsim_quantity_human(term->value, term->dimension, buffer, size);
}

struct printing {
    FILE *out;
    const struct tsim_style *style;
    struct tsim_arena arena;
    const char *sources[MOST_SOURCES];
    size_t n_sources;
    const struct tsim_term **written; /* nodes with parts */
    size_t n_written, written_capacity;
};

static size_t number_of_source(struct printing *p, const char *source) {
    for (size_t i = 0; i < p->n_sources; i++)
        if (strcmp(p->sources[i], source) == 0)
            return i + 1;
    TSIM_ASSERT(p->n_sources < MOST_SOURCES);
    p->sources[p->n_sources++] = source;
    return p->n_sources;
}

static bool was_written(struct printing *p, const struct tsim_term *term) {
    for (size_t i = 0; i < p->n_written; i++)
        if (p->written[i] == term)
            return true;
    p->written = tsim_heap_grow(p->written, &p->written_capacity, p->n_written + 1, sizeof(const struct tsim_term *));
    p->written[p->n_written++] = term;
    return false;
}

static void print_node(struct printing *p, const struct tsim_term *term, int depth) {
    char value[TEXT_BYTES];
    bool is_repeated = term->n_parts > 0 && was_written(p, term);
    const char *text = term->name;
    tsim_text_pad(p->out, value_text(term, value, sizeof value), -VALUE_COLUMNS);
    int indent = 2 + (p->style->table_width > 0 && p->style->table_width < NARROW ? 1 : 2) * depth;
    fprintf(p->out, "%*s", indent, "");
    if (is_repeated)
        text = tsim_arena_printf(&p->arena, "%s (above)", text);
    else if (term->formula)
        text = tsim_arena_printf(&p->arena, "%s = %s", text, term->formula);
    if (term->source)
        text = tsim_arena_printf(&p->arena, "%s [%zu]%s%s", text, number_of_source(p, term->source),
                                 term->status ? " " : "", term->status ? term->status : "");
    tsim_text_wrap(p->out, p->style, VALUE_COLUMNS + indent, text);
    for (int32_t i = 0; i < term->n_parts && !is_repeated; i++)
        print_node(p, term->parts[i].term, depth + 1);
}

void tsim_term_print(FILE *out, const struct tsim_style *style, const struct tsim_term *term) {
    struct printing p = {.out = out, .style = style};
    tsim_arena_init(&p.arena);
    print_node(&p, term, 0);
    for (size_t i = 0; i < p.n_sources; i++) {
        fprintf(out, "%s[%zu] ", i ? "" : "\n", i + 1);
        tsim_text_wrap(out, style, i < 9 ? 4 : 5, p.sources[i]);
    }
    tsim_heap_free(p.written);
    tsim_arena_release(&p.arena);
}

/* The SI unit, as tsim_quantity_si writes it; "" for pure numbers. */
static const char *unit_of(struct tsim_arena *arena, enum tsim_dimension dimension) {
    char text[TEXT_BYTES];
    const char *blank = strchr(tsim_quantity_si(1, dimension, text, sizeof text), ' ');
    return blank ? tsim_arena_strdup(arena, blank + 1) : "";
}

static void add_csv(struct tsim_figures *figures, const struct tsim_term *term, int depth) {
    tsim_figures_add(figures, depth);
    tsim_figures_add_text(figures, term->name);
    tsim_figures_add(figures, term->value);
    tsim_figures_add_text(figures, unit_of(figures->arena, term->dimension));
    tsim_figures_add_text(figures, term->formula);
    tsim_figures_add_text(figures, term->source);
    tsim_figures_add_text(figures, term->status);
    for (int32_t i = 0; i < term->n_parts; i++)
        add_csv(figures, term->parts[i].term, depth + 1);
}

void tsim_term_print_csv(FILE *out, const struct tsim_term *term) {
    static const struct tsim_figure_column COLUMNS[] = {
        {NULL, "depth", TSIM_FIGURE_COUNT}, {NULL, "name", TSIM_FIGURE_TEXT},    {NULL, "value", TSIM_FIGURE_NUMBER},
        {NULL, "unit", TSIM_FIGURE_TEXT},   {NULL, "formula", TSIM_FIGURE_TEXT}, {NULL, "source", TSIM_FIGURE_TEXT},
        {NULL, "status", TSIM_FIGURE_TEXT}};
    struct tsim_arena arena;
    struct tsim_figures figures;
    tsim_arena_init(&arena);
    tsim_figures_init(&figures, &arena, "term", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    add_csv(&figures, term, 0);
    tsim_figures_print_csv(&figures, out);
    tsim_arena_release(&arena);
}

static void fill_json(struct tsim_arena *arena, struct tsim_json *object, const struct tsim_term *term) {
    const char *unit = unit_of(arena, term->dimension);
    tsim_json_text(object, "name", term->name);
    tsim_json_number(object, "value", term->value);
    if (unit[0])
        tsim_json_text(object, "unit", unit);
    tsim_json_text(object, "formula", term->formula);
    tsim_json_text(object, "source", term->source);
    tsim_json_text(object, "status", term->status);
    if (term->n_parts == 0)
        return;
    struct tsim_json *parts = tsim_json_array(object, "parts");
    for (int32_t i = 0; i < term->n_parts; i++)
        fill_json(arena, tsim_json_object(parts, NULL), term->parts[i].term);
}

struct tsim_json *tsim_term_json(const struct tsim_term *term) {
    struct tsim_json *root = tsim_json_new_object();
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_json_text(root, "schema", "tsim/term/v1");
    fill_json(&arena, root, term);
    tsim_arena_release(&arena);
    return root;
}
