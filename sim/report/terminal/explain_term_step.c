/* Where the step goes, down to kernels and messages. Kernels follow cost/compute.h, what collectives add to a pass
 * step/pass.h; waits come out of the simulation. */
#include "base/normal.h"
#include "cost/compute.h"
#include "report/terminal/explain_sections.h"
#include "report/terminal/explain_term_build.h"
#include "step/pass.h"
#include "workload/memory.h"
#include "workload/optimizer.h"

#include <math.h>
#include <string.h>

static const char OF_SHAPE[] = "the operator's shape on one accelerator, from model, batch and plan "
                               "(sim/workload/operators.h)";
static const char OF_ALGORITHM[] = "counted in the algorithm";

static const struct tsim_accelerator *accelerator_of(const struct tsim_terms *terms) {
    return terms->scenario->cluster.node->accelerator;
}

static const struct tsim_term *file_value(struct tsim_terms *terms, const char *key, double value,
                                          enum tsim_dimension dimension) {
    return tsim_term_of_file(terms, TSIM_CATALOGUE_ACCELERATORS, key, value, dimension);
}

/* ---- shared ---- */

const struct tsim_term *tsim_term_accelerators(struct tsim_terms *terms) {
    const struct tsim_scenario *sc = terms->scenario;
    return tsim_term_times(terms, "accelerators", "nodes x accelerators of each", TSIM_COUNT,
                           tsim_term_of_scenario(terms, "cluster.nodes", (double)sc->cluster.nodes, TSIM_COUNT),
                           tsim_term_of_scenario(terms, "cluster.accelerators_per_node",
                                                 (double)sc->cluster.accelerators_per_node, TSIM_COUNT));
}

const struct tsim_term *tsim_term_microbatches(struct tsim_terms *terms) {
    const struct tsim_scenario *sc = terms->scenario;
    if (terms->microbatches)
        return terms->microbatches;
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, "micro-batches of a replica",
                                           "batch / replicas / micro-batch", (double)NAN, TSIM_COUNT);
    tsim_term_add(
        terms, term,
        tsim_term_of_scenario(terms, "training.global_batch_size", (double)sc->training.global_batch_size, TSIM_COUNT),
        1);
    tsim_term_add(terms, term,
                  tsim_term_of_scenario(terms, "parallelism.data", (double)sc->parallelism.data, TSIM_COUNT), -1);
    tsim_term_add(
        terms, term,
        tsim_term_of_scenario(terms, "training.micro_batch_size", (double)sc->training.micro_batch_size, TSIM_COUNT),
        -1);
    return terms->microbatches = tsim_term_close(terms, term, NULL);
}

const struct tsim_term *tsim_term_peak(struct tsim_terms *terms, enum tsim_precision precision) {
    const char *key = tsim_arena_printf(terms->arena, "peak.%s", tsim_precision_name(precision));
    return file_value(terms, key, accelerator_of(terms)->peak_flops_per_s[precision], TSIM_FLOPS_PER_S);
}

const struct tsim_term *tsim_term_slowest(struct tsim_terms *terms) {
    if (terms->slowest)
        return terms->slowest;
    double n = (double)terms->scenario->n_accelerators;
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_SUM, "time of the slowest accelerator over the mean's",
                                           "1 + spread x expected maximum of n normals", (double)NAN, TSIM_FRACTION);
    tsim_term_add(terms, term, tsim_term_given(terms, "the mean's", 1, TSIM_FRACTION, "definition"), 1);
    tsim_term_add(
        terms, term,
        tsim_term_times(
            terms, "excess of the slowest", "spread x expected maximum", TSIM_FRACTION,
            file_value(terms, "efficiency.speed_spread", accelerator_of(terms)->speed_spread_frac, TSIM_FRACTION),
            tsim_term_given(terms, tsim_arena_printf(terms->arena, "expected maximum of %.0f normals", n),
                            tsim_expected_maximum(n), TSIM_FRACTION,
                            "Blom 1958, Statistical Estimates and Transformed Beta-Variables")),
        1);
    return terms->slowest = tsim_term_close(terms, term, NULL);
}

