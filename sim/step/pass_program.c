#include "step/pass_program.h"

#include "workload/model.h"

#include <string.h>

struct builder {
    struct tsim_arena *arena;
    struct tsim_pass_program *program;
    double chunks; /* of a pipelined product */
    const struct tsim_op *last_kernel;
    /* The product beside which a collective that has been put runs, what it is waited for as, and whether in chunks. */
    const struct tsim_op *partner;
    enum tsim_axis partner_axis;
    bool partner_is_cut;
    int32_t n_beside_part; /* of the whole part, by their one axis */
    enum tsim_axis part_axis;
};

static struct tsim_played *put(struct builder *b, enum tsim_played_kind kind, enum tsim_axis axis) {
    struct tsim_pass_program *program = b->program;
    if (program->n == program->capacity) {
        int32_t capacity = program->capacity > 0 ? 2 * program->capacity : 32;
        struct tsim_played *grown = TSIM_NEW_ARRAY(b->arena, (size_t)capacity, struct tsim_played);
        if (program->n > 0)
            memcpy(grown, program->at, (size_t)program->n * sizeof *grown);
        program->at = grown;
        program->capacity = capacity;
    }
    struct tsim_played *played = &program->at[program->n++];
    *played = (struct tsim_played){.kind = kind, .axis = axis};
    return played;
}

static void put_start(struct builder *b, enum tsim_axis axis, int32_t count) {
    put(b, TSIM_PLAYED_START, axis)->count = count;
}

static void put_wait(struct builder *b, enum tsim_axis axis, int32_t count) {
    put(b, TSIM_PLAYED_WAIT, axis)->count = count;
}

static void put_kernel(struct builder *b, const struct tsim_pass_operator *row, double time_s) {
    struct tsim_played *kernel = put(b, TSIM_PLAYED_KERNEL, TSIM_N_AXES);
    kernel->name = row->op->name;
    kernel->phase = row->phase;
    kernel->is_recompute = strcmp(row->phase, "recompute") == 0;
    kernel->bound = row->bound;
    kernel->flow_s = time_s;
    b->last_kernel = row->op;
}

/* One of so many equal pieces of a collective. */
static struct tsim_played *put_collective(struct builder *b, enum tsim_played_kind kind,
                                          const struct tsim_pass_operator *row, double n_pieces) {
    struct tsim_played *played = put(b, kind, row->op->axis);
    double flow_s = row->time_s - row->latency_s;
    played->name = row->op->name;
    played->collective = tsim_collective_of(row->op);
    played->collective_bytes = row->op->collective_bytes;
    played->phase = row->phase;
    played->bound = TSIM_BOUND_COMMUNICATION;
    played->latency_s = row->latency_s / n_pieces;
    played->flow_s = flow_s / n_pieces;
    if (flow_s > 0) {
        played->scale_up_bytes_per_s = row->scale_up_bytes / flow_s;
        played->nic_bytes_per_s = row->nic_bytes / flow_s;
    }
    b->program->n_beside[row->op->axis] += kind == TSIM_PLAYED_BESIDE;
    return played;
}

/* Compute units are held from the first byte to the last, also while blocks wait for one; the engine lets them be held
 * while bytes flow. */
static double held_frac(const struct tsim_pass_operator *row) {
    double flow_s = row->time_s - row->latency_s;
    double held = flow_s > 0 ? tsim_collective_taken_frac(row->sm_frac) * row->time_s / flow_s : 0;
    return held < 1 ? held : 1;
}

static void put_concurrent(struct builder *b, const struct tsim_pass_operator *row) {
    put_start(b, row->op->axis, 1);
    struct tsim_played *beside = put_collective(b, TSIM_PLAYED_BESIDE, row, 1);
    beside->needs_start = true;
    beside->device_frac = held_frac(row);
    b->partner = row->partner;
    b->partner_axis = row->op->axis;
    b->partner_is_cut = false;
}

/* User buffers are moved by copy engines: they take no compute units. */
static void put_pieces(struct builder *b, const struct tsim_pass_operator *row) {
    put_start(b, row->op->axis, (int32_t)b->chunks - 1);
    for (int32_t i = 0; i < (int32_t)b->chunks - 1; i++)
        put_collective(b, TSIM_PLAYED_BESIDE, row, b->chunks - 1)->needs_start = i == 0;
    b->partner = row->partner;
    b->partner_axis = row->op->axis;
    b->partner_is_cut = true;
}

