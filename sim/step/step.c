#include "step/step.h"

#include "cluster/power.h"
#include "config/provenance.h"
#include "model/adapter.h"
#include "model/arithmetic.h"
#include "model/executed.h"
#include "model/local_shape.h"
#include "model/model.h"
#include "model/operators.h"
#include "partition/memory.h"
#include "step/balance.h"
#include "step/bound.h"
#include "step/fit_changes.h"
#include "step/input/step_input.h"
#include "step/part_counts.h"
#include "step/step_terms.h"
#include "step/step_variation.h"

#include <math.h>
#include <string.h>

#define ROUNDING_FRAC 1e-9

/* ---- throughput and energy ---- */

static struct tsim_amount batch(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    return tsim_of_scenario(r, "training.global_batch_size", (double)sc->training.global_batch_size, TSIM_COUNT);
}

static double tokens_per_step(const struct tsim_scenario *sc) {
    return tsim_tokens_of(NULL, sc).value;
}

static struct tsim_layer_flops forward_flops_per_token(const struct tsim_scenario *sc) {
    double attended = tsim_attended_length(sc);
    return tsim_model_forward_flops_per_token(sc->model, attended,
                                              tsim_model_stacks(sc->model) > 1 ? tsim_last_length(sc) : attended);
}

static struct tsim_amount model_flops_per_token(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    struct tsim_amount attended =
        sc->training.lengths.mean > 0
            ? tsim_given(r, "tokens that each attends to", tsim_attended_length(sc), TSIM_COUNT,
                         "training.lengths of the scenario (sim/config/lengths.h)")
            : tsim_of_scenario(r, "training.sequence_length", (double)sc->training.sequence_length, TSIM_COUNT);
    if (tsim_is_frozen(sc))
        return tsim_frozen_model_flops_recorded(r, sc->model, attended, tsim_model_active_adapter_parameters(sc));
    return tsim_model_flops_recorded(r, sc->model, attended, tsim_last_length(sc));
}

static double recomputed_parts_flops_per_token(const struct tsim_scenario *sc) {
    const struct tsim_model *m = sc->model;
    unsigned parts = tsim_recompute_parts(sc);
    struct tsim_parts layers = tsim_model_layers(m, 0, m->layers);
    double of_output = (double)(m->heads * m->head_dim * m->hidden), flops = 0;
    if (parts & TSIM_RECOMPUTE_OPERATORS) /* keys, attention's output, one of two products up */
        return 2 * (double)(m->layers * m->hidden) *
               (double)((m->kv_heads + m->heads) * m->head_dim + (m->gated_mlp ? m->ffn_hidden : 0));
    if (parts & TSIM_RECOMPUTE_ATTENTION)
        flops += forward_flops_per_token(sc).core;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (layers.times[part] <= 0)
            continue;
        struct tsim_layer_parameters p = tsim_layer_count(m, (enum tsim_part)part);
        if (parts & TSIM_RECOMPUTE_LATENT && m->latent.kv_rank > 0)
            flops += 2 * layers.times[part] * (p.attention - of_output);
        if (parts & TSIM_RECOMPUTE_OUTPUT)
            flops += 2 * layers.times[part] * of_output;
        if (parts & TSIM_RECOMPUTE_FFN)
            flops += 2 * layers.times[part] * (p.ffn + p.shared);
        if (parts & TSIM_RECOMPUTE_EXPERTS)
            flops += 2 * layers.times[part] * (p.router + tsim_active_frac(m) * p.experts);
    }
    return flops;
}

/* Returns recomputed FLOPs counted like model FLOPs, with the full attention square, as in papers that add them to
 * these. */
static double recomputed_flops_per_token(const struct tsim_scenario *sc) {
    if (sc->training.recompute == TSIM_RECOMPUTE_SELECTIVE)
        return recomputed_parts_flops_per_token(sc);
    if (sc->training.recompute == TSIM_RECOMPUTE_NONE)
        return 0;
    struct tsim_layer_flops again = forward_flops_per_token(sc);
    return tsim_recomputed_frac(sc) * (again.products + again.core);
}