const struct tsim_term *tsim_term_memory_rate(struct tsim_terms *terms) {
    const struct tsim_accelerator *a = accelerator_of(terms);
    if (!terms->memory_rate)
        terms->memory_rate =
            tsim_term_times(terms, "sustained memory rate", "bandwidth x sustained fraction", TSIM_BYTES_PER_S,
                            file_value(terms, "memory_bandwidth", a->memory_bytes_per_s, TSIM_BYTES_PER_S),
                            file_value(terms, "efficiency.memory_sustained", a->memory_sustained_frac, TSIM_FRACTION));
    return terms->memory_rate;
}

static const struct tsim_term *matrix_rate(struct tsim_terms *terms, enum tsim_precision precision) {
    if (terms->matrix_rate[precision])
        return terms->matrix_rate[precision];
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, "sustained matrix rate",
                                           "peak x sustained fraction / slowest", (double)NAN, TSIM_FLOPS_PER_S);
    const char *key = tsim_arena_printf(terms->arena, "efficiency.matrix_sustained.%s", tsim_precision_name(precision));
    tsim_term_add(terms, term, tsim_term_peak(terms, precision), 1);
    tsim_term_add(terms, term,
                  file_value(terms, key, accelerator_of(terms)->matrix_sustained_frac[precision], TSIM_FRACTION), 1);
    tsim_term_add(terms, term, tsim_term_slowest(terms), -1);
    return terms->matrix_rate[precision] = tsim_term_close(terms, term, NULL);
}

const struct tsim_term *tsim_term_link_rate(struct tsim_terms *terms, bool between_nodes) {
    const struct tsim_node *node = terms->scenario->cluster.node;
    const struct tsim_fabric *fabric = terms->scenario->cluster.fabric;
    if (terms->link_rate[between_nodes])
        return terms->link_rate[between_nodes];
    if (!between_nodes || !fabric) {
        bool is_host = node->scale_up == TSIM_SCALE_UP_NONE;
        return terms->link_rate[between_nodes] = tsim_term_of_file(
                   terms, TSIM_CATALOGUE_NODES, is_host ? "host_link" : "scale_up.ring_bandwidth",
                   is_host ? node->host_link_bytes_per_s : node->scale_up_ring_bytes_per_s, TSIM_BYTES_PER_S);
    }
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, "an accelerator's share of the NICs",
                                           "NICs of each x wire x efficiency / oversubscription",
                                           terms->cluster->nic_bytes_per_s, TSIM_BYTES_PER_S);
    bool is_nic = node->nic_bytes_per_s <= fabric->link_bytes_per_s;
    tsim_term_add(terms, term,
                  tsim_term_given(terms, "NICs that an accelerator uses", terms->cluster->nics_per_accelerator,
                                  TSIM_FRACTION, "node and software profile (sim/cluster/cluster.h)"),
                  1);
    tsim_term_add(
        terms, term,
        is_nic
            ? tsim_term_of_file(terms, TSIM_CATALOGUE_NODES, "nic_bandwidth", node->nic_bytes_per_s, TSIM_BYTES_PER_S)
            : tsim_term_of_file(terms, TSIM_CATALOGUE_FABRICS, "bandwidth", fabric->link_bytes_per_s, TSIM_BYTES_PER_S),
        1);
    tsim_term_add(
        terms, term,
        tsim_term_of_file(terms, TSIM_CATALOGUE_FABRICS, "efficiency", fabric->efficiency_frac, TSIM_FRACTION), 1);
    tsim_term_add(
        terms, term,
        tsim_term_of_file(terms, TSIM_CATALOGUE_FABRICS, "oversubscription", fabric->oversubscription, TSIM_FRACTION),
        -1);
    if (fabs(tsim_term_by_rule(term) / term->value - 1) > 1e-9)
        term->rule = TSIM_TERM_OUTCOME; /* a topology with links of its own kind */
    return terms->link_rate[between_nodes] = term;
}

/* ---- kernels ---- */

/* Which of the accelerator's attention rates the software's kernel takes (cost/compute.c). */
static const struct tsim_term *attention_rate(struct tsim_terms *terms, enum tsim_precision precision) {
    const struct tsim_accelerator *a = accelerator_of(terms);
    enum tsim_flash flash = tsim_flash_of(a, terms->scenario->software->attention_kernel);
    const char *key = tsim_arena_printf(terms->arena, "efficiency.attention.%s", tsim_flash_name(flash));
    const struct tsim_term *frac = file_value(terms, key, a->attention_frac[flash], TSIM_FRACTION);
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, "long-sequence rate",
                                           "peak x the kernel's fraction / slowest", (double)NAN, TSIM_FLOPS_PER_S);
    tsim_term_add(terms, term, tsim_term_peak(terms, precision), 1);
    tsim_term_add(terms, term, frac, 1);
    tsim_term_add(terms, term, tsim_term_slowest(terms), -1);
    return tsim_term_close(terms, term, NULL);
}

