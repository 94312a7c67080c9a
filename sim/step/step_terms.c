#include "step/step_terms.h"

#include "config/provenance.h"
#include "cost/compute.h"
#include "cost/update.h"
#include "model/compression.h"
#include "model/parameter_bytes.h"
#include "partition/partition.h"
#include "step/part_counts.h"
#include "step/pass/pass.h"

#include <string.h>

static const char OF_OPERATORS[] = "operators of the pass: tsim explain SCENARIO step.compute_s";

struct walk {
    struct tsim_term_recorder *r;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_stage_group_account *account;
    double pass_s[TSIM_N_PASS_KINDS]; /* of a step, by what passes do */
    struct tsim_part_list compute, recompute, exposed[TSIM_N_AXES];
    /* These are the terms of one pass through a part. */
    struct tsim_part_list once_compute, once_recompute, once_exposed[TSIM_N_AXES];
    double once_s;
};

/* ---- operators ---- */

static struct tsim_amount exposed_time(const struct walk *w, const struct tsim_pass_operator *op) {
    struct tsim_amount alone = {.value = op->time_s,
                                .term = tsim_pass_collective_term(w->r, w->scenario, w->cluster, w->placement, op->op)};
    if (op->exposed_s == op->time_s)
        return tsim_sum(w->r, op->op->name, "all of it: nothing runs beside it", TSIM_TIME_S, TSIM_PARTS(alone));
    return tsim_outcome(w->r, op->op->name,
                        "part that concurrent kernels do not hide, simulated (sim/step/pass/pass_program.h)",
                        op->exposed_s, TSIM_TIME_S, TSIM_PARTS(alone));
}

/* Returns the time of a kernel; if passes differ in length, the mean over them. */
static struct tsim_amount kernel_time(const struct walk *w, const struct tsim_pass_operator *op) {
    struct tsim_kernel_cost cost;
    struct tsim_amount time = tsim_kernel_recorded(w->r, w->cluster->accelerator, w->scenario->software, op->op, &cost);
    if (op->time_s == time.value)
        return time;
    return tsim_product(w->r, op->op->name, "time at the mean length x factor of the lengths", TSIM_TIME_S,
                        TSIM_PARTS(time, tsim_given(w->r, "mean over all lengths, over that of the mean length",
                                                    op->time_s / time.value, TSIM_FRACTION,
                                                    "training.lengths of the scenario (sim/config/lengths.h)")));
}

static void visit(void *context, const struct tsim_pass_operator *op) {
    struct walk *w = context;
    if (op->op->kind == TSIM_OP_COLLECTIVE) {
        w->once_s += op->exposed_s;
        if (op->exposed_s > 0)
            tsim_part_add(&w->once_exposed[op->op->axis], exposed_time(w, op));
        return;
    }
    w->once_s += op->time_s;
    tsim_part_add(strcmp(op->phase, "recompute") == 0 ? &w->once_recompute : &w->once_compute, kernel_time(w, op));
}

static struct tsim_amount microbatches(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    const struct tsim_training_spec *t = &sc->training;
    return tsim_product(
        r, "micro-batches of a replica", "batch / replicas / micro-batch", TSIM_COUNT,
        TSIM_PARTS(
            tsim_of_scenario(r, "training.global_batch_size", (double)t->global_batch_size, TSIM_COUNT),
            tsim_inverse(tsim_of_scenario(r, "parallelism.data", (double)sc->parallelism.data, TSIM_COUNT)),
            tsim_inverse(tsim_of_scenario(r, "training.micro_batch_size", (double)t->micro_batch_size, TSIM_COUNT))));
}

static void add_times(struct walk *w, const char *name, double count, const struct tsim_part_list *once,
                      struct tsim_part_list *sum) {
    struct tsim_amount all = microbatches(w->r, w->scenario);
    if (once->n == 0)
        return;
    struct tsim_amount each = tsim_given(w->r, "times in a micro-batch", count / all.value, TSIM_FRACTION,
                                         "layers of the stage (parallelism.layers_per_stage) and the schedule");
    struct tsim_amount times =
        tsim_product(w->r, "times in a step", "micro-batches x times in each", TSIM_COUNT, TSIM_PARTS(all, each));
    tsim_part_add(sum, tsim_product(w->r, name, "times x once", TSIM_TIME_S,
                                    TSIM_PARTS(times, tsim_sum_of(once, "once", "the sum of", TSIM_TIME_S))));
}