double tsim_step_formula_flops(const struct tsim_scenario *sc) {
    double tokens = tokens_per_step(sc);
    return tokens * model_flops_per_token(NULL, sc).value + tokens * recomputed_flops_per_token(sc);
}

static void fill_model(struct tsim_term_recorder *r, const struct tsim_scenario *sc, struct tsim_step_result *result) {
    tsim_accelerators_of(r, sc);
    result->parameters = tsim_model_parameters_recorded(r, sc->model).value;
    result->active_parameters = tsim_model_active_parameters_recorded(r, sc->model).value;
    result->mtp_parameters = sc->model->mtp_layers > 0 ? tsim_model_mtp_parameters(sc->model) : (double)NAN;
    result->padding_frac =
        sc->training.lengths.mean > 0 ? 1 - tsim_useful_length(sc) / tsim_pass_length(sc) : (double)NAN;
    result->trained_parameters = tsim_is_frozen(sc)        ? tsim_model_adapter_parameters(sc)
                                 : sc->model->tower.frozen ? result->parameters - tsim_tower_parameters(sc->model)
                                                           : (double)NAN;
    result->model_flops = tsim_product(r, "model.step_model_flops", "tokens x FLOPs of each", TSIM_FLOPS,
                                       TSIM_PARTS(tsim_tokens_of(r, sc), model_flops_per_token(r, sc)))
                              .value;
}

static struct tsim_amount per_step(struct tsim_term_recorder *r, const char *name, const char *formula,
                                   struct tsim_amount what, double step_s) {
    return tsim_product(r, name, formula, TSIM_PER_S,
                        TSIM_PARTS(what, tsim_inverse(tsim_elsewhere(r, "step.time_s", step_s, TSIM_TIME_S))));
}

/* Returns the rate of an accelerator, and its part of the peak. */
static double fill_flops_rate(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const char *flops_name,
                              double flops, double step_s, const char *name, const char *of_peak_name,
                              double *of_peak) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    enum tsim_precision precision = sc->training.precision;
    struct tsim_amount rate =
        tsim_product(r, name, "FLOPs / step time / accelerators", TSIM_FLOPS_PER_S,
                     TSIM_PARTS(tsim_figure(r, flops_name, flops, TSIM_FLOPS),
                                tsim_inverse(tsim_elsewhere(r, "step.time_s", step_s, TSIM_TIME_S)),
                                tsim_inverse(tsim_training_accelerators_of(r, sc))));
    struct tsim_amount peak = tsim_of_accelerator(r, a, tsim_record_text(r, "peak.%s", tsim_precision_name(precision)),
                                                  a->peak_flops_per_s[precision], TSIM_FLOPS_PER_S);
    *of_peak = tsim_product(r, of_peak_name, "FLOP/s of an accelerator / peak", TSIM_FRACTION,
                            TSIM_PARTS(rate, tsim_inverse(peak)))
                   .value;
    return rate.value / 1e12;
}

static void fill_throughput(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                            struct tsim_step_result *result) {
    double t = result->terms.time_s;
    struct tsim_throughput *out = &result->throughput;
    struct tsim_amount tokens = per_step(r, "throughput.tokens_per_s", "tokens / step time", tsim_tokens_of(r, sc), t);
    out->tokens_per_s = tokens.value;
    out->tokens_per_s_per_gpu =
        tsim_product(r, "throughput.tokens_per_s_per_gpu", "tokens/s / accelerators", TSIM_PER_S,
                     TSIM_PARTS(tokens, tsim_inverse(tsim_training_accelerators_of(r, sc))))
            .value;
    out->samples_per_s = per_step(r, "throughput.samples_per_s", "batch / step time", batch(r, sc), t).value;
    out->model_tflops_per_gpu = fill_flops_rate(r, sc, "model.step_model_flops", result->model_flops, t,
                                                "throughput.model_tflops_per_gpu", "throughput.mfu", &out->mfu);
    out->hardware_tflops_per_gpu = fill_flops_rate(r, sc, "model.step_hardware_flops", result->hardware_flops, t,
                                                   "throughput.hardware_tflops_per_gpu", "throughput.hfu", &out->hfu);
}