static void put_scatter(struct builder *b, const struct tsim_pass_operator *row) {
    struct tsim_played product = b->program->at[--b->program->n];
    int32_t n = (int32_t)b->chunks;
    product.flow_s /= b->chunks;
    for (int32_t i = 0; i < n; i++) {
        *put(b, TSIM_PLAYED_KERNEL, TSIM_N_AXES) = product;
        if (i == n - 1)
            break;
        put_start(b, row->op->axis, 1);
        put_collective(b, TSIM_PLAYED_BESIDE, row, b->chunks - 1)->needs_start = true;
    }
    put_wait(b, row->op->axis, n - 1);
}

static bool follows(const struct builder *b, const struct tsim_op *op) {
    return b->program->n > 0 && b->program->at[b->program->n - 1].kind == TSIM_PLAYED_KERNEL && b->last_kernel == op;
}

static void add_collective(struct builder *b, const struct tsim_pass_operator *row) {
    if (!(row->time_s > 0))
        return;
    if (row->op->overlap == TSIM_CONCURRENT_PASS) {
        struct tsim_played *beside = put_collective(b, TSIM_PLAYED_BESIDE, row, 1);
        beside->needs_start = b->n_beside_part++ == 0;
        beside->device_frac = held_frac(row);
        b->part_axis = row->op->axis;
    } else if (row->partner && !b->partner && row->op->overlap == TSIM_CONCURRENT_NEXT) {
        put_concurrent(b, row);
    } else if (row->partner && !b->partner && b->chunks > 1 && row->op->overlap == TSIM_PIPELINED_NEXT) {
        put_pieces(b, row);
    } else if (row->partner && b->chunks > 1 && row->op->overlap == TSIM_PIPELINED_PREVIOUS &&
               follows(b, row->partner)) {
        put_scatter(b, row);
    } else {
        put_collective(b, TSIM_PLAYED_COLLECTIVE, row, 1);
    }
}

static void add_operator(void *context, const struct tsim_pass_operator *row) {
    struct builder *b = context;
    if (row->op->kind == TSIM_OP_COLLECTIVE) {
        add_collective(b, row);
        return;
    }
    if (!(row->time_s > 0))
        return;
    bool is_partner = b->partner && row->op == b->partner;
    int32_t n = is_partner && b->partner_is_cut ? (int32_t)b->chunks : 1;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            put_wait(b, b->partner_axis, 1);
        put_kernel(b, row, row->time_s / n);
    }
    if (is_partner && !b->partner_is_cut)
        put_wait(b, b->partner_axis, 1);
    if (is_partner)
        b->partner = NULL;
}

/* Lets what runs beside the whole part begin before everything else. */
static void start_first(struct builder *b) {
    struct tsim_pass_program *program = b->program;
    put_start(b, b->part_axis, b->n_beside_part);
    struct tsim_played start = program->at[program->n - 1];
    memmove(program->at + 1, program->at, (size_t)(program->n - 1) * sizeof *program->at);
    program->at[0] = start;
}

static void build(struct builder *b, const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                  const struct tsim_placement *placement, enum tsim_part part, enum tsim_pass_kind kind) {
    tsim_pass_visit(scenario, cluster, placement, part, kind, add_operator, b);
    if (b->partner)
        put_wait(b, b->partner_axis, b->partner_is_cut ? (int32_t)b->chunks - 1 : 1);
    if (b->n_beside_part > 0) {
        start_first(b);
        put_wait(b, b->part_axis, b->n_beside_part);
    }
}

/* Kernels that follow one another become one. */
static void join_kernels(struct tsim_pass_program *program) {
    int32_t n = 0;
    for (int32_t i = 0; i < program->n; i++) {
        const struct tsim_played *played = &program->at[i];
        struct tsim_played *last = n > 0 ? &program->at[n - 1] : NULL;
        if (last && last->kind == TSIM_PLAYED_KERNEL && played->kind == TSIM_PLAYED_KERNEL &&
            last->is_recompute == played->is_recompute)
            last->flow_s += played->flow_s;
        else
            program->at[n++] = *played;
    }
    program->n = n;
}

void tsim_pass_programs_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                              const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                              bool joins_kernels, struct tsim_pass_programs *programs) {
    bool splits = tsim_schedule_splits_backward(scenario->parallelism.schedule);
    bool has_experts = tsim_model_expert_layers(scenario->model, 0, scenario->model->layers) > 0;
    memset(programs, 0, sizeof *programs);
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++)
        for (int part = 0; part < TSIM_N_PARTS; part++) {
            struct builder b = {
                .arena = arena, .program = &programs->of[kind][part], .chunks = (double)scenario->parallelism.tensor};
            if ((kind > TSIM_PASS_BACKWARD && !splits) || (part == TSIM_PART_EXPERT_LAYER && !has_experts))
                continue;
            build(&b, scenario, cluster, placement, (enum tsim_part)part, (enum tsim_pass_kind)kind);
            if (joins_kernels)
                join_kernels(b.program);
        }
}
