/* Message by message a pass is cut where its exposed collectives are: kernels, a collective, kernels, ... Collectives
 * that run beside products stay in the pass, as what they add to it; so do the experts' exchanges. */
#include "training/pieces.h"
#include "training/stage_group.h"
#include "workload/model.h"

#include <string.h>

enum { MOST_COLLECTIVES = 32 };

struct collector {
    struct tsim_arena *arena;
    struct tsim_step_plan *plan;
    struct tsim_part_pieces *pieces;
};

/* The same collective serves wherever the same is asked for. */
static struct tsim_data_collective *find_collective(struct collector *c, enum tsim_collective_op op, double bytes,
                                                    unsigned axes) {
    struct tsim_step_plan *plan = c->plan;
    for (int32_t i = 0; i < plan->n_pass_collectives; i++) {
        const struct tsim_data_collective *known = &plan->pass_collectives[i];
        if (known->axes == axes && known->parts[0].op == op && known->parts[0].bytes <= bytes &&
            known->parts[0].bytes >= bytes)
            return &plan->pass_collectives[i];
    }
    TSIM_ASSERT(plan->n_pass_collectives < MOST_COLLECTIVES);
    struct tsim_data_collective *added = &plan->pass_collectives[plan->n_pass_collectives++];
    added->axes = axes;
    added->n_parts = 1;
    added->parts[0] = (struct tsim_collective_part){.op = op, .bytes = bytes, .among = TSIM_AMONG_ALL};
    return added;
}

static struct tsim_pass_piece *last_piece(struct tsim_part_pieces *pieces) {
    return &pieces->items[pieces->n - 1];
}

bool tsim_is_cut_at(const struct tsim_op *op) {
    return op->overlap == TSIM_EXPOSED && op->axis != TSIM_AXIS_EXPERT;
}

static void add_operator(void *context, const struct tsim_pass_operator *row) {
    struct collector *c = context;
    const struct tsim_op *op = row->op;
    if (op->kind != TSIM_OP_COLLECTIVE) {
        last_piece(c->pieces)->kernel_s += row->time_s;
        c->pieces->kernel_s += row->time_s;
        return;
    }
    if (!tsim_is_cut_at(op) || !(row->time_s > 0) || c->pieces->n == TSIM_MAX_PIECES)
        return;
    last_piece(c->pieces)->collective =
        find_collective(c, tsim_collective_of(op), op->collective_bytes, 1u << op->axis);
    last_piece(c->pieces)->axis = op->axis;
    last_piece(c->pieces)->collective_s = row->time_s;
    c->pieces->n++;
    c->pieces->collective_s += row->time_s;
    c->pieces->scale_up_bytes += row->scale_up_bytes;
    c->pieces->nic_bytes += row->nic_bytes;
}

void tsim_pieces_build(struct tsim_arena *arena, struct tsim_step_plan *plan, const struct tsim_placement *placement) {
    plan->pass_collectives = TSIM_NEW_ARRAY(arena, MOST_COLLECTIVES, struct tsim_data_collective);
    bool splits = tsim_schedule_splits_backward(plan->schedule.schedule);
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++)
        for (int part = 0; part < TSIM_N_PARTS; part++) {
            struct tsim_part_pieces *pieces = &plan->pieces[kind][part];
            struct collector c = {arena, plan, pieces};
            bool has_experts = tsim_model_expert_layers(plan->scenario->model, 0, plan->scenario->model->layers) > 0;
            pieces->n = 1;
            if ((kind > TSIM_PASS_BACKWARD && !splits) || (part == TSIM_PART_EXPERT_LAYER && !has_experts))
                continue;
            tsim_pass_visit(plan->scenario, plan->cluster, placement, (enum tsim_part)part, (enum tsim_pass_kind)kind,
                            add_operator, &c);
        }
}

/* ---- a pass ---- */

static int32_t n_parts_of(const struct tsim_piecewise *w) {
    return w->has_embedding + (int32_t)(w->to - w->from) + w->has_head;
}

/* The i-th part of the segment in execution order. */
static const struct tsim_part_pieces *part_at(const struct tsim_stage_group *group, int32_t i) {
    const struct tsim_piecewise *w = &group->piecewise;
    int32_t at = w->kind == TSIM_PASS_FORWARD ? i : n_parts_of(w) - 1 - i;
    int64_t layer = w->from + at - w->has_embedding;
    enum tsim_part part = TSIM_PART_LAYER;
    if (w->has_embedding && at == 0)
        part = TSIM_PART_EMBEDDING;
    else if (layer == w->to)
        part = TSIM_PART_HEAD;
    else if (tsim_model_expert_layers(group->plan->scenario->model, layer, layer + 1) > 0)
        part = TSIM_PART_EXPERT_LAYER;
    return &group->plan->pieces[w->kind][part];
}

bool tsim_pieces_cut(struct tsim_stage_group *group, const struct tsim_piecewise *segment,
                     struct tsim_pass_cost *cost) {
    struct tsim_piecewise *w = &group->piecewise;
    *w = *segment;
    double collective_s = 0, scale_up_bytes = 0, nic_bytes = 0;
    for (int32_t i = 0; i < n_parts_of(w); i++) {
        const struct tsim_part_pieces *pieces = part_at(group, i);
        w->kernel_s += pieces->kernel_s;
        collective_s += pieces->collective_s;
        scale_up_bytes += pieces->scale_up_bytes;
        nic_bytes += pieces->nic_bytes;
    }
    if (!(collective_s > 0) || !(w->kernel_s > 0) || cost->time_s <= collective_s)
        return false;
    cost->time_s -= collective_s;
    cost->scale_up_bytes = cost->scale_up_bytes > scale_up_bytes ? cost->scale_up_bytes - scale_up_bytes : 0;
    cost->nic_bytes = cost->nic_bytes > nic_bytes ? cost->nic_bytes - nic_bytes : 0;
    w->rest = *cost;
    w->is_active = true;
    return true;
}

static void finish_pass(struct tsim_piecewise *w, struct tsim_task *task) {
    task->label = w->label;
    task->n_lowers = w->n_lowers;
    memcpy(task->lowers, w->lowers, sizeof task->lowers);
    w->is_active = false;
}

/* Kernels and then the collective of a piece; a piece without kernels is its collective alone. */
void tsim_pieces_next(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_piecewise *w = &group->piecewise;
    const struct tsim_part_pieces *pieces = part_at(group, w->part);
    const struct tsim_pass_piece *piece = &pieces->items[w->piece];
    bool is_collective = w->collective_due || !(piece->kernel_s > 0);
    bool is_last_piece = w->piece + 1 == pieces->n, is_last = is_last_piece && w->part + 1 == n_parts_of(w);
    task->label = tsim_label(TSIM_TASK_PIECE, tsim_label_item(w->label), 0);
    if (!is_collective)
        task->work = piece->kernel_s / w->kernel_s * w->rest.time_s;
    else
        task->work = 0;
    if (is_collective && piece->collective) {
        group->asked[TSIM_STREAM_COMPUTE] = piece->collective;
        w->under_way = piece;
    }
    w->collective_due = !is_collective && piece->collective;
    if (w->collective_due)
        return;
    if (is_last) {
        finish_pass(w, task);
        return;
    }
    w->piece = is_last_piece ? 0 : w->piece + 1;
    w->part += is_last_piece;
}