static void record_fractions(struct tsim_term_recorder *r, const struct tsim_step_terms *t) {
    const struct {
        const char *name, *part;
        double part_s;
    } FRACTIONS[] = {{"fractions.bubble", "step.bubble_s", t->bubble_s},
                     {"fractions.communication_exposed", "step.communication_exposed_s", t->communication_exposed_s},
                     {"fractions.data_stall", "step.data_stall_s", t->data_stall_s}};
    for (size_t i = 0; r && i < sizeof FRACTIONS / sizeof FRACTIONS[0]; i++)
        tsim_product(r, FRACTIONS[i].name, "its time / step time", TSIM_FRACTION,
                     TSIM_PARTS(tsim_elsewhere(r, FRACTIONS[i].part, FRACTIONS[i].part_s, TSIM_TIME_S),
                                tsim_inverse(tsim_elsewhere(r, "step.time_s", t->time_s, TSIM_TIME_S))));
}

/* Records the energy; ranks that use equally much are one row. */
static void record_energy(struct tsim_term_recorder *r, const struct tsim_cluster *cluster,
                          const struct tsim_step_simulation *simulation) {
    struct tsim_part_list all = {.recorder = r};
    const struct tsim_term *last = NULL;
    double n = 0;
    for (int32_t i = 0; r && i <= simulation->n_stage_groups; i++) {
        const struct tsim_stage_group_account *group = &simulation->stage_groups[i];
        struct tsim_amount energy = {0};
        if (i < simulation->n_stage_groups)
            energy = tsim_stage_group_energy(r, cluster, group, simulation->time_s);
        if (last && energy.term != last) {
            tsim_part_add(&all,
                          tsim_product(r, "accelerators that use as much", "accelerators x energy of one", TSIM_JOULES,
                                       TSIM_PARTS(tsim_given(r, "how many", n, TSIM_COUNT, "ranks of the plan"),
                                                  (struct tsim_amount){.value = last->value, .term = last})));
            n = 0;
        }
        last = energy.term;
        n += i < simulation->n_stage_groups ? group->multiplicity : 0;
    }
    if (!r)
        return;
    struct tsim_amount energy = tsim_sum_of(&all, "energy.step_j", "sum over all accelerators", TSIM_JOULES);
    tsim_product(r, "energy.mean_power_w", "energy / step time", TSIM_WATTS,
                 TSIM_PARTS(energy, tsim_inverse(tsim_elsewhere(r, "step.time_s", simulation->time_s, TSIM_TIME_S))));
}

/* ---- rows ---- */

static void fill_ranks(struct tsim_arena *arena, const struct tsim_scenario *sc, const struct tsim_cluster *cluster,
                       const struct tsim_step_simulation *simulation, bool is_brief, struct tsim_step_result *result) {
    struct tsim_rank_row *rows = TSIM_NEW_ARRAY(arena, (size_t)simulation->n_stage_groups, struct tsim_rank_row);
    double energy_j = 0;
    for (int32_t i = 0; i < simulation->n_stage_groups; i++) {
        const struct tsim_stage_group_account *group = &simulation->stage_groups[i];
        rows[i] =
            (struct tsim_rank_row){.rank = i,
                                   .stage = group->stage,
                                   .multiplicity = group->multiplicity,
                                   .terms = group->terms,
                                   .energy_j = tsim_stage_group_energy(NULL, cluster, group, simulation->time_s).value};
        if (!is_brief)
            rows[i].memory = tsim_memory_of_stage(sc, group->stage);
        energy_j += rows[i].energy_j * rows[i].multiplicity;
    }
    result->ranks = rows;
    result->n_ranks = simulation->n_stage_groups;
    result->energy_j = energy_j;
    result->mean_power_w = energy_j / simulation->time_s;
}