static void walk_part(struct walk *w, const struct tsim_scenario *of_stage, enum tsim_part part, int way,
                      double count) {
    static const char *const KINDS[TSIM_N_PASS_KINDS] = {"forward", "backward", "input gradient", "weight gradient"};
    enum tsim_pass_kind kind = tsim_kind_of_way(way);
    const char *name =
        tsim_record_text(w->r, "%s, %s%s%s", tsim_layer_kind(part)->word, KINDS[kind],
                         tsim_way_keeps(way) ? ", not recomputed" : "", tsim_way_is_alone(way) ? ", alone" : "");
    const struct tsim_part_list none = {.recorder = w->r};
    w->once_compute = w->once_recompute = none;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        w->once_exposed[axis] = none;
    w->once_s = 0;
    tsim_pass_visit(of_stage, w->cluster, w->placement, part, way, visit, w);
    w->pass_s[kind] += count * w->once_s;
    add_times(w, name, count, &w->once_compute, &w->compute);
    add_times(w, name, count, &w->once_recompute, &w->recompute);
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        add_times(w, name, count, &w->once_exposed[axis], &w->exposed[axis]);
}

static void walk_stage(struct walk *w) {
    struct tsim_part_counts counts = tsim_stage_part_counts(w->scenario, w->account->stage);
    struct tsim_stage_part own;
    const struct tsim_scenario *of_stage = tsim_stage_part(w->scenario, w->account->stage, &own);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (int way = 0; way < TSIM_N_LAYER_WAYS; way++)
            if (counts.times[way][part] > 0)
                walk_part(w, of_stage, (enum tsim_part)part, way, counts.times[way][part]);
}

/* ---- passes ---- */

/* Returns a term that is the sum of its operators, or that was simulated from them. */
static struct tsim_amount of_passes(const struct walk *w, const char *name, const struct tsim_part_list *parts,
                                    double simulated_s) {
    if (!w->account->plays_operators)
        return tsim_sum_of(parts, name, "sum over the parts of the slowest rank's stage", TSIM_TIME_S);
    return tsim_outcome(w->r, name, "operators as they ran, simulated; each of the parts is what they take alone",
                        simulated_s, TSIM_TIME_S, parts->parts, (size_t)parts->n);
}

/* Kernels of a slower accelerator, what is waited for, and chance. */
static struct tsim_amount of_kernels(const struct walk *w, const char *name, const struct tsim_part_list *kernels,
                                     double wait_s, double copy_wait_s, double chance_s) {
    struct tsim_term_recorder *r = w->r;
    struct tsim_part_list all = *kernels;
    const struct tsim_software *software = w->scenario->software;
    if (w->account->slowdown != 1) {
        all = (struct tsim_part_list){.recorder = r};
        tsim_part_add(
            &all, tsim_product(r, "kernels", "slowdown x at the usual rate", TSIM_TIME_S,
                               TSIM_PARTS(tsim_given(r, "slowdown", w->account->slowdown, TSIM_FRACTION,
                                                     "variability and degraded links of the scenario"),
                                          tsim_sum_of(kernels, "at the usual rate", "sum of all parts", TSIM_TIME_S))));
    }
    if (wait_s != 0)
        tsim_part_add(
            &all, tsim_outcome(r, "waiting for the host",
                               "kernels that had not been launched, simulated (sim/step/pass/host_stream.h)", wait_s,
                               TSIM_TIME_S,
                               TSIM_PARTS(tsim_of_file(r, TSIM_CATALOGUE_SOFTWARE, software->name, "host_time_per_op",
                                                       software->host_time_per_op_s, TSIM_TIME_S))));
    if (copy_wait_s != 0)
        tsim_part_add(&all,
                      tsim_outcome(r, "waiting for copies to and from the host",
                                   "copies that outlast their pass, beside what else crosses the accelerator's "
                                   "slot, and what they take of HBM from kernels, simulated (sim/step/groups/copies.h)",
                                   copy_wait_s, TSIM_TIME_S,
                                   TSIM_PARTS(tsim_of_file(r, TSIM_CATALOGUE_NODES, w->cluster->node->name, "host_link",
                                                           w->cluster->host_link_bytes_per_s, TSIM_BYTES_PER_S))));
    if (chance_s != 0)
        tsim_part_add(&all,
                      tsim_outcome(r, "variation between passes", "drawn for each, simulated (sim/step/groups/noise.h)",
                                   chance_s, TSIM_TIME_S, NULL, 0));
    return tsim_sum_of(&all, name, "sum over the parts of the slowest rank's stage", TSIM_TIME_S);
}

/* ---- waits ---- */

static struct tsim_amount microbatch_pass(const struct walk *w, enum tsim_pass_kind kind, const char *name) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(w->scenario);
    double passes = tsim_schedule_chunk_microbatches(&shape) * (double)shape.chunks;
    return tsim_given(w->r, name, w->pass_s[kind] / passes, TSIM_TIME_S, OF_OPERATORS);
}