/* The shape makes this of the rate: a model of its own, whose result is what is left. */
static const struct tsim_term *shape_share(struct tsim_terms *terms, const struct tsim_op *op, double share_frac) {
    const struct tsim_accelerator *a = accelerator_of(terms);
    if (op->kind == TSIM_OP_FLASH) {
        struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, "share of it at this shape",
                                               "head dimension, length, forward or backward (sim/cost/compute.h)",
                                               share_frac, TSIM_FRACTION);
        tsim_term_add(terms, term, tsim_term_given(terms, "head dimension", op->head_dim, TSIM_COUNT, OF_SHAPE), 1);
        tsim_term_add(terms, term, tsim_term_given(terms, "tokens attended to", op->sequence, TSIM_COUNT, OF_SHAPE), 1);
        if (op->pieces > 1)
            tsim_term_add(terms, term, tsim_term_given(terms, "pieces of a ring", op->pieces, TSIM_COUNT, OF_SHAPE), 1);
        return term;
    }
    struct tsim_term *term = tsim_term_new(
        terms, TSIM_TERM_OUTCOME, "share of it at this shape",
        "tiles in waves over the units, and their start-up, a time (sim/cost/compute.h)", share_frac, TSIM_FRACTION);
    tsim_term_add(terms, term, file_value(terms, "compute_units", (double)a->compute_units, TSIM_COUNT), 1);
    tsim_term_add(terms, term, file_value(terms, "efficiency.matrix_ramp_k", a->matrix_ramp_k, TSIM_COUNT), 1);
    return term;
}

static const struct tsim_term *flops_of(struct tsim_terms *terms, const struct tsim_op *op) {
    struct tsim_term *term = tsim_term_given(terms, "FLOPs", op->flops, TSIM_FLOPS, OF_SHAPE);
    if (op->kind == TSIM_OP_GEMM)
        term->formula = tsim_arena_printf(
            terms->arena, op->batch > 1 ? "2 x %.0f x %.0f x %.0f, %.0f times" : "2 x %.0f x %.0f x %.0f", op->m, op->n,
            op->k, op->batch);
    return term;
}

static const struct tsim_term *matrix_time(struct tsim_terms *terms, const struct tsim_pass_operator *op) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, "on the matrix units", "FLOPs / rate / share",
                                           op->matrix_s, TSIM_TIME_S);
    const struct tsim_term *rate = op->op->kind == TSIM_OP_FLASH ? attention_rate(terms, op->op->precision)
                                                                 : matrix_rate(terms, op->op->precision);
    tsim_term_add(terms, term, flops_of(terms, op->op), 1);
    tsim_term_add(terms, term, rate, -1);
    tsim_term_add(terms, term, shape_share(terms, op->op, op->op->flops / rate->value / op->matrix_s), -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *memory_time(struct tsim_terms *terms, const struct tsim_pass_operator *op) {
    return tsim_term_over(terms, "on memory", "bytes / rate", TSIM_TIME_S,
                          tsim_term_given(terms, "bytes read and written", op->op->bytes, TSIM_BYTES, OF_SHAPE),
                          tsim_term_memory_rate(terms));
}

static const struct tsim_term *launch_time(struct tsim_terms *terms, const struct tsim_op *op) {
    const struct tsim_term *latency =
        file_value(terms, "efficiency.kernel_latency", accelerator_of(terms)->kernel_latency_s, TSIM_TIME_S);
    if (op->kernels == 1)
        return latency;
    return tsim_term_times(terms, "latency of its kernels", "kernels x latency", TSIM_TIME_S,
                           tsim_term_given(terms, "kernels", op->kernels, TSIM_COUNT, OF_SHAPE), latency);
}

static const struct tsim_term *exchange_time(struct tsim_terms *terms, const struct tsim_pass_operator *op) {
    return tsim_term_over(terms, "exchange between the units", "bytes / rate", TSIM_TIME_S,
                          tsim_term_given(terms, "bytes read and written", op->op->bytes, TSIM_BYTES, OF_SHAPE),
                          file_value(terms, "exchange", accelerator_of(terms)->exchange_bytes_per_s, TSIM_BYTES_PER_S));
}

static const struct tsim_term *kernel_time(struct tsim_terms *terms, const struct tsim_pass_operator *op) {
    bool has_matrix = op->matrix_s > 0;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, op->op->name,
                      has_matrix ? "max(matrix units, memory) + latency" : "memory + latency", op->time_s, TSIM_TIME_S);
    if (has_matrix) {
        struct tsim_term *roofline =
            tsim_term_new(terms, TSIM_TERM_MAX, "roofline", "the longer of the two", (double)NAN, TSIM_TIME_S);
        tsim_term_add(terms, roofline, matrix_time(terms, op), 1);
        tsim_term_add(terms, roofline, memory_time(terms, op), 1);
        tsim_term_add(terms, term, tsim_term_close(terms, roofline, NULL), 1);
    } else {
        tsim_term_add(terms, term, memory_time(terms, op), 1);
    }
    if (op->exchange_s > 0)
        tsim_term_add(terms, term, exchange_time(terms, op), 1);
    tsim_term_add(terms, term, launch_time(terms, op->op), 1);
    return tsim_term_close(terms, term, NULL);
}

