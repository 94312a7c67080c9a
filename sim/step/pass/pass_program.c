#include "step/pass/pass_program.h"

#include <math.h>

enum tsim_collective_op tsim_collective_of(const struct tsim_op *op) {
    static const enum tsim_collective_op OPS[] = {[TSIM_OP_ALL_REDUCE] = TSIM_ALL_REDUCE,
                                                  [TSIM_OP_ALL_GATHER] = TSIM_ALL_GATHER,
                                                  [TSIM_OP_REDUCE_SCATTER] = TSIM_REDUCE_SCATTER,
                                                  [TSIM_OP_RING_EXCHANGE] = TSIM_SEND_RECV,
                                                  [TSIM_OP_ALL_TO_ALL] = TSIM_ALL_TO_ALL};
    return OPS[op->collective];
}

static struct tsim_played *put(struct tsim_pass_builder *b, enum tsim_played_kind kind, enum tsim_axis axis) {
    struct tsim_pass_program *program = b->program;
    program->at = tsim_arena_grow(b->arena, program->at, (size_t)program->n, &program->capacity, sizeof *program->at);
    struct tsim_played *played = &program->at[program->n++];
    *played = (struct tsim_played){.kind = kind, .axis = axis};
    return played;
}

/* The host launches one entry after another, so an entry that follows another on the stream waits for the launches of
 * both. */
static struct tsim_played *put_launched(struct tsim_pass_builder *b, enum tsim_played_kind kind, enum tsim_axis axis) {
    struct tsim_played *played = put(b, kind, axis);
    played->host_s = b->host_s;
    b->host_s = 0;
    return played;
}

/* The host launches the collectives that begin after it together with it. */
static void put_start(struct tsim_pass_builder *b, enum tsim_axis axis, int32_t count) {
    put_launched(b, TSIM_PLAYED_START, axis)->count = count;
}

static void put_wait(struct tsim_pass_builder *b, enum tsim_axis axis, int32_t count) {
    put(b, TSIM_PLAYED_WAIT, axis)->count = count;
}

/* Puts one of so many equal pieces of a kernel. */
static void put_kernel(struct tsim_pass_builder *b, const struct tsim_pass_operator *row, double n_pieces) {
    double n_launches = fmax(fmax(row->op->kernels, row->op->launches), 1), others_frac = 1 - 1 / n_launches;
    double later_host_s = fmin(b->host_s, row->host_s * others_frac);
    b->host_s -= later_host_s;
    struct tsim_played *kernel = put_launched(b, TSIM_PLAYED_KERNEL, TSIM_N_AXES);
    kernel->later_host_s = later_host_s;
    kernel->row = b->row;
    kernel->name = row->op->name;
    kernel->phase = row->phase;
    kernel->bound = row->bound;
    kernel->flow_s = row->time_s / n_pieces;
    kernel->before_last_s = kernel->flow_s * others_frac;
    kernel->units_frac = 1; /* its blocks are spread over all of them, whatever it waits for */
    kernel->memory_frac = row->memory_s / row->time_s;
    kernel->is_awaited = row->op->is_awaited;
    kernel->flops = row->op->flops / n_pieces;
    kernel->hbm_bytes = row->hbm_bytes / n_pieces;
    b->last_kernel = row->op;
}

/* Puts one of so many equal pieces of a collective. */
static struct tsim_played *put_collective(struct tsim_pass_builder *b, enum tsim_played_kind kind,
                                          const struct tsim_pass_operator *row, double n_pieces) {
    bool is_of_compute = kind == TSIM_PLAYED_COLLECTIVE;
    struct tsim_played *played = is_of_compute ? put_launched(b, kind, row->op->axis) : put(b, kind, row->op->axis);
    double flow_s = fmax(row->time_s - row->latency_s, 0);
    played->row = b->row;
    played->name = row->op->name;
    played->collective = tsim_collective_of(row->op);
    played->collective_bytes = row->op->collective_bytes / n_pieces;
    played->once_per_node = row->op->once_per_node;
    played->n_pieces = (int32_t)n_pieces;
    played->phase = row->phase;
    played->bound = TSIM_BOUND_COMMUNICATION;
    played->latency_s = row->latency_s / n_pieces;
    played->flow_s = flow_s / n_pieces;
    played->hbm_bytes = row->hbm_bytes / n_pieces;
    if (flow_s > 0) {
        played->scale_up_bytes_per_s = row->scale_up_bytes / flow_s;
        played->nic_bytes_per_s = row->nic_bytes / flow_s;
    }
    b->program->n_beside[row->op->axis] += kind == TSIM_PLAYED_BESIDE;
    b->program->uses[row->op->axis] = true;
    return played;
}