/* The critical rank is the one that waits least. */
static const struct tsim_stage_group_account *critical_stage_group(const struct tsim_step_simulation *simulation) {
    const struct tsim_stage_group_account *critical = &simulation->stage_groups[0];
    for (int32_t i = 1; i < simulation->n_stage_groups; i++)
        if (simulation->stage_groups[i].terms.bubble_s < critical->terms.bubble_s)
            critical = &simulation->stage_groups[i];
    return critical;
}

struct operator_rows {
    struct tsim_arena *arena;
    struct tsim_operator_row *rows;
    int32_t n, capacity;
    double count; /* how often the part runs in a step */
    const struct tsim_model *model;
    bool is_backward;
};

static struct tsim_operator_row *next_row(struct operator_rows *out) {
    out->rows = tsim_arena_grow(out->arena, out->rows, (size_t)out->n, &out->capacity, sizeof *out->rows);
    return &out->rows[out->n++];
}

static void add_operator_row(void *context, const struct tsim_pass_operator *op) {
    struct operator_rows *out = context;
    bool is_collective = op->op->kind == TSIM_OP_COLLECTIVE;
    *next_row(out) = (struct tsim_operator_row){
        .name = tsim_arena_printf(out->arena, "%s (%s)", op->op->name, op->phase),
        .stream = !is_collective                      ? "compute"
                  : op->op->axis == TSIM_AXIS_CONTEXT ? "context"
                  : op->op->axis == TSIM_AXIS_EXPERT  ? "expert"
                  : op->op->axis == TSIM_AXIS_DATA    ? "data"
                                                      : "tensor",
        .count = out->count,
        .time_s = out->count * op->time_s,
        .flops = out->count * op->op->flops,
        .vector_flops = out->count * tsim_op_vector_flops(out->model, op->op, out->is_backward),
        .bytes = out->count * (is_collective ? op->op->collective_bytes : op->op->bytes),
        .bound = op->bound,
        .is_recompute = strcmp(op->phase, "recompute") == 0};
}

static void add_row(struct operator_rows *out, const char *name, const char *stream, double count, double time_s,
                    enum tsim_bound bound) {
    if (time_s > 0)
        *next_row(out) = (struct tsim_operator_row){
            .name = name, .stream = stream, .count = count, .time_s = time_s, .bound = bound};
}

static void fill_operators(struct tsim_arena *arena, const struct tsim_scenario *sc, const struct tsim_cluster *cluster,
                           const struct tsim_placement *placement, const struct tsim_stage_group_account *critical,
                           struct tsim_step_result *result) {
    struct operator_rows out = {.arena = arena, .model = sc->model};
    int32_t stage = critical->stage;
    struct tsim_stage_part own;
    const struct tsim_scenario *of_stage = tsim_stage_part(sc, stage, &own);
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    const int ways[] = {TSIM_PASS_FORWARD, TSIM_PASS_BACKWARD, tsim_kept_way(TSIM_PASS_BACKWARD)};
    struct tsim_part_counts counts = {0};
    for (int32_t c = 0; c < shape.chunks; c++)
        for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++)
            tsim_part_counts_add(&counts, sc, stage, c, kind, tsim_schedule_chunk_microbatches(&shape));
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            out.count = counts.times[ways[i]][part];
            out.is_backward = ways[i] != TSIM_PASS_FORWARD;
            if (out.count > 0)
                tsim_pass_visit(of_stage, cluster, placement, (enum tsim_part)part, ways[i], add_operator_row, &out);
        }
    add_row(&out, "optimizer", "compute", 1, critical->terms.optimizer_s, TSIM_BOUND_MEMORY);
    add_row(&out, "data: gathers and reductions", "data", 1, critical->data_busy_s, TSIM_BOUND_COMMUNICATION);
    add_row(&out, "pipeline: sends", "pipeline", 2 * (double)sc->n_microbatches, critical->send_busy_s,
            TSIM_BOUND_COMMUNICATION);
    result->operators = out.rows;
    result->n_operators = out.n;
}