/* Takes from the papers the bubble of equal stages and free messages. */
static double published_bubble_s(const struct walk *w) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(w->scenario);
    bool is_split = tsim_schedule_splits_backward(shape.schedule);
    double microbatches = tsim_schedule_chunk_microbatches(&shape) * (is_split ? (double)shape.chunks : 1);
    return tsim_schedule_bubble_s(
        &shape, (struct tsim_stage_times){
                    .forward_s = w->pass_s[TSIM_PASS_FORWARD] / microbatches,
                    .input_s = w->pass_s[is_split ? TSIM_PASS_INPUT_GRADIENT : TSIM_PASS_BACKWARD] / microbatches,
                    .weight_s = w->pass_s[TSIM_PASS_WEIGHT_GRADIENT] / microbatches});
}

static struct tsim_amount bubble(const struct walk *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    static const char *const PASSES[TSIM_N_PASS_KINDS] = {
        [TSIM_PASS_FORWARD] = "a forward pass",
        [TSIM_PASS_BACKWARD] = "a backward pass",
        [TSIM_PASS_INPUT_GRADIENT] = "an input gradient",
        [TSIM_PASS_WEIGHT_GRADIENT] = "a weight gradient",
    };
    struct tsim_term_recorder *r = w->r;
    struct tsim_part_list in = {.recorder = r};
    tsim_part_add(&in, tsim_of_scenario(r, "parallelism.pipeline", (double)p->pipeline, TSIM_COUNT));
    tsim_part_add(&in, tsim_of_scenario(r, "parallelism.virtual_pipeline", (double)p->virtual_pipeline, TSIM_COUNT));
    tsim_part_add(&in, microbatches(r, w->scenario));
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++)
        if (w->pass_s[kind] > 0)
            tsim_part_add(&in, microbatch_pass(w, (enum tsim_pass_kind)kind, PASSES[kind]));
    tsim_part_add(&in, tsim_given(r, "for comparison, equal stages and free messages", published_bubble_s(w),
                                  TSIM_TIME_S, "the schedule's published closed form (sim/partition/schedule.h)"));
    return tsim_outcome(r, "step.bubble_s",
                        tsim_record_text(r, "waits of the slowest rank for other stages, simulated: %s",
                                         tsim_schedule_name(p->schedule)),
                        w->account->terms.bubble_s, TSIM_TIME_S, in.parts, (size_t)in.n);
}

static struct tsim_amount link_rate(const struct walk *w, unsigned axes) {
    bool is_between = tsim_placement_group(w->placement, axes).n_nodes > 1 && w->cluster->nic_bytes_per_s > 0;
    return is_between ? tsim_cluster_nic_rate(w->r, w->cluster) : tsim_cluster_pair_rate(w->r, w->cluster);
}

static struct tsim_amount pipeline(const struct walk *w) {
    const struct tsim_scenario *sc = w->scenario;
    int32_t stage = w->account->stage, stages = (int32_t)sc->parallelism.pipeline;
    struct tsim_part_list in = {.recorder = w->r};
    if (stages > 1) {
        tsim_part_add(&in, tsim_given(w->r, "bytes of a message, of all tensor ranks",
                                      tsim_message_bytes(sc, stage, stage > 0 ? stage - 1 : stage + 1), TSIM_BYTES,
                                      "the tensor between two stages (sim/partition/partition.h)"));
        tsim_part_add(&in, link_rate(w, 1u << TSIM_AXIS_PIPELINE));
    }
    return tsim_outcome(w->r, "communication_exposed.pipeline_s",
                        sc->parallelism.overlap.pipeline ? "waits for messages under way, simulated"
                                                         : "messages in line with the passes, simulated",
                        w->account->terms.exposed_pipeline_s, TSIM_TIME_S, in.parts, (size_t)in.n);
}

/* Waits for collectives of the data-parallel group, of so many bytes a parameter. */
static struct tsim_amount data_wait(const struct walk *w, const char *name, const char *formula, double wait_s,
                                    bool is_gather, const char *what, double bytes, const char *source) {
    bool of_all = is_gather && w->scenario->parallelism.zero == 3; /* else of what is trained */
    int32_t stage = w->account->stage;
    return tsim_outcome(w->r, name, formula, wait_s, TSIM_TIME_S,
                        TSIM_PARTS(of_all ? tsim_stage_parameters_recorded(w->r, w->scenario, stage)
                                          : tsim_trained_parameters(w->r, w->scenario, stage).all,
                                   tsim_given(w->r, what, bytes, TSIM_BYTES, source),
                                   link_rate(w, 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT)));
}

static double compressed_bytes(const struct walk *w) {
    unsigned axes = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    struct tsim_compression_cost each;
    tsim_compression_cost(w->scenario, tsim_placement_group(w->placement, axes).n_ranks, &each);
    return each.exchanged_bytes[0] + each.exchanged_bytes[1];
}