/* Puts a collective beside kernels. It holds compute units from its beginning to its end, also while its blocks wait
 * for a byte, so all of its time is flow. */
static struct tsim_played *put_holding(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    struct tsim_played *beside = put_collective(b, TSIM_PLAYED_BESIDE, row, 1);
    beside->latency_s = 0;
    beside->flow_s = row->time_s;
    beside->scale_up_bytes_per_s = row->scale_up_bytes / row->time_s;
    beside->nic_bytes_per_s = row->nic_bytes / row->time_s;
    beside->memory_frac = row->memory_s / row->time_s;
    beside->units_frac = tsim_collective_taken_frac(row->sm_frac, beside->memory_frac);
    return beside;
}

static void put_concurrent(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    put_start(b, row->op->axis, 1);
    put_holding(b, row)->needs_start = true;
    b->partner = row->partner;
    b->partner_axis = row->op->axis;
    b->partner_is_cut = false;
}

/* Copy engines move user buffers, so the pieces take no compute units. */
static void put_pieces(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    put_start(b, row->op->axis, (int32_t)b->n_chunks - 1);
    for (int32_t i = 0; i < (int32_t)b->n_chunks - 1; i++) {
        struct tsim_played *piece = put_collective(b, TSIM_PLAYED_BESIDE, row, b->n_chunks - 1);
        piece->needs_start = i == 0;
        piece->piece = i;
    }
    b->partner = row->partner;
    b->partner_axis = row->op->axis;
    b->partner_is_cut = true;
}

static void put_scatter(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    struct tsim_played product = b->program->at[--b->program->n];
    int32_t n = (int32_t)b->n_chunks;
    product.flow_s /= b->n_chunks;
    product.before_last_s /= b->n_chunks;
    product.flops /= b->n_chunks;
    product.hbm_bytes /= b->n_chunks;
    for (int32_t i = 0; i < n; i++) {
        *put(b, TSIM_PLAYED_KERNEL, TSIM_N_AXES) = product;
        product.host_s = product.later_host_s = 0; /* the other pieces are launched with the first */
        if (i == n - 1)
            break;
        put_start(b, row->op->axis, 1);
        struct tsim_played *piece = put_collective(b, TSIM_PLAYED_BESIDE, row, b->n_chunks - 1);
        piece->needs_start = true;
        piece->piece = i;
    }
    put_wait(b, row->op->axis, n - 1);
}

static bool follows(const struct tsim_pass_builder *b, const struct tsim_op *op) {
    return b->program->n > 0 && b->program->at[b->program->n - 1].kind == TSIM_PLAYED_KERNEL && b->last_kernel == op;
}

static void add_collective(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    if (!(row->time_s > 0))
        return;
    if (row->op->overlap == TSIM_CONCURRENT_PASS) {
        put_holding(b, row)->needs_start = b->n_beside_part++ == 0;
        b->part_axis = row->op->axis;
    } else if (row->partner && !b->partner && row->op->overlap == TSIM_CONCURRENT_NEXT) {
        put_concurrent(b, row);
    } else if (row->partner && !b->partner && b->n_chunks > 1 && row->op->overlap == TSIM_PIPELINED_NEXT) {
        put_pieces(b, row);
    } else if (row->partner && b->n_chunks > 1 && row->op->overlap == TSIM_PIPELINED_PREVIOUS &&
               follows(b, row->partner)) {
        put_scatter(b, row);
    } else {
        put_collective(b, TSIM_PLAYED_COLLECTIVE, row, 1);
    }
}