/* Fills in the rows of all steps. With variability they are there; without it, every step is the same. */
static void fill_steps(struct tsim_arena *arena, const struct tsim_scenario *sc, struct tsim_step_result *result) {
    if (result->steps)
        return;
    struct tsim_step_row *rows = TSIM_NEW_ARRAY(arena, (size_t)sc->simulation.steps, struct tsim_step_row);
    for (int32_t i = 0; i < sc->simulation.steps; i++)
        rows[i] = (struct tsim_step_row){.step = i, .time_s = result->terms.time_s};
    result->steps = rows;
    result->n_steps = (int32_t)sc->simulation.steps;
}

static void fill_input(const struct tsim_scenario *sc, const struct tsim_input_pipeline_flow *flow,
                       struct tsim_step_result *result) {
    static const char *const BOUNDS[] = {
        [TSIM_INPUT_BOUND_NONE] = "none",         [TSIM_INPUT_BOUND_STORAGE] = "storage",
        [TSIM_INPUT_BOUND_REQUESTS] = "requests", [TSIM_INPUT_BOUND_CPU] = "workers",
        [TSIM_INPUT_BOUND_LINK] = "link",         [TSIM_INPUT_BOUND_AHEAD] = "prefetch"};
    if (sc->data.has)
        result->input = (struct tsim_input_figures){.has = true,
                                                    .bound = BOUNDS[flow->bound],
                                                    .storage_busy_frac = flow->storage_frac,
                                                    .reading_busy_frac = flow->reading_frac,
                                                    .transforming_busy_frac = flow->transform_frac,
                                                    .link_busy_frac = flow->link_frac,
                                                    .host_buffer_bytes = tsim_data_host_bytes(sc)};
}

/* ---- diagnosis ---- */

static struct tsim_amount share_of_step(struct tsim_term_recorder *r, const char *name, const char *part, double part_s,
                                        struct tsim_amount step) {
    return tsim_product(r, name, "its time / step", TSIM_FRACTION,
                        TSIM_PARTS(tsim_elsewhere(r, part, part_s, TSIM_TIME_S), tsim_inverse(step)));
}

/* Kernels alone are no more than the passes that they are in: the rest of these waits for the host. */
static struct tsim_bound_shares bound_shares(struct tsim_term_recorder *r, const struct tsim_step_terms *t,
                                             double matrix_s, double memory_s) {
    double kernels_s = matrix_s + memory_s, busy_s = t->compute_s + t->recompute_s + t->optimizer_s;
    double scale = kernels_s > (1 - ROUNDING_FRAC) * busy_s ? busy_s / kernels_s : 1;
    double host_s = scale == 1 ? busy_s - kernels_s : 0;
    struct tsim_amount step = tsim_elsewhere(r, "step.time_s", t->time_s, TSIM_TIME_S);
    const struct tsim_amount passes[] = {tsim_elsewhere(r, "step.compute_s", t->compute_s, TSIM_TIME_S),
                                         tsim_elsewhere(r, "step.recompute_s", t->recompute_s, TSIM_TIME_S),
                                         tsim_elsewhere(r, "step.optimizer_s", t->optimizer_s, TSIM_TIME_S)};
    const struct {
        const char *name, *kernels, *formula;
        double time_s;
    } KERNELS[] = {{"bottleneck.shares.compute", "kernels that the matrix units bind",
                    "simulated: of the operator table, within their passes", scale * matrix_s},
                   {"bottleneck.shares.memory", "kernels that memory or their latency binds",
                    "simulated: of the operator table, within their passes", scale * memory_s},
                   {"bottleneck.shares.host", "passes and optimizer without their kernels",
                    "simulated: launching, which the host takes longer for than its kernels", host_s}};
    double shares[3];
    for (size_t i = 0; i < sizeof KERNELS / sizeof KERNELS[0]; i++) {
        struct tsim_amount of_kernels = tsim_outcome(r, KERNELS[i].kernels, KERNELS[i].formula, KERNELS[i].time_s,
                                                     TSIM_TIME_S, passes, sizeof passes / sizeof passes[0]);
        shares[i] = tsim_product(r, KERNELS[i].name, "their time / step", TSIM_FRACTION,
                                 TSIM_PARTS(of_kernels, tsim_inverse(step)))
                        .value;
    }
    return (struct tsim_bound_shares){
        .compute_frac = shares[0],
        .memory_frac = shares[1],
        .communication_frac = share_of_step(r, "bottleneck.shares.communication", "step.communication_exposed_s",
                                            t->communication_exposed_s, step)
                                  .value,
        .bubble_frac = share_of_step(r, "bottleneck.shares.bubble", "step.bubble_s", t->bubble_s, step).value,
        .data_frac = share_of_step(r, "bottleneck.shares.data", "step.data_stall_s", t->data_stall_s, step).value,
        .host_frac = shares[2]};
}

