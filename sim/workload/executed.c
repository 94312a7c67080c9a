#include "workload/executed.h"

#include "workload/layer_list.h"
#include "workload/model.h"

static double flops_of(const struct tsim_op_list *list) {
    double flops = 0;
    for (int32_t i = 0; i < list->n; i++)
        flops += list->ops[i].flops;
    return flops;
}

static void add_list(const struct tsim_scenario *sc, struct tsim_executed *executed) {
    struct tsim_op_list list;
    for (int64_t block = 0; block < sc->model->layers; block++) {
        tsim_list_forward(sc, block, &list);
        executed->forward += flops_of(&list);
        tsim_list_backward(sc, block, &list);
        executed->backward += flops_of(&list);
    }
}

static void add_operators(const struct tsim_scenario *sc, enum tsim_part part, struct tsim_executed *executed) {
    struct tsim_op_list list;
    bool is_layer = part == TSIM_PART_LAYER || part == TSIM_PART_EXPERT_LAYER;
    tsim_operators_forward(sc, part, &list);
    executed->forward = flops_of(&list);
    tsim_operators_backward(sc, part, &list);
    executed->backward = flops_of(&list);
    if (!is_layer || sc->training.recompute == TSIM_RECOMPUTE_NONE)
        return;
    tsim_operators_again(sc, part, &list);
    executed->again = flops_of(&list);
}

/* How often a micro-batch goes through it. */
static double times_of(const struct tsim_model *m, enum tsim_part part) {
    double second = (double)tsim_model_expert_layers(m, 0, m->layers);
    if (m->list)
        return part == TSIM_PART_LAYER ? 1 : 0;
    return part == TSIM_PART_EXPERT_LAYER ? second : part == TSIM_PART_LAYER ? (double)m->layers - second : 1;
}

struct tsim_executed tsim_executed_part(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    double ranks = (double)(p->tensor * p->context * p->data);
    struct tsim_executed executed = {.passes = ranks * (double)sc->n_microbatches * times_of(sc->model, part)};
    if (executed.passes <= 0)
        return executed;
    struct tsim_model even = *sc->model;
    struct tsim_scenario balanced = *sc;
    balanced.model = &even;
    even.experts.capacity_factor = even.experts.capacity_factor > 0 ? even.experts.capacity_factor : 1;
    if (sc->model->list)
        add_list(sc, &executed);
    else
        add_operators(&balanced, part, &executed);
    return executed;
}

double tsim_executed_flops(const struct tsim_scenario *sc) {
    double flops = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        struct tsim_executed executed = tsim_executed_part(sc, (enum tsim_part)part);
        flops += executed.passes * (executed.forward + executed.again + executed.backward);
    }
    return flops;
}