static void add_operator(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    if (row->op->kind == TSIM_OP_COLLECTIVE) {
        add_collective(b, row);
        return;
    }
    if (!(row->time_s > 0))
        return;
    bool is_partner = b->partner && row->op == b->partner;
    int32_t n = is_partner && b->partner_is_cut ? (int32_t)b->n_chunks : 1;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            put_wait(b, b->partner_axis, 1);
        put_kernel(b, row, n);
    }
    if (is_partner && !b->partner_is_cut)
        put_wait(b, b->partner_axis, 1);
    if (is_partner)
        b->partner = NULL;
}

/* Lets what runs beside the whole part begin before everything else. */
static void start_first(struct tsim_pass_builder *b) {
    struct tsim_pass_program *program = b->program;
    put(b, TSIM_PLAYED_START, b->part_axis)->count = b->n_beside_part; /* each is launched at its place */
    struct tsim_played start = program->at[program->n - 1];
    memmove(program->at + 1, program->at, (size_t)(program->n - 1) * sizeof *program->at);
    program->at[0] = start;
}

void tsim_pass_builder_add(struct tsim_pass_builder *b, const struct tsim_pass_operator *row) {
    b->host_s += row->host_s;
    add_operator(b, row);
    b->row++;
}

void tsim_pass_builder_close(struct tsim_pass_builder *b) {
    if (b->partner)
        put_wait(b, b->partner_axis, b->partner_is_cut ? (int32_t)b->n_chunks - 1 : 1);
    if (b->n_beside_part == 0)
        return;
    start_first(b);
    put_wait(b, b->part_axis, b->n_beside_part);
}

int32_t tsim_pass_program_next(const struct tsim_pass_program *program, int32_t at, enum tsim_axis axis) {
    for (; at < program->n; at++) {
        bool is_beside = program->at[at].kind == TSIM_PLAYED_BESIDE;
        if (axis == TSIM_N_AXES ? !is_beside : is_beside && program->at[at].axis == axis)
            break;
    }
    return at;
}

int32_t tsim_pass_program_n_operators(const struct tsim_pass_program *program, bool with_launches) {
    int32_t n = 0;
    for (int32_t i = 0; i < program->n; i++) {
        const struct tsim_played *played = &program->at[i];
        n += played->kind != TSIM_PLAYED_START && played->kind != TSIM_PLAYED_WAIT;
        n += with_launches && played->host_s + played->later_host_s > 0;
    }
    return n;
}

bool tsim_pass_program_is_plain(const struct tsim_pass_program *program) {
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        if (program->n_beside[axis] > 0)
            return false;
    return true;
}

static void join_kernel(struct tsim_played *joined, const struct tsim_played *next) {
    double flow_s = joined->flow_s + next->flow_s;
    joined->later_host_s += next->host_s + next->later_host_s;
    joined->before_last_s = joined->flow_s + next->before_last_s;
    joined->memory_frac = (joined->memory_frac * joined->flow_s + next->memory_frac * next->flow_s) / flow_s;
    joined->flow_s = flow_s;
    joined->flops += next->flops;
    joined->hbm_bytes += next->hbm_bytes;
    joined->is_awaited = next->is_awaited;
}

void tsim_pass_program_join_kernels(struct tsim_pass_program *program) {
    int32_t n = 0;
    for (int32_t i = 0; i < program->n; i++) {
        const struct tsim_played *played = &program->at[i];
        struct tsim_played *last = n > 0 ? &program->at[n - 1] : NULL;
        if (last && last->kind == TSIM_PLAYED_KERNEL && played->kind == TSIM_PLAYED_KERNEL && !last->is_awaited &&
            last->later_host_s + played->host_s <= last->flow_s)
            join_kernel(last, played);
        else
            program->at[n++] = *played;
    }
    program->n = n;
}