/* Returns the time of the step's products at the peak of the precision it trains in: less than that no plan and no
 * software makes of them. Recomputed products are left out, since a step can do without. */
static double least_s(const struct tsim_scenario *sc, const struct tsim_step_result *result) {
    double peak_flops_per_s = sc->cluster.node->accelerator->peak_flops_per_s[sc->training.precision], flops = 0;
    for (int32_t i = 0; i < result->n_operators; i++)
        if (result->operators[i].bound == TSIM_BOUND_COMPUTE && !result->operators[i].is_recompute)
            flops += result->operators[i].flops;
    return flops / peak_flops_per_s;
}

/* The bottleneck is the largest share that can be reduced; of the matrix units' share, the part above least_s. */
static void fill_bottleneck(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                            const struct tsim_stage_group_account *critical, struct tsim_step_result *result) {
    double matrix_s = 0, memory_s = 0;
    for (int32_t i = 0; i < result->n_operators; i++) {
        const struct tsim_operator_row *row = &result->operators[i];
        if (row->bound == TSIM_BOUND_COMPUTE)
            matrix_s += row->time_s;
        else if (row->bound == TSIM_BOUND_MEMORY || row->bound == TSIM_BOUND_LATENCY)
            memory_s += row->time_s;
    }
    struct tsim_bound_shares *b = &result->bounds;
    *b = bound_shares(r, &critical->terms, matrix_s, memory_s);
    b->least_frac = fmin(least_s(sc, result) / critical->terms.time_s, b->compute_frac);
    double computing = b->compute_frac - b->least_frac + b->host_frac;
    double largest = fmax(fmax(computing, b->memory_frac), fmax(b->communication_frac, b->bubble_frac));
    largest = fmax(largest, b->data_frac);
    result->bottleneck_is_data = largest == b->data_frac && largest > 0;
    result->bottleneck_is_bubble = largest == b->bubble_frac && largest > 0;
    result->bottleneck = largest == computing        ? TSIM_BOUND_COMPUTE
                         : largest == b->memory_frac ? TSIM_BOUND_MEMORY
                                                     : TSIM_BOUND_COMMUNICATION;
}

struct tsim_machine tsim_machine_of(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                    struct tsim_pass_memo *memo) {
    struct tsim_machine machine = {.cluster = tsim_cluster_build(arena, sc),
                                   .placement = tsim_placement_build(arena, sc)};
    machine.costs = tsim_pass_costs_of(arena, memo, sc, machine.cluster, machine.placement);
    return machine;
}

/* ---- the step ---- */