/* ---- collectives inside passes ---- */

/* Collectives of one kind, size and group are one node. */
static const struct tsim_term *alone_time(struct tsim_terms *terms, const struct tsim_pass_operator *op) {
    struct tsim_group group = tsim_placement_group(terms->placement, 1u << op->op->axis);
    for (int32_t i = 0; i < terms->n_alone; i++) {
        const struct tsim_term *same = terms->alone[i];
        if (same->value == op->time_s && same->parts[0].term->value == op->op->collective_bytes &&
            same->parts[1].term->value == group.n_ranks)
            return same;
    }
    struct tsim_term *alone =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, "alone", "NCCL's tuning model over these links (sim/cost/collective.h)",
                      op->time_s, TSIM_TIME_S);
    tsim_term_add(terms, alone, tsim_term_given(terms, "bytes", op->op->collective_bytes, TSIM_BYTES, OF_SHAPE), 1);
    tsim_term_add(terms, alone,
                  tsim_term_given(terms, "ranks", group.n_ranks, TSIM_COUNT, "the plan and the order of ranks"), 1);
    tsim_term_add(terms, alone, tsim_term_link_rate(terms, false), 1);
    if (group.n_nodes > 1)
        tsim_term_add(terms, alone, tsim_term_link_rate(terms, true), 1);
    if (terms->n_alone < TSIM_MAX_OPS)
        terms->alone[terms->n_alone++] = alone;
    return alone;
}

static const struct tsim_term *exposed_time(struct tsim_terms *terms, const struct tsim_pass_operator *op) {
    static const char *const FORMULAS[] = {
        [TSIM_EXPOSED] = "all of it: nothing runs beside it",
        [TSIM_PIPELINED_NEXT] = "what the product beside it, cut into chunks, does not hide (sim/step/pass.h)",
        [TSIM_PIPELINED_PREVIOUS] = "what the product beside it, cut into chunks, does not hide (sim/step/pass.h)",
        [TSIM_CONCURRENT_NEXT] = "what outlasts the product beside it, and what it takes from that (sim/step/pass.h)",
        [TSIM_CONCURRENT_PASS] = "what the other micro-batch's kernels do not hide (sim/step/pass.h)"};
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, op->op->name, FORMULAS[op->op->overlap], op->exposed_s, TSIM_TIME_S);
    tsim_term_add(terms, term, alone_time(terms, op), 1);
    return term;
}

/* ---- sums over the operators of the critical rank ---- */

enum wanted { WANT_COMPUTE, WANT_RECOMPUTE, WANT_EXPOSED };

struct walk {
    struct tsim_terms *terms;
    enum wanted wanted;
    enum tsim_axis axis;     /* WANT_EXPOSED */
    struct tsim_term *group; /* one pass of a part */
};

static void visit(void *context, const struct tsim_pass_operator *op) {
    struct walk *walk = context;
    bool is_collective = op->op->kind == TSIM_OP_COLLECTIVE, is_again = strcmp(op->phase, "recompute") == 0;
    if (walk->wanted == WANT_EXPOSED) {
        if (is_collective && op->op->axis == walk->axis && op->exposed_s > 0)
            tsim_term_add(walk->terms, walk->group, exposed_time(walk->terms, op), 1);
    } else if (!is_collective && is_again == (walk->wanted == WANT_RECOMPUTE)) {
        tsim_term_add(walk->terms, walk->group, kernel_time(walk->terms, op), 1);
    }
}

