/* Memory of the fullest stage (workload/memory.h). */
#include "report/terminal/explain_term_build.h"
#include "workload/memory.h"
#include "workload/model.h"

#include <math.h>
#include <string.h>

static const char OF_PLAN[] = "parallelism of the scenario";

static const struct tsim_term *counted(struct tsim_terms *terms, const char *name, double n) {
    const struct tsim_model *m = terms->scenario->model;
    return tsim_term_given(terms, name, n, TSIM_COUNT,
                           tsim_arena_printf(terms->arena,
                                             "counted from the model's dimensions%s%s (sim/workload/model.h)",
                                             m->source ? ", " : "", m->source ? m->source : ""));
}

/* ---- parameters ---- */

static const struct tsim_term *divided(struct tsim_terms *terms, const char *name, double n) {
    return tsim_term_over(
        terms, name, "parameters / tensor ranks", TSIM_COUNT, counted(terms, "parameters", n),
        tsim_term_of_scenario(terms, "parallelism.tensor", (double)terms->scenario->parallelism.tensor, TSIM_COUNT));
}

static const struct tsim_term *dense_layer(struct tsim_terms *terms, int32_t stage) {
    struct tsim_stage_part own;
    const struct tsim_scenario *sc = tsim_stage_part(terms->scenario, stage, &own);
    struct tsim_parameters p;
    tsim_model_count(sc->model, &p);
    if (sc->model->list)
        return tsim_term_given(terms, "parameters of a block, their mean", p.layer_ffn, TSIM_COUNT,
                               "the list, layer by layer (sim/workload/layer_list.h)");
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_SUM, "parameters of a layer", "on one tensor rank",
                                           tsim_layer_rank_parameters(sc, false), TSIM_COUNT);
    tsim_term_add(terms, term, divided(terms, "attention", p.layer_attention), 1);
    tsim_term_add(terms, term, divided(terms, "feed-forward", p.layer_ffn), 1);
    tsim_term_add(terms, term, counted(terms, "norms", p.layer_norms), 1);
    return tsim_term_close(terms, term, "latent projections");
}

static const struct tsim_term *stage_parameters(struct tsim_terms *terms, int32_t stage) {
    const struct tsim_scenario *sc = terms->scenario;
    int32_t n_chunks = tsim_scenario_schedule(sc).chunks;
    double layers = 0, with_experts = 0;
    for (int32_t c = 0; c < n_chunks; c++) {
        layers += (double)tsim_chunk_layers(sc, stage, c);
        with_experts += (double)tsim_chunk_expert_layers(sc, stage, c);
    }
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, tsim_arena_printf(terms->arena, "parameters of stage %d", stage),
                      "on one tensor rank, unsharded", tsim_stage_parameters(sc, stage), TSIM_COUNT);
    if (layers > with_experts)
        tsim_term_add(terms, term,
                      tsim_term_times(terms, "its layers", "layers x parameters of each", TSIM_COUNT,
                                      tsim_term_given(terms, "layers", layers - with_experts, TSIM_COUNT,
                                                      "parallelism.layers_per_stage of the scenario"),
                                      dense_layer(terms, stage)),
                      1);
    if (with_experts > 0)
        tsim_term_add(
            terms, term,
            tsim_term_times(terms, tsim_arena_printf(terms->arena, "its %ss", tsim_model_layer_word(sc->model, true)),
                            "layers x parameters of each", TSIM_COUNT,
                            tsim_term_given(terms, "layers", with_experts, TSIM_COUNT,
                                            "parallelism.layers_per_stage of the scenario"),
                            counted(terms, "parameters of one, on this rank", tsim_layer_rank_parameters(sc, true))),
            1);
    return tsim_term_close(terms, term, "embedding, final norm, head");
}

const struct tsim_term *tsim_term_stage_parameters(struct tsim_terms *terms, int32_t stage) {
    if (!terms->stage_parameters || terms->stage != stage) {
        terms->stage_parameters = stage_parameters(terms, stage);
        terms->stage = stage;
    }
    return terms->stage_parameters;
}

static const struct tsim_term *shard(struct tsim_terms *terms, const char *name, double n, double ranks) {
    return tsim_term_over(terms, name, "parameters / ranks that shard them", TSIM_COUNT,
                          counted(terms, "parameters", n), tsim_term_given(terms, "ranks", ranks, TSIM_COUNT, OF_PLAN));
}