const struct tsim_scenario *tsim_step_begin(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                            struct tsim_pass_memo *memo, struct tsim_term_recorder *recorder,
                                            struct tsim_step_result *result) {
    memset(result, 0, sizeof *result);
    scenario = tsim_balance(arena, scenario, memo);
    fill_model(recorder, scenario, result);
    result->hardware_flops = tsim_executed_recorded(recorder, scenario).value;
    result->memory = tsim_fullest_stage(scenario, &result->fullest_stage);
    if (recorder)
        tsim_memory_record(recorder, scenario, result->fullest_stage);
    result->fits = tsim_memory_fits(&result->memory);
    return scenario;
}

void tsim_step_begin_any_split(const struct tsim_scenario *scenario, struct tsim_step_result *result) {
    memset(result, 0, sizeof *result);
    fill_model(NULL, scenario, result);
    result->hardware_flops = result->memory.peak_bytes = (double)NAN;
    result->fits = true;
}

/* The accelerators of a node share its host. */
enum tsim_status tsim_step_check_host(const struct tsim_scenario *sc, struct tsim_diags *diags) {
    const struct tsim_node *node = sc->cluster.node;
    double most_bytes = 0, per_node = (double)sc->cluster.accelerators_per_node;
    for (int32_t s = 0; s < sc->parallelism.pipeline; s++) {
        struct tsim_stage_memory m;
        tsim_stage_memory(sc, s, &m);
        most_bytes = fmax(most_bytes, per_node * m.host_bytes);
    }
    if (!(node->host_memory_bytes > 0) || most_bytes <= node->host_memory_bytes)
        return TSIM_OK;
    char needs[40], has[40];
    struct tsim_diag *diag =
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){sc->file, 0, 0}, "training.offload",
                         "%s of the host's memory are needed on each node, but a %.40s has %s",
                         tsim_quantity_human(most_bytes, TSIM_BYTES, needs, sizeof needs), node->name,
                         tsim_quantity_human(node->host_memory_bytes, TSIM_BYTES, has, sizeof has));
    tsim_diag_hint(diag, "more nodes with zero: 1, or a smaller share of the activations");
    return TSIM_ERR_INFEASIBLE;
}

static void record_terms(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                         const struct tsim_machine *machine, const struct tsim_stage_group_account *critical) {
    struct tsim_amount terms[TSIM_N_STEP_TERMS];
    struct tsim_amount stall = tsim_data_stall_record(r, sc, machine->placement, &critical->terms);
    tsim_step_terms_record(r, sc, machine->cluster, machine->placement, critical, stall, terms);
}

enum tsim_status tsim_step_predict(struct tsim_arena *arena, const struct tsim_scenario **scenario,
                                   const struct tsim_machine *machine, const struct tsim_step_sink *sink,
                                   struct tsim_term_recorder *recorder, bool is_brief, struct tsim_step_result *result,
                                   struct tsim_diags *diags) {
    const struct tsim_scenario *sc = *scenario;
    struct tsim_step_simulation *simulation = TSIM_NEW(arena, struct tsim_step_simulation);
    struct tsim_input_pipeline_flow *flow = TSIM_NEW(arena, struct tsim_input_pipeline_flow);
    const struct tsim_variation_job job = {sc, machine->cluster, machine->placement, machine->costs, is_brief};
    if (tsim_scenario_varies(sc))
        TSIM_TRY(tsim_variation_simulate(arena, &job, result, &sc, diags));
    TSIM_TRY(tsim_step_simulate_with_input(arena, sc, machine->cluster, machine->placement, machine->costs, sink,
                                           simulation, flow, diags));
    const struct tsim_stage_group_account *critical = critical_stage_group(simulation);
    result->simulated = true;
    result->terms = critical->terms;
    result->events = simulation->events;
    result->repeated_events = simulation->repeated_events;
    if (recorder)
        record_terms(recorder, sc, machine, critical);
    fill_input(sc, flow, result);
    fill_throughput(recorder, sc, result);
    record_fractions(recorder, &result->terms);
    fill_ranks(arena, sc, machine->cluster, simulation, is_brief, result);
    record_energy(recorder, machine->cluster, simulation);
    if (!is_brief) {
        fill_operators(arena, sc, machine->cluster, machine->placement, critical, result);
        fill_steps(arena, sc, result);
        fill_bottleneck(recorder, sc, critical, result);
    }
    result->simulation = simulation;
    result->flow = flow;
    *scenario = result->played = sc;
    return TSIM_OK;
}