/* How often a part runs in a step: micro-batches x times in each. */
static const struct tsim_term *times_of(struct tsim_terms *terms, double count) {
    double microbatches = (double)terms->scenario->n_microbatches;
    return tsim_term_times(terms, "times in a step", "micro-batches x times in each", TSIM_COUNT,
                           tsim_term_microbatches(terms),
                           tsim_term_given(terms, "times in a micro-batch", count / microbatches, TSIM_FRACTION,
                                           "layers of the stage (parallelism.layers_per_stage) and the schedule"));
}

static void add_groups(struct walk *walk, struct tsim_term *sum) {
    static const char *const KINDS[TSIM_N_PASS_KINDS] = {"forward", "backward", "input gradient", "weight gradient"};
    struct tsim_terms *terms = walk->terms;
    int32_t stage = tsim_explain_critical_rank(terms->explanation->result)->stage;
    struct tsim_part_counts counts = tsim_stage_part_counts(terms->scenario, stage);
    struct tsim_stage_part own;
    const struct tsim_scenario *of_stage = tsim_stage_part(terms->scenario, stage, &own);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++) {
            double count = counts.times[kind][part];
            const char *name =
                tsim_arena_printf(terms->arena, "%s, %s", tsim_layer_kind((enum tsim_part)part)->word, KINDS[kind]);
            if (count <= 0)
                continue;
            walk->group = tsim_term_new(terms, TSIM_TERM_SUM, "once", "the sum of", (double)NAN, TSIM_TIME_S);
            tsim_pass_visit(of_stage, terms->cluster, terms->placement, (enum tsim_part)part, (enum tsim_pass_kind)kind,
                            visit, walk);
            if (walk->group->n_parts > 0)
                tsim_term_add(terms, sum,
                              tsim_term_times(terms, name, "times x once", TSIM_TIME_S, times_of(terms, count),
                                              tsim_term_close(terms, walk->group, NULL)),
                              1);
        }
}

static const struct tsim_term *operators_term(struct tsim_terms *terms, const char *name, double value_s,
                                              enum wanted wanted, enum tsim_axis axis, const char *rest) {
    struct walk walk = {.terms = terms, .wanted = wanted, .axis = axis};
    struct tsim_term *sum =
        tsim_term_new(terms, TSIM_TERM_SUM, name, "over the parts of the slowest rank's stage", value_s, TSIM_TIME_S);
    add_groups(&walk, sum);
    return tsim_term_close(terms, sum, rest);
}

/* ---- waits, from the simulation ---- */

static const struct tsim_term *pass_time(struct tsim_terms *terms, enum tsim_pass_kind kind, const char *name) {
    const struct tsim_stage_slices *stage =
        &terms->explanation->timeline->stages[tsim_explain_critical_rank(terms->explanation->result)->stage];
    for (int32_t i = 0; i < stage->n; i++)
        if (stage->slices[i].item.kind == kind)
            return tsim_term_given(terms, name, stage->slices[i].end_s - stage->slices[i].begin_s, TSIM_TIME_S,
                                   "operators of the pass: tsim explain SCENARIO step.compute_s");
    return NULL;
}

/* Seconds of a stage for a micro-batch: over its chunks, or of one where the backward pass is split. */
static struct tsim_stage_times stage_times(const struct tsim_timeline *timeline, int32_t stage) {
    bool is_split = tsim_schedule_splits_backward(timeline->shape.schedule);
    double times_s[TSIM_N_PASS_KINDS] = {0};
    for (int32_t i = 0; i < timeline->stages[stage].n; i++) {
        const struct tsim_slice *slice = &timeline->stages[stage].slices[i];
        double *time_s = &times_s[slice->item.kind];
        if (slice->item.microbatch == 0 && (!is_split || *time_s == 0))
            *time_s += slice->end_s - slice->begin_s;
    }
    return (struct tsim_stage_times){.forward_s = times_s[TSIM_PASS_FORWARD],
                                     .input_s = times_s[is_split ? TSIM_PASS_INPUT_GRADIENT : TSIM_PASS_BACKWARD],
                                     .weight_s = times_s[TSIM_PASS_WEIGHT_GRADIENT]};
}