/* Parameters that one rank keeps this kind of state for. */
static const struct tsim_term *held(struct tsim_terms *terms, bool is_sharded) {
    const struct tsim_scenario *sc = terms->scenario;
    int32_t stage = terms->explanation->result->step.fullest_stage;
    double n = tsim_stage_parameters(sc, stage), experts = tsim_stage_expert_parameters(sc, stage);
    const struct tsim_term *whole = tsim_term_stage_parameters(terms, stage);
    if (!is_sharded || (tsim_shards(sc) == 1 && experts == 0))
        return whole;
    if (experts == 0)
        return tsim_term_over(terms, "parameters held", "of the stage / ranks that shard them", TSIM_COUNT, whole,
                              tsim_term_given(terms, "ranks", tsim_shards(sc), TSIM_COUNT, OF_PLAN));
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, "parameters held", "experts are sharded apart", (double)NAN, TSIM_COUNT);
    tsim_term_add(terms, term, shard(terms, "all but experts", n - experts, tsim_shards(sc)), 1);
    tsim_term_add(terms, term, shard(terms, "experts", experts, tsim_expert_shards(sc)), 1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *state_term(struct tsim_terms *terms, const char *name, int least_zero, double bytes,
                                          const char *source) {
    return tsim_term_times(terms, name, "parameters x bytes of each", TSIM_BYTES,
                           held(terms, terms->scenario->parallelism.zero >= least_zero),
                           tsim_term_given(terms, "bytes of each", bytes, TSIM_BYTES, source));
}

/* ---- activations and buffers ---- */

static const struct tsim_term *layer_activations(struct tsim_terms *terms, int32_t stage, bool has_experts) {
    struct tsim_stage_part own;
    struct tsim_activation rows[TSIM_MAX_ACTIVATIONS];
    int32_t n = tsim_layer_activations(tsim_stage_part(terms->scenario, stage, &own), has_experts, rows);
    bool is_list = terms->scenario->model->list;
    const char *word = tsim_model_layer_word(terms->scenario->model, has_experts);
    bool is_vowel = word[0] == 'e';
    struct tsim_term *term = tsim_term_new(
        terms, TSIM_TERM_SUM, tsim_arena_printf(terms->arena, "kept by a%s %s", is_vowel ? "n" : "", word),
        is_list ? "mean of the list's blocks" : "Korthikanti et al. 2022, equations 1 to 6", (double)NAN, TSIM_BYTES);
    for (int32_t i = 0; i < n; i++)
        tsim_term_add(terms, term,
                      tsim_term_given(terms, rows[i].name, rows[i].bytes, TSIM_BYTES,
                                      is_list ? "shapes of the list's tensors (sim/workload/layer_list.h)"
                                              : "shape of the tensor, from model, micro-batch and plan "
                                                "(sim/workload/memory.h)"),
                      1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *activations_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_scenario *sc = terms->scenario;
    if (sc->training.offload.activations_frac > 0)
        return tsim_term_given(terms, name, terms->explanation->result->step.memory.activations_bytes, TSIM_BYTES,
                               "what is not in the host's memory of what passes in flight keep (training.offload)");
    int32_t stage = terms->explanation->result->step.fullest_stage;
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    double layers[2] = {0}, in_flight = tsim_schedule_peak_in_flight(&shape, stage);
    for (int32_t c = 0; c < shape.chunks; c++) {
        double with_experts = (double)tsim_chunk_expert_layers(sc, stage, c);
        layers[1] += with_experts;
        layers[0] += (double)tsim_chunk_layers(sc, stage, c) - with_experts;
    }
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name, "what passes in flight keep",
                                          terms->explanation->result->step.memory.activations_bytes, TSIM_BYTES);
    for (int experts = 0; experts < 2; experts++) {
        if (layers[experts] <= 0)
            continue;
        struct tsim_term *part = tsim_term_new(
            terms, TSIM_TERM_PRODUCT, tsim_arena_printf(terms->arena, "%ss", tsim_model_layer_word(sc->model, experts)),
            "passes in flight x layers of a chunk x bytes of a layer", (double)NAN, TSIM_BYTES);
        tsim_term_add(terms, part,
                      tsim_term_given(terms, tsim_arena_printf(terms->arena, "passes in flight on stage %d", stage),
                                      in_flight, TSIM_COUNT,
                                      tsim_arena_printf(terms->arena, "schedule %s (sim/workload/schedule.h)",
                                                        tsim_schedule_name(shape.schedule))),
                      1);
        tsim_term_add(terms, part,
                      tsim_term_given(terms, "layers of a chunk", layers[experts] / shape.chunks, TSIM_FRACTION,
                                      "parallelism.layers_per_stage of the scenario"),
                      1);
        tsim_term_add(terms, part, layer_activations(terms, stage, experts), 1);
        tsim_term_add(terms, sum, tsim_term_close(terms, part, NULL), 1);
    }
    return tsim_term_close(terms, sum, "embedding and head; chunks and passes that are not alike");
}

static const struct tsim_term *reserve_term(struct tsim_terms *terms) {
    return tsim_term_of_file(terms, TSIM_CATALOGUE_ACCELERATORS, "reserve",
                             terms->scenario->cluster.node->accelerator->usable_memory_reserve_bytes, TSIM_BYTES);
}

static const struct tsim_term *buffers_term(struct tsim_terms *terms, const char *name) {
    struct tsim_term *sum =
        tsim_term_new(terms, TSIM_TERM_SUM, name, "buffers + driver and runtime", (double)NAN, TSIM_BYTES);
    const char *what = terms->scenario->model->list
                           ? "the widest gradient and what it becomes, gathered parameters"
                           : "logits or gradients of activations, messages, gathered parameters";
    const struct tsim_result *result = terms->explanation->result;
    double flat_bytes = tsim_flat_bytes(terms->scenario, result->step.fullest_stage);
    tsim_term_add(terms, sum,
                  tsim_term_given(terms, what, result->step.memory.buffers_bytes - flat_bytes, TSIM_BYTES,
                                  "shapes of the tensors (sim/workload/memory.c)"),
                  1);
    if (flat_bytes > 0)
        tsim_term_add(terms, sum,
                      tsim_term_given(terms, "buckets and flat tensors of the framework", flat_bytes, TSIM_BYTES,
                                      "software.flat_bucket; with ZeRO-1 and -2 a bucket is allocated whole, however "
                                      "small the model (sim/workload/memory.c)"),
                      1);
    tsim_term_add(terms, sum, reserve_term(terms), 1);
    return tsim_term_close(terms, sum, NULL);
}

/* ---- by name ---- */

static const struct tsim_term *peak_term(struct tsim_terms *terms, const char *name) {
    static const char *const KINDS[] = {"memory.weights_bytes",   "memory.gradients_bytes",   "memory.master_bytes",
                                        "memory.optimizer_bytes", "memory.activations_bytes", "memory.buffers_bytes"};
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name,
                                          tsim_arena_printf(terms->arena, "the kinds on the fullest stage, %d",
                                                            terms->explanation->result->step.fullest_stage),
                                          terms->explanation->result->step.memory.peak_bytes, TSIM_BYTES);
    return tsim_term_close_kinds(terms, sum, KINDS, sizeof KINDS / sizeof KINDS[0], tsim_term_of_memory);
}