enum tsim_status tsim_step_time_and_energy(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                           const struct tsim_machine *machine, double *time_s, double *energy_j,
                                           struct tsim_diags *diags) {
    struct tsim_step_simulation simulation;
    struct tsim_input_pipeline_flow flow;
    TSIM_TRY(tsim_step_simulate_with_input(arena, sc, machine->cluster, machine->placement, machine->costs, NULL,
                                           &simulation, &flow, diags));
    *time_s = simulation.time_s;
    *energy_j = 0;
    for (int32_t i = 0; i < simulation.n_stage_groups; i++)
        *energy_j +=
            tsim_stage_group_energy(NULL, machine->cluster, &simulation.stage_groups[i], simulation.time_s).value *
            simulation.stage_groups[i].multiplicity;
    return TSIM_OK;
}

enum tsim_status tsim_step_beside_others(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                         const struct tsim_machine *machine, double *time_s,
                                         const struct tsim_background_progress **progress, struct tsim_diags *diags) {
    struct tsim_step_simulation simulation;
    struct tsim_input_pipeline_flow flow;
    TSIM_TRY(tsim_step_simulate_with_input(arena, sc, machine->cluster, machine->placement, machine->costs, NULL,
                                           &simulation, &flow, diags));
    *time_s = simulation.time_s;
    *progress = simulation.background;
    return TSIM_OK;
}

/* ---- bounds ---- */

/* Every accelerator is switched on for the whole step and busy with its passes. */
static double energy_bound_j(struct tsim_arena *arena, const struct tsim_scenario *sc,
                             const struct tsim_machine *machine, double time_s) {
    double sum_j = 0, per_stage = (double)sc->n_accelerators / (double)sc->parallelism.pipeline;
    const struct tsim_stage_busy *busy = tsim_stages_busy(arena, sc, machine->costs);
    for (int32_t s = 0; s < sc->parallelism.pipeline; s++) {
        struct tsim_power_use use = {
            .time_s = time_s, .compute_busy_s = busy[s].matrix_s, .memory_busy_s = busy[s].memory_s};
        sum_j += per_stage *
                 (tsim_power_accelerator_j(machine->cluster, &use) + tsim_power_overhead_j(machine->cluster, &use));
    }
    return sum_j;
}

void tsim_step_bound_time(struct tsim_arena *arena, const struct tsim_scenario *sc, const struct tsim_machine *machine,
                          enum tsim_least of, struct tsim_step_result *result) {
    switch (of) {
    case TSIM_LEAST_ANY_SPLIT:
        result->terms.time_s = tsim_any_split_bound_s(sc, machine->costs);
        break;
    case TSIM_LEAST_PASSES:
        result->terms.time_s = tsim_passes_bound_s(sc, machine->costs);
        break;
    case TSIM_LEAST_STEP:
        result->terms.time_s = tsim_step_bound_s(
            arena, tsim_step_plan_build(arena, sc, machine->cluster, machine->placement, machine->costs, NULL, NULL),
            machine->placement);
        break;
    }
}

void tsim_step_bound(struct tsim_arena *arena, const struct tsim_scenario *sc, const struct tsim_machine *machine,
                     enum tsim_least of, struct tsim_step_result *result) {
    tsim_step_bound_time(arena, sc, machine, of, result);
    result->simulated = true;
    result->energy_j = energy_bound_j(arena, sc, machine, result->terms.time_s);
    result->mean_power_w = result->energy_j / result->terms.time_s;
    fill_throughput(NULL, sc, result);
}
