/* Message by message a pass is cut where its exposed collectives are: kernels, a collective, kernels, ... Collectives
 * that run beside products stay in the pass, as what they add to it; so do the experts' exchanges. */
#include "step/collective_steps.h"
#include "step/stage_group.h"
#include "workload/model.h"

#include <string.h>

enum { MOST_COLLECTIVES = 32 };

struct collector {
    struct tsim_arena *arena;
    struct tsim_step_plan *plan;
    struct tsim_collective_step_list *steps;
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

static struct tsim_collective_step *last_step(struct tsim_collective_step_list *steps) {
    return &steps->items[steps->n - 1];
}

bool tsim_is_cut_at(const struct tsim_op *op) {
    return op->overlap == TSIM_EXPOSED && op->axis != TSIM_AXIS_EXPERT;
}

static void add_operator(void *context, const struct tsim_pass_operator *row) {
    struct collector *c = context;
    const struct tsim_op *op = row->op;
    if (op->kind != TSIM_OP_COLLECTIVE) {
        last_step(c->steps)->kernel_s += row->time_s;
        c->steps->kernel_s += row->time_s;
        return;
    }
    if (!tsim_is_cut_at(op) || !(row->time_s > 0) || c->steps->n == TSIM_MAX_COLLECTIVE_STEPS)
        return;
    last_step(c->steps)->collective = find_collective(c, tsim_collective_of(op), op->collective_bytes, 1u << op->axis);
    last_step(c->steps)->axis = op->axis;
    last_step(c->steps)->collective_s = row->time_s;
    c->steps->n++;
    c->steps->collective_s += row->time_s;
    c->steps->scale_up_bytes += row->scale_up_bytes;
    c->steps->nic_bytes += row->nic_bytes;
}

void tsim_collective_steps_build(struct tsim_arena *arena, struct tsim_step_plan *plan,
                                 const struct tsim_placement *placement) {
    plan->pass_collectives = TSIM_NEW_ARRAY(arena, MOST_COLLECTIVES, struct tsim_data_collective);
    bool splits = tsim_schedule_splits_backward(plan->schedule.schedule);
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++)
        for (int part = 0; part < TSIM_N_PARTS; part++) {
            struct tsim_collective_step_list *steps = &plan->collective_steps[kind][part];
            struct collector c = {arena, plan, steps};
            bool has_experts = tsim_model_expert_layers(plan->scenario->model, 0, plan->scenario->model->layers) > 0;
            steps->n = 1;
            if ((kind > TSIM_PASS_BACKWARD && !splits) || (part == TSIM_PART_EXPERT_LAYER && !has_experts))
                continue;
            tsim_pass_visit(plan->scenario, plan->cluster, placement, (enum tsim_part)part, (enum tsim_pass_kind)kind,
                            add_operator, &c);
        }
}

/* ---- a pass ---- */

static int32_t n_parts_of(const struct tsim_collective_step_cursor *w) {
    return w->has_embedding + (int32_t)(w->to - w->from) + w->has_head;
}

/* The i-th part of the segment in execution order. */
static const struct tsim_collective_step_list *part_at(const struct tsim_stage_group *group, int32_t i) {
    const struct tsim_collective_step_cursor *w = &group->cursor;
    int32_t at = w->kind == TSIM_PASS_FORWARD ? i : n_parts_of(w) - 1 - i;
    int64_t layer = w->from + at - w->has_embedding;
    enum tsim_part part = TSIM_PART_LAYER;
    if (w->has_embedding && at == 0)
        part = TSIM_PART_EMBEDDING;
    else if (layer == w->to)
        part = TSIM_PART_HEAD;
    else if (tsim_model_expert_layers(group->plan->scenario->model, layer, layer + 1) > 0)
        part = TSIM_PART_EXPERT_LAYER;
    return &group->plan->collective_steps[w->kind][part];
}

bool tsim_collective_steps_cut(struct tsim_stage_group *group, const struct tsim_collective_step_cursor *segment,
                               struct tsim_pass_cost *cost) {
    struct tsim_collective_step_cursor *w = &group->cursor;
    *w = *segment;
    double collective_s = 0, scale_up_bytes = 0, nic_bytes = 0;
    for (int32_t i = 0; i < n_parts_of(w); i++) {
        const struct tsim_collective_step_list *steps = part_at(group, i);
        w->kernel_s += steps->kernel_s;
        collective_s += steps->collective_s;
        scale_up_bytes += steps->scale_up_bytes;
        nic_bytes += steps->nic_bytes;
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

static void finish_pass(struct tsim_collective_step_cursor *w, struct tsim_task *task) {
    task->label = w->label;
    task->n_lowers = w->n_lowers;
    memcpy(task->lowers, w->lowers, sizeof task->lowers);
    w->is_active = false;
}

/* Kernels and then the collective of a step; a step without kernels is its collective alone. */
void tsim_collective_steps_next(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_collective_step_cursor *w = &group->cursor;
    const struct tsim_collective_step_list *steps = part_at(group, w->part);
    const struct tsim_collective_step *step = &steps->items[w->step];
    bool is_collective = w->collective_due || !(step->kernel_s > 0);
    bool is_last_step = w->step + 1 == steps->n, is_last = is_last_step && w->part + 1 == n_parts_of(w);
    task->label = tsim_label(TSIM_TASK_COLLECTIVE_STEP, tsim_label_item(w->label), 0);
    if (!is_collective)
        task->work = step->kernel_s / w->kernel_s * w->rest.time_s;
    else
        task->work = 0;
    if (is_collective && step->collective) {
        group->asked[TSIM_STREAM_COMPUTE] = step->collective;
        w->under_way = step;
    }
    w->collective_due = !is_collective && step->collective;
    if (w->collective_due)
        return;
    if (is_last) {
        finish_pass(w, task);
        return;
    }
    w->step = is_last_step ? 0 : w->step + 1;
    w->part += is_last_step;
}