/* The papers say this of equal stages and free messages. */
static const struct tsim_term *published_bubble(struct tsim_terms *terms) {
    const struct tsim_timeline *timeline = terms->explanation->timeline;
    int32_t stage = tsim_explain_critical_rank(terms->explanation->result)->stage;
    return tsim_term_given(terms, "for comparison, equal stages and free messages",
                           tsim_schedule_bubble_s(&timeline->shape, stage_times(timeline, stage)), TSIM_TIME_S,
                           "the schedule's published closed form (sim/workload/schedule.h)");
}

static const struct tsim_term *bubble_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_parallelism_spec *p = &terms->scenario->parallelism;
    static const struct {
        enum tsim_pass_kind kind;
        const char *name;
    } PASSES[] = {{TSIM_PASS_FORWARD, "a forward pass"},
                  {TSIM_PASS_BACKWARD, "a backward pass"},
                  {TSIM_PASS_INPUT_GRADIENT, "an input gradient"},
                  {TSIM_PASS_WEIGHT_GRADIENT, "a weight gradient"}};
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                      tsim_arena_printf(terms->arena, "waits of the slowest rank for other stages, simulated: %s",
                                        tsim_schedule_name(p->schedule)),
                      terms->explanation->result->step.terms.bubble_s, TSIM_TIME_S);
    tsim_term_add(terms, term, tsim_term_of_scenario(terms, "parallelism.pipeline", (double)p->pipeline, TSIM_COUNT),
                  1);
    tsim_term_add(terms, term,
                  tsim_term_of_scenario(terms, "parallelism.virtual_pipeline", (double)p->virtual_pipeline, TSIM_COUNT),
                  1);
    tsim_term_add(terms, term, tsim_term_microbatches(terms), 1);
    for (size_t i = 0; i < sizeof PASSES / sizeof PASSES[0]; i++) {
        const struct tsim_term *pass = pass_time(terms, PASSES[i].kind, PASSES[i].name);
        if (pass)
            tsim_term_add(terms, term, pass, 1);
    }
    tsim_term_add(terms, term, published_bubble(terms), 1);
    return term;
}

static bool is_between_nodes(const struct tsim_terms *terms, unsigned axes) {
    return tsim_placement_group(terms->placement, axes).n_nodes > 1;
}

static const struct tsim_term *message_bytes(struct tsim_terms *terms) {
    const struct tsim_scenario *sc = terms->scenario;
    int32_t stage = tsim_explain_critical_rank(terms->explanation->result)->stage;
    if (sc->model->list)
        return tsim_term_given(terms, "bytes of a message",
                               tsim_message_bytes(sc, stage, stage > 0 ? stage - 1 : stage + 1), TSIM_BYTES,
                               "the tensor between two blocks (sim/workload/layer_list.h)");
    double element_bytes = sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32 ? 4 : 2;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_PRODUCT, "bytes of a message from each rank",
                      "micro-batch x sequence / context x hidden x bytes / tensor", (double)NAN, TSIM_BYTES);
    tsim_term_add(
        terms, term,
        tsim_term_of_scenario(terms, "training.micro_batch_size", (double)sc->training.micro_batch_size, TSIM_COUNT),
        1);
    tsim_term_add(
        terms, term,
        tsim_term_of_scenario(terms, "training.sequence_length", (double)sc->training.sequence_length, TSIM_COUNT), 1);
    tsim_term_add(terms, term,
                  tsim_term_of_scenario(terms, "parallelism.context", (double)sc->parallelism.context, TSIM_COUNT), -1);
    tsim_term_add(terms, term,
                  tsim_term_of_file(terms, TSIM_CATALOGUE_MODELS, "hidden", (double)sc->model->hidden, TSIM_COUNT), 1);
    tsim_term_add(terms, term,
                  tsim_term_given(terms, "bytes of an activation", element_bytes, TSIM_BYTES,
                                  "training.precision of the scenario"),
                  1);
    tsim_term_add(terms, term,
                  tsim_term_of_scenario(terms, "parallelism.tensor", (double)sc->parallelism.tensor, TSIM_COUNT), -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *pipeline_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_stage_group_account *account = &terms->explanation->account;
    bool is_async = terms->scenario->parallelism.overlap.pipeline;
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                                           is_async ? "waits for messages under way, simulated"
                                                    : "messages in line with the passes, simulated",
                                           account->terms.exposed_pipeline_s, TSIM_TIME_S);
    if (terms->scenario->parallelism.pipeline == 1)
        return term;
    tsim_term_add(terms, term, message_bytes(terms), 1);
    tsim_term_add(terms, term, tsim_term_link_rate(terms, is_between_nodes(terms, 1u << TSIM_AXIS_PIPELINE)), 1);
    return term;
}

