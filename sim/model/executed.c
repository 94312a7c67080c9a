#include "model/executed.h"

#include "config/provenance.h"
#include "model/model.h"

#include <math.h>

struct executed {
    double passes;                   /* of a step through such a part, on all accelerators */
    double forward, again, backward; /* FLOPs of one; `again`: forward operators that are recomputed */
};

static double flops_of(const struct tsim_op_list *list) {
    double flops = 0;
    for (int32_t i = 0; i < list->n; i++)
        flops += list->ops[i].flops;
    return flops;
}

/* Returns the share of the layers of a part that are executed again, if any are. */
static double again_frac(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    int64_t first = 0;
    double again = 0;
    if (sc->training.recompute != TSIM_RECOMPUTE_LAYERS)
        return 1;
    for (int64_t i = 0; i < tsim_n_model_parts(p); first += p->layers_per_chunk[i++])
        again +=
            tsim_model_layers(sc->model, first, first + tsim_recomputed_layers(sc, p->layers_per_chunk[i])).times[part];
    return again / tsim_model_parts(sc->model).times[part];
}

/* Counts a part of the model; if its variants differ, it counts all of them in turn. */
static struct executed executed_of(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    double ranks = (double)(p->tensor * p->context * p->data), n = (double)tsim_part_variants(sc->model, part);
    double times = tsim_model_parts(sc->model).times[part] / n;
    struct executed executed = {.passes = ranks * (double)sc->n_microbatches * times};
    struct tsim_op_list list;
    if (executed.passes <= 0)
        return executed;
    struct tsim_model even = *sc->model;
    struct tsim_scenario balanced = *sc;
    balanced.model = &even;
    even.experts.is_even = true;
    bool runs_again = !tsim_layer_kind(part)->is_end && sc->training.recompute != TSIM_RECOMPUTE_NONE;
    for (int64_t at = 0; at < (int64_t)n; at++) {
        tsim_operators_forward(&balanced, part, at, &list);
        executed.forward += flops_of(&list);
        tsim_operators_backward(&balanced, part, at, &list);
        executed.backward += flops_of(&list);
        if (runs_again)
            tsim_operators_again(&balanced, part, at, &list);
        executed.again += runs_again ? flops_of(&list) : 0;
    }
    executed.again *= again_frac(sc, part);
    return executed;
}

struct tsim_amount tsim_executed_recorded(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    struct tsim_part_list all = {.recorder = r};
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        struct executed executed = executed_of(sc, (enum tsim_part)part);
        if (executed.passes <= 0)
            continue;
        static const char OF_PRODUCTS[] =
            "its products: half the square of causal flash attention (sim/model/executed.h)";
        struct tsim_amount once =
            tsim_sum(r, "FLOPs of a pass", "forward + recomputed + backward", TSIM_FLOPS,
                     TSIM_PARTS(tsim_given(r, "forward", executed.forward, TSIM_FLOPS, OF_PRODUCTS),
                                tsim_given(r, "recomputed", executed.again, TSIM_FLOPS, OF_PRODUCTS),
                                tsim_given(r, "backward", executed.backward, TSIM_FLOPS, OF_PRODUCTS)));
        tsim_part_add(&all,
                      tsim_product(r, tsim_layer_kind((enum tsim_part)part)->word, "passes x FLOPs of one", TSIM_FLOPS,
                                   TSIM_PARTS(tsim_given(r, "passes", executed.passes, TSIM_COUNT,
                                                         "layers x micro-batches x accelerators of a stage"),
                                              once)));
    }
    return tsim_sum_of(&all, "model.step_hardware_flops", "executed by the products, part by part", TSIM_FLOPS);
}

/* Takes the shortest sequences and the smallest batch of all stages of the run. */
static void take_least(struct tsim_training_spec *t) {
    if (t->batch_ramp.samples > 0)
        t->global_batch_size = (int64_t)fmin((double)t->global_batch_size, t->batch_ramp.from);
    for (size_t i = 0; i < t->n_stages; i++) {
        const struct tsim_stage_spec *stage = &t->stages[i]; /* 0: as in the last stage */
        if (stage->sequence_length > 0 && stage->sequence_length < t->sequence_length)
            t->sequence_length = stage->sequence_length;
        if (stage->global_batch_size > 0 && stage->global_batch_size < t->global_batch_size)
            t->global_batch_size = stage->global_batch_size;
    }
}

double tsim_least_run_flops(const struct tsim_scenario *sc) {
    struct tsim_scenario whole = *sc;
    struct tsim_training_spec *t = &whole.training;
    struct tsim_parallelism_spec *p = &whole.parallelism;
    take_least(t);
    double samples = t->length_kind == TSIM_LENGTH_TOKENS  ? t->length / tsim_sample_tokens_of(NULL, &whole).value
                     : t->length_kind == TSIM_LENGTH_STEPS ? t->length * (double)t->global_batch_size
                                                           : t->length;
    t->micro_batch_size = t->global_batch_size; /* what a pass does whatever its samples is done once */
    t->recompute = TSIM_RECOMPUTE_NONE;
    t->recompute_parts = 0;
    p->tensor = p->context = p->expert = p->data = 1;
    p->expert_tensor = 0;
    p->sequence = false;
    whole.n_microbatches = 1;
    return samples / (double)t->global_batch_size * tsim_executed_recorded(NULL, &whole).value;
}

double tsim_least_accelerator_s(const struct tsim_scenario *scenario) {
    return tsim_least_run_flops(scenario) /
           scenario->cluster.node->accelerator->peak_flops_per_s[scenario->training.precision];
}