const struct tsim_term *tsim_term_of_memory(struct tsim_terms *terms, const char *name) {
    const struct tsim_scenario *sc = terms->scenario;
    if (strcmp(name, "memory.capacity_bytes") == 0)
        return tsim_term_of_file(terms, TSIM_CATALOGUE_ACCELERATORS, "memory",
                                 sc->cluster.node->accelerator->memory_bytes, TSIM_BYTES);
    if (strcmp(name, "memory.peak_bytes") == 0)
        return peak_term(terms, name);
    if (strcmp(name, "memory.weights_bytes") == 0)
        return state_term(terms, name, 3, tsim_weight_bytes(sc->training.precision),
                          "training.precision of the scenario");
    if (strcmp(name, "memory.gradients_bytes") == 0)
        return state_term(terms, name, 2, tsim_gradient_bytes(sc), "training.gradient_precision of the scenario");
    bool is_offloaded = sc->training.offload.optimizer &&
                        (strcmp(name, "memory.master_bytes") == 0 || strcmp(name, "memory.optimizer_bytes") == 0);
    if (is_offloaded)
        return tsim_term_given(terms, name, 0, TSIM_BYTES, "in the host's memory (training.offload of the scenario)");
    if (strcmp(name, "memory.master_bytes") == 0)
        return state_term(terms, name, 1, tsim_has_master_weights(sc) ? 4 : 0,
                          "an fp32 copy where training is in 16 or 8 bits (training.master_weights)");
    if (strcmp(name, "memory.optimizer_bytes") == 0)
        return state_term(terms, name, 1, tsim_optimizer_state_bytes(sc), "training.optimizer of the scenario");
    if (strcmp(name, "memory.activations_bytes") == 0)
        return activations_term(terms, name);
    return buffers_term(terms, name);
}