static const struct tsim_term *data_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_stage_group_account *a = &terms->explanation->account;
    const struct tsim_scenario *sc = terms->scenario;
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name, "waits for the data-parallel group, simulated",
                                          a->terms.exposed_data_s, TSIM_TIME_S);
    struct tsim_term *gathers = tsim_term_new(terms, TSIM_TERM_OUTCOME, "waits for parameters",
                                              "gathers that no pass hides", a->exposed_gather_s, TSIM_TIME_S),
                     *reductions = tsim_term_new(terms, TSIM_TERM_OUTCOME, "waits for reductions",
                                                 "reductions that no pass hides", a->exposed_reduce_s, TSIM_TIME_S);
    const struct tsim_term *parameters = tsim_term_stage_parameters(terms, a->stage),
                           *rate = tsim_term_link_rate(
                               terms, is_between_nodes(terms, 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT));
    if (a->exposed_gather_s > 0) {
        tsim_term_add(terms, gathers, parameters, 1);
        tsim_term_add(terms, gathers,
                      tsim_term_given(terms, "bytes of a weight", tsim_weight_bytes(sc->training.precision), TSIM_BYTES,
                                      "training.precision of the scenario"),
                      1);
        tsim_term_add(terms, gathers, rate, 1);
        tsim_term_add(terms, sum, gathers, 1);
    }
    if (a->exposed_reduce_s > 0) {
        tsim_term_add(terms, reductions, parameters, 1);
        tsim_term_add(terms, reductions,
                      tsim_term_given(terms, "bytes of a gradient", tsim_gradient_bytes(sc), TSIM_BYTES,
                                      "training.gradient_precision of the scenario"),
                      1);
        tsim_term_add(terms, reductions, rate, 1);
        tsim_term_add(terms, sum, reductions, 1);
    }
    if (a->exposed_norm_s > 0)
        tsim_term_add(terms, sum,
                      tsim_term_new(terms, TSIM_TERM_OUTCOME, "the gradient's norm",
                                    "an all-reduce of one number over all ranks (sim/cost/collective.h)",
                                    a->exposed_norm_s, TSIM_TIME_S),
                      1);
    if (a->interference_s > 0)
        tsim_term_add(terms, sum,
                      tsim_term_new(terms, TSIM_TERM_OUTCOME, "passes slowed by collectives beside them",
                                    "a layer on the compute units and memory bandwidth that they leave",
                                    a->interference_s, TSIM_TIME_S),
                      1);
    return tsim_term_close(terms, sum, "other waits");
}

static const struct tsim_term *optimizer_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_scenario *sc = terms->scenario;
    double value_s = terms->explanation->result->step.terms.optimizer_s,
           shards = sc->parallelism.zero >= 1 ? tsim_shards(sc) : 1;
    if (sc->training.offload.optimizer)
        return tsim_term_new(
            terms, TSIM_TERM_OUTCOME, name,
            "gradients to the host, where the backward pass does not hide them, and the longer of its update "
            "and of the weights' way back (step/step_plan.c)",
            value_s, TSIM_TIME_S);
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, name, "memory traffic + kernels", value_s, TSIM_TIME_S);
    struct tsim_term *traffic =
        tsim_term_new(terms, TSIM_TERM_PRODUCT, "memory traffic", "parameters / shards x bytes moved for each / rate",
                      (double)NAN, TSIM_TIME_S);
    tsim_term_add(terms, traffic, tsim_term_stage_parameters(terms, terms->explanation->account.stage), 1);
    tsim_term_add(terms, traffic,
                  tsim_term_given(terms, "ranks that shard it", shards, TSIM_COUNT,
                                  "parallelism.zero and zero_group of the scenario"),
                  -1);
    tsim_term_add(terms, traffic,
                  tsim_term_of_file(terms, TSIM_CATALOGUE_SOFTWARE, "optimizer_traffic",
                                    sc->software->optimizer_traffic_bytes, TSIM_BYTES),
                  1);
    struct tsim_optimizer_cost cost;
    tsim_optimizer_cost(sc, &cost);
    double over_adam = cost.traffic_bytes / sc->software->optimizer_traffic_bytes;
    if (fabs(over_adam - 1) > 1e-12)
        tsim_term_add(terms, traffic,
                      tsim_term_given(terms, "least traffic over Adam's", over_adam, TSIM_FRACTION,
                                      "training.optimizer of the scenario (sim/workload/optimizer.h)"),
                      1);
    tsim_term_add(terms, traffic, tsim_term_memory_rate(terms), -1);
    tsim_term_add(terms, term, tsim_term_close(terms, traffic, NULL), 1);
    tsim_term_add(terms, term,
                  tsim_term_times(terms, "latency of its kernels", "kernels x latency", TSIM_TIME_S,
                                  tsim_term_given(terms, "kernels", 4, TSIM_COUNT, OF_ALGORITHM),
                                  file_value(terms, "efficiency.kernel_latency",
                                             accelerator_of(terms)->kernel_latency_s, TSIM_TIME_S)),
                  1);
    return tsim_term_close(terms, term, "experts, its own products, and collectives beside it");
}