static struct tsim_amount data(const struct walk *w) {
    const struct tsim_stage_group_account *a = w->account;
    const struct tsim_scenario *sc = w->scenario;
    struct tsim_term_recorder *r = w->r;
    struct tsim_part_list waits = w->exposed[TSIM_AXIS_DATA];
    if (a->exposed_gather_s > 0)
        tsim_part_add(&waits,
                      data_wait(w, "waits for parameters", "gathers that no pass hides, simulated", a->exposed_gather_s,
                                true, "bytes of a weight", tsim_weight_bytes(sc->training.precision),
                                "training.precision of the scenario"));
    if (a->exposed_reduce_s > 0 && sc->training.compression.kind == TSIM_UNCOMPRESSED)
        tsim_part_add(&waits, data_wait(w, "waits for reductions", "reductions that no pass hides, simulated",
                                        a->exposed_reduce_s, false, "bytes of a gradient", tsim_sent_gradient_bytes(sc),
                                        "training.gradient_precision of the scenario"));
    else if (a->exposed_reduce_s > 0)
        tsim_part_add(&waits,
                      data_wait(w, "waits for reductions", "compressing and exchanges that no pass hides, simulated",
                                a->exposed_reduce_s, false, "bytes of a compressed gradient", compressed_bytes(w),
                                "training.compression of the scenario (sim/model/compression.h)"));
    tsim_part_add(&waits, tsim_outcome(r, "the gradient's norm",
                                       "an all-reduce of one number over all ranks, simulated (sim/cost/collective.h)",
                                       a->exposed_norm_s, TSIM_TIME_S, NULL, 0));
    tsim_part_add(&waits, tsim_outcome(r, "passes slowed by collectives beside them",
                                       "by what these take of compute units and memory bandwidth, simulated",
                                       a->interference_s, TSIM_TIME_S, NULL, 0));
    if (w->exposed[TSIM_AXIS_DATA].n > 0)
        return of_passes(w, "communication_exposed.data_s", &waits, a->terms.exposed_data_s);
    return tsim_sum_of(&waits, "communication_exposed.data_s", "waits for the data-parallel group", TSIM_TIME_S);
}

static struct tsim_amount optimizer(const struct walk *w) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(w->scenario);
    double passes = tsim_schedule_chunk_microbatches(&shape) * (double)shape.chunks, hbm_bytes;
    struct tsim_amount update = tsim_update_recorded(w->r, w->scenario, w->cluster, w->account->stage,
                                                     w->pass_s[TSIM_PASS_BACKWARD] / passes, &hbm_bytes);
    return tsim_outcome(w->r, "step.optimizer_s", "the update as it ran, beside what else goes on, simulated",
                        w->account->terms.optimizer_s, TSIM_TIME_S, TSIM_PARTS(update));
}

void tsim_step_terms_record(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                            const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                            const struct tsim_stage_group_account *account, struct tsim_amount stall,
                            struct tsim_amount terms[TSIM_N_STEP_TERMS]) {
    const struct tsim_step_terms *t = &account->terms;
    struct walk w = {.r = r, .scenario = sc, .cluster = cluster, .placement = placement, .account = account};
    w.compute.recorder = w.recompute.recorder = r;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        w.exposed[axis].recorder = r;
    walk_stage(&w);
    struct tsim_amount exposed[] = {
        of_passes(&w, "communication_exposed.tensor_s", &w.exposed[TSIM_AXIS_TENSOR], t->exposed_tensor_s),
        pipeline(&w), data(&w),
        of_passes(&w, "communication_exposed.context_s", &w.exposed[TSIM_AXIS_CONTEXT], t->exposed_context_s),
        of_passes(&w, "communication_exposed.expert_s", &w.exposed[TSIM_AXIS_EXPERT], t->exposed_expert_s)};
    enum { N_EXPOSED = sizeof exposed / sizeof exposed[0] };
    struct tsim_amount kinds[] = {
        of_kernels(&w, "step.compute_s", &w.compute, account->host_wait_s, account->copy_wait_s, account->chance_s),
        of_kernels(&w, "step.recompute_s", &w.recompute, 0, 0, account->recompute_chance_s),
        bubble(&w),
        tsim_sum(r, "step.communication_exposed_s", "the sum of its kinds", TSIM_TIME_S, exposed, N_EXPOSED),
        optimizer(&w),
        stall};
    enum { N_KINDS = sizeof kinds / sizeof kinds[0] };
    terms[0] = tsim_sum(r, "step.time_s", "the terms of the slowest rank", TSIM_TIME_S, kinds, N_KINDS);
    memcpy(terms + 1, kinds, sizeof kinds);
    memcpy(terms + 1 + N_KINDS, exposed, sizeof exposed);
}