/* ---- by name ---- */

static const struct tsim_term *exposed_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_step_terms *t = &terms->explanation->result->step.terms;
    if (strcmp(name, "communication_exposed.tensor_s") == 0)
        return operators_term(terms, name, t->exposed_tensor_s, WANT_EXPOSED, TSIM_AXIS_TENSOR, "in other passes");
    if (strcmp(name, "communication_exposed.context_s") == 0)
        return operators_term(terms, name, t->exposed_context_s, WANT_EXPOSED, TSIM_AXIS_CONTEXT, "in other passes");
    if (strcmp(name, "communication_exposed.expert_s") == 0)
        return operators_term(terms, name, t->exposed_expert_s, WANT_EXPOSED, TSIM_AXIS_EXPERT,
                              "beside other micro-batches' kernels");
    if (strcmp(name, "communication_exposed.pipeline_s") == 0)
        return pipeline_term(terms, name);
    return data_term(terms, name);
}

static const struct tsim_term *all_exposed(struct tsim_terms *terms, const char *name) {
    static const char *const KINDS[] = {"communication_exposed.tensor_s", "communication_exposed.pipeline_s",
                                        "communication_exposed.data_s", "communication_exposed.context_s",
                                        "communication_exposed.expert_s"};
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name, "the sum of its kinds",
                                          terms->explanation->result->step.terms.communication_exposed_s, TSIM_TIME_S);
    return tsim_term_close_kinds(terms, sum, KINDS, sizeof KINDS / sizeof KINDS[0], exposed_term);
}

static const struct tsim_term *whole_step(struct tsim_terms *terms, const char *name) {
    static const char *const KINDS[] = {"step.compute_s",   "step.recompute_s",
                                        "step.bubble_s",    "step.communication_exposed_s",
                                        "step.optimizer_s", "step.data_stall_s"};
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name, "the terms of the slowest rank",
                                          terms->explanation->result->step.terms.time_s, TSIM_TIME_S);
    return tsim_term_close_kinds(terms, sum, KINDS, sizeof KINDS / sizeof KINDS[0], tsim_term_of_step);
}

const struct tsim_term *tsim_term_of_step(struct tsim_terms *terms, const char *name) {
    const struct tsim_step_terms *t = &terms->explanation->result->step.terms;
    if (strcmp(name, "step.time_s") == 0)
        return whole_step(terms, name);
    if (strcmp(name, "step.compute_s") == 0)
        return operators_term(terms, name, t->compute_s, WANT_COMPUTE, TSIM_AXIS_TENSOR, "waiting for the host");
    if (strcmp(name, "step.recompute_s") == 0)
        return operators_term(terms, name, t->recompute_s, WANT_RECOMPUTE, TSIM_AXIS_TENSOR, "in other passes");
    if (strcmp(name, "step.bubble_s") == 0)
        return bubble_term(terms, name);
    if (strcmp(name, "step.optimizer_s") == 0)
        return optimizer_term(terms, name);
    if (strcmp(name, "step.data_stall_s") == 0)
        return tsim_recorded_term(terms->explanation->result->recorder, name);
    if (strcmp(name, "step.communication_exposed_s") == 0)
        return all_exposed(terms, name);
    return exposed_term(terms, name);
}
